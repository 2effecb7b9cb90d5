"""First results on a GPU: of a process with nothing cached, and of one that finds cached cubins.

    python -m benchmarks.gpu_start [--json OUT]

Milliseconds: `import` of NumPy and pyc; `context`, what the driver takes until it is ready;
`first`, the first result of a program of several kernels from then on, tracing and all; `total`,
from the start of Python to that result. Medians over processes.
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

CHILD = """
import json
from time import perf_counter
start = perf_counter()
import numpy as np
import pyc
imported = perf_counter()
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
found = network(w, w)
done = perf_counter()
assert abs(found.sum() - 64) < 1e-3
print(json.dumps({"import": imported - start, "context": ready - imported, "first": done - ready}))
"""


def process(cache: str) -> dict[str, float]:
    """Milliseconds of one process with a cache directory."""
    begin = perf_counter()
    command = [sys.executable, "-c", CHILD]
    environment = {**os.environ, "PYC_CACHE_DIR": cache, "CUDA_CACHE_DISABLE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    row: dict[str, float] = json.loads(done.stdout)
    return {name: 1e3 * v for name, v in {**row, "total": perf_counter() - begin}.items()}


def starts(processes: int = 5) -> list[dict[str, Any]]:
    """Rows: nothing cached, and cached."""
    with tempfile.TemporaryDirectory() as folder:
        first = process(folder)
        later = [process(folder) for _ in range(processes)]
    found = {name: statistics.median(row[name] for row in later) for name in first}
    rows = [{"process": "nothing cached", **first}, {"process": "cached", **found}]
    for row in rows:
        figures = ", ".join(f"{k} {v:.1f}" for k, v in row.items() if not isinstance(v, str))
        print(f"{row['process']:16} {figures} ms", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results there")
    options = parser.parse_args()
    rows = starts()
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
