"""What changes the cache on disk: storing, keeping its size within a bound, removing.

    put       stores an entry
    evict     removes the entries that were used least recently, if all are larger than a bound
    prune     removes by size, age and use, and what writers that died left behind
    clear     removes everything

The bytes of all entries stand in the file `size`, in decimal digits. A writer adds to it before it
renames its entry into place, both while it holds a lock on that file: the number is never less than
what lies there, whoever dies when. Where it is more, or missing, or rubbish, the entries are
counted, which sets it right; so it may be wrong without harm, and readers never look at it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pyc.fingerprint import Document, key_of
from pyc.reasons import Reason
from pyc.store import (
    ENTRY_NAME,
    SHARD_NAME,
    SOURCES,
    LocalStore,
    Miss,
    digest,
    encode,
    listing,
    lock,
    remove,
)

SIZE = "size"
LEASES = "leases"

ABANDONED_SECONDS = 600.0
"""Age from which a temporary file is taken to be left over by a writer that died."""

LOCK_SECONDS = 2.0
"""Longest time to wait for another writer: one takes 0.05 ms, to count 3,000 entries 10 ms."""

LEVEL = 0.9
"""Share of the bound that eviction leaves, so that not every entry stored removes another."""

_TEMPORARY_NAME = rf"\.{ENTRY_NAME}\.[0-9a-f]{{12}}"
_NOTE_NAME = rf"{SOURCES}\.[0-9a-f]{{12}}"
_LEASE_NAME = r"[0-9a-f]{64}-[0-9a-f]{16}"


class Removed(NamedTuple):
    """An entry that is gone. label: the function it was first compiled for, as far as known."""

    key: str
    label: str
    nbytes: int


class _File(NamedTuple):
    """The file of an entry. used: the time of its last use; written: when it was stored."""

    used: float
    path: str
    nbytes: int
    written: float


# --- storing --------------------------------------------------------------------------------------


def put(
    store: LocalStore,
    document: Document,
    facts: Document,
    payload: Document,
    *,
    compile_seconds: float,
    label: str = "",
    arguments: Sequence[str] = (),
    max_bytes: int = 0,
) -> Miss | None:
    """Stores an entry, in place of one with equal document and facts.

    payload: a dict that msgpack can hold; max_bytes: of all entries, 0 for no bound.
    Returns None, or why nothing was stored.
    raises TypeError: document, facts or payload hold something that msgpack cannot
    """
    key = key_of(document)
    if store.problem is not None:
        return Miss(store.problem.reason, key, store.problem.details)
    if not store.writable:
        return Miss(Reason.CACHE_READ_ONLY, key)
    content = encode(
        key,
        document,
        facts,
        payload,
        compile_seconds=compile_seconds,
        label=label,
        arguments=arguments,
    )
    if max_bytes and len(content) > max_bytes:
        sizes = {"bytes": str(len(content)), "bound": str(max_bytes)}
        return Miss(Reason.CACHE_ENTRY_TOO_LARGE, key, sizes)
    path = store.path(key, facts)
    try:
        try:
            _write(store, path, content)
        except FileNotFoundError:  # somebody removed the directory in between
            _write(store, path, content)
    except OSError as error:
        store.writable = False
        return Miss(Reason.CACHE_READ_ONLY, key, {"error": str(error)})
    return None


def unwritable(store: LocalStore) -> Miss | None:
    """Why no entry can be stored, found by writing a file and removing it; None if one can."""
    path = os.path.join(store.directory, f".trial-{os.getpid()}")
    try:
        os.makedirs(store.directory, mode=0o700, exist_ok=True)
        with _whole(path, b"trial"):
            pass
    except OSError as error:
        return Miss(Reason.CACHE_READ_ONLY, "", {"error": error.strerror or str(error)})
    return None


def put_note(store: LocalStore, name: str, content: bytes) -> None:
    """Stores a small file that is no entry; or nothing: then no entry can be, which says so."""
    path = os.path.join(store.directory, name)
    temporary = f"{path}.{os.urandom(6).hex()}"
    with suppress(OSError), _whole(temporary, content):
        os.replace(temporary, path)


def lease_path(store: LocalStore, document: Document, facts: Document) -> str:
    """The file that stands for the compilation of a document for a target (`store/lease.py`)."""
    return os.path.join(store.directory, LEASES, f"{key_of(document)}-{digest(facts)}")


def _write(store: LocalStore, path: str, content: bytes) -> None:
    """Puts a whole entry at `path` and counts it, or raises OSError and leaves nothing."""
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _sweep(folder)
    # Not the process number: it comes again (in containers at once), the file may still be there.
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
    with _whole(temporary, content), _size_file(store) as size:
        known = _number(size) if size is not None else None
        if size is None or known is None:
            os.replace(temporary, path)
            return
        _set_number(size, known + len(content))
        replaced = store.nbytes(path)
        os.replace(temporary, path)
        if replaced:
            _set_number(size, known + len(content) - replaced)


@contextmanager
def _whole(path: str, content: bytes) -> Iterator[None]:
    """Inside the block a new file has this content, on the disk; at its end it is gone, unless it
    was renamed."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
            os.fsync(descriptor)
        yield
    finally:
        remove(path)


def _sweep(folder: str) -> int:
    """Removes what writers that died left in a folder of entries; returns how many files."""
    paths = (os.path.join(folder, name) for name in listing(folder, _TEMPORARY_NAME))
    return sum(remove(path) for path in paths if _age(path) > ABANDONED_SECONDS)


