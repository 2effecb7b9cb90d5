"""The cache on disk and in memory: right entries, no exceptions, a reason for every miss.

Faults are injected into real files and into the system calls; whatever happens to the directory,
`lookup` answers and `store` says what it did.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyc.store
from pyc import cache, config, fingerprint, reasons
from pyc.errors import CacheMissError
from pyc.reasons import Reason
from pyc.store import FORMAT, MAGIC, QUARANTINE_FILES, Entry, LocalStore, Miss, write

SOURCES = Path(fingerprint.__file__).parents[1]

DOCUMENT = {
    "graph": "graph(%0: f32[8])\n  %1 = sin(%0)\n  return %1\n",
    "types": ["f32[8]"],
    "options": {"fastmath": False},
    "pyc": "a" * 64,
}
FACTS = {"id": "x86-64-v3", "vector_bytes": 32, "features": ["avx2", "fma"], "cores": 8}
USED = {"vector_bytes": 32, "features": ["avx2", "fma"]}
PAYLOAD = {"image": b"\x90\xc3" * 40, "symbols": [["entry", 0]], "peak": 1 << 40}


def fill(document=DOCUMENT, facts=USED, payload=PAYLOAD, seconds=0.25, function="f") -> None:
    assert cache.store(document, facts, payload, seconds, function)


def miss(document=DOCUMENT, facts=FACTS) -> Miss:
    found = cache.lookup(document, facts, "f")
    assert isinstance(found, Miss), found
    return found


def hit(document=DOCUMENT, facts=FACTS) -> Entry:
    found = cache.lookup(document, facts, "f")
    assert isinstance(found, Entry), found
    return found


def only_file(cache_dir: Path) -> Path:
    (file,) = cache_dir.glob("??/*.msgpack")
    return file


# --- keys -----------------------------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def backwards(value):
    """The same document with every dict in the opposite order and every list a tuple."""
    if isinstance(value, dict):
        return {k: backwards(value[k]) for k in reversed(value)}
    if isinstance(value, list):
        return tuple(map(backwards, value))
    return value


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_the_key_does_not_depend_on_the_order_of_dicts(document) -> None:
    assert fingerprint.key_of(document) == fingerprint.key_of(backwards(document))


@given(VALUES, VALUES)
def test_different_values_have_different_bytes(a, b) -> None:
    same = json.dumps(describe(a), sort_keys=True) == json.dumps(describe(b), sort_keys=True)
    assert (fingerprint.canonical(a) == fingerprint.canonical(b)) == same


def describe(value):
    """A value with its types spelled out: 1, 1.0, True and "1" all differ, so do 0.0 and -0.0."""
    if isinstance(value, dict):
        return {"dict": {k: describe(v) for k, v in value.items()}}
    if isinstance(value, list):
        return ["list", *map(describe, value)]
    text = value.hex() if isinstance(value, (float, bytes)) else str(value)
    return [type(value).__name__, text]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": [1, {2}]}, r"document\.a\[1\]: a set cannot be part of a key"),
        ({"a": {1: 2}}, r"document\.a: keys must be texts"),
        ({"a": object}, r"document\.a: a type cannot"),
    ],
)
def test_values_without_one_encoding_are_refused(document, message) -> None:
    with pytest.raises(TypeError, match=message):
        fingerprint.key_of(document)


def test_nan_has_one_encoding() -> None:
    assert fingerprint.canonical(float("nan")) == fingerprint.canonical(-float("nan"))


def test_the_source_digest_is_of_contents_and_equal_in_other_processes() -> None:
    code = (
        "from pyc import fingerprint as f; print(f.source_digest());"
        "print(f.key_of({'a': {'b': 1, 'c': 2}}))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    mine = [fingerprint.source_digest(), fingerprint.key_of({"a": {"c": 2, "b": 1}})]
    assert other.stdout.split() == mine


def test_a_changed_source_changes_the_digest(tmp_path) -> None:
    """Run on a copy of the package, so that a change of one byte can be tried."""
    copy = tmp_path / "pyc"
    shutil.copytree(SOURCES / "pyc", copy)
    code = "from pyc import fingerprint as f; print(f.__file__, f.source_digest())"

    def digest() -> str:
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        file, found = run.stdout.split()
        assert file.startswith(str(tmp_path))
        return found

    before = digest()
    os.utime(copy / "errors.py", (1, 1))
    assert digest() == before
    with open(copy / "ir" / "types.py", "a") as file:
        file.write("\n")
    assert digest() != before


def test_versions_are_those_of_the_installed_packages() -> None:
    names = ["llvmlite", "ml_dtypes", "no_such_package"]
    found = fingerprint.versions(names)
    assert found == {
        "llvmlite": metadata.version("llvmlite"),
        "ml_dtypes": metadata.version("ml_dtypes"),
        "no_such_package": "",
    }


# --- hits and misses ------------------------------------------------------------------------------


def test_what_was_stored_is_found(cache_dir) -> None:
    assert miss().reason is Reason.CACHE_EMPTY
    fill()
    entry = hit()
    assert entry.payload == PAYLOAD
    assert (entry.label, entry.compile_seconds, entry.facts) == ("f", 0.25, USED)
    assert entry.document == DOCUMENT
    assert entry.key == fingerprint.key_of(DOCUMENT)
    assert entry.nbytes == only_file(cache_dir).stat().st_size


def test_what_was_stored_is_found_by_another_process(cache_dir) -> None:
    fill()
    code = (
        "import json, sys; from pyc import cache; d, f = json.load(sys.stdin);"
        "e = cache.lookup(d, f); print(e.payload['image'].hex(), len(e.payload))"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([DOCUMENT, FACTS]),
        env={**os.environ, "PYC_CACHE_DIR": str(cache_dir), "PYTHONHASHSEED": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.split() == [PAYLOAD["image"].hex(), "3"]


@pytest.mark.usefixtures("cache_dir")
def test_another_document_is_a_miss() -> None:
    fill()
    assert miss({**DOCUMENT, "types": ["f32[9]"]}).reason is Reason.CACHE_KEY_DIFFERS


@pytest.mark.usefixtures("cache_dir")
def test_only_the_facts_that_were_used_must_hold() -> None:
    fill()
    assert hit(facts={**FACTS, "cores": 2, "id": "native"}).payload == PAYLOAD
    found = miss(facts={**FACTS, "vector_bytes": 64})
    assert found.reason is Reason.CACHE_TARGET_DIFFERS
    assert found.details == {"vector_bytes": "stored 32, here 64"}
    assert miss(facts={}).details["features"] == "stored ['avx2', 'fma'], here None"


@pytest.mark.usefixtures("cache_dir")
def test_one_key_holds_an_entry_per_target() -> None:
    for width in (16, 32, 64):
        fill(facts={"vector_bytes": width}, payload={"width": width})
    for width in (16, 32, 64):
        assert hit(facts={"vector_bytes": width}).payload == {"width": width}
    assert miss(facts={"vector_bytes": 8}).reason is Reason.CACHE_TARGET_DIFFERS
    assert len(cache.inspect(fingerprint.key_of(DOCUMENT))) == 3


@pytest.mark.usefixtures("cache_dir")
def test_storing_again_replaces() -> None:
    fill(payload={"a": 1})
    fill(payload={"a": 2})
    assert hit().payload == {"a": 2}
    assert cache.stats().entries == 1


# --- damaged, foreign and vanished files ----------------------------------------------------------


def test_every_truncation_is_a_miss(cache_dir) -> None:
    fill()
    file = only_file(cache_dir)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert miss().reason in (Reason.CACHE_TRUNCATED, Reason.CACHE_CORRUPT)
        assert not file.exists(), "it was not set aside"
    file.write_bytes(whole)
    assert hit().payload == PAYLOAD


def test_every_changed_byte_is_a_miss(cache_dir) -> None:
    fill()
    file = only_file(cache_dir)
    whole = file.read_bytes()
    allowed = {Reason.CACHE_TRUNCATED, Reason.CACHE_CORRUPT, Reason.CACHE_FORMAT_VERSION}
    for place in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            assert miss().reason in allowed
    assert cache.stats().corrupt <= QUARANTINE_FILES


def test_rubbish_is_a_miss(cache_dir) -> None:
    fill()
    file = only_file(cache_dir)
    rubbish = [b"", b"\0" * 100, b"\xff" * 100, b"\xc1", b"\x81\x90\x90", b"not msgpack at all"]
    rubbish += [
        msgpack.packb(v) for v in (None, [], {}, [MAGIC], [MAGIC, FORMAT], [MAGIC, FORMAT, 1, 2, 3])
    ]
    for content in rubbish:
        file.write_bytes(content)
        assert miss().reason in (Reason.CACHE_CORRUPT, Reason.CACHE_TRUNCATED)


def test_reasons_of_damage_are_told_apart(cache_dir) -> None:
    fill()
    file = only_file(cache_dir)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    assert miss().reason is Reason.CACHE_TRUNCATED
    file.write_bytes(whole[:-1] + b"?")
    assert miss().reason is Reason.CACHE_CORRUPT
    fields = msgpack.unpackb(whole)
    file.write_bytes(msgpack.packb([MAGIC, FORMAT + 1, *fields[2:]]))
    found = miss()
    assert found.reason is Reason.CACHE_FORMAT_VERSION
    assert (found.details["found"], found.details["known"]) == (str(FORMAT + 1), str(FORMAT))
    assert [e.reason for e in reasons.events("cache")] == [
        Reason.CACHE_TRUNCATED,
        Reason.CACHE_CORRUPT,
        Reason.CACHE_FORMAT_VERSION,
    ]


def test_an_entry_under_another_name_is_a_miss(cache_dir) -> None:
    """Content is checked against the key asked for: a renamed file cannot pose as another."""
    fill()
    other = {**DOCUMENT, "types": ["f32[9]"]}
    fill(other, payload={"other": True})
    store = LocalStore(str(cache_dir))
    mine, its = (store.path(fingerprint.key_of(d), USED) for d in (DOCUMENT, other))
    os.replace(its, mine)
    assert miss().reason is Reason.CACHE_CORRUPT


def test_an_entry_that_others_may_write_is_a_miss(cache_dir) -> None:
    fill()
    only_file(cache_dir).chmod(0o622)
    assert miss().reason is Reason.CACHE_FOREIGN_OWNER


def test_an_entry_of_another_user_is_a_miss(cache_dir, monkeypatch) -> None:
    fill()
    mine = os.geteuid()
    store = LocalStore(str(cache_dir))
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    found = store.lookup(DOCUMENT, FACTS)
    assert isinstance(found, Miss)
    assert found.reason is Reason.CACHE_FOREIGN_OWNER


def test_links_and_pipes_are_not_entries(cache_dir, tmp_path) -> None:
    fill()
    file = only_file(cache_dir)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert miss().reason is Reason.CACHE_CORRUPT
    os.mkfifo(file, 0o600)
    assert miss().reason is Reason.CACHE_CORRUPT
    file.mkdir()
    assert miss().reason is Reason.CACHE_CORRUPT
    assert len(LocalStore(str(cache_dir)).set_aside()) == 1, "each in the place of the one before"
    fill()
    assert hit().payload == PAYLOAD


def test_an_entry_that_vanishes_while_it_is_read_is_a_miss(cache_dir, monkeypatch) -> None:
    """Another process may clear the cache between the listing and the reading."""
    fill()
    real = os.open

    def vanish(path, *args, **kwargs):
        if str(path).endswith(".msgpack"):
            os.unlink(path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", vanish)
    assert miss().reason is Reason.CACHE_EMPTY


def test_set_aside_files_are_bounded_and_cleared(cache_dir) -> None:
    for k in range(QUARANTINE_FILES + 5):
        fill({**DOCUMENT, "k": k})
    for file in cache_dir.glob("??/*.msgpack"):
        file.write_bytes(b"")
    for k in range(QUARANTINE_FILES + 5):
        assert miss({**DOCUMENT, "k": k}).reason is Reason.CACHE_TRUNCATED
    assert cache.stats().corrupt == QUARANTINE_FILES
    cache.clear()
    assert cache.stats().corrupt == 0


# --- directories ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_directory_that_others_may_write_is_not_used(cache_dir, mode) -> None:
    cache_dir.mkdir()
    cache_dir.chmod(mode)
    found = miss()
    assert found.reason is Reason.CACHE_DIRECTORY_UNSAFE
    assert found.details["directory"] == str(cache_dir)
    assert not cache.store(DOCUMENT, USED, PAYLOAD, 0.1)
    assert list(cache_dir.iterdir()) == []


def test_a_directory_of_another_user_is_not_used(cache_dir, monkeypatch) -> None:
    cache_dir.mkdir(mode=0o700)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert miss().reason is Reason.CACHE_DIRECTORY_UNSAFE


def test_a_directory_that_cannot_be_made_is_a_miss(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with config.using(cache="rw", cache_dir=str(tmp_path / "file" / "cache")):
        assert miss().reason is Reason.CACHE_DIRECTORY_UNAVAILABLE
        assert not cache.store(DOCUMENT, USED, PAYLOAD, 0.1)
        assert cache.ls() == []
    with config.using(cache="rw", cache_dir=str(tmp_path / "file")):
        assert miss().reason is Reason.CACHE_DIRECTORY_UNAVAILABLE
        assert miss().details["error"] == "Not a directory"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("call", ["open", "replace", "write"])
def test_a_directory_that_cannot_be_written_is_read_on(cache_dir, monkeypatch, call, code) -> None:
    """The tests may run as root, whom no permission stops: the system calls fail instead."""
    fill()
    real = getattr(os, call)

    def fail(path, *args, **kwargs):
        if call == "open" and not args[0] & os.O_WRONLY:
            return real(path, *args, **kwargs)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, fail)
    other = {**DOCUMENT, "types": ["f32[9]"]}
    assert not cache.store(other, USED, PAYLOAD, 0.1)
    assert reasons.events("cache")[-1].reason is Reason.CACHE_READ_ONLY
    assert os.strerror(code) in reasons.events("cache")[-1].details["error"]
    monkeypatch.undo()
    assert hit().payload == PAYLOAD
    assert not cache.store(other, USED, PAYLOAD, 0.1), "it is read only from now on"
    assert {p for p in cache_dir.rglob("*") if p.is_file()} <= {
        only_file(cache_dir),
        cache_dir / "size",
    }


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("call", ["open", "replace", "write"])
def test_a_full_disk_refuses_what_does_not_fit_and_no_more(
    cache_dir, monkeypatch, call, code
) -> None:
    """It may have room, or the process files, for the next program."""
    fill()
    real = getattr(os, call)

    def fail(path, *args, **kwargs):
        if call == "open" and not args[0] & os.O_WRONLY:
            return real(path, *args, **kwargs)
        raise OSError(code, os.strerror(code))

    other = {**DOCUMENT, "types": ["f32[9]"]}
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        assert not cache.store(other, USED, PAYLOAD, 0.1)
    event = reasons.events("cache")[-1]
    assert event.reason is Reason.CACHE_NOT_STORED
    assert event.details["error"] == os.strerror(code)
    assert event.details["directory"] == str(cache_dir)
    assert not [p for p in cache_dir.rglob("*") if p.name.startswith(".")], "nothing is left over"
    assert cache.store(other, USED, PAYLOAD, 0.1)
    assert hit(other).payload == PAYLOAD


@pytest.mark.usefixtures("unprivileged")
def test_a_read_only_directory_is_read_on() -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "cache"
        with config.using(cache="rw", cache_dir=str(folder)):
            fill()
            for part in (*folder.glob("??"), folder):
                part.chmod(0o500)
            assert hit().payload == PAYLOAD
            assert not cache.store({**DOCUMENT, "k": 1}, USED, PAYLOAD, 0.1)
            assert reasons.events("cache")[-1].reason is Reason.CACHE_READ_ONLY
            assert hit().payload == PAYLOAD
            for part in (folder, *folder.glob("??")):
                part.chmod(0o700)


@pytest.mark.usefixtures("unprivileged")
def test_a_directory_that_cannot_be_read_is_a_miss() -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "cache"
        folder.mkdir(mode=0)
        with config.using(cache="rw", cache_dir=str(folder)):
            assert miss().reason is Reason.CACHE_DIRECTORY_UNAVAILABLE
            assert miss().details["error"] == "Permission denied"


def test_files_are_of_this_user_alone(cache_dir) -> None:
    old = os.umask(0)
    try:
        fill()
    finally:
        os.umask(old)
    assert only_file(cache_dir).stat().st_mode & 0o777 == 0o600
    assert only_file(cache_dir).parent.stat().st_mode & 0o777 == 0o700
    assert cache_dir.stat().st_mode & 0o777 == 0o700


def test_the_default_directory_follows_xdg(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with config.using(cache_dir=""):
        monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
        assert cache.directory() == "/some/where/pyc"
        monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
        assert cache.directory() == str(tmp_path / ".cache" / "pyc")
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache.directory() == str(tmp_path / ".cache" / "pyc")
    with config.using(cache_dir="~/mine"):
        assert cache.directory() == str(tmp_path / "mine")


# --- modes ----------------------------------------------------------------------------------------


def test_off_neither_reads_nor_writes(cache_dir) -> None:
    fill()
    with config.using(cache="off"):
        assert miss().reason is Reason.CACHE_DISABLED
        assert not cache.store({**DOCUMENT, "k": 1}, USED, PAYLOAD, 0.1)
    assert cache.stats().entries == 1
    assert len(list(cache_dir.glob("??/*"))) == 1


@pytest.mark.parametrize("mode", ["ro", "frozen"])
def test_read_only_modes_write_nothing(cache_dir, mode) -> None:
    fill()
    file = only_file(cache_dir)
    with config.using(cache=mode):
        assert hit().payload == PAYLOAD
        assert not cache.store({**DOCUMENT, "k": 1}, USED, PAYLOAD, 0.1)
        file.write_bytes(b"")
        if mode == "ro":
            assert miss().reason is Reason.CACHE_TRUNCATED
        else:
            with pytest.raises(CacheMissError):
                cache.lookup(DOCUMENT, FACTS, "f")
    assert file.exists(), "a file was set aside"
    assert cache.stats().corrupt == 0


def test_a_missing_directory_is_not_made_by_readers(cache_dir) -> None:
    with config.using(cache="ro"):
        assert miss().reason is Reason.CACHE_EMPTY
    assert not cache_dir.exists()


@pytest.mark.usefixtures("cache_dir")
def test_frozen_raises_with_the_nearest_entry(golden) -> None:
    fill()
    with cache.frozen():
        assert hit().payload == PAYLOAD
        with pytest.raises(CacheMissError) as caught:
            cache.lookup({**DOCUMENT, "types": ["f32[9]"]}, FACTS, "g")
    golden(str(caught.value))


# --- looking inside -------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_statistics_are_what_happened(cache_dir) -> None:
    assert miss().reason is Reason.CACHE_EMPTY
    fill(seconds=0.5, function="f")
    hit()
    hit()
    cache.lookup({**DOCUMENT, "k": 1}, FACTS, "g")
    cache.memory.put("k", "program", 10)
    assert cache.memory.get("k", "g") == "program"
    stats = cache.stats()
    assert (stats.entries, stats.bytes) == (1, only_file(cache_dir).stat().st_size)
    f, g = stats.per_function["f"], stats.per_function["g"]
    assert (f.hits_disk, f.stored, dict(f.misses)) == (2, 1, {Reason.CACHE_EMPTY: 1})
    assert (f.compile_seconds_spent, f.compile_seconds_saved) == (0.5, 1.0)
    assert (g.hits_memory, g.hits_disk, dict(g.misses)) == (1, 0, {Reason.CACHE_KEY_DIFFERS: 1})
    assert (stats.total.hits_disk, stats.total.misses.total()) == (2, 2)
    assert json.loads(json.dumps(stats.as_dict()))["total"]["misses"] == {
        "cache_empty": 1,
        "cache_key_differs": 1,
    }


@pytest.mark.usefixtures("cache_dir")
def test_statistics_read_well(cache_dir, golden) -> None:
    miss()
    fill(seconds=0.5)
    hit()
    only_file(cache_dir).write_bytes(b"")
    miss()
    golden(repr(cache.stats()).replace(str(cache_dir), "DIRECTORY"))


@pytest.mark.usefixtures("cache_dir")
def test_statistics_name_the_functions_of_this_process() -> None:
    """A cache that is in use for long has thousands of others."""
    for k in range(5):
        fill({**DOCUMENT, "k": k}, function=f"older{k}")
    cache.reset_stats()
    shown = str(cache.stats()).splitlines()
    assert len(shown) == 3
    assert re.fullmatch(r"  5 other functions: 5 entries, .* kB", shown[2])
    assert set(cache.stats().per_function) >= {f"older{k}" for k in range(5)}


@pytest.mark.usefixtures("cache_dir")
def test_ls_filters_by_function_and_key() -> None:
    for name in ("wave.step", "wave.init", "tree"):
        fill({**DOCUMENT, "name": name}, function=name)
    assert [e.label for e in cache.ls()] == ["tree", "wave.init", "wave.step"]
    assert [e.label for e in cache.ls("wave.*")] == ["wave.init", "wave.step"]
    key = cache.ls("tree")[0].key
    assert [e.label for e in cache.ls(key[:12])] == ["tree"]
    assert [e.label for e in cache.inspect(key[:12])] == ["tree"]
    with pytest.raises(KeyError, match="no cache keys begin with 'zz'"):
        cache.inspect("zz")
    with pytest.raises(KeyError, match="3 cache keys begin with ''"):
        cache.inspect("")


def test_clear_removes_everything(cache_dir) -> None:
    fill()
    fill({**DOCUMENT, "k": 1})
    shard = cache_dir / "ab"
    shard.mkdir(exist_ok=True)
    name = f".{'c' * 62}-{'d' * 16}.msgpack"
    abandoned, in_progress, foreign = (
        shard / f"{name}.{'1' * 12}",
        shard / f"{name}.{'2' * 12}",
        shard / "mine.txt",
    )
    for file in (abandoned, in_progress, foreign):
        file.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    os.utime(foreign, (1, 1))
    cache.memory.put("k", 1, 1)
    assert cache.clear() == 2
    left = {in_progress, foreign, cache_dir / "size"}
    assert {p for p in cache_dir.rglob("*") if p.is_file()} == left
    assert len(cache.memory) == 0
    assert miss().reason is Reason.CACHE_EMPTY


@pytest.mark.usefixtures("cache_dir")
def test_explain_names_the_fields_that_differ(golden) -> None:
    golden(str(cache.explain_document(DOCUMENT, FACTS)), "empty")
    fill(function="near")
    fill({**DOCUMENT, "types": ["f64[3]"], "pyc": "b" * 64, "options": {}}, function="far")
    asked = {
        **DOCUMENT,
        "graph": DOCUMENT["graph"].replace("sin", "cos"),
        "options": {"fastmath": True, "name": "x"},
    }
    report = cache.explain_document(asked, FACTS)
    golden(str(report), "key")
    assert report.nearest_function == "near"
    assert report.cost == 0.25
    golden(str(cache.explain_document(DOCUMENT, {**FACTS, "vector_bytes": 64})), "target")
    golden(str(cache.explain_document(DOCUMENT, FACTS)), "hit")
    assert cache.stats().total.misses.total() == 0, "explaining is not counted"


def test_differences_of_lists_and_missing_parts() -> None:
    stored = {"a": [1, 2], "b": "x\ny\nz", "d": 1}
    asked = {"a": [1, 3, 4], "b": "x\ny", "c": None, "d": 1.0}
    found = [(d.field, d.stored, d.asked) for d in cache.difference(stored, asked)]
    assert found == [
        ("a[1]", "2", "3"),
        ("a[2]", "absent", "4"),
        ("b line 3", "'z'", "absent"),
        ("c", "absent", "None"),
        ("d", "1", "1.0"),
    ]


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache_dir")
def test_memory_drops_the_least_recently_used() -> None:
    held: cache.MemoryCache[int] = cache.MemoryCache(entries=2, nbytes=100)
    held.put("a", 1, 10)
    held.put("b", 2, 10)
    assert held.get("a") == 1
    held.put("c", 3, 10)
    assert (held.get("a"), held.get("b"), held.get("c")) == (1, None, 3)
    assert cache.counted()[""].evicted_memory == 1
    assert reasons.events("cache")[-1].reason is Reason.CACHE_EVICTED
    held.put("d", 4, 95)
    assert (len(held), held.get("d")) == (1, 4)
    held.put("e", 5, 101)
    assert held.get("e") is None, "larger than the bound"
    held.put("d", 6, 5)
    held.put("f", 7, 90)
    assert (held.get("d"), held.get("f")) == (6, 7)
    assert cache.readable_bytes(999) == "999 B"
    assert cache.readable_bytes(3_210_000) == "3.2 MB"


# --- many processes -------------------------------------------------------------------------------


def hammer(directory: str, seed: int) -> int:
    """Stores, reads and clears in a shared directory; returns the number of wrong answers."""
    store = LocalStore(directory)
    wrong = 0
    for k in range(120):
        n = (k * 7 + seed) % 10
        document = {"n": n}
        if (
            write.put(store, document, {}, {"n": n, "fill": bytes(1000 * n)}, compile_seconds=0)
            is not None
        ):
            wrong += 1
        found = store.lookup(document, {})
        if isinstance(found, Entry):
            wrong += found.payload["n"] != n or len(found.payload["fill"]) != 1000 * n
        else:
            wrong += found.reason not in (Reason.CACHE_EMPTY, Reason.CACHE_KEY_DIFFERS)
        if k % 40 == 39 and seed == 0:
            write.clear(store)
    return wrong


def test_processes_share_a_directory_without_harm(tmp_path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.starmap(hammer, [(str(tmp_path / "c"), seed) for seed in range(4)]) == [0] * 4


def test_a_writer_killed_half_way_leaves_no_entry(cache_dir) -> None:
    """The process dies with the file half written; what is left is no entry and does no harm."""
    code = (
        "import os, sys; from pyc.store import LocalStore, write\n"
        "real = os.write\n"
        "os.write = lambda descriptor, content: os._exit(9 * bool(real(descriptor, content[:9])))\n"
        "write.put(LocalStore(sys.argv[1]), {'a': 1}, {}, {'b': 2}, compile_seconds=0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(cache_dir)], check=False)
    assert run.returncode == 9
    assert len([p for p in cache_dir.rglob("*") if p.is_file()]) == 1
    assert miss({"a": 1}, {}).reason is Reason.CACHE_EMPTY
    fill({"a": 1}, {}, {"b": 2})
    assert hit({"a": 1}, {}).payload == {"b": 2}


def test_a_child_of_a_fork_can_use_the_cache(cache_dir) -> None:
    fill()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if isinstance(cache.lookup(DOCUMENT, FACTS), Entry) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_the_store_module_needs_no_llvm() -> None:
    code = "import pyc.cache; assert 'libllvmlite' not in open('/proc/self/maps').read()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pyc.store.FORMAT == FORMAT
