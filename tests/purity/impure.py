"""Functions with an effect that compiled code would lose, by the rule that refuses them.

`test_probes.py` traces each and holds the text of the refusal; keep the lines where they are.
"""

from __future__ import annotations

import array
import asyncio
import builtins
import collections
import concurrent.futures
import contextlib
import contextvars
import dataclasses
import datetime
import functools
import inspect
import io
import itertools
import logging
import multiprocessing
import operator
import os
import pathlib
import queue
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
import uuid
import warnings
from pathlib import Path
from sys import stdout
from time import perf_counter as tick

import numpy as np

from pyc import tree

say = print
write = sys.stdout.write
LOG = logging.getLogger("tests.purity")
LOG.addHandler(logging.StreamHandler(io.StringIO()))
LOG.propagate = False
STEPS = [1, 2]
NESTED = {"layers": [[1], [2]]}
TABLE = {"a": 1}
SEEN = {1, 2}
RECENT = collections.deque([1, 2], maxlen=8)
COUNTS = collections.Counter("ab")
DEFAULTS = collections.defaultdict(list)
BYTES = bytearray(b"ab")
NUMBERS = array.array("d", [1.0])
WEIGHTS = np.array([1.0, 2.0, 3.0])
BUFFER = io.StringIO()
CONFIG = types.SimpleNamespace(rate=1.0)
JOBS = queue.SimpleQueue()
POOL = concurrent.futures.ThreadPoolExecutor(1)
RNG = random.Random(3)
GENERATOR = np.random.default_rng(3)
COUNT = 0
LEVEL = contextvars.ContextVar("LEVEL", default=0)
CACHE: dict[int, int] = {}
KEPT: list[object] = []
DAY = "2024-01-01"


class Model:
    """Something from outside."""

    made = 0
    history: list[float] = []  # noqa: RUF012

    def __init__(self):
        self.calls = 0
        self.sizes = [1]

    def step(self, x):
        self.calls += 1
        return x

    def noted(self, x):
        self.sizes.append(2)
        return x

    @property
    def counted(self):
        Model.made += 1
        return 1.0


MODEL = Model()


@tree.register_dataclass
@dataclasses.dataclass
class State:
    u: object
    log: list


def helper_prints(x):
    print("in the helper")
    return x


def helper_counts(x):
    global COUNT
    COUNT = COUNT + 1
    return x


helper_counts.calls = 0


def timed(function):
    @functools.wraps(function)
    def wrapper(*args):
        start = time.perf_counter()
        out = function(*args)
        KEPT.append(time.perf_counter() - start)
        return out

    return wrapper


@timed
def measured(x):
    return x * 2


@functools.lru_cache
def remembered_size(n):
    print("computing", n)
    return n


def accumulate(x, into=[]):  # noqa: B006
    into.append(1)
    return x


# --- output ---------------------------------------------------------------------------------------


def output_print(x):
    print("x is", x.shape)
    return x


def output_alias(x):
    say("x")
    return x


def output_local_alias(x):
    show = print
    show("x")
    return x


def output_builtins(x):
    builtins.print("x")
    return x


def output_by_getattr(x):
    getattr(builtins, "pri" + "nt")("x")
    return x


def output_helper(x):
    return helper_prints(x)


def output_lambda(x):
    return (lambda v: print(v) or v)(x)


def output_mapped(x):
    list(map(print, [1, 2]))
    return x


def output_key(x):
    return x * sorted([2, 1], key=lambda v: print(v) or v)[0]


def output_in_generator(x):
    return x * len(list(print(k) for k in range(2)))  # noqa: C400


def output_partial(x):
    functools.partial(print, "x")()
    return x


def output_starred(x):
    print(*["x"], **{"end": ""})
    return x


def output_caught(x):
    with contextlib.suppress(Exception):
        print("x")
    return x


def output_stdout(x):
    sys.stdout.write("x")
    return x


def output_imported_stdout(x):
    stdout.write("x")
    return x


def output_bound_write(x):
    write("x")
    return x


def output_stderr(x):
    print("x", file=sys.stderr)
    return x


def output_mapped_write(x):
    list(map(sys.stdout.write, ["x"]))
    return x


def output_file_descriptor(x):
    os.write(1, b"x")
    return x


def output_logged(x):
    LOG.warning("shape %s", x.shape)
    return x


def output_root_logger(x):
    logging.error("x")
    return x


def output_warning(x):
    warnings.warn("a warning", stacklevel=1)
    return x


def output_buffer(x):
    BUFFER.write("x")
    return x


