"""Parting a vector by a bound (`loops.Split`): what it stores, its text, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Var, const
from pyc.ir.loops import Buffer, For, Kernel, Kind, Split, Store
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.text_kernel import print_kernel
from pyc.ir.verify_kernel import verify as verify_kernel
from tests.programs.differential import same_bits


def parting(
    dtype: DType = dt.u32, lanes: int = 16, at: int = 3, kind: Kind | None = None
) -> Kernel:
    """Parts the first `lanes` elements by a bound of 10: those below move in `x` to `at`."""
    x = Buffer("x", dtype, (40,), role="inout")
    others = Buffer("others", dtype, (40,), role="inout")
    found = Buffer("found", dt.i64, (1,), role="inout")
    count, zero = Var("count"), (const(0),)
    split = Split(count, x, zero, Const(10, dtype), x, (const(at),), others, (const(1),), lanes)
    body = (split, Store(found, zero, count))
    return Kernel(
        "parting", (x, others, found), body if kind is None else (For(Var("i"), 2, kind, body),)
    )


@pytest.mark.parametrize("dtype", [dt.u32, dt.i32, dt.f32, dt.u64, dt.i64, dt.f64])
def test_a_vector_is_parted_by_a_bound(dtype: DType) -> None:
    lanes = 64 // dtype.itemsize
    kernel = parting(dtype, lanes)
    verify_kernel(kernel, scheduled=True)
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
    draws = np.random.default_rng(0)
    x = draws.integers(0, 20, 40).astype(dtype.numpy)
    others, found = np.full(40, 77, dtype.numpy), np.zeros(1, np.int64)
    taken = x[:lanes].copy()
    expected, expected_others = x.copy(), others.copy()
    for to, at, part in (
        (expected, 3, taken[taken < 10]),
        (expected_others, 1, taken[taken >= 10]),
    ):
        to[at : at + lanes] = 0
        to[at : at + len(part)] = part
    simulate.run(kernel, [x, others, found])
    assert same_bits(x, expected) and same_bits(others, expected_others)
    assert found[0] == np.count_nonzero(taken < 10)


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (parting(lanes=8), "no 64 bytes"),
        (parting(dt.u16, 32), "no 64 bytes"),
        (parting(at=30), "reach out of it"),
        (parting(kind=Kind.VECTOR), "inside of lanes"),
    ],
)
def test_broken_parts_are_found(kernel: Kernel, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        verify_kernel(kernel, scheduled=True)


def test_parts_that_reach_out_are_reported() -> None:
    kernel, number = parting(), Var("number")
    (split, store) = kernel.body
    assert isinstance(split, Split)
    far = replace(split, others_index=(number,))
    kernel = replace(kernel, body=(For(number, 40, Kind.SERIAL, (far, store)),))
    arrays = [np.zeros(40, np.uint32), np.zeros(40, np.uint32), np.zeros(1, np.int64)]
    with pytest.raises(simulate.SimulationError, match="reach out of it"):
        simulate.run(kernel, arrays)
