"""Replays the calls whose numbers come in, one a line, and writes what became of each.

    python -m tests.replay.worker CALLS [START]

With a number to start from it says instead of each call from there on whether what NumPy makes of
it is plain.
A process of its own: if a call ends it, the runner starts another one.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from tests.replay.calls import read
from tests.replay.replay import expected, replay

MEMORY_BYTES = 16 << 30


def main() -> int:
    """Reads lines "number way" until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with Path(sys.argv[1]).open("rb") as file:
        calls = list(read(file))
    # What libraries print goes to stderr: LAPACK writes to the file, not through Python.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for number in range(int(sys.argv[2]), len(calls)) if sys.argv[2:] else ():
        state = "plain" if expected(calls[number])[2] else "other"
        answers.write(f"{number} {state}\n")
        answers.flush()
    for line in () if sys.argv[2:] else sys.stdin:
        number, way = line.split()
        call = calls[int(number)]
        answers.write(json.dumps(asdict(replay(call, way, expected(call)))) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
