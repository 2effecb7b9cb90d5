"""Contractions: sums of products over pairs of axes.

`dot_general(a, b, dimensions=((a_contract, b_contract), (a_batch, b_batch)), result=None)`: each
argument is a list of axes; paired axes have equal extents. The result has the batch axes, then the
free axes of a, then those of b, in order. The result type is that of the arguments, or `result` (a
wider float of half arguments). Half types accumulate in float32, the rest in their own type;
integers wrap. Bits are those of the target's chosen kernel, deterministic, with the bound

    |computed - exact| <= K * eps * sum |a| |b|      eps of the accumulator type, K terms

plus one rounding to the result type. Complex and bool products are composed in `pyc.numpy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.op import Kind, Op, Types, define
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.ir.batch import Batch, Operand

Axes = tuple[int, ...]
Dimensions = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def free_axes(rank: int, contract: Axes, batch: Axes) -> Axes:
    """The axes of an argument that are neither contracted nor batch axes."""
    return tuple(k for k in range(rank) if k not in contract and k not in batch)


def _dot_types(args: Types, *, dimensions: Dimensions, result: DType | None = None) -> Types:
    a, b = args
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    if a.dtype is not b.dtype or a.dtype.kind not in ("int", "uint", "float"):
        raise DTypeError(f"dot_general: needs equal real number types, got {a} and {b}")
    if result is not None and result not in (a.dtype, widened(a.dtype)):
        raise DTypeError(f"dot_general: the result of {a.dtype} cannot be {result}")
    for x, axes in ((a, (*a_contract, *a_batch)), (b, (*b_contract, *b_batch))):
        if len(set(axes)) != len(axes) or any(not 0 <= k < x.rank for k in axes):
            raise ShapeError(f"dot_general: {axes} are not distinct axes of {x}")
    a_axes, b_axes = (*a_contract, *a_batch), (*b_contract, *b_batch)
    if len(a_contract) != len(b_contract) or len(a_batch) != len(b_batch):
        raise ShapeError(f"dot_general: the axes of {a} and {b} do not pair: {dimensions}")
    for i, j in zip(a_axes, b_axes, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ShapeError(
                f"dot_general: axis {i} of {a} and axis {j} of {b} differ in size",
            )
    shape = (
        *(a.shape[k] for k in a_batch),
        *(a.shape[k] for k in free_axes(a.rank, a_contract, a_batch)),
        *(b.shape[k] for k in free_axes(b.rank, b_contract, b_batch)),
    )
    return (ArrayType(shape, result or a.dtype),)


def dot_reference(a: Any, b: Any, *, dimensions: Dimensions, result: DType | None = None) -> Any:
    """The contraction through extended precision, rounded once; integers exactly, wrapping."""
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    a_free = free_axes(a.ndim, a_contract, a_batch)
    b_free = free_axes(b.ndim, b_contract, b_batch)
    shape = (
        *(a.shape[k] for k in a_batch),
        *(a.shape[k] for k in a_free),
        *(b.shape[k] for k in b_free),
    )
    batch = int(np.prod([a.shape[k] for k in a_batch], dtype=int))
    terms = int(np.prod([a.shape[k] for k in a_contract], dtype=int))
    rows = int(np.prod([a.shape[k] for k in a_free], dtype=int))
    columns = int(np.prod([b.shape[k] for k in b_free], dtype=int))
    left = a.transpose(*a_batch, *a_free, *a_contract).reshape(batch, rows, terms)
    right = b.transpose(*b_batch, *b_contract, *b_free).reshape(batch, terms, columns)
    dtype = dt.of(a.dtype)
    assert dtype is not None
    if dtype.is_float:
        # Not a BLAS type: plain loops, the same bits on every machine.
        left, right = left.astype(np.longdouble), right.astype(np.longdouble)
    with np.errstate(all="ignore"):
        product = np.matmul(left, right)
        if dtype.is_half:
            product = product.astype(np.float32)
        return product.astype((result or dtype).numpy).reshape(shape)


def _past(axis: int | None, axes: Axes) -> Axes:
    """Axes of one lane among those of all lanes, whose batch axis is at `axis`."""
    return axes if axis is None else tuple(k + (k >= axis) for k in axes)


def _dot_batch(
    batch: Batch,
    args: Sequence[Operand],
    *,
    dimensions: Dimensions,
    result: DType | None = None,
) -> list[Operand]:
    """One larger product where one argument has a batch axis that can be a free one, else a product
    for each lane; what is the same for all lanes is read by each, not repeated."""
    a, b = args
    (a_contract, b_contract), (a_batch, b_batch) = dimensions
    options = {} if result is None else {"result": result}
    b_free = free_axes(b.lane.rank, b_contract, b_batch)
    a_free = free_axes(a.lane.rank, a_contract, a_batch)
    pairs: Dimensions
    if not a_batch and b.axis is None and a.axis is not None:
        pairs = (_past(a.axis, a_contract), b_contract), ((), ())
        place = sum(k < a.axis for k in _past(a.axis, a_free))
        product = batch.bind1("dot_general", a.value, b.value, dimensions=pairs, **options)
        return [batch.operand(product, place)]
    if not a_batch and a.axis is None and b.axis is not None and not (a_free and b_free):
        pairs = (_past(b.axis, b_contract), a_contract), ((), ())
        place = sum(k < b.axis for k in _past(b.axis, b_free))
        product = batch.bind1("dot_general", b.value, a.value, dimensions=pairs, **options)
        return [batch.operand(product, place)]
    left, right = batch.at(a, 0), batch.at(b, 0)
    contract = _past(0, a_contract), _past(0, b_contract)
    pairs = contract, ((0, *_past(0, a_batch)), (0, *_past(0, b_batch)))
    return [batch.operand(batch.bind1("dot_general", left, right, dimensions=pairs, **options), 0)]


define(
    Op(
        "dot_general",
        Kind.CONTRACT,
        _dot_types,
        reference=dot_reference,
        batch=_dot_batch,
        kinds="int uint float",
        cost=2,
    )
)
