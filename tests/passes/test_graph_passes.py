"""Folding, simplification, dead code and scans: one small Graph per rule, and its text after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.errors import DTypeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder, Graph, Value, freeze
from pyc.ir.op import OPS
from pyc.ir.text_graph import print_graph
from pyc.ir.types import ArrayType
from pyc.ir.verify_graph import verify_graph
from pyc.passes import GRAPH_PASSES, optimise
from pyc.passes.dce import dce
from pyc.passes.fold import LIMIT, fold
from pyc.passes.loops import expand_scans
from pyc.passes.simplify import RULES, simplify
from tests.passes.programs import check_same_bits, graph_of, ones
from tests.programs.random_graphs import random_graph

Make = Callable[[Builder, Value], Value]


def graph(make: Make, *shape: int, dtype: DType = dt.f32) -> Graph:
    """The Graph of one value made of one parameter."""
    builder = Builder()
    x = builder.param(ArrayType(shape, dtype))
    return builder.build([make(builder, x)])


def full(b: Builder, x: Value, value: Any) -> Value:
    """A constant of the type of x."""
    return b.bind1("broadcast", b.constant(value, x.dtype), shape=x.shape)


def known(b: Builder, x: Value, truth: bool) -> Value:
    return b.bind1("broadcast", b.constant(truth, dt.b1), shape=x.shape)


def repeated(b: Builder, x: Value) -> Value:
    """A while whose second carry stays as it is, and whose third goes with the first."""
    count = ArrayType((), dt.i64)
    types = (count, x.type, count, x.type)
    test, work = Builder(), Builder()
    number, *_ = [test.param(t) for t in types]
    condition = test.build([test.bind1("lt", number, test.constant(4, dt.i64))])
    number, kept, other, state = (work.param(t) for t in types)
    one = work.constant(1, dt.i64)
    moved = work.bind1("cast", other, dtype=x.dtype)
    moved = work.bind1("broadcast", moved, shape=x.shape)
    following = work.bind1("add", work.bind1("add", state, kept), moved)
    results = [work.bind1("add", number, one), kept, work.bind1("add", other, one), following]
    zero = b.constant(0, dt.i64)
    none = {"condition_captures": 0, "body_captures": 0}
    outs = b.bind("while", zero, x, zero, x, condition=condition, body=work.build(results), **none)
    return outs[3]


def scanned(b: Builder, x: Value) -> Value:
    """A scan whose first carry stays as it is."""
    row = ArrayType(x.shape[1:], x.dtype)
    body = Builder()
    kept, state, slice_ = (body.param(row) for _ in range(3))
    following = body.bind1("mul", body.bind1("add", state, kept), slice_)
    start = b.bind1("slice", x, start=(0, 0), size=(1, 3), step=(1, 1))
    start = b.bind1("reshape", start, shape=row.shape)
    params = {"length": x.shape[0], "captures": 0, "carries": 2, "reverse": False}
    return b.bind("scan", start, start, x, body=body.build([kept, following]), **params)[1]


def row(b: Builder, x: Value, k: int) -> Value:
    return b.bind1("slice", x, start=(k, 0), size=(1, 3), step=(1, 1))


WHOLE = {"start": (0, 0), "size": (2, 3), "step": (1, 1)}


def stored(b: Builder, x: Value, update: Value) -> Value:
    """`x` with rows replaced, from the first one on."""
    return b.bind1("update_slice", x, update, starts=(0, 0), strides=(1, 1))


def joined(b: Builder, x: Value, *parts: tuple[int, int]) -> Value:
    """Columns of `x`, each (first, how many), side by side."""
    slices = [
        b.bind1("slice", x, start=(0, first), size=(2, size), step=(1, 1)) for first, size in parts
    ]
    return b.bind1("concatenate", *slices, axis=1)


def ordered(b: Builder, x: Value, descending: bool) -> Value:
    return b.bind1("sort", x, descending=descending)


def checked_twice(b: Builder, x: Value) -> Value:
    """The places of a square matrix's diagonal: indices along both of its axes."""
    place = b.bind1("remainder", x, full(b, x, 3))
    row, column = (b.bind1("index_check", place, bound=3, axis=axis) for axis in (0, 1))
    return b.bind1("add", row, column)


