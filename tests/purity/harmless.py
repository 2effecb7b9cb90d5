"""Functions that look as if they had an effect, and have none: all must be jitted."""

from __future__ import annotations

import bisect
import collections
import contextlib
import copy
import dataclasses
import datetime
import enum
import functools
import heapq
import io
import itertools
import json
import logging
import math
import operator
import os
import queue
import random
import re
import statistics
import string
import sys
import textwrap
import threading
import time
import traceback
import types
import typing
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np

LOG = logging.getLogger("tests.purity.harmless")
LOG.setLevel(logging.ERROR)
LOCK = threading.Lock()
VERBOSE = False
OPTIONS = {"order": 2, "name": "heat"}
STEPS = [1, 2, 3]
VISITED = {1, 2}
COUNT = 3


class Kind(enum.Enum):
    FAST = 1
    SLOW = 2


class Point(typing.NamedTuple):
    a: float
    b: float


@dataclasses.dataclass
class Params:
    rate: float = 0.5
    steps: list = dataclasses.field(default_factory=list)


class Model:
    def __init__(self, rate):
        self.rate = rate
        self._log = []

    def step(self, x):
        return x * self.rate

    @functools.cached_property
    def grid(self):
        return 2.0


MODEL = Model(0.5)


@functools.lru_cache
def binomial(n, k):
    return math.comb(n, k)


@functools.singledispatch
def scaled(v, x):
    return x


@scaled.register
def _(v: int, x):
    return v * x


@contextlib.contextmanager
def scope(name):
    yield name


def counted(limit):
    for k in range(limit):
        yield 2 * k


def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        if VERBOSE:
            print(time.perf_counter())
        return function(*args)

    return wrapper


@timed
def doubled(x):
    return 2 * x


# --- what is not reached --------------------------------------------------------------------------


def pass_print_in_a_branch_not_taken(x):
    if VERBOSE:
        print(x)
    return x * 2


def pass_helper_with_a_branch_not_taken(x):
    return doubled(x)


def pass_assert(x):
    assert x.ndim == 1, time.time()
    return x * 2


def pass_logger_made_but_unused(x):
    logging.getLogger("tests.purity.unused")
    return x * 2


def pass_logger_whose_level_is_off(x):
    LOG.debug("shape %s", x.shape)
    LOG.info("x")
    return x * 2


def pass_print_stored_but_not_called(x):
    actions = {"show": print, "read": open, "now": time.time}
    return x * len(actions)


def pass_nested_function_not_called(x):
    def effect():
        global COUNT
        COUNT = 5
        print("never")

    return x * 2 if effect else x


def pass_error_that_is_caught(x):
    try:
        raise ValueError("none")
    except ValueError as error:
        return x * len(str(error))


def pass_traceback_formatted(x):
    try:
        raise ValueError("none")
    except ValueError:
        return x * (len(traceback.format_exc()) > 0)


def pass_type_checking_helpers(x):
    return x * len(typing.get_type_hints(Params))


# --- what the function makes itself ---------------------------------------------------------------


def pass_local_list(x):
    parts = []
    for k in range(3):
        parts.append(x * k)
    parts[0] = x
    parts.sort(key=lambda v: 0)
    return sum(parts)


def pass_local_dict_as_cache(x):
    cache = {}
    for k in (1, 2, 1):
        if k not in cache:
            cache[k] = x * k
        cache.update(last=x)
    return sum(cache.values())


def pass_local_set_and_deque(x):
    seen, row = set(), collections.deque(maxlen=2)
    for k in (1, 2, 1):
        seen.add(k)
        row.append(k)
    return x * len(seen) + sum(row)


def pass_local_defaultdict_and_counter(x):
    groups, counts = collections.defaultdict(list), collections.Counter("aab")
    groups["a"].append(1)
    counts.update("b")
    return x * len(groups) * counts["a"]


def pass_copy_of_a_captured_list(x):
    steps = list(STEPS)
    steps.append(4)
    options = dict(OPTIONS, order=3)
    options["n"] = 1
    return x * sum(steps) * options["order"]


def pass_deep_copy(x):
    steps = copy.deepcopy(STEPS)
    steps[0] = 9
    return x * sum(steps)


def pass_dataclass_made_inside(x):
    params = Params()
    params.rate = 3.0
    params.steps.append(1)
    return x * params.rate * len(params.steps)


def pass_object_made_inside(x):
    model = Model(2.0)
    model.rate += 1.0
    model._log.append("step")
    setattr(model, "last", x)  # noqa: B010
    return model.step(model.last) * model.grid


def pass_class_made_inside(x):
    class Counter:
        made = 0

        def __init__(self):
            Counter.made += 1

    Counter(), Counter()
    return x * Counter.made


def pass_nonlocal_of_its_own(x):
    total = 0

    def add(k):
        nonlocal total
        total += k

    for k in range(3):
        add(k)
    return x * total


def pass_generator_consumed_inside(x):
    return sum(x * k for k in counted(3))


def pass_iterators(x):
    numbers = itertools.count()
    next(numbers)
    return x * next(numbers) * sum(itertools.islice(numbers, 2))


def pass_sent_to_a_generator(x):
    def running():
        total = 0.0
        while True:
            total = total + (yield total)

    total = running()
    next(total)
    total.send(x)
    return total.send(2 * x)


