"""Matrix products on a GPU: right within their bound, and as fast as cuBLAS?

    python -m benchmarks.gpu_products [--only speeds|products] [--match WORDS] [--json OUT]

TFLOP/s beside torch's (cuBLAS, float32 without TF32; of half types with bias and GELU also the one
call that has both in cuBLASLt's epilogue) where torch is there: graphs of launches of
both in turn, so that no host time counts, with idle time between, because the chip slows down under
sustained products. Then shapes, layouts and epilogues of all float types against a float64 product
of the same inputs, results poisoned beforehand, and twice for equal bits. With --only the other of
the two stays as it is in OUT.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import machine
from pyc import config
from pyc.backends.cuda import check
from pyc.compile_cuda import load
from pyc.device import gpu
from pyc.ir import dtype as dt
from pyc.passes import optimise
from pyc.passes.memory import plan

Array = np.ndarray[Any, Any]
LAYOUTS = {"ik,kj": (False, False), "ki,kj": (True, False), "ik,jk": (False, True)}
LAYOUTS["ki,jk"] = (True, True)
BOUNDS = {"bf16": 5e-3, "f16": 7e-4, "f32": 1e-6, "f64": 2e-15}
"""Of the error over the sum of the products' sizes."""
HOT = 2e10
"""Operations of a product after which the chip is given time to cool."""
ROUNDS = 9
LAUNCHES = 12


SPEEDS = [
    (2048, 8192, 2048, "bf16", "ik,kj", 0, True),
    (4096, 4096, 4096, "bf16", "ik,kj", 0, True),
    *((s, s, s, "bf16", "ik,kj", 0, False) for s in (1024, 2048, 4096, 8192)),
    *((4096, 4096, 4096, "bf16", layout, 0, False) for layout in ("ki,kj", "ik,jk")),
    (4096, 4096, 4096, "f16", "ik,kj", 0, False),
    *((4097, n, n, "bf16", "ik,kj", 0, False) for n in (4104, 4101)),
    (197, 64, 197, "bf16", "ik,kj", 384, False),
    *((s, s, s, "f32", "ik,kj", 0, False) for s in (512, 1024, 2048, 4096)),
    *((t, 384, 384, "f32", "ik,kj", 0, False) for t in (512, 2048, 4096, 16384)),
    *((t, 1536, 384, "f32", "ik,kj", 0, True) for t in (512, 4096, 16384)),
    *((t, 384, 1536, "f32", "ik,kj", 0, False) for t in (512, 4096, 16384)),
    *((256, 256, 32, "f32", "ik,jk", heads, False) for heads in (32, 384)),
    *((256, 32, 256, "f32", "ik,kj", heads, False) for heads in (32, 384)),
    (1000, 1001, 1003, "f32", "ik,kj", 0, False),
    *((s, s, s, "f32", "ik,kj", 4096, False) for s in (16, 32, 64)),
    *((s, s, s, "f64", "ik,kj", 0, False) for s in (1024, 4096)),
    (4096, 4096, 4096, "f64", "ik,jk", 0, False),
    (515, 203, 1001, "f64", "ik,kj", 0, False),
]
"""Rows, columns, terms, type, layout, stacked products, with bias and GELU."""


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def product_of(layout: str, epilogue: bool) -> Callable[..., Any]:
    turn_a, turn_b = LAYOUTS[layout]

    def function(a: Any, b: Any, bias: Any) -> Any:
        found = (a.swapaxes(-1, -2) if turn_a else a) @ (b.swapaxes(-1, -2) if turn_b else b)
        return gelu(found + bias) if epilogue else found

    return function


