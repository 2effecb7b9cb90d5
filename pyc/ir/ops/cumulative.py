"""Running folds along the last axis, first to last: the bits of a left fold.

cumsum, cumprod, cummax, cummin: (x) -> the type of x; the other axes are independent rows. Half
types accumulate in float32, and each stored element is the running value rounded once. Integers
wrap in their own type: NumPy's widening is a `cast` that `pyc.numpy` puts before. cummax and cummin
propagate NaN and order -0.0 below 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.element import Element, widened
from pyc.ir.expr import Const, Expr, Load, Var, apply, const, select
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.loops import Buffer, Carry, For, Kernel, Let, Stmt, Store
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Complex, Kind, Op, Types, batch_rows, define
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]


@frozen()
class _Fold:
    """A left fold of real numbers or of complex ones. step: (running element, element) -> the next
    running element; enter: an element of x in the type of running elements; leave: back."""

    step: Callable[[Element, Element], Element]
    enter: Callable[[Expr], Expr]
    leave: Callable[[Expr, DType], Expr]


def running(name: str, kinds: str, fold: _Fold, reference: Callable[[Array], Array]) -> Op:
    """Define a running fold over elements of `kinds`."""
    allowed = set(kinds.split())

    def rule(args: Types) -> Types:
        (x,) = args
        if x.rank == 0:
            raise ShapeError(f"{name}: needs at least one axis, got {x}")
        if x.dtype.kind not in allowed:
            raise DTypeError(f"{name}: needs one of {kinds}, got {x}")
        return (x,)

    def build(types: Types) -> Kernel:
        return _kernel(name, types[0], fold)

    return define(
        Op(
            name,
            Kind.KERNEL,
            rule,
            build=build,
            reference=reference,
            batch=batch_rows,
            kinds=kinds,
        )
    )


def _kernel(name: str, x: ArrayType, fold: _Fold) -> Kernel:
    """The first element of a row is stored as it is; each of the others is the running value, one
    variable for each part of the number."""
    length, rows = x.shape[-1], prod(x.shape[:-1])
    dtype, complex_ = x.dtype.real, x.dtype.is_complex
    shape = (rows, length, 2) if complex_ else (rows, length)
    source = Buffer("x", dtype, shape, role="in")
    result = Buffer("out", dtype, shape, role="out")
    parts = [(const(0),), (const(1),)] if complex_ else [()]
    row, k = Var("row"), Var("k")

    def read(at: Expr) -> list[Expr]:
        return [fold.enter(Load(source, (row, at, *p))) for p in parts]

    def store(at: Expr, values: Sequence[Expr]) -> list[Stmt]:
        pairs = zip(parts, values, strict=True)
        return [Store(result, (row, at, *p), fold.leave(v, dtype)) for p, v in pairs]

    initial = read(const(0))

    def variables(role: str) -> list[Var]:
        names = ("re", "im") if complex_ else ("value",)
        return [Var(f"{role}_{n}", e.dtype) for n, e in zip(names, initial, strict=True)]

    first, before, now, last = map(variables, ("first", "before", "now", "last"))
    following = _parts(fold.step(_element(before), _element(read(k + 1))))
    inner = (*map(Let, now, following), *store(k + 1, now))
    carried = tuple(map(Carry, before, first, now, last))
    loop = For(k, max(length - 1, 0), LoopKind.SERIAL, inner, carried)
    body = (*map(Let, first, initial), *store(const(0), first), loop)
    return Kernel(name, (source, result), (For(row, rows, LoopKind.PARALLEL, body),))


def _element(parts: Sequence[Expr]) -> Element:
    return parts[0] if len(parts) == 1 else Complex(*parts)


def _parts(element: Element) -> list[Expr]:
    return [element.re, element.im] if isinstance(element, Complex) else [element]


def _widened(x: Array) -> Array:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    return x.astype(widened(dtype).numpy)


# --- sums and products ----------------------------------------------------------------------------


def _add(a: Element, b: Element) -> Element:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.re + b.re, a.im + b.im)
    assert isinstance(a, Expr) and isinstance(b, Expr)
    return a + b


def _multiply(a: Element, b: Element) -> Element:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
    assert isinstance(a, Expr) and isinstance(b, Expr)
    return a * b


def _arithmetic(step: Callable[[Element, Element], Element]) -> _Fold:
    return _Fold(step, lambda e: e.cast(widened(e.dtype)), lambda e, dtype: e.cast(dtype))


def _sums(x: Array) -> Array:
    wide = _widened(x)
    return np.add.accumulate(wide, axis=-1, dtype=wide.dtype).astype(x.dtype)


def _products(x: Array) -> Array:
    wide = _widened(x)
    if x.dtype.kind != "c":
        return np.multiply.accumulate(wide, axis=-1, dtype=wide.dtype).astype(x.dtype)
    # Part by part: NumPy's own complex product may fuse its operations on some processors.
    out = x.copy()
    for k in range(1, x.shape[-1]):
        a, b = out[..., k - 1], x[..., k]
        re = a.real * b.real - a.imag * b.imag
        im = a.real * b.imag + a.imag * b.real
        out[..., k].real, out[..., k].imag = re, im
    return out


# --- extrema --------------------------------------------------------------------------------------


def _extremum(name: str) -> _Fold:
    """The fold of signed integers in the order of the elements, NaN beyond the better end: one
    fast instruction follows the other, where an IEEE extremum takes several."""

    def enter(x: Expr) -> Expr:
        if x.dtype is dt.b1:
            return x.cast(dt.u8)
        if not x.dtype.is_float:
            return x
        signed = dt.signed_of(x.dtype.bits)
        nan = np.iinfo(signed.numpy).max if name == "maximum" else np.iinfo(signed.numpy).min
        wide = x.cast(widened(x.dtype))
        return select(wide.differs(wide), Const(nan, signed), _flipped(x.bitcast(signed)))

    def leave(x: Expr, dtype: DType) -> Expr:
        return _flipped(x).bitcast(dtype) if dtype.is_float else x.cast(dtype)

    def step(a: Element, b: Element) -> Element:
        assert isinstance(a, Expr) and isinstance(b, Expr)
        return apply(name, a, b)

    return _Fold(step, enter, leave)


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

running("cumsum", NUMBERS, _arithmetic(_add), _sums)
running("cumprod", NUMBERS, _arithmetic(_multiply), _products)
running("cummax", REALS, _extremum("maximum"), _extrema("maximum", np.logical_or))
running("cummin", REALS, _extremum("minimum"), _extrema("minimum", np.logical_and))
