"""Functions without an effect that come near to one: what is made inside and used as impure ones
use what is outside, and what is only looked at. As `harmless.py`.
"""

from __future__ import annotations

import _thread
import abc
import array
import asyncio
import bz2
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
import gc
import hashlib
import io
import itertools
import json
import linecache
import logging
import operator
import os
import pickle
import platform
import pprint
import queue
import random
import re
import resource
import sched
import signal
import string
import struct
import sys
import threading
import time
import tokenize
import traceback
import types
import typing
import warnings
import weakref
import xml.etree.ElementTree as ET
import zlib

import numpy as np

LOCK = threading.Lock()
EVENT = threading.Event()
JOBS = queue.Queue()
LEVEL = contextvars.ContextVar("LEVEL", default=2)
LOG = logging.getLogger("tests.purity.far_harmless")
SEEDS = np.random.SeedSequence(3)
TICKETS = itertools.count()
DIGEST = hashlib.sha256()
W = np.array([1.0, 2.0, 3.0])
NUMBERS = array.array("d", [1.0, 2.0, 3.0])
BYTES = bytearray(b"abc")
TREE = ET.fromstring("<a k='2'><b/></a>")
TABLE = {"a": [1.0, 2.0], "b": {"c": 3.0}}
ORDERED = collections.OrderedDict(a=1, b=2)
USER_LIST = collections.UserList([3, 1, 2])
CHAIN = collections.ChainMap({"a": 1}, {"b": 2})
POINT = (ctypes.c_double * 2)(1.0, 2.0)
WORDS = np.array(["a", "b"], dtype=object)
PAIRS = np.array([(1.0, 2)], dtype=[("a", "f8"), ("b", "i4")])
NAMES = types.SimpleNamespace(a=1.0, b=[2.0])
PATTERN = re.compile("a+")
ERROR = ValueError("x")
CLOCK = time.time
SAY = functools.partial(print, "x")
SCALE = functools.partial(operator.mul, 2.0)
FIRST = operator.itemgetter(0)
STRUCT = struct.Struct("d")
DECIMALS = decimal.Context(prec=5)


class Colour(enum.Enum):
    RED = 1.0
    BLUE = 2.0

    def doubled(self):
        return self.value * 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Announced:
    known = 0

    def __init_subclass__(cls, factor=1.0):
        cls.factor = factor * 2


class Louder(Announced):
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls.louder = cls.factor + 1


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.tag = 3.0
        return made


class Made(metaclass=Meta):
    pass


class Settings:
    def __init__(self):
        self.rate = 2.0
        self.rows = [1.0, 2.0]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __copy__(self):
        again = Settings()
        again.rows = list(self.rows)
        return again


class Plain:
    __slots__ = ("rows", "w")

    def __init__(self):
        self.rows, self.w = [1.0], np.ones(3)


@dataclasses.dataclass
class Record:
    rate: float = 2.0
    tags: list = dataclasses.field(default_factory=lambda: [1.0])


SETTINGS, PLAIN, RECORD = Settings(), Plain(), Record()


@functools.singledispatch
def scaled(v, x):
    return x


@scaled.register
def _(v: int, x):
    return x * v


def numbers():
    yield from (1.0, 2.0)


# --- iterators, generators, locks made inside -----------------------------------------------------


def pass_far_iterator_of_a_captured_list(x):
    return x * next(iter(TABLE["a"]))


def pass_far_iterators_of_all_kinds(x):
    pairs = enumerate(zip(itertools.cycle([1, 2]), itertools.islice(itertools.count(), 4)))
    return x * sum(k * a * b for k, (a, b) in pairs)


def pass_far_generator_made_by_a_helper(x):
    walking = numbers()
    return x * next(walking) * next(walking)


def pass_far_generator_closed(x):
    walking = numbers()
    next(walking)
    walking.close()
    return x * len([*walking, 1])


