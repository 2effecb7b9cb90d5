"""The cache on disk: one file per entry, found by key and by the target facts it relies on.

    <directory>/<2 digits of the key>/<62 digits>-<16 digits of the facts>.msgpack
    <directory>/quarantine/...      entries that could not be read, set aside

The files whose names begin with one key are that key's manifest: each holds, beside what was
compiled, the facts of the target that the compiler looked at and their values; the first whose
facts hold for the target in question is taken. There is no second file to keep in step.

An entry is one msgpack array: [magic, format, checksum, header, payload]. The header holds the key
document in clear; the checksum is over everything else. Files are written under a temporary name,
flushed to the disk, and renamed: a reader sees a whole entry or none. A file that is cut short,
changed, of another format or of another owner is a miss with a reason, never an exception, and is
set aside. Cached code is code: neither a directory nor a file that others may write is used.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgpack

from pyc.fingerprint import Document, canonical, key_of
from pyc.reasons import Reason

MAGIC = "pyc-cache"
FORMAT = 1
SUFFIX = ".msgpack"
QUARANTINE = "quarantine"
QUARANTINE_FILES = 64
"""Entries set aside that are kept for inspection."""

ABANDONED_SECONDS = 600.0
"""Age from which a temporary file is taken to be left over by a writer that died."""

# Only what has our names is ever read or removed: the directory is the user's choice.
_SHARD = r"[0-9a-f]{2}"
_ENTRY = r"[0-9a-f]{62}-[0-9a-f]{16}\.msgpack"
_TEMPORARY = rf"\.{_ENTRY}\.\d+\.\d+"
_SET_ASIDE = rf"cache_[a-z_]+-[0-9a-f]{{2}}{_ENTRY}"

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Entry(NamedTuple):
    """A stored program.

    label: name of the function it was first compiled for; document: its key document; facts: the
    target facts it relies on; compile_seconds: what making it cost; payload: what was stored.
    """

    key: str
    label: str
    document: Document
    facts: Document
    compile_seconds: float
    payload: Document
    path: str
    nbytes: int


class Miss(NamedTuple):
    """Why there is no entry, or why one was not stored. details: texts by name."""

    reason: Reason
    key: str
    details: Mapping[str, str] = MappingProxyType({})


class LocalStore:
    """Entries below one directory of this machine; any number of processes may share it.

    `writable` is False if the store was opened so, or once a write has failed.
    """

    def __init__(self, directory: str, *, writable: bool = True) -> None:
        self.directory = os.path.abspath(directory)
        self.writable = writable
        self.problem = self._examine()
        self._temporary = itertools.count()

    def lookup(self, document: Document, facts: Document) -> Entry | Miss:
        """The entry of `document` whose facts hold among `facts`, or why there is none."""
        key = key_of(document)
        if self.problem is not None:
            return Miss(self.problem.reason, key, self.problem.details)
        paths = self._manifest(key)
        unreadable: Miss | None = None
        differing: dict[str, str] = {}
        for path in paths:
            found = self.read(path, key)
            if isinstance(found, Entry):
                differing = _differing_facts(found.facts, facts)
                if not differing:
                    return found
            elif found is not None:
                unreadable = found
        if unreadable is not None:
            return unreadable
        if differing:
            return Miss(Reason.CACHE_TARGET_DIFFERS, key, differing)
        empty = next(self.paths(), None) is None
        return Miss(Reason.CACHE_EMPTY if empty else Reason.CACHE_KEY_DIFFERS, key)

    def store(
        self,
        document: Document,
        facts: Document,
        payload: Document,
        *,
        compile_seconds: float,
        label: str = "",
    ) -> Miss | None:
        """Stores an entry, in place of one with equal document and facts.

        payload: a dict that msgpack can hold. Returns None, or why nothing was stored.
        raises TypeError: document, facts or payload hold something that msgpack cannot
        """
        key = key_of(document)
        if self.problem is not None:
            return Miss(self.problem.reason, key, self.problem.details)
        if not self.writable:
            return Miss(Reason.CACHE_READ_ONLY, key)
        header = canonical(
            {
                "key": key,
                "label": label,
                "document": document,
                "facts": facts,
                "compile_seconds": float(compile_seconds),
            }
        )
        body: bytes = msgpack.packb(payload, use_bin_type=True)
        entry = msgpack.packb([MAGIC, FORMAT, _checksum(header, body), header, body])
        path = self._path(key, facts)
        try:
            try:
                self._write(path, entry)
            except FileNotFoundError:  # somebody removed the directory in between
                self._write(path, entry)
        except OSError as error:
            self.writable = False
            return Miss(Reason.CACHE_READ_ONLY, key, {"error": str(error)})
        return None

    def unwritable(self) -> Miss | None:
        """Why no entry can be stored, found by writing a file and removing it; None if one can."""
        path = os.path.join(self.directory, f".trial-{os.getpid()}")
        try:
            self._write(path, b"trial")
        except OSError as error:
            return Miss(Reason.CACHE_READ_ONLY, "", {"error": error.strerror or str(error)})
        _remove(path)
        return None

    def read(self, path: str, key: str | None = None) -> Entry | Miss | None:
        """The entry in a file, why it cannot be used, or None if the file has vanished.

        A file that cannot be used is set aside, if the store is writable. key: what the entry's key
        must be; by default the one in its name.
        """
        key = key or self.key_in(path)
        try:
            content = _read_own_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return self._refuse(path, Miss(Reason.CACHE_CORRUPT, key, {"error": str(error)}))
        if content is None:
            return self._refuse(path, Miss(Reason.CACHE_FOREIGN_OWNER, key, {"path": path}))
        found = _decode(content, key, path)
        return found if isinstance(found, Entry) else self._refuse(path, found)

    def paths(self) -> Iterator[str]:
        """The files of all entries, in no particular order."""
        for shard in _listing(self.directory, _SHARD):
            folder = os.path.join(self.directory, shard)
            yield from (os.path.join(folder, name) for name in _listing(folder, _ENTRY))

    def set_aside(self) -> list[str]:
        """The files in quarantine, by name."""
        folder = os.path.join(self.directory, QUARANTINE)
        return [os.path.join(folder, name) for name in sorted(_listing(folder, _SET_ASIDE))]

    def size(self) -> tuple[int, int]:
        """Number of entries, and their bytes."""
        entries = total = 0
        for path in self.paths():
            try:
                total += os.stat(path).st_size
            except FileNotFoundError:
                continue
            entries += 1
        return entries, total

    def clear(self) -> int:
        """Removes every entry and file set aside, and the temporary files of writers that died.

        Returns how many entries were removed.
        """
        removed = sum(map(_remove, self.paths()))
        for path in self.set_aside():
            _remove(path)
        for shard in _listing(self.directory, _SHARD):
            for name in _listing(os.path.join(self.directory, shard), _TEMPORARY):
                path = os.path.join(self.directory, shard, name)
                if _age(path) > ABANDONED_SECONDS:
                    _remove(path)
        return removed

    @staticmethod
    def key_in(path: str) -> str:
        """The key that the name of an entry's file begins with."""
        folder, name = os.path.split(path)
        return os.path.basename(folder) + name.partition("-")[0]

    # --- inside -----------------------------------------------------------------------------------

    def _examine(self) -> Miss | None:
        """Why the directory cannot be used, if so; it is made if it may be written."""
        try:
            if self.writable:
                os.makedirs(self.directory, mode=0o700, exist_ok=True)
            found = os.stat(self.directory)
        except FileNotFoundError as error:
            # A cache that may not be written and is not there is simply empty.
            return self._unavailable(error) if self.writable else None
        except OSError as error:
            return self._unavailable(error)
        usable = os.access(self.directory, os.R_OK | os.X_OK, effective_ids=True)
        if not usable or not stat.S_ISDIR(found.st_mode):
            return self._unavailable(None)
        if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
            details = {
                "directory": self.directory,
                "owner": str(found.st_uid),
                "mode": stat.filemode(found.st_mode),
            }
            return Miss(Reason.CACHE_DIRECTORY_UNSAFE, "", details)
        return None

    def _unavailable(self, error: OSError | None) -> Miss:
        details = {"directory": self.directory}
        if error is not None:
            details["error"] = error.strerror or str(error)
        return Miss(Reason.CACHE_DIRECTORY_UNAVAILABLE, "", details)

    def _path(self, key: str, facts: Document) -> str:
        used = hashlib.sha256(canonical(facts)).hexdigest()[:16]
        return os.path.join(self.directory, key[:2], f"{key[2:]}-{used}{SUFFIX}")

    def _manifest(self, key: str) -> list[str]:
        folder, start = os.path.join(self.directory, key[:2]), key[2:] + "-"
        names = sorted(name for name in _listing(folder, _ENTRY) if name.startswith(start))
        return [os.path.join(folder, name) for name in names]

    def _write(self, path: str, content: bytes) -> None:
        """Puts a whole file at `path`, or raises OSError and leaves nothing."""
        folder, name = os.path.split(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        temporary = os.path.join(folder, f".{name}.{os.getpid()}.{next(self._temporary)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb", buffering=0) as file:
                view = memoryview(content)
                while view:
                    view = view[file.write(view) :]
                os.fsync(descriptor)
            os.replace(temporary, path)
        except OSError:
            _remove(temporary)
            raise

    def _refuse(self, path: str, miss: Miss) -> Miss:
        """`miss`, with the file moved to quarantine if that may be."""
        if not self.writable:
            return miss
        folder = os.path.join(self.directory, QUARANTINE)
        name = os.path.basename(os.path.dirname(path)) + os.path.basename(path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.replace(path, os.path.join(folder, f"{miss.reason}-{name}"))
        except FileNotFoundError:
            return miss
        except OSError:
            self.writable = False
            return miss
        for old in self.set_aside()[:-QUARANTINE_FILES]:
            _remove(old)
        return miss


def _checksum(header: bytes, body: bytes) -> bytes:
    digest = hashlib.sha256(f"{MAGIC} {FORMAT} {len(header)}\n".encode())
    digest.update(header)
    digest.update(body)
    return digest.digest()


def _read_own_file(path: str) -> bytes | None:
    """The content of a regular file that only this user may write; None if it is not one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        own = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
        return file.read() if own and stat.S_ISREG(found.st_mode) else None


def _decode(content: bytes, key: str, path: str) -> Entry | Miss:
    """The entry that `content` is, or why it is none. Nothing of it is trusted before the checksum
    holds."""
    try:
        fields = msgpack.unpackb(content)
    except (msgpack.ExtraData, msgpack.FormatError, msgpack.StackError, UnicodeDecodeError):
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path})
    except (ValueError, TypeError, OverflowError):
        # What is left: the input ends before what its first bytes announce.
        return Miss(Reason.CACHE_TRUNCATED, key, {"path": path})
    if not isinstance(fields, list) or len(fields) < 2 or fields[0] != MAGIC:
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path})
    if fields[1] != FORMAT:
        details = {"path": path, "found": str(fields[1]), "known": str(FORMAT)}
        return Miss(Reason.CACHE_FORMAT_VERSION, key, details)
    whole = len(fields) == 5 and all(isinstance(f, bytes) for f in fields[2:])
    if not whole or fields[2] != _checksum(fields[3], fields[4]):
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path})
    header = msgpack.unpackb(fields[3])
    if header["key"] != key:
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path, "found": header["key"]})
    return Entry(
        key=key,
        label=header["label"],
        document=header["document"],
        facts=header["facts"],
        compile_seconds=header["compile_seconds"],
        payload=msgpack.unpackb(fields[4], strict_map_key=False),
        path=path,
        nbytes=len(content),
    )


def _differing_facts(used: Document, facts: Document) -> dict[str, str]:
    """Facts an entry relies on that do not hold: name to "stored, here"."""
    return {
        name: f"stored {value!r}, here {facts.get(name)!r}"
        for name, value in used.items()
        if name not in facts or canonical(facts[name]) != canonical(value)
    }


def _listing(folder: str, pattern: str) -> list[str]:
    """Names in a directory that match; none if it cannot be read."""
    try:
        return [name for name in os.listdir(folder) if re.fullmatch(pattern, name)]
    except OSError:
        return []


def _age(path: str) -> float:
    """Seconds since the file was written; 0 if it has vanished."""
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0


def _remove(path: str) -> bool:
    """Whether the file was there and is gone now."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
