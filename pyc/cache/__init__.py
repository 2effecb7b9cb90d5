"""The cache: what was compiled is found again, in this process and in the next.

    payload = obtain(document, facts, make, name)

`document` is what the program's key is made of, `facts` what is known of the target; `make`
compiles. Of several threads and processes that miss one program, one compiles and the others wait
for it. `lookup`, `claim` and `store` are the parts of this. `memory` keeps loaded programs of this
process by key. Every miss has a `Reason`. Only what was measured is counted: `stats()` reports
hits, misses by reason, bytes on disk, and the seconds of compilation spent and saved.

Layers are key documents: a portable artefact (Graph, Plan, LLVM IR) relies on few facts of the
target and a host artefact (an image) on more; both are entries of one store (`pyc/store`).

PYC_CACHE=off|ro|rw|frozen, PYC_CACHE_DIR and PYC_CACHE_MAX_BYTES choose; `frozen` makes every miss
a `CacheMissError`.

A hit loads nothing but this module and `pyc.store`: what a miss needs (`store/write.py`,
`store/lease.py`) and what looks inside (`report`, `audit`) is loaded when it is asked for.
"""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import RLock
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyc import config, reasons
from pyc.errors import CacheMissError
from pyc.fingerprint import Document, key_of
from pyc.forks import hold, load
from pyc.reasons import Reason
from pyc.store import Entry, LocalStore, Miss, Summary
from pyc.store.sources import remembered_digest

if TYPE_CHECKING:
    from pyc.cache.audit import Problem, Verification, clear, prune, verify
    from pyc.cache.report import (
        CacheStats,
        Difference,
        MissReport,
        difference,
        explain,
        explain_document,
        inspect,
        ls,
        readable_bytes,
        stats,
    )
    from pyc.store.lease import Lease

T = TypeVar("T")

MEMORY_ENTRIES = 512
MEMORY_BYTES = 1 << 28
"""Bounds of the loaded programs kept by `memory`; the least recently used go first."""

_ELSEWHERE = {
    "pyc.cache.audit": ("Problem", "Verification", "clear", "prune", "verify"),
    "pyc.cache.report": (
        *("CacheStats", "Difference", "MissReport", "difference", "explain", "explain_document"),
        *("inspect", "ls", "readable_bytes", "stats"),
    ),
}
"""Public names of the modules that are loaded on demand."""


