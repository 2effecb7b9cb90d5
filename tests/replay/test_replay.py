"""A sample of the recorded calls in every run, all of them with `-m slow`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.replay import listed, record
from tests.replay.calls import Call, read
from tests.replay.replay import AGREE, WAYS, Outcome
from tests.replay.run import outcomes

SAMPLE = ("numpy.fft.tests.test_helper.py", "numpy.lib.tests.test_shape_base.py")
SIZE, SEED = 60, 5


def _unexplained(found: list[Outcome]) -> list[str]:
    return [
        f"{e.way} {e.kind}: {e.call}: {e.text}"
        for e in found
        if e.kind != AGREE and not listed.entry_of(e)
    ]


def _replayed(file: Path, calls: list[Call], numbers: list[int]) -> list[Outcome]:
    return outcomes(file, calls, [(k, way) for k in numbers for way in WAYS], 2)


def test_a_sample_of_what_numpys_tests_call_agrees(tmp_path: Path) -> None:
    """Two modules of tests are recorded here; which of their calls are replayed is always the
    same."""
    raw = []
    for module in SAMPLE:
        raw.append(tmp_path / f"{module}.raw")
        assert "passed" in record.run(module, raw[-1], 120)
    calls = record.merge(tmp_path / "calls.pickle", raw)
    assert len(calls) > 300
    numbers = random.Random(SEED).sample(range(len(calls)), SIZE)
    found = _replayed(tmp_path / "calls.pickle", calls, numbers)
    assert _unexplained(found) == []
    assert sum(e.kind == AGREE for e in found) > SIZE


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_all_that_the_suites_call_agrees_or_is_listed() -> None:
    file = record.place()
    if not file.exists():
        record.record(file)
    with file.open("rb") as opened:
        calls = list(read(opened))
    assert len(calls) >= 5000
    assert _unexplained(_replayed(file, calls, list(range(len(calls))))) == []


def test_a_wrong_value_is_found() -> None:
    """What compares must be able to fail, and no line may explain what it does not name."""
    outcome = Outcome("key", "numpy.add", "eager", "value", "element 0 is 2, not 1", "numpy.add(1)")
    assert listed.entry_of(outcome) is None
    assert all(entry.reason for entry in listed.entries())
