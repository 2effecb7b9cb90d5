"""A first look: one decorator, what it made, and what it kept.

Run it: `python examples/quickstart.py`.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import pyc


@pyc.jit
def gaussian_sum(x, y, centres, width):
    """The sum of round hills around `centres` at each place of a grid: (rows, columns)."""
    dx = x[None, :, None] - centres[None, None, :, 0]
    dy = y[:, None, None] - centres[None, None, :, 1]
    return np.exp(-(dx * dx + dy * dy) / (2 * width * width)).sum(axis=2)


def best(function, *arguments) -> float:
    """The shortest of three runs, in milliseconds."""
    times = []
    for _ in range(3):
        start = perf_counter()
        function(*arguments)
        times.append(perf_counter() - start)
    return min(times) * 1e3


def main() -> None:
    x, y = np.linspace(0, 1, 300), np.linspace(0, 1, 200)
    centres = np.random.default_rng(0).random((40, 2))
    arguments = x, y, centres, 0.05

    found = gaussian_sum(*arguments)
    plain = gaussian_sum.__wrapped__
    np.testing.assert_allclose(found, plain(*arguments), rtol=1e-12)
    assert type(found) is np.ndarray

    # Another width is the same program; another shape is another one.
    gaussian_sum(x, y, centres, 0.1)
    gaussian_sum(x[:100], y, centres, 0.1)
    assert len(gaussian_sum.signatures()) == 2

    lowered = gaussian_sum.lower(*arguments)
    memory = lowered.memory_analysis()
    # NumPy makes several arrays of this size on its way, pyc none.
    temporary = f"> {x.size * y.size * len(centres) * 8:,}"
    print("the program:", lowered.as_text(), sep="\n")
    print(f"{'':24} {'NumPy':>12} {'pyc':>12}")
    print(f"{'ms':24} {best(plain, *arguments):12.2f} {best(gaussian_sum, *arguments):12.2f}")
    print(f"{'bytes of temporaries':24} {temporary:>12} {memory.peak:12,}")
    print(f"\nsignatures: {', '.join(gaussian_sum.signatures())}\n")
    print(pyc.cache.stats())


if __name__ == "__main__":
    main()
