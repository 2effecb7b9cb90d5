"""Tables of plain NumPy code, one construct a row: it runs unchanged under `pyc.jit`, or is
refused on the line marked `# refused`. `plain_numpy.py` and `plain_functions.py` fill it.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Row(NamedTuple):
    """A construct: a module that defines `f`, called with `args`; code: of the error that refuses
    it, empty if it works."""

    section: str
    construct: str
    source: str
    args: str = "x"
    code: str = ""


class Rows(list[Row]):
    """Rows, in sections."""

    title = ""

    def section(self, title: str) -> None:
        self.title = title

    def works(self, construct: str, source: str, args: str = "x") -> None:
        self.append(Row(self.title, construct, _module(source), args))

    def refused(self, construct: str, code: str, source: str, args: str = "x") -> None:
        self.append(Row(self.title, construct, _module(source), args, code))


def _module(source: str) -> str:
    return "import numpy as np\n" + textwrap.dedent(source).lstrip("\n")
