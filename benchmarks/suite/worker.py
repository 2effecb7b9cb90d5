"""The process of one contender: it prepares workloads, checks them, and times them when asked.

    python -m benchmarks.suite.worker NAME THREADS CLOCK

Requests are lines of JSON on the standard input, answers on the standard output; what libraries
print goes to the standard error. Imports NumPy and the contender's library, nothing of pyc's unless
that is the contender.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import timeit
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.suite.contenders import (
    CONTENDERS,
    LIBRARIES,
    Absent,
    Call,
    Library,
    Missing,
    versions,
)
from benchmarks.workloads import every
from benchmarks.workloads.entry import CATALOGUE, Workload

Answer = dict[str, Any]
SAMPLES = 9
"""Samples of a turn: short ones, of which other work on the machine disturbs few."""

LARGE = 1 << 17
"""Bytes from which `malloc` gives an array pages of its own."""
PAGE, BEHIND = 4096, 16
"""Bytes of a page; of what `malloc` keeps in front of such an array."""

CLOCKS = {"wall": perf_counter, "processor": process_time}
"""Seconds that passed; or that processors spent on this process, whatever else they did."""


def flat(result: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a result."""
    return [np.asarray(r) for r in (result if isinstance(result, (tuple, list)) else [result])]


def difference(
    found: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]], workload: Workload
) -> str | None:
    """What is wrong with the results, None where they are right: as many of the same shapes, and
    the values within the workload's tolerance of the largest one."""
    if [a.shape for a in found] != [a.shape for a in expected]:
        return f"shapes {[a.shape for a in found]}, not {[a.shape for a in expected]}"
    for place, (one, other) in enumerate(zip(found, expected)):
        if other.dtype.kind in "iub" and one.dtype.kind not in "iub":
            return f"result {place} is {one.dtype}, not {other.dtype}"
        one, other = one.astype(np.float64), other.astype(np.float64)
        finite = np.abs(other[np.isfinite(other)])
        scale = float(finite.max()) if finite.size else 0.0
        within = np.isclose(one, other, workload.tolerance, workload.tolerance * scale, True)
        wrong = within.size - int(np.count_nonzero(within))
        if wrong > workload.misses * within.size:
            worst = float(np.nanmax(np.abs(one - other)))
            return f"result {place}: {wrong} of {within.size} wrong, by {worst:.3g} at most"
    return None


def said(error: Exception) -> str:
    """An exception on one line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"


def placed(argument: Any) -> Any:
    """A large array by rows where NumPy's allocator puts a new one: `BEHIND` bytes behind a page.
    Where it happens to put one later differs between processes, and sums of a megabyte take up to
    twice as long by that, whoever computes them."""
    if not isinstance(argument, np.ndarray) or argument.nbytes < LARGE:
        return argument
    if not argument.flags.c_contiguous:
        return argument
    memory = np.empty(argument.nbytes + 2 * PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE + BEHIND
    found = memory[start : start + argument.nbytes].view(argument.dtype).reshape(argument.shape)
    found[...] = argument
    return found


class Bench:
    """The state of the process: the library and the workload that it is at."""

    def __init__(self, library: Library, clock: str = "wall") -> None:
        self.library, self.clock = library, CLOCKS[clock]
        self.timer: timeit.Timer | None = None
        self.seconds = 0.0

    def prepare(self, workload: str, size: str, reference: str) -> Answer:
        """Compiles, runs, compares with the reference (or writes it, as NumPy), and chooses the
        quickest variant."""
        self.timer = None
        entry = CATALOGUE[workload]
        arguments = tuple(placed(a) for a in entry.arguments(*entry.sizes[size]))
        start = perf_counter()
        try:
            calls = self.library.variants(entry, arguments, size)
        except Absent as absent:
            return {"absent": str(absent)}
        except Exception as error:
            return {"error": said(error)}
        right: dict[str, Answer] = {}
        wrong: dict[str, str] = {}
        for name, call in calls.items():
            found = self._checked(entry, call, Path(reference), start)
            if "error" in found:
                wrong[name] = found["error"]
            else:
                right[name] = found | {"seconds": self._roughly(call), "call": call}
            start = perf_counter()
        if not right:
            return {"error": "; ".join(f"{k}: {v}" if k else v for k, v in wrong.items())}
        best = min(right, key=lambda name: float(right[name]["seconds"]))
        chosen = right[best]
        call = chosen.pop("call")
        self.timer, self.seconds = self._timer(call), chosen["seconds"]
        moved = sum(a.nbytes for a in arguments if isinstance(a, np.ndarray))
        return {
            "variant": best,
            "bytes": moved + chosen.pop("result_bytes"),
            **chosen,
            "wrong": wrong,
        }

    def _checked(self, entry: Workload, call: Call, reference: Path, start: float) -> Answer:
        try:
            with np.errstate(all="ignore"):
                result = eval(call.statement, call.names)
            first = perf_counter() - start
            found = flat(call.to_numpy(result))
            if self.library.contender.name == "numpy":
                np.savez(reference, *found)
            else:
                with np.load(reference) as file:
                    expected = [file[name] for name in file.files]
                error = difference(found, expected, entry) or self.library.check(call)
                if error:
                    return {"error": error}
        except Exception as error:
            return {"error": said(error)}
        return {"first": first, "result_bytes": sum(a.nbytes for a in found)}

    def _timer(self, call: Call) -> timeit.Timer:
        return timeit.Timer(call.statement, timer=self.clock, globals=call.names)

    def _roughly(self, call: Call) -> float:
        """Seconds of a call, the least of a few."""
        timer, least = self._timer(call), float("inf")
        spent, number = 0.0, 1
        with np.errstate(all="ignore"):
            while spent < 0.03:
                took = timer.timeit(number)
                least, spent = min(least, took / number), spent + took
                number = min(number * 2, 10_000) if took < 0.005 else number
        return least

    def time(self, seconds: float) -> Answer:
        """A turn: some samples of seconds a call, after a call that brings back the caches."""
        if self.timer is None:
            return {"error": "nothing is prepared"}
        number = max(1, int(seconds / SAMPLES / max(self.seconds, 1e-8)))
        samples = 1 if self.seconds > seconds else SAMPLES
        with np.errstate(all="ignore"):
            if samples > 1:
                self.timer.timeit(1)
            return {"samples": [self.timer.timeit(number) / number for _ in range(samples)]}


def serve(
    name: str, threads: int, clock: str, lines: Any, answer: Callable[[Answer], None]
) -> None:
    """Answers requests until there are no more. Fewer threads than processors have as many
    processors: not every library can be told."""
    processors = sorted(os.sched_getaffinity(0))
    if threads < len(processors):
        os.sched_setaffinity(0, processors[:threads])
    contender = CONTENDERS[name]
    library = LIBRARIES[contender.library](contender, threads)
    every()
    try:
        library.load()
    except Missing as missing:
        answer({"missing": str(missing)})
        return
    answer({"versions": versions(contender.library), "python": platform.python_version()})
    bench = Bench(library, clock)
    for line in lines:
        request = json.loads(line)
        answer(getattr(bench, request.pop("do"))(**request))


def main() -> None:
    with os.fdopen(os.dup(1), "w", buffering=1) as out:
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        name, threads, clock = sys.argv[1:]
        serve(name, int(threads), clock, sys.stdin, lambda a: print(json.dumps(a), file=out))


if __name__ == "__main__":
    main()