def output_print_into_buffer(x):
    print("x", file=BUFFER)
    return x


def output_input(x):
    return x * float(input("how much?"))


def output_breakpoint(x):
    breakpoint()
    return x


def output_in_lru_cache(x):
    return x * remembered_size(x.shape[0])


def output_redirected_to_outside(x):
    with contextlib.redirect_stdout(BUFFER):
        print("x")
    return x


# --- files, processes, network, threads -----------------------------------------------------------


def file_open(x):
    with open("numbers.txt") as file:
        return x * float(file.read())


def file_pathlib(x):
    Path("numbers.txt").write_text("1")
    return x


def file_numpy(x):
    np.save("x.npy", np.zeros(3))
    return x


def file_exists(x):
    return x * 2 if os.path.exists("numbers.txt") else x


def file_listed(x):
    return x * len(os.listdir("."))


def file_removed(x):
    pathlib.Path("numbers.txt").unlink(missing_ok=True)
    return x


def file_temporary(x):
    tempfile.mkdtemp()
    return x


def file_copied(x):
    shutil.copy("a.txt", "b.txt")
    return x


def file_mapped_open(x):
    list(map(open, ["numbers.txt"]))
    return x


def process_run(x):
    subprocess.run(["true"], check=True)
    return x


def process_system(x):
    os.system("true")
    return x


def process_forked(x):
    multiprocessing.Process(target=str).start()
    return x


def network_socket(x):
    socket.socket().close()
    return x


def network_name(x):
    return x * len(socket.gethostname())


def network_connection(x):
    socket.create_connection(("localhost", 9))
    return x


def thread_event_loop(x):
    async def wait():
        await asyncio.sleep(0)

    waiting = wait()
    with contextlib.closing(waiting):
        asyncio.run(waiting)
    return x


def thread_started(x):
    threading.Thread(target=KEPT.append, args=(x,)).start()
    return x


def thread_pool(x):
    return x * POOL.submit(len, "ab").result()


# --- the process ----------------------------------------------------------------------------------


def environment_read(x):
    return x * len(os.environ["PATH"])


def environment_getenv(x):
    return x * float(os.getenv("FACTOR", "2"))


def environment_set(x):
    os.environ["FACTOR"] = "2"
    return x


def environment_directory(x):
    return x * len(os.getcwd())


def environment_process_id(x):
    return x * os.getpid()


def environment_recursion(x):
    sys.setrecursionlimit(5000)
    return x


def environment_numpy_settings(x):
    np.seterr(all="ignore")
    return x


# --- clocks ---------------------------------------------------------------------------------------


def clock_time(x):
    return x * time.time()


def clock_imported(x):
    return x * tick()


def clock_datetime(x):
    return x * datetime.datetime.now().year


def clock_date(x):
    return x * datetime.date.today().day


def clock_local(x):
    return x * time.localtime().tm_hour


def clock_iterated(x):
    return x * next(iter(time.monotonic, None))


def clock_sleep(x):
    time.sleep(0)
    return x


def clock_in_decorator(x):
    return measured(x)


# --- random ---------------------------------------------------------------------------------------


def random_function(x):
    return x * random.random()


def random_integer(x):
    return x * random.randint(1, 6)


def random_shuffled(x):
    order = [0, 1, 2]
    random.shuffle(order)
    return x[np.array(order)]


def random_seeded(x):
    random.seed(3)
    return x


def random_generator_from_outside(x):
    return x * RNG.random()


def random_generator_without_seed(x):
    return x * random.Random().random()


def random_mapped(x):
    return x * sum(map(operator.call, [random.random]))


def random_iterated(x):
    return x * next(iter(random.random, None))


def random_numpy(x):
    return x + np.random.rand(3)


def random_numpy_generator(x):
    return x + GENERATOR.normal(size=3)


def random_token(x):
    return x * secrets.randbelow(6)


def random_bytes(x):
    return x * os.urandom(1)[0]


def random_uuid(x):
    return x * (uuid.uuid4().int % 7)


# --- names ----------------------------------------------------------------------------------------


def name_global(x):
    global COUNT
    COUNT += 1
    return x


def name_global_in_helper(x):
    return helper_counts(x)


def name_globals_item(x):
    globals()["COUNT"] = 1
    return x


def name_nonlocal():
    total = 0

    def counted(x):
        nonlocal total
        total += 1
        return x

    return counted


def name_nonlocal_in_helper():
    total = 0

    def add():
        nonlocal total
        total = total + 1

    def adding(x):
        add()
        return x

    return adding


