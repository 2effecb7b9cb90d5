"""What keeps the cache in bounds and sound: eviction, pruning, verification, the command line."""

from __future__ import annotations

import errno
import multiprocessing
import os
import time
from pathlib import Path

import numpy as np
import pytest

import pyc
from pyc import cache, config, lax, reasons, remake
from pyc.__main__ import main
from pyc.errors import CacheError
from pyc.frozen import replace
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.runtime import native, shipped
from pyc.store import TOUCH_SECONDS, Entry, LocalStore, Miss, lock, size, write

DAY = 86400.0
SIZE = 1000
"""Bytes of the payload of an entry below; the whole file has some 200 more."""


def document(k: int) -> dict[str, object]:
    return {"graph": "graph() {\n  return\n}\n", "k": k}


def fill(k: int, nbytes: int = SIZE, function: str = "f") -> bool:
    return cache.store(document(k), {}, {"object": bytes(nbytes)}, 0.1, function)


def there(k: int) -> bool:
    """Whether an entry lies on the disk; does not count as its use."""
    return isinstance(cache.disk(writable=False).lookup(document(k), {}), Entry)


def file_of(k: int) -> Path:
    return Path(cache.disk(writable=True).path(cache.key_of(document(k)), {}))


def used(k: int, ago: float, written: float | None = None) -> None:
    """Sets the time of an entry's last use, and that of its writing (by default the same)."""
    now = time.time()
    os.utime(file_of(k), (now - ago, now - (ago if written is None else written)))


def recorded(cache_dir: Path) -> int:
    return int((cache_dir / "size").read_text())


# --- the size -------------------------------------------------------------------------------------


def test_the_size_is_that_of_the_files(cache_dir) -> None:
    for k in range(20):
        assert fill(k, 100 * k)
        assert recorded(cache_dir) == cache.stats().bytes
    fill(3, 5000)
    fill(3, 10)
    assert recorded(cache_dir) == cache.stats().bytes, "an entry was replaced"
    assert cache.clear() == 20
    assert recorded(cache_dir) == 0


@pytest.mark.parametrize("rubbish", [b"", b"12", b"x" * 21, b"-0000000000000000001\n", None])
def test_a_wrong_size_file_is_set_right(cache_dir, rubbish) -> None:
    """It is only a hint: a writer that finds no number in it counts."""
    for k in range(5):
        fill(k)
    if rubbish is None:
        (cache_dir / "size").unlink()
    else:
        (cache_dir / "size").write_bytes(rubbish)
    fill(5)
    assert recorded(cache_dir) == cache.stats().bytes > 6 * SIZE


def test_too_large_a_number_does_no_harm(cache_dir) -> None:
    """What a writer leaves that dies between counting and renaming."""
    fill(0)
    (cache_dir / "size").write_bytes(b"%020d\n" % 10**12)
    with config.using(cache_max_bytes=10 * SIZE):
        fill(1)
    assert there(0)
    assert recorded(cache_dir) == cache.stats().bytes


def test_a_writer_stopped_with_the_size_file_does_not_stop_the_others(
    cache_dir, monkeypatch
) -> None:
    fill(0)
    monkeypatch.setattr(size, "LOCK_SECONDS", 0.1)
    held = lock.take(str(cache_dir / "size"))
    assert held is not None
    assert fill(1)
    assert there(1)
    assert fill(2)
    assert recorded(cache_dir) == cache.stats().bytes, "the file was made anew"
    lock.release(held)


def store_many(directory: str, first: int) -> None:
    config.update("cache_dir", directory)
    config.update("cache_max_bytes", 20 * SIZE)
    for k in range(first, first + 40):
        assert fill(k)
        # Each of the others may have stored an entry that it has not made room for yet.
        assert cache.stats().bytes <= 20 * SIZE + 3 * 1.3 * SIZE


def test_processes_that_write_together_keep_the_bound(cache_dir) -> None:
    """And the number is right in the end, though each of them evicts and counts."""
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.starmap(store_many, [(str(cache_dir), 1000 * k) for k in range(4)])
    assert recorded(cache_dir) == cache.stats().bytes
    assert 10 * SIZE < cache.stats().bytes <= 20 * SIZE


