"""Functions of `pyc.numpy` that are loaded on demand, against NumPy: outside of a trace, traced by
their own name, and traced by NumPy's (`np.f(traced)`)."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import ArgumentError, AxisError, ConcretizationError, DTypeError, ShapeError
from pyc.numpy import on_demand
from tests.numpy.interpreted import difference, interpreted, outcome

Call = Callable[..., Any]
RNG = np.random.default_rng(11)


def floats(*shape: int, dtype: Any = np.float64) -> Any:
    """Normal numbers."""
    return np.asarray(RNG.standard_normal(shape)).astype(dtype)


V, M, X = floats(6), floats(4, 6), floats(3, 4, 5)
GAPS = np.where(floats(3, 4, 5) > 0.3, np.nan, floats(3, 4, 5))
GAPS[0, :, 0] = np.nan
ENDS = [0.0, -0.0, 1.0, -1.5, 1e300, -3e-310, 5e-324, np.inf, -np.inf, np.nan, 2.0**-1022]
WILD = np.array(ENDS)
HALVES = np.array([0.0, 1.5, -65504.0, 6e-8, 3e-5, np.inf, np.nan], np.float16)
SINGLES = np.array([0.0, 1.5, -3e38, 1e-45, 3e-39, np.inf, np.nan, 2.0**-126], np.float32)
INTS = RNG.integers(-4, 5, (3, 7))
BYTES = RNG.integers(0, 256, (3, 5)).astype(np.uint8)
C = floats(4) + 1j * floats(4)
EMPTY = np.empty((0, 3))

STATIC: dict[str, tuple[Any, ...]] = {
    "frexp": (lambda np, x: np.frexp(x), WILD[np.isfinite(WILD)]),
    "frexp of half": (lambda np, x: np.frexp(x[:5]), HALVES),
    "frexp of single": (lambda np, x: np.frexp(x[:5]), SINGLES),
    "frexp of integers": (lambda np, x: np.frexp(x), INTS),
    "frexp of bytes": (lambda np, x: np.frexp(x), BYTES),
    "frexp of a number": (lambda np, x: np.frexp(x), np.float64(-0.3)),
    "ldexp": (lambda np, x: np.ldexp(x[:, None], [0, 1, -1, 52, -1074, 1023, 2100, -2200]), WILD),
    "ldexp of half": (lambda np, x: np.ldexp(x[:, None], [0, -3, 20, 40, -40]), HALVES),
    "ldexp of single": (lambda np, x: np.ldexp(x[:, None], [0, -20, 127, 280, -280]), SINGLES),
    "ldexp of integers": (lambda np, x, n: np.ldexp(x, n), INTS, INTS[0].astype("i2")),
    "spacing": (lambda np, x: np.spacing(x), WILD),
    "spacing of half": (lambda np, x: np.spacing(x[[0, 1, 3, 4, 5, 6]]), HALVES),
    "spacing of single": (lambda np, x: np.spacing(x), SINGLES),
    "packbits": (lambda np, x: (np.packbits(x), np.packbits(x, bitorder="little")), INTS),
    "packbits along": (lambda np, x: (np.packbits(x, 0), np.packbits(x > 0, axis=-1)), INTS),
    "packbits of none": (lambda np, x: (np.packbits(x[:0]), np.packbits(x[:, :0], 1)), INTS),
    "unpackbits": (lambda np, x: (np.unpackbits(x), np.unpackbits(x, 1, bitorder="little")), BYTES),
    "unpackbits counted": (
        lambda np, x: tuple(np.unpackbits(x, 1, n) for n in (0, 3, 40, 45, -3)),
        BYTES,
    ),
    "diag_indices": (lambda np: (*np.diag_indices(4), *np.diag_indices(2, 3)),),
    "tril_indices": (lambda np: (*np.tril_indices(4), *np.tril_indices(3, -1, 5)),),
    "large triangles": (lambda np: (*np.tril_indices(150, 3, 140), *np.triu_indices(150, -5)),),
    "triangles of nothing": (lambda np: (*np.tril_indices(0), *np.triu_indices(3, 9)),),
    "triu_indices": (lambda np: (*np.triu_indices(4, 1), *np.triu_indices(3, m=2)),),
    "mask_indices": (lambda np: np.mask_indices(4, np.triu, 1),),
    "ix_": (lambda np, x: x[np.ix_([0, 2], [1, 3, 5])], M),
    "ix_ of bools": (lambda np, x: np.ix_([True, False, True], x), np.array([4, 5])),
    "ix_ of none": (lambda np: np.ix_([], [1]),),
    "mgrid": (lambda np: (np.mgrid[0:3, 1:5:2], np.mgrid[0:1:5j], np.mgrid[0:2, 0:1:3j]),),
    "ogrid": (lambda np: (*np.ogrid[0:3, 1:5:2], np.ogrid[2:0:-1]),),
    "histogram2d": (lambda np, x, y: np.histogram2d(x, y, 3), floats(40), floats(40)),
    "histogram2d edges": (
        lambda np, x, y: np.histogram2d(x, y, [[-1, 0, 2.5], 4], density=True),
        floats(40),
        floats(40),
    ),
    "histogram2d range": (
        lambda np, x, y: np.histogram2d(x, y, 2, [[-1, 1], [0, 2]], weights=x),
        floats(40),
        floats(40),
    ),
    "histogramdd": (lambda np, x: np.histogramdd(x, 3)[0], floats(30, 3)),
    "histogramdd of integers": (lambda np, x: np.histogramdd(x, (2, 3))[0], INTS[:, :2]),
    "histogramdd edges": (lambda np, x: tuple(np.histogramdd(x, (2, 3))[1]), floats(30, 2)),
    "histogram_bin_edges": (
        lambda np, x: (np.histogram_bin_edges(x), np.histogram_bin_edges(x, 3, (0, 1))),
        V,
    ),
    "nancumprod": (lambda np, x: (np.nancumprod(x), np.nancumprod(x, axis=1)), GAPS),
    "nancumprod of integers": (lambda np, x: np.nancumprod(x, axis=0), INTS),
    "nanmedian": (lambda np, x: (np.nanmedian(x), np.nanmedian(x, axis=0)), GAPS),
    "nanmedian of axes": (lambda np, x: np.nanmedian(x, axis=(0, 2), keepdims=True), GAPS),
    "nanmedian of singles": (lambda np, x: np.nanmedian(x, axis=1), GAPS.astype(np.float32)),
    "nanmedian of integers": (lambda np, x: np.nanmedian(x, axis=0), INTS),
    "nanmedian of none": (lambda np, x: np.nanmedian(x, axis=0), EMPTY),
    "nanmedian of infinities": (lambda np, x: np.nanmedian(x), np.array([np.inf, np.nan, np.inf])),
    "nanquantile": (lambda np, x: np.nanquantile(x, [0, 0.3, 0.5, 0.9, 1], axis=1), GAPS),
    "nanquantile of all": (lambda np, x: np.nanquantile(x, 0.4, keepdims=True), GAPS),
    "nanpercentile": (lambda np, x: np.nanpercentile(x, 30, axis=(1, 2)), GAPS),
    "nanpercentile of integers": (lambda np, x: np.nanpercentile(x, [10, 50], axis=1), INTS),
    "lexsort": (lambda np, x: (np.lexsort((x[0], x[1])), np.lexsort(x), np.lexsort(x, 0)), INTS),
    "lexsort of tables": (lambda np, x: np.lexsort((x, -x), axis=0), INTS),
    "poly": (lambda np, x: (np.poly(x), np.poly(x[:1]), np.poly([1, 2])), V),
    "polyadd": (lambda np, x, y: (np.polyadd(x, y), np.polyadd(y, x), np.polyadd(x, 1)), V, V[:2]),
    "polysub": (lambda np, x, y: (np.polysub(x, y), np.polysub(y, [1, 2])), V, V[:2]),
    "polymul": (lambda np, x, y: (np.polymul(x, y), np.polymul(x, [0, 0, 2])), V, V[:2]),
    "polyder": (lambda np, x: (np.polyder(x), np.polyder(x, 3), np.polyder(x, 0)), V),
    "polyder of integers": (lambda np, x: (np.polyder(x), np.polyder(x, 9)), INTS[0]),
    "polyint": (lambda np, x: (np.polyint(x), np.polyint(x, 2, [1, 2]), np.polyint(x, 2, 3)), V),
    "polyint of integers": (lambda np, x: np.polyint(x), INTS[0]),
    "vander": (lambda np, x: (np.vander(x), np.vander(x, 3), np.vander(x, 2, True)), V[:4]),
    "vander of integers": (lambda np, x: (np.vander(x), np.vander(x, 0), np.vander(x, 1)), INTS[0]),
    "vander of bytes": (lambda np, x: np.vander(x, 3), BYTES[0]),
    "array_equiv": (
        lambda np, x: (np.array_equiv(x, x[:1]), np.array_equiv(x, x), np.array_equiv(x, x[:2])),
        INTS,
    ),
    "geomspace": (lambda np: (np.geomspace(1, 1000, 4), np.geomspace(8, 1, 3, endpoint=False)),),
    "geomspace below zero": (lambda np: (np.geomspace(-1, -9, 5), np.geomspace(2, 3, 0)),),
    "geomspace of arrays": (lambda np, x: np.geomspace(x, [2, 3], 5, axis=-1), np.array([1.0, 4])),
    "geomspace of integers": (lambda np: np.geomspace(1, 256, 9, dtype=int),),
    "geomspace on a spiral": (lambda np: np.geomspace(1j, 1000j, 4),),
    "piecewise": (lambda np, x: np.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 2]), V),
    "piecewise otherwise": (lambda np, x: np.piecewise(x, [x < 0], [np.abs, np.sqrt]), M),
    "piecewise of one": (lambda np, x: np.piecewise(x, x < 0, [7, 8]), INTS[0]),
    "piecewise of a number": (lambda np, x: np.piecewise(x, [x < 0], [1, 2]), np.float64(3)),
    "piecewise arguments": (lambda np, x: np.piecewise(x, [x > 0], [lambda v, k: v * k], 3), V),
    "real_if_close": (lambda np, x: np.real_if_close(x), V),
    "unwrap": (lambda np, x: (np.unwrap(x), np.unwrap(x, axis=0), np.unwrap(x, 5)), 9 * M),
    "unwrap of integers": (lambda np, x: (np.unwrap(x, period=4), np.unwrap(x, period=3)), INTS),
    "unwrap of singles": (lambda np, x: np.unwrap(x), (9 * V).astype(np.float32)),
    "unwrap of none": (lambda np, x: np.unwrap(x[:0]), V),
    "windows": (lambda np: tuple(w(n) for n in (0, 1, 2, 7) for w in (np.hanning, np.hamming)),),
    "more windows": (
        lambda np: tuple(w(n) for n in (0, 1, 6) for w in (np.blackman, np.bartlett)),
    ),
    "i0": (lambda np, x: (np.i0(x), np.i0(9 * x)), V),
    "i0 of others": (lambda np, x: (np.i0(x), np.i0(2), np.i0(x > 0)), INTS),
    "i0 of singles": (lambda np, x: np.i0(x), V.astype(np.float32)),
    "kaiser": (lambda np: tuple(np.kaiser(m, 8.6) for m in (0, 1, 2, 9)),),
    "kaiser of a traced shape": (lambda np, beta: np.kaiser(6, beta), np.float64(14)),
    "apply_along_axis": (lambda np, x: np.apply_along_axis(lambda v: v / v.sum(), 1, x), X),
    "apply_over_axes": (lambda np, x: np.apply_over_axes(np.sum, x, (0, 2)), X),
    "fromfunction": (lambda np: np.fromfunction(lambda i, j: i * 2 + j, (3, 4), dtype=int),),
    "distinct of known": (lambda np: np.unique([3, 1, 3, 2], return_counts=True),),
    "argwhere of known": (lambda np: (np.argwhere(np.array([[0, 1], [2, 0]])), np.argwhere(5)),),
    "flatnonzero of known": (lambda np: np.flatnonzero(np.array([[0, 1], [2, 0]])),),
    "compress": (lambda np, x: (np.compress([True, False, True], x, 1), np.compress([0, 1], x)), M),
    "extract": (lambda np, x: np.extract([True, False, True], x), V),
    "where of known": (lambda np: np.where(np.array([[0, 1], [2, 0]])),),
    "bincount of known": (lambda np: (np.bincount([1, 5, 1]), np.bincount([1, 5], minlength=3)),),
    "searchsorted by a sorter": (
        lambda np, x: np.searchsorted(x, [0.1, -3, 9], sorter=np.argsort(x)),
        V,
    ),
}
"""Calls whose results have shapes that do not depend on data; `np` is NumPy or pyc.numpy."""

ROUNDED = {"vander", "poly", "nancumprod"}


def ours(call: Call, *arrays: Any) -> Any:
    """What pyc.numpy gives outside of a trace."""
    with np.errstate(all="ignore"):
        found = call(pnp, *(np.array(a) for a in arrays))
    return found if not isinstance(found, list) else tuple(found)


def jitted_by_numpys_name(call: Call, *arrays: Any) -> Any:
    """What NumPy's functions give on traced values."""
    found = pyc.jit(lambda *xs: call(np, *xs))(*arrays)
    return tuple(found) if isinstance(found, list) else found


