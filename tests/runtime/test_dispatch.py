"""Native calls: results, failures, several specialisations, arenas; nothing leaks.

Entries are Python callbacks here (`native_calls.py`), so that a test sees the slots that the native
code filled; `test_call_overhead` and the programs tests run compiled ones.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

from pyc import reasons
from pyc.ir import dtype as dtypes
from pyc.reasons import Reason
from pyc.runtime import dispatch, layout, pool, records, text_dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    MISSING,
    ArrayArgument,
    AttributeSource,
    DictArgument,
    EqualArgument,
    Items,
    ItemSource,
    Look,
    NameSource,
    ObjectArgument,
    Result,
    SameArgument,
    ScalarArgument,
)
from tests.runtime.native_calls import (
    F32,
    NEEDS_NATIVE_CALLS,
    ONE,
    VECTOR,
    Model,
    Slow,
    doubled,
    make_doubler,
    result,
    slot,
    specialise,
)

pytestmark = NEEDS_NATIVE_CALLS


# --- results --------------------------------------------------------------------------------------


def test_results_come_as_one_value_a_tuple_or_what_wrap_makes() -> None:
    one = (Result(dtypes.i64, ()),)

    def body(_: int, __: int, results: int) -> None:
        for k in range(count):
            ctypes.c_int64.from_address(result(results, k)).value = k + 5

    def call(outcome: tuple[Result, ...], **options: Any) -> Any:
        function = Dispatcher(Slow())
        assert dispatch.add(function, specialise(body, (), outcome, **options))
        return function()

    count = 1
    assert call(one) == 5 and type(call(one)) is np.int64
    assert call(one, as_tuple=True) == (5,)
    assert call(one, wrap=lambda v: {"out": v}) == {"out": 5}
    assert call(one, as_tuple=True, wrap=lambda v: [*v, None]) == [5, None]
    count = 2
    assert call(one * 2) == (5, 6)
    count = 0
    assert call(()) == ()
    assert call((), wrap=lambda _: None) is None


def test_large_results_lie_in_recycled_memory() -> None:
    shape = (pool.RECYCLED_BYTES // 4,)
    pool.clear()
    function = Dispatcher(Slow())
    dispatch.add(function, specialise(lambda *_: None, (), (Result(F32, shape),)))
    before = pool.statistics()
    first = function()
    address = first.ctypes.data
    second = function()
    assert not np.shares_memory(first, second) and address % 64 == 0
    view = first[5:]
    del first
    assert function().ctypes.data != address
    view[0] = 3
    del view
    assert function().ctypes.data == address or function().ctypes.data == address
    after = pool.statistics()
    assert after.recycled > before.recycled and after.fresh <= before.fresh + 3
    assert after.kept_bytes <= pool.KEPT_BYTES
    del second
    pool.clear()
    assert pool.statistics().kept_bytes == 0


ALIGNED = (pool.ALIGNED_BYTES // 4, pool.ALIGNED_BYTES // 4 + 13, pool.HUGE_PAGES_BYTES // 4 - 1)


def maker_of(*shapes: tuple[int, ...]) -> Any:
    """A function whose results are float32 arrays of these shapes, which nobody fills."""
    function = Dispatcher(Slow())
    dispatch.add(function, specialise(lambda *_: None, (), tuple(Result(F32, s) for s in shapes)))
    return function


def test_results_begin_with_a_line_of_the_caches() -> None:
    """Stores of whole vectors would lie in two lines each: Adam's step took 1.3 times as long."""
    function = maker_of(*((n,) for n in ALIGNED), (3, pool.ALIGNED_BYTES // 12 + 1))
    odd = []
    for size in (1000, 1004, 1008, 1012, 20_000):  # what malloc gives next moves by 16 bytes
        odd.append(np.empty(size, np.float32))
        for array in function():
            assert array.ctypes.data % 64 == 0
            odd.append(array)


def test_aligned_results_are_as_arrays_of_numpy() -> None:
    function = maker_of((pool.ALIGNED_BYTES // 4,), (4, pool.ALIGNED_BYTES // 8))
    for array in function():
        array[:] = 7
        wanted = np.empty(array.shape, np.float32)
        assert array.base is None and array.flags.num == wanted.flags.num
        assert array.strides == wanted.strides
        assert sys.getsizeof(array) == sys.getsizeof(wanted)
        array.resize(2 * array.size, refcheck=False)
        assert (array[: wanted.size] == 7).all() and not array[wanted.size :].any()


def test_memory_of_aligned_results_is_traced_and_freed() -> None:
    function = maker_of((pool.ALIGNED_BYTES // 4,))
    domain = tracemalloc.DomainFilter(True, text_dispatch.TRACE_DOMAIN)

    def traced() -> int:
        return sum(t.size for t in tracemalloc.take_snapshot().filter_traces([domain]).traces)

    function()
    descriptor = np.dtype(np.float32)
    references = sys.getrefcount(descriptor)
    immortal = references >= 1 << 30  # nobody counts them then
    tracemalloc.start()
    try:
        kept = [function() for _ in range(10)]
        assert traced() == 10 * pool.ALIGNED_BYTES
        assert sys.getrefcount(descriptor) == references + (0 if immortal else 10)
        del kept
        assert traced() == 0 and sys.getrefcount(descriptor) == references
    finally:
        tracemalloc.stop()


def test_who_sets_a_way_to_allocate_arrays_gets_results_by_it() -> None:
    function = maker_of((pool.ALIGNED_BYTES // 4,))
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    usual = ctypes.PYFUNCTYPE(ctypes.py_object)(layout.numpy_function("PyDataMem_GetHandler"))()
    kind = b"mem_handler"
    # As NumPy's own, under another name: 128 bytes of name and version, then five pointers.
    text = ctypes.string_at(api.PyCapsule_GetPointer(usual, kind), 168)
    own = ctypes.create_string_buffer(b"own".ljust(127, b"\0") + text[127:])
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(layout._numpy_table()[304])
    before = set_handler(api.PyCapsule_New(ctypes.addressof(own), kind, None))
    try:
        found = function()
    finally:
        set_handler(before)
    assert get_handler_name(found) == "own" and get_handler_name(function()) != "own"
    del found


# --- failure --------------------------------------------------------------------------------------


def test_a_failed_entry_calls_back_with_site_and_value() -> None:
    def body(context: int, _: int, __: int) -> int:
        fields = (ctypes.c_int64 * 8).from_address(context)
        fields[4], fields[5] = 3, -17
        return 4

    function = Dispatcher(Slow())
    dispatch.add(function, specialise(body, (), (Result(F32, (3,)), Result(F32, ()))))
    with pytest.raises(RuntimeError, match="failed with 4, 3, -17"):
        function()


def test_exceptions_of_the_slow_way_and_of_wrap_arrive() -> None:
    def raising(*_: Any) -> Any:
        raise KeyError("mine")

    function = Dispatcher(raising)
    with pytest.raises(KeyError, match="mine"):
        function(1)
    dispatch.add(function, specialise(lambda *_: None, (), (Result(F32, (3,)),), wrap=raising))
    for call in (function, lambda: function(1)):
        with pytest.raises(KeyError, match="mine"):
            call()


def test_what_cannot_be_native_is_refused_with_a_reason() -> None:
    reasons.clear()
    slow = Slow()
    function = Dispatcher(slow)
    half = specialise(lambda *_: None, (ScalarArgument(float, dtypes.f16),))
    many = specialise(lambda *_: None, (ONE,) * 300)
    wide = specialise(lambda *_: None, (), (Result(F32, ()),) * 65)
    for specialisation in (half, many, wide):
        assert records.problem(specialisation) is not None
        assert not dispatch.add(function, specialisation)
    assert function(0.5) == "slow"
    assert reasons.counts()[Reason.DISPATCH_SLOW_ARGUMENT] == 3


def test_a_failed_probe_keeps_calls_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons.clear()
    problem = Reason.DISPATCH_SLOW_PROBE, "the fields of an array"
    monkeypatch.setattr(layout, "problem", lambda: problem)
    slow = Slow()
    function = Dispatcher(slow)
    assert not dispatch.add(function, specialise(doubled, (VECTOR,), (Result(F32, (3,)),)))
    assert function(np.zeros(3, np.float32)) == "slow"
    assert reasons.counts()[Reason.DISPATCH_SLOW_PROBE] == 1


def test_the_probe_finds_a_wrong_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks must fail when an offset is wrong."""
    for name in ("RANK", "STRIDES", "FLAGS", "TUPLE_ITEMS", "LIST_ITEMS", "TYPE_FLAGS"):
        layout.problem.cache_clear()
        with monkeypatch.context() as patch:
            patch.setattr(layout, name, getattr(layout, name) + 8)
            found = layout.problem()
            assert found is not None and found[0] is Reason.DISPATCH_SLOW_PROBE
    layout.problem.cache_clear()
    assert layout.problem() is None


# --- several specialisations ----------------------------------------------------------------------


def test_the_fitting_specialisation_is_found_and_can_be_taken_out() -> None:
    slow = Slow()
    function = Dispatcher(slow)
    made = []
    for size in range(1, 6):
        argument = ArrayArgument(F32, (size,))

        def body(_: int, __: int, results: int, size: int = size) -> None:
            ctypes.c_int64.from_address(result(results, 0)).value = size

        made.append(specialise(body, (argument,), (Result(dtypes.i64, ()),)))
        dispatch.add(function, made[-1])
    calls = [np.zeros(size, np.float32) for size in range(1, 6)]
    assert [function(x) for x in calls] == [1, 2, 3, 4, 5]
    dispatch.discard(function, made[2])
    assert [function(x) for x in calls] == [1, 2, "slow", 4, 5]
    assert [dispatch.native_calls(function, s) for s in made] == [2, 2, 0, 2, 2]
    assert dispatch.specialisations(function) == (*reversed(made[3:]), *reversed(made[:2]))
    dispatch.clear(function)
    assert [function(x) for x in calls] == ["slow"] * 5


def test_specialisations_may_be_cleared_during_a_call() -> None:
    def body(_: int, __: int, results: int) -> None:
        dispatch.clear(function)
        gc.collect()
        ctypes.c_int64.from_address(result(results, 0)).value = 8

    slow = Slow()
    function = Dispatcher(slow)
    watch = weakref.ref(specialisation := specialise(body, (), (Result(dtypes.i64, ()),)))
    dispatch.add(function, specialisation)
    del specialisation
    assert function() == 8
    assert function() == "slow"
    gc.collect()
    assert watch() is None


def test_calls_may_nest() -> None:
    def body(_: int, slots: int, results: int) -> None:
        n = slot(slots, 0)
        value = 1 if n == 0 else n * int(function(n - 1))
        ctypes.c_int64.from_address(result(results, 0)).value = value

    function = Dispatcher(Slow())
    dispatch.add(function, specialise(body, (ONE,), (Result(dtypes.i64, ()),)))
    assert function(5) == 120


# --- arenas ---------------------------------------------------------------------------------------


def test_an_arena_is_provided_by_the_slow_way_and_then_claimed_natively() -> None:
    pool.clear()
    seen = []

    def body(context: int, _: int, __: int) -> None:
        address = ctypes.c_int64.from_address(context).value
        ctypes.memset(address, 1, 5000)
        seen.append(address)

    def slow() -> str:
        with pool.arena(5000):
            return "slow"

    function = Dispatcher(slow)
    dispatch.add(function, specialise(body, (), arena_bytes=5000))
    assert function() == "slow"
    assert function() == function() == ()
    assert seen[0] == seen[1] and seen[0] % 64 == 0
    assert pool.statistics().arena_bytes >= 5000
    pool.clear()
    assert pool.statistics().arena_bytes == 0
    assert function() == "slow"


def test_calls_at_the_same_time_have_different_arenas() -> None:
    pool.clear()
    seen: list[int] = []
    together = threading.Barrier(2, timeout=20)

    def body(context: int, _: int, __: int) -> None:
        seen.append(ctypes.c_int64.from_address(context).value)
        together.wait()

    def slow() -> Any:
        # Both places are made first, so that both calls are native.
        with pool.arena(100), pool.arena(100):
            pass
        return function()

    function = Dispatcher(slow)
    dispatch.add(function, specialise(body, (), arena_bytes=100, release=True))
    threads = [threading.Thread(target=function) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2 and seen[0] != seen[1]


# --- objects --------------------------------------------------------------------------------------


class Function(Dispatcher):
    """What `jit` makes: attributes, methods, and binding to instances."""

    def __init__(self, slow: Callable[..., Any]) -> None:
        super().__init__(slow)
        self.name = "mine"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def test_subclasses_have_attributes_and_bind_as_methods() -> None:
    seen = []

    def slow(*args: Any) -> None:
        seen.append(args)

    function = Function(slow)

    class Model:
        layer = function

    model = Model()
    dispatch.add(function, specialise(lambda *_: None, (SameArgument(model), ONE)))
    assert model.layer(3) == () and model.layer("x") is None
    assert seen == [(model, "x")] and function.name == "mine"
    assert Model.layer is function


def test_threads_may_call_one_function() -> None:
    function, slow = make_doubler()
    wrong = []

    def work(seed: int) -> None:
        x = np.full(3, seed, np.float32)
        wrong.extend(k for k in range(2000) if function(x).tolist() != [2 * seed] * 3)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not slow.calls


def test_a_function_in_a_cycle_is_collected() -> None:
    def make() -> weakref.ref[Function]:
        function = Function(print)
        held = [function]
        dispatch.add(function, specialise(lambda *_: len(held), (VECTOR,), wrap=lambda _: held))
        return weakref.ref(function)

    watch = make()
    gc.collect()
    assert watch() is None


def test_calls_leak_nothing() -> None:
    """References and memory are the same after 1e5 calls of every kind of argument and result."""
    x, key = np.zeros(3, np.float32), "key"
    weights = np.zeros(3, np.float32)
    arguments = (VECTOR, ScalarArgument(float, dtypes.f64), DictArgument((key,), (VECTOR,)))
    results = (Result(F32, (3,)), Result(dtypes.f64, ()))
    model, rows = Model(), [x, weights]
    namespace = {"helper": weights, "model": model, "rows": rows}
    function = Dispatcher(lambda *_: None)
    dispatch.add(
        function,
        specialise(
            lambda *_: None,
            arguments,
            results,
            looks=(
                Look(NameSource(namespace, "helper"), VECTOR),
                Look(NameSource(namespace, "helper"), SameArgument(weights)),
                Look(NameSource(namespace, "model"), ObjectArgument(Model)),
                Look(AttributeSource(2, "rate"), EqualArgument(0.5)),
                Look(AttributeSource(2, "step"), MISSING),
                Look(NameSource(namespace, "rows"), Items(list, 2)),
                Look(ItemSource(5, 1), VECTOR),
            ),
            release=True,
        ),
    )
    inner, number = {key: x}, 1.5
    objects = [model, rows, Model, namespace, x, weights, key, inner, number, function]
    objects += [np.dtype(np.float32), np.dtype(np.float64)]
    objects += [np.ndarray, None, namespace, function._first]

    def call_often(times: int) -> None:
        for _ in range(times):
            function(x, number, inner)
            function(x, number, "no")

    call_often(1000)
    gc.collect()
    before = [sys.getrefcount(o) for o in objects]
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    call_often(50_000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(b - a) < 50 for a, b in zip(before, after)), (before, after)
    assert grown < 50_000


def test_failures_leak_nothing() -> None:
    outcome = (Result(F32, (100_000,)), Result(F32, ()))
    function = Dispatcher(lambda *_: None)
    dispatch.add(function, specialise(lambda *_: 1, (), outcome))

    def fail_often(times: int) -> None:
        for _ in range(times):
            with pytest.raises(RuntimeError):
                function()

    fail_often(10)
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    fail_often(300)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 100_000
