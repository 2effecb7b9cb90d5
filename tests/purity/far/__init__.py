"""Functions with an effect that is far from the line that causes it, or reached in ways that are
seldom looked at, one module for each subject. As `impure.py`."""

from __future__ import annotations

from tests.purity.far import (
    arrays,
    classes,
    clocks,
    containers,
    files,
    iterators,
    methods,
    names,
    output,
    processes,
    settings,
    states,
)

MODULES = (arrays, classes, clocks, containers, files, iterators)
MODULES += (methods, names, output, processes, settings, states)
