"""Fewer runs of Python's garbage collector while much is made that stays.

Importing pyc makes 25,000 objects, a program of ten thousand operations a million, nearly all of
which stay until it is compiled. The collector runs each time that 700 more are there than before,
looks at the young ones every time, and at everything in the process now and then: that was a third
of the time of long programs and a tenth of a start. Inside of `seldom` it runs each `YOUNG`
objects. What a function leaves behind in cycles is collected all the same, a little later.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock, get_ident

from pyc.forks import hold, in_child

YOUNG = 50_000
"""Objects made since the last run that begin one."""

_lock = RLock()
hold(_lock)
_users: Counter[int] = Counter()
"""How many blocks of `seldom` each thread is in."""
_before: tuple[int, int, int] = gc.get_threshold()
_ours: tuple[int, int, int] | None = None
"""The thresholds that were set here, in place of those of `_before`."""


def _begin() -> None:
    global _before, _ours
    with _lock:
        _users[get_ident()] += 1
        if _users.total() == 1:
            _before = gc.get_threshold()
            # 0 switches the collector off, and a program may want it to run even less than this.
            if 0 < _before[0] < YOUNG:
                _ours = (YOUNG, *_before[1:])
                gc.set_threshold(*_ours)


def _end() -> None:
    with _lock:
        thread = get_ident()
        _users[thread] -= 1
        if not _users[thread]:
            del _users[thread]
        _settle()


def _settle() -> None:
    global _ours
    if not _users and _ours is not None:
        if gc.get_threshold() == _ours:
            gc.set_threshold(*_before)
        _ours = None


def keep() -> None:
    """Tells the collector that what is there now stays: it goes among the oldest objects, which are
    looked at last, without the two runs of 3 ms that would find out. Nothing is exempt from it."""
    if not gc.get_freeze_count():  # else a program has put objects aside, which would come back
        gc.freeze()
        gc.unfreeze()


@contextmanager
def seldom() -> Iterator[None]:
    """Inside the block the collector runs seldom; thresholds that are changed meanwhile stay."""
    _begin()
    try:
        yield
    finally:
        _end()


def _forget_threads() -> None:
    """In a forked child: the other threads did not come along, and will not leave their blocks."""
    mine = get_ident()
    for thread in [t for t in _users if t != mine]:
        del _users[thread]
    _settle()


in_child(_forget_threads)
