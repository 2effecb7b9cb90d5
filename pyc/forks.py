"""Forks: what must not be under way in another thread when a process forks.

The child of a fork has one thread, and whatever the others held is held there for ever. So a fork
takes `compiling` and the locks given to `hold`, and gives them up on both sides: it waits for a
compilation or an import that is under way, and for whoever counts or records. The child first does
what was given to `in_child`; no finaliser of the user runs before that is done, as one that calls a
jitted function would wait for threads that did not come along.

Signal handlers and finalisers may compile too, wherever they come: in the middle of a compilation,
and while their thread has one of the locks given to `hold`. They wait for nobody (`may_wait`) but
the compiler, and whoever waits for that gives up the others meanwhile: so those that have the
compiler can count and record. To the lines that are interrupted it is as if the handler had run
them, which it may in any case.

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


_locks: list[Any] = []
_taken: list[Any] = []
_renewals: list[Callable[[], object]] = []
_collects: list[bool] = []
"""Whether Python's collector was on, while a fork is under way."""


def hold(lock: Any) -> None:
    """From now on a fork takes `lock` too, an RLock that is never held for long."""
    _locks.append(lock)


class _Compiling:
    """The lock of the compiler, of one thread at a time, which may take it again."""

    def __init__(self) -> None:
        self._lock: Any = RLock()

    def acquire(self) -> None:
        """Waits until no other thread has it, without the locks of `hold` that this one has."""
        if self._lock.acquire(blocking=False):
            return
        given_up = [(lock, lock._release_save()) for lock in _locks if lock._is_owned()]
        try:
            self._lock.acquire()
        finally:
            for lock, state in given_up:
                lock._acquire_restore(state)

    def release(self) -> None:
        """Ends what one `acquire` began."""
        self._lock.release()

    def is_mine(self) -> bool:
        """Whether the current thread has it."""
        # The lock itself is asked: a handler may come right after it was taken, before any note.
        return bool(self._lock._is_owned())

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


compiling = _Compiling()
"""Held while the compiler runs, LLVM included, and while `load` imports."""


def may_wait() -> bool:
    """Whether the current thread may wait for another one. Not if it has `compiling`, or a lock of
    `hold`: it was called back by a signal handler or a finaliser, and the other one may wait for
    that lock."""
    return not compiling.is_mine() and not any(lock._is_owned() for lock in _locks)


def in_child(renew: Callable[[], object]) -> None:
    """From now on the child of a fork calls `renew` before anything else."""
    _renewals.append(renew)


@cache
def load(name: str) -> Any:
    """The module of this name, imported now if it is not; ImportError: it cannot be."""
    with compiling:
        return import_module(name)


def _before() -> None:
    # A thread with one of the others may want the compiler, called back by a finaliser: to wait
    # with the compiler in hand for long would be for ever.
    while True:
        compiling.acquire()
        for lock in _locks:
            if not lock.acquire(timeout=PATIENCE_SECONDS):
                break
            _taken.append(lock)
        else:
            _collects.append(gc.isenabled())
            gc.disable()
            return
        _release()
        time.sleep(PATIENCE_SECONDS)


def _release() -> None:
    while _taken:
        _taken.pop().release()
    compiling.release()


def _after() -> None:
    collects = _collects.pop()
    _release()
    if collects:
        gc.enable()


def _after_in_child() -> None:
    for renew in _renewals:
        renew()
    _after()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
