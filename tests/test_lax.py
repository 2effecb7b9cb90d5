"""Control flow by functions: the values of the Python loop, under jit and outside it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc import lax
from pyc.errors import ArgumentError, DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder
from pyc.ir.op import OPS
from pyc.ir.types import ArrayType
from pyc.jit import jit

X = np.array([0.5, -1.5, 2.0, 4.0, -3.0])
State = namedtuple("State", "h total")


def everywhere(function, *args):
    """The result of `function`: the same jitted, run outside jit, and interpreted. (Outside jit its
    arguments are NumPy arrays, which cannot be indexed by traced values: bodies use `at`.)"""
    jitted = jit(function)
    got, eager = jitted(*args), function(*args)
    traced = jitted.trace(*args)
    flat = [np.asarray(a) for a in args]
    reference = evaluate(traced.graph, flat)
    reference = traced.out_tree.unflatten(reference)
    same(got, eager)
    same(got, reference)
    return got


def at(x, i):
    return pnp.take(x, i, axis=0)


def same(a, b) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = tuple(a.values()), tuple(b.values())
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif a is None:
        assert b is None
    else:
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


# --- cond, switch ---------------------------------------------------------------------------------


def test_cond_computes_one_branch() -> None:
    def function(x, limit):
        return lax.cond(x.sum() > limit, lambda a: {"y": a * 2}, lambda a: {"y": a - limit}, x)

    same(everywhere(function, X, 1.0), {"y": X * 2})
    same(everywhere(function, X, 5.0), {"y": X - 5.0})


def test_cond_takes_numbers_and_python_bools_as_conditions() -> None:
    def function(x, n):
        by_number = lax.cond(n, lambda: x, lambda: -x)
        by_bool = lax.cond(True, lambda a: a + 1, lambda a: a, x)
        return by_number, by_bool, lax.cond(np.bool_(False), lambda a: a + 1, lambda a: a, x)

    same(everywhere(function, X, 2), (X, X + 1, X))
    same(everywhere(function, X, 0), (-X, X + 1, X))


def test_a_known_condition_leaves_one_branch_in_the_graph() -> None:
    graph = jit(lambda x: lax.cond(True, lambda: x + 1, lambda: x * 2)).trace(X).graph
    assert not {"cond", "mul"} & {e.op.name for e in graph.eqns}


def test_python_numbers_take_the_type_of_the_other_branch() -> None:
    def function(x):
        return lax.cond(x[0] > 0, lambda: (x[0], 1, 0.5), lambda: (0, 0.5, 1))

    single = X.astype(np.float32)
    first, second, third = everywhere(function, single)
    assert (first.dtype, second.dtype, third.dtype) == (np.float32, np.float64, np.float64)
    assert (first, second, third) == (0.5, 1.0, 0.5)


@pytest.mark.parametrize("index", [-7, 0, 1, 2, 9])
def test_switch_clamps_its_index(index) -> None:
    def function(x, i):
        branches = [lambda a: a + 1, lambda a: a * 2, lambda a: -a]
        return lax.switch(i, branches, x), lax.switch(index, branches, x)

    expected = [X + 1, X * 2, -X][min(max(index, 0), 2)]
    same(everywhere(function, X, index), (expected, expected))


def test_branches_may_capture_different_values() -> None:
    def function(x, a, b):
        return lax.cond(x[0] > 0, lambda y: y * a, lambda y: y * b * x, x)

    same(everywhere(function, X, 2.0, 3.0), X * 2.0)
    same(everywhere(function, -X, 2.0, 3.0), X * 3.0 * X)


# --- while_loop, fori_loop ------------------------------------------------------------------------


def test_while_loop() -> None:
    def collatz(n):
        def body(state):
            n, steps = state
            return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), steps + 1

        return lax.while_loop(lambda state: state[0] > 1, body, (n, 0))[1]

    assert everywhere(collatz, 27) == 111


def test_a_loop_that_does_not_run_gives_its_initial_value() -> None:
    same(everywhere(lambda x: lax.while_loop(lambda c: False, lambda c: c + 1, x), X), X)
    same(everywhere(lambda x: lax.fori_loop(3, 1, lambda i, c: c + 1, x), X), X)
    same(everywhere(lambda x, n: lax.fori_loop(3, n, lambda i, c: c + 1, x), X, 1), X)
    carry, ys = everywhere(lambda x: lax.scan(lambda c, v: (c + v, c), 1.0, x[:0]), X)
    assert carry == 1.0 and ys.shape == (0,)


@pytest.mark.parametrize("dynamic", [False, True])
def test_fori_loop(dynamic) -> None:
    def function(x, lower, upper):
        bounds = (lower, upper) if dynamic else (1, 4)
        return lax.fori_loop(
            *bounds, lambda i, s: State(s.h * i + x, s.total + at(x, i)), State(x, 0.0)
        )

    h, total = X, 0.0
    for i in range(1, 4):
        h, total = h * i + X, total + X[i]
    same(everywhere(function, X, 1, 4), State(h, np.float64(total)))


def test_python_numbers_take_the_type_that_the_body_gives_them() -> None:
    single = X.astype(np.float32)

    def function(x):
        total = lax.fori_loop(0, 5, lambda i, s: s + at(x, i), 0)
        count = lax.fori_loop(0, 5, lambda i, n: n + 1, 0)
        halves = lax.fori_loop(0, 5, lambda i, n: n * 0.5, 1)
        small = lax.scan(lambda c, v: (v + c, None), 0, x.astype(np.int8))[0]
        found = lax.fori_loop(0, 5, lambda i, f: f | (at(x, i) > 3), False)
        return total, count, halves, small, found

    total, count, halves, small, found = everywhere(function, single)
    assert (total.dtype, total) == (np.float32, 1.0 + single.sum() - 1.0)
    assert (count.dtype, count) == (np.int64, 5)
    assert (halves.dtype, halves) == (np.float64, 0.5**5)
    assert (small.dtype, small) == (np.int8, 2)
    assert (found.dtype, found) == (np.bool_, True)


def test_the_index_of_a_loop_over_python_integers_is_weak() -> None:
    single = X.astype(np.float32)
    out = everywhere(lambda x: lax.fori_loop(0, 3, lambda i, s: s * i, x), single)
    assert out.dtype == np.float32
    out = everywhere(lambda x, n: lax.fori_loop(0, n, lambda i, s: s * i, x), single, 3)
    assert out.dtype == np.float32

    def index(x, n):
        return lax.fori_loop(np.int16(0), n, lambda i, s: s + i, np.int16(0))

    assert everywhere(index, X, np.int16(4)).dtype == np.int16


def test_a_python_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DTypeError, match="300 does not fit int8"):
        jit(lambda x: lax.fori_loop(0, 3, lambda i, s: s + x, 300))(np.int8(1))


# --- scan, map ------------------------------------------------------------------------------------


def python_scan(f, init, xs, length, reverse):
    carry, ys = init, [None] * length
    for k in reversed(range(length)) if reverse else range(length):
        carry, ys[k] = f(carry, {name: x[k] for name, x in xs.items()})
    return carry, ys


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(0, 7),
    reverse=st.booleans(),
    unroll=st.sampled_from([1, 2, 3, 5, 8, True]),
    width=st.integers(1, 3),
)
def test_scan_is_the_python_loop(length, reverse, unroll, width) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (length, width)), rng.integers(-9, 9, length)

    def step(carry, x):
        after = carry * 2 - x["a"] * x["b"]
        return after, (carry + x["a"], x["b"] * x["b"])

    def function(init, a, b):
        return lax.scan(step, init, {"a": a, "b": b}, reverse=reverse, unroll=unroll)

    init = np.arange(width)
    carry, (first, second) = everywhere(function, init, a, b)
    expected, rows = python_scan(step, init, {"a": a, "b": b}, length, reverse)
    np.testing.assert_array_equal(carry, expected)
    assert first.shape == (length, width) and second.shape == (length,)
    for k, (p, q) in enumerate(rows):
        np.testing.assert_array_equal(first[k], p)
        assert second[k] == q


def test_scan_without_xs_or_without_ys() -> None:
    carry, ys = everywhere(lambda x: lax.scan(lambda c, _: (c * 2, c[0]), x, length=3), X)
    same((carry, ys), (X * 8, np.array([0.5, 1.0, 2.0])))
    carry, ys = everywhere(lambda x: lax.scan(lambda c, v: (c + v, None), 0.0, x, length=5), X)
    assert (carry, ys) == (X.sum(), None)


def test_map() -> None:
    matrix = np.arange(6.0).reshape(3, 2)
    out = everywhere(lambda m: lax.map(lambda row: {"s": row.sum(), "r": row * 2}, m), matrix)
    same(out, {"s": matrix.sum(1), "r": matrix * 2})


def test_loops_inside_loops_capture_from_every_level() -> None:
    def function(x, scale):
        def row(i, table):
            def column(carry, v):
                return carry + v * scale + at(x, i) + table.sum(), v * i

            carry, ys = lax.scan(column, 0.0, x)
            return table * 0.5 + ys + carry

        return lax.fori_loop(0, 2, row, x)

    table = X
    for i in range(2):
        carry = 0.0
        for v in X:
            carry = carry + v * 0.25 + X[i] + table.sum()
        table = table * 0.5 + X * i + carry
    np.testing.assert_allclose(everywhere(function, X, 0.25), table, rtol=1e-12)


def test_outside_jit_arrays_of_the_surroundings_are_read_now() -> None:
    """A loop outside jit is compiled once and must still see the arrays as they are."""
    table = np.arange(5.0)

    def total():
        return lax.fori_loop(0, 5, lambda i, s: s + table.sum(), 0.0)

    assert total() == 50.0
    table[0] = 10.0
    assert total() == 100.0


def test_results_do_not_share_memory() -> None:
    x = X.copy()
    first, second = jit(lambda x: lax.fori_loop(0, 0, lambda i, s: (s[1], s[0]), (x, x)))(x)
    assert not np.shares_memory(first, second)
    assert not np.shares_memory(first, x)
    carry, _ = lax.scan(lambda c, _: (c, None), x, length=2)
    assert not np.shares_memory(carry, x)


# --- the type rules of the ops --------------------------------------------------------------------

F, N, T = ArrayType((2,), dt.f64), ArrayType((), dt.i64), ArrayType((), dt.b1)


def identity(*types):
    b = Builder()
    return b.build([b.param(t) for t in types])


def truth(*types):
    b = Builder()
    for t in types:
        b.param(t)
    return b.build([b.constant(np.bool_(True))])


def not_closed():
    b, other = Builder(), Builder()
    x = b.param(F)
    graph = b.build([x])
    return type(graph)((other.param(F),), (), (x,))


WHILE = {"condition_captures": 0, "body_captures": 0}
SCAN = {"length": 3, "captures": 0, "carries": 1, "reverse": False}


REFUSED = [
    ("cond", (N, F), {"branches": ()}, "needs at least one branch"),
    ("cond", (F,), {"branches": (identity(),)}, r"the index must be i64\[\], got f64\[2\]"),
    ("cond", (N, F), {"branches": (identity(N),)}, r"0 takes \(i64\[\]\), is given \(f64\[2\]\)"),
    ("cond", (N, F), {"branches": (identity(F), truth(F))}, "branch 0 returns .*, branch 1"),
    ("cond", (N, F), {"branches": (not_closed(),)}, "branch 0 is not closed"),
    ("while", (F,), {"condition": identity(F), "body": identity(F), **WHILE}, "must return b1"),
    ("while", (F,), {"condition": truth(F), "body": truth(F), **WHILE}, "the body turns"),
    ("while", (F,), {"condition": truth(N), "body": identity(F), **WHILE}, "condition takes"),
    (
        "while",
        (),
        {"condition": truth(), "body": identity(), **WHILE, "body_captures": 2},
        "2 captures among 0 arguments",
    ),
    ("scan", (F, N), {"body": identity(F, N), **SCAN}, r"i64\[\] has no first axis of length 3"),
    ("scan", (F,), {"body": truth(F), **SCAN}, r"the body turns \(f64\[2\]\) into \(b1\[\]\)"),
    ("scan", (F,), {"body": identity(F), **SCAN, "length": -1}, "length -1"),
]


@pytest.mark.parametrize(("op", "args", "params", "message"), REFUSED)
def test_the_type_rules_refuse(op, args, params, message) -> None:
    with pytest.raises((ShapeError, DTypeError), match=message):
        OPS[op].types(args, **params)


def test_scan_stacks_what_the_body_gives_beyond_the_carries() -> None:
    assert OPS["scan"].types((F, ArrayType((3,), dt.i64)), body=identity(F, N), **SCAN) == (
        F,
        ArrayType((3,), dt.i64),
    )


def test_loops_work_with_functions_of_pyc_numpy() -> None:
    out = everywhere(lambda x: lax.map(lambda v: pnp.where(v > 0, v, 0.0), x), X)
    same(out, np.maximum(X, 0.0))


ENDLESS = """
import os, signal, sys, threading
import pyc
function = pyc.jit(lambda x: pyc.while_loop(lambda s: s > -1.0, lambda s: s * 0.5, x))
calls = {
    "first": lambda: function(1.0),
    "eager": lambda: pyc.while_loop(lambda s: s > -1.0, lambda s: s * 0.5, 1.0),
}
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    calls[sys.argv[1]]()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("way", ["first", "eager"])
def test_an_endless_loop_can_be_interrupted(way) -> None:
    """A loop over scalars is one kernel, whose back-edge must look for Ctrl-C too."""
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, way], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "interrupted\n"


