"""`vmap` on a GPU: the bits that the CPU has, for lanes, lanes of lanes and what is written by hand
for many. Without one, the kernel interpreter runs the same schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.backends import cuda
from tests.backends.interpreted_device import InterpretedDevice, install
from tests.programs.differential import same_bits
from tests.programs.test_lanes import PAIRS
from tests.trace.lane_programs import PROGRAMS
from tests.trace.test_vmap import axes_of, check

needs_gpu = pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")


def on_both(function: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """What a function gives on the GPU, and on the CPU."""
    with pyc.config.using(cache="off"):
        found = pyc.jit(function, device="cuda")(*args)
        return tree.map(np.asarray, found), tree.map(np.asarray, pyc.jit(function)(*args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_schedules_of_lanes_have_the_bits_of_the_cpu(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel interpreter."""
    install(InterpretedDevice(), monkeypatch)
    program = PROGRAMS[name]
    check(*on_both(pyc.vmap(program.function, in_axes=program.in_axes), program.args))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_have_the_bits_of_the_cpu(name: str) -> None:
    program = PROGRAMS[name]
    check(*on_both(pyc.vmap(program.function, in_axes=program.in_axes), program.args))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_lanes_of_lanes_have_the_bits_of_the_cpu(name: str) -> None:
    program = PROGRAMS[name]
    axes = axes_of(program.in_axes, len(program.args))
    twice = [
        a if x is None else np.stack([a, a[::-1]]) for a, x in zip(program.args, axes, strict=True)
    ]
    mapped = pyc.vmap(pyc.vmap(program.function, in_axes=axes), in_axes=axes)
    check(*on_both(mapped, tuple(twice)))


@pytest.mark.cuda
@needs_gpu
@pytest.mark.parametrize("name", PAIRS)
def test_lanes_have_the_bits_of_the_program_by_hand(name: str) -> None:
    """On one device contractions have one order of terms too; those of the CPU are near."""
    pair = PAIRS[name]
    mapped = pyc.vmap(pair.one, pair.in_axes, pair.out_axes)
    found, near = on_both(mapped, pair.args)
    by_hand, _ = on_both(pair.many, pair.args)
    products = any(e.op.name == "dot_general" for e in mapped.lower(*pair.args).graph.eqns)
    leaves = (tree.leaves(x) for x in (found, by_hand, near))
    for a, b, c in zip(*leaves, strict=True):
        assert a.dtype == b.dtype == c.dtype and same_bits(a, b)
        if products:
            np.testing.assert_allclose(a, c, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(c).max()))
        else:
            assert same_bits(a, c)


@pytest.mark.cuda
@needs_gpu
def test_many_lanes_fill_the_device() -> None:
    """A hundred thousand lanes, each with a loop to a bound of its own."""

    def steps(x: Any, n: Any) -> Any:
        for i in range(n):
            x = x * 0.75 + i
        return x

    rng = np.random.default_rng(0)
    args = rng.standard_normal(100_000).astype(np.float32), rng.integers(0, 40, 100_000)
    check(*on_both(pyc.vmap(steps), args))
