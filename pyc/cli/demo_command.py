"""`python -m pyc demo`: runs the demo programs and compares each with NumPy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pyc import demo
from pyc.errors import CommandError


def add_parser(commands: Any) -> None:
    """Adds `demo` to the command line."""
    parser = commands.add_parser("demo", help="run real programs, compared with NumPy")
    known = ", ".join(demo.NAMES)
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"of {known}; default: all")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write PNGs there")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints the table; 0 if every program agrees with NumPy. CommandError: no such program;
    DeviceError: no such device."""
    unknown = [name for name in options.name if name not in demo.NAMES]
    if unknown:
        raise CommandError(
            f"there is no demo program {unknown[0]!r}", fix=f"There are {', '.join(demo.NAMES)}."
        )
    if options.pictures is not None:
        try:
            options.pictures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CommandError(
                f"cannot write pictures to {options.pictures}: {error.strerror}",
                fix="Name a folder that you may write to; it is made if it is not there.",
            ) from None
    return demo.run(options.name, options.pictures, options.device)
