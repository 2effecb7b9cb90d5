"""The text of Graphs prints and parses, equal programs have equal text, and the verifier sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings

from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Location, Value, graph_key
from pyc.ir.op import OPS, Kind, Op
from pyc.ir.text_graph import MAX_ELEMENTS, parse_graph, print_graph
from pyc.ir.types import ArrayType
from pyc.ir.verify_graph import verify_graph
from tests.ir.graphs import constants, graphs

F32 = ArrayType((8, 4), dt.f32)
SCALAR = ArrayType((), dt.f32)


def _loop_types(args, **params):
    return tuple(v.type for v in params["body"].results)


LOOP = Op("test_loop", Kind.CONTROL, _loop_types)
"""A control op of the tests' own: holds graphs in its parameters, also inside tuples."""


@pytest.fixture
def loop_op(monkeypatch) -> Op:
    monkeypatch.setitem(OPS, LOOP.name, LOOP)
    return LOOP


def body() -> Graph:
    b = Builder()
    x = b.param(SCALAR)
    return b.build([b.bind1("add", x, b.constant(1.5, dt.f32))])


def example() -> Graph:
    b = Builder()
    x, y = b.param(F32), b.param(SCALAR)
    wide = b.bind1("broadcast", y, shape=(8, 4))
    total = b.bind1("reduce_sum", b.bind1("mul", x, wide, loc=Location("model.py", 7)), axes=(0, 1))
    (out,) = b.bind(
        LOOP,
        total,
        body=body(),
        cases=(body(), (body(), 1)),
        empty=(),
        label='a "text" # with a comment sign',
        limit=float("inf"),
        small=-0.0,
        whole=1.0,
        count=-3,
        nothing=None,
        flag=True,
        dtype=dt.bf16,
        type=F32,
    )
    return b.build([out, x])


@pytest.mark.usefixtures("loop_op")
def test_the_text_of_every_construct(golden) -> None:
    graph = example()
    golden(print_graph(graph))
    golden(print_graph(graph, locations=True), "locations")


@pytest.mark.usefixtures("loop_op")
def test_every_construct_parses_back() -> None:
    graph = example()
    again = parse_graph(print_graph(graph, locations=True))
    assert print_graph(again) == print_graph(graph)
    assert graph_key(again) == graph_key(graph)
    params = again.eqns[-1].params
    assert [type(params[n]) for n in ("whole", "count", "flag")] == [float, int, bool]
    verify_graph(again)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(graphs())
def test_random_graphs_parse_back_and_are_valid(graph) -> None:
    verify_graph(graph)
    text = print_graph(graph)
    again = parse_graph(text)
    assert print_graph(again) == text
    assert graph_key(again) == graph_key(graph)
    verify_graph(again)


def test_random_graphs_hold_control_flow() -> None:
    """The property above is worth little if the generator never draws some construct."""
    for name in ("cond", "while", "scan", "reduce_sum", "constant"):
        found = find(graphs(), lambda g, name=name: any(e.op.name == name for e in g.eqns))
        assert found.eqns


@settings(max_examples=150, deadline=None)
@given(graphs(), graphs())
def test_equal_text_means_equal_programs(a, b) -> None:
    assert (print_graph(a) == print_graph(b)) == (graph_key(a) == graph_key(b))


@settings(max_examples=300, deadline=None)
@given(constants())
def test_constants_keep_every_bit(array) -> None:
    b = Builder()
    graph = b.build([b.constant(array)])
    (eqn,) = parse_graph(print_graph(graph)).eqns
    again = eqn.params["value"]
    assert (again.dtype, again.shape) == (array.dtype, array.shape)
    assert again.tobytes() == array.tobytes()
    assert not again.flags.writeable


def test_the_text_of_constants(golden) -> None:
    b = Builder()
    for array in (
        np.float32(0.1),
        np.array([1.5, -0.0, np.inf, np.nan], np.float64),
        np.array([[True, False]]),
        np.arange(MAX_ELEMENTS + 1, dtype=np.int16),
        np.zeros((100, 100), np.float32),
        np.full(100, 255, np.uint8),
        np.zeros((0, 3), np.int64),
        np.array([1 + 2j], np.complex64),
        np.array([1.5], dt.bf16.numpy),
        np.array([0x7FC00001], np.uint32).view(np.float32),
    ):
        b.constant(array)
    golden(print_graph(b.build([])))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected 'graph', found 'the end'"),
        (
            "graph(%0: f32[]) {\n  return %1\n}",
            "line 2: expected a value that was defined above, found '%1'",
        ),
        (
            "graph() {\n  %0: f32[] = sin_(%0)\n  return\n}",
            "line 2: expected the name of an op, found 'sin_'",
        ),
        (
            "graph(%0: f32[]) {\n  %0: f32[] = neg(%0)\n  return\n}",
            "line 2: expected a new value, found '%0'",
        ),
        (
            "graph(%0: f32[]) {\n  %1: f32[] = neg(%1)\n  return\n}",
            "line 2: expected a value that was defined",
        ),
        ("graph(%0: f33[]) {\n  return\n}", r"line 1: expected a type, found 'f33\[\]'"),
        (
            "graph() {\n  %0: f32[2] = constant() value=array f32[2] {1.0}\n  return\n}",
            "line 2: expected 2 elements",
        ),
        (
            "graph() {\n  %0: f32[2] = constant() value=array f32[2] 0x00\n  return\n}",
            "line 2: expected 8 bytes",
        ),
        (
            "graph() {\n  %0: u8[1] = constant() value=array u8[1] {256}\n  return\n}",
            "expected elements of u8",
        ),
        (
            "graph() {\n  %0: f32[1] = constant() value=array f32[1] {x}\n  return\n}",
            "expected elements of f32",
        ),
        ("graph() {\n  return\n} }", "line 3: expected the end, found '}'"),
        ("graph() {\n  return ?\n}", "line 2: unexpected '?'"),
        (
            "graph(%0: f32[]) {\n  %1: f32[] = neg(%0) axes=(1\n  return\n}",
            r"line 3: expected '\)', found 'return'",
        ),
        (
            "graph(%0: f32[]) {\n  %1: f32[] = neg(%0) a=maybe\n  return\n}",
            "expected a value, found 'maybe'",
        ),
        (
            "graph(%0: f32[]) {\n  %1: f32[] = neg(%0) a=1,\n  return\n}",
            "line 4: expected '=', found '}'",
        ),
    ],
)
def test_what_does_not_parse_is_named(text, message) -> None:
    with pytest.raises(ValueError, match=message):
        parse_graph(text)


