"""Running folds along the last axis, first to last: the bits of a left fold.

cumsum, cumprod, cummax, cummin: (x) -> the type of x; the other axes are independent rows. Half
types accumulate in float32, and each stored element is the running value rounded once. Integers
wrap in their own type: NumPy's widening is a `cast` that `pyc.numpy` puts before. cummax and cummin
propagate NaN and order -0.0 below 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.element import Element, widened
from pyc.ir.expr import Expr, Load, Var, apply, const
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.loops import Buffer, Carry, For, Kernel, Let, Store
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Complex, Kind, Op, Types, define

Array = np.ndarray[Any, Any]
Step = Callable[[Element, Element], Element]


def running(name: str, kinds: str, step: Step, reference: Callable[[Array], Array]) -> Op:
    """Define a running fold by `step` over elements of `kinds`."""
    allowed = set(kinds.split())

    def rule(args: Types) -> Types:
        (x,) = args
        if x.rank == 0:
            raise ShapeError(f"{name}: needs at least one axis, got {x}")
        if x.dtype.kind not in allowed:
            raise DTypeError(f"{name}: needs one of {kinds}, got {x}")
        return (x,)

    def build(types: Types) -> Kernel:
        return _kernel(name, types, step)

    return define(Op(name, Kind.KERNEL, rule, build=build, reference=reference, kinds=kinds))


def _kernel(name: str, types: Types, step: Step) -> Kernel:
    """The first element of a row is stored as it is; each of the others is the running value, one
    variable for each part of the number."""
    (x,) = types
    length, rows = x.shape[-1], prod(x.shape[:-1])
    tail = (2,) if x.dtype.is_complex else ()
    source = Buffer("x", x.dtype.real, (rows, length, *tail), role="in")
    result = Buffer("out", x.dtype.real, (rows, length, *tail), role="out")
    parts = [(const(0),), (const(1),)] if x.dtype.is_complex else [()]
    wide = widened(x.dtype.real)
    row, k = Var("row"), Var("k")

    def read(at: Expr) -> list[Expr]:
        return [Load(source, (row, at, *p)).cast(wide) for p in parts]

    def store(at: Expr, values: list[Expr]) -> list[Store]:
        pairs = zip(parts, values, strict=True)
        return [Store(result, (row, at, *p), v.cast(x.dtype.real)) for p, v in pairs]

    names = ["re", "im"] if x.dtype.is_complex else ["value"]
    first = [Var(f"first_{n}", wide) for n in names]
    before = [Var(f"before_{n}", wide) for n in names]
    now = [Var(f"now_{n}", wide) for n in names]
    last = [Var(f"last_{n}", wide) for n in names]
    following = _parts(step(_element(list(before)), _element(read(k + 1))))
    loop = For(
        k,
        max(length - 1, 0),
        LoopKind.SERIAL,
        (
            *(Let(v, e) for v, e in zip(now, following, strict=True)),
            *store(k + 1, list(now)),
        ),
        tuple(map(Carry, before, first, now, last)),
    )
    lets = tuple(Let(v, e) for v, e in zip(first, read(const(0)), strict=True))
    body = (*lets, *store(const(0), list(first)), loop)
    return Kernel(name, (source, result), (For(row, rows, LoopKind.PARALLEL, body),))


def _element(parts: list[Expr]) -> Element:
    return parts[0] if len(parts) == 1 else Complex(*parts)


def _parts(element: Element) -> list[Expr]:
    return [element.re, element.im] if isinstance(element, Complex) else [element]


# --- the folds ------------------------------------------------------------------------------------


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


def _extremum(name: str, of_bools: str) -> Step:
    def step(a: Element, b: Element) -> Element:
        assert isinstance(a, Expr) and isinstance(b, Expr)
        return apply(of_bools if a.dtype is dt.b1 else name, a, b)

    return step


def _widened(x: Array) -> Array:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    return x.astype(widened(dtype).numpy)


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

running("cumsum", NUMBERS, _add, _sums)
running("cumprod", NUMBERS, _multiply, _products)
running("cummax", REALS, _extremum("maximum", "or"), _extrema("maximum", np.logical_or))
running("cummin", REALS, _extremum("minimum", "and"), _extrema("minimum", np.logical_and))
