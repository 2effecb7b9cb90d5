"""Which arguments fit a native call, and what it hands on of them: arrays, numbers, containers."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from pyc.ir import dtype as dtypes
from pyc.runtime import dispatch, pool
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    UNUSED,
    ArrayArgument,
    DictArgument,
    ListArgument,
    Look,
    ObjectSource,
    Result,
    SameArgument,
    ScalarArgument,
    TupleArgument,
    describe,
)
from tests.runtime.native_calls import (
    F32,
    NEEDS_NATIVE_CALLS,
    ONE,
    VECTOR,
    Slow,
    accepts,
    doubled,
    floats,
    make_doubler,
    recorder,
    result,
    slot,
    specialise,
)

pytestmark = NEEDS_NATIVE_CALLS


# --- arguments ------------------------------------------------------------------------------------


def test_an_array_call_is_native_and_gives_a_fresh_writable_array() -> None:
    function, slow = make_doubler()
    x = np.array([1, 2, 3], np.float32)
    first, second = function(x), function(x)
    assert first.tolist() == second.tolist() == [2, 4, 6]
    assert first.flags.writeable and first.flags.c_contiguous and first.flags.owndata
    assert not np.shares_memory(first, second) and not np.shares_memory(first, x)
    assert type(first) is np.ndarray and first.dtype is np.dtype(np.float32)
    assert not slow.calls
    (used,) = dispatch.specialisations(function)
    assert dispatch.native_calls(function, used) == 2


class Subclass(np.ndarray[Any, Any]):
    pass


def _unaligned() -> np.ndarray[Any, Any]:
    return np.zeros(13, np.uint8)[1:].view(np.float32)


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3, np.float64),
        np.zeros(3, np.int32),
        np.zeros(4, np.float32),
        np.zeros((3, 1), np.float32),
        np.zeros(6, np.float32)[::2],
        np.zeros(3, np.float32)[::-1],
        np.zeros(3, ">f4"),
        _unaligned(),
        np.zeros(3, np.float32).view(Subclass),
        [1.0, 2.0, 3.0],
        1.0,
        None,
        np.float32(1),
    ],
    ids=repr,
)
def test_what_does_not_fit_an_array_goes_the_slow_way(value: Any) -> None:
    function, slow = make_doubler()
    assert function(value) == "slow"
    assert slow.calls[0][0][0] is value and slow.calls[0][1] == {}


def test_rank_0_and_empty_arrays_fit() -> None:
    for shape in ((), (0,), (2, 0, 3)):
        argument = ArrayArgument(F32, shape)
        native, raw = accepts(argument, value := np.zeros(shape, np.float32))
        assert native and int.from_bytes(raw[:8], "little") == value.ctypes.data
        assert not accepts(argument, np.zeros((1, *shape), np.float32))[0]


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_arrays_of_rank_0_can_go_by_value(dtype: dtypes.DType) -> None:
    values = np.array([0, 1, 0], dtype.numpy)
    argument = ArrayArgument(dtype, (), by_value=True)
    native, raw = accepts(argument, values[1:2].reshape(()))
    assert native and raw[: dtype.itemsize] == values[1:2].tobytes()
    assert not accepts(argument, values[1])[0] and not accepts(argument, values)[0]


def test_fortran_order_is_told_from_c_order() -> None:
    argument = ArrayArgument(F32, (2, 3), "F")
    assert accepts(argument, np.zeros((2, 3), np.float32, order="F"))[0]
    assert not accepts(argument, np.zeros((2, 3), np.float32))[0]


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_every_element_type_is_recognised_and_returned(dtype: dtypes.DType) -> None:
    values = np.array([0, 1, 1], dtype.numpy)

    def copy(_: int, slots: int, results: int) -> None:
        ctypes.memmove(result(results, 0), slot(slots, 0), values.nbytes)
        ctypes.memmove(result(results, 1), slot(slots, 0) + dtype.itemsize, dtype.itemsize)

    outcome = (Result(dtype, (3,)), Result(dtype, ()))
    function = Dispatcher(Slow())
    assert dispatch.add(function, specialise(copy, (ArrayArgument(dtype, (3,)),), outcome))
    array, scalar = function(values)
    assert array.tobytes() == values.tobytes() and array.dtype is dtype.numpy
    assert scalar.tobytes() == values[1].tobytes() and type(scalar) is type(values[1])


FLOAT, INT, BOOL, COMPLEX = 0.1, -7, True, complex(0.1, -2.5)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        *((FLOAT, d) for d in (dtypes.f64, dtypes.f32)),
        *((1e300, d) for d in (dtypes.f64, dtypes.f32)),
        *((INT, d) for d in (dtypes.i8, dtypes.i16, dtypes.i32, dtypes.i64)),
        *((7, d) for d in (dtypes.u8, dtypes.u16, dtypes.u32, dtypes.u64)),
        *((2**62 + 2**38 + 1, d) for d in (dtypes.f64, dtypes.f32)),
        (BOOL, dtypes.b1),
        (False, dtypes.b1),
        *((COMPLEX, d) for d in (dtypes.c64, dtypes.c128)),
    ],
)
def test_python_scalars_are_converted_as_numpy_does(value: Any, dtype: dtypes.DType) -> None:
    native, raw = accepts(ScalarArgument(type(value), dtype), value)
    with np.errstate(over="ignore"):
        expected = np.full((), value, dtype.numpy)
    assert native and raw[: dtype.itemsize] == expected.tobytes()


@pytest.mark.parametrize(
    ("value", "dtype", "native"),
    [
        (127, dtypes.i8, True),
        (128, dtypes.i8, False),
        (-128, dtypes.i8, True),
        (-129, dtypes.i8, False),
        (255, dtypes.u8, True),
        (256, dtypes.u8, False),
        (-1, dtypes.u8, False),
        (2**63 - 1, dtypes.i64, True),
        (2**63, dtypes.i64, False),
        (-(2**63), dtypes.i64, True),
        (2**63, dtypes.u64, False),
        (2**70, dtypes.f64, False),
        (-(2**63) - 1, dtypes.i64, False),
    ],
)
def test_integers_that_do_not_fit_go_the_slow_way(
    value: int, dtype: dtypes.DType, native: bool
) -> None:
    """Natively nothing is raised: the slow way raises what NumPy would."""
    assert accepts(ScalarArgument(int, dtype), value)[0] is native


def test_scalar_types_are_exact() -> None:
    """`np.float64` is a `float` and `bool` an `int`, yet each has its own rules of promotion."""

    class Mine(float):
        pass

    argument = ScalarArgument(float, dtypes.f64)
    assert [accepts(argument, v)[0] for v in (1.0, np.float64(1), 1, True, Mine(1))] == [
        *(True, False, False, False, False)
    ]
    assert not accepts(ScalarArgument(int, dtypes.i64), True)[0]
    assert not accepts(ScalarArgument(bool, dtypes.b1), 1)[0]


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=repr)
def test_numpy_scalars_are_taken_as_they_are(dtype: dtypes.DType) -> None:
    value = np.ones((), dtype.numpy)[()]
    native, raw = accepts(ScalarArgument(type(value), dtype), value)
    assert native and raw[: dtype.itemsize] == value.tobytes()


def test_static_values_are_compared_by_identity() -> None:
    marker = object()
    for value, other in ((None, 0), ("mode", 1), (marker, object()), (3, 4)):
        assert accepts(SameArgument(value), value)[0]
        assert not accepts(SameArgument(value), other)[0]


def test_the_number_of_arguments_must_match() -> None:
    function, slow = make_doubler()
    x = np.zeros(3, np.float32)
    function()
    function(x, x)
    assert [len(args) for args, _ in slow.calls] == [0, 2]


# --- containers and keywords ----------------------------------------------------------------------


def test_nested_containers_are_flattened_depth_first() -> None:
    arguments = (
        TupleArgument((ONE, ListArgument((ONE, SameArgument(None))), ONE)),
        ONE,
        DictArgument(("b", "a"), (ONE, TupleArgument((ONE,)))),
        TupleArgument(()),
    )
    function, seen, slow = recorder(arguments, 6)
    function((1, [2, None], 3), 4, {"b": 5, "a": (6,)}, ())
    assert seen == [[1, 2, 3, 4, 5, 6]] and not slow.calls
    for args in (
        ((1, [2, None], 3), 4, {"a": (6,), "b": 5}, ()),
        ((1, [2, None], 3), 4, {"b": 5, "a": (6,), "c": 7}, ()),
        ((1, [2, None], 3), 4, {"b": 5}, ()),
        ((1, [2, None]), 4, {"b": 5, "a": (6,)}, ()),
        ((1, (2, None), 3), 4, {"b": 5, "a": (6,)}, ()),
        ([1, [2, None], 3], 4, {"b": 5, "a": (6,)}, ()),
        ((1, [2, None], 3), 4, {"b": 5, "a": (6,)}, (1,)),
        ((1, [2, 0], 3), 4, {"b": 5, "a": (6,)}, ()),
        ((1, [2.0, None], 3), 4, {"b": 5, "a": (6,)}, ()),
    ):
        assert function(*args) == "slow"
    assert len(seen) == 1


def test_keywords_are_native_in_the_order_of_the_call() -> None:
    function, seen, slow = recorder((ONE, ONE, ONE), 3, keywords=("scale", "shift"))
    function(1, scale=2, shift=3)
    (lambda f: f(4, scale=5, shift=6))(function)
    function(*(7,), **{"scale": 8, "shift": 9})
    assert seen == [[1, 2, 3], [4, 5, 6], [7, 8, 9]] and not slow.calls
    function(1, shift=3, scale=2)
    function(1, 2, 3)
    function(1, 2, shift=3)
    function(1, scale=2, shift=3, more=4)
    assert len(seen) == 3
    assert slow.calls[0] == ((1,), {"shift": 3, "scale": 2})


def test_leaves_may_say_their_slot() -> None:
    """Unused ones are checked all the same; a default is an argument that is always there."""
    unused = ScalarArgument(int, dtypes.i64, slot=UNUSED)
    second, first = (ScalarArgument(int, dtypes.i64, slot=k) for k in (1, 0))
    default = Look(ObjectSource(30), ScalarArgument(int, dtypes.i64, slot=2))
    function, seen, slow = recorder(
        (unused, ListArgument((second, unused)), first), 3, looks=(default,)
    )
    function(5, [20, 6], 10)
    assert seen == [[10, 20, 30]]
    assert function(5.0, [20, 6], 10) == function(5, [20, None], 10) == "slow"
    assert len(slow.calls) == 2


def test_a_value_describes_its_argument() -> None:
    found = describe(((1, [2]), {"a": 3, "b": None}), lambda x: (x, ONE)[1])
    assert found == TupleArgument(
        (
            TupleArgument((ONE, ListArgument((ONE,)))),
            DictArgument(("a", "b"), (ONE, SameArgument(None))),
        )
    )


def test_calls_are_slow_while_native_calls_are_suspended() -> None:
    function, slow = make_doubler()
    x = np.zeros(3, np.float32)
    function(x)
    with dispatch.suspended():
        with dispatch.suspended():
            assert function(x) == "slow"
        assert function(x) == "slow"
    function(x)
    assert len(slow.calls) == 2


LEAVES = (
    *(1, 2.5, 1j, None, "mode", "other", np.float32(1), np.int64(2)),
    *(np.zeros(3, np.float32), np.zeros(4, np.float32), np.zeros((3, 1), np.float32)),
    *(np.zeros(3), np.zeros((2, 3)), np.zeros((2, 3), order="F"), np.zeros(())),
)


def _leaf(value: Any) -> Any:
    if isinstance(value, str):
        return SameArgument(value)
    if isinstance(value, np.ndarray):
        order = "C" if value.flags.c_contiguous else "F"
        return ArrayArgument(dtypes.of(value.dtype) or F32, value.shape, order)
    return ScalarArgument(type(value), dtypes.of(np.asarray(value).dtype) or F32)


VALUES = strategies.recursive(
    strategies.sampled_from(LEAVES),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.lists(inner, max_size=3).map(tuple)
        | strategies.dictionaries(strategies.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(strategies.lists(VALUES, max_size=4), strategies.lists(VALUES, max_size=4))
def test_a_call_is_native_if_and_only_if_it_has_the_same_structure(
    first: list[Any], second: list[Any]
) -> None:
    function, seen, _ = recorder(tuple(describe(v, _leaf) for v in first), 0)
    assert function(*first) == () and len(seen) == 1
    same = [describe(v, _leaf) for v in first] == [describe(v, _leaf) for v in second]
    assert (function(*second) == ()) is same
    changed = [*first[1:], *first[:1]]
    same = [describe(v, _leaf) for v in first] == [describe(v, _leaf) for v in changed]
    assert (function(*changed) == ()) is same


def test_many_threads_may_call_add_and_clear() -> None:
    """Native calls with and without the GIL, slow ones, and changes of the list, all at once."""
    x = np.array([1, 2, 3], np.float32)
    locked = specialise(doubled, (VECTOR,), (Result(F32, (3,)),), arena_bytes=64)
    unlocked = specialise(doubled, (ListArgument((VECTOR,)),), (Result(F32, (3,)),), release=True)

    def slow(value: Any) -> Any:
        with pool.arena(64):
            return 2 * np.asarray(value).reshape(3)

    function = Dispatcher(slow)
    wrong: list[Any] = []
    stop = threading.Event()

    def call(value: Any) -> None:
        while not stop.is_set():
            if function(value).tolist() != [2, 4, 6]:
                wrong.append(value)

    def change() -> None:
        for _ in range(150):
            dispatch.add(function, locked)
            dispatch.add(function, unlocked)
            dispatch.discard(function, locked)
            function(x)
            dispatch.clear(function)
        stop.set()

    threads = [threading.Thread(target=call, args=(v,)) for v in (x, x.copy(), [x], [x])]
    threads.append(threading.Thread(target=change))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_contents_of_a_list_live_through_a_call_without_the_gil() -> None:
    """Another thread may empty the list while the entry runs."""
    alive = []

    class Array(np.ndarray[Any, Any]):
        pass

    def body(_: int, slots: int, __: int) -> None:
        held[0].clear()
        gc.collect()
        alive.append(floats(slot(slots, 0), 3).tolist())

    function = Dispatcher(Slow())
    assert dispatch.add(function, specialise(body, (ListArgument((VECTOR,)),), release=True))
    held = [[np.array([1, 2, 3], np.float32)]]
    watch = weakref.ref(held[0][0])
    function(held[0])
    assert alive == [[1, 2, 3]] and watch() is None