# --- eviction -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_the_least_recently_used_entries_leave_for_a_reason() -> None:
    for k in range(8):
        fill(k, function=f"f{k}")
        used(k, ago=1000.0 - k)
    used(2, ago=5.0, written=2000.0)
    whole = cache.stats().bytes
    with config.using(cache_max_bytes=whole):
        fill(8, function="new")
    gone = [k for k in range(9) if not there(k)]
    assert gone == [0, 1], "one would do, but a tenth is left free"
    events = reasons.events("cache")
    assert [e.reason for e in events] == [Reason.CACHE_DISK_EVICTED] * 2
    assert [e.details["function"] for e in events] == ["f0", "f1"]
    assert cache.counted()["f0"].evicted_disk == cache.counted()["f1"].evicted_disk == 1
    assert cache.stats().total.evicted_disk == 2
    assert cache.stats().as_dict()["total"]["evictions"] == {"memory": 0, "disk": 2}
    assert "evicted: 0 memory, 2 disk" in str(cache.stats())


@pytest.mark.usefixtures("cache_dir")
def test_an_entry_larger_than_the_bound_is_not_stored() -> None:
    fill(0)
    with config.using(cache_max_bytes=2 * SIZE):
        assert not fill(1, 3 * SIZE)
    event = reasons.events("cache")[-1]
    assert event.reason is Reason.CACHE_ENTRY_TOO_LARGE
    assert event.details["bound"] == str(2 * SIZE)
    assert there(0)


@pytest.mark.usefixtures("cache_dir")
def test_without_a_bound_nothing_leaves() -> None:
    with config.using(cache_max_bytes=0):
        for k in range(20):
            fill(k)
    assert cache.stats().entries == 20
    assert cache.stats().total.evicted_disk == 0


@pytest.mark.usefixtures("cache_dir")
def test_a_hit_renews_the_time_of_use_once_a_minute() -> None:
    """The time of writing stays, and a second hit within a minute touches nothing."""
    fill(0)
    used(0, ago=3 * TOUCH_SECONDS, written=1000.0)
    written = file_of(0).stat().st_mtime_ns
    assert isinstance(cache.lookup(document(0), {}), Entry)
    state = file_of(0).stat()
    assert time.time() - state.st_atime < 10.0
    assert state.st_mtime_ns == written
    used(0, ago=TOUCH_SECONDS / 2, written=1000.0)
    before = file_of(0).stat().st_atime_ns
    assert isinstance(cache.lookup(document(0), {}), Entry)
    assert file_of(0).stat().st_atime_ns == before


@pytest.mark.usefixtures("cache_dir")
def test_looking_is_no_use() -> None:
    """Reports, verification and read-only modes leave the times as they are."""
    fill(0)
    used(0, ago=2 * DAY, written=3 * DAY)
    before = file_of(0).stat()
    cache.ls()
    cache.stats()
    cache.verify()
    cache.explain_document(document(0), {})
    with config.using(cache="ro"):
        assert isinstance(cache.lookup(document(0), {}), Entry)
    assert file_of(0).stat().st_atime_ns == before.st_atime_ns
    assert file_of(0).stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.usefixtures("cache_dir")
def test_a_hit_opens_one_file_and_takes_no_lock(monkeypatch) -> None:
    fill(0)
    used(0, ago=1000.0)
    opened, real = [], os.open
    monkeypatch.setattr(
        os, "open", lambda path, *a, **k: opened.append(path) or real(path, *a, **k)
    )
    monkeypatch.setattr(lock, "lock", lambda _: pytest.fail("a lock was taken"))
    with cache.claim(document(0), {}) as found:
        assert isinstance(found, Entry)
    assert opened == [str(file_of(0))]


def test_files_of_dead_writers_go_with_time(cache_dir) -> None:
    """The next writer of the same folder removes them."""
    fill(0)
    folder = file_of(0).parent
    left = folder / f".{'c' * 62}-{'d' * 16}.msgpack.{'0' * 12}"
    fresh = folder / f".{'c' * 62}-{'d' * 16}.msgpack.{'1' * 12}"
    for file in (left, fresh):
        file.write_bytes(b"half")
    os.utime(left, (1, 1))
    fill(0)
    assert fresh.exists()
    assert not left.exists()