SIMPLIFIED: dict[str, tuple[Make, DType]] = {
    "index_checked_before": (checked_twice, dt.i64),
    "cast_to_own_type": (lambda b, x: b.bind1("cast", x, dtype=x.dtype), dt.f32),
    "broadcast_to_own_shape": (lambda b, x: b.bind1("broadcast", x, shape=x.shape), dt.f32),
    "broadcast_of_broadcast": (
        lambda b, x: b.bind1(
            "broadcast", b.bind1("broadcast", x, shape=(4, 2, 3)), shape=(5, 4, 2, 3)
        ),
        dt.f32,
    ),
    "concatenation_of_all_rows": (
        lambda b, x: b.bind1("concatenate", row(b, x, 0), row(b, x, 1), axis=0),
        dt.f32,
    ),
    "concatenation_of_rows_in_a_run": (
        lambda b, x: b.bind1(
            "concatenate",
            *(row(b, b.bind1("exp", x), 1), row(b, x, 0), row(b, x, 1), row(b, x, 0)),
            axis=0,
        ),
        dt.f32,
    ),
    "reshape_to_own_shape": (lambda b, x: b.bind1("reshape", x, shape=x.shape), dt.f32),
    "reshape_of_reshape": (
        lambda b, x: b.bind1("reshape", b.bind1("reshape", x, shape=(6,)), shape=(3, 2)),
        dt.f32,
    ),
    "whole_slice": (lambda b, x: b.bind1("slice", x, **WHOLE), dt.f32),
    "whole_store": (lambda b, x: stored(b, b.bind1("exp", x), x), dt.f32),
    "whole_store_at_a_place_beyond": (
        lambda b, x: b.bind1("update_slice", b.bind1("exp", x), x, starts=(7, 0), strides=(1, 1)),
        dt.f32,
    ),
    "whole_store_after_a_store": (
        lambda b, x: stored(b, stored(b, x, b.bind1("exp", row(b, x, 1))), b.bind1("neg", x)),
        dt.f32,
    ),
    "store_of_no_row": (
        lambda b, x: stored(b, x, b.bind1("slice", x, start=(0, 0), size=(0, 3), step=(1, 1))),
        dt.f32,
    ),
    "identity_transpose": (lambda b, x: b.bind1("transpose", x, axes=(0, 1)), dt.f32),
    "transpose_of_transpose": (
        lambda b, x: b.bind1("transpose", b.bind1("transpose", x, axes=(1, 0)), axes=(1, 0)),
        dt.f32,
    ),
    "product_of_transposed": (
        lambda b, x: b.bind1(
            "dot_general",
            b.bind1("transpose", x, axes=(1, 0)),
            x,
            dimensions=(((1,), (0,)), ((), ())),
        ),
        dt.f32,
    ),
    "slices_that_are_joined": (lambda b, x: joined(b, x, (0, 1), (1, 1)), dt.f32),
    "slices_of_the_whole_that_are_joined": (lambda b, x: joined(b, x, (0, 1), (1, 2)), dt.f32),
    "sort_of_sorted": (lambda b, x: ordered(b, ordered(b, x, True), True), dt.f32),
    "argsort_of_negated": (
        lambda b, x: b.bind1("argsort", b.bind1("neg", x), descending=False),
        dt.f32,
    ),
    "neg_of_neg": (lambda b, x: b.bind1("neg", b.bind1("neg", x)), dt.f32),
    "not_of_not": (lambda b, x: b.bind1("logical_not", b.bind1("logical_not", x)), dt.b1),
    "bitwise_not_twice": (lambda b, x: b.bind1("bitwise_not", b.bind1("bitwise_not", x)), dt.u8),
    "select_of_equals": (
        lambda b, x: b.bind1("select", b.bind1("isnan", x), x, x),
        dt.f32,
    ),
    "select_by_true": (
        lambda b, x: b.bind1("select", known(b, x, True), x, b.bind1("neg", x)),
        dt.f32,
    ),
    "select_by_false": (
        lambda b, x: b.bind1("select", known(b, x, False), x, b.bind1("neg", x)),
        dt.f32,
    ),
    "add_minus_zero": (lambda b, x: b.bind1("add", x, full(b, x, -0.0)), dt.f32),
    "minus_zero_add": (lambda b, x: b.bind1("add", full(b, x, -0.0), x), dt.f64),
    "integer_add_zero": (lambda b, x: b.bind1("add", x, full(b, x, 0)), dt.i32),
    "sub_zero": (lambda b, x: b.bind1("sub", x, full(b, x, 0.0)), dt.f32),
    "mul_one": (lambda b, x: b.bind1("mul", x, full(b, x, 1.0)), dt.f32),
    "div_one": (lambda b, x: b.bind1("div", x, full(b, x, 1.0)), dt.f64),
    "and_all_ones": (lambda b, x: b.bind1("bitwise_and", x, full(b, x, -1)), dt.i32),
    "and_zero": (lambda b, x: b.bind1("bitwise_and", x, full(b, x, 0)), dt.i32),
    "or_zero": (lambda b, x: b.bind1("bitwise_or", x, full(b, x, 0)), dt.i32),
    "or_all_ones": (lambda b, x: b.bind1("bitwise_or", full(b, x, -1), x), dt.i32),
    "xor_zero": (lambda b, x: b.bind1("bitwise_xor", x, full(b, x, 0)), dt.i32),
    "shift_by_zero": (lambda b, x: b.bind1("shift_left", x, full(b, x, 0)), dt.i32),
    "loop_of_carries_that_stay_or_are_equal": (repeated, dt.f32),
    "scan_of_a_carry_that_stays": (scanned, dt.f32),
    "scalars_first": (
        lambda b, x: b.bind1(
            "exp", b.bind1("broadcast", b.bind1("reduce_max", x, axes=(0, 1)), shape=(5,))
        ),
        dt.f32,
    ),
}
"""A Graph for each rule, with the type of its parameter."""

