"""The cost of a documented reduction order against a free one, as a table of time ratios.

    python -m benchmarks.contracts.reduction_order [--quick] [--json OUT]

Takes nothing but this machine; writes LLVM IR text, compiles it with llvmlite, checks every
kernel against a NumPy model of its order (`reduction/order.py`), then times documented and free
kernels in turns.

Invariant: a documented kernel's bytes equal `model(x, order)` for each width and loop nest.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as ll
import numpy as np

from benchmarks.contracts.reduction.check import check
from benchmarks.contracts.reduction.kernels import (
    ADJACENT,
    FIRST_AXIS_ORDERS,
    KEEP16,
    ROW_ORDERS,
    first_axis_kernels,
    last_axis_kernels,
    row_kernels,
)
from benchmarks.contracts.reduction.last_axis import sum_part
from benchmarks.contracts.reduction.order import ALTERNATIVES, DOCUMENTED
from benchmarks.contracts.reduction.row_programs import layer_norm, softmax
from benchmarks.contracts.reduction.timing import Call, Compiler, Ratio, compare, seconds
from benchmarks.contracts.reduction.writer import Writer

LENGTHS = (1, 3, 16, 100, 128, 1000, 1024, 4096, 65536, 1 << 20)
COLUMNS = (16, 1000, 4096)


@dataclass(frozen=True)
class Record:
    """One line of the table."""

    program: str
    dtype: str
    shape: str
    megabytes: float
    threads: int
    order: str
    free_kernel: str
    kernel: str
    ratio: Ratio

    def line(self) -> str:
        r = self.ratio
        rate = self.megabytes * 1e3 / r.free_us if r.free_us else 0
        return (
            f"{self.program:10} {self.dtype:8} {self.shape:>15} {self.megabytes:8.2f} "
            f"{self.threads} {self.order:15} {r.median:5.2f} [{r.low:4.2f}, {r.high:4.2f}] "
            f"{r.free_us:9.1f} {rate:6.1f}  {self.free_kernel} -> {self.kernel}"
        )


class Bench:
    """The compiler, the arrays and the records so far."""

    def __init__(self, compiler: Compiler, megabytes: int, budget: float) -> None:
        self.compiler = compiler
        self.budget = budget
        values = np.random.default_rng(1).standard_normal(1 << 20).astype("float32")
        self.x = {
            "float32": np.resize(values, megabytes << 18),
            "float64": np.resize(values.astype("float64"), megabytes << 17),
        }
        self.out = np.zeros(megabytes << 20, np.uint8)
        self.pool = ThreadPoolExecutor(1)
        self.records: list[Record] = []

    def call(self, text: str, dtype: str, count: int, split: tuple[int, int] | None) -> Call:
        """A call of the kernel; split (x bytes, out bytes) runs a second share at those offsets."""
        kernel, x, out = self.compiler(text), self.x[dtype].ctypes.data, self.out.ctypes.data
        if split is None:
            return lambda: kernel(x, out, count)
        x2, out2 = x + split[0], out + split[1]

        def both() -> None:
            other = self.pool.submit(kernel, x2, out2, count)
            kernel(x, out, count)
            other.result()

        return both

    def best(
        self, texts: dict[str, str], dtype: str, count: int, split: tuple[int, int] | None
    ) -> tuple[str, Call]:
        """The fastest kernel and its name, by the least of a few interleaved timings."""
        calls = {name: self.call(text, dtype, count, split) for name, text in texts.items()}
        least: dict[str, float] = {}
        for name, call in calls.items():
            call()
            least[name] = seconds(call, 1)
        times = max(1, int(150e-6 / min(least.values())))
        for _ in range(5 if min(least.values()) < 2e-3 else 3):
            for name, call in calls.items():
                if least[name] < 3 * min(least.values()):
                    least[name] = min(least[name], seconds(call, times))
        name = min(least, key=lambda name: least[name])
        return name, calls[name]

    def add(
        self,
        program: str,
        dtype: str,
        shape: str,
        size: int,
        texts: dict[str, dict[str, str]],
        count: int,
        split: tuple[int, int] | None = None,
    ) -> None:
        """Record each order of `texts` against texts["free"]."""
        free_name, free = self.best(texts["free"], dtype, count, split)
        for order, kernels in texts.items():
            if order == "free":
                continue
            name, call = self.best(kernels, dtype, count, split)
            ratio = compare(free, call, self.budget)
            threads = 1 if split is None else 2
            record = Record(
                program, dtype, shape, size / 1e6, threads, order, free_name, name, ratio
            )
            self.records.append(record)
            print(record.line(), flush=True)


def last_axis(bench: Bench, totals: dict[str, list[int]], lengths: tuple[int, ...]) -> None:
    for dtype, sizes in totals.items():
        item = np.dtype(dtype).itemsize
        for n in lengths:
            others = ALTERNATIVES if n in (4096, 65536) and dtype == "float32" else (KEEP16,)
            orders = (DOCUMENTED, *others) if n > 128 else (DOCUMENTED,)
            texts = {"free": last_axis_kernels(dtype, n, None)}
            texts |= {order.name: last_axis_kernels(dtype, n, order) for order in orders}
            for total in sizes:
                rows = total // n if n >= 16 else total // n // 32 * 32
                if not rows:
                    continue
                shape, size = f"{rows}x{n}", rows * n * item
                bench.add("sum last", dtype, shape, size, texts, rows)
                if size > 1e8 and rows > 1:
                    two = {
                        order: texts[order]
                        for order in texts
                        if order in ("free", "documented", "keep16")
                    }
                    half = rows // 2
                    split = (half * n * item, half * item)
                    bench.add("sum last", dtype, shape, size, two, half, split)


def first_axis(bench: Bench, shapes: list[tuple[str, int, int]]) -> None:
    for dtype, rows, columns in shapes:
        item = np.dtype(dtype).itemsize
        size = rows * columns * item
        orders = FIRST_AXIS_ORDERS if rows > 1024 else (DOCUMENTED, ADJACENT)
        texts = {"free": first_axis_kernels(dtype, rows, columns, columns, None)}
        texts |= {o.name: first_axis_kernels(dtype, rows, columns, columns, o) for o in orders}
        bench.add("sum first", dtype, f"{rows}x{columns}", size, texts, 0)
        if size > 1e8 and columns > 16:
            half = columns // 2
            texts = {"free": first_axis_kernels(dtype, rows, half, columns, None)}
            texts |= {o.name: first_axis_kernels(dtype, rows, half, columns, o) for o in orders}
            split = (half * item, half * item)
            bench.add("sum first", dtype, f"{rows}x{columns}", size, texts, 0, split)


def all_elements(bench: Bench, sizes: list[int]) -> None:
    """The lane vector of the whole array, or of two aligned halves; the last tree is not timed."""
    for n in sizes:
        for split in (None, (n // 2 * 4, 4096)):
            if split and n < 1 << 22:
                continue
            share = n if split is None else n // 2
            texts: dict[str, dict[str, str]] = {}
            for order in (None, DOCUMENTED, KEEP16):
                texts[order.name if order else "free"] = {
                    f"{bits}/{group}": sum_part(Writer("float32", bits), share, order, group)
                    for bits in (512, 256)
                    for group in ((4, 8) if order is None else (1, 2, 4))
                }
            bench.add("sum all", "float32", str(n), n * 4, texts, 0, split)


def row_programs(bench: Bench, totals: list[int], lengths: tuple[int, ...]) -> None:
    for name, program in (("softmax", softmax), ("layer norm", layer_norm)):
        for n in lengths:
            texts = {"free": row_kernels(program, n, None)}
            texts |= {order.name: row_kernels(program, n, order) for order in ROW_ORDERS}
            for total in totals:
                rows = total // n
                bench.add(name, "float32", f"{rows}x{n}", rows * n * 4, texts, rows)
                if total > 1 << 24:
                    half, at = rows // 2, rows // 2 * n * 4
                    bench.add(name, "float32", f"{rows}x{n}", rows * n * 4, texts, half, (at, at))


def machine(compiler: Compiler) -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (
            (index / part).read_text().strip() for part in ("level", "type", "size")
        )
        caches[f"L{level} {kind}"] = size
    return {
        "cpu": facts.get("model name"),
        "family": facts.get("cpu family"),
        "model": facts.get("model"),
        "cpus": facts.get("siblings"),
        "caches": caches,
        "llvm cpu": compiler.cpu,
        "llvm": list(ll.llvm_version_info),
        "llvmlite": llvmlite.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few shapes, no memory-bound sizes")
    parser.add_argument("--json", metavar="OUT", type=Path, help="also write the records here")
    options = parser.parse_args()
    compiler = Compiler()
    print(f"{check(compiler)} kernels equal their model in every bit", flush=True)
    bench = Bench(compiler, 16 if options.quick else 256, 0.05 if options.quick else 0.2)
    print(
        f"{'program':10} {'dtype':8} {'shape':>15} {'MB':>8} T {'order':15} ratio "
        f"{'quartiles':>12} {'free us':>9} {'GB/s':>6}  kernels"
    )
    if options.quick:
        last_axis(bench, {"float32": [1 << 20]}, (16, 1000, 4096))
        first_axis(bench, [("float32", 1024, 16), ("float32", 1024, 1000)])
        all_elements(bench, [1 << 20])
        row_programs(bench, [1 << 18], (1000,))
    else:
        small, large = 1 << 20, 1 << 26
        shapes = [
            ("float32", rows, columns)
            for columns in COLUMNS
            for rows in (1, 3, 16, 100, 128, 1000, 1024, 4096, 16384, 65536)
            if rows * columns <= large
        ]
        shapes += [("float64", rows, 1000) for rows in (100, 1024, 4096)]
        shapes.append(("float32", 1 << 22, 16))
        last_axis(
            bench, {"float32": [1 << 17, small, large], "float64": [small, large // 2]}, LENGTHS
        )
        first_axis(bench, shapes)
        all_elements(bench, [small, large])
        row_programs(bench, [1 << 18, large], (128, 1000, 4096, 32768))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        text = {"machine": machine(compiler), "records": [asdict(r) for r in bench.records]}
        options.json.write_text(json.dumps(text, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
