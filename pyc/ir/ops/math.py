"""Transcendental functions of floats: one entry each over the scalar definitions.

The definitions (`scalar_math`, `complex_math`) are the same on every target, which is why their
bits are too; the error bounds of the real ones are proven in `docs/numerics.md`. Half types go
through float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir.element import Element
from pyc.ir.op import Complex
from pyc.ir.ops import complex_math, scalar_math
from pyc.ir.ops import scalar_inverse_hyperbolic as inverse
from pyc.ir.ops.elementwise import pointwise


def _vectorised(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A NumPy function of a float64 one of the standard library."""

    def run(x: Any) -> Any:
        flat = [function(float(v)) for v in np.asarray(x).reshape(-1)]
        return np.array(flat, np.float64).reshape(np.shape(x)).astype(np.asarray(x).dtype)

    return run


def _either(real: Callable[..., Element], pair: Callable[..., Element]) -> Callable[..., Element]:
    """`pair` on complex elements, `real` on real ones."""
    return lambda *xs: pair(*xs) if isinstance(xs[0], Complex) else real(*xs)


COMPLEX = "float complex"

pointwise("exp", COMPLEX, _either(scalar_math.exp, complex_math.exp), np.exp, cost=18)
pointwise("exp2", COMPLEX, _either(scalar_math.exp2, complex_math.exp2), np.exp2, cost=16)
pointwise("expm1", COMPLEX, _either(scalar_math.expm1, complex_math.expm1), np.expm1, cost=24)
pointwise("log", COMPLEX, _either(scalar_math.log, complex_math.log), np.log, cost=26)
pointwise("log2", COMPLEX, _either(scalar_math.log2, complex_math.log2), np.log2, cost=28)
pointwise("log10", COMPLEX, _either(scalar_math.log10, complex_math.log10), np.log10, cost=28)
pointwise("log1p", COMPLEX, _either(scalar_math.log1p, complex_math.log1p), np.log1p, cost=32)
pointwise("sin", COMPLEX, _either(scalar_math.sin, complex_math.sin), np.sin, cost=30)
pointwise("cos", COMPLEX, _either(scalar_math.cos, complex_math.cos), np.cos, cost=30)
pointwise("tan", COMPLEX, _either(scalar_math.tan, complex_math.tan), np.tan, cost=36)
pointwise("asin", COMPLEX, _either(scalar_math.asin, complex_math.asin), np.arcsin, cost=24)
pointwise("acos", COMPLEX, _either(scalar_math.acos, complex_math.acos), np.arccos, cost=24)
pointwise("atan", COMPLEX, _either(scalar_math.atan, complex_math.atan), np.arctan, cost=24)
pointwise("atan2", "float", scalar_math.atan2, np.arctan2, cost=36)
pointwise("sinh", COMPLEX, _either(scalar_math.sinh, complex_math.sinh), np.sinh, cost=36)
pointwise("cosh", COMPLEX, _either(scalar_math.cosh, complex_math.cosh), np.cosh, cost=30)
pointwise("asinh", COMPLEX, _either(inverse.asinh, complex_math.asinh), np.arcsinh, cost=50)
pointwise("acosh", COMPLEX, _either(inverse.acosh, complex_math.acosh), np.arccosh, cost=50)
pointwise("atanh", COMPLEX, _either(inverse.atanh, complex_math.atanh), np.arctanh, cost=44)
pointwise("tanh", COMPLEX, _either(scalar_math.tanh, complex_math.tanh), np.tanh, cost=28)
pointwise("cbrt", "float", scalar_math.cbrt, np.cbrt, cost=24)
pointwise("erf", "float", scalar_math.erf, _vectorised(math.erf), cost=36)
pointwise("erfc", "float", scalar_math.erfc, _vectorised(math.erfc), cost=44)
pointwise("power", COMPLEX, _either(scalar_math.pow, complex_math.power), np.power, cost=60)
pointwise("hypot", "float", scalar_math.hypot, np.hypot, cost=16)
