"""Machine code from text, and two calls timed in turns."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as ll

Kernel = Callable[[int, int, int], None]
Call = Callable[[], None]


def cpu_name(features: dict[str, bool]) -> str:
    """An LLVM cpu name that the features allow; the host's own name is masked in many guests."""
    if features.get("amx-bf16") and features.get("avx512fp16"):
        return "sapphirerapids"
    if features.get("avx512bf16") and features.get("sse4a"):
        return "znver4"
    return "x86-64-v4" if features.get("avx512vl") else "x86-64-v3"


class Compiler:
    """Machine code from text, by O2 without its loop passes, loaded by ORC; one copy per text."""

    def __init__(self) -> None:
        ll.initialize_native_target()
        ll.initialize_native_asmprinter()
        features = ll.get_host_cpu_features()
        self.cpu = cpu_name(dict(features))
        self.machine = ll.Target.from_default_triple().create_target_machine(
            cpu=self.cpu, features=features.flatten(), opt=2, jit=True
        )
        self.jit = ll.create_lljit_compiler(self.machine)
        self.loaded: dict[str, Kernel] = {}
        self.trackers: list[Any] = []

    def optimised(self, text: str) -> ll.ModuleRef:
        module = ll.parse_assembly(text)
        module.triple = self.machine.triple
        module.data_layout = str(self.machine.target_data)
        module.verify()
        options = ll.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = False
        builder = ll.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def __call__(self, text: str) -> Kernel:
        if text not in self.loaded:
            code = self.machine.emit_object(self.optimised(text))
            library = ll.JITLibraryBuilder().add_object_img(code).export_symbol("k")
            tracker = library.link(self.jit, f"k{len(self.loaded)}")
            self.trackers.append(tracker)
            kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
            self.loaded[text] = kind(tracker["k"])
        return self.loaded[text]


def seconds(call: Call, times: int) -> float:
    """Seconds of a call, of `times` in a row: this thread's processor time, as all of these calls
    have one thread and other jobs may use the machine."""
    start = time.thread_time_ns()
    for _ in range(times):
        call()
    return (time.thread_time_ns() - start) * 1e-9 / times


@dataclass(frozen=True)
class Ratio:
    """Time of a documented kernel over that of the free kernel, taken in turns."""

    median: float
    low: float
    high: float
    free_us: float
    documented_us: float


def compare(free: Call, documented: Call, budget: float) -> Ratio:
    """Ratios of neighbouring timings for about `budget` seconds; low and high are quartiles."""
    free(), documented()
    once = min(seconds(free, 1) for _ in range(3))
    times = max(1, int(400e-6 / once))
    pairs = min(101, max(9, int(budget / (2.2 * times * once))))
    a, b = [], []
    for i in range(pairs):
        if i % 2:
            a.append(seconds(free, times))
            b.append(seconds(documented, times))
        else:
            b.append(seconds(documented, times))
            a.append(seconds(free, times))
    ratios = sorted(y / x for x, y in zip(a, b, strict=True))
    return Ratio(
        statistics.median(ratios),
        ratios[pairs // 4],
        ratios[3 * pairs // 4],
        statistics.median(a) * 1e6,
        statistics.median(b) * 1e6,
    )
