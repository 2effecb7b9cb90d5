"""Arguments of NumPy's functions beyond the first ones, and names that tell of shapes and types,
against NumPy: outside of a trace, traced by pyc's names, and traced by NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.errors import ArgumentError, DTypeError, ShapeError, UnsupportedOpError
from tests.numpy.interpreted import difference, interpreted, outcome

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]
RNG = np.random.default_rng(7)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")

drawn = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

V, M, X = RNG.normal(size=6), RNG.normal(size=(4, 6)), RNG.normal(size=(3, 4, 5))
W = RNG.uniform(0.5, 2, 6)
S = V.astype(np.float32)
C = V[:4] + 1j * M[0, :4]
GAPS = np.where(M > 0.8, np.nan, M)
INTS = RNG.integers(-4, 5, (3, 7))
SORTED = np.sort(V)
PLACES = np.array([0, 2, 1, 3])

CASES: dict[str, tuple[Any, ...]] = {
    "reshape by columns": (lambda np, x: np.reshape(x, (2, -1), order="F"), M),
    "reshape of more axes": (lambda np, x: np.reshape(x, (5, 2, 6), order="F"), X),
    "ravel by columns": (lambda np, x: (np.ravel(x, "F"), np.ravel(x, order="F")), X),
    "order of one axis": (lambda np, x: (np.ravel(x, "K"), np.reshape(x, (2, 3), order="A")), V),
    "order of new arrays": (lambda np, x: np.zeros_like(x, order="F") + np.array(x, order="F"), M),
    "concatenate into a type": (
        lambda np, x, y: (
            np.concatenate([x, y], dtype=np.float32),
            np.stack([x, y], dtype="f8"),
            np.hstack([x, y], dtype="f4", casting="unsafe"),
            np.vstack([x, y], dtype="c16"),
        ),
        V,
        S,
    ),
    "ediff1d with ends": (
        lambda np, x: (
            np.ediff1d(x, 0.0, [1.0, 2.0]),
            np.ediff1d(x, to_begin=9),
            np.ediff1d(x, 0, 0),
        ),
        M,
    ),
    "like others": (
        lambda np, x: (
            np.ones_like(x, shape=3),
            np.zeros_like(x, dtype="i4", shape=(2, 2)),
            np.full_like(x, 7, shape=()),
            np.empty_like(x, shape=(0, 2)),
        ),
        S,
    ),
    "linspace of arrays": (
        lambda np, x, y: (np.linspace(x, y, 4, axis=-1), np.linspace(x, y, 3, False, axis=1)),
        M,
        V,
    ),
    "linspace and its step": (
        lambda np, x: (
            *np.linspace(x, 2.0, 4, retstep=True),
            *np.linspace(0, 1, 5, retstep=True),
            *np.linspace(x, 1, 1, retstep=True),
        ),
        V,
    ),
    "linspace of whole numbers": (
        lambda np, x: (np.linspace(-2.5, 2, 4, dtype=int), np.linspace(x, 4, 7, dtype="i4")),
        V,
    ),
    "logspace of arrays": (
        lambda np, x, b: (np.logspace(x, 1, 3, axis=1), np.logspace(0, 2, 3, base=b)),
        V,
        W,
    ),
    "logspace of half floats": (lambda np, x: np.logspace(x, 1, 3), V.astype(np.float16)),
    "meshgrid of lines": (
        lambda np, x, y: (
            *np.meshgrid(x, y, sparse=True),
            *np.meshgrid(x, y, sparse=True, indexing="ij", copy=False),
        ),
        V,
        M[0, :3],
    ),
    "indices of lines": (lambda np: np.indices((2, 3, 1), sparse=True),),
    "average and weights": (
        lambda np, x, w: (
            *np.average(x, axis=1, weights=w, returned=True),
            *np.average(x, axis=0, returned=True),
            *np.average(x, axis=1, weights=w, returned=True, keepdims=True),
        ),
        M,
        W,
    ),
    "average of integers": (
        lambda np, x, w: np.average(x, axis=(0, 1), weights=w),
        INTS,
        np.abs(INTS).astype(np.float32) + 1,
    ),
    "average over axes of weights": (
        lambda np, x, w: np.average(x, axis=(2, 0), weights=w),
        X,
        np.abs(X[:, 0].T),
    ),
    "variance from a mean": (
        lambda np, x: (
            np.var(x, axis=1, mean=np.mean(x, axis=1, keepdims=True)),
            np.std(x, mean=0.5, ddof=1),
            np.var(x, where=x > 0, mean=0.25),
        ),
        M,
    ),
    "types of statistics": (
        lambda np, x: (
            np.nansum(x, dtype=np.float32),
            np.nanprod(x, axis=0, dtype="f4"),
            np.nanmean(x, 1, "f4", keepdims=True),
            np.nanvar(x, axis=0, dtype="f4"),
            np.nancumsum(x, dtype="f4"),
            np.nancumprod(x, 1, "f4"),
        ),
        GAPS,
    ),
    "variances without NaN": (
        lambda np, x: (
            np.nanvar(x, correction=1),
            np.nanstd(x, axis=1, ddof=1, mean=np.nanmean(x, axis=1, keepdims=True)),
        ),
        GAPS,
    ),
    "gradient of second order": (
        lambda np, x: (
            *np.gradient(x, edge_order=2),
            np.gradient(x, 0.5, axis=1, edge_order=2),
            np.gradient(x[:3], axis=0, edge_order=2),
        ),
        M,
    ),
    "gradient at places": (
        lambda np, x, p: (
            np.gradient(x, p, axis=1),
            np.gradient(x, p, axis=1, edge_order=2),
            *np.gradient(x, 2.0, [0, 1, 3, 4, 5.5, 9]),
            np.gradient(x[:, :2], [1, 4], axis=1),
        ),
        M,
        np.cumsum(W),
    ),
    "interp of periods": (
        lambda np, x, p: (np.interp(x, p, x, period=1.5), np.interp(x, p, x, 0, 1, -3)),
        V,
        3 * W,
    ),
    "interp of complex numbers": (
        lambda np, x, p, c: (np.interp(x, p, c), np.interp(x, p, c, 1j, 2)),
        V,
        SORTED[:4],
        C,
    ),
    "cov of weights": (
        lambda np, x, n, w: (
            np.cov(x, fweights=n),
            np.cov(x, aweights=w),
            np.cov(x, fweights=n, aweights=w, ddof=0),
            np.cov(x, fweights=n, aweights=w, bias=True),
            np.cov(x, x[::-1], dtype=np.float32),
        ),
        M,
        np.array([1, 2, 3, 1, 1, 4]),
        W,
    ),
    "cov of singles": (lambda np, x: (np.cov(x), np.cov(x + 1j), np.corrcoef(x, dtype="f4")), S),
    "einsum by lists": (
        lambda np, x: (
            np.einsum(x, [0, 1], x, [2, 1]),
            np.einsum(x, [0, 1], x, [2, 1], [2, 0]),
            np.einsum(x, [..., 0], [...]),
        ),
        M,
    ),
    "einsum in other orders": (
        lambda np, x: (
            np.einsum("ij,kj,kl->il", x, x, x, optimize=True),
            np.einsum("ij,kj,kl->il", x, x, x, optimize="optimal"),
            np.einsum("ij,kj,kl->il", x, x, x, optimize=["einsum_path", (1, 2), (0, 1)]),
            np.einsum("ij,kj->ik", x, x, optimize="greedy"),
            np.einsum("ij->j", x, dtype="f4", casting="same_kind"),
        ),
        M,
    ),
    "isin of many": (
        lambda np, x, t: (np.isin(x, t), np.isin(x, t, invert=True), np.isin(x, t, kind="sort")),
        INTS,
        np.arange(-3, 200, 3),
    ),
    "isin of floats": (
        lambda np, x, t: np.isin(x, t),
        GAPS,
        np.append(M.ravel()[::2], [np.nan] * 80),
    ),
    "places by columns": (
        lambda np, i: (
            *np.unravel_index(i, (4, 5), order="F"),
            np.ravel_multi_index((i, i), (5, 6), order="F"),
            np.ravel_multi_index((i - 1, i + 3), (3, 4), mode="wrap"),
            np.ravel_multi_index((i - 1, i + 3), (3, 4), mode=("clip", "wrap")),
        ),
        PLACES,
    ),
    "digitize by descending edges": (
        lambda np, x, e: (
            np.digitize(x, e),
            np.digitize(x, e, right=True),
            np.digitize(x, [3, 1, 0]),
        ),
        V,
        SORTED[::-1].copy(),
    ),
    "pieces in a row": (
        lambda np, x: (
            np.r_[x, 1:3, 0],
            np.r_["0,2", x, x],
            np.r_["1,3,0", x, x],
            np.r_[0:1:3j, x],
        ),
        V,
    ),
    "columns side by side": (
        lambda np, x: (np.c_[x, x], np.c_[x[:, None], x[None].T], np.c_[0:6, x]),
        V,
    ),
    "pieces of singles": (lambda np, x: np.r_[x, 1.0, 2], S),
    "complex numbers without NaN": (
        lambda np, x: (np.nan_to_num(x), np.nan_to_num(x, nan=2, posinf=3.0, copy=True)),
        np.array([complex(np.nan, 1), complex(-np.inf, np.nan), complex(2, np.inf), 1j]),
    ),
    "checked and required": (
        lambda np, x: (
            np.asarray_chkfinite(x),
            np.require(x, np.float32, ["C"]),
            np.asanyarray(x),
            np.asfortranarray(x),
        ),
        M,
    ),
    "arrays of items": (
        lambda np: (np.fromiter(range(4), np.int64), np.frombuffer(b"\x01\x02", np.uint8)),
    ),
    "parts of lines": (lambda np, x: np.partition(x, 5, kind="introselect")[5], V),
    "inner axes": (
        lambda np, x: (
            np.vecdot(x, x, axis=0),
            np.matmul(x, x, axes=[(1, 0), (0, 1), (1, 0)]),
            np.add(x, 1, dtype="f4", casting="same_kind"),
        ),
        M[:, :4].copy(),
    ),
}  # fmt: skip


def ours(call: Call, *arrays: Any) -> Any:
    """What pyc.numpy gives outside of a trace."""
    with np.errstate(all="ignore"):
        found = call(pnp, *(np.array(a) for a in arrays))
    return tuple(found) if isinstance(found, list) else found


def by_numpys_names(call: Call, *arrays: Any) -> Any:
    found = pyc.jit(lambda *xs: call(np, *xs))(*arrays)
    return tuple(found) if isinstance(found, list) else found


@pytest.mark.parametrize("run", [ours, interpreted, by_numpys_names])
@pytest.mark.parametrize("name", CASES)
def test_an_argument_does_what_it_does_in_numpy(name: str, run: Call) -> None:
    """Shape, dtype and value."""
    call, *arrays = CASES[name]
    if run is interpreted and not arrays:
        arrays, inner = [np.float64(0)], call
        call = lambda p, x: inner(p)  # noqa: E731 - without arguments there is nothing to trace
    expected = outcome(lambda: call(np, *arrays))
    assert not isinstance(expected, Exception), expected
    assert not difference(expected, run(call, *arrays))


# --- pad ------------------------------------------------------------------------------------------

MODES = (
    *("constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum"),
    *("reflect", "symmetric", "wrap"),
)


@st.composite
def paddings(draw: Any) -> tuple[Array, Any, str, dict[str, Any]]:
    """(array, widths, mode, options)."""
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), min_size=1, max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["f8", "f4", "i4", "u1", "c16"]))
    x = (rng.normal(size=shape) * 9).astype("i4" if kind == "u1" else kind).astype(kind)
    mode = draw(st.sampled_from(MODES))
    if kind == "c16" and mode in ("median", "mean"):
        x = x.real
    pairs = [tuple(draw(st.integers(0, 7)) for _ in range(2)) for _ in shape]
    widths = draw(st.sampled_from([pairs, pairs[0], pairs[0][0], {0: pairs[0]}]))
    options: dict[str, Any] = {}
    if mode in ("reflect", "symmetric"):
        options["reflect_type"] = draw(st.sampled_from(["even", "odd"]))
    if mode in ("maximum", "mean", "median", "minimum") and draw(st.booleans()):
        options["stat_length"] = draw(st.sampled_from([1, 2, 9, (1, 2)]))
    names = {"constant": "constant_values", "linear_ramp": "end_values"}
    if mode in names and draw(st.booleans()):
        values = [(1, 2)] * len(shape)
        options[names[mode]] = draw(st.sampled_from([3, (3, 4), values]))
    return x, widths, mode, options


@drawn
@given(paddings())
def test_arrays_are_padded_as_numpy_pads_them(case: tuple[Array, Any, str, Any]) -> None:
    x, widths, mode, options = case
    expected = outcome(lambda: np.pad(x, widths, mode=mode, **options))
    call: Call = lambda p, v: p.pad(v, widths, mode=mode, **options)  # noqa: E731
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)):
            interpreted(call, x)
        return
    found = interpreted(call, x)
    if mode == "empty":
        inner = tuple(slice(a, a + n) for (a, _), n in zip(_pairs(x, widths), x.shape, strict=True))
        expected, found = np.asarray(expected)[inner], np.asarray(found)[inner]
    assert not difference(expected, found)


def _pairs(x: Array, widths: Any) -> list[tuple[int, int]]:
    if isinstance(widths, dict):
        return [widths.get(k, (0, 0)) for k in range(x.ndim)]
    return [tuple(row) for row in np.broadcast_to(widths, (x.ndim, 2)).tolist()]


# --- quantiles ------------------------------------------------------------------------------------

RULES = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull", "lower"),
    *("interpolated_inverted_cdf", "median_unbiased", "normal_unbiased", "higher", "midpoint"),
    "nearest",
)


@st.composite
def samples(draw: Any) -> tuple[Array, Array, Any]:
    """(array, fractions, axis)."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=2)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.integers(-5, 6, shape) if draw(st.booleans()) else rng.normal(size=shape)
    if x.dtype.kind == "f" and draw(st.booleans()):
        x = np.where(rng.random(shape) < 0.3, np.nan, x)
    q = rng.choice([0, 0.1, 0.25, 0.3, 0.5, 0.9, 1], draw(st.sampled_from([(), (3,), (2, 2)])))
    return x, np.asarray(q), draw(st.sampled_from([None, 0, -1]))


