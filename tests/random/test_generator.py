"""Bits, keys and exact numbers: the paper's known answers, and an implementation in Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc import random
from pyc.random.generator import blocks, philox
from tests.random import reference

SEEDS = st.integers(-(2**63), 2**64 - 1)
SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)

KNOWN = [
    (
        "00000000 00000000 00000000 00000000",
        "00000000 00000000",
        "6627e8d5 e169c58d bc57ac4c 9b00dbd8",
    ),
    (
        "ffffffff ffffffff ffffffff ffffffff",
        "ffffffff ffffffff",
        "408f276d 41c83b0e a20bc7c6 6d5451fd",
    ),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
"""Counter, key and block: `philox4x32 10` in kat_vectors of Random123, by the paper's authors."""


def of_hex(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_known_answers(counter: str, key: str, expected: str) -> None:
    words = [np.uint32(x) for x in of_hex(counter) + of_hex(key)]
    found = pyc.jit(lambda *w: philox(w[:4], w[4:]))(*words)
    assert [int(x) for x in found] == of_hex(expected)
    c0, c1, c2, c3 = of_hex(counter)
    k0, k1 = of_hex(key)
    assert [*reference.philox((c0, c1, c2, c3), (k0, k1))] == of_hex(expected)


def test_the_first_key_is_that_of_the_known_answers() -> None:
    """A user can check it by hand."""
    assert list(random.key(0)) == [0, 0]
    assert [hex(w) for w in random.bits(random.key(0), 4)] == [
        *("0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8")
    ]


def test_counters_have_64_bits() -> None:
    """Of more than 2**32 blocks the counters would else begin again."""
    high = pyc.jit(lambda n: philox((n[0], n[1], n[2], n[3]), (n[4], n[5])))
    numbers = np.array([5, 3, 0, 0, 11, 12], np.uint32)
    assert [int(x) for x in high(numbers)] == [*reference.block((11, 12), 5 + (3 << 32), 0)]
    text = str(pyc.make_graph(lambda k: blocks(k, 9))(random.key(0)))
    assert "u64[9]" in text, "the numbers of blocks are of 64 bits"


@settings(max_examples=25, deadline=None)
@given(SEEDS, SHAPES, st.sampled_from(["u1", "u2", "u4", "u8"]))
def test_bits(seed: int, shape: tuple[int, ...], dtype: str) -> None:
    key = random.key(seed)
    found = random.bits(key, shape, dtype)
    assert np.shape(found) == shape and found.dtype == dtype
    np.testing.assert_array_equal(found, reference.bits(key, shape, dtype))


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.integers(0, 9), st.integers(-(2**63), 2**64 - 1))
def test_keys(seed: int, count: int, data: int) -> None:
    key = random.key(seed)
    assert key.dtype == np.uint32
    assert list(key) == [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    np.testing.assert_array_equal(random.split(key, count), reference.split(key, count))
    np.testing.assert_array_equal(random.fold_in(key, data), reference.fold_in(key, data))


@pytest.mark.parametrize(
    ("dtype", "digits"), [("f2", 11), (pnp.bfloat16, 8), ("f4", 24), ("f8", 53)], ids=str
)
def test_uniform_numbers_are_the_leading_bits(dtype: object, digits: int) -> None:
    key = random.key(17)
    found = random.uniform(key, (7, 5), dtype)
    np.testing.assert_array_equal(found, reference.uniform(key, (7, 5), dtype, digits))


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.sampled_from("bhilBHIL"), st.data())
def test_randint_is_exact(seed: int, code: str, data: st.DataObject) -> None:
    limits = np.iinfo(code)
    low = data.draw(st.integers(limits.min, limits.max))
    high = data.draw(st.integers(low + 1, limits.max + 1))
    key = random.key(seed)
    found = random.randint(key, (3, 2), low, high, code)
    np.testing.assert_array_equal(found, reference.randint(key, (3, 2), low, high, code))


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        *((0, 3 << 62, "u8"), (7, 2**64, "u8"), (0, 2**64, "u8"), (2**63, 2**64 - 1, "u8")),
        *((-(2**63), 2**63 - 1, "i8"), (-(2**62), 2**62 + 1, "i8"), (0, 10**18, "i8")),
        *((0, 2**32, "u4"), (1, 2**32 - 1, "u4"), (-(2**31), 2**31, "i4"), (-128, 128, "i1")),
    ],
)
def test_wide_ranges_are_exact(low: int, high: int, dtype: str) -> None:
    key = random.key(-1)
    found = random.randint(key, (200,), low, high, dtype)
    np.testing.assert_array_equal(found, reference.randint(key, (200,), low, high, dtype))


@pytest.mark.parametrize(("dtype", "wide"), [("f4", False), ("f8", True)])
def test_normal_numbers(dtype: str, wide: bool) -> None:
    key = random.key(23)
    found = random.normal(key, (4001,), dtype)
    expected = reference.normal(key, 4001, wide)
    np.testing.assert_allclose(found, expected, rtol=2e-6 if dtype == "f4" else 1e-14, atol=2e-6)


@pytest.mark.parametrize("draw", ["bits", "uniform", "normal", "exponential", "gumbel"])
def test_a_longer_array_begins_with_a_shorter_one(draw: str) -> None:
    function = getattr(random, draw)
    long = function(random.key(3), (4, 25))
    np.testing.assert_array_equal(function(random.key(3), 13), long.reshape(-1)[:13])
    np.testing.assert_array_equal(random.split(random.key(3), 9)[:2], random.split(random.key(3)))


def test_a_permutation_is_the_order_of_random_integers() -> None:
    key = random.key(8)
    expected = np.argsort(reference.bits(key, (500,), "u8"), stable=True)
    np.testing.assert_array_equal(random.permutation(key, 500), expected)
