"""Functions that change an object from outside by ways that are seldom looked at, as `impure.py`:
objects of libraries, enumerations, iterators, locks, arrays and their views, values that leak.
"""

from __future__ import annotations

import abc
import array
import ast
import bz2
import collections
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import decimal
import enum
import fractions
import functools
import gc
import graphlib
import hashlib
import io
import itertools
import json
import multiprocessing
import operator
import os
import queue
import random
import re
import reprlib
import socket
import sqlite3
import string
import sys
import threading
import types
import typing
import weakref
import xml.etree.ElementTree as ET
import zlib

import numpy as np

W = np.array([1.0, 2.0, 3.0])
V = W[1:]
HOLES = np.array([1.0, np.nan, 3.0])
INTS = np.arange(3)
MATRIX = np.eye(3)
READ_ONLY = np.arange(3.0)
READ_ONLY.flags.writeable = False
WORDS = np.array(["a", "b"], dtype=object)
PAIRS = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])
TEXTS = np.array(["a", "b"])
DAYS = np.array(["2024-01-01"], dtype="datetime64[D]")
ROWS = [[1.0], [2.0]]
TABLE = {"a": [1.0], "b": {"c": 2.0}}
ORDERED = collections.OrderedDict(a=1, b=2)
COUNTS = collections.Counter("aab")
RECENT = collections.deque([1, 2, 3], maxlen=3)
CHAIN = collections.ChainMap({"a": 1}, {"b": 2})
BYTES = bytearray(b"abc")
NUMBERS = array.array("d", [1.0, 2.0])
USER_LIST = collections.UserList([1])
USER_DICT = collections.UserDict(a=1)
TEXT = collections.UserString("a")
LOCK = threading.Lock()
REENTRANT = threading.RLock()
CONDITION = threading.Condition()
SEMAPHORE = threading.Semaphore(3)
EVENT = threading.Event()
BARRIER = threading.Barrier(1)
LOCAL = threading.local()
LEVEL = contextvars.ContextVar("LEVEL", default=0)
CONTEXT = contextvars.copy_context()
TICKETS = itertools.count()
ENDLESS = itertools.cycle([1, 2])
CHAINED = itertools.chain([1, 2], [3])
ZIPPED = zip([1, 2], [3, 4], strict=True)
ITEMS = iter([1, 2, 3])
PICKED = map(abs, [1, 2, 3])
NUMBERED = enumerate([1, 2, 3])
REVERSED = reversed([1, 2])
FIRST, SECOND = itertools.tee([1, 2, 3])
LINES = io.StringIO("a\nb\n")
DATABASE = sqlite3.connect(":memory:", check_same_thread=False)
DIGEST = hashlib.sha256()
PACKER = zlib.compressobj()
BZIP = bz2.BZ2Compressor()
PAIR = socket.socketpair()
TREE = ET.Element("a")
NODE = ast.Name("a")
SORTER = graphlib.TopologicalSorter({"a": {"b"}})
DECIMALS = decimal.Context(prec=5)
ERROR = ValueError("x")
POINT = (ctypes.c_double * 2)(1.0, 2.0)
QUEUE = queue.Queue()
STACK = queue.LifoQueue()
SIMPLE = queue.SimpleQueue()
PROXY = types.MappingProxyType({"a": [1]})
REPEATER = reprlib.Repr()
NAMES = types.SimpleNamespace(a=1, b=[1])
ALIVE = weakref.WeakKeyDictionary()
MASKED = np.ma.masked_array([1.0, 2.0, 3.0])
POLYNOMIAL = np.poly1d([1.0, 2.0])
SHUFFLER = random.Random(1)
MODULE = types.ModuleType("tests_purity_module")
sys.modules["tests_purity_module"] = MODULE
MODULE.rate = 1.0
LEAKED = []
HOLDER = {}
FOLLOWING = TICKETS.__next__
TAKE = LOCK.acquire


def generated():
    k = 0
    while True:
        k += 1
        yield k


RUNNING = generated()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2

    def factor(self):
        return 2.0


