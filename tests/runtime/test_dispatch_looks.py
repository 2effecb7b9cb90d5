"""What a native call looks at besides its arguments: arrays, names, cells, attributes, items."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir import dtype as dtypes
from pyc.runtime import dispatch, layout
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    MISSING,
    AliasArgument,
    ArgumentSource,
    AttributeSource,
    CellSource,
    EqualArgument,
    Items,
    ItemSource,
    Look,
    NameSource,
    ObjectArgument,
    ObjectSource,
    SameArgument,
    ScalarArgument,
    TagSource,
    TupleArgument,
)
from tests.runtime.native_calls import (
    NEEDS_NATIVE_CALLS,
    VECTOR,
    Model,
    Slow,
    floats,
    recorder,
    slot,
    specialise,
)

pytestmark = NEEDS_NATIVE_CALLS


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


def test_one_object_by_two_names_is_one_still() -> None:
    """Whichever it is: an argument, what a name holds, an item, or the same for ever."""
    first: dict[str, Any] = {"rate": 0.5}
    names: dict[str, Any] = {"a": first, "b": first}
    looks = (
        Look(NameSource(names, "a"), Items(dict, ("rate",))),
        Look(ItemSource(0, 0), ScalarArgument(float, dtypes.f64)),
        Look(NameSource(names, "b"), AliasArgument(0)),
    )
    function, seen, _ = recorder((), 1, looks=looks)
    function()
    names["b"] = dict(first)
    assert function() == "slow"
    names["a"] = names["b"]
    function()
    assert len(seen) == 2

    model = Model()
    names["b"] = model
    looks = (
        Look(ArgumentSource((1, 0)), None),
        Look(NameSource(names, "b"), AliasArgument(0)),
        Look(ObjectSource(model), None),
        Look(NameSource(names, "b"), AliasArgument(2)),
    )
    arguments = (SameArgument(None), TupleArgument((ObjectArgument(Model),)))
    function, seen, _ = recorder(arguments, 0, looks=looks)
    function(None, (model,))
    assert function(None, (Model(),)) == "slow"
    names["b"] = Model()
    assert function(None, (names["b"],)) == "slow" and len(seen) == 1
