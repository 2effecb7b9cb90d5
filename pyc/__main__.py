"""`python -m pyc`: what the machine has, the cache, programs, codes, and the demo."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import pyc
from pyc.cli import cache_command, demo_command, doctor, explain, ir_command, ops_command
from pyc.cli.parser import Parser
from pyc.errors import PycError

_SUMMARY = "What this machine has, the cache, programs, codes, and the demo."
COMMANDS = (doctor, cache_command, ir_command, ops_command, explain, demo_command)


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    made = Parser(prog="python -m pyc", description=_SUMMARY)
    made.add_argument("--version", action="version", version=f"pyc {pyc.__version__}")
    commands = made.add_subparsers(title="commands", metavar="COMMAND")
    made.set_defaults(run=lambda options: made.print_help())
    for command in COMMANDS:
        command.add_parser(commands)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status: 0, 1 for "no" or a failure, 2 for a wrong use.
    Without a command it shows which there are."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options) or 0
        sys.stdout.flush()
    except PycError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # `| head` closed the pipe: not worth a message, here or when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


if __name__ == "__main__":
    for _stream in (sys.stdout, sys.stderr):
        if isinstance(_stream, TextIOWrapper):  # names of files and functions may be anything
            _stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
