"""`python -m pyc explain CODE`: what an error or a reason means and what to do, offline.

A code may be named as it is printed (`PYC1300`), by its number, or by the name that statistics and
tracebacks show (`ShapeError`, `cache_key_differs`).
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pyc import errors, reasons
from pyc.config import nearest


def add_parser(commands: Any) -> None:
    """Adds `explain` to the command line."""
    parser = commands.add_parser("explain", help="what an error or reason code means")
    parser.add_argument(
        "code",
        nargs="?",
        metavar="CODE",
        help="such as PYC1300, ShapeError or cache_empty; none: list all",
    )
    parser.add_argument("--markdown", action="store_true", help="all pages, as docs/codes.md")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the page of a code, the list of codes, or all pages."""
    if options.markdown:
        sys.stdout.write(markdown())
        return 0
    if options.code is None:
        for code, cls in sorted(errors.CLASSES.items()):
            print(f"{code}  {cls.__name__}")
        for code, reason in sorted(reasons.BY_CODE.items()):
            print(f"{code}  {reason}")
        return 0
    code = code_of(options.code)
    if not code:
        names = {name.lower(): name for name in _names()}
        near = nearest(options.code.lower(), [*names])
        hint = f"did you mean {names[near]}?" if near else "`python -m pyc explain` lists all"
        print(f"there is no code {options.code}; {hint}", file=sys.stderr)
        return 1
    print(errors.page(code) if code in errors.CLASSES else reasons.page(code))
    return 0


def code_of(text: str) -> str:
    """The code that a text means: the code itself, its number, or the name of its class or reason,
    in letters of any size; empty if it is none."""
    for name, code in _names().items():
        if text.lower() in (code.lower(), code.removeprefix("PYC"), name.lower()):
            return code
    return ""


def _names() -> dict[str, str]:
    """The code of each class of errors and of each reason, by its name."""
    named = {cls.__name__: code for code, cls in errors.CLASSES.items()}
    return named | {str(reason): code for code, reason in reasons.BY_CODE.items()}


def markdown() -> str:
    """Every page, as `docs/codes.md` has them."""
    lines = [
        "# Codes",
        "",
        "Made by `python -m pyc explain --markdown`; a code, once given, keeps its meaning.",
        "",
        "## Errors",
        "",
        "| code | class | meaning | what to do |",
        "| --- | --- | --- | --- |",
    ]
    for code, cls in sorted(errors.CLASSES.items()):
        lines.append(_row(code, f"`{cls.__name__}`", errors.meaning(cls), cls.remedy))
    for group in reasons.GROUPS.values():
        members = [r for r in reasons.Reason if r.group == group]
        if members:
            lines += ["", f"## Reasons: {group}", "", "| code | reason | meaning | what to do |"]
            lines.append("| --- | --- | --- | --- |")
            lines += [_row(r.code, f"`{r}`", r.meaning, r.remedy) for r in members]
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