class Slotted:
    __slots__ = ("a", "rows")

    def __init__(self):
        self.a, self.rows = 1.0, [1.0]


SLOTTED = Slotted()


class Plain:
    kind = "plain"
    shared = {}  # noqa: RUF012

    def __init__(self):
        self.a = 1.0
        self.rows = [1.0]
        self.w = np.ones(3)

    @property
    def cached(self):
        if not hasattr(self, "_cached"):
            self._cached = 3.0
        return self._cached

    @classmethod
    def count(cls):
        cls.kind = "counted"
        return 2.0

    @staticmethod
    def add():
        Plain.shared["a"] = 1
        return 2.0

    def __setitem__(self, key, value):
        self.a = value

    def __getitem__(self, key):
        self.a += 1
        return self.a

    def __iadd__(self, other):
        self.a += other
        return self

    def __enter__(self):
        self.a = 5.0
        return self

    def __exit__(self, *error):
        self.a = 6.0

    def __len__(self):
        self.rows.append(1)
        return 2

    def __bool__(self):
        self.rows.append(1)
        return True

    def __contains__(self, x):
        self.rows.append(1)
        return True

    def __call__(self, x):
        self.last = x
        return x

    def __iter__(self):
        self.rows.append(1)
        return iter([1.0])

    def __hash__(self):
        self.rows.append(1)
        return 1

    def __eq__(self, other):
        self.rows.append(1)
        return True


PLAIN = Plain()


class Named(str):
    pass


NAMED = Named("a")
NAMED.rows = [1]


class Rows(list):
    def push(self, x):
        self.append(x)


class Tags(set):
    pass


class Table(dict):
    def __missing__(self, key):
        self[key] = 2.0
        return 2.0


OWN_ROWS, OWN_TAGS, OWN_TABLE = Rows([1]), Tags([1]), Table(a=1)


class Counter:
    """A descriptor that counts."""

    reads = 0

    def __get__(self, instance, owner):
        Counter.reads += 1
        return 2.0


class Observed:
    value = Counter()


OBSERVED = Observed()


class Registry(type):
    known = []  # noqa: RUF012

    def __call__(cls, *args):
        Registry.known.append(cls)
        return super().__call__(*args)


class Registered(metaclass=Registry):
    pass


class Abstract(abc.ABC):  # noqa: B024
    pass


@dataclasses.dataclass
class Settings:
    rate: float = 1.0
    tags: list = dataclasses.field(default_factory=list)


SETTINGS = Settings()


@functools.singledispatch
def show(x):
    return x


@functools.lru_cache
def counted(n):
    PLAIN.rows.append(n)
    return n


@functools.cache
def kept(n):
    LEAKED.append(n)
    return n


def remembers(x, known={}):  # noqa: B006
    known["x"] = 1
    return x


def keyword_default(x, *, known=[]):  # noqa: B006
    known += [1]
    return x


def helper(x):
    return x


helper.calls = []


def closure():
    count, rows = 0, []

    def add():
        nonlocal count
        count += 1
        rows.append(count)
        return 2.0

    return add


ADD = closure()


# --- arrays ---------------------------------------------------------------------------------------


def object_array_view_item(x):
    V[0] = 5.0
    return x


def object_array_slice(x):
    W[1:] = x[1:]
    return x


def object_array_augmented(x):
    w = W
    w += 1.0
    return x


def object_array_augmented_item(x):
    W[0] += 1.0
    return x


def object_array_setitem(x):
    operator.setitem(W, 0, 5.0)
    return x


def object_array_iadd(x):
    operator.iadd(W, 1.0)
    return x


def object_array_dunder(x):
    W.__setitem__(0, 5.0)
    return x


def object_array_iadd_dunder(x):
    W.__iadd__(1.0)
    return x


def object_array_out_tuple(x):
    np.multiply(W, 2.0, out=(W,))
    return x


def object_array_out_positional(x):
    np.multiply(W, 2.0, W)
    return x


def object_array_out_of_sum(x):
    np.sum(MATRIX, axis=0, out=W)
    return x


