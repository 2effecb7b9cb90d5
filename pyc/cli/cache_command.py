"""`python -m pyc cache ...`: what the disk cache holds."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from pyc import cache
from pyc.store import Entry


def add_parser(commands: Any) -> None:
    """Adds `cache` and its actions to the command line."""
    parser = commands.add_parser("cache", help="what the disk cache holds")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    stats = actions.add_parser("stats", help="number and bytes of entries")
    stats.add_argument("--json", action="store_true")
    stats.set_defaults(run=_stats)

    ls = actions.add_parser("ls", help="one line per entry")
    ls.add_argument("pattern", nargs="?", help="of function names (`wave.*`), or start of a key")
    ls.set_defaults(run=_ls)

    show = actions.add_parser("show", help="the key document and the target facts of an entry")
    show.add_argument("key", help="start of a key")
    show.set_defaults(run=_show)

    explain = actions.add_parser("explain", help="in what two entries differ")
    explain.add_argument("key", nargs=2, metavar="KEY")
    explain.set_defaults(run=_explain)

    actions.add_parser("clear", help="remove every entry").set_defaults(run=_clear)
    actions.add_parser("path", help="where the cache lies").set_defaults(run=_path)


def _stats(options: argparse.Namespace) -> int:
    found = cache.stats()
    if options.json:
        print(json.dumps(found.as_dict(), indent=2))
        return 0
    size = cache.readable_bytes(found.bytes)
    print(f"{found.directory} ({found.mode}): {found.entries} entries, {size}")
    if found.corrupt:
        print(f"{found.corrupt} entries could not be read and were set aside")
    return 0


def _ls(options: argparse.Namespace) -> int:
    for entry in cache.ls(options.pattern):
        facts = ", ".join(f"{name}={value}" for name, value in entry.facts.items())
        print(
            f"{entry.key[:16]}  {cache.readable_bytes(entry.nbytes):>9}  "
            f"{entry.compile_seconds:7.3f} s  {entry.label or '-'}  {facts}"
        )
    return 0


def _entries(key: str) -> list[Entry]:
    try:
        return cache.inspect(key)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return []


def _show(options: argparse.Namespace) -> int:
    entries = _entries(options.key)
    if not entries:
        return 1
    print(f"key       {entries[0].key}")
    for entry in entries:
        print(f"function  {entry.label or '-'}")
        print(f"file      {entry.path}")
        print(f"size      {cache.readable_bytes(entry.nbytes)}")
        print(f"compiled  {entry.compile_seconds:.3f} s")
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
    first, second = (_entries(key) for key in options.key)
    if not first or not second:
        return 1
    differences = list(cache.difference(first[0].document, second[0].document))
    for found in differences:
        print(f"{found.field}: {found.stored} / {found.asked}")
    if not differences:
        print("the two are one key")
    return 0


def _clear(options: argparse.Namespace) -> int:
    print(f"removed {cache.clear()} entries from {cache.directory()}")
    return 0


def _path(options: argparse.Namespace) -> int:
    print(cache.directory())
    return 0
