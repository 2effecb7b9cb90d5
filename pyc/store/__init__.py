"""The cache on disk: one file per entry, found by key and by the target facts it relies on.

    <directory>/<2 digits of the key>/<62 digits>-<16 digits of the facts>.msgpack
    <directory>/quarantine/...      entries that could not be read, set aside
    <directory>/leases/...          programs that some process compiles now      (store/lease.py)
    <directory>/size                the bytes of all entries                     (store/size.py)
    <directory>/sources-...         the digest of pyc's sources, once read       (store/sources.py)

The files whose names begin with one key are that key's manifest: each holds, beside what was
compiled, the facts of the target that the compiler looked at and their values; the first whose
facts hold for the target in question is taken. There is no second file to keep in step.

An entry is one msgpack array: [magic, format, checksum, summary, header, payload]. The summary says
what it is (function, arguments and their types, seconds, facts) and can be read alone, the header
holds the key document in clear; the checksum is over everything after it. Files are written under a
temporary name and renamed: a reader sees a whole entry or none, and takes no lock. A file that is
cut short, changed, or of another owner is a miss with a reason, never an exception, and is set
aside; one of another format is another version's, and is left to it.
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
FORMAT = 3
SUFFIX = ".msgpack"
SOURCES = "sources"
QUARANTINE = "quarantine"
QUARANTINE_FILES = 64
"""Entries set aside that are kept for inspection."""

TOUCH_SECONDS = 60.0
"""How old the time of an entry's last use may be before a hit renews it (3 us)."""

_SUMMARY_BYTES = 2048
"""Bytes from the beginning of a file that hold its summary, but for many arguments."""

# Only what has our names is ever read or removed: the directory is the user's choice.
SHARD_NAME = r"[0-9a-f]{2}"
ENTRY_NAME = r"[0-9a-f]{62}-[0-9a-f]{16}\.msgpack"
_SET_ASIDE = rf"cache_[a-z_]+-{SHARD_NAME}{ENTRY_NAME}"

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOT_A_FILE = (errno.ELOOP, errno.ENXIO, errno.EISDIR)
_REFUSES_WRITERS = (errno.EROFS, errno.EACCES, errno.EPERM)
"""What says that a directory may not be written; anything else may be over the next time."""
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
    """What an entry's file says of itself, without the program: the fields of `Entry`.

    It is not checked: good for a report only. types: of the arguments, as far as known.
    """

    key: str
    label: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    facts: Document
    compile_seconds: float
    path: str
    nbytes: int
    written: float
    used: float


@frozen()
class Miss:
    """Why there is no entry, or why one was not stored. details: texts by name."""

    reason: Reason
    key: str
    details: Mapping[str, str] = MappingProxyType({})


