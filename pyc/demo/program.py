"""`Program`: what a demo program is, and how it is run and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from pyc import tree
from pyc.jit import jit


@dataclass(frozen=True)
class Program:
    """One program on real or generated data.

    function: plain NumPy style code, jitted as it stands; reference: the same result by NumPy alone
    (the function itself where it needs no pyc); arguments: makes the inputs; tolerance: largest
    difference allowed, relative to the largest element of each result; sample: the matplotlib
    sample file it needs, if any; picture: (results, path) -> writes a PNG.
    """

    name: str
    title: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]
    tolerance: float
    sample: str | None = None
    picture: Callable[[tuple[Any, ...], Any, Path], None] | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run measured. Times in seconds, those of NumPy and of pyc after its first call the
    shortest of three; difference: the largest one found, relative as in `Program.tolerance`;
    agrees: whether it is allowed."""

    name: str
    numpy: float
    pyc: float
    first_call: float
    difference: float
    agrees: bool


def run(program: Program, folder: Path | None = None, device: str = "cpu") -> Outcome:
    """Runs a program by NumPy and by pyc on the same inputs; pictures go to `folder`. device: what
    pyc runs it on; arguments and results are NumPy arrays in any case."""
    arguments = program.arguments()
    by_numpy, expected = _timed(program.reference, arguments)
    compiled = jit(program.function, device=device)
    start = perf_counter()
    compiled(*arguments)
    first_call = perf_counter() - start
    again, found = _timed(compiled, arguments)
    worst = difference(expected, found)
    if program.picture is not None and folder is not None:
        program.picture(arguments, found, folder / f"{program.name}.png")
    return Outcome(program.name, by_numpy, again, first_call, worst, worst <= program.tolerance)


def _timed(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[float, Any]:
    """The shortest of three runs in seconds, and the result of the last."""
    times = []
    for _ in range(3):
        start = perf_counter()
        result = function(*arguments)
        times.append(perf_counter() - start)
    return min(times), result


def difference(expected: Any, found: Any) -> float:
    """The largest difference between two trees of arrays, each array relative to its largest
    finite element; infinite where NaNs or infinities do not stand in the same places."""
    worst = 0.0
    pairs = zip(tree.leaves(expected), tree.leaves(found), strict=True)
    for a, b in pairs:
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return float("inf")
        a, b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(a)
        if not np.array_equal(finite, np.isfinite(b)):
            return float("inf")
        if not finite.any():
            continue
        scale = max(float(np.abs(a[finite]).max()), 1e-300)
        worst = max(worst, float(np.abs(a - b)[finite].max()) / scale)
    return worst
