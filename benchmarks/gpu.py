"""GPU kernels against the CPU's bits, and against the device's own copy.

    python -m benchmarks.gpu [--quick] [--json OUT]

Correctness first: each program runs on the CPU and on the GPU from the same Graph, and pointwise
and reduction results must be equal bit for bit (any NaN equals any NaN); contractions within their
bound. Then time by CUDA events over repeated launches, as bytes read and written once over the
median time, beside a device-to-device copy of 1 GiB in the same run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import statistics
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pyc
from benchmarks.gpu_calls import calls, per_call
from benchmarks.gpu_start import starts
from pyc import config
from pyc.backends.cuda import check
from pyc.backends.cuda_program import CudaProgram
from pyc.compile import compile_graph
from pyc.compile_cuda import load
from pyc.device import gpu
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.passes import optimise, placement
from pyc.passes.memory import plan

Array = np.ndarray[Any, Any]


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x: Any, axis: int) -> Any:
    mean = x.mean(axis=axis, keepdims=True)
    spread = ((x - mean) ** 2).mean(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(spread + 1e-5)


def chain(a: Any, b: Any) -> Any:
    return a / (1 + np.exp(-a)) * b + 0.5 * a


def mandelbrot(cr: Any, ci: Any) -> Any:
    def body(state: Any) -> Any:
        inside, re, im, steps = state
        next_re, next_im = re * re - im * im + cr, 2 * re * im + ci
        still = inside & (next_re * next_re + next_im * next_im <= 4.0) & (steps < 60)
        return (
            still,
            np.where(inside, next_re, re),
            np.where(inside, next_im, im),
            np.where(inside, steps + 1, steps),
        )

    start = (cr * cr + ci * ci <= 4.0, cr, ci, (cr * 0).astype(np.int64))
    return pyc.while_loop(lambda s: s[0].any(), body, start)[3]


def programs(quick: bool) -> list[tuple[str, Callable[..., Any], tuple[Any, ...], bool]]:
    """(name, function, inputs, exact)."""
    rng = np.random.default_rng(3)

    def data(*shape: int) -> Array:
        x = rng.standard_normal(shape).astype(np.float32)
        x.reshape(-1)[:: max(x.size // 7, 1)] = np.float32(0)
        return x

    found: list[tuple[str, Callable[..., Any], tuple[Any, ...], bool]] = []
    a, b = data(1000, 1003), data(1000, 1003)
    found.append(("chain", chain, (a, b), True))
    special = np.array([0, -0.0, np.nan, np.inf, -np.inf, 1e-42, 1, -2.5, 1e38, 88.8], np.float32)
    functions = ("exp", "log", "sin", "cos", "tanh", "sqrt", "log1p", "expm1", "arctan", "cbrt")
    for name in functions:
        f = getattr(pyc.numpy, name)
        wide = np.concatenate([special, (data(100_000) * 40).astype(np.float32)])
        found.append((name, lambda x, f=f: f(x), (wide,), True))
    lengths: tuple[int, ...] = (3, 100, 1000, 4096)
    if not quick:
        lengths = (1, 3, 16, 100, 128, 1000, 1024, 4096, 65536, 1 << 20)
    for n in lengths:
        rows = max(2, min(300, (1 << 20) // n))
        x = data(rows, n)
        for axis, y in ((1, x), (0, np.ascontiguousarray(x.T))):
            found.append(
                (f"sum {y.shape} axis {axis}", lambda v, k=axis: v.sum(axis=k), (y,), True)
            )
            if n > 1:
                found.append(
                    (f"softmax {y.shape} axis {axis}", lambda v, k=axis: softmax(v, k), (y,), True)
                )
                found.append(
                    (
                        f"layer_norm {y.shape} axis {axis}",
                        lambda v, k=axis: layer_norm(v, k),
                        (y,),
                        True,
                    )
                )
    for n in (1000, 1 << 20, (1 << 20) + 77):
        found.append((f"sum of {n}", lambda v: v.sum(), (data(n),), True))
        found.append((f"argmax of {n}", lambda v: v.argmax(), (data(n),), True))
    found.append(("transpose", lambda v: v.T + 1, (data(513, 700),), True))
    places = rng.integers(0, 500, 3000)
    found.append(("gather", lambda v, i: v[i], (data(500, 33), places), True))
    found.append(("scatter", lambda v, i, w: v.at[i].add(w), (data(500), places, data(3000)), True))
    found.append(("mandelbrot", mandelbrot, (data(200, 300), data(200, 300)), True))
    found.append(("matmul", lambda p, q: p @ q, (data(130, 257), data(257, 190)), False))
    found.append(
        (
            "matmul + bias + relu",
            lambda p, q, r: np.maximum(p @ q + r, 0),
            (data(64, 64), data(64, 64), data(64)),
            False,
        )
    )
    found.append(("float64", lambda p: np.exp(p).sum(axis=1), (data(40, 700).astype(float),), True))
    found.append(("int", lambda p: (p * 3 // 7 % 5).sum(axis=0), (places.reshape(300, 10),), True))
    found.append(
        ("scan", lambda p: pyc.scan(lambda c, x: (c * 0.5 + x, c), p[0], p), (data(50, 33),), True)
    )
    return found


def trace(function: Callable[..., Any], inputs: tuple[Any, ...]) -> Graph:
    return pyc.jit(function).trace(*inputs).graph


def run_cuda(program: CudaProgram, inputs: tuple[Array, ...], graph: Graph) -> list[Array]:
    on = program.device
    arguments = []
    for x in inputs:
        address = on.allocate(x.nbytes)
        on.upload(address, x)
        arguments.append(address)
    results = [on.allocate(v.type.nbytes) for v in graph.results]
    for v, address in zip(graph.results, results, strict=True):
        on.upload(address, np.full(v.type.nbytes, 0xCD, np.uint8))
    program(arguments, results)
    outs = []
    for v, address in zip(graph.results, results, strict=True):
        out = np.empty(v.shape, v.dtype.numpy)
        on.download(out, address)
        outs.append(out)
    for address in (*arguments, *results):
        on.free(address)
    return outs


def same(a: Array, b: Array) -> bool:
    if a.dtype.kind == "f":
        nan = np.isnan(a)
        unsigned = f"u{a.dtype.itemsize}"
        bits = [np.where(nan, 0, np.array(x).view(unsigned)) for x in (a, b)]
        return bool(np.array_equal(nan, np.isnan(b)) and np.array_equal(*bits))
    return bool(np.array_equal(a, b))


def verify(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, function, inputs, exact in programs(quick):
        row: dict[str, Any] = {"program": name}
        try:
            graph = optimise(trace(function, inputs))
            expected = compile_graph(graph)(*inputs)
            _, program = load(plan(graph, gpu().target).plan, gpu())
            found = run_cuda(program, inputs, graph)
            row["kernels"] = len(program.launches)
            if exact:
                row["ok"] = all(same(a, b) for a, b in zip(expected, found, strict=True))
                if not row["ok"]:
                    for a, b in zip(expected, found, strict=True):
                        wrong = np.argwhere(np.asarray(a != b)).tolist()[:3]
                        row["wrong"] = [int(np.sum(a != b)), a.size, wrong]
            else:
                worst = max(
                    float(np.abs(a - b).max() / np.abs(a).max())
                    for a, b in zip(expected, found, strict=True)
                )
                row["ok"], row["difference"] = worst < 1e-5, worst
        except Exception as error:
            row["ok"] = False
            row["error"] = f"{type(error).__name__}: {error}"[:300]
            row["trace"] = traceback.format_exc(limit=-2)[-400:]
        rows.append(row)
        if not row["ok"]:
            print(row, flush=True)
    return rows


def timed(program: Callable[[], None], repeats: int = 12, runs: int = 1) -> float:
    """Median seconds of one run, by events around `runs` of them."""
    on = gpu()
    driver = on.driver
    first, last = (check(driver.cuEventCreate(0)) for _ in range(2))
    program()
    times = []
    for _ in range(repeats):
        check(driver.cuEventRecord(first, on.stream))
        for _ in range(runs):
            program()
        check(driver.cuEventRecord(last, on.stream))
        check(driver.cuEventSynchronize(last))
        times.append(check(driver.cuEventElapsedTime(first, last)) * 1e-3 / runs)
    return statistics.median(times)


def speed(name: str, function: Callable[..., Any], shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    on = gpu()
    inputs = tuple(np.empty(s, np.float32) for s in shapes)
    graph = optimise(trace(function, inputs))
    _, program = load(plan(graph, on.target).plan, on)
    rng = np.random.default_rng(0)
    block = rng.standard_normal(1 << 22).astype(np.float32)
    arguments = []
    for x in inputs:
        address = on.allocate(x.nbytes)
        for start in range(0, x.nbytes, block.nbytes):
            piece = block[: min(block.nbytes, x.nbytes - start) // 4]
            on.upload(address + start, piece)
        arguments.append(address)
    results = [on.allocate(v.type.nbytes) for v in graph.results]
    moved = sum(x.nbytes for x in inputs) + sum(v.type.nbytes for v in graph.results)
    seconds = timed(lambda: program(arguments, results), runs=1 if moved >= 1 << 28 else 20)
    for address in (*arguments, *results):
        on.free(address)
    on.synchronize()
    row = {"program": name, "seconds": seconds, "GB/s": moved / seconds / 1e9}
    row["kernels"], row["steps of the host"] = len(program.launches), len(program.host)
    return row


ORDERED: dict[str, Callable[..., Any]] = {
    "scan": lambda x, i: pyc.scan(lambda c, v: (c * 0.5 + v, c), x[0], x)[0],
}


def waiting(program: CudaProgram, arguments: list[int], results: list[int]) -> Callable[[], None]:
    """A call of a program that waits for the device."""

    def call() -> None:
        program(arguments, results)
        program.device.synchronize()

    return call


def placements() -> list[dict[str, Any]]:
    """Work with an order, in one thread of the device and as a step of the host: what the times of
    `passes/placement` are held against."""
    on = gpu()
    rng = np.random.default_rng(0)
    rows = []
    kept = placement.HOST_STEP_NS
    for name, function in ORDERED.items():
        for size in (64, 256, 1024, 4096, 16384):
            inputs = (rng.standard_normal(size).astype(np.float32), rng.integers(0, size, size))
            graph = optimise(trace(function, inputs))
            row: dict[str, Any] = {"program": name, "elements": size}
            addresses = []
            for x in inputs:
                addresses.append(on.allocate(x.nbytes))
                on.upload(addresses[-1], x)
            results = [on.allocate(v.type.nbytes) for v in graph.results]
            for where, cost in (("device", float("inf")), ("host", float("-inf"))):
                placement.HOST_STEP_NS = cost
                _, program = load(plan(graph, on.target).plan, on)

                row[where] = 1e6 * per_call(waiting(program, addresses, results))[0]
            placement.HOST_STEP_NS = kept
            row["chosen"] = "host" if load(plan(graph, on.target).plan, on)[1].host else "device"
            for address in (*addresses, *results):
                on.free(address)
            print(
                f"{name} of {size}: device {row['device']:.0f} us, host {row['host']:.0f} us, "
                f"chosen: {row['chosen']}",
                flush=True,
            )
            rows.append(row)
    return rows


def product(side: int, dtype: str) -> dict[str, Any]:
    """A square product in TFLOP/s, in turn with torch's (cuBLAS) where torch is there."""
    on = gpu()
    kind = dt.parse(dtype)
    inputs = tuple(np.zeros((side, side), kind.numpy) for _ in range(2))
    graph = optimise(trace(lambda a, b: a @ b, inputs))
    _, program = load(plan(graph, on.target).plan, on)
    rng = np.random.default_rng(0)
    arguments = []
    for x in inputs:
        arguments.append(on.allocate(x.nbytes))
        on.upload(arguments[-1], rng.standard_normal(x.shape).astype(kind.numpy))
    results = [on.allocate(inputs[0].nbytes)]
    operations = 2 * side**3 / 1e12
    row: dict[str, Any] = {"program": f"{dtype} product of {side}"}
    row["TFLOP/s"] = operations / timed(lambda: program(arguments, results))
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    if torch is not None:
        like = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}[dtype]
        a, b = (torch.randn(side, side, device="cuda").to(like) for _ in range(2))
        stream = torch.cuda.ExternalStream(int(on.stream))
        with torch.cuda.stream(stream):
            row["cuBLAS TFLOP/s"] = operations / timed(lambda: torch.matmul(a, b))
        row["share of cuBLAS"] = row["TFLOP/s"] / row["cuBLAS TFLOP/s"]
    for address in (*arguments, *results):
        on.free(address)
    on.synchronize()
    return row