class Product:
    """A product compiled for the device, with operands there."""

    def __init__(
        self, m: int, n: int, k: int, dtype: str, layout: str, batch: int, epilogue: bool
    ) -> None:
        turn_a, turn_b = LAYOUTS[layout]
        kind = dt.parse(dtype)
        stack = (batch,) if batch else ()
        rng = np.random.default_rng(m + n + k)
        self.a = self._data(rng, (*stack, *((k, m) if turn_a else (m, k))), kind.numpy)
        self.b = self._data(rng, (*stack, *((n, k) if turn_b else (k, n))), kind.numpy)
        self.bias = self._data(rng, (n,), kind.numpy)
        function = product_of(layout, epilogue)
        inputs = (self.a, self.b, self.bias)
        graph = optimise(pyc.jit(function).trace(*inputs).graph)
        self.on = gpu()
        _, self.program = load(plan(graph, self.on.target).plan, self.on)
        self.tiled = any(launch.maps for launch in self.program.launches.values())
        self.arguments = [self._up(x) for x in inputs]
        (result,) = graph.results
        self.out = np.empty(result.shape, result.dtype.numpy)
        self.result = self.on.allocate(self.out.nbytes)
        turned = (
            np.swapaxes(x, -1, -2) if turn else x
            for x, turn in ((self.a, turn_a), (self.b, turn_b))
        )
        self.left, self.right = turned
        self.epilogue = epilogue
        self.operations = 2 * m * n * k * max(batch, 1)

    @staticmethod
    def _data(rng: Any, shape: tuple[int, ...], kind: Any) -> Array:
        block = rng.standard_normal(1 << 20).astype(np.float32).astype(kind)
        return (
            np.resize(block, shape)
            if np.prod(shape) > block.size
            else block[: np.prod(shape)].reshape(shape)
        )

    def _up(self, x: Array) -> int:
        address = self.on.allocate(x.nbytes)
        self.on.upload(address, np.ascontiguousarray(x))
        return address

    def run(self) -> None:
        self.program(self.arguments, [self.result])

    def answer(self) -> Array:
        self.on.upload(self.result, np.full(self.out.nbytes, 0xFF, np.uint8))
        self.run()
        out = np.empty_like(self.out)
        self.on.download(out, self.result)
        return out

    def error(self) -> tuple[float, bool]:
        """The worst error over the sum of |a| |b|, and whether a second run has the same bits."""
        out, again = self.answer(), self.answer()
        rows = slice(None) if out.shape[-2] <= 2048 else np.r_[0:64, 1000:1064, -64:0]
        x = self.left[..., rows, :].astype(np.float64)
        y = self.right.astype(np.float64)
        exact, size = x @ y, np.abs(x) @ np.abs(y)
        if self.epilogue:
            bias = self.bias.astype(np.float64)
            exact, size = gelu(exact + bias), size + np.abs(bias)
        wrong = np.abs(out[..., rows, :].astype(np.float64) - exact) / size
        bits = out.tobytes() == again.tobytes()
        return float(np.nan_to_num(wrong, nan=np.inf).max()), bits

    def free(self) -> None:
        for address in (*self.arguments, self.result):
            self.on.free(address)
        self.on.synchronize()


def verify() -> Iterator[dict[str, Any]]:
    shapes = [(128, 256, 64), (130, 264, 72), (64, 64, 640), (1000, 1096, 1032), (256, 1, 64)]
    shapes += [(4097, 4104, 4104), (33, 40, 32), (2048, 2048, 2048), (100, 100, 100), (7, 9, 5)]
    cases = [(*s, "bf16", layout, 0, False) for s in shapes for layout in LAYOUTS]
    cases += [(300, 520, 200, "f16", layout, 3, True) for layout in LAYOUTS]
    cases += [
        (512, 512, 512, "bf16", "ik,kj", 0, True),
        (2048, 8192, 2048, "bf16", "ik,kj", 0, True),
    ]
    cases += [
        (77, 128, 64, "bf16", "ik,jk", 5, False),
        (4096, 4096, 4096, "f16", "ik,kj", 0, False),
    ]
    # Rows that the copies of the hardware cannot take.
    cases += [(515, 1003, 1001, "bf16", layout, 0, True) for layout in LAYOUTS]
    cases += [(197, 64, 197, "f16", layout, 60, False) for layout in LAYOUTS]
    for kind in ("f32", "f64"):
        cases += [(130, 68, 72, kind, layout, 3, True) for layout in LAYOUTS]
        cases += [(515, 203, 1001, kind, layout, 0, False) for layout in LAYOUTS]
        cases += [(s, s, s, kind, "ik,kj", 0, False) for s in (16, 64, 512, 1024, 2048)]
        cases += [(256, 32, 256, kind, "ik,kj", 32, False), (256, 256, 32, kind, "ik,jk", 32, True)]
        cases += [
            (512, 384, 1536, kind, "ik,kj", 0, True),
            (4096, 384, 384, kind, "ik,jk", 0, True),
        ]
    for case in cases:
        m, n, k, dtype, layout, batch, epilogue = case
        row: dict[str, Any] = dict(
            zip(("m", "n", "k", "dtype", "layout", "batch", "epilogue"), case, strict=True)
        )
        try:
            made = Product(m, n, k, dtype, layout, batch, epilogue)
            row["tensor cores"] = made.tiled
            row["error"], row["same bits"] = made.error()
            row["ok"] = row["error"] < BOUNDS[dtype] and row["same bits"]
            made.free()
        except Exception as error:
            row["ok"], row["raised"] = False, f"{type(error).__name__}: {error}"[:400]
        if not row["ok"]:
            print(row, flush=True)
        yield row


