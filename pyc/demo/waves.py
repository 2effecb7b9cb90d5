"""A tsunami-like wave over a real sea floor: the linear shallow-water equations on a C-grid.

Depth and land come from matplotlib's `topobathy.npz` (the sea off Vancouver Island), interpolated
to a finer grid. The water surface h starts as a hump in the deep and moves with
du/dt = -g dh/dx, dv/dt = -g dh/dy, dh/dt = -d(Du)/dx - d(Dv)/dy; nothing flows over land, and a
sponge at the edges takes waves out (Arakawa and Lamb 1977, the forward-backward scheme).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyc import numpy as pnp
from pyc.demo.data import matplotlib_image, refine, sample
from pyc.demo.program import Program
from pyc.lax import fori_loop

Array = np.ndarray[Any, Any]
STEPS = 600
SPACING = 900.0
GRAVITY = 9.81
REFINED = 4


def step(h: Any, u: Any, v: Any, depth: Any, calm: Any, dt: float) -> tuple[Any, Any, Any]:
    """One time step. h, depth, calm: (rows, columns); u: (rows, columns - 1);
    v: (rows - 1, columns); calm: what the sponge leaves of a wave."""
    across = np.minimum(depth[:, 1:], depth[:, :-1])
    along = np.minimum(depth[1:, :], depth[:-1, :])
    u = np.where(across > 0, u - dt * GRAVITY / SPACING * (h[:, 1:] - h[:, :-1]), 0.0)
    v = np.where(along > 0, v - dt * GRAVITY / SPACING * (h[1:, :] - h[:-1, :]), 0.0)
    flow_x = np.pad(across * u, ((0, 0), (1, 1)))
    flow_y = np.pad(along * v, ((1, 1), (0, 0)))
    spread = (flow_x[:, 1:] - flow_x[:, :-1]) + (flow_y[1:, :] - flow_y[:-1, :])
    return (h - dt / SPACING * spread) * calm, u, v


def simulate(h: Any, depth: Any, calm: Any, dt: float) -> tuple[Any, Any]:
    """The surface after `STEPS` steps, and the highest it was at each place."""
    rows, columns = h.shape
    u = pnp.zeros((rows, columns - 1), np.float32)
    v = pnp.zeros((rows - 1, columns), np.float32)

    def body(_: Any, state: Any) -> Any:
        h, u, v, peak = state
        h, u, v = step(h, u, v, depth, calm, dt)
        return h, u, v, np.maximum(peak, h)

    h, u, v, peak = fori_loop(0, STEPS, body, (h, u, v, h))
    return h, peak


def simulate_numpy(h: Array, depth: Array, calm: Array, dt: float) -> tuple[Array, Array]:
    """`simulate` as a Python loop."""
    rows, columns = h.shape
    u = np.zeros((rows, columns - 1), np.float32)
    v = np.zeros((rows - 1, columns), np.float32)
    peak = h
    for _ in range(STEPS):
        h, u, v = step(h, u, v, depth, calm, dt)
        peak = np.maximum(peak, h)
    return h, peak


def arguments() -> tuple[Any, ...]:
    """The surface with a hump 250 km long, depths in metres (0 on land), the sponge, and dt."""
    floor = refine(np.load(sample("topobathy.npz"))["topo"].astype(np.float32), REFINED)
    depth = np.maximum(-floor, 0).astype(np.float32)
    rows, columns = depth.shape
    y, x = np.mgrid[0:rows, 0:columns].astype(np.float32)
    hump = np.exp(-(((x - 0.18 * columns) / 18) ** 2) - ((y - 0.35 * rows) / 60) ** 2)
    h = (2.0 * hump * (depth > 0)).astype(np.float32)
    edge = np.minimum(np.minimum(x, columns - 1 - x), np.minimum(y, rows - 1 - y))
    calm = (1 - 0.06 * np.maximum(1 - edge / 20, 0) ** 2).astype(np.float32)
    dt = 0.5 * SPACING / float(np.sqrt(GRAVITY * depth.max()))
    return h, depth, calm, dt


def picture(arguments: tuple[Any, ...], results: Any, path: Path) -> None:
    """Land in green, depth in grey blue, the wave in red and blue."""
    _, depth, _, _ = arguments
    h, _ = results
    shade = 0.35 + 0.5 * (1 - depth / depth.max())
    image = np.stack([0.55 * shade, 0.75 * shade, shade], axis=-1)
    wave = np.clip(h / 0.5, -1, 1)[..., None]
    red, blue = np.array([0.9, 0.15, 0.1]), np.array([0.05, 0.15, 0.55])
    image = np.where(wave > 0, image * (1 - wave) + red * wave, image * (1 + wave) - blue * wave)
    image[depth <= 0] = [0.36, 0.47, 0.27]
    save(image[::-1], path)


def save(image: Array, path: Path) -> None:
    """Writes an (rows, columns, 3) image of 0 ... 1 as PNG."""
    matplotlib_image().imsave(path, np.clip(image, 0, 1))


PROGRAM = Program(
    name="waves",
    title="wave over a real sea floor, 361 x 477, 600 steps",
    function=simulate,
    reference=simulate_numpy,
    arguments=arguments,
    tolerance=2e-5,
    sample="topobathy.npz",
    picture=picture,
)
