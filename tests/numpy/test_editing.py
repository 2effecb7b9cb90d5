"""Elements put in, taken out, chosen and counted; windows and places: against NumPy, by the Graph
interpreter, and inside of `jit` where NumPy's own function is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.errors import (
    ArgumentError,
    ConcretizationError,
    DTypeError,
    IndexOutOfRangeError,
    IndexTypeError,
    PycError,
    ShapeError,
    TraceError,
)
from pyc.jit import jit
from tests.numpy.interpreted import difference, interpreted, outcome

Call = Callable[..., Any]
RNG = np.random.default_rng(5)
V = RNG.standard_normal(7)
M = RNG.standard_normal((4, 6)).astype(np.float32)
X = RNG.standard_normal((3, 4, 5))
N = RNG.integers(0, 3, (4, 6))
BYTES = RNG.integers(0, 256, 40).astype(np.uint8)
GAPS = np.array([[1, np.nan, 3], [np.nan, 5, 5]])
P, Q = RNG.standard_normal((4, 3)), RNG.standard_normal((4, 3))
EDGES = np.array([-1.0, -0.5, 0.0, 2.0])
EDGES.flags.writeable = False

CASES: dict[str, tuple[Any, ...]] = {
    "insert one": (
        lambda np, x: (np.insert(x, 2, 9.0), np.insert(x, -1, 9), np.insert(x, 7, 1)),
        V,
    ),
    "insert several at one": (lambda np, x: np.insert(x, 1, [1.0, 2.0, 3.0]), V),
    "insert at several": (lambda np, x: np.insert(x, [3, 0, 3], [1.0, 2.0, 3.0]), V),
    "insert one at several": (lambda np, x: np.insert(x, [1, 4], 0), V),
    "insert by a slice": (lambda np, x: np.insert(x, slice(1, 6, 2), 0), V),
    "insert a row": (lambda np, x: np.insert(x, 1, x[0], axis=0), M),
    "insert a column": (lambda np, x: np.insert(x, 1, [1, 2, 3, 4], axis=1), M),
    "insert columns": (lambda np, x: np.insert(x, [1], [[1], [2], [3], [4]], axis=1), M),
    "insert flat": (lambda np, x: np.insert(x, 5, 1.5), M),
    "insert nothing": (lambda np, x: np.insert(x, [], []), V),
    "insert casts": (lambda np, x: np.insert(x, 1, 2.75), np.arange(4)),
    "insert at a traced place": (lambda np, x, k: np.insert(x, k, 9.0), V, np.int64(3)),
    "insert at a traced place from the end": (
        lambda np, x, k: np.insert(x, k, x[0], axis=0),
        M,
        np.int32(-2),
    ),
    "delete": (lambda np, x: (np.delete(x, 2), np.delete(x, -1), np.delete(x, [0, 3, 3])), V),
    "delete a slice": (
        lambda np, x: (np.delete(x, slice(1, 4)), np.delete(x, slice(None, None, -2))),
        V,
    ),
    "delete by a mask": (lambda np, x: np.delete(x, [True, False] * 3 + [True]), V),
    "delete rows and columns": (lambda np, x: (np.delete(x, 1, 0), np.delete(x, [0, 5], 1)), M),
    "delete nothing": (lambda np, x: np.delete(x, []), V),
    "delete at a traced place": (
        lambda np, x, k: (np.delete(x, k), np.delete(x, -k)),
        V,
        np.int64(3),
    ),
    "choose": (lambda np, n, x: np.choose(n, [x, -x, 2]), N, M),
    "choose modes": (
        lambda np, n: (
            np.choose(n - 1, [10, 20], mode="wrap"),
            np.choose(n - 1, [10, 20], mode="clip"),
        ),
        N,
    ),
    "choose from rows": (lambda np, n, x: np.choose(n[0], x[:3]), N, M),
    "select": (lambda np, x: np.select([x < 0, x < 1], [x, 2 * x], default=7), M),
    "select numbers": (lambda np, x: np.select([x < 0, x < 1], [0, 1], default=2), M),
    "select keeps float32": (lambda np, x: np.select([x < 0, x < 1], [0, 1.5], default=x), M),
    "diagflat": (lambda np, x: (np.diagflat(x[0, :2]), np.diagflat(x[:1, :2], 1)), M),
    "windows": (lambda np, x: np.sum(windows(np, x, 3), axis=-1), V),
    "windows of two axes": (lambda np, x: windows(np, x, (2, 3)), M),
    "windows of one axis": (lambda np, x: windows(np, x, 2, axis=1), X),
    "splits": (lambda np, x: (*np.hsplit(x, 2), *np.vsplit(x, [1, 2]), *np.hsplit(x[0], 3)), M),
    "dsplit": (lambda np, x: tuple(np.dsplit(x, [2])), X),
    "ascontiguousarray": (lambda np, x: (np.ascontiguousarray(x.T), np.ascontiguousarray(3.0)), M),
    "diff with ends": (
        lambda np, x: (
            np.diff(x, prepend=0, axis=1),
            np.diff(x, append=x[:, :2], axis=1),
            np.diff(x, 2, prepend=x[:1], append=np.float32(1), axis=0),
        ),
        M,
    ),
    "diff zero times": (lambda np, x: np.diff(x, 0), V),
    "cross": (lambda np, x, y: (np.cross(x, y), np.cross(x[0], y)), P, Q),
    "cross along": (lambda np, x, y: np.cross(x, y, axisa=0, axisb=1, axisc=0), P.T, Q),
    "cross of an axis": (lambda np, x, y: np.cross(x, y, axis=0), P.T, Q.T),
    "multi_dot": (lambda np, x: np.linalg.multi_dot([x, x.T, x]), M),
    "multi_dot of lines": (
        lambda np, x, v: (np.linalg.multi_dot([v[:4], x, x.T, v[:4]]), np.linalg.multi_dot([x, v])),
        M.astype(float),
        V[:6],
    ),
    "diag_indices_from": (lambda np, x: np.diag_indices_from(x[:, :4]), M),
    "triangle indices": (
        lambda np, x: (*np.tril_indices_from(x), *np.triu_indices_from(x, 1)),
        M,
    ),
    "unravel_index": (lambda np, n: np.unravel_index(n, (2, 3, 4)), N),
    "unravel_index of a place": (lambda np, x: np.unravel_index(np.argmax(x), x.shape), M),
    "ravel_multi_index": (lambda np, n: np.ravel_multi_index((n, n[0]), (3, 3)), N),
    "nanargmax": (lambda np, x: (np.nanargmax(x), np.nanargmax(x, axis=1)), GAPS),
    "nanargmin": (lambda np, x: (np.nanargmin(x, axis=0, keepdims=True), np.nanargmin(x)), GAPS),
    "nanargmax of integers": (lambda np, n: np.nanargmax(n, axis=0), N),
    "correlate": (
        lambda np, x, y: tuple(np.correlate(x, y, m) for m in ("valid", "same", "full")),
        V,
        V[:4],
    ),
    "correlate with a longer": (
        lambda np, x, y: tuple(np.correlate(y, x, m) for m in ("valid", "same", "full")),
        V + 1j * V[::-1],
        V[:4] - 2j,
    ),
    "histogram": (lambda np, x: np.histogram(x), V),
    "histogram bins and range": (lambda np, x: np.histogram(x, 5, (-1, 1)), M),
    "histogram edges": (lambda np, x: np.histogram(x, EDGES), M),
    "histogram density": (lambda np, x: np.histogram(x, 4, density=True), V),
    "histogram weights": (lambda np, x: np.histogram(x, 3, weights=x * x), V),
    "histogram of bytes": (lambda np, x: np.histogram(x, 16, (0, 256)), BYTES),
    "histogram of integers": (lambda np, x: np.histogram(x, 4), N),
    "histogram on edges": (lambda np, x: np.histogram(x, [0, 1, 2]), N),
    "histogram of equal numbers": (lambda np, x: np.histogram(x * 0 + 3, 4), V),
    "histogram with gaps": (lambda np, x: np.histogram(x, 4, (0, 5)), GAPS),
    "histogram of nothing": (lambda np, x: np.histogram(x[:0], 4), V),
    "isin by position": (lambda np, n: np.isin(n, [0, 2]), N),
    "percentiles": (lambda np, x: np.percentile(x, [5, 50, 95]), V),
    "eye and tri": (lambda np: (np.eye(3, 4, k=1), np.eye(3, M=2), np.tri(3, M=4, k=-1)),),
}


def windows(xp: Any, x: Any, *args: Any, **options: Any) -> Any:
    """`sliding_window_view` of NumPy or of pyc.numpy."""
    module = np.lib.stride_tricks if xp is np else xp
    return module.sliding_window_view(x, *args, **options)


@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_numpy_gives(name: str) -> None:
    """Shape, dtype and value."""
    call, *arrays = CASES[name]
    expected = outcome(lambda: call(np, *arrays))
    if isinstance(expected, Exception):
        raise expected
    assert not difference(expected, interpreted(call, *arrays))


def test_the_cross_product_in_the_plane() -> None:
    """NumPy 2 warns of vectors of two elements, and still has their product."""
    a, b = P[:, :2], Q[:, :2]
    assert not difference(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], interpreted(_cross, a, b))
    wide = np.c_[a, np.zeros(4)]
    assert not difference(np.cross(wide, Q), interpreted(_cross, a, Q))


def _cross(p: Any, x: Any, y: Any) -> Any:
    return p.cross(x, y)


INSIDE: dict[str, tuple[Any, ...]] = {
    "apply_along_axis to a number": (lambda x: np.apply_along_axis(np.median, 1, x), M),
    "apply_along_axis to lines": (
        lambda x: np.apply_along_axis(lambda r, k: np.stack([r, k * r], 1), 0, x, 2.0),
        X,
    ),
    "apply_along_axis of a line": (lambda x: np.apply_along_axis(lambda r: r.sum() + r, 0, x), V),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, (0, 2)), X),
    "fromfunction": (lambda x: np.fromfunction(lambda i, j: i + j * x[0], (3, 2)), V),
    "fromfunction of integers": (
        lambda x: x[0] * np.fromfunction(lambda i: i // 2, (4,), dtype=int),
        V,
    ),
    "running extremes": (
        lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x, axis=1)),
        M,
    ),
    "array_equal": (lambda x: np.array_equal(x, x + 0), V),
    "windows": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1), V),
}


@pytest.mark.parametrize("name", INSIDE)
def test_numpy_code_in_a_jitted_function(name: str) -> None:
    """NumPy's names and positions of arguments, and its functions that call the user's."""
    function, *arrays = INSIDE[name]
    assert not difference(function(*arrays), jit(function)(*arrays))


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (IndexOutOfRangeError, lambda p, x: p.insert(x, 8, 1)),
        (IndexOutOfRangeError, lambda p, x: p.delete(x, [1, -8])),
        (IndexOutOfRangeError, lambda p, x: p.insert(x, p.argmax(x) + 8, 1)),
        (IndexOutOfRangeError, lambda p, x: p.insert(x, p.argmax(x) * 0 - 8, 1)),
        (IndexOutOfRangeError, lambda p, x: p.delete(x, p.argmax(x) + 8)),
        (ArgumentError, lambda p, x: p.choose(p.argmax(x) - 20, [x, x])),
        (ValueError, lambda p, x: p.nanargmax(x * np.nan)),
        (ArgumentError, lambda p, x: p.unravel_index(p.argmax(x) + 20, (2, 3))),
        (ArgumentError, lambda p, x: p.unravel_index(p.argmax(x) - 20, (2, 3))),
        (ShapeError, lambda p, x: p.delete(x, p.argsort(x)[:2])),
        (ShapeError, lambda p, x: p.delete(x, [True])),
        (ShapeError, lambda p, x: p.select([x > 0], [x, x])),
        (ShapeError, lambda p, x: p.sliding_window_view(x, 8)),
        (ShapeError, lambda p, x: p.sliding_window_view(x, (2, 2))),
        (ShapeError, lambda p, x: p.vsplit(x, 2)),
        (ShapeError, lambda p, x: p.cross(x[:4], x[:4])),
        (ShapeError, lambda p, x: p.linalg.multi_dot([x])),
        (ShapeError, lambda p, x: p.diag_indices_from(x)),
        (ShapeError, lambda p, x: p.ravel_multi_index((1,), (2, 2))),
        (ShapeError, lambda p, x: p.histogram(x, [[1.0, 2.0]])),
        (IndexTypeError, lambda p, x: p.delete(x, 1.5)),
        (IndexTypeError, lambda p, x: p.insert(x, x[:2], [1, 2])),
        (IndexTypeError, lambda p, x: p.insert(x, p.astype(x, "f4")[:0], [])),
        (DTypeError, lambda p, x: p.choose(x, [1, 2])),
        (ValueError, lambda p, x: p.histogram(x, [2.0, 1.0])),
        (ValueError, lambda p, x: p.histogram(x, 0)),
        (ValueError, lambda p, x: p.histogram(x, 4, (2, 1))),
        (ValueError, lambda p, x: p.choose(p.argmax(x), [x], mode="none")),
        (ConcretizationError, lambda p, x: p.histogram(x, "auto")),
        (ConcretizationError, lambda p, x: p.flatnonzero(x)),
        (ConcretizationError, lambda p, x: p.argwhere(x)),
        (ConcretizationError, lambda p, x: p.extract(x > 0, x)),
        (ConcretizationError, lambda p, x: p.compress(x > 0, x)),
        (ConcretizationError, lambda p, x: p.unique(x)),
    ],
)
def test_what_cannot_be_is_a_named_error(error: type[Exception], call: Call) -> None:
    """Places out of range, shapes that would depend on data, arguments that do not fit."""
    with pytest.raises(error):
        interpreted(call, V)


def test_windows_do_not_go_stale() -> None:
    """In NumPy they show what the array is now; here using them after a change is refused, and so
    is writing to them."""

    def stale(x):
        a = x + 0
        windows = np.lib.stride_tricks.sliding_window_view(a, 3)
        a[0] = 5
        return windows.sum()

    def written(x):
        windows = np.lib.stride_tricks.sliding_window_view(x + 0, 3)
        windows[0] = 5
        return windows

    for function in (stale, written):
        with pytest.raises(TraceError):
            jit(function)(V)


def test_a_function_of_no_lines_is_refused_as_numpy_does() -> None:
    with pytest.raises(PycError, match="no lines"):
        jit(lambda x: np.apply_along_axis(np.sum, 1, x[:0]))(M)