def object_array_out_of_method(x):
    MATRIX.sum(axis=0, out=W)
    return x


def object_array_cumulated(x):
    np.cumsum(W, out=W)
    return x


def object_array_clipped(x):
    W.clip(0.0, 1.0, out=W)
    return x


def object_array_copied_to(x):
    np.copyto(W, x)
    return x


def object_array_put(x):
    np.put(W, [0], [5.0])
    return x


def object_array_put_method(x):
    W.put([0], [5.0])
    return x


def object_array_place(x):
    np.place(W, W > 1, [5.0])
    return x


def object_array_putmask(x):
    np.putmask(W, W > 1, 5.0)
    return x


def object_array_put_along(x):
    np.put_along_axis(W, INTS, 5.0, 0)
    return x


def object_array_at(x):
    np.add.at(W, INTS, 1.0)
    return x


def object_array_filled(x):
    W.fill(0.0)
    return x


def object_array_diagonal(x):
    np.fill_diagonal(MATRIX, 5.0)
    return x


def object_array_flat(x):
    W.flat[0] = 5.0
    return x


def object_array_flat_whole(x):
    W.flat = 5.0
    return x


def object_far_array_sorted(x):
    W.sort()
    return x


def object_array_partitioned(x):
    W.partition(1)
    return x


def object_array_resized(x):
    W.resize(5)
    return x


def object_array_shape_set(x):
    MATRIX.shape = (9,)
    return x


def object_array_flags(x):
    W.flags.writeable = False
    return x


def object_array_setflags(x):
    W.setflags(write=False)
    return x


def object_array_byteswapped(x):
    W.byteswap(inplace=True)
    return x


def object_array_real(x):
    W.real[:] = 5.0
    return x


def object_array_transposed(x):
    MATRIX.T[0, 0] = 5.0
    return x


def object_array_raveled(x):
    MATRIX.ravel()[0] = 5.0
    return x


def object_array_reshaped(x):
    MATRIX.reshape(-1)[0] = 5.0
    return x


def object_array_nan(x):
    np.nan_to_num(HOLES, copy=False)
    return x


def object_array_of_objects(x):
    WORDS[0] = "z"
    return x


def object_array_of_records(x):
    PAIRS["a"] = 5.0
    return x


def object_array_of_record_item(x):
    PAIRS[0]["a"] = 5.0
    return x


def object_array_of_texts(x):
    TEXTS[0] = "z"
    return x


def object_array_of_days(x):
    DAYS[0] = "2025-01-01"
    return x


def object_array_masked(x):
    MASKED[0] = np.ma.masked
    return x


def object_array_in_a_list(x):
    row = [W]
    row[0][0] = 5.0
    return x


def random_array_shuffled(x):
    SHUFFLER.shuffle(W)
    return x


def object_array_attribute(x):
    PLAIN.w[0] = 5.0
    return x


def object_array_frombuffer(x):
    np.frombuffer(BYTES, dtype=np.uint8)[0] = 1
    return x


def object_array_of_array(x):
    np.asarray(NUMBERS)[0] = 5.0
    return x


def file_array_to_file(x):
    W.tofile("numbers.bin")
    return x


def file_array_dumped(x):
    W.dump("numbers.pickle")
    return x


def file_argument_to_file(x):
    x.tofile("numbers.bin")
    return x


def argument_setflags(x):
    x.setflags(write=False)
    return x


def argument_flags(x):
    x.flags.writeable = False
    return x


def object_polynomial(x):
    POLYNOMIAL[0] = 5.0
    return x


# --- containers -----------------------------------------------------------------------------------


def object_nested_item(x):
    TABLE["b"]["c"] = 3.0
    return x


def object_nested_list(x):
    ROWS[0][0] = 5.0
    return x


def object_list_sorted(x):
    ROWS.sort(reverse=True)
    return x


def object_list_multiplied(x):
    rows = ROWS
    rows *= 2
    return x


def object_list_unpacked(x):
    ROWS[0], ROWS[1] = ROWS[1], ROWS[0]
    return x


