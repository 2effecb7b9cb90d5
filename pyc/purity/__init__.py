"""Whether a function is pure: refused if it has an effect that compiled code would lose.

A jitted function runs in Python while it is traced, then never again for that signature. What it
does besides computing (a text printed, a file read, a list changed, a clock or a random state read)
would happen once or be the same for ever. Three nets find such effects:

    code.py       at decoration: what the function's own code object says about itself
    watch.py      while tracing: everything that runs is looked at, not everything that is written
                  (hooks.py: functions that are called; audit.py: files, processes, sockets;
                  views.py: what the function is given in place of impure functions;
                  standins.py: in place of iterators, locks and what nobody sees into;
                  held.py: containers, objects and states from outside, before and after;
                  states.py: how these are remembered, compared and put back)
    repeat.py     after tracing: a second trace must give the same program

`table.py` has the rules as data; `docs/purity.md` is written from it. Nothing of this is on the
path of later calls. Above `trace`, which takes a `Watch` through `Namespace.watched_by`.
"""

from __future__ import annotations

from typing import Any

from pyc.forks import load


def watching() -> Any:
    """`pyc.purity.repeat`, the nets of a trace: loaded with the first one."""
    return load("pyc.purity.repeat")


def stand_ins() -> Any:
    """`pyc.purity.standins`, what stands for iterators and locks: loaded with the first object that
    has no translation."""
    return load("pyc.purity.standins")
