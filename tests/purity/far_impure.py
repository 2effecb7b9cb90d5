"""Functions with an effect that is far from the line that causes it: other names of output, other
doors to files and processes, settings of libraries, values that differ from process to process.

As `impure.py`.
"""

from __future__ import annotations

import _thread
import asyncio
import atexit
import code
import configparser
import csv
import datetime
import email.utils
import faulthandler
import fcntl
import fileinput
import functools
import gc
import getpass
import glob
import gzip
import http.client
import importlib
import inspect
import io
import json
import linecache
import locale
import logging
import mmap
import multiprocessing
import multiprocessing.shared_memory
import numbers
import operator
import os
import pathlib
import pickle
import platform
import pprint
import pwd
import queue
import random
import resource
import runpy
import sched
import secrets
import select
import shelve
import shutil
import signal
import smtplib
import socket
import sqlite3
import string
import subprocess
import sys
import syslog
import tempfile
import threading
import time
import timeit
import traceback
import tracemalloc
import urllib.request
import uuid
import warnings
import zipfile
from contextlib import redirect_stderr

import numpy as np

LOG = logging.getLogger("tests.purity.far")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False
SAY = functools.partial(print, "now:")
BUFFER = io.StringIO()
BYTES = io.BytesIO()
WRITER = csv.writer(BUFFER)
PICKLER = pickle.Pickler(BYTES)
STARTED = 0.0
CLOCKS = {"wall": time.time, "cpu": time.process_time}
LEGACY = np.random.RandomState(3)
NEW = np.random.default_rng(3)
BITS = np.random.PCG64(3)
SEQUENCE = np.random.SeedSequence(3)
DRAW = random.Random(3).random
GAUSS = np.random.default_rng(3).normal
DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
QUEUE = queue.Queue()
LOOP_STARTED = False


class Talker:
    """Prints by every special method."""

    def __repr__(self):
        print("repr")
        return "Talker()"

    def __bool__(self):
        print("bool")
        return True

    def __len__(self):
        print("len")
        return 1

    def __getitem__(self, k):
        print("item")
        return 1.0

    def __iter__(self):
        print("iter")
        return iter([1.0])

    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, *error):
        return None

    def __call__(self, x):
        print("call")
        return x

    def __getattr__(self, name):
        print("attribute", name)
        return 1.0

    def __rmul__(self, x):
        print("multiplied")
        return x

    __array_ufunc__ = None

    def __eq__(self, other):
        print("equal")
        return True

    __hash__ = object.__hash__


TALKER = Talker()


class Field:
    """A descriptor that prints."""

    def __get__(self, instance, owner):
        print("get")
        return 1.0

    def __set__(self, instance, value):
        print("set")


class Row:
    field = Field()


ROW = Row()


class Meta(type):
    def __call__(cls, *args):
        print("making")
        return super().__call__(*args)


class Made(metaclass=Meta):
    pass


class Announced:
    def __init_subclass__(cls):
        print("subclass")


# --- output ---------------------------------------------------------------------------------------


def output_original_stdout(x):
    sys.__stdout__.write("x")
    return x


def output_original_stderr(x):
    print("x", file=sys.__stderr__)
    return x


def output_partial_outside(x):
    SAY("x")
    return x


def output_flushed(x):
    sys.stdout.flush()
    return x


def output_in_memory_from_outside(x):
    BYTES.write(b"x")
    return x


def output_bytes_by_pickle(x):
    pickle.dump([1], BYTES)
    return x


def object_pickler(x):
    PICKLER.dump([1])
    return x


def output_json_into_buffer(x):
    json.dump([1], BUFFER)
    return x


def object_csv_writer(x):
    WRITER.writerow([1, 2])
    return x


def output_csv_into_buffer(x):
    csv.writer(BUFFER).writerow([1, 2])
    return x


def output_pprint(x):
    pprint.pprint({"shape": x.shape})
    return x


def output_traceback(x):
    try:
        raise ValueError("x")
    except ValueError:
        traceback.print_exc()
    return x


def output_warn_explicit(x):
    warnings.warn_explicit("x", UserWarning, "file.py", 1)
    return x


def output_logging_method_by_name(x):
    getattr(LOG, "war" + "ning")("x")
    return x


