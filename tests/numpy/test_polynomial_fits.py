"""`roots`, `poly` of a matrix, `polyfit` and slices without repetition, against NumPy: outside of a
trace, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from tests.numpy.interpreted import difference, interpreted

Array = np.ndarray[Any, Any]

drawn = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
RNG = np.random.default_rng(5)


def ordered(x: Any) -> Any:
    """Roots in an order that roundings do not change."""
    x = np.asarray(x).astype(complex)
    return x[np.lexsort((x.imag.round(5), x.real.round(5)))]


def with_roots(zeros: Any, lead: int, trail: int) -> Array:
    """Coefficients, with more zeros in front and behind."""
    return np.concatenate([np.zeros(lead), np.atleast_1d(np.poly(zeros)), np.zeros(trail)])


@drawn
@given(st.sets(st.integers(-4, 4), max_size=5), st.integers(0, 2), st.integers(0, 2))
def test_roots_are_those_of_numpy(zeros: Any, lead: int, trail: int) -> None:
    """As many as there are, NaN behind them; without a size only if the first coefficient tells how
    many there are."""
    p = with_roots(sorted(zeros), lead, trail)
    expected = np.roots(p)
    assert not difference(expected, pnp.roots(p))
    size = max(p.size - 1, 0)
    found = np.asarray(interpreted(lambda m, v: m.roots(v, size=size + 1), p))
    count = expected.size
    assert found.dtype == np.complex128 and np.isnan(found[count:]).all()
    assert np.abs(ordered(expected) - ordered(found[:count])).max(initial=0) < 1e-3
    assert not found[count - trail : count].any() and found[: count - trail].all() == (
        0 not in zeros
    )
    if not lead:
        whole = np.asarray(interpreted(lambda m, v: m.roots(v), p))
        assert np.abs(ordered(expected) - ordered(whole)).max(initial=0) < 1e-3


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16", "i4", "?"])
def test_roots_of_every_type(kind: str) -> None:
    p = np.array([1, 0, 1]).astype(kind)
    found = pyc.jit(np.roots)(p)
    assert found.dtype == (np.complex64 if kind in ("f4", "c8") else np.complex128)
    np.testing.assert_allclose(ordered(found), ordered(np.roots(p)), atol=1e-6)


def test_roots_of_zeros_alone_are_none() -> None:
    assert np.isnan(pyc.jit(lambda p: pnp.roots(p, size=2))(np.zeros(4))).all()
    assert pyc.jit(np.roots)(np.array([3.0])).shape == (0,)
    assert pyc.jit(lambda p: pnp.roots(p, size=0))(np.ones(3)).shape == (0,)


def test_roots_of_lanes() -> None:
    p = np.array([[1.0, 2, 3], [1, -3, 2]])
    found = pyc.jit(pyc.vmap(pnp.roots))(p)
    for line, one in zip(p, found, strict=True):
        np.testing.assert_allclose(ordered(one), ordered(np.roots(line)))


def test_a_first_coefficient_of_zero_is_found_when_the_program_runs() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"the first coefficient is 0, give `size=`"):
        pyc.jit(np.roots)(np.array([0.0, 1, 2]))


@pytest.mark.parametrize("kind", ["f4", "f8", "c16", "i8"])
def test_the_polynomial_of_a_matrix(kind: str) -> None:
    """Real for a real matrix, whatever its eigenvalues are."""
    m = RNG.integers(-3, 4, (4, 4)).astype(kind)
    m = m * (1 + 0.5j) if kind == "c16" else m
    expected = np.poly(m)
    for found in (pnp.poly(m), pyc.jit(np.poly)(m)):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@st.composite
def points(draw: Any) -> tuple[Array, Array, Array]:
    """Places, values and weights."""
    n = draw(st.integers(4, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["f4", "f8", "i4"]))
    shape = (n, 2) if draw(st.booleans()) else (n,)
    x = (np.linspace(-2, 2, n) * 3).astype(kind)
    return x, rng.normal(size=shape), rng.uniform(0.5, 2, n)


@drawn
@given(points(), st.integers(0, 2), st.booleans(), st.sampled_from([False, True, "unscaled"]))
def test_a_polynomial_is_fitted_as_numpy_fits_it(
    xyw: Any, deg: int, weighted: bool, cov: Any
) -> None:
    x, y, w = xyw
    options = {"w": w} if weighted else {}
    expected = np.polyfit(x, y, deg, cov=cov, **options)
    found = interpreted(
        lambda p, a, b, c: p.polyfit(a, b, deg, cov=cov, **({"w": c} if weighted else {})), x, y, w
    )
    pairs = [(expected, found)] if cov is False else list(zip(expected, found, strict=True))
    single = x.dtype == np.float32
    for e, f in pairs:
        assert e.shape == f.shape and e.dtype == f.dtype
        np.testing.assert_allclose(f, e, rtol=2e-3 if single else 1e-8, atol=1e-4 * single + 1e-9)


def test_all_that_a_fit_tells() -> None:
    x, y = np.arange(6.0), RNG.normal(size=6)
    expected = np.polyfit(x, y, 2, full=True)
    for found in (
        pnp.polyfit(x, y, 2, full=True),
        pyc.jit(lambda a, b: np.polyfit(a, b, 2, full=True))(x, y),
    ):
        for e, f in zip(expected, found, strict=True):
            np.testing.assert_allclose(f, e)


def test_fits_of_lanes() -> None:
    x, y = np.arange(6.0), RNG.normal(size=(3, 6))
    found = pyc.jit(pyc.vmap(lambda v: pnp.polyfit(x.copy(), v, 1)))(y)
    np.testing.assert_allclose(found, [np.polyfit(x, v, 1) for v in y])


ERRORS: dict[str, tuple[type[Exception], Any]] = {
    "negative degree": (ArgumentError, lambda p: p.polyfit([1.0, 2], [1.0, 2], -1)),
    "places in a table": (DTypeError, lambda p: p.polyfit([[1.0, 2]], [1.0, 2], 1)),
    "no places": (DTypeError, lambda p: p.polyfit([], [], 1)),
    "values of another number": (DTypeError, lambda p: p.polyfit([1.0, 2], [1.0, 2, 3], 1)),
    "weights of another number": (DTypeError, lambda p: p.polyfit([1.0, 2], [1.0, 2], 1, w=[1.0])),
    "few points": (ArgumentError, lambda p: p.polyfit([1.0, 2], [1.0, 2], 1, cov=True)),
    "coefficients in a table": (ShapeError, lambda p: p.roots([[1.0, 2]])),
    "matrix that is not square": (ShapeError, lambda p: p.poly(np.ones((2, 3)))),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_numpy(name: str) -> None:
    error, call = ERRORS[name]
    with pytest.raises(error):
        call(pnp)
    for kind in (TypeError, ValueError):
        if issubclass(error, kind):
            with pytest.raises(kind):
                call(np)


# --- slices without repetition --------------------------------------------------------------------


@st.composite
def tables(draw: Any) -> tuple[Array, int]:
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 6]), min_size=1, max_size=3)))
    if draw(st.booleans()):
        shape = (shape[0], 11)  # sorted by columns in a loop
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["f8", "i4", "?", "c16"]))
    found = rng.integers(0, 2, shape).astype(kind)
    if kind == "f8" and draw(st.booleans()):
        found[rng.random(shape) < 0.1] = np.nan
    return found, draw(st.integers(-len(shape), len(shape) - 1))


@drawn
@given(tables())
def test_distinct_slices_of_traced_elements(case: tuple[Array, int]) -> None:
    x, axis = case
    expected = np.unique(x, True, True, True, axis=axis)
    count = expected[1].size
    found = interpreted(
        lambda p, v: p.unique(v, True, True, True, axis=axis, size=count + 1, fill_value=1), x
    )
    values = np.asarray(found[0])
    np.testing.assert_array_equal(values.take(range(count), axis), expected[0])
    assert values.dtype == x.dtype and (values.take(count, axis) == 1).all()
    length = x.shape[axis]
    assert not difference(np.append(expected[1], length).astype(np.int64), found[1])
    assert not difference(expected[2], found[2])
    assert not difference(np.append(expected[3], 0).astype(np.int64), found[3])
    assert not difference(expected, pnp.unique(x, True, True, True, axis=axis))


def test_distinct_rows_compiled_and_without_a_size() -> None:
    x = RNG.integers(0, 2, (9, 3))
    expected = np.unique(x, axis=0)
    found = pyc.jit(lambda v: pnp.unique(v, axis=0, size=3))(x)
    np.testing.assert_array_equal(found, expected[:3])
    with pytest.raises(ConcretizationError, match="size=n"):
        pyc.jit(lambda v: np.unique(v, axis=0))(x)
