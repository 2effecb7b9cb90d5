"""The processes of contenders, as the one that measures sees them, and other load on the machine.

A process that dies, or answers too late, is ended, and started again for the next workload; what it
was asked then is an error with its cause. `Load` compares what all processors did with what the
contenders and this process did: the rest is other work, in processors.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.runner import ROOT
from benchmarks.suite.contenders import Contender, environment

TICK = os.sysconf("SC_CLK_TCK")
BUSY_FIELDS = (0, 1, 2, 5, 6, 7)
"""Of the line of all processors: user, nice, system, interrupts twice, stolen by the host."""
START_SECONDS = 120.0
PAUSE, LONGEST_SPIN = 0.01, 0.5
"""Seconds between turns at least, and at most."""


class Process:
    """One contender's process. `missing`: why it cannot take part, or None."""

    def __init__(
        self,
        contender: Contender,
        python: str,
        threads: int,
        clock: str,
        kept: Path | None = None,
    ) -> None:
        self.contender, self.python = contender, python
        self.threads, self.clock, self.kept = threads, clock, kept
        self.missing: str | None = None
        self.versions: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as this object
        self._left = b""
        self._start()

    def _start(self) -> None:
        command = [self.python, "-m", "benchmarks.suite.worker"]
        command += [self.contender.name, str(self.threads), self.clock]
        settings = {**os.environ, **environment(self.contender, self.threads, self.kept)}
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        settings["PYTHONPATH"] = os.pathsep.join(paths)
        self._left = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=settings,
                cwd=ROOT,
            )
        except OSError as error:
            self.missing = f"{self.python}: {error.strerror}"
            return
        hello = self._answer(START_SECONDS)
        if "versions" not in hello:
            self.missing = hello.get("missing") or hello["error"]
            self.close()
            return
        self.versions = hello["versions"] | {"python": hello["python"]}

    def ask(self, limit: float, do: str, **request: Any) -> dict[str, Any]:
        """The answer, or an error: the process has `limit` seconds."""
        if self._process is None and self.missing is None:
            self._start()
        if self._process is None:
            return {"error": self.missing}
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._lost()
        return self._answer(limit)

    def _answer(self, limit: float) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        end = perf_counter() + limit
        while b"\n" not in self._left:
            left = end - perf_counter()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                self.close()
                return {"error": f"no answer in {limit:.0f} s"}
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                return self._lost()
            self._left += chunk
        line, _, self._left = self._left.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def _lost(self) -> dict[str, Any]:
        """The error of a process that is gone, with the last that it said."""
        assert self._process is not None
        self.close()
        code = self._code
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return {"error": f"the process ended with {code}: {lines[-1][:300] if lines else ''}"}

    def close(self) -> None:
        """Ends the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        self._code = process.returncode

    def ticks(self) -> int:
        """Processor time of the process with its threads and ended children, in ticks."""
        return 0 if self._process is None else _ticks(self._process.pid)


def _ticks(process: int | str) -> int:
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))


class Load:
    """Other work on the machine between `start` and `stop`, added up; in processors."""

    def __init__(self, processes: list[Process]) -> None:
        self._processes = processes
        self._ticks = self._seconds = 0.0

    def _now(self) -> tuple[float, float]:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        busy = sum(int(fields[k]) for k in BUSY_FIELDS)
        own = _ticks("self") + sum(p.ticks() for p in self._processes)
        return perf_counter(), float(busy - own)

    def start(self) -> None:
        """Begins an interval."""
        self._since = self._now()

    def stop(self) -> None:
        """Ends it."""
        seconds, ticks = self._now()
        self._seconds += seconds - self._since[0]
        self._ticks += ticks - self._since[1]

    def processors(self) -> float:
        """Of all intervals together; a tick is 10 ms, so of short ones only roughly."""
        return max(0.0, self._ticks / TICK / self._seconds) if self._seconds else 0.0


def settle(processes: list[Process]) -> None:
    """Waits until the idle threads of the last contender have stopped spinning: those of OpenBLAS
    take a tenth of a second, in which they would have the processors of the next one."""
    sleep(PAUSE)
    if all(p.threads == 1 for p in processes):
        return
    end, before = perf_counter() + LONGEST_SPIN, -1
    while perf_counter() < end and before != (before := sum(p.ticks() for p in processes)):
        sleep(2 / TICK)


def interpreters(given: list[str]) -> dict[str, str]:
    """Python by library, of `NAME=PATH` and of the environment's BENCHMARK_PYTHON, which has such
    pairs with commas between; a library without one has this process's own."""
    pairs = [p for p in os.environ.get("BENCHMARK_PYTHON", "").split(",") if p] + given
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not equals:
            raise ValueError(f"--python takes NAME=PATH, got {pair!r}")
        found[name] = path
    return found


def start(
    contender: Contender, pythons: dict[str, str], threads: int, clock: str, kept: Path | None
) -> Process:
    """The contender's process. kept: the folder of what it compiles."""
    python = pythons.get(contender.library, sys.executable)
    return Process(contender, python, threads, clock, kept)
