"""What records say together: means, what is slower than its best peer, limits, regressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.suite.measure import Record, geometric_mean
from benchmarks.workloads.entry import SIZES

OURS = {"strict": "pyc", "fast": "pyc-fast"}


@dataclass(frozen=True)
class Ceiling:
    """The best rates of a size: bytes a second that were read and written, and operations."""

    bytes: float
    single: float
    double: float


def contests(records: list[Record]) -> list[Record]:
    """Without the ceilings."""
    return [r for r in records if r["family"] != "ceilings"]


def ceilings(records: list[Record]) -> dict[str, Ceiling]:
    """The limits by size: the best rate that anyone reached."""
    found = {}
    for size in SIZES:
        rates = {"bytes": 0.0, "single": 0.0, "double": 0.0}
        for record in records:
            if record["family"] != "ceilings" or record["size"] != size:
                continue
            what = "bytes" if not record["flops"] else "double" if record["double"] else "single"
            amount = record["flops"] or record["bytes"]
            least = [c["least"] for c in record["contenders"].values() if "least" in c]
            rates[what] = max([rates[what], *(amount / s for s in least)])
        if any(rates.values()):
            found[size] = Ceiling(**rates)
    return found


def share(record: Record, name: str, limits: dict[str, Ceiling]) -> float | None:
    """The least time that bytes and flops need over the contender's median; None without limits.
    Results that stay in caches may beat the memory's rate, and programs may need more than that."""
    limit = limits.get(record["size"])
    seconds = record["contenders"].get(name, {}).get("median")
    if limit is None or seconds is None or not limit.bytes:
        return None
    flops = limit.double if record["double"] else limit.single
    needed = record["bytes"] / limit.bytes
    if record["flops"] and flops:
        needed = max(needed, record["flops"] / flops)
    return float(needed / seconds)


def mean_ratios(records: list[Record], table: str) -> dict[str, dict[str, float]]:
    """Geometric means of the ratios: by family, and of all, by size."""
    found: dict[str, dict[str, float]] = {}
    known = [r for r in contests(records) if table in r["ratio"]]
    for family in [*dict.fromkeys(r["family"] for r in known), "all"]:
        rows = [r for r in known if family in ("all", r["family"])]
        found[family] = {
            size: geometric_mean(r["ratio"][table]["ratio"] for r in rows if r["size"] == size)
            for size in SIZES
            if any(r["size"] == size for r in rows)
        }
    return found


def slower(records: list[Record], table: str, bound: float = 1.0) -> list[Record]:
    """The records whose best peer is quicker than ours, the worst first."""
    known = [r for r in contests(records) if table in r["ratio"]]
    found = [r for r in known if r["ratio"][table]["ratio"] < bound]
    return sorted(found, key=lambda r: float(r["ratio"][table]["ratio"]))


def failures(records: list[Record], ours: bool) -> list[tuple[Record, str, str]]:
    """Record, contender and error of what went wrong: of ours, or of the peers."""
    return [
        (record, name, found["error"])
        for record in records
        for name, found in record["contenders"].items()
        if "error" in found and (name in OURS.values()) == ours
    ]


def by_key(records: list[Record]) -> dict[tuple[str, str], Record]:
    return {(r["workload"], r["size"]): r for r in records}


@dataclass(frozen=True)
class Regression:
    """Ours became slower beside the same peer: `was` and `now` are the peer's time over ours."""

    workload: str
    size: str
    peer: str
    was: float
    now: float

    def __str__(self) -> str:
        where, change = f"{self.workload} {self.size}", f"{self.was / self.now:.2f} times slower"
        return f"{where}: {change} beside {self.peer} ({self.was:.2f} to {self.now:.2f})"


def regressions(
    old: list[Record], new: list[Record], bound: float = 0.1
) -> tuple[list[Regression], list[str]]:
    """What is slower by more than the bound and by more than the spread of both runs, and what is
    no longer there or fails now.

    Ours is compared beside a peer that both runs have timed, since the machine's speed changes
    from run to run: the best one of the old run, else whichever is quickest in both.
    """
    now = by_key(new)
    worse: list[Regression] = []
    lost: list[str] = []
    for key, before in by_key(contests(old)).items():
        was = before["contenders"].get("pyc", {})
        if "median" not in was:
            continue
        after = now.get(key)
        if after is None:
            lost.append(f"{key[0]} {key[1]}: not in the new run")
            continue
        found = after["contenders"].get("pyc", {})
        if "median" not in found:
            lost.append(f"{key[0]} {key[1]}: {found.get('error', 'not timed')}")
            continue
        peer = _common(before, after)
        if peer is None:
            lost.append(f"{key[0]} {key[1]}: no peer is in both runs")
            continue
        old_ratio = before["contenders"][peer]["median"] / was["median"]
        new_ratio = after["contenders"][peer]["median"] / found["median"]
        noise = max(spread(r, n) for r in (before, after) for n in ("pyc", peer))
        if old_ratio / new_ratio > 1 + max(bound, noise):
            worse.append(Regression(*key, peer, old_ratio, new_ratio))
    return sorted(worse, key=lambda r: r.now / r.was), lost


def _common(before: Record, after: Record) -> str | None:
    """The peer to compare beside."""
    both = [
        name
        for name, found in before["contenders"].items()
        if name not in OURS.values()
        and "median" in found
        and "median" in after["contenders"].get(name, {})
    ]
    chosen: Any = before["best"].get("strict")
    if chosen in both:
        return str(chosen)
    return min(both, key=lambda n: float(before["contenders"][n]["median"]), default=None)


def spread(record: Record, name: str) -> float:
    """How far the upper quartile is above the median, relative."""
    found = record["contenders"][name]
    return float(found["upper"] / found["median"] - 1)
