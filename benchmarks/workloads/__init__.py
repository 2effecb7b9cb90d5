"""The workloads of the suite: a file a family, an entry a class, the peers' versions beside it."""

from __future__ import annotations

import importlib

from benchmarks.workloads.entry import CATALOGUE, Workload

FAMILIES = (
    "ceilings",
    "elementwise",
    "reductions",
    "rows",
    "stencils",
    "linear_algebra",
    "control",
    "places",
    "programs",
)


def every() -> dict[str, Workload]:
    """All workloads by name, in the order of their families."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    return CATALOGUE
