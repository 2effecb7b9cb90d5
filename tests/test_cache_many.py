"""A cache with very many entries, and clocks that are wrong: what is read, and what leaves.

What a function of the cache may open is counted, so that the cost of a call cannot grow with what
lies in the directory, nor that of a report with what the programs hold.
"""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pyc import cache, config, reasons
from pyc.__main__ import main
from pyc.cache.report import CANDIDATES
from pyc.reasons import Reason
from pyc.store import _SUMMARY_BYTES, Entry, LocalStore, encode, size, write

ENTRIES = 600
PAYLOAD = {"object": bytes(20_000)}
YEAR = 365 * 86400.0


def document(k: int) -> dict[str, object]:
    graph = f"graph(%0: f32[{k}]) {{\n  %1: f32[{k}] = sin(%0)\n  return %1\n}}\n"
    return {"types": [f"f32[{k}]"], "graph": graph, "options": {"fastmath": bool(k % 2)}}


def put(directory: Path, k: int, label: str, arguments: list[str]) -> Path:
    """An entry, written without flushing it to the disk, which would take 0.2 ms each."""
    key, facts = cache.key_of(document(k)), {"vector_bytes": 32}
    path = Path(LocalStore(str(directory)).path(key, facts))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    content = encode(
        *(key, document(k), facts, PAYLOAD),
        compile_seconds=0.5,
        label=label,
        arguments=arguments,
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(content)
    return path


@pytest.fixture
def many(cache_dir) -> Path:
    """Entries of 60 functions, of ten sizes each; those of every sixth have many arguments."""
    cache_dir.mkdir(mode=0o700)
    for k in range(ENTRIES):
        arguments = [f"model['layer {n}'].weights" for n in range(300 if k % 6 == 0 else 1)]
        put(cache_dir, k, f"f{k % 60}", arguments)
    total = sum(p.stat().st_size for p in cache_dir.glob("??/*"))
    (cache_dir / "size").write_bytes(b"%020d\n" % total)
    return cache_dir


class Reads:
    """What was opened, listed and read of the directory."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.listed: list[str] = []
        self.looked_at = 0
        self.nbytes = 0


@contextmanager
def reads(patch: pytest.MonkeyPatch) -> Iterator[Reads]:
    """What the block reads."""
    found = Reads()
    real_open, real_list, real_read, real_stat = os.open, os.listdir, os.read, os.stat

    def opened(path, *args, **kwargs):
        if str(path).endswith(".msgpack"):
            found.opened.append(str(path))
        return real_open(path, *args, **kwargs)

    def listed(path):
        found.listed.append(str(path))
        return real_list(path)

    def read(descriptor, count):
        content = real_read(descriptor, count)
        found.nbytes += len(content)
        return content

    def stat(path, *args, **kwargs):
        found.looked_at += str(path).endswith(".msgpack")
        return real_stat(path, *args, **kwargs)

    with patch.context() as inside:
        inside.setattr(os, "open", opened)
        inside.setattr(os, "listdir", listed)
        inside.setattr(os, "read", read)
        inside.setattr(os, "stat", stat)
        yield found


# --- calls ----------------------------------------------------------------------------------------


def test_a_call_looks_at_its_own_entry_only(many, monkeypatch) -> None:
    with reads(monkeypatch) as hit:
        assert isinstance(cache.lookup(document(7), {"vector_bytes": 32}), Entry)
    assert (len(hit.opened), len(hit.listed)) == (1, 1)
    with reads(monkeypatch) as miss:
        found = cache.lookup(document(ENTRIES + 1), {"vector_bytes": 32})
    assert found.reason is Reason.CACHE_KEY_DIFFERS
    assert miss.opened == []
    assert len(miss.listed) <= 3, "its own folder, and whether there is any entry at all"


def test_a_store_within_the_bound_looks_at_no_other_entry(many, monkeypatch) -> None:
    with reads(monkeypatch) as found:
        assert cache.store(document(ENTRIES), {}, PAYLOAD, 0.1, "g")
    assert len(found.opened) <= 1, "its own temporary file"
    assert len(found.listed) <= 2
    assert found.looked_at <= 2
    assert int((many / "size").read_bytes()) == cache.stats().bytes


def test_eviction_makes_room_for_many(many, monkeypatch) -> None:
    """The entries are counted once in a tenth of the bound."""
    bound = cache.stats().bytes
    counted, real = [], write._files
    monkeypatch.setattr(write, "_files", lambda *args: counted.append(1) or real(*args))
    with config.using(cache_max_bytes=bound):
        for k in range(ENTRIES, ENTRIES + 100):
            assert cache.store(document(k), {}, PAYLOAD, 0.1, "g")
            assert cache.stats().bytes <= bound
    assert 1 <= len(counted) <= 3
    assert cache.stats().entries > 0.85 * ENTRIES


def test_without_locks_the_entries_are_not_counted_at_each_store(many, monkeypatch) -> None:
    """There is no number of them then; the bound holds to within a hundredth."""
    bound = cache.stats().bytes

    def fail(*_) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", fail)
    counted, real = [], write._files
    monkeypatch.setattr(write, "_files", lambda *args: counted.append(1) or real(*args))
    with config.using(cache_max_bytes=bound):
        for k in range(ENTRIES, ENTRIES + 60):
            assert cache.store(document(k), {}, PAYLOAD, 0.1, "g")
            assert cache.stats().bytes <= 1.02 * bound
    assert 1 < len(counted) < 15


def evict(directory: str, barrier) -> int:
    """How often a process counts all entries that passes the bound with others."""
    config.update("cache_dir", directory)
    counted, real = [], write._files
    write._files = lambda *args: counted.append(1) or real(*args)
    config.update("cache_max_bytes", size.recorded(cache.disk(writable=True)))
    barrier.wait()
    assert cache.store({"process": os.getpid()}, {}, PAYLOAD, 0.1, "g")
    return len(counted)


def test_of_writers_that_pass_the_bound_together_one_makes_room(many) -> None:
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager, context.Pool(4) as pool:
        barrier = manager.Barrier(4)
        counted = pool.starmap(evict, [(str(many), barrier)] * 4)
    assert sum(counted) == 1
    assert int((many / "size").read_bytes()) == cache.stats().bytes


def keep_up(directory: str, seconds: float, name: str) -> None:
    """Prunes, verifies, clears and reports for some seconds."""
    config.update("cache_dir", directory)
    end = time.monotonic() + seconds
    work = {
        "prune": lambda: cache.prune(max_bytes=100_000),
        "repair": lambda: cache.verify(repair=True),
        "clear": lambda: (cache.clear(), time.sleep(0.2)),
        "reports": lambda: (cache.ls(), cache.stats(), cache.explain_document({"k": -1}, {})),
    }
    while time.monotonic() < end:
        work[name]()


def use(directory: str, seconds: float, seed: int) -> dict[str, int]:
    """Asks for programs that others ask for too; every answer must be right, and what was stored
    and is not found must have been removed. Returns the reasons."""
    config.update("cache_dir", directory)
    config.update("cache_max_bytes", 150_000)
    end, k = time.monotonic() + seconds, seed
    while time.monotonic() < end:
        k = (k * 5 + 1) % 32
        made = {"object": bytes([k]) * 5000, "k": k}
        assert cache.obtain({"k": k}, {}, lambda made=made: made, f"f{k}") == made
    return {reason.name: n for reason, n in reasons.counts().items()}


def test_upkeep_while_others_read_and_write(cache_dir) -> None:
    """Nothing is an exception, damaged, or counted too little, whatever removes what when."""
    context, seconds, place = multiprocessing.get_context("fork"), 2.0, str(cache_dir)
    with context.Pool(7) as pool:
        names = ("prune", "repair", "clear", "reports")
        upkeep = pool.starmap_async(keep_up, [(place, seconds, name) for name in names])
        users = pool.starmap(use, [(place, seconds, seed) for seed in range(3)])
        upkeep.get(timeout=60)
    usual = {"CACHE_EMPTY", "CACHE_KEY_DIFFERS", "CACHE_DISK_EVICTED", "CACHE_LEASE_FRUITLESS"}
    for counts in users:
        assert set(counts) <= usual
    assert sum(counts["CACHE_KEY_DIFFERS"] for counts in users) > 3
    store = cache.disk(writable=True)
    assert store.set_aside() == []
    recorded = size.recorded(store)
    assert recorded is None or recorded >= cache.stats().bytes
    left = [p.name for p in cache_dir.rglob(".*") if p.is_file()]
    assert left == [], "temporary files"


# --- reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "report",
    [
        cache.ls,
        lambda: cache.ls("f7"),
        cache.stats,
        lambda: main(["cache", "stats"]),
        lambda: main(["cache", "ls"]),
    ],
    ids=["ls", "ls of one", "stats", "stats printed", "ls printed"],
)
def test_a_report_reads_the_beginnings_of_files(many, monkeypatch, report) -> None:
    """And each once: not what they hold."""
    with reads(monkeypatch) as found:
        report()
    assert len(found.opened) == ENTRIES
    assert found.nbytes < ENTRIES * (_SUMMARY_BYTES + 2000)


def test_summaries_say_what_the_entries_do(many) -> None:
    """Also where there are so many arguments that their names fill more than one read."""
    reader = cache.disk(writable=False)
    for path in reader.paths():
        entry, summary = reader.read(path), reader.summary(path)
        assert isinstance(entry, Entry) and summary is not None
        for name in ("key", "label", "arguments", "facts", "compile_seconds", "path", "nbytes"):
            assert getattr(entry, name) == getattr(summary, name)
        assert (entry.used, entry.written) == (summary.used, summary.written)
        assert list(summary.types) == entry.document["types"]
    stats = cache.stats()
    assert len(stats.per_function) == 60
    f6 = stats.per_function["f6"]
    assert (f6.entries, f6.entries_seconds) == (10, 5.0)
    assert (stats.total.entries, stats.total.entries_seconds) == (ENTRIES, ENTRIES / 2)


def test_one_entry_is_found_without_the_others(many, monkeypatch) -> None:
    key = cache.key_of(document(9))
    with reads(monkeypatch) as found:
        (entry,) = cache.inspect(key[:12])
    assert entry.document == document(9)
    assert len(found.opened) == 1
    assert len(found.listed) == 2


def test_the_nearest_entry_is_found_among_a_few(many, monkeypatch) -> None:
    """Those of the same function first, then those whose types are alike."""
    asked = {**document(62), "options": {"fastmath": True}}
    with reads(monkeypatch) as found:
        report = cache.explain_document(asked, {"vector_bytes": 32}, "f2")
    assert report.nearest_key == cache.key_of(document(62))
    assert [d.field for d in report.differing_fields] == ["options.fastmath"]
    assert len(found.opened) == ENTRIES + CANDIDATES
    report = cache.explain_document(asked, {"vector_bytes": 32}, "not there")
    assert report.nearest_key == cache.key_of(document(62)), "by its types, of any function"


def test_reports_of_a_directory_that_is_not_used_say_so(many, capsys) -> None:
    many.chmod(0o777)
    for arguments in (["ls"], ["show", "0"], ["explain", "0"]):
        main(["cache", *arguments])
        assert "the cache directory is not used: it belongs" in capsys.readouterr().err
    assert cache.ls() == []


# --- clocks ---------------------------------------------------------------------------------------


def file_of(k: int) -> str:
    return cache.disk(writable=True).path(cache.key_of({"k": k}), {})


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("change", [None, cache.prune], ids=["evict", "prune"])
def test_times_in_the_future_do_not_last(change: Callable[[], object] | None) -> None:
    """Of a clock that was wrong for a while. They become the present time when they are seen, and
    age from then on; the entry would be the last to leave, for years."""
    for k in range(10):
        assert cache.store({"k": k}, {}, {"object": bytes(1000)}, 0.1)
    ahead = time.time() + 50 * YEAR
    os.utime(file_of(0), (ahead, ahead))
    with config.using(cache_max_bytes=cache.stats().bytes - 1):
        if change is None:
            assert cache.store({"k": 10}, {}, {"object": bytes(10)}, 0.1)
        else:
            change()
    state = os.stat(file_of(0))
    now = time.time()
    assert now - 100 < state.st_mtime <= now + 1
    assert now - 100 < state.st_atime <= now + 1
    os.utime(file_of(0), (now - YEAR, now - YEAR))
    assert len(cache.prune(unused=YEAR / 2)) == 1


@pytest.mark.usefixtures("cache_dir")
def test_a_hit_sets_a_time_of_use_that_lies_ahead() -> None:
    assert cache.store({"k": 0}, {}, {}, 0.1)
    ahead = time.time() + YEAR
    os.utime(file_of(0), (ahead, ahead))
    assert isinstance(cache.lookup({"k": 0}, {}), Entry)
    assert abs(os.stat(file_of(0)).st_atime - time.time()) < 100


@pytest.mark.usefixtures("cache_dir")
def test_a_writer_whose_file_was_swept_away_stores_all_the_same(monkeypatch) -> None:
    """The clock jumped by a day while it wrote: to another writer its file is one of the dead."""
    assert cache.store({"k": 0}, {}, {"object": b"1"}, 0.1)
    real, folder = os.write, os.path.dirname(file_of(1))

    def writing(descriptor, content):
        monkeypatch.setattr(os, "write", real)
        now = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now + 86400)
            assert write._sweep(folder) == 1
        return real(descriptor, content)

    monkeypatch.setattr(os, "write", writing)
    assert cache.store({"k": 1}, {}, {"object": b"1"}, 0.1)
    assert isinstance(cache.lookup({"k": 1}, {}), Entry)
    assert reasons.events("cache")[-1:] == []
