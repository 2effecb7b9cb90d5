"""Sentences as batches of a few fixed shapes, since each shape is a program of its own.

Sentences are sorted by length and cut into batches from the longest on. A batch is as long as its
longest sentence, rounded up to one of `LENGTHS`, and has the sentences that make it `TOKENS`
tokens; those at the end, which have fewer, have a power of two of them, of which less than an
eighth is padding. So texts of any number and length share a few programs, one for each of `LENGTHS`
and those of the ends, and not many tokens are padding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Tokens of a batch's sentences; longer sentences are cut off, as the model was trained."""
TOKENS = 2048
"""Tokens of a batch, but for those at the end."""


@dataclass(frozen=True)
class Batch:
    """numbers: which sentences, in the order of the rows; rows beyond them repeat the last one.
    tokens, mask: (rows, length), int32 and bool."""

    numbers: tuple[int, ...]
    tokens: Array
    mask: Array


def batches(sentences: Sequence[Sequence[int]]) -> Iterator[Batch]:
    """Batches of all sentences, each a list of 1 to 256 token numbers."""
    order = sorted(range(len(sentences)), key=lambda n: -len(sentences[n]))
    start = 0
    while start < len(order):
        longest = len(sentences[order[start]])
        length = next(n for n in LENGTHS if n >= longest)
        rows = TOKENS // length
        left = len(order) - start
        if left < rows:
            rows = 1 << (left - 1).bit_length()
            if 8 * (rows - left) > rows:
                rows //= 2
        numbers = tuple(order[start : start + rows])
        yield _padded(sentences, numbers, rows, length)
        start += len(numbers)


def _padded(
    sentences: Sequence[Sequence[int]], numbers: tuple[int, ...], rows: int, length: int
) -> Batch:
    tokens = np.zeros((rows, length), np.int32)
    mask = np.zeros((rows, length), np.bool_)
    for row in range(rows):
        sentence = sentences[numbers[min(row, len(numbers) - 1)]]
        tokens[row, : len(sentence)] = sentence
        mask[row, : len(sentence)] = True
    return Batch(numbers, tokens, mask)
