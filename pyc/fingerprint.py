"""Keys: canonical bytes of a document, its digest, and what identifies pyc's own code.

A *key document* is a dict of names to None, bools, integers, floats, texts, bytes, and lists and
dicts of these. Equal documents have equal bytes whatever the order of their dicts, the process or
the hash seed; 1, 1.0 and True are three different values, and so are 0.0 and -0.0.

The digest of pyc's sources enters every key, so that no entry outlives the code that made it. It is
over the contents of the files, not their times: two installations of one version share a cache.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from functools import cache
from importlib.machinery import ModuleSpec
from typing import Any

import msgpack

Document = dict[str, Any]

NOT_CODE = ("cli", "demo", "numpy", "purity", "trace")
"""Folders of pyc that cannot change what is compiled: what the last three give is a Graph, whose
text is in the key itself."""


def canonical(value: Any) -> bytes:
    """The one encoding of a document: msgpack with sorted keys.

    raises TypeError: a value of another type, or a dict key that is not a text; names its place
    """
    packed: bytes = msgpack.packb(_ordered(value, "document"), use_bin_type=True)
    return packed


def _ordered(value: Any, place: str) -> Any:
    """`value` with its dicts sorted and its tuples as lists."""
    kind = type(value)
    if kind is dict:
        if any(type(k) is not str for k in value):
            raise TypeError(f"{place}: keys must be texts, got {sorted(map(repr, value))}")
        return {k: _ordered(value[k], f"{place}.{k}") for k in sorted(value)}
    if kind in (list, tuple):
        return [_ordered(v, f"{place}[{k}]") for k, v in enumerate(value)]
    if kind is float and value != value:
        return float("nan")
    if kind is int and not -(1 << 63) <= value < 1 << 64:
        return {"integer": hex(value)}
    if value is None or kind in (bool, int, float, str, bytes):
        return value
    raise TypeError(f"{place}: a {kind.__name__} cannot be part of a key")


def key_of(document: Document) -> str:
    """The key of a document: 64 hexadecimal digits, equal for equal documents only."""
    return hashlib.sha256(b"pyc key 1\n" + canonical(document)).hexdigest()


@cache
def source_digest() -> str:
    """Digest of the contents of pyc's own files, computed once per process (a few ms)."""
    root = os.path.dirname(os.path.abspath(__file__))
    digest = hashlib.sha256()
    for path in sorted(_sources(root)):
        with open(os.path.join(root, path), "rb", buffering=0) as file:
            content = file.read()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(root: str, inside: str = "") -> Iterable[str]:
    """Paths of the Python files below `root`, relative to it."""
    for item in os.scandir(os.path.join(root, inside)):
        path = f"{inside}/{item.name}" if inside else item.name
        if item.name.endswith(".py"):
            yield path
        elif item.is_dir() and item.name not in (*NOT_CODE, "__pycache__"):
            yield from _sources(root, path)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The version of each installed package, without importing it; "" if it is not installed.

    packages: import names, equal to their distribution's name (`-` read as `_`).
    """
    return {name: _version(name) for name in packages}


def find(package: str) -> ModuleSpec | None:
    """Where a package lies, as `importlib.util` says, which takes 0.4 ms to import."""
    found = (finder.find_spec(package, None) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


@cache
def _version(name: str) -> str:
    # importlib.metadata gives the same but costs as much as the rest of a warm start together.
    spec = find(name)
    if spec is None or spec.origin is None:
        return ""
    folder = os.path.dirname(os.path.dirname(spec.origin))
    for found in sorted(os.listdir(folder)):
        if found.endswith(".dist-info") and found.lower().startswith(f"{name.lower()}-"):
            return found[len(name) + 1 : -len(".dist-info")]
    stat = os.stat(spec.origin)
    return f"unversioned:{stat.st_size}:{stat.st_mtime_ns}"
