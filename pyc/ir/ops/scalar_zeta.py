"""The zeta functions of Hurwitz and Riemann, of one f32 or f64 element.

By Euler and Maclaurin's formula (DLMF 25.11.5): some terms, the integral of the others, and
corrections. All in float64, for f32 too.
"""

from __future__ import annotations

from math import factorial

from pyc.ir import dtype as dt
from pyc.ir.defined import defined
from pyc.ir.expr import Const, Expr, absolute, apply, fma, rare_select, select
from pyc.ir.ops.floating import INFINITY, NAN, not_above
from pyc.ir.ops.scalar_pow import pow_of_positive

_BERNOULLI = (
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
    (854513, 138),
    (-236364091, 2730),
)
"""Of even order, from the second."""

_CORRECTIONS = tuple(p / (q * factorial(2 * k)) for k, (p, q) in enumerate(_BERNOULLI, 1))
_TERMS = {dt.f32: (6, 6), dt.f64: (9, 12)}
"""Terms that are added, and corrections."""
_FAR = 2.0**30
"""From here the integral and half a term are all."""
_HIGHEST = 2.0**100


def _of_positive(s: Expr, q: Expr, t: dt.DType) -> Expr:
    """For s other than 1, q > 0."""
    terms, corrections = _TERMS[t]
    first = pow_of_positive(q, -s)
    others = [pow_of_positive(q + float(k), -s) for k in range(1, terms)]
    a = q + float(terms)
    last = pow_of_positive(a, -s)
    inverse = 1.0 / a
    square = inverse * inverse
    # last (a / (s - 1) + 1 / 2 + sum of B_2k / (2k)! s (s + 1) ... (s + 2k - 2) / a^(2k - 1))
    factor = s * inverse
    rest: Expr = Const(0.5, dt.f64)
    for k, value in enumerate(_CORRECTIONS[:corrections]):
        rest = fma(factor, value, rest)
        factor = factor * ((s + (2.0 * k + 1.0)) * (s + (2.0 * k + 2.0)) * square)
    tail = last * (rest + a / (s - 1.0))
    # Where nothing is left of them infinities and their quotients mean nothing.
    tail = select((last > 0.0) & (last < INFINITY), tail, 0.0)
    for term in reversed(others):
        tail = tail + term
    return first + tail


@defined
def zeta(s: Expr, q: Expr) -> Expr:
    """The sum of (q + k)^-s over k = 0, 1, ..., for s > 1; infinite at s = 1 and where q is 0, -1,
    ...; NaN for smaller s, and where q < 0 and s is not whole."""
    t, zero = s.dtype, Const(0.0, dt.f64)
    s, q = s.cast(dt.f64), q.cast(dt.f64)
    usual = s > 1.0
    # Of a higher order every power of a number other than 1 is 0 or infinite.
    order = select(usual, not_above(s, _HIGHEST), 2.0)
    below = q < 0.0
    # q + k is -(a - k) up to k = floor(a), for a = -q: terms from 1 - a + floor(a) on, and a
    # difference of two sums.
    a = absolute(q)
    whole = apply("floor", a)
    part = a - whole
    half = order * 0.5
    odd = apply("floor", half).differs(half)
    # Terms of odd order that differ in sign alone leave nothing: their digits are not those of what
    # comes after them. The sum from infinity on is 0.
    start = select(odd & part.equal(0.5), Const(INFINITY, dt.f64), part)
    after = _of_positive(order, select(below, absolute(1.0 - start), 1.0), t)
    between = _of_positive(order, select(below & (start > 0.0), start, 1.0), t)
    # The sum that both cases need is there once: its powers fill the registers of a GPU.
    base = select(below, a + 1.0, q)
    # Powers underflow before their sum does.
    far = pow_of_positive(base, 1.0 - order) * (1.0 / (order - 1.0) + 0.5 / base)
    upward = rare_select(base > _FAR, far, _of_positive(order, base, t))
    between = between - upward
    reflected = after + select(odd, -between, between)
    found = rare_select(below, reflected, upward)
    pole = (q <= 0.0) & whole.equal(a)
    found = select(below & apply("floor", s).differs(s), Const(NAN, dt.f64), found)
    found = select(pole | s.equal(1.0), Const(INFINITY, dt.f64), found)
    found = select(q.equal(INFINITY) & usual, zero, found)
    found = select((s < 1.0) | s.differs(s) | q.differs(q), Const(NAN, dt.f64), found)
    return found.cast(t)


__all__ = ["zeta"]
