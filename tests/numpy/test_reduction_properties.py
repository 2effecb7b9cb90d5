"""Reductions, running folds and sorts through `@pyc.jit` itself, over drawn arrays: every layout
(steps, reversals, transposes, broadcasts), empty and rank-0 shapes, NaN, infinities, -0.0, ends of
the integers. Compared with NumPy; floats whose order of additions differs within a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc.errors import PycError
from pyc.ir import order
from tests.numpy.interpreted import outcome
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
"""NumPy's, of empty means and of overflow."""

INTEGERS = (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64)
DTYPES = (np.bool_, *INTEGERS, *FLOATS)
EXTENTS = st.sampled_from([0, 1, 1, 2, 3, 5, 8, 17, 33, 130])
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 2.5, 3e4)

drawn = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@st.composite
def arrays(draw: Any, dtypes: Any = DTYPES, least_rank: int = 0) -> Array:
    """An array of rank 0 to 3 in some layout, of a few hundred elements at most."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = tuple(draw(st.lists(EXTENTS, min_size=least_rank, max_size=3)))
    while int(np.prod(shape)) > 4000:
        shape = shape[1:]
    steps = [draw(st.sampled_from([1, 1, 2, -1, -3])) for _ in shape]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    base = elements(rng, dtype, tuple(n * abs(s) for n, s in zip(shape, steps, strict=True)))
    base = base[tuple(slice(None, None, s) for s in steps)]
    layout = draw(st.sampled_from(["plain", "plain", "turned", "spread"]))
    if layout == "turned":
        return base.T
    if layout == "spread" and base.ndim and base.shape[0]:
        return np.broadcast_to(base[:1], base.shape)
    return base


def elements(rng: np.random.Generator, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Few distinct values with special ones, or many."""
    size = int(np.prod(shape))
    if dtype.kind == "b":
        flat = rng.random(size) < rng.choice([0.0, 0.05, 0.5, 1.0])
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        flat = rng.integers(max(info.min, -5), 9, size).astype(dtype)
        ends = rng.random(size) < rng.choice([0.0, 0.2])
        flat[ends] = rng.choice([info.min, info.max], int(ends.sum()))
    else:
        flat = rng.standard_normal(size) if rng.random() < 0.5 else rng.integers(-2, 3, size)
        flat = flat.astype(dtype)
        special = rng.random(size) < rng.choice([0.0, 0.1, 0.7])
        flat[special] = rng.choice(SPECIAL, int(special.sum())).astype(dtype)
    return np.asarray(flat).reshape(shape)


@st.composite
def calls(draw: Any, names: tuple[str, ...], dtypes: Any = DTYPES) -> tuple[str, Array, Any, bool]:
    """(function, array, axis, keepdims)."""
    name, x = draw(st.sampled_from(names)), draw(arrays(dtypes))
    axes = list(range(-x.ndim, x.ndim))
    axis = draw(st.sampled_from([None, *axes]))
    if axes and name not in ("argmax", "argmin") and draw(st.booleans()):
        axis = tuple(sorted(draw(st.sets(st.integers(0, x.ndim - 1)))))
    return name, x, axis, draw(st.booleans())


def both(function: Any, *arrays: Array) -> tuple[Any, Any]:
    """(pyc's, NumPy's) results or errors."""
    expected = outcome(lambda: function(np, *arrays))
    found = outcome(lambda: pyc.jit(lambda *xs: function(pnp, *xs))(*arrays))
    return found, expected


def agree(found: Any, expected: Any) -> None:
    """Equal types, shapes and values (not signs of zeros), or errors of one class."""
    if isinstance(expected, Exception):
        assert isinstance(found, Exception), f"{found}; NumPy raises {expected}"
        return
    assert not isinstance(found, Exception), f"{found!r}; NumPy gives {expected}"
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected, strict=True)


# --- reductions -----------------------------------------------------------------------------------

EXACT = ("max", "min", "any", "all", "count_nonzero", "argmax", "argmin", "nanmax", "nanmin")


@drawn
@given(calls(EXACT))
def test_exact_reductions(call: tuple[str, Array, Any, bool]) -> None:
    name, x, axis, keepdims = call
    agree(*both(lambda np, x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x))


