"""Locks on files that the kernel lets go of when their holder dies, however it dies.

`take(path)` locks a file that is there for nothing else, or says that another has it. A lock
belongs to the opened file: two threads of one process exclude each other as two processes do.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def take(path: str) -> int | None:
    """The descriptor of the file at `path`, locked; None if another holds it.

    raises OSError: the file cannot be made or opened, or its file system has no locks
    """
    while True:
        descriptor = open_file(path)
        kept = False
        try:
            if not lock(descriptor):
                return None
            # It may have been removed between opening and locking: the file of that name counts.
            kept = is_at(descriptor, path)
            if kept:
                return descriptor
        finally:
            if not kept:
                release(descriptor)


def open_file(path: str) -> int:
    """A descriptor of the file at `path`, made if it is not there; OSError: it cannot be."""
    return os.open(path, _OPEN, 0o600)


def lock(descriptor: int) -> bool:
    """Whether the opened file is locked by us now; False if another holds it.

    raises OSError: its file system has no locks
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_at(descriptor: int, path: str) -> bool:
    """Whether `path` still names the opened file."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def release(descriptor: int) -> None:
    """Gives up the lock, also if a forked child has the file open too, and closes it."""
    with suppress(OSError):  # a network file system that went away has taken it along
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    close(descriptor)


def close(descriptor: int) -> None:
    """Closes a file in which nothing is waiting to be written: what the system says of it is no
    matter, and it is closed in any case."""
    with suppress(OSError):
        os.close(descriptor)
