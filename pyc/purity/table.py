"""What counts as an effect: tables of functions, methods, audit events, and what is said of them.

    FUNCTIONS       functions written in C, by module and name
    METHODS         methods written in C, by the class that has them
    PYTHON          functions of the standard library written in Python, by file and name
    EVENTS          audit events (PEP 578), by prefix
    CHANGES         methods that change a container

Each leads to an `Effect`: the rule, what the error says, and the remedy.
"""

from __future__ import annotations

import io

from pyc.frozen import frozen
from pyc.reasons import Reason


@frozen()
class Effect:
    """A kind of effect. does: goes on from the name of what was called; fix: the remedy."""

    rule: Reason
    does: str
    fix: str


_OUTSIDE = "of the jitted function"
_CALLED = "\nor do it in a function of yours that is called each time the program runs:\n"
_CALLBACK = f"{_CALLED}`pyc.debug.callback(function, x)`"
_IO_CALLBACK = f"{_CALLED}`pyc.io_callback(function, pyc.ShapeDtype(shape, dtype), x)`"

PRINTS = Effect(
    Reason.PURITY_OUTPUT,
    "writes while the function is traced: compiled code would not do so",
    'Print each time the program runs, `pyc.debug.print("{}", x)`; or return the value,\n'
    f"and print it outside {_OUTSIDE}.",
)
WRITES = Effect(
    Reason.PURITY_OUTPUT,
    "writes while the function is traced: compiled code would not do so",
    f"Return the value, and write or log it outside {_OUTSIDE};{_CALLBACK}.",
)
READS = Effect(
    Reason.PURITY_OUTPUT,
    "reads while the function is traced: compiled code would not read again",
    f"Read it outside {_OUTSIDE}, and pass it as an argument;{_IO_CALLBACK}.",
)
FILES = Effect(
    Reason.PURITY_FILE,
    "uses files while the function is traced: compiled code would not do so",
    f"Read and write outside {_OUTSIDE}, and pass what was read as an argument;{_IO_CALLBACK}.",
)
PROCESSES = Effect(
    Reason.PURITY_PROCESS,
    "starts, stops or asks a process while the function is traced: compiled code would not do so",
    f"Do it outside {_OUTSIDE}, and pass what it gives as an argument;{_IO_CALLBACK}.",
)
NETWORK = Effect(
    Reason.PURITY_NETWORK,
    "uses the network while the function is traced: compiled code would not do so",
    f"Do it outside {_OUTSIDE}, and pass what was received as an argument;{_IO_CALLBACK}.",
)
THREADS = Effect(
    Reason.PURITY_THREAD,
    "hands work to another thread while the function is traced: compiled code would not do so",
    f"Start threads outside {_OUTSIDE}; compiled programs use several by themselves.",
)
ENVIRONMENT = Effect(
    Reason.PURITY_ENVIRONMENT,
    "reads the state of the process while the function is traced: compiled code would use the "
    "same in every call",
    f"Read it outside {_OUTSIDE}, and pass it as an argument.",
)
SETTINGS = Effect(
    Reason.PURITY_ENVIRONMENT,
    "changes a setting of the process while the function is traced: compiled code would not do so",
    f"Call it outside {_OUTSIDE}.",
)
CLOCK = Effect(
    Reason.PURITY_CLOCK,
    "reads a clock while the function is traced: compiled code would use the same time in every "
    "call",
    f"Read the clock outside {_OUTSIDE}, and pass the time as an argument;{_IO_CALLBACK}.",
)
WAITS = Effect(
    Reason.PURITY_CLOCK,
    "waits while the function is traced: compiled code would not",
    f"Wait outside {_OUTSIDE}.",
)
EVENT_LOOP = Effect(
    Reason.PURITY_THREAD,
    "runs an event loop while the function is traced: compiled code would not do so",
    f"Call it outside {_OUTSIDE}, and pass what it gives as an argument.",
)
TAKES_A_LOCK = Effect(
    Reason.PURITY_THREAD,
    "takes a lock from outside while the function is traced: compiled code would not do so",
    "Take the lock around the call of the jitted function.",
)
SETS_A_VARIABLE = Effect(
    Reason.PURITY_OBJECT,
    "changes a context variable from outside while the function is traced: compiled code would not "
    "do so",
    f"Set it outside {_OUTSIDE}.",
)
TAKES_ITEMS = Effect(
    Reason.PURITY_OBJECT,
    "is an iterator from outside, and gives an item while the function is traced: compiled code "
    "would take none",
    f"Take the items outside {_OUTSIDE}, and pass them as arguments.",
)
_UNSEEN = Effect(
    Reason.PURITY_OBJECT,
    "uses an object from outside whose state cannot be seen, while the function is traced: "
    "compiled code would not do so",
    f"Use it outside {_OUTSIDE}, and pass what it gives as an argument.",
)
REGISTERS = Effect(
    Reason.PURITY_OBJECT,
    "registers a function for a type while the function is traced: compiled code would not do so",
    f"Register it outside {_OUTSIDE}.",
)
RANDOM = Effect(
    Reason.PURITY_RANDOM,
    "draws random numbers while the function is traced: compiled code would use the same ones in "
    "every call",
    "Draw them by a key that is an argument, such as with `pyc.random.uniform(key, shape)`; or "
    "outside,\nand pass the array; or from a generator made in the function with a seed, "
    "`random.Random(0)`, if they\nare the same in every call.",
)

