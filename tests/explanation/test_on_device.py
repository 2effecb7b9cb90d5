"""Reports of programs of a GPU: bounds from its own ceilings, and kernels timed by its clock.

The device is the tests' (`interpreted_device`): what is shown is what is measured and how it is
counted, not how fast a GPU is.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.explanation import ceilings as kept
from pyc.explanation import device_ceilings
from pyc.explanation.ceilings import FLOP_TYPES, MIXES, Ceilings, plan_of
from pyc.explanation.on_device import Blocks, OnDevice
from pyc.frozen import replace
from pyc.ir.target import SM_90
from tests.backends.interpreted_device import InterpretedDevice, install

RATES = ((1 << 10, 1e9), (1 << 20, 1e12))
KNOWN = Ceilings(
    "interpreted (sm_90)", 0, dict.fromkeys(MIXES, RATES), {"f32": (1e9, 1e11), "f64": (1e8, 1e10)}
)
needs_gpu = pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> InterpretedDevice:
    """`InterpretedDevice` where programs look for a GPU, in a process that has measured nothing."""
    on = InterpretedDevice()
    install(on, monkeypatch)
    monkeypatch.setattr(kept, "_known", {})
    return on


@pytest.fixture
def known(device: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The devices that were measured, to be `KNOWN`."""
    measured: list[Any] = []
    monkeypatch.setattr(device_ceilings, "measure", lambda on: (measured.append(on), KNOWN)[1])
    return measured


def rows(x: Any, w: Any) -> Any:
    """A row program, a product, and a loop that is branched in."""
    x = np.exp(x - x.max(axis=1, keepdims=True)) @ w
    return pyc.fori_loop(0, 3, lambda k, v: pyc.cond(k > 1, lambda u: u + 1, lambda u: u * 2, v), x)


def explain(function: Any, *args: Any, **rest: Any) -> Any:
    return pyc.explain(pyc.jit(function, device="cuda"), *args, **rest)


ARGUMENTS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(4, 6), np.ones((6, 5), np.float32)


def test_a_program_that_calls_lapack_has_no_times_there(known: list[Any]) -> None:
    """Its routines run on the host, between copies."""
    found = explain(lambda a: np.linalg.eigvalsh(a) * 2, np.eye(300) * 2.0, measure=True).kernels
    words = "the program calls LAPACK, whose steps are not timed one by one"
    assert found is not None and found.problem == words
    assert [row.measured for row in found.rows] == [None] * len(found.rows)


def test_bounds_follow_from_the_devices_ceilings(device: Any, known: list[Any]) -> None:
    report = explain(lambda x: x * 2 + 1, np.ones((64, 64), np.float32))
    (row,) = report.kernels.rows
    assert known == [device]
    assert (row.read, row.written, row.flops) == (16384, 16384, {"f32": 8192})
    assert row.bound == pytest.approx(KNOWN.memory_seconds(16384, 16384)) and row.limit == "memory"
    assert row.measured is None and "blocks" in row.schedule
    assert report.kernels.machine == "interpreted (sm_90)"
    assert "bounds: measured on this machine, interpreted (sm_90)\n" in report.text()
    explain(lambda x: x * 2 + 1, np.ones((64, 64), np.float32))
    assert known == [device]


def test_a_bound_is_a_launch_at_least(
    device: Any, known: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_ceilings, "measure", lambda on: replace(KNOWN, launch=1e-4))
    (row,) = explain(lambda x: x * 2, np.ones(3, np.float32)).kernels.rows
    assert row.bound == 1e-4 and row.limit == "the launch"


def test_flops_are_shared_by_blocks(device: Any, known: list[Any]) -> None:
    """Few blocks reach what they reach: a chain in one of them is bound by its flops."""

    def chain(x: Any) -> Any:
        for k in range(20):
            x = x * 0.5 + k
        return x

    rows = [explain(chain, np.ones(n, np.float32)).kernels.rows[0] for n in (64, 1 << 16)]
    assert [row.limit for row in rows] == ["flops", "memory"]
    assert rows[0].bound == pytest.approx(64 * 40 / 1e9)


