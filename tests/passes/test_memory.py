"""The planner: updates in place, loop carries, offsets, and the interpreter that poisons."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import demo, lax
from pyc.backends.oracle import SimulationError, run_plan
from pyc.demo.data import sample_folder
from pyc.demo.program import Program
from pyc.frozen import replace
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.plan import ALIGNMENT, Copy, Place, Plan
from pyc.ir.target import X86_64_V3
from pyc.ir.text_plan import print_plan
from pyc.passes import optimise
from pyc.passes.memory import Planned, plan
from pyc.reasons import Reason
from tests.passes.programs import copies, graph_of, loops, ones, planned, reasons_of
from tests.passes.test_fuse import smooth
from tests.programs.differential import same_bits
from tests.programs.random_graphs import random_arguments, random_graph


def text(found: Planned) -> str:
    """The Plan and the reasons of its decisions."""
    rows = [f"{d.reason.name}: {d.details}" for d in found.decisions]
    return "\n".join([print_plan(found.plan).rstrip(), *rows])


def updated_in_place(x: Any, i: Any) -> Any:
    y = pnp.sort(x)
    return pnp.sort(y.at[i].set(0.0))


def updated_argument(x: Any, i: Any) -> Any:
    return x.at[i].add(1.0)


def updated_alive(x: Any, i: Any) -> Any:
    y = pnp.sort(x)
    return y.at[i].set(0.0), pnp.sort(-y)


def updated_from_itself(x: Any, i: Any) -> Any:
    y = pnp.sort(x)
    return pnp.sort(y.at[1:20].set(y[:19] + i))


def updated_constant(x: Any, i: Any) -> Any:
    return pnp.asarray([0, 1, 2, 3, 4, 5], dtype=np.float32).at[i].set(x[0])


TABLE = np.arange(6, dtype=np.float32)
TABLE.flags.writeable = False


@pytest.mark.parametrize(
    ("function", "copied", "reason"),
    [
        (updated_in_place, 0, None),
        (updated_argument, 1, Reason.MEMORY_UPDATE_OPERAND_IS_ARGUMENT),
        (updated_alive, 1, Reason.MEMORY_UPDATE_OPERAND_ALIVE),
        (updated_from_itself, 0, Reason.MEMORY_UPDATE_READS_OPERAND),
        (updated_constant, 1, Reason.MEMORY_UPDATE_OPERAND_IS_CONSTANT),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_update(function: Any, copied: int, reason: Reason | None, golden) -> None:
    """An update runs in place where its operand is dead, else on a copy, with the reason."""
    found = planned(function, ones(64), np.int64(3))
    golden(text(found))
    assert found.copies == len(copies(found.plan.steps)) == copied
    assert reason is None or reason in reasons_of(found)


def test_swapped_carries_are_swapped_addresses(golden) -> None:
    """fib: (a, b) -> (b, a + b) over arrays whose neighbours matter: no copies in the body."""

    def function(x: Any, y: Any) -> Any:
        def body(i: Any, state: Any) -> Any:
            a, b = state
            return b, pnp.flip(a) + b

        return lax.fori_loop(0, 5, body, (x, y))

    found = planned(function, ones(64), ones(64))
    (loop,) = loops(found.plan.steps)
    assert loop.rotate
    assert copies(loop.body) == []
    golden(text(found))
    check_by_interpretation(found.plan, optimise(graph_of(function, ones(64), ones(64))))


def test_loops_of_known_length_say_it() -> None:
    """The interpreter counts, so every plan that it runs is checked for it."""
    x = ones(64)

    def flipped(n: Any, test: Any = lambda i, n: i < n) -> Any:
        def run(x: Any, n: Any = n) -> Any:
            state = lax.while_loop(
                lambda s: test(s[0], n), lambda s: (s[0] + 1, pnp.flip(s[1]) + s[1]), (2, x)
            )
            return state[1]

        return run

    def times(function: Any, *given: Any) -> Any:
        (loop,) = loops(planned(function, *given).plan.steps)
        return loop.times

    assert times(flipped(7), x) == 5 and times(flipped(1), x) == 0
    assert times(flipped(None), x, np.int64(7)) is None
    assert times(flipped(7, lambda i, n: i <= n), x) is None
    assert times(flipped(7, lambda i, n: (i < n) & (x[i] > 0)), x) is None
    found = planned(flipped(7), x)
    (loop,) = loops(found.plan.steps)
    wrong = replace(loop, times=4)
    steps = tuple(wrong if s is loop else s for s in found.plan.steps)
    with pytest.raises(SimulationError, match="a loop of 4 iterations had 5"):
        run_plan(replace(found.plan, steps=steps), [x], [((64,), np.float64)])


def test_carries_updated_in_place_need_one_copy_at_the_start(golden) -> None:
    """x.at[i].set of rows in a loop writes the loop's own buffer."""

    def function(x: Any) -> Any:
        return lax.fori_loop(1, 60, lambda i, a: a.at[i].set(a[i - 1] * 0.5 + a[i]), x)

    found = planned(function, ones(64, 80))
    assert [copies(lp.body) for lp in loops(found.plan.steps)] == [[]]
    assert len(whole(found.plan)) <= 1
    golden(text(found))


