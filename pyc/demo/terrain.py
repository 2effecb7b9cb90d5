"""A real elevation model: shaded by a low sun, and worn down by diffusion.

Shading is the cosine between the surface normal and the sun (Horn 1981). Erosion is hill-slope
diffusion dz/dt = d/dx (k dz/dx) with k larger on gentle slopes (Perona and Malik 1990), stepped
explicitly on matplotlib's `jacksboro_fault_dem.npz`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyc.demo.data import refine, sample
from pyc.demo.program import Program
from pyc.demo.waves import save
from pyc.lax import fori_loop

Array = np.ndarray[Any, Any]
STEPS = 60
SPACING = 45.0


def shade(z: Any) -> Any:
    """Brightness 0 ... 1 of each inner point under a sun in the north-west, 40 degrees up."""
    dx = (z[1:-1, 2:] - z[1:-1, :-2]) / (2 * SPACING)
    dy = (z[2:, 1:-1] - z[:-2, 1:-1]) / (2 * SPACING)
    up, east, north = np.sin(0.7), -0.707 * np.cos(0.7), 0.707 * np.cos(0.7)
    return np.maximum((up - east * dx + north * dy) / np.sqrt(1 + dx * dx + dy * dy), 0)


def wear(z: Any) -> Any:
    """One step of diffusion; the edge stays."""
    east = z[1:-1, 2:] - z[1:-1, 1:-1]
    west = z[1:-1, :-2] - z[1:-1, 1:-1]
    north = z[:-2, 1:-1] - z[1:-1, 1:-1]
    south = z[2:, 1:-1] - z[1:-1, 1:-1]

    def flow(d: Any) -> Any:
        return d / (1 + (d / 12.0) ** 2)

    inner = z[1:-1, 1:-1] + 0.2 * (flow(east) + flow(west) + flow(north) + flow(south))
    middle = np.concatenate([z[1:-1, :1], inner, z[1:-1, -1:]], axis=1)
    return np.concatenate([z[:1], middle, z[-1:]], axis=0)


def erode(z: Any) -> tuple[Any, Any]:
    """The terrain after `STEPS` steps, and its shading."""
    z = fori_loop(0, STEPS, lambda _, z: wear(z), z)
    return z, shade(z)


def erode_numpy(z: Array) -> tuple[Array, Array]:
    """`erode` as a Python loop."""
    for _ in range(STEPS):
        z = wear(z)
    return z, shade(z)


def arguments() -> tuple[Array]:
    """Elevations in metres, float32, on a grid twice as fine."""
    return (refine(np.load(sample("jacksboro_fault_dem.npz"))["elevation"].astype(np.float32), 2),)


def picture(arguments: tuple[Any, ...], results: Any, path: Path) -> None:
    """The shading, tinted by height."""
    z, light = results
    height = ((z - z.min()) / (z.max() - z.min()))[1:-1, 1:-1, None]
    low, high = np.array([0.45, 0.6, 0.35]), np.array([0.95, 0.9, 0.8])
    save((low * (1 - height) + high * height) * light[..., None], path)


PROGRAM = Program(
    name="terrain",
    title="erosion and shading of a real terrain, 687 x 805, 60 steps",
    function=erode,
    reference=erode_numpy,
    arguments=arguments,
    tolerance=2e-5,
    sample="jacksboro_fault_dem.npz",
    picture=picture,
)