CHANGES_OUTSIDE = (Reason.PURITY_NAME, Reason.PURITY_OBJECT, Reason.PURITY_ARGUMENT)
"""Rules whose breaking is an error with `purity="warn"` too: the change would be lost, or the
program be made for what was there before."""

# --- functions written in C -----------------------------------------------------------------------

_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime")
WITH_ARGUMENTS = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
"""Functions of `time` that read the clock only if they get fewer arguments."""

FUNCTIONS: dict[tuple[str, str], Effect] = {
    ("builtins", "print"): PRINTS,
    ("builtins", "input"): READS,
    ("builtins", "breakpoint"): READS,
    ("io", "open"): FILES,
    ("_io", "open"): FILES,
    ("_io", "open_code"): FILES,
    **{("time", name): CLOCK for name in _CLOCKS},
    **{("time", f"{name}_ns"): CLOCK for name in _CLOCKS},
    ("time", "sleep"): WAITS,
    ("time", "tzset"): SETTINGS,
    ("time", "clock_settime"): SETTINGS,
    ("_signal", "pause"): WAITS,
    **{("_signal", name): WAITS for name in ("sigwait", "sigwaitinfo", "sigtimedwait")},
    **{("_signal", name): PROCESSES for name in ("raise_signal", "pthread_kill")},
    **{
        ("sys", name): SETTINGS
        for name in (
            *("setrecursionlimit", "setswitchinterval", "set_int_max_str_digits"),
            *("settrace", "setprofile", "addaudithook", "setdlopenflags"),
        )
    },
    **{
        ("sys", name): ENVIRONMENT
        for name in (
            *("getrecursionlimit", "getswitchinterval", "gettrace", "getprofile", "getrefcount"),
            *("getallocatedblocks", "_current_frames"),
        )
    },
    **{("gc", name): ENVIRONMENT for name in ("isenabled", "get_count", "get_threshold")},
    **{("_signal", name): ENVIRONMENT for name in ("getsignal", "getitimer", "sigpending")},
    ("_csv", "register_dialect"): SETTINGS,
    ("_csv", "unregister_dialect"): SETTINGS,
    ("_csv", "field_size_limit"): SETTINGS,
    ("_codecs", "register"): SETTINGS,
    ("_codecs", "register_error"): SETTINGS,
    ("_abc", "_abc_register"): SETTINGS,
    **{("_tracemalloc", name): SETTINGS for name in ("start", "stop", "clear_traces")},
    **{("_thread", name): ENVIRONMENT for name in ("get_ident", "get_native_id", "_count")},
    ("_thread", "interrupt_main"): PROCESSES,
    ("_thread", "stack_size"): SETTINGS,
    ("_thread", "start_new_thread"): THREADS,
    ("_thread", "start_new"): THREADS,
    **{("gc", name): ENVIRONMENT for name in ("get_stats", "get_objects", "get_debug")},
    ("_locale", "localeconv"): ENVIRONMENT,
    ("_contextvars", "copy_context"): ENVIRONMENT,
    **{(module, "getcontext"): ENVIRONMENT for module in ("decimal", "_decimal")},
    **{(module, "setcontext"): SETTINGS for module in ("decimal", "_decimal")},
    **{("sys", name): WRITES for name in ("displayhook", "excepthook", "unraisablehook")},
    **{
        ("gc", name): SETTINGS
        for name in ("enable", "disable", "set_threshold", "set_debug", "freeze", "unfreeze")
    },
    ("atexit", "register"): SETTINGS,
    ("atexit", "unregister"): SETTINGS,
    ("_locale", "setlocale"): SETTINGS,
    ("_uuid", "generate_time_safe"): RANDOM,
    ("faulthandler", "dump_traceback"): WRITES,
}

