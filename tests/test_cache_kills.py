"""Writers killed at any point: what they reported as stored is there, and nothing else is wrong.

Four processes store entries of their own and entries that all of them store, under leases, in one
directory; each reports what is stored; all four are killed (SIGKILL) at a random moment, again and
again. A second test kills a writer before and after every single call of the system.
"""

from __future__ import annotations

import ctypes
import fcntl
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pyc import cache, config
from pyc.fingerprint import Document
from pyc.store import Entry, LocalStore, Miss, lease, lock, write

WRITERS = 4
KEYS = 6
"""Entries that each writer has to itself, and as many that all of them have together."""


def own_document(writer: int, n: int) -> Document:
    return {"writer": writer, "n": n % KEYS}


def payload(document: Document, version: int) -> Document:
    """Long and short ones; the content tells the version."""
    fill = bytes([version % 251]) * (version % 97)
    return {"document": document, "version": version, "fill": fill}


def write_for_ever(directory: str, writer: int, version: int, report: int) -> None:
    """Stores versions of its own entries and the common ones; writes each version to `report`."""
    config.update("cache_dir", directory)
    store = LocalStore(directory)
    while True:
        version += 1
        document = own_document(writer, version)
        assert write.put(store, document, {}, payload(document, version), compile_seconds=0) is None
        os.write(report, b"%d\n" % version)
        common = {"common": version % KEYS}
        with cache.claim(common, {}):
            cache.store(common, {}, payload(common, 0), 0.0)


def kill_writers(directory: str, rounds: int, seed: int) -> None:
    """Starts and kills four writers `rounds` times; AssertionError if anything is lost or wrong."""
    chance = random.Random(seed)
    reported: dict[tuple[int, int], int] = {}
    starts = [0] * WRITERS
    for _ in range(rounds):
        running = []
        for writer in range(WRITERS):
            read, written = os.pipe()
            pid = os.fork()
            if pid == 0:
                write_for_ever(directory, writer, starts[writer], written)
            os.close(written)
            running.append((pid, writer, read))
        time.sleep(chance.random() * 0.02)
        for pid, _, _ in chance.sample(running, WRITERS):
            os.kill(pid, signal.SIGKILL)
        for pid, writer, read in running:
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
            with os.fdopen(read, "rb") as lines:
                versions = [int(line) for line in lines.read().split()]
            reported |= {(writer, version % KEYS): version for version in versions}
            # One more may have been stored without having been reported.
            starts[writer] = max([starts[writer], *versions]) + 2
        check(directory, reported)
    assert sum(starts) > WRITERS * rounds * 3, "the writers were killed before they wrote anything"


def check(directory: str, reported: dict[tuple[int, int], int]) -> None:
    """What is in the directory is whole, is what was reported or newer, and is counted."""
    store = LocalStore(directory)
    total = 0
    for path in store.paths():
        found = store.read(path)
        assert isinstance(found, Entry), f"a reader met {found}"
        assert found.payload == payload(found.document, found.payload["version"])
        total += found.nbytes
    for (writer, n), version in reported.items():
        found = store.lookup(own_document(writer, n), {})
        assert isinstance(found, Entry), f"version {version} of {writer, n} is lost: {found}"
        assert found.payload["version"] >= version
    size = Path(directory, "size")
    number = size.read_bytes() if size.exists() else b""
    assert not number or int(number) >= total, "fewer bytes are recorded than there are"
    assert store.set_aside() == []


def check_afterwards(directory: str) -> None:
    """Nobody waits for the dead, and what they left can be removed."""
    config.update("cache_dir", directory)
    for k in range(KEYS):
        start = time.monotonic()
        turn = lease.take(write.lease_path(cache.disk(writable=True), {"common": k}, {}))
        assert time.monotonic() - start < 0.5
        assert turn.lease is not None
        turn.lease.release()
    write.ABANDONED_SECONDS = -1.0
    cache.prune()
    store = LocalStore(directory)
    names = {path.name for path in Path(directory).rglob("*") if path.is_file()}
    assert names == {os.path.basename(path) for path in store.paths()} | {"size"}
    assert int(Path(directory, "size").read_bytes()) == sum(map(store.nbytes, store.paths()))


