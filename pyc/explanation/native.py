"""A Plan compiled and run beside the cache: for measuring, which must neither find nor leave
entries, nor count as a call."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from pyc import backends
from pyc.backends.cpu import Cpu
from pyc.forks import compiling
from pyc.ir.plan import CANCELLED, Plan
from pyc.ir.target import Target
from pyc.runtime import call

Array = np.ndarray[Any, Any]


class Native:
    """A Plan of one CPU as code of this process. It calls no external routines."""

    def __init__(self, plan: Plan, target: Target) -> None:
        with compiling:
            self._code = backends.compiler().compile_plan(plan, target)
        self._executable = Cpu().load(self._code, plan)
        self._plan = plan

    def run(self, arguments: Sequence[Any], results: Sequence[Array]) -> float:
        """The seconds of one run, from Python and back.

        raises KeyboardInterrupt; RuntimeError: a check of the program has failed
        """
        start = perf_counter()
        outcome = call.run(
            self._executable.address,
            arguments,
            results,
            arena_bytes=self._plan.peak,
            constants=self._executable.constants.ctypes.data,
            externals=self._executable.externals.ctypes.data,
            release=True,
            parallel=self._code.parallel,
        )
        seconds = perf_counter() - start
        if outcome.code == CANCELLED:
            raise KeyboardInterrupt
        if outcome.code:
            raise RuntimeError(f"check {outcome.site} has failed with {outcome.value}")
        return seconds
