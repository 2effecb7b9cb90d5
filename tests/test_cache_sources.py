"""The digest of pyc's sources as noted in the cache directory: never older than the sources."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyc import cache, fingerprint
from pyc.frozen import replace
from pyc.store import sources


@pytest.fixture
def tree(tmp_path, monkeypatch, cache_dir) -> Path:
    """A few files in place of pyc's own, all of them changed long ago."""
    root = tmp_path / "sources"
    (root / "inner").mkdir(parents=True)
    for name in ("a.py", "inner/b.py"):
        (root / name).write_text(f"{name}\n")
    monkeypatch.setattr(fingerprint, "_ROOT", str(root))
    monkeypatch.setattr(sources, "SETTLED_NS", -(10**12))
    return root


def notes(cache_dir: Path) -> list[Path]:
    return list(cache_dir.glob("sources*"))


def remembered(store) -> tuple[str, bool]:
    """The digest, and whether the files were read for it."""
    fingerprint.source_digest.cache_clear()
    found = sources.remembered_digest(store)
    return found, fingerprint.source_digest.cache_info().misses == 1


@pytest.fixture(autouse=True)
def _own_digest_afterwards() -> Iterator[None]:
    yield
    fingerprint.source_digest.cache_clear()


def test_the_digest_is_read_once_and_noted(tree, cache_dir) -> None:
    store = cache.disk(writable=True)
    first, was_read = remembered(store)
    assert was_read and first == fingerprint.source_digest()
    assert remembered(store) == (first, False)
    assert cache.clear() == 0 and not notes(cache_dir)
    assert remembered(store) == (first, True)


def test_two_installations_share_a_directory(tree, cache_dir, monkeypatch, tmp_path) -> None:
    """Each has a note of its own: neither reads its sources again because of the other."""
    store = cache.disk(writable=True)
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    (other / "a.py").write_text("another version\n")
    first, _ = remembered(store)
    monkeypatch.setattr(fingerprint, "_ROOT", str(other))
    second, was_read = remembered(store)
    assert was_read and second != first
    assert remembered(store) == (second, False)
    monkeypatch.setattr(fingerprint, "_ROOT", str(tree))
    assert remembered(store) == (first, False)
    assert len(notes(cache_dir)) == 2
    cache.clear()
    assert not notes(cache_dir)


CHANGES = {
    "another content of the same size and time": lambda f: rewrite(f, "a.pY\n", f.stat()),
    "another size": lambda f: f.write_text("longer\n"),
    "another file of this name": lambda f: swapped(f),
    "a file more": lambda f: (f.parent / "c.py").write_text(""),
    "a file less": lambda f: (f.parent / "inner" / "b.py").unlink(),
    "another name": lambda f: f.rename(f.parent / "d.py"),
}


def rewrite(file: Path, text: str, state: os.stat_result) -> None:
    """Writes `text` and puts the times back, as far as anybody can."""
    time.sleep(0.02)  # beyond one tick of the file system's clock
    file.write_text(text)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def swapped(file: Path) -> None:
    other = file.with_suffix(".new")
    state = file.stat()
    rewrite(other, "a.pY\n", state)
    os.replace(other, file)


@pytest.mark.parametrize("change", CHANGES)
def test_a_note_is_never_older_than_the_sources(tree, cache_dir, change) -> None:
    store = cache.disk(writable=True)
    first, _ = remembered(store)
    CHANGES[change](tree / "a.py")
    second, was_read = remembered(store)
    assert was_read and second != first
    assert remembered(store) == (second, False)


def test_nothing_is_noted_of_files_that_have_just_changed(tree, cache_dir, monkeypatch) -> None:
    """A second change within one tick of the clock would not be seen."""
    monkeypatch.setattr(sources, "SETTLED_NS", 10**12)
    store = cache.disk(writable=True)
    assert remembered(store) == remembered(store) == (fingerprint.source_digest(), True)
    assert not notes(cache_dir)


def test_nothing_is_noted_where_times_are_whole_seconds(tree, cache_dir, monkeypatch) -> None:
    state = fingerprint.source_state()
    assert state.exact
    monkeypatch.setattr(sources, "source_state", lambda: replace(state, exact=False))
    assert remembered(cache.disk(writable=True))[1]
    assert not notes(cache_dir)


def test_nothing_is_noted_of_files_that_change_while_they_are_read(tree, cache_dir, monkeypatch):
    def read() -> str:
        (tree / "a.py").write_text("changed\n")
        return "0" * 64

    monkeypatch.setattr(sources, "source_digest", read)
    assert sources.remembered_digest(cache.disk(writable=True)) == "0" * 64
    assert not notes(cache_dir)


@pytest.mark.parametrize("rubbish", [b"", b"x", b"\xff" * 200, b"sources-1 a b c\n"])
def test_a_damaged_or_foreign_note_is_not_used(tree, cache_dir, rubbish) -> None:
    store = cache.disk(writable=True)
    first, _ = remembered(store)
    (note,) = notes(cache_dir)
    whole = note.read_bytes()
    for content in (rubbish, whole[:-9], whole.replace(first[:6].encode(), b"000000"), whole * 2):
        note.write_bytes(content)
        assert remembered(store) == (first, True)
        assert remembered(store) == (first, False), "noted again"
    note.chmod(0o666)
    assert remembered(store) == (first, True)
    note.unlink()
    note.symlink_to(tree / "a.py")
    assert remembered(store) == (first, True)


def test_a_cache_that_may_not_be_written_gets_no_note(tree, cache_dir) -> None:
    assert remembered(cache.disk(writable=False))[1]
    assert not notes(cache_dir)
