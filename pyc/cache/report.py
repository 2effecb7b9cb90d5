"""What the cache holds and did, and why a program was not found: for people to read.

    stats()       counts of this process and of the disk, in all and by function
    ls, inspect   entries
    explain       how a call differs from the nearest entry: by field, with the arguments' names

Nothing here is counted, and nothing on the disk is changed. What is said of all entries is in the
beginnings of their files; whole entries are read of the few that are shown or compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from heapq import nsmallest
from itertools import zip_longest
from typing import Any, NamedTuple

from pyc import config
from pyc.cache import Counts, counted, disk
from pyc.errors import ArgumentError
from pyc.fingerprint import Document, canonical, key_of
from pyc.reasons import Reason
from pyc.store import Entry, LocalStore, Miss, Summary

# --- statistics -----------------------------------------------------------------------------------


class CacheInfo(NamedTuple):
    """Of one jitted function. misses: signatures compiled; entries: signatures kept."""

    misses: int
    entries: int


class CacheStats(NamedTuple):
    """A snapshot of the cache; `print` it.

    total, per_function: what this process did, and what of each function is on the disk; entries,
    bytes, corrupt: what lies in `directory` now, `corrupt` being the entries set aside; unread,
    unread_bytes: those of them that are of no function, since they are another version's or do not
    begin as an entry does; max_bytes: the bound, 0 for none; problem: why the directory is not
    used, "" if it is.
    """

    total: Counts
    per_function: dict[str, Counts]
    directory: str
    mode: str
    entries: int
    bytes: int
    corrupt: int
    unread: int
    unread_bytes: int
    max_bytes: int
    problem: str

    def __str__(self) -> str:
        bound = f" of {readable_bytes(self.max_bytes)}" if self.max_bytes else ""
        lines = [
            f"cache {self.directory} ({self.mode}): {entries_in_words(self.entries)}, "
            f"{readable_bytes(self.bytes)}{bound}, {self.corrupt} set aside",
            *([self.problem] if self.problem else []),
            f"this process: {activity(self.total)}",
        ]
        others = 0, 0, 0
        for name, counts in sorted(self.per_function.items()):
            if counts.active():
                held = f"{entries_in_words(counts.entries)}, {readable_bytes(counts.bytes)}"
                lines.append(f"  {name}: {held}; {activity(counts)}")
            else:
                others = others[0] + 1, others[1] + counts.entries, others[2] + counts.bytes
        if others[0]:
            functions = "1 other function" if others[0] == 1 else f"{others[0]} other functions"
            held = f"{entries_in_words(others[1])}, {readable_bytes(others[2])}"
            lines.append(f"  {functions}: {held}")
        if self.unread:
            held = f"{entries_in_words(self.unread)}, {readable_bytes(self.unread_bytes)}"
            lines.append(f"  in no function, for this version cannot read them: {held}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def as_dict(self) -> dict[str, Any]:
        """The same in plain values, as `python -m pyc cache stats --json` prints it."""

        def plain(c: Counts) -> dict[str, Any]:
            return {
                "entries": c.entries,
                "bytes": c.bytes,
                "entries_seconds": c.entries_seconds,
                "hits": {"memory": c.hits_memory, "disk": c.hits_disk},
                "misses": {str(r): n for r, n in _by_code(c.misses).items()},
                "corrupt": c.corrupt,
                "stored": c.stored,
                "evictions": {"memory": c.evicted_memory, "disk": c.evicted_disk},
                "lease": {"waits": c.lease_waits, "seconds": c.lease_seconds},
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
            "max_bytes": self.max_bytes,
            "corrupt": self.corrupt,
            "unread": {"entries": self.unread, "bytes": self.unread_bytes},
            "problem": self.problem,
            "total": plain(self.total),
            "per_function": {k: plain(v) for k, v in sorted(self.per_function.items())},
        }


def stats() -> CacheStats:
    """What the cache holds and what it did in this process.

    >>> pyc.cache.stats().entries >= 0
    True
    """
    settings, reader = config.current(), disk(writable=False)
    functions = counted()
    total, unread = Counts(), Counts()
    for counts in functions.values():
        total.add(**counts.as_dict())
    for path in reader.paths():
        summary = reader.summary(path)
        if summary is None:
            unread.add(entries=1, bytes=reader.nbytes(path))
            continue
        if summary.label not in functions:
            functions[summary.label] = Counts()
        for counts in (total, functions[summary.label]):
            counts.add(entries=1, bytes=summary.nbytes, entries_seconds=summary.compile_seconds)
    total.add(entries=unread.entries, bytes=unread.bytes)
    return CacheStats(
        total=total,
        per_function={name: counts for name, counts in functions.items() if name},
        directory=reader.directory,
        mode=settings.cache,
        entries=total.entries,
        bytes=total.bytes,
        corrupt=len(reader.set_aside()),
        unread=unread.entries,
        unread_bytes=unread.bytes,
        max_bytes=settings.cache_max_bytes,
        problem=trouble() if settings.cache != "off" else "",
    )


def trouble() -> str:
    """Why the cache directory is not used, and what to do about it; "" if it is."""
    found = disk(writable=False).problem
    if found is None:
        return ""
    details = ", ".join(f"{name}: {value}" for name, value in found.details.items())
    return f"{found.reason.meaning} ({details}). {found.reason.remedy}"


def activity(c: Counts) -> str:
    """What was done in this process, in one line; what did not occur is left out, but for the
    usual."""
    missed = ", ".join(f"{reason} {n}" for reason, n in _by_code(c.misses).items())
    parts = [
        f"hits: {c.hits_memory} memory, {c.hits_disk} disk",
        f"misses: {c.misses.total()}{f' ({missed})' if missed else ''}",
        f"stored: {c.stored}",
    ]
    if c.corrupt:
        parts.append(f"damaged: {c.corrupt}")
    if c.evicted_memory or c.evicted_disk:
        parts.append(f"evicted: {c.evicted_memory} memory, {c.evicted_disk} disk")
    if c.lease_waits:
        parts.append(f"waited for others: {c.lease_waits} ({c.lease_seconds:.3f} s)")
    spent, saved = c.compile_seconds_spent, c.compile_seconds_saved
    parts.append(f"compile time: {spent:.3f} s spent, {saved:.3f} s saved")
    return "; ".join(parts)


def _by_code(misses: Counter[Reason]) -> dict[Reason, int]:
    return {r: misses[r] for r in sorted(misses, key=lambda r: r.code)}


def entries_in_words(count: int) -> str:
    """How many entries: `1 entry`, `2 entries`."""
    return "1 entry" if count == 1 else f"{count} entries"


def readable_bytes(count: int) -> str:
    """`count` bytes in a unit that keeps it short: `3.2 MB`."""
    units = ["B", "kB", "MB", "GB", "TB"]
    size = float(count)
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{count} B" if units[0] == "B" else f"{size:.1f} {units[0]}"


# --- entries --------------------------------------------------------------------------------------


def ls(pattern: str | None = None) -> list[Summary]:
    """What the entries' files say of themselves, by function and key; they are not checked.

    pattern: keeps those whose function matches it, as a file name would, or whose key begins so.

    >>> pyc.cache.ls("no such function")
    []
    """
    found = summaries(disk(writable=False))
    chosen = [e for e in found if pattern is None or matches(e, pattern)]
    return sorted(chosen, key=lambda e: (e.label, e.key, e.path))


def matches(entry: Entry | Summary, pattern: str) -> bool:
    """Whether a pattern means an entry: its function's name, or the beginning of its key."""
    return fnmatch(entry.label, pattern) or entry.key.startswith(pattern)


