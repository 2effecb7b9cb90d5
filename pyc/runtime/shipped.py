"""Compiled parts of `native` that come with pyc: those of the usual memory layout.

A first call would wait 50 ms for LLVM to compile them, and their text is the same for CPython 3.11
to 3.13 and every NumPy 2. `images.msgpack`, beside this file, holds what compiling gave, by part;
it is written and compared by `tests/runtime/test_shipped.py --update-golden`. An object is used if
it is that of the very text: any other text is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

import msgpack

from pyc.fingerprint import sha256

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images.msgpack")


@cache
def _shipped() -> dict[str, tuple[str, bytes]]:
    """By part: the check, and the object; nothing where the file is missing or broken."""
    try:
        with open(FILE, "rb") as file:
            found: dict[str, tuple[str, bytes]] = msgpack.unpackb(file.read(), use_list=False)
    except (OSError, ValueError):
        return {}
    return found


def object_of(part: str, text: str) -> bytes | None:
    """The object of a part's text; None if it does not come with pyc."""
    check, code = _shipped().get(part, ("", b""))
    return code if check == _check(text, code) else None


def pack(parts: Mapping[str, tuple[str, bytes]]) -> bytes:
    """The content of the file, for the text and the object of each part."""
    checked = {name: (_check(*parts[name]), parts[name][1]) for name in sorted(parts)}
    packed: bytes = msgpack.packb(checked)
    return packed


def _check(text: str, code: bytes) -> str:
    """Says that an object is whole and of that text."""
    return str(sha256(text.encode() + b"\0" + code).hexdigest())
