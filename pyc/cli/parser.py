"""The parser of the command line: as argparse's, with the closest match of what is misspelt."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from pyc.config import closest

_CHOICE = re.compile(r"invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)$")
_UNKNOWN = re.compile(r"unrecognized arguments: (?P<given>--[\w-]+)")


class Parser(argparse.ArgumentParser):
    """Sub-parsers are of this class too."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but what is not known is an error of the command that it was given to."""
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Prints the usage and what is wrong, and ends with status 2."""
        choice, unknown = _CHOICE.search(message), _UNKNOWN.match(message)
        if choice is not None:
            known = [name.strip(" '") for name in choice["known"].split(",")]
            message = message[: choice.end("given") + 1] + closest(choice["given"], known)
        elif unknown is not None:
            options = [name for name in self._option_string_actions if name.startswith("--")]
            message += closest(unknown["given"], options)
        super().error(message)