KEPT: dict[str, tuple[Make, DType]] = {
    "add_plus_zero": (lambda b, x: b.bind1("add", x, full(b, x, 0.0)), dt.f32),
    "sub_minus_zero": (lambda b, x: b.bind1("sub", x, full(b, x, -0.0)), dt.f32),
    "mul_zero": (lambda b, x: b.bind1("mul", x, full(b, x, 0.0)), dt.f32),
    "div_by_three": (lambda b, x: b.bind1("div", x, full(b, x, 3.0)), dt.f32),
    "self_minus_self": (lambda b, x: b.bind1("sub", x, x), dt.f32),
    "self_equals_self": (lambda b, x: b.bind1("eq", x, x), dt.f32),
    "complex_times_one": (lambda b, x: b.bind1("mul", x, full(b, x, 1.0)), dt.c64),
    "abs_of_neg": (lambda b, x: b.bind1("abs", b.bind1("neg", x)), dt.f32),
    "slices_that_are_joined_in_another_order": (
        lambda b, x: joined(b, x, (1, 1), (0, 1)),
        dt.f32,
    ),
    "slices_with_a_gap": (lambda b, x: joined(b, x, (0, 1), (2, 1)), dt.f32),
    "flipping_slice": (
        lambda b, x: b.bind1("slice", x, start=(1, 2), size=(2, 3), step=(-1, -1)),
        dt.f32,
    ),
    "sort_the_other_way": (lambda b, x: ordered(b, ordered(b, x, True), False), dt.f32),
    "argsort_of_negated_integers": (
        lambda b, x: b.bind1("argsort", b.bind1("neg", x), descending=False),
        dt.i32,
    ),
    "two_roots": (lambda b, x: b.bind1("sqrt", b.bind1("square", x)), dt.f32),
}
"""What looks like a rule and is none: other bits for NaN, infinities or -0.0."""


