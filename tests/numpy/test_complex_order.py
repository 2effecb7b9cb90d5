"""The order of complex numbers against NumPy's: comparisons, extremes, their places, sorting,
searching, sets; over drawn arrays with NaN, infinities and zeros of either sign in either part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from tests.numpy.interpreted import difference, interpreted, outcome

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

PARTS = (0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan)
EXTENTS = st.sampled_from([0, 1, 2, 3, 7])
TYPES = (np.complex64, np.complex128)

drawn = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@st.composite
def arrays(draw: Any, shape: tuple[int, ...] | None = None) -> Array:
    """Complex numbers of few values, so that many are equal, some with NaN."""
    size = tuple(draw(st.lists(EXTENTS, max_size=3))) if shape is None else shape
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts = PARTS if draw(st.booleans()) else PARTS[:-1]
    numbers = [rng.choice(parts, size) for _ in range(2)]
    found = np.empty(size, draw(st.sampled_from(TYPES)))
    found.real, found.imag = numbers
    return found


@st.composite
def pairs(draw: Any) -> tuple[Array, Array]:
    first = draw(arrays())
    return first, draw(arrays(first.shape))


def same(expected: Any, found: Any) -> bool:
    """Equal shapes, types and values, NaN in either part like NaN there."""
    expected, found = np.asarray(expected), np.asarray(found)
    if (expected.shape, expected.dtype) != (found.shape, found.dtype):
        return False
    kinds = [(x.real, x.imag) for x in (expected, found)]
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*kinds, strict=True))


OF_TWO = (
    *("less", "less_equal", "greater", "greater_equal", "equal", "maximum", "minimum"),
    *("fmax", "fmin"),
)


@drawn
@given(st.sampled_from(OF_TWO), pairs())
def test_two_numbers_are_compared_as_numpy_compares_them(name: str, xy: tuple[Any, Any]) -> None:
    expected = outcome(lambda: getattr(np, name)(*xy))
    assert same(expected, interpreted(lambda p, x, y: getattr(p, name)(x, y), *xy))


EXTREMES = ("max", "min", "nanmax", "nanmin", "argmax", "argmin")


@drawn
@given(st.sampled_from(EXTREMES), arrays(), st.data(), st.booleans())
def test_extremes_are_those_of_numpy(name: str, x: Array, data: Any, keepdims: bool) -> None:
    """Over one axis, several or all; NumPy's ValueError for no elements is a ShapeError."""
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    if x.ndim and not name.startswith("arg") and data.draw(st.booleans()):
        axis = tuple(sorted(data.draw(st.sets(st.integers(0, x.ndim - 1)))))
    expected = outcome(lambda: getattr(np, name)(x, axis=axis, keepdims=keepdims))
    call: Call = lambda p, v: getattr(p, name)(v, axis=axis, keepdims=keepdims)  # noqa: E731
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)):
            interpreted(call, x)
        return
    assert same(expected, interpreted(call, x))


ORDERS: dict[str, Call] = {
    "sort": lambda p, x, axis: p.sort(x, axis),
    "argsort": lambda p, x, axis: p.argsort(x, axis, stable=True),
    "median": lambda p, x, axis: p.median(x, axis),
    "accumulated maxima": lambda p, x, axis: (
        np.maximum.accumulate(x, axis) if p is np else p.cummax(x, axis)
    ),
    "accumulated minima": lambda p, x, axis: (
        np.minimum.accumulate(x, axis) if p is np else p.cummin(x, axis)
    ),
    "sort_complex": lambda p, x, axis: p.sort_complex(x),
}


@drawn
@given(st.sampled_from([*ORDERS]), arrays(), st.data())
def test_lines_have_numpys_order(name: str, x: Array, data: Any) -> None:
    if not x.ndim:
        x = x.reshape(1)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    if name == "median":  # NumPy divides infinite ones by 1, which gives NaN
        x = np.where(np.isinf(x), 3, x)
    expected = outcome(lambda: ORDERS[name](np, x, axis))
    found = interpreted(lambda p, v: ORDERS[name](p, v, axis), x)
    if name == "median":
        assert np.array_equal(np.isnan(expected), np.isnan(found))
        assert not difference(np.nan_to_num(expected), np.nan_to_num(np.asarray(found)))
        return
    assert same(expected, found)


