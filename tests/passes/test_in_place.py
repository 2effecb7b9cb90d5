"""Chains of updates through loops and branches: what is updated in place, and that it may be."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import lax
from pyc.backends.oracle import run_plan
from pyc.ir import dtype as dt
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.plan import Copy
from pyc.ir.target import X86_64_V3
from pyc.ir.types import ArrayType
from pyc.passes import optimise
from pyc.passes.in_place import Moves
from pyc.passes.memory import Planned, _as_swaps, plan
from pyc.reasons import Reason
from tests.passes.programs import copies, graph_of, loops, reasons_of
from tests.programs.differential import same_bits

N = 80
X = np.random.default_rng(0).permutation(N).astype(np.float64)
LINE = ArrayType((N,), dt.i64)


def checked(graph: Graph, *arguments: Any, optimised: bool = True) -> Planned:
    """The Plan of a Graph, after it has given the interpreter's bits."""
    graph = optimise(graph, check=True) if optimised else graph
    found = plan(graph, X86_64_V3, check=True)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    results = run_plan(found.plan, arguments, shapes)
    for a, b in zip(evaluate(graph, arguments), results, strict=True):
        assert same_bits(a, b), f"{b} is not {a}"
    return found


def large(found: Planned, *, in_loops: bool = False) -> list[Copy]:
    """The copies of whole lines."""
    steps = found.plan.steps
    if in_loops:
        steps = tuple(s for lp in loops(steps) for s in (*lp.condition, *lp.body))
    return [c for c in copies(steps) if found.plan.buffers[c.source].nbytes >= X.nbytes]


# --- what is in place -----------------------------------------------------------------------------


def three_deep(x: Any) -> Any:
    def outer(i: Any, x: Any) -> Any:
        def middle(j: Any, x: Any) -> Any:
            def inner(k: Any, x: Any) -> Any:
                return x.at[i + j + k].set(x[i] + x[j] * 0.5)

            return lax.fori_loop(0, 3, inner, x).at[j].add(1.0)

        return lax.fori_loop(i, 5, middle, x)

    return lax.fori_loop(0, 4, outer, x)


