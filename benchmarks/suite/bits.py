"""The bits of pyc's results, whatever the number of threads: every workload, compared by bytes.

For each number of threads a workload is traced and compiled anew, without the cache, and run, at
its defaults and with `fastmath`; all results must have the bytes of the first. `regions` counts the
parallel calls of the runs with several threads: a case without any cannot differ and says little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import pyc
from benchmarks.suite.worker import flat
from benchmarks.workloads.entry import Workload
from pyc import config
from pyc.runtime import threads


@dataclass(frozen=True)
class Case:
    """A workload at a size. other: the numbers of threads whose bytes are not those of the first;
    regions: parallel calls with several threads."""

    workload: str
    size: str
    fastmath: bool
    threads: tuple[int, ...]
    other: tuple[int, ...]
    regions: int

    def __str__(self) -> str:
        where = f"{self.workload} {self.size}{' fastmath' if self.fastmath else ''}"
        said = f"OTHER BITS with {list(self.other)} threads" if self.other else "the same bits"
        return f"{where:40} {said}, {self.regions} parallel calls"


def found(workload: Workload, arguments: tuple[Any, ...], fastmath: bool) -> list[Any]:
    """Type, shape and bytes of each result, of a function that is compiled for this call."""
    pyc.clear_caches()
    with np.errstate(all="ignore"):
        results = flat(pyc.jit(workload.program, fastmath=fastmath)(*arguments))
    return [(r.dtype, r.shape, r.tobytes()) for r in results]


def compare(workload: Workload, size: str, fastmath: bool, counts: Sequence[int]) -> Case:
    """The case of a workload, with each of these numbers of threads."""
    arguments = workload.arguments(*workload.sizes[size])
    first, other, regions = None, [], 0
    for count in counts:
        with threads.threads(count):
            before = threads.statistics().regions
            results = found(workload, arguments, fastmath)
            regions += (threads.statistics().regions - before) if count > 1 else 0
        first = first or results
        if results != first:
            other.append(count)
    return Case(workload.name, size, fastmath, tuple(counts), tuple(other), regions)


def every_case(
    workloads: Sequence[Workload], sizes: Sequence[str], counts: Sequence[int]
) -> Iterator[Case]:
    """Each workload that is no ceiling at each size, with and without `fastmath`."""
    with config.using(cache="off"):
        for workload in workloads:
            for size in [s for s in sizes if s in workload.sizes and workload.family != "ceilings"]:
                for fastmath in (False, True):
                    yield compare(workload, size, fastmath, counts)


def summary(cases: Sequence[Case]) -> str:
    """How many there were, in parallel, and different."""
    parallel = sum(c.regions > 0 for c in cases)
    wrong = sum(bool(c.other) for c in cases)
    return f"{len(cases)} cases, {parallel} of them in parallel: {wrong} with other bits"


def records(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """For JSON."""
    return [asdict(c) for c in cases]
