"""The differences that stay, each with its reason: `listed.txt`.

A line that begins with "= " is a reason. The lines after it say what it explains: the function by
its path with `*` for any text, the way (`eager`, `jitted` or `*`), the kind, and then a regular
expression that is found in what happened or in the call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tests.replay.replay import AGREE, Outcome

FILE = Path(__file__).with_name("listed.txt")


@dataclass(frozen=True)
class Entry:
    """What one line explains."""

    reason: str
    path: str
    way: str
    kind: str
    text: re.Pattern[str]

    def explains(self, outcome: Outcome) -> bool:
        """Whether this is the reason of what became of a call."""
        return (
            fnmatchcase(outcome.path, self.path)
            and self.way in ("*", outcome.way)
            and self.kind in ("*", outcome.kind)
            and self.text.search(f"{outcome.text} || {outcome.call}") is not None
        )


@cache
def entries() -> tuple[Entry, ...]:
    """The lines of the file. ValueError: one is none."""
    found, reason = [], ""
    for line in FILE.read_text().splitlines():
        if line.startswith("= "):
            reason = line[2:]
        elif line.strip() and not line.startswith("#"):
            parts = line.split(maxsplit=3)
            if len(parts) < 3 or not reason:
                raise ValueError(f"listed.txt: {line!r} is no line of a reason")
            path, way, kind = parts[:3]
            found.append(
                Entry(reason, path, way, kind, re.compile(parts[3] if len(parts) > 3 else ""))
            )
    return tuple(found)


def reasons() -> list[str]:
    """All reasons."""
    return list(dict.fromkeys(entry.reason for entry in entries()))


def entry_of(outcome: Outcome) -> Entry | None:
    """The first line that explains what became of a call; None if it agrees, or none does."""
    if outcome.kind == AGREE:
        return None
    return next((entry for entry in entries() if entry.explains(outcome)), None)
