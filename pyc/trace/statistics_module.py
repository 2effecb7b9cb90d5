"""Python's `statistics` as a traced function sees it.

Takes what Python's functions take: an array of rank 1, or any iterable of numbers. The numbers are
those of NumPy's functions, not rounded from exact fractions. Where Python gives an integer or a
fraction for some data and a float for others, the function is refused.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.errors import UnsupportedOpError
from pyc.trace import location
from pyc.trace.tracer import Tracer


def _floats(data: Any, name: str) -> tuple[Any, bool]:
    """The numbers as an array, and whether a result is a Python number.

    raises UnsupportedOpError: they are not floats, so that the type of the result depends on data
    """
    x, weak = _numbers(data, name)
    if x.dtype.kind != "f":
        raise UnsupportedOpError(
            f"statistics.{name} of {x.dtype} gives a result whose type depends on data",
            fix=f"Write `np.{_BY_NUMPY[name]}`, or convert the numbers: `.astype(float)`.",
            place=location.here(),
        )
    return x, weak


def _numbers(data: Any, name: str) -> tuple[Any, bool]:
    """The numbers as an array, and whether a result is a Python number.

    raises UnsupportedOpError: they are not scalars; StatisticsError: there are too few
    """
    items = data if isinstance(data, Tracer) and data.ndim else list(data)
    x = pnp.asarray(items)
    if x.ndim != 1 or x.dtype.kind not in "iuf":
        raise UnsupportedOpError(
            f"statistics.{name} takes real numbers, one after the other; this is {x.type}",
            fix=f"Write `np.{_BY_NUMPY[name]}`.",
            place=location.here(),
        )
    if x.shape[0] < 2:
        getattr(statistics, name)([0.0] * x.shape[0])  # raises what it does for so few
    weak = not isinstance(items, Tracer) and all(
        type(v) in (int, float) or (isinstance(v, Tracer) and v.weak is not None) for v in items
    )
    return x, weak


def _typed(found: Any, weak: bool) -> Any:
    return found.weakened() if weak else found


def _mean(data: Any) -> Any:
    x, weak = _floats(data, "mean")
    return _typed(pnp.mean(x), weak)


def _fmean(data: Any, weights: Any = None) -> Any:
    x = pnp.astype(_numbers(data, "fmean")[0], np.float64)
    if weights is None:
        return pnp.mean(x).weakened()
    w = pnp.astype(_numbers(weights, "fmean")[0], np.float64)
    if w.shape != x.shape:
        statistics.fmean([0.0] * x.shape[0], [1.0] * w.shape[0])  # raises
    return (pnp.sum(x * w) / pnp.sum(w)).weakened()


def _median(place: Callable[[int], tuple[int, int]], name: str) -> Callable[[Any], Any]:
    """A median: the element, or the mean of the two elements, at `place` of the sorted data."""

    def median(data: Any) -> Any:
        x, weak = _numbers(data, name)
        ordered = pnp.sort(x)
        low, high = place(x.shape[0])
        found = ordered[low] if low == high else (ordered[low] + ordered[high]) / 2
        return _typed(found, weak)

    return median


def _spread(name: str, correction: int) -> Callable[..., Any]:
    """A variance or a standard deviation."""

    def spread(data: Any, center: Any = None) -> Any:
        root = name.endswith("stdev")
        x, weak = _numbers(data, name) if root else _floats(data, name)
        x = pnp.astype(x, np.float64) if root else x
        away = x - (pnp.mean(x) if center is None else center)
        found = pnp.sum(away * away) / (x.shape[0] - correction)
        return pnp.sqrt(found).weakened() if root else _typed(found, weak)

    return spread


_BY_NUMPY = {
    "mean": "mean(x)",
    "fmean": "mean(x)",
    **dict.fromkeys(("median", "median_low", "median_high"), "median(x)"),
    "variance": "var(x, ddof=1)",
    "pvariance": "var(x)",
    "stdev": "std(x, ddof=1)",
    "pstdev": "std(x)",
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "fmean": _fmean,
    "median": _median(lambda n: ((n - 1) // 2, n // 2), "median"),
    "median_low": _median(lambda n: ((n - 1) // 2,) * 2, "median_low"),
    "median_high": _median(lambda n: (n // 2,) * 2, "median_high"),
    "variance": _spread("variance", 1),
    "pvariance": _spread("pvariance", 0),
    "stdev": _spread("stdev", 1),
    "pstdev": _spread("pstdev", 0),
}
"""By name in `statistics`; others are refused for traced values."""

__all__ = ["FUNCTIONS"]