@drawn
@given(
    samples(), st.sampled_from(["quantile", "nanquantile"]), st.sampled_from(RULES), st.booleans()
)
def test_quantiles_by_every_rule(case: Any, name: str, rule: str, keepdims: bool) -> None:
    """At fractions that are known, and at traced ones."""
    x, q, axis = case
    options = {"axis": axis, "method": rule, "keepdims": keepdims}
    expected = outcome(lambda: getattr(np, name)(x, q, **options))
    known = interpreted(lambda p, v: getattr(p, name)(v, q.tolist(), **options), x)
    traced = interpreted(lambda p, v, f: getattr(p, name)(v, f, **options), x, q)
    if q.ndim or x.dtype.kind != "f":
        assert not difference(expected, known)
    assert not difference(expected, traced)


@drawn
@given(samples(), st.sampled_from(["quantile", "nanquantile"]), st.data())
def test_quantiles_of_weights(case: Any, name: str, data: Any) -> None:
    x, q, axis = case
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    w = rng.integers(0, 3, x.shape) + data.draw(st.sampled_from([0.0, 0.5]))
    options = {"axis": axis, "method": "inverted_cdf"}
    expected = outcome(lambda: getattr(np, name)(x, q, weights=w, **options))
    if isinstance(expected, Exception) or np.isnan(w / w.sum(axis, keepdims=True)).any():
        return
    found = interpreted(lambda p, v, u: getattr(p, name)(v, q.tolist(), weights=u, **options), x, w)
    assert not difference(expected, found)