def pass_far_iterator_only_handed_on(x):
    kept = (TICKETS, LOCK, DIGEST)
    return x * len(kept) * isinstance(TICKETS, itertools.count) * hasattr(TICKETS, "__next__")


def pass_far_lock_looked_at(x):
    return x * hasattr(LOCK, "locked") * isinstance(LOCK, type(threading.Lock()))


def pass_far_lock_made_by_thread(x):
    lock = _thread.allocate_lock()
    with lock:
        return x * 2


def pass_far_condition_made_inside(x):
    ready = threading.Condition()
    with ready:
        ready.notify_all()
    return x


def pass_far_semaphore_made_inside(x):
    few = threading.BoundedSemaphore(2)
    few.acquire()
    few.release()
    return x


def pass_far_event_looked_at(x):
    return x * (1 + EVENT.is_set())


def pass_far_queue_looked_at(x):
    return x * (1 + JOBS.qsize()) * JOBS.empty()


def pass_far_context_variable_made_inside(x):
    level = contextvars.ContextVar("level")
    token = level.set(3)
    found = level.get()
    level.reset(token)
    return x * found * LEVEL.get()


def pass_far_stack_of_contexts(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyError))
        stack.enter_context(SETTINGS)
        return x


# --- objects of libraries made inside -------------------------------------------------------------


def pass_far_hash_made_inside(x):
    digest = hashlib.sha256()
    digest.update(b"a")
    return x * digest.digest()[0]


def pass_far_compressed_inside(x):
    packer = zlib.compressobj()
    return x * len(packer.compress(b"a" * 100) + packer.flush()) * len(bz2.compress(b"a"))


def pass_far_csv_inside(x):
    text = io.StringIO()
    csv.writer(text).writerow([1, 2])
    text.seek(0)
    return x * float(next(csv.reader(text))[1])


def pass_far_pickler_inside(x):
    data = io.BytesIO()
    pickle.Pickler(data).dump([2.0])
    return x * pickle.loads(data.getvalue())[0]


def pass_far_tree_inside(x):
    tree = ET.Element("a")
    ET.SubElement(tree, "b").text = "2"
    return x * float(tree[0].text)


def pass_far_tree_read(x):
    return x * float(TREE.get("k")) * len(TREE)


def pass_far_array_inside(x):
    numbers = array.array("d", NUMBERS)
    numbers.append(4.0)
    numbers[0] = 2.0
    return x * numbers[0] + sum(numbers)


def pass_far_bytes_inside(x):
    data = bytearray(BYTES)
    data += b"d"
    return x * len(data) * data[0]


def pass_far_memory_read(x):
    return x * np.frombuffer(BYTES, dtype=np.uint8) * np.asarray(NUMBERS) * memoryview(BYTES)[0]


def pass_far_memory_copied(x):
    numbers = np.asarray(NUMBERS).copy()
    numbers[0] = 5.0
    more = np.array(NUMBERS)
    more += 1.0
    return x * numbers * more


def pass_far_ctypes_read(x):
    return x * POINT[0] * sum(POINT)


def pass_far_user_list_read(x):
    return x * sorted(USER_LIST)[0] * len(USER_LIST * 2) * USER_LIST.index(1)


def pass_far_chain_read(x):
    return x * CHAIN["b"] * CHAIN.new_child({"b": 3})["b"]


def pass_far_objects_in_an_array_read(x):
    return x * len(WORDS[0]) * WORDS.tolist().index("b") * PAIRS["a"][0] * PAIRS[0]["b"]


def pass_far_decimal_context_read(x):
    return x * DECIMALS.prec


def pass_far_struct_unpacked(x):
    return x * STRUCT.unpack(STRUCT.pack(2.0))[0]


def pass_far_error_looked_at(x):
    return x * len(ERROR.args)


def pass_far_error_raised_and_caught(x):
    try:
        raise ERROR
    except ValueError as error:
        return x * (error is ERROR)