# --- slices at computed places --------------------------------------------------------------------

BOARD = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize("row", [-5, -4, -1, 0, 1, 3, 9])
@pytest.mark.parametrize("column", [-7, -2, 0, 4, 6])
def test_dynamic_slices_are_moved_inside_and_count_negative_starts_from_the_end(
    row, column
) -> None:
    """As in JAX, so that ported programs keep their meaning."""
    inside = [
        min(max(s + n if s < 0 else s, 0), n - k) for s, n, k in ((row, 4, 2), (column, 6, 3))
    ]
    box = tuple(slice(s, s + k) for s, k in zip(inside, (2, 3), strict=True))
    patch = np.full((2, 3), -1.5)
    written = BOARD.copy()
    written[box] = patch

    def both(x, r, c, patch):
        return lax.dynamic_slice(x, (r, c), (2, 3)), lax.dynamic_update_slice(x, patch, (r, c))

    got = everywhere(both, BOARD, row, column, patch)
    same(got, (BOARD[box], written))
    fixed = jit(lambda x, c: lax.dynamic_slice(x, (row, c), (2, 3)))(BOARD, column)
    same(fixed, BOARD[box])


def test_a_dynamic_update_is_cast_to_the_operands_dtype() -> None:
    update = np.array([1, 2])
    got = everywhere(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), X, update, 1)
    same(got, np.array([0.5, 1.0, 2.0, 4.0, -3.0]))


