"""Donation in the planner: results made in the memory of arguments, and never at a wrong moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import lax
from pyc.backends.oracle import run_plan
from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.plan import Place, Plan
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.text_plan import parse_plan, print_plan
from pyc.ir.verify_plan import verify_plan
from pyc.passes import optimise
from pyc.passes.memory import Planned, plan
from tests.passes.programs import copies, graph_of, loops
from tests.programs.differential import same_bits
from tests.programs.random_graphs import random_arguments, random_graph

N = 40
X = np.random.default_rng(1).permutation(N).astype(np.float64)
Y = X[::-1] / 3
SQUARE = np.arange(36.0).reshape(6, 6)
TALL = np.arange(37 * 24.0).reshape(37, 24) % 7


def softmax(x: Any) -> Any:
    e = pnp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def checked(graph: Graph, arguments: Any, donated: Any) -> Planned:
    """The Plan of an optimised Graph with donated parameters, after it has given the interpreter's
    bits and left its arguments alone in the interpreter's hands."""
    found = plan(graph, X86_64_V3, donated=donated, check=True)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    before = [np.array(a) for a in arguments]
    results = run_plan(found.plan, arguments, shapes)
    for a, b in zip(evaluate(graph, before), results, strict=True):
        assert same_bits(a, b), f"{b} is not {a}"
    for a, b in zip(before, arguments, strict=True):
        assert same_bits(a, np.asarray(b))
    return found


def donated_plan(function: Any, *arguments: Any, donated: Any = (0,)) -> Planned:
    return checked(optimise(graph_of(function, *arguments), check=True), arguments, donated)


def large(found: Planned) -> int:
    """How many arrays are copied, those of one element aside."""
    return sum(found.plan.buffers[c.source].nbytes > 8 for c in copies(found.plan.steps))


def stencil(x: Any) -> Any:
    return pnp.concatenate([x[:1], (x[:-2] + x[2:]) * 0.5, x[-1:]])


def sweeps(n: int) -> Any:
    """Two buffers take turns."""
    return lambda x: lax.fori_loop(0, n, lambda i, x: pnp.sort(x) * 0.5 + x[::-1], x)


