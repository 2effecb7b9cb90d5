"""What every benchmark shares: options, rows timed in turn, the machine's description, JSON.

    python -m benchmarks.first_call [--quick] [--json benchmarks/results/first-call.json]

Times on a shared machine drift, so rows are timed in turn, round after round; figures are the least
and the median over the rounds, and claims are ratios within one run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from pyc.runtime.threads import set_num_threads

ROOT = Path(__file__).parent.parent
PACKAGES = ("numpy", "llvmlite", "scipy-openblas32", "numba", "jax", "jaxlib", "torch", "ml-dtypes")
BLAS_SPIN = 0.15
"""Seconds after a product in which threads of OpenBLAS do not sleep: they spin for 0.105 (measured)
on processors that the next row wants, and take most of them."""

Time = dict[str, float]


def parser(description: str | None) -> argparse.ArgumentParser:
    """Of the options that all benchmarks take: quick, json and rounds."""
    made = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--quick", action="store_true", help="few and small cases")
    made.add_argument("--json", metavar="FILE", type=Path, help="also write the figures there")
    made.add_argument("--rounds", type=int, default=0, help="rounds; 0: the benchmark's own")
    return made


def options(description: str | None, arguments: Iterable[str] | None = None) -> argparse.Namespace:
    """The options that all benchmarks take."""
    return parser(description).parse_args(arguments)


def peers(*names: str) -> dict[str, bool]:
    """Which of the named packages can be imported; says so for those that cannot."""
    found = {name: importlib.util.find_spec(name) is not None for name in names}
    for name, there in found.items():
        if not there:
            print(f"without {name}: it is not installed for {sys.executable}")
    return found


def summary(samples: list[float]) -> Time:
    """Least, median and upper quartile."""
    ordered = sorted(samples)
    upper = ordered[(3 * len(ordered)) // 4]
    return {"least": ordered[0], "median": statistics.median(ordered), "upper": upper}


def in_turn(
    rows: dict[str, Callable[[], Any]],
    rounds: int,
    seconds: float = 0.02,
    threads: dict[str, int] | None = None,
    pause: float = 0.0,
) -> dict[str, Time]:
    """Seconds of a call of each row: each round times every row, for about `seconds` each.
    threads: pyc's threads by row, else 1; pause: seconds of rest before each, `BLAS_SPIN` where
    another row has the threads of a BLAS."""
    counts = {}
    for name, run in rows.items():
        set_num_threads((threads or {}).get(name, 1))
        run()
        start = perf_counter()
        run()
        counts[name] = max(1, int(seconds / max(perf_counter() - start, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, run in rows.items():
            set_num_threads((threads or {}).get(name, 1))
            sleep(pause)
            run()
            start = perf_counter()
            for _ in range(counts[name]):
                run()
            samples[name].append((perf_counter() - start) / counts[name])
    set_num_threads(None)
    return {name: summary(found) for name, found in samples.items()}


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    facts = {k.strip(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / p).read_text().strip() for p in ("level", "type", "size"))
        caches[f"L{level} {kind}"] = size
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    return {
        "cpu": facts.get("model name"),
        "family": facts.get("cpu family"),
        "model": facts.get("model"),
        "processors": len(os.sched_getaffinity(0)),
        "avx512": "avx512f" in facts.get("flags", "").split(),
        "caches": caches,
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": versions,
        "commit": commit,
    }


def command(leave_out: Path | None = None) -> str:
    """How this process was started; leave_out: the file of `--json`. No other machine's paths."""
    program = Path(sys.argv[0]).resolve().with_suffix("")
    parts = program.relative_to(ROOT).parts if program.is_relative_to(ROOT) else (program.name,)
    module = ".".join(p for p in parts if p != "__main__")
    arguments = [a for a in sys.argv[1:] if not a.startswith("--json") and a != str(leave_out)]
    return " ".join(["python -m", module, *(re.sub(r"(^|=)/\S*/", r"\1", a) for a in arguments)])


def publish(given: argparse.Namespace, records: Any) -> dict[str, Any]:
    """The figures with the machine and the command, written if a file was asked for."""
    found = {"command": command(given.json), "machine": machine(), "records": records}
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return found
