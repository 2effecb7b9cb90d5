"""Conway's Game of Life (1970) on a torus: neighbours by `roll`, generations by `fori_loop`.

Run it: `python examples/life.py`.
"""

from __future__ import annotations

import numpy as np

import pyc
from pyc import lax

GLIDER = ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2))


def generation(cells):
    """The next generation. cells: (rows, columns), uint8, 0 or 1."""
    rows = np.roll(cells, 1, axis=0) + cells + np.roll(cells, -1, axis=0)
    block = np.roll(rows, 1, axis=1) + rows + np.roll(rows, -1, axis=1)
    # `block` counts the cell itself: 3 is birth or survival, 4 survival.
    return ((block == 3) | ((block == 4) & (cells == 1))).astype(np.uint8)


@pyc.jit
def live(cells, generations):
    """The board after that many generations, and the number of living cells."""
    cells = lax.fori_loop(0, generations, lambda _, c: generation(c), cells)
    return cells, cells.sum()


def main() -> None:
    board = np.zeros((64, 96), np.uint8)
    for row, column in GLIDER:
        board[row, column] = 1

    # A glider moves by one row and one column in four generations.
    found, alive = live(board, 100)
    np.testing.assert_array_equal(found, np.roll(board, (25, 25), axis=(0, 1)))
    assert alive == 5

    soup = (np.random.default_rng(0).random((64, 96)) < 0.3).astype(np.uint8)
    expected = soup
    print(f"{'generation':>10} {'alive':>6}")
    for k in range(0, 101, 25):
        found, alive = live(soup, k)
        np.testing.assert_array_equal(found, expected)
        print(f"{k:10d} {alive:6d}")
        for _ in range(25):
            expected = generation(expected)
    print("\n".join("".join(".#"[cell] for cell in row[:64]) for row in found[:16]))


if __name__ == "__main__":
    main()
