"""The suite's runner on two workloads beside NumPy, and its figures on made-up records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.suite import processes
from benchmarks.suite.contenders import CONTENDERS, LIBRARIES, TABLES, Missing, environment
from benchmarks.suite.figures import (
    ceilings,
    failures,
    mean_ratios,
    regressions,
    share,
    slower,
)
from benchmarks.suite.measure import SLOW_ROUNDS, best_peer, paired, rounds_of
from benchmarks.suite.page import chart, page
from benchmarks.suite.processes import Process, interpreters
from benchmarks.suite.tables import below, duration, markdown
from benchmarks.suite.worker import BEHIND, LARGE, PAGE, placed

ROOT = Path(__file__).parents[2]


def record(name: str, size: str = "large", ratio: float = 1.0, **seconds: float) -> dict[str, Any]:
    """A record with these medians, the quickest peer chosen."""
    found = {
        n.replace("_", "-"): {"least": s, "median": s, "upper": s * 1.01, "samples": 3}
        for n, s in seconds.items()
    }
    peers = {n: c["median"] for n, c in found.items() if not n.startswith("pyc")}
    best = min(peers, key=lambda n: peers[n], default=None)
    ratios = {"ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1, "of_least": ratio}
    return {
        "workload": name,
        "family": "rows",
        "size": size,
        "bytes": 1000,
        "flops": 0,
        "double": False,
        "contenders": found,
        "best": {"strict": best},
        "ratio": {"strict": ratios},
        "load": 0.25,
    }


def run_of(*records: dict[str, Any]) -> dict[str, Any]:
    """What a file has."""
    machine = {"cpu": "made up", "processors": 2, "python": "3", "kernel": "6", "commit": "abc"}
    told = {"pyc": {"versions": {"numpy": "2"}}, "jax": {"missing": "cannot import jax"}}
    suite = {"threads": 2, "clock": "wall", "contenders": told, "workloads": list(records)}
    return {"command": "python -m benchmarks.suite", "machine": machine, "records": suite}


def test_the_runner_measures_two_workloads_beside_numpy(tmp_path: Path) -> None:
    """Processes, checks, turns, files: all but other peers, one of which is missing here."""
    files = {kind: tmp_path / f"run.{kind}" for kind in ("json", "markdown", "html")}
    command = [sys.executable, "-m", "benchmarks.suite", "--peers", "numpy,jax", "--sizes", "tiny"]
    command += ["--only", "axpy,softmax", "--rounds", "2", "--seconds", "0.005"]
    command += ["--clock", "processor"]
    command += ["--python", f"jax={tmp_path / 'no-python'}"]
    command += [text for kind, file in files.items() for text in (f"--{kind}", str(file))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "without jax: " in done.stdout and "No such file" in done.stdout
    run = json.loads(files["json"].read_text())
    assert [r["workload"] for r in run["records"]["workloads"]] == ["axpy", "softmax"]
    for found in run["records"]["workloads"]:
        assert found["best"]["strict"] == "numpy"
        assert found["ratio"]["strict"]["ratio"] > 0
        times = [found["contenders"][name] for name in ("pyc", "numpy")]
        assert all(0 < t["least"] <= t["median"] <= t["upper"] and t["samples"] for t in times)
        assert found["load"] >= 0
    assert "jax" in run["records"]["contenders"] and str(tmp_path) not in run["command"]
    assert "| softmax tiny |" in files["markdown"].read_text()
    assert "<svg" in files["html"].read_text()
    old = json.loads(files["json"].read_text())
    quick = old["records"]["workloads"][0]["contenders"]["pyc"]
    quick |= {name: quick[name] / 1000 for name in ("least", "median", "upper")}
    (tmp_path / "old.json").write_text(json.dumps(old))
    again = [sys.executable, "-m", "benchmarks.suite", "--read", str(files["json"])]
    again += ["--compare", str(tmp_path / "old.json")]
    done = subprocess.run(again, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "regression: axpy tiny: " in done.stdout, done.stderr
    again += ["--fail-on-regression"]
    assert subprocess.run(again, cwd=ROOT, capture_output=True, timeout=300).returncode == 1


def test_a_process_that_dies_or_hangs_is_an_error_and_the_next_question_starts_it_again() -> None:
    process = Process(CONTENDERS["numpy"], sys.executable, 1, "wall")
    try:
        assert process.missing is None and process.versions["numpy"]
        assert "ended with" in process.ask(60.0, "no_such_request")["error"]
        assert process.ask(60.0, "time", seconds=0.01) == {"error": "nothing is prepared"}
        assert process.ask(0.0, "time", seconds=0.01)["error"] == "no answer in 0 s"
        assert process.ask(60.0, "time", seconds=0.01) == {"error": "nothing is prepared"}
    finally:
        process.close()


def test_a_run_without_rounds_prepares_and_times_nothing(tmp_path: Path) -> None:
    """What compiles long is compiled before, by several runs at once, into one folder."""
    command = [sys.executable, "-m", "benchmarks.suite", "--peers", "numpy", "--sizes", "tiny"]
    command += ["--only", "axpy", "--rounds", "0", "--compiled", str(tmp_path / "kept")]
    command += ["--json", str(tmp_path / "run.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "pyc first call " in done.stdout, done.stderr
    (found,) = json.loads((tmp_path / "run.json").read_text())["records"]["workloads"]
    assert found["ratio"] == {} and found["contenders"]["pyc"]["first"] > 0
    assert "median" not in found["contenders"]["pyc"]


def test_a_contender_keeps_what_it_compiles_apart_from_the_others(tmp_path: Path) -> None:
    """torch's code depends on its settings and on the number of threads."""
    compiled = CONTENDERS["torch-compile"], CONTENDERS["torch-compile-fast"]
    folders = {
        environment(c, n, tmp_path)["TORCHINDUCTOR_CACHE_DIR"] for c in compiled for n in (1, 2)
    }
    assert len(folders) == 4 and all(f.startswith(str(tmp_path)) for f in folders)
    assert "TORCHINDUCTOR_CACHE_DIR" not in environment(compiled[0], 1, None)


