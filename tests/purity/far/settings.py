"""Functions that read or change settings and facts of the process, and settings of libraries.

As `impure.py`.
"""

from __future__ import annotations

import _thread
import atexit
import faulthandler
import gc
import getpass
import importlib
import inspect
import io
import locale
import logging
import numbers
import operator
import os
import pathlib
import platform
import pwd
import resource
import select
import shutil
import signal
import string
import sys
import syslog
import threading
import time
import tracemalloc
import warnings

import numpy as np

from tests.purity.far.own_classes import Field

LOG = logging.getLogger("tests.purity.far")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False
CLOCKS = {"wall": time.time, "cpu": time.process_time}


class Row:
    field = Field()


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
