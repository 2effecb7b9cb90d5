"""What changes the cache on disk: storing, keeping its size within a bound, removing.

    put       stores an entry
    evict     removes the entries that were used least recently, if all are larger than a bound
    prune     removes by size, age and use, and what writers that died left behind
    clear     removes everything

How much there is says a number in a file (`store/size.py`): a store looks at no other entry.
"""

from __future__ import annotations

import errno
import os
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
    make_folder,
    remove,
    said,
    size,
)

LEASES = "leases"

ABANDONED_SECONDS = 600.0
"""Age from which a temporary file is taken to be left over by a writer that died."""

LEVEL = 0.9
"""Share of the bound that eviction leaves, so that not every entry stored removes another."""

UNCOUNTED = 0.01
"""Share of the bound that a process stores without counting all entries, where the file system has
no locks and so no number of them."""

AHEAD_SECONDS = 60.0
"""How far in the future a time of use may lie (the clocks of other machines)."""

_TEMPORARY_NAME = rf"\.{ENTRY_NAME}\.[0-9a-f]{{12}}"
_NOTE_NAME = rf"{SOURCES}-[0-9a-f]{{8}}"
_UNFINISHED = rf"{_NOTE_NAME}\.[0-9a-f]{{12}}|\.trial-[0-9a-f]{{12}}"
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
        details = {"directory": store.directory, "error": store.refusal}
        return Miss(Reason.CACHE_READ_ONLY, key, details)
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
        except OSError as error:
            # Somebody removed the directory in between, perhaps on another machine.
            if error.errno not in (errno.ENOENT, errno.ESTALE):
                raise
            _write(store, path, content)
    except OSError as error:
        details = {"directory": store.directory, "error": said(error)}
        return Miss(store.failed(error), key, details)
    return None


def unwritable(store: LocalStore) -> Miss | None:
    """Why no entry can be stored, found by writing a file and removing it; None if one can."""
    path = os.path.join(store.directory, f".trial-{os.urandom(6).hex()}")
    try:
        make_folder(store.directory)
        with _whole(path, b"trial"):
            pass
    except OSError as error:
        details = {"directory": store.directory, "error": said(error)}
        return Miss(store.failed(error), "", details)
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
    make_folder(folder)
    _sweep(folder)
    # Not the process number: it comes again (in containers at once), the file may still be there.
    temporary = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
    with _whole(temporary, content), size.locked(store) as number:
        known = number.read()
        if known is not None:
            number.write(known + len(content))
        elif store.uncounted is not None:
            store.uncounted += len(content)
        replaced = store.nbytes(path)
        os.replace(temporary, path)
        if known is not None and replaced:
            with suppress(OSError):  # a larger number does no harm
                number.write(known + len(content) - replaced)


@contextmanager
def _whole(path: str, content: bytes) -> Iterator[None]:
    """Inside the block a new file has this content; at its end it is gone, unless it was renamed.

    It is not flushed: after a loss of power its checksum says whether it came to the disk.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
        finally:
            os.close(descriptor)
        yield
    finally:
        remove(path)


def _sweep(folder: str) -> int:
    """Removes what writers that died left in a folder of entries; returns how many files."""
    paths = (os.path.join(folder, name) for name in listing(folder, _TEMPORARY_NAME))
    return sum(remove(path) for path in paths if _age(path) > ABANDONED_SECONDS)


# --- removing -------------------------------------------------------------------------------------


def evict(store: LocalStore, max_bytes: int) -> list[Removed]:
    """Keeps the entries within `max_bytes`: removes those used least recently down to LEVEL of it.

    Costs one small read unless the bound is passed. 0: no bound.
    """
    if not max_bytes or not store.writable or store.problem is not None:
        return []
    known = size.recorded(store)
    if known is not None and known <= max_bytes:
        return []
    if known is None and store.uncounted is not None and store.uncounted < UNCOUNTED * max_bytes:
        return []

    def least_recent(files: list[_File]) -> Iterator[_File]:
        total = sum(file.nbytes for file in files)
        if total > max_bytes:
            yield from _oldest(files, total - int(max_bytes * LEVEL))

    return _remove_chosen(store, least_recent, enough=max_bytes)


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
    """Removes every entry, the notes of the sources, and what `prune` removes in any case; returns
    the number of entries."""
    removed = _remove_chosen(store, lambda files: files)
    for name in listing(store.directory, _NOTE_NAME):
        remove(os.path.join(store.directory, name))
    _remove_leftovers(store)
    return len(removed)


def discard(store: LocalStore, path: str) -> bool:
    """Whether the entry at `path` was there and is gone now."""
    with size.locked(store) as number:
        known, nbytes = number.read(), store.nbytes(path)
        gone = remove(path)
        if known is not None and gone:
            with suppress(OSError):  # a larger number does no harm
                number.write(known - nbytes)
    return gone


def _remove_chosen(
    store: LocalStore,
    choose: Callable[[list[_File]], Iterable[_File]],
    enough: int | None = None,
) -> list[Removed]:
    """Removes the files chosen of all (given oldest use first), and sets the size right.

    enough: if the number says no more than that, nothing is done: another writer has done it.
    """
    removed = []
    with size.locked(store) as number:
        known = number.read()
        if enough is not None and known is not None and known <= enough:
            return []
        failed: list[OSError] = []
        files = sorted(_files(store, failed))
        total = sum(file.nbytes for file in files)
        for file in list(choose(files)):
            summary = store.summary(file.path)
            if remove(file.path):
                label = summary.label if summary is not None else ""
                removed.append(Removed(store.key_in(file.path), label, file.nbytes))
                total -= file.nbytes
        if failed:
            number.forget()  # it would be too small
        else:
            with suppress(OSError):  # a larger number does no harm
                number.write(total)
        store.uncounted = 0 if number.lockless else None
    return removed


def _oldest(files: Iterable[_File], nbytes: int) -> Iterator[_File]:
    """The first of `files` that are `nbytes` together."""
    for file in files:
        if nbytes <= 0:
            return
        nbytes -= file.nbytes
        yield file


def _files(store: LocalStore, failed: list[OSError]) -> Iterator[_File]:
    """The files of all entries; `failed` gets why others could not be looked at, if so.

    A time that lies ahead is set to the present one: the clock was wrong, and the entry would be
    the one used last for as long."""
    now = time.time()
    for path in store.paths(failed=failed):
        try:
            state = os.stat(path, follow_symlinks=False)
            used, written = max(state.st_atime, state.st_mtime), state.st_mtime
            if used > now + AHEAD_SECONDS:
                used, written = now, min(written, now)
                os.utime(path, (used, written), follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            failed.append(error)
            continue
        yield _File(used, path, state.st_size, written)


def _remove_leftovers(store: LocalStore) -> None:
    for path in store.set_aside():
        remove(path)
    for name in listing(store.directory, _UNFINISHED):
        path = os.path.join(store.directory, name)
        if _age(path) > ABANDONED_SECONDS:
            remove(path)
    for shard in listing(store.directory, SHARD_NAME):
        _sweep(os.path.join(store.directory, shard))
    folder = os.path.join(store.directory, LEASES)
    for name in listing(folder, _LEASE_NAME):
        path = os.path.join(folder, name)
        with suppress(OSError):  # there are no locks
            descriptor = size.take(path, 0.0)
            if descriptor is not None:  # its holder is dead
                remove(path)
                lock.release(descriptor)


def _age(path: str) -> float:
    """Seconds since the file was written; 0 if it has vanished."""
    try:
        return time.time() - os.stat(path, follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
