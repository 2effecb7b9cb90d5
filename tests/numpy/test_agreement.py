"""Calls of the kind that was found by drawing arguments of every function: what NumPy takes is
taken, with its dtypes, shapes and values, and what it refuses is refused with a class of error
that a handler for NumPy's catches. Outside of a trace, and jitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import eager
from pyc.errors import PycError
from tests.numpy.interpreted import difference

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]
RNG = np.random.default_rng(11)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")

B = np.array([[True, False, True], [False, False, True]])
F = np.array([[1.5, -2.0, 0.0], [0.0, 0.25, 3.0]])
INTS = np.array([[3, -1, 4], [1, 5, -9]], np.int16)
U = np.array([[3, 1, 4], [1, 5, 9]], np.uint8)
V = np.array([2.5, 0.5, -1.25, 3.0])
C = V + 1j * V[::-1]
SCALAR = np.array(2.5)

TAKEN: dict[str, tuple[Any, ...]] = {
    "sums and products as bools": (
        lambda np, b, f: (
            np.sum(b, dtype=bool),
            np.sum(f, axis=0, dtype="?"),
            np.prod(b, axis=1, dtype=bool, keepdims=True),
            np.nansum(f, axis=1, dtype=bool),
            np.nanprod(f, dtype=bool),
            np.sum(b, dtype=bool, where=f > 0, initial=False),
            np.trace(b, dtype=bool),
        ),
        B,
        F,
    ),
    "running sums and products as bools": (
        lambda np, b, f: (
            np.cumsum(b, dtype=bool),
            np.cumsum(f, axis=0, dtype=bool),
            np.cumprod(b, axis=1, dtype=bool),
            np.cumprod(f, dtype=bool),
            np.cumulative_sum(f, axis=1, dtype=bool, include_initial=True),
            np.nancumprod(f, axis=1, dtype=bool),
            np.nancumsum(b, dtype=bool),
        ),
        B,
        F,
    ),
    "ufuncs add and multiply of bools": (
        lambda np, b, f: (
            np.add.reduce(b, dtype=bool),
            np.multiply.reduce(f, axis=1, dtype=bool),
            np.add.accumulate(b, axis=1, dtype=bool),
            np.multiply.accumulate(f, dtype=bool),
            np.add.reduceat(b, [0, 1], axis=1, dtype=bool),
        ),
        B,
        F,
    ),
    "the axis of a number": (
        lambda np, x: (
            np.sum(x, axis=0),
            np.prod(x, -1, keepdims=True),
            np.max(x, axis=0),
            np.any(x, axis=-1),
            np.count_nonzero(x, axis=0),
            np.ptp(x, axis=0),
            np.nansum(x, axis=0),
            np.nanmean(x, axis=-1),
            np.nanvar(x, axis=0),
            np.argmax(x, 0),
            np.argmin(x, axis=-1),
            np.nanargmax(x, 0),
            np.min(x, axis=0, initial=1.0),
            np.squeeze(x, -1),
            np.sum(x, axis=0, where=True, initial=2.0),
        ),
        SCALAR,
    ),
    "the axis of a number as a line": (
        lambda np, x: (
            np.argsort(x),
            np.argsort(x, axis=0),
            np.argsort(x, None),
            np.sort(x, axis=None),
            np.argpartition(x, 0),
            np.cumsum(x, axis=0),
            np.cumprod(x, axis=-1),
            np.cumulative_sum(x),
            np.cumulative_prod(x, axis=0, include_initial=True),
            np.take(x, 0, axis=0),
            np.take(x, [[0, 0]], axis=-1),
            np.repeat(x, 2, axis=0),
            np.compress([True], x, axis=0),
        ),
        SCALAR,
    ),
    "bits of a number": (
        lambda np, x: (np.packbits(x, axis=0), np.unpackbits(x, axis=-1)),
        np.array(1, np.uint8),
    ),
    "ufuncs reduce numbers": (
        lambda np, x, n: (
            np.add.reduce(x),
            np.maximum.reduce(x, axis=-1),
            np.subtract.reduce(x),
            np.divide.reduce(n, axis=0, keepdims=True),
            np.bitwise_or.reduce(n),
            np.hypot.reduce(x, initial=3.0),
            np.logical_and.reduce(x, axis=0),
        ),
        SCALAR,
        np.array(6),
    ),
    "the triangle of a line": (
        lambda np, x: (np.tril(x), np.triu(x, 1), np.tril(x, -1), np.triu(x[:0])),
        V,
    ),
    "the first value of a reduction whose order matters": (
        lambda np, f, n: (
            np.subtract.reduce(f, axis=0, initial=10.0),
            np.divide.reduce(f[:, :2], axis=0, initial=3.0),
            np.power.reduce(f[:, 1:], axis=0, initial=1.5),
            np.left_shift.reduce(n[:1], axis=0, initial=3),
            np.arctan2.reduce(f, axis=0, initial=0.5),
            np.floor_divide.reduce(n, axis=1, initial=100, keepdims=True),
            np.subtract.reduce(f[:0], axis=0, initial=4.0),
        ),
        F,
        np.array([[3, 1, 4], [1, 5, 9]]),
    ),
    "the first value of a masked reduction counts once": (
        lambda np, n, f, m: (
            np.bitwise_xor.reduce(n, initial=100, where=m),
            np.bitwise_xor.reduce(n, axis=1, initial=7, where=m),
            np.hypot.reduce(f, initial=1.5, where=m),
            np.logaddexp.reduce(f, axis=0, initial=0.5, where=m),
            np.gcd.reduce(n, initial=6, where=m),
        ),
        INTS,
        F,
        B,
    ),
    "a mask where the order matters": (
        lambda np, f, m: (
            np.subtract.reduce(f, axis=1, initial=10.0, where=m),
            np.divide.reduce(f, axis=0, initial=2.0, where=m),
            np.power.reduce(f, initial=2.0, where=False),
        ),
        F,
        B,
    ),
    "the identity of unsigned numbers": (
        lambda np, u, m: (
            np.bitwise_and.reduce(u, where=m),
            np.bitwise_and.reduce(u, axis=1, where=m, keepdims=True),
            np.bitwise_and.reduce(u[:0], axis=0),
        ),
        U,
        B,
    ),
    "a reduction over no axes": (
        lambda np, n, f: (
            np.gcd.reduce(n, axis=()),
            np.hypot.reduce(f, axis=(), keepdims=True),
            np.hypot.reduce(f[:, :1], axis=1),
            np.gcd.reduce(n[:1]),
            np.maximum.reduce(f, axis=()),
        ),
        INTS,
        F,
    ),
}


def _nothing_put(np: Any) -> tuple[Call, ...]:
    """Changes of a matrix by no values, which are none."""
    return (
        lambda a: np.fill_diagonal(a, a[:0]),
        lambda a: np.put(a, [0], []),
        lambda a: np.putmask(a, a > 0, a[0, :0]),
    )


TAKEN |= {
    "no elements": (
        lambda np, x: (
            np.diag(x),
            np.diag(x, -2),
            np.diagflat(x[:, None]),
            np.resize(x, (2, 2)),
            np.nanquantile(x, 0.5),
            np.nanpercentile(x[:, None], 50, axis=1),
            np.nanquantile(x[:, None] * [1.0, 2.0], 0.5, axis=0, keepdims=True),
            np.partition(x, 1),
            np.argpartition(x[None], 3),
            np.add.reduceat(x, []),
            np.tri(-1, 3),
            np.take(np.concatenate([x, x + 1]), []),
            np.quantile(np.ones((2, 3)), [], axis=0),
            np.percentile(np.ones(2), [], keepdims=True),
            np.tri(2, -3),
        ),
        np.zeros(0, np.float32),
    ),
    "nothing is put in place": (
        lambda np, x: tuple((f(a := x * 1), a)[1] for f in _nothing_put(np)),
        F,
    ),
    "bools as numbers": (
        lambda np, x: (
            np.take(x, True, axis=1),
            np.take(x, [True, False], axis=1),
            np.sinh(True),
            np.log1p(True),
            np.repeat(x, True, axis=1),
        ),
        F,
    ),
    "a number as a line": (
        lambda np, x, v: (np.convolve(2.0, v), np.convolve(v, x), np.convolve(x, x)),
        SCALAR,
        V,
    ),
    "lists": (
        lambda np, x: (np.fft.rfft([1.0, 2.0, 3.0]) + x, np.fft.rfftn([[1, 2], [3, 4]])),
        np.array(1.0),
    ),
    "places along an axis broadcast": (
        lambda np, x, i: (
            np.take_along_axis(x[:, :1], i, 0),
            np.take_along_axis(x, i[:, :1], 0),
            np.take_along_axis(x[:1], i, 1),
        ),
        F,
        np.array([[0, 1, 1], [1, 0, 0]]),
    ),
    "edges of bins have the type of the points": (
        lambda np, x, y: (
            np.histogram2d(x, y, 3),
            *np.histogram2d(x, y, 2, range=[(-2, 2), (0, 5)])[1:],
            *np.histogram2d(x, y, np.array([2, 3])),
            np.histogramdd(np.stack([x, y], 1), 2)[0],
            np.histogramdd(np.stack([x, y], 1), 2)[1][0],
            np.histogramdd([2.0, 3.0], 2)[0],
        ),
        V.astype(np.float32),
        np.array([1, 2, 3, 4], np.int8),
    ),
    "indices of no type": (
        lambda np, x: (np.indices((2, 1), None) + x, *np.indices((2, 3), None, True)),
        np.array(1),
    ),
    "a number is clipped as an array": (
        lambda np, f, u: (np.clip(1.5, f, 2), np.clip(-1, None, u), np.clip(3, u, 300)),
        F.astype(np.float32),
        U,
    ),
    "powers of matrices by name": (
        lambda np, x: (np.linalg.matrix_power(a=x, n=2), np.linalg.matrix_power(x, n=True)),
        F[:, :2],
    ),
    "counts of nothing": (
        lambda np, x: (
            np.bincount([], minlength=2) + x,
            np.bincount([]),
            np.bincount(x, minlength=3),
        ),
        V[:2] > 0,
    ),
    "more by position than by name": (
        lambda np, x: (
            np.ones((2, 1), "i1", "C") + x,
            np.zeros_like(x, "i2", "K"),
            np.full((2,), 3, "f4", "C") * x,
            np.copy(x, "K"),
            np.asarray(x, "f4", "C"),
            np.sum(x, 0, None, None, True),
        ),
        np.array([[2.0, 3.0]]),
    ),
}


def jitted(call: Call, *arrays: Any) -> Any:
    return pyc.jit(lambda *xs: call(np, *xs))(*arrays)


def outside(call: Call, *arrays: Any) -> Any:
    return call(pnp, *arrays)


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize("name", TAKEN)
def test_what_numpy_takes_is_taken(name: str, run: Call) -> None:
    call, *arrays = TAKEN[name]
    expected = call(np, *arrays)
    assert not difference(expected, run(call, *arrays))


def test_windows_that_stay_as_they_are() -> None:
    window, options = np.lib.stride_tricks.sliding_window_view, {"subok": True, "writeable": False}
    expected = window(V, 2, **options)
    assert not difference(expected, pnp.sliding_window_view(V, 2, **options))
    assert not difference(expected, pyc.jit(lambda x: window(x, 2, **options))(V))


REFUSED: dict[str, tuple[Any, ...]] = {
    "an axis that a number has not": (
        [
            lambda np, x: np.sum(x, axis=1),
            lambda np, x: np.sum(x, axis=(0,)),
            lambda np, x: np.mean(x, axis=0),
            lambda np, x: np.median(x, axis=0),
            lambda np, x: np.sort(x),
            lambda np, x: np.flip(x, 0),
            lambda np, x: np.argsort(x, 1),
            lambda np, x: np.roll(x, 1, axis=0),
        ],
        SCALAR,
    ),
    "a mask without a first value": (
        [
            lambda np, x: np.subtract.reduce(x, where=x > 1),
            lambda np, x: np.maximum.reduce(x, where=x > 1),
        ],
        V,
    ),
    "arguments that are no integers": (
        [
            lambda np, x: np.arange([1, 2]) + x,
            lambda np, x: np.linspace(0, x[0], 3.0),
            lambda np, x: np.logspace(0, 1, 3.0) + x,
            lambda np, x: np.geomspace(1, 2, 3.0) + x,
            lambda np, x: np.reshape(x, 2.0),
            lambda np, x: np.polyder(x, [1]),
            lambda np, x: np.vander(x, 2.0),
            lambda np, x: np.diag_indices(None) + x,
        ],
        V,
    ),
    "axes of running ufuncs": (
        [
            lambda np, x: np.maximum.accumulate(x, axis=None),
            lambda np, x: np.subtract.accumulate(x, axis=None),
            lambda np, x: np.add.accumulate(x[0, 0]),
            lambda np, x: np.add.reduceat(x[0, 0], [0]),
        ],
        F,
    ),
    "types of ufuncs": (
        [
            lambda np, x: np.less(x, x, dtype=float),
            lambda np, x: np.sin(x, dtype=int),
            lambda np, x: np.divide(x, x, dtype=int),
        ],
        np.array([1, 2]),
    ),
    "weights of another shape": (
        [
            lambda np, x: np.histogram(x, weights=2),
            lambda np, x: np.histogram(x, [0, 1], weights=x[:2]),
            lambda np, x: np.histogram_bin_edges(x, 3, weights=x[:1]),
            lambda np, x: np.histogram2d(x, x, weights=x[:1]),
            lambda np, x: np.histogramdd(x[:, None], weights=x[:, None]),
            lambda np, x: np.histogram2d(x.reshape(2, 2), x.reshape(2, 2)),
        ],
        V,
    ),
    "bins whose range is not finite": (
        [
            lambda np, x: np.histogram(x),
            lambda np, x: np.histogram(x[1:], 3),
            lambda np, x: np.histogram_bin_edges(x),
            lambda np, x: np.histogram2d(x, x),
            lambda np, x: np.histogramdd(x),
        ],
        np.array([1.0, 2.0, np.nan, np.inf]),
    ),
    "vectors and matrices": (
        [
            lambda np, x: np.tensordot(x, x, 3),
            lambda np, x: np.matvec(x[0], x[0]),
            lambda np, x: np.vecmat(x[0], x[0]),
            lambda np, x: np.matvec(x, x[0, 0]),
        ],
        F[:, :2],
    ),
    "what is not NaN, where all is": (
        [
            lambda np, x: np.nanargmax(x),
            lambda np, x: np.nanargmin(x[None] * [[1.0], [2.0]], axis=0),
            lambda np, x: np.nanargmin(x[0]),
        ],
        np.array([np.nan, np.nan]),
    ),
    "weights of quantiles that sum to nothing": (
        [
            lambda np, x, w: np.quantile(x, 0.5, weights=w, method="inverted_cdf"),
            lambda np, x, w: np.quantile(x, 0.5, weights=w + np.inf, method="inverted_cdf"),
        ],
        V,
        V * 0,
    ),
    "lines and axes": (
        [
            lambda np, x: np.linalg.outer(x, x[:, 0]),
            lambda np, x: np.lexsort([x[0, 0]], axis=10),
            lambda np, x: np.bincount(x[0]),
            lambda np, x: np.insert(x[0], np.array([1.0, 2.0]), [10, 20]),
        ],
        F,
    ),
    "one thing said twice, or badly": (
        [
            lambda np, x: np.var(x, ddof=1, correction=1, where=x > 1),
            lambda np, x: np.sort(x, kind="bad"),
            lambda np, x: np.argsort(x, kind="bad"),
            lambda np, x: np.ediff1d(x > 1),
            lambda np, x: np.put_along_axis(x + 1, np.array([0]), 1.0, 3),
        ],
        V,
    ),
    "numbers are not changed in place": (
        [
            lambda np, x: np.copyto(1.5, x),
            lambda np, x: np.put(2, [0], x),
            lambda np, x: np.putmask(3, x > 1, x),
            lambda np, x: np.place([1.0], x > 1, x),
        ],
        V,
    ),
    "a first value that the type does not hold": (
        [
            lambda np, x: np.max(x, initial=-2.5),
            lambda np, x: np.prod(x, dtype="u2", initial=-2.5),
            lambda np, x: np.bitwise_xor.reduce(x, initial=-2),
            lambda np, x: np.nanmin(x, initial=300),
        ],
        U,
    ),
}


@pytest.mark.parametrize("run", [outside, jitted])
@pytest.mark.parametrize(
    ("name", "k"), [(n, k) for n in REFUSED for k in range(len(REFUSED[n][0]))]
)
def test_what_numpy_refuses_is_refused_as_it_does(name: str, k: int, run: Call) -> None:
    calls, *arrays = REFUSED[name]
    with pytest.raises(Exception) as theirs:
        calls[k](np, *arrays)
    # Of what is known while tracing NumPy itself may raise.
    with pytest.raises((PycError, TypeError, ValueError)) as found:
        run(calls[k], *arrays)
    assert isinstance(found.value, (theirs.type, *theirs.type.__bases__[:1])), found.value


@pytest.mark.parametrize(
    "call",
    [
        lambda: pnp.blackman(21),
        lambda: pnp.hamming(22),
        lambda: pnp.hanning(23),
        lambda: pnp.geomspace(1.5, 100.0, 24),
        lambda: pnp.piecewise(V, [V < 0, V > 1], [lambda v: -v, 2.0, 7]),
    ],
    ids=["blackman", "hamming", "hanning", "geomspace", "piecewise"],
)
def test_a_first_call_compiles_one_program(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """On NumPy's arrays and numbers, outside of a trace; its operations are not programs too."""
    made: list[str] = []

    def counting(compiler: Call) -> Call:
        def run(graph: Any, *args: Any, name: str = "", **options: Any) -> Any:
            made.append(name)
            return compiler(graph, *args, name=name, **options)

        return run

    pyc.clear_caches()
    monkeypatch.setattr(eager, "compile_graph", counting(eager.compile_graph))
    call()
    assert len(made) == 1, made
