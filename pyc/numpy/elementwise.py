"""Functions of numbers, element by element, with NumPy's promotion and values.

Each takes arrays, numbers or lists that broadcast together and returns an array of the broadcast
shape. `out=`, `where=` and other ufunc options do not exist: write `where(condition, f(x), x)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.errors import DTypeError
from pyc.forks import load
from pyc.interpreter import WEAK, bind1, weak_type
from pyc.ir import dtype as dt
from pyc.numpy.core import (
    Function,
    broadcast,
    cast,
    document,
    dtype_of,
    fits,
    floating,
    literal,
    named,
    operands,
    result_dtype,
    shape_of,
    strong,
    type_text,
    value,
)
from pyc.numpy.logic import (
    equal,
    isfinite,
    isnan,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    of_integers,
)

_FLOATS = """x: numbers of any shape -> the same shape
dtype: floats and complex numbers keep theirs; integers and bools of 8 bits give float16, of 16
float32, else float64
raises DTypeError: no numbers"""
_REAL_FLOATS = """x: real numbers of any shape -> the same shape
dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else float64
raises DTypeError: complex or no numbers"""
_TWO_FLOATS = """x, y: real numbers, broadcast together
dtype: the promoted one, integers and bools taken as floats: of 8 bits float16, of 16 float32, else
float64
raises DTypeError: complex or no numbers; ShapeError: they do not broadcast"""
_BOOLS_AS_INT8 = """x, y: {taken}, broadcast together -> the promoted dtype, int8 for bools
raises DTypeError: {others}; ShapeError: they do not broadcast;
IntegerRangeError: a Python integer that the dtype does not hold"""


def of_floats(name: str, op: str, summary: str, is_real: bool = False) -> Function:
    """A function of one array of floats; integers are converted as NumPy does. is_real: complex
    numbers are refused, by the rules of the operation."""

    def function(x: Any) -> Any:
        x = value(x)
        return bind1(op, cast(x, floating(x)))

    return named(function, name, summary, _REAL_FLOATS if is_real else _FLOATS)


def of_two_floats(name: str, op: str, summary: str) -> Function:
    """A function of two arrays of real floats; integers are converted as NumPy does."""

    def function(x: Any, y: Any) -> Any:
        x, y = value(x), value(y)
        x, y = operands(name, x, y, dtype=floating_pair(x, y))
        return bind1(op, x, y)

    return named(function, name, summary, _TWO_FLOATS)


def floating_pair(x: Any, y: Any) -> dt.DType:
    """The type in which a function of two arrays of floats computes: each integer operand counts
    as the float that holds it (see `floating`)."""
    kind = result_dtype(x, y)
    if kind.kind in ("float", "complex"):
        return kind
    strong = [v for v in (x, y) if weak_type(v) is None]
    if not strong or kind is dt.i64:
        return dt.f64
    return dt.promote(*map(floating, strong))


# --- arithmetic -----------------------------------------------------------------------------------


def add(x: Any, y: Any) -> Any:
    """x + y; logical or of bools.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.add`.

    >>> add([1, 2], 10)
    array([11, 12])
    """
    x, y = operands("add", x, y)
    return bind1("logical_or" if dtype_of(x) is dt.b1 else "add", x, y)


def multiply(x: Any, y: Any) -> Any:
    """x * y; logical and of bools.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.multiply`.

    >>> multiply([1, 2], 10)
    array([10, 20])
    """
    x, y = operands("multiply", x, y)
    return bind1("logical_and" if dtype_of(x) is dt.b1 else "mul", x, y)


def subtract(x: Any, y: Any) -> Any:
    """x - y.

    x, y: numbers but bools, broadcast together -> the promoted dtype
    raises DTypeError: two bools, no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.subtract`.

    >>> subtract([5, 6], 1)
    array([4, 5])
    """
    x, y = operands("subtract", x, y)
    if dtype_of(x) is dt.b1:
        raise DTypeError("subtract: bools cannot be subtracted; use logical_xor")
    return bind1("sub", x, y)


def divide(x: Any, y: Any) -> Any:
    """x / y.

    x, y: numbers, broadcast together -> the promoted dtype; float64 for integers and bools
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast

    NumPy: `numpy.divide`.

    >>> divide([1, 2], 4)
    array([0.25, 0.5 ])
    """
    x, y = value(x), value(y)
    x, y = operands("divide", x, y, dtype=_float64_for_integers(x, y))
    return bind1("div", x, y)


def _float64_for_integers(x: Any, y: Any) -> dt.DType:
    kind = result_dtype(x, y)
    return kind if kind.kind in ("float", "complex") else dt.f64


true_divide = divide

copysign = of_two_floats("copysign", "copysign", "|x| with the sign of y.")
nextafter = of_two_floats("nextafter", "nextafter", "The next float from x towards y.")


def _integers_for_bools(name: str, op: str, summary: str, taken: str = "real numbers") -> Function:
    """NumPy computes these on bools as int8."""

    def function(x: Any, y: Any) -> Any:
        x, y = operands(name, x, y)
        if dtype_of(x) is dt.b1:
            x, y = cast(x, dt.i8), cast(y, dt.i8)
        return bind1(op, x, y)

    others = "complex or no numbers"
    if taken != "real numbers":
        others = "others, also int64 with uint64"
    return named(function, name, summary, _BOOLS_AS_INT8.format(taken=taken, others=others))


floor_divide = _integers_for_bools(
    "floor_divide", "floor_divide", "The largest integer at most x / y; integer x // 0 is 0."
)
remainder = _integers_for_bools(
    "remainder", "remainder", "x - floor_divide(x, y) * y, with the sign of y; integer x % 0 is 0."
)
mod = remainder
fmod = _integers_for_bools("fmod", "fmod", "The remainder of truncating division, sign of x.")


def divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """(floor_divide(x, y), remainder(x, y)).

    x, y: real numbers, broadcast together -> the promoted dtype, int8 for bools, twice
    raises DTypeError: complex or no numbers; ShapeError: they do not broadcast; IntegerRangeError:
    a Python integer that the dtype does not hold

    NumPy: `numpy.divmod`.

    >>> divmod([7, -7], 3)
    (array([ 2, -3]), array([1, 2]))
    """
    return floor_divide(x, y), remainder(x, y)


def power(x: Any, y: Any) -> Any:
    """x ** y. A Python exponent of 2, 3, 0.5 or -1 is computed by multiplication, square root or
    division, as NumPy does for some; that of a complex number too if it is whole and below 100.

    x, y: numbers, broadcast together -> the promoted dtype, int8 for bools
    raises NumericsError: an integer to a negative integer power, when the program runs; DTypeError:
    no numbers, or no common dtype; ShapeError: they do not broadcast; IntegerRangeError: a Python
    integer that the dtype does not hold

    NumPy: `numpy.pow`.

    >>> power([2, 3], 2)
    array([4, 9])
    """
    if type(y) in (int, float) and y in (1, 2, 3, 0.5, -1):
        base = value(x)
        kind = result_dtype(base, y)
        if kind.is_float or (kind.is_integer and y in (1, 2, 3)):
            base = cast(base, kind)
            if y == 1:
                return base
            if y == 0.5:
                return bind1("sqrt", base)
            if y == -1:
                return bind1("reciprocal", base)
            two = bind1("square", base)
            return two if y == 2 else bind1("mul", two, base)
    if type(y) in (int, float) and (y == 0.5 or (-100 < y < 100 and y == int(y))):
        base = value(x)
        if dtype_of(base).is_complex:
            return sqrt(base) if y == 0.5 else _complex_power(base, int(y))
    x, y = operands("power", x, y)
    kind = dtype_of(x)
    if kind is dt.b1:
        x, y, kind = cast(x, dt.i8), cast(y, dt.i8), dt.i8
    return bind1("integer_power" if kind.is_integer else "power", x, y)


def exponent(x: Any, y: Any) -> Any:
    """The exponent of `x ** y`: where NumPy squares, bools stay numbers of 8 bits."""
    squares = type(y) is int and y == 2 and weak_type(x) is None
    return np.int8(2) if squares and dtype_of(x) is dt.b1 else y


def _complex_power(x: Any, n: int) -> Any:
    """x ** n by squares and products, in NumPy's order."""
    if n == 0:
        return broadcast(literal(1, dtype_of(x)), shape_of(x))
    found, square, rest = None, x, n if n > 0 else -n
    while True:
        if rest & 1:
            found = square if found is None else bind1("mul", found, square)
        rest >>= 1
        if not rest:
            break
        square = bind1("mul", square, square)
    return found if n > 0 else bind1("div", broadcast(literal(1, dtype_of(x)), shape_of(x)), found)


pow = power


def float_power(x: Any, y: Any) -> Any:
    """x ** y in float64 (or complex128).

    x, y: numbers, broadcast together -> float64, complex128 of complex numbers
    raises DTypeError: no numbers; ShapeError: they do not broadcast

    NumPy: `numpy.float_power`.

    >>> float_power([2, 3], 2)
    array([4., 9.])
    """
    x, y = value(x), value(y)
    wide = dt.c128 if result_dtype(x, y).is_complex else dt.f64
    x, y = operands("float_power", x, y, dtype=wide)
    return bind1("power", x, y)


def negative(x: Any) -> Any:
    """-x.

    x: numbers but bools, of any shape -> the same shape and dtype
    raises DTypeError: bools, or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.negative`.

    >>> negative([1, -1])
    array([-1,  1])
    """
    (x,) = operands("negative", x)
    if dtype_of(x) is dt.b1:
        raise DTypeError("negative: bools have no negative; use logical_not")
    return bind1("neg", x)


def positive(x: Any) -> Any:
    """+x: x itself.

    x: numbers but bools, of any shape -> the same shape and dtype
    raises DTypeError: bools, or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.positive`.

    >>> positive([1, -1])
    array([ 1, -1])
    """
    (x,) = operands("positive", x)
    if dtype_of(x) is dt.b1:
        raise DTypeError(
            "positive: bools have no sign", fix="Convert them: `x.astype(np.int8)`, or use `x`."
        )
    return x


def absolute(x: Any) -> Any:
    """|x|; the modulus of complex numbers; the most negative integer stays itself.

    x: numbers of any shape -> the same shape and dtype; complex numbers give floats
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.abs`.

    >>> absolute([-1, 2])
    array([1, 2])
    """
    (x,) = operands("absolute", x)
    return x if dtype_of(x).kind in ("bool", "uint") else bind1("abs", x)


abs = absolute


def fabs(x: Any) -> Any:
    """|x| in floats.

    x: real numbers of any shape -> the same shape
    dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else
    float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.fabs`.

    >>> fabs([-1, 2])
    array([1., 2.])
    """
    return bind1("abs", as_float("fabs", x))


def sign(x: Any) -> Any:
    """-1, 0 or 1; x / |x| of complex numbers; NaN of NaN.

    x: numbers but bools, of any shape -> the same shape and dtype
    raises DTypeError: bools, or no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.sign`.

    >>> sign([-3, 0, 2])
    array([-1,  0,  1])
    """
    return bind1("sign", *operands("sign", x))


def square(x: Any) -> Any:
    """x * x.

    x: numbers of any shape -> the same shape and dtype, int8 for bools
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.square`.

    >>> square([1, 3])
    array([1, 9])
    """
    (x,) = operands("square", x)
    return bind1("square", cast(x, dt.i8) if dtype_of(x) is dt.b1 else x)


def reciprocal(x: Any) -> Any:
    """1 / x; truncated for integers.

    x: numbers of any shape -> the same shape and dtype, int8 for bools
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.reciprocal`.

    >>> reciprocal(4.0)
    np.float64(0.25)
    """
    (x,) = operands("reciprocal", x)
    kind = dtype_of(x)
    if kind is dt.b1:
        x, kind = cast(x, dt.i8), dt.i8
    if kind.is_integer:
        return floor_quotient(x)
    return bind1("reciprocal", x)


def floor_quotient(x: Any) -> Any:
    """1 // x towards zero for integers: 1 and -1 are themselves, 0 and the rest give 0."""
    one = broadcast(literal(1, dtype_of(x)), shape_of(x))
    unit = bind1("eq", bind1("abs", x) if dtype_of(x).kind == "int" else x, one)
    return bind1("select", unit, x, broadcast(literal(0, dtype_of(x)), shape_of(x)))


