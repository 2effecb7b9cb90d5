"""How purity is watched: modes, hooks beside those of others, threads, and the second trace."""

from __future__ import annotations

import collections
import contextvars
import cProfile
import dataclasses
import gc
import importlib
import itertools
import pickle
import queue
import random
import signal
import sys
import threading
import time
import types
import uuid
import warnings
import weakref
from collections import UserList

import numpy as np
import pytest

from pyc import config, lax, reasons
from pyc.errors import ConcretizationError, PurityError, PurityWarning, ShapeError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.purity import audit, hooks, table
from pyc.purity.repeat import difference
from pyc.reasons import Reason
from pyc.trace.capture import capture
from pyc.trace.trace import Input

X = np.array([1.5, 2.25, 3.0])
KEPT = []
TICKETS = itertools.count()
MODERN = sys.version_info >= (3, 12)


def prints(x):
    print("printed")
    return x * 2


def keeps(x):
    KEPT.append(1)
    return x * 2


@pytest.fixture(autouse=True)
def nothing_is_kept():
    KEPT.clear()
    yield
    assert audit._watches == {}


# --- modes ----------------------------------------------------------------------------------------


def test_off_looks_at_nothing(capsys) -> None:
    """The function runs once, as it is."""
    assert jit(prints, purity="off")(X).tolist() == (2 * X).tolist()
    assert capsys.readouterr().out == "printed\n"


def test_off_loses_no_change() -> None:
    """The function has copies of what is outside: it refuses a change that would be lost."""
    rows, table, tags, record = [1], {"a": 1}, {1}, types.SimpleNamespace(k=1)
    held = UserList([1])

    def argument(x, given):
        given.append(1)
        return x

    def attribute(x):
        record.k = 2
        return x

    def item(x):
        table["b"] = 2
        return x

    def nothing(x):
        rows.append(1)
        rows.pop()
        return x * len(rows)

    def library(x):
        held.append(1)
        return x

    for function, args in (
        (keeps, ()),
        (lambda x: tags.add(2) or x, ()),
        (attribute, ()),
        (item, ()),
        (argument, ([1],)),
        (library, ()),
    ):
        with pytest.raises(PurityError, match="the function changes") as found:
            jit(function, purity="off")(X, *args)
        assert found.value.place is not None
    assert jit(nothing, purity="off")(X).tolist() == X.tolist()
    assert (KEPT, rows, table, tags, record.k) == ([], [1], {"a": 1}, {1}, 1)


def test_warn_warns_with_the_text_of_the_refusal(capsys) -> None:
    function = jit(prints, purity="warn")
    with pytest.warns(PurityWarning, match=r"`print` writes .*\n.* in `prints`:") as found:
        assert function(X).tolist() == (2 * X).tolist()
    assert len(found) == 1 and capsys.readouterr().out == "printed\n"
    assert function(X).tolist() == (2 * X).tolist() and capsys.readouterr().out == ""
    turns = hidden([2.0, 3.0])
    with pytest.warns(PurityWarning, match="different programs"):
        jit(lambda x: x * next(turns[0]), purity="warn")(X)


def hidden(items):
    """An iterator where no net sees it: inside of an object of a library."""
    return UserList([itertools.cycle(items)])


def test_warn_loses_no_change() -> None:
    """What would be lost, or make the program one for what was there before, is an error."""
    rows, held, tickets = [1], UserList([1]), itertools.count()
    level = contextvars.ContextVar("level", default=0)

    def argument(x, given):
        given.append(1)
        return x

    for function, args in (
        (keeps, ()),
        (argument, ([1],)),
        (lambda x: rows.append(2) or x, ()),
        (lambda x: held.append(2) or x, ()),
        (lambda x: setattr(record, "k", 2) or x, ()),
        (lambda x: next(tickets) and x, ()),
        (lambda x: level.set(3) and x, ()),
    ):
        with pytest.raises(PurityError) as found:
            jit(function, purity="warn")(X, *args)
        assert found.value.place is not None
    assert (KEPT, rows, held, level.get(), next(tickets)) == ([], [1], [1], 0, 0)
    assert record.k == 1


