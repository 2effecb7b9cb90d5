"""A million random numbers: `pyc.random` beside NumPy's generators and `jax.random`.

    python -m benchmarks.random_numbers [--quick] [--json FILE] [--distributions]

Uniform and normal numbers of float32 and float64, outside of a jitted function; pyc with 1 and 2
threads, NumPy's `default_rng` (PCG64) and its generator over Philox (4x64), JAX (Threefry) with its
own threads and 64-bit types enabled. Also a call for three numbers, where the call is what costs,
and a jitted walk of a thousand steps, each with a new key and one number.

With `--distributions` those that are drawn by trials, by counting and by inversion, instead.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import in_turn, options, peers, publish
from pyc import random

COLUMNS = ("pyc 1", "pyc 2", "numpy", "numpy philox", "jax")


def by_numpy(generator: np.random.Generator, name: str, count: int, dtype: Any) -> Any:
    """What draws the numbers with one of NumPy's generators."""
    draw = generator.random if name == "uniform" else generator.standard_normal
    return partial(draw, count, dtype)


def waited_for(draw: Callable[..., Any], *arguments: Any) -> Any:
    """An array of JAX's that is there."""
    return draw(*arguments).block_until_ready()


def walk(random: Any, lax: Any, zero: Any) -> Callable[[Any], Any]:
    """A scan that splits the key and draws in each step."""

    def step(state: Any, _: Any) -> Any:
        key, x = state
        key, part = random.split(key)
        x = x + random.normal(part, (), np.float32)
        return (key, x), x

    return lambda key: lax.scan(step, (key, zero), None, length=1000)[1]


DISTRIBUTIONS: dict[str, tuple[str, tuple[float, ...], str, tuple[float, ...]]] = {
    "gamma 2.5": ("gamma", (2.5,), "standard_gamma", (2.5,)),
    "gamma 0.3": ("gamma", (0.3,), "standard_gamma", (0.3,)),
    "poisson 4": ("poisson", (4.0,), "poisson", (4.0,)),
    "poisson 100": ("poisson", (100.0,), "poisson", (100.0,)),
    "beta 0.5 2": ("beta", (0.5, 2.0), "beta", (0.5, 2.0)),
    "chisquare 3": ("chisquare", (3.0,), "chisquare", (3.0,)),
    "f 3 5": ("f", (3.0, 5.0), "f", (3.0, 5.0)),
    "t 3": ("t", (3.0,), "standard_t", (3.0,)),
    "laplace": ("laplace", (), "laplace", ()),
    "exponential": ("exponential", (), "standard_exponential", ()),
    "gumbel": ("gumbel", (), "gumbel", ()),
    "logistic": ("logistic", (), "logistic", ()),
    "cauchy": ("cauchy", (), "standard_cauchy", ()),
}
"""Our function and its parameters, and NumPy's, which draws most of them as float64 alone."""


def distributions(count: int, rounds: int, jax: Any) -> list[dict[str, Any]]:
    """Times of all distributions, printed too."""
    records = []
    key, generator = random.key(0), np.random.default_rng(0)
    for name, (ours, parameters, theirs, numbers) in DISTRIBUTIONS.items():
        for dtype in (np.int32, np.int64) if ours == "poisson" else (np.float32, np.float64):
            draw = partial(getattr(random, ours), key, *parameters, (count,), dtype)
            rows: dict[str, Callable[[], Any]] = {
                "pyc 1": draw,
                "pyc 2": draw,
                "numpy": partial(getattr(generator, theirs), *numbers, size=count),
            }
            function = getattr(jax.random, ours, None) if jax is not None else None
            if function is not None:
                arguments = jax.random.key(0), *parameters, (count,), dtype
                rows["jax"] = partial(waited_for, function, *arguments)
            times = in_turn(rows, rounds, threads={"pyc 2": 2})
            fields = [
                f"{1e3 * times[c]['least']:14.4f}" if c in times else " " * 14 for c in COLUMNS
            ]
            kind = np.dtype(dtype).name
            print(f"{name:12} {kind:8} {count:>10,}{'':4}" + "".join(fields), flush=True)
            records.append({"numbers": name, "dtype": kind, "count": count, "seconds": times})
    return records


def main() -> None:
    trials = "--distributions" in sys.argv
    given = options(__doc__, [a for a in sys.argv[1:] if a != "--distributions"])
    rounds = given.rounds or (3 if given.quick else 15)
    large = 100_000 if given.quick else 1_000_000
    jax: Any = None
    if peers("jax")["jax"]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
    key = random.key(0)
    print(f"milliseconds{'':24}" + "".join(f"{c:>14}" for c in COLUMNS))
    if trials:
        publish(given, distributions(large, rounds, jax))
        return
    records = []
    rows: dict[str, Callable[[], Any]]
    for count in (3, large):
        for name in ("uniform", "normal"):
            for dtype in (np.float32, np.float64):
                draw = partial(getattr(random, name), key, (count,), dtype)
                usual = np.random.default_rng(0)
                philox = np.random.Generator(np.random.Philox(0))
                rows = {
                    "pyc 1": draw,
                    "pyc 2": draw,
                    "numpy": by_numpy(usual, name, count, dtype),
                    "numpy philox": by_numpy(philox, name, count, dtype),
                }
                if jax is not None:
                    theirs = getattr(jax.random, name), jax.random.key(0), (count,), dtype
                    rows["jax"] = partial(waited_for, *theirs)
                times = in_turn(rows, rounds, threads={"pyc 2": 2})
                fields = [f"{1e3 * times[c]['least']:14.4f}" for c in COLUMNS if c in times]
                print(f"{name:8} {np.dtype(dtype).name:8} {count:>10,}{'':8}" + "".join(fields))
                records.append(
                    {
                        "numbers": name,
                        "dtype": np.dtype(dtype).name,
                        "count": count,
                        "seconds": times,
                    }
                )
    steps = pyc.jit(walk(random, pyc.lax, np.float32(0)))
    rows = {"pyc 1": partial(steps, key)}
    if jax is not None:
        compiled = jax.jit(walk(jax.random, jax.lax, jax.numpy.float32(0)))
        rows["jax"] = partial(waited_for, compiled, jax.random.key(0))
    times = in_turn(rows, rounds)
    fields = [f"{1e3 * times[c]['least']:14.4f}" if c in times else " " * 14 for c in COLUMNS]
    print(f"{'walk':8} {'float32':8} {1000:>10,}{'':8}" + "".join(fields))
    records.append({"numbers": "walk", "dtype": "float32", "count": 1000, "seconds": times})
    publish(given, records)


if __name__ == "__main__":
    main()
