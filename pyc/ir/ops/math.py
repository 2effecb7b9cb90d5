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

from pyc.ir.ops.definitions import either, real
from pyc.ir.ops.elementwise import pointwise


def _vectorised(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A NumPy function of a float64 one of the standard library."""

    def run(x: Any) -> Any:
        flat = [function(float(v)) for v in np.asarray(x).reshape(-1)]
        return np.array(flat, np.float64).reshape(np.shape(x)).astype(np.asarray(x).dtype)

    return run


COMPLEX = "float complex"

pointwise("exp", COMPLEX, either("exp"), np.exp, cost=18)
pointwise("exp2", COMPLEX, either("exp2"), np.exp2, cost=16)
pointwise("expm1", COMPLEX, either("expm1"), np.expm1, cost=24)
pointwise("log", COMPLEX, either("log"), np.log, cost=26)
pointwise("log2", COMPLEX, either("log2"), np.log2, cost=28)
pointwise("log10", COMPLEX, either("log10"), np.log10, cost=28)
pointwise("log1p", COMPLEX, either("log1p"), np.log1p, cost=32)
pointwise("sin", COMPLEX, either("sin"), np.sin, cost=30)
pointwise("cos", COMPLEX, either("cos"), np.cos, cost=30)
pointwise("tan", COMPLEX, either("tan"), np.tan, cost=36)
pointwise("asin", COMPLEX, either("asin"), np.arcsin, cost=24)
pointwise("acos", COMPLEX, either("acos"), np.arccos, cost=24)
pointwise("atan", COMPLEX, either("atan"), np.arctan, cost=24)
pointwise("atan2", "float", real("atan2"), np.arctan2, cost=36)
pointwise("sinh", COMPLEX, either("sinh"), np.sinh, cost=36)
pointwise("cosh", COMPLEX, either("cosh"), np.cosh, cost=30)
pointwise("asinh", COMPLEX, either("asinh"), np.arcsinh, cost=50)
pointwise("acosh", COMPLEX, either("acosh"), np.arccosh, cost=50)
pointwise("atanh", COMPLEX, either("atanh"), np.arctanh, cost=44)
pointwise("tanh", COMPLEX, either("tanh"), np.tanh, cost=28)
pointwise("cbrt", "float", real("cbrt"), np.cbrt, cost=24)
pointwise("erf", "float", real("erf"), _vectorised(math.erf), cost=36)
pointwise("erfc", "float", real("erfc"), _vectorised(math.erfc), cost=44)
pointwise("power", COMPLEX, either("pow", "power"), np.power, cost=60)
pointwise("hypot", "float", real("hypot"), np.hypot, cost=16)