@drawn
@given(calls(("sum", "prod"), (np.bool_, *INTEGERS)))
def test_sums_and_products_of_integers_wrap(call: tuple[str, Array, Any, bool]) -> None:
    name, x, axis, keepdims = call
    agree(*both(lambda np, x: getattr(np, name)(x, axis=axis, keepdims=keepdims), x))


def near(found: Any, expected: Any, exact: Any, size: Any, count: int) -> None:
    """Within the rounding of `count` operations on numbers whose sizes sum to `size`, where it is
    finite; else what NumPy gives, which for NaN and infinities depends on no order."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    eps = float(np.finfo(found.dtype).eps)
    limit = float(np.finfo(found.dtype).max) / 4
    size = np.broadcast_to(np.asarray(size, np.float64), found.shape)
    plain = np.isfinite(size) & (size < limit)
    with np.errstate(all="ignore"):
        wrong = np.abs(found.astype(np.float64) - exact) > (count + 4) * eps * size + 1e-300
    assert not (plain & wrong).any(), f"{found}, exactly {exact}"
    special = ~np.isfinite(size)
    np.testing.assert_array_equal(found[special], expected[special])


@drawn
@given(calls(("sum", "mean", "nansum", "nanmean"), FLOATS))
def test_sums_of_floats(call: tuple[str, Array, Any, bool]) -> None:
    name, x, axis, keepdims = call
    options = {"axis": axis, "keepdims": keepdims}
    found, expected = both(lambda np, x: getattr(np, name)(x, **options), x)
    if isinstance(expected, Exception):
        agree(found, expected)
        return
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(wide, **options)
        size = getattr(np, name)(np.abs(wide), **options)
    # float16 is summed in float32 by pyc, and NumPy's mean too: one rounding.
    near(found, expected, exact, size, 1 if x.dtype == np.float16 else x.size)


@drawn
@given(calls(("var", "std"), FLOATS), st.sampled_from([0, 1]))
def test_spreads_of_floats(call: tuple[str, Array, Any, bool], ddof: int) -> None:
    name, x, axis, keepdims = call
    options = {"axis": axis, "keepdims": keepdims, "ddof": ddof}
    found, expected = both(lambda np, x: getattr(np, name)(x, **options), x)
    if isinstance(expected, Exception):
        agree(found, expected)
        return
    with np.errstate(all="ignore"):
        exact = np.asarray(getattr(np, name)(x.astype(np.float64), **options))
        # Squares of float16 overflow in NumPy too.
        overflow = np.isinf(expected) if x.dtype == np.float16 else np.zeros_like(exact, bool)
        size = np.where(overflow, np.inf, exact + 1)
    near(found, expected, exact, size, 4 * x.size)


# --- running folds --------------------------------------------------------------------------------


@drawn
@given(arrays((np.bool_, *INTEGERS)), st.sampled_from(["cumsum", "cumprod"]), st.data())
def test_running_folds_of_integers(x: Array, name: str, data: Any) -> None:
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    agree(*both(lambda np, x: getattr(np, name)(x, axis=axis), x))


@drawn
@given(arrays((np.float32, np.float64)), st.sampled_from(["cumsum", "cumprod"]), st.data())
def test_running_folds_of_floats_take_the_documented_order(x: Array, name: str, data: Any) -> None:
    """NumPy's operations, in `order.cumulate`; NumPy's own order is a left fold."""
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)
    step = np.add if name == "cumsum" else np.multiply
    (expected,) = order.cumulate(lambda a, b: (step(a[0], b[0]),), (rows,))
    expected = expected if axis is None else np.moveaxis(expected, -1, axis)
    found = np.asarray(pyc.jit(lambda x: getattr(pnp, name)(x, axis=axis))(x))
    assert found.dtype == x.dtype and found.shape == expected.shape
    assert same_bits(found, np.ascontiguousarray(expected))


# --- order ----------------------------------------------------------------------------------------


@drawn
@given(arrays(), st.data())
def test_sorts(x: Array, data: Any) -> None:
    """Stable, NaN last; -0.0 and 0.0 are equal."""
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    agree(*both(lambda np, x: np.sort(x, axis=axis), x))
    agree(*both(lambda np, x: np.argsort(x, axis=axis, stable=True), x))


@drawn
@given(arrays(), st.data())
def test_topk_is_the_head_of_a_sort(x: Array, data: Any) -> None:
    axis = data.draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    if axis is None:
        x, axis = x.reshape(-1), 0
    k = data.draw(st.integers(0, x.shape[axis]))
    largest = data.draw(st.booleans())
    found = pyc.jit(lambda x: pnp.topk(x, k, axis, mode="largest" if largest else "smallest"))(x)
    order = pyc.jit(lambda x: pnp.argsort(x, axis=axis, descending=largest))(x)
    order = np.take(order, range(k), axis=axis)
    agree(found, (np.take_along_axis(x, order, axis), order))


@drawn
@given(arrays(least_rank=1), st.sampled_from(["left", "right"]), st.data())
def test_searches(x: Array, side: Any, data: Any) -> None:
    line = np.sort(x.reshape(-1))
    values = data.draw(arrays((line.dtype,)))
    agree(*both(lambda np, line, v: np.searchsorted(line, v, side=side), line, values))


FRACTIONS = (0, 1, 0.25, 0.5, 0.9, 1.0, [0, 1], [0.2, 1.0], np.float64(0.7), np.float32(0.3))


@drawn
@given(arrays((*INTEGERS, *FLOATS)), st.sampled_from(FRACTIONS), st.data())
def test_quantiles(x: Array, q: Any, data: Any) -> None:
    # NumPy's differences overflow, and are NaN between infinities.
    wild = np.abs(x.astype(np.float64)) > (60 if x.dtype.kind in "iu" else 1e9)
    x = np.where(wild, x.dtype.type(3), x) if wild.any() else x
    axis = data.draw(st.sampled_from([None, *range(x.ndim)]))
    found, expected = both(lambda np, x: np.quantile(x, q, axis=axis), x)
    if isinstance(expected, Exception):
        agree(found, expected)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    # NumPy computes places in the type of q, and differences in that of x.
    kinds = [np.asarray(a).dtype for a in (expected, x, *([q] if hasattr(q, "dtype") else []))]
    eps = max(float(np.finfo(k).eps) if k.kind == "f" else 0.0 for k in kinds)
    size = float(np.abs(x.astype(np.float64)).max(initial=1, where=~np.isnan(x)))
    np.testing.assert_allclose(found, expected, rtol=4 * eps, atol=4 * eps * size)


def test_quantiles_beside_infinities_are_the_elements() -> None:
    """NumPy's are NaN, which is infinity minus infinity."""
    x = np.array([1.0, 2.0, np.inf, -np.inf, 5.0])
    found = pyc.jit(lambda x: [pnp.quantile(x, q) for q in (0.0, 0.25, 0.5, 0.75, 1.0)])(x)
    assert found == [-np.inf, 1.0, 2.0, 5.0, np.inf]


