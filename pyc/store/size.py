"""The bytes of all entries, as the file `size` tells them in decimal digits.

A writer adds to the number before it renames its entry into place, both while it holds a lock on
that file: the number is never less than what lies there, whoever dies when. Where it is more, or
missing, or rubbish, the entries are counted, which sets it right; so it may be wrong without harm,
and readers never look at it. Where the file system has no locks there is no number.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyc.store import LocalStore, lock, remove

SIZE = "size"

LOCK_SECONDS = 2.0
"""Longest time to wait for another writer: one takes 0.05 ms, to count 20,000 entries 0.1 s."""

_PAUSE_SECONDS = 0.0005


class Size:
    """The number, locked or not. lockless: whether there are no locks here."""

    def __init__(self, path: str, descriptor: int | None, lockless: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self.lockless = lockless

    def read(self) -> int | None:
        """The number; None: there is none, or it cannot be had."""
        return None if self._descriptor is None else _number(self._descriptor)

    def write(self, total: int) -> None:
        """Sets the number; if that fails there is none any more. OSError: the old one stays."""
        if self._descriptor is None:
            return
        try:
            # One write of fixed length: a process that dies leaves the old number or the new one.
            os.pwrite(self._descriptor, b"%020d\n" % max(total, 0), 0)
        except OSError:
            if not remove(self._path):
                raise

    def forget(self) -> None:
        """Removes the number: the next writer counts."""
        remove(self._path)


@contextmanager
def locked(store: LocalStore) -> Iterator[Size]:
    """The number, locked inside the block.

    If that cannot be had in time the file is removed, so that the next writer counts anew.
    """
    path = os.path.join(store.directory, SIZE)
    try:
        descriptor, lockless = take(path, LOCK_SECONDS), False
    except OSError:
        descriptor, lockless = None, True
    if descriptor is None:
        remove(path)
    try:
        yield Size(path, descriptor, lockless)
    finally:
        if descriptor is not None:
            lock.release(descriptor)


def take(path: str, seconds: float) -> int | None:
    """The locked file at `path`, or None if another keeps it so long. OSError: it has no locks."""
    end = time.monotonic() + seconds
    while (descriptor := lock.take(path)) is None and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
    return descriptor


def recorded(store: LocalStore) -> int | None:
    """The number as it is now, without a lock; None: there is none."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(os.path.join(store.directory, SIZE), flags)
    except OSError:
        return None
    try:
        return _number(descriptor)
    finally:
        lock.close(descriptor)


def _number(descriptor: int) -> int | None:
    try:
        text = os.pread(descriptor, 32, 0)
    except OSError:  # something else has the name
        return None
    return int(text) if re.fullmatch(rb"\d{20}\n", text) else None
