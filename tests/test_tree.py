"""Pytrees: order of leaves, structures, paths, registered classes, and keys of static values."""

from __future__ import annotations

import enum
import functools
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyc import tree
from pyc.errors import TraceError

Point = namedtuple("Point", "x y")

nested = st.recursive(
    st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.builds(Point, inner, inner)
    ),
    max_leaves=12,
)


@given(nested)
def test_unflatten_inverts_flatten(value) -> None:
    leaves, treedef = tree.flatten(value)
    assert tree.unflatten(treedef, leaves) == value == treedef.maker()(leaves)
    assert leaves == tree.leaves(value)
    assert treedef == tree.structure(value)
    assert hash(treedef) == hash(tree.structure(value))
    leaves, treedef = tree.flatten_ordered(value)
    assert tree.unflatten(treedef, leaves) == value
    assert repr(treedef.maker()(leaves)) == repr(value), "dicts in their order too"


@given(nested)
def test_map_keeps_the_structure_and_paths_lead_to_the_leaves(value) -> None:
    doubled = tree.map(lambda x: 2 * x, value)
    assert tree.leaves(doubled) == [2 * x for x in tree.leaves(value)]
    pairs, treedef = tree.flatten_with_path(value)
    assert treedef == tree.structure(value)
    for path, leaf in pairs:
        assert eval("root" + tree.path_text(path), {"root": value}) is leaf
    seen = []
    summed = tree.map_with_path(lambda path, x, y: seen.append(path) or x + y, value, value)
    assert seen == tree.paths(treedef) == [path for path, _ in pairs]
    assert tree.leaves(summed) == tree.leaves(doubled)
    assert tree.reduce(lambda a, b: a + b, value, 0) == sum(tree.leaves(value))


def test_dicts_are_ordered_by_key_and_ordered_dicts_are_not() -> None:
    assert tree.leaves({"b": 1, "a": 2}) == [2, 1]
    assert tree.leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert tree.structure({"b": 1, "a": 2}) == tree.structure({"a": 1, "b": 2})


def test_two_orders_of_a_dict_are_two_signatures() -> None:
    """A traced function may walk through the dict, so its order is part of the program."""
    first, treedef = tree.flatten_ordered({"b": 1, "a": 2})
    second, other = tree.flatten_ordered({"a": 2, "b": 1})
    assert (first, second) == ([1, 2], [2, 1])
    assert treedef != other
    assert list(tree.unflatten(treedef, first)) == ["b", "a"]


def test_none_has_no_leaves() -> None:
    assert tree.leaves([None, 1, {"a": None}]) == [1]
    assert tree.map(lambda x: x + 1, (None, 1)) == (None, 2)
    assert tree.structure(None) != tree.structure(())


def test_the_small_functions() -> None:
    assert tree.all([True, (1, "x")]) is True
    assert tree.all({"a": 0}) is False
    assert tree.all(None) is True
    assert tree.reduce(max, [3, (7, 5)]) == 7
    assert tree.leaves([(1, 2), 3], lambda x: isinstance(x, tuple)) == [(1, 2), 3]
    outer, inner = tree.structure([0, 0]), tree.structure({"a": 0})
    assert tree.transpose(outer, inner, [{"a": 1}, {"a": 2}]) == {"a": [1, 2]}
    with pytest.raises(ValueError):
        tree.map(lambda x, y: x, [1, 2], [1])


def test_a_registered_class() -> None:
    class Pair:
        def __init__(self, left, right, label) -> None:
            self.left, self.right, self.label = left, right, label

    returned = tree.register_node(
        Pair,
        lambda p: ((p.left, p.right), p.label),
        lambda label, children: Pair(*children, label),
        keys=("left", "right"),
    )
    assert returned is Pair
    pairs, treedef = tree.flatten_with_path({"p": Pair(1, [2], "a")})
    assert [tree.path_text(p, "s") for p, _ in pairs] == ["s['p'].left", "s['p'].right[0]"]
    assert treedef.unflatten([5, 6])["p"].right == [6]
    assert tree.structure(Pair(1, 2, 2)) == tree.structure(Pair(3, 4, 2))
    # Equal for Python, yet not the same program:
    assert tree.structure(Pair(1, 2, 2)) != tree.structure(Pair(1, 2, 2.0))
    assert tree.structure(Pair(1, 2, True)) != tree.structure(Pair(1, 2, 1))


def test_a_registered_dataclass() -> None:
    @tree.register_dataclass
    @dataclass(frozen=True)
    class State:
        h: object
        steps: int = field(default=1, metadata={"static": True})

        def __post_init__(self) -> None:
            assert isinstance(self.h, (int, np.ndarray)), "rebuilt through __init__"

    leaves, treedef = tree.flatten(State(3, steps=7))
    assert leaves == [3]
    rebuilt = treedef.unflatten(["not an array"])
    assert (rebuilt.h, rebuilt.steps) == ("not an array", 7)
    assert treedef != tree.structure(State(3, steps=8))
    with pytest.raises(ValueError, match="has the fields h, steps"):
        tree.register_dataclass(State, data_fields=["h"])
    with pytest.raises(TypeError, match="not a dataclass"):
        tree.register_dataclass(int)


class Colour(enum.IntEnum):
    RED = 1


@dataclass
class Options:
    order: int = 1
    name: str = "a"


VALUES = [
    *(1, 1.0, True, 1 + 0j, 0.0, -0.0, "1", b"1", None, (1,), (1.0,), (True,), ((1,),)),
    *(Colour.RED, Options(), Options(2), Options(1.0), int, np.float32, np.dtype("f4")),
    *(frozenset({1}), float("nan"), np.sin, len, functools.partial(max, 1)),
    functools.partial(max, 1.0),
]


