"""What is made of what compute-sanitizer says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sanitizer import outcome

NONE = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors"
TWO = "========= COMPUTE-SANITIZER\n========= Invalid write\n========= ERROR SUMMARY: 2 errors"
RACE = "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"


@pytest.mark.parametrize(
    ("prints", "status", "clean", "words"),
    [
        (NONE, 0, True, "0 errors in"),
        (NONE, 1, False, "exit status 1"),
        (TWO, 0, False, "2 errors in"),
        (RACE, 0, False, "1 errors in"),
        ("Segmentation fault", 0, False, "Segmentation fault"),
    ],
)
def test_a_part_is_clean_if_the_tool_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    prints: str,
    status: int,
    clean: bool,
    words: str,
) -> None:
    stand_in(tmp_path, monkeypatch, f"cat <<'END'\n{prints}\nEND\nexit {status}")
    said, good = outcome("memcheck", ("-c", "pass"), 30.0)
    assert good == clean and words in said


@pytest.mark.parametrize(("prints", "clean"), [("", True), ("========= Invalid write", False)])
def test_a_part_that_takes_too_long_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, clean: bool
) -> None:
    stand_in(
        tmp_path, monkeypatch, f"echo '========= COMPUTE-SANITIZER'; echo '{prints}'; sleep 60"
    )
    said, good = outcome("memcheck", ("-c", "pass"), 1.0)
    assert said.startswith("cut off after 1 s") and good == clean


TESTS = """
import time
def test_last(): time.sleep(0.2)
def test_next(): assert GOOD
def test_first(): pass
"""


@pytest.mark.parametrize(
    ("seconds", "good", "status", "said"),
    [
        (60.0, True, 0, "3 of 3 programs"),
        (0.0, True, 0, "1 of 3 programs"),
        (60.0, False, 1, "2 of 3 programs"),
    ],
)
def test_programs_run_until_their_time_is_over(
    tmp_path: Path,
    seconds: float,
    good: bool,
    status: int,
    said: str,
) -> None:
    file = tmp_path / "test_some.py"
    file.write_text(TESTS.replace("GOOD", str(good)))
    command = "import sys; from tests.sanitizer import programs; sys.exit(programs({}, {}))"
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    ran = subprocess.run(
        [sys.executable, "-c", command.format(seconds, arguments)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == status and ran.stdout.splitlines()[-1] == said


def test_the_summary_says_how_many_programs_these_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch, f"cat <<'END'\n{NONE}\n12 of 34 programs\nEND")
    said, good = outcome("memcheck", ("-c", "pass"), 30.0)
    assert good and said.endswith("exit status 0, 12 of 34 programs")


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A script where the tool is looked for."""
    tool = folder / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
