"""Whether what pyc gives is what NumPy gives: structure, shapes, dtypes, values.

Bools and integers are equal. Floats of functions of elements are within `ULPS` units in the last
place; of all others also within `SUMS` units of the largest number of the call, for they add in
another order; units are those of the least precise floats of the call. Of complex numbers that is
the distance; infinities and NaNs have their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ULPS = 8
SUMS = 512
NO_VALUES = ("numpy.empty", "numpy.empty_like")
"""Functions whose elements are whatever was there."""


def _sequence(x: Any) -> bool:
    return isinstance(x, (tuple, list))


def _magnitude(x: Any) -> float:
    """The largest finite number of an array, at least 1."""
    values = np.abs(np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64))
    return float(np.max(values, initial=1.0, where=np.isfinite(values)))


CONDITIONED = (
    *("numpy.linalg.solve", "numpy.linalg.inv", "numpy.linalg.pinv", "numpy.linalg.lstsq"),
    *("numpy.linalg.tensorsolve", "numpy.linalg.tensorinv", "numpy.linalg.matrix_power"),
    *("scipy.linalg.solve", "scipy.linalg.inv", "scipy.linalg.pinv", "scipy.linalg.lstsq"),
)
"""Functions whose errors grow with the condition of the matrix that comes first."""


def condition(matrices: Any) -> float:
    """The worst condition of matrices, 1 if there is none."""
    x = np.asarray(matrices)
    if x.ndim < 2 or not x.size or not np.isfinite(x).all():
        return 1.0
    x = x.astype(np.complex128)
    found = np.linalg.cond(x)
    return float(np.max(found, initial=1.0, where=np.isfinite(found)))


def _apart(found: Any, expected: Any, inputs: Any, elementwise: bool, factor: float) -> str:
    """What two arrays of floats of one shape and dtype differ in; nothing if they agree."""
    scale = factor * max([_magnitude(x) for x in (*inputs, expected) if np.size(x)], default=1.0)
    floats = [
        expected.dtype,
        *(x.dtype for x in inputs if x.dtype.kind in "fc" and not elementwise),
    ]
    info = max(map(np.finfo, floats), key=lambda info: info.eps)
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = found.astype(wide).ravel(), expected.astype(wide).ravel()
    unlike = np.isnan(a) != np.isnan(b)
    bounded = np.isfinite(a) & np.isfinite(b)
    endless = ~bounded & ~np.isnan(b) & ~np.isnan(a)
    for part in (np.real, np.imag):
        # A part of a complex number may be infinite and the other any number.
        infinite = np.isinf(part(a)) | np.isinf(part(b))
        unlike |= endless & infinite & (part(a) != part(b))
    bound = ULPS * float(info.eps) * np.abs(np.where(bounded, b, 0)) + float(
        info.smallest_subnormal
    )
    if not elementwise:
        bound = bound + SUMS * float(info.eps) * scale
    distance = np.abs(np.where(bounded, a, 0) - np.where(bounded, b, 0))
    # Beside an infinity there may be a finite number of the same sum.
    unlike |= bounded & (distance > bound)
    if not unlike.any():
        return ""
    k = int(np.flatnonzero(unlike)[0])
    return f"element {k} is {found.ravel()[k]!r}, not {expected.ravel()[k]!r}"


def difference(
    found: Any,
    expected: Any,
    *,
    elementwise: bool,
    inputs: Any = (),
    values: bool = True,
    factor: float = 1.0,
) -> tuple[str, str] | None:
    """The kind of the first difference, and its text; None if the results agree. inputs: the
    arrays of the call; values: whether elements are compared; factor: of the bound of sums."""
    if hasattr(expected, "_fields") or _sequence(expected):
        if not _sequence(found) or len(found) != len(expected):
            return "structure", f"{type(found).__name__}, not {len(expected)} results"
        pairs = zip(found, expected, strict=True)
        options: Any = {"elementwise": elementwise, "inputs": inputs, "values": values}
        options["factor"] = factor
        return next((d for a, b in pairs if (d := difference(a, b, **options))), None)
    if not isinstance(expected, (np.ndarray, np.generic, bool, int, float, complex)):
        same = (
            isinstance(found, np.dtype if isinstance(expected, np.dtype) else type(expected))
            and found == expected
        )
        return None if same else ("value", f"{found!r}, not {expected!r}")
    if not (isinstance(found, (bool, int, float, complex)) or hasattr(found, "__array__")):
        return "structure", f"{found!r}, not {expected!r}"
    a, b = np.asarray(found), np.asarray(expected)
    if a.shape != b.shape:
        return "shape", f"{a.shape}, not {b.shape}"
    python = type(expected) in (bool, int, float, complex) and not isinstance(found, np.generic)
    if a.dtype != b.dtype and not (python and a.dtype.kind == b.dtype.kind):
        return "dtype", f"{a.dtype}, not {b.dtype}"
    if not values:
        return None
    if b.dtype.kind in "fc":
        apart = _apart(a, b, inputs, elementwise, factor)
        return ("value", apart) if apart else None
    if not np.array_equal(a, b):
        k = int(np.flatnonzero(a.ravel() != b.ravel())[0])
        return "value", f"element {k} is {a.ravel()[k]!r}, not {b.ravel()[k]!r}"
    return None


EIGEN = ("numpy.linalg.eig", "numpy.linalg.eigvals")
"""Functions whose results come in the order of the LAPACK at hand."""


def eigen_difference(found: Any, expected: Any, a: Any) -> tuple[str, str] | None:
    """As `difference`, of eigenvalues (and vectors) of the matrices `a`: each value has one within
    the bound of the problem's size, and vectors of length 1 are turned by it."""
    values, wanted = (np.asarray(x[0] if _sequence(x) else x) for x in (found, expected))
    if values.shape != wanted.shape:
        return "shape", f"{values.shape}, not {wanted.shape}"
    a = np.asarray(a)
    if not a.size:
        return difference(found, expected, elementwise=False)
    eps = float(np.finfo(values.dtype).eps)
    bound = 1e3 * eps * max(1.0, float(np.max(np.abs(a), initial=0))) * max(1, a.shape[-1])
    # Values that coincide may be apart by the root of the bound, or more of them by less.
    near = bound ** (1 / max(1, min(a.shape[-1], 2)))
    rows = zip(values.reshape(-1, a.shape[-1]), wanted.reshape(-1, a.shape[-1]), strict=True)
    for row, (one, other) in enumerate(rows):
        left = list(one.astype(np.complex128))
        for each in other:
            k = int(np.argmin(np.abs(np.array(left) - each)))
            if not abs(left.pop(k) - each) <= near:
                return "value", f"matrix {row} has no eigenvalue {each!r} among {one!r}"
    if _sequence(found) and a.size:
        vectors = np.asarray(found[1])
        apart = np.abs(a @ vectors - vectors * values[..., None, :])
        lengths = np.abs(np.linalg.norm(vectors, axis=-2) - 1)
        if not (apart <= bound).all() or not (lengths <= 64 * eps).all():
            return "value", f"eigenvectors are off by {apart.max()!r}"
    if values.dtype != wanted.dtype:
        return "dtype", f"{values.dtype}, not {wanted.dtype}"
    return None
