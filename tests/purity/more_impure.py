"""More functions with an effect, as `impure.py`: what is reached by uncommon ways, objects of the
standard library, settings of the process.
"""

from __future__ import annotations

import _thread
import array
import bisect
import codecs
import collections
import contextlib
import copyreg
import csv
import ctypes
import decimal
import faulthandler
import functools
import heapq
import io
import itertools
import json
import logging
import operator
import platform
import queue
import random
import secrets
import signal
import string
import struct
import sys
import threading
import tracemalloc
import types
import uuid
import warnings
import weakref

import numpy as np

H = [3, 1, 2]
D = {"a": 1}
S = {1}
Q = queue.Queue()
PQ = queue.PriorityQueue()
EV = threading.Event()
SEM = threading.Semaphore(1000)


class Thing:
    pass


OBJ = Thing()
OBJ.k = 1
OBJ.rows = [1]
BA = bytearray(b"abc")
MV = memoryview(bytearray(b"abc"))
CT = (ctypes.c_double * 3)(1, 2, 3)
CV = ctypes.c_double(1.0)
UL = collections.UserList([1])
UD = collections.UserDict(a=1)
CM = collections.ChainMap({"a": 1})
CN = collections.Counter("a")
OD = collections.OrderedDict(a=1)
DD = collections.defaultdict(list)
WVD = weakref.WeakValueDictionary()
WS = weakref.WeakSet()
ARR = array.array("d", [1.0])
TL = threading.local()
TL.k = 1
BIO = io.BytesIO(b"abc")
MOD = types.ModuleType("mymod")
MOD.k = 1
sys.modules["mymod"] = MOD
LOG = logging.getLogger("tests.purity.more")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False
STRUCT = np.zeros(3, dtype=[("a", "f8")])
MA = np.ma.masked_array([1.0, 2, 3])
DEC = decimal.Context(prec=5)
ERR = ValueError(1)


@functools.lru_cache
def lru(n):
    return n


def helper(x):
    return x


def environment_sig_siginterrupt(x):
    signal.siginterrupt(signal.SIGUSR1, False)
    return x


