"""Common divisors and multiples of integers, element by element.

gcd(x, y), lcm(x, y) -> the type of x: arguments of equal shapes and types. The results are not
negative, but for the magnitude of the most negative number, which its type does not hold, and for
multiples that wrap around. gcd(x, 0) is |x|, lcm(x, 0) is 0.

How often an element's loop runs depends on its value, so these are kernels and not scalar
expressions. The loop is the binary algorithm (Stein, 1967): shifts and subtractions, no division,
and at most two rounds for each bit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Load, Var, absolute, apply, maximum, minimum, select
from pyc.ir.loops import Buffer, Carry, For, Kernel, Let, Store, While
from pyc.ir.loops import Kind as LoopKind
from pyc.ir.op import Kind, Op, Types, batch_together, define, pointwise_types


def _magnitude(x: Expr) -> Expr:
    """|x|, unsigned."""
    return x if x.dtype.kind == "uint" else absolute(x).bitcast(dt.unsigned_of(x.dtype.bits))


def _trailing_zeros(x: Expr) -> Expr:
    """The zero bits below the lowest set one; all bits of 0."""
    return apply("popcount", (x & -x) - 1)


def _build(name: str, types: Types, result: Callable[[Expr, Expr, Expr], Expr]) -> Kernel:
    """A kernel of one loop over the elements; result(|x|, |y|, their divisor): what is stored."""
    dtype, count = types[0].dtype, prod(types[0].shape)
    unsigned = dt.unsigned_of(dtype.bits)
    x, y = (Buffer(n, dtype, (count,), role="in") for n in ("x", "y"))
    out = Buffer("out", dtype, (count,), role="out")
    i = Var("i")
    a, b, odd, rest, divisor, gone = (
        Var(n, unsigned) for n in ("a", "b", "odd", "rest", "divisor", "gone")
    )
    zero = Const(0, unsigned)
    start = select(a.equal(0), b, a)
    shifted = rest >> _trailing_zeros(rest)
    less, more = minimum(odd, shifted), maximum(odd, shifted)
    loop = While(
        (
            Carry(odd, start >> _trailing_zeros(start), less, divisor),
            Carry(rest, select(a.equal(0), zero, b), more - less, gone),
        ),
        rest.differs(0),
        (),
    )
    found = result(a, b, divisor << _trailing_zeros(a | b))
    body = (
        Let(a, _magnitude(Load(x, (i,)))),
        Let(b, _magnitude(Load(y, (i,)))),
        loop,
        Store(out, (i,), found if dtype.kind == "uint" else found.bitcast(dtype)),
    )
    return Kernel(name, (x, y, out), (For(i, count, LoopKind.PARALLEL, body),))


def _define(
    name: str, reference: Callable[..., Any], result: Callable[[Expr, Expr, Expr], Expr]
) -> None:
    define(
        Op(
            name,
            Kind.KERNEL,
            pointwise_types(name, "int uint"),
            build=lambda types: _build(name, types, result),
            reference=reference,
            batch=batch_together,
            kinds="int uint",
        )
    )


_define("gcd", np.gcd, lambda x, y, divisor: divisor)
_define("lcm", np.lcm, lambda x, y, divisor: apply("quotient", x, divisor) * y)  # 0 / 0 is 0