@drawn
@given(arrays((33,)), arrays(), st.sampled_from(["left", "right"]), st.integers(0, 33))
def test_places_in_a_sorted_line(line: Array, values: Array, side: Any, length: int) -> None:
    line = np.sort(line[:length])
    expected = outcome(lambda: np.searchsorted(line, values, side))
    assert same(expected, interpreted(lambda p, a, v: p.searchsorted(a, v, side), line, values))


@drawn
@given(arrays((9,)), st.integers(0, 12))
def test_distinct_numbers_of_traced_elements(x: Array, size: int) -> None:
    """NumPy takes all numbers with NaN for one, and says which is its first."""
    values, first, inverse, counts = np.unique(x, True, True, True)
    found = interpreted(lambda p, v: p.unique(v, True, True, True, size=size), x)
    kept = min(size, values.size)
    missing = np.isnan(values[:kept])
    assert np.array_equal(missing, np.isnan(found[0][:kept]))
    assert same(values[:kept][~missing], found[0][:kept][~missing])
    assert np.array_equal(counts[:kept], found[3][:kept])
    assert np.array_equal(inverse, found[2])
    assert np.array_equal(first[:kept][~missing], found[1][:kept][~missing])


NUMBERS = np.array([2 - 1j, 2 + 1j, -1 + 5j, 2 - 1j, complex(np.nan, 0), 0])

PROGRAMS: dict[str, Call] = {
    "operators": lambda np, z: (z < z[::-1], z >= 0, z <= 2j),
    "extremes": lambda np, z: (z.max(), z[:4].min(), np.ptp(z[:4]), np.nanmax(z)),
    "places": lambda np, z: (z.argmax(), z[:4].argmin(), np.nanargmin(z)),
    "ufuncs": lambda np, z: (np.maximum(z, 1), np.fmin(z, 2 - 1j), np.clip(z[:4], 0, 2)),
    "sorting": lambda np, z: (np.sort(z)[:5], np.argsort(z, kind="stable"), np.sort_complex(z[:4])),
    "sorting of reals": lambda np, z: (np.sort_complex(z.real), np.sort_complex([3, 1])),
    "sorting of small integers": lambda np, z: np.sort_complex(np.arange(3, dtype="i1")[::-1]),
    "several keys": lambda np, z: np.lexsort((z.imag, z)),
    "searching": lambda np, z: np.searchsorted(np.sort(z), [2, 2 + 1j, 9j]),
    "middle": lambda np, z: (np.median(z[:4]), np.median(z), np.nanmedian(z)),
    "methods of ufuncs": lambda np, z: pyc_or_numpy(np, z),
}


def pyc_or_numpy(module: Any, z: Any) -> Any:
    del module
    return np.maximum.reduce(z), np.minimum.accumulate(z[:4]), np.maximum.reduceat(z, [0, 3, 1])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_complex_numbers(name: str) -> None:
    """Compiled, by NumPy's names and by pyc's; and on arrays of pyc."""
    call = PROGRAMS[name]
    expected = outcome(lambda: call(np, NUMBERS))
    assert not difference(expected, pyc.jit(lambda z: call(np, z))(NUMBERS))
    assert not difference(expected, pyc.jit(lambda z: call(pnp, z))(NUMBERS))
    assert not difference(expected, call(pnp, pyc.device_put(NUMBERS, "cpu")))


def test_lanes_of_complex_numbers() -> None:
    table = np.array([NUMBERS[:4], NUMBERS[:4][::-1] * 1j])
    lanes = pyc.jit(pyc.vmap(lambda z: (pnp.sort(z), pnp.max(z), pnp.argmin(z))))(table)
    assert not difference((np.sort(table), table.max(1), table.argmin(1)), lanes)