# Function, arguments, donated ones; the argument that each result takes over, whole arrays copied.
TAKEN: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...], dict[int, int], int]] = {
    "element by element": (lambda x: x * 2 + 1, (X,), (0,), {0: 0}, 0),
    "the argument itself": (lambda x: x, (X,), (0,), {0: 0}, 0),
    "an exchange": (lambda x, y: (y, x), (X, Y), (0, 1), {0: 1, 1: 0}, 0),
    "an exchange, changed": (lambda x, y: (y + 1, x * 2), (X, Y), (0, 1), {0: 1, 1: 0}, 0),
    "an update": (lambda x: x.at[3].set(7.0), (X,), (0,), {0: 0}, 0),
    "all of it at a computed place": (
        lambda x, i: lax.dynamic_update_slice(x, x * 2 + 1, (i,)),
        *((X, 3), (0,), {0: 0}, 0),
    ),
    "a row of updates": (lambda x: x.at[3].set(7.0).at[5].add(2.0), (X,), (0,), {0: 0}, 0),
    "later": (lambda x: pnp.sort(pnp.sort(x)[::-1] * 2), (X,), (0,), {0: 0}, 0),
    "a copy of another": (lambda x, y: (y, x.sum()), (X, Y), (0,), {0: 0}, 1),
    "an update of another that reads it": (
        lambda x, y: (y.at[0].set(x[-1] * y[0]), x[:3]),
        (X, Y),
        (0,),
        {},
        1,
    ),
    "an update of another before an update": (
        lambda x, y: y.at[0].set(7.0).at[1:3].set(x[-2:] * 2),
        (X, Y),
        (0,),
        {},
        1,
    ),
    "a loop over another that reads it": (
        lambda x, y: lax.fori_loop(0, 30, lambda i, y: y.at[i].set(pnp.sort(y)[i] + x[-1]), y),
        (X, Y),
        (0,),
        {},
        1,
    ),
    "an update of another after it was read": (
        lambda x, y: y.at[0].set(pnp.sort(x)[3]),
        (X, Y),
        (0,),
        {0: 0},
        1,
    ),
    "updates in a loop": (
        lambda x: lax.fori_loop(1, N, lambda i, x: x.at[i].add(x[i - 1]), x),
        *((X,), (0,), {0: 0}, 0),
    ),
    "a loop of even length": (sweeps(4), (X,), (0,), {0: 0}, 0),
    "a loop of odd length": (sweeps(5), (X,), (0,), {0: 0}, 1),
    "a loop of unknown length": (
        lambda x: lax.while_loop(lambda x: x[0] < 100, lambda x: pnp.sort(x) + x[::-1], x),
        *((X,), (0,), {0: 0}, 1),
    ),
    "a loop of one buffer": (
        lambda x: lax.fori_loop(0, 5, lambda i, x: pnp.sort(x)[::-1] * 0.5 + x, x),
        *((X,), (0,), {0: 0}, 0),
    ),
    "a branch that updates": (
        lambda x, p: lax.cond(p > 0, lambda x: x.at[0].set(1.0), lambda x: x.at[1].set(2.0), x),
        *((X, np.float64(1)), (0,), {0: 0}, 0),
    ),
    "two results of one type": (lambda x: (x + 1, x - 1), (X,), (0,), {0: 0}, 0),
    "one result twice": (lambda x: (lambda y: (y, y))(x + 1), (X,), (0,), {0: 0}, 1),
    "the argument and an update": (lambda x: (x, x.at[0].set(1.0)), (X,), (0,), {0: 0}, 1),
    # Rows.
    "rows": (lambda x: x / x.sum(axis=1, keepdims=True), (SQUARE,), (0,), {0: 0}, 0),
    "columns": (lambda x: x - x.max(axis=0), (SQUARE,), (0,), {0: 0}, 0),
    "all elements": (lambda x: x / pnp.sqrt((x * x).sum()), (SQUARE,), (0,), {0: 0}, 0),
    "a residual of rows": (lambda r, x: r + softmax(x), (SQUARE, SQUARE + 1), (0,), {0: 0}, 0),
    "a running mean": (
        lambda m, x: (m * 0.9 + x.mean(axis=0) * 0.1, x - x.mean(axis=0)),
        *((SQUARE[0], SQUARE + 1), (0, 1), {0: 0, 1: 1}, 0),
    ),
    "rows, later updated": (lambda x: softmax(x).at[0].set(1.0), (SQUARE,), (0,), {0: 0}, 0),
    "parts of complex numbers": (lambda x: x / abs(x).sum(), (X + 1j,), (0,), {0: 0}, 0),
    # Products.
    "a residual": (lambda r, a, b: r + a @ b, (SQUARE, SQUARE + 1, SQUARE + 2), (0,), {0: 0}, 0),
    "a residual of tiles": (
        lambda r, a, b: pnp.maximum(r - a @ b, 0),
        *((TALL, TALL + 1, TALL[:24] + 2), (0,), {0: 0}, 0),
    ),
    "a residual of batches": (
        lambda r, a, b: r + a @ b,
        *((SQUARE[None], SQUARE[None] + 1, SQUARE[None] + 2), (0,), {0: 0}, 0),
    ),
    "a product of both": (
        lambda x, v, w: x + pnp.maximum(x @ v, 0) @ w,
        *((SQUARE, SQUARE + 1, SQUARE + 2), (0,), {0: 0}, 0),
    ),
    # Loops within kernels.
    "a loop of elements": (
        lambda x: lax.fori_loop(0, 9, lambda i, x: x * 0.5 + i, x),
        *((X,), (0,), {0: 0}, 0),
    ),
    "a loop that reads another carry": (
        lambda x, y: lax.fori_loop(0, 9, lambda i, c: (c[1] * 0.5, c[0] - c[1]), (x, y)),
        *((X, Y), (0, 1), {0: 0, 1: 1}, 0),
    ),
    "a loop that reads an argument": (
        lambda x, y: lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x, y),
        *((X, Y), (0, 1), {0: 0}, 0),
    ),
    "a loop until": (
        lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * 2), (0.0, x))[1],
        *((X,), (0,), {0: 0}, 0),
    ),
    "a scan": (
        lambda x: lax.scan(lambda c, _: (c * 0.5, None), x, None, length=4)[0],
        *((X,), (0,), {0: 0}, 0),
    ),
    "a loop of few numbers": (
        lambda x: lax.fori_loop(0, 3, lambda i, s: s @ s - s, x),
        *((np.arange(9.0).reshape(3, 3),), (0,), {0: 0}, 0),
    ),
}

