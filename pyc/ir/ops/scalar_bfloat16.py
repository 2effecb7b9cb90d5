"""Functions of one bfloat16 in fewer instructions than float32 needs.

Each takes a bfloat16 widened to float32, and gives a float32 that rounds to the bfloat16 to which
the definition for float32 (`scalar_exp`) rounds: for each of the 65,536 arguments, which a test
runs through both. So these are no definitions of their own; the bits are those of `exp` and `tanh`.
The coefficients leave the most room between the polynomial and the nearest number half way between
two bfloat16, over all arguments: linear programs (`benchmarks/fit_bfloat16.py`).
"""

from __future__ import annotations

from pyc.ir.expr import Expr, fma
from pyc.ir.ops import math_tables as tables
from pyc.ir.ops.floating import format_of, horner, not_above, not_below, scale
from pyc.ir.ops.scalar_exp import zero_below

EXP_LEAST = -93.0
"""From here on down e^x is less than half of the least bfloat16."""
EXP_TAIL = (0.999985457, 0.500068474, 0.167436723, 0.0408191447)
"""e^r = 1 + r (c[0] + r (c[1] + ...)), |r| <= ln(2)/2."""
TANH_END = 3.5
"""From here on tanh is 1."""
TANH = (
    *(0.39828233, -0.184844597, 0.125198204, -0.0896173567, 0.0266547748, -0.0285678474),
    *(0.15938264, -0.0291112038, -0.182758566, -0.024437885, 0.116643593),
)
"""tanh(x) / x, in u = 2 x^2 / TANH_END^2 - 1."""


def exp(x: Expr) -> Expr:
    """e^x; the low part of ln(2) is not needed."""
    f, t = format_of(x), x.dtype
    within = not_below(not_above(x, 89.0), EXP_LEAST)
    offset = f.magic + 2 * f.bias
    rounded = fma(within, tables.LOG2_E[t][0], offset)
    r = fma(rounded - offset, -tables.LN2[t][0], within)
    return scale(zero_below(x, EXP_LEAST, horner(r, 1.0, EXP_TAIL)), rounded)


def tanh(x: Expr) -> Expr:
    """x times an even polynomial, which needs no quotient and no second case."""
    x = not_below(not_above(x, TANH_END), -TANH_END)
    u = fma(x * x, 2 / TANH_END**2, -1.0)
    return horner(u, TANH) * x