@pytest.mark.parametrize("name", SIMPLIFIED)
def test_simplify(name: str, golden) -> None:
    make, dtype = SIMPLIFIED[name]
    before = graph(make, 2, 3, dtype=dtype)
    after = dce(simplify(before))
    verify_graph(after)
    golden(f"{print_graph(before)}\n{print_graph(after)}")
    work = [o for e in after.eqns if e.op.name not in ("constant", "broadcast") for o in e.outs]
    assert len(work) < len([o for e in before.eqns if e.op.name != "constant" for o in e.outs])
    check_same_bits(before, after)


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_bits_is_not_simplified(name: str) -> None:
    make, dtype = KEPT[name]
    before = graph(make, 2, 3, dtype=dtype)
    after = simplify(before)
    assert print_graph(after) == print_graph(before)


def test_every_rule_has_a_graph() -> None:
    """Each op with rules, units or absorbing elements is simplified in some test above."""
    named = {e.op.name for m, d in SIMPLIFIED.values() for e in graph(m, 2, 3, dtype=d).eqns}
    ruled = set(RULES) | {n for n, op in OPS.items() if op.unit or op.absorbing}
    assert ruled - named <= {"shift_right"}, "shift_right is shift_left's twin"


def test_a_carry_that_is_stored_whole_is_what_is_stored() -> None:
    """So what reads its neighbours has two arrays that take turns, and no copy."""

    def following(x: Any) -> Any:
        return pnp.roll(x, 1) * 0.5 + x

    def store(i: Any, x: Any) -> Any:
        return lax.dynamic_update_slice(x, following(x), (i,))

    stored, bare = (
        optimise(graph_of(lambda x, step=step: lax.fori_loop(0, 9, step, x), ones(40)), check=True)
        for step in (store, lambda i, x: following(x))
    )
    assert print_graph(stored) == print_graph(bare)


@pytest.mark.parametrize("name", ["at", "assignment", "traced slice"])
def test_a_place_is_checked_where_all_is_stored(name: str) -> None:
    """The one row of an array has one place."""

    def function(x: Any, i: Any) -> Any:
        new = np.arange(6.0)
        if name == "at":
            return x.at[i, ::-1].set(new)
        y = np.zeros((1, 6))
        if name == "assignment":
            y[i, ::-1] = new
        for k in range(2 * (name == "traced slice")):
            y[i, k - k : 6 + k - k] = new
        return y

    call = pyc.jit(function)
    call(ones(1, 6), 0)
    call(ones(1, 6), -1)
    with pytest.raises(IndexError, match="index 1 is out of bounds"):
        call(ones(1, 6), 1)


UNITS = [
    (name, dtype)
    for name, op in sorted(OPS.items())
    if op.unit or op.absorbing
    for dtype in (dt.f32, dt.f16, dt.bf16, dt.i32, dt.u8, dt.b1, dt.c64)
    if dtype.kind in op.kinds.split()
]


@pytest.mark.parametrize(("name", "dtype"), UNITS)
def test_units_and_absorbing_elements_keep_all_bits(name: str, dtype: DType) -> None:
    """Every number that the table calls a unit, at its position, with every awkward partner."""
    op = OPS[name]
    for position, value in [*op.unit.items(), *op.absorbing.items()]:

        def make(b: Builder, x: Value, position: int = position, value: Any = value) -> Value:
            constant = np.asarray(value).astype(dtype.numpy)
            other = b.bind1("broadcast", b.constant(constant), shape=x.shape)
            return b.bind1(op, *((other, x) if position == 0 else (x, other)))

        before = graph(make, 40, dtype=dtype)
        check_same_bits(before, simplify(before))


# --- fold -----------------------------------------------------------------------------------------


def constant_line(b: Builder, count: int) -> Value:
    return b.constant(np.arange(count), dt.f32)