def test_static_values_that_differ_in_type_or_bits_have_different_keys() -> None:
    keys = [tree.strict_key(v, "v") for v in VALUES]
    for i, a in enumerate(keys):
        for j, b in enumerate(keys):
            assert (a == b) == (i == j), (VALUES[i], VALUES[j])
            assert i != j or hash(a) == hash(tree.strict_key(VALUES[j], "v"))


def test_a_function_is_known_by_what_it_computes() -> None:
    def make(scale, table=None):
        return lambda x, y=1: x * scale + y + (table or 0)

    def key(f):
        return tree.strict_key(f, "f")

    assert key(make(2)) == key(make(2))
    assert key(make(2)) != key(make(3))
    assert key(make(2)) != key(make(2.0))
    table = [1]
    assert key(make(2, table)) == key(make(2, table))
    assert key(make(2, [1])) != key(make(2, [1]))
    assert key(lambda x, y=1: x) != key(lambda x, y=2: x)

    cell = 1

    def counted(x):
        return x + cell

    before = key(counted)
    cell = 2
    assert key(counted) != before, "a changed closure would give a stale program"


def test_a_mutable_dataclass_is_keyed_by_its_present_fields() -> None:
    options = Options()
    before = tree.strict_key(options, "o")
    options.order = 5
    assert tree.strict_key(options, "o") != before


def test_what_cannot_be_hashed_is_named() -> None:
    with pytest.raises(TraceError) as found:
        tree.strict_key((1, Options(order={"a": 1})), "config")
    assert found.value.message == (
        "static value `config[1].order` is of type dict, which cannot be hashed"
    )


def test_the_containers_of_the_standard_library() -> None:
    value = [
        deque([1, 2], maxlen=3),
        defaultdict(list, b=3, a=4),
        OrderedDict(b=5, a=(6,)),
        time.gmtime(0),
    ]
    pairs, treedef = tree.flatten_with_path(value)
    assert [x for _, x in pairs] == [1, 2, 4, 3, 5, 6, *time.gmtime(0)]
    texts = [tree.path_text(p, "r") for p, _ in pairs]
    assert texts[:4] == ["r[0][0]", "r[0][1]", "r[1]['a']", "r[1]['b']"]
    assert texts[4:7] == ["r[2]['b']", "r[2]['a'][0]", "r[3][0]"]
    made = tree.unflatten(treedef, [x for _, x in pairs])
    assert repr(treedef.maker()([x for _, x in pairs])) == repr(made)
    assert made == value and [type(x) for x in made] == [type(x) for x in value]
    assert made[0].maxlen == 3 and made[1].default_factory is list
    assert list(made[1]) == ["b", "a"], "dicts are made again in their own order"
    assert str(treedef).startswith(
        "[deque([*, *], maxlen=3), defaultdict(<class 'list'>, {'a': *, 'b': *}), "
        "OrderedDict({'b': *, 'a': (*,)}), struct_time(*, "
    )
    assert str(tree.structure((Point(1, None), 3))) == "(Point(x=*, y=None), *)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), [1, 2]),
        ((1, 2), (1, 2, 3)),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        (deque([1]), deque([1], maxlen=4)),
        (defaultdict(list, a=1), defaultdict(int, a=1)),
        (Point(1, 2), (1, 2)),
        (None, ()),
        (None, 1),
        ((), 1),
    ],
)
def test_structures_that_differ(one, other) -> None:
    assert tree.structure(one) != tree.structure(other)
    if tree.structure(one).num_leaves:
        with pytest.raises(ValueError, match="the trees differ"):
            tree.map(lambda x, y: x, one, other)


def test_keys_that_cannot_be_sorted_together_are_sorted_by_type() -> None:
    one, other = {2: "c", "a": "b", 1: "d"}, {"a": "b", 1: "d", 2: "c"}
    assert tree.leaves(one) == tree.leaves(other) == ["d", "c", "b"]
    assert list(tree.map(str, one)) == [2, "a", 1]
    assert tree.leaves({1j: "x", 2j: "y"}) == ["x", "y"], "no order at all: as inserted"


def test_a_subclass_of_a_container_is_a_leaf() -> None:
    class Mine(dict):
        pass

    assert tree.leaves([Mine(a=1)]) == [{"a": 1}]
    assert tree.is_leaf(Mine()) and not tree.is_leaf(()) and not tree.is_leaf(None)


def test_wrong_numbers_of_leaves_and_second_registrations_are_refused() -> None:
    treedef = tree.structure((1, [2]))
    for wrong in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match=r"\(\*, \[\*\]\) has 2 leaves, got"):
            tree.unflatten(treedef, wrong)
    for kind in (list, type(None)):
        with pytest.raises(ValueError, match="is registered as a pytree already"):
            tree.register_node(kind, lambda x: ((), None), lambda _, children: children)

    class Bag:
        def __init__(self, items) -> None:
            self.items = items

    tree.register_node(Bag, lambda b: (b.items, None), lambda _, items: Bag(items))
    path = tree.paths(tree.structure([Bag((1, 2))]))[1]
    assert tree.path_text(path, "r") == "r[0][<flat index 1>]"
    assert str(tree.structure(Bag((1, (2,))))).endswith("Bag(*, (*,))")
    with pytest.raises(ValueError, match="the trees differ"):
        tree.map(lambda x, y: x, Bag((1, 2)), Bag((1, 2, 3)))
