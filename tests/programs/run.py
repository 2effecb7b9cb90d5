"""Runs many random programs on all processors, and writes what agreed and what they are made of.

    python -m tests.programs.run --seeds 0:10000 --processes 16 --json FILE [--limit SECONDS]
    python -m tests.programs.run --seeds 0:10000 --device cuda --json FILE
    python -m tests.programs.run --merge FILE FILE ... --json FILE

Each program is compiled, for the CPU or for the first GPU, which all processes then share, and must
give the bits, or raise the error, of the Graph interpreter (`differential`; --executor chooses
another way). Shards are processes: one that dies or hangs is a finding for the seed at work, and
its other seeds run in another. With --limit no shard starts after so many seconds; what ran is in
the record, and records of other seeds can be merged with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.runner import machine
from pyc.device import gpu
from pyc.ir.op import OPS, Kind
from tests.programs.differential import EXECUTORS, ON_A_GPU

ROOT = Path(__file__).parents[2]
SHARD = 50
"""Seeds of a process: starting it costs as much as two or three programs."""
SHARD_ON_A_GPU = 125
"""There it costs as much as ten."""
EXECUTOR_OF = {"cpu": "compile", "cuda": "cuda"}
"""What compiles for a device."""
PATIENCE = 300.0
"""Seconds after which a shard hangs."""
FLOOR = {100: 550, 1000: 1700, 10000: 3000}
"""Programs -> how many different (op, type, construct) they must hold at least."""
FLOOR_OF_NARROW = {1000: 40, 10000: 55}
"""Programs -> how many different ops each type of one or two bytes must meet at least."""
NARROW = ("f8e4m3", "f8e5m2", "f16", "bf16", "i8", "u8")
CALLS_OF_PYTHON = {"host_call", "pure_host_call"}
"""The ops that no program has: `tests/test_host_calls.py` is about them. From the least number of
programs in `FLOOR_OF_NARROW` on, every other op is in some."""
CONSTRUCTS = ("straight", "cond", "while", "scan")

Record = dict[str, Any]


def run_shard(first: int, last: int, executor: str) -> tuple[dict[str, str], Counter[str]]:
    """Findings and coverage of the seeds [first, last), run in a process of their own. A process
    that dies gives a finding for the seed at work, and the rest of the shard runs in another."""
    findings: dict[str, str] = {}
    coverage: Counter[str] = Counter()
    while first < last:
        command = [sys.executable, "-m", "tests.programs.differential"]
        shard = subprocess.Popen(
            [*command, str(first), str(last), executor],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, told = shard.communicate(timeout=PATIENCE)
            end = f"the process ended with {shard.returncode}"
        except subprocess.TimeoutExpired:
            shard.kill()
            out, told = shard.communicate()
            end = f"the process did not end within {PATIENCE:g} s"
        # One line a seed: what a program made of and what it found is known even if a later dies.
        seen, ends = first, False
        for line in out.splitlines():
            report = json.loads(line)
            seen, ends = report["seed"] + 1, report["ends"]
            coverage.update(report["coverage"])
            if report["finding"]:
                findings[str(report["seed"])] = report["finding"]
        if seen < last and not ends:
            findings[str(seen)] = f"{end}: {told[-500:]}"
            seen += 1
        first = seen
    return findings, coverage


def run(
    first: int,
    last: int,
    executor: str,
    processes: int,
    limit: float = float("inf"),
    commit: str = "",
) -> Record:
    """The record of the seeds [first, last); those of shards that did not start within `limit`
    seconds are left out. commit: what ran, if it is not what the checkout says."""
    begin = perf_counter()
    record: Record = {"executor": executor, "seeds": [], "findings": {}, "coverage": Counter()}
    # Small runs still go to all processes.
    most = SHARD_ON_A_GPU if executor in ON_A_GPU else SHARD
    size = max(min(most, -(-(last - first) // processes)), 1)

    def shard(at: int) -> tuple[int, int, dict[str, str], Counter[str]] | None:
        if perf_counter() - begin > limit:
            return None
        end = min(at + size, last)
        return at, end, *run_shard(at, end, executor)

    with ThreadPoolExecutor(processes) as pool:
        for done in pool.map(shard, range(first, last, size)):
            if done is None:
                continue
            at, end, findings, coverage = done
            record["seeds"].append([at, end])
            record["findings"].update(findings)
            record["coverage"].update(coverage)
            for seed, wrong in findings.items():
                print(f"seed {seed}: {wrong}", flush=True)
    record["seconds"] = round(perf_counter() - begin, 1)
    here = machine()
    if executor in ON_A_GPU:
        here["device"], here["driver"] = gpu().name, gpu().driver_version
    record["machines"] = [{**here, "commit": commit or here["commit"]}]
    return summed(record)


def merge(records: Sequence[Record]) -> Record:
    """One record of several over different seeds, of one way and one commit."""
    (executor,) = {r["executor"] for r in records}
    (_,) = {m["commit"] for r in records for m in r["machines"]}
    record: Record = {"executor": executor, "seeds": [], "findings": {}, "coverage": Counter()}
    for r in records:
        record["seeds"] += r["seeds"]
        record["findings"].update(r["findings"])
        record["coverage"].update(r["coverage"])
    record["seconds"] = round(sum(r["seconds"] for r in records), 1)
    record["machines"] = [m for r in records for m in r["machines"]]
    return summed(record)


def summed(record: Record) -> Record:
    """The record with neighbouring ranges of seeds joined and its programs counted."""
    joined: list[list[int]] = []
    for at, end in sorted(record["seeds"]):
        if joined and at < joined[-1][1]:
            raise ValueError(f"seed {at} ran twice")
        if joined and at == joined[-1][1]:
            joined[-1][1] = end
        else:
            joined.append([at, end])
    programs = sum(end - at for at, end in joined)
    record["seeds"], record["programs"] = joined, programs
    record["agreed"] = programs - len(record["findings"])
    coverage = record["coverage"]
    record["raised"] = {k: n for k, n in sorted(coverage.items()) if k.startswith("raised:")}
    pairs = sorted(k for k in coverage if not k.startswith("raised:"))
    record["covered"], record["floor"] = len(pairs), floor_of(programs, FLOOR)
    narrow = {t: len({k.split(":")[0] for k in pairs if k.split(":")[1] == t}) for t in NARROW}
    record["narrow"], record["floor_of_narrow"] = narrow, floor_of(programs, FLOOR_OF_NARROW)
    record["ops"] = len({k.split(":")[0] for k in pairs})
    record["ops_left_out"] = sorted(
        name
        for name, op in OPS.items()
        if op.kind is not Kind.CONTRACT and not any(k.startswith(f"{name}:") for k in pairs)
    )
    record["coverage"] = dict(sorted(coverage.items()))
    return record


def floor_of(programs: int, floors: dict[int, int]) -> int:
    """The floor for so many programs; 0 for fewer than any entry has."""
    return max((least for count, least in floors.items() if count <= programs), default=0)


def too_little(record: Record) -> list[str]:
    """What the programs cover less of than they should."""
    found = []
    if record["covered"] < record["floor"]:
        found.append(f"{record['covered']} of op x type x construct")
    least = record["floor_of_narrow"]
    found += [f"{n} ops of {t}, not {least}" for t, n in record["narrow"].items() if n < least]
    left_out = {*record["ops_left_out"]} - CALLS_OF_PYTHON
    if least and left_out:
        found.append(f"no program has {', '.join(sorted(left_out))}")
    return found


def table(coverage: dict[str, int]) -> str:
    """Op by type, in each field the equations in straight code, branches, loops and scans."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    for key, n in coverage.items():
        if not key.startswith("raised:"):
            op, type, construct = key.split(":")
            counts.setdefault(op, {}).setdefault(type, {})[construct] = n
    types = sorted({t for by_type in counts.values() for t in by_type})
    rows = [f"{'straight/cond/while/scan':25}" + "".join(f"{t:>17}" for t in types)]
    for op, by_type in sorted(counts.items()):
        fields = []
        for t in types:
            found = by_type.get(t, {})
            text = "/".join(str(found.get(c, 0)) for c in CONSTRUCTS) if found else "."
            fields.append(f"{text:>17}")
        rows.append(f"{op:25}" + "".join(fields))
    return "\n".join(rows)