def object_list_for_target(x):
    for ROWS[0] in (1, 2):
        pass
    return x


def object_list_with_target(x):
    import contextlib  # noqa: PLC0415

    with contextlib.nullcontext(3) as ROWS[0]:
        return x


def object_dict_popped(x):
    return x * TABLE.pop("a")[0]


def object_dict_popitem(x):
    TABLE.popitem()
    return x


def object_dict_cleared(x):
    TABLE.clear()
    return x


def object_dict_deleted(x):
    del TABLE["a"]
    return x


def object_dict_united(x):
    table = TABLE
    table |= {"z": 1}
    return x


def object_dict_by_type(x):
    dict.__setitem__(TABLE, "z", 1)
    return x


def object_list_by_type(x):
    list.append(ROWS, [3.0])
    return x


def object_ordered_moved(x):
    ORDERED.move_to_end("a")
    return x


def object_ordered_popped(x):
    ORDERED.popitem(last=False)
    return x


def object_counter_counted(x):
    COUNTS["z"] += 1
    return x


def object_counter_updated(x):
    COUNTS.update(a=1)
    return x


def object_deque_rotated(x):
    RECENT.rotate(1)
    return x


def object_deque_full(x):
    RECENT.append(4)
    return x


def object_deque_item(x):
    RECENT[0] = 7
    return x


def object_chain_new(x):
    CHAIN["z"] = 1
    return x


def object_chain_map(x):
    CHAIN.maps.append({})
    return x


def object_user_list(x):
    USER_LIST.append(2)
    return x


def object_user_list_data(x):
    USER_LIST.data[0] = 2
    return x


def object_user_dict(x):
    USER_DICT["b"] = 2
    return x


def object_user_string(x):
    TEXT.data = "b"
    return x


def object_bytes_extended(x):
    BYTES.extend(b"d")
    return x


def object_bytes_item(x):
    BYTES[0] = 0
    return x


def object_bytes_view(x):
    memoryview(BYTES)[0] = 0
    return x


def object_numbers_item(x):
    NUMBERS[0] = 5.0
    return x


def object_numbers_in_place(x):
    numbers = NUMBERS
    numbers *= 2
    return x


def object_mapping_inside(x):
    PROXY["a"].append(2)
    return x


def object_namespace_list(x):
    NAMES.b.append(2)
    return x


def object_namespace_deleted(x):
    del NAMES.a
    return x


def object_own_list(x):
    OWN_ROWS.push(2)
    return x


def object_own_set(x):
    OWN_TAGS.add(2)
    return x


def object_own_dict_missing(x):
    return x * OWN_TABLE["k"]


def object_queue_put(x):
    QUEUE.put_nowait(1)
    return x


def object_stack_put(x):
    STACK.put(1)
    return x


def object_simple_queue(x):
    SIMPLE.put(1)
    return x


def object_weak_dictionary(x):
    ALIVE[PLAIN] = 1
    return x


def object_repr_setting(x):
    REPEATER.maxlist = 2
    return x


def object_tree(x):
    TREE.set("k", "v")
    return x


def object_tree_text(x):
    TREE.text = "v"
    return x


def object_tree_child(x):
    ET.SubElement(TREE, "b")
    return x


def object_node(x):
    NODE.id = "b"
    return x


def object_sorter(x):
    SORTER.add("c")
    return x


def object_error_note(x):
    ERROR.add_note("x")
    return x


def object_decimal_flags(x):
    DECIMALS.clear_flags()
    DECIMALS.prec = 7
    return x


def object_ctypes_item(x):
    POINT[0] = 5.0
    return x


def object_cache_of_a_function(x):
    return x * counted(3)


def object_cache_of_another(x):
    return x * kept(3)


def object_cached_property(x):
    return x * PLAIN.cached


def object_local(x):
    LOCAL.a = 1
    return x


def object_context_set(x):
    LEVEL.set(2)
    return x


def object_context_run(x):
    CONTEXT.run(LEVEL.set, 2)
    return x


def output_buffer_read(x):
    return x * len(list(LINES))


