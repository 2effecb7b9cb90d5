"""Colour quantisation of a photograph by k-means (Lloyd's algorithm, 1957)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyc.demo.data import matplotlib_image, sample
from pyc.demo.program import Program
from pyc.demo.waves import save
from pyc.lax import fori_loop

Array = np.ndarray[Any, Any]
COLOURS = 12
ROUNDS = 8


def update(pixels: Any, centres: Any, labels: Any) -> tuple[Any, Any]:
    """New centres, and the nearest centre of each pixel.

    pixels: (n, 3), centres: (k, 3), labels: (k,), the numbers of the centres
    """
    far = ((pixels[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest = far.argmin(axis=1)
    member = (nearest[:, None] == labels[None, :]).astype(np.float64)
    count = member.sum(axis=0)
    total = (member[:, :, None] * pixels[:, None, :]).sum(axis=0)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], centres), nearest


def quantise(pixels: Any, centres: Any, labels: Any) -> tuple[Any, Any]:
    """Centres after `ROUNDS` rounds and the nearest one of each pixel."""

    def body(_: Any, centres: Any) -> Any:
        return update(pixels, centres, labels)[0]

    centres = fori_loop(0, ROUNDS, body, centres)
    return centres, update(pixels, centres, labels)[1]


def quantise_numpy(pixels: Array, centres: Array, labels: Array) -> tuple[Array, Array]:
    """`quantise` as a Python loop."""
    for _ in range(ROUNDS):
        centres = update(pixels, centres, labels)[0]
    return centres, update(pixels, centres, labels)[1]


def arguments() -> tuple[Array, Array, Array]:
    """The pixels of `grace_hopper.jpg`, every second row and column, and first centres."""
    image = matplotlib_image().imread(sample("grace_hopper.jpg"))[::2, ::2].astype(np.float64) / 255
    pixels = np.ascontiguousarray(image.reshape(-1, 3))
    order = np.argsort(pixels.sum(axis=1), kind="stable")
    places = np.linspace(0, len(order) - 1, COLOURS).astype(int)
    return pixels, np.ascontiguousarray(pixels[order[places]]), np.arange(COLOURS)


def picture(arguments: tuple[Any, ...], results: Any, path: Path) -> None:
    """The photograph in the colours that were found."""
    centres, nearest = results
    save(centres[nearest].reshape(300, 256, 3), path)


PROGRAM = Program(
    name="colours",
    title="k-means colours of a photograph, 76,800 pixels, 12 colours",
    function=quantise,
    reference=quantise_numpy,
    arguments=arguments,
    tolerance=1e-9,
    sample="grace_hopper.jpg",
    picture=picture,
)