def test_traced_fractions_that_there_are_not_give_nan() -> None:
    found = pyc.jit(np.quantile)(V, np.array([-0.5, 0.5, 2.0]))
    assert np.isnan(found[[0, 2]]).all() and found[1] == np.median(V)


# --- facts ----------------------------------------------------------------------------------------

FACTS: dict[str, Call] = {
    "shape": lambda np: (np.shape(M), np.ndim(X), np.size(X), np.size(X, 1), np.size(X, (0, 2))),
    "kinds": lambda np: (np.iscomplexobj(C), np.isrealobj(V), np.iterable(V), np.iterable(3)),
    "scalars": lambda np: (np.isscalar(3), np.isscalar([3]), np.isscalar("a")),
    "types": lambda np: (
        np.promote_types("i4", "f4"),
        np.common_type(S, INTS),
        np.common_type(S),
        np.min_scalar_type(-300),
        np.min_scalar_type(S),
        np.issubdtype(np.int8, np.integer),
        np.can_cast("f8", "f4", casting="same_kind"),
    ),
    "names of types": lambda np: (
        *(np.bool, np.intp, np.single, np.double, np.cdouble, np.floating, np.number, np.int_),
        *(np.dtype("f4"), np.ndarray, np.True_, np.False_, np.euler_gamma),
    ),
    "indices": lambda np: (np.s_[1:2, ...], np.index_exp[::3]),
    "orders of products": lambda np: np.einsum_path("ij,jk,kl", M.T, M, M.T)[0],
}


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_is_that_of_numpy(name: str) -> None:
    assert FACTS[name](pnp) == FACTS[name](np)


