"""`python -m pyc explain CODE`: what an error or a reason means and what to do, offline."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pyc import errors, reasons


def add_parser(commands: Any) -> None:
    """Adds `explain` to the command line."""
    parser = commands.add_parser("explain", help="what an error or reason code means")
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as PYC1300; none: list all")
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
    code = options.code.upper()
    for pages, page in ((errors.CLASSES, errors.page), (reasons.BY_CODE, reasons.page)):
        if code in pages:
            print(page(code))
            return 0
    print(f"there is no code {options.code}; `python -m pyc explain` lists all", file=sys.stderr)
    return 1


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
