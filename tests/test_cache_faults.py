"""The system refuses a call, any call, once or from then on: the program runs, and nothing is lost.

A miss is compiled, stored, and makes room by evicting, while one of the calls of the system that
this takes fails as on a full disk, a directory that has become read only, a network file system
that went away, or a process that has too many files open. Nothing of that is ever an exception.
"""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyc import cache, config, reasons
from pyc.fingerprint import Document
from pyc.reasons import Reason
from pyc.store import Entry, LocalStore, lease, write

CALLS = {
    os: (
        *("open", "close", "stat", "fstat", "listdir", "mkdir", "chmod", "replace", "unlink"),
        *("utime", "write", "pread", "pwrite", "ftruncate"),
    ),
    fcntl: ("flock",),
}

CODES = {
    name: getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO", "ESTALE", "EMFILE", "ENOLCK")
}

FOR_GOOD = ("EROFS", "EACCES")
"""What says that a directory may not be written; the others may be over the next time."""

BOUND = 3000


class Faults:
    """From `moment` on (or only then) calls of the system by this thread fail with `code`."""

    def __init__(self, patch: pytest.MonkeyPatch, moment: int, code: int, lasting: bool) -> None:
        self.moment, self.code, self.lasting = moment, code, lasting
        self.calls = 0
        for module, names in CALLS.items():
            for name in names:
                patch.setattr(module, name, self.failing(name, getattr(module, name)))

    def failing(self, name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            now, self.calls = self.calls, self.calls + 1
            if now == self.moment or (self.lasting and now > self.moment):
                if name == "close":
                    real(*args, **kwargs)  # a descriptor is closed, also if that fails
                raise OSError(self.code, os.strerror(self.code))
            return real(*args, **kwargs)

        return call


def payload(k: int) -> Document:
    return {"k": k, "fill": bytes(800)}


def prepare(folder: str) -> None:
    """Three entries, near the bound, the last one damaged and the first one used long ago."""
    store = LocalStore(folder)
    for k in range(3):
        assert write.put(store, {"old": k}, {}, payload(k), compile_seconds=0, label="old") is None
    os.utime(store.path(cache.key_of({"old": 0}), {}), (1, 1))
    Path(store.path(cache.key_of({"old": 2}), {})).write_bytes(b"half")


def work() -> None:
    """Two hits, one of a damaged entry, and a miss that is stored and evicts."""
    for document in ({"old": 0}, {"old": 2}, {"new": 1}):
        made = cache.obtain(document, {}, lambda: payload(7), "f")
        assert made["fill"] == bytes(800)


def check(folder: str, name: str, at: str) -> None:
    """What is in the directory is whole, and the next process is not disturbed."""
    cache.memory.clear()
    reader = LocalStore(folder, writable=False)
    for path in reader.paths():
        found = reader.read(path)
        assert isinstance(found, Entry) or "half" in Path(path).read_text(errors="ignore"), at
    start = time.monotonic()
    turn = lease.take(write.lease_path(LocalStore(folder), {"new": 1}, {}))
    assert turn.lease is not None, f"{at}: the lease is not free: {turn}"
    turn.lease.release()
    assert time.monotonic() - start < 1.0, f"{at}: waited for a lease of nobody"
    with config.using(cache_max_bytes=BOUND):
        store = LocalStore(folder)
        assert write.put(store, {"next": 1}, {}, payload(1), compile_seconds=0) is None, at
        write.evict(store, BOUND)
        assert sum(map(store.nbytes, store.paths())) <= BOUND, at


@pytest.fixture
def base() -> Iterator[str]:
    """A directory in memory where there is one: files are flushed some ten thousand times."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as made:
        yield made


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from_then_on"])
@pytest.mark.parametrize("name", CODES)
def test_a_call_of_the_system_that_fails_is_no_exception(base, monkeypatch, name, lasting):
    moment, finished = 0, False
    recorded = set()
    while not finished:
        folder = f"{base}/{moment}"
        prepare(folder)
        cache.reset_stats()
        reasons.clear()
        with (
            config.using(cache="rw", cache_dir=folder, cache_max_bytes=BOUND),
            monkeypatch.context() as patch,
        ):
            faults = Faults(patch, moment, CODES[name], lasting)
            work()
        finished = faults.calls <= moment
        recorded |= {event.reason for event in reasons.events("cache")}
        if not finished:
            stored = cache.counted()["f"].stored
            refusals = [e for e in reasons.events("cache") if os.strerror(CODES[name]) in str(e)]
            assert stored == 2 or refusals, f"at {moment}: not stored without a reason"
        check(folder, name, f"{name} at {moment}")
        moment += 1
    assert moment > 60, "there are more calls than that"
    expected = Reason.CACHE_READ_ONLY if name in FOR_GOOD else Reason.CACHE_NOT_STORED
    assert (expected in recorded) is ((name, lasting) != ("ESTALE", False)), "that is tried again"
    assert Reason.CACHE_LEASE_UNAVAILABLE in recorded
    assert Reason.CACHE_UNREADABLE in recorded
