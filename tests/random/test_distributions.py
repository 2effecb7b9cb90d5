"""Numbers against their exact distributions, ends of ranges, shapes and types.

Keys are fixed, so nothing here is up to chance. A test of a hypothesis fails below a probability of
1e-4: a wrong distribution is far below with these many numbers, and about one in a hundred of the
right ones would need another key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import pyc.numpy as pnp
from pyc import random
from pyc.ir import dtype as dt
from pyc.jit import jit
from pyc.random import distributions
from pyc.random.distributions import fraction

KEY = random.key(2011)
RARE = 1e-4
COUNT = 200_000
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def fits(numbers: Any, distribution: Any) -> None:
    """The numbers are of a continuous distribution (Kolmogorov and Smirnov)."""
    found = stats.ks_1samp(np.asarray(numbers, np.float64), distribution.cdf)
    assert found.pvalue > RARE, found


def as_likely(counts: Any, shares: Any) -> None:
    """The counts are of a discrete distribution (chi-square)."""
    shares = np.asarray(shares, np.float64)
    found = stats.chisquare(counts, shares / shares.sum() * np.sum(counts))
    assert found.pvalue > RARE, found


# --- distributions --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        ("uniform", stats.uniform),
        ("normal", stats.norm),
        ("exponential", stats.expon),
        ("gumbel", stats.gumbel_r),
    ],
)
def test_numbers_have_their_distribution(draw: str, distribution: Any, dtype: str) -> None:
    numbers = getattr(random, draw)(KEY, (COUNT,), dtype)
    assert np.isfinite(numbers).all()
    fits(numbers, distribution)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [("normal", stats.norm), ("exponential", stats.expon), ("gumbel", stats.gumbel_r)],
)
def test_short_types_are_rounded_numbers_of_float32(
    draw: str, distribution: Any, dtype: str
) -> None:
    function = getattr(random, draw)
    numbers = function(KEY, (1001,), dtype)
    assert numbers.dtype == dtype and np.isfinite(numbers.astype(np.float32)).all()
    np.testing.assert_array_equal(numbers, function(KEY, (1001,), np.float32).astype(numbers.dtype))


@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("bfloat16", 8)])
def test_short_uniform_numbers_are_as_likely(dtype: str, digits: int) -> None:
    numbers = random.uniform(KEY, (COUNT,), dtype).astype(np.float64) * 2**digits
    as_likely(np.bincount(numbers.astype(int), minlength=2**digits), np.ones(2**digits))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_of_normal_numbers(dtype: str) -> None:
    """Within five standard errors."""
    numbers = np.asarray(random.normal(KEY, (1_000_000,), dtype), np.float64)
    for power, expected in ((1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0), (6, 15.0)):
        found = numbers**power
        assert abs(found.mean() - expected) < 5 * found.std() / 1000


def test_complex_normal_numbers_have_independent_parts_of_variance_one_half() -> None:
    numbers = random.normal(KEY, (COUNT,), np.complex64)
    assert numbers.dtype == np.complex64
    scale = np.sqrt(np.float64(0.5))
    fits(numbers.real / scale, stats.norm)
    fits(numbers.imag / scale, stats.norm)
    assert abs(np.corrcoef(numbers.real, numbers.imag)[0, 1]) < 5 / np.sqrt(COUNT)
    assert abs(np.corrcoef(numbers.real**2, numbers.imag**2)[0, 1]) < 5 / np.sqrt(COUNT)
    wide = random.normal(KEY, (COUNT,), np.complex128)
    fits(wide.real / scale, stats.norm)
    fits(np.angle(wide) / (2 * np.pi) + 0.5, stats.uniform)


def test_both_numbers_of_a_pair_are_independent() -> None:
    """Those of Box and Muller come in twos of one radius."""
    numbers = np.asarray(random.normal(KEY, (COUNT,)), np.float64)
    one, two = numbers[::2], numbers[1::2]
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(one.size)
    assert abs(np.corrcoef(one**2, two**2)[0, 1]) < 5 / np.sqrt(one.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_words_at_their_ends_give_finite_numbers(dtype: str) -> None:
    """No word of any kind makes an infinity or NaN, which a test of many draws might not meet."""
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    words = np.array([0, 1, 2, 2**8, unsigned.type(-1 % 2**32), ~unsigned.type(0)], unsigned)
    real = np.dtype(dtype).type
    parts = jit(lambda w: fraction(w, real))(words)
    assert parts.dtype == dtype and (parts > 0).all() and (parts <= 1).all()
    assert parts[0] == real(0.5) / real(2.0) ** (8 * unsigned.itemsize) and parts[-1] == 1
    radius = np.sqrt(-2 * np.log(np.float64(parts[0])))
    assert radius < (6.8 if dtype == "float32" else 9.5), "what `normal` says of its tails"


def test_gumbel_numbers_are_finite_for_every_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the key stands for the words that it would make."""
    monkeypatch.setattr(distributions, "drawn", lambda key, shape, wide, made: made(key))
    for unsigned, kind in ((np.uint32, dt.f32), (np.uint64, dt.f64)):
        most = int(np.iinfo(unsigned).max)
        words = np.array([0, 1, most // 2, most - 256, most - 1, most], unsigned)
        found = jit(lambda w, kind=kind: distributions.gumbel_numbers(w, (6,), kind))(words)
        assert found.dtype == kind.numpy and np.isfinite(found).all()
        assert (np.diff(found) <= 0).all() and found[0] > 22 and found[-1] < -2.8


# --- ends of ranges -------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(FLOATS), st.floats(-1e4, 1e4), st.floats(-1e4, 1e4))
def test_uniform_numbers_are_in_their_interval(dtype: str, one: float, two: float) -> None:
    kind = random.uniform(KEY, (), dtype).dtype.type
    low, high = sorted((kind(one), kind(two)))
    numbers = random.uniform(KEY, (500,), dtype, low, high)
    assert numbers.dtype == dtype
    assert (numbers >= low).all()
    assert ((numbers < high) | (numbers == low)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_interval_of_two_neighbours_has_one_number(dtype: str) -> None:
    """Rounding makes the upper end of half of what is between, and that is not in the interval."""
    one = np.ones((), random.uniform(KEY, (), dtype).dtype)
    above = np.nextafter(one, 2 * one)
    numbers = random.uniform(KEY, (1000,), dtype, one, above)
    assert (numbers == one).all()
    below = -np.ones(1, one.dtype)
    assert (random.uniform(KEY, (1000,), dtype, -above, below) == -above).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_widest_interval_does_not_overflow(dtype: str) -> None:
    kind = random.uniform(KEY, (), dtype).dtype
    most = pnp.finfo(kind).max
    numbers = random.uniform(KEY, (COUNT,), dtype, -most, most)
    assert np.isfinite(numbers.astype(np.float64)).all()
    wide = random.uniform(KEY, (COUNT,), "float64", -1e308, 1e308)
    fits(wide / 1e308, stats.uniform(-1, 2))


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_empty_interval_gives_its_lower_end(dtype: str) -> None:
    assert (random.uniform(KEY, (100,), dtype, 2, 2) == 2).all()
    assert (random.uniform(KEY, (100,), dtype, 2, -3) == 2).all()


def test_ends_of_zero_and_one_are_the_default() -> None:
    for dtype in FLOATS:
        told = random.uniform(KEY, (77,), dtype, np.float64(0), np.ones(77))
        np.testing.assert_array_equal(told, random.uniform(KEY, (77,), dtype))


def test_ends_broadcast_to_the_shape() -> None:
    low, high = np.arange(3.0)[:, None], [10, 20, 30, 40]
    numbers = random.uniform(KEY, (5, 3, 4), np.float64, low, high)
    parts = (numbers - low) / (np.array(high) - low)
    np.testing.assert_allclose(parts, random.uniform(KEY, (5, 3, 4)), atol=1e-12)


# --- integers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 6), (-10, 117)])
@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", None])
def test_integers_are_as_likely(low: int, high: int, dtype: str | None) -> None:
    if dtype == "uint32":
        low, high = low + 10, high + 10
    numbers = random.randint(KEY, (COUNT,), low, high, dtype or int)
    assert numbers.dtype == (dtype or "int64")
    as_likely(np.bincount(numbers.astype(int) - low, minlength=high - low), np.ones(high - low))


def test_a_wide_range_has_no_pattern() -> None:
    """A product of one word of 64 bits with 3/4 of the range gives twice as many multiples of 3."""
    numbers = random.randint(KEY, (COUNT,), 0, 3 << 62, np.uint64)
    as_likely(np.bincount((numbers % 3).astype(int)), np.ones(3))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_the_whole_range_of_a_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    numbers = random.randint(KEY, (COUNT,), limits.min, limits.max + 1, dtype)
    assert numbers.dtype == dtype
    parts = (numbers.astype(np.float64) - limits.min) / (float(limits.max) - limits.min + 1)
    as_likely(np.bincount((parts * 64).astype(int), minlength=64), np.ones(64))


def test_ends_of_a_range() -> None:
    assert random.randint(KEY, (), 3, 3) == 3
    assert (random.randint(KEY, (9,), 3, -2) == 3).all()
    assert (random.randint(KEY, (9,), 255, 256, np.uint8) == 255).all()
    assert (random.randint(KEY, (9,), 2**64 - 1, 2**64, np.uint64) == 2**64 - 1).all()
    assert (random.randint(KEY, (9,), -(2**63), -(2**63) + 1) == -(2**63)).all()
    low, high = np.array([0, 10, 20]), np.array([1, 12, 19])
    numbers = random.randint(KEY, (400, 3), low, high)
    assert set(numbers[:, 0]) == {0} and set(numbers[:, 1]) == {10, 11}
    assert set(numbers[:, 2]) == {20}


def test_arrays_beyond_the_type_are_limited_to_it() -> None:
    """What is in an array is not known before the program runs."""
    numbers = random.randint(KEY, (COUNT,), np.array(-5), np.array(1000), np.uint8)
    assert numbers.min() == 0 and numbers.max() == 255
    huge = np.array(2**63 + 5, np.uint64)
    numbers = random.randint(KEY, (COUNT,), np.array(2**63 - 2), huge, np.int64)
    assert set(numbers) == {2**63 - 2, 2**63 - 1}
    assert (random.randint(KEY, (9,), np.array(-9), np.array(-3), np.uint8) == 0).all()
    assert (random.randint(KEY, (9,), np.array(900), np.array(901), np.int8) == 127).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "uint64"])
@pytest.mark.parametrize("given", ["int8", "int64", "uint64"])
def test_arrays_of_any_type_are_ends_of_a_range(dtype: str, given: str) -> None:
    numbers = random.randint(KEY, (50,), np.array(3, given), np.array(100, given), dtype)
    np.testing.assert_array_equal(numbers, random.randint(KEY, (50,), 3, 100, dtype))


def test_bernoulli() -> None:
    p = np.array([0.0, 0.1, 0.5, 0.999, 1.0])
    found = random.bernoulli(KEY, p, (COUNT, 5))
    assert found.dtype == bool and found.shape == (COUNT, 5)
    assert not found[:, 0].any() and found[:, 4].all()
    for k in (1, 2, 3):
        as_likely([found[:, k].sum(), (~found[:, k]).sum()], [p[k], 1 - p[k]])
    assert random.bernoulli(KEY, p).shape == (5,)
    assert random.bernoulli(KEY, shape=(2, 3)).shape == (2, 3)
    assert np.shape(random.bernoulli(KEY)) == ()


# --- shapes and types -----------------------------------------------------------------------------

ANY_SHAPE = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["uniform", "normal", "exponential", "gumbel"]),
    ANY_SHAPE,
    st.sampled_from([*FLOATS, None, float]),
)
def test_results_have_the_shape_and_type_that_is_asked_for(
    draw: str, shape: tuple[int, ...], dtype: Any
) -> None:
    found = getattr(random, draw)(KEY, shape, dtype)
    assert np.shape(found) == shape
    assert found.dtype == ("float64" if dtype in (None, float) else dtype)
    again = jit(lambda key: getattr(random, draw)(key, shape, dtype))(KEY)
    np.testing.assert_array_equal(found, again)