def test_facts_of_traced_values() -> None:
    def facts(x: Any) -> Any:
        assert pnp.shape(x) == (4, 6) and np.size(x, (0, 1)) == 24 and pnp.ndim(x) == 2
        assert not pnp.isscalar(x) and pnp.isscalar(x[0, 0]) and pnp.iterable(x)
        return x * pnp.size(x, 0)

    np.testing.assert_array_equal(pyc.jit(facts)(M), 4 * M)


# --- methods --------------------------------------------------------------------------------------

VIEWS = [
    ("c16", "f8"),
    ("f8", "c16"),
    ("f8", "u1"),
    ("u1", "i4"),
    ("f4", "f8"),
    ("i2", "u8"),
    ("c8", "i4"),
]


@pytest.mark.parametrize(("own", "other"), VIEWS)
def test_bits_are_read_as_numbers_of_another_size(own: str, other: str) -> None:
    x = np.frombuffer(RNG.integers(1, 60, 64).astype("u1").tobytes(), own).reshape(2, -1)
    expected = x.view(other)
    found = pyc.jit(lambda v: v.view(other))(x)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    assert np.asarray(pyc.device_put(x, "cpu").view(other)).tobytes() == expected.tobytes()


def test_parts_of_arrays_by_methods() -> None:
    def parts(x: Any) -> Any:
        y = x.copy()
        y.partition(3)
        return y[3], x[x.argpartition(2)][2], x.reshape(2, 3, order="F"), x[None].flatten("F")

    assert not difference(parts(V), pyc.jit(parts)(V))


