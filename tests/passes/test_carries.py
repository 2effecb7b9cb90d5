"""What loops carry: counters that are one, carries that stay, and those that nobody needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import lax
from pyc.ir.graph import Eqn
from pyc.ir.plan import Launch
from pyc.passes import optimise
from tests.passes.programs import check_same_bits, flat, graph_of, launches, loops, planned

X = np.random.default_rng(0).random(200)


def loop_of(function: Callable[..., Any], *arguments: Any) -> Eqn:
    """The only loop of the optimised Graph, which gives the same bits."""
    traced = graph_of(function, *arguments)
    optimised = optimise(traced, check=True)
    check_same_bits(traced, optimised)
    (loop,) = [e for e in optimised.eqns if e.op.name in ("while", "scan")]
    return loop


def counted(x: Any) -> Any:
    """The counter that the function sees and that of the loop are one."""
    return lax.fori_loop(0, 5, lambda i, x: x.at[i].set(pnp.flip(x)[i]), x)


def kept(x: Any) -> Any:
    a, b = lax.fori_loop(0, 5, lambda i, s: (s[0], pnp.flip(s[1]) + s[0]), (x, x * 2))
    return a - b


def unneeded(x: Any) -> Any:
    """The second carry reaches nothing but itself; the third reaches the first."""
    a, _, _ = lax.fori_loop(
        0, 5, lambda i, s: (pnp.flip(s[0]) + s[2], pnp.sort(s[1]), s[2] * 2), (x, x, x)
    )
    return a


def all_stay(x: Any) -> Any:
    return lax.fori_loop(0, 5, lambda i, s: s, (x, x * 2))


def of_a_condition(x: Any) -> Any:
    """Only the condition reads the second carry."""
    return lax.while_loop(
        lambda s: s[1].sum() < 90, lambda s: (pnp.flip(s[0]) + 1, pnp.flip(s[1]) + 1), (x, x * 0)
    )[0]


@pytest.mark.parametrize(
    ("function", "count"), [(counted, 2), (kept, 2), (unneeded, 3), (of_a_condition, 2)]
)
def test_loops_carry_what_they_need(function: Any, count: int) -> None:
    """A counter and the state that counts."""
    assert len(loop_of(function, X).outs) == count


def test_counters_that_start_or_step_differently_stay_two() -> None:
    def function(x: Any) -> Any:
        def step(i: Any, s: Any) -> Any:
            k, m, x = s
            return k + 1, m + 2, x.at[k].set(pnp.flip(x)[m] + i)

        return lax.fori_loop(0, 5, step, (1, 0, x))[2]

    assert len(loop_of(function, X).outs) == 4


def test_a_loop_whose_carries_all_stay_is_none() -> None:
    assert not [e for e in optimise(graph_of(all_stay, X)).eqns if e.op.name in ("while", "scan")]


def test_a_scan_steps_over_what_it_needs() -> None:
    """One of two inputs, and one of two stacked results."""

    def function(x: Any) -> Any:
        def step(total: Any, row: Any) -> Any:
            a, b = row
            return pnp.flip(total) + a, (a * 2, b + 1)

        _, (ys, _) = lax.scan(step, x[0], (x, x * 3))
        return ys

    loop = loop_of(function, X.reshape(10, 20))
    assert (loop.params["captures"], loop.params["carries"], len(loop.args)) == (0, 0, 1)
    assert {e.op.name for e in loop.params["body"].eqns} == {"broadcast", "constant", "mul"}


def test_a_loop_kernel_stores_what_is_read() -> None:
    """Mandelbrot's numbers are needed in the loop, and only the counts after it."""

    def function(x: Any) -> Any:
        _, n = lax.fori_loop(0, 9, lambda i, s: (s[0] * s[0] + x, s[1] + (s[0] < 2)), (x, x))
        return n

    found = planned(function, X).plan
    assert [len(s.slots) for s in launches(found.steps)] == [2]
    assert not loops(found.steps)


def test_a_counter_has_no_kernel_of_its_own() -> None:
    """An element-wise loop with a scalar beside it: one launch, since nobody reads the scalar."""

    def function(x: Any) -> Any:
        def step(s: Any) -> Any:
            return s[0] * 0.5 + s[1], s[1] + 1.0

        return lax.while_loop(lambda s: s[1] < 7, step, (x, 0.0))[0]

    found = planned(function, X).plan
    assert len([s for s in flat(found.steps) if isinstance(s, Launch)]) == 1
