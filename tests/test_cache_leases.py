"""Leases: of those who miss one program one compiles it, whatever becomes of the others.

Holders are real processes that are killed, stopped or left to finish; a lease changes what is done
twice, never what comes out.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc import backends, cache, config, reasons
from pyc.errors import CacheMissError
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.store import Entry, Miss, lease, lock, write

DOCUMENT = {"graph": "graph(%0: f32[8])\n  return %0\n", "options": {}}
FACTS = {"vector_bytes": 32}
PAYLOAD = {"object": b"\x90\xc3"}

FORK = multiprocessing.get_context("fork")


def path() -> str:
    return write.lease_path(cache.disk(writable=True), DOCUMENT, FACTS)


def last_reasons() -> list[Reason]:
    return [event.reason for event in reasons.events("cache")]


@contextmanager
def process(work: Callable[[], None]) -> Iterator[int]:
    """A forked process that runs `work` after it has said so; killed at the end of the block."""
    read, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            turn = lease.take(path())
            assert turn.lease is not None
            os.write(written, b"!")
            work()
            turn.lease.release()
        finally:
            os._exit(0)
    os.close(written)
    try:
        assert os.read(read, 1) == b"!", "the holder did not get the lease"
        yield pid
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def sleep() -> None:
    time.sleep(60)


def work_hard() -> None:
    while True:
        pass


def work_hard_for(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def after(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.start()
    return timer


# --- one holder at a time -------------------------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_the_first_to_ask_compiles_at_once() -> None:
    with cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
        assert os.path.exists(path())
        assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f")
    assert not os.path.exists(path())
    with cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Entry)
        assert not os.path.exists(path()), "a hit needs no lease"
    assert last_reasons() == [Reason.CACHE_EMPTY]
    assert cache.counted()["f"].lease_waits == 0


@pytest.mark.usefixtures("cache_dir")
def test_a_failed_compilation_ends_its_lease() -> None:
    with pytest.raises(ZeroDivisionError), cache.claim(DOCUMENT, FACTS, "f"):
        raise ZeroDivisionError
    assert not os.path.exists(path())
    turn = lease.take(path())
    assert turn.lease is not None
    assert turn.waited == 0.0
    turn.lease.release()


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("mode", ["off", "ro", "frozen"])
def test_who_may_not_store_takes_no_lease(cache_dir, mode) -> None:
    with config.using(cache=mode):
        try:
            with cache.claim(DOCUMENT, FACTS, "f") as found:
                assert isinstance(found, Miss)
        except CacheMissError:
            assert mode == "frozen"
    assert not (cache_dir / "leases").exists()


@pytest.mark.usefixtures("cache_dir")
def test_a_thread_waits_for_another_and_finds_what_it_stored() -> None:
    """Two jitted functions of one program in one process are two functions."""
    entered, found = threading.Event(), []

    def wait() -> None:
        entered.set()
        with (
            config.using(cache="rw", cache_dir=directory),
            cache.claim(DOCUMENT, FACTS, "g") as got,
        ):
            found.append(got)

    directory = cache.directory()
    other = threading.Thread(target=wait)
    with cache.claim(DOCUMENT, FACTS, "f"):
        other.start()
        entered.wait()
        time.sleep(0.1)
        assert found == []
        cache.store(DOCUMENT, FACTS, PAYLOAD, 0.5, "f")
    other.join()
    assert isinstance(found[0], Entry)
    f, g = cache.counted()["f"], cache.counted()["g"]
    assert (f.misses.total(), f.stored, f.lease_waits) == (1, 1, 0)
    assert (g.misses.total(), g.stored, g.lease_waits, g.hits_disk) == (0, 0, 1, 1)
    assert g.lease_seconds > 0.05
    assert g.compile_seconds_saved == 0.5
    assert last_reasons() == [Reason.CACHE_EMPTY], "waiting is no miss"


def compile_together(count: int, directory: str) -> list[dict[str, object]]:
    """What each of `count` processes counted that call one function at the same moment, and the
    bytes of its result. The one that compiles waits until all have asked for the lease."""
    barrier, asked = FORK.Barrier(count), FORK.Semaphore(0)
    answers = FORK.Queue()

    def run() -> None:
        config.update("cache_dir", directory)
        compiler = backends.compiler()
        compile_plan, take = compiler.compile_plan, lease.take

        def ask(place: str, *, wait: bool) -> lease.Turn:
            asked.release()
            return take(place, wait=wait)

        def compile_when_all_wait(*args):
            for _ in range(count):
                assert asked.acquire(timeout=60)
            return compile_plan(*args)

        f = jit(lambda x, y: np.exp(x) * y + np.sum(x), name="together")
        jit(lambda x: x + 1)(np.ones(3))  # the runtime's own code has a lease too
        lease.take, compiler.compile_plan = ask, compile_when_all_wait
        barrier.wait()
        result = f(np.ones(7, np.float32), np.ones(7, np.float32))
        counts = cache.counted()["together"]
        counted = {name: getattr(counts, name) for name in ("stored", "hits_disk", "lease_waits")}
        answers.put(counted | {"misses": counts.misses.total(), "result": result.tobytes()})

    processes = [FORK.Process(target=run) for _ in range(count)]
    for each in processes:
        each.start()
    found = [answers.get(timeout=120) for _ in processes]
    for each in processes:
        each.join(60)
        assert each.exitcode == 0
    return found


@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_need_one_program_compile_it_once(cache_dir, count) -> None:
    found = compile_together(count, str(cache_dir))
    assert sum(each["stored"] for each in found) == 1
    assert sum(each["misses"] for each in found) == 1
    assert sum(each["hits_disk"] for each in found) == count - 1
    assert sum(each["lease_waits"] for each in found) == count - 1
    assert len({each["result"] for each in found}) == 1
    assert not list((cache_dir / "leases").iterdir())


def call_at_once(directory: str, barrier: Any, answers: Any) -> None:
    """What a fresh process does that comes to a function at the same moment as others."""
    config.update("cache_dir", directory)
    x = np.linspace(0.0, 1.0, 7)
    f = jit(lambda x: np.tan(x) + np.sum(x), name="spawned")
    barrier.wait()
    assert np.allclose(f(x), np.tan(x) + np.sum(x))
    counts = cache.counted()["spawned"]
    answers.put((counts.stored, counts.misses.total(), counts.hits_disk))


def test_spawned_processes_that_come_at_once_compile_once(cache_dir) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(4), context.Queue()
    arguments = (str(cache_dir), barrier, answers)
    processes = [context.Process(target=call_at_once, args=arguments) for _ in range(4)]
    for each in processes:
        each.start()
    found = [answers.get(timeout=120) for _ in processes]
    for each in processes:
        each.join(60)
        assert each.exitcode == 0
    assert sorted(found) == [(0, 0, 1), (0, 0, 1), (0, 0, 1), (1, 1, 0)]


# --- holders that do not finish -------------------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_the_lease_of_a_killed_holder_is_taken_over_at_once() -> None:
    with process(sleep) as holder:
        timer = after(0.2, lambda: os.kill(holder, signal.SIGKILL))
        with cache.claim(DOCUMENT, FACTS, "f") as found:
            assert isinstance(found, Miss)
            again = lease.take(path())
            assert again.reason is Reason.CACHE_LEASE_NESTED, "the lease is this thread's now"
        timer.join()
    counts = cache.counted()["f"]
    assert counts.lease_waits == 1
    assert 0.1 < counts.lease_seconds < 2.0
    assert last_reasons() == [Reason.CACHE_LEASE_BROKEN, Reason.CACHE_EMPTY]
    assert reasons.events("cache")[0].details["process"] == str(holder)
    assert not os.path.exists(path())


@pytest.mark.usefixtures("cache_dir")
def test_a_lease_that_was_left_behind_is_taken_over() -> None:
    with process(sleep) as holder:
        os.kill(holder, signal.SIGKILL)
        os.waitid(os.P_PID, holder, os.WEXITED | os.WNOWAIT)
        assert os.path.exists(path())
        turn = lease.take(path())
    assert turn.lease is not None
    assert (turn.reason, turn.waited) == (Reason.CACHE_LEASE_BROKEN, 0.0)
    turn.lease.release()


@pytest.mark.usefixtures("cache_dir")
def test_a_dead_holder_is_noticed_though_its_child_keeps_the_lock() -> None:
    child = FORK.Value("i", 0)

    def fork_unnoticed() -> None:
        """A fork that Python does not know of: the child keeps every file open."""
        pid = ctypes.PyDLL(None).fork()
        if pid:
            child.value = pid
        time.sleep(60)
        os._exit(0)

    with process(fork_unnoticed) as holder:
        while not child.value:
            time.sleep(0.01)
        timer = after(0.2, lambda: os.kill(holder, signal.SIGKILL))
        turn = lease.take(path())
        timer.join()
        os.kill(child.value, signal.SIGKILL)
        assert turn.lease is not None
        assert turn.reason is Reason.CACHE_LEASE_BROKEN
        assert turn.details["process"] == str(holder)
        assert 0.1 < turn.waited < 2.0
        turn.lease.release()


@pytest.mark.usefixtures("cache_dir")
def test_one_of_those_who_wait_takes_over_from_the_dead() -> None:
    """The others go on waiting: for the new holder."""
    directory, taken = cache.directory(), []

    def wait() -> None:
        with (
            config.using(cache="rw", cache_dir=directory),
            cache.claim(DOCUMENT, FACTS, "f") as got,
        ):
            taken.append(got)
            if isinstance(got, Miss):
                time.sleep(0.2)
                cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f")

    with process(sleep) as holder:
        threads = [threading.Thread(target=wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        os.kill(holder, signal.SIGKILL)
        for thread in threads:
            thread.join()
    assert sorted(type(got).__name__ for got in taken) == ["Entry", "Entry", "Entry", "Miss"]
    counts = cache.counted()["f"]
    assert (counts.stored, counts.lease_waits, counts.misses.total()) == (1, 4, 1)


@pytest.mark.usefixtures("cache_dir")
def test_a_stopped_holder_is_not_waited_for(monkeypatch) -> None:
    """Its heartbeat, the processor time that the kernel counts for it, stands still."""
    monkeypatch.setattr(lease, "SILENT_SECONDS", 0.3)
    with process(work_hard) as holder:
        os.kill(holder, signal.SIGSTOP)
        with cache.claim(DOCUMENT, FACTS, "f") as found:
            assert isinstance(found, Miss)
        assert last_reasons() == [Reason.CACHE_LEASE_SILENT, Reason.CACHE_EMPTY]
        assert reasons.events("cache")[0].details["process"] == str(holder)
        assert 0.3 < cache.counted()["f"].lease_seconds < 5.0


@pytest.mark.usefixtures("cache_dir")
def test_a_holder_that_goes_on_after_it_was_stopped_does_no_harm(monkeypatch) -> None:
    """It stores the same bytes and gives up what it has; nobody else's lease is touched."""
    monkeypatch.setattr(lease, "SILENT_SECONDS", 0.3)

    def store() -> None:
        work_hard_for(0.5)
        assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "holder")
        os.write(written, b"!")

    read, written = os.pipe()
    with process(store) as holder:
        time.sleep(0.1)
        os.kill(holder, signal.SIGSTOP)
        with cache.claim(DOCUMENT, FACTS, "f") as found:
            assert isinstance(found, Miss)
            assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f")
        os.kill(holder, signal.SIGCONT)
        assert os.read(read, 1) == b"!"
        os.waitid(os.P_PID, holder, os.WEXITED | os.WNOWAIT)
    assert not os.path.exists(path())
    with cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Entry)
        assert found.payload == PAYLOAD
    assert cache.stats().entries == 1


