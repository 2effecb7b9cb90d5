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
    greater,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    less,
    less_equal,
    logical_and,
    logical_or,
    not_equal,
    of_integers,
    where,
)

_ANY = "x: numbers of any shape -> the same shape and dtype"
_FLOATS = (
    "x: numbers of any shape -> the same shape; integers and bools are computed as the floats that "
    "hold them"
)
_PAIR = "x, y: broadcast together -> the promoted dtype"


def _unary(name: str, op: str, summary: str, kinds: str = "") -> Function:
    """A function of one array that keeps its type; kinds: those it takes (all if empty)."""
    allowed = set(kinds.split())

    def function(x: Any) -> Any:
        (x,) = operands(name, x)
        if allowed and dtype_of(x).kind not in allowed:
            raise DTypeError(f"{name}: needs {kinds.replace(' ', ' or ')}, got {type_text(x)}")
        return bind1(op, x)

    facts = f"{_ANY}\n\nraises DTypeError: other kinds than {kinds}" if kinds else _ANY
    return named(function, name, summary, facts)


def _real(name: str, op: str, summary: str) -> Function:
    """A function of one array of floats; integers are converted as NumPy does."""

    def function(x: Any) -> Any:
        x = value(x)
        return bind1(op, cast(x, floating(x)))

    return named(function, name, summary, _FLOATS)


def _rounding(name: str, op: str, summary: str) -> Function:
    """Rounding leaves integers and bools as they are."""

    def function(x: Any) -> Any:
        (x,) = operands(name, x)
        if dtype_of(x).is_complex:
            raise DTypeError(f"{name}: complex numbers cannot be rounded, got {type_text(x)}")
        return bind1(op, x) if dtype_of(x).is_float else x

    return named(function, name, summary, f"{_ANY}\n\nraises DTypeError: complex numbers")


def _binary(name: str, op: str, summary: str) -> Function:
    def function(x: Any, y: Any) -> Any:
        x, y = operands(name, x, y)
        return bind1(op, x, y)

    return named(function, name, summary, f"{_PAIR}\n\nraises ShapeError: they do not broadcast")


def _binary_float(name: str, op: str, summary: str) -> Function:
    def function(x: Any, y: Any) -> Any:
        x, y = value(x), value(y)
        x, y = operands(name, x, y, dtype=_floating_pair(x, y))
        return bind1(op, x, y)

    facts = f"{_PAIR}, integers as the floats that hold them\n\nraises ShapeError: no broadcast"
    return named(function, name, summary, facts)


def _floating_pair(x: Any, y: Any) -> dt.DType:
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
    """x + y. Bools: logical or.

    NumPy: `numpy.add`.

    >>> add([1, 2], 10)
    array([11, 12])
    """
    x, y = operands("add", x, y)
    return bind1("logical_or" if dtype_of(x) is dt.b1 else "add", x, y)


def multiply(x: Any, y: Any) -> Any:
    """x * y. Bools: logical and.

    NumPy: `numpy.multiply`.

    >>> multiply([1, 2], 10)
    array([10, 20])
    """
    x, y = operands("multiply", x, y)
    return bind1("logical_and" if dtype_of(x) is dt.b1 else "mul", x, y)


def subtract(x: Any, y: Any) -> Any:
    """x - y; DTypeError for bools, as in NumPy.

    NumPy: `numpy.subtract`.

    >>> subtract([5, 6], 1)
    array([4, 5])
    """
    x, y = operands("subtract", x, y)
    if dtype_of(x) is dt.b1:
        raise DTypeError("subtract: bools cannot be subtracted; use logical_xor")
    return bind1("sub", x, y)


