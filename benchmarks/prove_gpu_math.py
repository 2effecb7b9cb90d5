"""Every float32 input of the math functions: the GPU's bits against the CPU's.

    python benchmarks/prove_gpu_math.py [--functions exp,log,...] [--stride N] [--json OUT]

All 2^32 bit patterns go through both devices from the same definition; any NaN equals any NaN. With
--stride N only every N-th block of 2^26 patterns is compared.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter

import numpy as np

import pyc
from pyc import config
from pyc.device import gpu

BLOCK = 1 << 26


def differing(name: str, stride: int) -> tuple[int, int]:
    """(inputs compared, inputs whose results differ)."""
    function = getattr(pyc.numpy, name, None) or getattr(pyc.scipy.special, name)
    on_cpu = pyc.jit(lambda x: function(x))
    on_gpu = pyc.jit(lambda x: function(x), device="cuda")
    compared = wrong = 0
    for block in range(0, (1 << 32) // BLOCK, stride):
        start = np.uint32(block * BLOCK)
        x = (np.arange(BLOCK, dtype=np.uint32) + start).view(np.float32)
        a = on_cpu(x).view(np.uint32)
        b = np.asarray(on_gpu(x)).view(np.uint32)
        different = np.flatnonzero(a != b)
        if different.size:
            both = np.isnan(a[different].view(np.float32)) & np.isnan(b[different].view(np.float32))
            wrong += int(different.size - both.sum())
        compared += BLOCK
    return compared, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", default="exp,log,sin,cos,tanh,erf")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    config.update("cache", "off")
    report = {"device": gpu().name, "functions": {}}
    total = 0
    for name in options.functions.split(","):
        start = perf_counter()
        compared, wrong = differing(name, options.stride)
        total += wrong
        report["functions"][name] = {"compared": compared, "differing": wrong}
        seconds = perf_counter() - start
        print(f"{name:8} {compared:>11} inputs, {wrong} differ ({seconds:.1f} s)", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if total else 0


if __name__ == "__main__":
    raise SystemExit(main())
