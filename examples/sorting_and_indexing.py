"""Ranks, nearest neighbours and grouped sums: sort, search, gather and deterministic scatter.

Run it: `python examples/sorting_and_indexing.py`.
"""

from __future__ import annotations

import numpy as np

import pyc
from pyc import numpy as pnp


@pyc.jit
def ranks(values):
    """The place of each value in ascending order, equal values in the order given: (n,) int64."""
    order = np.argsort(values, kind="stable")
    return pnp.zeros(values.shape, np.int64).at[order].set(pnp.arange(values.shape[0]))


@pyc.jit
def neighbours(points, queries):
    """The number of the nearest point to each query, and the distance. points: (n, 2)."""
    apart = queries[:, None, :] - points[None, :, :]
    square = (apart * apart).sum(axis=2)
    nearest = square.argmin(axis=1)
    return nearest, np.sqrt(np.take_along_axis(square, nearest[:, None], axis=1))[:, 0]


@pyc.jit
def group_means(values, group, empty):
    """The mean of the values of each group. group: (n,), whole numbers below len(empty), which
    holds a zero for each group."""
    total = empty.at[group].add(values)
    count = empty.at[group].add(1.0)
    return total / np.maximum(count, 1)


@pyc.jit
def percentiles(sample, values):
    """How many of 100 of the sample lie below each value."""
    return np.searchsorted(np.sort(sample), values) * 100 / sample.shape[0]


def main() -> None:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 500, 2000).astype(np.float64)
    order = np.argsort(values, kind="stable")
    expected = np.empty(2000, np.int64)
    expected[order] = np.arange(2000)
    np.testing.assert_array_equal(ranks(values), expected)

    points, queries = rng.random((500, 2)), rng.random((300, 2))
    nearest, distance = neighbours(points, queries)
    apart = np.linalg.norm(queries[:, None] - points[None], axis=2)
    np.testing.assert_array_equal(nearest, apart.argmin(axis=1))
    np.testing.assert_allclose(distance, apart.min(axis=1), rtol=1e-12)

    group = rng.integers(0, 8, 2000)
    means = group_means(values, group, np.zeros(8))
    np.testing.assert_allclose(means, [values[group == k].mean() for k in range(8)], rtol=1e-12)

    below = percentiles(values, np.array([100.0, 250.0, 400.0]))
    np.testing.assert_array_equal(below, [(values < v).mean() * 100 for v in (100, 250, 400)])

    # As in NumPy, an index out of range raises, and names the line above.
    refused = ""
    try:
        group_means(values, group + 1, np.zeros(8))
    except IndexError as error:
        refused = str(error)
    assert "index 8 is out of bounds for axis 0 with size 8" in refused
    assert "total = empty.at[group].add(values)" in refused

    print(f"{'group':>6} {'mean':>8}")
    for k, mean in enumerate(means):
        print(f"{k:6d} {mean:8.2f}")
    print("below 100, 250, 400:", ", ".join(f"{p:.1f} %" for p in below))
    print(f"nearest of {len(points)} points: mean distance {distance.mean():.4f}")


if __name__ == "__main__":
    main()