def test_ten_thousand_equations_print_and_parse() -> None:
    """Nothing in the text forms may recurse over a chain or be quadratic in it."""
    b = Builder()
    x = b.param(SCALAR)
    for k in range(10_000):
        x = b.bind1("add" if k % 2 else "mul", x, x)
    text = print_graph(b.build([x]))
    assert text.count("\n") == 10_003
    assert print_graph(parse_graph(text)) == text


# --- verifier -------------------------------------------------------------------------------------


def broken(change) -> Graph:
    """The text's graph after `change` of its first equation."""
    graph = parse_graph(
        "graph(%0: f32[8], %1: f32[8]) {\n  %2: f32[8] = add(%0, %1)\n"
        "  %3: f32[] = reduce_sum(%2) axes=(0,)\n  return %3\n}\n"
    )
    return change(graph)


def swap_order(g: Graph) -> Graph:
    return replace(g, eqns=g.eqns[::-1])


def wrong_type(g: Graph) -> Graph:
    first, second = g.eqns
    out = Value(ArrayType((8,), dt.f64))
    return replace(g, eqns=(replace(first, outs=(out,)), replace(second, args=(out,))))


def bad_arguments(g: Graph) -> Graph:
    other = Value(ArrayType((3,), dt.f32))
    first, second = g.eqns
    first = replace(first, args=(g.params[0], other))
    return Graph((*g.params, other), (first, second), g.results)


def defined_twice(g: Graph) -> Graph:
    return replace(g, eqns=(g.eqns[0], g.eqns[0], g.eqns[1]))


def foreign_op(g: Graph) -> Graph:
    return replace(g, eqns=(replace(g.eqns[0], op=replace(OPS["add"])), g.eqns[1]))


def lost_result(g: Graph) -> Graph:
    return replace(g, results=(Value(SCALAR),))


def same_parameter(g: Graph) -> Graph:
    return replace(g, params=(g.params[0], g.params[0]))


def list_parameter(g: Graph) -> Graph:
    return replace(g, eqns=(g.eqns[0], replace(g.eqns[1], params={"axes": [0]})))


def numpy_parameter(g: Graph) -> Graph:
    return replace(g, eqns=(g.eqns[0], replace(g.eqns[1], params={"axes": (np.int64(0),)})))


def missing_parameter(g: Graph) -> Graph:
    return replace(g, eqns=(g.eqns[0], replace(g.eqns[1], params={})))


def negative_shape(g: Graph) -> Graph:
    return replace(g, params=(*g.params, Value(ArrayType((-1,), dt.f32))))


def writable_constant(g: Graph) -> Graph:
    value = np.zeros(2, np.float32)
    out = Value(ArrayType((2,), dt.f32))
    return replace(g, eqns=(*g.eqns, Eqn(OPS["constant"], (), {"value": value}, (out,))))


def leak_into_subgraph(g: Graph) -> Graph:
    """A sub-graph that uses a value of the graph around it is not closed."""
    inner = Graph((), (), (g.params[0],))
    out = Value(g.params[0].type)
    return replace(g, eqns=(*g.eqns, Eqn(LOOP, (), {"body": inner}, (out,))))


CHANGES = [
    *(
        swap_order,
        wrong_type,
        bad_arguments,
        defined_twice,
        foreign_op,
        lost_result,
        same_parameter,
    ),
    *(list_parameter, numpy_parameter, missing_parameter, negative_shape, writable_constant),
    leak_into_subgraph,
]


@pytest.mark.usefixtures("loop_op")
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_the_verifier_finds_what_is_wrong_and_shows_the_program(change, golden) -> None:
    with pytest.raises(VerificationError) as caught:
        verify_graph(broken(change))
    golden(str(caught.value))


def test_the_unbroken_graph_is_valid() -> None:
    verify_graph(broken(lambda g: g))
