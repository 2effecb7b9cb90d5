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

`Beside(compute)` computes in a thread of pyc's own, which a fork waits for as well.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from threading import RLock, Thread
from typing import Any

PATIENCE_SECONDS = 0.02
"""Time that a fork waits for one of the locks before it lets go of all of them and begins anew."""

MOST_HANDLERS = 100
"""How often signal handlers may raise during one fork until it goes on without the locks."""


_locks: list[Any] = []
_renewals: list[Callable[[], object]] = []


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


def later(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called."""

    def call(*args: Any, **params: Any) -> Any:
        return getattr(load(module), name)(*args, **params)

    return call


class Beside:
    """`compute()` in a thread of its own, which takes none of the locks above.

    It runs no code of the user, but a finaliser may come there too, and want the compiler: so
    nobody waits for the thread for ever, and who has waited in vain computes for himself.
    """

    def __init__(self, compute: Callable[[], Any]) -> None:
        """To be made with `compiling`: a fork has it, and then no thread begins."""
        self.seconds = 0.0
        """How long it computed."""
        self._compute = compute
        self._result: Any = None
        self._thread = Thread(target=self._run, name="pyc compiles")
        _beside.append(self._thread)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads, or the interpreter is about to end
            _beside.remove(self._thread)

    def _run(self) -> None:
        start = time.perf_counter()
        try:
            # An error comes again where the result is computed for want of this one.
            with suppress(Exception):
                made = self._compute()
                self.seconds = time.perf_counter() - start
                self._result = made
        finally:
            _beside.remove(self._thread)

    def result(self, seconds: float) -> Any:
        """What was computed; None if nothing was, within `seconds` from now."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return self._result


_beside: list[Thread] = []
"""Those that compute."""


def threads_of_pyc() -> set[int]:
    """The identifiers of the threads that compute for pyc: they run no code of the user."""
    return {thread.ident for thread in _beside if thread.ident is not None}


class _Fork:
    """A fork under way, and the locks that it has taken. A signal handler that comes meanwhile and
    forks has another one."""

    def __init__(self) -> None:
        self._before = [lock for lock in _every_lock() if _is_mine(lock)]
        self._taken: list[Any] = []
        self._collects = False

    def take(self) -> None:
        """Takes all locks, and switches Python's collector off."""
        # A thread with one of the others may want the compiler, called back by a finaliser: to wait
        # with the compiler in hand for long would be for ever.
        self._release()
        while not self._try():
            self._release()
            time.sleep(PATIENCE_SECONDS)
        self._collects = gc.isenabled() or self._collects
        gc.disable()

    def give_back(self) -> None:
        """Ends what `take` began."""
        self._release()
        if self._collects:
            gc.enable()

    def _try(self) -> bool:
        compiling.acquire()
        self._taken.append(compiling)
        for lock in _locks:
            if not lock.acquire(timeout=PATIENCE_SECONDS):
                return False
            self._taken.append(lock)
        for thread in tuple(_beside):
            thread.join(PATIENCE_SECONDS)
        return not _beside

    def _release(self) -> None:
        while self._taken:
            self._taken.pop().release()
        for lock in _every_lock():  # where a handler raised right after one was taken
            while lock not in self._before and _is_mine(lock):
                lock.release()


def _every_lock() -> list[Any]:
    return [compiling, *_locks]


def _is_mine(lock: Any) -> bool:
    return compiling.is_mine() if lock is compiling else bool(lock._is_owned())


_forks: list[_Fork] = []
"""Those under way in this thread, which has all the locks: one, but for handlers that fork."""


def _completely(work: Callable[[], object]) -> None:
    """Does all of `work`, which may be begun anew: also where a signal handler raises in the middle
    of it. What it raised is raised afterwards; Python shows it, and goes on with the fork."""
    raised: BaseException | None = None
    for _ in range(MOST_HANDLERS):
        try:
            work()
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


def _before() -> None:
    here = _Fork()
    try:
        _completely(here.take)
    finally:
        _forks.append(here)


def _after() -> None:
    _completely(_forks.pop().give_back)


def _after_in_child() -> None:
    _beside.clear()  # of a fork that went on without waiting
    try:
        for renew in _renewals:
            _completely(renew)
    finally:
        _after()


os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
