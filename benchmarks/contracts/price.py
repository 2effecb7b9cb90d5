"""What the contracts cost on the CPU: pyc beside the best free schedules of the same programs.

    python -m benchmarks.contracts.price [--quick] [--only ROW,...] [--processes N] [--json FILE]

Sum, softmax and layer norm of float32 along the last axis, the first axis and over all elements,
rows of 1 to 1 M, in arrays of 4 and 64 MB. A free kernel (`reduction/`) is LLVM text that adds in
any order and loops as it likes; the best of several is taken. It has pyc's arithmetic ("contract":
one rounding for each quotient, exp of any argument) or the fastest ("fast": a reciprocal, exp of
what softmax asks for). Every kernel is checked against float64 first; one thread, widest vectors;
ratios are medians of neighbouring timings. A free kernel writes where pyc does: into a block that
`malloc` has for each call, the same for both but for some bytes at its begin, as two blocks of 4 MB
differ by up to 4 % for one kernel. Where pyc keeps blocks for results itself it writes into an
array that it has written before. `--only` takes rows as "softmax first 256x4096,sum last".

Where a process finds its memory moves a row by up to 8 % for as long as the process lives: with
`--processes` the rows are measured in so many, one after the other. A row is then the median of
their ratios, between the least and the greatest; its other figures are those of the median process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite.binding as ll
import numpy as np

import pyc
from benchmarks.contracts.programs import layer_norm, softmax, total
from benchmarks.contracts.reduction import first_axis_programs, row_programs
from benchmarks.contracts.reduction.arithmetic import CONTRACT, FAST, Arithmetic
from benchmarks.contracts.reduction.kernels import (
    first_axis_kernels,
    last_axis_kernels,
    row_kernels,
)
from benchmarks.contracts.reduction.kernels import (
    first_axis_programs as first_axis_texts,
)
from benchmarks.contracts.reduction.timing import Call, Compiler, Ratio, compare, seconds
from benchmarks.runner import ROOT, parser, publish
from pyc.runtime.pool import RECYCLED_BYTES
from pyc.runtime.threads import threads

Array = np.ndarray[Any, Any]
PROGRAMS = {"sum": total, "softmax": softmax, "layer norm": layer_norm}
AXES = {"last": -1, "first": 0, "all": None}
ROWS = {"softmax": row_programs.softmax, "layer norm": row_programs.layer_norm}
COLUMNS = {
    "softmax": first_axis_programs.softmax_first,
    "layer norm": first_axis_programs.layer_norm_first,
}
malloc, free = (getattr(ctypes.CDLL(None), name) for name in ("malloc", "free"))
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
free.restype, free.argtypes = None, [ctypes.c_void_p]
BEYOND = 64
"""Bytes behind its result that a free kernel may write whose rows are shorter than a vector."""
HEAD = (
    f"{'program':11}{'axis':6}{'shape':>14} arithmetic ratio {'quartiles':>13} {'pyc us':>9} "
    f"{'free us':>10} {'copy us':>10}  best free kernel"
)
WITHIN = 1.05
"""The ratio that the contracts may cost."""
SHORTEST = 16
"""Elements of a row from which there are free kernels of softmax and layer norm."""


@dataclass(frozen=True)
class Record:
    """One line: pyc over the best free kernel with one arithmetic."""

    program: str
    axis: str
    shape: tuple[int, int]
    arithmetic: str
    kernel: str
    ratio: Ratio
    copy_us: float

    def line(self) -> str:
        r = self.ratio
        shape = "x".join(map(str, self.shape))
        return (
            f"{self.program:11}{self.axis:6}{shape:>14} {self.arithmetic:9}{r.median:6.2f} "
            f"[{r.low:4.2f}, {r.high:4.2f}] {r.documented_us:10.1f} {r.free_us:10.1f} "
            f"{self.copy_us:10.1f}  {self.kernel}"
        )


def kernels(
    program: str, axis: str, shape: tuple[int, int], arithmetic: Arithmetic, *, scales: bool
) -> tuple[dict[str, str], int]:
    """The texts of free kernels, and their `count` argument; none for rows that they do not do."""
    rows, n = shape
    if axis == "all":
        rows, n = 1, rows * n
    if program == "sum":
        if axis == "first":
            return first_axis_kernels("float32", rows, n, n, None), 0
        return last_axis_kernels("float32", n, None), rows
    if axis == "first":
        texts = first_axis_texts(COLUMNS[program], rows, n, arithmetic, scales=scales)
        return (texts, 0) if n >= SHORTEST else ({}, 0)
    texts = row_kernels(ROWS[program], n, None, arithmetic, scales=scales)
    return (texts, rows) if n >= SHORTEST else ({}, 0)


class Price:
    """One shape: its array, a warm output, and the compiler of the free kernels."""

    def __init__(self, compiler: Compiler, shape: tuple[int, int], budget: float) -> None:
        self.compiler, self.shape, self.budget = compiler, shape, budget
        self.x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        self.out = np.zeros(shape, np.float32)
        found = ll.get_host_cpu_features()
        self.scales = bool(found.get("avx512f") and found.get("avx512vl"))
        copy = partial(np.copyto, self.out, self.x)
        copy()
        self.copy_us = min(seconds(copy, 1) for _ in range(7)) * 1e6

    def records(self, program: str, axis: str) -> list[Record]:
        """pyc beside the free kernels of both arithmetics (one, where they are the same)."""
        jitted = pyc.jit(PROGRAMS[program](AXES[axis]))
        wide = self.x.astype(np.float64)
        exact = np.asarray(PROGRAMS[program](AXES[axis])(wide))
        scale = np.abs(wide).sum(axis=AXES[axis]) if program == "sum" else np.abs(exact).max()
        self.check(np.asarray(jitted(self.x)), exact, scale, "pyc")
        short = self.shape[1] < SHORTEST
        found = []
        for arithmetic in (CONTRACT,) if program == "sum" else (CONTRACT, FAST):
            texts, count = kernels(program, axis, self.shape, arithmetic, scales=self.scales)
            calls: dict[str, Call] = {}
            for name, text in texts.items():
                kernel = partial(self.compiler(text), self.x.ctypes.data)
                self.out[...] = np.nan
                kernel(self.out.ctypes.data, count)
                nbytes = exact.size * self.out.itemsize
                calls[name] = self.call(kernel, count, nbytes + BEYOND * (axis == "last" and short))
                here = self.out.reshape(-1)[: exact.size].reshape(exact.shape)
                self.check(here, exact, scale, f"{program} {axis} {arithmetic.name} {name}")
            if calls:
                name = self.best(calls)
                ratio = compare(calls[name], partial(jitted, self.x), self.budget)
                found.append(
                    Record(program, axis, self.shape, arithmetic.name, name, ratio, self.copy_us)
                )
        return found

    def call(self, kernel: Callable[[int, int], None], count: int, nbytes: int) -> Call:
        """A call of a free kernel that makes a result of `nbytes` where pyc's calls make theirs."""
        if nbytes >= RECYCLED_BYTES:
            return partial(kernel, self.out.ctypes.data, count)

        def run() -> None:
            out = malloc(nbytes)
            kernel(out, count)
            free(out)

        return run

    @staticmethod
    def check(found: Array, exact: Array, scale: Any, what: str) -> None:
        """Near the exact result: sums by the size of their terms. A free kernel adds up to 2^21
        elements one after the other, which costs some bits."""
        error = np.abs(found - exact).max(initial=0, where=scale == 0)
        error += (np.abs(found - exact) / np.where(scale == 0, 1, scale)).max()
        assert error < 1e-4, f"{what}: off by {error}"

    @staticmethod
    def best(calls: dict[str, Call]) -> str:
        """The fastest, by the least of a few timings in turn."""
        least = {name: seconds(call, 1) for name, call in calls.items()}
        for _ in range(15):
            for name, call in calls.items():
                if least[name] < 3 * min(least.values()):
                    least[name] = min(least[name], seconds(call, 1))
        return min(least, key=lambda name: least[name])