def test_a_name_left_by_a_dead_writer_is_in_nobodys_way(cache_dir, monkeypatch) -> None:
    """In a container every first process has number 1: names hold no process numbers."""
    names, real = [], os.open
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("not reached"))
    monkeypatch.setattr(os, "open", lambda p, *a, **k: names.append(p) or real(p, *a, **k))
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(SystemExit))
    for _ in range(3):
        with pytest.raises(SystemExit):
            fill(0)
    temporary = [name for name in names if ".msgpack." in str(name)]
    assert len(set(temporary)) == 3


def test_an_entry_that_cannot_be_read_just_now_is_kept(cache_dir, monkeypatch) -> None:
    """Too many open files say nothing about the entry."""
    fill(0)

    def fail(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        found = cache.lookup(document(0), {}, "f")
    assert isinstance(found, Miss)
    assert found.reason is Reason.CACHE_UNREADABLE
    assert there(0)
    assert cache.stats().corrupt == 0


# --- prune ----------------------------------------------------------------------------------------


@pytest.fixture
def aged(cache_dir) -> None:
    """Entries 0 to 4: stored 10 k days ago and used 5 k days ago."""
    for k in range(5):
        fill(k, function=f"f{k}")
        used(k, ago=5 * k * DAY, written=10 * k * DAY)


def left() -> list[int]:
    return [k for k in range(5) if there(k)]


@pytest.mark.usefixtures("aged")
def test_prune_by_age_use_and_size() -> None:
    assert [gone.label for gone in cache.prune(older_than=35 * DAY)] == ["f4"]
    assert left() == [0, 1, 2, 3]
    assert [gone.label for gone in cache.prune(unused=12 * DAY)] == ["f3"]
    assert [gone.label for gone in cache.prune(max_bytes=cache.stats().bytes - 1)] == ["f2"]
    assert left() == [0, 1]
    assert cache.prune() == []
    with config.using(cache_max_bytes=int(1.5 * SIZE)):
        assert [gone.label for gone in cache.prune()] == ["f1"]
    assert cache.counted().get("f1", cache.Counts()).evicted_disk == 0, "it was asked for"


def test_prune_removes_what_the_dead_left(cache_dir) -> None:
    fill(0)
    fill(1)
    file_of(1).write_bytes(b"")
    assert isinstance(cache.lookup(document(1), {}), Miss)
    temporary = file_of(0).parent / f".{'c' * 62}-{'d' * 16}.msgpack.{'0' * 12}"
    trial, note = cache_dir / f".trial-{'0' * 12}", cache_dir / f"sources-{'a' * 8}.{'0' * 12}"
    for file in (temporary, trial, note):
        file.write_bytes(b"half")
        os.utime(file, (1, 1))
    (cache_dir / "leases").mkdir(exist_ok=True)
    (cache_dir / "leases" / f"{'a' * 64}-{'b' * 16}").write_bytes(b"1 2 3")
    (cache_dir / "leases" / "mine.txt").write_bytes(b"")
    assert cache.prune() == []
    names = {p.name for p in cache_dir.rglob("*") if p.is_file()}
    assert names == {file_of(0).name, "size", "mine.txt"}


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize("change", [cache.prune, cache.clear, lambda: cache.verify(repair=True)])
def test_a_cache_that_may_not_be_written_is_not_changed(change) -> None:
    for mode in ("ro", "frozen"):
        with config.using(cache=mode), pytest.raises(CacheError, match=f"PYC_CACHE is {mode}"):
            change()
    assert left() == [0, 1, 2, 3, 4]


def test_an_unsafe_directory_is_not_changed(cache_dir, golden) -> None:
    cache_dir.mkdir(mode=0o700)
    cache_dir.chmod(0o777)
    with pytest.raises(CacheError) as caught:
        cache.prune()
    text = str(caught.value).replace(str(cache_dir), "DIRECTORY")
    golden(text.replace(f"owner: {os.getuid()}", "owner: N"))


@pytest.mark.usefixtures("cache_dir")
@pytest.mark.parametrize("name", ["max_bytes", "older_than", "unused"])
def test_negative_bounds_are_refused(name) -> None:
    with pytest.raises(ValueError, match=f"{name} must be 0 or more, got -1"):
        cache.prune(**{name: -1})


# --- verify ---------------------------------------------------------------------------------------


@pytest.fixture
def compiled(cache_dir, monkeypatch) -> Path:
    """The file of a program of `f`, in a cache with it and what the runtime needs where its code
    does not come with pyc."""
    monkeypatch.setattr(shipped, "object_of", lambda text: None)
    f = jit(lambda x, scale: np.tanh(x) * scale + np.sum(x), name="f")
    f(np.linspace(0, 1, 9, dtype=np.float32), 2.0)
    # As a process does that has not loaded it already.
    native.Part("calls", native.CALLS.externals, native.CALLS._texts, lambda _: None).image()
    (entry,) = cache.ls("f")
    return Path(entry.path)


def change(file: Path, **fields: object) -> None:
    """Stores other values in the payload of an entry, with a right checksum."""
    entry = LocalStore(str(file.parents[1])).read(str(file))
    assert isinstance(entry, Entry)
    payload = {**entry.payload, **fields}
    assert cache.store(
        entry.document, entry.facts, payload, entry.compile_seconds, entry.label, entry.arguments
    )


def test_entries_are_what_compiling_them_gives(compiled) -> None:
    found = cache.verify()
    assert found.ok
    assert found.equal == cache.stats().entries >= 2
    assert cache.verify("pyc runtime*").equal >= 1
    assert (found.bad, found.unchecked) == ((), ())
    assert cache.verify("f").equal == 1


def test_loops_that_can_fail_are_what_compiling_them_gives(cache_dir) -> None:
    """The sites of failure of a program from the cache are those of the program in hand."""

    def function(x, n):
        return lax.while_loop(
            lambda c: c[0] < n,
            lambda c: (c[0] + 1, c[1] + x[c[0]]),
            (0, 0.0),
        )

    x = np.arange(5.0)
    assert np.asarray(jit(function, name="loop")(x, 5)[1]) == x.sum()
    found = cache.verify("loop")
    assert (found.equal, found.bad) == (1, ())


def test_one_changed_byte_of_code_is_found(compiled) -> None:
    """With a right checksum: whoever can write the directory can make one."""
    code = LocalStore(str(compiled.parents[1])).read(str(compiled)).payload["object"]
    change(compiled, object=code[:200] + bytes([code[200] ^ 1]) + code[201:])
    found = cache.verify()
    assert not found.ok
    (bad,) = found.bad
    assert (bad.label, bad.reason) == ("f", Reason.CACHE_NOT_REPRODUCED)
    assert bad.detail.startswith("`object` differs at byte 2")
    assert reasons.events("cache")[-1].reason is Reason.CACHE_NOT_REPRODUCED
    assert compiled.exists()
    repaired = cache.verify(repair=True)
    assert repaired.removed == 1
    assert not compiled.exists()
    assert recorded(compiled.parents[1]) == cache.stats().bytes
    assert cache.verify().ok


@pytest.mark.parametrize(
    ("fields", "detail"),
    [
        ({"peak": 1 << 40}, "`peak` differs"),
        ({"extra": 1}, "`extra` is not made any more"),
        ({"release": None}, "`release` differs"),
    ],
)
def test_every_changed_field_is_found(compiled, fields, detail) -> None:
    change(compiled, **fields)
    assert cache.verify("f").bad[0].detail.startswith(detail)


def test_a_key_that_is_not_of_its_document_is_found(compiled) -> None:
    store = LocalStore(str(compiled.parents[1]))
    entry = store.read(str(compiled))
    other = {**entry.document, "options": {"fastmath": True}}
    key = cache.key_of(other)
    content = pyc_encode(key, entry, entry.document)
    path = Path(store.path(key, entry.facts))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o600)
    assert cache.verify(key[:20]).bad[0].detail == (
        "its key is not that of the program it describes"
    )