def __getattr__(name: str) -> Any:
    for module, names in _ELSEWHERE.items():
        if name in names:
            return getattr(load(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- what is counted ------------------------------------------------------------------------------


class Counts:
    """Counts of one function, or of all, in this process.

    hits_memory, hits_disk: programs found; misses: lookups on disk that failed, by reason; corrupt:
    entries that could not be used; stored: entries written; evicted_memory, evicted_disk: programs
    that left because of a bound; lease_waits, lease_seconds: how often another process or thread
    was waited for, and how long; compile_seconds_spent, _saved: what the misses cost to make, and
    what the entries found on disk had cost. entries, bytes, entries_seconds: what lies on the disk
    now, and what making it cost.
    """

    __slots__ = (
        *("entries", "bytes", "entries_seconds"),
        *("hits_memory", "hits_disk", "misses", "corrupt", "stored"),
        *("evicted_memory", "evicted_disk", "lease_waits", "lease_seconds"),
        *("compile_seconds_spent", "compile_seconds_saved"),
    )

    entries: int
    bytes: int
    entries_seconds: float
    hits_memory: int
    hits_disk: int
    misses: Counter[Reason]
    corrupt: int
    stored: int
    evicted_memory: int
    evicted_disk: int
    lease_waits: int
    lease_seconds: float
    compile_seconds_spent: float
    compile_seconds_saved: float

    def __init__(self) -> None:
        for name in self.__slots__:
            setattr(self, name, 0.0 if "seconds" in name else 0)
        self.misses = Counter()

    def add(self, **changes: Any) -> None:
        """Adds to the counts named."""
        for name, change in changes.items():
            setattr(self, name, getattr(self, name) + change)

    def active(self) -> bool:
        """Whether this process did anything."""
        on_disk = ("entries", "bytes", "entries_seconds")
        return any(getattr(self, name) for name in self.__slots__ if name not in on_disk)

    def as_dict(self) -> dict[str, Any]:
        """The counts by name; the misses of reasons in the order of their codes."""
        found = {name: getattr(self, name) for name in self.__slots__}
        order = sorted(self.misses, key=lambda reason: reason.code)
        return found | {"misses": Counter({reason: self.misses[reason] for reason in order})}


# Re-entrant, as a signal handler or a finaliser may call a jitted function wherever Python runs.
_lock = RLock()
_counts: dict[str, Counts] = {}

hold(_lock)


def _count(function: str, **changes: Any) -> None:
    with _lock:
        _counts.setdefault(function, Counts()).add(**changes)


def counted() -> dict[str, Counts]:
    """What was counted in this process, by function; a copy."""
    with _lock:
        copied = {name: Counts() for name in _counts}
        for name, counts in _counts.items():
            copied[name].add(**counts.as_dict())
    return copied


def reset_stats() -> None:
    """Sets the counts of this process to zero.

    >>> pyc.cache.reset_stats()
    """
    with _lock:
        _counts.clear()


# --- programs loaded in this process --------------------------------------------------------------


class MemoryCache(Generic[T]):
    """Values by key, bounded in number and bytes; the least recently used leave first."""

    def __init__(self, entries: int = MEMORY_ENTRIES, nbytes: int = MEMORY_BYTES) -> None:
        self._entries = entries
        self._nbytes = nbytes
        self._values: OrderedDict[str, tuple[T, int, str]] = OrderedDict()
        self._held = 0

    def get(self, key: str, function: str = "") -> T | None:
        """The value of `key`, counted as a hit of `function`; None if it is not held."""
        with _lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
        _count(function, hits_memory=1)
        return found[0]

    def put(self, key: str, value: T, nbytes: int, function: str = "") -> None:
        """Keeps `value`, whose size is about `nbytes`; one larger than the bound is not kept."""
        if nbytes > self._nbytes:
            return
        dropped = []
        with _lock:
            self._held += nbytes - self._values.get(key, (None, 0))[1]
            self._values[key] = (value, nbytes, function)
            self._values.move_to_end(key)
            while len(self._values) > self._entries or self._held > self._nbytes:
                old, (_, size, owner) = self._values.popitem(last=False)
                self._held -= size
                dropped.append((old, owner))
        for old, owner in dropped:
            _count(owner, evicted_memory=1)
            reasons.record(Reason.CACHE_EVICTED, function=owner, key=old)

    def clear(self) -> None:
        """Drops every value."""
        with _lock:
            self._values.clear()
            self._held = 0

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: str) -> bool:
        """Whether a value is held; counted as nothing."""
        return key in self._values


memory: MemoryCache[Any] = MemoryCache()
"""Loaded programs of this process by key."""


# --- the store ------------------------------------------------------------------------------------

_stores: dict[tuple[str, bool], LocalStore] = {}


def directory() -> str:
    """Where the disk cache lies: PYC_CACHE_DIR, else $XDG_CACHE_HOME/pyc, else ~/.cache/pyc (which
    is said so where the user has no home directory, and is not used).

    >>> pyc.cache.directory() != ""
    True
    """
    chosen = config.current().cache_dir
    if chosen:
        return chosen
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # so the XDG Base Directory Specification says
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "pyc")


def disk(*, writable: bool) -> LocalStore:
    """The store of the present directory, examined until it is found in order."""
    place = directory(), writable
    with _lock:
        found = _stores.get(place)
        if found is None or found.problem is not None:
            found = _stores[place] = LocalStore(place[0], writable=writable)
        return found