def object_text_constant(x):
    string.ascii_letters = "a"
    return x


def object_json_encoder(x):
    json.JSONEncoder.item_separator = ";"
    return x


# --- iterators ------------------------------------------------------------------------------------


def object_count(x):
    next(TICKETS)
    return x


def object_count_used(x):
    return x * next(TICKETS)


def object_count_default(x):
    next(TICKETS, None)
    return x


def object_count_by_method(x):
    TICKETS.__next__()
    return x


def object_count_mapped(x):
    list(map(next, [TICKETS]))
    return x


def object_count_zipped(x):
    list(zip(TICKETS, [1, 2]))
    return x


def object_count_looped(x):
    for _ in TICKETS:
        break
    return x


def object_count_sliced(x):
    list(itertools.islice(TICKETS, 2))
    return x


def object_cycle(x):
    next(ENDLESS)
    return x


def object_chained(x):
    next(CHAINED)
    return x


def object_zipped(x):
    next(ZIPPED)
    return x


def object_list_iterator(x):
    next(ITEMS)
    return x


def object_map(x):
    next(PICKED)
    return x


def object_enumerated(x):
    next(NUMBERED)
    return x


def object_reversed(x):
    next(REVERSED)
    return x


def object_tee(x):
    next(FIRST)
    return x


def object_unpacked_iterator(x):
    (*_,) = ITEMS
    return x


def object_membership(x):
    return x * (2 in ITEMS)


def object_sum_of_iterator(x):
    return x * sum(ITEMS)


def object_iterator_in_a_dict():
    jobs = {"next": iter([1, 2, 3])}

    def function(x):
        next(jobs["next"])
        return x

    return function


def object_generator(x):
    next(RUNNING)
    return x


def object_generator_sent(x):
    RUNNING.send(None)
    return x


def object_bound_next(x):
    FOLLOWING()
    return x


def thread_lock_bound(x):
    TAKE()
    return x


def object_partial_next(x):
    functools.partial(next, TICKETS)()
    return x


def object_modules_attribute(x):
    sys.modules[__name__].COUNT = 3
    return x


def object_modules_setattr(x):
    setattr(sys.modules["tests_purity_module"], "rate", 2.0)  # noqa: B010
    return x


def random_mapped_system(x):
    return x * list(map(os.urandom, [3, 4]))[1][0]


def environment_mapped(x):
    list(map(gc.set_threshold, [700]))
    return x


def object_generator_closed(x):
    RUNNING.close()
    return x


def object_generator_looped(x):
    for k in RUNNING:
        if k:
            break
    return x


# --- locks, states --------------------------------------------------------------------------------


def thread_lock(x):
    LOCK.acquire()
    LOCK.release()
    return x


def thread_lock_with(x):
    with LOCK:
        return x


def thread_lock_reentrant(x):
    with REENTRANT:
        return x


def thread_lock_try(x):
    if LOCK.acquire(blocking=False):
        LOCK.release()
    return x


def thread_lock_dunder(x):
    LOCK.__enter__()
    LOCK.__exit__(None, None, None)
    return x


def thread_lock_stack(x):
    import contextlib  # noqa: PLC0415

    with contextlib.ExitStack() as stack:
        stack.enter_context(LOCK)
        return x


def environment_lock_asked(x):
    return x * LOCK.locked()


def thread_condition(x):
    with CONDITION:
        CONDITION.notify_all()
    return x


def thread_semaphore(x):
    with SEMAPHORE:
        return x


def object_event_set(x):
    EVENT.set()
    return x


def clock_barrier(x):
    BARRIER.wait()
    return x


def object_hash(x):
    DIGEST.update(b"a")
    return x


def object_hash_read(x):
    return x * DIGEST.digest()[0]


def object_compressor(x):
    PACKER.compress(b"a")
    return x


def object_bzip(x):
    BZIP.compress(b"a")
    return x


def file_database(x):
    DATABASE.execute("create table if not exists t (a)")
    return x


def file_database_cursor(x):
    DATABASE.cursor().execute("select 1")
    return x


