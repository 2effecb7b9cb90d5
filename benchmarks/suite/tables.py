"""The tables of a run as Markdown: means, what is slower than its best peer, every figure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.suite.contenders import TABLES
from benchmarks.suite.figures import (
    OURS,
    Ceiling,
    ceilings,
    contests,
    failures,
    mean_ratios,
    share,
    slower,
)
from benchmarks.suite.measure import Record
from benchmarks.workloads.entry import SIZES

TITLES = {
    "strict": "pyc beside peers at their defaults",
    "fast": "pyc with `fastmath=True` beside peers with fast math",
}


def duration(seconds: float) -> str:
    """Three digits with a unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown: text, then numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.2f}"


def means(records: list[Record], name: str) -> str:
    """Geometric means of (best peer's time / ours), by family and size."""
    found = mean_ratios(records, name)
    sizes = [s for s in SIZES if any(s in row for row in found.values())]
    counts = {
        s: sum(r["size"] == s and name in r["ratio"] for r in contests(records)) for s in sizes
    }
    rows = [[family, *(number(row.get(s)) for s in sizes)] for family, row in found.items()]
    return table(["family", *sizes], [*rows, ["workloads", *(str(counts[s]) for s in sizes)]])


def wins(records: list[Record], name: str) -> str:
    """How often each peer is the best one."""
    known = [r for r in contests(records) if r["best"].get(name)]
    sizes = [s for s in SIZES if any(r["size"] == s for r in known)]
    rows = []
    for peer in TABLES[name][1]:
        counts = [sum(r["size"] == s and r["best"][name] == peer for r in known) for s in sizes]
        rows.append([peer, *map(str, counts)])
    return table(["best peer", *sizes], rows)


def below(records: list[Record], name: str) -> str:
    """Every workload whose best peer is quicker, the worst first."""
    ours = OURS[name]
    rows = []
    for record in slower(records, name):
        ratio, peer = record["ratio"][name], record["best"][name]
        found = record["contenders"]
        rows.append(
            [
                f"{record['workload']} {record['size']}",
                number(ratio["ratio"]),
                f"{ratio['low']:.2f} to {ratio['high']:.2f}",
                duration(found[ours]["median"]),
                peer,
                duration(found[peer]["median"]),
            ]
        )
    head = ["workload", "ratio", "quartiles", ours, "best peer", "its time"]
    return table(head, rows) if rows else "None.\n"


def every_figure(records: list[Record]) -> str:
    """Medians of all contenders, and ours as a share of the machine's limit."""
    names = dict.fromkeys(n for r in records for n in r["contenders"])
    limits = ceilings(records)
    rows = []
    for record in contests(records):
        cells = [f"{record['workload']} {record['size']}"]
        cells += [cell(record["contenders"].get(name, {})) for name in names]
        reached = share(record, "pyc", limits) if record["size"] != "tiny" else None
        ratios = [number(record["ratio"].get(t, {}).get("ratio")) for t in TABLES]
        rows.append([*cells, *ratios, number(reached)])
    return table(["workload", *names, *TABLES, "of the limit"], rows)


def cell(found: dict[str, Any]) -> str:
    if "median" in found:
        return duration(found["median"])
    return "failed" if "error" in found else ""


def limit_lines(limits: dict[str, Ceiling]) -> str:
    head = ["size", "bytes, GB/s", "float32, GFLOP/s", "float64, GFLOP/s"]
    rows = []
    for size, limit in limits.items():
        rates = (limit.bytes, limit.single, limit.double)
        rows.append([size, *(f"{rate / 1e9:.4g}" if rate else "" for rate in rates)])
    return table(head, rows) if rows else "Not measured in this run.\n"


def markdown(run: dict[str, Any]) -> str:
    """The whole report of a run, as its JSON has it."""
    machine, suite = run["machine"], run["records"]
    records: list[Record] = suite["workloads"]
    loads = sorted(r["load"] for r in records) or [0.0]
    parts = [
        "# CPU suite\n",
        f"`{run['command']}` at {machine['commit']}\n",
        f"{machine['cpu']}, {machine['processors']} processors, {suite['threads']} threads each, "
        f"{suite['clock']} time; Python {machine['python']}, Linux {machine['kernel']}. "
        "Other load on the machine: median "
        f"{loads[len(loads) // 2]:.2f}, at most {loads[-1]:.2f} processors.\n",
        "A ratio is the best peer's time over pyc's, above 1 where pyc is quicker: the median over "
        "rounds in which both took their turns. The best peer was chosen in other rounds before.\n",
        "## Who took part\n",
        participants(suite),
    ]
    for name, title in TITLES.items():
        if not any(name in r["ratio"] for r in records):
            ours = OURS[name]
            cause = suite["contenders"].get(ours, {}).get("missing", "it was not asked for")
            parts += [f"## {title[0].upper()}{title[1:]}\n", f"Not made: {ours}: {cause}.\n"]
            continue
        parts += [f"## {title[0].upper()}{title[1:]}\n", "Geometric means:\n", means(records, name)]
        parts += ["How often a peer is the best:\n", wins(records, name)]
        parts += ["Where the best peer is quicker:\n", below(records, name)]
    parts += ["## Limits of the machine\n", limit_lines(ceilings(records))]
    for ours, title in ((True, "pyc failed"), (False, "Peers that failed")):
        lost = [f"* {r['workload']} {r['size']}, {n}: {e}\n" for r, n, e in failures(records, ours)]
        parts += [f"## {title}\n", "".join(lost) or "None.\n"]
    parts += ["## Every figure\n", every_figure(records)]
    return "\n".join(parts)


def participants(suite: dict[str, Any]) -> str:
    """Versions, and for those that are missing the cause."""
    lines = []
    for name, found in suite["contenders"].items():
        versions = ", ".join(f"{k} {v}" for k, v in found.get("versions", {}).items())
        lines.append(f"* {name}: {versions or 'MISSING: ' + found['missing']}\n")
    return "".join(lines)
