"""The cache: what was compiled is found again, in this process and in the next.

`compile` asks `lookup` with a key document and the facts of the target, and hands what it made to
`store`; `memory` keeps loaded programs of this process by key. Every miss has a `Reason`. Only what
was measured is counted: `stats()` reports hits, misses by reason, bytes on disk, and the seconds of
compilation spent and saved.

Layers are key documents: a portable artefact (Graph, Plan, LLVM IR) relies on few facts of the
target and a host artefact (an image) on more; both are entries of one store (`pyc/store.py`).

PYC_CACHE=off|ro|rw|frozen and PYC_CACHE_DIR choose; `frozen` makes every miss a `CacheMissError`.
"""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

from pyc import config, reasons
from pyc.errors import CacheMissError
from pyc.fingerprint import Document, canonical, key_of, source_digest
from pyc.reasons import Reason
from pyc.store import Entry, LocalStore, Miss

T = TypeVar("T")

MEMORY_ENTRIES = 512
MEMORY_BYTES = 1 << 28
"""Bounds of the loaded programs kept by `memory`; the least recently used go first."""


# --- what is counted ------------------------------------------------------------------------------


class Counts:
    """Counts of one function, or of all.

    hits_memory, hits_disk: programs found; misses: lookups on disk that failed, by reason; stored:
    entries written; compile_seconds_spent, _saved: what the misses cost to make, and what the
    entries found on disk had cost.
    """

    def __init__(
        self,
        hits_memory: int = 0,
        hits_disk: int = 0,
        misses: Counter[Reason] | None = None,
        stored: int = 0,
        compile_seconds_spent: float = 0.0,
        compile_seconds_saved: float = 0.0,
    ) -> None:
        self.hits_memory = hits_memory
        self.hits_disk = hits_disk
        self.misses: Counter[Reason] = Counter() if misses is None else misses
        self.stored = stored
        self.compile_seconds_spent = compile_seconds_spent
        self.compile_seconds_saved = compile_seconds_saved

    def add(self, other: Counts) -> None:
        """Adds the counts of `other`."""
        self.hits_memory += other.hits_memory
        self.hits_disk += other.hits_disk
        self.misses.update(other.misses)
        self.stored += other.stored
        self.compile_seconds_spent += other.compile_seconds_spent
        self.compile_seconds_saved += other.compile_seconds_saved

    def __str__(self) -> str:
        missed = ", ".join(f"{reason} {n}" for reason, n in _by_code(self.misses).items())
        return (
            f"hits: {self.hits_memory} memory, {self.hits_disk} disk; "
            f"misses: {self.misses.total()}{f' ({missed})' if missed else ''}; "
            f"stored: {self.stored}; compile time: {self.compile_seconds_spent:.3f} s spent, "
            f"{self.compile_seconds_saved:.3f} s saved"
        )


class CacheStats(NamedTuple):
    """A snapshot of the cache; `print` it.

    total, per_function: counts of this process; entries, bytes, corrupt: what lies in `directory`
    now, `corrupt` being the entries set aside; evicted: programs that `memory` dropped.
    """

    total: Counts
    per_function: dict[str, Counts]
    directory: str
    mode: str
    entries: int
    bytes: int
    corrupt: int
    evicted: int

    def __str__(self) -> str:
        lines = [
            f"cache {self.directory} ({self.mode}): {self.entries} entries, "
            f"{readable_bytes(self.bytes)}, {self.corrupt} set aside",
            f"this process: {self.total}",
        ]
        lines += [f"  {name}: {counts}" for name, counts in sorted(self.per_function.items())]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def as_dict(self) -> dict[str, Any]:
        """The same in plain values, as `python -m pyc cache stats --json` prints it."""

        def plain(c: Counts) -> dict[str, Any]:
            return {
                "hits": {"memory": c.hits_memory, "disk": c.hits_disk},
                "misses": {str(r): n for r, n in _by_code(c.misses).items()},
                "stored": c.stored,
                "compile_seconds": {
                    "spent": c.compile_seconds_spent,
                    "saved": c.compile_seconds_saved,
                },
            }

        return {
            "directory": self.directory,
            "mode": self.mode,
            "entries": self.entries,
            "bytes": self.bytes,
            "corrupt": self.corrupt,
            "evicted": self.evicted,
            "total": plain(self.total),
            "per_function": {k: plain(v) for k, v in sorted(self.per_function.items())},
        }