MODULES: dict[str, Effect] = {
    **dict.fromkeys(("resource", "pwd", "grp", "_tracemalloc"), ENVIRONMENT),
    **dict.fromkeys(("faulthandler", "_signal"), SETTINGS),
    **dict.fromkeys(("termios", "readline", "select"), READS),
    "syslog": WRITES,
}
"""Modules that are about nothing but the process and its system: the effects of their functions
where `FUNCTIONS` has none."""
PURE = frozenset(
    [
        ("resource", "getpagesize"),
        ("_signal", "strsignal"),
        ("_signal", "valid_signals"),
        ("_tracemalloc", "is_tracing"),
        ("syslog", "LOG_MASK"),
        ("syslog", "LOG_UPTO"),
    ]
)
"""What has no effect there."""
DIRECT_FUNCTIONS = frozenset([("_thread", "get_ident"), ("_thread", "get_native_id")])
"""Functions that count only where the user's own code calls them: libraries do so all the time."""

POSIX_PURE = frozenset(
    [
        *("fspath", "strerror", "sysconf", "cpu_count", "WIFEXITED", "WEXITSTATUS", "WIFSIGNALED"),
        *("WTERMSIG", "WIFSTOPPED", "WSTOPSIG", "_exit", "abort", "major", "minor", "makedev"),
        *("_path_normpath", "_path_splitroot", "_path_splitroot_ex", "_path_abspath"),
    ]
)
_POSIX_READS = frozenset(
    [
        *("getpid", "getppid", "getpgid", "getpgrp", "getsid", "getuid", "geteuid", "getgid"),
        *("getegid", "getgroups", "getlogin", "getresuid", "getresgid", "getcwd", "getcwdb"),
        *("getloadavg", "getpriority", "uname", "sched_getaffinity", "sched_getparam"),
        *("sched_getscheduler", "get_terminal_size", "process_cpu_count"),
    ]
)
_POSIX_SETS = frozenset(
    [
        *("chdir", "fchdir", "chroot", "umask", "nice", "putenv", "unsetenv", "setuid", "setgid"),
        *("seteuid", "setegid", "setsid", "setpgid", "setpriority", "setgroups"),
        *("sched_setaffinity", "sched_setscheduler", "register_at_fork"),
    ]
)
_POSIX_PROCESSES = frozenset(
    [
        *("system", "fork", "forkpty", "execv", "execve", "posix_spawn", "posix_spawnp", "kill"),
        *("killpg", "wait", "wait3", "wait4", "waitid", "waitpid", "waitstatus_to_exitcode"),
    ]
)


def of_function(module: str, name: str) -> Effect | None:
    """The effect of a function written in C; None if it has none."""
    found = FUNCTIONS.get((module, name)) or FUNCTIONS.get((module.removeprefix("_"), name))
    if found is None and module == "posix" and name not in POSIX_PURE:
        return of_posix(name)
    return MODULES.get(module) if found is None and (module, name) not in PURE else found


def of_posix(name: str) -> Effect:
    """The effect of a function of the operating system."""
    if name in ("urandom", "getrandom"):
        return RANDOM
    if name == "times":
        return CLOCK
    if name in ("read", "write"):
        return READS if name == "read" else WRITES
    if name in _POSIX_READS:
        return ENVIRONMENT
    if name in _POSIX_SETS:
        return SETTINGS
    return PROCESSES if name in _POSIX_PROCESSES else FILES


# --- methods written in C -------------------------------------------------------------------------

STREAM_READS = frozenset(
    ["read", "read1", "readall", "readinto", "readinto1", "readline", "readlines", "__next__"]
)
STREAM_WRITES = frozenset(
    [
        *("write", "writelines", "flush", "truncate", "seek", "close", "detach", "reconfigure"),
        "getbuffer",
    ]
)
STREAM_METHODS = STREAM_READS | STREAM_WRITES
"""Methods of streams; others ask nothing but their names and kinds."""

IN_MEMORY = (io.StringIO, io.BytesIO)
"""Streams that may be used if they were made in the function."""

DRAWS = frozenset(["random", "getrandbits", "seed", "setstate", "getstate"])
"""Methods of `_random.Random`, which all of `random` ends at."""