def test_each_kernel_is_timed_and_nothing_is_changed(device: Any, known: list[Any]) -> None:
    x, w = (pyc.device_put(a, "cuda") for a in ARGUMENTS)
    gc.collect()
    before = len(device.memory)
    report = explain(rows, x, w, measure=True)
    assert report.kernels.problem == ""
    measured = [row.measured for row in report.kernels.rows]
    assert len(measured) >= 4 and all(m is not None and m > 0 for m in measured[:2])
    assert report.kernels.program > 0
    assert "bound" in report.text()
    np.testing.assert_array_equal(np.asarray(x), ARGUMENTS[0])
    del report
    gc.collect()
    assert len(device.memory) == before


def test_donated_arrays_are_there_after_it(device: Any, known: list[Any]) -> None:
    x = pyc.device_put(np.ones(8, np.float32), "cuda")
    jitted = pyc.jit(lambda x: x + 1, donate_argnums=0, device="cuda")
    report = jitted.explain(x, measure=True)
    assert report.kernels.rows[0].measured is not None
    np.testing.assert_array_equal(np.asarray(x), np.ones(8, np.float32))


def test_a_program_that_raises_is_not_measured(device: Any, known: list[Any]) -> None:
    report = explain(lambda x, i: x[i], np.ones(5, np.float32), np.array([7]), measure=True)
    assert report.kernels.problem.endswith("a call with these arguments raises")
    assert report.kernels.rows[0].measured is None


# --- the ceilings ---------------------------------------------------------------------------------


def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops that the kernel interpreter runs in no time."""
    monkeypatch.setattr(device_ceilings, "SIZES", (1 << 18, 1 << 19))
    monkeypatch.setattr(device_ceilings, "MANY_BLOCKS", 3)
    monkeypatch.setattr(device_ceilings, "LENGTH", 8)


def test_a_device_is_measured_once(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    smaller(monkeypatch)
    before = len(device.memory)
    found = device_ceilings.ceilings(device)
    assert found.processor == str(found) == "interpreted (sm_90)" and not found.threads
    assert list(found.rates) == [*MIXES]
    for rates in found.rates.values():
        assert [size for size, _ in rates] == [1 << 18, 1 << 19]
        assert all(rate > 0 for _, rate in rates)
    assert set(found.flops) == set(FLOP_TYPES) and found.launch > 0
    launched = device.launched
    kept._known.clear()  # another process
    assert device_ceilings.ceilings(device) == found and device.launched == launched
    gc.collect()
    assert len(device.memory) == before
    assert found.best(replace(found, launch=1e-12)).launch == 1e-12


@pytest.mark.parametrize("mix", MIXES)
def test_loops_touch_what_they_say(mix: str) -> None:
    """Each element of what is read or written, once, and the whole of it."""
    on: Any = InterpretedDevice()
    text, nbytes = device_ceilings._moves(mix, 1 << 18)
    plan = plan_of(text)
    (kernel,) = plan.kernels
    found = pyc.explanation.counts.count(kernel)
    main = sum(a.read + a.written for a in found.accesses)
    assert main == nbytes if mix != "read" else nbytes < main < 1.05 * nbytes
    assert found.exact and on.target == SM_90


def test_flops_are_those_that_are_counted() -> None:
    for name in FLOP_TYPES:
        text, flops = device_ceilings._flops(name, 3)
        (kernel,) = plan_of(text).kernels
        counted = pyc.explanation.counts.count(kernel).flops
        assert flops <= counted[name] < 1.01 * flops  # and the sum of the chains


@pytest.mark.cuda
@needs_gpu
def test_a_gpu_is_measured_and_its_kernels_are_timed(cache_dir: Path) -> None:
    """Of the right order, and no kernel much faster than what its bytes allow."""
    on = pyc.device.gpu()
    found = device_ceilings.measure(on)
    assert 2e11 < found.rates["copy"][-1][1] < 2e13
    assert 1e12 < found.flops["f32"][1] < 1e15 and found.flops["f64"][1] > 1e9
    assert 1e-7 < found.launch < 2e-5
    x = pyc.device_put(np.ones((4096, 4096), np.float32), "cuda")
    report = explain(lambda x: np.exp(x - x.max(axis=1, keepdims=True)), x, measure=True)
    (row,) = report.kernels.rows
    assert row.limit == "memory" and 0.3 < row.share < 1.5, report.text()
    seconds = OnDevice(plan_of(device_ceilings._NOTHING), on).run([], [Blocks(on).block(16)])
    assert 0 < seconds < 1e-3
