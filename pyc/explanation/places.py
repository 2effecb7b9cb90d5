"""The user's lines, as reports show them, and reasons as notes."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from typing import Any

from pyc.errors import Place, format_place
from pyc.reasons import Event, Reason
from pyc.report.sections import Line, Note

_PLACES = ("line", "file", "function")
"""Details of events that say where something is."""


def line_of(place: Place | None) -> Line:
    """The line of a place in the user's code; an empty one for none."""
    if place is None:
        return Line("", "")
    where = format_place(place).partition(" in `")[0]
    return Line(where, linecache.getline(place.file, place.line).strip())


class _At:
    """A line known by its file and number only."""

    function = ""
    column = 0
    end_column = 0

    def __init__(self, file: str, line: int) -> None:
        self.file = file
        self.line = line


def line_at(file: str, line: int) -> Line:
    """The line of this number."""
    return line_of(_At(file, line))


def note_of(reason: Reason, details: str = "", line: Line | None = None) -> Note:
    """A reason as a note."""
    return Note(reason.code, str(reason), reason.meaning, reason.remedy, details, line)


def note_of_event(event: Event) -> Note:
    """Something that was recorded, as a note."""
    details: Mapping[str, Any] = event.details
    line = None
    if details.get("file") and details.get("line"):
        line = line_at(details["file"], details["line"])
    told = [f"{k} {v}" if k != "detail" else f"{v}" for k, v in details.items() if k not in _PLACES]
    return note_of(event.reason, ", ".join(told), line)