class LocalStore:
    """Entries below one directory of this machine; any number of processes may share it.

    `writable` is False if the store was opened so, or once the directory was found to be read only.
    """

    def __init__(self, directory: str, *, writable: bool = True) -> None:
        self.directory = directory
        self.writable = writable
        self.refusal = "it was opened for reading"
        """Why it is not writable, if so."""
        self.uncounted: int | None = None
        """Bytes stored here since the entries were counted; None where that is known otherwise."""
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
        try:
            manifest = self._manifest(key)
        except OSError as error:
            folder = os.path.join(self.directory, key[:2])
            return Miss(Reason.CACHE_UNREADABLE, key, {"path": folder, "error": said(error)})
        for path in manifest:
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

        A file that nobody can use is set aside, if the store is writable. key: what the entry's key
        must be; by default the one in its name.
        """
        key = key or self.key_in(path)
        try:
            opened = read_own_file(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = {"path": path, "error": said(error)}
            if error.errno in _NOT_A_FILE:
                return self._refuse(path, Miss(Reason.CACHE_CORRUPT, key, why))
            return Miss(Reason.CACHE_UNREADABLE, key, why)
        if opened is None:
            return self._refuse(path, Miss(Reason.CACHE_FOREIGN_OWNER, key, {"path": path}))
        found = _decode(*opened, key, path)
        if isinstance(found, Entry) or found.reason is Reason.CACHE_FORMAT_VERSION:
            return found
        return self._refuse(path, found)

    def summary(self, path: str) -> Summary | None:
        """What an entry is, from the first bytes of its file; None if they do not say, or if the
        file is not this user's."""
        try:
            descriptor = os.open(path, _OPEN | _UNNOTICED)
            try:
                state = os.fstat(descriptor)
                packed = _summary_in(descriptor) if _is_own(state) else None
            finally:
                os.close(descriptor)
            if packed is None:
                return None
            label, arguments, types, seconds, facts = msgpack.unpackb(packed)
            return Summary(
                key=self.key_in(path),
                label=str(label),
                arguments=tuple(map(str, arguments)),
                types=tuple(map(str, types)),
                facts=dict(facts),
                compile_seconds=float(seconds),
                path=path,
                nbytes=state.st_size,
                written=state.st_mtime,
                used=max(state.st_atime, state.st_mtime),
            )
        except (OSError, ValueError, TypeError, msgpack.UnpackException):
            return None

    def paths(self, prefix: str = "", failed: list[OSError] | None = None) -> Iterator[str]:
        """The files of all entries whose keys begin with `prefix`, in no particular order.

        failed: gets why directories could not be read, if so
        """
        for shard in listing(self.directory, SHARD_NAME, failed):
            if shard[: len(prefix)] != prefix[:2]:
                continue
            folder, rest = os.path.join(self.directory, shard), prefix[2:]
            names = listing(folder, ENTRY_NAME, failed)
            yield from (os.path.join(folder, name) for name in names if name.startswith(rest))

    @staticmethod
    def nbytes(path: str) -> int:
        """The size of an entry's file, 0 if it has vanished or cannot be looked at."""
        try:
            return os.stat(path, follow_symlinks=False).st_size
        except OSError:
            return 0

    def set_aside(self) -> list[str]:
        """The files in quarantine, by name."""
        folder = os.path.join(self.directory, QUARANTINE)
        return [os.path.join(folder, name) for name in sorted(listing(folder, _SET_ASIDE))]

    def failed(self, error: OSError) -> Reason:
        """Why nothing was written, after the system said `error`."""
        if error.errno in _REFUSES_WRITERS:
            self.writable = False
            self.refusal = said(error)
            return Reason.CACHE_READ_ONLY
        return Reason.CACHE_NOT_STORED

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
        if not os.path.isabs(self.directory):
            error = OSError(errno.ENOENT, "the user has no home directory")
            return self._unavailable(error)
        try:
            if self.writable:
                make_folder(self.directory)
            found = os.stat(self.directory)
        except FileNotFoundError as error:
            # A cache that may not be written and is not there is simply empty.
            return self._unavailable(error) if self.writable else None
        except OSError as error:
            return self._unavailable(error)
        if not stat.S_ISDIR(found.st_mode):
            return self._unavailable(OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
        if not os.access(self.directory, os.R_OK | os.X_OK, effective_ids=True):
            return self._unavailable(OSError(errno.EACCES, os.strerror(errno.EACCES)))
        if found.st_uid != os.geteuid() or found.st_mode & _OTHERS_MAY_WRITE:
            details = {
                "directory": self.directory,
                "owner": str(found.st_uid),
                "mode": stat.filemode(found.st_mode),
            }
            return Miss(Reason.CACHE_DIRECTORY_UNSAFE, "", details)
        return None

    def _unavailable(self, error: OSError) -> Miss:
        details = {"directory": self.directory, "error": said(error)}
        return Miss(Reason.CACHE_DIRECTORY_UNAVAILABLE, "", details)

    def _manifest(self, key: str) -> list[str]:
        # Without `listing`: making its pattern would take longer than all else here.
        folder, start = os.path.join(self.directory, key[:2]), key[2:] + "-"
        try:
            names = sorted([name for name in os.listdir(folder) if name.startswith(start)])
        except FileNotFoundError:
            return []
        return [os.path.join(folder, name) for name in names if _is_manifest(name, start)]

    def _refuse(self, path: str, miss: Miss) -> Miss:
        """`miss`, with the file moved to quarantine if that may be."""
        if not self.writable:
            return miss
        folder = os.path.join(self.directory, QUARANTINE)
        name = os.path.basename(os.path.dirname(path)) + os.path.basename(path)
        try:
            make_folder(folder)
            target = os.path.join(folder, f"{miss.reason}-{name}")
            remove(target)  # a directory could not take its place
            os.replace(path, target)
        except FileNotFoundError:
            return miss
        except OSError as error:
            self.failed(error)
            return miss
        files = self.set_aside()
        if len(files) > QUARANTINE_FILES:
            for old in sorted(files, key=_changed)[:-QUARANTINE_FILES]:
                remove(old)
        return miss

    def _touch(self, entry: Entry) -> None:
        """Notes that the entry is used now, unless that was noted within TOUCH_SECONDS."""
        if self.writable and abs(time.time() - entry.used) > TOUCH_SECONDS:
            try:
                written = os.stat(entry.path).st_mtime_ns
                now = time.time_ns()
                os.utime(entry.path, ns=(now, min(written, now)))
            except FileNotFoundError:
                return  # removed since: what was read stays good
            except OSError as error:
                self.failed(error)


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
    types = document.get("types", ())
    summary = canonical([label, list(arguments), types, float(compile_seconds), facts])
    header = canonical({"key": key, "document": document})
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
    """The content and state of a regular file that only this user may write; None if others may.

    raises OSError: it is not there, cannot be read, or is something else than a file
    """
    try:
        return _read_own_file(path)
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
    # On a network file system: another machine has replaced it since it was opened.
    return _read_own_file(path)


def _read_own_file(path: str) -> tuple[bytes, os.stat_result] | None:
    try:
        descriptor = os.open(path, _OPEN | _UNNOTICED)
    except PermissionError:  # of another user, who alone may read unnoticed
        descriptor = os.open(path, _OPEN)
    with open(descriptor, "rb", buffering=0) as file:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.ENXIO, "it is not a regular file", path)
        return (file.read(), state) if _is_own(state) else None