def test_types_of_quantiles_and_percentiles_are_numpys() -> None:
    for x in (np.int8([1, 5, 9]), np.float16([1, 5, 9]), np.float32([1, 5, 9])):
        for q in FRACTIONS:
            for name in ("quantile", "percentile"):
                found, expected = both(lambda np, x, n=name, q=q: getattr(np, n)(x, q), x)
                assert found.dtype == expected.dtype, (name, x.dtype, q)


# --- what is built of them ------------------------------------------------------------------------


@drawn
@given(calls(("nanprod", "nanvar", "nanstd", "ptp", "median"), FLOATS))
def test_reductions_built_of_others(call: tuple[str, Array, Any, bool]) -> None:
    """Over plain numbers with NaN among them: overflow and infinities are tested above."""
    name, x, axis, keepdims = call
    with np.errstate(all="ignore"):
        x = np.where(np.abs(x) > 4, np.copysign(x.dtype.type(1.5), x), x)
    options = {"axis": axis, "keepdims": keepdims}
    found, expected = both(lambda np, x: getattr(np, name)(x, **options), x)
    if isinstance(expected, Exception):
        agree(found, expected)
        return
    with np.errstate(all="ignore"):
        exact = np.asarray(getattr(np, name)(x.astype(np.float64), **options))
        size = np.abs(exact) + (name != "nanprod")
    eps = float(np.finfo(x.dtype).eps)
    nan = np.isnan(exact)
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert np.array_equal(np.isnan(found), nan), f"{found}, NumPy gives {expected}"
    limit = float(np.finfo(x.dtype).max) / 4
    tiny = float(np.finfo(x.dtype).tiny) / eps
    plain = ~nan & (size < limit) & ((size > tiny) | (exact == 0))
    wrong = np.abs(found.astype(np.float64) - exact) > 4 * (x.size + 1) * eps * size
    assert not (wrong & plain).any(), f"{found}, exactly {exact}"