def pyc_encode(key: str, entry: Entry, document: dict[str, object]) -> bytes:
    return write.encode(
        key,
        document,
        entry.facts,
        entry.payload,
        compile_seconds=entry.compile_seconds,
        label=entry.label,
        arguments=entry.arguments,
    )


def test_entries_of_others_cannot_be_checked(compiled, monkeypatch) -> None:
    entry = LocalStore(str(compiled.parents[1])).read(str(compiled))
    assert isinstance(entry, Entry)
    target = {**entry.facts, "target": "x86-64-v9"}
    others = [
        ({**entry.document, "sources": "0" * 64}, entry.facts, "another version of pyc"),
        ({**entry.document, "versions": {"llvmlite": "0.1"}}, entry.facts, "llvmlite 0.1 (here"),
        (entry.document, target, "made for another target: x86-64-v9"),
        ({"unheard": 1}, {}, "nothing here makes an entry of unheard"),
    ]
    for k, (document, facts, _) in enumerate(others):
        cache.store(document, facts, {"object": b""}, 0.1, f"other{k}")
    found = cache.verify()
    assert found.ok
    assert [p.label for p in sorted(found.unchecked, key=lambda p: p.label)] == [
        f"other{k}" for k in range(4)
    ]
    for k, (_, _, text) in enumerate(others):
        assert any(p.label == f"other{k}" and text in p.detail for p in found.unchecked)
    assert {p.reason for p in found.unchecked} == {Reason.CACHE_NOT_VERIFIABLE}