record = types.SimpleNamespace(k=1)


def test_the_setting_holds_where_the_argument_says_nothing() -> None:
    function = jit(prints)
    with config.using(purity="off"):
        function(X)
    with pytest.raises(PurityError):
        function(X[:2])
    with config.using(purity="off"), pytest.raises(PurityError):
        jit(prints, purity="strict")(X)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of strict, warn, off"):
        jit(keeps, purity="loose")


def assigns(x):
    global COUNT
    COUNT = 1
    return x


def test_the_functions_own_code_is_looked_at_when_it_is_decorated() -> None:
    with pytest.raises(PurityError, match="the global name `COUNT`") as found:
        jit(assigns)
    assert found.value.place.line == assigns.__code__.co_firstlineno + 2
    with pytest.warns(PurityWarning, match="COUNT"):
        jit(assigns, purity="warn")
    jit(assigns, purity="off")

    class Called:
        def __call__(self, x):
            yield x

        def method(self, x):
            global COUNT
            COUNT = 1

    for function in (Called(), Called().method):
        with pytest.raises(PurityError):
            jit(function)


def test_names_of_the_function_itself_may_be_assigned_by_functions_in_it() -> None:
    def outer(x):
        total = 0.0

        def add(v):
            nonlocal total
            total = total + v

        add(x)
        return total

    assert jit(outer)(X).tolist() == X.tolist()


# --- refusals -------------------------------------------------------------------------------------


def test_a_refusal_has_its_rule_and_survives_pickling() -> None:
    with pytest.raises(PurityError) as found:
        jit(prints)(X)
    again = pickle.loads(pickle.dumps(found.value))
    assert str(again) == str(found.value) and again.rule is Reason.PURITY_OUTPUT
    assert found.value.code == "PYC1200" and "explain PYC2001" in str(found.value)


def test_a_refusal_is_recorded_once() -> None:
    with reasons.collecting() as events, pytest.raises(PurityError):
        jit(keeps)(X)
    (event,) = [e for e in events if e.reason.group == "purity"]
    assert event.reason is Reason.PURITY_OBJECT and event.details["function"] == "keeps"


def test_a_function_that_ends_the_process_does_so() -> None:
    function = jit(lambda x: sys.exit(3))
    for _ in range(2):
        with pytest.raises(SystemExit):
            function(X)


def test_an_error_of_the_function_undoes_nothing_a_refusal_by_pyc_does() -> None:
    """As in Python, where the error comes in the middle; a refused call has done nothing at all."""
    held = UserList([1])

    def fails(x):
        held.append(2)
        raise ValueError("in the middle")

    def refused(x):
        held.append(2)
        return x * len(x.tolist())

    with pytest.raises(ValueError, match="in the middle"):
        jit(fails)(X)
    assert held == [1, 2]
    with pytest.raises(ConcretizationError):
        jit(refused)(X)
    assert held == [1, 2]


def test_what_cannot_be_put_back_is_named() -> None:
    seeds = np.random.SeedSequence(3)
    with pytest.raises(PurityError, match="has changed in `seeds` cannot be undone") as found:
        jit(lambda x: x * len(seeds.spawn(1)))(X)
    assert found.value.place is not None and found.value.place.column


def test_a_warned_effect_happens_once(tmp_path) -> None:
    path = tmp_path / "log"

    def function(x):
        with open(path, "a") as file:
            file.write("x")
        return x * 2

    jitted = jit(function, purity="warn")
    with pytest.warns(PurityWarning, match="opening a file|`open`"):
        jitted(X)
    assert path.read_text() == "x" and jitted(X).tolist() == (2 * X).tolist()


def test_nothing_is_kept_alive_by_what_was_remembered() -> None:
    class Big:
        pass

    big = Big()
    held = UserList([big])
    gone = weakref.ref(big)
    function = jit(lambda x: x * len(held))
    function(X)
    del big
    held.clear()
    assert gone() is None