LOOKS_AT_A_LOCK = frozenset(["locked", "_is_owned"])
"""Methods of locks that only ask whether somebody has them."""

UNSEEN: dict[str, Effect] = {
    **dict.fromkeys(("sqlite3", "_sqlite3"), FILES),
    **dict.fromkeys(("_socket", "socket", "_ssl", "ssl", "select"), NETWORK),
    **dict.fromkeys(
        (
            *("_hashlib", "_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2"),
            *("_hmac", "zlib", "_bz2", "_lzma", "_csv", "_pickle", "pyexpat"),
        ),
        _UNSEEN,
    ),
}
"""Modules written in C whose objects, if they are from outside, are not to be used at all."""

NOW = frozenset(["now", "utcnow", "today"])
"""Class methods of `datetime`."""

# --- functions of the standard library ------------------------------------------------------------

PYTHON: dict[tuple[str, str], Effect] = {
    ("os.py", "_Environ.__getitem__"): ENVIRONMENT,
    ("os.py", "_Environ.__iter__"): ENVIRONMENT,
    ("os.py", "_Environ.__len__"): ENVIRONMENT,
    ("os.py", "_Environ.__setitem__"): SETTINGS,
    ("os.py", "_Environ.__delitem__"): SETTINGS,
    ("logging/__init__.py", "Handler.handle"): WRITES,
    ("warnings.py", "_showwarnmsg"): WRITES,
    ("threading.py", "Thread.start"): THREADS,
    ("concurrent/futures/thread.py", "ThreadPoolExecutor.submit"): THREADS,
    ("concurrent/futures/process.py", "ProcessPoolExecutor.submit"): PROCESSES,
    ("multiprocessing/process.py", "BaseProcess.__init__"): PROCESSES,
    ("multiprocessing/process.py", "BaseProcess.start"): PROCESSES,
    ("multiprocessing/context.py", "BaseContext.Pool"): PROCESSES,
    ("multiprocessing/shared_memory.py", "SharedMemory.__init__"): PROCESSES,
    ("subprocess.py", "Popen.__init__"): PROCESSES,
    ("os.py", "popen"): PROCESSES,
    ("urllib/request.py", "urlopen"): NETWORK,
    ("runpy.py", "run_path"): FILES,
    ("logging/__init__.py", "FileHandler.__init__"): FILES,
    ("logging/__init__.py", "StreamHandler.emit"): WRITES,
    ("timeit.py", "Timer.timeit"): CLOCK,
    ("asyncio/events.py", "new_event_loop"): EVENT_LOOP,
    ("asyncio/base_events.py", "BaseEventLoop.run_until_complete"): EVENT_LOOP,
    ("asyncio/runners.py", "run"): EVENT_LOOP,
    ("asyncio/runners.py", "Runner.run"): EVENT_LOOP,
    **{
        ("tempfile.py", name): FILES
        for name in (
            *("mkdtemp", "mkstemp", "gettempdir", "NamedTemporaryFile", "TemporaryFile"),
            "TemporaryDirectory.__init__",
        )
    },
    ("random.py", "Random.seed"): RANDOM,
    **{
        ("logging/__init__.py", name): SETTINGS
        for name in (
            *("Logger.setLevel", "Logger.addHandler", "Logger.removeHandler", "Handler.setLevel"),
            *("disable", "captureWarnings", "basicConfig", "setLoggerClass", "addLevelName"),
            *("Filterer.addFilter", "Filterer.removeFilter", "Handler.setFormatter"),
        )
    },
    ("weakref.py", "finalize.__init__"): SETTINGS,
    ("threading.py", "settrace"): SETTINGS,
    ("threading.py", "setprofile"): SETTINGS,
    **{
        ("threading.py", name): WAITS
        for name in ("Event.wait", "Barrier.wait", "Condition.wait", "Thread.join")
    },
    **{
        ("threading.py", name): TAKES_A_LOCK
        for name in ("Condition.__enter__", "Semaphore.acquire", "Semaphore.release")
    },
    ("functools.py", "singledispatch.<locals>.register"): REGISTERS,
    ("locale.py", "getlocale"): ENVIRONMENT,
    **{("platform.py", name): ENVIRONMENT for name in ("node", "platform", "processor")},
    ("copyreg.py", "pickle"): SETTINGS,
    ("importlib/__init__.py", "reload"): SETTINGS,
    ("threading.py", "active_count"): ENVIRONMENT,
    ("threading.py", "enumerate"): ENVIRONMENT,
}

