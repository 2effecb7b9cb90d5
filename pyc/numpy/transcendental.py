"""Exponentials, logarithms and angles, element by element, with NumPy's promotion and values.

Loaded for the first of them. Integers and bools are computed as the floats that hold them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.numpy.core import cast, document, dtype_of, floating, value
from pyc.numpy.elementwise import (
    absolute,
    add,
    as_float,
    divide,
    imag,
    maximum,
    multiply,
    negative,
    of_floats,
    of_two_floats,
    real,
    real_pair,
    subtract,
)
from pyc.numpy.logic import equal, where

cbrt = of_floats("cbrt", "cbrt", "The cube root.", is_real=True)
exp = of_floats("exp", "exp", "e ** x.")
exp2 = of_floats("exp2", "exp2", "2 ** x.")
expm1 = of_floats("expm1", "expm1", "e ** x - 1, exact near 0.")
log = of_floats("log", "log", "The natural logarithm; -inf of 0, NaN of negative numbers.")
log2 = of_floats("log2", "log2", "The logarithm to base 2.")
log10 = of_floats("log10", "log10", "The logarithm to base 10.")
log1p = of_floats("log1p", "log1p", "log(1 + x), exact near 0.")
sin = of_floats("sin", "sin", "The sine of x radians, of any size.")
cos = of_floats("cos", "cos", "The cosine of x radians, of any size.")
tan = of_floats("tan", "tan", "The tangent of x radians, of any size.")
arcsin = of_floats("arcsin", "asin", "The angle in [-pi/2, pi/2] with sine x.")
arccos = of_floats("arccos", "acos", "The angle in [0, pi] with cosine x.")
arctan = of_floats("arctan", "atan", "The angle in (-pi/2, pi/2) with tangent x.")
asin, acos, atan = arcsin, arccos, arctan
sinh = of_floats("sinh", "sinh", "The hyperbolic sine.")
cosh = of_floats("cosh", "cosh", "The hyperbolic cosine.")
tanh = of_floats("tanh", "tanh", "The hyperbolic tangent.")
erf = of_floats("erf", "erf", "The error function.", is_real=True)
erfc = of_floats("erfc", "erfc", "1 - erf(x), exact for large x.", is_real=True)


arcsinh = of_floats("arcsinh", "asinh", "The inverse of sinh.")
arccosh = of_floats("arccosh", "acosh", "The inverse of cosh, for x >= 1; NaN below.")
arctanh = of_floats("arctanh", "atanh", "The inverse of tanh, for |x| <= 1; NaN beyond.")
asinh, acosh, atanh = arcsinh, arccosh, arctanh

# --- of two ---------------------------------------------------------------------------------------

arctan2 = of_two_floats("arctan2", "atan2", "The angle of the point (y, x), -pi to pi.")
hypot = of_two_floats("hypot", "hypot", "sqrt(x^2 + y^2) without overflow.")
atan2 = arctan2


def logaddexp(x: Any, y: Any) -> Any:
    """log(e^x + e^y) without overflow.

    x, y: real numbers, broadcast together
    dtype: the promoted one, integers and bools taken as floats: of 8 bits float16, of 16 float32,
    else float64
    raises DTypeError: complex or no numbers; ShapeError: they do not broadcast

    NumPy: `numpy.logaddexp`.

    >>> logaddexp(0.0, 0.0)
    np.float64(0.6931471805599453)
    """
    x, y = real_pair("logaddexp", x, y)
    top = maximum(x, y)
    found = add(top, log1p(exp(negative(absolute(subtract(x, y))))))
    return where(equal(x, y), add(x, 0.6931471805599453), found)


def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2^x + 2^y) without overflow.

    x, y: real numbers, broadcast together
    dtype: the promoted one, integers and bools taken as floats: of 8 bits float16, of 16 float32,
    else float64
    raises DTypeError: complex or no numbers; ShapeError: they do not broadcast

    NumPy: `numpy.logaddexp2`.

    >>> logaddexp2(0.0, 0.0)
    np.float64(1.0)
    """
    x, y = real_pair("logaddexp2", x, y)
    top = maximum(x, y)
    rest = log1p(exp2(negative(absolute(subtract(x, y)))))
    return where(equal(x, y), add(x, 1.0), add(top, multiply(rest, 1.4426950408889634)))


# --- angles ---------------------------------------------------------------------------------------


def deg2rad(x: Any) -> Any:
    """Degrees x to radians.

    x: real numbers of any shape -> the same shape
    dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else
    float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.deg2rad`.

    >>> deg2rad(180.0)
    np.float64(3.141592653589793)
    """
    return multiply(as_float("deg2rad", x), 0.017453292519943295)


def rad2deg(x: Any) -> Any:
    """Radians x to degrees.

    x: real numbers of any shape -> the same shape
    dtype: floats keep theirs; integers and bools of 8 bits give float16, of 16 float32, else
    float64
    raises DTypeError: complex or no numbers

    NumPy: `numpy.degrees`.

    >>> rad2deg(3.141592653589793)
    np.float64(180.0)
    """
    return multiply(as_float("rad2deg", x), 57.29577951308232)


radians, degrees = deg2rad, rad2deg


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0.

    x: numbers of any shape -> the same shape and dtype; float64 for integers and bools
    raises DTypeError: no numbers

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


def angle(x: Any, deg: bool = False) -> Any:
    """The argument of complex numbers x, in radians; deg: in degrees.

    x: numbers of any shape -> the same shape
    dtype: that of the parts; integers of 8 bits give float16, of 16 float32, others and bools
    float64
    raises DTypeError: no numbers

    NumPy: `numpy.angle`.

    >>> angle(1j, deg=True)
    np.float64(90.0)
    """
    x = value(x)
    if dtype_of(x).kind != "complex":
        x = cast(x, dt.f64 if dtype_of(x) is dt.b1 else floating(x))
    found = arctan2(imag(x), real(x))
    return multiply(found, 180 / np.pi) if deg else found


# --- examples -------------------------------------------------------------------------------------

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
        "cos": ("[0.25, 0.5]", "array([0.96891242, 0.87758256])"),
        "cosh": ("[0.25, 0.5]", "array([1.0314131 , 1.12762597])"),
        "erf": ("[0.25, 0.5]", "array([0.27632639, 0.52049988])"),
        "erfc": ("[0.25, 0.5]", "array([0.72367361, 0.47950012])"),
        "exp": ("[0.25, 0.5]", "array([1.28402542, 1.64872127])"),
        "exp2": ("3.0", "np.float64(8.0)"),
        "expm1": ("[0.25, 0.5]", "array([0.28402542, 0.64872127])"),
        "hypot": ("3.0, 4.0", "np.float64(5.0)"),
        "log": ("[1.0, 10.0]", "array([0.        , 2.30258509])"),
        "log10": ("1000.0", "np.float64(3.0)"),
        "log1p": ("[0.25, 0.5]", "array([0.22314355, 0.40546511])"),
        "log2": ("8.0", "np.float64(3.0)"),
        "sin": ("[0.25, 0.5]", "array([0.24740396, 0.47942554])"),
        "sinh": ("[0.25, 0.5]", "array([0.25261232, 0.52109531])"),
        "tan": ("[0.25, 0.5]", "array([0.25534192, 0.54630249])"),
        "tanh": ("[0.25, 0.5]", "array([0.24491866, 0.46211716])"),
    },
    own=("erf", "erfc"),
)