def test_methods_of_ufuncs_under_pycs_names() -> None:
    def methods(p: Any, x: Any) -> Any:
        return (
            p.add.reduce(x, axis=1),
            p.multiply.accumulate(x, 1),
            p.subtract.outer(x[0], x[1]),
            p.maximum.reduceat(x, [0, 2, 1], axis=1),
            p.logical_or.reduce(x, axis=None),
        )

    expected = methods(np, M)
    assert not difference(expected, methods(pnp, M))
    assert not difference(expected, interpreted(methods, M))
    assert not difference(expected, methods(pnp, pyc.device_put(M, "cpu")))
    changed = np.zeros(3)
    pnp.add.at(changed, [0, 0, 2], 1.0)
    assert changed.tolist() == [2, 0, 1]


ERRORS: dict[str, tuple[type[Exception], Call]] = {
    "edges in no order": (ArgumentError, lambda p: p.digitize([1], [1, 3, 2])),
    "complex edges": (DTypeError, lambda p: p.digitize([1j], [1, 3])),
    "edges in a table": (ValueError, lambda p: p.digitize([1], [[1, 3]])),
    "unknown way": (ArgumentError, lambda p: p.isin([1], [1], kind="hash")),
    "unknown order": (ArgumentError, lambda p: p.ravel_multi_index(([1], [1]), (2, 2), order="A")),
    "unknown mode": (ArgumentError, lambda p: p.ravel_multi_index(([1], [1]), (2, 2), mode="skip")),
    "conversion": (DTypeError, lambda p: p.concatenate([V, V], dtype=np.int32)),
    "conversion of einsum": (DTypeError, lambda p: p.einsum("i->", V, dtype=np.float32)),
    "ends of differences": (DTypeError, lambda p: p.ediff1d([1, 2], to_end=0.5)),
    "weights without an axis": (DTypeError, lambda p: p.average(M, weights=W)),
    "weights of another shape": (ValueError, lambda p: p.average(M, axis=1, weights=W[:3])),
    "order of edges": (ArgumentError, lambda p: p.gradient(V, edge_order=3)),
    "few elements": (ShapeError, lambda p: p.gradient(V[:2], edge_order=2)),
    "places of another number": (ShapeError, lambda p: p.gradient(V, [1, 2])),
    "distances": (DTypeError, lambda p: p.gradient(M, 1, 2, 3)),
    "period of zero": (ArgumentError, lambda p: p.interp([1], [1], [1], period=0)),
    "fraction of a degree": (ArgumentError, lambda p: p.cov(M, ddof=0.5)),
    "fraction of an observation": (DTypeError, lambda p: p.cov(M, fweights=W)),
    "less than none": (ArgumentError, lambda p: p.cov(M, aweights=-W)),
    "unknown rule": (ArgumentError, lambda p: p.quantile(V, 0.5, method="best")),
    "rule without weights": (ArgumentError, lambda p: p.quantile(V, 0.5, weights=W)),
    "quantile of complex numbers": (DTypeError, lambda p: p.quantile(C, 0.5)),
    "weights below zero": (
        ArgumentError,
        lambda p: p.quantile(V, 0.5, weights=-W, method="inverted_cdf"),
    ),
    "no weights at all": (
        ArgumentError,
        lambda p: p.quantile(V, 0.5, weights=0 * W, method="inverted_cdf"),
    ),
    "unknown way to pad": (ArgumentError, lambda p: p.pad(V, 1, mode="more")),
    "option of another way": (ArgumentError, lambda p: p.pad(V, 1, mode="edge", end_values=1)),
    "nothing to pad with": (ShapeError, lambda p: p.pad(V[:0], 1, mode="edge")),
    "greatest of none": (ArgumentError, lambda p: p.pad(V, 1, mode="maximum", stat_length=0)),
    "widths": (DTypeError, lambda p: p.pad(V, 0.5)),
    "text behind a piece": (ArgumentError, lambda p: p.r_[V, "0"]),
    "text that says nothing": (ValueError, lambda p: p.r_["x", V]),
    "infinities": (ValueError, lambda p: p.asarray_chkfinite([np.inf])),
    "few items": (ArgumentError, lambda p: p.fromiter([1], np.int64, 2)),
    "common type of bools": (DTypeError, lambda p: p.common_type(V > 0)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_numpy(name: str) -> None:
    """Or classes below them."""
    error, call = ERRORS[name]
    with pytest.raises(error):
        call(pnp)
    kind = TypeError if issubclass(error, TypeError) else ValueError
    with pytest.raises(kind):
        call(np)


def test_orders_of_memory_are_those_of_numpys_arrays_outside_of_a_trace() -> None:
    """Traced values do not tell where they lie, so they are refused."""
    for x in (M, M.T, np.asfortranarray(X)):
        assert not difference(np.reshape(x, (2, -1), order="A"), pnp.reshape(x, (2, -1), order="A"))
        assert not difference(np.ravel(x, "K"), pnp.ravel(x, "K"))
    for call in (lambda x: np.ravel(x, "K"), lambda x: x.T.reshape(24, order="A")):
        with pytest.raises(UnsupportedOpError, match="is the order of memory"):
            pyc.jit(call)(M)


def test_lanes_of_new_arguments() -> None:
    found = pyc.jit(
        pyc.vmap(lambda v: (pnp.quantile(v, 0.3, method="hazen"), pnp.pad(v, 2, mode="mean")))
    )(M)
    expected = (
        np.quantile(M, 0.3, axis=1, method="hazen"),
        np.array([np.pad(v, 2, "mean") for v in M]),
    )
    assert not difference(expected, found)