FOLDED: dict[str, Make] = {
    "scalar_arithmetic": lambda b, x: b.bind1(
        "add", x, b.bind1("mul", b.constant(2.0, dt.f32), b.constant(3.0, dt.f32))
    ),
    "small_line": lambda b, x: b.bind1("exp", constant_line(b, 4)),
    "reduction": lambda b, x: b.bind1("reduce_sum", constant_line(b, 6), axes=(0,)),
    "broadcast_stays": lambda b, x: b.bind1("broadcast", b.constant(2.0, dt.f32), shape=(1000,)),
    "iota_stays": lambda b, x: b.bind1("iota", shape=(4,), axis=0, dtype=dt.f32),
    "what_can_fail_stays": lambda b, x: b.bind1(
        "index_check", b.constant(7, dt.i64), bound=3, axis=0
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_fold(name: str, golden) -> None:
    before = graph(FOLDED[name])
    after = dce(fold(before))
    verify_graph(after)
    golden(f"{print_graph(before)}\n{print_graph(after)}")


@pytest.mark.parametrize("size", [LIMIT, LIMIT + 1])
def test_folding_stops_at_its_limit(size: int) -> None:
    """At most LIMIT elements are computed while compiling."""
    builder = Builder()
    line = builder.constant(np.arange(size), dt.f32)
    before = builder.build([builder.bind1("exp", line)])
    names = [e.op.name for e in dce(fold(before)).eqns]
    assert names == (["constant"] if size <= LIMIT else ["constant", "exp"])
    check_same_bits(before, fold(before))


def test_folding_rounds_as_the_program_would() -> None:
    """A half-precision constant expression is rounded after each op."""
    builder = Builder()
    x, y = (builder.constant(v, dt.bf16) for v in (1.0, 2.0**-9))
    total = builder.bind1("add", builder.bind1("add", x, y), y)
    before = builder.build([total])
    after = fold(before)
    check_same_bits(before, after)
    constant = dce(after).eqns[-1].params["value"]
    assert float(constant) == 1.0


def test_float_products_are_not_folded() -> None:
    """The interpreter's product is exact within its bound, not bit for bit: a folded one would
    have other bits than the same product of arguments."""
    builder = Builder()
    line = builder.constant(np.linspace(0, 1, 7), dt.f32)
    dimensions = (((0,), (0,)), ((), ()))
    product = builder.bind1("dot_general", line, line, dimensions=dimensions, result=None)
    before = builder.build([product])
    assert [e.op.name for e in dce(fold(before)).eqns] == ["constant", "dot_general"]


# --- dce ------------------------------------------------------------------------------------------


def test_dead_equations_are_dropped(golden) -> None:
    builder = Builder()
    x = builder.param(ArrayType((3,), dt.f32))
    kept = builder.bind1("neg", x)
    builder.bind1("exp", builder.bind1("square", x))
    before = builder.build([kept])
    golden(print_graph(dce(before)))


def test_equal_equations_are_one() -> None:
    """The builder numbers values: the same work written twice is done once."""
    found = graph_of(lambda x: np.exp(x) + np.exp(x) * np.exp(x), ones(5))
    assert [e.op.name for e in found.eqns].count("exp") == 1


# --- scans ----------------------------------------------------------------------------------------


def scanned(carry: tuple[int, ...], reverse: bool) -> Graph:
    """A scan that adds rows to a carry and stacks what it has."""
    inner = Builder()
    state, row = inner.param(ArrayType(carry, dt.f32)), inner.param(ArrayType(carry, dt.f32))
    total = inner.bind1("add", state, row)
    rolled = inner.bind1("cumsum", total) if carry else total
    body = inner.build([rolled, total])
    builder = Builder()
    first = builder.param(ArrayType(carry, dt.f32))
    rows = builder.param(ArrayType((4, *carry), dt.f32))
    outs = builder.bind(
        "scan", first, rows, body=body, length=4, captures=0, carries=1, reverse=reverse
    )
    return builder.build(outs)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_arrays_becomes_a_while(reverse: bool, golden) -> None:
    before = scanned((5,), reverse)
    after = expand_scans(before)
    verify_graph(after)
    golden(print_graph(after))
    check_same_bits(before, after)


def test_a_scan_over_small_state_stays_one_kernel() -> None:
    before = scanned((), False)
    assert expand_scans(before).eqns[0].op.name == "scan"


# --- all passes -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_every_pass_keeps_all_bits(seed: int) -> None:
    """Each pass alone, on random programs."""
    before = random_graph(seed, 8)
    for _, run, _ in GRAPH_PASSES[:4]:
        after = run(before)
        verify_graph(after)
        check_same_bits(before, after)


def test_one_number_for_all_elements_is_computed_once_and_now() -> None:
    """Operands that are broadcast constants are constants only when `simplify` has seen them."""
    traced = graph_of(
        lambda x: x * (np.full((2, 3), np.float32(2)) + np.full((2, 3), np.float32(3))), ones(2, 3)
    )
    once = optimise(traced, check=True)
    assert [e.op.name for e in once.eqns] == ["constant", "broadcast", "mul"]
    assert print_graph(optimise(once, check=True)) == print_graph(once)


def test_optimising_twice_changes_nothing() -> None:
    """The passes reach a fixed point on ordinary programs."""
    traced = graph_of(lambda x: ((x + 0) * 1).reshape(6).reshape(3, 2).T.T, ones(2, 3))
    once = optimise(traced, check=True)
    assert print_graph(optimise(once, check=True)) == print_graph(once)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
@example(2914)  # all of an array is stored after an overlay
def test_optimising_random_programs_twice_changes_nothing(seed: int) -> None:
    """So one round of the passes is enough where no scan is expanded."""
    once = optimise(random_graph(seed, 8), check=True)
    assert print_graph(optimise(once, check=True)) == print_graph(once)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.reshape(6).reshape(2, 3),
        lambda x: x.reshape(6).reshape(2, 3) + 1,
        lambda x: np.transpose(np.transpose(x[None], (1, 2, 0)), (2, 0, 1))[0],
    ],
)
def test_moves_that_undo_each_other_vanish(function: Any) -> None:
    found = optimise(graph_of(function, ones(2, 3)), check=True)
    moves = {"reshape", "transpose"} & {e.op.name for e in found.eqns}
    assert moves <= {"reshape"}
    assert sum(e.op.name == "transpose" for e in found.eqns) == 0
    assert optimise(found).eqns == found.eqns


