"""Transcendental functions of real floats: one entry each over the scalar definitions.

The definitions (`scalar_math`) are the same on every target, which is why their bits are too; the
error bounds they keep are proven in `docs/numerics.md`. Half types go through float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir.ops import scalar_math
from pyc.ir.ops.elementwise import pointwise


def _vectorised(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A NumPy function of a float64 one of the standard library."""

    def run(x: Any) -> Any:
        flat = [function(float(v)) for v in np.asarray(x).reshape(-1)]
        return np.array(flat, np.float64).reshape(np.shape(x)).astype(np.asarray(x).dtype)

    return run


pointwise("exp", "float", scalar_math.exp, np.exp, cost=18)
pointwise("exp2", "float", scalar_math.exp2, np.exp2, cost=16)
pointwise("expm1", "float", scalar_math.expm1, np.expm1, cost=24)
pointwise("log", "float", scalar_math.log, np.log, cost=26)
pointwise("log2", "float", scalar_math.log2, np.log2, cost=28)
pointwise("log10", "float", scalar_math.log10, np.log10, cost=28)
pointwise("log1p", "float", scalar_math.log1p, np.log1p, cost=32)
pointwise("sin", "float", scalar_math.sin, np.sin, cost=30)
pointwise("cos", "float", scalar_math.cos, np.cos, cost=30)
pointwise("tan", "float", scalar_math.tan, np.tan, cost=36)
pointwise("asin", "float", scalar_math.asin, np.arcsin, cost=24)
pointwise("acos", "float", scalar_math.acos, np.arccos, cost=24)
pointwise("atan", "float", scalar_math.atan, np.arctan, cost=24)
pointwise("atan2", "float", scalar_math.atan2, np.arctan2, cost=36)
pointwise("sinh", "float", scalar_math.sinh, np.sinh, cost=36)
pointwise("cosh", "float", scalar_math.cosh, np.cosh, cost=30)
pointwise("tanh", "float", scalar_math.tanh, np.tanh, cost=28)
pointwise("cbrt", "float", scalar_math.cbrt, np.cbrt, cost=24)
pointwise("erf", "float", scalar_math.erf, _vectorised(math.erf), cost=36)
pointwise("erfc", "float", scalar_math.erfc, _vectorised(math.erfc), cost=44)
pointwise("power", "float", scalar_math.pow, np.power, cost=60)
pointwise("hypot", "float", scalar_math.hypot, np.hypot, cost=16)
