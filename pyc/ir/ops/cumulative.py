"""Running combinations along an axis, first to last, in the documented order (`ir/order.py`).

cumsum, cumprod, cummax, cummin: (x; axis, reverse) -> the type of x. axis: -1 (if not given) is the
last one; reverse: last to first. Half types accumulate in float32, and each stored element is the
running value rounded once. Integers wrap in their own type: NumPy's widening is a `cast` that
`pyc.numpy` puts before. cummax and cummin propagate NaN and order -0.0 below 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir import order
from pyc.ir.dtype import DType
from pyc.ir.element import widened
from pyc.ir.expr import Const, Expr, Load, Var, const, select
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.loops import Body, Buffer, Cumulate, For, Kernel, Stmt, Store
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Kind, Op, Types, define
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]


@frozen()
class _Fold:
    """monoid: of real elements; enter: a real part of x in the type of running values; leave: a
    running value in the type of x. Complex numbers have a monoid of their own, of two parts."""

    monoid: str
    enter: Callable[[Expr], Expr]
    leave: Callable[[Expr, DType], Expr]


def running(name: str, kinds: str, fold: _Fold, reference: Callable[[Array], Array]) -> Op:
    """Define the running fold of elements of `kinds`. reference: along the last axis."""
    allowed = set(kinds.split())

    def rule(args: Types, *, axis: int = -1, reverse: bool = False) -> Types:
        (x,) = args
        if x.rank == 0:
            raise ShapeError(f"{name}: needs at least one axis, got {x}")
        if not -1 <= axis < x.rank:
            raise ShapeError(f"{name}: {x} has no axis {axis}")
        if x.dtype.kind not in allowed:
            raise DTypeError(f"{name}: needs one of {kinds}, got {x}")
        return (x,)

    def build(types: Types, *, axis: int = -1, reverse: bool = False) -> Kernel:
        return _kernel(name, types[0], fold, axis % types[0].rank, reverse)

    def evaluated(x: Array, *, axis: int = -1, reverse: bool = False) -> Array:
        turned = np.moveaxis(x, axis, -1)[..., :: -1 if reverse else 1]
        found = reference(np.ascontiguousarray(turned))[..., :: -1 if reverse else 1]
        return np.ascontiguousarray(np.moveaxis(found, -1, axis))

    def batch(batch: Any, args: Any, *, axis: int = -1, reverse: bool = False) -> Any:
        (x,) = args
        lanes = 0 if x.axis is None else x.axis
        along = axis % x.lane.rank
        along += lanes <= along
        found = batch.bind(batch.op, batch.at(x, lanes), axis=along, reverse=reverse)
        return [batch.operand(v, lanes) for v in found]

    return define(
        Op(
            name,
            Kind.KERNEL,
            rule,
            build=build,
            reference=evaluated,
            batch=batch,
            kinds=kinds,
        )
    )


def _kernel(name: str, x: ArrayType, fold: _Fold, axis: int, reverse: bool) -> Kernel:
    """For each position of the other axes the running values along `axis`."""
    outer, length, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    dtype, complex_ = x.dtype.real, x.dtype.is_complex
    row, k, column = Var("row"), Var("k"), Var("column")
    loops = [(row, outer)] if outer != 1 else []
    at: Expr = const(length - 1) - k if reverse else k
    place, shape = (*(v for v, _ in loops), at), (*(n for _, n in loops), length)
    if inner != 1:
        loops.append((column, inner))
        place, shape = (*place, column), (*shape, inner)
    places = [place]
    if complex_:
        places, shape = [(*place, const(p)) for p in range(2)], (*shape, 2)
    source = Buffer("x", dtype, shape, role="in")
    result = Buffer("out", dtype, shape, role="out")
    values = tuple(fold.enter(Load(source, place)) for place in places)
    results = tuple(Var(f"running{n}", v.dtype) for n, v in enumerate(values))
    stores: list[Stmt] = [
        Store(result, place, fold.leave(r, dtype)) for place, r in zip(places, results, strict=True)
    ]
    monoid = f"complex_{fold.monoid}" if complex_ else fold.monoid
    body: Body = (Cumulate(results, k, length, values, monoid, tuple(stores)),)
    for var, extent in reversed(loops):
        body = (For(var, extent, LoopKind.PARALLEL, body),)
    return Kernel(name, (source, result), body)


def _widened(x: Array) -> Array:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    return x.astype(widened(dtype).numpy)


# --- sums and products ----------------------------------------------------------------------------


def _arithmetic(monoid: str) -> _Fold:
    return _Fold(monoid, lambda e: e.cast(widened(e.dtype)), lambda e, dtype: e.cast(dtype))


def _sums(x: Array) -> Array:
    (found,) = order.cumulate(lambda a, b: (a[0] + b[0],), (_widened(x),))
    return found.astype(x.dtype)


def _products(x: Array) -> Array:
    if x.dtype.kind != "c":
        (found,) = order.cumulate(lambda a, b: (a[0] * b[0],), (_widened(x),))
        return found.astype(x.dtype)
    out = np.empty_like(x)
    out.real, out.imag = order.cumulate(_multiplied, (x.real, x.imag))
    return out


def _multiplied(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
    """Part by part: NumPy's own complex product may fuse its operations on some processors."""
    product = (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])
    a_is_one, b_is_one = ((x == 1) & (y == 0) for x, y in (a, b))
    parts = zip(a, b, product, strict=True)
    return tuple(np.where(a_is_one, y, np.where(b_is_one, x, p)) for x, y, p in parts)


