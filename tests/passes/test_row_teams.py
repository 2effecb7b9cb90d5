"""Many short rows: several share a warp of a GPU, with the bits of the logical kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.ir.loops import For, Kernel, Kind, walk
from pyc.ir.target import SM_90
from pyc.passes import row_blocks
from pyc.passes.reduction_blocks import power_above
from tests.passes.test_row_groups import place_of_largest, summed
from tests.passes.test_schedule_blocks import run_on
from tests.passes.test_slab_blocks import (
    Program,
    data,
    kernels_of,
    layer_norm,
    log_sum_exp,
    reversed_rows,
    scheduled,
    several,
    softmax,
)

PROGRAMS = [softmax, layer_norm, log_sum_exp, several, reversed_rows, summed, place_of_largest]


def threads(kernel: Kernel) -> int:
    """Of a launch."""
    count = 1
    for s in walk(kernel.body):
        if isinstance(s, For) and s.kind in (Kind.GRID, Kind.WARP, Kind.THREAD):
            count *= int(str(s.extent))
    return count


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are enough to share warps."""
    monkeypatch.setattr(row_blocks, "BUSY_WARPS", 1)


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(8, 33), (6, 64), (12, 77), (4, 100), (20, 128)])
def test_rows_share_warps(function: Program, shape: tuple[int, int]) -> None:
    (kernel,) = kernels_of(function, data(shape, np.float32), 1)
    (found,) = run_on(kernel, SM_90)
    rows, row = shape
    together = 4 if row <= 64 and rows % 4 == 0 else 2
    warps = rows // together
    block = min(8, power_above(warps))
    assert threads(found) == -(-warps // block) * block * 32


@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.uint8])
@pytest.mark.parametrize("row", [50, 64, 96])
def test_other_types(dtype: Any, row: int) -> None:
    (kernel,) = kernels_of(several, data((8, row), dtype), 1)
    run_on(kernel, SM_90)


@pytest.mark.parametrize(
    ("rows", "row", "warps"),
    [
        (6144 * 64, 64, 6144 * 16),
        (6144 * 64, 128, 6144 * 32),
        (4224, 64, 2112),
        (4200, 64, 4200),
        (6145, 64, 6152),
        (6144 * 64, 200, 6144 * 64),
    ],
)
def test_how_many_rows_share_a_warp(rows: int, row: int, warps: int) -> None:
    """As many as leave a thread 8 elements, divide the rows, and leave enough warps."""
    (kernel,) = kernels_of(softmax, data((rows, row), np.float32), 1)
    assert threads(scheduled(kernel, SM_90)) == 32 * warps
