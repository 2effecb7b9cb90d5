"""Thread scaling on the CPU: time of a few programs at 1, 2, 4, ... threads.

    python benchmarks/threads.py [--json OUT]

Results of every thread count are compared byte for byte with those of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pyc
from pyc import config
from pyc.runtime.threads import set_num_threads


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    config.update("cache", "off")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8192, 4096)).astype(np.float32)
    a = rng.standard_normal((2048, 2048)).astype(np.float32)
    line, values = x.reshape(-1)[: 1 << 23], x.reshape(-1)[: 1 << 22]
    places = rng.integers(0, line.size, values.size)
    ordered = np.sort(places)
    cases: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "softmax 8192 x 4096": (softmax, (x,)),
        "sum of all": (lambda v: v.sum(), (x,)),
        "sum along axis 0": (lambda v: v.sum(axis=0), (x,)),
        "exp chain": (lambda v: np.exp(np.sin(v)) * v, (x,)),
        "matmul 2048": (lambda v: v @ v, (a,)),
        "set 4 Mi": (lambda v, i, w: v.at[i].set(w), (line, places, values)),
        "add 4 Mi": (lambda v, i, w: v.at[i].add(w), (line, places, values)),
        "set 4 Mi, ascending": (lambda v, i, w: v.at[i].set(w), (line, ordered, values)),
        "add 4 Mi, ascending": (lambda v, i, w: v.at[i].add(w), (line, ordered, values)),
    }
    counts = [n for n in (1, 2, 4, 8, 16, 32) if n <= (os.cpu_count() or 1)]
    report: dict[str, Any] = {"cpus": os.cpu_count(), "milliseconds": {}}
    for name, (function, arguments) in cases.items():
        jitted = pyc.jit(function)
        row: dict[int, float] = {}
        first = None
        for n in counts:
            set_num_threads(n)
            found = np.asarray(jitted(*arguments)).tobytes()
            first = first or found
            assert found == first, f"{name}: {n} threads give other bits"
            times = []
            for _ in range(9):
                start = perf_counter()
                jitted(*arguments)
                times.append(perf_counter() - start)
            row[n] = 1e3 * statistics.median(times)
        report["milliseconds"][name] = row
        print(f"{name:22}" + "".join(f"{n:>4}: {t:8.2f} ms" for n, t in row.items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