def _by_code(misses: Counter[Reason]) -> dict[Reason, int]:
    return {r: misses[r] for r in sorted(misses, key=lambda r: r.code)}


def readable_bytes(count: int) -> str:
    """`count` bytes in a unit that keeps it short: `3.2 MB`."""
    units = ["B", "kB", "MB", "GB", "TB"]
    size = float(count)
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{count} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


_lock = Lock()
_counts: dict[str, Counts] = {}

# A fork while another thread counts must not leave the child a lock held for ever.
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def _count(function: str, **changes: Any) -> None:
    with _lock:
        _counts.setdefault(function, Counts()).add(Counts(**changes))


# --- programs loaded in this process --------------------------------------------------------------


class MemoryCache(Generic[T]):
    """Values by key, bounded in number and bytes; the least recently used leave first."""

    def __init__(self, entries: int = MEMORY_ENTRIES, nbytes: int = MEMORY_BYTES) -> None:
        self._entries = entries
        self._nbytes = nbytes
        self._values: OrderedDict[str, tuple[T, int]] = OrderedDict()
        self._held = 0
        self.evicted = 0

    def get(self, key: str, function: str = "") -> T | None:
        """The value of `key`, counted as a hit of `function`; None if it is not held."""
        with _lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
        _count(function, hits_memory=1)
        return found[0]

    def put(self, key: str, value: T, nbytes: int) -> None:
        """Keeps `value`, whose size is about `nbytes`; one larger than the bound is not kept."""
        if nbytes > self._nbytes:
            return
        dropped = []
        with _lock:
            self._held += nbytes - self._values.get(key, (None, 0))[1]
            self._values[key] = (value, nbytes)
            self._values.move_to_end(key)
            while len(self._values) > self._entries or self._held > self._nbytes:
                old, (_, size) = self._values.popitem(last=False)
                self._held -= size
                self.evicted += 1
                dropped.append(old)
        for old in dropped:
            reasons.record(Reason.CACHE_EVICTED, key=old)

    def clear(self) -> None:
        """Drops every value."""
        with _lock:
            self._values.clear()
            self._held = 0

    def __len__(self) -> int:
        return len(self._values)


memory: MemoryCache[Any] = MemoryCache()
"""Loaded programs of this process by key."""


# --- the store ------------------------------------------------------------------------------------

_stores: dict[tuple[str, bool], LocalStore] = {}


def directory() -> str:
    """Where the disk cache lies: PYC_CACHE_DIR, else $XDG_CACHE_HOME/pyc, else ~/.cache/pyc."""
    chosen = config.current().cache_dir
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # so the XDG Base Directory Specification says
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "pyc")


def _store(writable: bool) -> LocalStore:
    """The store of the present directory, examined once per process."""
    found = directory(), writable
    with _lock:
        if found not in _stores:
            _stores[found] = LocalStore(found[0], writable=writable)
        return _stores[found]


def problem() -> Miss | None:
    """Why the cache directory is not used at all; None if it is."""
    mode = config.current().cache
    return None if mode == "off" else _store(mode == "rw").problem


def write_problem() -> Miss | None:
    """Why nothing can be stored, though the mode is "rw"; None if it can, found by trying."""
    return _store(True).unwritable() if config.current().cache == "rw" else None


def lookup(document: Document, facts: Document, function: str = "") -> Entry | Miss:
    """The stored program of a key document that fits the target's facts, or why there is none.

    function: the name under which it is counted.
    raises CacheMissError: there is none, and the cache is frozen
    """
    mode = config.current().cache
    if mode == "off":
        found: Entry | Miss = Miss(Reason.CACHE_DISABLED, key_of(document))
    else:
        found = _store(mode == "rw").lookup(document, facts)
    if isinstance(found, Entry):
        _count(function, hits_disk=1, compile_seconds_saved=found.compile_seconds)
        return found
    _count(function, misses=Counter({found.reason: 1}))
    reasons.record(found.reason, function=function, key=found.key, **found.details)
    if mode == "frozen":
        raise _frozen_miss(document, facts, function)
    return found


