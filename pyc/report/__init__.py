"""`Report`: what `pyc.explain` says of a call, as text, HTML and plain values.

It holds records (`sections.py`) and no reference to the function, so that it can be kept. What is
timing is in `kernels` (bounds, measured times), `cache.seconds` and `timings`; all else is the same
for equal calls on machines of one kind.
"""

from __future__ import annotations

import json
import os
from typing import Any

from pyc.errors import ArgumentError
from pyc.frozen import frozen
from pyc.report.html import page
from pyc.report.sections import (
    Cache,
    Fusion,
    Kernels,
    LoopRow,
    Memory,
    Note,
    Promotion,
    Purity,
    Refusal,
    Signature,
    plain,
)
from pyc.report.text import text

__all__ = ["Report"]


@frozen()
class Report:
    """What a call of a function would do, and why. Sections that a refused function does not reach
    are None. timings: seconds by pass, of making this report."""

    function: str
    signature: Signature | None
    purity: Purity
    refusal: Refusal | None
    loops: tuple[LoopRow, ...]
    promotions: tuple[Promotion, ...]
    fusion: Fusion | None
    kernels: Kernels | None
    memory: Memory | None
    cache: Cache | None
    notes: tuple[Note, ...]
    timings: dict[str, float]

    def text(self) -> str:
        """The report for a terminal."""
        return text(self)

    def html(self) -> str:
        """The report as one page that needs nothing else."""
        return page(self)

    def as_dict(self) -> dict[str, Any]:
        """The report in plain values."""
        found: dict[str, Any] = {
            name: plain(getattr(self, name)) for name in type(self).__match_args__
        }
        if self.kernels is not None:
            for row, made in zip(self.kernels.rows, found["kernels"]["rows"], strict=True):
                made["share"] = row.share
        return found

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.as_dict(), indent=2) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report to a file, in the form that the name's ending says: `.html`, `.json` or
        `.txt`.

        raises ArgumentError: another ending; OSError: the file cannot be written
        """
        name = os.fspath(path)
        ending = os.path.splitext(name)[1].lower()
        forms = {".html": self.html, ".json": self.json, ".txt": self.text}
        if ending not in forms:
            raise ArgumentError(
                f"{name!r} does not end in .html, .json or .txt",
                fix='Write the form as the ending: `report.save("report.html")`.',
            )
        with open(name, "w", encoding="utf-8") as file:
            file.write(forms[ending]())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return page(self, fragment=True)