def output_log_error_with_traceback(x):
    try:
        raise ValueError("x")
    except ValueError:
        LOG.exception("failed")
    return x


def output_handler(x):
    LOG.handlers[0].emit(LOG.makeRecord("a", 40, "f", 1, "m", (), None))
    return x


def output_console(x):
    code.InteractiveConsole().write("x")
    return x


def output_display_hook(x):
    sys.displayhook(3)
    return x


def output_exception_hook(x):
    sys.excepthook(ValueError, ValueError("x"), None)
    return x


def output_help(x):
    help(len)
    return x


def output_exec(x):
    exec("print('x')")
    return x


def output_eval(x):
    return x * eval("print('x') or 2")


def output_compiled(x):
    exec(compile("import sys; sys.stdout.write('x')", "<text>", "exec"), {})
    return x


def output_in_repr(x):
    text = f"{TALKER!r}"
    return x * len(text)


def output_in_bool(x):
    return x * 2 if TALKER else x


def output_in_len(x):
    return x * len(TALKER)


def output_in_item(x):
    return x * TALKER[0]


def output_in_iteration(x):
    for factor in TALKER:
        x = x * factor
    return x


def output_in_with(x):
    with TALKER:
        return x


def output_in_call(x):
    return TALKER(x)


def output_in_getattr(x):
    return x * TALKER.anything


def output_in_operator(x):
    return x * TALKER


def output_in_comparison(x):
    return x * 2 if TALKER == 3 else x


def output_in_descriptor(x):
    return x * ROW.field


def object_descriptor_set(x):
    ROW.field = 2.0
    return x


def output_in_metaclass(x):
    Made()
    return x


def output_in_init_subclass(x):
    class More(Announced):
        pass

    return x


def output_in_formatted(x):
    class Shown:
        def __format__(self, how):
            print("formatted")
            return "x"

    f"{Shown():x}"
    return x


def output_reduced(x):
    functools.reduce(lambda a, b: print(a), [1, 2, 3])
    return x


def output_filtered(x):
    list(filter(print, [1]))
    return x


def output_by_min_key(x):
    return x * min([1, 2], key=lambda v: print(v) or v)


def output_in_sort_key(x):
    row = [2, 1]
    row.sort(key=lambda v: sys.stdout.write("x") and v)
    return x * row[0]


def output_in_default_factory(x):
    import collections  # noqa: PLC0415

    return x * len(collections.defaultdict(lambda: print("x") or [1])["k"])


def output_in_regular_expression(x):
    import re  # noqa: PLC0415

    re.sub("a", lambda m: print(m) or "b", "a")
    return x


def output_redirected_stderr(x):
    with redirect_stderr(BUFFER):
        print("x", file=sys.stderr)
    return x


def output_numpy_print(x):
    np.info(np.sum)
    return x


def file_numpy_savetxt(x):
    np.savetxt(BUFFER, np.zeros(2))
    return x


def output_by_walrus(x):
    return x * (2 if (shown := print("x")) is None else shown)


def output_star_import(x):
    names = {}
    exec("from builtins import *", names)
    names["print"]("x")
    return x


def output_by_frame(x):
    sys._getframe().f_builtins["print"]("x")
    return x


def output_by_subclasses(x):
    import builtins  # noqa: PLC0415

    vars(builtins)["print"]("x")
    return x


def output_of_class_made_inside(x):
    class Inner:
        def __init__(self):
            print("made")

    Inner()
    return x


def output_input_by_stdin(x):
    return x * len(sys.stdin.read())


def file_fileinput(x):
    return x * len(list(fileinput.input(["nothing.txt"])))


def environment_logger_made_inside(x):
    log = logging.Logger("inner")
    log.addHandler(logging.StreamHandler(sys.stdout))
    log.warning("x")
    return x


def output_select(x):
    select.select([], [], [], 0)
    return x


# --- files ----------------------------------------------------------------------------------------


def file_read_text(x):
    return x * len(pathlib.Path("numbers.txt").read_text())


def file_written_bytes(x):
    pathlib.Path("numbers.txt").write_bytes(b"x")
    return x


def file_made_directory(x):
    pathlib.Path("nowhere").mkdir(exist_ok=True)
    return x