def expected_of(call: Call, *arrays: Any) -> Any:
    found = outcome(lambda: call(np, *arrays))
    assert not isinstance(found, Exception), found
    return tuple(found) if isinstance(found, list) else found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("run", [ours, interpreted, jitted_by_numpys_name])
@pytest.mark.parametrize("name", STATIC)
def test_a_function_gives_what_numpy_gives(name: str, run: Call) -> None:
    """Shape, dtype and value."""
    call, *arrays = STATIC[name]
    if run is interpreted and not arrays:
        arrays, inner = [np.float64(0)], call
        call = lambda p, x: inner(p)  # noqa: E731 - without arguments there is nothing to trace
    assert not difference(expected_of(call, *arrays), run(call, *arrays))


NAN = np.array([3, 1, np.nan, 3, -0.0, np.nan, 0.0, 7])
OTHER = np.array([3, 0.0, 9, np.nan, 3])
COUNTED: dict[str, tuple[Any, ...]] = {
    "unique": (lambda np, x: np.unique(x, True, True, True), NAN),
    "unique of integers": (lambda np, x: np.unique(x, True, True, True), INTS),
    "unique of bytes": (lambda np, x: np.unique(x), BYTES),
    "unique nans": (lambda np, x: np.unique(x, equal_nan=False, return_counts=True), NAN),
    "unique of one": (lambda np, x: np.unique(x, return_inverse=True), np.float32(3)),
    "unique_all": (lambda np, x: tuple(np.unique_all(x)), NAN),
    "unique_counts": (lambda np, x: tuple(np.unique_counts(x)), INTS),
    "unique_inverse": (lambda np, x: tuple(np.unique_inverse(x)), INTS),
    "unique_values": (lambda np, x: np.sort(np.unique_values(x)), NAN),
    "intersect1d": (lambda np, x, y: np.intersect1d(x, y), NAN, OTHER),
    "intersect1d places": (lambda np, x, y: np.intersect1d(x, y, False, True), NAN, OTHER),
    "intersect1d of types": (lambda np, x, y: np.intersect1d(x, y), INTS, OTHER),
    "union1d": (lambda np, x, y: np.union1d(x, y), NAN, OTHER),
    "setdiff1d": (lambda np, x, y: np.setdiff1d(x, y), NAN, OTHER),
    "setdiff1d of integers": (lambda np, x, y: np.setdiff1d(x, y), INTS, INTS[0]),
    "setxor1d": (lambda np, x, y: np.setxor1d(x, y), NAN, OTHER),
    "setxor1d of integers": (lambda np, x, y: np.setxor1d(x, y), INTS, INTS[0]),
    "nonzero": (lambda np, x: np.nonzero(x), INTS),
    "flatnonzero": (lambda np, x: np.flatnonzero(x), INTS),
    "argwhere": (lambda np, x: np.argwhere(x), INTS),
    "extract": (lambda np, x: np.extract(x > 0, x), INTS),
    "compress": (lambda np, x: np.compress(x[0] > 0, x, 1), INTS),
    "trim_zeros": (lambda np, x: np.trim_zeros(x), np.array([0, 0, 3, 0, 1, 0])),
    "histogram of counted bins": (lambda np, x: np.histogram(x, "auto"), V),
    "real_if_close": (lambda np, x: np.real_if_close(x), C.real + 0j),
    "real_if_not_close": (lambda np, x: np.real_if_close(x), C),
    "poly of conjugates": (lambda np, x: np.poly(x), np.array([1j, -1j, 2])),
    "polydiv": (lambda np, x, y: np.polydiv(x, y), V, V[:2]),
}
"""Calls whose results have shapes, or dtypes, that depend on data."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_what_depends_on_data_just_works_outside_of_a_trace(name: str) -> None:
    call, *arrays = COUNTED[name]
    assert not difference(expected_of(call, *arrays), ours(call, *arrays))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", COUNTED)
def test_what_depends_on_data_works_on_arrays_of_pyc(name: str) -> None:
    call, *arrays = COUNTED[name]
    found = call(pnp, *(pyc.device_put(a, "cpu") for a in arrays))
    parts = found if isinstance(found, tuple) else (found,)
    assert all(type(part) is pyc.Array for part in parts)
    assert not difference(expected_of(call, *arrays), found)


SIZED: dict[str, tuple[Any, ...]] = {
    "unique": (lambda p, x, **o: p.unique(x, **o), NAN),
    "unique of integers": (lambda p, x, **o: p.unique(x, **o), INTS),
    "unique nans": (lambda p, x, **o: p.unique(x, equal_nan=False, **o), NAN),
    "unique_values": (lambda p, x, **o: (p.unique if p is np else p.unique_values)(x, **o), BYTES),
    "intersect1d": (lambda p, x, y, **o: p.intersect1d(x, y, **o), NAN, OTHER),
    "intersect1d of types": (lambda p, x, y, **o: p.intersect1d(x, y, **o), INTS, OTHER),
    "intersect1d of none": (lambda p, x, y, **o: p.intersect1d(x, y, **o), NAN, OTHER[:0]),
    "union1d": (lambda p, x, y, **o: p.union1d(x, y, **o), NAN, OTHER),
    "union1d of none": (lambda p, x, y, **o: p.union1d(x, y, **o), OTHER[:0], OTHER[:0]),
    "setdiff1d": (lambda p, x, y, **o: p.setdiff1d(x, y, **o), NAN, OTHER),
    "setxor1d": (lambda p, x, y, **o: p.setxor1d(x, y, **o), NAN, OTHER),
    "extract": (lambda p, x, **o: p.extract(x > 0, x, **o), INTS),
}
"""Calls whose results have one axis, as long as the data wants it."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("size", [0, 1, 4, 30])
def test_traced_elements_give_as_many_as_are_asked_for(name: str, size: int) -> None:
    """The first ones in NumPy's order, and the fill value behind them."""
    call, *arrays = SIZED[name]
    expected = expected_of(lambda p, *xs: call(p, *xs), *arrays)
    padded = np.full(size, 77, expected.dtype)
    padded[: expected.size] = expected[:size]
    found = interpreted(lambda p, *xs: call(p, *xs, size=size, fill_value=77), *arrays)
    assert not difference(padded, np.asarray(found))


