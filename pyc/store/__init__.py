"""The cache on disk: one file per entry, found by key and by the target facts it relies on.

    <directory>/<2 digits of the key>/<62 digits>-<16 digits of the facts>.msgpack
    <directory>/quarantine/...      entries that could not be read, set aside
    <directory>/leases/...          programs that some process compiles now      (store/lease.py)
    <directory>/size                the bytes of all entries                     (store/write.py)
    <directory>/sources             the digest of pyc's sources, once read       (store/sources.py)

The files whose names begin with one key are that key's manifest: each holds, beside what was
compiled, the facts of the target that the compiler looked at and their values; the first whose
facts hold for the target in question is taken. There is no second file to keep in step.

An entry is one msgpack array: [magic, format, checksum, summary, header, payload]. The summary says
what it is (function, arguments, seconds), the header holds the key document in clear; the checksum
is over everything after it. Files are written under a temporary name, flushed to the disk, and
renamed: a reader sees a whole entry or none, and takes no lock. A file that is cut short, changed,
of another format or of another owner is a miss with a reason, never an exception, and is set aside.
Cached code is code: neither a directory nor a file that others may write is used.

This module reads; `write` stores, bounds and removes; `lease` chooses who compiles.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import msgpack

from pyc.fingerprint import Document, canonical, key_of, sha256
from pyc.frozen import frozen
from pyc.reasons import Reason

MAGIC = "pyc-cache"
FORMAT = 2
SUFFIX = ".msgpack"
SOURCES = "sources"
QUARANTINE = "quarantine"
QUARANTINE_FILES = 64
"""Entries set aside that are kept for inspection."""

TOUCH_SECONDS = 60.0
"""How old the time of an entry's last use may be before a hit renews it (3 us)."""

_SUMMARY_BYTES = 2048
"""Bytes from the beginning of a file that hold its summary, but for very many arguments."""

# Only what has our names is ever read or removed: the directory is the user's choice.
SHARD_NAME = r"[0-9a-f]{2}"
ENTRY_NAME = r"[0-9a-f]{62}-[0-9a-f]{16}\.msgpack"
_SET_ASIDE = rf"cache_[a-z_]+-{SHARD_NAME}{ENTRY_NAME}"

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_A_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
_UNNOTICED = getattr(os, "O_NOATIME", 0)
"""Reading is no use of an entry: a hit is, and says so itself."""


@frozen()
class Entry:
    """A stored program.

    label: name of the function it was first compiled for; arguments: the names of its arguments;
    document: its key document; facts: the target facts it relies on; compile_seconds: what making
    it cost; payload: what was stored; written, used: when it was stored and last found, in seconds
    since the epoch (to within TOUCH_SECONDS).
    """

    key: str
    label: str
    arguments: tuple[str, ...]
    document: Document
    facts: Document
    compile_seconds: float
    payload: Document
    path: str
    nbytes: int
    written: float
    used: float


@frozen()
class Summary:
    """The part of an entry that can be read alone. It is not checked: good for a report only."""

    label: str
    compile_seconds: float


