"""Monoids, and the orders in which pyc reduces and cumulates: functions of the position only.

The reduced axes in row-major order form one sequence x[0..n). With LANES = 128, CHUNK = 1024 and
KEEP = 16:

1. chunk c gives a vector of LANES lanes: lane l is x[c, 0, l] . x[c, 1, l] . ... . x[c, 7, l], left
   to right, where x[c, j, l] = x[CHUNK c + LANES j + l];
2. within the chunk the lanes meet by halves until KEEP are left: lane l . lane l + 64, then + 32,
   then + 16;
3. the chunks' vectors of KEEP lanes are combined lane by lane in the pairwise tree by chunk number:
   level by level, v'[k] = v[2k] . v[2k + 1]; an odd one out moves up unchanged;
4. the lanes that are left meet by halves: lane l . lane l + 8, + 4, + 2, + 1; lane 0 is the result.

Elements beyond n are the monoid's neutral element, which never changes a value (for floating-point
add it is -0.0). Every schedule on every target produces exactly these bits. `reduce` here is that
definition over NumPy arrays and the oracle of both interpreters; it shares nothing with the passes.

Running combinations (`cumulate`) have an order of their own. With RUN = 128 and SPAN = 16384:

1. within run r, the elements [RUN r, RUN r + RUN), p[k] is a tree: for d = 1, 2, 4 ... 64, every
   position k of the run with bit d set becomes p[(k with bits below 2 d cleared) + d - 1] . p[k];
   the last p is the run's total;
2. within span s, the elements [SPAN s, SPAN s + SPAN), the totals of the runs before are folded
   left to right, and the fold g goes before each element: q[k] = g . p[k]; the first run has none;
3. the totals of the spans before (their last q) are folded left to right, and the fold c goes
   before each element: c . q[k]; the first span has none.

What comes after a position has no part in it, so that a longer sequence begins as a shorter one.
Where run and span end, the last element is the fold that goes on: sums of non-negative numbers
never decrease. Integers, minima and maxima have the values of a left fold: any order is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Const, Expr, apply, select

LANES = 128
CHUNK = 1024
KEEP = 16
RUN = 128
SPAN = 16384

Array = np.ndarray[Any, Any]
Values = tuple[Expr, ...]


@frozen()
class Monoid:
    """An associative operation (up to rounding) on tuples of `components` scalars.

    neutral: component types -> values that leave any other unchanged, bit for bit;
    combine: (left, right) -> result, as expressions, so that every level shares one definition;
    idempotent: whether order and repetition cannot matter (min, max, and, or).
    """

    name: str
    components: int
    neutral: Callable[[tuple[DType, ...]], tuple[Any, ...]]
    combine: Callable[[Values, Values], Values]
    idempotent: bool = False


def _lowest(t: DType) -> Any:
    if t is dt.b1:
        return False
    return -np.inf if t.is_float else np.iinfo(t.numpy).min


def _highest(t: DType) -> Any:
    if t is dt.b1:
        return True
    return np.inf if t.is_float else np.iinfo(t.numpy).max


def _scalar(name: str) -> Callable[[Values, Values], Values]:
    return lambda a, b: (apply(name, a[0], b[0]),)


def _extremum(better: str) -> Callable[[Values, Values], Values]:
    """Keeps (value, index) of the better value, NaN best of all, the lower index among equals."""

    def combine(a: Values, b: Values) -> Values:
        a_nan, b_nan = a[0].differs(a[0]), b[0].differs(b[0])
        b_wins = (apply(better, b[0], a[0]) & ~a_nan) | (b_nan & ~a_nan)
        tie = (a[0].equal(b[0]) | (a_nan & b_nan)) & (b[1] < a[1])
        take = b_wins | tie
        return select(take, b[0], a[0]), select(take, b[1], a[1])

    return combine


def _parts_added(a: Values, b: Values) -> Values:
    return a[0] + b[0], a[1] + b[1]


def _parts_multiplied(a: Values, b: Values) -> Values:
    """The product of two complex numbers as pairs; one that is 1 gives the other to the bit."""
    product = (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
    a_is_one = a[0].equal(1) & a[1].equal(0)
    b_is_one = b[0].equal(1) & b[1].equal(0)
    chosen = (select(b_is_one, x, p) for x, p in zip(a, product, strict=True))
    return tuple(select(a_is_one, y, c) for y, c in zip(b, chosen, strict=True))


_NO_INDEX = np.iinfo(np.int64).max

MONOIDS: dict[str, Monoid] = {
    m.name: m
    for m in (
        Monoid("add", 1, lambda t: (-0.0 if t[0].is_float else 0,), _scalar("add")),
        Monoid("mul", 1, lambda t: (1,), _scalar("mul")),
        Monoid("complex_add", 2, lambda t: (-0.0, -0.0), _parts_added),
        Monoid("complex_mul", 2, lambda t: (1, 0), _parts_multiplied),
        Monoid("minimum", 1, lambda t: (_highest(t[0]),), _scalar("minimum"), idempotent=True),
        Monoid("maximum", 1, lambda t: (_lowest(t[0]),), _scalar("maximum"), idempotent=True),
        Monoid("and", 1, lambda t: (True if t[0] is dt.b1 else -1,), _scalar("and"), True),
        Monoid("or", 1, lambda t: (0,), _scalar("or"), idempotent=True),
        Monoid("xor", 1, lambda t: (0,), _scalar("xor")),
        Monoid("argmin", 2, lambda t: (_highest(t[0]), _NO_INDEX), _extremum("lt"), True),
        Monoid("argmax", 2, lambda t: (_lowest(t[0]), _NO_INDEX), _extremum("gt"), True),
    )
}


def several(monoid: Monoid, count: int) -> Monoid:
    """`count` combinations by a monoid side by side: its components, then those of the next."""
    size = monoid.components
    starts = range(0, size * count, size)

    def neutral(types: tuple[DType, ...]) -> tuple[Any, ...]:
        return tuple(x for k in starts for x in monoid.neutral(types[k : k + size]))

    def combine(a: Values, b: Values) -> Values:
        return tuple(x for k in starts for x in monoid.combine(a[k : k + size], b[k : k + size]))

    name = f"{count} of {monoid.name}"
    return Monoid(name, size * count, neutral, combine, monoid.idempotent)


def neutral(monoid: Monoid, types: tuple[DType, ...]) -> tuple[Const, ...]:
    """The neutral element as constants."""
    return tuple(Const(v, t) for v, t in zip(monoid.neutral(types), types, strict=True))


def reduce(
    combine: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]],
    values: tuple[Array, ...],
    fill: tuple[Any, ...],
) -> tuple[Array, ...]:
    """Reduces the last axis of each array (one per component) in the documented order.

    combine: the monoid over NumPy arrays; fill: its neutral values. An empty axis gives them.
    """
    n = values[0].shape[-1]
    chunks = max(-(-n // CHUNK), 1)
    padded = []
    for x, neutral_value in zip(values, fill, strict=True):
        full = np.full((*x.shape[:-1], chunks * CHUNK), neutral_value, dtype=x.dtype)
        full[..., :n] = x
        padded.append(full.reshape(*x.shape[:-1], chunks, CHUNK // LANES, LANES))
    rows = [tuple(p[..., j, :] for p in padded) for j in range(CHUNK // LANES)]
    vectors = rows[0]
    for row in rows[1:]:
        vectors = combine(vectors, row)
    vectors = _halved(combine, vectors, LANES // 2, KEEP)
    while vectors[0].shape[-2] > 1:
        count = vectors[0].shape[-2]
        even = tuple(v[..., 0 : count - 1 : 2, :] for v in vectors)
        odd = tuple(v[..., 1:count:2, :] for v in vectors)
        pairs = combine(even, odd)
        if count % 2:
            last = tuple(v[..., -1:, :] for v in vectors)
            pairs = tuple(np.concatenate(p, axis=-2) for p in zip(pairs, last, strict=True))
        vectors = pairs
    lanes = _halved(combine, tuple(v[..., 0, :] for v in vectors), KEEP // 2, 1)
    return tuple(v[..., 0] for v in lanes)


def _halved(
    combine: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]],
    lanes: tuple[Array, ...],
    width: int,
    keep: int,
) -> tuple[Array, ...]:
    """Lane l . lane l + width over the last axis, by halves until `keep` lanes are left."""
    while width >= keep:
        low = tuple(v[..., :width] for v in lanes)
        lanes = combine(low, tuple(v[..., width : 2 * width] for v in lanes))
        width //= 2
    return lanes


def cumulate(
    combine: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]],
    values: tuple[Array, ...],
) -> tuple[Array, ...]:
    """Running combinations along the last axis of each array (one per component) in the documented
    order, as new arrays.

    combine: the monoid over NumPy arrays.
    """
    if values[0].size == 0:
        return tuple(x.copy() for x in values)
    n = values[0].shape[-1]
    run = min(RUN, 1 << (n - 1).bit_length())
    whole = -(-n // run) * run
    # What fills the last run comes after every element, so that its values do not matter.
    padded = tuple(np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, whole - n)], "edge") for x in values)
    runs = tuple(x.reshape(*x.shape[:-1], -1, run) for x in padded)
    lanes = np.arange(run)
    distance = 1
    while distance < run:
        upper = lanes[lanes & distance > 0]
        lower = (upper & -2 * distance) + distance - 1
        joined = combine(tuple(x[..., lower] for x in runs), tuple(x[..., upper] for x in runs))
        for x, y in zip(runs, joined, strict=True):
            x[..., upper] = y
        distance *= 2
    per_span = SPAN // RUN
    for first in range(0, whole // run, per_span):
        for r in range(first + 1, min(first + per_span, whole // run)):
            _carried(combine, runs, slice(r - 1, r), slice(r, r + 1))
    for first in range(per_span, whole // run, per_span):
        _carried(combine, runs, slice(first - 1, first), slice(first, first + per_span))
    return tuple(x.reshape(p.shape)[..., :n] for x, p in zip(runs, padded, strict=True))


def _carried(
    combine: Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]],
    runs: tuple[Array, ...],
    before: slice,
    after: slice,
) -> None:
    """Puts the last element of the run `before` before each element of the runs `after`."""
    total = tuple(x[..., before, -1:] for x in runs)
    for x, y in zip(runs, combine(total, tuple(x[..., after, :] for x in runs)), strict=True):
        x[..., after, :] = y