def test_an_error_of_the_function_stays_what_it_is() -> None:
    with pytest.raises(ShapeError):
        jit(lambda x: x + np.ones(5))(X)

    def swallows(x):
        try:
            print("no")
        except PurityError:
            raise ValueError("other") from None

    with pytest.raises(PurityError):
        jit(swallows)(X)


def test_the_reasons_of_a_trace_are_recorded_once() -> None:
    class Queue(collections.deque):
        def total(self):
            return sum(self)

    queue = Queue([1.0, 2.0])
    with reasons.collecting() as events:
        jit(lambda x: x * queue.total())(X)
    assert [e.reason for e in events].count(Reason.CLASS_NOT_TRANSLATED) == 1


def test_a_jitted_function_inside_is_watched_by_the_outer_one() -> None:
    inner = jit(prints, purity="off")
    with pytest.raises(PurityError):
        jit(lambda x: inner(x))(X)
    jit(lambda x: jit(prints)(x), purity="off")(X)


def test_functions_for_control_flow_are_watched() -> None:
    def body(carry, item):
        KEPT.append(1)
        return carry + item, item

    with pytest.raises(PurityError, match="`KEPT`"):
        jit(lambda x: lax.scan(body, 0.0, x)[0])(X)


# --- hooks beside those of others -----------------------------------------------------------------


def test_a_profiler_that_is_there_goes_on() -> None:
    seen = []

    def profiler(frame, event, argument):
        seen.append((frame.f_code.co_name, event))

    sys.setprofile(profiler)
    try:
        with pytest.raises(PurityError, match="`KEPT`"):
            jit(keeps)(X)
        assert sys.getprofile() is profiler or not MODERN
    finally:
        sys.setprofile(None)
    assert ("keeps", "call") in seen


def test_a_profiler_written_in_c_is_there_again_afterwards() -> None:
    profile = cProfile.Profile()
    profile.enable()
    try:
        with reasons.collecting() as events:
            jit(lambda x: x * 2)(X)
        sorted([3, 2, 1])
    finally:
        profile.disable()
    profile.create_stats()
    assert any("sorted" in name for _, _, name in profile.stats)
    taken = Reason.PURITY_HOOK_TAKEN in {e.reason for e in events}
    assert taken is not MODERN


@pytest.mark.skipif(not MODERN, reason="sys.monitoring is of Python 3.12")
def test_without_a_free_tool_id_a_profiler_is_used() -> None:
    ids = [k for k in range(6) if sys.monitoring.get_tool(k) is None]
    for k in ids:
        sys.monitoring.use_tool_id(k, "test")
    try:
        with pytest.raises(PurityError, match=r"`KEPT`(.|\n)*KEPT.append\(1\)"):
            jit(keeps)(X)
        assert jit(lambda x: x * 2)(X).tolist() == (2 * X).tolist()
    finally:
        for k in ids:
            sys.monitoring.free_tool_id(k)


def test_nothing_stays_behind() -> None:
    for function in (lambda x: x * 2, prints):
        before = sys.getprofile(), sys.gettrace()
        with pytest.raises(PurityError) if function is prints else warnings.catch_warnings():
            jit(function)(X)
        assert (sys.getprofile(), sys.gettrace()) == before
        if MODERN:
            assert all(sys.monitoring.get_tool(k) != "pyc" for k in range(6))
            assert not sys.monitoring.get_events(hooks._monitor._tool)


def test_print_is_itself_again_after_the_trace(capsys) -> None:
    """What a view has handed out may live on."""

    class FoundError(Exception):
        pass

    def function(x):
        raise FoundError(print, sys.stdout.write, time.time)

    with pytest.raises(FoundError) as found:
        jit(function)(X)
    say, write, now = found.value.args
    say("later")
    write("and later")
    assert capsys.readouterr().out == "later\nand later" and now() > 0


# --- whose doing it is ----------------------------------------------------------------------------


