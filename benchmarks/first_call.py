"""Start-up and first calls: pyc beside Numba and JAX, each in processes of its own.

    python -m benchmarks.first_call [--quick] [--json FILE]

Rows, in milliseconds, medians over processes that take turns:
  import      above NumPy's own import
  first ever  the first call in a process, nothing cached; "+ import" with the import
  new         the first call of each of 12 small functions in that process, their median and worst
  warm        a second process with the disk cache filled: import + first result, above NumPy's own
              import (Numba with cache=True, JAX with its compilation cache)

Byte code is cached, as in an installed package.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.runner import ROOT, options, peers, publish, summary

CHILD = """
import sys, json
from time import perf_counter
who, cache, part = sys.argv[1:4]
start = perf_counter()
import numpy
base = perf_counter()
if who == "pyc":
    import pyc
    import numpy as np
    jit = pyc.jit
elif who == "jax":
    import jax
    import jax.numpy as np
    if cache:
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jit = jax.jit
else:
    import numba
    import numpy as np
    jit = numba.njit(cache=bool(cache))
imported = perf_counter()
x = numpy.linspace(0.1, 2.0, 72, dtype=numpy.float32).reshape(8, 9)
y = x[::-1].copy()
times = []
for function in functions(np):
    compiled = jit(function)
    begin = perf_counter()
    numpy.asarray(compiled(x, y))
    times.append(perf_counter() - begin)
    if part == "one":
        break
print(json.dumps({"numpy": base - start, "import": imported - base, "calls": times,
                  "llvm": "libllvmlite" in open("/proc/self/maps").read()}))
"""

FUNCTIONS = """
def functions(np):
    def axpy(x, y):
        return 2.0 * x + y
    def polynomial(x, y):
        return ((x * y + 1.0) * x - y) * x + 0.5
    def sigmoid(x, y):
        return 1.0 / (1.0 + np.exp(-x)) * y
    def gelu(x, y):
        return 0.5 * x * (1.0 + np.tanh(0.797 * (x + 0.0447 * x * x * x)))
    def distance(x, y):
        return np.sqrt(np.sum((x - y) * (x - y)))
    def choose(x, y):
        return np.where(x > y, np.sin(x), np.cos(y))
    def total(x, y):
        return np.sum(x * y)
    def columns(x, y):
        return np.sum(x * y, axis=0)
    def product(x, y):
        return np.dot(x, y.T) + 1.0
    def cumulative(x, y):
        return np.cumsum(x - y)
    def stencil(x, y):
        return x[1:-1, 1:-1] * 4.0 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
    def normalise(x, y):
        z = x - np.mean(x)
        return z / np.sqrt(np.mean(z * z) + 1e-5) * y
    return [axpy, polynomial, sigmoid, gelu, distance, choose, total, columns, product, cumulative,
            stencil, normalise]
"""


def child(script: Path, who: str, cache: str, part: str) -> dict[str, Any]:
    """The times that one process measured, with the copy of pyc that lies beside the script."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(script.parent)}
    environment |= {"PYC_CACHE": "rw" if cache else "off", "PYC_CACHE_DIR": cache}
    environment |= {"JAX_PLATFORMS": "cpu"} | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    command = [sys.executable, str(script), who, cache, part]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{who} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 11)
    contenders = ["pyc", *(name for name, there in peers("numba", "jax").items() if there)]
    samples: dict[str, dict[str, list[float]]] = {who: {} for who in contenders}
    loaded = False
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "child.py"
        script.write_text(FUNCTIONS + CHILD)
        # A copy: its byte code can be written, and its sources stay the same until the end.
        shutil.copytree(ROOT / "pyc", script.parent / "pyc", ignore=shutil.ignore_patterns(".*"))
        caches = {who: f"{folder}/cache-{who}" for who in contenders}
        for who in contenders:
            os.makedirs(caches[who], mode=0o700)
            child(script, who, caches[who], "one")  # fills both caches
        for _ in range(rounds):
            for who in contenders:
                cold = child(script, who, "", "all")
                warm = child(script, who, caches[who], "one")
                loaded |= who == "pyc" and warm["llvm"]
                new = cold["calls"][1:]
                figures = {
                    "import": cold["import"],
                    "first ever": cold["calls"][0],
                    "first ever + import": cold["import"] + cold["calls"][0],
                    "new, median": statistics.median(new),
                    "new, worst": max(new),
                    "warm": warm["import"] + warm["calls"][0],
                    "NumPy's import": cold["numpy"],
                }
                for name, seconds in figures.items():
                    samples[who].setdefault(name, []).append(seconds * 1e3)
    records = {w: {k: summary(v) for k, v in found.items()} for w, found in samples.items()}
    print(f"{'ms: median (least)':22}" + "".join(f"{who:>18}" for who in contenders))
    for name in samples["pyc"]:
        cells = (records[who][name] for who in contenders)
        print(f"{name:22}" + "".join(f"{c['median']:9.1f} ({c['least']:6.1f})" for c in cells))
    print(f"pyc loads LLVM in a warm process: {'yes' if loaded else 'no'}")
    publish(given, {"times_ms": records, "llvm_loaded_when_warm": loaded})


if __name__ == "__main__":
    main()