def environment_sig_mask(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return x


def environment_sig_getsignal(x):
    return x * (signal.getsignal(signal.SIGUSR1) is None)


def environment_weak_finalize(x):
    weakref.finalize(OBJ, helper, 1)
    return x


def object_weak_ref_cb(x):
    OBJ.__dict__.get("z")
    WVD["a"] = OBJ
    return x


def object_weakset_add(x):
    WS.add(OBJ)
    return x


def environment_thr_settrace(x):
    threading.settrace(None)
    return x


def environment_warn_filter(x):
    warnings.simplefilter("ignore")
    return x


def environment_warn_filter2(x):
    warnings.filterwarnings("ignore", message="x")
    return x


def environment_contextlib_chdir(x):
    with contextlib.chdir("/"):
        pass
    return x


def object_ev_set(x):
    EV.set()
    return x


def clock_ev_wait(x):
    EV.wait(0.001)
    return x


def thread_sem_acquire(x):
    SEM.acquire()
    return x


def object_q_put(x):
    Q.put(1)
    return x


def object_q_put_nowait(x):
    Q.put_nowait(1)
    return x


def object_pq_put(x):
    PQ.put(1)
    return x


def object_obj_setattr(x):
    object.__setattr__(OBJ, "k", 5)
    return x


def object_type_setattr(x):
    type.__setattr__(Thing, "zz", 5)
    return x


def object_setattr_cls(x):
    Thing.zz2 = 5
    return x


def object_op_setitem(x):
    operator.setitem(D, "b", 2)
    return x


def object_op_iadd(x):
    operator.iadd(H, [4])
    return x


def object_op_methodcaller(x):
    operator.methodcaller("append", 4)(H)
    return x


def name_globals_update(x):
    globals().update(ZZ=1)
    return x


def name_globals_setdefault(x):
    globals().setdefault("ZZ2", 1)
    return x


def object_vars_set(x):
    vars(OBJ)["k"] = 7
    return x


def object_obj_dict_set(x):
    OBJ.__dict__["k"] = 7
    return x


def object_obj_dict_update(x):
    OBJ.__dict__.update(k=7)
    return x


def name_vars_module_set(x):
    vars(MOD)["k"] = 7
    return x


def object_setattr_mod(x):
    MOD.k = 7
    return x


def object_stdlib_setattr(x):
    string.zzz = 1
    return x


def object_syspath_append(x):
    sys.path.append("/zz")
    return x


def object_sysargv_append(x):
    sys.argv.append("/zz")
    return x


def object_heappush(x):
    heapq.heappush(H, 4)
    return x


def object_heappop(x):
    heapq.heappop(H)
    return x


def object_insort(x):
    bisect.insort(H, 2)
    return x


def object_shuffle_local_rng_outside_list(x):
    random.Random(0).shuffle(H)
    return x


def object_slice_assign(x):
    H[:] = [1]
    return x


def object_slice_del(x):
    del H[0]
    return x


def object_aug_list(x):
    h = H
    h += [1]
    return x


def object_set_ior(x):
    s = S
    s |= {5}
    return x


def object_dict_ior(x):
    d = D
    d |= {"z": 5}
    return x


def object_counter_sub(x):
    CN.subtract("b")
    return x


def object_counter_missing_set(x):
    CN["zz"] += 1
    return x


def object_od_move(x):
    OD.move_to_end("a")
    OD["b"] = 1
    return x


def object_dd_touch(x):
    DD["new"]
    return x


def object_userlist(x):
    UL.append(2)
    return x


def object_userdict(x):
    UD["z"] = 2
    return x


def object_chainmap(x):
    CM["z"] = 2
    return x


def object_arr_set(x):
    ARR[0] = 5.0
    return x


def object_mv_set(x):
    MV[0] = 1
    return x


def object_struct_pack_into(x):
    struct.pack_into("b", BA, 0, 1)
    return x


def object_ctypes_set(x):
    CT[0] = 5.0
    return x


def object_ctypes_value(x):
    CV.value = 5.0
    return x


def object_ctypes_memset(x):
    ctypes.memset(CT, 0, 8)
    return x


def object_ctypes_memmove(x):
    ctypes.memmove(CT, b"12345678", 8)
    return x


def object_tl_set(x):
    TL.k = 5
    return x


def output_bio_getbuffer(x):
    BIO.getbuffer()[0] = 1
    return x


def environment_log_set(x):
    LOG.setLevel(10)
    return x


def environment_log_addhandler(x):
    LOG.addHandler(logging.NullHandler())
    return x


def environment_log_disable(x):
    logging.disable(50)
    return x


def environment_faulth(x):
    faulthandler.disable()
    return x


def environment_tracem(x):
    tracemalloc.start()
    tracemalloc.stop()
    return x


def random_sec_token(x):
    return x * len(secrets.token_bytes(3))


def random_uuid4(x):
    return x * (uuid.uuid4().int % 7)


def random_sysrandom(x):
    return x * random.SystemRandom().random()


def random_np_generator_pcg(x):
    return x * np.random.Generator(np.random.PCG64()).random()


def clock_np_dt_now(x):
    return x * np.datetime64("now").astype(int)


def clock_np_dt_today(x):
    return x * np.datetime64("today").astype(int)


def environment_plat(x):
    return x * len(platform.node())


def object_lru_clear(x):
    lru.cache_clear()
    return x


def environment_abc_reg(x):
    collections.abc.Sized.register(Thing)
    return x


def object_func_defaults(x):
    helper.__defaults__ = (1,)
    return x


def object_func_code(x):
    helper.__code__ = (lambda x: x).__code__
    return x


def object_func_kwdefaults(x):
    helper.__kwdefaults__ = {"k": 1}
    return x


def object_cls_assign(x):
    OBJ.__class__ = Thing
    OBJ.__class__ = type("P", (Thing,), {})
    return x


def object_err_args(x):
    ERR.args = (2,)
    return x


def object_err_note(x):
    ERR.add_note("a")
    return x


def object_dec_ctx_set(x):
    DEC.prec = 9
    return x


def environment_dec_getctx(x):
    decimal.getcontext().prec = 9
    return x


def object_struct_arr(x):
    STRUCT["a"][0] = 5
    return x


def object_ma_set(x):
    MA[0] = 5
    return x


def object_ma_mask(x):
    MA.mask = [1, 0, 0]
    return x


def thread_thr_low(x):
    _thread.start_new_thread(helper, (1,))
    return x


def environment_codecs_reg(x):
    codecs.register(lambda n: None)
    return x


def environment_copyreg(x):
    copyreg.pickle(Thing, helper)
    return x


def environment_csv_dialect(x):
    csv.register_dialect("zz")
    return x


def environment_csv_limit(x):
    csv.field_size_limit(100000)
    return x


def output_starmap_print(x):
    list(itertools.starmap(print, [(1,)]))
    return x


def output_json_default(x):
    json.dumps(object(), default=lambda o: print("a") or 1)
    return x


def object_prop_effect(x):

    class P:
        @property
        def k(s):
            H.append(1)
            return 1

    return x * P().k
