"""Replays many calls in worker processes that may crash or hang: an outcome for each."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tests.replay.calls import Call
from tests.replay.record import environment
from tests.replay.replay import Outcome

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
"""Time that one call may take, its compilation included."""


class _Worker:
    def __init__(self, calls: Path) -> None:
        self._process: Any = subprocess.Popen(
            [sys.executable, "-m", "tests.replay.worker", str(calls)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=environment(),
        )

    def ask(self, number: int, way: str) -> dict[str, str] | str:
        """What the worker answers; "crash" or "timeout", after which it is of no use."""
        try:
            self._process.stdin.write(f"{number} {way}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return "crash"
        ready, _, _ = select.select([self._process.stdout], [], [], SECONDS)
        if not ready:
            return "timeout"
        line = self._process.stdout.readline()
        return json.loads(line) if line else "crash"

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def outcomes(
    file: Path,
    calls: Sequence[Call],
    tasks: Sequence[tuple[int, str]],
    workers: int,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """What became of each task, a call of `calls` by number and a way, in their order. file:
    where the calls lie; tell: is called with each outcome when it is there."""
    queue: SimpleQueue[int] = SimpleQueue()
    for position in range(len(tasks)):
        queue.put(position)
    found: dict[int, Outcome] = {}

    def work() -> None:
        worker = None
        while True:
            try:
                position = queue.get_nowait()
            except Empty:
                break
            number, way = tasks[position]
            worker = worker or _Worker(file)
            answer = worker.ask(number, way)
            if isinstance(answer, str):
                worker.stop()
                worker = None
                call = calls[number]
                found[position] = Outcome(call.key, call.path, way, answer, "", str(call))
            else:
                found[position] = Outcome(**answer)
            tell(found[position])
        if worker is not None:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[position] for position in range(len(tasks))]
