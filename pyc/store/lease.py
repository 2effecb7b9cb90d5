"""Leases: of several processes or threads that miss one program, one compiles it, the others wait.

    turn = take(path)          at once, or when the holder is done, dead or stuck
    turn.lease                 to be released after storing; None: look again, do without
    turn.reason                why it came to that; None if all went as it should

A lease is a lock of the kernel on a file of its own (`store/lock.py`). Whoever dies lets go of it
that instant, and one of those who wait takes it over. A living holder is believed for as long as it
makes progress: its heartbeat is the processor time that the kernel counts for it. That costs it
nothing, needs no thread (a process that has one must not fork), and stands still if the process is
stopped. After SILENT_SECONDS without a beat, or WAIT_SECONDS in all, one who waits compiles on its
own. Nothing but time depends on leases: whoever compiles, compiles the same bytes, and stores them
whole.

The file holds the holder's process number, when that process began (numbers come again), and what
tells whether the number means the same to the reader: the boot of the machine and the namespace of
process numbers. What is in the file is believed only so far: it decides how long one waits.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from threading import get_ident
from types import MappingProxyType
from typing import NamedTuple

from pyc.forks import in_child
from pyc.reasons import Reason
from pyc.store import lock, make_folder, remove, said

WAIT_SECONDS = 60.0
"""Longest time to wait for another's compilation."""

SILENT_SECONDS = 5.0
"""Time without progress from which a holder is taken to be stuck."""

DEAD_SECONDS = 0.2
"""Time for which a holder is seen dead before its lock is taken to be kept by somebody else."""

_BEAT_SECONDS = 0.05
"""Time between two looks at a holder's processor time, which is counted in steps of 0.01 s."""

_FIRST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.01
"""Seconds between two tries to get the lock."""


class Lease:
    """The right to compile one program, until `release` or the death of the process."""

    def __init__(self, path: str, descriptor: int) -> None:
        """descriptor: of the locked file at `path`."""
        self._path = path
        self._descriptor = descriptor
        self.thread = get_ident()
        process = str(os.getpid())
        state = _state_of(process)
        # ext4 writes a file that was cut short to the disk when it is closed, for milliseconds.
        if os.fstat(descriptor).st_size:
            os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{process} {state.began if state else 0} {_realm()}".encode(), 0)
        _held[path] = self

    def release(self) -> None:
        """Ends the lease; does nothing in a forked child, which never had it."""
        if _held.get(self._path) is not self:
            return
        del _held[self._path]
        # In this order: who gets the lock of a file that is still there knows that we died.
        if not remove(self._path):
            with suppress(OSError):  # a directory that has become read only: it names nobody
                os.ftruncate(self._descriptor, 0)
        lock.release(self._descriptor)


_held: dict[str, Lease] = {}
"""The leases of this process, by path."""

_asking: set[int] = set()
"""The threads that ask for a lease."""


def _forget() -> None:
    """In a forked child: the leases are the parent's. To close their files does not end them."""
    for lease in _held.values():
        lock.close(lease._descriptor)
    _held.clear()
    _asking.clear()


in_child(_forget)


class Turn(NamedTuple):
    """What came of asking for a lease.

    lease: None if it is not needed (the holder is done: what it stored can be found) or was not to
    be had; reason: why not, or that a dead holder's was taken over; waited: seconds; details: texts
    by name.
    """

    lease: Lease | None
    reason: Reason | None = None
    waited: float = 0.0
    details: Mapping[str, str] = MappingProxyType({})


def take(path: str, *, wait: bool = True) -> Turn:
    """The lease of the program that the file at `path` stands for, once nobody else has it.

    wait: whether that is waited for. A thread that has a lease, or asks for one, does not wait in
    any case: it was called back by a signal handler or a finaliser, and others may wait for it.
    """
    thread, start = get_ident(), time.monotonic()
    asking = thread in _asking
    wait = wait and not asking and all(x.thread != thread for x in list(_held.values()))
    _asking.add(thread)
    try:
        return _taken(path, start, wait)
    finally:
        if not asking:
            _asking.discard(thread)


def _taken(path: str, start: float, wait: bool) -> Turn:
    broken: Turn | None = None
    try:
        make_folder(os.path.dirname(path))
        while True:
            turn = _try(path, start, wait)
            if turn.reason is not Reason.CACHE_LEASE_BROKEN or turn.lease is not None:
                break
            broken = turn  # its file is gone now: the next one is anybody's
    except OSError as error:
        details = {"path": path, "error": said(error)}
        return Turn(None, Reason.CACHE_LEASE_UNAVAILABLE, time.monotonic() - start, details)
    if broken is not None:
        turn = turn._replace(waited=max(turn.waited, broken.waited))
        if turn.reason is None:
            turn = turn._replace(reason=broken.reason, details=broken.details)
    return turn


