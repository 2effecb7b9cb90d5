"""`python -m pyc explain CODE` and `explain FILE:FUNC`: what a code, or a call, means and why.

`python -m pyc explain CODE` says what an error or a reason means and what to do, offline;
`python -m pyc explain FILE:FUNC --args "f32[8,8]"` what a call of a function would do, and why. A
code may be named as it is printed (`PYC1300`), by its number, or by the name that statistics and
tracebacks show (`ShapeError`, `cache_key_differs`).
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from pyc import errors, reasons
from pyc.cli.ir_command import load_callable, parse_arguments
from pyc.config import nearest
from pyc.errors import CommandError
from pyc.forks import load

if TYPE_CHECKING:
    from pyc.report import Report


def add_parser(commands: Any) -> None:
    """Adds `explain` to the command line."""
    parser = commands.add_parser(
        "explain", help="what a code means; what a call of a function would do, and why"
    )
    parser.add_argument(
        "subject",
        nargs="?",
        metavar="CODE | FILE:FUNC",
        help="such as PYC1300, ShapeError or cache_empty, none: list all; or a file and a function",
    )
    parser.add_argument("--markdown", action="store_true", help="all pages, as docs/codes.md")
    parser.add_argument("--args", help='of the function, such as "f32[8,8], i64[], 3"')
    parser.add_argument("--measure", action="store_true", help="run and time its kernels")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the page of a code, the list of codes, all pages, or the report of a function."""
    if options.markdown:
        sys.stdout.write(markdown())
        return 0
    if options.subject is not None and ":" in options.subject:
        return report(options)
    if options.args is not None or options.measure or options.json or options.html:
        raise CommandError(
            "`--args`, `--measure`, `--json` and `--html` are about a function",
            fix='Name it: `python -m pyc explain FILE:FUNC --args "f32[8,8]"`.',
        )
    if options.subject is None:
        for code, cls in sorted(errors.CLASSES.items()):
            print(f"{code}  {cls.__name__}")
        for code, reason in sorted(reasons.BY_CODE.items()):
            print(f"{code}  {reason}")
        return 0
    code = code_of(options.subject)
    if not code:
        names = {name.lower(): name for name in _names()}
        near = nearest(options.subject.lower(), [*names])
        hint = f"did you mean {names[near]}?" if near else "`python -m pyc explain` lists all"
        print(f"there is no code {options.subject}; {hint}", file=sys.stderr)
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


def report(options: argparse.Namespace) -> int:
    """Prints or writes the report of a function; 1 if a call would be refused."""
    function = load_callable(options.subject)
    arguments = parse_arguments(options.args or "")
    found: Report = load("pyc.explanation").explain(function, *arguments, measure=options.measure)
    if options.html:
        try:
            with open(options.html, "w", encoding="utf-8") as file:
                file.write(found.html())
        except OSError as error:
            raise CommandError(f"cannot write {options.html}: {error.strerror}") from None
    if options.json:
        sys.stdout.write(found.json())
    elif not options.html:
        sys.stdout.write(found.text())
    return 0 if found.refusal is None else 1


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