def _chosen(name: str, boolean: str, x: Any, y: Any) -> Any:
    x, y = operands(name, x, y)
    kind = dtype_of(x)
    if kind.is_complex:
        return load("pyc.numpy.complex_order").chosen(name, x, y)
    if not kind.is_float:
        name = {"fmin": "minimum", "fmax": "maximum"}.get(name, name)
    return bind1(boolean if kind is dt.b1 else name, x, y)


def minimum(x: Any, y: Any) -> Any:
    """The lesser; NaN if either is. Complex numbers by the real part, then by the imaginary one.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.minimum`.

    >>> minimum([1, 5], [3, 2])
    array([1, 2])
    """
    return _chosen("minimum", "logical_and", x, y)


def maximum(x: Any, y: Any) -> Any:
    """The greater; NaN if either is. Complex numbers by the real part, then by the imaginary one.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.maximum`.

    >>> maximum([1, 5], [3, 2])
    array([3, 5])
    """
    return _chosen("maximum", "logical_or", x, y)


def fmin(x: Any, y: Any) -> Any:
    """The lesser, as `minimum`; the other one if one is NaN.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.fmin`.

    >>> fmin(1.0, float("nan"))
    np.float64(1.0)
    """
    return _chosen("fmin", "logical_and", x, y)


def fmax(x: Any, y: Any) -> Any:
    """The greater, as `maximum`; the other one if one is NaN.

    x, y: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer that the dtype does not hold

    NumPy: `numpy.fmax`.

    >>> fmax(1.0, float("nan"))
    np.float64(1.0)
    """
    return _chosen("fmax", "logical_or", x, y)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x held within [min, max]; either bound may be None. Python integers beyond what the type of x
    holds are no bounds, as in NumPy.

    x, min, max: numbers, broadcast together -> the promoted dtype
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast;
    IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.clip`.

    >>> clip([1, 5, 9], 2, 6)
    array([2, 5, 6])
    """
    low, high = min, max
    x = strong(value(x))  # also a Python number has the type that an array of it has
    x = np.asarray(x)[()] if type(x) in WEAK else x
    if dtype_of(x).is_integer:
        low, high = _within(low, dtype_of(x), maximum), _within(high, dtype_of(x), minimum)
    if low is not None:
        x = maximum(x, low)
    return minimum(x, high) if high is not None else operands("clip", x)[0]


def _within(bound: Any, kind: dt.DType, nearer: Function) -> Any:
    """A bound of integers of a type, at the end of what the type holds if it is a Python integer
    beyond; `nearer` chooses between the two."""
    if weak_type(bound) is not int:
        return bound
    info = np.iinfo(kind.numpy)
    end = int(info.min if nearer is maximum else info.max)
    if type(bound) is int:
        beyond = bound < end if nearer is maximum else bound > end
        return None if beyond else bound
    if kind is dt.i64 or not fits(end, dt.i64):
        return bound
    return bind1("narrow", nearer(bound, end), dtype=kind)


# --- roots, exponentials, logarithms --------------------------------------------------------------

sqrt = of_floats("sqrt", "sqrt", "The square root, exactly rounded; NaN of negative numbers.")


def real_pair(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands in their common real float type; DTypeError for complex numbers."""
    x, y = value(x), value(y)
    kind = floating_pair(x, y)
    if kind.is_complex:
        raise DTypeError(f"{name}: complex numbers are not supported")
    x, y = operands(name, x, y, dtype=kind)
    return x, y


def as_float(name: str, x: Any) -> Any:
    """`x` in the real float type that holds it; DTypeError for complex numbers."""
    x = value(x)
    if dtype_of(x).is_complex:
        raise DTypeError(f"{name}: complex numbers are not supported, got {type_text(x)}")
    return cast(x, floating(x))


# --- divisors, shifts, replaced values ------------------------------------------------------------


gcd = of_integers("gcd", "The greatest common divisor of |x| and |y|, |x| if y is 0.", "int uint")
lcm = of_integers("lcm", "The least common multiple of |x| and |y|; it wraps around.", "int uint")
left_shift = _integers_for_bools(
    "left_shift", "shift_left", "x * 2^y; 0 beyond the width.", "integers or bools"
)
right_shift = _integers_for_bools(
    "right_shift", "shift_right", "floor(x / 2^y).", "integers or bools"
)
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """|a - b| <= atol + rtol |b|, infinities equal to themselves; equal_nan: also NaN.

    a, b, rtol, atol: numbers, broadcast together -> bools of that shape
    raises DTypeError: no numbers, or no common dtype; ShapeError: they do not broadcast

    NumPy: `numpy.isclose`.

    >>> isclose([1.0, 2.0], [1.0, 2.1])
    array([ True, False])
    """
    a, b = value(a), value(b)
    b = cast(b, result_dtype(b, 1.0))  # distances of integers would wrap around
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    found = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(found, logical_and(isnan(a), isnan(b))) if equal_nan else found


# --- complex --------------------------------------------------------------------------------------


def conj(x: Any) -> Any:
    """The complex conjugate; real numbers are their own.

    x: numbers of any shape -> the same shape and dtype, int8 for bools
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.conj`.

    >>> conj(1 + 2j)
    np.complex128(1-2j)
    """
    (x,) = operands("conj", x)
    if dtype_of(x) is dt.b1:
        return cast(x, dt.i8)
    return bind1("conj", x) if dtype_of(x).is_complex else x


conjugate = conj


def real(x: Any) -> Any:
    """The real part.

    x: numbers of any shape -> the same shape and dtype; complex numbers give floats
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.real`.

    >>> real(1 + 2j)
    np.float64(1.0)
    """
    (x,) = operands("real", x)
    return bind1("real", x) if dtype_of(x).is_complex else x


def imag(x: Any) -> Any:
    """The imaginary part; 0 of real numbers.

    x: numbers of any shape -> the same shape and dtype; complex numbers give floats
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.imag`.

    >>> imag(1 + 2j)
    np.float64(2.0)
    """
    (x,) = operands("imag", x)
    if dtype_of(x).is_complex:
        return bind1("imag", x)
    return broadcast(literal(0, dtype_of(x)), shape_of(x))


def iscomplex(x: Any) -> Any:
    """The imaginary part is not zero.

    x: numbers of any shape -> bools of the same shape
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.iscomplex`.

    >>> iscomplex([1, 2j])
    array([False,  True])
    """
    return not_equal(imag(x), 0)


def isreal(x: Any) -> Any:
    """The imaginary part is zero.

    x: numbers of any shape -> bools of the same shape
    raises DTypeError: no numbers; IntegerRangeError: a Python integer beyond int64

    NumPy: `numpy.isreal`.

    >>> isreal([1, 2j])
    array([ True, False])
    """
    return equal(imag(x), 0)


# --- examples -----------------------------------------------------------------------------------

document(
    globals(),
    "NumPy: `numpy",
    {
        "copysign": ("1.0, -2.0", "np.float64(-1.0)"),
        "gcd": ("12, 18", "np.int64(6)"),
        "lcm": ("4, 6", "np.int64(12)"),
        "floor_divide": ("[7, -7], 2", "array([ 3, -4])"),
        "fmod": ("[7, -7], 3", "array([ 1, -1])"),
        "left_shift": ("1, 3", "np.int64(8)"),
        "nextafter": ("1.0, 2.0", "np.float64(1.0000000000000002)"),
        "remainder": ("[1.0, 7.0], [2.0, 4.0]", "array([1., 3.])"),
        "right_shift": ("8, 2", "np.int64(2)"),
        "sqrt": ("[4.0, 9.0]", "array([2., 3.])"),
    },
)
