"""Comparison, logic, bits, tests of floats, and the choice by a condition, element by element.

Beside `elementwise`, which computes numbers: what is here gives bools, or moves bits and values.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pyc.errors import ArgumentError, ConcretizationError, DTypeError
from pyc.forks import load
from pyc.interpreter import bind1, weak_type
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    Function,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    document,
    dtype_of,
    fits,
    known_elements,
    literal,
    named,
    operands,
    shape_of,
    type_text,
    value,
)

_ORDER = ("lt", "le", "gt", "ge")
_SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


_PAIR = (
    "x, y: numbers, broadcast together -> bools of that shape\n"
    "raises DTypeError: no numbers; ShapeError: they do not broadcast"
)
_TEST = (
    "x: numbers of any shape -> bools of the same shape\nraises DTypeError: no numbers; "
    "IntegerRangeError: a Python integer beyond int64"
)


def _comparison(name: str, op: str, summary: str) -> Function:
    """Integers of any two types are compared as the numbers that they are, as NumPy does."""

    def function(x: Any, y: Any) -> Any:
        x, y = value(x), value(y)
        if dtype_of(x).is_integer and dtype_of(y).is_integer:
            return _compared(name, op, x, y)
        x, y = operands(name, x, y)
        if op in _ORDER and dtype_of(x).is_complex:
            return load("pyc.numpy.complex_order").compared(op, x, y)
        return bind1(op, x, y)

    return named(function, name, summary, _PAIR)


def _compared(name: str, op: str, x: Any, y: Any) -> Any:
    """The comparison of integers, each in a type that holds it."""
    if type(x) is int and type(y) is int:
        return literal(getattr(operator, op)(x, y), dt.b1)
    if type(x) is int:
        x, y, op = y, x, _SWAPPED[op]
    kind = dtype_of(x)
    if type(y) is int and not fits(y, kind):
        found = op == "ne" or (op in ("lt", "le") if y > 0 else op in ("gt", "ge"))
        return broadcast(literal(found, dt.b1), shape_of(x))
    weak = [weak_type(v) is not None and type(v) is not int for v in (x, y)]
    kinds = {kind.kind, dtype_of(y).kind}
    if type(y) is int or (kinds != {"int", "uint"} and not any(weak)):
        return bind1(op, *operands(name, x, y))
    if dt.u64 not in (kind, dtype_of(y)):
        return bind1(op, *operands(name, x, y, dtype=dt.i64))
    if kind is dt.u64:
        x, y, op = y, x, _SWAPPED[op]
    shape = broadcast_shape(name, [shape_of(x), shape_of(y)])
    x, y = broadcast(cast(x, dt.i64), shape), broadcast(y, shape)
    below = bind1("lt", x, broadcast(literal(0, dt.i64), shape))
    found = bind1(op, bind1("cast", x, dtype=dt.u64), y)
    if op in ("ne", "lt", "le"):
        return bind1("logical_or", below, found)
    return bind1("logical_and", bind1("logical_not", below), found)


equal = _comparison("equal", "eq", "x == y; NaN equals nothing.")

not_equal = _comparison("not_equal", "ne", "x != y.")

less = _comparison("less", "lt", "x < y.")

less_equal = _comparison("less_equal", "le", "x <= y.")

greater = _comparison("greater", "gt", "x > y.")

greater_equal = _comparison("greater_equal", "ge", "x >= y.")


def _logical(name: str, op: str, summary: str) -> Function:
    def function(x: Any, y: Any) -> Any:
        values = [cast(value(v), dt.b1) for v in (x, y)]
        shape = broadcast_shape(name, [shape_of(v) for v in values])
        return bind1(op, *(broadcast(v, shape) for v in values))

    return named(function, name, summary, _PAIR)


logical_and = _logical("logical_and", "logical_and", "Both are non-zero.")

logical_or = _logical("logical_or", "logical_or", "Either is non-zero.")

logical_xor = _logical("logical_xor", "logical_xor", "Exactly one is non-zero.")


def logical_not(x: Any) -> Any:
    """x is zero.

    x: numbers of any shape -> bools of the same shape
    raises DTypeError: no numbers

    NumPy: `numpy.logical_not`.

    >>> logical_not([True, False])
    array([False,  True])
    """
    return bind1("logical_not", cast(value(x), dt.b1))


def of_integers(name: str, summary: str, kinds: str = "bool int uint") -> Function:
    """A function of two arrays of integers, and of bools where `kinds` has them."""
    taken = "integers or bools" if "bool" in kinds else "integers"

    def function(x: Any, y: Any) -> Any:
        x, y = operands(name, x, y)
        if dtype_of(x).kind not in kinds.split():
            raise DTypeError(f"{name}: needs {taken}, got {type_text(x)}")
        return bind1(name, x, y)

    facts = (
        f"x, y: {taken}, broadcast together -> the promoted dtype\nraises DTypeError: others, "
        "also int64 with uint64; ShapeError: they do not broadcast;\nIntegerRangeError: a Python "
        "integer that the dtype does not hold"
    )
    return named(function, name, summary, facts)


bitwise_and = of_integers("bitwise_and", "Bits set in both.")

bitwise_or = of_integers("bitwise_or", "Bits set in either.")

bitwise_xor = of_integers("bitwise_xor", "Bits set in one of the two.")


def invert(x: Any) -> Any:
    """The complement of each bit; logical not of bools.

    x: integers or bools of any shape -> the same shape and dtype
    raises DTypeError: others; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.bitwise_invert`.

    >>> invert([0, 5])
    array([-1, -6])
    """
    (x,) = operands("invert", x)
    kind = dtype_of(x)
    if kind.kind not in ("bool", "int", "uint"):
        raise DTypeError(f"invert: needs integers or bools, got {type_text(x)}")
    return bind1("logical_not" if kind is dt.b1 else "bitwise_not", x)


bitwise_invert = bitwise_not = invert


def bitwise_count(x: Any) -> Any:
    """The number of bits set in |x|.

    x: integers or bools of any shape -> uint8 of the same shape
    raises DTypeError: others; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.bitwise_count`.

    >>> bitwise_count([1, 7])
    array([1, 3], dtype=uint8)
    """
    (x,) = operands("bitwise_count", x)
    if dtype_of(x) is dt.b1:
        return cast(x, dt.u8)
    size = bind1("abs", x) if dtype_of(x).kind == "int" else x
    return cast(bind1("popcount", size), dt.u8)


def _test(name: str, op: str, otherwise: bool, summary: str) -> Function:
    """A test of floats that is constant for integers."""

    def function(x: Any) -> Any:
        (x,) = operands(name, x)
        if dtype_of(x).kind in ("float", "complex"):
            return bind1(op, x)
        return broadcast(literal(otherwise, dt.b1), shape_of(x))

    return named(function, name, summary, _TEST)


isnan = _test("isnan", "isnan", False, "x is NaN.")

isinf = _test("isinf", "isinf", False, "x is infinite.")

isfinite = _test("isfinite", "isfinite", True, "x is neither NaN nor infinite.")


def signbit(x: Any) -> Any:
    """The sign bit is set (-0.0 included).

    x: real numbers of any shape -> bools of the same shape
    raises DTypeError: complex or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.signbit`.

    >>> signbit([1.0, -0.0])
    array([False,  True])
    """
    (x,) = operands("signbit", x)
    if dtype_of(x).is_complex:
        raise DTypeError(f"signbit: complex numbers have no sign, got {type_text(x)}")
    if dtype_of(x).is_float:
        return bind1("signbit", x)
    return less(x, 0)


def isneginf(x: Any) -> Any:
    """x is -inf.

    x: real numbers of any shape -> bools of the same shape
    raises DTypeError: complex or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.isneginf`.

    >>> isneginf([1.0, -float("inf")])
    array([False,  True])
    """
    return logical_and(isinf(x), signbit(x))


def isposinf(x: Any) -> Any:
    """x is +inf.

    x: real numbers of any shape -> bools of the same shape
    raises DTypeError: complex or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.isposinf`.

    >>> isposinf([1.0, float("inf")])
    array([False,  True])
    """
    return logical_and(isinf(x), logical_not(signbit(x)))


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where the condition is non-zero, else y. Without x and y the places where it is non-zero,
    as `nonzero`: one array of int64 for each axis.

    condition, x, y: numbers, broadcast together -> the promoted dtype of x and y
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    ArgumentError: one of x and y alone, or places in a number; ConcretizationError: places under a
    traced condition; IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.where`.

    >>> where([True, False], 1, 2)
    array([1, 2])
    """
    if (x is None) != (y is None):
        raise ArgumentError(
            "where: needs both `x` and `y`, or neither", fix="Write `where(condition, x, y)`."
        )
    if x is None:
        mask = value(condition)
        if not shape_of(mask):
            raise ArgumentError(
                f"where: {type_text(mask)} has no places", fix="Pass `np.atleast_1d(condition)`."
            )
        known = known_elements(mask)
        if known is not None:
            return tuple(map(constant, np.nonzero(known)))
        raise ConcretizationError(
            "where: without `x` and `y`, the number of places depends on data",
            fix="Write `where(condition, x, y)`, or `pyc.numpy.nonzero(condition, size=n)` with "
            "the most places there can be.",
        )
    test = cast(value(condition), dt.b1)
    x, y = operands("where", x, y)
    shape = broadcast_shape("where", [shape_of(test), shape_of(x)])
    return bind1("select", broadcast(test, shape), broadcast(x, shape), broadcast(y, shape))


# --- examples -----------------------------------------------------------------------------------

document(
    globals(),
    "NumPy: `numpy",
    {
        "bitwise_and": ("6, 3", "np.int64(2)"),
        "bitwise_or": ("6, 3", "np.int64(7)"),
        "bitwise_xor": ("6, 3", "np.int64(5)"),
        "equal": ("[1, 2], 2", "array([False,  True])"),
        "greater": ("[1, 2], 1", "array([False,  True])"),
        "greater_equal": ("[1, 2], 2", "array([False,  True])"),
        "isfinite": ("[1.0, float('inf')]", "array([ True, False])"),
        "isinf": ("[1.0, float('inf')]", "array([False,  True])"),
        "isnan": ("[1.0, float('nan')]", "array([False,  True])"),
        "less": ("[1, 2], 2", "array([ True, False])"),
        "less_equal": ("[1, 2], 2", "array([ True,  True])"),
        "logical_and": ("[True, False], True", "array([ True, False])"),
        "logical_or": ("[True, False], False", "array([ True, False])"),
        "logical_xor": ("[True, False], True", "array([False,  True])"),
        "not_equal": ("[1, 2], 2", "array([ True, False])"),
    },
)
