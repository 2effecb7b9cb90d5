"""Keys: made of a seed, and new ones of old ones."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.compositions import public, run
from pyc.interpreter import is_tracing
from pyc.random.arguments import is_known, key_of, shape_of, whole_number
from pyc.random.generator import FOLD, SPLIT, blocks, halves, philox


@public
def key(seed: Any) -> Any:
    """A key: an array of two `uint32`, the low and the high half of `seed`. Of JAX:
    `jax.random.key`.

    seed: an integer of at most 64 bits; one below zero counts as its two's complement
    raises ArgumentError: no integer, or one of more than 64 bits
    """
    value = whole_number("key", "seed", seed)
    if is_known(seed) and not is_tracing():
        return np.array([int(value) & 0xFFFFFFFF, int(value) >> 32], np.uint32)
    return run("random.key", _key, value)


@public
def split(key: Any, num: Any = 2) -> Any:
    """New keys: an array of shape (num, 2), or (*num, 2) for a shape, of `uint32`. What is drawn
    with one of them says nothing of the others, nor of `key`, which should not be used again.
    NumPy: `Generator.spawn`.

    key: (2,) uint32
    raises ArgumentError: `key` is no key; DTypeError: `num` is not of integers; ShapeError: a
    negative one
    """
    return run("random.split", split_keys, key_of("split", key), fixed=(shape_of("split", num),))


@public
def fold_in(key: Any, data: Any) -> Any:
    """A new key, (2,) `uint32`, made of a key and an integer, such as the number of a step.

    key: (2,) uint32
    data: an integer of at most 64 bits; one below zero counts as its two's complement
    raises ArgumentError: `key` is no key, or `data` no such integer
    """
    return run(
        "random.fold_in", _fold_in, key_of("fold_in", key), whole_number("fold_in", "data", data)
    )


def _key(seed: Any) -> Any:
    return pnp.stack(halves(seed))


def split_keys(key: Any, shape: tuple[int, ...]) -> Any:
    """What `split` gives."""
    words = blocks(key, prod(shape), SPLIT)
    return pnp.stack(words[:2], axis=-1).reshape(*shape, 2)


def _fold_in(key: Any, data: Any) -> Any:
    low, high = halves(data)
    zero = pnp.zeros_like(low)
    words = philox((low, high, zero, pnp.full_like(low, FOLD)), (key[0], key[1]))
    return pnp.stack(words[:2])
