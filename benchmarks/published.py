"""The published kernels of `tests/published` at medium sizes: jitted beside NumPy.

    python -m benchmarks.published [--quick] [--only NAME,...] [--json FILE]

Milliseconds a call, least of the rounds: pyc with 1 thread and with all, NumPy with its own (those
of its BLAS, which are let fall asleep before the next row). `first` is the first call. `ratio` is
NumPy's time over pyc's with all threads.
"""

from __future__ import annotations

import argparse
import math
import sys
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import BLAS_SPIN, in_turn, options, publish
from tests.corpus.outcome import compare
from tests.published.test_published import KERNELS

COLUMNS = ("first", "pyc 1", "pyc", "numpy", "ratio")


def main() -> int:
    chosen = argparse.ArgumentParser(add_help=False)
    chosen.add_argument("--only", default=",".join(KERNELS))
    mine, rest = chosen.parse_known_args()
    given = options(__doc__, rest)
    rounds = given.rounds or (3 if given.quick else 7)
    print(f"{'milliseconds':28}" + "".join(f"{c:>11}" for c in COLUMNS))
    records: list[dict[str, Any]] = []
    failed: list[dict[str, Any]] = []
    with pyc.config.using(cache="off"):
        for name in mine.only.split(","):
            kernel = KERNELS[name]
            arguments = kernel.arguments(*kernel.medium)
            jitted = pyc.jit(kernel.function)
            start = perf_counter()
            try:
                found = jitted(*arguments)
            except Exception as error:
                print(f"{name:28} {type(error).__name__}", flush=True)
                sizes = list(kernel.medium)
                failed.append({"kernel": name, "sizes": sizes, "error": type(error).__name__})
                continue
            first = perf_counter() - start
            compare(found, kernel.function(*kernel.arguments(*kernel.medium)), name)
            rows = {
                "pyc 1": partial(jitted, *arguments),
                "pyc": partial(jitted, *arguments),
                "numpy": partial(kernel.function, *arguments),
            }
            threads = {"pyc": pyc.get_num_threads()}
            with np.errstate(all="ignore"):
                seconds = 0.01 if given.quick else 0.03
                times = in_turn(rows, rounds, seconds, threads, BLAS_SPIN)
            least = {"first": first} | {k: t["least"] for k, t in times.items()}
            ratio = least["numpy"] / least["pyc"]
            cells = [f"{least[k] * 1e3:11.3f}" for k in COLUMNS[:-1]] + [f"{ratio:11.2f}"]
            print(f"{name:28}" + "".join(cells), flush=True)
            records.append(
                {"kernel": name, "sizes": list(kernel.medium), "times": times}
                | {"first": first, "ratio": ratio}
            )
    ratios = [r["ratio"] for r in records]
    mean = math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))
    slower = [r["kernel"] for r in records if r["ratio"] < 1]
    print(f"geometric mean {mean:.2f}; slower than NumPy: {', '.join(slower) or 'none'}")
    print(f"without a result: {', '.join(r['kernel'] for r in failed) or 'none'}")
    publish(given, [*records, *failed])
    return 1 if slower or failed else 0


if __name__ == "__main__":
    sys.exit(main())
