"""Parts of long columns meet in blocks of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.frozen import replace
from pyc.ir import simulate
from pyc.ir.loops import Barrier, Kind, walk
from pyc.ir.target import SM_90
from pyc.passes.schedule_blocks import schedule_blocks
from tests.passes.test_schedule_blocks import NO_ROOM, extents, run_on, without_barrier
from tests.passes.test_slab_blocks import Program, data, kernels_of, softmax


def total(x: Any, axis: int) -> Any:
    return x.sum(axis=axis)


def many(x: Any, axis: int) -> Any:
    """Reductions of two components and of several types."""
    return x.sum(axis=axis), x.argmax(axis=axis), (x > 1).any(axis=axis), x.min(axis=axis) * 2


@pytest.mark.parametrize("function", [total, many, softmax], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3000, 10), 0), ((9000, 7), 0), ((3, 1200, 5), 1), ((20_000, 4), 0), ((900, 70), 0)],
)
def test_joined_columns_have_the_bits_of_the_logical_kernel(
    function: Program, shape: tuple[int, ...], axis: int
) -> None:
    for kernel in kernels_of(function, data(shape, np.float32), axis):
        assert len(run_on(kernel, NO_ROOM)) in (2, 5)


def test_a_million_rows_meet_in_full_blocks() -> None:
    (kernel,) = kernels_of(total, np.empty((1 << 20, 64), np.float32), 0)
    join = schedule_blocks(kernel, SM_90)[1].kernel
    assert extents([join], Kind.GRID) == [8] and extents([join], Kind.THREAD) == [1024]


@pytest.mark.parametrize("rows", [3000, 9000])
def test_each_barrier_that_is_removed_is_a_race(rows: int) -> None:
    (kernel,) = kernels_of(many, data((rows, 9), np.float32), 0)
    join = schedule_blocks(kernel, NO_ROOM)[1].kernel
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in join.buffers]
    simulate.run(join, arrays)
    count = sum(isinstance(s, Barrier) for s in walk(join.body))
    assert count >= 3
    for number in range(count):
        wrong = replace(join, body=without_barrier(join.body, number))
        with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
            simulate.run(wrong, arrays)