def harness(directory: str, rounds: int) -> None:
    os.nice(10)
    kill_writers(directory, rounds, seed=rounds)
    check_afterwards(directory)


def run_alone(work: Callable[..., None], *arguments: object) -> None:
    """`work` in a process of its own: one without threads, which can fork safely."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


@pytest.fixture
def folder() -> Iterator[str]:
    """A directory in memory where there is one: flushing a file to a disk takes so long that most
    writers would die there."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=base) as made:
        yield made


def test_forty_times_four_killed_writers_lose_nothing(folder) -> None:
    run_alone(harness, folder, 40)


@pytest.mark.slow
def test_a_thousand_times_four_killed_writers_lose_nothing(folder) -> None:
    run_alone(harness, folder, 1000)


# --- at every call of the system ------------------------------------------------------------------

CALLS = {
    os: (
        *("open", "close", "stat", "fstat", "listdir", "mkdir", "chmod", "replace", "unlink"),
        *("utime", "write", "pread", "pwrite", "ftruncate"),
    ),
    fcntl: ("flock",),
}


def die_at(moment: int) -> list[int]:
    """From now on this process dies at its `moment`-th moment: before or after a system call.
    Returns a list of one number, that of the moments so far."""
    passed = [0]
    # From C, so that the patched functions are not needed for it.
    kill = getattr(ctypes.CDLL(None), "raise")

    def step() -> None:
        if passed[0] == moment:
            kill(signal.SIGKILL)
        passed[0] += 1

    def deadly(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            step()
            result = real(*args, **kwargs)
            step()
            return result

        return call

    for module, names in CALLS.items():
        for name in names:
            setattr(module, name, deadly(getattr(module, name)))
    return passed


def store_once(directory: str) -> None:
    """What a process does that misses a program and stores it; another entry leaves for it."""
    config.update("cache_dir", directory)
    config.update("cache_max_bytes", 3000)
    with cache.claim({"new": 1}, {}, "f") as found:
        if isinstance(found, Miss):
            cache.store({"new": 1}, {}, payload({"new": 1}, 50), 0.1, "f")


def kill_everywhere(directory: str) -> None:
    """Kills a writer at every moment of its work, each time in a fresh directory of three
    entries."""
    import_writer()
    moment, finished = 0, False
    while not finished:
        folder = f"{directory}/{moment}"
        store = LocalStore(folder)
        for k in range(3):
            old = {"old": k}
            long = {"version": 0, "fill": bytes(800)}
            assert write.put(store, old, {}, long, compile_seconds=0) is None
        pid = os.fork()
        if pid == 0:
            die_at(moment)
            store_once(folder)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert status in (0, -signal.SIGKILL)
        finished = status == 0
        check_one(folder, moment)
        moment += 1
    assert moment > 40, "there are more calls than that"


def import_writer() -> None:
    """Loads what a writer needs, so that importing it is not part of its moments."""
    assert lock.take is not None
    assert lease.take is not None


def check_one(folder: str, moment: int) -> None:
    store = LocalStore(folder)
    for k in range(3):
        found = store.lookup({"old": k}, {})
        assert isinstance(found, (Entry, Miss))
        assert store.set_aside() == [], f"at {moment}"
    new = store.lookup({"new": 1}, {})
    if isinstance(new, Entry):
        assert new.payload == payload({"new": 1}, 50)
    # The next one stores, though another died at it, and keeps the bound.
    config.update("cache_dir", folder)
    with config.using(cache_max_bytes=3000):
        with cache.claim({"new": 2}, {}, "f") as found:
            assert isinstance(found, Miss)
            assert cache.store({"new": 2}, {}, payload({"new": 2}, 50), 0.1, "f")
        assert cache.stats().bytes <= 3000, f"at {moment}"
    assert isinstance(store.lookup({"new": 2}, {}), Entry)
    assert store.set_aside() == []


def test_a_writer_that_dies_at_any_moment_does_no_harm(folder) -> None:
    run_alone(kill_everywhere, folder)
