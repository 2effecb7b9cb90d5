"""The ceilings of a machine: measured once, kept, and what follows from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyc import config
from pyc.explanation import ceilings as module
from pyc.explanation.ceilings import MIXES, SIZES, Ceilings, ceilings, measure
from pyc.runtime.threads import threads

KNOWN = Ceilings(
    "a processor",
    2,
    {
        "read": ((1000, 10e9), (1_000_000, 5e9)),
        "copy": ((1000, 8e9), (1_000_000, 4e9)),
        "fill": ((1000, 4e9), (1_000_000, 2e9)),
    },
    {"f32": (1e9, 2e9), "f64": (5e8, 1e9)},
)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> list[int]:
    """How often the machine was measured, by a process that knows nothing."""
    times: list[int] = []
    monkeypatch.setattr(module, "_known", {})
    monkeypatch.setattr(module, "measure", lambda: (times.append(1), KNOWN)[1])
    return times


def test_a_machine_is_measured_once(measured: list[int], cache_dir: Path) -> None:
    assert ceilings() == ceilings() == KNOWN
    module._known.clear()  # another process
    assert ceilings() == KNOWN
    assert len(measured) == 1
    (file,) = cache_dir.glob("ceilings-*")
    assert Ceilings.of_dict(json.loads(file.read_text())) == KNOWN


@pytest.mark.parametrize("content", ["", "{}", "[1]", "not JSON", '{"processor": 1}'])
def test_a_file_that_holds_none_is_written_anew(
    measured: list[int], cache_dir: Path, content: str
) -> None:
    ceilings()
    (file,) = cache_dir.glob("ceilings-*")
    file.write_text(content)
    module._known.clear()
    assert ceilings() == KNOWN
    assert len(measured) == 2
    assert json.loads(file.read_text())["threads"] == 2


def test_without_a_cache_the_process_keeps_them(measured: list[int], cache_dir: Path) -> None:
    for mode in ("off", "ro"):
        with config.using(cache=mode):
            module._known.clear()
            assert ceilings() == ceilings()
    assert len(measured) == 2
    assert not list(cache_dir.glob("ceilings-*"))


def test_another_number_of_threads_is_another_machine(measured: list[int]) -> None:
    ceilings()
    with threads(3):
        ceilings()
    assert len(measured) == 2


def test_measured_again_the_best_counts(measured: list[int], monkeypatch: Any) -> None:
    ceilings()
    rates = {**KNOWN.rates, "read": ((1000, 9e9), (1_000_000, 6e9))}
    other = Ceilings("a processor", 2, rates, {"f32": (2e9, 1e9), "f64": (5e8, 1e9)})
    monkeypatch.setattr(module, "measure", lambda: other)
    found = ceilings(again=True)
    assert found.rates["read"] == ((1000, 10e9), (1_000_000, 6e9))
    assert found.flops["f32"] == (2e9, 2e9)


def test_bounds_follow_from_sizes_and_mixes() -> None:
    assert KNOWN.memory_seconds(1000, 0) == pytest.approx(1e-7)
    assert KNOWN.memory_seconds(500, 500) == pytest.approx(1000 / 8e9)
    assert KNOWN.memory_seconds(0, 1000) == pytest.approx(1000 / 4e9)
    between = KNOWN.memory_seconds(750, 250)
    assert between == pytest.approx(1000 * (1 / 10e9 + 1 / 8e9) / 2)
    assert KNOWN.memory_seconds(100_000, 0) > 100 * KNOWN.memory_seconds(1000, 0)
    assert KNOWN.memory_seconds(0, 0) == 0
    # Beyond what was measured the nearest rate counts.
    assert KNOWN.memory_seconds(10, 0) == pytest.approx(10 / 10e9)
    assert KNOWN.memory_seconds(10**9, 0) == pytest.approx(10**9 / 5e9)
    assert KNOWN.flop_seconds({"f32": 10**9}, 1) == pytest.approx(1)
    assert KNOWN.flop_seconds({"f32": 10**9}, 100) == pytest.approx(0.5)
    assert KNOWN.flop_seconds({"f32": 10**9, "f64": 10**9}, 2) == pytest.approx(1.5)


def test_this_machine_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the right order: more than a thousandth of what any processor does, and less than any."""
    monkeypatch.setattr(module, "SIZES", SIZES[:4])
    found = measure()
    for mix in MIXES:
        assert [size for size, _ in found.rates[mix]] == list(SIZES[:4])
        assert all(1e8 < rate < 1e13 for _, rate in found.rates[mix])
    for one, every in found.flops.values():
        assert 1e8 < one < 1e12
        assert 1e8 < every < 1e14
    assert found.flops["f32"][0] > found.flops["f64"][0]
