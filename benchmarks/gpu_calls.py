"""What a call of a program on a GPU costs, and a kernel of a graph and a step of a loop.

    python -m benchmarks.gpu_calls [--json OUT]

Microseconds of one call with `pyc.Array` in and out, the median of several runs of many calls that
wait for none of them, so that the device's own work counts where it is longer than the host's.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pyc
from pyc import config
from pyc.device import gpu
from pyc.runtime import dispatch

FEW = np.ones(16, np.float32)
SQUARE = np.eye(16, dtype=np.float32)


def four(x: Any) -> Any:
    parts = x.reshape(8, 2)
    return x * 2, parts @ parts.T, parts.sum(axis=1), (x + 1).reshape(2, 8).T * 1.0


def fifty(x: Any, w: Any) -> Any:
    for _ in range(50):
        x = x @ w
    return x


def fifty_scaled(x: Any, w: Any, k: Any, c: Any) -> Any:
    for _ in range(50):
        x = (x @ w) * k + c
    return x


def heat(x: Any) -> Any:
    return pyc.fori_loop(
        0, 1000, lambda _, v: v + 0.1 * (np.roll(v, 1) + np.roll(v, -1) - 2 * v), x
    )


def until(x: Any, w: Any) -> Any:
    """A thousand steps; the device does not know how many there are."""
    return pyc.while_loop(
        lambda s: s[1].sum() < 1000 * 16, lambda s: (s[0] @ w, s[1] + 1), (x, x[0] * 0)
    )[0]


def ordered(x: Any) -> Any:
    """So long that the host is quicker than a thread of the device."""
    return pyc.lax.scan(lambda s, e: (s * 0.5 + e, s), 0.0, x)[1]


PROGRAMS: tuple[tuple[str, Callable[..., Any], tuple[Any, ...]], ...] = (
    ("1000 heat steps", heat, (np.ones((256, 256), np.float32),)),
    ("one kernel", lambda x: x * 2 + 1, (FEW,)),
    ("several kernels", four, (FEW,)),
    ("one kernel and a number", lambda x, k: x * k + 1, (FEW, 2.0)),
    ("two numbers of 50 kernels", fifty_scaled, (SQUARE, SQUARE, 1.0, 0.0)),
    ("50 kernels", fifty, (SQUARE, SQUARE)),
    ("a check", lambda x, i: x[i] * 2, (FEW, np.arange(16))),
    ("a loop of 1000 steps", until, (SQUARE, SQUARE)),
    ("a step of the host", ordered, (np.zeros(20_000),)),
)


def calls() -> list[dict[str, Any]]:
    """For each program, microseconds of one call of the jitted function, the same with numbers and
    arrays that are others at each call, of its compiled program, of the launches alone, and of a
    call that waits."""
    rows = []
    for name, function, inputs in PROGRAMS:
        jitted = pyc.jit(function, loops="unroll")
        arrays, others = (
            [x + k if isinstance(x, float) else pyc.device_put(x) for x in inputs] for k in range(2)
        )
        turns = cycle((arrays, others))
        compiled = jitted.compile(*arrays).program
        there = [pyc.device_put(a) for a in arrays]
        addresses = [a.address for a in there]
        kept = compiled(*arrays)
        results = [a.address for a in kept]
        ways: dict[str, Callable[[], Any]] = {
            "call": lambda jitted=jitted, arrays=arrays: jitted(*arrays),
            "other arguments": lambda jitted=jitted, turns=turns: jitted(*next(turns)),
            "compiled": lambda compiled=compiled, arrays=arrays: compiled(*arrays),
            "launches": lambda p=compiled.program, a=addresses, r=results: p(a, r),
            "call that waits": lambda jitted=jitted, arrays=arrays: pyc.block_until_ready(
                jitted(*arrays)
            ),
        }
        row: dict[str, Any] = {"program": name, "kernels": len(compiled.program.launches)}
        for way, call in ways.items():
            row[way], row[f"{way}, best"] = (1e6 * s for s in per_call(call))
        row["native"] = bool(dispatch.specialisations(jitted))
        print(f"{name:24} " + ", ".join(f"{w} {row[w]:.2f} us" for w in ways), flush=True)
        rows.append(row)
    return rows


def per_call(call: Callable[[], Any], repeats: int = 7) -> tuple[float, float]:
    """Median and least seconds of one of many calls."""
    on = gpu()

    def run(count: int) -> float:
        on.synchronize()
        start = perf_counter()
        for _ in range(count):
            call()
        on.synchronize()
        return (perf_counter() - start) / count

    run(1)
    count = int(min(max(0.01 / run(2), 1), 500))
    found = [run(count) for _ in range(repeats)]
    return statistics.median(found), min(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results there")
    options = parser.parse_args()
    config.update("cache", "off")
    on = gpu()
    report = {"device": on.name, "driver": on.driver_version, "calls": calls()}
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