def test_what_dynamic_slices_refuse() -> None:
    for bad in (
        lambda x: lax.dynamic_slice(x, (0,), (2, 3)),
        lambda x: lax.dynamic_slice(x, (0, 0), (2, 7)),
        lambda x: lax.dynamic_slice(x, (0, x.sum()), (2, 3)),
        lambda x: lax.dynamic_slice(x, (0, x.argmax(axis=0)), (2, 3)),
        lambda x: lax.dynamic_update_slice(x, x.sum(), (0, 0)),
        lambda x: lax.dynamic_update_slice(x, pnp.zeros((5, 1)), (0, 0)),
    ):
        with pytest.raises(ShapeError, match="slice"):
            jit(bad)(BOARD)


def test_select_takes_cases_by_bools_or_one_bool() -> None:
    got = everywhere(lambda x, y: lax.select(x > y, x, y), X, X[::-1].copy())
    same(got, np.maximum(X, X[::-1]))
    for pred in (True, False):
        same(jit(lax.select)(pred, X, -X), X if pred else -X)


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_select_n_takes_the_case_of_each_place(kind: type) -> None:
    which = np.array([0, 2, 1, 0, 2], kind)
    got = everywhere(lambda w, x: lax.select_n(w, x, x + 10, x + 20), which, X)
    same(got, X + 10.0 * which)
    same(jit(lax.select_n)(which[1], X, X + 10, X + 20), X + 20)
    same(
        jit(lax.select_n)(np.array([9, 0, 1, 9, 9], kind), X, -X), np.where([1, 0, 1, 1, 1], -X, X)
    )
    same(jit(lambda w, x: lax.select_n(w, x))(which, X), X)