def test_equations_that_nothing_changes_are_the_same_objects() -> None:
    """Passes cost what they change: a program of ten thousand equations is rewritten often."""
    before = graph_of(lambda x: np.exp(x * 2.5) + np.sin(x), ones(5))
    again = simplify(before)
    assert set(again.eqns) <= set(before.eqns)
    assert again.params == before.params


def test_an_equation_repeated_in_another_graph_is_a_new_one() -> None:
    """A body that is inlined may go on to exist beside its copy."""
    inner = graph_of(lambda x: np.exp(x) * 2, ones(5))
    builder = Builder()
    x = builder.param(ArrayType((5,), dt.f32))
    (first,) = builder.inline(inner, [x])
    (second,) = builder.inline(inner, [first])
    found = builder.build([second])
    verify_graph(found)
    assert not set(found.eqns) & set(inner.eqns)
    values = {v for e in inner.eqns for v in e.outs}
    assert not values & {v for e in found.eqns for v in e.outs}


def test_repeating_over_other_types_checks_them() -> None:
    inner = graph_of(lambda x: np.exp(x), ones(5))
    builder = Builder()
    (found,) = builder.inline(inner, [builder.param(ArrayType((7,), dt.f64))])
    assert found.type == ArrayType((7,), dt.f64)
    with pytest.raises(DTypeError):
        builder.inline(inner, [builder.param(ArrayType((5,), dt.b1))])
    with pytest.raises(KeyError):
        builder.inline(inner, [inner.params[0]])


def test_a_body_that_is_not_closed_is_refused() -> None:
    """A pass that loses a value of a body is found by the next one."""
    outside = graph_of(lambda x: x * 2, ones(5))
    body = Graph(outside.params, (), outside.results)
    with pytest.raises(AssertionError, match="not closed"):
        freeze(body)
