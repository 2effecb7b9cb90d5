"""`python -m benchmarks.suite --bits`: the bytes of results with several numbers of threads."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import pyc
from benchmarks.suite.bits import compare, every_case, summary
from benchmarks.workloads import every

ROOT = Path(__file__).parents[2]
WORKLOADS = [w for w in every().values() if w.family != "ceilings"]


def test_every_workload_has_the_same_bytes_with_one_two_and_three_threads() -> None:
    """At the sizes that are shared among threads, compiled anew for each number of them."""
    cases = list(every_case(WORKLOADS, ["medium"], [1, 2, 3]))
    assert [str(c) for c in cases if c.other] == []
    assert len(cases) == 2 * len(WORKLOADS)
    assert sum(c.regions > 0 for c in cases) > len(WORKLOADS)


def test_a_program_whose_bits_depend_on_the_threads_is_found() -> None:
    """A comparison that cannot fail would say nothing: here the program reads their number."""
    softmax = every()["softmax"]
    counted = replace(softmax, program=lambda x: np.exp(x) * pyc.get_num_threads())
    case = compare(counted, "medium", False, [1, 2, 3, 1])
    assert case.other == (2, 3) and case.regions > 0
    assert str(case).startswith("softmax medium ") and "OTHER BITS with [2, 3]" in str(case)
    assert summary([case]) == "1 cases, 1 of them in parallel: 1 with other bits"


def test_the_runner_compares_bits_and_times_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.suite", "--bits", "1,2", "--only", "axpy,copy"]
    command += ["--sizes", "tiny,medium", "--json", str(tmp_path / "bits.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "4 cases, 2 of them in parallel: 0 with other bits"
    cases = json.loads((tmp_path / "bits.json").read_text())["records"]["cases"]
    assert [(c["workload"], c["size"], c["fastmath"]) for c in cases] == [
        ("axpy", "tiny", False),
        ("axpy", "tiny", True),
        ("axpy", "medium", False),
        ("axpy", "medium", True),
    ]
    again = subprocess.run(
        [*command[:4], "1"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert again.returncode == 2 and "two numbers of threads or more, got 1" in again.stderr
