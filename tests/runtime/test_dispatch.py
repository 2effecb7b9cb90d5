"""Native calls: what fits is run natively and rightly, all else goes the slow way, nothing leaks.

Entries are Python callbacks here (`entry`), so that a test sees the slots that the native code
filled; `test_call_overhead` and the programs tests run compiled ones.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from pyc import reasons
from pyc.ir import dtype as dtypes
from pyc.ir.plan import ARGUMENT_BYTES
from pyc.reasons import Reason
from pyc.runtime import dispatch, layout, pool, records
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    MISSING,
    UNUSED,
    ArrayArgument,
    AttributeSource,
    CellSource,
    DictArgument,
    EqualArgument,
    Items,
    ItemSource,
    ListArgument,
    Look,
    NameSource,
    ObjectArgument,
    ObjectSource,
    Result,
    SameArgument,
    ScalarArgument,
    Specialisation,
    TagSource,
    TupleArgument,
    describe,
)

pytestmark = pytest.mark.skipif(dispatch.available() is not None, reason=str(dispatch.available()))

POINTER = ctypes.c_void_p
F32 = dtypes.f32
VECTOR = ArrayArgument(F32, (3,))


class Slow:
    """Counts slow calls and gives back what it was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "slow"


def failed(_: Specialisation, code: int, site: int, value: int) -> Any:
    raise RuntimeError(f"failed with {code}, {site}, {value}")


class Entry:
    """An entry made of a Python function body(context, slots, results): addresses.

    A callback that returns nothing returns 0.
    """

    def __init__(self, body: Callable[[int, int, int], int | None], *, release: bool) -> None:
        make = ctypes.CFUNCTYPE if release else ctypes.PYFUNCTYPE
        self.callback = make(ctypes.c_int32, POINTER, POINTER, POINTER)(
            lambda context, slots, results: body(context, slots or 0, results or 0) or 0
        )
        self.address = ctypes.cast(self.callback, POINTER).value or 0


def specialise(
    body: Callable[[int, int, int], int | None],
    arguments: tuple[Any, ...],
    results: tuple[Result, ...] = (),
    **options: Any,
) -> Specialisation:
    entry = Entry(body, release=options.get("release", False))
    options.setdefault("failed", failed)
    return Specialisation(arguments, results, entry.address, keep=entry, **options)


def slot(slots: int, index: int, kind: Any = ctypes.c_int64) -> Any:
    return kind.from_address(slots + ARGUMENT_BYTES * index).value


def floats(address: int, count: int) -> np.ndarray[Any, Any]:
    return np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))


def result(results: int, index: int) -> int:
    return ctypes.c_int64.from_address(results + 8 * index).value


def doubled(_: int, slots: int, results: int) -> None:
    floats(result(results, 0), 3)[:] = 2 * floats(slot(slots, 0), 3)


def make_doubler() -> tuple[Dispatcher, Slow]:
    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(doubled, (VECTOR,), (Result(F32, (3,)),)))
    return function, slow


def accepts(argument: Any, value: Any) -> tuple[bool, bytes]:
    """Whether a call with `value` is native, and the bytes of the first slot."""
    seen = []

    def body(_: int, slots: int, __: int) -> None:
        seen.append(ctypes.string_at(slots, ARGUMENT_BYTES))

    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(body, (argument,)))
    function(value)
    assert len(seen) + len(slow.calls) == 1
    return bool(seen), seen[0] if seen else b""


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

ONE = ScalarArgument(int, dtypes.i64)


def recorder(arguments: tuple[Any, ...], count: int, **options: Any) -> tuple[Any, list[Any], Slow]:
    """A function with integer leaves; the list gets the slots of each native call."""
    seen: list[Any] = []

    def body(_: int, slots: int, __: int) -> None:
        seen.append([slot(slots, k) for k in range(count)])

    slow = Slow()
    function = Dispatcher(slow)
    assert dispatch.add(function, specialise(body, arguments, **options))
    return function, seen, slow


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


# --- what is looked at besides --------------------------------------------------------------------


def test_captured_arrays_are_read_anew_and_checked_anew() -> None:
    weights = np.array([1, 2, 3], np.float32)
    seen = []

    def body(_: int, slots: int, __: int) -> None:
        seen.append(floats(slot(slots, 1), 3).tolist())

    slow = Slow()
    function = Dispatcher(slow)
    dispatch.add(
        function, specialise(body, (VECTOR,), looks=(Look(ObjectSource(weights), VECTOR),))
    )
    x = np.zeros(3, np.float32)
    function(x)
    weights[0] = 9
    function(x)
    assert seen == [[1, 2, 3], [9, 2, 3]]
    weights.resize((4,), refcheck=False)
    assert function(x) == "slow"