# The same for donations of no use, and why.
UNUSED: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...], str]] = {
    "a shifted read": (stencil, (X,), (0,), "is read elsewhere than where a result"),
    "a product": (lambda x: x @ x, (SQUARE,), (0,), "dot_general reads it while it makes a result"),
    "a transposition": (
        lambda x: x.T + x,
        (SQUARE,),
        (0,),
        "is read elsewhere than where a result",
    ),
    "another shape": (lambda x: x[:3] * 2, (X,), (0,), "no result is f64[40]"),
    "another type": (lambda x: x > 2, (X,), (0,), "no result is f64[40]"),
    "a number": (lambda x, s: x * s, (X, np.float64(2)), (1,), "a number has no memory"),
    "a product and its operand": (
        lambda x, w: x + x @ w,
        *((SQUARE, SQUARE), (0,), "dot_general reads it while it makes a result"),
    ),
    "a transposed residual": (
        lambda r, a: r.T + a @ a,
        *((SQUARE, SQUARE), (0,), "dot_general reads it while it makes a result"),
    ),
    "another element of a row": (
        lambda x: x / x.sum(axis=1, keepdims=True) + x[:, :1],
        *((SQUARE,), (0,), "is read elsewhere than where a result"),
    ),
    "a value of a row that its elements need": (
        lambda m, x: (m + x.sum(axis=1), x * (m[:, None] + x.sum(axis=1, keepdims=True))),
        *((SQUARE[0], SQUARE), (0,), "is read elsewhere than where a result"),
    ),
    "a loop that reads one element": (
        lambda x: lax.fori_loop(0, 9, lambda i, c: c * 0.5 + x[0], x),
        *((X,), (0,), "reads it while it makes a result"),
    ),
    "a result of its own": (lambda x, y: (x, x), (X, Y), (0, 1), "lies in another argument"),
    "two for one result": (lambda x, y: x + y, (X, Y), (0, 1), "lies in another argument"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_results_take_over_arguments(name: str) -> None:
    function, arguments, donated, taken, copied = TAKEN[name]
    found = donated_plan(function, *arguments, donated=donated)
    assert found.plan.taken() == taken
    assert large(found) == copied
    assert not [n for n, _ in found.unused if n in taken.values()]
    assert not plan_of(function, *arguments).taken(), "nothing is taken that is not given"


def plan_of(function: Any, *arguments: Any) -> Plan:
    return plan(optimise(graph_of(function, *arguments)), X86_64_V3).plan


@pytest.mark.parametrize("name", UNUSED)
def test_a_donation_of_no_use_has_a_reason(name: str) -> None:
    function, arguments, donated, why = UNUSED[name]
    found = donated_plan(function, *arguments, donated=donated)
    assert why in dict(found.unused)[donated[-1]]
    assert f"parameter {donated[-1]}: " in " ".join(d.details for d in found.decisions)


def test_rows_on_a_target_with_blocks_have_a_reason() -> None:
    """The threads of a block share a row there, so that one may read what another has stored."""
    graph = optimise(graph_of(softmax, SQUARE))
    found = plan(graph, SM_90, donated=(0,), check=True)
    assert not found.plan.taken()
    assert "the threads that make a row" in dict(found.unused)[0]
    loop = optimise(graph_of(lambda x: lax.fori_loop(0, 9, lambda i, x: x * 0.5, x), X))
    found = plan(loop, SM_90, donated=(0,), check=True)
    assert found.plan.taken() == {0: 0}
    (result,) = run_plan(found.plan, [X], [(X.shape, X.dtype)])
    assert same_bits(result, X * 0.5**9)


def test_large_rows_begun_after_the_argument_lie_in_it() -> None:
    """What is large and begins no page is not streamed; a row program makes it all the same."""
    big = np.zeros((1 << 11, 1 << 11))
    graph = optimise(graph_of(lambda x: softmax(pnp.sort(x)[::-1]), big))
    found = plan(graph, X86_64_V3, donated=(0,), check=True).plan
    assert found.taken() == {0: 0}
    assert not any(b.streamed for k in found.kernels for b in k.buffers)


def test_a_donated_argument_that_no_result_takes_is_updated_in_place() -> None:
    found = donated_plan(lambda x: x.at[3].set(7.0).sum(), X)
    assert not large(found) and not found.plan.taken()
    assert large(checked(optimise(graph_of(lambda x: x.at[3].set(7.0).sum(), X)), (X,), ())) == 1


def test_swapped_carries_of_two_donated_arguments() -> None:
    """Carries that take each other's buffers: neither initial value is copied over the other."""

    def exchange(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] * 2), (x, y))

    def three(x: Any, y: Any, z: Any) -> Any:
        return lax.fori_loop(0, 5, lambda i, c: (c[1], c[2], pnp.sort(c[0])), (x, y, z))

    donated_plan(exchange, X, Y, donated=(0, 1))
    donated_plan(three, X, Y, X + Y, donated=(0, 1, 2))
    donated_plan(three, X, Y, X + Y, donated=(1,))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_give_the_same_bits(seed: int) -> None:
    """Everything is donated, then every second parameter."""
    graph = optimise(random_graph(seed), check=True)
    arguments = random_arguments(graph, seed)
    numbers = tuple(range(len(graph.params)))
    for donated in (numbers, numbers[::2]):
        checked(graph, arguments, donated)


