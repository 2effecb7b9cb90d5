"""Compile time of long straight programs: chains of operations, beside Numba and JAX.

    python -m benchmarks.long_programs [--quick] [--json FILE]

A row is a chain of n operations (x * 1.0001 + k, one array of 1,000 float32), traced or parsed,
compiled and run once, in a process of its own that has compiled another function before. Figures
are seconds: the least and the median over the processes, by the clock, and in processor time of all
threads. A process that takes longer than `LIMIT` seconds is ended and shown as such. Numba gets the
chain as a loop over elements with n / 2 statements.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.runner import ROOT, options, peers, publish, summary

LENGTHS = (100, 1_000, 10_000)
LIMIT = 120
"""Seconds of a process at most."""

CHILD = """
import json, sys
from time import perf_counter, process_time
import numpy
who, length = sys.argv[1], int(sys.argv[2])
def chain(x):
    for k in range(length // 2):
        x = x * 1.0001 + (k % 7)
    return x
if who == "pyc":
    import pyc
    jit = lambda function: pyc.jit(function, loops="unroll")
elif who == "jax":
    import jax
    jit = jax.jit
else:
    import numba
    jit = numba.njit
    lines = "".join(f"        v = v * c + f({k % 7})\\n" for k in range(length // 2))
    text = ("def chain(x):\\n    y = np.empty_like(x)\\n    c = f(1.0001)\\n"
            "    for i in range(x.size):\\n        v = x[i]\\n" + lines +
            "        y[i] = v\\n    return y\\n")
    names = {"np": numpy, "f": numpy.float32}
    exec(text, names)
    chain = names["chain"]
x = numpy.linspace(0.5, 1.5, 1000, dtype=numpy.float32)
numpy.asarray(jit(lambda x: x + 1)(x))
start, used = perf_counter(), process_time()
found = numpy.asarray(jit(chain)(x))
times = perf_counter() - start, process_time() - used
expected = x
for k in range(length // 2):
    expected = expected * numpy.float32(1.0001) + numpy.float32(k % 7)
assert numpy.allclose(found, expected, rtol=1e-4)
print(json.dumps(times))
"""


def child(who: str, length: int) -> tuple[float, float] | None:
    """Seconds by the clock and of processors; None: more than the limit."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYC_CACHE": "off"}
    environment["JAX_PLATFORMS"] = "cpu"
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "child.py"
        script.write_text(CHILD)
        command = [sys.executable, str(script), who, str(length)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        sys.exit(f"{who} failed:\n{done.stderr}")
    clock, used = json.loads(done.stdout.splitlines()[-1])
    return clock, used


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (1 if given.quick else 5)
    contenders = ["pyc", *(name for name, there in peers("numba", "jax").items() if there)]
    lengths = LENGTHS[:2] if given.quick else LENGTHS
    records: dict[str, dict[str, Any]] = {}
    for length in lengths:
        samples: dict[str, list[tuple[float, float]]] = {who: [] for who in contenders}
        slow: set[str] = set()
        for _ in range(rounds):
            for who in contenders:
                found = None if who in slow else child(who, length)
                if found is None:
                    slow.add(who)
                else:
                    samples[who].append(found)
        for who in contenders:
            row = records.setdefault(str(length), {})
            if who in slow:
                row[who] = {"more_than_s": LIMIT}
                continue
            clock, used = zip(*samples[who], strict=True)
            row[who] = {"clock_s": summary(list(clock)), "processor_s": summary(list(used))}
    print(f"{'seconds: median (least), processors':38}" + "".join(f"{w:>26}" for w in contenders))
    for name, row in records.items():
        print(f"{name + ' operations':38}" + "".join(f"{_cell(row[w]):>26}" for w in contenders))
    publish(given, {"seconds": records})


def _cell(found: dict[str, Any]) -> str:
    if "more_than_s" in found:
        return f"> {found['more_than_s']}"
    clock, used = found["clock_s"], found["processor_s"]
    return f"{clock['median']:.2f} ({clock['least']:.2f}), {used['median']:.2f}"


if __name__ == "__main__":
    main()
