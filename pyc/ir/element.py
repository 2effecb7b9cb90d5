"""Elements of arrays as scalar expressions: where half types are widened and complex split.

The op table defines an op over elements of the types that instructions know. This module is the
only place that bridges to the other element types, so that the Graph interpreter and the lowering
cannot differ: `scalar_of` for pointwise ops, `components_of` and `result_of` for reductions,
`convert` for casts. An element is an `Expr`, or a `Complex` pair of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, apply, const, select
from pyc.ir.op import Complex, Op
from pyc.ir.types import ArrayType

Element = Union[Expr, Complex]


def dtype_of(element: Element) -> DType:
    """The array element type that `element` stands for."""
    if isinstance(element, Complex):
        return dt.c64 if element.re.dtype is dt.f32 else dt.c128
    return element.dtype


def widened(dtype: DType) -> DType:
    """The type in which arithmetic on `dtype` is done: float32 for half types, else itself."""
    return dt.f32 if dtype.is_half else dtype


def literal(value: Any, dtype: DType) -> Element:
    """The constant `value` as an element of `dtype`."""
    if not dtype.is_complex:
        return Const(value, dtype)
    number = dtype.numpy.type(value)
    return Complex(Const(number.real, dtype.real), Const(number.imag, dtype.real))


def choose(condition: Expr, then: Element, otherwise: Element) -> Element:
    """`then` where `condition`, else `otherwise`, for elements of one type."""
    if isinstance(then, Complex) and isinstance(otherwise, Complex):
        return Complex(
            select(condition, then.re, otherwise.re), select(condition, then.im, otherwise.im)
        )
    assert isinstance(then, Expr) and isinstance(otherwise, Expr)
    return select(condition, then, otherwise)


def convert(element: Element, dtype: DType) -> Element:
    """The value of `element` in `dtype`, as `instructions.cast` defines it.

    Half types are reached from and left through float32 only, which is exact on the way out. On
    the way in it rounds once for float16 (a float64 is first rounded to odd, as NumPy's own
    conversion gives) and twice for the ml_dtypes types (as their own conversion does).
    TypeError from complex to real: there is no value to give.
    """
    if isinstance(element, Complex):
        if dtype is dt.b1:
            return element.re.differs(0) | element.im.differs(0)
        if not dtype.is_complex:
            raise TypeError(f"cannot convert a complex number to {dtype}")
        return Complex(element.re.cast(dtype.real), element.im.cast(dtype.real))
    if dtype.is_complex:
        real = convert(element, dtype.real)
        assert isinstance(real, Expr)
        return Complex(real, Const(0, dtype.real))
    source = element.dtype
    if source is dtype:
        return element
    if source.is_half:
        element = _widen(element)
        assert isinstance(element, Expr)
    if dtype.is_half:
        if dtype is dt.f16 and source is dt.f64:
            element = _round_to_odd(element)
        element = element.cast(dt.f32)
    return element.cast(dtype)


def _round_to_odd(x: Expr) -> Expr:
    """The float64 `x` as a float32 rounded to odd: rounding it to 11 bits or fewer is exact."""
    near = x.cast(dt.f32)
    back = near.cast(dt.f64)
    bits = near.bitcast(dt.i32)
    one = const(1, dt.i32)
    # One step towards zero where rounding went away from it, one step away where it went towards.
    magnitude, exact = apply("abs", back), apply("abs", x)
    step = select(magnitude > exact, const(-1, dt.i32), one)
    moved = (bits + step).bitcast(dt.f32)
    inexact = magnitude.differs(exact) & x.equal(x)  # a NaN stays as it is
    even = (bits & one).equal(0)
    return select(inexact & even, moved, near)


def scalar_of(op: Op, args: Sequence[Element], params: Mapping[str, Any]) -> Element:
    """The element that the pointwise `op` gives for argument elements `args`, typed as the op's
    type rule says."""
    assert op.scalar is not None, f"{op} is not pointwise"
    types = tuple(ArrayType((), dtype_of(a)) for a in args)
    (out,) = op.types(types, **params)
    scalar = op.scalar
    if op.of_bfloat16 is not None and all(dtype_of(a) is dt.bf16 for a in args):
        scalar = op.of_bfloat16
    if op.widen:
        args = tuple(_widen(a) for a in args)
    return _typed(op, scalar(*args, **params), out.dtype)


def fails_of(
    op: Op, args: Sequence[Element], params: Mapping[str, Any]
) -> tuple[Expr, Expr] | None:
    """(condition, i64 value) under which the pointwise `op` fails for `args`, None if it never
    does."""
    if op.fails is None:
        return None
    return op.fails(*(_widen(a) for a in args), **params)


def components_of(
    op: Op, args: Sequence[Element], position: Expr, params: Mapping[str, Any]
) -> tuple[Expr, ...]:
    """The monoid components of one element of a reduction, in the accumulator types (half types
    accumulate in float32). position: its i64 place in the reduced sequence."""
    wide = tuple(_widen(a) for a in args)
    if op.prepare is not None:
        return op.prepare(wide, position, **params)
    (element,) = wide
    assert isinstance(element, Expr), f"{op} over complex numbers"
    return (element,)


def result_of(
    op: Op, components: Sequence[Expr], dtype: DType, params: Mapping[str, Any]
) -> Element:
    """The result element of type `dtype` of a reduction from its reduced components."""
    out = components[0] if op.finish is None else op.finish(tuple(components), **params)
    return _typed(op, out, dtype)


def _widen(element: Element) -> Element:
    """`element` in the type of arithmetic. What was rounded to a half type though that type holds
    it (the negative of one of its values, say) is taken as it was."""
    if not isinstance(element, Expr) or not element.dtype.is_half:
        return element
    if isinstance(element, Apply) and element.name == "cast":
        (wide,) = element.args
        if wide.dtype is dt.f32 and _holds(element.dtype, wide):
            return wide
    return element.cast(dt.f32)


def _holds(half: DType, x: Expr, deep: int = 4) -> bool:
    """Whether a float32 is known to be a value of a half type: it is one of its values, or chosen
    among them. deep: operations that are looked through."""
    if isinstance(x, Const):
        with np.errstate(all="ignore"):
            return bool(x.value == x.value.astype(half.numpy).astype(np.float32))
    if not isinstance(x, Apply) or x.dtype is not dt.f32:
        return False
    if x.name == "cast":
        return x.args[0].dtype is half
    chosen = x.args[1:] if x.name == "select" else x.args
    known = deep > 0 and x.name in ("neg", "abs", "minimum", "maximum", "select")
    return known and all(_holds(half, a, deep - 1) for a in chosen)


def _typed(op: Op, element: Element, dtype: DType) -> Element:
    """`element` rounded to the half type `dtype`; an op's definition that gives anything else than
    its type rule says is a mistake in the table."""
    if isinstance(element, Expr) and dtype.is_half and element.dtype is dt.f32:
        return element.cast(dtype)
    if dtype_of(element) is not dtype:
        raise AssertionError(f"{op}: scalar gives {dtype_of(element)}, its type rule {dtype}")
    return element
