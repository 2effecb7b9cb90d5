"""First results on a GPU: of a process with nothing cached, and of ones that find cached cubins.

    python -m benchmarks.gpu_start [--json OUT] [--commit C] [--processes N]

Milliseconds: `numpy` and `pyc`, their imports; `context`, what the driver takes until it is ready
for an array; `first`, the first result of a program of several kernels from then on, tracing and
all; `total`, from the start of Python to that result. Of `first`: `trace`, the function as a Graph;
`read`, the program out of the cache, or made; `load`, its machine code on the device; `run`, copies
to and from it included. In the rows that say so, the call is the first that asks for the device.
Medians over processes, whose byte code is cached, as that of an installed package is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import pyc

CHILD = """
import json, sys
from time import perf_counter
start = perf_counter()
import numpy as np
before = perf_counter()
import pyc
imported = perf_counter()
if sys.argv[1] == "array":
    x = pyc.device_put(np.ones(1))
    x.block_until_ready()
ready = perf_counter()
w = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
@pyc.jit(device="cuda")
def network(x, w):
    for _ in range(3):
        x = np.tanh(x @ w)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
if sys.argv[2] == "parts":
    from pyc import cache, compile_cuda, programs
    spent = {}
    def timed(owner, name, part):
        usual = getattr(owner, name)
        def call(*args, **kwargs):
            begin = perf_counter()
            try:
                return usual(*args, **kwargs)
            finally:
                spent[part] = spent.get(part, 0) + perf_counter() - begin
        setattr(owner, name, call)
    timed(programs.Programs, "traced", "trace")
    timed(compile_cuda, "_loaded", "load")
    timed(compile_cuda, "obtained", "read")
    timed(compile_cuda.GpuCompiled, "__call__", "run")
    found = network(w, w)
    spent["read"] -= spent["load"]
    print(json.dumps(spent))
else:
    begin = perf_counter()
    found = network(w, w)
    done = perf_counter()
    times = {"numpy": before - start, "pyc": imported - before, "context": ready - imported}
    print(json.dumps({**times, "first": done - begin}))
assert abs(found.sum() - 64) < 1e-3
"""


def process(cache: str, first: str = "array", shown: str = "whole") -> dict[str, float]:
    """Milliseconds of one process with a cache directory. first: what asks for the device, an
    "array" or the "call"; shown: "whole" times, or "parts" of the call."""
    begin = perf_counter()
    command = [sys.executable, "-c", CHILD, first, shown]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYC_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    total = {"total": perf_counter() - begin} if shown == "whole" else {}
    row: dict[str, float] = json.loads(done.stdout)
    return {name: 1e3 * v for name, v in {**row, **total}.items()}


def starts(processes: int = 5) -> list[dict[str, Any]]:
    """Rows: nothing cached, cached, and cached where the call asks for the device."""
    with tempfile.TemporaryDirectory() as folder:
        process(os.path.join(folder, "byte code"))
        cache = os.path.join(folder, "cache")
        rows = [{"process": "nothing cached", **process(cache)}]
        for name, first in (("cached", "array"), ("cached, by a call", "call")):
            whole = [process(cache, first) for _ in range(processes)]
            parts = [process(cache, first, "parts") for _ in range(processes)]
            found = {"process": name}
            for samples in (whole, parts) if first == "array" else (whole,):
                found |= {k: statistics.median(s[k] for s in samples) for k in samples[0]}
            rows.append(found)
    for row in rows:
        figures = ", ".join(f"{k} {v:.1f}" for k, v in row.items() if not isinstance(v, str))
        print(f"{row['process']:18} {figures} ms", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--commit", default="", help="what is measured, for the results")
    parser.add_argument("--processes", type=int, default=5, help="for each median")
    options = parser.parse_args()
    rows = starts(options.processes)
    if options.json:
        report = {
            "device": pyc.devices("cuda")[0].name,
            "commit": options.commit,
            "command": "python -m benchmarks.gpu_start",
            "milliseconds": rows,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