def _try(path: str, start: float, wait: bool) -> Turn:
    """What comes of the file that is at `path` now, or is made. OSError: it cannot be locked."""
    descriptor = lock.open_file(path)
    kept = False
    try:
        turn = _wait(path, descriptor, start, wait)
        kept = turn.lease is not None
        return turn
    finally:
        if not kept:
            # Not just closed: a child that was forked meanwhile has the file open, and would keep
            # the lock from others who wait.
            lock.release(descriptor)


def _wait(path: str, descriptor: int, start: float, wait: bool) -> Turn:
    """What comes of an opened file."""
    holder = _Holder(descriptor)
    pause, waited = _FIRST_PAUSE, 0.0
    while not lock.lock(descriptor):
        if not wait:
            return Turn(None, Reason.CACHE_LEASE_NESTED, 0.0, holder.details())
        waited = time.monotonic() - start
        silent = holder.silent()
        if holder.is_dead():
            # A child that it forked keeps the file open, and with it the lock.
            if lock.is_at(descriptor, path):
                remove(path)
            return Turn(None, Reason.CACHE_LEASE_BROKEN, waited, holder.details())
        if silent > SILENT_SECONDS:
            return Turn(None, Reason.CACHE_LEASE_SILENT, waited, holder.details())
        if waited > WAIT_SECONDS:
            return Turn(None, Reason.CACHE_LEASE_TIMEOUT, waited, holder.details())
        time.sleep(pause)
        pause = min(1.5 * pause, _LONGEST_PAUSE)
    if not lock.is_at(descriptor, path):
        return Turn(None, None, waited)  # who held it has finished, and removed it
    left = _Holder(descriptor)
    reason = Reason.CACHE_LEASE_BROKEN if left.process else None
    return Turn(Lease(path, descriptor), reason, waited, left.details())


class _Holder:
    """The process that the opened file of a lease names, watched while one waits for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._name: bytes | None = None
        self.process, self._began, self._comparable = "", 0, False
        self._beats: int | None = -1
        self._beaten = self._looked = time.monotonic()
        self._identify()

    def details(self) -> dict[str, str]:
        """The process, for a report."""
        return {"process": self.process} if self.process else {}

    def silent(self) -> float:
        """Seconds without progress; 0 where that cannot be known."""
        now = time.monotonic()
        if now - self._looked >= _BEAT_SECONDS:
            self._looked = now
            beats = self._count_beats() if self._comparable else -1
            # The next holder may have the file already, without having written its name.
            if self._identify() or beats != self._beats:
                self._beats, self._beaten = beats, now
        return now - self._beaten if self._comparable else 0.0

    def is_dead(self) -> bool:
        """Whether it has been seen dead for a while, though the file is still locked."""
        return self._beats is None and self.silent() > DEAD_SECONDS

    def _count_beats(self) -> int | None:
        """Ticks that the process has run; None if it is dead."""
        state = _state_of(self.process)
        return state.ticks if state is not None and state.began == self._began else None

    def _identify(self) -> bool:
        """Reads who has the lease; whether that is another one than before."""
        name = os.pread(self._descriptor, 200, 0)
        if name == self._name:
            return False
        self._name = name
        found = _NAME.fullmatch(name)
        self.process, self._began, self._comparable = "", 0, False
        if found is not None:  # else it is being written, or something else has written there
            self.process, self._began = found[1].decode(), int(found[2])
            self._comparable = bool(_realm()) and found[3] == _realm().encode()
        return True


_NAME = re.compile(rb"(\d{1,10}) (\d{1,20}) ([ -~]*)")
"""What is in the file of a lease: a process number, when the process began, the realm of both."""


@cache
def _realm() -> str:
    """Where process numbers mean the same: this boot and this namespace; "" if it is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            boot = file.read().strip()
        return f"{boot} {os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return ""


class _State(NamedTuple):
    """What the kernel says of a living process: ticks that it has run; when it began, in ticks
    since the boot."""

    ticks: int
    began: int


def _state_of(process: str) -> _State | None:
    """The state of a process; None if it is dead."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    dead = fields[0] in (b"Z", b"X")
    return None if dead else _State(int(fields[11]) + int(fields[12]), int(fields[19]))