def copy_rate() -> float:
    on = gpu()
    nbytes = 1 << 30
    a, b = on.allocate(nbytes), on.allocate(nbytes)
    seconds = timed(lambda: on.copy(b, a, nbytes))
    on.free(a)
    on.free(b)
    return 2 * nbytes / seconds / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer row lengths")
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--no-speed", action="store_true", help="correctness only")
    options = parser.parse_args()
    config.update("cache", "off")
    rows = verify(options.quick)
    good = sum(r["ok"] for r in rows)
    print(f"{good} of {len(rows)} programs equal the CPU")
    report: dict[str, Any] = {
        "device": gpu().name,
        "target": gpu().target.id,
        "host": platform.processor() or platform.machine(),
        "programs": rows,
    }
    if not options.no_speed:
        rate = copy_rate()
        report["copy GB/s"] = rate
        print(f"copy of 1 GiB: {rate:.0f} GB/s")
        cases: list[tuple[str, Callable[..., Any], list[tuple[int, ...]]]] = [
            ("chain of 2^28", chain, [(1 << 28,), (1 << 28,)]),
            ("softmax rows of 4096", lambda x: softmax(x, 1), [(65536, 4096)]),
            ("softmax rows of 1024", lambda x: softmax(x, 1), [(1 << 18, 1024)]),
            ("layer norm rows of 4096", lambda x: layer_norm(x, 1), [(65536, 4096)]),
            ("sum rows of 4096", lambda x: x.sum(axis=1), [(65536, 4096)]),
            ("sum of 2^28", lambda x: x.sum(), [(1 << 28,)]),
            ("sum along axis 0 of (65536, 4096)", lambda x: x.sum(axis=0), [(65536, 4096)]),
            ("transpose 16384^2", lambda x: x.T + 0.0, [(16384, 16384)]),
        ]
        million = 1 << 20
        for rows_of in (1, 8, 64):
            shape = [(rows_of, million)]
            cases += [
                (f"sum of {rows_of} x 1M", lambda x: x.sum(axis=1), shape),
                (f"softmax of {rows_of} x 1M", lambda x: softmax(x, 1), shape),
                (f"layer norm of {rows_of} x 1M", lambda x: layer_norm(x, 1), shape),
            ]
        for shape in ([(4096, 4096)], [(65536, 4096)], [(million, 64)], [(million, 1)]):
            name = f"along axis 0 of {shape[0]}"
            cases.append((f"softmax {name}", lambda x: softmax(x, 0), shape))
        report["starts"] = starts()
        report["calls"] = calls()
        report["placements"] = placements()
        speeds = []
        for name, function, shapes in cases:
            try:
                row = speed(name, function, shapes)
                row["share of copy"] = row["GB/s"] / rate
                print(f"{name:36} {row['GB/s']:8.0f} GB/s  {row['share of copy']:.3f} of the copy")
            except Exception as error:
                row = {"program": name, "error": f"{type(error).__name__}: {error}"[:300]}
                print(row)
            speeds.append(row)
        report["speeds"] = speeds
        report["products"] = []
        for side, dtype in ((1024, "f32"), (2048, "f32"), (4096, "f32"), (4096, "bf16")):
            row = product(side, dtype)
            print({k: v if isinstance(v, str) else round(v, 3) for k, v in row.items()})
            report["products"].append(row)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