@pytest.mark.parametrize("size", [3, 5, 8, 12])
def test_groups_of_traced_elements_have_places_numbers_and_counts(size: int) -> None:
    """Places behind the last group are the number of elements, counts 0; every element knows its
    group, whether that was asked for or not."""
    values, first, inverse, counts = np.unique(NAN, True, True, True)
    fill = max(size - values.size, 0)
    found = interpreted(lambda p, x: p.unique(x, True, True, True, size=size), NAN)
    expected = (
        np.concatenate([values, [values[0]] * fill])[:size],
        np.concatenate([first, [NAN.size] * fill]).astype(np.int64)[:size],
        inverse,
        np.concatenate([counts, [0] * fill]).astype(np.int64)[:size],
    )
    assert not difference(expected, found)


def test_places_in_two_arrays_of_traced_elements() -> None:
    values, first, second = np.intersect1d(NAN, OTHER, return_indices=True)
    found = interpreted(
        lambda p, x, y: p.intersect1d(x, y, return_indices=True, size=3), NAN, OTHER
    )
    fill = 3 - values.size
    expected = (
        np.append(values, [values[0]] * fill),
        np.append(first, [NAN.size] * fill),
        np.append(second, [OTHER.size] * fill),
    )
    assert not difference(expected, found)


def test_slices_and_places_under_a_traced_condition() -> None:
    found = interpreted(
        lambda p, x: (
            p.compress(x[0] > 0, x, 1, size=9, fill_value=-9),
            p.flatnonzero(x, size=30),
            p.argwhere(x, size=2),
        ),
        INTS,
    )
    taken = np.compress(INTS[0] > 0, INTS, 1)
    places = np.flatnonzero(INTS)
    expected = (
        np.pad(taken, [(0, 0), (0, 9 - taken.shape[1])], constant_values=-9),
        np.append(places, [INTS.size] * (30 - places.size)),
        np.argwhere(INTS)[:2],
    )
    assert not difference(expected, found)


