"""`permutation`, `choice` and `categorical`: what they give, and how often."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyc import random
from pyc.jit import jit
from tests.random.test_distributions import COUNT, KEY, as_likely

GRID = np.arange(24).reshape(2, 3, 4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(-3, 2))
def test_a_permutation_has_every_element(seed: int, axis: int) -> None:
    key = random.key(seed)
    found = random.permutation(key, GRID, axis)
    order = random.permutation(key, GRID.shape[axis])
    np.testing.assert_array_equal(found, np.take(GRID, order, axis))
    each = random.permutation(key, GRID, axis, independent=True)
    np.testing.assert_array_equal(np.sort(each, axis), np.sort(GRID, axis))


def test_each_order_is_as_likely() -> None:
    orders = jit(lambda k: random.permutation(k, np.tile(np.arange(4), (20_000, 1)), 1, True))(KEY)
    counts = Counter(map(tuple, orders.tolist()))
    as_likely([counts[order] for order in permutations(range(4))], np.ones(24))


def test_lines_have_orders_of_their_own() -> None:
    rows = random.permutation(KEY, np.tile(np.arange(100), (50, 1)), 1, independent=True)
    assert len({tuple(row) for row in rows.tolist()}) == 50
    same = random.permutation(KEY, np.tile(np.arange(100), (50, 1)), 1)
    assert len({tuple(row) for row in same.tolist()}) == 1


def test_permutations_of_nothing_and_of_one() -> None:
    assert random.permutation(KEY, 0).shape == (0,)
    assert random.permutation(KEY, np.zeros((0, 3))).shape == (0, 3)
    assert random.permutation(KEY, 1).tolist() == [0]
    assert random.permutation(KEY, np.ones((2, 0)), 1).shape == (2, 0)
    np.testing.assert_array_equal(random.permutation(KEY, [7.5]), [7.5])


def test_choice_with_replacement() -> None:
    found = random.choice(KEY, 7, (COUNT,))
    assert found.dtype == np.int64
    as_likely(np.bincount(found), np.ones(7))
    np.testing.assert_array_equal(random.choice(KEY, np.arange(7) * 2, (COUNT,)), found * 2)


def test_choice_without_replacement() -> None:
    found = random.choice(KEY, 50, (5, 10), replace=False)
    assert sorted(found.reshape(-1)) == list(range(50))
    first = [int(random.choice(k, 3, (), False)) for k in random.split(KEY, 300)]
    as_likely(np.bincount(first, minlength=3), np.ones(3))


WEIGHTS = np.array([0.0, 0.2, 0.0, 0.5, 0.3, 0.0])


@pytest.mark.parametrize("scale", [1, 1e-300, 1e300])
def test_choice_by_weights(scale: float) -> None:
    """What they sum to does not matter, and what has none never comes."""
    found = random.choice(KEY, 6, (COUNT,), p=WEIGHTS * scale)
    counts = np.bincount(found, minlength=6)
    assert not counts[WEIGHTS == 0].any()
    as_likely(counts[WEIGHTS > 0], WEIGHTS[WEIGHTS > 0])


def test_choice_by_weights_without_replacement() -> None:
    """The first is drawn by the weights, the second by those of the others."""
    draw = jit(lambda key: random.choice(key, 6, (2,), False, WEIGHTS))
    pairs = [tuple(draw(key).tolist()) for key in random.split(KEY, 4000)]
    kinds = [(i, j) for i in (1, 3, 4) for j in (1, 3, 4) if i != j]
    counts = Counter(pairs)
    assert set(counts) <= set(kinds)
    shares = [WEIGHTS[i] * WEIGHTS[j] / (1 - WEIGHTS[i]) for i, j in kinds]
    as_likely([counts[kind] for kind in kinds], shares)
    last = random.choice(KEY, 6, (6,), False, WEIGHTS)
    assert sorted(last) == list(range(6)) and set(last[3:]) == {0, 2, 5}


def test_choice_along_an_axis() -> None:
    found = random.choice(KEY, GRID, (5, 2), axis=-1)
    assert found.shape == (2, 3, 5, 2)
    places = random.choice(KEY, 4, (5, 2))
    np.testing.assert_array_equal(found, np.take(GRID, places, -1))
    one = random.choice(KEY, GRID, axis=1)
    np.testing.assert_array_equal(one, np.take(GRID, random.choice(KEY, 3), 1))


def test_choice_of_nothing() -> None:
    assert random.choice(KEY, 0, (0,)).shape == (0,)
    assert random.choice(KEY, np.ones((0, 2)), (3, 0)).shape == (3, 0, 2)
    assert random.choice(KEY, 5, (0,), p=np.ones(5)).shape == (0,)
    assert random.choice(KEY, 0, (0,), False, np.ones(0)).shape == (0,)


LOGITS = np.log(np.array([0.1, 0.2, 0.3, 0.4]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_categorical(dtype: str) -> None:
    logits = LOGITS.astype(random.uniform(KEY, (), dtype).dtype)
    found = random.categorical(KEY, logits, shape=(COUNT,))
    assert found.dtype == np.int64
    as_likely(np.bincount(found, minlength=4), np.exp(logits.astype(np.float64)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rare_categories_come_as_often_as_they_should(dtype: str) -> None:
    """A hundred times in 200,000."""
    logits = np.zeros(2, dtype)
    logits[1] = -np.log(1999)
    counts = np.bincount(random.categorical(KEY, logits, shape=(COUNT,)), minlength=2)
    as_likely(counts, np.exp(logits.astype(np.float64)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_logits_of_16_bits_are_those_of_float32(dtype: str) -> None:
    """Noise of 16 bits would have ties, in which the first category is taken."""
    logits = random.normal(KEY, (128,), dtype)
    found = random.categorical(KEY, logits, shape=(5000,))
    wide = random.categorical(KEY, logits.astype(np.float32), shape=(5000,))
    np.testing.assert_array_equal(found, wide)


def test_categories_that_cannot_be() -> None:
    logits = np.array([-np.inf, 0.0, -np.inf, 1.0])
    assert set(random.categorical(KEY, logits, shape=(1000,))) == {1, 3}
    assert set(random.categorical(KEY, [0, 10**6], shape=(1000,))) == {1}
    assert set(random.categorical(KEY, [[False], [False]], axis=0, shape=(99, 1)).flat) == {0, 1}


@pytest.mark.parametrize(
    ("axis", "shape", "expected"),
    [
        (-1, None, (2, 3)),
        (0, None, (3, 4)),
        (1, None, (2, 4)),
        (-2, (5, 2, 4), (5, 2, 4)),
        (2, (7, 2, 3), (7, 2, 3)),
    ],
)
def test_shapes_of_categories(axis: int, shape: Any, expected: tuple[int, ...]) -> None:
    found = random.categorical(KEY, GRID * 0.1, axis, shape)
    assert found.shape == expected
    assert found.min() >= 0 and found.max() < GRID.shape[axis]


def test_each_row_has_its_own_probabilities() -> None:
    logits = np.where(np.eye(3, dtype=bool), 50.0, 0.0)
    np.testing.assert_array_equal(
        random.categorical(KEY, logits, shape=(9, 3)), np.tile(np.arange(3), (9, 1))
    )
    np.testing.assert_array_equal(random.categorical(KEY, logits, axis=0), np.arange(3))
    assert random.categorical(KEY, np.zeros((0, 3))).shape == (0,)
