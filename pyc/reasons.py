"""`Reason`: why pyc did what it did. Every compile, miss, copy, fallback and choice carries one.

A member has a stable code, a group, one line of meaning and one line on what to do. `record` puts
an `Event` (reason and details) into a bounded log of this process and counts it; `collecting`
hands the events of a block to the caller; `counts` feeds the statistics. Events hold no clock and
no address, so that reports of equal runs are equal.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from threading import RLock
from typing import Any

from pyc.forks import hold
from pyc.frozen import frozen

LOG_LENGTH = 4096
"""Events kept per process; counts go on beyond that."""


@frozen()
class Entry:
    """What a reason means. code: stable; meaning: what happened; remedy: what to do about it."""

    code: str
    meaning: str
    remedy: str


GROUPS = {
    "20": "purity",
    "21": "trace",
    "22": "guard",
    "23": "cache",
    "24": "fusion",
    "25": "memory",
    "26": "kernel",
    "27": "device",
    "28": "fallback",
    "29": "numeric",
}
"""The group of a reason, by the first two digits of its code."""

_NOTHING = "Nothing: this is expected."


class Reason(Enum):
    """One member per decision that a user may ask about. `str(reason)` is its name in reports."""

    # purity: why a function was refused (the rules of docs/purity.md)
    PURITY_OUTPUT = Entry(
        "PYC2001",
        "the function prints, logs, or reads or writes a stream",
        "Print by `pyc.debug.print`, or do it in a function called by `pyc.debug.callback`; or "
        "return the value, and print or log it outside of the jitted function.",
    )
    PURITY_FILE = Entry(
        "PYC2002",
        "the function uses files or directories",
        "Read and write outside of the jitted function, and pass what was read as an argument; or "
        "in a function called by `pyc.io_callback`.",
    )
    PURITY_PROCESS = Entry(
        "PYC2003",
        "the function starts, stops or asks a process",
        "Do it outside of the jitted function; pass what it gives as an argument.",
    )
    PURITY_NETWORK = Entry(
        "PYC2004",
        "the function uses the network",
        "Do it outside of the jitted function; pass what was received as an argument.",
    )
    PURITY_THREAD = Entry(
        "PYC2005",
        "the function hands work to another thread, or takes a lock from outside",
        "Start threads outside of the jitted function; compiled code uses several by itself. Take "
        "locks around its call.",
    )
    PURITY_ENVIRONMENT = Entry(
        "PYC2006",
        "the function reads or changes settings of the process, such as environment variables",
        "Read it outside of the jitted function and pass it as an argument; change it outside.",
    )
    PURITY_CLOCK = Entry(
        "PYC2007",
        "the function reads a clock, or waits",
        "Read the clock outside of the jitted function, and pass the time as an argument.",
    )
    PURITY_RANDOM = Entry(
        "PYC2008",
        "the function draws random numbers from a state outside of it",
        "Draw them by a key that is an argument (`pyc.random`), or outside, and pass the array; or "
        "from a generator made in the function with a seed, if they are the same in every call.",
    )
    PURITY_NAME = Entry(
        "PYC2009",
        "the function assigns a name outside of it (`global`, `nonlocal`)",
        "Return the new value, and assign it outside of the jitted function.",
    )
    PURITY_OBJECT = Entry(
        "PYC2010",
        "the function changes an object that existed before it was called",
        "Return the new value, and store it outside of the jitted function.",
    )
    PURITY_ARGUMENT = Entry(
        "PYC2011",
        "the function changes a container that is an argument",
        "Return the changed container; the caller's own one is not changed by compiled code.",
    )
    PURITY_GENERATOR = Entry(
        "PYC2012",
        "the function is a generator or a coroutine",
        "Write a function that returns its results; generators may be used inside of it.",
    )
    PURITY_NOT_REPEATABLE = Entry(
        "PYC2013",
        "two traces of the function with the same arguments gave different programs",
        "Pass what differs as an argument.",
    )
    PURITY_HOOK_TAKEN = Entry(
        "PYC2014",
        "a profiler was switched off while a function was traced: Python 3.11 has one place for "
        "profilers, which the check of what runs needs, and this one cannot be called from it",
        "Expected under cProfile; trace before profiling (`f.trace(...)`) to have all of the rest.",
    )

    # trace: why a function was compiled
    COMPILE_FIRST_CALL = Entry(
        "PYC2101", "compiled: the first call of this function in this process", _NOTHING
    )
    COMPILE_NEW_SHAPE = Entry(
        "PYC2102",
        "compiled again: an argument has a shape not seen before",
        "Call with few different shapes; pad to common sizes.",
    )
    COMPILE_NEW_DTYPE = Entry(
        "PYC2103",
        "compiled again: an argument has an element type not seen before",
        "Convert arguments to one type before the call.",
    )
    COMPILE_NEW_STATIC = Entry(
        "PYC2104",
        "compiled again: a static argument has a value not seen before",
        "Pass values that change often as arrays or numbers, not as static arguments.",
    )
    COMPILE_NEW_STRUCTURE = Entry(
        "PYC2106",
        "compiled again: the tuples, lists or dicts of the arguments are nested differently",
        "Keep the structure and the keys of containers the same in each call.",
    )

    CLASS_NOT_TRANSLATED = Entry(
        "PYC2107",
        "traced with its own methods: Python does not let a subclass of this class be made, so its "
        "methods see NumPy itself",
        "Write what is computed as a function, or pass arrays and numbers instead of the object.",
    )
    COMPILE_NEW_VALUE = Entry(
        "PYC2108",
        "compiled again: a number argument, whose value the program depends on, has another one",
        "Use the number in array operations only, or call with few different values.",
    )
    COMPILE_NEW_DEVICE = Entry(
        "PYC2109",
        "compiled again: the arguments are on another device, or the default device is another",
        "Nothing: each device has a program of its own.",
    )
    LOOP_UNROLLED = Entry(
        "PYC2110",
        "a loop was traced iteration by iteration: it cannot be one loop of the program",
        "See the detail; a slice with a traced bound can be `pyc.lax.dynamic_slice`, a list that "
        "grows an array that is assigned to.",
    )
    LOOP_NO_SOURCE = Entry(
        "PYC2111",
        "the source of a function is not there: its loops were traced iteration by iteration",
        "Define the function in a file, not by `exec` or at a plain prompt.",
    )
    LOOP_NOT_REWRITTEN = Entry(
        "PYC2112",
        "the loops of a function were traced iteration by iteration, as it was written",
        "See the detail: what the function does rules out that its loops are rewritten.",
    )

    LOOP_ROLLED_FOR_SIZE = Entry(
        "PYC2113",
        "a short loop is a loop of the program after its first iteration: its code would be large",
        _NOTHING,
    )

    LOOP_SHORT = Entry(
        "PYC2114",
        "a short loop is straight code: it was traced iteration by iteration",
        _NOTHING,
    )
    LOOP_IN_PYTHON = Entry(
        "PYC2115",
        "a loop over Python objects (a list, a dict, a generator) is straight code",
        "Loop over a range or an array if the program is large, or takes long to compile.",
    )

    # guard: what a compiled program depends on besides the signature
    GUARD_CAPTURE_CHANGED = Entry(
        "PYC2201",
        "compiled again: something that the function reads from outside has changed",
        "Pass what changes often as an argument.",
    )
    GUARD_ARGUMENT_VALUE = Entry(
        "PYC2202",
        "the program is for one value of a number argument: Python needed it while tracing",
        "Nothing if it takes few values. Else keep it out of shapes, axes and branches.",
    )
    GUARD_CAPTURE_VALUE = Entry(
        "PYC2203",
        "the program is for one value of something read from outside: Python needed it while "
        "tracing; arrays are compared before each call",
        "Nothing if it seldom changes. Else keep it out of shapes, axes and branches.",
    )
    GUARD_CAPTURE_TRACED = Entry(
        "PYC2204",
        "a number read from outside has changed: it is a hidden argument of the new program",
        _NOTHING,
    )
    GUARD_CAPTURE_KEPT = Entry(
        "PYC2205",
        "a number read from outside that changes cannot be a hidden argument: each value is "
        "compiled for",
        "Pass it as an argument, or keep it out of what needs its value while tracing.",
    )
    GUARD_PROGRAM_DROPPED = Entry(
        "PYC2206",
        "a signature has too many programs, each for other values from outside: the oldest was "
        "dropped",
        "Pass what changes often as an argument.",
    )
    GUARD_CHANGED_MEANWHILE = Entry(
        "PYC2207",
        "traced again: another thread has changed what the function reads while it was traced",
        "Nothing if it is seldom. Else compile first (`f.compile(...)`), or hold a lock.",
    )

    # cache: why an entry was not used, or not kept
    CACHE_EMPTY = Entry("PYC2301", "cache miss: the cache directory holds no entry yet", _NOTHING)
    CACHE_KEY_DIFFERS = Entry(
        "PYC2302",
        "cache miss: no entry has this key",
        "`pyc.cache.explain(f, *args)` names the fields that differ from the nearest entry.",
    )
    CACHE_TARGET_DIFFERS = Entry(
        "PYC2303",
        "cache miss: the program is there, but compiled for another kind of processor or device",
        "Set PYC_TARGET to a common level to share one cache between different machines.",
    )
    CACHE_CORRUPT = Entry(
        "PYC2304",
        "cache miss: the entry's checksum or structure is wrong",
        "It is set aside and made again where the cache may be written. If it happens often, check "
        "the disk; `python -m pyc cache clear` starts afresh.",
    )
    CACHE_TRUNCATED = Entry(
        "PYC2305",
        "cache miss: the entry is cut short",
        "It is set aside and made again where the cache may be written. If it happens often, check "
        "the disk.",
    )
    CACHE_FORMAT_VERSION = Entry(
        "PYC2306",
        "cache miss: the entry was written in another version of the file format",
        "Nothing: it belongs to another version of pyc.",
    )
    CACHE_FOREIGN_OWNER = Entry(
        "PYC2307",
        "cache miss: the entry belongs to another user or others may write it; cached code is code",
        "Use a cache directory of your own (PYC_CACHE_DIR).",
    )
    CACHE_DIRECTORY_UNSAFE = Entry(
        "PYC2308",
        "the cache directory is not used: it belongs to another user or others may write to it",
        "chown it to yourself and chmod 700 it, or set PYC_CACHE_DIR.",
    )
    CACHE_DIRECTORY_UNAVAILABLE = Entry(
        "PYC2309",
        "the cache directory is not used: it cannot be made or read",
        "Set PYC_CACHE_DIR to a directory that you may write to.",
    )
    CACHE_READ_ONLY = Entry(
        "PYC2310",
        "not stored: the cache directory may not be written to; it is only read from now on",
        "Expected for shipped caches (say so with PYC_CACHE=ro); else check its permissions.",
    )
    CACHE_DISABLED = Entry(
        "PYC2311", "cache miss: the disk cache is switched off (PYC_CACHE=off)", _NOTHING
    )
    CACHE_EVICTED = Entry(
        "PYC2312",
        "the in-process cache was full and dropped its least recently used program",
        "Expected with very many signatures; the disk cache still has it.",
    )
    CACHE_DISK_EVICTED = Entry(
        "PYC2313",
        "the disk cache had passed its bound: an entry that was used least recently was removed",
        "Raise PYC_CACHE_MAX_BYTES if `pyc.cache.stats()` shows misses of what had been stored.",
    )
    CACHE_ENTRY_TOO_LARGE = Entry(
        "PYC2314",
        "not stored: the entry alone is larger than the bound of the disk cache",
        "Raise PYC_CACHE_MAX_BYTES.",
    )
    CACHE_UNREADABLE = Entry(
        "PYC2315",
        "cache miss: the entry, or its directory, could not be read just now",
        "The details name the system's error, such as too many open files.",
    )
    CACHE_LEASE_TIMEOUT = Entry(
        "PYC2316",
        "compiled here too: another process or thread has been compiling the program for long",
        "Expected for programs that take minutes; else see what that process does.",
    )
    CACHE_LEASE_SILENT = Entry(
        "PYC2317",
        "compiled here too: the process that compiles the program makes no progress",
        "The details name the process: it may be stopped, or wait for memory or a disk.",
    )
    CACHE_LEASE_BROKEN = Entry(
        "PYC2318",
        "taken over: the process that was compiling the program died before it stored it",
        "If it happens often, see why: a lack of memory, a time limit, a crash.",
    )
    CACHE_LEASE_FRUITLESS = Entry(
        "PYC2319",
        "compiled here too: the process or thread that was waited for has stored nothing",
        "It failed to compile or to store; its own reasons say why.",
    )
    CACHE_LEASE_NESTED = Entry(
        "PYC2320",
        "compiled here too: called in the middle of a compilation, the thread must not wait",
        "Expected if a signal handler or a finaliser calls jitted functions.",
    )
    CACHE_LEASE_UNAVAILABLE = Entry(
        "PYC2321",
        "compiled without a lease: its file in the cache directory could not be made or locked",
        "The details name the system's error. Where the file system has no locks, set "
        "PYC_CACHE_DIR to a local directory, or accept that several processes compile the same "
        "program.",
    )
    CACHE_NOT_REPRODUCED = Entry(
        "PYC2322",
        "verify: compiling the entry again gives other bytes",
        "`python -m pyc cache verify --repair` removes it. Please report it: equal programs must "
        "give equal bytes.",
    )
    CACHE_NOT_VERIFIABLE = Entry(
        "PYC2323",
        "verify: the entry cannot be compiled again here",
        "Expected for entries of other versions, targets and devices; the details say which.",
    )
    CACHE_NOT_STORED = Entry(
        "PYC2324",
        "not stored: the system could not write the entry just now",
        "The details name the system's error, such as a full disk. Other programs are tried anew.",
    )

    # fusion: why two operations did not become one kernel
    FUSION_EXPENSIVE_PRODUCER = Entry(
        "PYC2401",
        "not fused: the value is costly and used by several kernels, so it is computed once",
        _NOTHING,
    )
    FUSION_EXPRESSION_LIMIT = Entry(
        "PYC2402",
        "not fused: the kernel would hold more expressions than compile in reasonable time",
        _NOTHING,
    )
    FUSION_OWN_KERNEL = Entry(
        "PYC2408",
        "not fused: an operation has a kernel of its own, such as a product, a sort or a loop",
        "Nothing: element-wise work on the result of a product joins it where it alone reads it.",
    )
    FUSION_OTHER_LOOPS = Entry(
        "PYC2409",
        "not fused: two kernels run over different axes, or reduce different ones",
        _NOTHING,
    )
    FUSION_OTHER_PLACES = Entry(
        "PYC2410",
        "not fused: a kernel reads what the other makes at other places than where it is made",
        "Nothing: neighbours, transposes and rows must be stored before they can be read.",
    )
    FUSION_LONG_ROWS = Entry(
        "PYC2411",
        "not fused: few long rows are reduced by several tasks together, before others can begin",
        _NOTHING,
    )
    FUSION_ORDER = Entry(
        "PYC2412",
        "not fused: checks, and what can fail, keep their order",
        "Expected with `raise`, `assert` and callbacks; do them before or after the work.",
    )
    FUSION_ELSEWHERE = Entry(
        "PYC2413",
        "not fused: the work that reads one kernel's result is part of another kernel",
        _NOTHING,
    )
    FUSION_WHOLE_ARRAY_LOOP = Entry(
        "PYC2407",
        "the loop runs over whole arrays: it could not be proven to work on each element alone",
        "Make the state of finished elements stay as it is (`where(mask, new, old)`).",
    )

    # memory: why bytes are copied or kept
    MEMORY_UPDATE_OPERAND_ALIVE = Entry(
        "PYC2501",
        "the array is copied before it is updated: its old value is used afterwards",
        "Do not use the old value after the update.",
    )
    MEMORY_UPDATE_OPERAND_IS_ARGUMENT = Entry(
        "PYC2502",
        "the array is copied before it is updated: it is an argument, which stays as it is",
        "Donate the argument (`donate_argnums=`) if the caller no longer needs it.",
    )
    MEMORY_UPDATE_OPERAND_IS_CONSTANT = Entry(
        "PYC2503", "the array is copied before it is updated: it is a constant", _NOTHING
    )
    MEMORY_UPDATE_READS_OPERAND = Entry(
        "PYC2505",
        "the new elements of an update are computed before any is stored: they need those replaced",
        _NOTHING,
    )
    MEMORY_UPDATE_ELSEWHERE = Entry(
        "PYC2506",
        "the array is copied before it is updated: the updated one belongs in another buffer",
        _NOTHING,
    )
    MEMORY_CARRY_COPIED = Entry(
        "PYC2507",
        "a loop copies a carried array in every iteration: its next value is an array that lives "
        "on elsewhere",
        "Carry an array once, and compute the next value from it.",
    )
    MEMORY_BRANCH_RESULT_COPIED = Entry(
        "PYC2508",
        "a case of a cond copies an array: it returns it as it is, where another case does not "
        "update it",
        "Update the array in each case (`x.at[...]`), or choose what it is updated with.",
    )
    MEMORY_LOOP_RESULT_COPIED = Entry(
        "PYC2509",
        "a result of a loop may be copied once: two buffers take turns, and how often is not known",
        _NOTHING,
    )
    MEMORY_RESULT_COPIED = Entry(
        "PYC2513",
        "a result is copied: it is an argument, a constant or another result, or a loop made it",
        _NOTHING,
    )
    MEMORY_DONATION_UNUSED = Entry(
        "PYC2514",
        "the memory of a donated argument was not used for a result",
        "Expected if no result has its shape and dtype. Else see the detail: a result can be made "
        "in it once the argument is not read any more, or element by element in its place.",
    )
    ARGUMENT_COPIED_BYTE_SWAPPED = Entry(
        "PYC2510",
        "an argument is copied at each call: its bytes are in the other order",
        'Convert it once: `x.astype(x.dtype.newbyteorder("="))`.',
    )
    ARGUMENT_COPIED_MISALIGNED = Entry(
        "PYC2511",
        "an argument is copied at each call: its address is not a multiple of its item size",
        "Copy it once (`x.copy()`).",
    )
    ARGUMENT_COPIED_NOT_CONTIGUOUS = Entry(
        "PYC2512",
        "an argument is copied at each call: its elements do not lie side by side",
        "Make it contiguous once (`np.ascontiguousarray(x)`).",
    )

    # kernel: which code was chosen
    KERNEL_NEST = Entry(
        "PYC2601", "an operation runs in a nest of loops made by hand for its kind", _NOTHING
    )
    KERNEL_GENERIC = Entry(
        "PYC2602",
        "a contraction runs in generic loops: no nest made by hand does it",
        "Expected for small and unusual shapes; the details say what each nest needs.",
    )
    KERNEL_FEW_THREADS = Entry(
        "PYC2604",
        "a kernel runs in few threads of the device: its work has an order, and no parallel form",
        "Expected for small arrays; the details say how much one thread does.",
    )
    KERNEL_STAGES = Entry(
        "PYC2605",
        "a kernel is several launches, one after the other: many tasks share what few rows reduce",
        "Expected for sums of all elements and of long columns; the details name the launches.",
    )

    # device
    NO_GPU = Entry(
        "PYC2701",
        "no usable GPU",
        "`python -m pyc doctor` says what is missing.",
    )

    DEVICE_CAPTURE_COPIED = Entry(
        "PYC2702",
        "an array that the function reads from outside is copied to the GPU before each call: it "
        "may have changed",
        "Put it there once, `w = pyc.device_put(w)`, or make it read-only: "
        "`w.flags.writeable = False`.",
    )
    DEVICE_VALUES_NEEDED = Entry(
        "PYC2703",
        "elements of an array on a device were copied to the host: how many elements a result has "
        "depends on them",
        "Where the count may be fixed, give it (`size=`), or write `where(mask, x, other)`.",
    )
    DEVICE_UNPICKLED_ON_CPU = Entry(
        "PYC2704",
        "an array that was pickled from a device that is not here is on the CPU",
        "Put it where it is to be: `x.to_device(device)`.",
    )
    DEVICE_FAILURE_UNREAD = Entry(
        "PYC2705",
        "a check failed on a device in a call of which no result was read until the process ended",
        "Read a result, or wait for it with `block_until_ready`, where the error should be raised.",
    )

    DEVICE_LIBRARY = Entry(
        "PYC2706",
        "an operation is done by a library of the device: its bits are those of the library's "
        "version on this device, not the CPU's",
        "`PYC_DEVICE_LINALG=host` has it done on the host, with the CPU's bits.",
    )

    DEVICE_TILES_REFUSED = Entry(
        "PYC2707",
        "the system does not let this process use the tiles of AMX: products of bfloat16 are done "
        "by pairs",
        "Use Linux 5.16 or newer, or a sandbox that allows `arch_prctl` with ARCH_REQ_XCOMP_PERM.",
    )

    # fallback: slower but correct routes
    LLVM_UNKNOWN_RELEASE = Entry(
        "PYC2802",
        "LLVM is called through llvmlite's own Python layer, which takes 20 ms longer to load: the "
        "C functions of this release are not known",
        "Use a release of llvmlite that `python -m pyc doctor` does not remark on.",
    )
    FALLBACK_HOST = Entry(
        "PYC2801",
        "a step runs on the host: the device has no kernel for it, or cannot launch it",
        "The details name the operation and what is copied.",
    )
    PLACED_ON_HOST = Entry(
        "PYC2804",
        "a step runs on the host: its order leaves so few threads at work that the device would be "
        "slower, copies included",
        "Expected of a long loop that steps from one number to the next; the details name what is "
        "copied.",
    )
    DISPATCH_SLOW_KEYWORDS = Entry(
        "PYC2810",
        "calls go through Python: there are keyword arguments",
        "Pass arguments by position where the microsecond counts.",
    )
    DISPATCH_SLOW_PYTHON = Entry(
        "PYC2811",
        "calls go through Python: this Python version or build was not tested with native calls",
        "Use CPython 3.11 to 3.13.",
    )
    DISPATCH_SLOW_PROBE = Entry(
        "PYC2812",
        "calls go through Python: the check of the interpreter's memory layout failed",
        "Please report it with the output of `python -m pyc doctor`.",
    )
    DISPATCH_SLOW_ARGUMENT = Entry(
        "PYC2813",
        "calls go through Python: an argument is of a kind that native calls do not know",
        "Pass arrays, numbers, and tuples, lists and dicts of them.",
    )
    DISPATCH_SLOW_CAPTURE = Entry(
        "PYC2814",
        "calls go through Python: something that the function reads from outside is of a kind that "
        "native calls do not look at",
        "Nothing if a call takes long. Else pass it as an argument, or make long lists tuples.",
    )

    DISPATCH_SLOW_FORM = Entry(
        "PYC2815",
        "calls of a form go through Python: there are too many native forms, or this one had to be "
        "made again too often",
        "Call with few shapes and keep equal values one object: name them outside of the loop.",
    )

    DISPATCH_SLOW_HOST_CALL = Entry(
        "PYC2816",
        "calls go through Python: the program calls Python functions back. They are no part of its "
        "cache entry, which is found by the program around them",
        "Expected for `pyc.debug.print` and callbacks; take them out where the microsecond counts.",
    )

    DISPATCH_SLOW_DEVICE = Entry(
        "PYC2817",
        "calls of a program on a GPU go through Python, some microseconds each",
        "Nothing if a call takes long. Else see the detail: put arrays on the device once with "
        "`pyc.device_put`; steps of the host are waited for.",
    )

    FALLBACK_ONE_SIZE = Entry(
        "PYC2803",
        "an operation outside of jit is compiled for its shapes, each shape anew: there is no "
        "program of it for arrays of any size; or a function of several operations is compiled as "
        "one, for the shapes that come first or often",
        "Nothing if the shapes are few. Else call it from a jitted function of padded arrays.",
    )

    # numeric: why results differ from the strict ones
    NUMERIC_RELAXED = Entry(
        "PYC2901",
        "rewritten because of fastmath: results may differ from the strict ones by some roundings",
        "Expected with `fastmath=True`; leave it out where NumPy's bits, NaN or infinities matter.",
    )
    NUMERIC_STRICT_OUTSIDE = Entry(
        "PYC2902",
        "fastmath of a function is not used: the function that calls it has not asked for it",
        "Give the outermost function `fastmath=True` too, if all of it may have other roundings.",
    )

    @property
    def code(self) -> str:
        """The stable code, as `python -m pyc explain` takes it."""
        return self.value.code

    @property
    def group(self) -> str:
        """One of `GROUPS`."""
        return GROUPS[self.value.code[3:5]]

    @property
    def meaning(self) -> str:
        """What happened, in one line."""
        return self.value.meaning

    @property
    def remedy(self) -> str:
        """What to do about it, in one line."""
        return self.value.remedy

    def __str__(self) -> str:
        return self.name.lower()


ON_HOST = (Reason.FALLBACK_HOST, Reason.PLACED_ON_HOST)
"""Why a step of a program on a device runs on the host."""
BY_CODE: dict[str, Reason] = {r.code: r for r in Reason}
"""Every reason by its code."""


@frozen()
class Event:
    """Something that happened, and why. details: names to numbers, texts, or lists of these."""

    reason: Reason
    details: Mapping[str, Any]

    def __str__(self) -> str:
        details = ", ".join(f"{k}={v}" for k, v in self.details.items())
        return f"{self.reason.meaning} [{self.reason.code}]" + (f": {details}" if details else "")


# --- the log of this process ----------------------------------------------------------------------

# Re-entrant, as a signal handler or a finaliser may record something wherever Python runs.
_lock = RLock()
_log: deque[Event] = deque(maxlen=LOG_LENGTH)
_counts: Counter[Reason] = Counter()
_collectors: ContextVar[tuple[list[Event], ...]] = ContextVar("pyc_reasons", default=())
hold(_lock)

_unrecorded: ContextVar[bool] = ContextVar("pyc_reasons_unrecorded", default=False)
_aside: ContextVar[list[Event] | None] = ContextVar("pyc_reasons_aside", default=None)


def record(reason: Reason, **details: Any) -> Event:
    """Notes that something happened for `reason`, and returns the event."""
    event = Event(reason, details)
    if _unrecorded.get():
        return event
    aside = _aside.get()
    if aside is not None:
        aside.append(event)
        return event
    with _lock:
        _log.append(event)
        _counts[reason] += 1
    for collector in _collectors.get():
        collector.append(event)
    return event


def events(group: str | None = None) -> list[Event]:
    """The last events of this process, oldest first; of one group if given."""
    with _lock:
        found = list(_log)
    return [e for e in found if group is None or e.reason.group == group]


def counts() -> dict[Reason, int]:
    """How often each reason occurred in this process, in the order of the enum."""
    with _lock:
        found = dict(_counts)
    return {r: found[r] for r in Reason if r in found}


def clear() -> None:
    """Empties the log and the counts."""
    with _lock:
        _log.clear()
        _counts.clear()


@contextmanager
def collecting() -> Iterator[list[Event]]:
    """A list that gets the events recorded inside the block (in this thread and context)."""
    collected: list[Event] = []
    token = _collectors.set((*_collectors.get(), collected))
    try:
        yield collected
    finally:
        _collectors.reset(token)


@contextmanager
def aside() -> Iterator[list[Event]]:
    """A list that gets the events of the block (in this thread and context), which are noted
    nowhere else: what happens is only looked at."""
    found: list[Event] = []
    token = _aside.set(found)
    try:
        yield found
    finally:
        _aside.reset(token)


@contextmanager
def unrecorded() -> Iterator[None]:
    """Inside the block (in this thread and context) nothing is noted: it is done a second time."""
    token = _unrecorded.set(True)
    try:
        yield
    finally:
        _unrecorded.reset(token)


def page(code: str) -> str:
    """What is known about a reason's code; KeyError if there is none such."""
    reason = BY_CODE[code]
    return (
        f"{code} {reason} ({reason.group})\n\n"
        f"{reason.meaning[0].upper()}{reason.meaning[1:]}.\n\nWhat to do: {reason.remedy}"
    )
