"""Calls of programs on a GPU: what needs the driver's own graphs, memory and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.runtime import dispatch
from tests.runtime.test_device_checks import READS

pytestmark = pytest.mark.cuda


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


@pytest.mark.parametrize("read", READS)
def test_a_failed_check_is_raised_by_who_reads(read: str) -> None:
    f = pyc.jit(lambda x, i: x[i] * 2)
    x = pyc.device_put(np.arange(8.0))
    good, bad = (pyc.device_put(np.array([1, k, 7])) for k in (2, 9))
    for _ in range(2):
        assert f(x, good).tolist() == [2, 4, 14]
    kept, failed = f(x, good), f(x, bad)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            failed.tolist() if _ else READS[read](failed)
    assert kept.tolist() == f(x, good).tolist() == [2, 4, 14] and native(f) == 4


def test_a_failure_of_one_of_many_calls_is_found() -> None:
    f = pyc.jit(lambda x, i: x[i] + 1)
    x, i = pyc.device_put(np.zeros(3)), pyc.device_put(np.array([0, 1, 2]))
    bad = pyc.device_put(np.array([0, 3, 2]))
    for k in range(200):
        x = f(x, bad if k == 100 else i)
    with pytest.raises(IndexError):
        x.tolist()
    assert native(f) == 199


def test_donated_arrays_are_taken_natively() -> None:
    f = pyc.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x, y = pyc.device_put(np.ones(1000)), pyc.device_put(np.ones(1000))
    address = x.address
    for _ in range(5):
        given, x = x, f(x, y)
        assert given.is_deleted() and x.address == address
    assert x.tolist() == [63] * 1000 and native(f) == 4