def pass_far_note_on_an_error_made_inside(x):
    error = ValueError("x")
    error.add_note("y")
    return x * len(error.__notes__)


def pass_far_random_order_inside(x):
    order = [0, 1, 2]
    np.random.default_rng(0).shuffle(order)
    return x[np.array(order)]


def pass_far_seeds_from_outside(x):
    return x * np.random.default_rng(SEEDS).random()


def pass_far_random_generator_made_over_bits(x):
    return x * np.random.Generator(np.random.PCG64(3)).normal()


def pass_far_legacy_generator_inside(x):
    return x * random.Random(3).gauss(0.0, 1.0) * random.Random(3).choice([1, 2])


def pass_far_deque_rotated(x):
    ring = collections.deque([1, 2, 3])
    ring.rotate(1)
    return x * ring[0]


def pass_far_ordered_copy(x):
    ordered = ORDERED.copy()
    ordered.move_to_end("a")
    return x * next(iter(ordered.values()))


def pass_far_event_loop_not_run(x):
    async def later():
        return 1

    waiting = later()
    waiting.close()
    return x * asyncio.iscoroutine(waiting)


def pass_far_scheduler_made(x):
    return x * sched.scheduler(len, len).empty()


# --- what is outside is copied first --------------------------------------------------------------


def pass_far_copied_object(x):
    again = copy.copy(SETTINGS)
    again.rows.append(3.0)
    again.rate = 5.0
    return x * again.rate * len(again.rows) * SETTINGS.rate


def pass_far_deep_copies(x):
    table, record, plain = copy.deepcopy(TABLE), copy.deepcopy(RECORD), copy.deepcopy(PLAIN)
    table["b"]["c"] = 4.0
    record.tags.append(2.0)
    plain.rows[0] = 7.0
    return x * table["b"]["c"] * len(record.tags) * plain.rows[0] * plain.w


def pass_far_replaced_record(x):
    again = dataclasses.replace(RECORD, rate=3.0)
    again.rate += 1.0
    return x * again.rate * len(dataclasses.asdict(RECORD)["tags"])


def pass_far_shallow_copy_with_new_attributes(x):
    again = copy.copy(RECORD)
    again.rate = 4.0
    again.more = 2.0
    return x * again.rate * again.more * RECORD.rate


def pass_far_namespace_copied(x):
    names = types.SimpleNamespace(**vars(NAMES))
    names.a = 4.0
    return x * names.a * NAMES.a


def pass_far_dictionary_united(x):
    table = TABLE | {"z": 2.0}
    table["y"] = 3.0
    return x * table["z"] * len(table)


def pass_far_array_copied(x):
    w = W.copy()
    w[0] = 5.0
    np.add(w, 1.0, out=w)
    return x * w


def pass_far_view_read(x):
    return x * W[::-1] * W.T * W.reshape(-1)


# --- classes, enumerations, functions -------------------------------------------------------------


def pass_far_enumeration_read(x):
    both = Bits.A | Bits.B
    names = len(Colour.__members__) * len(list(Colour))
    return x * Colour.RED.doubled() * Colour(2.0).value * Colour["RED"].value * names * both.value


def pass_far_enumeration_made_inside(x):
    made = enum.Enum("made", ["A", "B"])
    made.A.more = 2.0
    return x * made.B.value * made.A.more


def pass_far_class_with_a_hook(x):
    class Quiet(Announced, factor=3.0):
        pass

    class Loud(Louder):
        pass

    return x * Quiet.factor * Loud.louder


def pass_far_class_made_by_a_metaclass(x):
    return x * Made().tag


def pass_far_class_attribute_of_its_own_class(x):
    class Own:
        count = 0
        rows = []  # noqa: RUF012

        @classmethod
        def add(cls):
            cls.count += 1
            cls.rows.append(cls.count)

    Own.add()
    Own.add()
    del Own.add
    return x * Own.count * len(Own.rows)