def divide(x: Any, y: Any) -> Any:
    """x / y; integers and bools give float64.

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
arctan2 = _binary_float("arctan2", "atan2", "The angle of the point (y, x), -pi to pi.")
atan2 = arctan2
hypot = _binary_float("hypot", "hypot", "sqrt(x^2 + y^2) without overflow.")
copysign = _binary_float("copysign", "copysign", "|x| with the sign of y.")
nextafter = _binary_float("nextafter", "nextafter", "The next float from x towards y.")


def _integers_for_bools(name: str, op: str, summary: str) -> Function:
    """NumPy computes these on bools as int8."""

    def function(x: Any, y: Any) -> Any:
        x, y = operands(name, x, y)
        if dtype_of(x) is dt.b1:
            x, y = cast(x, dt.i8), cast(y, dt.i8)
        return bind1(op, x, y)

    return named(
        function, name, summary, f"{_PAIR}, int8 for bools\n\nraises ShapeError: no broadcast"
    )


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

    NumPy: `numpy.divmod`.

    >>> divmod([7, -7], 3)
    (array([ 2, -3]), array([1, 2]))
    """
    return floor_divide(x, y), remainder(x, y)


def power(x: Any, y: Any) -> Any:
    """x ** y. Integers to a negative integer power fail, as in NumPy. A Python exponent of 2, 3,
    0.5 or -1 is computed by multiplication, square root or division, as NumPy does for some; that
    of a complex number too if it is whole and below 100.

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
    """x ** y in float64 (or complex128) at least.

    NumPy: `numpy.float_power`.

    >>> float_power([2, 3], 2)
    array([4., 9.])
    """
    x, y = value(x), value(y)
    wide = dt.c128 if result_dtype(x, y).is_complex else dt.f64
    x, y = operands("float_power", x, y, dtype=wide)
    return bind1("power", x, y)


def negative(x: Any) -> Any:
    """-x; DTypeError for bools.

    NumPy: `numpy.negative`.

    >>> negative([1, -1])
    array([-1,  1])
    """
    (x,) = operands("negative", x)
    if dtype_of(x) is dt.b1:
        raise DTypeError("negative: bools have no negative; use logical_not")
    return bind1("neg", x)


def positive(x: Any) -> Any:
    """+x: x itself. DTypeError for bools, as in NumPy.

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

    NumPy: `numpy.abs`.

    >>> absolute([-1, 2])
    array([1, 2])
    """
    (x,) = operands("absolute", x)
    return x if dtype_of(x).kind in ("bool", "uint") else bind1("abs", x)


abs = absolute


def fabs(x: Any) -> Any:
    """|x| in floats; DTypeError for complex numbers.

    NumPy: `numpy.fabs`.

    >>> fabs([-1, 2])
    array([1., 2.])
    """
    return bind1("abs", _as_float("fabs", x))


def sign(x: Any) -> Any:
    """-1, 0 or 1; x / |x| of complex numbers; NaN of NaN.

    NumPy: `numpy.sign`.

    >>> sign([-3, 0, 2])
    array([-1,  0,  1])
    """
    return bind1("sign", *operands("sign", x))


def square(x: Any) -> Any:
    """x * x; bools give int8, as in NumPy.

    NumPy: `numpy.square`.

    >>> square([1, 3])
    array([1, 9])
    """
    (x,) = operands("square", x)
    return bind1("square", cast(x, dt.i8) if dtype_of(x) is dt.b1 else x)


def reciprocal(x: Any) -> Any:
    """1 / x; truncated for integers.

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
    """The lesser; NaN if either is.

    NumPy: `numpy.minimum`.

    >>> minimum([1, 5], [3, 2])
    array([1, 2])
    """
    return _chosen("minimum", "logical_and", x, y)


def maximum(x: Any, y: Any) -> Any:
    """The greater; NaN if either is.

    NumPy: `numpy.maximum`.

    >>> maximum([1, 5], [3, 2])
    array([3, 5])
    """
    return _chosen("maximum", "logical_or", x, y)


def fmin(x: Any, y: Any) -> Any:
    """The lesser; the other one if one is NaN.

    NumPy: `numpy.fmin`.

    >>> fmin(1.0, float("nan"))
    np.float64(1.0)
    """
    return _chosen("fmin", "logical_and", x, y)


def fmax(x: Any, y: Any) -> Any:
    """The greater; the other one if one is NaN.

    NumPy: `numpy.fmax`.

    >>> fmax(1.0, float("nan"))
    np.float64(1.0)
    """
    return _chosen("fmax", "logical_or", x, y)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x held within [min, max]; either bound may be None. Python integers beyond what the type of x
    holds are no bounds, as in NumPy.

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

