"""What is made of what compute-sanitizer says."""

from __future__ import annotations

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


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A script where the tool is looked for."""
    tool = folder / "compute-sanitizer"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
