"""Numbers rounded, split at the point, taken as steps, and replaced where they are none.

Loaded for the first of them.
"""

from __future__ import annotations

from typing import Any

from pyc.errors import DTypeError
from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.numpy.core import (
    Function,
    cast,
    document,
    dtype_of,
    floating,
    integer,
    literal,
    named,
    operands,
    type_text,
    value,
)
from pyc.numpy.elementwise import (
    as_float,
    copysign,
    divide,
    imag,
    multiply,
    real,
    real_pair,
    subtract,
)
from pyc.numpy.logic import greater, isinf, isnan, isneginf, isposinf, less, where

_KEPT = (
    "x: real numbers of any shape -> the same shape and dtype\nraises DTypeError: complex or no "
    "numbers; IntegerRangeError: a Python integer beyond int64"
)


def _rounding(name: str, op: str, summary: str) -> Function:
    """Rounding leaves integers and bools as they are."""

    def function(x: Any) -> Any:
        (x,) = operands(name, x)
        if dtype_of(x).is_complex:
            raise DTypeError(f"{name}: complex numbers cannot be rounded, got {type_text(x)}")
        return bind1(op, x) if dtype_of(x).is_float else x

    return named(function, name, summary, _KEPT)


floor = _rounding("floor", "floor", "The largest integer at most x.")
ceil = _rounding("ceil", "ceil", "The smallest integer at least x.")
trunc = _rounding("trunc", "trunc", "x without its fraction.")
fix = trunc


def rint(x: Any) -> Any:
    """The nearest integer, halves to even; of complex numbers part by part.

    x: numbers of any shape -> the same shape
    dtype: floats and complex numbers keep theirs; integers and bools of 8 bits give float16, of 16
    float32, else float64
    raises DTypeError: no numbers

    NumPy: `numpy.rint`.

    >>> rint([0.5, 1.5, 2.5])
    array([0., 2., 2.])
    """
    x = value(x)
    if dtype_of(x).is_complex:
        return bind1("complex", rint(real(x)), rint(imag(x)))
    return bind1("rint", cast(x, floating(x)))


def round(x: Any, decimals: int = 0) -> Any:
    """x to `decimals` places, halves to even, as NumPy: rint(x * 10^d) / 10^d; of complex numbers
    part by part.

    x: numbers of any shape -> the same shape and dtype; float16 for bools
    raises DTypeError: no numbers, or places that are no integer; IntegerRangeError: a Python
    integer beyond int64

    NumPy: `numpy.around`.

    >>> round([1.25, -1.26], 1)
    array([ 1.2, -1.3])
    """
    (x,) = operands("round", x)
    decimals = integer("round", "`decimals`", decimals)
    if dtype_of(x).is_complex:
        return bind1("complex", round(real(x), decimals), round(imag(x), decimals))
    if dtype_of(x) is dt.b1:
        return cast(x, dt.f16)
    if dtype_of(x).is_integer:
        return _rounded_integer(x, decimals)
    if decimals == 0:
        return rint(x)
    scale = _power_of_ten(decimals)
    if decimals > 0:
        return divide(rint(multiply(x, scale)), scale)
    return multiply(rint(divide(x, scale)), scale)


def _rounded_integer(x: Any, decimals: int) -> Any:
    """Integers change only where tens, hundreds, ... are rounded: through float64, as in NumPy."""
    if decimals >= 0:
        return x
    scale = _power_of_ten(decimals)
    return cast(multiply(rint(divide(x, scale)), scale), dtype_of(x))


def _power_of_ten(decimals: int) -> float:
    """10^|decimals|, infinite where that is too large."""
    n = decimals if decimals >= 0 else -decimals
    return 10.0**n if n <= 308 else float("inf")


around = round


def modf(x: Any) -> tuple[Any, Any]:
    """(the fraction, the whole part), both with the sign of x.

    x: real numbers of any shape -> two arrays of that shape
    dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else
    float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.modf`.

    >>> modf([1.5, -2.25])
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    x = as_float("modf", x)
    whole = trunc(x)
    rest = where(isinf(x), 0.0, subtract(x, whole))
    return copysign(rest, x), whole


def heaviside(x: Any, zero: Any) -> Any:
    """0 where x < 0, `zero` at 0, 1 above; NaN of NaN.

    x, zero: real numbers, broadcast together
    dtype: the promoted one, integers and bools taken as floats: of 8 bits float16, of 16 float32,
    else float64
    raises DTypeError: complex or no numbers; ShapeError: they do not broadcast

    NumPy: `numpy.heaviside`.

    >>> heaviside([-1.0, 0.0, 2.0], 0.5)
    array([0. , 0.5, 1. ])
    """
    x, zero = real_pair("heaviside", x, zero)
    kind = dtype_of(x)
    step = where(less(x, 0), literal(0, kind), where(greater(x, 0), literal(1, kind), zero))
    return where(isnan(x), x, step)


def nan_to_num(x: Any, *, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced, by default with 0 and the largest numbers of the type; of
    complex numbers part by part.

    x: numbers of any shape -> the same shape and dtype; nan, posinf, neginf: real numbers,
    broadcast with x and cast to its type
    raises DTypeError: no numbers, or a complex one to put there; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.nan_to_num`.

    >>> nan_to_num([1.0, float("nan")])
    array([1., 0.])
    """
    (x,) = operands("nan_to_num", x)
    if dtype_of(x).is_complex:
        given = {"nan": nan, "posinf": posinf, "neginf": neginf}
        return bind1("complex", *(nan_to_num(part(x), **given) for part in (real, imag)))
    if not dtype_of(x).is_float:
        return x
    top = float(dtype_of(x).limits.max)
    ends = top if posinf is None else posinf, -top if neginf is None else neginf
    none, most, least = (_replacement(v, dtype_of(x)) for v in (nan, *ends))
    found = where(isnan(x), none, x)  # which may be an infinity itself
    return where(isneginf(x), least, where(isposinf(x), most, found))


def _replacement(x: Any, kind: DType) -> Any:
    """What stands for numbers of a type that are none."""
    x = value(x)
    if dtype_of(x).is_complex:
        raise DTypeError(
            f"nan_to_num: {type_text(x)} does not replace numbers of {kind}",
            fix="Give real numbers: they replace the parts of complex ones.",
        )
    return cast(x, kind)


# --- examples -------------------------------------------------------------------------------------

document(
    globals(),
    "NumPy: `numpy",
    {
        "ceil": ("[1.2, -1.7]", "array([ 2., -1.])"),
        "floor": ("[1.7, -1.2]", "array([ 1., -2.])"),
        "trunc": ("[1.7, -1.7]", "array([ 1., -1.])"),
    },
)
