"""Philox4x32-10: a word of a block of random bits, a function of a counter and a key.

    philox(c0, c1, c2, c3, k0, k1, word=0)    the first of four words

All are u32. `pyc/random/generator.py` says where the definition is from and how blocks are counted;
an op of its own spares the passes the 200 operations that a block is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10


def philox(*elements: Expr, word: int) -> Expr:
    """A word of the block of a counter of four words and a key of two."""
    return _block(elements)[word]


# The words of a block are asked for one after the other; as the same nodes they are merged at once.
@lru_cache(maxsize=8)
def _block(elements: tuple[Expr, ...]) -> Sequence[Expr]:
    c0, c1, c2, c3, k0, k1 = elements
    for n in range(ROUNDS):
        (h0, l0), (h1, l1) = _product(c0, MULTIPLIERS[0]), _product(c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        if n < ROUNDS - 1:
            k0, k1 = k0 + WEYL[0], k1 + WEYL[1]
    return c0, c1, c2, c3


def _product(a: Expr, b: int) -> tuple[Expr, Expr]:
    """The high and the low word of the product of two words."""
    if isinstance(a, Const):  # of counters below 2^64: their third word is 0
        whole = int(a.value) * b
        return Const(whole >> 32, dt.u32), Const(whole, dt.u32)
    long = a.cast(dt.u64) * b
    return (long >> 32).cast(dt.u32), long.cast(dt.u32)


def reference(*arrays: Any, word: int) -> Any:
    """The same by NumPy."""
    mask = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3, k0, k1 = (np.asarray(a).astype(np.uint64) for a in arrays)
    for n in range(ROUNDS):
        left, right = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        first, second = ((k + np.uint64(n * w)) & mask for k, w in zip((k0, k1), WEYL, strict=True))
        c0, c1 = (right >> np.uint64(32)) ^ c1 ^ first, right & mask
        c2, c3 = (left >> np.uint64(32)) ^ c3 ^ second, left & mask
    return (c0, c1, c2, c3)[word].astype(np.uint32)
