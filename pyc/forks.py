"""Forks: what must not be under way in another thread when a process forks.

The child of a fork has one thread, and whatever the others held is held there for ever. So a fork
takes `compiling` and the locks given to `hold`, and gives them up on both sides: it waits for a
compilation or an import that is under way, and for whoever counts or records. What else the child
has to make anew is given to `in_child`; until that is done no garbage is collected, since a
finaliser may call a jitted function.

`load(name)` is how pyc loads a part of itself, or a package, that few programs need: an import has
locks too.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any

PATIENCE_SECONDS = 0.02
"""Time that a fork waits for one of the locks before it lets go of all of them and begins anew."""


compiling: Any = RLock()
"""Held while the compiler runs, LLVM included, and while `load` imports."""


def is_compiling() -> bool:
    """Whether the current thread has `compiling`. Called back then, by a signal handler or a
    finaliser, it must not wait for another thread: that one may be waiting for the compiler."""
    # The lock itself is asked: a handler may come right after it was taken, before any note of it.
    return bool(compiling._is_owned())


_collects = True
"""Whether the garbage collector was on before the fork."""

_locks: list[Any] = []
_taken: list[Any] = []


def hold(lock: Any) -> None:
    """From now on a fork takes `lock` too, a lock that is never held for long."""
    _locks.append(lock)


@cache
def load(name: str) -> Any:
    """The module of this name, imported now if it is not; ImportError: it cannot be."""
    with compiling:
        return import_module(name)


_in_child: list[Callable[[], None]] = []


def in_child(renew: Callable[[], None]) -> None:
    """From now on a forked child calls `renew` at once, before any code that is not pyc's."""
    _in_child.append(renew)


def _before() -> None:
    global _collects
    # A thread with one of the others may want the compiler, called back by a finaliser: to wait
    # with the compiler in hand for long would be for ever.
    while True:
        compiling.acquire()
        for lock in _locks:
            if not lock.acquire(timeout=PATIENCE_SECONDS):
                break
            _taken.append(lock)
        else:
            # Its finalisers may call whatever the child has yet to renew.
            _collects = gc.isenabled()
            gc.disable()
            return
        _release()
        time.sleep(PATIENCE_SECONDS)


def _release() -> None:
    while _taken:
        _taken.pop().release()
    compiling.release()


def _after() -> None:
    _release()
    if _collects:
        gc.enable()


def _after_in_child() -> None:
    for renew in _in_child:
        renew()
    _after()


# Registered first, `_before` is the last thing before the fork, and the others the first after it.
os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
