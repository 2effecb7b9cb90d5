"""Keys: canonical bytes of a document, its digest, and what identifies pyc's own code.

A *key document* is a dict of names to None, bools, integers, floats, texts, bytes, and lists and
dicts of these. Equal documents have equal bytes whatever the order of their dicts, the process or
the hash seed; 1, 1.0 and True are three different values, and so are 0.0 and -0.0.

The digest of pyc's sources enters every key, so that no entry outlives the code that made it. It is
over the contents of the files, not their times: two installations of one version share a cache.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

import msgpack

from pyc.forks import load
from pyc.frozen import frozen

Document = dict[str, Any]

NOT_CODE = ("cli", "demo", "numpy", "purity", "trace")
"""Folders of pyc that cannot change what is compiled: what the last three give is a Graph, whose
text is in the key itself."""


def find(package: str) -> ModuleSpec | None:
    """Where a package lies, as `importlib.util` says, which takes 0.4 ms to import."""
    found = (finder.find_spec(package, None) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


def _sha256() -> Callable[[bytes], Any]:
    """SHA-256, of whatever module of Python has it: `hashlib` takes 3 ms to load, as it loads
    OpenSSL, which is worth it for the whole of the sources only."""
    of_python = [name for name in ("_sha2", "_sha256") if find(name) is not None]  # 3.12, 3.11
    found: Callable[[bytes], Any] = import_module([*of_python, "hashlib"][0]).sha256
    return found


sha256 = _sha256()


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
    return str(sha256(b"pyc key 1\n" + canonical(document)).hexdigest())


@cache
def source_digest() -> str:
    """Digest of the contents of pyc's own files, read once per process (5 ms)."""
    digest = load("hashlib").sha256()
    for path, item in sorted(_sources(_ROOT)):
        with open(item, "rb", buffering=0) as file:
            content = file.read()
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    found: str = digest.hexdigest()
    return found


@frozen()
class SourceState:
    """What the file system says of pyc's own files. place: tells installations apart, in 8 digits;
    digest: of the files' names, sizes, times and numbers; changed: when the last of them changed,
    in nanoseconds since the epoch; exact: whether the file system keeps that time to less than a
    second."""

    place: str
    digest: str
    changed: int
    exact: bool


def source_state() -> SourceState:
    """The state of the files that `source_digest` reads, which are not opened."""
    found, times = [_ROOT], []
    for path, item in sorted(_sources(_ROOT)):
        at = item.stat()
        times.append(at.st_ctime_ns)
        found.append(f"{path} {at.st_size} {at.st_mtime_ns} {at.st_ctime_ns} {at.st_ino}")
    exact = all(time % 1_000_000_000 for time in times)
    place = sha256(os.fsencode(_ROOT)).hexdigest()[:8]
    return SourceState(place, sha256(os.fsencode("\n".join(found))).hexdigest(), max(times), exact)


_ROOT = os.path.dirname(os.path.abspath(__file__))


def _sources(root: str, inside: str = "") -> Iterable[tuple[str, os.DirEntry[str]]]:
    """The Python files below `root` by their paths relative to it."""
    with os.scandir(os.path.join(root, inside)) as items:
        for item in items:
            path = f"{inside}/{item.name}" if inside else item.name
            if item.name.endswith(".py"):
                yield path, item
            elif item.is_dir() and item.name not in (*NOT_CODE, "__pycache__"):
                yield from _sources(root, path)


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The version of each installed package, without importing it; "" if it is not installed.

    packages: import names, equal to their distribution's name (`-` read as `_`).
    """
    return {name: _version(name) for name in packages}


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