def written(record: Record) -> str:
    """The record as JSON, one line of the coverage for each op."""
    rows: dict[str, dict[str, int]] = {}
    for key, n in record["coverage"].items():
        op, _, rest = key.partition(":")
        rows.setdefault(op, {})[rest] = n
    lines = [f"  {json.dumps(op)}: {json.dumps(row)}" for op, row in rows.items()]
    rest = json.dumps({k: v for k, v in record.items() if k != "coverage"}, indent=1)
    return rest.removesuffix("\n}") + ',\n "coverage": {\n' + ",\n".join(lines) + "\n }\n}\n"


def read(file: Path) -> Record:
    """The record that a file holds."""
    record: Record = json.loads(file.read_text())
    rows = record["coverage"].items()
    record["coverage"] = {f"{op}:{rest}": n for op, row in rows for rest, n in row.items()}
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if a program disagreed, or the programs cover too little."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:10000", help="FIRST:LAST, the last not included")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--executor", choices=sorted(EXECUTORS), default="compile")
    way.add_argument("--device", choices=sorted(EXECUTOR_OF), help="what the programs run on")
    parser.add_argument("--limit", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument(
        "--commit", default="", help="what runs, if it is not what the checkout says"
    )
    parser.add_argument("--merge", nargs="+", type=Path, metavar="FILE", help="records to add up")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the record is written")
    given = parser.parse_args(arguments)
    if given.merge:
        record = merge([read(f) for f in given.merge])
    else:
        first, last = map(int, given.seeds.split(":"))
        executor = EXECUTOR_OF.get(given.device, given.executor)
        record = run(first, last, executor, given.processes, given.limit, given.commit)
    print(table(record["coverage"]))
    print(
        f"{record['agreed']} of {record['programs']} programs agree ({record['executor']}); "
        f"{record['covered']} of op x type x construct, at least {record['floor']}; "
        f"{record['ops']} ops; {record['seconds']} s; seeds {record['seeds']}"
    )
    for found in too_little(record):
        print(f"the programs cover too little: {found}")
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(written(record))
    return 1 if record["findings"] or too_little(record) else 0


if __name__ == "__main__":
    sys.exit(main())
