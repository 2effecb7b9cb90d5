"""Targets by name: what a program is lowered for that this machine need not run."""

from __future__ import annotations

import re

from pyc.backends.host import host_target
from pyc.errors import ArgumentError
from pyc.ir.target import CPUS, OLDEST, Target, nvptx


def named(name: str) -> Target:
    """The target "native", "x86-64-v3", "x86-64-v4" or "sm_90", "sm_100" ...; ArgumentError: there
    is none of that name."""
    gpu = re.fullmatch(r"sm_(\d{2,3})a?", name)
    if gpu is not None and int(gpu[1]) >= OLDEST:
        return nvptx(int(gpu[1]))
    if name == "native":
        return host_target()
    if name not in CPUS:
        raise ArgumentError(
            f"there is no target {name!r}",
            fix=f"There are native, {', '.join(CPUS)}, and GPUs from sm_{OLDEST} on, as sm_90.",
        )
    return CPUS[name]