@pytest.mark.usefixtures("cache_dir")
def test_a_process_number_that_came_again_is_no_holder() -> None:
    """The holder is dead; a child of it, of which nobody knows, keeps the lock; and another process
    has its number. It began later than the holder."""
    with process(sleep) as holder:
        descriptor = os.open(path(), os.O_RDWR)
        process_number, began, realm = os.read(descriptor, 200).split(b" ", 2)
        assert process_number == str(holder).encode()
        again = b"%d %d %s" % (os.getpid(), int(began) - 1, realm)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, again, 0)
        start = time.monotonic()
        turn = lease.take(path())
        os.close(descriptor)
        assert time.monotonic() - start < 2.0
    assert turn.lease is not None
    assert turn.reason is Reason.CACHE_LEASE_BROKEN
    assert turn.details["process"] == str(os.getpid())
    turn.lease.release()


RUBBISH = [b"", b"\xff\xfe", b"\0" * 60, b"12", b"x 1 y", b"1 2 " + b"\x01" * 90, b"9" * 200]


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("content", RUBBISH, ids=range(len(RUBBISH)))
def test_rubbish_in_the_file_of_a_lease_names_nobody(monkeypatch, content) -> None:
    """Of a machine that lost its power, or a program that is not ours."""
    os.makedirs(os.path.dirname(path()), mode=0o700)
    with open(path(), "wb") as file:
        file.write(content)
    with cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
    assert last_reasons() == [Reason.CACHE_EMPTY]
    monkeypatch.setattr(lease, "WAIT_SECONDS", 0.4)
    with process(sleep):
        with open(path(), "r+b") as file:
            file.truncate()
            file.write(content)
        turn = lease.take(path())
    assert (turn.reason, dict(turn.details)) == (Reason.CACHE_LEASE_TIMEOUT, {})


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("jump", [-1e9, 1e9], ids=["backwards", "forwards"])
def test_a_clock_that_jumps_does_not_matter_to_those_who_wait(monkeypatch, jump) -> None:
    """Time is that of the machine's own count of seconds."""
    monkeypatch.setattr(lease, "WAIT_SECONDS", 0.8)
    real = time.time
    start = time.monotonic()
    with process(work_hard):
        after(0.3, lambda: monkeypatch.setattr(time, "time", lambda: real() + jump))
        turn = lease.take(path())
    assert turn.reason is Reason.CACHE_LEASE_TIMEOUT
    assert 0.8 < time.monotonic() - start < 3.0


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("call", ["unlink", "ftruncate", "flock"])
def test_a_lease_ends_though_the_directory_has_become_read_only(monkeypatch, call) -> None:
    """The program is there; who comes next finds nobody's name."""

    def fail(*_) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch, cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
        patch.setattr(os, "unlink", fail)
        if call == "ftruncate":
            patch.setattr(os, "ftruncate", fail)
        if call == "flock":
            patch.setattr(fcntl, "flock", fail)
    turn = lease.take(path())
    assert turn.lease is not None
    named = turn.reason is Reason.CACHE_LEASE_BROKEN
    assert named == (call == "ftruncate")
    turn.lease.release()


