"""Philox4x32-10, and how its blocks are laid out: the definition of every random bit.

Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A block is four
words of 32 bits, a function of a counter of four words and a key of two. The counter of block n is
(n's low word, n's high word, 0, what the block is for), so words of numbers, of `split`, of
`fold_in` and of trials have nothing in common. Trial t of element n is block n with t as its third
word. An array takes its words from blocks in order, word after word: a longer one begins with the
elements of a shorter one.

A word of a block is an operation of elements (`ir/ops/scalar_philox.py`): it fuses with what uses
it, also inside of loops of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.interpreter import bind1
from pyc.numpy.core import operands

HALF = np.uint64(32)
NUMBERS, SPLIT, FOLD, TRIALS = np.uint32(0), np.uint32(1), np.uint32(2), np.uint32(3)
"""What a block is for."""

Words = tuple[Any, Any, Any, Any]


def philox(counter: Sequence[Any], key: Sequence[Any]) -> Words:
    """The block of a counter of four words under a key of two; or the blocks of arrays of these,
    which broadcast. All are `uint32`."""
    elements = operands("philox", *counter, *key)
    a, b, c, d = (bind1("philox", *elements, word=k) for k in range(4))
    return a, b, c, d


def halves(x: Any) -> tuple[Any, Any]:
    """The low and the high word of an integer, of its two's complement if it is below zero."""
    whole = pnp.asarray(x).astype(np.uint64)
    return whole.astype(np.uint32), (whole >> HALF).astype(np.uint32)


def blocks(key: Any, count: int, use: np.uint32 = NUMBERS) -> Words:
    """The first `count` blocks for a use: four arrays, word by word."""
    low, high = halves(pnp.arange(count, dtype=np.uint64))
    return philox((low, high, pnp.zeros_like(low), pnp.full_like(low, use)), (key[0], key[1]))


def pairs(words: Words) -> tuple[Any, Any]:
    """The two `uint64` of each block; the first word of a pair is the low one."""
    a, b, c, d = (w.astype(np.uint64) for w in words)
    return a | b << HALF, c | d << HALF


def drawn(
    key: Any, shape: tuple[int, ...], wide: bool, made: Callable[[Any], Any] = lambda x: x
) -> Any:
    """An array with one word for each element, or a `uint64` if `wide`, after `made`, a function of
    each element."""
    words = blocks(key, blocks_of(shape, 2 if wide else 4))
    return together([made(x) for x in (pairs(words) if wide else words)], shape)


def blocks_of(shape: tuple[int, ...], elements: int) -> int:
    """How many blocks an array takes if each gives so many elements."""
    return -(-prod(shape) // elements)


def together(lanes: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """An array of the elements of blocks, block after block; what is over is left out. lanes: the
    first element of each block, the second of each, and so on."""
    kind = lanes[0].dtype
    if len(lanes) == 4 and kind.itemsize == 4:
        # Two by two, which takes half as many reads.
        a, b, c, d = (x.view(np.uint32) for x in lanes)
        line = _line(halves(_line(pairs((a, b, c, d))))).view(kind)
    else:
        line = _line(lanes)
    return line[: prod(shape)].reshape(shape)


def _line(lanes: Sequence[Any]) -> Any:
    return pnp.stack(lanes, axis=-1).reshape(-1)