sqrt = _real("sqrt", "sqrt", "The square root, exactly rounded; NaN of negative numbers.")
cbrt = _real("cbrt", "cbrt", "The cube root.")
exp = _real("exp", "exp", "e ** x.")
exp2 = _real("exp2", "exp2", "2 ** x.")
expm1 = _real("expm1", "expm1", "e ** x - 1, exact near 0.")
log = _real("log", "log", "The natural logarithm; -inf of 0, NaN of negative numbers.")
log2 = _real("log2", "log2", "The logarithm to base 2.")
log10 = _real("log10", "log10", "The logarithm to base 10.")
log1p = _real("log1p", "log1p", "log(1 + x), exact near 0.")
sin = _real("sin", "sin", "The sine of x radians, of any size.")
cos = _real("cos", "cos", "The cosine of x radians, of any size.")
tan = _real("tan", "tan", "The tangent of x radians, of any size.")
arcsin = _real("arcsin", "asin", "The angle in [-pi/2, pi/2] with sine x.")
arccos = _real("arccos", "acos", "The angle in [0, pi] with cosine x.")
arctan = _real("arctan", "atan", "The angle in (-pi/2, pi/2) with tangent x.")
asin, acos, atan = arcsin, arccos, arctan
sinh = _real("sinh", "sinh", "The hyperbolic sine.")
cosh = _real("cosh", "cosh", "The hyperbolic cosine.")
tanh = _real("tanh", "tanh", "The hyperbolic tangent.")
erf = _real("erf", "erf", "The error function.")
erfc = _real("erfc", "erfc", "1 - erf(x), exact for large x.")


arcsinh = _real("arcsinh", "asinh", "The inverse of sinh.")
arccosh = _real("arccosh", "acosh", "The inverse of cosh, for x >= 1; NaN below.")
arctanh = _real("arctanh", "atanh", "The inverse of tanh, for |x| <= 1; NaN beyond.")
asinh, acosh, atanh = arcsinh, arccosh, arctanh


