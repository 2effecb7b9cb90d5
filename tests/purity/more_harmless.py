"""More functions that only look as if they had an effect, as `harmless.py`."""

from __future__ import annotations

import array
import bisect
import calendar
import collections
import contextlib
import contextvars
import copy
import csv
import ctypes
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import heapq
import inspect
import io
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import pickle
import queue
import random
import re
import statistics
import string
import struct
import sys
import textwrap
import threading
import time
import traceback
import types
import typing
import uuid
import warnings
import weakref
import zlib

import numpy as np

H = [3, 1, 2]
D = {"a": 1}
L = threading.Lock()


class Thing:
    pass


MOD = types.ModuleType("mymod")
MOD.k = 1
sys.modules["mymod"] = MOD
CTX = contextvars.ContextVar("CTX", default=0)
LOG = logging.getLogger("tests.purity.more")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False


class E(enum.Enum):
    A = 1


def helper(x):
    return x


def pass_more_rng_local(x):
    return x * np.random.default_rng(0).random()


def pass_more_random_local(x):
    return x * random.Random(0).random()


def pass_more_rs_local(x):
    return x * float(np.random.default_rng(3).standard_normal())


def pass_more_shuffle_local(x):
    row = [1, 2, 3]
    random.Random(0).shuffle(row)
    return x * row[0]


def pass_more_heap_local(x):
    h = []
    heapq.heappush(h, 2)
    heapq.heappush(h, 1)
    return x * heapq.heappop(h)


def pass_more_insort_local(x):
    h = [1, 3]
    bisect.insort(h, 2)
    return x * h[1]


def pass_more_setitem_local(x):
    d = {}
    operator.setitem(d, "a", 2)
    return x * d["a"]


def pass_more_counter(x):
    return x * collections.Counter("aab")["a"]


def pass_more_userlist(x):
    u = collections.UserList([1])
    u.append(2)
    return x * len(u)


def pass_more_chainmap(x):
    u = collections.ChainMap({})
    u["a"] = 2
    return x * u["a"]


def pass_more_queue(x):
    q = queue.Queue()
    q.put(1)
    return x * q.get()


def pass_more_event(x):
    e = threading.Event()
    e.set()
    return x * e.is_set()


def pass_more_lock(x):
    with threading.Lock(), threading.Condition():
        return x * 2 * isinstance(L, type(threading.Lock()))


def pass_more_rlock(x):
    with threading.RLock():
        return x * 2


def pass_more_sem(x):
    with threading.Semaphore(2):
        return x * 2


def pass_more_bytearray(x):
    b = bytearray(3)
    b[0] = 2
    return x * b[0]


def pass_more_memoryview(x):
    b = bytearray(3)
    memoryview(b)[0] = 2
    return x * b[0]


def pass_more_struct(x):
    b = bytearray(8)
    struct.pack_into("d", b, 0, 2.0)
    return x * struct.unpack("d", b)[0]


def pass_more_ctypes(x):
    c = ctypes.c_double(1.0)
    c.value = 3.0
    return x * c.value


def pass_more_array(x):
    a = array.array("d")
    a.append(2.0)
    return x * a[0]


def pass_more_decimal(x):
    return x * float(decimal.Decimal("1.5") * 2)


def pass_more_localcontext(x):
    with decimal.localcontext() as c:
        c.prec = 5
        return x * float(decimal.Decimal(1) / 3)


def pass_more_fractions(x):
    return x * float(fractions.Fraction(1, 3))


def pass_more_hashlib(x):
    return x * hashlib.sha256(b"a").digest()[0]


def pass_more_zlib(x):
    return x * zlib.crc32(b"a")


def pass_more_json(x):
    return x * json.loads('{"a": 2}')["a"]


def pass_more_pickle(x):
    return x * pickle.loads(pickle.dumps(2))


def pass_more_copy(x):
    return x * copy.deepcopy(D)["a"]


def pass_more_sio(x):
    s = io.StringIO()
    s.write("ab")
    print("x", file=s)
    return x * len(s.getvalue())


def pass_more_redirect(x):
    s = io.StringIO()
    with contextlib.redirect_stdout(s):
        print("abc")
    return x * len(s.getvalue())


def pass_more_csv(x):
    s = io.StringIO()
    csv.writer(s).writerow([1, 2])
    return x * len(s.getvalue())


def pass_more_dt(x):
    return x * datetime.datetime(2024, 1, 2).day


def pass_more_dtdelta(x):
    return x * (datetime.date(2024, 1, 2) - datetime.date(2024, 1, 1)).days


def pass_more_strptime(x):
    return x * datetime.datetime.strptime("2024-01-02", "%Y-%m-%d").day


def pass_more_path(x):
    return x * len(pathlib.PurePosixPath("a/b").parts)


def pass_more_ospath(x):
    return x * len(os.path.join("a", "b"))


