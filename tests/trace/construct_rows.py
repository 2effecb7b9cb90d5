"""Tables of constructs and what becomes of each, as in `loop_rows.py` and `branch_rows.py`."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

STRAIGHT = "straight code"
LOOP = "a loop"
KERNEL = "a loop within one kernel"
BRANCH = "a branch"
SELECTION = "both sides, selected"
CHECK = "a check"


class Row(NamedTuple):
    """A construct: a module that defines `f`, called with `args`; becomes: one of the above, or the
    code of the error that refuses it; each: whether the program is for one value of the integer
    that is the last argument; raises: arguments for which it raises an exception of its own."""

    section: str
    construct: str
    becomes: str
    source: str
    args: str
    each: bool
    raises: str


class Rows(list[Row]):
    """Rows, in sections."""

    title = ""

    def section(self, title: str) -> None:
        self.title = title

    def row(
        self,
        construct: str,
        becomes: str,
        source: str,
        args: str = "x",
        each: bool = False,
        raises: str = "",
    ) -> None:
        text = "import numpy as np\n" + textwrap.dedent(source).lstrip("\n")
        self.append(Row(self.title, construct, becomes, text, args, each, raises))