def network_sent(x):
    PAIR[0].send(b"a")
    return x


def network_received(x):
    PAIR[1].recv(0)
    return x


# --- enumerations, classes, functions, modules ----------------------------------------------------


def object_member_attribute(x):
    Colour.RED.shade = 2
    return x


def object_member_value(x):
    Colour.RED._value_ = 5
    return x


def object_enumeration_attribute(x):
    Colour.shade = 2
    return x


def object_enumeration_setattr(x):
    setattr(Mode, "extra", 2)  # noqa: B010
    return x


def object_member_with_methods(x):
    Mode.FAST.extra = 2
    return x


def object_flag_attribute(x):
    Bits.A.extra = 2
    return x


def object_class_by_method(x):
    return x * Plain.count()


def object_class_by_static_method(x):
    return x * Plain.add()


def object_class_of_object(x):
    type(PLAIN).kind = "other"
    return x


def object_class_deleted(x):
    del Plain.kind
    return x


def object_class_method_replaced(x):
    Plain.count = classmethod(lambda cls: 1)
    return x


def object_class_of(x):
    PLAIN.__class__ = Observed
    return x


def object_descriptor(x):
    return x * OBSERVED.value


def object_metaclass(x):
    Registered()
    return x


def object_subclass_registered(x):
    class More(Plain):
        pass

    Plain.shared["more"] = More
    return x


def environment_abstract(x):
    Abstract.register(Plain)
    return x


def object_slots(x):
    SLOTTED.a = 2.0
    return x


def object_slots_list(x):
    SLOTTED.rows.append(2.0)
    return x


def object_slots_setattr(x):
    object.__setattr__(SLOTTED, "a", 2.0)
    return x


def object_slots_descriptor(x):
    Slotted.a.__set__(SLOTTED, 2.0)
    return x


def object_dataclass(x):
    SETTINGS.rate = 2.0
    return x


def object_dataclass_list(x):
    SETTINGS.tags.append("a")
    return x


def object_copied_shallow(x):
    again = copy.copy(SETTINGS)
    again.tags.append("a")
    return x


def object_text_subclass(x):
    NAMED.rows.append(2)
    return x


def object_text_subclass_attribute(x):
    NAMED.k = 2
    return x


def object_by_setitem(x):
    PLAIN["k"] = 2.0
    return x


def object_by_getitem(x):
    return x * PLAIN["k"]


def object_by_iadd(x):
    plain = PLAIN
    plain += 2.0
    return x


def object_by_with(x):
    with PLAIN:
        return x


def object_by_len(x):
    return x * len(PLAIN)


def object_by_bool(x):
    return x * 2 if PLAIN else x


def object_by_in(x):
    return x * (1 in PLAIN)


def object_by_call(x):
    return PLAIN(x)


def object_by_iteration(x):
    return x * sum(PLAIN)


def object_by_hash(x):
    return x * len({PLAIN: 1})


def object_by_equality(x):
    return x * (PLAIN == 1)


def object_attribute_deleted(x):
    del PLAIN.a
    return x


def object_delattr(x):
    delattr(PLAIN, "a")
    return x


def object_attribute_for_target(x):
    for PLAIN.a in (1.0, 2.0):
        pass
    return x


def object_attribute_unpacked(x):
    PLAIN.a, b = 1.0, 2.0
    return x * b


def object_vars_popped(x):
    vars(PLAIN).pop("a")
    return x


def object_default_dict(x):
    return remembers(x)


def object_default_keyword(x):
    return keyword_default(x)


def object_function_list(x):
    helper.calls.append(1)
    return x


def object_function_dict(x):
    helper.__dict__["k"] = 1
    return x


def object_function_name(x):
    helper.__name__ = "other"
    return x


def object_function_doc(x):
    helper.__doc__ = "other"
    return x


def object_closure_of_another(x):
    return x * ADD()


def object_dispatch_registered(x):
    show.register(int, lambda v: v)
    return x


def object_dispatch_decorated(x):
    @show.register
    def _(v: str):
        return v

    return x


def object_modules_item(x):
    sys.modules["nothing_here"] = MODULE
    return x