# --- the size -------------------------------------------------------------------------------------


@contextmanager
def _size_file(store: LocalStore) -> Iterator[int | None]:
    """The locked file with the bytes of all entries; None if that cannot be had in time.

    Then the file is removed, so that the next writer counts anew.
    """
    path = os.path.join(store.directory, SIZE)
    descriptor = _locked(path, LOCK_SECONDS)
    if descriptor is None:
        remove(path)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            lock.release(descriptor)


def _locked(path: str, seconds: float) -> int | None:
    """The locked file at `path`, or None if another keeps it so long or there are no locks."""
    end = time.monotonic() + seconds
    try:
        while (descriptor := lock.take(path)) is None and time.monotonic() < end:
            time.sleep(0.0005)
    except OSError:
        return None
    return descriptor


def _number(size: int) -> int | None:
    """What the opened size file says; None: nothing, or rubbish."""
    text = os.pread(size, 32, 0)
    return int(text) if re.fullmatch(rb"\d{20}\n", text) else None


def _set_number(size: int, total: int) -> None:
    # One write of fixed length: a process that dies leaves the old number or the new one.
    os.pwrite(size, b"%020d\n" % max(total, 0), 0)


def _recorded(store: LocalStore) -> int | None:
    """The bytes of all entries as the size file says; None: it does not."""
    try:
        size = os.open(os.path.join(store.directory, SIZE), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _number(size)
    finally:
        os.close(size)


# --- removing -------------------------------------------------------------------------------------


def evict(store: LocalStore, max_bytes: int) -> list[Removed]:
    """Keeps the entries within `max_bytes`: removes those used least recently down to LEVEL of it.

    Costs one small read unless the bound is passed. 0: no bound.
    """
    if not max_bytes or not store.writable or store.problem is not None:
        return []
    known = _recorded(store)
    if known is not None and known <= max_bytes:
        return []

    def least_recent(files: list[_File]) -> Iterator[_File]:
        total = sum(file.nbytes for file in files)
        if total > max_bytes:
            yield from _oldest(files, total - int(max_bytes * LEVEL))

    return _remove_chosen(store, least_recent)


def prune(
    store: LocalStore,
    *,
    max_bytes: int = 0,
    older_than: float | None = None,
    unused: float | None = None,
) -> list[Removed]:
    """Removes entries stored more than `older_than` seconds ago or not used for `unused` seconds,
    then the least recently used ones down to `max_bytes` (0: no bound). Files of dead writers,
    leases of dead holders and entries set aside go in any case."""
    now = time.time()

    def chosen(files: list[_File]) -> Iterator[_File]:
        kept = []
        for file in files:
            old = older_than is not None and now - file.written > older_than
            if old or (unused is not None and now - file.used > unused):
                yield file
            else:
                kept.append(file)
        if max_bytes:
            yield from _oldest(kept, sum(file.nbytes for file in kept) - max_bytes)

    removed = _remove_chosen(store, chosen)
    _remove_leftovers(store)
    return removed


def clear(store: LocalStore) -> int:
    """Removes every entry, the note of the sources, and what `prune` removes in any case; returns
    the number of entries."""
    removed = _remove_chosen(store, lambda files: files)
    remove(os.path.join(store.directory, SOURCES))
    _remove_leftovers(store)
    return len(removed)


def discard(store: LocalStore, path: str) -> bool:
    """Whether the entry at `path` was there and is gone now."""
    with _size_file(store) as size:
        nbytes = store.nbytes(path)
        gone = remove(path)
        known = _number(size) if size is not None else None
        if size is not None and known is not None and gone:
            _set_number(size, known - nbytes)
    return gone


def _remove_chosen(
    store: LocalStore, choose: Callable[[list[_File]], Iterable[_File]]
) -> list[Removed]:
    """Removes the files chosen of all (given oldest use first), and sets the size right."""
    removed = []
    with _size_file(store) as size:
        files = sorted(_files(store))
        total = sum(file.nbytes for file in files)
        for file in list(choose(files)):
            summary = store.summary(file.path)
            if remove(file.path):
                label = summary.label if summary is not None else ""
                removed.append(Removed(store.key_in(file.path), label, file.nbytes))
                total -= file.nbytes
        if size is not None:
            _set_number(size, total)
    return removed


def _oldest(files: Iterable[_File], nbytes: int) -> Iterator[_File]:
    """The first of `files` that are `nbytes` together."""
    for file in files:
        if nbytes <= 0:
            return
        nbytes -= file.nbytes
        yield file


def _files(store: LocalStore) -> Iterator[_File]:
    for path in store.paths():
        try:
            state = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            continue
        used = max(state.st_atime, state.st_mtime)
        yield _File(used, path, state.st_size, state.st_mtime)


def _remove_leftovers(store: LocalStore) -> None:
    for path in store.set_aside():
        remove(path)
    for name in listing(store.directory, _NOTE_NAME):
        path = os.path.join(store.directory, name)
        if _age(path) > ABANDONED_SECONDS:
            remove(path)
    for shard in listing(store.directory, SHARD_NAME):
        _sweep(os.path.join(store.directory, shard))
    folder = os.path.join(store.directory, LEASES)
    for name in listing(folder, _LEASE_NAME):
        path = os.path.join(folder, name)
        descriptor = _locked(path, 0.0)
        if descriptor is not None:  # its holder is dead
            remove(path)
            lock.release(descriptor)


def _age(path: str) -> float:
    """Seconds since the file was written; 0 if it has vanished."""
    try:
        return time.time() - os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
