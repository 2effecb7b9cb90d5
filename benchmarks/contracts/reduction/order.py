"""An order of summation as five facts, and its NumPy model.

The sequence x[0..n) is cut into chunks of `chunk` elements. Inside a chunk, lane l is the left fold
of x[chunk * c + lanes * j + l] over j. The lane tree then folds the chunk to `keep` lanes. Chunk
vectors meet in the pairwise tree by chunk number (an odd one is promoted unchanged), and the same
lane tree finishes from `keep` lanes to one. Missing elements are -0.0, the exact identity of float
addition, so they may also be skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Order:
    """One documented order; `tree` is "halves" (i += i + L/2) or "adjacent" (2i + (2i + 1))."""

    name: str
    lanes: int = 128
    chunk: int = 1024
    keep: int = 128
    tree: str = "halves"

    @property
    def folds(self) -> int:
        """Elements in each lane's left fold in a full chunk."""
        return self.chunk // self.lanes


DOCUMENTED = Order("documented")
ALTERNATIVES = (
    Order("chunk512", chunk=512),
    Order("chunk2048", chunk=2048),
    Order("chunk4096", chunk=4096),
    Order("lanes64", lanes=64, keep=64),
    Order("keep16", keep=16),
    Order("keep1", keep=1),
    Order("adjacent", tree="adjacent"),
    Order("adjacent-keep1", keep=1, tree="adjacent"),
)


def model(x: Array, order: Order) -> Array:
    """Sums over the last axis of `x` in the documented order, by plain NumPy.

    x: (rows, n) -> (rows,)
    """
    rows, n = x.shape
    chunks = max(1, -(-n // order.chunk))
    padded = np.full((rows, chunks * order.chunk), -0.0, x.dtype)
    padded[:, :n] = x
    cut = padded.reshape(rows, chunks, order.folds, order.lanes)
    v = cut[:, :, 0]
    for j in range(1, order.folds):
        v = v + cut[:, :, j]
    v = lane_tree_model(v, order.keep, order.tree)
    while v.shape[1] > 1:
        even = v.shape[1] // 2 * 2
        v = np.concatenate([v[:, 0:even:2] + v[:, 1:even:2], v[:, even:]], axis=1)
    return lane_tree_model(v[:, 0], 1, order.tree)[:, 0]


def lane_tree_model(v: Array, keep: int, tree: str) -> Array:
    """The lane tree over the last axis of `v` until `keep` lanes are left."""
    while (width := v.shape[-1]) > keep:
        if tree == "halves":
            v = v[..., : width // 2] + v[..., width // 2 :]
        else:
            v = v[..., 0::2] + v[..., 1::2]
    return v