def pass_context_manager(x):
    with scope("inner") as name, contextlib.suppress(ValueError):
        return x * len(name)
    return x


def pass_exit_stack(x):
    done = []
    with contextlib.ExitStack() as stack:
        stack.callback(done.append, 1)
    return x * len(done)


def pass_simple_namespace(x):
    s = types.SimpleNamespace(a=1)
    s.a += 1
    return x * s.a


def pass_bytearray(x):
    data = bytearray(b"abc")
    data[0] = 1
    data.extend(b"d")
    return x * len(data)


def pass_local_array(x):
    a = np.zeros(3)
    a[0] = 2.0
    a += x
    a.sort()
    return a


def pass_local_queue(x):
    waiting = queue.SimpleQueue()
    waiting.put(x)
    rows = queue.Queue()
    rows.put(x)
    return waiting.get() + rows.get()


def pass_heap(x):
    heap = [3, 1, 2]
    heapq.heapify(heap)
    heapq.heappush(heap, 0)
    bisect.insort(heap, 5)
    return x * heap[0] + len(heap)


def pass_function_attribute_of_its_own(x):
    def helper(v):
        helper.calls += 1
        return v * helper.calls

    helper.calls = 0
    return helper(x) + helper(x)


# --- streams and texts in memory ------------------------------------------------------------------


def pass_text_buffer(x):
    buffer = io.StringIO()
    buffer.write("abc")
    print("shape", x.shape, file=buffer)
    return x * len(buffer.getvalue())


def pass_output_redirected_to_a_local_buffer(x):
    buffer = io.StringIO()
    with contextlib.redirect_stdout(buffer):
        print("abc")
    return x * len(buffer.getvalue())


def pass_formatted_text(x):
    text = f"{x.shape} {x.dtype!r}" + format(x.ndim, ">8") + f"{repr(x)[:0]}"
    return x * len(textwrap.dedent(text).strip().split())


def pass_json(x):
    return x * json.loads(json.dumps({"a": [1, 2]}))["a"][1]


def pass_regular_expression(x):
    return x * len(re.findall("a+", "aabaa")) * len(string.Template("$a").substitute(a="x"))


def pass_path_arithmetic(x):
    return x * len(Path("/data") / "x.npy" == Path("/data/x.npy") and os.path.join("a", "b"))


# --- time, random and settings that are the same in every call ------------------------------------


def pass_dates_that_are_given(x):
    day = datetime.date(2024, 1, 2) - datetime.timedelta(days=1)
    return x * day.day * time.gmtime(0).tm_mday * len(time.strftime("%Y", time.gmtime(0)))


def pass_random_with_a_seed(x):
    local = random.Random(3)
    return x * local.randint(1, 6) + local.random()


def pass_numpy_generator_with_a_seed(x):
    return x + np.random.default_rng(3).normal(size=3)


def pass_warnings_that_are_filtered(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("not shown", stacklevel=1)
        return x * 2


def pass_errstate(x):
    with np.errstate(divide="ignore"):
        return x / np.float64(2.0)


def pass_lock(x):
    lock = threading.Lock()
    with lock:
        return x * 2 * hasattr(LOCK, "acquire")


def pass_local_thread_object(x):
    threading.Thread(target=print)
    return x * len(threading.current_thread().name[:0] + "a")


# --- reading what is outside ----------------------------------------------------------------------


def pass_captured_containers_read(x):
    order = OPTIONS.get("order", 1) * len(OPTIONS) * STEPS[0] * STEPS.count(1)
    return x * order * len(VISITED | {3}) * (OPTIONS["name"].upper() == "HEAT")


def pass_setdefault_of_what_is_there(x):
    return x * OPTIONS.setdefault("order", 5)


def pass_discard_of_what_is_not_there(x):
    VISITED.discard(9)
    return x


def pass_attribute_read(x):
    return MODEL.step(x) * MODEL.grid * getattr(MODEL, "other", 1.0)


def pass_lru_cache(x):
    return x * binomial(5, 2) * binomial(5, 2)


def pass_dispatched_by_type(x):
    return scaled(3, x)


def pass_enum_and_named_tuple(x):
    p = Point(1.0, b=2.0)._replace(a=3.0)
    return x * p.a if Kind(1) is Kind.FAST else x


def pass_operator_and_partial(x):
    return functools.reduce(operator.add, [x, x]) * functools.partial(operator.mul, 2)(3)


def pass_import_inside(x):
    import colorsys  # noqa: PLC0415

    import this_is_not_there_else  # noqa: F401, PLC0415

    return x * colorsys.rgb_to_hsv(0, 0, 1)[2]


def pass_sys_facts(x):
    return x * sys.float_info.dig * (sys.maxsize > 0) * (sys.version_info >= (3, 11))


def pass_stream_facts(x):
    return x * (sys.stdout is not None) * len(sys.stdout.encoding[:1])


def pass_builtins_on_python_values(x):
    return x * sum([1, 2]) * any([0, 1]) * sorted([2, 1])[0] * max(1, 2) * len({*map(str, [1])})


def pass_statistics_and_fractions(x):
    return x * statistics.mean([1, 2, 3]) * float(Fraction(1, 2))


def pass_id_and_hash(x):
    return x * (id(x) == id(x)) * (hash(3) == 3)