def captured(on: Any, run: Callable[[], None]) -> Callable[[], None]:
    """Launches `run` LAUNCHES times, as one CUDA graph."""
    driver = on.driver
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    check(driver.cuStreamBeginCapture(on.stream, mode))
    for _ in range(LAUNCHES):
        run()
    graph = check(driver.cuStreamEndCapture(on.stream))
    ready = check(driver.cuGraphInstantiate(graph, 0))
    return lambda: check(driver.cuGraphLaunch(ready, on.stream))


def events(on: Any, run: Callable[[], None]) -> float:
    """Seconds of one of the launches of a graph."""
    driver = on.driver
    first, last = (check(driver.cuEventCreate(0)) for _ in range(2))
    check(driver.cuEventRecord(first, on.stream))
    run()
    check(driver.cuEventRecord(last, on.stream))
    check(driver.cuEventSynchronize(last))
    return float(check(driver.cuEventElapsedTime(first, last))) * 1e-3 / LAUNCHES


def program(m: int, n: int, k: int, dtype: str, layout: str, batch: int, epilogue: bool) -> str:
    """The name of a case."""
    name = f"{dtype} {m} x {n} x {k} {layout}" + (f" x {batch}" if batch else "")
    return name + (" + bias, gelu" if epilogue else "")


def speed(
    m: int, n: int, k: int, dtype: str, layout: str, batch: int, epilogue: bool
) -> dict[str, Any]:
    """TFLOP/s of each, in turn."""
    made = Product(m, n, k, dtype, layout, batch, epilogue)
    name = program(m, n, k, dtype, layout, batch, epilogue)
    row: dict[str, Any] = {"program": name, "tensor cores": made.tiled}
    row["kernels"] = len(made.program.launches)
    made.run()
    runs: dict[str, Callable[[], None]] = {"pyc": captured(made.on, made.run)}
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    if torch is not None:
        names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
        like = getattr(torch, names[dtype])
        a = torch.randn(made.a.shape, device="cuda").to(like)
        b = torch.randn(made.b.shape, device="cuda").to(like)
        bias = torch.randn(n, device="cuda").to(like)
        left = a.transpose(-1, -2) if LAYOUTS[layout][0] else a
        right = b.transpose(-1, -2) if LAYOUTS[layout][1] else b
        stream = torch.cuda.ExternalStream(int(made.on.stream))

        def peer() -> Any:
            if epilogue:
                found = torch.addmm(bias, left, right)
                return torch.nn.functional.gelu(found, approximate="tanh")
            return torch.matmul(left, right)

        def fused() -> Any:
            return torch._addmm_activation(bias, left, right, use_gelu=True)

        peers = {"torch": peer}
        if epilogue and dtype in ("f16", "bf16"):
            peers["torch fused"] = fused
        for who, calls in peers.items():
            runs[who] = replayed(torch, stream, calls)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    made.on.synchronize()
    for _ in range(ROUNDS):
        for who, run in runs.items():
            time.sleep(0.04 if made.operations > HOT else 0.004)
            times[who].append(events(made.on, run))
    for who, found in times.items():
        row[f"{who} TFLOP/s"] = made.operations / 1e12 / statistics.median(found)
        row[f"{who} spread"] = max(found) / min(found)
    for who in [who for who in runs if who != "pyc"]:
        row[f"ratio to {who}"] = row["pyc TFLOP/s"] / row[f"{who} TFLOP/s"]
    made.free()
    return row


def replayed(torch: Any, stream: Any, calls: Callable[[], Any]) -> Callable[[], None]:
    """The same of torch's calls."""
    with torch.cuda.stream(stream):
        calls()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            calls()

    def replay() -> None:
        with torch.cuda.stream(stream):
            graph.replay()

    return replay


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", nargs="+", default=[""], help="words of the names, any of them")
    parser.add_argument("--only", choices=("speeds", "products"))
    parser.add_argument("--json", type=Path, help="write the results there, after each")
    options = parser.parse_args()
    config.update("cache", "off")
    report: dict[str, Any] = {
        "device": gpu().name,
        "target": gpu().target.id,
        "machine": machine(),
        "products": [],
        "speeds": [],
    }
    if options.only and options.json and options.json.exists():
        kept = "products" if options.only == "speeds" else "speeds"
        report[kept] = json.loads(options.json.read_text())[kept]

    def add(kind: str, row: dict[str, Any]) -> None:
        report[kind].append(row)
        if options.json:
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(report, indent=1) + "\n")

    for case in SPEEDS if options.only != "products" else ():
        if not any(word in program(*case) for word in options.match):
            continue
        row = speed(*case)
        print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
        add("speeds", row)
    for row in verify() if options.only != "speeds" else ():
        add("products", row)
    rows = report["products"]
    print(f"{sum(r['ok'] for r in rows)} of {len(rows)} products are right")
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
