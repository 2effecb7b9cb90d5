"""Stable sorting of rows: along the last axis, the other axes being independent rows.

* sort(x; descending) -> the type of x.
* argsort(x; descending) -> i64: the places of the sorted elements.
* top_k(x; k) -> (values, i64 places) of the k first elements in descending order.

Equal elements keep their order, also in descending order; -0.0 and 0.0 are equal; NaN comes last in
either order, so top_k gives one only where fewer than k numbers are left.

The order of two elements is that of an unsigned key of their bits (`_key`). Where at most
`INSERTION` elements are asked for, each element is inserted into a short sorted list. Otherwise a
radix sort distributes the elements by one byte of the key after the other, lowest first: a pass
reads one buffer and writes another, and a pair of passes that would move nothing is left out, as
for integers of a small range. The second buffer is on the stack for rows of up to `STACK_ROW`
elements, else a scratch buffer that the kernel asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, maximum, minimum, select
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Carry,
    For,
    If,
    Kernel,
    Let,
    Space,
    Stmt,
    Store,
    While,
)
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Kind, Op, Types, define
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]

INSERTION = 32
"""Elements up to which a row, or the list of the best, is sorted by insertion."""
STACK_ROW = 4096
"""Elements up to which a row's second buffers are on the stack: they stay in a core's cache."""
TASK_ELEMENTS = 4096
"""Elements of one task; short rows share one."""
MAX_TASKS = 64
"""Tasks with scratch buffers of their own."""
RADIX_BITS = 8


# --- keys -----------------------------------------------------------------------------------------


def _key(x: Expr, descending: bool) -> Expr:
    """An unsigned integer of the width of `x`; its order is the order of sorting."""
    if x.dtype is dt.b1:
        key = x.cast(dt.u8)
        return ~key if descending else key
    unsigned = dt.unsigned_of(x.dtype.bits)
    bits = x.bitcast(unsigned)
    sign = 1 << (x.dtype.bits - 1)
    if x.dtype.kind == "uint":
        return ~bits if descending else bits
    if x.dtype.kind == "int":
        key = bits ^ sign
        return ~key if descending else key
    size = bits & (sign - 1)
    # Beyond every number: the flipped key of a number is never all ones.
    last = Const(2 * sign - 1, unsigned)
    negative = bits >= sign
    key = select(size.equal(0), Const(sign, unsigned), select(negative, ~bits, bits ^ sign))
    return select(size > _largest(x.dtype), last, ~key if descending else key)


def _largest(dtype: DType) -> int:
    """The bits of the greatest value of a float type: infinity, where there is one."""
    infinity = np.asarray(np.inf).astype(dtype.numpy)
    value = np.asarray(dt.f8e4m3_largest).astype(dtype.numpy) if np.isnan(infinity) else infinity
    return int(value.view(dt.unsigned_of(dtype.bits).numpy))


# --- sorting a row --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """Where a row's elements are kept, with their places: buffers and the index of the row in
    them; each may be absent."""

    values: Buffer
    places: Buffer | None
    row: tuple[Expr, ...]
    places_row: tuple[Expr, ...]

    def value(self, at: Expr) -> Expr:
        return Load(self.values, (*self.row, at))

    def place(self, at: Expr) -> Expr:
        assert self.places is not None
        return Load(self.places, (*self.places_row, at))

    def store(self, at: Expr, value: Expr, place: Expr | None) -> Body:
        stores: list[Stmt] = [Store(self.values, (*self.row, at), value)]
        if self.places is not None:
            assert place is not None
            stores.append(Store(self.places, (*self.places_row, at), place))
        return tuple(stores)