@pytest.mark.usefixtures("cache_dir")
def test_a_holder_at_work_is_waited_for_until_the_time_out(monkeypatch) -> None:
    """Longer than a silent one; then the program is compiled here too."""
    monkeypatch.setattr(lease, "SILENT_SECONDS", 0.5)
    monkeypatch.setattr(lease, "WAIT_SECONDS", 1.5)
    with process(work_hard), cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
        assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f"), (
            "both may store: the bytes are equal"
        )
    assert last_reasons() == [Reason.CACHE_LEASE_TIMEOUT, Reason.CACHE_EMPTY]
    assert cache.counted()["f"].lease_seconds > 1.5


@pytest.mark.usefixtures("cache_dir")
def test_a_holder_that_cannot_be_watched_is_waited_for(monkeypatch) -> None:
    """Process numbers of another machine or container say nothing here."""
    monkeypatch.setattr(lease, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(lease, "WAIT_SECONDS", 0.6)
    with process(sleep):
        monkeypatch.setattr(lease, "_realm", lambda: "elsewhere")
        assert lease.take(path()).reason is Reason.CACHE_LEASE_TIMEOUT
        monkeypatch.setattr(lease, "_realm", lambda: "")
        assert lease.take(path()).reason is Reason.CACHE_LEASE_TIMEOUT


@pytest.mark.usefixtures("cache_dir")
def test_a_holder_that_stores_nothing_was_waited_for_in_vain() -> None:
    with process(lambda: time.sleep(0.3)), cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
        assert not os.path.exists(path()), "all who waited compile at the same time"
    assert last_reasons() == [Reason.CACHE_LEASE_FRUITLESS, Reason.CACHE_EMPTY]


# --- the same thread, forks, file systems ---------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_a_thread_does_not_wait_for_itself() -> None:
    """A signal handler that calls the function which its thread is compiling."""
    start = time.monotonic()
    with cache.claim(DOCUMENT, FACTS, "f"), cache.claim(DOCUMENT, FACTS, "f") as inner:
        assert isinstance(inner, Miss)
    assert time.monotonic() - start < 1.0
    assert Reason.CACHE_LEASE_NESTED in last_reasons()
    assert not os.path.exists(path())


@pytest.mark.usefixtures("cache_dir")
def test_a_forked_child_does_not_have_the_lease_of_its_parent() -> None:
    turn = lease.take(path())
    assert turn.lease is not None
    pid = os.fork()
    if pid == 0:
        turn.lease.release()  # as the child of a fork inside of the block does
        os._exit(0 if lease.take(path()).lease is None else 1)
    time.sleep(0.3)
    assert os.waitpid(pid, os.WNOHANG) == (0, 0), "the child waits for its parent"
    assert os.path.exists(path())
    turn.lease.release()
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_every_process_compiles(monkeypatch, code) -> None:
    """Some network file systems have none. The size bound holds there too."""

    def fail(*_) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", fail)
    with config.using(cache_max_bytes=500):
        for k in range(5):
            with cache.claim({**DOCUMENT, "k": k}, FACTS, "f") as found:
                assert isinstance(found, Miss)
                assert cache.store({**DOCUMENT, "k": k}, FACTS, PAYLOAD, 0.1, "f")
            assert 0 < cache.stats().bytes <= 500
    first = reasons.events("cache")[0]
    assert first.reason is Reason.CACHE_LEASE_UNAVAILABLE
    assert first.details["error"] == os.strerror(code)


@pytest.mark.usefixtures("cache_dir")
def test_a_lease_file_that_cannot_be_made_is_done_without(cache_dir) -> None:
    cache.disk(writable=True)
    (cache_dir / "leases").write_text("not a directory")
    with cache.claim(DOCUMENT, FACTS, "f") as found:
        assert isinstance(found, Miss)
        assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f")
    assert last_reasons()[0] is Reason.CACHE_LEASE_UNAVAILABLE


@pytest.mark.usefixtures("unprivileged")
def test_a_lease_file_that_may_not_be_opened_is_done_without() -> None:
    with (
        tempfile.TemporaryDirectory() as base,
        config.using(cache="rw", cache_dir=f"{base}/cache"),
    ):
        os.makedirs(os.path.dirname(path()), mode=0o700)
        os.close(os.open(path(), os.O_CREAT | os.O_WRONLY, 0))
        reasons.clear()
        with cache.claim(DOCUMENT, FACTS, "f") as found:
            assert isinstance(found, Miss)
            assert cache.store(DOCUMENT, FACTS, PAYLOAD, 0.1, "f")
        event = reasons.events("cache")[0]
        assert event.reason is Reason.CACHE_LEASE_UNAVAILABLE
        assert event.details["error"] == "Permission denied"


def test_clearing_takes_no_lease_from_a_living_holder(cache_dir) -> None:
    with process(sleep) as holder:
        cache.clear()
        assert os.path.exists(path())
        os.kill(holder, signal.SIGKILL)
        os.waitid(os.P_PID, holder, os.WEXITED | os.WNOWAIT)
        cache.clear()
        assert not list((cache_dir / "leases").iterdir())


def test_who_has_waited_lets_go_though_a_child_has_the_file_open(tmp_path: Path) -> None:
    """Forked while its parent waited: the child must not keep the lock from others who wait."""
    path = str(tmp_path / "leases" / "one")
    holder = lease.take(path).lease
    assert holder is not None
    other = lock.open_file(path)
    turns: list[lease.Turn] = []
    waiter = threading.Thread(target=lambda: turns.append(lease.take(path)))
    waiter.start()
    time.sleep(0.3)
    child = os.fork()
    if not child:
        signal.pause()
    try:
        holder.release()
        waiter.join()
        assert turns[0].lease is None and turns[0].reason is None
        assert lock.lock(other)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lock.release(other)