def test_sort_and_top_k_under_jaxs_names() -> None:
    same(everywhere(lambda x: lax.sort(x), X), np.sort(X))
    same(jit(lambda x: lax.sort(x, 0, is_stable=False))(BOARD), np.sort(BOARD, 0))
    values, places = everywhere(lambda x: lax.top_k(x, 2), X)
    same((values, places), (np.array([4.0, 2.0]), np.array([3, 2])))
    values, places = jit(lambda x: lax.top_k(x, k=2, axis=0))(BOARD)
    same(values, np.sort(BOARD, 0)[:-3:-1])
    same(np.take_along_axis(BOARD, places, 0), values)


def test_running_combinations_keep_the_type_and_take_an_axis_and_a_direction() -> None:
    small = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
    same(everywhere(lambda x: lax.cumsum(x), small), np.cumsum(small, 0, dtype=np.int8))
    same(everywhere(lambda x: lax.cumprod(x, -1), small), np.cumprod(small, 1, dtype=np.int8))
    same(everywhere(lambda x: lax.cumsum(x, reverse=True), X), np.cumsum(X[::-1])[::-1])
    same(everywhere(lambda x: lax.cummax(x, axis=1), BOARD), np.maximum.accumulate(BOARD, 1))
    expected = np.minimum.accumulate(BOARD[:, ::-1], 1)[:, ::-1]
    same(everywhere(lambda x: lax.cummin(x, axis=-1, reverse=True), BOARD), expected)
    found = everywhere(lambda x: lax.cumlogsumexp(x * 400), X)
    np.testing.assert_allclose(found, np.logaddexp.accumulate(X * 400), rtol=1e-15)


