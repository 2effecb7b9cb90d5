"""The programs behind `python -m pyc demo`: real data, checked against NumPy.

The data ships with matplotlib (`pip install 'pyc-jit[demo]'`). Without it, the programs on
generated data run and the others are named with what is missing.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from pyc import cache
from pyc.backends.host import host_target
from pyc.demo import colours, generated, prices, terrain, waves
from pyc.demo.data import sample_folder
from pyc.demo.program import Outcome, Program
from pyc.demo.program import run as run_one
from pyc.device import gpu
from pyc.runtime.threads import get_num_threads

PROGRAMS: tuple[Program, ...] = (
    waves.PROGRAM,
    colours.PROGRAM,
    prices.KALMAN,
    prices.OPTIONS,
    terrain.PROGRAM,
    generated.NBODY,
    generated.MANDELBROT,
    generated.TRANSFORMER,
)
NAMES: tuple[str, ...] = tuple(p.name for p in PROGRAMS)
"""What `python -m pyc demo NAME...` takes."""


def _row(outcome: Outcome, title: str) -> str:
    verdict = "agrees" if outcome.agrees else "DIFFERS"
    speed = outcome.numpy / outcome.pyc
    return (
        f"{title:<58} {outcome.numpy * 1e3:9.1f} {outcome.pyc * 1e3:9.2f} {speed:7.1f}x "
        f"{outcome.first_call * 1e3:9.1f}  {verdict} ({outcome.difference:.1e})"
    )


def run(names: Sequence[str] = (), folder: Path | None = None, device: str = "cpu") -> int:
    """Runs the named programs (all if empty), prints the table, and returns the exit status: 0 when
    every program agrees with NumPy. Pictures go to `folder`, if given. DeviceError: there is no
    such device."""
    on = None if device == "cpu" else gpu(device)
    chosen = [p for p in PROGRAMS if not names or p.name in names]
    missing = [p for p in chosen if p.sample is not None and sample_folder() is None]
    header = ("program", "NumPy ms", "pyc ms", "faster", "first ms", "against NumPy")
    print("{:<58} {:>9} {:>9} {:>8} {:>9}  {}".format(*header))
    agrees = True
    for program in chosen:
        if program in missing:
            continue
        outcome = run_one(program, folder if sample_folder() is not None else None, device)
        agrees = agrees and outcome.agrees
        print(_row(outcome, program.title), flush=True)
    for program in missing:
        print(
            f"{program.title:<58} not run: {program.sample} comes with matplotlib, "
            "which is not installed (pip install 'pyc-jit[demo]')"
        )
    print()
    print(cache.stats())
    if on is None:
        print(
            f"device: cpu ({host_target().id}, {get_num_threads()} threads), {platform.machine()}"
        )
    else:
        print(f"device: {on.label} ({on.target.id}, {on.name})")
    return 0 if agrees else 1
