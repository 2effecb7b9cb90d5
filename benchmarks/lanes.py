"""Functions of one example, mapped over many: `pyc.vmap` beside the program that is written for
many by hand, and `jax.jit(jax.vmap(f))` of the same function.

    python -m benchmarks.lanes [--quick] [--json FILE]

Float32, one thread of pyc's, JAX with its own threads; NumPy arrays in and out for pyc, arrays of
JAX's for JAX. `loop to a bound of the lane` has no program by hand: Python loops over the lanes
there, calling the jitted function. The functions get NumPy as a bound argument, mapped and by hand,
so that JAX's takes its place; but for `distances of few points`, whose calls are the time: there
both read it as users do, by its global name.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import pyc
from benchmarks.runner import in_turn, options, peers, publish

COLUMNS = ("vmap", "by hand", "jax.vmap")


class Case(NamedTuple):
    """one: a function of one example, given the NumPy of who runs it; many: of all of them, also
    given it; by_name: both, as users write them, with NumPy as a global name."""

    one: Callable[..., Any]
    many: Callable[..., Any] | None
    args: tuple[Any, ...]
    in_axes: Any = 0
    by_name: tuple[Callable[..., Any], Callable[..., Any]] | None = None


def softmax(np: Any, x: Any) -> Any:
    """Of a row."""
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_rows(np: Any, x: Any) -> Any:
    """Of each row."""
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def loss(np: Any, x: Any, label: Any, w: Any, b: Any) -> Any:
    """The cross entropy of one example."""
    z = x @ w + b
    top = z.max()
    return np.log(np.exp(z - top).sum()) + top - z[label]


def losses(np: Any, x: Any, labels: Any, w: Any, b: Any) -> Any:
    """The cross entropy of each example."""
    z = x @ w + b
    top = z.max(-1, keepdims=True)
    of_labels = np.take_along_axis(z, labels[:, None], 1)[:, 0]
    return np.log(np.exp(z - top).sum(-1)) + top[:, 0] - of_labels


def kalman(np: Any, x: Any, p: Any, z: Any, f: Any, h: Any, q: Any, r: Any) -> Any:
    """A step of one filter with one measured number."""
    x, p = f @ x, f @ p @ f.T + q
    gain = p @ h.T / (h @ p @ h.T + r)[0, 0]
    return x + gain @ (z - h @ x), p - gain @ h @ p


def kalman_steps(np: Any, x: Any, p: Any, z: Any, f: Any, h: Any, q: Any, r: Any) -> Any:
    """A step of each filter."""
    x, p = x @ f.T, f @ p @ f.T + q
    gain = p @ h.T / (h @ p @ h.T + r)[:, :1, :1]
    return x + np.matmul(gain, (z - x @ h.T)[..., None])[..., 0], p - gain @ h @ p


def distances(np: Any, a: Any, points: Any) -> Any:
    """Of a point from others."""
    return np.sqrt(((a - points) ** 2).sum(-1))


def all_distances(np: Any, a: Any, points: Any) -> Any:
    """Of each point from others."""
    return np.sqrt(((a[:, None] - points[None]) ** 2).sum(-1))


def escape(np: Any, x: Any, y: Any, lax: Any) -> Any:
    """How many steps a point of the plane takes to leave a disc."""

    def further(state: Any) -> Any:
        a, b, steps = state
        return (a * a + b * b < 4) & (steps < 200)

    def step(state: Any) -> Any:
        a, b, steps = state
        return a * a - b * b + x, 2 * a * b + y, steps + 1

    return lax.while_loop(further, step, (x, y, 0))[2]


def cases(quick: bool) -> dict[str, Case]:
    """The functions with their arguments."""
    rng = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return rng.standard_normal(shape).astype(np.float32)

    n = 64 if quick else 1024
    x, w, b = array(n, 256), array(256, 128), array(128)
    labels = rng.integers(0, 128, n)
    filters = array(n, 4), array(n, 4, 4), array(n, 1)
    fixed = array(4, 4), array(1, 4), array(4, 4), array(1, 1)
    points, few = array(n, 3), array(16, 3)
    plane = rng.uniform(-2, 1, n).astype(np.float32), rng.uniform(-1, 1, n).astype(np.float32)
    return {
        "dense layer": Case(
            lambda np, x, w, b: np.maximum(x @ w + b, 0),
            lambda np, x, w, b: np.maximum(x @ w + b, 0),
            (x, w, b),
            (0, None, None),
        ),
        "softmax": Case(softmax, softmax_rows, (x,)),
        "loss of an example": Case(loss, losses, (x, labels, w, b), (0, 0, None, None)),
        "distances": Case(distances, all_distances, (points, points), (0, None)),
        "distances of few points": Case(
            distances,
            all_distances,
            (few, few),
            (0, None),
            (
                lambda a, points: np.sqrt(((a - points) ** 2).sum(-1)),
                lambda a, points: np.sqrt(((a[:, None] - points[None]) ** 2).sum(-1)),
            ),
        ),
        "Kalman step": Case(
            kalman, kalman_steps, (*filters, *fixed), (0, 0, 0, None, None, None, None)
        ),
        "running sums": Case(lambda np, x: np.cumsum(x), lambda np, x: np.cumsum(x, -1), (x,)),
        "loop to a bound of the lane": Case(escape, None, plane),
    }


def one_by_one(function: Callable[..., Any], *args: Any) -> list[Any]:
    """A Python loop over the examples."""
    return [function(*each) for each in zip(*args, strict=True)]


def programs(case: Case) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """pyc's mapped function, jitted, and the program by hand."""
    if case.many is None:
        one = partial(case.one, np, lax=pyc.lax)
        return pyc.jit(pyc.vmap(one, in_axes=case.in_axes)), partial(one_by_one, pyc.jit(one))
    one, many = case.by_name or (partial(case.one, np), partial(case.many, np))
    return pyc.jit(pyc.vmap(one, in_axes=case.in_axes)), pyc.jit(many)


def waited_for(function: Callable[..., Any], *args: Any) -> Any:
    """What JAX computes, when it is there."""
    jax = importlib.import_module("jax")
    return jax.block_until_ready(function(*args))


def main() -> None:
    """Times each function in turn with its rivals."""
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 15)
    jax: Any = importlib.import_module("jax") if peers("jax")["jax"] else None
    print(f"microseconds{'':18}" + "".join(f"{c:>12}" for c in COLUMNS))
    records = []
    for name, case in cases(given.quick).items():
        ours, by_hand = programs(case)
        rows: dict[str, Callable[[], Any]] = {
            "vmap": partial(ours, *case.args),
            "by hand": partial(by_hand, *case.args),
        }
        if jax is not None:
            lax = {"lax": jax.lax} if case.many is None else {}
            mapped = jax.vmap(partial(case.one, jax.numpy, **lax), in_axes=case.in_axes)
            theirs = [jax.numpy.asarray(a) for a in case.args]
            rows["jax.vmap"] = partial(waited_for, jax.jit(mapped), *theirs)
        times = in_turn(rows, rounds)
        fields = [f"{1e6 * times[c]['least']:12.1f}" for c in COLUMNS if c in times]
        print(f"{name:30}" + "".join(fields))
        records.append({"program": name, "lanes": len(case.args[0]), "seconds": times})
    publish(given, records)


if __name__ == "__main__":
    main()
