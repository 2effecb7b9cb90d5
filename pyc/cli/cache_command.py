"""`python -m pyc cache ...`: what the disk cache holds, whether it is sound, and what may go."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from pyc import cache, config
from pyc.cache.report import (
    closest_entry,
    entries_in_words,
    entry_difference,
    signature,
    trouble,
)
from pyc.errors import CommandError
from pyc.store import Entry, Summary

_AGES = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
"""Seconds by the unit of an age."""


def add_parser(commands: Any) -> None:
    """Adds `cache` and its actions to the command line."""
    parser = commands.add_parser("cache", help="what the disk cache holds, and its upkeep")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    stats = actions.add_parser("stats", help="entries, bytes and compile time, by function")
    stats.add_argument("--json", action="store_true")
    stats.set_defaults(run=_stats)

    pattern = {"nargs": "?", "help": "of function names (`wave.*`), or start of a key"}
    ls = actions.add_parser("ls", help="one line per entry")
    ls.add_argument("pattern", **pattern)
    ls.set_defaults(run=_ls)

    show = actions.add_parser("show", help="the key document and the target facts of an entry")
    show.add_argument("key", help="start of a key")
    show.set_defaults(run=_show)

    explain = actions.add_parser("explain", help="in what an entry differs from another")
    explain.add_argument("key", metavar="KEY", help="start of a key")
    explain.add_argument("other", metavar="KEY", nargs="?", help="by default the nearest one")
    explain.set_defaults(run=_explain)

    verify = actions.add_parser("verify", help="compile the entries again and compare bytes")
    verify.add_argument("pattern", **pattern)
    verify.add_argument("--repair", action="store_true", help="remove the bad ones")
    verify.set_defaults(run=_verify)

    prune = actions.add_parser("prune", help="remove entries by size, age and use")
    prune.add_argument("--max-bytes", metavar="SIZE", help="to keep, as 500MB")
    prune.add_argument("--older-than", metavar="AGE", help="stored before that, as 30d")
    prune.add_argument("--unused", metavar="AGE", help="not used since, as 12h")
    prune.set_defaults(run=_prune)

    actions.add_parser("clear", help="remove every entry").set_defaults(run=_clear)
    actions.add_parser("path", help="where the cache lies").set_defaults(run=_path)


def _stats(options: argparse.Namespace) -> int:
    found = cache.stats()
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
        return 0
    bound = f" of {cache.readable_bytes(found.max_bytes)}" if found.max_bytes else ""
    size = f"{cache.readable_bytes(found.bytes)}{bound}"
    print(f"{found.directory} ({found.mode}): {entries_in_words(found.entries)}, {size}")
    if found.problem:
        print(found.problem)
    if found.corrupt:
        print(f"{entries_in_words(found.corrupt)} could not be used: set aside in `quarantine`")
    for name, counts in sorted(found.per_function.items()):
        noun = "entry  " if counts.entries == 1 else "entries"
        print(
            f"  {counts.entries:5} {noun}  {cache.readable_bytes(counts.bytes):>9}  "
            f"{counts.entries_seconds:8.3f} s to compile  {name}"
        )
    if found.unread:
        held = f"{entries_in_words(found.unread)}, {cache.readable_bytes(found.unread_bytes)}"
        print(f"  in no function, for this version cannot read them: {held}")
    return 0


def _ls(options: argparse.Namespace) -> int:
    _warn()
    found = cache.ls(options.pattern)
    if not found and options.pattern:
        print(f"no entry is of {options.pattern!r}", file=sys.stderr)
    for entry in found:
        facts = ", ".join(f"{name}={value}" for name, value in entry.facts.items())
        print(
            f"{entry.key[:16]}  {cache.readable_bytes(entry.nbytes):>9}  "
            f"{entry.compile_seconds:7.3f} s  used {_ago(entry.used):>11}  {_what(entry)}  {facts}"
        )
    return 0


def _warn() -> None:
    """Says so where the directory is not used."""
    problem = trouble()
    if problem:
        print(problem, file=sys.stderr)


def _what(entry: Summary | Entry) -> str:
    """The function of an entry, with its arguments where they are known."""
    types = entry.types if isinstance(entry, Summary) else entry.document.get("types", ())
    shown = signature(entry.label, types, entry.arguments).strip("`")
    return shown if entry.label else f"-{shown}"


def _ago(moment: float) -> str:
    """How long ago something was, in its largest unit: `3 min ago`."""
    seconds = max(time.time() - moment, 0.0)
    unit = max((u for u in _AGES if _AGES[u] <= seconds), key=_AGES.__getitem__, default="s")
    return f"{int(seconds / _AGES[unit])} {unit} ago"


def _entries(key: str) -> list[Entry]:
    """The entries of the only key that begins so; CommandError: there is none, or several are."""
    _warn()
    try:
        return cache.inspect(key)
    except KeyError as error:
        raise CommandError(
            error.args[0],
            fix="`python -m pyc cache ls` lists the keys; give enough digits to mean one of them.",
        ) from None


def _show(options: argparse.Namespace) -> int:
    entries = _entries(options.key)
    print(f"key       {entries[0].key}")
    for entry in entries:
        print(f"function  {_what(entry)}")
        print(f"file      {entry.path}")
        print(f"size      {cache.readable_bytes(entry.nbytes)}")
        print(f"compiled  {entry.compile_seconds:.3f} s, {_ago(entry.written)}")
        print(f"used      {_ago(entry.used)}")
        print(f"facts     {entry.facts}")
        print(f"holds     {', '.join(sorted(entry.payload))}")
    print("document")
    for line in _readable(entries[0].document):
        print(f"  {line}")
    return 0


def _readable(document: dict[str, Any]) -> list[str]:
    """A document as lines, its texts of several lines as they are."""
    lines = []
    for name, value in document.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {line}" for line in _readable(value))]
        elif isinstance(value, str) and "\n" in value:
            lines += [f"{name}:", *(f"  {line}" for line in value.splitlines())]
        else:
            lines.append(f"{name}: {value!r}")
    return lines


def _explain(options: argparse.Namespace) -> int:
    first = _entries(options.key)[0]
    if options.other is not None:
        second = _entries(options.other)[0]
    else:
        reader = cache.disk(writable=False)
        closest = closest_entry(
            reader, first.document, first.facts, first.label, first.arguments, first.path
        )
        if closest is None:
            print(f"there is no entry but {first.key[:16]}")
            return 0
        second = closest[0]
    for entry in (first, second):
        print(f"{entry.key[:16]}  {entry.compile_seconds:7.3f} s to compile  {_what(entry)}")
    names = first.arguments or second.arguments
    differences = list(entry_difference(first.document, second.document, names))
    differences += cache.difference(first.facts, second.facts, "target")
    for found in differences:
        print(f"  {found.field}: {found.stored} / {found.asked}")
    if not differences:
        print("  the two are one program")
    return 0


def _verify(options: argparse.Namespace) -> int:
    found = cache.verify(options.pattern, repair=options.repair)
    print(found)
    return 0 if found.removed == len(found.bad) else 1


def _prune(options: argparse.Namespace) -> int:
    try:
        bound = None if options.max_bytes is None else config.read_bytes(options.max_bytes)
    except ValueError as error:
        raise CommandError(f"--max-bytes {error}", fix="Such as --max-bytes 500MB.") from None
    removed = cache.prune(
        max_bytes=bound,
        older_than=_seconds("--older-than", options.older_than),
        unused=_seconds("--unused", options.unused),
    )
    size = cache.readable_bytes(sum(gone.nbytes for gone in removed))
    left = cache.stats()
    print(
        f"removed {entries_in_words(len(removed))} ({size}) from {left.directory}; "
        f"{entries_in_words(left.entries)} ({cache.readable_bytes(left.bytes)}) left"
    )
    return 0


def _seconds(option: str, age: str | None) -> float | None:
    """Seconds of an age such as `30d`; CommandError: it is none."""
    if age is None:
        return None
    number = age.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = age[len(number) :].strip()
    try:
        seconds = float(number) * _AGES[unit]
    except (ValueError, KeyError):
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise CommandError(
            f"{option} must be an age, a number with a unit ({', '.join(_AGES)}), got {age!r}",
            fix=f"Such as {option} 30d.",
        )
    return seconds


def _clear(options: argparse.Namespace) -> int:
    print(f"removed {entries_in_words(cache.clear())} from {cache.directory()}")
    return 0


def _path(options: argparse.Namespace) -> int:
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(cache.directory()) + b"\n")
    return 0
