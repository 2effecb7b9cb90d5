"""A sample of what runs on a GPU under compute-sanitizer: no access out of bounds, no race.

    python -m tests.sanitizer [--tools memcheck racecheck] [--only PART] [--seconds N] [--out FILE]

`compute-sanitizer` comes with CUDA's toolkit and must be on the path. The sample is the programs of
`tests/backends/test_cuda.py` whose bits are compared (element-wise work, rows, reductions, loops,
products on tensor cores) and random programs. All of it takes ten to a hundred times as long as by
itself. The programs end by themselves after as many as the seconds allow, the last of the file
first, and say how many these were; a part that does not end is said to have been cut off.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pytest

from benchmarks.runner import machine
from pyc.device import gpu

ROOT = Path(__file__).parents[1]
TOOLS = ("memcheck", "racecheck")
SAMPLE: dict[str, tuple[str, ...]] = {
    "random programs 0 to 7": ("-m", "tests.programs.differential", "0", "8", "cuda"),
    "programs with the CPU's bits": ("-m", "tests.sanitizer", "--programs"),
}
PROGRAMS = (
    *("-m", "cuda", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--durations=0"),
    *("tests/backends/test_cuda.py", "-k", "gives_the_bits or half_types or many_reductions"),
)
"""Arguments of pytest."""
STARTED = 0.75
"""Of the seconds of a part, those in which its programs may begin."""
DONE = re.compile(r"^(\d+ of \d+ programs)$", re.MULTILINE)
SUMMARY = re.compile(r"=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")


class Until:
    """A plugin of pytest that begins no test after some seconds, and counts those that passed."""

    def __init__(self, seconds: float) -> None:
        self._end = perf_counter() + seconds
        self.passed = self.failed = self.all = 0
        self._session: pytest.Session | None = None

    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """The last ones first: those before them are the largest arrays."""
        self._session = session
        items.reverse()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Those that were selected."""
        self.all = len(session.items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts."""
        self.failed += report.failed
        self.passed += report.when == "call" and report.passed

    def pytest_runtest_logfinish(self) -> None:
        """Ends the run when its time is over."""
        if perf_counter() > self._end and self._session is not None:
            self._session.shouldstop = "its time is over"


def programs(seconds: float, arguments: Sequence[str] = PROGRAMS) -> int:
    """Runs programs until the time is over, and says how many have passed: 1 if one failed."""
    until = Until(seconds)
    pytest.main([*arguments], plugins=[until])
    print(f"{until.passed} of {until.all} programs", flush=True)
    return 1 if until.failed or not until.passed else 0


def outcome(tool: str, part: Sequence[str], seconds: float) -> tuple[str, bool]:
    """What a tool says of a part of the sample, in words, and whether that is good."""
    sanitizer = ["compute-sanitizer", "--tool", tool, "--print-limit", "10", sys.executable]
    start = perf_counter()
    running = subprocess.Popen(
        [*sanitizer, *part],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = running.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)  # the program that it watches too
        text, _ = running.communicate()
        found = [line for line in text.splitlines() if line.startswith("=========")][1:]
        return "\n".join([f"cut off after {seconds:g} s, until then:", *found[:10]]), not found
    counts = [int(n) for n in SUMMARY.findall(text)]
    clean = running.returncode == 0 and bool(counts) and not any(counts)
    took, status = perf_counter() - start, running.returncode
    done = "".join(f", {found}" for found in DONE.findall(text))
    words = f"{sum(counts)} errors in {took:.0f} s, exit status {status}{done}"
    return words if clean else f"{words}\n{text[-3000:]}", clean


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a tool found something, or a part failed."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each part, at most")
    parser.add_argument("--programs", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--only", choices=SAMPLE, nargs="+", default=tuple(SAMPLE))
    parser.add_argument("--out", type=Path, help="also write the summary there")
    given = parser.parse_args(arguments)
    if given.programs is not None:
        return programs(given.programs)
    if shutil.which("compute-sanitizer") is None:
        print("compute-sanitizer is not on the path: it comes with CUDA's toolkit")
        return 1
    where = f"{gpu().name}, Python {platform.python_version()}, commit {machine()['commit']}"
    lines, clean = [where], True
    for tool in given.tools:
        for name in given.only:
            part = SAMPLE[name]
            if part[-1] == "--programs":
                part = (*part, str(STARTED * given.seconds))
            words, good = outcome(tool, part, given.seconds)
            clean &= good
            lines.append(f"{tool}, {name}: {words}")
            print(lines[-1], flush=True)
    if given.out:
        given.out.write_text("\n".join(lines) + "\n")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
