"""Parts of SciPy for traced values and arrays of every device, under SciPy's names.

`pyc.scipy.special`: special functions; `pyc.scipy.linalg`: triangles, factors, the exponential.
"""

from __future__ import annotations

from pyc.scipy import linalg, special

__all__ = ["linalg", "special"]
