"""Measures workloads: first who is quickest, then ours beside the quickest, in new samples.

A record is a dict, as it is in the JSON file: `workload`, `family`, `size`, `sizes`; `contenders`,
by name what came of each (seconds, or `error`, or `absent`); `best`, the quickest peer by table;
`ratio`, by table that peer's time over ours, the median over rounds in which both took their turns;
`load`, the other work on the machine meanwhile.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.runner import summary
from benchmarks.suite.contenders import TABLES
from benchmarks.suite.processes import Load, Process, settle
from benchmarks.workloads.entry import Workload

Record = dict[str, Any]
Samples = dict[str, list[list[float]]]
HOPELESS = 4.0
"""A contender that took so many times the least in a round is not timed again: it is not best."""
SLOW_ROUNDS, SLOW_SECONDS = 15, 4.0
"""Rounds where a turn is a single call, which other work on the machine may disturb; and seconds of
a contender's calls after which there are no more than were asked for."""


def prepare(
    workload: Workload, size: str, processes: dict[str, Process], folder: Path, limit: float
) -> dict[str, Any]:
    """What came of preparing each: NumPy first, whose results are the reference."""
    reference = folder / "reference.npz"
    reference.unlink(missing_ok=True)
    found: dict[str, Any] = {}
    for name in sorted(processes, key=lambda name: name != "numpy"):
        request = {"workload": workload.name, "size": size, "reference": str(reference)}
        found[name] = processes[name].ask(limit, "prepare", **request)
    return found


def take_turns(
    names: Iterable[str],
    processes: dict[str, Process],
    rounds: int,
    seconds: float,
    limit: float,
    drop: bool,
    load: Load,
) -> Samples:
    """Samples by contender and round; each round has the reversed order of the one before.
    drop: contenders without hope take part in the first round only."""
    order = list(names)
    samples: Samples = {name: [] for name in order}
    for _ in range(rounds):
        for name in order:
            settle(list(processes.values()))
            load.start()
            answer = processes[name].ask(limit, "time", seconds=seconds)
            load.stop()
            if "samples" in answer:
                samples[name].append(answer["samples"])
        if drop:
            last = {n: min(samples[n][-1]) for n in order if samples[n]}
            least = min(last.values(), default=0.0)
            order = [n for n in order if n in last and last[n] <= HOPELESS * least]
        order.reverse()
    return samples


def rounds_of(names: Iterable[str], first: Samples, rounds: int, seconds: float) -> int:
    """Rounds for all of `names`, whose samples so far are given: more than were asked for where the
    slowest has a single call in a turn of so many seconds."""
    slowest = max((min(flat(first[n])) for n in names if first.get(n)), default=0.0)
    if slowest <= seconds:
        return rounds
    return max(rounds, min(SLOW_ROUNDS, int(SLOW_SECONDS / slowest)))


def flat(rounds: list[list[float]]) -> list[float]:
    """The samples of all rounds."""
    return list(chain.from_iterable(rounds))


def best_peer(samples: Samples, peers: Iterable[str]) -> str | None:
    """The peer of the least time: other work on the machine does not choose it."""
    known = {p: min(flat(samples[p])) for p in peers if samples.get(p)}
    return min(known, key=lambda p: known[p]) if known else None


def paired(ours: list[list[float]], theirs: list[list[float]]) -> dict[str, float]:
    """Their time over ours: of each round's medians the median and the quartiles; and of the least
    of all samples."""
    both = zip(ours, theirs)
    ratios = sorted(statistics.median(b) / statistics.median(a) for a, b in both)
    least = min(flat(theirs)) / min(flat(ours))
    quarter = len(ratios) // 4
    return {
        "ratio": statistics.median(ratios),
        "low": ratios[quarter],
        "high": ratios[len(ratios) - 1 - quarter],
        "of_least": least,
    }


def measure(
    workload: Workload,
    size: str,
    processes: dict[str, Process],
    folder: Path,
    *,
    rounds: int,
    seconds: float,
    limit: float,
    chosen: dict[str, str] | None,
) -> Record:
    """The record of a workload at a size. rounds: 0 prepares it and times nothing; chosen: the best
    peers by table, where an earlier run has found them."""
    load = Load(list(processes.values()))
    found = prepare(workload, size, processes, folder, limit)
    ready = [name for name, answer in found.items() if "seconds" in answer] if rounds else []
    tables = {t: (o, [p for p in peers if p in ready]) for t, (o, peers) in TABLES.items()}
    first = take_turns(ready, processes, max(2, rounds // 3), seconds, limit, True, load)
    best = {t: best_peer(first, peers) for t, (_, peers) in tables.items()}
    best |= {t: p for t, p in (chosen or {}).items() if p in ready}
    pairs = {t: (o, best[t]) for t, (o, _) in tables.items() if o in ready and best[t]}
    if workload.family == "ceilings":
        pairs = {}
    names = dict.fromkeys(str(name) for pair in pairs.values() for name in pair)
    turns = rounds_of(names, first, rounds, seconds)
    second = take_turns(names, processes, turns, seconds, limit, False, load)
    ratios = {
        t: paired(second[o], second[str(p)])
        for t, (o, p) in pairs.items()
        if second[o] and second[str(p)]
    }
    for name in ready:
        samples = flat(second.get(name) or first[name])
        if not samples:
            found[name] = {"error": "no samples: the process was lost"}
            continue
        found[name] = {**found[name], **summary(samples), "samples": len(samples)}
        del found[name]["seconds"]
    counts = [answer["bytes"] for answer in found.values() if "bytes" in answer]
    values = workload.sizes[size]
    return {
        "workload": workload.name,
        "family": workload.family,
        "about": workload.about,
        "size": size,
        "sizes": list(values),
        "bytes": workload.bytes(*values) if workload.bytes else max(counts, default=0),
        "flops": workload.flops(*values) if workload.flops else 0,
        "double": workload.double,
        "contenders": found,
        "best": best,
        "ratio": ratios,
        "load": load.processors(),
    }


def geometric_mean(values: Iterable[float]) -> float:
    """NaN of none."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan
