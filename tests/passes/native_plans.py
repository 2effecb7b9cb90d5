"""Helper: run a Plan natively by some threads, whatever the cost model would say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.backends.cpu import Cpu, aligned_bytes
from pyc.backends.x86 import compile_plan
from pyc.ir.plan import Plan
from pyc.ir.target import Target
from pyc.runtime import threads

Array = np.ndarray[Any, Any]
COUNTS = (1, 2, 3)


def by_threads(
    plan: Plan,
    target: Target,
    arguments: Sequence[Array],
    shapes: Sequence[tuple[tuple[int, ...], Any]],
    counts: Sequence[int] = COUNTS,
) -> list[list[Array]]:
    """The results by each number of threads. SiteFailed: an error in the program."""
    pool, parallel = threads.addresses()
    cpu = Cpu(pool=pool, parallel=parallel)
    executable = cpu.load(compile_plan(plan, target), plan)
    found: list[list[Array]] = []
    for count in counts:
        sizes = [int(np.prod(s, dtype=np.int64)) * np.dtype(d).itemsize for s, d in shapes]
        raw = [aligned_bytes(max(n, 1))[:n] for n in sizes]
        results = [r.view(d).reshape(s) for r, (s, d) in zip(raw, shapes, strict=True)]
        with threads.threads(count):
            cpu.run(executable, [a.copy() for a in arguments], results)
        found.append(results)
    return found
