"""Ranges of integer expressions, and whether their bounds are reached for certain.

Takes a node and the ranges of its operands; that of its type where nothing is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Var

I64_LOW, I64_HIGH = -(1 << 63), (1 << 63) - 1


@frozen()
class Range:
    """Bounds of an integer. exact: both are reached while the loop variables in `over` run through
    their ranges, whatever the other variables do."""

    low: int
    high: int
    exact: bool = False
    over: frozenset[Var] = frozenset()


def full_range(t: DType) -> Range:
    """All integers of a type; those of 64 bits where it is none."""
    if t is dt.b1:
        return Range(0, 1)
    bits = t.bits if t.is_integer else 64
    if t.kind == "uint":
        return Range(0, (1 << bits) - 1)
    return Range(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def in_i64(number: int) -> int:
    """An integer as i64 holds it: equal modulo 2**64."""
    return (number - I64_LOW) % (1 << 64) + I64_LOW


def range_of(node: Expr, inner: Sequence[Range]) -> Range:
    """The range of a node from those of its operands; that of its type where nothing is known."""
    full = full_range(node.dtype)
    if isinstance(node, Const):
        if node.dtype.is_integer or node.dtype is dt.b1:
            value = int(node.value)
            return Range(value, value, exact=True)
        return full
    if not isinstance(node, Apply) or not inner or node.args[-1].dtype.is_float:
        return full
    found = integer_range(node.name, inner)
    if found is not None and node.name == "cast" and node.dtype.is_integer:
        return _wrapped(found, full)
    if found is None or found.low < full.low or found.high > full.high:  # unknown, or it may wrap
        return full
    return found


def _wrapped(found: Range, full: Range) -> Range:
    """Integers as those of a type, where they all wrap alike."""
    period = full.high - full.low + 1
    away = (found.low - full.low) // period * period
    if found.high - away > full.high:
        return full
    return Range(found.low - away, found.high - away, found.exact, found.over)


def integer_range(name: str, args: Sequence[Range]) -> Range | None:
    """The range of an instruction over unbounded integers; None if it is unknown."""
    a, b = args[0], args[-1]
    over = a.over | b.over
    exact = a.exact and b.exact and not (a.over & b.over)
    if name == "add":
        return Range(a.low + b.low, a.high + b.high, exact, over)
    if name == "sub":
        return Range(a.low - b.high, a.high - b.low, exact, over)
    if name == "mul":
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return Range(min(corners), max(corners), exact, over)
    if name == "neg":
        return Range(-a.high, -a.low, a.exact, a.over)
    if name == "cast":
        return a
    if name in ("minimum", "maximum"):
        pick = min if name == "minimum" else max
        return Range(pick(a.low, b.low), pick(a.high, b.high), exact, over)
    if name in ("select", "rare_select"):
        then = args[1]
        if a.low == a.high:
            return then if a.low else b
        return Range(min(then.low, b.low), max(then.high, b.high))
    if name == "and":
        return Range(0, min(a.high, b.high)) if min(a.low, b.low) >= 0 else None
    if name in ("quotient", "remainder", "shl", "shr"):
        return _by_constant(name, a, b)
    return _comparison(name, a, b)


def _by_constant(name: str, a: Range, b: Range) -> Range | None:
    """Division and shifts by a known number; of what is not negative."""
    if b.low != b.high or b.low < 0 or a.low < 0:
        return None
    n = b.low
    if name == "quotient":
        return Range(a.low // n, a.high // n, a.exact, a.over) if n else None
    if name == "remainder":
        return (a if a.high < n else Range(0, n - 1)) if n else None
    if n > 62:
        return None
    low, high = (a.low << n, a.high << n) if name == "shl" else (a.low >> n, a.high >> n)
    return Range(low, high, a.exact, a.over)


def _comparison(name: str, a: Range, b: Range) -> Range | None:
    """Comparisons: known where the ranges do not overlap."""
    always = {"lt": a.high < b.low, "le": a.high <= b.low, "gt": a.low > b.high}
    never = {"lt": a.low >= b.high, "le": a.low > b.high, "gt": a.high <= b.low}
    always["ge"], never["ge"] = a.low >= b.high, a.high < b.low
    if name not in always:
        return None
    return Range(1, 1) if always[name] else Range(0, 0) if never[name] else Range(0, 1)
