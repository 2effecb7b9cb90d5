"""Work that moves bytes on a GPU, beside the device's own copy of as many bytes, and torch.

    python -m benchmarks.gpu_memory [--only NAME ...] [--compile-seconds N] [--json FILE]

Each workload reads and writes a gibibyte or so. It is right first: at a small and uneven size
against NumPy and, bit for bit, against the CPU; at full size against torch. Then the copy of half
its bytes (which moves as many), pyc's kernels into memory that is there (a check is waited for),
calls of the jitted function, which allocate their results and wait for nothing, and torch, eager
and compiled, are timed by events in turn, round after round. torch.compile compiles nothing more
after --compile-seconds: it takes longest. The bar is 0.9 of the copy's rate for calls.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import ml_dtypes
import numpy as np

import pyc
from benchmarks.gpu import chain, layer_norm, same, softmax
from benchmarks.runner import machine
from pyc import config
from pyc.backends.cuda import check
from pyc.device import gpu

BAR = 0.9
ROUNDS = 7
ENOUGH_SECONDS = 4e-3
"""How long the runs between two events last at least, about."""

Spec = tuple[tuple[int, ...], Any]


@dataclass(frozen=True)
class Workload:
    """function: in NumPy's style; torch: the same, given the module and its tensors. inputs: shapes
    and types, at full size or a small one."""

    name: str
    function: Callable[..., Any]
    torch: Callable[..., Any]
    inputs: Callable[[bool], Sequence[Spec]]
    tolerance: float = 1e-5


def rows(full: bool) -> tuple[int, int]:
    return (65536, 4096) if full else (37, 4096)


def square(full: bool) -> tuple[int, int]:
    return (16384, 16384) if full else (130, 203)


def of(shape: Callable[[bool], tuple[int, ...]], dtype: Any, count: int = 1) -> Any:
    """`inputs` of so many arrays of one type."""
    return lambda full: [(shape(full), dtype)] * count


def line(power: int) -> Callable[[bool], tuple[int, ...]]:
    return lambda full: (1 << power,) if full else (10_007,)


def table(full: bool) -> list[Spec]:
    """Rows of 4 KB, and a permutation of them."""
    count, width = (1 << 18, 1024) if full else (301, 1024)
    return [((count, width), np.float32), ((count,), np.int64)]


def stencil(u: Any) -> Any:
    inner = u[1:-1, 1:-1]
    return inner + 0.2 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)


def torch_chain(torch: Any, a: Any, b: Any) -> Any:
    return a / (1 + torch.exp(-a)) * b + 0.5 * a


def torch_layer_norm(torch: Any, x: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-5)


F32 = np.float32
WORKLOADS = (
    Workload("chain of 8 operations", chain, torch_chain, of(line(27), F32, 2)),
    Workload(
        "chain in bfloat16", chain, torch_chain, of(line(28), ml_dtypes.bfloat16, 2), tolerance=0.03
    ),
    Workload(
        "softmax of rows",
        lambda x: softmax(x, 1),
        lambda torch, x: torch.softmax(x, 1),
        of(rows, F32),
    ),
    Workload("layer norm of rows", lambda x: layer_norm(x, 1), torch_layer_norm, of(rows, F32)),
    Workload("sum of rows", lambda x: x.sum(axis=1), lambda torch, x: x.sum(1), of(rows, F32)),
    Workload("sum of columns", lambda x: x.sum(axis=0), lambda torch, x: x.sum(0), of(rows, F32)),
    Workload("sum of all", lambda x: x.sum(), lambda torch, x: x.sum(), of(line(28), F32)),
    Workload("transpose", lambda x: x.T.copy(), lambda torch, x: x.T.contiguous(), of(square, F32)),
    Workload(
        "gather of rows", lambda x, i: x[i], lambda torch, x, i: torch.index_select(x, 0, i), table
    ),
    Workload("stencil of 5 points", stencil, lambda torch, u: stencil(u), of(square, F32)),
    Workload(
        "concatenate",
        lambda a, b: np.concatenate([a, b], axis=1),
        lambda torch, a, b: torch.cat([a, b], 1),
        of(lambda full: (16384, 8192) if full else (130, 203), F32, 2),
    ),
    Workload(
        "pad",
        lambda x: np.pad(x, 3),
        lambda torch, x: torch.nn.functional.pad(x, (3, 3, 3, 3)),
        of(square, F32),
    ),
    Workload(
        "bfloat16 to float32",
        lambda x: x.astype(np.float32),
        lambda torch, x: x.to(torch.float32),
        of(line(28), ml_dtypes.bfloat16),
    ),
    Workload(
        "float32 to bfloat16",
        lambda x: x.astype(ml_dtypes.bfloat16),
        lambda torch, x: x.to(torch.bfloat16),
        of(line(28), F32),
    ),
    Workload(
        "compare and choose",
        lambda a, b: np.where(a > b, a, 2 * b),
        lambda torch, a, b: torch.where(a > b, a, 2 * b),
        of(line(27), F32, 2),
    ),
    Workload(
        "cumulative sum of rows",
        lambda x: np.cumsum(x, axis=1),
        lambda torch, x: torch.cumsum(x, 1),
        of(rows, F32),
    ),
)


def numbers(specs: Sequence[Spec]) -> list[Any]:
    """Arrays on the GPU: floats in [0, 1), and permutations as integers."""
    found = []
    for k, (shape, dtype) in enumerate(specs):
        if np.dtype(dtype).kind == "i":
            found.append(pyc.device_put(np.random.default_rng(k).permutation(shape[0]), "cuda"))
            continue

        def draw(key: Any, shape: Any = shape, dtype: Any = dtype) -> Any:
            return pyc.random.uniform(key, shape, np.float32).astype(dtype)

        key = pyc.device_put(np.asarray(pyc.random.key(k)), "cuda")
        found.append(pyc.jit(draw, device="cuda")(key))
    return found


def difference(a: Any, b: Any) -> float:
    """The largest, of elements at one place, over the largest element."""
    a, b = (np.asarray(x, np.float64) for x in (a, b))
    return float(np.abs(a - b).max() / np.abs(a).max())


def small_is_right(work: Workload) -> float:
    """How far the GPU is from NumPy at the small size, after it was compared with the CPU."""
    given = [np.asarray(x) for x in numbers(work.inputs(False))]
    found = np.asarray(pyc.jit(work.function, device="cuda")(*given))
    assert same(np.asarray(pyc.jit(work.function)(*given)), found), f"{work.name}: not the CPU's"
    wide = [x if x.dtype.kind == "i" else x.astype(np.float64) for x in given]
    off = difference(np.asarray(work.function(*wide)), found)
    assert off <= work.tolerance, f"{work.name}: {off} from NumPy"
    return off


def timed(run: Callable[[], Any], runs: int) -> float:
    """Seconds of one run, by events around `runs` of them."""
    on = gpu()
    first, last = (check(on.driver.cuEventCreate(0)) for _ in range(2))
    check(on.driver.cuEventRecord(first, on.stream))
    for _ in range(runs):
        run()
    check(on.driver.cuEventRecord(last, on.stream))
    check(on.driver.cuEventSynchronize(last))
    seconds = float(check(on.driver.cuEventElapsedTime(first, last))) * 1e-3 / runs
    for event in (first, last):
        check(on.driver.cuEventDestroy(event))
    return seconds


def in_turn(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of a run of each."""
    counts = {}
    for name, run in ways.items():
        run()
        counts[name] = int(min(max(ENOUGH_SECONDS / timed(run, 1), 1), 20))
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, run in ways.items():
            samples[name].append(timed(run, counts[name]))
    return {name: statistics.median(found) for name, found in samples.items()}


