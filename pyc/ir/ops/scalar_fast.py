"""Scalar definitions for programs with `fastmath`: fewer roundings or cases than the exact ones.

Only the pass `relax` makes ops of these. Each is deterministic, and but for `fast_div` and
`fast_sqrt`, which a target may approximate, the same on every target. NaN, infinities and signs of
zero are not cared for, and intermediate squares may overflow.
"""

from __future__ import annotations

from pyc.ir.element import Element
from pyc.ir.expr import Const, Expr, apply, fma, select
from pyc.ir.op import Complex


def div(x: Element, y: Element) -> Element:
    """x / y; of complex numbers x conj(y) / |y|^2."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        size = fma(y.re, y.re, y.im * y.im)
        scale = apply("fast_div", Const(1, size.dtype), size)
        re, im = fma(x.re, y.re, x.im * y.im), fma(x.im, y.re, -(x.re * y.im))
        return Complex(re * scale, im * scale)
    return apply("fast_div", x, y)  # type: ignore[arg-type]


def sqrt(x: Expr) -> Expr:
    """The square root."""
    return apply("fast_sqrt", x)


def mul(x: Complex, y: Complex) -> Complex:
    """The product of complex numbers, each part with one rounding less."""
    return Complex(fma(x.re, y.re, -(x.im * y.im)), fma(x.re, y.im, x.im * y.re))


def multiply_add(x: Complex, y: Complex, z: Complex) -> Complex:
    """x y + z of complex numbers, each part with two roundings."""
    return Complex(fma(x.re, y.re, fma(-x.im, y.im, z.re)), fma(x.re, y.im, fma(x.im, y.re, z.im)))


def size(x: Complex) -> Expr:
    """|x| without the scaling that keeps squares in range."""
    return apply("fast_sqrt", fma(x.re, x.re, x.im * x.im))


def minimum(x: Expr, y: Expr) -> Expr:
    """The lesser; y where one is NaN, and of two zeros."""
    return select(x < y, x, y)


def maximum(x: Expr, y: Expr) -> Expr:
    """The greater; y where one is NaN, and of two zeros."""
    return select(x > y, x, y)