def test_what_the_garbage_collector_calls_is_not_the_functions_doing() -> None:
    calls = []

    def callback(phase, info):
        calls.append(time.perf_counter())

    class Ending:
        def __del__(self):
            calls.append(time.perf_counter())

    def function(x):
        gc.collect()
        return x * 2

    cycle = Ending()
    cycle.itself = cycle
    del cycle
    gc.callbacks.append(callback)
    try:
        assert jit(function)(X).tolist() == (2 * X).tolist()
    finally:
        gc.callbacks.remove(callback)
    assert calls


_collections = 0


def _count(phase: str, info: dict[str, int]) -> None:
    global _collections
    _collections += 1


def test_a_global_name_that_the_garbage_collector_sets_is_not_the_functions_doing() -> None:
    """Hypothesis measures collections so, and they may begin anywhere."""

    def function(x):
        gc.collect()
        return x * 2

    def function_that_counts(x):
        gc.collect()
        _count("start", {})
        return x * 2

    before = _collections
    gc.callbacks.append(_count)
    try:
        assert jit(function)(X).tolist() == (2 * X).tolist()
        assert _collections > before
        with pytest.raises(PurityError, match="the global name `_collections`"):
            jit(function_that_counts)(X)
    finally:
        gc.callbacks.remove(_count)


def test_a_signal_handler_is_not_the_functions_doing() -> None:
    times = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: times.append(time.time()))

    def function(x):
        signal.raise_signal(signal.SIGALRM)
        return x * 2

    try:
        with pytest.raises(PurityError, match="raise_signal"):
            jit(function)(X)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        deadline = time.time() + 5
        while not times and time.time() < deadline:
            assert jit(lambda x: x * 2)(X).tolist() == (2 * X).tolist()
        assert times
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_may_do_what_they_like(tmp_path) -> None:
    stop = threading.Event()
    errors = []

    def work():
        try:
            while not stop.is_set():
                random.random()
                (tmp_path / "log").write_text(str(time.time()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        # Random numbers drawn by another thread change the state that both share.
        for k in range(20):
            np.testing.assert_array_equal(
                jit(lambda x, k=k: x * k, purity="warn" if k else "off")(X), X * k
            )
    finally:
        stop.set()
        thread.join()
    assert errors == []


def test_traces_of_several_threads_do_not_mix() -> None:
    found = {}
    barrier = threading.Barrier(4)

    def work(k):
        barrier.wait()
        for _ in range(5):
            try:
                found.setdefault(k, []).append(jit(lambda x: (print(k) if k % 2 else k) or x)(X))
            except PurityError as error:
                found[k].append(error.rule)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, results in found.items():
        assert len(results) == 5
        assert all((r is Reason.PURITY_OUTPUT) == bool(k % 2) for r in results)


# --- the second trace -----------------------------------------------------------------------------

INPUT = Input(ArrayType((3,), dt.f64))


def graph(function):
    return capture(lambda x: [function(x)], [INPUT]).graph


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (lambda x: x * 2 + 1, lambda x: x * 2 + 1, True),
        (lambda x: x * 2 + 1, lambda x: x * 2 + 3, False),
        (lambda x: x * 2 + 1, lambda x: 1 + x * 2, False),
        (lambda x: x * 2, lambda x: x * 2 + 1, False),
        (lambda x: x, lambda x: x * 1, False),
        (lambda x: x * np.nan, lambda x: x * np.nan, True),
        (lambda x: x * 0.0, lambda x: x * -0.0, False),
        (lambda x: x - x[0], lambda x: x[0] - x, False),
        (lambda x: bind1("reduce_sum", x, axes=(0,)), lambda x: x.sum(), True),
        (
            lambda x: lax.scan(lambda c, v: (c + v, v), 0.0, x)[0],
            lambda x: lax.scan(lambda c, v: (c - v, v), 0.0, x)[0],
            False,
        ),
    ],
)
def test_programs_are_compared(first, second, same) -> None:
    found = difference(graph(first), graph(second), "f")
    assert (found is None) is same
    if found is not None:
        assert found.rule is Reason.PURITY_NOT_REPEATABLE


def test_a_number_that_differs_is_found_where_it_is_used() -> None:
    numbers = hidden([2.0, 3.0])

    def function(x):
        y = x + 1
        return y * next(numbers[0])

    with pytest.raises(PurityError, match="different programs") as found:
        jit(function)(X)
    assert found.value.place.line == function.__code__.co_firstlineno + 2