def object_modules_deleted(x):
    del sys.modules["tests_purity_module"]
    return x


def object_modules_popped(x):
    sys.modules.pop("tests_purity_module", None)
    return x


def object_modules_updated(x):
    sys.modules.update(nothing_here=MODULE)
    return x


def object_modules_default(x):
    sys.modules.setdefault("nothing_here", MODULE)
    return x


def object_module_patched(x):
    np.pi = 3.0
    return x


def object_module_function_patched(x):
    json.dumps = str
    return x


def name_module_vars(x):
    vars(json)["dumps"] = str
    return x


def object_module_of_users(x):
    MODULE.rate = 2.0
    return x


def object_module_of_users_deleted(x):
    del MODULE.rate
    return x


def object_builtin_patched(x):
    import builtins  # noqa: PLC0415

    builtins.len = len
    return x


def object_path_inserted(x):
    sys.path.insert(0, "/nowhere")
    return x


def object_meta_path(x):
    sys.meta_path.append(None)
    return x


def object_arguments_of_process(x):
    sys.argv[0] = "x"
    return x


def object_annotations(x):
    helper.__annotations__["x"] = int
    return x


def object_type_alias(x):
    typing.NamedTuple.__doc__ = "x"
    return x


def object_pattern_cache(x):
    re._cache = {}
    return x


def object_fraction(x):
    fractions.Fraction.extra = 1
    return x


# --- names ----------------------------------------------------------------------------------------

COUNT = 0
GONE = 1


def name_walrus_global(x):
    global COUNT
    return x * (COUNT := 2)


def name_deleted_global(x):
    global GONE
    del GONE
    return x


def name_for_target_global(x):
    global COUNT
    for COUNT in range(3):  # noqa: B007
        pass
    return x


def name_import_global(x):
    global json_again
    import json as json_again  # noqa: PLC0415

    return x


def name_function_global(x):
    global made_here

    def made_here():
        return 1

    return x


def name_with_target_global(x):
    global COUNT
    import contextlib  # noqa: PLC0415

    with contextlib.nullcontext(3) as COUNT:
        return x


def name_except_global(x):
    global COUNT
    try:
        raise ValueError
    except ValueError as COUNT:  # noqa: F841
        return x


def name_by_frame(x):
    sys._getframe().f_globals["COUNT"] = 3
    return x


def name_of_cell():
    count = 0

    def inner(x):
        return x * (1 + count)

    def function(x):
        function.__closure__  # noqa: B018
        inner.__closure__[0].cell_contents = 5
        return x

    return function


def name_popped(x):
    globals().pop("COUNT")
    return x


def name_all_cleared(x):
    globals().clear()
    return x


# --- values that leak -----------------------------------------------------------------------------


def object_leak_in_dict(x):
    HOLDER["x"] = x
    return x


def object_leak_in_closure():
    kept_here = []

    def function(x):
        kept_here.append(x)
        return x

    return function


def object_leak_in_default(x, kept_here=[]):  # noqa: B006
    kept_here.append(x)
    return x


def object_leak_in_attribute_of_function(x):
    helper.last = x
    return x


def object_leak_in_class(x):
    Plain.last = x
    return x


def object_leak_in_object(x):
    PLAIN.last = x
    return x


def object_leak_in_slots(x):
    SLOTTED.a = x
    return x


def object_leak_in_deque(x):
    RECENT.append(x)
    return x


def object_leak_in_user_list(x):
    USER_LIST.append(x)
    return x


def object_leak_in_object_array(x):
    WORDS[0] = x
    return x


def object_leak_in_exception(x):
    ERROR.value = x
    return x


def object_leak_in_context_variable(x):
    LEVEL.set(x)
    return x


def object_leak_in_module(x):
    MODULE.last = x
    return x


def object_leak_in_member(x):
    Colour.BLUE.last = x
    return x


def object_leak_in_local(x):
    LOCAL.last = x
    return x


def object_leak_in_queue(x):
    QUEUE.put(x)
    return x


