"""Random programs: compiled equals interpreted, bit for bit, at every stage of the pipeline."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOOR = 25
"""Op and type pairs that even 100 programs must cover."""


def run_shard(first: int, last: int, executor: str) -> tuple[dict[str, str], Counter[str]]:
    """Findings and coverage of the seeds [first, last), run in a process of their own. A process
    that dies gives a finding for the seed at work, and the rest of the shard runs in another."""
    findings: dict[str, str] = {}
    coverage: Counter[str] = Counter()
    while first < last:
        command = [sys.executable, "-m", "tests.programs.differential"]
        done = subprocess.run(
            [*command, str(first), str(last), executor],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.stdout.strip():
            report = json.loads(done.stdout.strip().splitlines()[-1])
            findings.update(report["findings"])
            coverage.update(report["coverage"])
            break
        seeds = [line for line in done.stderr.split() if line.isdigit()]
        assert seeds, done.stderr
        findings[seeds[-1]] = f"the process ended with {done.returncode}: {done.stderr[-500:]}"
        first = int(seeds[-1]) + 1
    return findings, coverage


@pytest.mark.parametrize("executor", ["optimise", "plan", "compile"])
def test_random_programs_give_the_interpreters_bits(executor: str) -> None:
    """A hundred programs through each executor, and enough of the op table with them."""
    findings, coverage = run_shard(0, 100, executor)
    assert not findings, "\n".join(f"seed {s}: {w}" for s, w in findings.items())
    assert len(coverage) >= FLOOR, coverage


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(20))
def test_ten_thousand_random_programs(shard: int) -> None:
    """The slow suite: 20 shards of 500 compiled programs."""
    findings, coverage = run_shard(shard * 500, shard * 500 + 500, "compile")
    table = "\n".join(f"{name:32}{count:6}" for name, count in sorted(coverage.items()))
    print(f"op : type coverage of shard {shard}\n{table}")
    assert not findings, "\n".join(f"seed {s}: {w}" for s, w in findings.items())


def test_a_planted_mistake_is_found() -> None:
    """The comparison can fail: -0.0 is not 0.0, and one wrong bit in a NaN-filled array shows."""
    import numpy as np  # noqa: PLC0415

    from tests.programs.differential import same_bits  # noqa: PLC0415

    assert same_bits(np.array([np.nan, 1.0]), np.array([np.float64("nan"), 1.0]))
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert not same_bits(np.array([np.nan, 1.0]), np.array([np.nan, np.nextafter(1.0, 2.0)]))
    assert not same_bits(np.float32(1.0), np.float64(1.0))