def _real_pair(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands in their common real float type; DTypeError for complex numbers."""
    x, y = value(x), value(y)
    kind = _floating_pair(x, y)
    if kind.is_complex:
        raise DTypeError(f"{name}: complex numbers are not supported")
    x, y = operands(name, x, y, dtype=kind)
    return x, y


def logaddexp(x: Any, y: Any) -> Any:
    """log(e^x + e^y) without overflow.

    NumPy: `numpy.logaddexp`.

    >>> logaddexp(0.0, 0.0)
    np.float64(0.6931471805599453)
    """
    x, y = _real_pair("logaddexp", x, y)
    top = maximum(x, y)
    found = add(top, log1p(exp(negative(absolute(subtract(x, y))))))
    return where(equal(x, y), add(x, 0.6931471805599453), found)


def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y) without overflow.

    NumPy: `numpy.logaddexp2`.

    >>> logaddexp2(0.0, 0.0)
    np.float64(1.0)
    """
    x, y = _real_pair("logaddexp2", x, y)
    top = maximum(x, y)
    rest = log1p(exp2(negative(absolute(subtract(x, y)))))
    return where(equal(x, y), add(x, 1.0), add(top, multiply(rest, 1.4426950408889634)))


def _as_float(name: str, x: Any) -> Any:
    """`x` in the real float type that holds it; DTypeError for complex numbers."""
    x = value(x)
    if dtype_of(x).is_complex:
        raise DTypeError(f"{name}: complex numbers are not supported, got {type_text(x)}")
    return cast(x, floating(x))


def deg2rad(x: Any) -> Any:
    """Degrees to radians.

    NumPy: `numpy.deg2rad`.

    >>> deg2rad(180.0)
    np.float64(3.141592653589793)
    """
    return multiply(_as_float("deg2rad", x), 0.017453292519943295)


def rad2deg(x: Any) -> Any:
    """Radians to degrees.

    NumPy: `numpy.degrees`.

    >>> rad2deg(3.141592653589793)
    np.float64(180.0)
    """
    return multiply(_as_float("rad2deg", x), 57.29577951308232)


radians, degrees = deg2rad, rad2deg


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0.

    NumPy: `numpy.sinc`.

    >>> sinc([0.0, 0.5])
    array([1.        , 0.63661977])
    """
    x = value(x)
    kind = dtype_of(x)
    x = x if kind.kind in ("float", "complex") else cast(x, dt.f64)
    tiny = 2.0**-24 if kind is dt.f16 else 1e-20
    y = multiply(3.141592653589793, where(equal(x, 0), tiny, x))
    return divide(sin(y), y)


def heaviside(x: Any, zero: Any) -> Any:
    """0 below 0, `zero` at 0, 1 above; NaN of NaN.

    NumPy: `numpy.heaviside`.

    >>> heaviside([-1.0, 0.0, 2.0], 0.5)
    array([0. , 0.5, 1. ])
    """
    x, zero = _real_pair("heaviside", x, zero)
    kind = dtype_of(x)
    step = where(less(x, 0), literal(0, kind), where(greater(x, 0), literal(1, kind), zero))
    return where(isnan(x), x, step)


# --- rounding -------------------------------------------------------------------------------------

floor = _rounding("floor", "floor", "The largest integer at most x.")
ceil = _rounding("ceil", "ceil", "The smallest integer at least x.")
trunc = _rounding("trunc", "trunc", "x without its fraction.")
fix = trunc


def rint(x: Any) -> Any:
    """The nearest integer, halves to even; integers become floats, complex numbers part by part.

    NumPy: `numpy.rint`.

    >>> rint([0.5, 1.5, 2.5])
    array([0., 2., 2.])
    """
    x = value(x)
    if dtype_of(x).is_complex:
        return bind1("complex", rint(real(x)), rint(imag(x)))
    return bind1("rint", cast(x, floating(x)))


def round(x: Any, decimals: int = 0) -> Any:
    """x to `decimals` places, halves to even, as NumPy: rint(x * 10^d) / 10^d.

    NumPy: `numpy.around`.

    >>> round([1.25, -1.26], 1)
    array([ 1.2, -1.3])
    """
    (x,) = operands("round", x)
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


# --- divisors, shifts, replaced values ------------------------------------------------------------


gcd = of_integers("gcd", "The greatest common divisor of |x| and |y|, |x| if y is 0.", "int uint")
lcm = of_integers("lcm", "The least common multiple of |x| and |y|; it wraps around.", "int uint")
left_shift = _integers_for_bools("left_shift", "shift_left", "x * 2^y; 0 beyond the width.")
right_shift = _integers_for_bools("right_shift", "shift_right", "floor(x / 2^y).")
bitwise_left_shift, bitwise_right_shift = left_shift, right_shift


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """|a - b| <= atol + rtol |b|, infinities equal to themselves.

    NumPy: `numpy.isclose`.

    >>> isclose([1.0, 2.0], [1.0, 2.1])
    array([ True, False])
    """
    a, b = value(a), value(b)
    b = cast(b, result_dtype(b, 1.0))  # distances of integers would wrap around
    near = less_equal(absolute(subtract(a, b)), add(atol, multiply(rtol, absolute(b))))
    found = logical_or(logical_and(near, isfinite(b)), equal(a, b))
    return logical_or(found, logical_and(isnan(a), isnan(b))) if equal_nan else found


def nan_to_num(x: Any, *, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced, by default with 0 and the largest numbers of the type.

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
    found = where(isnan(x), nan, x)  # which may be an infinity itself
    found = where(isposinf(x), top if posinf is None else posinf, found)
    return where(isneginf(x), -top if neginf is None else neginf, found)


# --- complex --------------------------------------------------------------------------------------


def conj(x: Any) -> Any:
    """The complex conjugate; real numbers are their own (bools as int8, as in NumPy).

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

    NumPy: `numpy.real`.

    >>> real(1 + 2j)
    np.float64(1.0)
    """
    (x,) = operands("real", x)
    return bind1("real", x) if dtype_of(x).is_complex else x


def imag(x: Any) -> Any:
    """The imaginary part; 0 of real numbers.

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

    NumPy: `numpy.iscomplex`.

    >>> iscomplex([1, 2j])
    array([False,  True])
    """
    return not_equal(imag(x), 0)


def isreal(x: Any) -> Any:
    """The imaginary part is zero.

    NumPy: `numpy.isreal`.

    >>> isreal([1, 2j])
    array([ True, False])
    """
    return equal(imag(x), 0)


def modf(x: Any) -> tuple[Any, Any]:
    """(the fraction, the whole part), both with the sign of x.

    NumPy: `numpy.modf`.

    >>> modf([1.5, -2.25])
    (array([ 0.5 , -0.25]), array([ 1., -2.]))
    """
    x = _as_float("modf", x)
    whole = trunc(x)
    rest = where(isinf(x), 0.0, subtract(x, whole))
    return copysign(rest, x), whole


def angle(x: Any, deg: bool = False) -> Any:
    """The argument of a complex number, in radians or degrees; integers give float64.

    NumPy: `numpy.angle`.

    >>> angle(1j, deg=True)
    np.float64(90.0)
    """
    x = value(x)
    if dtype_of(x).kind != "complex":
        x = cast(x, dt.f64 if dtype_of(x) is dt.b1 else floating(x))
    found = arctan2(imag(x), real(x))
    return multiply(found, 180 / np.pi) if deg else found


# --- examples -----------------------------------------------------------------------------------

document(
    globals(),
    "NumPy: `numpy",
    {
        "arccos": ("[0.25, 0.5]", "array([1.31811607, 1.04719755])"),
        "arccosh": ("2.0", "np.float64(1.3169578969248166)"),
        "arcsin": ("[0.25, 0.5]", "array([0.25268026, 0.52359878])"),
        "arcsinh": ("[0.25, 0.5]", "array([0.24746646, 0.48121183])"),
        "arctan": ("[0.25, 0.5]", "array([0.24497866, 0.46364761])"),
        "arctan2": ("1.0, -1.0", "np.float64(2.356194490192345)"),
        "arctanh": ("[0.25, 0.5]", "array([0.25541281, 0.54930614])"),
        "cbrt": ("27.0", "np.float64(3.0)"),
        "ceil": ("[1.2, -1.7]", "array([ 2., -1.])"),
        "copysign": ("1.0, -2.0", "np.float64(-1.0)"),
        "cos": ("[0.25, 0.5]", "array([0.96891242, 0.87758256])"),
        "cosh": ("[0.25, 0.5]", "array([1.0314131 , 1.12762597])"),
        "erf": ("[0.25, 0.5]", "array([0.27632639, 0.52049988])"),
        "erfc": ("[0.25, 0.5]", "array([0.72367361, 0.47950012])"),
        "exp": ("[0.25, 0.5]", "array([1.28402542, 1.64872127])"),
        "exp2": ("3.0", "np.float64(8.0)"),
        "expm1": ("[0.25, 0.5]", "array([0.28402542, 0.64872127])"),
        "floor": ("[1.7, -1.2]", "array([ 1., -2.])"),
        "gcd": ("12, 18", "np.int64(6)"),
        "lcm": ("4, 6", "np.int64(12)"),
        "floor_divide": ("[7, -7], 2", "array([ 3, -4])"),
        "fmod": ("[7, -7], 3", "array([ 1, -1])"),
        "hypot": ("3.0, 4.0", "np.float64(5.0)"),
        "left_shift": ("1, 3", "np.int64(8)"),
        "log": ("[1.0, 10.0]", "array([0.        , 2.30258509])"),
        "log10": ("1000.0", "np.float64(3.0)"),
        "log1p": ("[0.25, 0.5]", "array([0.22314355, 0.40546511])"),
        "log2": ("8.0", "np.float64(3.0)"),
        "nextafter": ("1.0, 2.0", "np.float64(1.0000000000000002)"),
        "remainder": ("[1.0, 7.0], [2.0, 4.0]", "array([1., 3.])"),
        "right_shift": ("8, 2", "np.int64(2)"),
        "sin": ("[0.25, 0.5]", "array([0.24740396, 0.47942554])"),
        "sinh": ("[0.25, 0.5]", "array([0.25261232, 0.52109531])"),
        "sqrt": ("[4.0, 9.0]", "array([2., 3.])"),
        "tan": ("[0.25, 0.5]", "array([0.25534192, 0.54630249])"),
        "tanh": ("[0.25, 0.5]", "array([0.24491866, 0.46211716])"),
        "trunc": ("[1.7, -1.7]", "array([ 1., -1.])"),
    },
    own=("erf", "erfc"),
)
