"""What functions of arrays refused with an error of Python's or NumPy's, or took and gave a wrong
answer for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import PycError

LINE, MATRIX = np.arange(3.0), np.arange(6.0).reshape(2, 3)
REFUSED: dict[str, tuple[str, Callable[[], Any]]] = {
    "rows of several lengths": ("ShapeError", lambda: pnp.sum([[1, 2], [3]])),
    "a start alone": ("DTypeError", lambda: pnp.arange(start=-1)),
    "a start and a step": ("DTypeError", lambda: pnp.arange(start=3, step=1)),
    "no end of a range": ("DTypeError", lambda: pnp.arange(dtype="f4")),
    "a kind and stable": ("ArgumentError", lambda: pnp.sort(MATRIX, kind="heap", stable=True)),
    "places by a kind and stable": (
        "ArgumentError",
        lambda: pnp.argsort(MATRIX, kind="stable", stable=False),
    ),
    "no condition": ("ShapeError", lambda: pnp.select([], [])),
    "a casting of no conversion": ("DTypeError", lambda: pnp.add(LINE, np.arange(3), casting="no")),
    "a safe casting to less": ("DTypeError", lambda: pnp.sin(LINE, dtype="f4", casting="safe")),
    "an equivalent casting": ("DTypeError", lambda: pnp.sqrt(np.arange(3), casting="equiv")),
    "a safe casting to what is written": (
        "DTypeError",
        lambda: pnp.add(LINE, 1, out=np.zeros(3, "f4"), casting="safe"),
    ),
    "two least elements": ("ArgumentError", lambda: pnp.clip(LINE, min=2, a_min=1)),
    "two least elements, in the other order": (
        "ArgumentError",
        lambda: pnp.clip(LINE, a_min=1, min=2),
    ),
    "an axis in an array": ("OptionError", lambda: pnp.flip(LINE, np.array([0]))),
    "True for an axis": ("DTypeError", lambda: pnp.sum(MATRIX, True)),
    "axes in a list": ("DTypeError", lambda: pnp.sum(MATRIX, [0, 1])),
    "True for the axis along which is joined": ("DTypeError", lambda: pnp.concat([LINE], True)),
    "an array for a dtype": ("DTypeError", lambda: pnp.mean(LINE, dtype=np.array(0))),
    "a number for a dtype": ("DTypeError", lambda: pnp.nansum(LINE, dtype=1.5)),
    "True for the axis of a place": ("DTypeError", lambda: pnp.argmax(MATRIX, True)),
    "True for the axis of a running sum": ("DTypeError", lambda: pnp.cumsum(MATRIX, True)),
    "keepdims of text": ("OptionError", lambda: pnp.max(MATRIX, keepdims="no")),
    "keepdims of a complex product": ("OptionError", lambda: pnp.prod(LINE * 1j, keepdims=0.5)),
    "several starts": ("ShapeError", lambda: pnp.max(MATRIX, initial=[1.0, 2.0])),
    "ddof of text": ("OptionError", lambda: pnp.var(LINE, ddof="1")),
    "several ddof": ("OptionError", lambda: pnp.nanstd(LINE, ddof=[1])),
    "a number to join": ("DTypeError", lambda: pnp.concat(1.0)),
    "a generator to stack": ("DTypeError", lambda: pnp.stack(x for x in (LINE, LINE))),
    "an unknown casting": ("ArgumentError", lambda: pnp.concat([LINE], casting="some")),
    "a casting that rules promotion out": (
        "DTypeError",
        lambda: pnp.hstack([LINE, LINE.astype(np.float32)], casting="no"),
    ),
    "a fractional diagonal": ("OptionError", lambda: pnp.diag(MATRIX, 1.5)),
    "a fractional offset": ("OptionError", lambda: pnp.trace(MATRIX, 0.5)),
    "a fractional triangle": ("OptionError", lambda: pnp.triu_indices_from(MATRIX, 1.5)),
    "fractional differences": ("OptionError", lambda: pnp.diff(LINE, 1.5)),
    "turns of text": ("OptionError", lambda: pnp.rot90(MATRIX, "a")),
    "one axis to turn in": ("OptionError", lambda: pnp.rot90(MATRIX, 1, 0)),
    "one axis of a permutation": ("ShapeError", lambda: pnp.permute_dims(MATRIX, 0)),
    "two shapes": ("ArgumentError", lambda: pnp.reshape(LINE, 3, newshape=3)),
    "the order of memory for a shape": ("ArgumentError", lambda: pnp.reshape(MATRIX, 6, "K")),
    "more parts than memory": ("ShapeError", lambda: pnp.array_split(LINE, 1 << 70)),
    "an axis twice": ("ShapeError", lambda: pnp.gradient(MATRIX, axis=(0, 0))),
    "a side for each place": ("OptionError", lambda: pnp.interp(LINE, LINE, LINE, left=LINE)),
    "several periods": ("OptionError", lambda: pnp.interp(LINE, LINE, LINE, period=LINE)),
    "places of another number": ("ShapeError", lambda: pnp.trapezoid(MATRIX, np.ones(5))),
    "one place": ("AxisError", lambda: pnp.trapezoid(MATRIX, 1.0)),
    "weights of another number": ("ShapeError", lambda: pnp.bincount([0, 1], [1.0])),
    "several lengths": ("OptionError", lambda: pnp.bincount([0, 1], minlength=[1, 2])),
    "a fractional ddof": ("OptionError", lambda: pnp.cov(MATRIX, ddof=[1])),
    "a choice of one number": ("DTypeError", lambda: pnp.choose([0], 1.0)),
    "no choice": ("ShapeError", lambda: pnp.choose([0], [])),
    "conditions that are no list": ("DTypeError", lambda: pnp.select(1, [LINE])),
    "a diagonal beyond memory": ("ShapeError", lambda: pnp.diagflat(LINE, 1 << 70)),
    "a fractional size": ("OptionError", lambda: pnp.argwhere(LINE, size=1.5)),
    "a negative size": ("ShapeError", lambda: pnp.extract(LINE, LINE, size=-1)),
    "an unknown rule of bins": ("ArgumentError", lambda: pnp.histogram(LINE, "some")),
    "one end of a range": ("OptionError", lambda: pnp.histogram(LINE, range=3)),
    "a range of complex numbers": ("DTypeError", lambda: pnp.histogram(LINE, range=(0, 1j))),
    "more bins than memory": ("ShapeError", lambda: pnp.histogram(LINE, 1 << 70)),
    "one place for all axes": ("DTypeError", lambda: pnp.ravel_multi_index(1, (3, 4))),
    "a bool for a place": ("DTypeError", lambda: pnp.partition(LINE, True)),
    "one key": ("DTypeError", lambda: pnp.lexsort(1.0)),
    "sides of a number": ("ArgumentError", lambda: pnp.trim_zeros(LINE, 1)),
    "an axis that a line lacks": ("AxisError", lambda: pnp.trim_zeros(LINE, axis=1)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_wrong_arguments_are_refused(what: str) -> None:
    error, call = REFUSED[what]
    with pytest.raises(PycError) as found:
        call()
    assert type(found.value).__name__ == error


def castings(np: Any, x: Any, y: Any) -> list[str]:
    """What two ufuncs give by each rule and type."""
    found = []
    for ufunc, given in ((np.add, (x, y)), (np.sqrt, (x,)), (np.arctan2, (x, 2))):
        for casting in ("no", "equiv", "safe", "same_kind"):
            for dtype in (None, "f4", "f8"):
                try:
                    found.append(str(ufunc(*given, dtype=dtype, casting=casting).dtype))
                except TypeError:
                    found.append("TypeError")
    return found


KINDS = [np.arange(1, 4, dtype=kind) for kind in ("i2", "f4", "f8")]


@pytest.mark.parametrize("x", KINDS, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("y", KINDS, ids=lambda x: str(x.dtype))
def test_a_casting_refuses_what_numpy_refuses(x: Any, y: Any) -> None:
    expected = castings(np, x, y)
    assert castings(pnp, x, y) == expected
    same = pyc.jit(lambda x, y: x + (castings(pnp, x, y) == expected))
    assert same(x, y)[0] == x[0] + 1


def test_traced_rows_of_several_shapes_do_not_broadcast() -> None:
    with pytest.raises(PycError, match="several shapes"):
        pyc.jit(lambda x: pnp.asarray([x, x[:1]]))(LINE)


def test_a_start_of_nan_counts_as_none() -> None:
    """As in NumPy, whose `nanmax` and `nanmin` begin with it."""
    nan = float("nan")
    x = np.array([[1.0, nan, 3.0], [nan, nan, nan]])
    for name in ("nanmax", "nanmin"):
        for initial in (nan, 2.0):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of lines that are all NaN
                expected = getattr(np, name)(x, 1, initial=initial)
            found = getattr(pnp, name)(x, 1, initial=initial)
            np.testing.assert_array_equal(found, expected)


def test_the_integral_between_places_of_several_axes_is_numpys() -> None:
    y, x = np.arange(24.0).reshape(2, 3, 4) ** 2, np.array([[0.0, 1.0, 4.0, 6.0]])
    for axis, places in ((-1, x), (2, x[0]), (0, np.array([1.0, 4.0])), (1, None)):
        expected = np.trapezoid(y, places, axis=axis)
        np.testing.assert_array_equal(pnp.trapezoid(y, places, axis=axis), expected)


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf"), 0.0])
def test_equal_elements_are_close_by_any_tolerance(tolerance: float) -> None:
    a = np.array([1.0, np.inf, -np.inf, np.nan, 0.0, 2.0, np.inf, 3.0])
    b = np.array([1.0, np.inf, np.inf, np.nan, 0.0, 2.5, 1.0, -np.inf])
    for given in ({"rtol": tolerance}, {"atol": tolerance}, {"rtol": tolerance, "equal_nan": True}):
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tolerances that are not finite
            expected = np.isclose(a, b, **given)
        np.testing.assert_array_equal(pnp.isclose(a, b, **given), expected)
        assert pnp.allclose(a, a, **{**given, "equal_nan": True})


def test_differences_of_more_orders_than_elements_are_none() -> None:
    assert pnp.diff(MATRIX, 1 << 70).shape == (2, 0)
    assert pnp.diff(MATRIX, 4, axis=0).shape == np.diff(MATRIX, 4, axis=0).shape == (0, 3)
