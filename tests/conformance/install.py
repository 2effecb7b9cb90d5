"""Fetches the conformance suite of the array API standard, and checks what came.

    python -m tests.conformance.install [--into FOLDER]

The suite comes by `git` from the project that publishes it, with the text of the standard that it
reads, each at the commit that the expected results were seen with. Whatever the way, the files are
compared with the SHA-256 sum below.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = "https://github.com/data-apis/array-api-tests"
STANDARD = "https://github.com/data-apis/array-api"
COMMIT, STANDARD_COMMIT = (
    "55fcc60179efa2680ddd6cd926ddf17b83530e2b",
    "5f847a3858875c682ae901aa22b0413bf24be9da",
)
DIGEST = "f1139bb21a0be4783b503c7964feb28747c5e2482dd38c2a13753d69bc2d1420"
"""Of the files that are run and read, see `digest`."""
NEEDS = ("ndindex", "pytest-json-report", "hypothesis")
"""Packages of PyPI that the suite imports."""


class SuiteMissing(Exception):
    """The suite is not installed, or is another one; the text says what to do."""


def folder() -> Path:
    """Where the suite is, or is to be: `ARRAY_API_TESTS`, or a folder for temporary files."""
    named = os.environ.get("ARRAY_API_TESTS")
    return Path(named) if named else Path(tempfile.gettempdir()) / f"array-api-tests-{COMMIT[:7]}"


def digest(suite: Path) -> str:
    """The SHA-256 sum of the names and contents of the Python files of the suite and the standard's
    stubs."""
    found = hashlib.sha256()
    parts = (suite / "array_api_tests", suite / "array-api" / "src" / "array_api_stubs")
    files = [suite / "conftest.py", *(f for part in parts for f in sorted(part.rglob("*.py")))]
    for file in files:
        found.update(f"{file.relative_to(suite).as_posix()}\0".encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def check(suite: Path) -> None:
    """Returns if a folder holds the suite; SuiteMissing: it does not."""
    if not (suite / "conftest.py").exists():
        raise SuiteMissing(f"no suite in {suite}: run python -m tests.conformance.install")
    found = digest(suite)
    if found != DIGEST:
        raise SuiteMissing(f"the suite in {suite} has the SHA-256 sum {found}, not {DIGEST}")


def fetch(url: str, commit: str, into: Path) -> None:
    """One commit of a repository."""
    into.mkdir(parents=True, exist_ok=True)
    for command in (
        ["git", "init", "--quiet"],
        ["git", "fetch", "--quiet", "--depth", "1", url, commit],
        ["git", "checkout", "--quiet", "--force", "FETCH_HEAD"],
    ):
        done = subprocess.run(command, cwd=into, capture_output=True, text=True)
        if done.returncode:
            raise SuiteMissing(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def main() -> int:
    """Fetches what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=None, help="default: ARRAY_API_TESTS, or /tmp")
    suite = parser.parse_args().into or folder()
    try:
        check(suite)
    except SuiteMissing:
        try:
            fetch(SUITE, COMMIT, suite)
            fetch(STANDARD, STANDARD_COMMIT, suite / "array-api")
            check(suite)
        except SuiteMissing as error:
            print(error, file=sys.stderr)
            return 1
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *NEEDS], check=True)
    print(f"the suite is in {suite}, and its files are as expected")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
