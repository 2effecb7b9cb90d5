"""Random products of floats, from a seed: shapes, axes, types, and what is done before and after.

Their bits are a target's own, so they are held against a product in float64 of the same inputs, by
the bound of `ir/ops/contract.py`, where other programs are held against the interpreter's bits.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder, Graph
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]
SIDES = (1, 2, 3, 5, 8, 16, 17, 31, 32, 33, 64, 65)
LARGE = (128, 130, 192, 256)
DTYPES = (dt.f32, dt.f32, dt.f64, dt.bf16, dt.f16)
LEAST = {dt.f64: 2.0**-1074, dt.f32: 2.0**-149, dt.bf16: 2.0**-133, dt.f16: 2.0**-24}
"""The least positive number: below the normal ones a rounding is off by half of it, not by a part
of what is rounded."""
EPSILON = {dt.f64: 2.0**-52, dt.f32: 2.0**-23, dt.bf16: 2.0**-8, dt.f16: 2.0**-11}


@dataclass(frozen=True)
class Product:
    """A Graph of one product, its arguments, and what it must be near to: exact, and how far each
    element may be from that."""

    graph: Graph
    arguments: tuple[Array, ...]
    exact: Array
    bound: Array
    work: int

    def wrong(self, found: Any) -> str:
        """What is wrong with a result; empty if nothing is."""
        wide = np.asarray(found).astype(np.float64)
        if wide.shape != self.exact.shape:
            return f"the shape is {list(wide.shape)}, not {list(self.exact.shape)}"
        off = np.abs(wide - self.exact)
        if not np.all(off <= self.bound):
            worst = float(np.nanmax(off / np.maximum(self.bound, 1e-300)))
            return f"{worst:.3g} times its bound, NaN at {int(np.isnan(off).sum())}"
        return ""


def random_product(seed: int) -> Product:
    """scale(a) @ b + bias, clipped at 0, or some of these; axes in any order, with batches."""
    rng = random.Random(f"product {seed}")
    sides = SIDES if rng.random() < 0.7 else (*SIDES, *LARGE)
    m, n, k = (rng.choice(sides) for _ in range(3))
    batch = rng.choice([(), (), (), (3,), (2, 2)])
    dtype: DType = rng.choice(DTYPES)
    a_turned, b_turned, scaled, biased, clipped = (rng.random() < 0.4 for _ in range(5))
    rank = len(batch)
    a_shape = (*batch, *((k, m) if a_turned else (m, k)))
    b_shape = (*batch, *((n, k) if b_turned else (k, n)))
    axes = tuple(range(rank))
    contract = ((rank + (not a_turned),), (rank + b_turned,))

    builder = Builder()
    types = [ArrayType(s, dtype) for s in (a_shape, b_shape, (n,))]
    a, b, bias = (builder.param(t) for t in types)
    if scaled:
        half = builder.constant(np.asarray(0.5).astype(dtype.numpy))
        a = builder.bind1("mul", a, builder.bind1("broadcast", half, shape=a.shape))
    out = builder.bind1("dot_general", a, b, dimensions=(contract, (axes, axes)))
    if biased:
        out = builder.bind1("add", out, builder.bind1("broadcast", bias, shape=out.shape))
    if clipped:
        zero = builder.constant(np.asarray(0).astype(dtype.numpy))
        zeros = builder.bind1("broadcast", zero, shape=out.shape)
        out = builder.bind1("maximum", out, zeros)

    numbers = np.random.default_rng(seed)
    given = tuple(numbers.standard_normal(t.shape).astype(dtype.numpy) for t in types)
    # Half of a number is exact but for subnormal ones, which are rounded.
    halved = (given[0] * np.asarray(0.5).astype(dtype.numpy) if scaled else given[0], *given[1:])
    x, y, added = (g.astype(np.float64) for g in halved)
    x, y = _turned(x, a_turned), _turned(y, b_turned)
    exact, size = x @ y, np.abs(x) @ np.abs(y)
    inner = EPSILON[dt.f32 if dtype.is_half else dtype]
    rounded = EPSILON[dtype]
    least = LEAST[dtype] / 2
    bound = k * inner * size + rounded * (np.abs(exact) + k * inner * size) + least
    if biased:
        exact, bound = exact + added, bound + rounded * (np.abs(exact + added) + bound) + least
    if clipped:
        exact = np.maximum(exact, 0)
    work = m * n * k * int(np.prod(batch, dtype=np.int64))
    return Product(builder.build([out]), given, exact, bound, work)


def _turned(x: Array, turned: bool) -> Array:
    return x.swapaxes(-1, -2) if turned else x