def pass_far_subclass_of_an_outside_class(x):
    class Faster(Settings):
        factor = 3.0

        def __init__(self):
            super().__init__()
            self.rate *= self.factor

    faster = Faster()
    faster.rows.append(1.0)
    return x * faster.rate * len(faster.rows)


def pass_far_abstract_class_made_inside(x):
    class Base(abc.ABC):
        @abc.abstractmethod
        def factor(self): ...

    class Derived(Base):
        def factor(self):
            return 2.0

    return x * Derived().factor() * isinstance(Derived(), Base)


def pass_far_dispatched(x):
    return scaled(2, x) * len(scaled.registry) * callable(scaled.register)


def pass_far_dispatch_made_inside(x):
    @functools.singledispatch
    def kind(v):
        return 1.0

    kind.register(int, lambda v: 2.0)

    @kind.register
    def _(v: str):
        return 3.0

    return x * kind(1) * kind("a")


def pass_far_function_changed_inside(x):
    def helper():
        return helper.factor

    helper.factor = 3.0
    helper.__name__ = "other"
    helper.__doc__ = "text"
    helper.__annotations__["x"] = int
    return x * helper() * len(helper.__name__)


def pass_far_partial_made_inside(x):
    made = functools.partial(operator.mul, 2.0)
    named = functools.partial(dict, a=1)
    named.keywords["b"] = 2
    return SCALE(made(x)) * len(named())


def pass_far_cache_made_inside(x):
    known = {}

    def squared(n):
        return known.setdefault(n, n * n)

    return x * squared(3) * squared(3) * len(known)


# --- what is only looked at -----------------------------------------------------------------------


def pass_far_modules_looked_at(x):
    loaded = "sys" in sys.modules and sys.modules.get("nothing_here") is None
    return x * loaded * (len(sys.modules) > 10) * ("os" in list(sys.modules))


def pass_far_module_by_name(x):
    return x * sys.modules["math"].sqrt(4.0) * sys.modules[__name__].TABLE["b"]["c"]


def pass_far_functions_only_named(x):
    known = {"say": SAY, "now": CLOCK, "write": sys.stdout.write, "run": os.system}
    return x * len(known) * (known["now"] is CLOCK) * callable(os.getpid)


def pass_far_logger_looked_at(x):
    enabled = LOG.isEnabledFor(logging.DEBUG) or LOG.level
    return x * (2 if not enabled else 3) * LOG.propagate * (len(LOG.handlers) + 1)


def pass_far_numbers_of_time(x):
    then = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
    return x * then.timestamp() * datetime.date.fromisoformat("2024-01-02").day * time.gmtime(0)[0]


def pass_far_names_of_files(x):
    return x * len(os.path.splitext("a.txt")[1]) * len(os.path.basename("a/b"))


def pass_far_source_read(x):
    line = linecache.getline(__file__, 1)
    return x * len(line) * len(list(tokenize.generate_tokens(io.StringIO("a = 1").readline)))


def pass_far_stack_formatted(x):
    return x * (len(traceback.format_stack()) > 0)


def pass_far_printed_into_a_text(x):
    text = io.StringIO()
    pprint.pprint([1, 2], stream=text)
    print("a", file=text, flush=True)
    text.flush()
    json.dump([1], text)
    return x * len(text.getvalue())


def pass_far_output_redirected(x):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        print("a")
        print("b", file=sys.stderr)
    return x * len(text.getvalue())