_KNOWN_AS = {
    "_Environ": "`os.environ`",
    "Popen": "`subprocess.Popen`",
    "urlopen": "`urllib.request.urlopen`",
    "BaseEventLoop": "an event loop of `asyncio`",
    "new_event_loop": "`asyncio.new_event_loop`",
    "StreamHandler": "a handler of `logging`",
    "Handler": "a handler of `logging`",
    "_showwarnmsg": "`warnings.warn`",
    "run": "`asyncio.run`",
}


def name_of_python(file: str, name: str) -> str:
    """A function of the standard library as it is known to users."""
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return _KNOWN_AS.get(name.partition(".")[0], f"`{module}.{name}`")


OWNERS = {
    **dict.fromkeys(("Event.wait", "Barrier.wait", "Condition.wait", "Thread.join"), "self"),
    **dict.fromkeys(("Condition.__enter__", "Semaphore.acquire", "Semaphore.release"), "self"),
    "singledispatch.<locals>.register": "registry",
}
"""Functions that count if what they have by this name is from outside."""

DIRECT = frozenset(["getlocale"])
"""As `DIRECT_FUNCTIONS`."""

INTERNAL = frozenset(
    [
        ("logging/__init__.py", "LogRecord.__init__"),
        ("locale.py", "getlocale"),
        ("platform.py", "uname"),
    ]
)
"""Functions whose own calls do not count: what is done with the result does."""

# --- audit events ---------------------------------------------------------------------------------

EVENTS: dict[str, Effect] = {
    "open": FILES,
    "builtins.input": READS,
    "builtins.breakpoint": READS,
    "time.sleep": WAITS,
    "os.putenv": SETTINGS,
    "os.unsetenv": SETTINGS,
    "os.chdir": SETTINGS,
    **{
        f"os.{name}": PROCESSES
        for name in (
            *("exec", "fork", "forkpty", "kill", "killpg", "posix_spawn", "spawn", "startfile"),
            "system",
        )
    },
    "os.": FILES,
    "shutil.": FILES,
    "tempfile.": FILES,
    "glob.": FILES,
    "pathlib.": FILES,
    "fcntl.": FILES,
    "mmap.": FILES,
    "sqlite3.": FILES,
    "subprocess.": PROCESSES,
    "pty.": PROCESSES,
    "socket.": NETWORK,
    "urllib.": NETWORK,
    "http.": NETWORK,
    "ftplib.": NETWORK,
    "smtplib.": NETWORK,
    "poplib.": NETWORK,
    "imaplib.": NETWORK,
    "webbrowser.": NETWORK,
    "_thread.start_": THREADS,
    "signal.": PROCESSES,
    "resource.setrlimit": SETTINGS,
    "resource.prlimit": SETTINGS,
    "syslog.": WRITES,
}
"""By the whole name, or by its beginning up to a dot or underscore."""


FREQUENT = frozenset(["object.__getattr__", "builtins.id", "sys._getframe"])
"""Events that announce nothing, and come so often that they are told first."""


def of_event(name: str) -> Effect | None:
    """The effect that an audit event announces; None if it announces none."""
    found = EVENTS.get(name)
    if found is None:
        family = name[: name.find(".") + 1]
        found = EVENTS.get(family)
        if found is None and name.startswith("_thread.start_"):
            found = THREADS
    return found


# --- containers -----------------------------------------------------------------------------------

_LIST = ("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse")

CHANGES: dict[str, frozenset[str]] = {
    "list": frozenset(_LIST),
    "dict": frozenset(["pop", "popitem", "clear", "update"]),
    "set": frozenset(
        [
            *("add", "update", "remove", "pop", "clear", "intersection_update"),
            *("difference_update", "symmetric_difference_update"),
        ]
    ),
    "bytearray": frozenset(_LIST),
    "array": frozenset([*_LIST, "fromlist", "frombytes", "fromfile", "byteswap"]),
    "deque": frozenset(
        [
            *("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft"),
            *("remove", "rotate", "clear", "reverse"),
        ]
    ),
    "SimpleQueue": frozenset(["put", "put_nowait", "get", "get_nowait"]),
}
"""Methods that change an object from outside, by the name of its class. Others that may change it
(`setdefault`, `discard`, assignment to an item) are found by comparing it before and after."""

CHANGING = frozenset().union(*CHANGES.values())