def file_touched(x):
    pathlib.Path("numbers.txt").touch()
    return x


def file_path_exists(x):
    return x * pathlib.Path("numbers.txt").exists()


def file_stat(x):
    return x * os.stat(".").st_size


def file_scanned(x):
    os.scandir(".").close()
    return x


def file_globbed(x):
    return x * len(glob.glob("*.nothing"))


def file_temporary_file(x):
    with tempfile.TemporaryFile() as file:
        file.write(b"x")
    return x


def file_temporary_directory(x):
    with tempfile.TemporaryDirectory():
        return x


def file_spooled(x):
    with tempfile.SpooledTemporaryFile() as file:
        file.write(b"x")
        file.rollover()
    return x


def file_os_open(x):
    os.close(os.open("numbers.txt", os.O_RDONLY))
    return x


def file_io_open(x):
    io.open("numbers.txt").close()  # noqa: UP020
    return x


def file_of_class(x):
    io.FileIO("numbers.txt", "w").close()
    return x


def file_json_dumped(x):
    with open("numbers.json", "w") as file:
        json.dump([1], file)
    return x


def file_csv(x):
    with open("numbers.csv", "w", newline="") as file:
        csv.writer(file).writerow([1])
    return x


def file_pickled(x):
    with open("numbers.pickle", "wb") as file:
        pickle.dump([1], file)
    return x


def file_shelve(x):
    with shelve.open("numbers.shelf") as shelf:
        shelf["a"] = 1
    return x


def file_sqlite(x):
    sqlite3.connect(":memory:").close()
    return x


def file_zip(x):
    zipfile.ZipFile("numbers.zip", "w").close()
    return x


def file_gzip(x):
    gzip.open("numbers.gz").close()
    return x


def file_numpy_loaded(x):
    return x * np.load("numbers.npy")


def file_numpy_text(x):
    return x * np.loadtxt("numbers.txt")


def file_numpy_savez(x):
    np.savez("numbers.npz", a=np.zeros(2))
    return x


def file_memory_map(x):
    return x * np.memmap("numbers.bin", dtype=np.float64, mode="w+", shape=(3,))


def file_mmap(x):
    mmap.mmap(-1, 10).close()
    return x


def process_shared_memory(x):
    multiprocessing.shared_memory.SharedMemory(create=True, size=8).close()
    return x


def file_fromfile(x):
    return x * np.fromfile("numbers.bin")


def file_renamed(x):
    os.rename("a.txt", "b.txt")
    return x


def file_tree_removed(x):
    shutil.rmtree("nowhere", ignore_errors=True)
    return x


def file_disk_usage(x):
    return x * shutil.disk_usage(".").free


def file_locked(x):
    fcntl.flock(1, fcntl.LOCK_UN)
    return x


def file_line(x):
    return x * len(linecache.getline("LICENSE", 1))


def file_settings(x):
    configparser.ConfigParser().read("settings.ini")
    return x


def file_logging_handler(x):
    logging.FileHandler("numbers.log").close()
    return x


def file_run_path(x):
    runpy.run_path("numbers.py")
    return x


# --- processes, network, threads ------------------------------------------------------------------


def process_popen(x):
    return x * len(os.popen("true").read())


def process_check_output(x):
    return x * len(subprocess.check_output(["true"]))


def process_pool(x):
    with multiprocessing.Pool(1) as pool:
        return x * pool.apply(len, ("a",))


def process_fork(x):
    if os.fork() == 0:
        os._exit(0)
    return x


def process_killed(x):
    os.kill(12345678, 0)
    return x


def process_raised(x):
    signal.raise_signal(signal.SIGCHLD)
    return x


def process_waited(x):
    os.waitpid(-1, os.WNOHANG)
    return x


def network_opened(x):
    return x * len(urllib.request.urlopen("http://localhost:9").read())


def network_http(x):
    http.client.HTTPConnection("localhost", 9).request("GET", "/")
    return x


def network_address(x):
    return x * len(socket.gethostbyname("localhost"))


def network_pair(x):
    first, second = socket.socketpair()
    first.close()
    second.close()
    return x


def network_mail(x):
    smtplib.SMTP("localhost", 9)
    return x