def pass_far_warnings_recorded(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("ignore")
        warnings.warn("a", stacklevel=1)
    return x * (len(seen) + 1)


def pass_far_print_options(x):
    with np.printoptions(precision=3):
        return x


def pass_far_platform(x):
    return x * len(platform.system()) * len(platform.python_version())


def pass_far_garbage_collected(x):
    gc.collect()
    return x


def pass_far_weak_reference(x):
    settings = Settings()
    alive = weakref.WeakValueDictionary(a=settings)
    return x * len(alive) * weakref.proxy(settings).rate * weakref.ref(SETTINGS)().rate


def pass_far_fraction(x):
    return x * float(fractions.Fraction(1, 3) + fractions.Fraction(1, 6))


def pass_far_patterns(x):
    found = PATTERN.search("xaay")
    return x * len(found.group()) * len(PATTERN.findall("a b a")) * FIRST([2.0])


def pass_far_template(x):
    return x * len(string.Template("$a b").substitute(a="cc"))


def pass_far_assert_with_a_text(x):
    assert x.ndim == 1, print("not printed")  # noqa: RUF030
    return x


def pass_far_exit_not_reached(x):
    if x.ndim > 4:
        sys.exit(print("never"))
    return x


def pass_far_hash_of_text(x):
    return x * (hash("a") == hash("a")) * (id(TABLE) == id(TABLE))


def pass_far_representation(x):
    return x * len(repr(RECORD)) * len(repr(SETTINGS.rows)) * len(f"{Record()!r}")


def pass_far_facts_of_the_system(x):
    return x * len(signal.strsignal(2)) * resource.getpagesize() * (sys.byteorder == "little")


def pass_far_delegated_generator(x):
    def walking():
        yield from numbers()
        yield from TABLE["a"]

    return x * sum(walking())


def pass_far_unpacked_iterators(x):
    first, *rest = iter(TABLE["a"])
    a, b = zip(*[(1.0, 2.0), (3.0, 4.0)], strict=True)
    return x * first * len(rest) * sum(a) * sum(b)


def pass_far_class_facts(x):
    return x * len(Settings.__name__) * (type(SETTINGS) is Settings) * len(Record.__annotations__)


def pass_far_named_tuple_class(x):
    point = typing.NamedTuple("point", [("a", float), ("b", float)])(1.0, 2.0)
    return x * point._replace(a=3.0).a * point.b


def pass_far_lazy_attribute_of_its_own(x):
    class Lazy:
        @functools.cached_property
        def table(self):
            return {"a": 2.0}

        def __getattr__(self, name):
            value = len(name)
            setattr(self, name, value)
            return value

    lazy = Lazy()
    return x * lazy.table["a"] * lazy.abc * lazy.abc


def pass_far_counter_made_inside(x):
    class Counting:
        def __init__(self):
            self.count = 0

        def __call__(self, v):
            self.count += 1
            return v * self.count

    counting = Counting()
    return counting(counting(x)) * counting.count


def pass_far_lock_in_an_object_made_inside(x):
    class Guarded:
        def __init__(self):
            self.lock = threading.RLock()
            self.value = 1.0

        def add(self, v):
            with self.lock:
                self.value += v
            return self.value

    return x * Guarded().add(2.0)


def pass_far_thread_local_made_inside(x):
    local = threading.local()
    local.k = 3.0
    return x * local.k


def pass_far_stack_and_queue_inside(x):
    stack, ranked = queue.LifoQueue(), queue.PriorityQueue()
    stack.put(2.0)
    ranked.put((1, "a"))
    return x * stack.get() * ranked.get_nowait()[0]


def pass_far_slots_of_its_own(x):
    plain = Plain()
    plain.rows.append(2.0)
    Plain.rows.__set__(plain, [1.0, 2.0, 3.0])
    return x * len(plain.rows)


def pass_far_masked_array_inside(x):
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    masked[2] = np.ma.masked
    return x * float(masked.sum())


def pass_far_objects_in_an_array_inside(x):
    words = np.array(["a", "b"], dtype=object)
    words[0] = "ccc"
    return x * len(words[0])


def pass_far_memory_view_inside(x):
    data = bytearray(3)
    view = memoryview(data)
    view[0] = 7
    view.release()
    return x * data[0]