def test_a_result_that_is_another_structure_is_found() -> None:
    turns = hidden([0, 1])
    with pytest.raises(PurityError, match="different programs"):
        jit(lambda x: (x, x) if next(turns[0]) else x)(X)
    with pytest.raises(PurityError, match="different programs"):
        jit(lambda x: {"a": x} if next(turns[0]) else {"b": x})(X)


def test_a_uuid_of_the_time_is_refused_however_it_is_made() -> None:
    """By the library of the system, if this build of Python has it, or from a clock."""
    made = "generate_time_safe` draws" if uuid._generate_time_safe else "time_ns` reads a clock"
    with pytest.raises(PurityError, match=made):
        jit(lambda x: x * (uuid.uuid1().int % 7))(X)


# --- the tables -----------------------------------------------------------------------------------


def test_the_functions_of_the_tables_exist_in_this_version() -> None:
    """A function that was renamed would no longer be refused."""
    names = {"_io": "io", "posix": "os"}
    for module, name in table.FUNCTIONS:
        try:
            found = importlib.import_module(names.get(module, module))
        except ModuleNotFoundError:
            assert module in ("_uuid", "_posixsubprocess")  # some builds of Python lack them
            continue
        if name == "open_code" or module in ("_signal", "_uuid", "io"):
            continue
        assert hasattr(found, name), (module, name)
    for file, name in table.PYTHON:
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        outer, _, local = name.partition(".<locals>.")
        found = importlib.import_module(module)
        for part in outer.split("."):
            found = getattr(found, part)
        code = found.__code__
        if local:
            inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
            code = next(c for c in inner if c.co_name == local)
        assert code.co_qualname == name
    assert {name for _, name in table.PYTHON}.issuperset(table.OWNERS)


@pytest.mark.parametrize(
    ("event", "rule"),
    [
        ("open", Reason.PURITY_FILE),
        ("os.listdir", Reason.PURITY_FILE),
        ("os.system", Reason.PURITY_PROCESS),
        ("os.putenv", Reason.PURITY_ENVIRONMENT),
        ("subprocess.Popen", Reason.PURITY_PROCESS),
        ("socket.connect", Reason.PURITY_NETWORK),
        ("_thread.start_new_thread", Reason.PURITY_THREAD),
        ("_thread.start_joinable_thread", Reason.PURITY_THREAD),
        ("compile", None),
        ("exec", None),
        ("import", None),
    ],
)
def test_audit_events_have_their_rule(event, rule) -> None:
    found = table.of_event(event)
    assert (None if found is None else found.rule) is rule


def test_dataclasses_are_made_without_an_alarm() -> None:
    """They are made by `exec`, which is an audit event of its own."""

    def function(x):
        made = dataclasses.make_dataclass("Made", ["a"])
        return made(x).a * 2

    assert jit(function)(X).tolist() == (2 * X).tolist()


def test_a_trace_that_interrupts_another_one_leaves_it_watched() -> None:
    """As a signal handler may that calls a jitted function."""

    def function(x):
        jit(lambda x: x * 3).trace(2.0)
        KEPT.append(1)
        return x

    with pytest.raises(PurityError, match=r"`KEPT`(.|\n)*KEPT.append\(1\)"):
        jit(function)(X)
    with pytest.raises(PurityError, match="`print`"):
        jit(lambda x: (jit(lambda y: y * 3).trace(2.0), print("watched"), x)[2])(X)


def test_locks_of_libraries_are_given_back_when_an_effect_is_refused() -> None:
    """The line is found instruction by instruction: not between a lock and what it is for."""
    jobs = queue.Queue()

    def function(x):
        jobs.put_nowait(1)
        return x + 1

    for _ in range(2):
        with pytest.raises(PurityError, match="changes `jobs`") as found:
            jit(function)(np.ones(3))
        assert found.value.place is not None and found.value.place.column
        assert not jobs.mutex.locked()
