"""Every workload of the suite at its tiny size: pyc gives what NumPy gives, and so does what is
written for Numba, run by Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from benchmarks.suite.worker import difference, flat
from benchmarks.workloads import FAMILIES, every
from benchmarks.workloads.entry import CATALOGUE, PEERS, SAME, SIZES, Workload, workload

WORKLOADS = {name: w for name, w in every().items() if w.family != "ceilings"}


def run(entry: Workload, function: Any) -> list[Any]:
    """The results of a function at the tiny size; its arguments are as they were."""
    sizes = entry.sizes["tiny"]
    arguments, before = entry.arguments(*sizes), entry.arguments(*sizes)
    with np.errstate(all="ignore"):
        found = flat(function(*arguments))
    for one, other in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(one, other)
    return found


@pytest.mark.parametrize("name", WORKLOADS)
def test_pyc_gives_what_numpy_gives(name: str) -> None:
    """Twice: the second call goes the way of known signatures."""
    entry = WORKLOADS[name]
    expected = run(entry, entry.program)
    jitted = pyc.jit(entry.program)
    for _ in range(2):
        assert difference(run(entry, jitted), expected, entry) is None


@pytest.mark.parametrize("name", [n for n, w in WORKLOADS.items() if "numba" in w.versions])
def test_loops_for_numba_give_what_numpy_gives(name: str) -> None:
    """Python runs them where `prange` is `range`: a loop of another workload would be no peer."""
    entry = WORKLOADS[name]
    assert difference(run(entry, entry.versions["numba"]), run(entry, entry.program), entry) is None


def test_there_are_enough() -> None:
    assert len(WORKLOADS) >= 45
    assert {w.family for w in CATALOGUE.values()} == {f.replace("_", " ") for f in FAMILIES}
    for entry in WORKLOADS.values():
        assert set(entry.sizes) == set(SIZES), entry.name
        assert set(entry.versions) <= set(PEERS), entry.name
        assert "jax" in entry.versions, entry.name
        assert entry.versions.get("numba") is not SAME, entry.name


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_computes_something(name: str) -> None:
    """No NaN, and not all one number: a comparison of nothing would not fail."""
    entry = WORKLOADS[name]
    first = run(entry, entry.program)[0]
    assert np.isfinite(first).all()
    assert first.size == 1 or np.unique(first).size > 1


def test_a_wrong_result_is_found() -> None:
    entry = WORKLOADS["softmax"]
    right = run(entry, entry.program)
    wrong = right[0].copy()
    wrong[2, 3] += 0.01
    assert str(difference([wrong], right, entry)).startswith("result 0: 1 of 32 wrong, by 0.01")
    wrong[2, 3] = np.nan
    assert difference([wrong], right, entry) is not None
    assert str(difference([right[0][0]], right, entry)).startswith("shapes")
    assert str(difference([], right, entry)).startswith("shapes")
    counts = run(WORKLOADS["histogram"], WORKLOADS["histogram"].program)
    floats = [counts[0] + 0.0]
    assert str(difference(floats, counts, entry)) == "result 0 is float64, not int64"


def test_a_part_that_no_workload_has_is_refused() -> None:
    with pytest.raises(ValueError, match="typo: no such parts of a workload"):

        @workload(tiny=(1,))
        class typo:
            def arguments(n):
                return (n,)

            def program(n):
                return n

            def jacks(n):
                return n

    assert "typo" not in CATALOGUE
