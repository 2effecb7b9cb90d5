"""The digest of pyc's sources, remembered in the cache directory.

Reading and hashing some 170 files takes 5 ms of each start; asking for their state takes 0.7. So
the digest is noted together with the state of the files that it is of: names, sizes, times of the
last write and of the last change, numbers. Their contents are read unless all of that is as noted.

Each installation has a note of its own, so that several can share the directory.

The note must never be older than the sources. Whatever writes to a file sets the time of its last
change to the present one, and nobody can set it to another. So a file that was written since has
another time than the noted one, unless it was written again within one tick of the clock, some
milliseconds. A digest is noted only if the last change lies `SETTLED_NS` before its contents were
read, and the state is the same after that. Where times have no fraction of a second (an image with
fixed ones, a file system that keeps none) nothing is noted.
"""

from __future__ import annotations

import os
import time

from pyc.fingerprint import sha256, source_digest, source_state
from pyc.forks import load
from pyc.store import SOURCES, LocalStore, read_own_file

SETTLED_NS = 3_000_000_000


def remembered_digest(store: LocalStore) -> str:
    """`source_digest()`, from the note in the store's directory where that is of these files."""
    if store.problem is not None:
        return source_digest()
    before = time.time_ns()
    state = source_state()
    name = f"{SOURCES}-{state.place}"
    noted = _noted(store, name, state.digest)
    if noted is not None:
        return noted
    found = source_digest()
    settled = state.exact and before - state.changed > SETTLED_NS
    if settled and store.writable and source_state() == state:
        load("pyc.store.write").put_note(store, name, _note(state.digest, found))
    return found


def _noted(store: LocalStore, name: str, state: str) -> str | None:
    """The digest that was noted for this state; None: for another one, or no whole note."""
    try:
        opened = read_own_file(os.path.join(store.directory, name))
    except OSError:
        return None
    words = opened[0].decode("ascii", "replace").split() if opened is not None else []
    found = words[2] if len(words) == 4 else ""
    return found if opened is not None and opened[0] == _note(state, found) else None


def _note(state: str, digest: str) -> bytes:
    """The content of the file: format, state, digest, and a checksum of these."""
    text = f"sources-1 {state} {digest}"
    return f"{text} {sha256(text.encode()).hexdigest()[:16]}\n".encode()