def store(
    document: Document,
    facts: Document,
    payload: Document,
    compile_seconds: float,
    function: str = "",
) -> bool:
    """Stores a program; returns whether it is on the disk now (if not, a `Reason` was recorded).

    facts: those of the target that compilation relied on; payload: a dict that msgpack can hold.
    """
    _count(function, compile_seconds_spent=compile_seconds)
    if config.current().cache != "rw":
        return False
    refused = _store(True).store(
        document, facts, payload, compile_seconds=compile_seconds, label=function
    )
    if refused is not None:
        reasons.record(refused.reason, function=function, key=refused.key, **refused.details)
        return False
    _count(function, stored=1)
    return True


def _frozen_miss(document: Document, facts: Document, function: str) -> CacheMissError:
    reader = _store(False)
    return CacheMissError(
        lambda: f"the cache is frozen and lacks `{function}`: {_explain(reader, document, facts)}",
        fix="Run once with PYC_CACHE=rw to fill the cache, with the same versions and sizes.",
    )


@contextmanager
def frozen() -> Iterator[None]:
    """Inside the block a miss raises `CacheMissError`: a guard for production and tests."""
    with config.using(cache="frozen"):
        yield


# --- looking inside -------------------------------------------------------------------------------


def stats() -> CacheStats:
    """What the cache holds and what it did in this process."""
    mode = config.current().cache
    reader = _store(False)
    entries, nbytes = reader.size()
    total = Counts()
    with _lock:
        functions = {name: _copy(counts) for name, counts in _counts.items()}
    for counts in functions.values():
        total.add(counts)
    return CacheStats(
        total=total,
        per_function={name: counts for name, counts in functions.items() if name},
        directory=reader.directory,
        mode=mode,
        entries=entries,
        bytes=nbytes,
        corrupt=len(reader.set_aside()),
        evicted=memory.evicted,
    )


def _copy(counts: Counts) -> Counts:
    copied = Counts()
    copied.add(counts)
    return copied


def reset_stats() -> None:
    """Sets the counts of this process to zero."""
    with _lock:
        _counts.clear()
    memory.evicted = 0


def ls(pattern: str | None = None) -> list[Entry]:
    """The readable entries, by function and key.

    pattern: keeps those whose function matches it, as a file name would, or whose key begins so.
    """
    found = _readable(_store(False))
    if pattern is not None:
        found = [e for e in found if fnmatch(e.label, pattern) or e.key.startswith(pattern)]
    return sorted(found, key=lambda e: (e.label, e.key, e.path))


def _readable(reader: LocalStore) -> list[Entry]:
    if reader.problem is not None:
        return []
    return [e for e in map(reader.read, reader.paths()) if isinstance(e, Entry)]


def inspect(key: str) -> list[Entry]:
    """The entries of a key, or of the only key that begins with `key`: one per set of facts.

    raises KeyError: no key begins so, or several do
    """
    found = [e for e in ls() if e.key.startswith(key)]
    keys = {e.key for e in found}
    if len(keys) != 1:
        raise KeyError(f"{len(keys) or 'no'} cache keys begin with {key!r}")
    return found


def clear() -> int:
    """Removes every entry from the disk and drops the programs held; returns how many entries.

    Programs that functions already use go on running.
    """
    memory.clear()
    return _store(config.current().cache == "rw").clear()


class Difference(NamedTuple):
    """A field of the key document that differs: its path, the stored value, the value asked for."""

    field: str
    stored: str
    asked: str


class MissReport(NamedTuple):
    """Whether a program is on the disk and, if not, how the nearest one differs.

    reason: None for a hit; nearest_key: of the entry with the fewest differing fields, or None if
    there is no entry; cost: the seconds that compiling the nearest (for a hit: this) entry took.
    """

    key: str
    reason: Reason | None
    nearest_key: str | None
    nearest_function: str
    differing_fields: tuple[Difference, ...]
    cost: float

    def __str__(self) -> str:
        if self.reason is None:
            return f"hit: {self.key[:16]} is on the disk; compiling it took {self.cost:.3f} s"
        lines = [f"{self.reason.meaning} [{self.reason.code}]"]
        if self.nearest_key is not None:
            lines.append(
                f"nearest entry: {self.nearest_key[:16]} of `{self.nearest_function}` "
                f"(compiling it took {self.cost:.3f} s)"
            )
        lines += [f"  {d.field}: stored {d.stored}, asked {d.asked}" for d in self.differing_fields]
        return "\n".join(lines)