def test_a_donation_of_no_use_changes_nothing() -> None:
    graph = optimise(graph_of(stencil, X))
    plain, given = plan(graph, X86_64_V3).plan, plan(graph, X86_64_V3, donated=(0,)).plan
    assert print_plan(plain) == print_plan(given).replace(" donated", "")
    assert print_plan(parse_plan(print_plan(given), given.kernels)) == print_plan(given)


# --- the verifier ---------------------------------------------------------------------------------


def test_the_verifier_refuses_what_is_not_donated() -> None:
    right = donated_plan(lambda x: x * 2, X).plan
    assert loops(right.steps) == []
    extra = replace(right.buffers[0], place=Place.RESULT, donated=False)
    # The kernel still writes the argument, which is the caller's now.
    kept = replace(right.buffers[0], donated=False)
    wrong = replace(right, buffers=(kept, extra), results=(1,))
    with pytest.raises(VerificationError, match="writes b0, which is of the arguments"):
        verify_plan(wrong)
    with pytest.raises(VerificationError, match="result 0 takes over b0, which is not donated"):
        verify_plan(replace(right, buffers=(kept,), steps=()))
    with pytest.raises(VerificationError, match="two results take over one argument"):
        verify_plan(replace(right, results=(0, 0)))
    number = tuple(replace(b, scalar=True) for b in right.buffers)
    with pytest.raises(VerificationError, match="b0 is donated, and no array"):
        verify_plan(replace(right, buffers=number))


def test_large_results_in_arguments_are_not_streamed() -> None:
    """Stores that pass by the caches want an alignment that the caller's arrays need not have."""
    big = np.zeros((1 << 22) + 8)

    graph = optimise(graph_of(lambda x, y: y * 2, big, big))
    assert any(b.streamed for k in plan(graph, X86_64_V3).plan.kernels for b in k.buffers)
    found = plan(graph, X86_64_V3, donated=(0,), check=True).plan
    assert found.taken() == {0: 0}
    assert not any(b.streamed for k in found.kernels for b in k.buffers)