def _is_own(state: os.stat_result) -> bool:
    """Whether a file is of this user, and no other may write to it."""
    return state.st_uid == os.geteuid() and not state.st_mode & _OTHERS_MAY_WRITE


_START = b"\x96" + msgpack.packb(MAGIC) + msgpack.packb(FORMAT) + b"\xc4\x20"
"""What an entry begins with: an array of six, the magic, the format, and that 32 bytes follow."""

_LENGTHS = {0xC4: 1, 0xC5: 2, 0xC6: 4}
"""msgpack's marks of bytes, and how many digits their length has."""


def _summary_in(descriptor: int) -> bytes | None:
    """The packed summary of an opened entry; None if it does not begin as one."""
    start = os.read(descriptor, _SUMMARY_BYTES)
    at = len(_START) + 32
    digits = _LENGTHS.get(start[at]) if start.startswith(_START) and len(start) > at else None
    if digits is None:
        return None
    first = at + 1 + digits
    last = first + int.from_bytes(start[at + 1 : first], "big")
    if last > len(start):
        start += os.read(descriptor, last - len(start))
    return start[first:last] if last <= len(start) else None


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
    try:
        label, arguments, _, seconds, facts = msgpack.unpackb(fields[3])
        header = msgpack.unpackb(fields[4])
        if header["key"] != key:
            return Miss(Reason.CACHE_CORRUPT, key, {"path": path, "found": header["key"]})
        return Entry(
            key=key,
            label=label,
            arguments=tuple(arguments),
            document=header["document"],
            facts=facts,
            compile_seconds=seconds,
            payload=msgpack.unpackb(fields[5], strict_map_key=False),
            path=path,
            nbytes=len(content),
            written=state.st_mtime,
            used=max(state.st_atime, state.st_mtime),
        )
    except (ValueError, TypeError, KeyError, msgpack.UnpackException):
        # The checksum is right and the content is not: something else has written it.
        return Miss(Reason.CACHE_CORRUPT, key, {"path": path})


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


def listing(folder: str, pattern: str, failed: list[OSError] | None = None) -> list[str]:
    """Names in a directory that match; none if it is not there, or cannot be read: `failed` gets
    why."""
    try:
        return list(filter(re.compile(pattern).fullmatch, os.listdir(folder)))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        if failed is not None:
            failed.append(error)
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


def make_folder(path: str) -> None:
    """Makes a directory that is this user's alone, whatever the umask, if nothing has that name;
    so are those that are missing above it. OSError: it cannot be."""
    try:
        try:
            os.mkdir(path, 0o700)
        except FileNotFoundError:
            make_folder(os.path.dirname(path))
            os.mkdir(path, 0o700)
    except FileExistsError:
        return
    os.chmod(path, 0o700)


def said(error: OSError) -> str:
    """What the system said, for a reason's details."""
    return error.strerror or str(error)


def _changed(path: str) -> float:
    """When the file got its present name; 0 if it has vanished."""
    try:
        return os.stat(path, follow_symlinks=False).st_ctime
    except OSError:
        return 0.0
