"""The ranges of positions that follow from each other in many steps, as in a binary search."""

from __future__ import annotations

import time

import numpy as np

import pyc


def test_the_work_for_a_range_does_not_double_at_each_step() -> None:
    """Each step of a search reads the place of the one before twice: in 2**18 numbers there were
    2**18 paths, and compiling took 13 seconds. 2**22 have sixteen times as many."""
    numbers = np.arange(1 << 22, dtype=np.float32)
    wanted = np.array([3.5, 0, 1e6], np.float32)
    begin = time.process_time()
    lowered = pyc.jit(lambda a, v: np.searchsorted(a, v)).lower(numbers, wanted)
    assert lowered.plan.kernels and time.process_time() - begin < 10
