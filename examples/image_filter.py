"""Blur and edges of a photograph: separable convolutions as shifted sums, fused.

Run it: `python examples/image_filter.py`.

With matplotlib installed the picture is its sample photograph, else one that is made here.
"""

from __future__ import annotations

import numpy as np

import pyc
from pyc.demo.data import matplotlib_image, sample, sample_folder

WEIGHTS = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)


def along(image, weights, axis):
    """The image convolved along an axis with an odd number of weights; edges repeat."""
    half = len(weights) // 2
    widths = [(half, half) if k == axis else (0, 0) for k in range(image.ndim)]
    padded = np.pad(image, widths, mode="edge")
    n = image.shape[axis]
    shifted = [
        padded[k : k + n] if axis == 0 else padded[:, k : k + n] for k in range(2 * half + 1)
    ]
    return sum(w * s for w, s in zip(weights, shifted, strict=True))


def edges(image):
    """The steepness (Sobel, 1968) of a blurred grey image: (rows, columns) -> the same."""
    soft = along(along(image, WEIGHTS, 0), WEIGHTS, 1)
    down = along(along(soft, (-1.0, 0.0, 1.0), 0), (1.0, 2.0, 1.0), 1)
    right = along(along(soft, (1.0, 2.0, 1.0), 0), (-1.0, 0.0, 1.0), 1)
    return np.sqrt(down * down + right * right)


def photograph() -> np.ndarray:
    """A grey image, float32, 0 ... 1."""
    if sample_folder() is not None:
        colours = matplotlib_image().imread(sample("grace_hopper.jpg")) / 255
        return (colours @ np.array([0.299, 0.587, 0.114])).astype(np.float32)
    y, x = np.mgrid[0:600, 0:512] / 100
    return (0.5 + 0.5 * np.sin(x * x + y)).astype(np.float32)


def main() -> None:
    image = photograph()
    jitted = pyc.jit(edges)
    found, expected = jitted(image), edges(image)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    cost = jitted.lower(image).cost_analysis()
    share = float((found > 0.5).mean())
    assert 0.001 < share < 0.5
    print(f"{'image':28} {image.shape[0]} x {image.shape[1]}")
    print(f"{'kernels':28} {cost.kernels}")
    print(f"{'largest difference to NumPy':28} {np.abs(found - expected).max():.1e}")
    print(f"{'share of edges':28} {share:.1%}")


if __name__ == "__main__":
    main()
