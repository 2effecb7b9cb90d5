"""The command line of the suite.

    python -m benchmarks.suite --python jax=/path/bin/python --python torch=/path/bin/python ...
        [--peers numpy,jax] [--only softmax,rows] [--sizes tiny,large] [--json FILE]
        [--compiled FOLDER] [--markdown FILE] [--html FILE] [--chart FILE.svg]
        [--compare OLD.json --fail-on-regression] [--read FILE.json]
    python -m benchmarks.suite --bits 1,2,3 [--only softmax,rows] [--sizes tiny,large] [--json FILE]

Each contender has a process of its own, with `--threads` threads; results are compared with NumPy's
before they are timed. First all take turns, which says who is quickest; then ours and the quickest
do, in new samples. With `--compiled` Numba and torch keep what they compile in a folder; a run of
`--rounds 0`, of which several may go at once, fills it and times nothing. `--read` makes tables of
a file and runs nothing. `--bits` runs pyc alone: the bytes of its results with these numbers of
threads must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.runner import publish
from benchmarks.suite import bits
from benchmarks.suite.contenders import CONTENDERS, LIBRARIES, TABLES
from benchmarks.suite.figures import by_key, contests, failures, regressions
from benchmarks.suite.measure import Record, measure
from benchmarks.suite.page import chart, page
from benchmarks.suite.processes import Process, interpreters, start
from benchmarks.suite.tables import duration, markdown, means
from benchmarks.suite.worker import CLOCKS
from benchmarks.workloads import FAMILIES, every
from benchmarks.workloads.entry import SIZES, Workload


def listed(allowed: Sequence[str]) -> Any:
    """A reader of names with commas between, each of which is allowed."""

    def read(text: str) -> list[str]:
        names = [n.strip() for n in text.split(",") if n.strip()]
        unknown = [n for n in names if n not in allowed]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"no {', '.join(unknown)}: there are {', '.join(allowed)}"
            )
        return names

    return read


def counts(text: str) -> list[int]:
    """Numbers of threads with commas between."""
    found = [int(n) for n in text.split(",")]
    if len(found) < 2 or min(found) < 1:
        raise argparse.ArgumentTypeError(f"two numbers of threads or more, got {text}")
    return found


def options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    workloads = every()
    families = [f.replace("_", " ") for f in FAMILIES]
    peers = list(dict.fromkeys(p for _, names in TABLES.values() for p in names))
    add = parser.add_argument
    add("--peers", type=listed(peers), default=peers, help=",".join(peers))
    add("--only", type=listed([*workloads, *families]), help="workloads and families")
    add("--sizes", type=listed(SIZES), default=list(SIZES), help=",".join(SIZES))
    add("--tables", type=listed(list(TABLES)), default=list(TABLES), help=",".join(TABLES))
    add(
        "--python", action="append", default=[], metavar="NAME=PATH", help="a library's interpreter"
    )
    add("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each contender")
    add("--clock", choices=list(CLOCKS), default="wall", help="processor: for a busy machine")
    add("--rounds", type=int, default=9, help="turns of ours and the best peer; 0: prepare only")
    add("--compiled", type=Path, metavar="FOLDER", help="where Numba and torch keep compiled code")
    add("--seconds", type=float, default=0.03, help="of a turn")
    add("--limit", type=float, default=300.0, help="seconds to prepare a workload")
    add("--chosen-in", type=Path, metavar="FILE", help="take the best peers from this run")
    add("--bits", type=counts, metavar="1,2,3", help="compare bytes with these threads, time none")
    for name in ("json", "markdown", "html", "chart"):
        add(f"--{name}", type=Path, metavar="FILE")
    add("--read", type=Path, metavar="FILE", help="run nothing: the figures of this file")
    add("--compare", type=Path, metavar="OLD", help="what is slower than in this run")
    add("--tolerance", type=float, default=0.1, help="of --compare, beside the spread")
    add("--fail-on-regression", action="store_true")
    return parser.parse_args(arguments)


def selected(only: list[str] | None) -> list[Workload]:
    """The workloads that were asked for; ceilings belong to all."""
    return [w for w in every().values() if only is None or w.name in only or w.family in only]


def contenders(given: argparse.Namespace) -> list[str]:
    """NumPy, which is the reference, ours, and the peers of the tables that were asked for."""
    names = ["numpy"]
    for table in given.tables:
        ours, peers = TABLES[table]
        names += [ours, *(p for p in peers if p in given.peers)]
    return list(dict.fromkeys(names))


def run(given: argparse.Namespace) -> dict[str, Any]:
    """Measures, and returns what the JSON file holds."""
    pythons = interpreters(given.python)
    unknown = set(pythons) - set(LIBRARIES)
    if unknown:
        sys.exit(f"--python: no library {', '.join(unknown)}: there are {', '.join(LIBRARIES)}")
    earlier = by_key(read(given.chosen_in)["records"]["workloads"]) if given.chosen_in else {}
    kept = given.compiled.resolve() if given.compiled else None
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        processes: dict[str, Process] = {}
        told: dict[str, Any] = {}
        for name in contenders(given):
            process = start(CONTENDERS[name], pythons, given.threads, given.clock, kept)
            stack.callback(process.close)
            if process.missing:
                print(f"without {name}: {process.missing}")
                told[name] = {"missing": process.missing}
            else:
                processes[name] = process
                told[name] = {"versions": process.versions}
        if "numpy" not in processes:
            sys.exit("NumPy gives the reference, and is missing")
        records: list[Record] = []
        for workload in selected(given.only):
            for size in given.sizes:
                if size not in workload.sizes:
                    continue
                chosen = earlier.get((workload.name, size), {}).get("best")
                record = measure(
                    *(workload, size, processes, folder),
                    rounds=given.rounds,
                    seconds=given.seconds,
                    limit=given.limit,
                    chosen=chosen,
                )
                records.append(record)
                print(line(record), flush=True)
                save(given, told, records)
    return save(given, told, records)


def save(given: argparse.Namespace, told: dict[str, Any], records: list[Record]) -> dict[str, Any]:
    """Writes the figures so far, so that a run that is stopped has been of use."""
    suite = {
        "threads": given.threads,
        "clock": given.clock,
        "chosen_in": str(given.chosen_in) if given.chosen_in else "earlier rounds of this run",
        "contenders": told,
        "workloads": records,
    }
    return publish(given, suite)


def line(record: Record) -> str:
    """What a terminal shows of a record."""
    found = record["contenders"]
    cells = [f"{record['workload']} {record['size']}".ljust(30)]
    for name, answer in found.items():
        if "median" in answer:
            cells.append(f"{name} {duration(answer['median'])}")
        elif "error" in answer:
            cells.append(f"{name} FAILED ({answer['error']})")
        elif "first" in answer:
            cells.append(f"{name} first call {duration(answer['first'])}")
    for table, ratio in record["ratio"].items():
        cells.append(f"{table} {ratio['ratio']:.2f} of {record['best'][table]}")
    return "  ".join([*cells, f"load {record['load']:.1f}"])


def read(path: Path) -> dict[str, Any]:
    """A run's JSON."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def compare(given: argparse.Namespace, records: list[Record]) -> int:
    """Prints what became slower; 1 where that is to fail."""
    old = contests(read(given.compare)["records"]["workloads"])
    if given.only or len(given.sizes) < len(SIZES):
        there = by_key(records)
        old = [r for r in old if (r["workload"], r["size"]) in there]
    worse, lost = regressions(old, records, given.tolerance)
    for text in [*map(str, worse), *lost]:
        print(f"regression: {text}")
    if not worse and not lost:
        print(f"no regression since {given.compare}")
    return int(bool(worse or lost) and given.fail_on_regression)


def compare_bits(given: argparse.Namespace) -> int:
    """Prints each case of `--bits`; 1 where one has other bits."""
    cases: list[bits.Case] = []
    for case in bits.every_case(selected(given.only), given.sizes, given.bits):
        print(case, flush=True)
        cases.append(case)
    publish(given, {"threads": given.bits, "cases": bits.records(cases)})
    print(bits.summary(cases))
    return int(any(c.other for c in cases))


def main() -> int:
    given = options()
    if given.bits:
        return compare_bits(given)
    found = read(given.read) if given.read else run(given)
    records: list[Record] = found["records"]["workloads"]
    for table in TABLES:
        if any(table in r["ratio"] for r in records):
            print(f"\n{table}: the best peer's time / ours\n{means(records, table)}")
    for path, write in ((given.markdown, markdown), (given.html, page)):
        if path:
            path.write_text(write(found))
    if given.chart:
        given.chart.write_text(chart(records))
    wrong = failures(records, ours=True)
    for record, name, error in wrong:
        print(f"{record['workload']} {record['size']}: {name}: {error}")
    regressed = compare(given, records) if given.compare else 0
    return 1 if wrong else regressed


if __name__ == "__main__":
    sys.exit(main())
