"""Arguments that NumPy's own tests give, and what they change: outside of a trace and jitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.jit import jit

V = np.array([3.0, -1.0, 4.0, 1.5])
M = np.arange(12.0).reshape(3, 4) ** 1.5
WITH_NAN = np.where(M > 20, np.nan, M)
PLACES = np.array([0.0, 1.0, 1.5, 4.0])
WHOLE = np.array([[1, 2, 0], [3, 0, 1]])
COMPLEX = np.array([1 + 2j, np.nan + 1j * np.inf, -np.inf + 0j])

CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "average returned": (lambda np, x: np.average(x, axis=0, returned=True), M),
    "average of axes": (lambda np, x: np.average(x, axis=(0, 1), weights=x + 1), M),
    "average of one axis": (lambda np, x: np.average(x, 1, x[0] + 1, keepdims=True), M),
    "choose by bools": (lambda np, x: np.choose(x > 2, (x, -x)), V),
    "cov aweights": (lambda np, x: np.cov(x, aweights=x[0] + 1), M),
    "cov fweights": (lambda np, x: np.cov(x, fweights=[1, 2, 0, 1], ddof=0), M),
    "cov both": (lambda np, x: np.cov(x, fweights=[1, 2, 3, 1], aweights=[1.0, 2, 3, 0.5]), M),
    "cov dtype": (lambda np, x: np.cov(x, dtype=np.float32), M),
    "descending bins": (lambda np, x: np.digitize(x, [3.0, 1.0, 0.0]), V),
    "descending bins right": (lambda np, x: np.digitize(x, [3.0, 1.0, 1.0], right=True), V),
    "traced bins": (lambda np, x: np.digitize([0.5, 1.5, 3.0], x), np.array([3.0, 1.5, 1.0])),
    "ediff1d ends": (lambda np, x: np.ediff1d(x, to_end=[7, 8], to_begin=2.5), V),
    "einsum by numbers": (lambda np, x: np.einsum(x, [0, 1], x, [2, 1], [2, 0]), M),
    "einsum dtype": (lambda np, x: np.einsum("ij->j", x, dtype="f8", optimize=True), WHOLE),
    "geomspace spiral": (lambda np, x: np.geomspace(x[1], x[2], 3, dtype=complex), V),
    "gradient at places": (lambda np, x: np.gradient(x, [0.0, 1.0, 1.5, 4.0], axis=1), M),
    "gradient second order": (lambda np, x: np.gradient(x, 0.5, edge_order=2, axis=1), M),
    "gradient both": (lambda np, x: np.gradient(x, PLACES, axis=1, edge_order=2), M),
    "interp period": (
        lambda np, x: np.interp(x, [190, -190, 350], [5, 10, 3], period=360),
        V * 100,
    ),
    "interp complex": (lambda np, x: np.interp(x, [0.0, 2.0], [1j, 2.0], left=3j), V),
    "interp at NaN": (lambda np, x: np.interp(x, [1.0, 3.0, 4.0], [1.0, 2.0, np.nan]), V),
    "isin kind": (lambda np, x: np.isin(x, [0, 3], kind="table"), WHOLE),
    "linspace whole": (lambda np, x: np.linspace(x[1] - 4, x[2], 6, dtype=int), V),
    "linspace step": (lambda np, x: np.linspace(x, x + 2, 5, retstep=True, axis=-1), V),
    "logspace of bases": (lambda np, x: np.logspace(0, 2, 3, base=x, axis=-1), V + 2),
    "matrix norm of nothing": (lambda np, x: np.linalg.norm(x, 2), np.zeros((0, 3))),
    "vector norm of nothing": (lambda np, x: np.linalg.norm(x, np.inf), np.zeros(0)),
    "meshgrid sparse": (lambda np, x: np.meshgrid(x, x[:2], sparse=True), V),
    "nan_to_num complex": (lambda np, x: np.nan_to_num(x), COMPLEX),
    "nan_to_num infinite": (lambda np, x: np.nan_to_num(x, nan=np.inf, posinf=9.0), WITH_NAN),
    "nancumsum dtype": (lambda np, x: np.nancumsum(x, 1, dtype="f4"), WITH_NAN),
    "nancumprod dtype": (lambda np, x: np.nancumprod(x, dtype=complex), WITH_NAN),
    "nanmean dtype": (lambda np, x: np.nanmean(x, 0, dtype="f4"), WITH_NAN),
    "nanstd correction": (lambda np, x: np.nanstd(x, 0, correction=0.5), WITH_NAN),
    "nansum dtype": (lambda np, x: np.nansum(x, 0, dtype=complex), WITH_NAN),
    "nanvar dtype": (lambda np, x: np.nanvar(x, 0, dtype=complex), WITH_NAN),
    "nanargmax keepdims": (lambda np, x: np.nanargmax(x, keepdims=True), WITH_NAN),
    "ones_like shape": (lambda np, x: np.ones_like(x, shape=(2, 1)), V),
    "pad ends": (lambda np, x: np.pad(x, 2, constant_values=((1, 2), (3, 4))), M),
    "pad maximum": (lambda np, x: np.pad(x, (1, 2), "maximum", stat_length=2), M),
    "pad mean": (lambda np, x: np.pad(x, ((2, 0), (0, 3)), "mean"), WHOLE),
    "pad median": (lambda np, x: np.pad(x, 1, "median", stat_length=((2, 1),)), M),
    "pad ramp": (lambda np, x: np.pad(x, (2, 3), "linear_ramp", end_values=(5, -4)), WHOLE),
    "ravel_multi_index": (
        lambda np, x: np.ravel_multi_index((x[0], x[1]), (2, 3), mode=("wrap", "clip"), order="F"),
        WHOLE,
    ),
    "reduce no bits": (lambda np, x: np.bitwise_and.reduce(x), np.zeros(0, np.uint8)),
    "svd of singular": (lambda np, x: np.linalg.svd(x, hermitian=True), np.diag([1.0, 0.0])),
    "ufunc dtype": (lambda np, x: np.add(x, 1, dtype="f4"), WHOLE),
    "unravel_index": (lambda np, x: np.unravel_index(x, (3, 2), order="F"), WHOLE),
    "var dtype": (lambda np, x: np.var(x, 0, dtype=complex), M),
}


def _same(found: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            _same(one, other)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    eps = 1e-5 if np.asarray(expected).dtype in ("f4", "c8") else 1e-13
    np.testing.assert_allclose(found, expected, eps, eps)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CALLS)
def test_arguments_change_what_they_change_in_numpy(name: str) -> None:
    call, x = CALLS[name]
    expected = call(np, x)
    if name != "reduce no bits":  # the methods of ufuncs are NumPy's
        _same(call(pnp, x), expected)
    _same(jit(lambda x: call(np, x))(x), expected)


REFUSED: dict[str, tuple[Callable[..., Any], type[Exception]]] = {
    "all NaN": (lambda np: np.nanargmin([np.nan, np.nan]), ValueError),
    "bins up and down": (lambda np: np.digitize([1], [1, 3, 2]), ValueError),
    "broken bins": (lambda np: np.histogram([1.0, 2.0], 2.4), TypeError),
    "bins of weights": (lambda np: np.histogram([1, 2], "auto", weights=[1, 2]), TypeError),
    "conditions of integers": (lambda np: np.select([np.array([1])], [1]), TypeError),
    "ddof and correction": (lambda np: np.var([1.0, 2.0], ddof=1, correction=1), ValueError),
    "ends of another kind": (lambda np: np.ediff1d([1, 2], to_end=np.nan), TypeError),
    "fweights of floats": (lambda np: np.cov([1.0, 2.0], fweights=[0.5, 1]), TypeError),
    "half a ddof": (lambda np: np.cov([1.0, 2.0], ddof=0.5), ValueError),
    "negative fweights": (lambda np: np.cov([1.0, 2.0], fweights=[1, -1]), ValueError),
    "negative power": (lambda np: np.power(np.array([2]), np.array([-1])), ValueError),
    "no period": (lambda np: np.interp(1, [1, 2], [1, 2], period=0), ValueError),
    "order": (lambda np: np.unravel_index(1, (2, 2), order="K"), ValueError),
    "out as a list": (lambda np: np.add(1, 2, out=[]), TypeError),
    "pad by floats": (lambda np: np.pad([1, 2], 1.5), TypeError),
    "pad nothing": (lambda np: np.pad(np.zeros(0), 1, "median"), ValueError),
    "places out of range": (lambda np: np.unravel_index(9, (2, 2)), ValueError),
    "places of axes": (lambda np: np.ravel_multi_index((2, 1), (2, 2)), ValueError),
    "sign of bools": (lambda np: np.positive(True), TypeError),
    "stat_length": (lambda np: np.pad([1, 2], 1, "mean", stat_length=-1), ValueError),
    "table of floats": (lambda np: np.isin([1.0], [1.0], kind="table"), ValueError),
    "one line of places": (
        lambda np: np.gradient(np.ones((3, 3)), np.arange(3.0), axis=(0, 1)),
        TypeError,
    ),
    "third order": (lambda np: np.gradient([1.0, 2, 3, 4], edge_order=3), ValueError),
    "two outs": (lambda np: np.add(1, 2, out=(np.zeros(()), np.zeros(()))), ValueError),
    "unlike weights": (lambda np: np.average(np.ones((2, 3)), weights=[1, 2]), TypeError),
    "wrong mode": (lambda np: np.ravel_multi_index((1, 1), (2, 2), mode="bend"), ValueError),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused(name: str) -> None:
    """By an error of the same class."""
    call, error = REFUSED[name]
    with pytest.raises(error):
        call(np)
    with pytest.raises(error) as found:
        call(pnp)
    assert isinstance(found.value, PycError)


def test_results_go_where_out_says() -> None:
    """NumPy's arrays outside of a trace are written, by NumPy's rule for their dtype."""
    out = np.zeros(4)
    assert pnp.add(V, 1, out=out) is out
    assert out.tolist() == (V + 1).tolist()
    assert pnp.add(V, 1, out) is out
    assert pnp.multiply(V, 2, out=out, where=V > 2) is out
    assert out.tolist() == np.where(V > 2, V * 2, V + 1).tolist()
    whole = np.zeros(4, np.float32)
    first, second = pnp.modf(V, out=(None, whole))
    assert second is whole
    assert (whole + first == V).all()
    assert pnp.sum(M, axis=0, out=out) is out
    assert out.tolist() == M.sum(0).tolist()
    assert pnp.percentile(M, 30, axis=0, out=out) is out
    np.testing.assert_allclose(out, np.percentile(M, 30, axis=0))
    with pytest.raises(TypeError, match="does not cast"):
        pnp.add(V, 1, out=np.zeros(4, int))
    with pytest.raises(ValueError, match="shape"):
        pnp.add(V, 1, out=np.zeros(3))


def test_large_python_integers_are_compared_as_they_are() -> None:
    assert pnp.equal(2**200, 2**200)
    assert not pnp.less(2**200, 2**200)
    assert pnp.less(2**199, 2**200)


def test_the_order_in_memory_is_not_asked() -> None:
    """`ravel(order="K")` of NumPy depends on strides, which compiled code does not keep."""
    for order in ("A", "K"):
        with pytest.raises(PycError, match="order"):
            jit(lambda x, order=order: np.ravel(x, order))(np.asfortranarray(M))


def test_nothing_is_put_where_there_are_no_values() -> None:
    def changed(x: Any) -> Any:
        y = x.copy()
        np.put(y, [1, 2], [])
        np.place(y, np.zeros(4, bool), [])
        np.copyto(y, y > 0, casting="unsafe")
        return y

    assert jit(changed)(V).tolist() == changed(V).tolist()