def explain(function: Any, *args: Any, **kwargs: Any) -> MissReport:
    """What the disk cache has for `function` called with these arguments; runs and counts nothing.

    function: a jitted function.
    """
    lowered = function.lower(*args, **kwargs)
    return explain_document(lowered.key_document, lowered.target_facts)


def explain_document(document: Document, facts: Document) -> MissReport:
    """What the disk cache has for a key document and the facts of a target."""
    return _explain(_store(False), document, facts)


def _explain(reader: LocalStore, document: Document, facts: Document) -> MissReport:
    found = reader.lookup(document, facts)
    if isinstance(found, Entry):
        return MissReport(found.key, None, found.key, found.label, (), found.compile_seconds)
    best: tuple[int, str, Entry] | None = None
    best_differences: tuple[Difference, ...] = ()
    for entry in _readable(reader):
        differences = (
            *difference(entry.document, document),
            *(d for d in difference(entry.facts, facts, "target") if d.stored != ABSENT),
        )
        rank = (len(differences), entry.path, entry)
        if best is None or rank[:2] < best[:2]:
            best, best_differences = rank, differences
    if best is None:
        return MissReport(found.key, found.reason, None, "", (), 0.0)
    nearest = best[2]
    return MissReport(
        key=found.key,
        reason=found.reason,
        nearest_key=nearest.key,
        nearest_function=nearest.label,
        differing_fields=best_differences,
        cost=nearest.compile_seconds,
    )


ABSENT = "absent"


def difference(stored: Any, asked: Any, place: str = "") -> Iterator[Difference]:
    """The leaves in which two documents differ; texts of several lines by their first such line."""
    if isinstance(stored, dict) and isinstance(asked, dict):
        for name in sorted(stored.keys() | asked.keys()):
            inner = f"{place}.{name}" if place else name
            if name not in stored:
                yield Difference(inner, ABSENT, _short(asked[name]))
            elif name not in asked:
                yield Difference(inner, _short(stored[name]), ABSENT)
            else:
                yield from difference(stored[name], asked[name], inner)
    elif isinstance(stored, (list, tuple)) and isinstance(asked, (list, tuple)):
        for k in range(max(len(stored), len(asked))):
            inner = f"{place}[{k}]"
            if k >= len(stored):
                yield Difference(inner, ABSENT, _short(asked[k]))
            elif k >= len(asked):
                yield Difference(inner, _short(stored[k]), ABSENT)
            else:
                yield from difference(stored[k], asked[k], inner)
    elif isinstance(stored, str) and isinstance(asked, str) and "\n" in stored + asked:
        if stored != asked:
            yield _first_line(stored.splitlines(), asked.splitlines(), place)
    elif canonical(stored) != canonical(asked):
        yield Difference(place, _short(stored), _short(asked))


def _first_line(stored: list[str], asked: list[str], place: str) -> Difference:
    shared = min(len(stored), len(asked))
    line = next((k for k in range(shared) if stored[k] != asked[k]), shared)
    left = _short(stored[line].strip()) if line < len(stored) else ABSENT
    right = _short(asked[line].strip()) if line < len(asked) else ABSENT
    return Difference(f"{place} line {line + 1}", left, right)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 72 else f"{text[:69]}..."


__all__ = [
    "CacheStats",
    "Counts",
    "Difference",
    "Entry",
    "MemoryCache",
    "Miss",
    "MissReport",
    "clear",
    "directory",
    "explain",
    "explain_document",
    "frozen",
    "inspect",
    "key_of",
    "lookup",
    "ls",
    "memory",
    "problem",
    "reset_stats",
    "source_digest",
    "stats",
    "store",
    "write_problem",
]
