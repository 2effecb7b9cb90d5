"""What the functions of `pyc.random` should give, in Python integers and NumPy's float64: written
from the paper and from `docs/random.md`, shares nothing with pyc."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
WORD = 0xFFFFFFFF


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """The block of Philox4x32-10."""
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * x0, 0xCD9E8D57 * x2
        x0, x1, x2, x3 = b >> 32 ^ x1 ^ k0, b & WORD, a >> 32 ^ x3 ^ k1, a & WORD
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return x0, x1, x2, x3


def block(key: Any, number: int, use: int) -> tuple[int, int, int, int]:
    """Block `number` for a use: 0 for numbers, 1 for split, 2 for fold_in."""
    return philox((number & WORD, number >> 32 & WORD, 0, use), (int(key[0]), int(key[1])))


def words(key: Any, count: int) -> list[int]:
    """The first words for numbers."""
    return [w for n in range(-(-count // 4)) for w in block(key, n, 0)][:count]


def long_words(key: Any, count: int) -> list[int]:
    """The first pairs of words, the low one first."""
    found = words(key, 2 * count)
    return [a | b << 32 for a, b in zip(found[::2], found[1::2], strict=True)]


def bits(key: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Of 8 and 16 bits: the lower ones of a word."""
    dtype = np.dtype(dtype)
    drawn = long_words if dtype.itemsize == 8 else words
    found = [w % 2 ** (8 * dtype.itemsize) for w in drawn(key, prod(shape))]
    return np.array(found, dtype).reshape(shape)


def split(key: Any, num: int) -> Array:
    """New keys."""
    return np.array([block(key, n, 1)[:2] for n in range(num)], np.uint32).reshape(num, 2)


def fold_in(key: Any, data: int) -> Array:
    """A new key."""
    return np.array(block(key, data % 2**64, 2)[:2], np.uint32)


def uniform(key: Any, shape: tuple[int, ...], dtype: Any, digits: int) -> Array:
    """The leading bits over a power of two."""
    if np.dtype(dtype).itemsize == 8:
        found = [w >> 64 - digits for w in long_words(key, prod(shape))]
    else:
        found = [w >> 32 - digits for w in words(key, prod(shape))]
    return (np.array(found, np.float64) / 2.0**digits).astype(dtype).reshape(shape)


def randint(key: Any, shape: tuple[int, ...], low: int, high: int, dtype: Any) -> Array:
    """The random word times the range, its upper half: 64 bits of randomness, 128 for types of 64
    bits, in which the first pair is the upper one."""
    count = prod(shape)
    if np.dtype(dtype).itemsize == 8:
        pairs = long_words(key, 2 * count)
        wide = [a << 64 | b for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
        found = [low + (w * (high - low) >> 128) for w in wide]
    else:
        found = [low + (w * (high - low) >> 64) for w in long_words(key, count)]
    return np.array(found, dtype).reshape(shape)


def normal(key: Any, count: int, wide: bool) -> Array:
    """The polar form, float64."""
    bits = 64 if wide else 32
    found = np.array((long_words if wide else words)(key, 2 * -(-count // 2)), np.float64)
    part = (found + 0.5) / 2.0**bits
    radius, turn = np.sqrt(-2 * np.log(part[::2])), 2 * np.pi * part[1::2]
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=-1).reshape(-1)[:count]
