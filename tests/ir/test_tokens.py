"""Quoted texts: any text, on one line of ASCII, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyc.ir.tokens import quoted, unquoted


@given(st.text())
def test_every_text_comes_back(text: str) -> None:
    token = quoted(text)
    assert token.isascii() and "\n" not in token
    assert unquoted(token) == text


def test_plain_texts_are_themselves_in_quotes() -> None:
    assert quoted("set") == '"set"'
    assert quoted('a "b"\\\n') == '"a \\"b\\"\\\\\\n"'


@pytest.mark.parametrize("token", ['"', '"a', '"\\x"', '"\\N{no such name}"'])
def test_what_is_no_text_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="is not a text"):
        unquoted(token)