@drawn
@given(arrays((*INTEGERS, np.float32, np.float64), least_rank=1), st.integers(0, 3), st.data())
def test_differences(x: Array, n: int, data: Any) -> None:
    axis = data.draw(st.sampled_from(range(-x.ndim, x.ndim)))
    agree(*both(lambda np, x: np.diff(x, n=n, axis=axis), x))


@st.composite
def pairs(draw: Any) -> tuple[Array, Array]:
    """Two arrays of one type that broadcast against each other, each in its own layout."""
    x = draw(arrays())
    shape = list(x.shape)[draw(st.integers(0, x.ndim)) :]
    shape = [1 if draw(st.booleans()) else n for n in shape]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    step = draw(st.sampled_from([1, -1, 2]))
    base = elements(rng, x.dtype, tuple(n * abs(step) for n in shape))
    return x, base[tuple(slice(None, None, step) for _ in shape)]


@drawn
@given(pairs(), st.sampled_from(["add", "maximum", "fmin", "less_equal", "not_equal", "multiply"]))
def test_element_wise_functions_of_two_layouts(both_of: tuple[Array, Array], name: str) -> None:
    agree(*both(lambda np, x, y: getattr(np, name)(x, y), *both_of))
    agree(*both(lambda np, x, y: getattr(np, name)(y, x), *both_of))


@pytest.mark.parametrize(
    "x", [[np.inf], [1, np.inf], [-np.inf, np.inf], [1.5e308, 1.6e308, 1.7e308], []]
)
def test_medians_of_infinite_and_of_no_elements(x: list[float]) -> None:
    agree(*both(lambda np, x: np.median(x), np.array(x)))
    agree(*both(lambda np, x: np.median(x, axis=0, keepdims=True), np.array(x).reshape(-1, 1)))


WITH_IDENTITY = (
    *("sum", "prod", "nansum", "nanprod", "add.reduce", "multiply.reduce", "hypot.reduce"),
    *("logical_and.reduce", "logical_or.reduce", "logaddexp.reduce"),
)
WITHOUT_IDENTITY = ("max", "nanmin", "maximum.reduce", "fmin.reduce")


@pytest.mark.parametrize("name", [*WITH_IDENTITY, *WITHOUT_IDENTITY])
@drawn
@given(
    x=arrays((np.float64,)),
    axis=st.sampled_from([None, 0, -1, ()]),
    mask=st.sampled_from([None, "all", "drawn"]),
    keepdims=st.booleans(),
)
def test_a_reduction_from_no_start_begins_with_its_first_element(
    name: str, x: Array, axis: Any, mask: str | None, keepdims: bool
) -> None:
    """`initial=None` is NumPy's for "no identity": no elements, and elements under a mask, have no
    value then, where a sum that is not told where to begin is 0."""
    options: dict[str, Any] = {"axis": axis, "initial": None, "keepdims": keepdims}
    if mask is not None:
        options["where"] = np.ones(x.shape, bool) if mask == "all" else x > 0
    path = name.split(".")

    def run(space: Any, x: Any) -> Any:
        function = getattr(space, path[0])
        return (function.reduce if path[1:] else function)(x, **options)

    ways = (lambda: run(pnp, x), lambda: pyc.jit(lambda x: run(np, x))(x))
    try:
        expected = run(np, x)
    except ValueError:
        for called in ways:
            with pytest.raises(ValueError, match=r"element|mask") as found:
                called()
            assert isinstance(found.value, PycError)
        return
    for called in ways:
        np.testing.assert_allclose(called(), expected, rtol=1e-12)
        assert np.shape(called()) == np.shape(expected)