def test_names_and_order_of_parameters_are_jaxs() -> None:
    """Code moves over by its imports, calls by keyword too. (JAX's further keywords are left out:
    `operand` of `cond`, `num_keys` of `sort`, `allow_negative_indices` of slices.)"""
    jaxs = {
        "cond": "pred true_fun false_fun *operands",
        "switch": "index branches *operands",
        "while_loop": "cond_fun body_fun init_val",
        "fori_loop": "lower upper body_fun init_val unroll",
        "scan": "f init xs length reverse unroll",
        "map": "f xs batch_size",
        "dynamic_slice": "operand start_indices slice_sizes",
        "dynamic_update_slice": "operand update start_indices",
        "select": "pred on_true on_false",
        "select_n": "which *cases",
        "sort": "operand dimension is_stable",
        "top_k": "operand k axis",
        "cumsum": "operand axis reverse",
        "cumprod": "operand axis reverse",
        "cummax": "operand axis reverse",
        "cummin": "operand axis reverse",
        "cumlogsumexp": "operand axis reverse",
        "associative_scan": "fn elems reverse axis",
    }
    assert {*jaxs} == {*lax.__all__}
    for name, expected in jaxs.items():
        parameters = inspect.signature(getattr(lax, name)).parameters.values()
        assert (
            " ".join(f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}" for p in parameters)
            == expected
        )


@pytest.mark.parametrize("index", [2**63 + 5, 2**64 - 1])
def test_an_index_beyond_the_signed_integers_takes_the_last_branch(index: int) -> None:
    choose = jit(lambda i: lax.switch(i, [lambda: 1, lambda: 2]))
    assert choose(np.array(index, np.uint64)) == 2


def test_a_negative_batch_is_refused_by_its_name() -> None:
    with pytest.raises(ArgumentError, match="`batch_size`"):
        lax.map(lambda x: x, np.ones(3), batch_size=-1)