def test_a_compiler_that_gives_other_bytes_is_found(compiled, monkeypatch) -> None:
    """What verification is for: the promise of equal bytes, broken on purpose."""
    real = remake.program_of

    def other(lowered):
        program = real(lowered)
        return replace(program, release=not program.release)

    monkeypatch.setattr(remake, "program_of", other)
    assert [p.detail.split(" ")[0] for p in cache.verify("f").bad] == ["`release`"]


def test_an_entry_that_cannot_be_compiled_is_reported(compiled) -> None:
    entry = LocalStore(str(compiled.parents[1])).read(str(compiled))
    document = {**entry.document, "graph": "graph(%0: f32[8]) {\n  return %7\n}\n"}
    cache.store(document, entry.facts, {"object": b""}, 0.1, "wrong")
    (bad,) = cache.verify().bad
    assert bad.label == "wrong"
    assert bad.detail.startswith("compiling it again fails: ")


def test_damaged_entries_are_reported_and_set_aside(compiled) -> None:
    compiled.write_bytes(compiled.read_bytes()[:-1])
    (bad,) = cache.verify().bad
    assert bad.reason is Reason.CACHE_TRUNCATED
    assert compiled.exists()
    assert cache.verify(repair=True).removed == 1
    assert not compiled.exists()
    assert cache.stats().corrupt == 1


def test_a_bit_flipped_at_every_byte_of_a_program_is_a_miss(compiled) -> None:
    """Every byte of a real entry; each bit is flipped somewhere."""
    store = LocalStore(str(compiled.parents[1]), writable=False)
    whole = bytearray(compiled.read_bytes())
    allowed = {Reason.CACHE_TRUNCATED, Reason.CACHE_CORRUPT, Reason.CACHE_FORMAT_VERSION}
    with open(compiled, "r+b", buffering=0) as file:
        for place, byte in enumerate(whole):
            os.pwrite(file.fileno(), bytes([byte ^ 1 << place % 8]), place)
            found = store.read(str(compiled))
            assert isinstance(found, Miss), place
            assert found.reason in allowed
            os.pwrite(file.fileno(), bytes([byte]), place)
    assert isinstance(store.read(str(compiled)), Entry)


# --- the command line -----------------------------------------------------------------------------


@pytest.fixture
def run(capsys):
    """run(*arguments) -> (exit status, standard output, standard error)"""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(("cache", *arguments))
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_verify_on_the_command_line(run, compiled) -> None:
    status, out, _ = run("verify")
    assert (status, out.split(" ")[0]) == (0, "checked")
    change(compiled, peak=1 << 40)
    status, out, _ = run("verify")
    assert status == 1
    assert "1 bad (0 removed)" in out
    assert "f  `peak` differs" in out
    assert "[PYC2322]" in out
    status, out, _ = run("verify", "--repair")
    assert status == 0
    assert "1 bad (1 removed)" in out
    assert run("verify")[0] == 0