def source_digest() -> str:
    """The digest of pyc's sources, found once per process: noted in the cache directory, if the
    files are as they were then, or read. "" where no cache directory is used: programs of one
    process are of one code."""
    mode = config.current().cache
    return "" if mode == "off" else _source_digest(mode)


@cache
def _source_digest(mode: str) -> str:
    return remembered_digest(disk(writable=mode == "rw"))


def problem() -> Miss | None:
    """Why the cache directory is not used at all; None if it is."""
    mode = config.current().cache
    return None if mode == "off" else disk(writable=mode == "rw").problem


def write_problem() -> Miss | None:
    """Why nothing can be stored, though the mode is "rw"; None if it can, found by trying."""
    if config.current().cache != "rw":
        return None
    found: Miss | None = load("pyc.store.write").unwritable(disk(writable=True))
    return found


def lookup(
    document: Document, facts: Document, function: str = "", arguments: Sequence[str] = ()
) -> Entry | Miss:
    """The stored program of a key document that fits the target's facts, or why there is none.

    function: the name under which it is counted; arguments: the names of its arguments, for an
    error.
    raises CacheMissError: there is none, and the cache is frozen
    """
    unusable: list[Miss] = []
    found = _find(document, facts, unusable)
    return _settled(found, unusable, document, facts, function, arguments)


@contextmanager
def claim(
    document: Document,
    facts: Document,
    function: str = "",
    arguments: Sequence[str] = (),
    *,
    wait: bool = True,
) -> Iterator[Entry | Miss]:
    """As `lookup`; and inside the block nobody else compiles a program that is missing.

    Another thread or process that asks for it meanwhile waits until this block has stored it. Who
    waits for long, or in vain, or may not wait, gets the Miss too, for a recorded reason.
    wait: False for a thread that others may wait for.
    """
    unusable: list[Miss] = []
    found = _find(document, facts, unusable)
    lease: Lease | None = None
    try:
        if isinstance(found, Miss):
            lease, stored = _lease(document, facts, function, unusable, wait)
            found = stored or found
        yield _settled(found, unusable, document, facts, function, arguments)
    finally:
        if lease is not None:
            lease.release()


def obtain(
    document: Document,
    facts: Document,
    make: Callable[[], Document],
    function: str = "",
    arguments: Sequence[str] = (),
    *,
    wait: bool = True,
) -> Document:
    """The payload of a program: from the cache, or made now and stored; otherwise as `claim`."""
    with claim(document, facts, function, arguments, wait=wait) as found:
        if isinstance(found, Entry):
            return found.payload
        start = perf_counter()
        payload = make()
        store(document, facts, payload, perf_counter() - start, function, arguments)
    return payload


def _find(document: Document, facts: Document, unusable: list[Miss]) -> Entry | Miss:
    mode = config.current().cache
    if mode == "off":
        return Miss(Reason.CACHE_DISABLED, key_of(document))
    return disk(writable=mode == "rw").lookup(document, facts, unusable)


def _lease(
    document: Document, facts: Document, function: str, unusable: list[Miss], wait: bool
) -> tuple[Lease | None, Entry | None]:
    """The lease of a missing program, if it can be stored; or what another process has stored."""
    if config.current().cache != "rw":
        return None, None
    shared = disk(writable=True)
    if shared.problem is not None or not shared.writable:
        return None, None
    path = load("pyc.store.write").lease_path(shared, document, facts)
    turn = load("pyc.store.lease").take(path, wait=wait)
    try:
        if turn.waited:
            _count(function, lease_waits=1, lease_seconds=turn.waited)
        # Also without having waited: the program may have been stored since the first look.
        found = shared.lookup(document, facts, unusable)
        stored = found if isinstance(found, Entry) else None
        in_vain = turn.lease is None and stored is None
        reason = turn.reason or (Reason.CACHE_LEASE_FRUITLESS if in_vain else None)
        if reason is not None:
            reasons.record(reason, function=function, key=found.key, **turn.details)
    except BaseException:  # Ctrl-C
        if turn.lease is not None:
            turn.lease.release()
        raise
    return turn.lease, stored


