"""Compiled parts of `native` that come with pyc: those of the usual memory layout.

A first call would wait 50 ms for LLVM to compile them, and their texts are the same for CPython
3.11 to 3.13 (but that of the hooks, of which there are two) and every NumPy 2. `images.msgpack`,
beside this file, holds what compiling gave, by text; `tests/runtime/test_shipped.py` compares it,
and writes it anew with `--update-golden`. Any other text is compiled.
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
    """By the digest of a text: its object, and the object's digest; nothing where the file is
    missing or broken."""
    try:
        with open(FILE, "rb") as file:
            found: dict[str, tuple[str, bytes]] = msgpack.unpackb(file.read(), use_list=False)
    except (OSError, ValueError):
        return {}
    return found


def object_of(text: str) -> bytes | None:
    """The object of a text; None if it does not come with pyc."""
    check, code = _shipped().get(_digest(text.encode()), ("", b""))
    return code if check == _digest(code) else None


def pack(objects: Mapping[str, bytes]) -> bytes:
    """The content of the file, for objects by their texts."""
    found = {_digest(text.encode()): (_digest(code), code) for text, code in objects.items()}
    packed: bytes = msgpack.packb(dict(sorted(found.items())))
    return packed


def _digest(content: bytes) -> str:
    return str(sha256(content).hexdigest())