def shapes(quick: bool) -> list[tuple[tuple[int, int], tuple[str, ...]]]:
    """Shapes with their axes."""
    every = ("last", "first", "all")
    found: list[tuple[tuple[int, int], tuple[str, ...]]] = [((1024, 1000), every)]
    if quick:
        return [*found, ((1 << 16, 16), ("last", "first"))]
    found += [((4096, 4096), every), ((16, 1 << 20), ("last", "first"))]
    for n in (1, 3, 10, 16, 100, 4096, 1 << 16, 1 << 20):
        found.append((((1 << 20) // n, n), ("last", "first")))
    return found


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--only", metavar="ROW,...", default="", help="rows that begin with one")
    made.add_argument("--processes", type=int, default=1, help="processes, one after the other")
    given = made.parse_args()
    if given.processes > 1:
        found = of_processes(given)
    else:
        found = [asdict(r) for r in measured(given)]
    publish(given, found)


def of_processes(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of several processes: each is that of the median, with the ratios of all."""
    command = [sys.executable, "-m", "benchmarks.contracts.price", "--only", given.only]
    command += ["--quick"] if given.quick else []
    runs = []
    for number in range(given.processes):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            run = [*command, "--json", file.name]
            subprocess.run(run, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
            runs.append(json.loads(Path(file.name).read_text())["records"])
        print(f"process {number + 1} of {given.processes}", flush=True)
    print(HEAD)
    found = []
    for rows in zip(*runs, strict=True):
        ordered = sorted(rows, key=lambda row: row["ratio"]["median"])
        row = ordered[len(ordered) // 2]
        ratios = [r["ratio"]["median"] for r in rows]
        ratio = replace(Ratio(**row["ratio"]), low=min(ratios), high=max(ratios))
        known = row | {"ratio": ratio, "shape": tuple(row["shape"])}
        print(Record(**known).line(), flush=True)
        found.append(row | {"ratios": ratios})
    contract = [r["ratio"]["median"] for r in found if r["arithmetic"] == CONTRACT.name]
    within = sum(r <= WITHIN for r in contract)
    print(f"{within} of {len(contract)} rows with the same arithmetic are at most {WITHIN}")
    return found


def measured(given: argparse.Namespace) -> list[Record]:
    """The rows, in this process."""
    only = tuple(row.strip() for row in given.only.split(","))
    compiler = Compiler()
    budget = 0.3 if given.quick else 1.0
    print(HEAD)
    records: list[Record] = []
    with threads(1):
        for shape, axes in shapes(given.quick):
            wanted = [
                (program, axis)
                for program in PROGRAMS
                for axis in axes
                if f"{program} {axis} {shape[0]}x{shape[1]}".startswith(only)
            ]
            price = Price(compiler, shape, budget) if wanted else None
            for program, axis in wanted:
                assert price is not None
                for found in price.records(program, axis):
                    print(found.line(), flush=True)
                    records.append(found)
    return records


if __name__ == "__main__":
    main()