@pytest.mark.parametrize(
    "name", ["unique", "union1d", "argwhere", "flatnonzero", "extract", "compress", "setxor1d"]
)
def test_without_a_size_traced_elements_are_refused_with_what_to_write(name: str) -> None:
    two = ("union1d", "extract", "compress", "setxor1d")
    with pytest.raises(ConcretizationError, match=rf"pyc\.numpy\.{name}\(.*size=n\)"):
        pyc.jit(lambda x: getattr(pnp, name)(*(x, x) if name in two else (x,)))(np.arange(3))


IN_PLACE: dict[str, tuple[Any, ...]] = {
    "copyto": (lambda np, a: np.copyto(a, 3), M),
    "copyto where": (lambda np, a: np.copyto(a, a[:1] * 2, where=a > 0), M),
    "put": (lambda np, a: np.put(a, [0, -1, 3], [7, 8]), M),
    "put clipped": (lambda np, a: np.put(a, [0, 99], 5, mode="clip"), M),
    "putmask": (lambda np, a: np.putmask(a, a > 0, [1, 2, 3]), M),
    "place": (lambda np, a: np.place(a, a > 0, [1, 2, 3]), M),
    "fill_diagonal": (lambda np, a: np.fill_diagonal(a, 9), M),
    "fill_diagonal by a line": (lambda np, a: np.fill_diagonal(a, [1, 2]), M),
    "put_along_axis": (
        lambda np, a: np.put_along_axis(a, np.argmax(a, axis=1)[:, None], 99, axis=1),
        M,
    ),
    "put_along_axis flat": (lambda np, a: np.put_along_axis(a, np.array([0, 5]), 9, None), M),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_functions_that_write_into_arrays(name: str) -> None:
    """Outside of a trace into NumPy's arrays, and into those that a traced function has made."""
    call, array = IN_PLACE[name]
    expected, outside = array.copy(), array.copy()
    call(np, expected)
    call(pnp, outside)
    assert not difference(expected, outside)

    def changed(by: Any, x: Any) -> Any:
        copy = by.array(x)
        view = copy[:]
        call(by, copy)
        return copy, view

    assert not difference((expected, expected), interpreted(changed, array))
    assert not difference((expected, expected), pyc.jit(lambda x: changed(np, x))(array))


@pytest.mark.parametrize("name", IN_PLACE)
def test_arrays_of_pyc_are_not_written_into(name: str) -> None:
    call, array = IN_PLACE[name]
    with pytest.raises(
        pyc.errors.UnsupportedOpError, match=r"would change a `pyc\.Array` in place"
    ):
        call(pnp, pyc.device_put(array, "cpu"))


def test_functions_of_elements_as_functions_of_arrays() -> None:
    @pnp.vectorize
    def middle(a: Any, b: Any) -> Any:
        """Their mean."""
        return (a + b) / 2

    assert middle.__name__ == "middle" and middle.__doc__ == "Their mean."
    expected = np.vectorize(lambda a, b: (a + b) / 2)(M, V)
    assert not difference(expected, middle(M, V))
    assert not difference(expected, pyc.jit(middle)(M, V))
    rows = pnp.vectorize(lambda m, v: m @ v, signature="(m,n),(n)->(m)", otypes="f")
    assert not difference((X @ V[:5]).astype(np.float32), rows(X, V[:5]))
    with pytest.raises(ArgumentError, match="is for 2 arguments, 1 are given"):
        rows(X)


ERRORS: dict[str, tuple[type[Exception], Call]] = {
    "order of bits": (ArgumentError, lambda p: p.packbits([1], bitorder="middle")),
    "bits of floats": (DTypeError, lambda p: p.packbits([0.5])),
    "bits of wide integers": (DTypeError, lambda p: p.unpackbits(np.array([1, 2]))),
    "bits left out": (ShapeError, lambda p: p.unpackbits(np.uint8([1]), count=-9)),
    "exponents": (DTypeError, lambda p: p.ldexp(1.0, 0.5)),
    "complex parts": (DTypeError, lambda p: p.frexp(1j)),
    "complex spacing": (DTypeError, lambda p: p.spacing(1j)),
    "keys of several shapes": (ShapeError, lambda p: p.lexsort(([1, 2], [1, 2, 3]))),
    "place behind the end": (ArgumentError, lambda p: p.partition([1, 2], 2)),
    "axis that is not there": (AxisError, lambda p: p.argpartition([1, 2], 0, 1)),
    "geometry from zero": (ArgumentError, lambda p: p.geomspace(0, 1)),
    "derivative below zero": (ArgumentError, lambda p: p.polyder([1, 2], -1)),
    "antiderivative below zero": (ArgumentError, lambda p: p.polyint([1, 2], -1)),
    "constants": (ShapeError, lambda p: p.polyint([1, 2], 3, [1, 2])),
    "powers of a matrix": (ShapeError, lambda p: p.vander([[1, 2]])),
    "functions": (ArgumentError, lambda p: p.piecewise(V, [V > 0], [1, 2, 3])),
    "coordinates": (ShapeError, lambda p: p.histogram2d([1, 2], [1, 2, 3])),
    "bins": (ShapeError, lambda p: p.histogramdd(np.ones((3, 2)), [2, 3, 4])),
    "no line": (ShapeError, lambda p: p.ix_([[1, 2]])),
    "edges": (ArgumentError, lambda p: p.histogram_bin_edges([1, 2], [3, 1])),
    "complex i0": (DTypeError, lambda p: p.i0(1j)),
    "slices": (TypeError, lambda p: p.mgrid["a"]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_where_numpy_raises_pyc_raises_the_corresponding_class(name: str) -> None:
    kind, call = ERRORS[name]
    with pytest.raises((TypeError, ValueError, IndexError, AttributeError)):
        call(np)
    with pytest.raises(kind):
        call(pnp)


@pytest.mark.parametrize("name", ["hanning", "bartlett", "tril_indices", "diag_indices"])
def test_sizes_that_are_traced_are_refused(name: str) -> None:
    with pytest.raises(ConcretizationError, match="known while tracing"):
        pyc.jit(lambda x: getattr(pnp, name)(x.sum()))(np.arange(3))


def test_sorting_is_a_partition() -> None:
    for kth in (0, 2, -1, [1, 3]):
        for axis in (0, 1, None):
            line, along = (INTS.ravel(), 0) if axis is None else (INTS, axis)
            if np.max(kth) < line.shape[along]:
                found, at = pnp.partition(INTS, kth, axis), pnp.argpartition(INTS, kth, axis)
                assert not difference(np.sort(line, along), found)
                assert not difference(found, np.take_along_axis(line, at, along))


def test_bits_there_and_back() -> None:
    assert not difference(BYTES, ours(lambda p: p.packbits(p.unpackbits(BYTES, 1), 1)))
    fraction, exponent = ours(lambda p: p.frexp(WILD))
    with np.errstate(all="ignore"):
        assert not difference(WILD, ours(lambda p: p.ldexp(fraction, exponent)), 0)
    assert not difference(WILD[[7, 8, 9]], fraction[[7, 8, 9]]) and not exponent[[7, 8, 9]].any()


NUMPYS = {"euler_gamma", "False_", "True_", *on_demand.MODULES["pyc.numpy.scalar_types"]}
"""Constants and types, which are NumPy's own."""
NAMES = [
    (module, name)
    for module, names in on_demand.MODULES.items()
    for name in names
    if name not in NUMPYS
]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[name for _, name in NAMES])
def test_the_docstring_has_an_example_that_holds(module: str, name: str) -> None:
    getattr(pnp, name)
    own = getattr(importlib.import_module(module), name)
    known = {each: getattr(pnp, each) for each in on_demand.MODULES[module]}
    names = known | {"np": np, "pnp": pnp}
    (test,) = doctest.DocTestFinder(recurse=False).find(own, name, globs=names)
    assert test.examples
    failed, _ = doctest.DocTestRunner(verbose=False).run(test)
    assert not failed


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    modules = [*on_demand.MODULES]
    code = (
        "import sys, numpy as np, pyc, pyc.numpy as pnp\n"
        "pnp.sum(np.ones(3)), dir(pnp)\n"
        f"assert not [m for m in {modules} if m in sys.modules]\n"
        "pyc.jit(lambda x: np.polyadd(x, x))(np.ones(3))\n"
        f"print(*[m for m in {modules} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written_in = {"pyc.numpy.linear_algebra", "pyc.numpy.numerical", "pyc.numpy.sorting"}
    assert {*done.stdout.split()} == {"pyc.numpy.polynomials", *written_in}