@pytest.mark.usefixtures("aged")
def test_prune_on_the_command_line(run, cache_dir, golden) -> None:
    lines = [run("prune", "--older-than", "35d")[1], run("prune", "--unused", "12 d")[1]]
    lines += [run("prune", "--max-bytes", "2.5kB")[1], run("prune")[1]]
    golden("".join(lines).replace(str(cache_dir), "DIRECTORY"))
    assert left() == [0, 1]


@pytest.mark.usefixtures("aged")
@pytest.mark.parametrize(
    "arguments",
    [
        ("prune", "--older-than", "30"),
        ("prune", "--unused", "soon"),
        ("prune", "--unused=-3d"),
        ("prune", "--max-bytes", "lots"),
        ("explain", "zz"),
        ("show", ""),
    ],
)
def test_wrong_use_names_the_fix(run, arguments, golden) -> None:
    status, out, problem = run(*arguments)
    assert (status, out) == (1, "")
    golden(problem, "-".join(a.strip("-") or "nothing" for a in arguments))
    assert left() == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("aged")
def test_a_read_only_cache_on_the_command_line(run, golden) -> None:
    with config.using(cache="ro"):
        status, out, problem = run("clear")
    assert (status, out) == (1, "")
    golden(problem)


def test_stats_say_when_the_directory_is_not_used(run, cache_dir) -> None:
    cache_dir.mkdir(mode=0o700)
    cache_dir.chmod(0o777)
    status, out, _ = run("stats")
    assert status == 0
    assert "the cache directory is not used: it belongs to another user" in out
    assert "chmod 700" in out


def test_explain_of_one_key_takes_the_nearest_entry(run, cache_dir) -> None:
    f = jit(lambda x: x * 2 + 1, name="f")
    f(np.ones(5, np.float32))
    f(np.ones(6, np.float32))
    keys = [entry.key for entry in cache.ls("f")]
    status, out, _ = run("explain", keys[0][:12])
    assert status == 0
    lines = out.splitlines()
    assert [line.split(" ")[0] for line in lines[:2]] == [key[:16] for key in keys]
    assert "f(x: f32[5])" in out
    assert lines[2] in ("  argument `x`: f32[5] / f32[6]", "  argument `x`: f32[6] / f32[5]")


@pytest.mark.usefixtures("cache_dir")
def test_explain_works_in_a_frozen_cache_too() -> None:
    """Where one wants to know; also what tracing needs of pyc's own may be missing there."""
    f = jit(lambda x: x * 5.0, name="f")
    before = native.CALLS._image
    native.CALLS._image = None
    try:
        with cache.frozen():
            assert cache.explain(f, np.ones(3)).reason is Reason.CACHE_EMPTY
    finally:
        native.CALLS._image = before


@pytest.mark.usefixtures("cache_dir")
def test_programs_of_no_function_are_counted_by_operation() -> None:
    pyc.clear_caches()
    pyc.numpy.tan(np.ones(3))
    (name,) = [name for name in cache.stats().per_function if name.startswith("eager")]
    assert name == "eager tan"
    assert [entry.label for entry in cache.ls("eager*")] == [name]


def test_explain_names_captured_arrays_by_where_they_are_read(cache_dir) -> None:
    class Model:
        w = np.ones((3, 4))

    model = Model()
    f = jit(lambda x: x @ model.w, name="f")
    f(np.ones(3))
    model.w = np.ones((3, 5))
    found = cache.explain(f, np.ones(3)).differing_fields
    assert ("argument `model.w`", "f64[3,4]", "f64[3,5]") in found


def test_frozen_names_function_signature_and_nearest_entry(cache_dir, golden) -> None:
    f = jit(lambda x, scale: x * scale, name="f")
    f(np.ones(5, np.float32), 2.0)
    with cache.frozen(), pytest.raises(cache.CacheMissError) as caught:
        f(np.ones(6, np.float32), 2.0)
    (entry,) = cache.ls("f")
    text = str(caught.value).replace(entry.key[:16], "KEY")
    golden(text.replace(f"{entry.compile_seconds:.3f}", "SECONDS"))