def test_a_shape_may_be_an_integer_or_a_list() -> None:
    expected = random.uniform(KEY, (3,))
    for shape in (3, [3], np.int64(3), np.array([3])):
        np.testing.assert_array_equal(random.uniform(KEY, shape), expected)


def test_defaults_are_those_of_numpy() -> None:
    assert type(random.uniform(KEY)) is np.float64
    assert type(random.randint(KEY, (), 0, 3)) is np.int64
    assert type(random.bits(KEY)) is np.uint32


# --- streams --------------------------------------------------------------------------------------


def test_streams_of_split_and_folded_keys_have_nothing_in_common() -> None:
    keys = np.concatenate(
        [KEY[None], random.split(KEY, 40), [random.fold_in(KEY, k) for k in range(40)]]
    )
    assert len({tuple(k) for k in keys}) == len(keys)
    streams = np.array([random.normal(k, (4000,)) for k in keys])
    found = np.corrcoef(streams)[np.triu_indices(len(keys), 1)]
    assert np.abs(found).max() < 6 / np.sqrt(4000)
    fits(found * np.sqrt(4000), stats.norm)


def test_folded_keys_of_many_numbers_differ() -> None:
    fold = jit(lambda i: random.fold_in(KEY, i))
    keys = {tuple(fold(i).tolist()) for i in range(-500, 3000)}
    assert len(keys) == 3500


def test_seeds_that_are_near_give_streams_that_are_not() -> None:
    streams = np.array([random.uniform(random.key(seed), (2000,)) for seed in range(30)])
    found = np.corrcoef(streams)[np.triu_indices(30, 1)]
    assert np.abs(found).max() < 6 / np.sqrt(2000)