def whole(found: Plan, least: int = 64) -> list[Copy]:
    """The copies of arrays of at least `least` bytes."""
    return [c for c in copies(found.steps) if found.buffers[c.source].nbytes >= least]


# --- offsets --------------------------------------------------------------------------------------


def overlaps(found: Plan) -> list[str]:
    """Pairs of arena buffers that live at once in the same bytes."""
    alive = [b for b in found.buffers if b.place is Place.ARENA and b.last >= b.first and b.nbytes]
    wrong = []
    for a, b in combinations(alive, 2):
        at_once = a.first <= b.last and b.first <= a.last
        together = a.index < b.index + b.nbytes and b.index < a.index + a.nbytes
        if at_once and together:
            wrong.append(f"{a} and {b}")
    return wrong


def check_offsets(found: Plan) -> None:
    """No two live slots overlap, all are aligned and within the peak, which is near the bound."""
    assert overlaps(found) == []
    for b in found.buffers:
        if b.place is Place.ARENA and b.nbytes:
            assert b.index % ALIGNMENT == 0
            assert b.index + b.nbytes <= found.peak
    assert found.lower_bound <= found.peak <= 1.1 * found.lower_bound, print_plan(found)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_random_plans_have_disjoint_slots_near_the_lower_bound(first: int) -> None:
    """tinygrad's planner test, on 200 programs with loops and branches."""
    for seed in range(first, first + 50):
        check_offsets(plan(optimise(random_graph(seed)), X86_64_V3).plan)


def check_by_interpretation(found: Plan, graph: Graph, seed: int = 1) -> None:
    values = random_arguments(graph, seed)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)


def chain(x: Any) -> Any:
    a = pnp.sort(x)
    b = pnp.sort(-a)
    c = pnp.cumsum(b)
    return pnp.sort(c + b), c


def moved(found: Plan, slot: int, offset: int) -> Plan:
    """The Plan with one buffer at another offset."""
    buffers = list(found.buffers)
    buffers[slot] = replace(buffers[slot], index=offset)
    return replace(found, buffers=tuple(buffers))


def test_a_wrong_offset_is_found_by_the_poisoning_interpreter() -> None:
    """Two slots that live at once are planted in the same bytes: the results differ."""
    graph = optimise(graph_of(chain, ones(64)))
    right = plan(graph, X86_64_V3).plan
    check_by_interpretation(right, graph)
    arena = [k for k, b in enumerate(right.buffers) if b.place is Place.ARENA and b.nbytes]
    found = 0
    for a, b in combinations(arena, 2):
        one, two = right.buffers[a], right.buffers[b]
        if one.first <= two.last and two.first <= one.last and one.index != two.index:
            wrong = moved(right, b, one.index)
            assert overlaps(wrong)
            with pytest.raises(AssertionError):
                check_by_interpretation(wrong, graph)
            found += 1
    assert found, "the program keeps two arena buffers alive at once"


def test_a_life_that_ends_too_early_is_found_by_the_poisoning_interpreter() -> None:
    """Freed bytes are overwritten, so a read after the end shows even if nothing reused them."""
    graph = optimise(graph_of(chain, ones(64)))
    right = plan(graph, X86_64_V3).plan
    longest = max(
        (k for k, b in enumerate(right.buffers) if b.place is Place.ARENA and b.nbytes),
        key=lambda k: right.buffers[k].last - right.buffers[k].first,
    )
    b = right.buffers[longest]
    assert b.last - b.first >= 1
    buffers = list(right.buffers)
    buffers[longest] = replace(b, last=b.last - 1)
    with pytest.raises(AssertionError):
        check_by_interpretation(replace(right, buffers=tuple(buffers)), graph)


def test_the_arena_starts_as_poison() -> None:
    """A buffer that nobody writes holds the pattern, never zeros: leaving out its writer shows."""
    graph = optimise(graph_of(chain, ones(64)))
    right = plan(graph, X86_64_V3).plan
    values = [np.ones(64, np.float32)]
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for k in range(len(right.steps)):
        wrong = replace(right, steps=(*right.steps[:k], *right.steps[k + 1 :]))
        pairs = zip(evaluate(graph, values), run_plan(wrong, values, shapes), strict=True)
        assert not all(same_bits(a, b) for a, b in pairs), f"step {k} is not needed"


def test_plans_reuse_memory() -> None:
    """A long chain of stored values needs a few buffers, not one each."""

    def long(x: Any) -> Any:
        for _ in range(12):
            x = pnp.sort(smooth(pnp.exp(-x)))
        return x

    found = planned(long, ones(4096)).plan
    requested = sum(b.nbytes for b in found.buffers if b.place is Place.ARENA)
    assert found.peak <= 3 * 4096 * 4 < requested


@pytest.mark.parametrize("program", demo.PROGRAMS, ids=lambda p: p.name)
def test_demo_programs_are_planned_near_the_lower_bound(program: Program) -> None:
    """Real programs: their peak is at most 1.1 times what is alive at once."""
    if program.sample is not None and sample_folder() is None:
        pytest.skip("matplotlib, whose sample data it needs, is not installed")
    check_offsets(planned(program.function, *program.arguments()).plan)
