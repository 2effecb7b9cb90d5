"""What is known about integers while they are emitted: constants, ranges, divisors.

Used for index arithmetic only. Everything here is sound under wrapping: a range is given only where
no operation of the expression can wrap.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import gcd

import numpy as np

from pyc.backends.llvm_builder import Value
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.integer_range import I64_HIGH, I64_LOW

_LARGEST_POWER = 1 << 63
_FOLDED = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def fold(name: str, dtype: DType, args: Sequence[Value]) -> Value | object | None:
    """What an instruction over scalars is without emitting it: a constant, one of its operands, or
    None."""
    constants = [a.const for a in args]
    if None not in constants and name not in ("cast", "bitcast"):
        if name in _FOLDED and dtype is dt.i64:
            number = int(_FOLDED[name](*constants))
            if I64_LOW <= number <= I64_HIGH:
                return number
        arrays = tuple(
            np.asarray(c, dtype=a.dtype.numpy) for c, a in zip(constants, args, strict=True)
        )
        return INSTRUCTIONS[name].evaluate(arrays, dtype)[()]
    if name in ("select", "rare_select") and constants[0] is not None:
        return args[1] if constants[0] else args[2]
    if not dtype.is_integer or len(args) != 2:
        return None
    left, right = constants
    if name == "add":
        return args[1] if left == 0 else args[0] if right == 0 else None
    if name == "mul" and 0 in constants:
        return 0
    if name == "mul" and 1 in constants:
        return args[1] if left == 1 else args[0]
    if (name == "sub" and right == 0) or (name == "quotient" and right == 1):
        return args[0]
    return None


def value_range(name: str, dtype: DType, args: Sequence[Value]) -> tuple[int | None, int | None]:
    """Bounds of an index computation, from those of its operands; None where it may wrap."""
    if dtype is not dt.i64 or not args or args[0].low is None or args[0].high is None:
        return None, None
    low, high = args[0].low, args[0].high
    if name == "cast" and args[0].dtype.is_integer:
        return low, high
    if len(args) != 2 or args[1].low is None or args[1].high is None:
        return None, None
    other_low, other_high = args[1].low, args[1].high
    if name == "add":
        found = (low + other_low, high + other_high)
    elif name == "sub":
        found = (low - other_high, high - other_low)
    elif name == "mul":
        corners = [x * y for x in (low, high) for y in (other_low, other_high)]
        found = (min(corners), max(corners))
    elif name == "minimum":
        found = (min(low, other_low), min(high, other_high))
    elif name == "maximum":
        found = (max(low, other_low), max(high, other_high))
    elif name == "quotient" and low >= 0 and other_low > 0:
        found = (low // other_high, high // other_low)
    elif name == "remainder" and low >= 0 and other_low > 0:
        found = (0, min(high, other_high - 1))
    else:
        return None, None
    if found[0] < I64_LOW or found[1] > I64_HIGH:
        return None, None
    return found


def divisor(name: str, args: Sequence[Value]) -> int:
    """A divisor of the result, from those of the operands (wrapping keeps powers of two only, and
    only these are asked for; a chain of squares would double its digits with each)."""
    if name in ("add", "sub", "minimum", "maximum") and len(args) == 2:
        return gcd(args[0].multiple, args[1].multiple)
    if name == "mul":
        return gcd(args[0].multiple * args[1].multiple, _LARGEST_POWER)
    return 1