# --- extrema --------------------------------------------------------------------------------------


def _extremum(name: str) -> _Fold:
    """The fold of signed integers in the order of the elements, NaN beyond the better end: one
    fast instruction follows the other, where an IEEE extremum takes several."""

    def enter(x: Expr) -> Expr:
        if x.dtype is dt.b1:
            return x.cast(dt.u8)
        if not x.dtype.is_float:
            return x
        wide = x.cast(widened(x.dtype))
        signed = dt.signed_of(wide.dtype.bits)
        nan = np.iinfo(signed.numpy).max if name == "maximum" else np.iinfo(signed.numpy).min
        return select(wide.differs(wide), Const(nan, signed), _flipped(wide.bitcast(signed)))

    def leave(x: Expr, dtype: DType) -> Expr:
        if not dtype.is_float:
            return x.cast(dtype)
        return _flipped(x).bitcast(widened(dtype)).cast(dtype)

    return _Fold(name, enter, leave)


def _flipped(bits: Expr) -> Expr:
    """The signed bits of a float as an integer in the order of the floats, and back: the magnitude
    of a negative number is inverted, so that -0.0 is -1. The integers at the ends are NaN."""
    largest = np.iinfo(bits.dtype.numpy).max
    return select(bits < 0, bits ^ largest, bits)


def _extrema(name: str, of_bools: Any) -> Callable[[Array], Array]:
    """The fold is associative to the bit, so the reference doubles the folded length each step."""

    def reference(x: Array) -> Array:
        if x.dtype == np.bool_:
            return np.asarray(of_bools.accumulate(x, axis=-1))
        wide = _widened(x)
        dtype = dt.of(wide.dtype)
        assert dtype is not None
        step = 1
        while step < x.shape[-1]:
            pair = (wide[..., :-step], wide[..., step:])
            folded = INSTRUCTIONS[name].evaluate(pair, dtype)
            wide = np.concatenate([wide[..., :step], folded], axis=-1)
            step *= 2
        return wide.astype(x.dtype)

    return reference


NUMBERS = "int uint float complex"
REALS = "bool int uint float"

running("cumsum", NUMBERS, _arithmetic("add"), _sums)
running("cumprod", NUMBERS, _arithmetic("mul"), _products)
running("cummax", REALS, _extremum("maximum"), _extrema("maximum", np.logical_or))
running("cummin", REALS, _extremum("minimum"), _extrema("minimum", np.logical_and))
