"""Networks that sort short ranges of keys: all numbers of rows and lanes, as many keys as there can
be, and the pairs of places that meet."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.op import OPS
from pyc.ir.target import X86_64_V4
from pyc.ir.types import ArrayType
from pyc.kernels import sort_networks, sort_vectors
from pyc.kernels.registry import sequence_of
from tests.kernels.launch_sequences import execute
from tests.programs.differential import same_bits


@pytest.mark.parametrize("count", [2, 4, 8])
def test_places_that_meet_sort_all_zeros_and_ones(count: int) -> None:
    """What sorts these sorts all."""
    rows = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1
    for one, other in sort_networks.comparators(count):
        rows[:, [one, other]] = np.sort(rows[:, [one, other]], axis=1)
    assert (np.diff(rows, axis=1) >= 0).all()


@pytest.mark.parametrize("dtype", [dt.u32, dt.u64])
@pytest.mark.parametrize("most", [8, 16, 32])
def test_as_many_keys_as_fit_are_sorted(dtype: DType, most: int) -> None:
    """Also few more or less than half of them, which take half of the rows, and so few that lines
    sort them."""
    lanes = 64 // dtype.itemsize
    rows = (sort_vectors.FEW, 8, 16, 32)
    sizes = {n * lanes + more for n in rows for more in (-1, 0, 1)}
    for size in [40, *(n for n in sizes if n <= most * lanes)]:
        x = np.random.default_rng(size).integers(0, 1 << 32, (2, size)).astype(dtype.numpy)
        x[1] &= 7
        with (
            mock.patch.object(sort_vectors, "LEAF", most),
            mock.patch.object(sort_vectors, "WORTH", 1),
        ):
            types = (ArrayType(x.shape, dtype),)
            sequence = sequence_of("sort", types, {"descending": False}, X86_64_V4)
        assert sequence is not None
        found = np.zeros_like(x)
        execute(sequence, [x, found])
        assert same_bits(found, OPS["sort"].reference(x, descending=False))