def name_traced_value_leaked():
    kept = None

    def keep(v):
        nonlocal kept
        kept = v

    def leaking(x):
        keep(x * 2)
        return x

    return leaking


# --- objects --------------------------------------------------------------------------------------


def object_list_append(x):
    STEPS.append(3)
    return x


def object_list_item(x):
    STEPS[0] = 5
    return x


def object_list_in_place(x):
    steps = STEPS
    steps += [3]
    return x


def object_list_deleted(x):
    del STEPS[0]
    return x


def object_list_mapped(x):
    list(map(STEPS.append, [3]))
    return x


def object_nested(x):
    NESTED["layers"][0].append(3)
    return x


def object_dict_item(x):
    TABLE["b"] = 2
    return x


def object_dict_update(x):
    TABLE.update(b=2)
    return x


def object_dict_setdefault(x):
    TABLE.setdefault("b", 2)
    return x


def object_set(x):
    SEEN.add(3)
    return x


def object_deque(x):
    RECENT.append(3)
    return x


def object_counter(x):
    COUNTS.update("a")
    return x


def object_defaultdict(x):
    return x * len(DEFAULTS["new"] + [1])


def object_bytes(x):
    BYTES[0] = 1
    return x


def object_array_module(x):
    NUMBERS.append(2.0)
    return x


def object_global_cache(x):
    n = x.shape[0]
    if n not in CACHE:
        CACHE[n] = n * 2
    return x * CACHE[n]


def object_attribute(x):
    MODEL.calls = 3
    return x


def object_setattr(x):
    setattr(MODEL, "calls", 3)  # noqa: B010
    return x


def object_method(x):
    return MODEL.step(x)


def object_list_of_attribute(x):
    return MODEL.noted(x)


def object_by_vars(x):
    vars(MODEL)["calls"] = 3
    return x


def object_by_object_setattr(x):
    object.__setattr__(MODEL, "calls", 3)
    return x


def object_namespace(x):
    CONFIG.rate = 2.0
    return x


def object_class_attribute(x):
    Model.made += 1
    return x


def object_class_list(x):
    Model.history.append(1.0)
    return x


def object_in_property(x):
    return x * MODEL.counted


def object_function_attribute(x):
    helper_counts.calls += 1
    return x


def object_default_argument(x):
    return accumulate(x)


def object_module(x):
    from tests.purity import impure  # noqa: PLC0415

    impure.DAY = "2024-01-02"
    return x


def object_context_variable(x):
    LEVEL.set(1)
    return x


def object_queue(x):
    JOBS.put(1)
    return x


def object_array_item(x):
    WEIGHTS[0] = 5.0
    return x


def object_array_in_place(x):
    np.add(WEIGHTS, 1.0, out=WEIGHTS)
    return x


def object_array_sorted(x):
    WEIGHTS.sort()
    return x


def object_leaked_list(x):
    KEPT.append(x * 2)
    return x


def object_leaked_attribute(x):
    MODEL.last = x * 2
    return x


def object_leaked_item(x):
    TABLE["x"] = x * 2
    return x


def object_leaked_by_helper_closure(x):
    for k in range(2):
        (lambda v: KEPT.append(v))(x * k)
    return x


# --- arguments ------------------------------------------------------------------------------------


def argument_list(xs):
    xs.append(xs[0])
    return xs[0]


def argument_list_item(xs):
    xs[0] = xs[0] * 2
    return xs[0]


def argument_dict(params):
    params["n"] = 1.0
    return params["w"]


def argument_popped(params):
    return params.pop("w")


def argument_nested(params):
    params["layers"].reverse()
    return params["w"]


def object_attribute_of_an_argument(state):
    state.u = state.u * 2
    return state.u


def argument_list_of_object(state):
    state.log.append(state.u)
    return state.u


def argument_array(x):
    x[0] = 1.0
    return x


def argument_array_in_place(x):
    x += 1.0
    return x


def argument_view(x):
    row = x[1:]
    row[0] = 1.0
    return x


def argument_out(x):
    return np.add(x, 1.0, out=x)


# --- generators, and what differs each time -------------------------------------------------------


def generator_function(x):
    yield x


async def generator_coroutine(x):
    return x


async def generator_asynchronous(x):
    yield x


def repeat_stack(x):
    return x * len(inspect.stack())


def repeat_iterator():
    items = collections.UserList([itertools.cycle([1.0, 2.0, 3.0])])

    def following(x):
        return x * next(items[0])

    return following


def object_method_of_an_iterator():
    draw = itertools.cycle([1.0, 2.0]).__next__

    def following(x):
        return x * draw()

    return following
