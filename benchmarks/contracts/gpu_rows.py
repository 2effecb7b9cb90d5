"""Programs over columns and over few long rows, beside the fastest kernels in any order.

    python -m benchmarks.contracts.gpu_rows [--json OUT] [--seconds N] [--only 0,5] [--commit C]

Sums, softmax and layer norm along the first axis, and of few long rows, in pyc's one order of
reduction, in the same run as kernels in CUDA C that may add in any order (`gpu_rows_free`: compiled
by NVRTC for this comparison only), as kernels with pyc's two reductions one after the other, in any
order too (`gpu_rows_same`), as torch, and as a copy of the same bytes. A free kernel is
tried in several shapes, each checked against torch; the best counts. pyc's results are compared
with the CPU's first: they are the same bits. Times are of launches in CUDA
graphs; from 128 MB on of launches one after the other, as copies in graphs are slower. Medians.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import pyc
from benchmarks.contracts.gpu_rows_free import FREE
from benchmarks.contracts.gpu_rows_same import SAME
from benchmarks.runner import machine
from pyc import config
from pyc.backends.cuda import check
from pyc.compile_cuda import load
from pyc.device import gpu
from pyc.passes import optimise
from pyc.passes.memory import plan

Array = np.ndarray[Any, Any]
ROUNDS = 7
SCRATCH = 64 << 20
Form = tuple[int, int, int, int, int]
"""Columns of a slab, blocks of a group, threads of a block, float4 of a thread in registers (or
read at once), and in shared memory."""
MULTIPROCESSORS = 132
MILLION = 1 << 20


def compiler() -> ctypes.CDLL:
    """NVRTC, wherever a package has brought it."""
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    found = importlib.util.find_spec("nvidia")
    for place in (found.submodule_search_locations or []) if found else []:
        names += sorted(str(p) for p in Path(place).glob("**/libnvrtc.so*"))
    for name in reversed(names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")


def image_of(text: str, defines: dict[str, int], architecture: str = "sm_90a") -> bytes:
    """The machine code of a text with some definitions."""
    nvrtc = compiler()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"free.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}".encode()]
    options += [f"-D{k}={v}".encode() for k, v in defines.items()]
    given = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise ValueError(f"{defines}: {log.value.decode()[:600]}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


class Free:
    """A free kernel in one shape; of `text`."""

    def __init__(
        self, text: str, kind: str, op: int, shape: tuple[int, int], axis: int, form: Form
    ) -> None:
        width, group, threads, registers, shared = form[:5]
        cluster = kind == "cluster"
        across = axis == 1
        defines = {"OP": op, "THREADS": threads, "WIDTH": width, "GROUP": group}
        defines |= {"ACROSS": int(across), "CLUSTER": int(cluster), "DEEP": registers}
        defines |= {"NR": registers, "NS": shared}
        defines["TWICE" if kind in ("twice", "sum") else "HOLD"] = 1
        on = gpu()
        driver = on.driver
        self.name = f"{kind} {form}"
        module = check(driver.cuModuleLoadData(image_of(text, defines)))
        entry = b"twice" if kind in ("twice", "sum") else b"hold"
        self.function = check(driver.cuModuleGetFunction(module, entry))
        self.bytes = 0 if kind in ("twice", "sum") else shared * threads * 16
        attribute = driver.CUfunction_attribute
        if self.bytes:
            most = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(self.function, most, self.bytes))
        if cluster and group > 8:
            wide = attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            check(driver.cuFuncSetAttribute(self.function, wide, 1))
        rows, columns = shape
        self.slabs = rows if across else columns // width
        blocks = check(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.function, threads, self.bytes)
        )
        at_once = self.slabs if cluster or kind == "sum" else MULTIPROCESSORS * blocks // group
        self.name += f" {blocks} a multiprocessor"
        if at_once == 0:
            raise ValueError(f"{self.name}: a group does not fit")
        self.grid = group * min(self.slabs, at_once)
        self.threads = threads
        step = columns if across else width
        self.integers = (ctypes.c_int * 2)(rows, columns)
        self.step = ctypes.c_longlong(step)
        self.count = ctypes.c_int(self.slabs)

    def run(self, addresses: list[int]) -> None:
        on = gpu()
        held = (ctypes.c_uint64 * 4)(*addresses)
        start, pair = ctypes.addressof(held), ctypes.addressof(self.integers)
        places = [start, start + 8, start + 16, start + 24, pair, pair + 4]
        places += [ctypes.addressof(self.step), ctypes.addressof(self.count)]
        pointers = (ctypes.c_void_p * 8)(*places)
        size = (self.grid, 1, 1, self.threads, 1, 1, self.bytes)
        status = on.launch(int(self.function), *size, int(on.stream), ctypes.addressof(pointers), 0)
        if status:
            raise ValueError(f"{self.name}: the launch gives status {status}")


def forms(shape: tuple[int, int], axis: int, summed: bool) -> list[tuple[str, Form]]:
    rows, columns = shape
    found: list[tuple[str, Form]] = []
    if axis == 1 and summed:
        parts = (128, 256) if rows == 1 else (16, 32)
        return [("sum", (4, g, 256, 4, 0)) for g in parts]
    if axis == 1 and columns < MILLION:
        found += [("cluster", (4, 16, 256, 8, 0)), ("cluster", (4, 8, 512, 8, 0))]
        found += [("group", (4, 16, 256, 8, 0)), ("twice", (4, 16, 256, 4, 0))]
        return [*found, ("twice", (4, 8, 512, 4, 0))]
    if axis == 1:
        found += [("cluster", (4, 16, 512, 16, 16)), ("twice", (4, 16, 1024, 4, 0))]
        if rows == 1:
            found += [("group", (4, 64, 1024, 4, 0)), ("group", (4, 128, 512, 4, 0))]
        else:
            found += [("group", (4, 16, 1024, 8, 8)), ("twice", (4, 32, 512, 4, 0))]
            found += [("twice", (4, 64, 512, 4, 0))]
        return found
    if summed:
        groups = {4096: [8, 16], 65536: [32, 64], MILLION: [264, 528]}[rows]
        return [("sum", (64, g, t, 8, 0)) for g in groups for t in (256, 512)]
    if rows == 4096:
        found += [("cluster", (32, 8, 512, 8, 0)), ("cluster", (32, 8, 512, 4, 4))]
        found += [("cluster", (32, 16, 256, 8, 0)), ("cluster", (16, 8, 256, 8, 0))]
        found += [("group", (32, 8, 512, 8, 0)), ("twice", (32, 16, 256, 4, 0))]
    elif rows == 65536:
        found += [("cluster", (8, 16, 512, 16, 0)), ("cluster", (16, 16, 1024, 8, 8))]
        found += [("group", (32, 64, 512, 8, 8)), ("group", (16, 32, 512, 8, 8))]
        found += [("twice", (64, 132, 512, 4, 0)), ("twice", (128, 264, 512, 4, 0))]
    else:
        found += [("twice", (64, 264, 512, d, 0)) for d in (4, 8)]
        found += [("twice", (16, 264, 512, 4, 0)), ("twice", (64, 132, 512, 8, 0))]
    return found


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x: Any, axis: int) -> Any:
    mean = x.mean(axis=axis, keepdims=True)
    spread = ((x - mean) ** 2).mean(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(spread + 1e-5)


def summed(x: Any, axis: int) -> Any:
    return x.sum(axis=axis)


OPS: list[Callable[..., Any]] = [softmax, layer_norm, summed]


def captured(run: Callable[[], None], launches: int) -> Callable[[], None]:
    on = gpu()
    driver = on.driver
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    check(driver.cuStreamBeginCapture(on.stream, mode))
    try:
        for _ in range(launches):
            run()
    finally:
        graph = check(driver.cuStreamEndCapture(on.stream))
    ready = check(driver.cuGraphInstantiate(graph, 0))
    return lambda: check(driver.cuGraphLaunch(ready, on.stream))


def seconds_of(run: Callable[[], None], launches: int, rounds: int = ROUNDS) -> float:
    """Median seconds of one of the launches of a graph."""
    on = gpu()
    driver = on.driver
    first, last = (check(driver.cuEventCreate(0)) for _ in range(2))
    times = []
    for _ in range(rounds):
        check(driver.cuEventRecord(first, on.stream))
        run()
        check(driver.cuEventRecord(last, on.stream))
        check(driver.cuEventSynchronize(last))
        times.append(float(check(driver.cuEventElapsedTime(first, last))) * 1e-3 / launches)
    return statistics.median(times)


class Case:
    """One program on one shape: pyc's, the free kernels', torch's and the copy's seconds."""

    def __init__(self, torch: Any, op: int, shape: tuple[int, int], axis: int) -> None:
        self.torch, self.op, self.shape, self.axis = torch, op, shape, axis
        self.on = gpu()
        size = shape[0] * shape[1]
        self.x = torch.randn(shape, device="cuda")
        results = size if op != 2 else size // shape[axis]
        self.out = torch.empty(results, device="cuda")
        self.expected = self._torch(self.x).reshape(-1)
        self.scratch = torch.zeros(SCRATCH // 4, device="cuda")
        self.counters = torch.zeros(1 << 14, device="cuda", dtype=torch.int32)
        torch.cuda.synchronize()
        self.moved = 4 * (size + results)
        self.launches = 20 if self.moved < 1 << 27 else 4

    def _torch(self, x: Any) -> Any:
        torch, axis = self.torch, self.axis
        if self.op == 0:
            return torch.softmax(x, axis)
        if self.op == 2:
            return x.sum(axis)
        if axis == 1:
            return torch.nn.functional.layer_norm(x, (x.shape[1],), eps=1e-5)
        return layer_norm_of(torch, x, axis)

    def _right(self) -> bool:
        self.on.synchronize()
        bound = 2e-2 if self.op == 2 else 1e-3
        ok = bool(self.torch.allclose(self.out, self.expected, rtol=bound, atol=bound))
        self.out.fill_(float("nan"))
        self.torch.cuda.synchronize()
        return ok

    def _timed(self, run: Callable[[], None], graph: bool = True) -> float:
        """Median seconds; without a graph where the host is much faster than the device."""

        def repeated() -> None:
            for _ in range(self.launches):
                run()

        again = captured(run, self.launches) if graph else repeated
        again()
        return seconds_of(again, self.launches)

    def copy(self) -> float:
        """Seconds of a copy that moves the same bytes."""
        half = self.moved // 2
        target, source = self.expected, self.x
        if self.op == 2:
            target = self.torch.empty(half // 4, device="cuda")
        if target.numel() * 4 < half:
            target = self.torch.empty(half // 4 + 4, device="cuda")
        to, at = target.data_ptr(), source.data_ptr()
        if self.op != 2:
            to = self.out.data_ptr()
        return self._timed(lambda: self.on.copy(to, at, half), self.launches > 4)

    def pyc(self, bits: bool = False) -> tuple[float, int]:
        """Seconds and launches of pyc's program. bits: compares its result with the CPU's first."""
        function, axis = OPS[self.op], self.axis
        jitted = pyc.jit(lambda x: function(x, axis))
        made = jitted.trace(np.empty(self.shape, np.float32))
        _, program = load(plan(optimise(made.graph), self.on.target).plan, self.on)
        given = [self.x.data_ptr()], [self.out.data_ptr()]
        program(*given)
        if bits:
            self.on.synchronize()
            found = self.out.cpu().numpy().view(np.uint32)
            wanted = np.ascontiguousarray(jitted(self.x.cpu().numpy())).reshape(-1)
            if not np.array_equal(found, wanted.view(np.uint32)):
                raise ValueError("pyc's bits are not the CPU's")
        if not self._right():
            raise ValueError("pyc's result is wrong")
        run = self._timed(lambda: program(*given), self.launches > 4)
        return run, len(program.launches)

    def free(self, text: str) -> dict[str, float | str]:
        """Seconds of a text's kernels, in all forms, or what is wrong with one."""
        times: dict[str, float | str] = {}
        held = (self.x, self.out, self.scratch, self.counters)
        addresses = [t.data_ptr() for t in held]
        for kind, form in forms(self.shape, self.axis, self.op == 2):
            name = f"{kind} {form}"
            try:
                kernel = Free(text, kind, self.op, self.shape, self.axis, form)
                name = kernel.name
                kernel.run(addresses)
                if not self._right():
                    times[name] = "wrong"
                    continue
                times[name] = self._timed(partial(kernel.run, addresses))
            except Exception as error:
                times[name] = f"{type(error).__name__}: {error}"[:300]
        return times

    def peer(self, function: Callable[[Any], Any]) -> float:
        torch = self.torch
        function(self.x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(self.launches):
                function(self.x)
        stream = torch.cuda.ExternalStream(int(self.on.stream))

        def replay() -> None:
            with torch.cuda.stream(stream):
                graph.replay()

        replay()
        return seconds_of(replay, self.launches, 5)


def layer_norm_of(torch: Any, x: Any, axis: int) -> Any:
    spread, mean = torch.var_mean(x, axis, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(spread + 1e-5)


CASES: list[tuple[int, tuple[int, int], int]] = [
    *((0, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
    *((op, s, 1) for op in (0, 1) for s in ((256, 1 << 17), *((r, MILLION) for r in (1, 8, 64)))),
    *((1, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
    *((2, (r, MILLION), 1) for r in (1, 8, 64)),
    *((2, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=600, help="start no case after these")
    parser.add_argument("--compile", action="store_true", help="torch.compile too")
    parser.add_argument("--only", help="numbers of the cases, as 0,5")
    parser.add_argument("--commit", default=machine()["commit"], help="what is measured")
    options = parser.parse_args()
    chosen = {int(n) for n in options.only.split(",")} if options.only else set(range(len(CASES)))
    config.update("cache", "off")
    torch = importlib.import_module("torch")
    begun = time.monotonic()
    report: dict[str, Any] = {
        "device": gpu().name,
        "target": gpu().target.id,
        "host": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "commit": options.commit,
        "cases": [],
    }
    for number, (op, shape, axis) in enumerate(CASES):
        if number not in chosen:
            continue
        if time.monotonic() - begun > options.seconds:
            break
        row: dict[str, Any] = {"program": OPS[op].__name__, "shape": shape, "axis": axis}
        try:
            case = Case(torch, op, shape, axis)
            row["copy us"] = 1e6 * case.copy()
            seconds, row["kernels"] = case.pyc(bits=True)
            row["bits of the CPU"] = True
            row["pyc us"] = 1e6 * seconds
            row["torch us"] = 1e6 * case.peer(case._torch)
            if options.compile:
                row["torch.compile us"] = 1e6 * case.peer(torch.compile(case._torch))
            for name, text in (("free", FREE), ("same", SAME)):
                if text is SAME and op == 2:
                    continue
                times = case.free(text)
                row[f"{name} us"] = {
                    k: 1e6 * v if isinstance(v, float) else v for k, v in times.items()
                }
                best = 1e6 * min(v for v in times.values() if isinstance(v, float))
                row[f"best {name} us"] = best
                row[f"pyc over the best {name}"] = row["pyc us"] / best
            row["share of the copy"] = row["copy us"] / row["pyc us"]
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:400]
        print(json.dumps(row), f"{time.monotonic() - begun:.1f} s", flush=True)
        report["cases"].append(row)
        case = None  # type: ignore[assignment]
        torch.cuda.empty_cache()
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
