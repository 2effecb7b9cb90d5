"""`pow(base, exponent, modulus)` of traced integers: Python's, by repeated squaring."""

from __future__ import annotations

from typing import Any

import pyc.numpy as pnp
from pyc.errors import DTypeError, UnsupportedOpError
from pyc.trace import location
from pyc.trace.tracer import Tracer

LARGEST = 1 << 31
"""Moduli up to this size have products that 64 bits hold."""


def power(base: Any, exp: Any, mod: Any) -> Any:
    """`pow`: of three Python integers, of which the base may be known only when the program runs.

    raises DTypeError: an operand is not a Python integer; UnsupportedOpError: the exponent or the
    modulus depends on data, is negative or too large
    """
    given = (base, exp, mod)
    traced = [x for x in given if isinstance(x, Tracer)]
    if not traced:
        return pow(base, exp, mod)
    if any(not isinstance(x, int) for x in given):
        raise DTypeError(
            "pow() of three operands takes Python integers only",
            fix="Convert them: `pow(int(n), 2, 5)`; of arrays write `(x * x) % 5`.",
            place=location.here(),
        )
    values = [x.needed() for x in traced if x is not base]
    if all(v is not None for v in values):
        exponent, modulus = int(exp), int(mod)
        if not isinstance(base, Tracer):
            return pow(base, exponent, modulus)
        if exponent >= 0 and 0 < abs(modulus) <= LARGEST:
            return _power(base, exponent, modulus)
        if base.is_at_hand:
            return pow(int(base), exponent, modulus)
    raise UnsupportedOpError(
        "pow() of three operands needs an exponent of at least 0 and a modulus of up to "
        f"{LARGEST}, both of which do not depend on data",
        fix="Pass them as numbers that are arguments, or write a loop: `y = y * base % modulus`.",
        place=location.here(),
    )


def _power(base: Any, exponent: int, modulus: int) -> Any:
    square = base % modulus
    found: Any = 1 % modulus
    while exponent:
        if exponent & 1:
            found = found * square % modulus
        exponent >>= 1
        if exponent:
            square = square * square % modulus
    return found if isinstance(found, Tracer) else pnp.full((), found, dtype=int).weakened()


__all__ = ["power"]