def test_jax_on_a_gpu_is_refused(monkeypatch) -> None:
    """The suite is of the CPU: a peer on a GPU would be a wrong record."""
    assert environment(CONTENDERS["jax"], 1, None)["JAX_PLATFORMS"] == "cpu"
    fake = SimpleNamespace(default_backend=lambda: "gpu")
    monkeypatch.setitem(sys.modules, "jax", fake)
    with pytest.raises(Missing, match="JAX runs on gpu: the suite is of the CPU"):
        LIBRARIES["jax"](CONTENDERS["jax"], 1).load()


def test_a_turn_begins_when_the_threads_before_rest(monkeypatch) -> None:
    """Threads that spin would have the processors of the next contender."""
    ticks = iter([5, 7, 9, 9, 11])
    slept: list[float] = []
    monkeypatch.setattr(processes, "sleep", slept.append)
    several: Any = [SimpleNamespace(threads=2, ticks=lambda: next(ticks))]
    processes.settle(several)
    assert next(ticks) == 11 and len(slept) == 4
    alone: Any = [SimpleNamespace(threads=1, ticks=lambda: pytest.fail("asked for nothing"))]
    processes.settle(alone)
    assert len(slept) == 5


def test_every_table_has_contenders() -> None:
    for ours, peers in TABLES.values():
        assert ours in CONTENDERS and set(peers) <= set(CONTENDERS)


def test_interpreters_come_from_options_and_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("BENCHMARK_PYTHON", "jax=/a/python,torch=/b/python")
    assert interpreters(["jax=/c/python"]) == {"jax": "/c/python", "torch": "/b/python"}
    with pytest.raises(ValueError, match="NAME=PATH"):
        interpreters(["jax"])


def test_the_best_peer_has_the_least_time() -> None:
    samples = {"a": [[1.7, 1.8], [1.9]], "b": [[3.0], [1.5, 9.0]], "none": []}
    assert best_peer(samples, ["a", "b", "none"]) == "b"
    assert best_peer({}, ["a"]) is None


def test_ratios_are_paired_by_round() -> None:
    """A machine that is half as fast in one round changes no ratio."""
    found = paired([[1.0], [2.0], [1.0]], [[3.0], [6.0], [3.0]])
    assert found == {"ratio": 3.0, "low": 3.0, "high": 3.0, "of_least": 3.0}


def test_calls_that_fill_a_turn_have_more_rounds() -> None:
    """All contenders as many; the slowest says how many, up to some seconds of its calls."""
    first = {"pyc": [[0.01], [0.02]], "torch": [[0.1], [0.3]], "numpy": [[0.9]], "jax": [[9.0]]}
    assert rounds_of(["pyc"], first, 3, 0.05) == 3
    assert rounds_of(["pyc", "torch"], first, 3, 0.05) == SLOW_ROUNDS
    assert rounds_of(["pyc", "torch"], first, 40, 0.05) == 40
    assert rounds_of(["pyc", "numpy"], first, 3, 0.05) == 4
    assert rounds_of(["pyc", "jax"], first, 3, 0.05) == 3
    assert rounds_of([], first, 3, 0.05) == 3
    assert rounds_of(["absent"], first, 3, 0.05) == 3


