"""Records the calls of the installed test suites: each package in a process of its own.

What is kept lies in one file, `REPLAY_CALLS` or `pyc-replay/calls.pickle` in the folder for
temporary files: distinct calls, at most `MOST` of a function, of many forms before many of one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from tests.replay.calls import Call, read, write
from tests.replay.paths import paths

ROOT = Path(__file__).parents[2]
MOST = 20
"""Calls of one function."""
PACKAGES = (
    *("numpy._core", "numpy.lib", "numpy.linalg", "numpy.fft", "numpy.polynomial", "numpy.ma"),
    *("numpy.matrixlib", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.ndimage"),
    *("scipy.integrate", "scipy.interpolate", "scipy.fft", "scipy.optimize"),
)
"""Whose `tests` are run."""
BEFORE = "scipy.special scipy.linalg scipy.signal scipy.ndimage scipy.interpolate scipy.integrate"


def place() -> Path:
    """The file of the calls."""
    named = os.environ.get("REPLAY_CALLS")
    return Path(named) if named else Path(tempfile.gettempdir()) / "pyc-replay" / "calls.pickle"


def environment() -> dict[str, str]:
    """Of processes that run what is here."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def run(what: str, into: Path, seconds: int) -> str:
    """Runs the tests of a package ("numpy.fft"), or one module of them ("numpy.fft.tests.
    test_helper.py"), and adds its calls to a file. Returns what pytest says at the end."""
    listed = into.with_suffix(".paths")
    listed.write_text("\n".join(paths()))
    variables = {
        "REPLAY_PATHS": str(listed),
        "REPLAY_CALLS": str(into),
        "REPLAY_BEFORE": BEFORE if what.startswith("scipy") else "",
    }
    package, _, rest = what.partition(".tests")
    spec = find_spec(package)
    folder = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    tests = folder / "tests" / rest.lstrip(".")
    pytest = [sys.executable, "-m", "pytest", str(tests), "-p", "tests.replay.recorder"]
    pytest += ["-q", "--tb=no", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    pytest += ["-m", "not slow and not xslow", "-p", "no:warnings", "-p", "no:randomly"]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(
                pytest,
                cwd=scratch,
                env={**environment(), **variables},
                capture_output=True,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return f"stopped after {seconds} s"
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def chosen(calls: Iterable[Call], most: int = MOST) -> list[Call]:
    """Distinct calls in the order of their digests, at most `most` of a function: the first of
    each form, then the second of each."""
    found = {call.key: call for call in calls}
    by_function: dict[str, list[Call]] = defaultdict(list)
    for key in sorted(found):
        by_function[found[key].path].append(found[key])
    kept = []
    for path in sorted(by_function):
        turns: Counter[str] = Counter()
        ranked = []
        for call in by_function[path]:
            ranked.append((turns[call.form], call.key, call))
            turns[call.form] += 1
        kept += [call for _, _, call in sorted(ranked, key=lambda item: item[:2])[:most]]
    return kept


def record(into: Path, packages: Iterable[str] = PACKAGES, seconds: int = 900) -> list[Call]:
    """Runs the suites two at a time, and writes what is kept of their calls."""
    into.parent.mkdir(parents=True, exist_ok=True)
    raw = {p: into.parent / f"{p}.raw" for p in packages}

    def one(package: str) -> None:
        raw[package].unlink(missing_ok=True)
        print(f"{package}: {run(package, raw[package], seconds)}", flush=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, raw))
    return merge(into, raw.values())


def plain(folder: Path, calls: list[Call]) -> list[Call]:
    """The calls of which NumPy makes plain arrays or numbers, or an error that is not for want of
    memory. Calls that end the process are none of them."""
    file = folder / "all.pickle"
    with file.open("wb") as out:
        for call in calls:
            write(out, call)
    found, start = [], 0
    while start < len(calls):
        command = [sys.executable, "-m", "tests.replay.worker", str(file), str(start)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment())
        answers = [line.split() for line in done.stdout.splitlines()]
        found += [calls[int(n)] for n, state in answers if state == "plain"]
        start = int(answers[-1][0]) + 1 + bool(done.returncode) if answers else start + 1
    file.unlink()
    return found


def merge(into: Path, raw: Iterable[Path]) -> list[Call]:
    """What is kept of several files of calls, written to one."""
    calls: list[Call] = []
    for path in raw:
        if path.exists():
            with path.open("rb") as file:
                calls += read(file)
    kept = chosen(plain(into.parent, chosen(calls, 3 * MOST)))
    with into.open("wb") as file:
        for call in kept:
            write(file, call)
    return kept