def _settled(
    found: Entry | Miss,
    unusable: list[Miss],
    document: Document,
    facts: Document,
    function: str,
    arguments: Sequence[str],
) -> Entry | Miss:
    """`found`, counted and recorded. CacheMissError: it is a miss, and the cache is frozen."""
    for damaged in unusable:
        if damaged is not found:
            reasons.record(damaged.reason, function=function, key=damaged.key, **damaged.details)
    if unusable:
        _count(function, corrupt=len(unusable))
    if isinstance(found, Entry):
        _count(function, hits_disk=1, compile_seconds_saved=found.compile_seconds)
        return found
    _count(function, misses=Counter({found.reason: 1}))
    reasons.record(found.reason, function=function, key=found.key, **found.details)
    if config.current().cache == "frozen":
        raise _frozen_miss(document, facts, function, arguments)
    return found


def store(
    document: Document,
    facts: Document,
    payload: Document,
    compile_seconds: float,
    function: str = "",
    arguments: Sequence[str] = (),
) -> bool:
    """Stores a program; returns whether it is on the disk now (if not, a `Reason` was recorded).

    facts: those of the target that compilation relied on; payload: a dict that msgpack can hold.
    Entries used least recently leave, for a recorded reason, when all are larger than the bound.
    """
    _count(function, compile_seconds_spent=compile_seconds)
    settings = config.current()
    if settings.cache != "rw":
        return False
    shared, write = disk(writable=True), load("pyc.store.write")
    refused = write.put(
        shared,
        document,
        facts,
        payload,
        compile_seconds=compile_seconds,
        label=function,
        arguments=arguments,
        max_bytes=settings.cache_max_bytes,
    )
    if refused is not None:
        reasons.record(refused.reason, function=function, key=refused.key, **refused.details)
        return False
    _count(function, stored=1)
    for gone in write.evict(shared, settings.cache_max_bytes):
        _count(gone.label, evicted_disk=1)
        reasons.record(
            Reason.CACHE_DISK_EVICTED, function=gone.label, key=gone.key, bytes=gone.nbytes
        )
    return True


def _frozen_miss(
    document: Document, facts: Document, function: str, arguments: Sequence[str]
) -> CacheMissError:
    reader = disk(writable=False)

    def message() -> str:
        report = load("pyc.cache.report")
        signature = report.signature(function, document.get("types", ()), arguments)
        found = report.nearest(reader, document, facts, function, arguments)
        return f"the cache is frozen and lacks {signature}: {found}"

    return CacheMissError(
        message,
        fix="Run once with PYC_CACHE=rw to fill the cache, with the same versions and sizes.",
    )


@contextmanager
def frozen() -> Iterator[None]:
    """Inside the block a miss raises `CacheMissError`: a guard for production and tests.

    >>> with pyc.cache.frozen():
    ...     print(pyc.config.current().cache)
    frozen
    """
    with config.using(cache="frozen"):
        yield


class CannotRemakeError(Exception):
    """Why an entry cannot be compiled again here: what it needs and what there is."""


__all__ = [
    "CacheStats",
    "CannotRemakeError",
    "Counts",
    "Difference",
    "Entry",
    "MemoryCache",
    "Miss",
    "MissReport",
    "Problem",
    "Summary",
    "Verification",
    "claim",
    "clear",
    "counted",
    "difference",
    "directory",
    "disk",
    "explain",
    "explain_document",
    "frozen",
    "inspect",
    "key_of",
    "lookup",
    "ls",
    "memory",
    "obtain",
    "problem",
    "prune",
    "readable_bytes",
    "reset_stats",
    "source_digest",
    "stats",
    "store",
    "verify",
    "write_problem",
]
