"""`frozen` gives what `dataclass(frozen=True, slots=True)` gives, at a tenth of the cost."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

from pyc.frozen import field, frozen, replace, slotted


@frozen()
class Point:
    """A point."""

    x: int
    y: int = 2
    names: dict[str, int] = field(default_factory=dict)


@frozen(eq=False)
class Named:
    """A name."""

    name: str


@frozen(eq=False)
class Tagged(Named):
    """A name with a tag."""

    tag: int = 7

    def __repr__(self) -> str:
        return f"{self.name}:{self.tag}"


def test_fields_by_position_keyword_default_and_factory() -> None:
    p = Point(1)
    assert (p.x, p.y, p.names) == (1, 2, {})
    assert Point(y=5, x=4) == Point(4, 5)
    assert Point(1).names is not Point(1).names
    assert repr(p) == "Point(x=1, y=2, names={})"


def test_fields_of_the_base_come_first() -> None:
    assert (Tagged("a").name, Tagged("a", 3).tag) == ("a", 3)
    assert repr(Tagged("a")) == "a:7"
    assert Tagged.__match_args__ == ("name", "tag")


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="follows one with a default"):

        @frozen()
        class Misordered:
            a: int = 1
            b: int


def test_nothing_can_be_assigned_deleted_or_added() -> None:
    p = Point(1)
    for change in (lambda: setattr(p, "x", 2), lambda: delattr(p, "x"), lambda: setattr(p, "z", 1)):
        with pytest.raises(AttributeError, match="cannot change"):
            change()
    assert not hasattr(p, "__dict__")


def test_equality_and_hash_are_by_field_or_by_identity() -> None:
    pair = Named("a"), Named("a")
    assert pair[0] != pair[1]
    assert len(set(pair)) == 2

    @frozen()
    class Key:
        a: int
        b: str

    assert Key(1, "x") == Key(1, "x") != Key(1, "y")
    assert len({Key(1, "x"), Key(1, "x")}) == 1
    assert Key(1, "x") != (1, "x")


def test_copies_keep_the_other_fields() -> None:
    p = Point(1, 3, {"a": 1})
    assert replace(p, x=9) == Point(9, 3, {"a": 1})
    assert copy.copy(p) == copy.deepcopy(p) == pickle.loads(pickle.dumps(p)) == p
    assert replace(Tagged("a", 3), name="b").tag == 3
    with pytest.raises(TypeError):
        replace(p, z=1)


def test_weak_references_only_where_they_are_asked_for() -> None:
    @frozen(eq=False, weak=True)
    class Watched:
        value: int

    found = Watched(3)
    reference = weakref.ref(found)
    assert reference() is found
    del found
    gc.collect()
    assert reference() is None
    with pytest.raises(TypeError):
        weakref.ref(Point(1, 2))


def test_slotted_records_can_be_changed_and_compare_by_identity() -> None:
    @slotted
    class Count:
        """A count."""

        number: int
        names: list[str] = field(default_factory=list)

        @property
        def double(self) -> int:
            return 2 * self.number

    one, other = Count(1), Count(1)
    one.number += 2
    one.names.append("a")
    assert (one.number, one.double, one.names, other.names) == (3, 6, ["a"], [])
    assert one != other and len({one, other}) == 2
    assert repr(other).endswith("Count(number=1, names=[])")
    assert replace(one, number=5).number == 5
    with pytest.raises(AttributeError):
        one.other = 1  # type: ignore[attr-defined]
