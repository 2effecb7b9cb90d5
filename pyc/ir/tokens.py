"""Reading a text token by token, for the parsers of Graphs, Kernels and Plans; quoted texts.

A pattern is a verbose regular expression of named groups, the group being the kind of the token;
what matches `skip` is passed over.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator


def quoted(text: str) -> str:
    """`text` in double quotes, in ASCII, on one line."""
    escaped = text.encode("unicode_escape").decode("ascii")
    return '"' + escaped.replace('"', '\\"') + '"'


def unquoted(token: str) -> str:
    """What `quoted` made `token` from. ValueError: it is not such a token."""
    try:
        return str(ast.literal_eval(token))
    except SyntaxError as error:
        raise ValueError(f"{token} is not a text: {error.msg}") from None


class TokenReader:
    """Reads tokens from left to right; `_kind` and `_text` are those of the next one, `_place` is
    where it stands. At the end of the text both are empty."""

    def __init__(self, source: str, pattern: str) -> None:
        self._source = source
        # Compiled by the first parser: printing, which every start needs, does without.
        self._pattern = re.compile(pattern, re.VERBOSE)
        self._tokens = self._scan()
        self._advance()

    def _scan(self) -> Iterator[tuple[str, str, int]]:
        place = 0
        while place < len(self._source):
            found = self._pattern.match(self._source, place)
            if found is None:
                line = self._source.count("\n", 0, place) + 1
                raise ValueError(f"line {line}: unexpected {self._source[place]!r}")
            if found.lastgroup != "skip":
                yield found.lastgroup or "", found.group(), place
            place = found.end()
        yield "", "", place

    def _advance(self) -> None:
        self._kind, self._text, self._place = next(self._tokens)

    def _skip(self, text: str) -> bool:
        """Whether the next token is `text`, which is then read."""
        if self._text != text or not self._kind:
            return False
        self._advance()
        return True

    def _words(self, *words: str) -> None:
        """Reads these tokens."""
        for word in words:
            if not self._skip(word):
                raise self._error(repr(word))

    def _error(self, expected: str, found: str | None = None) -> ValueError:
        """What to raise: the line, what was expected there and what stands there."""
        line = self._source.count("\n", 0, self._place) + 1
        text = (self._text if found is None else found) or "the end"
        return ValueError(f"line {line}: expected {expected}, found {text!r}")
