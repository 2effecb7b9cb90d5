"""Fourier transforms beside NumPy, SciPy and torch.

    python -m benchmarks.fourier [--device cuda] [--quick] [--json OUT]

On the CPU each transform runs in turn with its peers, one thread each, as rounds of calls on NumPy
arrays; the least of the rounds counts, and the ratio is the median of the rounds'. On a GPU arrays
stay there; time is that of CUDA events around batches of calls, and torch (cuFFT) is the peer.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pyc

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

CASES: tuple[tuple[str, tuple[int, ...], int, str], ...] = (
    *((name, (n,), -1, d) for n in (64, 256, 1024, 4096) for name, d in (("fft", "c16"),)),
    ("fft", (1024,), -1, "c8"),
    ("fft", (1 << 16,), -1, "c16"),
    ("fft", (1 << 20,), -1, "c16"),
    ("fft", (1 << 20,), -1, "c8"),
    ("fft", (1000,), -1, "c16"),
    ("fft", (1000,), -1, "c8"),
    ("fft", (729,), -1, "c16"),
    ("fft", (1001,), -1, "c16"),
    ("fft", (1009,), -1, "c16"),
    ("fft", (100_003,), -1, "c16"),
    ("fft", (10_000, 16), -1, "c8"),
    ("fft", (1000, 64), -1, "c16"),
    ("fft", (1000, 256), -1, "c8"),
    ("fft", (256, 1024), -1, "c16"),
    ("fft", (256, 1024), 0, "c16"),
    ("fft", (100, 1000), 0, "c8"),
    ("fft2", (512, 512), -1, "c16"),
    ("fft2", (512, 512), -1, "c8"),
    ("rfft", (1024,), -1, "f8"),
    ("rfft", (1 << 16,), -1, "f8"),
    ("rfft", (1000, 1000), -1, "f4"),
    ("irfft", (1000, 513), -1, "c16"),
    ("rfft2", (512, 512), -1, "f8"),
)
"""(function, shape, axis, type)."""
LARGE: tuple[tuple[str, tuple[int, ...], int, str], ...] = (
    ("fft", (1 << 18, 64), -1, "c8"),
    ("fft", (1 << 16, 256), -1, "c8"),
    ("fft", (1 << 14, 1024), -1, "c8"),
    ("fft", (1 << 14, 1000), -1, "c8"),
    ("fft", (1 << 12, 4096), -1, "c8"),
    ("fft", (1 << 12, 4096), -1, "c16"),
    ("fft", (4096, 4096), 0, "c8"),
    ("fft2", (4096, 4096), -1, "c8"),
    ("fft", (1 << 24,), -1, "c8"),
    ("rfft", (1 << 14, 2048), -1, "f4"),
)
"""More for a GPU: 128 MiB and 256 MiB."""


def numbers(shape: tuple[int, ...], kind: str) -> Array:
    """Random numbers."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape)
    if kind[0] == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(kind)


def peers(name: str, x: Array, axis: int) -> dict[str, Call]:
    """The calls of other libraries that are installed."""
    options = {} if name.endswith("2") else {"axis": axis}
    numpy_function = getattr(np.fft, name)
    found: dict[str, Call] = {"numpy": lambda: numpy_function(x, **options)}
    if find_spec("scipy"):
        scipy_function = getattr(import_module("scipy.fft"), name)
        found["scipy"] = lambda: scipy_function(x, **options)
    if find_spec("torch"):
        torch = import_module("torch")
        torch.set_num_threads(1)
        tensor, torch_function = torch.from_numpy(x), getattr(torch.fft, name)
        renamed = {"dim": axis} if options else {}
        found["torch"] = lambda: torch_function(tensor, **renamed)
    return found


def ours(name: str, axis: int, **options: Any) -> Any:
    """The jitted transform."""
    function = getattr(np.fft, name)
    if name.endswith("2"):
        return pyc.jit(lambda x: function(x), **options)
    return pyc.jit(lambda x: function(x, axis=axis), **options)


def round_of(call: Call, count: int) -> float:
    """Seconds of a call, over `count` of them."""
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count


def on_cpu(name: str, shape: tuple[int, ...], axis: int, kind: str, rounds: int) -> dict[str, Any]:
    """Times of one transform."""
    x = numbers(shape, kind)
    function = ours(name, axis)
    start = perf_counter()
    function(x)
    first = perf_counter() - start
    calls: dict[str, Call] = {"pyc": lambda: function(x), **peers(name, x, axis)}
    counts = {
        k: max(1, min(2000, int(0.004 / max(round_of(c, 2), 1e-7)))) for k, c in calls.items()
    }
    times: dict[str, list[float]] = {k: [] for k in calls}
    for _ in range(rounds):
        for k, call in calls.items():
            times[k].append(round_of(call, counts[k]))
    found: dict[str, Any] = {f"{k}_us": round(min(t) * 1e6, 2) for k, t in times.items()}
    for k in times:
        if k != "pyc":
            pairs = zip(times[k], times["pyc"], strict=True)
            found[f"speed_over_{k}"] = round(statistics.median(a / b for a, b in pairs), 2)
    return {**found, "first_call_ms": round(first * 1e3, 1)}


def on_gpu(name: str, shape: tuple[int, ...], axis: int, kind: str, rounds: int) -> dict[str, Any]:
    """Times of one transform, and of cuFFT's."""
    torch = import_module("torch")
    x = numbers(shape, kind)
    function = ours(name, axis, device="cuda")
    given = pyc.device_put(x, pyc.devices("cuda")[0])
    start = perf_counter()
    np.asarray(function(given))
    first = perf_counter() - start
    tensor, torch_function = torch.from_numpy(x).cuda(), getattr(torch.fft, name)
    renamed = {} if name.endswith("2") else {"dim": axis}
    calls: dict[str, Call] = {
        "pyc": lambda: function(given),
        "cufft": lambda: torch_function(tensor, **renamed),
    }
    times: dict[str, list[float]] = {k: [] for k in calls}
    for _ in range(rounds):
        for k, call in calls.items():
            for _ in range(3):
                call()
            torch.cuda.synchronize()
            start = perf_counter()
            for _ in range(30):
                call()
            torch.cuda.synchronize()
            times[k].append((perf_counter() - start) / 30)
    found: dict[str, Any] = {f"{k}_us": round(min(t) * 1e6, 2) for k, t in times.items()}
    found["speed_over_cufft"] = round(min(times["cufft"]) / min(times["pyc"]), 2)
    return {**found, "first_call_ms": round(first * 1e3, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    measure = on_cpu if options.device == "cpu" else on_gpu
    rows = []
    with pyc.threads(1), pyc.config.using(cache="off"):
        for name, shape, axis, kind in (*LARGE, *CASES) if options.device == "cuda" else CASES:
            found = measure(name, shape, axis, kind, 3 if options.quick else 9)
            row = {"case": f"{name} {shape} axis {axis} {kind}", **found}
            rows.append(row)
            print(json.dumps(row), flush=True)
    if options.json:
        machine = {"processor": platform.processor(), "python": platform.python_version()}
        document = {"device": options.device, "machine": machine, "rows": rows}
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