def thread_timer(x):
    threading.Timer(0, str).start()
    return x


def thread_low(x):
    _thread.start_new(str, ())
    return x


def thread_loop(x):
    loop = asyncio.new_event_loop()
    try:
        return x * loop.run_until_complete(asyncio.sleep(0, 2.0))
    finally:
        loop.close()


def thread_subclass(x):
    class Worker(threading.Thread):
        def run(self):
            pass

    Worker().start()
    return x


# --- settings and facts of the process ------------------------------------------------------------


def environment_get(x):
    return x * len(os.environ.get("HOME", ""))


def environment_contains(x):
    return x * ("HOME" in os.environ)


def environment_pop(x):
    os.environ.pop("FACTOR", None)
    return x


def environment_update(x):
    os.environ.update(FACTOR="2")
    return x


def environment_setdefault(x):
    os.environ.setdefault("FACTOR", "2")
    return x


def environment_put(x):
    os.putenv("FACTOR", "2")
    return x


def environment_bytes(x):
    return x * len(os.environb)


def environment_expanded(x):
    return x * len(os.path.expandvars("${HOME}"))


def environment_home(x):
    return x * len(os.path.expanduser("~"))


def environment_pathlib_home(x):
    return x * len(str(pathlib.Path.home()))


def environment_pathlib_cwd(x):
    return x * len(str(pathlib.Path.cwd()))


def environment_absolute(x):
    return x * len(os.path.abspath("a"))


def environment_changed_directory(x):
    os.chdir(".")
    return x


def environment_umask(x):
    os.umask(0o22)
    return x


def environment_exit_handler(x):
    atexit.register(str)
    return x


def environment_signal(x):
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    return x


def environment_gc_disable(x):
    gc.disable()
    return x


def environment_gc_threshold(x):
    gc.set_threshold(700)
    return x


def environment_print_options(x):
    np.set_printoptions(precision=3)
    return x


def environment_numpy_geterr(x):
    return x * len(np.geterr())


def environment_numpy_error_call(x):
    np.seterrcall(None)
    return x


def environment_numpy_buffer(x):
    np.setbufsize(8192)
    return x


def environment_locale(x):
    locale.setlocale(locale.LC_ALL, "C")
    return x


def environment_user(x):
    return x * len(getpass.getuser())


def environment_platform(x):
    return x * len(platform.platform())


def environment_cpu_count(x):
    return x * len(os.sched_getaffinity(0))


def environment_reload(x):
    importlib.reload(string)
    return x


def environment_switch_interval(x):
    sys.setswitchinterval(0.005)
    return x


def object_excepthook(x):
    sys.excepthook = print
    return x


def environment_trace(x):
    sys.settrace(None)
    return x


def environment_profile(x):
    sys.setprofile(None)
    return x


def environment_terminal(x):
    return x * shutil.get_terminal_size().columns


def environment_warnings_reset(x):
    warnings.resetwarnings()
    return x


def object_warning_hook(x):
    warnings.showwarning = print
    return x


def environment_logging_config(x):
    logging.basicConfig(level=10)
    return x


def environment_log_level_name(x):
    logging.addLevelName(11, "ELEVEN")
    return x


def object_log_propagate(x):
    LOG.propagate = True
    return x


def object_log_disabled(x):
    LOG.disabled = True
    return x


def environment_log_filter(x):
    LOG.addFilter(lambda record: True)
    return x


def environment_handler_level(x):
    LOG.handlers[0].setLevel(10)
    return x


def environment_handler_formatter(x):
    LOG.handlers[0].setFormatter(logging.Formatter("%(message)s"))
    return x


def environment_numeric_tower(x):
    numbers.Number.register(Row)
    return x


def repeat_frames_counted(x):
    return x * len(inspect.stack())


def environment_thread_number(x):
    return x * threading.get_ident()


def environment_thread_number_mapped(x):
    return x * next(map(operator.call, [threading.get_ident]))


def environment_usage(x):
    return x * resource.getrusage(resource.RUSAGE_SELF).ru_utime


def environment_limits(x):
    return x * resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def environment_user_of_the_system(x):
    return x * len(pwd.getpwuid(0).pw_name)