def through_a_branch(x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        return lax.cond(x[i] > 20, lambda x: x, lambda x: x.at[i].add(x[i + 1]), x)

    return lax.fori_loop(0, 20, step, x)


def branches_that_loop(x: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        def some(x: Any) -> Any:
            return lax.fori_loop(0, 3, lambda k, x: x.at[k].add(x[i]), x)

        return lax.cond(x[i] > 20, some, lambda x: x.at[i].add(1.0), x)

    return lax.fori_loop(0, 20, step, x)


def two_that_change_places(x: Any) -> Any:
    """Both are updated; their names are exchanged, not their elements."""
    a, b = lax.fori_loop(
        0, 7, lambda i, s: (s[1].at[i].set(s[0][i]), s[0].at[i].add(1.0)), (x, x * 2)
    )
    return a, b


def an_inner_loop_that_swaps(x: Any) -> Any:
    """The outer loop's carry is made anew in each inner step: two buffers take turns."""

    def step(i: Any, x: Any) -> Any:
        x = lax.fori_loop(0, 3, lambda k, x: pnp.flip(x) + x[i], x)
        return x.at[i].set(0.0)

    return lax.fori_loop(0, 4, step, x)


@pytest.mark.parametrize(
    "function",
    [
        three_deep,
        through_a_branch,
        branches_that_loop,
        two_that_change_places,
        an_inner_loop_that_swaps,
    ],
)
def test_no_array_is_copied_in_the_loop(function: Any) -> None:
    """However deep the update is. Before: an argument stays as it is, so it is copied once; after:
    where two buffers take turns inside, the result may be in the wrong one."""
    found = checked(graph_of(function, X), X)
    assert large(found, in_loops=True) == []
    assert len(large(found)) <= 2


def test_an_update_at_the_end_is_made_in_the_result() -> None:
    """sort writes the result's memory, where the update then is in place."""

    def function(x: Any) -> Any:
        y = pnp.sort(x)
        y = lax.fori_loop(0, 5, lambda i, y: y.at[i].set(y[i + 1]), y)
        return y.at[3].add(2.0)

    found = checked(graph_of(function, X), X)
    assert large(found) == []


def test_a_value_that_is_read_after_the_loop_is_copied_before() -> None:
    def function(x: Any) -> Any:
        y = pnp.sort(x)
        z = lax.fori_loop(0, 5, lambda i, y: y.at[i].set(y[i + 1] + i), y)
        return pnp.sort(z), pnp.sort(-y)

    found = checked(graph_of(function, X), X)
    assert Reason.MEMORY_UPDATE_OPERAND_ALIVE in reasons_of(found)
    assert len(large(found)) == 1


def test_a_value_that_the_loop_reads_too_is_copied_before() -> None:
    def function(x: Any) -> Any:
        y = pnp.sort(x)
        return pnp.sort(lax.fori_loop(0, 5, lambda i, z: z.at[i].set(y[i + 1] + z[i]), y))

    found = checked(graph_of(function, X), X)
    assert len(large(found)) == 1


# --- what must not be -----------------------------------------------------------------------------


@pytest.mark.parametrize("moved", [False, True])
def test_a_carry_that_is_only_read_is_not_written(moved: bool) -> None:
    """A sum of both carries has their size and dies before the next step; the first carry is the
    next one's, too, or the second's."""

    def function(x: Any) -> Any:
        def step(state: Any) -> Any:
            i, a, b = state
            return i + 1, b if moved else a, pnp.sort(a + b if moved else b + a)

        _, a, b = lax.while_loop(lambda s: s[0] < 5, step, (0, x, x * 2))
        return pnp.sort(a), pnp.sort(b)

    checked(graph_of(function, X), X, optimised=False)


def updated_by_itself(y: Any, x: Any) -> Any:
    return y.at[pnp.argsort(x)[::-1]].add(y)


def reversed_into_itself(y: Any, x: Any) -> Any:
    return y.at[::-1].set(y)


def placed_by_itself(y: Any, x: Any) -> Any:
    return y.at[y.astype(np.int64)].set(x + 1)


@pytest.mark.parametrize("function", [updated_by_itself, reversed_into_itself, placed_by_itself])
def test_an_update_that_reads_its_operand_twice_is_not_in_place(function: Any) -> None:
    """The value or the places of an update are those it replaces, as a whole."""
    found = checked(graph_of(lambda x: pnp.sort(function(pnp.flip(x) + 0.0, x)), X), X)
    assert len(large(found)) <= 1


def test_the_place_of_an_update_may_come_from_what_it_replaces() -> None:
    """x[x[5]:] = u: the start is read before the first element is stored."""
    builder = Builder()
    x = builder.param(LINE)
    y = builder.bind1("sort", x, descending=False)
    one = builder.bind1("slice", y, start=(5,), size=(1,), step=(1,))
    start = builder.bind1("reshape", one, shape=())
    update = builder.constant(np.arange(40) * 3 + 100)
    z = builder.bind1("update_slice", y, update, start, starts=(None,), strides=(1,))
    graph = builder.build([builder.bind1("sort", z, descending=False)])
    found = checked(graph, X.astype(np.int64))
    assert Reason.MEMORY_UPDATE_READS_OPERAND in reasons_of(found)


def test_one_operand_twice_in_a_branch_is_not_written() -> None:
    def function(x: Any) -> Any:
        y = pnp.sort(x)

        def case(a: Any, b: Any) -> Any:
            a = a.at[0].set(7.0)
            return a + b

        return pnp.sort(lax.cond(x[0] > 1e9, lambda a, b: a - b, case, y, y))

    checked(graph_of(function, X), X)


# --- buffers that take turns ----------------------------------------------------------------------


def turning(x: Any, steps: Any) -> Any:
    a, b, c = lax.fori_loop(
        0, steps, lambda i, s: (s[1], s[2], pnp.flip(s[0]) + s[1]), (x, x * 2, x * 3)
    )
    return a, b, c


@pytest.mark.parametrize("steps", range(8))
def test_a_counted_loop_ends_in_the_results(steps: int) -> None:
    """Three results and one more buffer take turns; where they start is chosen so that nothing is
    copied after the last step."""
    found = checked(graph_of(lambda x: turning(x, steps), X), X)
    assert Reason.MEMORY_LOOP_RESULT_COPIED not in reasons_of(found)
    assert len(large(found)) <= 3
    assert found.plan.peak <= 2 * X.nbytes + 1024


@pytest.mark.parametrize("steps", range(4))
def test_a_loop_of_unknown_length_copies_its_results_where_it_must(steps: int) -> None:
    found = checked(graph_of(turning, X, np.int64(0)), X, np.asarray(steps))
    assert Reason.MEMORY_LOOP_RESULT_COPIED in reasons_of(found)


@pytest.mark.parametrize("steps", range(5))
def test_a_result_that_takes_part_does_not_overwrite_another_carry(steps: int) -> None:
    """Seed 323: after some steps the result's memory is the other carry's, which is read later."""

    def function(x: Any, steps: Any) -> Any:
        a, b = lax.fori_loop(0, steps, lambda i, s: (s[1], pnp.flip(s[0]) + s[1]), (x, x * 2))
        return b, pnp.sort(a)

    found = checked(graph_of(function, X, np.int64(0)), X, np.asarray(steps))
    assert Reason.MEMORY_LOOP_RESULT_COPIED in reasons_of(found)


@pytest.mark.parametrize("seed", range(200))
def test_buffers_take_turns_as_the_swaps_make_them(seed: int) -> None:
    """`Moves.turns` against the swaps done one after the other."""
    rng = random.Random(seed)
    count = rng.randint(1, 6)
    homes: list[int | None] = list(rng.sample(range(count), count))
    homes = [None if rng.random() < 0.4 else home for home in homes]
    moves = Moves(tuple(homes), frozenset(), (False,) * count, frozenset())
    swaps = _as_swaps({k: name for k, name in enumerate(moves.names) if k != name})
    holds = list(range(2 * count))
    for steps in range(8):
        turns = [moves.turns(k) for k in range(count)]
        assert [t[steps % len(t)] for t in turns] == holds[:count]
        for a, b in swaps:
            holds[a], holds[b] = holds[b], holds[a]


# --- copies that remain, each with its reason -----------------------------------------------------


def doubled(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, s: (s[1], s[1], pnp.sort(s[2])), (x, x * 2, x))


def kept_in_one_case(x: Any) -> Any:
    return pnp.sort(lax.cond(x[0] > 5, lambda x: x, lambda x: pnp.sort(-x), pnp.cumsum(x)))


def returned(x: Any) -> Any:
    return x, pnp.sort(x)


def loop_then_update(x: Any) -> Any:
    y = lax.while_loop(lambda y: y[0] < 3, lambda y: pnp.flip(y) + y, x)
    return y.at[0].set(1.0)


def updated_in_turns(x: Any) -> Any:
    """Two carries change places: each is updated in the buffer that the other one had."""
    return lax.fori_loop(0, 5, lambda i, c: (c[1], c[0].at[i].set(c[1][0])), (x * 2, x + 1))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (doubled, Reason.MEMORY_CARRY_COPIED),
        (kept_in_one_case, Reason.MEMORY_BRANCH_RESULT_COPIED),
        (returned, Reason.MEMORY_RESULT_COPIED),
        (loop_then_update, Reason.MEMORY_LOOP_RESULT_COPIED),
        (updated_in_turns, Reason.MEMORY_UPDATE_ELSEWHERE),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_each_copy_has_its_reason(function: Any, reason: Reason) -> None:
    found = checked(graph_of(function, X), X)
    assert reason in reasons_of(found)
    named = [r for r in reasons_of(found) if r.name.startswith("MEMORY_")]
    assert len([r for r in named if r is not Reason.MEMORY_UPDATE_READS_OPERAND]) == found.copies
    assert found.copies == len(copies(found.plan.steps))
