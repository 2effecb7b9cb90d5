"""Programs on generated data: bodies under gravity, the Mandelbrot set, a transformer block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pyc import numpy as pnp
from pyc.demo.program import Program
from pyc.demo.waves import save
from pyc.lax import fori_loop, while_loop

Array = np.ndarray[Any, Any]
BODIES, MOVES = 256, 20
LIMIT = 200


# --- N-body ---------------------------------------------------------------------------------------


def accelerations(position: Any, mass: Any) -> Any:
    """Softened gravity on each body. position: (n, 3), mass: (n,)."""
    apart = position[None, :, :] - position[:, None, :]
    near = (apart * apart).sum(axis=2) + 0.01
    pull = mass[None, :] / (near * np.sqrt(near))
    return (apart * pull[:, :, None]).sum(axis=1)


def move(state: Any, mass: Any, dt: float) -> Any:
    """One leapfrog step of (position, velocity)."""
    position, velocity = state
    velocity = velocity + dt * accelerations(position, mass)
    return position + dt * velocity, velocity


def bodies(position: Any, velocity: Any, mass: Any, dt: float) -> Any:
    """Positions and velocities after `MOVES` steps."""
    return fori_loop(0, MOVES, lambda _, s: move(s, mass, dt), (position, velocity))


def bodies_numpy(position: Array, velocity: Array, mass: Array, dt: float) -> Any:
    """`bodies` as a Python loop."""
    state = position, velocity
    for _ in range(MOVES):
        state = move(state, mass, dt)
    return state


def cluster() -> tuple[Any, ...]:
    """A ball of bodies at rest, and dt."""
    rng = np.random.default_rng(1)
    position = rng.standard_normal((BODIES, 3))
    mass = rng.uniform(0.5, 1.5, BODIES) / BODIES
    return position, np.zeros_like(position), mass, 0.01


# --- Mandelbrot -----------------------------------------------------------------------------------


def mandelbrot(x: Any, y: Any) -> Any:
    """Steps until z = z^2 + c leaves the disc of radius 2, at most `LIMIT`. x: (columns,),
    y: (rows,) -> (rows, columns) int64."""
    cr = np.broadcast_to(x[None, :], (y.shape[0], x.shape[0]))
    ci = np.broadcast_to(y[:, None], (y.shape[0], x.shape[0]))

    def running(state: Any) -> Any:
        return state[0].any()

    def body(state: Any) -> Any:
        inside, re, im, steps = state
        next_re, next_im = re * re - im * im + cr, 2 * re * im + ci
        still = inside & (next_re * next_re + next_im * next_im <= 4.0) & (steps < LIMIT - 1)
        return (
            still,
            np.where(inside, next_re, re),
            np.where(inside, next_im, im),
            np.where(inside, steps + 1, steps),
        )

    start = (cr * cr + ci * ci <= 4.0, cr, ci, pnp.zeros(cr.shape, np.int64))
    return while_loop(running, body, start)[3]


def mandelbrot_numpy(x: Array, y: Array) -> Array:
    """`mandelbrot` by whole-array steps."""
    cr, ci = np.meshgrid(x, y)
    re, im = cr.copy(), ci.copy()
    inside = cr * cr + ci * ci <= 4.0
    steps = np.zeros(cr.shape, np.int64)
    while inside.any():
        next_re, next_im = re * re - im * im + cr, 2 * re * im + ci
        still = inside & (next_re * next_re + next_im * next_im <= 4.0) & (steps < LIMIT - 1)
        re, im = np.where(inside, next_re, re), np.where(inside, next_im, im)
        steps = np.where(inside, steps + 1, steps)
        inside = still
    return steps


def window() -> tuple[Array, Array]:
    """The usual view, float32."""
    return (
        np.linspace(-2.2, 0.8, 480).astype(np.float32),
        np.linspace(-1.2, 1.2, 384).astype(np.float32),
    )


def picture(arguments: tuple[Any, ...], results: Any, path: Path) -> None:
    """Steps as a colour ramp."""
    level = np.sqrt(results / LIMIT)[..., None]
    save(np.concatenate([level**1.5, level, 0.3 + 0.7 * level], axis=-1) * (level < 1), path)


# --- transformer ----------------------------------------------------------------------------------

TOKENS, WIDTH, HEADS = 128, 256, 8


def normalised(x: Any, scale: Any, shift: Any) -> Any:
    """Layer normalisation over the last axis (Ba et al. 2016)."""
    mean = x.mean(axis=-1, keepdims=True)
    spread = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(spread + 1e-5) * scale + shift


def softmax(x: Any) -> Any:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x: Any) -> Any:
    """The tanh form (Hendrycks and Gimpel 2016)."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def transformer(x: Any, weights: dict[str, Any]) -> Any:
    """One encoder layer, attention over all tokens (Vaswani et al. 2017). x: (tokens, width)."""
    tokens, width = x.shape
    y = normalised(x, weights["scale1"], weights["shift1"])
    qkv = (y @ weights["qkv"]).reshape(tokens, 3, HEADS, width // HEADS)
    q, k, v = (qkv[:, n].transpose(1, 0, 2) for n in range(3))
    score = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(width // HEADS)))
    mixed = (score @ v).transpose(1, 0, 2).reshape(tokens, width)
    x = x + mixed @ weights["out"]
    y = normalised(x, weights["scale2"], weights["shift2"])
    return x + gelu(y @ weights["up"] + weights["bias"]) @ weights["down"]


def tokens() -> tuple[Any, ...]:
    """Random tokens and weights, float32."""
    rng = np.random.default_rng(2)

    def matrix(rows: int, columns: int) -> Array:
        made = rng.standard_normal((rows, columns)) / np.sqrt(rows)
        return np.asarray(made, np.float32)

    weights = {
        "qkv": matrix(WIDTH, 3 * WIDTH),
        "out": matrix(WIDTH, WIDTH),
        "up": matrix(WIDTH, 4 * WIDTH),
        "down": matrix(4 * WIDTH, WIDTH),
        "bias": np.zeros(4 * WIDTH, np.float32),
    }
    for k in (1, 2):
        weights[f"scale{k}"] = np.ones(WIDTH, np.float32)
        weights[f"shift{k}"] = np.zeros(WIDTH, np.float32)
    return rng.standard_normal((TOKENS, WIDTH)).astype(np.float32), weights


NBODY = Program(
    name="bodies",
    title="256 bodies under gravity, 20 steps",
    function=bodies,
    reference=bodies_numpy,
    arguments=cluster,
    tolerance=1e-10,
)
MANDELBROT = Program(
    name="mandelbrot",
    title="Mandelbrot set, 480 x 384, up to 200 steps a point",
    function=mandelbrot,
    reference=mandelbrot_numpy,
    arguments=window,
    tolerance=0.0,
    picture=picture,
)
TRANSFORMER = Program(
    name="transformer",
    title="transformer encoder layer, 128 tokens of 256",
    function=transformer,
    reference=transformer,
    arguments=tokens,
    tolerance=2e-5,
)