def measured(work: Workload, torch: Any, compiles: bool) -> dict[str, Any]:
    """The row of one workload. compiles: whether torch.compile runs too."""
    on = gpu()
    row: dict[str, Any] = {"workload": work.name, "from NumPy": small_is_right(work)}
    arrays = numbers(work.inputs(True))
    jitted = pyc.jit(work.function, device="cuda")
    compiled = jitted.compile(*arrays).program
    kept = compiled(*arrays)
    arguments, results = [a.address for a in arrays], [a.address for a in kept]
    moved = sum(x.nbytes for x in (*arrays, *kept))
    row["shapes"] = [f"{a.dtype}{list(a.shape)}" for a in arrays]
    launches = sorted(compiled.program.launches.items())
    row["bytes"], row["kernels"] = moved, [launch.name for _, launch in launches]
    row["steps of the host"] = len(compiled.program.host)
    here, there = on.allocate(moved // 2), on.allocate(moved // 2)
    ways: dict[str, Callable[[], Any]] = {
        "copy": partial(on.copy, there, here, moved // 2),
        "kernels": partial(compiled.program, arguments, results),
        "pyc": partial(jitted, *arrays),
    }
    if torch is not None:
        tensors = [torch.from_dlpack(a) for a in arrays]
        with torch.cuda.stream(torch.cuda.ExternalStream(int(on.stream))):
            ways["torch"] = partial(work.torch, torch, *tensors)
            expected = ways["torch"]()
            off = (torch.from_dlpack(kept[0]).double() - expected.double()).abs().max()
            row["from torch"] = float(off / expected.double().abs().max())
            assert row["from torch"] <= work.tolerance, f"{work.name}: {row['from torch']}"
            del expected, off
            if compiles:
                torch.compiler.reset()  # it stops after eight functions of one kind
                fast = torch.compile(partial(work.torch, torch), dynamic=False)
                ways["torch.compile"] = partial(fast, *tensors)
            row["seconds"] = in_turn(ways)
    else:
        row["seconds"] = in_turn(ways)
    on.free(here)
    on.free(there)
    seconds = row["seconds"]
    row["GB/s"] = {name: moved / t / 1e9 for name, t in seconds.items()}
    row["of the copy"] = {n: seconds["copy"] / t for n, t in seconds.items() if n != "copy"}
    return row


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="words in the names of workloads")
    parser.add_argument("--compile-seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path, help="write the results there")
    given = parser.parse_args()
    config.update("cache", "off")
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    start = perf_counter()
    report: dict[str, Any] = {"device": gpu().name, "machine": machine(), "rows": []}
    report["torch"] = None if torch is None else torch.__version__
    below = []
    for work in WORKLOADS:
        if given.only and not any(word in work.name for word in given.only):
            continue
        try:
            row = measured(work, torch, perf_counter() - start < given.compile_seconds)
        except Exception as error:
            row = {"workload": work.name, "error": f"{type(error).__name__}: {error}"[:500]}
            print(f"{work.name:24} {row['error']}", flush=True)
            below.append(work.name)
        else:
            shares = row["of the copy"]
            shown = "  ".join(f"{name} {share:.3f}" for name, share in shares.items())
            print(f"{work.name:24} {row['GB/s']['copy']:5.0f} GB/s  {shown}", flush=True)
            below += [work.name] * (shares["pyc"] < BAR)
        report["rows"].append(row)
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"below {BAR} of the copy: {', '.join(below) or 'none'}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
