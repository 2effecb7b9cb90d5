"""What checks and changes the cache as a whole: `verify`, `prune`, `clear`.

Compilation is reproducible, so an entry can be checked by making it again: `verify` compiles each
from the program in its key document and compares all bytes. Entries of another version of pyc or of
a library, or for a device that is not here, cannot be checked, which is reported too.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import msgpack

from pyc import config, reasons
from pyc.cache import CannotRemakeError, disk, memory
from pyc.cache.report import entries_in_words, matches
from pyc.errors import CacheError
from pyc.fingerprint import Document, key_of, source_digest, versions
from pyc.forks import load
from pyc.reasons import Reason
from pyc.store import Entry, LocalStore, Miss, write
from pyc.store.write import Removed


class Problem(NamedTuple):
    """An entry that is not as it should be, or cannot be checked, and why."""

    reason: Reason
    key: str
    label: str
    detail: str

    def __str__(self) -> str:
        return f"{self.key[:16]}  {self.label or '-'}  {self.detail} [{self.reason.code}]"


class Verification(NamedTuple):
    """What `verify` found: entries of equal bytes; those that differ or cannot be read; those that
    cannot be compiled again here. removed: how many of the bad ones are gone now."""

    equal: int
    bad: tuple[Problem, ...]
    unchecked: tuple[Problem, ...]
    removed: int

    @property
    def ok(self) -> bool:
        """Whether nothing bad was found."""
        return not self.bad

    def __str__(self) -> str:
        lines = [
            f"checked {entries_in_words(self.equal + len(self.bad))}: {self.equal} with the bytes "
            f"that compiling gives, {len(self.bad)} bad ({self.removed} removed); "
            f"{len(self.unchecked)} cannot be checked here"
        ]
        lines += [f"  {problem}" for problem in (*self.bad, *self.unchecked)]
        return "\n".join(lines)


def verify(pattern: str | None = None, *, repair: bool = False) -> Verification:
    """Compiles entries again and compares bytes; what is bad or cannot be checked is recorded.

    pattern: only the entries that `ls` shows for it; repair: removes the bad ones.

    raises CacheError: the directory is not used, or `repair` where the cache may not be written

    >>> pyc.cache.verify("no such function").bad
    ()
    """
    store = _changeable() if repair else _usable(disk(writable=False))
    equal, removed = 0, 0
    bad: list[Problem] = []
    unchecked: list[Problem] = []
    for path in sorted(store.paths()):
        entry = store.read(path)  # sets a damaged one aside, if `repair`
        if isinstance(entry, Miss) and pattern is None:
            found = Problem(entry.reason, entry.key, "", _unusable(entry))
            if entry.reason is Reason.CACHE_FORMAT_VERSION:
                unchecked.append(found._replace(reason=Reason.CACHE_NOT_VERIFIABLE))
            else:
                bad.append(found)
                removed += repair and not os.path.lexists(path)
        if not isinstance(entry, Entry) or (pattern is not None and not matches(entry, pattern)):
            continue
        try:
            detail = _checked(entry)
        except CannotRemakeError as error:
            why = Reason.CACHE_NOT_VERIFIABLE
            unchecked.append(Problem(why, entry.key, entry.label, str(error)))
            continue
        if detail:
            bad.append(Problem(Reason.CACHE_NOT_REPRODUCED, entry.key, entry.label, detail))
            removed += repair and write.discard(store, path)
        else:
            equal += 1
    for found in (*bad, *unchecked):
        reasons.record(found.reason, function=found.label, key=found.key, detail=found.detail)
    return Verification(equal, tuple(bad), tuple(unchecked), removed)


def _unusable(miss: Miss) -> str:
    """Why an entry cannot be used, in words."""
    meaning = miss.reason.meaning.removeprefix("cache miss: ")
    return f"{meaning} ({miss.details['error']})" if "error" in miss.details else meaning


def _checked(entry: Entry) -> str:
    """How an entry differs from what compiling it gives; "" if it does not."""
    document = entry.document
    if key_of(document) != entry.key:
        return "its key is not that of the program it describes"
    sources = document.get("sources")
    if sources is not None and sources != source_digest():
        raise CannotRemakeError("made by another version of pyc, or by changed sources")
    stored = document.get("versions", {})
    here = versions(stored)
    others = [f"{n} {stored[n]} (here {here[n]})" for n in stored if stored[n] != here[n]]
    if others:
        raise CannotRemakeError(f"made with {', '.join(others)}")
    # By name: what compiles lies above the cache, which nothing else of it needs.
    makers = load("pyc.remake").MAKERS
    make = next((make for field, make in makers.items() if field in document), None)
    if make is None:
        raise CannotRemakeError(f"nothing here makes an entry of {', '.join(sorted(document))}")
    try:
        made = make(document, entry.facts)
    except CannotRemakeError:
        raise
    except Exception as error:  # whatever is wrong with one entry, the others are checked
        return f"compiling it again fails: {type(error).__name__}: {error}"
    return _payload_difference(entry.payload, made)


def _payload_difference(stored: Document, made: Document) -> str:
    for name in sorted(stored.keys() | made.keys()):
        if name not in stored or name not in made:
            return f"`{name}` is {'not stored' if name not in stored else 'not made any more'}"
        left, right = msgpack.packb(stored[name]), msgpack.packb(made[name])
        if left != right:
            same = next((k for k, (a, b) in enumerate(zip(left, right)) if a != b), len(left))
            return f"`{name}` differs at byte {same} of {len(left)} ({len(right)} made now)"
    return ""


def prune(
    *, max_bytes: int | None = None, older_than: float | None = None, unused: float | None = None
) -> list[Removed]:
    """Removes entries stored more than `older_than` seconds ago, or not used for `unused` seconds,
    then those used least recently, down to `max_bytes` (by default the setting `cache_max_bytes`;
    0: no bound). Returns what is gone. Files that dead writers left, and entries set aside, go too.

    raises CacheError: the directory is not used or may not be written; ValueError: a negative value

    >>> removed = pyc.cache.prune()
    """
    bound = config.current().cache_max_bytes if max_bytes is None else max_bytes
    for name, value in (("max_bytes", bound), ("older_than", older_than), ("unused", unused)):
        if value is not None and value < 0:
            raise ValueError(f"{name} must be 0 or more, got {value}")
    return write.prune(_changeable(), max_bytes=bound, older_than=older_than, unused=unused)


def clear() -> int:
    """Removes every entry from the disk and drops the programs held; returns how many entries.
    Programs that functions already use go on running.

    raises CacheError: the directory is not used, or may not be written

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, pyc.config.using(cache_dir=place):
    ...     pyc.cache.clear()
    0
    """
    store = _changeable()
    memory.clear()
    return write.clear(store)


def _changeable() -> LocalStore:
    mode = config.current().cache
    if mode in ("ro", "frozen"):
        raise CacheError(
            f"the cache may not be changed: PYC_CACHE is {mode}", fix="Set PYC_CACHE=rw for this."
        )
    store = _usable(disk(writable=True))
    _refuse(write.unwritable(store))
    return store


def _usable(store: LocalStore) -> LocalStore:
    _refuse(store.problem)
    return store


def _refuse(problem: Miss | None) -> None:
    if problem is not None:
        details = ", ".join(f"{name}: {value}" for name, value in problem.details.items())
        meaning = problem.reason.meaning.removeprefix("not stored: ")
        raise CacheError(f"{meaning} ({details})", fix=problem.reason.remedy)