def test_means_are_geometric_and_slower_ones_are_listed() -> None:
    records = [
        record("a", ratio=4.0, pyc=1.0, numpy=4.0),
        record("b", ratio=0.25, pyc=4.0, numpy=2.0, jax=1.0),
        record("c", ratio=0.5, pyc=2.0, numpy=1.0),
    ]
    assert mean_ratios(records[:2], "strict")["all"] == {"large": pytest.approx(1.0)}
    assert mean_ratios(records, "fast") == {"all": {}}
    assert [r["workload"] for r in slower(records, "strict")] == ["b", "c"]
    assert below(records, "strict").splitlines()[2].startswith("| b large | 0.25 | 0.23 to 0.28 |")


def test_ceilings_are_the_best_of_all_and_shares_are_of_them() -> None:
    copy = record("copy", numpy=1e-3, numba=5e-4) | {"family": "ceilings"}
    peak = record("peak", numpy=1e-3) | {"family": "ceilings", "flops": 10_000}
    limits = ceilings([copy, peak])
    assert limits["large"].bytes == pytest.approx(2e6)
    assert limits["large"].single == pytest.approx(1e7)
    assert limits["large"].double == 0
    moved = record("a", pyc=1e-3)
    assert share(moved, "pyc", limits) == pytest.approx(0.5)
    assert share(moved | {"flops": 9000}, "pyc", limits) == pytest.approx(0.9)
    assert share(moved, "jax", limits) is None
    assert share(moved | {"size": "medium"}, "pyc", limits) is None


def test_a_regression_is_slower_beside_the_same_peer() -> None:
    old = [record("a", pyc=1.0, numpy=4.0, jax=2.0), record("b", pyc=1.0, numpy=2.0)]
    slow_machine = [record("a", pyc=3.0, numpy=12.0, jax=6.0), record("b", pyc=3.0, numpy=6.0)]
    assert regressions(old, slow_machine) == ([], [])
    now = [record("a", pyc=1.5, numpy=4.0, jax=2.0), record("b", pyc=1.05, numpy=2.0)]
    (worse,), lost = regressions(old, now)
    assert (worse.workload, worse.peer, lost) == ("a", "jax", [])
    assert str(worse) == "a large: 1.50 times slower beside jax (2.00 to 1.33)"
    assert regressions(old, now, bound=0.6) == ([], [])


def test_a_regression_beyond_the_bound_but_within_the_spread_is_none() -> None:
    old, now = record("a", pyc=1.0, numpy=4.0), record("a", pyc=1.5, numpy=4.0)
    now["contenders"]["pyc"]["upper"] = 3.0
    assert regressions([old], [now]) == ([], [])


def test_what_failed_or_is_gone_is_a_regression() -> None:
    old = [record("a", pyc=1.0, numpy=4.0), record("b", pyc=1.0, numpy=4.0)]
    failed = record("a", pyc=1.0, numpy=4.0)
    failed["contenders"]["pyc"] = {"error": "ShapeError: x"}
    worse, lost = regressions(old, [failed])
    assert worse == []
    assert lost == ["a large: ShapeError: x", "b large: not in the new run"]
    assert [(name, error) for _, name, error in failures([failed], ours=True)] == [
        ("pyc", "ShapeError: x")
    ]
    assert failures([failed], ours=False) == []


def test_the_report_says_who_is_missing_and_which_table_is_not_made() -> None:
    text = markdown(run_of(record("a", ratio=2.0, pyc=1.0, numpy=2.0)))
    assert "* jax: MISSING: cannot import jax" in text
    assert "Not made: pyc-fast: it was not asked for." in text
    assert "| all | 2.00 |" in text


def test_the_page_has_charts_and_nothing_from_elsewhere() -> None:
    records = [
        record("a", ratio=2.0, pyc=1.0, numpy=2.0),
        record("b", ratio=0.5, pyc=1.0, numpy=0.5),
    ]
    records.append(record("copy", numpy=1e-3) | {"family": "ceilings", "ratio": {}})
    text = page(run_of(*records))
    assert text.count("<svg") == 2 and "<td>2.00</td>" in text
    assert "src=" not in text and "<link" not in text
    assert chart(records) == chart(records)


def test_durations_have_three_digits() -> None:
    assert [duration(s) for s in (2.5, 0.0123456, 1.5e-6, 4.2e-8)] == [
        "2.5 s",
        "12.3 ms",
        "1.5 us",
        "42 ns",
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_large_arguments_begin_at_one_place_in_a_page(dtype: Any) -> None:
    """So that no contender is quicker for where its array lies."""
    array = np.arange(LARGE).reshape(2, -1).astype(dtype)
    found = placed(array)
    assert found.ctypes.data % PAGE == BEHIND
    assert found.dtype == array.dtype and np.array_equal(found, array)
    assert found.flags.c_contiguous and found.flags.writeable


def test_other_arguments_are_left_where_they_are() -> None:
    """Small ones, those that do not lie by rows, and numbers."""
    small, columns = np.ones(LARGE // 8 - 1), np.ones((LARGE, 2)).T
    assert placed(small) is small
    assert placed(columns) is columns
    assert placed(3.0) == 3.0