def pass_more_uuid5(x):
    return x * (uuid.uuid5(uuid.NAMESPACE_DNS, "a").int % 7)


def pass_more_uuid_int(x):
    return x * uuid.UUID(int=3).int


def pass_more_warn_suppressed(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("a", stacklevel=1)
    return x


def pass_more_suppress(x):
    with contextlib.suppress(KeyError):
        {}["a"]
    return x


def pass_more_class(x):

    class T:
        n = 0

        def __init__(s):
            T.n += 1

    T()
    T()
    return x * T.n


def pass_more_setattr_local(x):
    o = Thing()
    o.k = 3
    object.__setattr__(o, "j", 2)
    return x * o.k * o.j


def pass_more_vars_local(x):
    o = Thing()
    vars(o)["k"] = 3
    o.__dict__.update(j=2)
    return x * o.k * o.j


def pass_more_ns(x):
    n = types.SimpleNamespace()
    n.k = 3
    return x * n.k


def pass_more_gen(x):

    def g():
        k = 0
        while True:
            k += 1
            yield k

    it = g()
    next(it)
    return x * next(it)


def pass_more_count(x):
    c = itertools.count()
    next(c)
    return x * next(c)


def pass_more_weak(x):
    o = Thing()
    r = weakref.ref(o)
    return x * (r() is o)


def pass_more_weakdict(x):
    o = Thing()
    w = weakref.WeakValueDictionary()
    w["a"] = o
    return x * len(w)


def pass_more_ctxvar(x):
    v = contextvars.ContextVar("v", default=2)
    return x * v.get()


def pass_more_ctxvar_outer(x):
    return x * (CTX.get() + 1)


def pass_more_partial(x):
    return functools.partial(operator.mul, 2)(x)


def pass_more_lru_local(x):

    @functools.lru_cache
    def f(n):
        return n + 1

    return x * f(1) * f(1)


def pass_more_cachedprop(x):

    class T:
        @functools.cached_property
        def k(s):
            return 3

    t = T()
    return x * t.k * t.k


def pass_more_inspect(x):
    return x * len(inspect.signature(helper).parameters)


def pass_more_stack(x):
    return x * sys._getframe().f_code.co_argcount


def pass_more_traceback(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        return x * len(traceback.format_exception_only(e))


def pass_more_local_os_environ_copy(x):
    d = {"a": "1"}
    return x * int(d.get("a", "2"))


def pass_more_sysfacts(x):
    return x * sys.version_info[0] * (sys.maxsize > 0)


def pass_more_finfo(x):
    return x * np.finfo(x.dtype).eps


def pass_more_platform(x):
    return x * (sys.platform == "linux")


def pass_more_string(x):
    return x * len(string.ascii_letters)


def pass_more_math(x):
    return x * math.factorial(5) * math.comb(5, 2)


def pass_more_stat(x):
    return x * statistics.mean([1.0, 2.0])


def pass_more_argv_len(x):
    return x * (len(sys.argv) >= 0)


def pass_more_logger_local(x):
    logging.getLogger("nothing.here")
    return x


def pass_more_logdebug_off(x):
    LOG.debug("no")
    return x


def pass_more_local_mutate_arr(x):
    a = np.zeros(3)
    a[0] = 1
    a.sort()
    np.copyto(a, 2.0)
    return x * a


def pass_more_arg_copy(x):
    y = x.copy()
    y[0] = 3
    return y


def pass_more_dataclass(x):

    @dataclasses.dataclass
    class C:
        a: int = 1

    c = C()
    c.a = 3
    return x * dataclasses.replace(c, a=4).a


def pass_more_enum(x):
    return x * E.A.value


def pass_more_namedtuple(x):
    P = collections.namedtuple("P", "a b")
    return x * P(1, 2).b


def pass_more_errstate(x):
    with np.errstate(all="ignore"):
        return x / x


def pass_more_random_seeded_np(x):
    return x * np.random.Generator(np.random.PCG64(1)).random()


def pass_more_iscallable(x):
    return x * callable(print)


def pass_more_id(x):
    return x * (id(H) == id(H))


def pass_more_hash(x):
    return x * (hash((1, 2)) == hash((1, 2)))


def pass_more_sorted(x):
    return x * sorted(H)[0]


def pass_more_exitstack(x):
    with contextlib.ExitStack() as s:
        s.callback(lambda: None)
    return x


def pass_more_typing(x):
    a: int | None = 3
    return x * typing.cast(int, a)


def pass_more_re(x):
    return x * len(re.findall("a", "aba"))


def pass_more_time_struct(x):
    return x * time.gmtime(0).tm_year


def pass_more_calendar(x):
    return x * calendar.monthrange(2024, 2)[1]


def pass_more_textwrap(x):
    return x * len(textwrap.dedent(" a"))


def pass_more_dis(x):
    return x * len(helper.__code__.co_varnames)