def summaries(reader: LocalStore) -> Iterator[Summary]:
    """What each entry's file says of itself; none where the directory is not used."""
    if reader.problem is None:
        yield from (found for found in map(reader.summary, reader.paths()) if found is not None)


def inspect(key: str) -> list[Entry]:
    """The entries of a key, or of the only key that begins with `key`: one per set of facts.

    raises KeyError: no key begins so, or several do, or the entry cannot be used

    >>> pyc.cache.inspect("no such key")
    Traceback (most recent call last):
    KeyError: "no cache keys begin with 'no such key'"
    """
    reader = disk(writable=False)
    paths = [] if reader.problem is not None else sorted(reader.paths(key))
    keys = set(map(reader.key_in, paths))
    if len(keys) != 1:
        raise KeyError(f"{len(keys) or 'no'} cache keys begin with {key!r}")
    found = [reader.read(path) for path in paths]
    entries = [entry for entry in found if isinstance(entry, Entry)]
    refused = [miss.reason.meaning for miss in found if isinstance(miss, Miss)]
    if not entries:
        raise KeyError(f"{keys.pop()}: {refused[0] if refused else 'it has gone'}")
    return entries


# --- misses ---------------------------------------------------------------------------------------

ABSENT = "absent"

CANDIDATES = 32
"""Entries that are compared with a program field by field, those most like it by their summaries:
a comparison takes 1 ms, and there may be a hundred thousand."""

_MEANINGS = {"sources": "pyc's own sources"}
"""Fields of key documents whose names do not say what they are."""


class Difference(NamedTuple):
    """A field of the key document that differs: its path, the stored value, the value asked for."""

    field: str
    stored: str
    asked: str