def object_leak_in_generator(x):
    RUNNING.send(x)
    return x


def object_leak_in_weak_dictionary(x):
    ALIVE[PLAIN] = x
    return x


def object_leak_in_nested(x):
    TABLE["b"]["x"] = [x]
    return x


def object_leak_in_set(x):
    OWN_TAGS.add(id(x))
    OWN_TAGS.add((1, 2))
    return x


def object_leak_in_partial(x):
    PARTIAL.keywords["k"] = x
    return x


def object_leak_in_tree(x):
    TREE.text = x
    return x


PARTIAL = functools.partial(helper)


# --- by methods, and by what Python calls itself --------------------------------------------------


class Worker:
    """An object with one of each kind."""

    count = 0
    items = []  # noqa: RUF012

    def __init__(self):
        self.lock = threading.Lock()
        self.iterator = iter([1, 2, 3])
        self.generator = (k for k in [1, 2])
        self.known = {}

    def counted(self, x):
        type(self).count += 1
        return x

    def counted_by_class(self, x):
        self.__class__.count += 1
        return x

    def locked(self, x):
        with self.lock:
            return x

    def taken(self, x):
        return x * next(self.iterator)

    def generated(self, x):
        return x * next(self.generator)

    def cached(self, x):
        if x.shape not in self.known:
            self.known[x.shape] = 2.0
        return x * self.known[x.shape]

    @property
    def lazy(self):
        try:
            return self._lazy
        except AttributeError:
            self._lazy = 3.0
            return self._lazy


WORKER = Worker()
SHARED = multiprocessing.Value("d", 1.0)


@contextlib.contextmanager
def noting():
    Worker.items.append(1)
    yield 2.0


ENTERED = noting()


def object_counted(x):
    return WORKER.counted(x)


def object_counted_by_class(x):
    return WORKER.counted_by_class(x)


def thread_locked(x):
    return WORKER.locked(x)


def object_taken(x):
    return WORKER.taken(x)


def object_generated(x):
    return WORKER.generated(x)


def object_cached(x):
    return WORKER.cached(x)


def object_lazy(x):
    return x * WORKER.lazy


def object_shared_value(x):
    SHARED.value += 1
    return x


def object_context_manager(x):
    with noting() as k:
        return x * k


def object_context_manager_from_outside(x):
    with ENTERED as k:
        return x * k


def object_delegated(x):
    def walking():
        yield from RUNNING

    return x * next(walking())


def object_caught_error_kept(x):
    try:
        raise ValueError(x)
    except ValueError as error:
        Worker.items.append(error)
    return x


def object_in_a_comprehension(x):
    list(Worker.items.append(v) for v in (1, 2))  # noqa: C400
    return x


def object_in_any(x):
    any(Worker.items.append(v) for v in (1,))
    return x


def object_in_a_lambda(x):
    (lambda: Worker.items.extend([1]))()
    return x


def object_in_a_key(x):
    return x * max([2, 1], key=lambda v: Worker.items.append(v) or v)


def object_in_a_replacement(x):
    re.sub("a", lambda found: Worker.items.append(1) or "", "a")
    return x


def object_mapped_into_a_deque(x):
    collections.deque(map(Worker.items.append, [1]), maxlen=0)
    return x


def object_reduced(x):
    functools.reduce(lambda a, b: Worker.items.append(b), [1, 2])
    return x


def object_by_type(x):
    list.append(Worker.items, 1)
    return x


def object_by_dunder(x):
    Worker.items.__iadd__([1])
    return x


def object_array_by_type(x):
    np.ndarray.fill(W, 0.0)
    return x


def object_array_random(x):
    np.random.default_rng(0).random(out=W)
    return x


def object_array_strided(x):
    np.lib.stride_tricks.as_strided(W, (1,))[0] = 5.0
    return x


def object_array_rows(x):
    for row in W[:, None]:
        row[0] = 5.0
    return x


def object_array_masked_away(x):
    W[W > 1] = 0.0
    return x


def object_array_multiplied(x):
    np.matmul(MATRIX, W, out=W)
    return x
