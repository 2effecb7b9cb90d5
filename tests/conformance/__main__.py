"""Runs the conformance suite of the array API standard, and compares with what is expected.

    python -m tests.conformance [--jitted] [--device cuda] [--examples 100] [-n 2] [-k EXPRESSION]

With --jitted arrays are NumPy's, and each function runs through `pyc.jit`, on the device that
--device names, from which results are copied. With --device alone arrays are `pyc.Array`s there.

The exit status is 0 if all tests pass but those that `expected.txt` lists, which must fail: floor
divisions with infinities, where the standard and NumPy disagree and NumPy wins, and with --device
alone what `pyc.Array`s do not do (`ASSIGNING`, `UNCOPIED`). Each test draws
`--examples` calls, the same in every run unless `--random` is given.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance.install import SuiteMissing, check, folder

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).with_name("expected.txt")
ASSIGNING = {
    "array_api_tests/test_array_object.py::test_setitem",
    "array_api_tests/test_array_object.py::test_setitem_masking",
    "array_api_tests/test_creation_functions.py::test_asarray_arrays",
}
"""Tests that assign to elements, which `pyc.Array`s refuse: they are immutable."""
UNCOPIED = {"array_api_tests/test_dlpack.py::test_dunder_dlpack"}
"""Asks for the memory of a GPU as the CPU's and without a copy; the standard wants BufferError."""


def expected(device: str) -> set[str]:
    """The tests that fail with `pyc.Array`s of a device, or with NumPy's arrays ("")."""
    lines = EXPECTED.read_text().splitlines()
    listed = {line for line in lines if line and not line.startswith("#")}
    return listed | (ASSIGNING if device else set()) | (UNCOPIED if device > "cpu" else set())


def results(output: str) -> dict[str, set[str]]:
    """The names of tests by what became of them, of what pytest prints with `-rA`."""
    found: dict[str, set[str]] = {"FAILED": set(), "PASSED": set(), "ERROR": set()}
    for line in output.splitlines():
        word, _, rest = line.partition(" ")
        if word in found:
            name = re.sub(r" - .*$", "", rest) if word != "PASSED" else rest
            found[word].add(name.encode().decode("unicode_escape") if "\\u" in name else name)
    return found


def main() -> int:
    """Runs the suite and tells what is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jitted", action="store_true", help="each function through pyc.jit")
    parser.add_argument("--device", default="", help="of arrays, or of jitted functions")
    parser.add_argument("--examples", type=int, default=100, help="calls that a test draws")
    parser.add_argument("--random", action="store_true", help="other calls in every run")
    parser.add_argument("-n", dest="processes", default="0", help="of pytest-xdist")
    parser.add_argument("-k", dest="chosen", default="", help="of pytest")
    options = parser.parse_args()
    suite = folder()
    try:
        check(suite)
    except SuiteMissing as error:
        print(error)
        return 2
    module = "pyc.numpy"
    if options.jitted or options.device:
        source = "jitted" if options.jitted else "placed"
        module = f"exec('from tests.conformance.{source} import xp')"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": module,
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "PYC_CONFORMANCE_DEVICE": options.device,
        "PYTHONPATH": path,
    }
    pytest = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-rA", "--tb=line"]
    pytest += ["-p", "no:cacheprovider", "--disable-deadline", "-n", options.processes]
    pytest += [f"--max-examples={options.examples}", "-k", options.chosen]
    pytest += [] if options.random else ["--derandomize"]
    with tempfile.TemporaryDirectory() as scratch:
        environment["PYC_CONFORMANCE_CALLS"] = os.path.join(scratch, "calls")
        done = subprocess.run(pytest, cwd=suite, env=environment, capture_output=True, text=True)
        counts = Path(environment["PYC_CONFORMANCE_CALLS"])
        rows = counts.read_text().split() if counts.exists() else []
    found = results(done.stdout)
    failed = found["FAILED"] | found["ERROR"]
    if not failed and not found["PASSED"]:
        print(done.stdout[-4000:], done.stderr[-4000:])
        return 2
    print(done.stdout.splitlines()[-1])
    if rows:
        print(f"{sum(map(int, rows[::2]))} calls jitted, {sum(map(int, rows[1::2]))} as they are")
    listed = expected("" if options.jitted else options.device)
    unexpected = sorted(failed - listed)
    passed = sorted(found["PASSED"] & listed)
    for name in unexpected:
        print(f"failed, which is not expected: {name}")
    for name in passed:
        print(f"passed, which is not expected: {name}")
    return 1 if unexpected or passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