def environment_memory_traced(x):
    return x * tracemalloc.get_traced_memory()[0]


def environment_references(x):
    return x * sys.getrefcount(CLOCKS)


def environment_timer(x):
    return x * signal.getitimer(signal.ITIMER_REAL)[0]


def environment_fault_handler(x):
    faulthandler.cancel_dump_traceback_later()
    return x


def environment_threads_counted(x):
    return x * _thread._count()


def clock_signal_awaited(x):
    signal.sigtimedwait([], 0)
    return x


def output_system_log(x):
    syslog.syslog("x")
    return x


def output_epoll(x):
    select.poll().poll(0)
    return x


def environment_looped(x):
    for name in os.environ:
        x = x * len(name)
    return x


def environment_not_contained(x):
    return x * 2 if "HOME" not in os.environ and x.ndim else x


def environment_truth(x):
    return x if os.environ else x * 2


def environment_enumerated(x):
    for k, _ in enumerate(os.environ):
        x = x * k
    return x


def environment_items(x):
    for name, _ in os.environ.items():
        x = x * len(name)
    return x


def output_stdin_looped(x):
    for _ in sys.stdin:
        pass
    return x


# --- clocks ---------------------------------------------------------------------------------------


def clock_utc(x):
    return x * datetime.datetime.now(datetime.UTC).year


def clock_from_dict(x):
    return x * CLOCKS["wall"]()


def clock_counter(x):
    return x * time.perf_counter_ns()


def clock_monotonic(x):
    return x * (time.monotonic() - STARTED)


def clock_text(x):
    return x * len(time.ctime())


def clock_formatted(x):
    return x * len(time.strftime("%Y"))


def clock_by_getattr(x):
    return x * getattr(time, "time")()  # noqa: B009


def clock_timeit(x):
    return x * timeit.default_timer()


def clock_timed(x):
    return x * timeit.timeit("1", number=1)


def clock_email(x):
    return x * len(email.utils.formatdate())


def random_uuid_of_time(x):
    return x * (uuid.uuid1().int % 7)


def clock_times(x):
    return x * os.times().user


def clock_scheduler(x):
    sched.scheduler(time.time, time.sleep).enter(0, 1, str)
    return x


def clock_subclass(x):
    class Day(datetime.date):
        pass

    return x * Day.today().day


def clock_queue_wait(x):
    try:
        return x * QUEUE.get(timeout=0.001)
    except queue.Empty:
        return x


# --- random ---------------------------------------------------------------------------------------


def random_choice(x):
    return x * random.choice([1, 2])


def random_sample(x):
    return x * random.sample([1, 2, 3], 2)[0]


def random_gauss(x):
    return x * random.gauss(0.0, 1.0)


def random_getstate(x):
    return x * len(random.getstate())


def random_setstate(x):
    random.setstate(random.Random(0).getstate())
    return x


def random_bound_method(x):
    return x * DRAW()


def random_numpy_bound_method(x):
    return x * GAUSS()


def random_numpy_seed(x):
    np.random.seed(3)
    return x


def random_numpy_integers(x):
    return x * np.random.randint(3)


def random_numpy_shuffle(x):
    row = np.arange(3)
    np.random.shuffle(row)
    return x * row


def random_legacy_generator(x):
    return x * LEGACY.rand()


def random_generator_integers(x):
    return x * NEW.integers(5)


def random_generator_shuffle(x):
    NEW.shuffle([1, 2, 3])
    return x


def random_bit_generator(x):
    return x * BITS.random_raw()


def random_generator_over_bits(x):
    return x * np.random.Generator(BITS).random()


def object_seeds_spawned(x):
    return x * np.random.default_rng(SEQUENCE.spawn(1)[0]).random()


def random_spawned_generator(x):
    return x * NEW.spawn(1)[0].random()


def random_default_rng(x):
    return x * np.random.default_rng().random()


def random_token_hex(x):
    return x * len(secrets.token_hex(3)) * int(secrets.token_hex(1), 16)


def random_choice_secrets(x):
    return x * secrets.choice([1, 2])


def random_passed_to_helper(x):
    return x * sum(draw() for draw in (random.random,))


def random_by_module_attribute(x):
    return x * operator.attrgetter("random")(random)()
