"""Loops whose state is numbers: those of an element, written out, and masks that elements leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.loops import Kernel
from pyc.ir.plan import Loop
from pyc.ir.target import SM_90, X86_64_V3
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.assembler import assemble, assembles
from tests.passes.programs import flat
from tests.passes.test_lower_updates import numbers
from tests.programs.differential import same_bits


def lorenz(state: Any, steps: Any) -> Any:
    def rate(s: Any) -> Any:
        x, y, z = s
        return np.stack((10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.5 * z))

    for _ in range(steps):
        middle = state + 0.005 * rate(state)
        state = state + 0.01 * rate(middle)
    return state


def filters(state: Any, spread: Any, measured: Any) -> Any:
    """A Kalman filter for each of many objects, scanned over time."""
    move = pnp.asarray([[1.0, 1.0], [0.0, 1.0]])

    def step(carry: Any, value: Any) -> Any:
        state, spread = carry
        state = state @ move.T
        spread = move @ spread @ move.T + 0.5 * pnp.eye(2)
        gain = spread[:, :, 0] / (spread[:, 0, :1] + 0.25)
        state = state + gain * (value - state[:, 0])[:, None]
        return (state, spread - gain[:, :, None] * spread[:, None, 0, :]), state

    return lax.scan(step, (state, spread), measured)


def with_a_vector_for_all(state: Any, w: Any) -> Any:
    """Numbers that all elements share have a loop of their own for the result."""

    def step(_: Any, carry: Any) -> Any:
        s, w = carry
        return s * w[:, None] + s[::-1], w * 0.5 + w[::-1]

    return lax.fori_loop(0, 5, step, (state, w))


def collatz(start: Any) -> Any:
    def steps(n: Any) -> Any:
        count = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    return np.vectorize(steps)(start)


PROGRAMS = {
    "lorenz": (lorenz, numbers(3, 50), 7),
    "filters": (filters, numbers(40, 2), np.stack([np.eye(2)] * 40), numbers(9, 40, seed=1)),
    "a vector for all": (with_a_vector_for_all, numbers(3, 50), numbers(3)),
    "collatz": (collatz, np.arange(-3, 100)),
}


def graph_of(function: Any, *arguments: Any) -> Graph:
    return optimise(pyc.jit(function).trace(*arguments).graph, check=True)


def loop_of(name: str) -> Kernel:
    function, *given = PROGRAMS[name]
    kernels = plan(graph_of(function, *given), X86_64_V3, check=True).logical
    return next(k for k in kernels if " carry " in str(k))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernel_gives_the_loops_bits(name: str) -> None:
    """Interpreted, compiled, and for a GPU; there is no loop of launches."""
    function, *given = PROGRAMS[name]
    arguments = [np.asarray(a) for a in given]
    graph = graph_of(function, *given)
    right = evaluate(graph, arguments)
    for target in (X86_64_V3, SM_90):
        found = plan(graph, target, check=True).plan
        assert not [s for s in flat(found.steps) if isinstance(s, Loop)]
        shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
        for a, b in zip(right, run_plan(found, arguments, shapes), strict=True):
            assert same_bits(a, b)
    for a, b in zip(right, pyc.tree.leaves(pyc.jit(function)(*given)), strict=True):
        assert same_bits(a, np.asarray(b))


@pytest.mark.parametrize("name", ["lorenz", "collatz"])
def test_the_kernel(name: str, golden) -> None:
    """Numbers of an element are variables; a mask is told once, and shifts divide."""
    golden(str(loop_of(name)))


@assembles
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpu_takes_the_kernel(name: str, tmp_path: Path) -> None:
    function, *given = PROGRAMS[name]
    kernels = plan(graph_of(function, *given), SM_90, check=True).plan.kernels
    assert assemble(ptx(module_text(kernels, SM_90)[0], SM_90), SM_90.cpu, tmp_path).usages


def test_numbers_of_an_element_that_stop_apart_are_a_loop_of_launches() -> None:
    """Each row has a mask of its own, so that an element has three."""

    def function(x: Any) -> Any:
        def step(state: Any) -> Any:
            on, x = state
            return (x < 3.0) & on, pnp.where(on, x + pnp.flip(x, 0) * x, x)

        return lax.while_loop(lambda s: pnp.any(s[0]), step, (x < 3.0, x))

    x = np.abs(numbers(3, 50, seed=2)) + 0.5
    graph = graph_of(function, x)
    found = plan(graph, X86_64_V3, check=True).plan
    assert [s for s in flat(found.steps) if isinstance(s, Loop)]
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for a, b in zip(evaluate(graph, [x]), run_plan(found, [x], shapes), strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
def test_whole_numbers_over_powers_of_two_are_rounded_down(dtype: Any) -> None:
    ends = np.iinfo(dtype)
    near = [ends.min, ends.min + 1, ends.max - 1, ends.max]
    x = np.array([*near, *range(40)], dtype)
    if ends.min < 0:
        x = np.concatenate((x, np.arange(-40, 0, dtype=dtype)))
    powers = [dtype(1 << k) for k in range(ends.bits - (ends.min < 0))]
    results = pyc.jit(lambda x: [(x // p, x % p) for p in powers])(x)
    for p, (quotient, rest) in zip(powers, results, strict=True):
        assert same_bits(np.asarray(quotient), x // p) and same_bits(np.asarray(rest), x % p)


SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.5, -1.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bound", SPECIAL)
def test_a_bound_of_a_loop_is_ordered_as_zeros_and_nans_are(dtype: Any, bound: float) -> None:
    """What is known of it before the loop makes the loop's instruction another one."""

    def lines(x: Any, bound: Any) -> Any:
        return np.maximum(x, bound), np.minimum(x, bound)

    def running(x: Any, bound: Any) -> Any:
        most, least = np.zeros_like(x), np.zeros_like(x)
        last = x[0] * 0
        for i in range(x.shape[0]):
            last = np.maximum(x[i] + last * 0, bound)
            most[i] = last
            least[i] = np.minimum(bound, x[i])
        return most, least

    x = np.array([*SPECIAL, 1.0] * 9, dtype)
    given = dtype(bound)
    for function in (lines, running):
        right = evaluate(graph_of(function, x, given), [x, np.asarray(given)])
        for a, b in zip(right, pyc.jit(function)(x, given), strict=True):
            assert same_bits(a, np.asarray(b))