def test_names_are_guarded_by_identity() -> None:
    helper, namespace = object(), {}
    namespace["helper"] = helper
    looks = (
        Look(NameSource(namespace, "helper"), SameArgument(helper)),
        Look(NameSource(namespace, "shadow"), MISSING),
    )
    function, seen, _ = recorder((), 0, looks=looks)
    function()
    assert len(seen) == 1
    namespace["helper"] = object()
    assert function() == "slow"
    namespace["helper"] = helper
    namespace["shadow"] = 1
    assert function() == "slow"
    del namespace["shadow"]
    function()
    assert len(seen) == 2


def test_cells_are_guarded_by_identity() -> None:
    def make() -> tuple[Any, Callable[[Any], None]]:
        value: Any = "first"

        def read() -> Any:
            return value

        def write(new: Any) -> None:
            nonlocal value
            value = new

        assert read.__closure__ is not None
        return read.__closure__[0], write

    cell, write = make()
    function, seen, _ = recorder((), 0, looks=(Look(CellSource(cell), SameArgument("first")),))
    function()
    write("second")
    assert function() == "slow" and len(seen) == 1


class Model:
    def __init__(self) -> None:
        self.rate = 0.5


def test_attributes_are_read_anew_from_whatever_object_is_there() -> None:
    namespace: dict[str, Any] = {"model": Model()}
    looks = (
        Look(NameSource(namespace, "model"), ObjectArgument(Model)),
        Look(AttributeSource(0, "rate"), ScalarArgument(float, dtypes.f64)),
        Look(AttributeSource(0, "step"), MISSING),
    )
    function, seen, _ = recorder((), 1, looks=looks)
    function()
    namespace["model"].rate = 0.25
    function()
    namespace["model"] = other = Model()
    other.rate = 8.0
    function()
    assert [struct.pack("<q", *row) for row in seen] == [
        struct.pack("<d", value) for value in (0.5, 0.25, 8.0)
    ]
    other.step = print  # type: ignore[attr-defined]
    assert function() == "slow"
    del other.step  # type: ignore[attr-defined]
    other.rate = 1  # no float
    assert function() == "slow"
    del other.rate
    assert function() == "slow"
    namespace["model"] = object()
    assert function() == "slow" and len(seen) == 3


def test_equal_numbers_are_known_by_their_bits() -> None:
    namespace: dict[str, Any] = {"a": 0.5, "n": 7, "s": np.int64(3)}
    looks = tuple(Look(NameSource(namespace, k), EqualArgument(v)) for k, v in namespace.items())
    function, seen, _ = recorder((), 0, looks=looks)
    for name, value in (("a", float("0.5")), ("n", int("7")), ("s", np.int64(3))):
        namespace[name] = value
        function()
    assert len(seen) == 3
    for name, value in (("a", -0.5), ("n", 8), ("s", np.int64(4)), ("a", 1), ("n", True)):
        before = namespace[name]
        namespace[name] = value
        assert function() == "slow"
        namespace[name] = before


def test_items_of_containers_are_read_anew() -> None:
    rows: list[Any] = [1, {"a": 2}]
    looks = (
        Look(ObjectSource(rows), Items(list, 2)),
        Look(ItemSource(0, 0), ScalarArgument(int, dtypes.i64)),
        Look(ItemSource(0, 1), Items(dict, ("a",))),
        Look(ItemSource(2, 0), ScalarArgument(int, dtypes.i64)),
    )
    function, seen, _ = recorder((), 2, looks=looks)
    function()
    rows[:] = [3, {"a": 4}]
    function()
    assert seen == [[1, 2], [3, 4]]
    rows[1]["b"] = 5
    assert function() == "slow"
    rows[1] = {"b": 5}
    assert function() == "slow"
    rows.append(0)
    assert function() == "slow"


def test_a_class_that_changes_is_noticed() -> None:
    class Base:
        pass

    class Derived(Base):
        pass

    look = Look(TagSource(Derived, layout.type_version(Derived)), None)
    function, seen, _ = recorder((), 0, looks=(look,))
    function()
    Base.rate = 1  # type: ignore[attr-defined]
    assert function() == "slow" and len(seen) == 1


def test_an_invalid_specialisation_is_passed_over() -> None:
    valid = ctypes.c_int32(1)
    function, seen, _ = recorder((), 0, valid=valid)
    function()
    valid.value = 0
    assert function() == "slow" and len(seen) == 1


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