class MissReport(NamedTuple):
    """Whether a program is on the disk and, if not, how the nearest one differs.

    reason: None for a hit; nearest_key: of the entry with the fewest differing fields, those of the
    same function first, or None if there is no entry; cost: the seconds that compiling the nearest
    (for a hit: this) entry took.
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
    """What the disk cache has for `function` called with these arguments; runs and counts nothing,
    but traces it.

    function: a jitted function; args, kwargs: of the call.

    raises ArgumentError: it is not jitted; what tracing it raises

    >>> report = pyc.cache.explain(pyc.jit(np.sin), np.ones(3))
    """
    if not hasattr(function, "lower"):
        what = getattr(function, "__name__", None) or type(function).__name__
        raise ArgumentError(
            f"cache.explain: `{what}` is not a jitted function",
            fix="Pass what `pyc.jit` returns: the key of an entry depends on how it was jitted.",
        )
    # Tracing needs code of pyc's own, which a frozen cache may lack too.
    frozen = config.current().cache == "frozen"
    with config.using(**({"cache": "ro"} if frozen else {})):
        lowered = function.lower(*args, **kwargs)
    return explain_document(
        lowered.key_document, lowered.target_facts, lowered.name, lowered.arguments
    )


def explain_document(
    document: Document, facts: Document, function: str = "", arguments: Sequence[str] = ()
) -> MissReport:
    """What the disk cache has for a key document and the facts of a target.

    function: its name; arguments: the names of its arguments.
    """
    if config.current().cache == "off":
        return MissReport(key_of(document), Reason.CACHE_DISABLED, None, "", (), 0.0)
    return nearest(disk(writable=False), document, facts, function, arguments)


def nearest(
    reader: LocalStore,
    document: Document,
    facts: Document,
    function: str = "",
    arguments: Sequence[str] = (),
) -> MissReport:
    """What a store has for a key document, and the entry that differs least if it is not there."""
    found = reader.lookup(document, facts)
    if isinstance(found, Entry):
        return MissReport(found.key, None, found.key, found.label, (), found.compile_seconds)
    closest = closest_entry(reader, document, facts, function, arguments)
    if closest is None:
        return MissReport(found.key, found.reason, None, "", (), 0.0)
    entry, differences = closest
    return MissReport(
        key=found.key,
        reason=found.reason,
        nearest_key=entry.key,
        nearest_function=entry.label,
        differing_fields=differences,
        cost=entry.compile_seconds,
    )


def closest_entry(
    reader: LocalStore,
    document: Document,
    facts: Document,
    function: str,
    arguments: Sequence[str] = (),
    other_than: str = "",
) -> tuple[Entry, tuple[Difference, ...]] | None:
    """The entry that differs from a program in the fewest fields, those of the same function first,
    and the differences. other_than: the path of an entry that is left out."""
    types = [str(type) for type in document.get("types", ())]

    def likeness(summary: Summary) -> tuple[bool, int, int, float, str]:
        pairs = zip_longest(summary.types, types, fillvalue=ABSENT)
        return (
            summary.label != function,
            sum(stored != asked for stored, asked in pairs),
            sum(facts.get(name) != value for name, value in summary.facts.items()),
            -summary.used,
            summary.path,
        )

    candidates = (found for found in summaries(reader) if found.path != other_than)
    best: tuple[tuple[bool, int, str], Entry, tuple[Difference, ...]] | None = None
    for summary in nsmallest(CANDIDATES, candidates, key=likeness):
        entry = reader.read(summary.path)
        if not isinstance(entry, Entry):
            continue
        differences = (
            *entry_difference(entry.document, document, arguments or entry.arguments),
            *(d for d in difference(entry.facts, facts, "target") if d.stored != ABSENT),
        )
        rank = (entry.label != function, len(differences), entry.path)
        if best is None or rank < best[0]:
            best = rank, entry, differences
    return None if best is None else best[1:]


def signature(function: str, types: Sequence[str], arguments: Sequence[str]) -> str:
    """A program in words: "`f(x: f32[8])`"; without types where they are not known."""
    names = [f"{name}: " for name in arguments] or [""] * len(types)
    given = (f"{name}{type}" for name, type in zip_longest(names, types, fillvalue="?"))
    return f"`{function}({', '.join(given)})`" if types else f"`{function}`"


def entry_difference(
    stored: Document, asked: Document, arguments: Sequence[str] = ()
) -> Iterator[Difference]:
    """The fields in which two key documents differ; arguments by name, then the rest."""
    types = stored.get("types", []), asked.get("types", [])
    for k, (old, new) in enumerate(zip_longest(*types, fillvalue=ABSENT)):
        if old != new:
            place = f"argument `{arguments[k]}`" if k < len(arguments) else f"argument {k}"
            yield Difference(place, str(old), str(new))
    left, right = (_without_types(d, types[0] != types[1]) for d in (stored, asked))
    for found in difference(left, right):
        yield found._replace(field=_MEANINGS.get(found.field, found.field))


def _without_types(document: Document, everywhere: bool) -> Document:
    """A document without its arguments' types; everywhere: without the graph's line of them too."""
    rest = {name: value for name, value in document.items() if name != "types"}
    if everywhere and isinstance(rest.get("graph"), str):
        rest["graph"] = "\n" + rest["graph"].partition("\n")[2]
    return rest


def difference(stored: Any, asked: Any, place: str = "") -> Iterator[Difference]:
    """The leaves in which two documents differ; texts of several lines by their first such line."""
    if isinstance(stored, Mapping) and isinstance(asked, Mapping):
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
    pairs = list(zip_longest(stored, asked))
    differing = [k for k, (left, right) in enumerate(pairs) if left != right]
    left, right = pairs[differing[0]]
    more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
    return Difference(f"{place} line {differing[0] + 1}{more}", _line(left), _line(right))


def _line(text: str | None) -> str:
    return ABSENT if text is None else _short(text.strip())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 72 else f"{text[:69]}..."