@frozen()
class Miss:
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

    def lookup(
        self, document: Document, facts: Document, unusable: list[Miss] | None = None
    ) -> Entry | Miss:
        """The entry of `document` whose facts hold among `facts`, or why there is none.

        unusable: an empty list that gets, for each file of this key that cannot be used, the reason
        """
        key = key_of(document)
        if self.problem is not None:
            return Miss(self.problem.reason, key, self.problem.details)
        refused = [] if unusable is None else unusable
        differing: dict[str, str] = {}
        for path in self._manifest(key):
            found = self.read(path, key)
            if isinstance(found, Miss):
                refused.append(found)
            elif found is not None:
                differing = _differing_facts(found.facts, facts)
                if not differing:
                    self._touch(found)
                    return found
        if refused:
            return refused[-1]
        if differing:
            return Miss(Reason.CACHE_TARGET_DIFFERS, key, differing)
        empty = next(self.paths(), None) is None
        return Miss(Reason.CACHE_EMPTY if empty else Reason.CACHE_KEY_DIFFERS, key)

    def read(self, path: str, key: str | None = None) -> Entry | Miss | None:
        """The entry in a file, why it cannot be used, or None if the file has vanished.

        A file that cannot be used is set aside, if the store is writable. key: what the entry's key
        must be; by default the one in its name.
        """
        key = key or self.key_in(path)
        try:
            opened = read_own_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = {"path": path, "error": error.strerror or str(error)}
            if error.errno in _NOT_A_FILE:
                return self._refuse(path, Miss(Reason.CACHE_CORRUPT, key, why))
            return Miss(Reason.CACHE_UNREADABLE, key, why)
        if opened is None:
            return self._refuse(path, Miss(Reason.CACHE_FOREIGN_OWNER, key, {"path": path}))
        found = _decode(*opened, key, path)
        return found if isinstance(found, Entry) else self._refuse(path, found)

    def summary(self, path: str) -> Summary | None:
        """What an entry is, from the first bytes of its file; None if they do not say."""
        try:
            with open(os.open(path, _OPEN | _UNNOTICED), "rb", buffering=0) as file:
                start = file.read(_SUMMARY_BYTES)
            unpacker = msgpack.Unpacker()
            unpacker.feed(start)
            count = unpacker.read_array_header()
            magic, version, _, summary = (unpacker.unpack() for _ in range(min(count, 4)))
            label, _, seconds = msgpack.unpackb(summary)
        except (OSError, ValueError, TypeError, msgpack.UnpackException):
            return None
        return Summary(str(label), float(seconds)) if (magic, version) == (MAGIC, FORMAT) else None

    def paths(self) -> Iterator[str]:
        """The files of all entries, in no particular order."""
        for shard in listing(self.directory, SHARD_NAME):
            folder = os.path.join(self.directory, shard)
            yield from (os.path.join(folder, name) for name in listing(folder, ENTRY_NAME))

    @staticmethod
    def nbytes(path: str) -> int:
        """The size of an entry's file, 0 if it has vanished."""
        try:
            return os.stat(path, follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def set_aside(self) -> list[str]:
        """The files in quarantine, by name."""
        folder = os.path.join(self.directory, QUARANTINE)
        return [os.path.join(folder, name) for name in sorted(listing(folder, _SET_ASIDE))]

    def path(self, key: str, facts: Document) -> str:
        """Where the entry of a key and of the facts that it relies on lies."""
        return os.path.join(self.directory, key[:2], f"{key[2:]}-{digest(facts)}{SUFFIX}")

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

    def _manifest(self, key: str) -> list[str]:
        # Without `listing`: making its pattern would take longer than all else here.
        folder, start = os.path.join(self.directory, key[:2]), key[2:] + "-"
        try:
            names = sorted([name for name in os.listdir(folder) if name.startswith(start)])
        except OSError:
            return []
        return [os.path.join(folder, name) for name in names if _is_manifest(name, start)]

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
            remove(old)
        return miss

    def _touch(self, entry: Entry) -> None:
        """Notes that the entry is used now, unless that was noted within TOUCH_SECONDS."""
        if self.writable and time.time() - entry.used > TOUCH_SECONDS:
            try:
                written = os.stat(entry.path).st_mtime_ns
                os.utime(entry.path, ns=(time.time_ns(), written))
            except FileNotFoundError:
                return  # removed since: what was read stays good
            except OSError:
                self.writable = False


def encode(
    key: str,
    document: Document,
    facts: Document,
    payload: Document,
    *,
    compile_seconds: float,
    label: str,
    arguments: Sequence[str],
) -> bytes:
    """The content of an entry's file; TypeError: something that msgpack cannot hold."""
    summary: bytes = msgpack.packb([label, list(arguments), float(compile_seconds)])
    header = canonical({"key": key, "document": document, "facts": facts})
    body: bytes = msgpack.packb(payload, use_bin_type=True)
    parts = (summary, header, body)
    content: bytes = msgpack.packb([MAGIC, FORMAT, _checksum(parts), *parts])
    return content


def _checksum(parts: Sequence[bytes]) -> bytes:
    lengths = " ".join(str(len(part)) for part in parts)
    digest = sha256(f"{MAGIC} {FORMAT} {lengths}\n".encode())
    for part in parts:
        digest.update(part)
    return bytes(digest.digest())


def read_own_file(path: str) -> tuple[bytes, os.stat_result] | None:
    """The content and state of a regular file that only this user may write; None if it is not
    one."""
    try:
        descriptor = os.open(path, _OPEN | _UNNOTICED)
    except PermissionError:  # of another user, who alone may read unnoticed
        descriptor = os.open(path, _OPEN)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        own = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
        return (file.read(), found) if own and stat.S_ISREG(found.st_mode) else None


def _decode(content: bytes, state: os.stat_result, key: str, path: str) -> Entry | Miss:
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
    whole = len(fields) == 6 and all(isinstance(f, bytes) for f in fields[2:])
    if not whole or fields[2] != _checksum(fields[3:]):
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path})
    label, arguments, seconds = msgpack.unpackb(fields[3])
    header = msgpack.unpackb(fields[4])
    if header["key"] != key:
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path, "found": header["key"]})
    return Entry(
        key=key,
        label=label,
        arguments=tuple(arguments),
        document=header["document"],
        facts=header["facts"],
        compile_seconds=seconds,
        payload=msgpack.unpackb(fields[5], strict_map_key=False),
        path=path,
        nbytes=len(content),
        written=state.st_mtime,
        used=max(state.st_atime, state.st_mtime),
    )


def _differing_facts(used: Document, facts: Document) -> dict[str, str]:
    """Facts an entry relies on that do not hold: name to "stored, here"."""
    return {
        name: f"stored {value!r}, here {facts.get(name)!r}"
        for name, value in used.items()
        if name not in facts or canonical(facts[name]) != canonical(value)
    }


def _is_manifest(name: str, start: str) -> bool:
    """Whether a name that begins with `start` is that of an entry."""
    facts = name[len(start) :].removesuffix(SUFFIX)
    return name == start + facts + SUFFIX and len(facts) == 16 and set(facts) <= _HEXADECIMAL


_HEXADECIMAL = set("0123456789abcdef")


def listing(folder: str, pattern: str) -> list[str]:
    """Names in a directory that match; none if it cannot be read."""
    try:
        return [name for name in os.listdir(folder) if re.fullmatch(pattern, name)]
    except OSError:
        return []


def digest(facts: Document) -> str:
    """16 digits that tell facts apart in the names of files."""
    return str(sha256(canonical(facts)).hexdigest())[:16]


def remove(path: str) -> bool:
    """Whether the file was there and is gone now."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
