"""Replays the recorded calls on pyc, and compares with what is listed.

    python -m tests.replay --record                    # the calls, once: half an hour
    python -m tests.replay [-n 2] [-k TEXT] [--way eager] [--every 10] [--json FILE]
    python -m tests.replay --again outcomes.jsonl      # those that did not agree

The exit status is 0 if each call agrees with NumPy or is a difference that `listed.txt` gives the
reason for.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.replay import listed, record
from tests.replay.calls import read
from tests.replay.replay import AGREE, WAYS, Outcome
from tests.replay.run import outcomes


def figures(found: Sequence[Outcome]) -> dict[str, object]:
    """How many calls agree, how many are listed, and by function and by reason."""
    reasons = dict.fromkeys(listed.reasons(), 0)
    states: Counter[str] = Counter()
    functions: dict[str, Counter[str]] = {}
    calls: dict[str, set[str]] = {}
    for each in found:
        entry = listed.entry_of(each)
        state = AGREE if each.kind == AGREE else "listed" if entry else "unexplained"
        if entry:
            reasons[entry.reason] += 1
        states[f"{each.way} {state}"] += 1
        functions.setdefault(each.path, Counter())[state] += 1
        calls.setdefault(each.key, set()).add(state)
    whole = Counter(
        next(s for s in ("unexplained", "listed", AGREE) if s in states)
        for states in calls.values()
    )
    return {
        "distinct calls": len(calls),
        "functions": len(functions),
        "calls": dict(sorted(whole.items())),
        "replays": dict(sorted(states.items())),
        "reasons": dict(sorted(reasons.items(), key=lambda item: -item[1])),
        "by function": {path: dict(sorted(n.items())) for path, n in sorted(functions.items())},
    }


def main() -> int:
    """Records, or replays and tells what is unexplained."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="runs the test suites")
    parser.add_argument("-n", dest="workers", type=int, default=2, help="processes")
    parser.add_argument("-k", dest="chosen", default="", help="functions with this in their path")
    parser.add_argument("--way", choices=WAYS, default=None, help="default: both")
    parser.add_argument("--every", type=int, default=1, help="one call of so many")
    parser.add_argument("--again", type=Path, default=None, help="calls of a file of outcomes")
    parser.add_argument(
        "--outcomes", type=Path, default=None, help="where all outcomes are written"
    )
    parser.add_argument("--resume", action="store_true", help="adds what is missing in that file")
    parser.add_argument("--json", type=Path, default=None, help="where the figures are written")
    options = parser.parse_args()
    file = record.place()
    if options.record:
        print(f"{len(record.record(file))} calls in {file}")
        return 0
    if not file.exists():
        print(f"no calls in {file}: run python -m tests.replay --record")
        return 2
    with file.open("rb") as opened:
        calls = list(read(opened))
    ways = (options.way,) if options.way else WAYS
    tasks = [
        (k, way)
        for k in range(0, len(calls), options.every)
        for way in ways
        if options.chosen in calls[k].path
    ]
    if options.again:
        lines = map(json.loads, options.again.read_text().splitlines())
        wanted = {(e["key"], e["way"]) for e in lines if e["kind"] != AGREE}
        tasks = [(k, way) for k, way in tasks if (calls[k].key, way) in wanted]
    tasks.sort(key=lambda task: calls[task[0]].key)  # functions mixed: no worker has all slow ones
    before: list[Outcome] = []
    if options.resume and options.outcomes and options.outcomes.exists():
        lines = options.outcomes.read_text().splitlines()
        before = [Outcome(**json.loads(line)) for line in lines]
        known = {(e.key, e.way) for e in before}
        tasks = [(k, way) for k, way in tasks if (calls[k].key, way) not in known]
    begun, told = time.perf_counter(), 0
    out = options.outcomes.open("a" if before else "w") if options.outcomes else None

    def tell(outcome: Outcome) -> None:
        nonlocal told
        told += 1
        if out is not None:
            out.write(json.dumps(asdict(outcome)) + "\n")
            out.flush()
        if told % 1000 == 0:
            print(f"{told} of {len(tasks)}, {time.perf_counter() - begun:.0f} s", flush=True)

    found = before + outcomes(file, calls, tasks, options.workers, tell)
    unexplained = [e for e in found if e.kind != AGREE and not listed.entry_of(e)]
    for each in unexplained:
        print(f"{each.way} {each.kind}: {each.call}\n    {each.text}")
    made = figures(found)
    if options.json:
        options.json.write_text(json.dumps(made, indent=1) + "\n")
    print(json.dumps({k: v for k, v in made.items() if k != "by function"}, indent=1))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
