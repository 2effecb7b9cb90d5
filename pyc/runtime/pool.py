"""Memory that calls use again: arenas, and the buffers of large results.

An arena belongs to one call while it runs. Arenas are shared by all programs: native calls claim
one of `ARENAS` places; the slow way does the same with `arena(nbytes)`, and puts a larger block
into a free place if none is large enough, so that the next native call finds it.

Results of `RECYCLED_BYTES` and more are arrays over a block that comes back when the array and all
its views are gone: page faults of fresh memory would cost half the time of simple kernels. At most
`KEPT_BYTES` wait for use. `clear` frees all memory that no call and no array uses.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.plan import STREAMED_BYTES
from pyc.runtime import native, threads
from pyc.runtime.structures import Arena
from pyc.runtime.text_dispatch import ARENAS

RECYCLED_BYTES = STREAMED_BYTES
"""Results from this size on lie in recycled blocks."""

ALIGNED_BYTES, HUGE_PAGES_BYTES = 1 << 15, 1 << 22
"""Results of at least so many bytes, and fewer than so many, begin with a line of the caches where
a native call makes them. NumPy's begin 16 bytes further than some multiple of 16 only: three of
four have each store of a full vector in two lines. For larger ones NumPy asks for huge pages."""

KEPT_BYTES = 1 << 30
"""Bytes of unused result blocks kept at most."""

Block = np.ndarray[Any, np.dtype[np.uint8]]


BLOCK_ALIGNMENT = 4096
"""Blocks begin with a page. NumPy's large arrays begin 16 bytes behind the start of one: results a
little further on would make each load of an argument wait for the store before it, which has the
same address within the page (layer norm over rows of 4,096: 10 %)."""


def _new_block(nbytes: int) -> Block:
    """So many bytes at an aligned address."""
    raw = np.empty(nbytes + BLOCK_ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % BLOCK_ALIGNMENT
    return raw[start : start + nbytes]


# --- contexts -------------------------------------------------------------------------------------


def context_fields(constants: int, externals: int, parallel: bool) -> list[int]:
    """The fields of a context in the order of `pyc.ir.plan.CONTEXT_FIELDS`, without an arena.
    parallel: whether there is a worker pool; without one all work is done by the caller."""
    pool, run = threads.addresses() if parallel else (0, 0)
    cancel = native.CALLS.image().address("never")
    return [0, pool, run, cancel, 0, 0, externals, constants]


# --- arenas ---------------------------------------------------------------------------------------


_blocks: dict[int, Block] = {}
"""The block of each place, by the place's address."""


def _claim(nbytes: int) -> int:
    """Address of a free place of so many bytes, now claimed; 0 if there is none."""
    # Called with the GIL: native calls of other threads claim with it too.
    claim = native.python_function("claim_arena", ctypes.c_void_p, ctypes.c_int64)
    return claim(nbytes) or 0


@contextmanager
def arena(nbytes: int) -> Iterator[int]:
    """The aligned address of `nbytes` for one call; 0 for none."""
    if not nbytes:
        yield 0
        return
    place = _claim(nbytes) or _claim(0)
    if not place:
        # Every place is in use by a call: this one has its own.
        block = _new_block(nbytes)
        yield block.ctypes.data
        return
    found = Arena.from_address(place)
    try:
        if found.nbytes < nbytes:
            _put(place, found, nbytes)
        yield found.data
    finally:
        found.claimed = 0


def _put(place: int, found: Arena, nbytes: int) -> None:
    """A block of `nbytes` in a claimed place, instead of the smaller one."""
    found.nbytes, found.data = 0, None
    _blocks.pop(place, None)
    block = _blocks[place] = _new_block(nbytes)
    found.nbytes, found.data = nbytes, block.ctypes.data


def _clear_arenas() -> None:
    claimed = []
    for _ in range(ARENAS):
        place = _claim(0)
        if not place:
            break
        claimed.append(place)
        found = Arena.from_address(place)
        found.nbytes, found.data = 0, None
        _blocks.pop(place, None)
    for place in claimed:
        Arena.from_address(place).claimed = 0


# --- results --------------------------------------------------------------------------------------

_free: dict[int, Block] = {}
"""Unused blocks by their address, the one that came back first in front."""

_lent: dict[int, Block] = {}
"""Blocks that arrays use, by their address."""

_counts = {"fresh": 0, "recycled": 0}


def _take(nbytes: int) -> Block:
    """The smallest unused block that fits and is at most an eighth larger, or a new one."""
    fitting = [b for b in list(_free.values()) if nbytes <= b.nbytes <= nbytes + nbytes // 8]
    for candidate in sorted(fitting, key=len):
        # No lock: blocks come back from finalizers, which run at any point. Who pops it has it.
        block = _free.pop(candidate.ctypes.data, None)
        if block is not None:
            _counts["recycled"] += 1
            return block
    _counts["fresh"] += 1
    return _new_block(nbytes)


def _give_back(address: int) -> None:
    _free[address] = _lent.pop(address)
    kept = list(_free.items())
    total = sum(block.nbytes for _, block in kept)
    for oldest, block in kept:
        if total <= KEPT_BYTES:
            break
        _free.pop(oldest, None)
        total -= block.nbytes


def recycled_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A writable C-ordered array with undefined values, over a block that is used again later."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    block = _take(nbytes)
    address = block.ctypes.data
    _lent[address] = block
    # The owner that the array holds: NumPy drops it with the last view.
    owner = (ctypes.c_char * nbytes).from_address(address)
    weakref.finalize(owner, _give_back, address).atexit = False
    return np.frombuffer(memoryview(owner), dtype).reshape(shape)


def maker(
    shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int
) -> Callable[[], np.ndarray[Any, Any]] | None:
    """What makes such results: a function without arguments; None: NumPy's own allocation."""
    if nbytes < RECYCLED_BYTES:
        return None
    return lambda: recycled_array(shape, dtype)


def aligned_bytes(nbytes: int) -> int:
    """The bytes of a result that begins with a line of the caches, 0 where it need not."""
    return nbytes if ALIGNED_BYTES <= nbytes < HUGE_PAGES_BYTES else 0


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array for a result, with undefined values: recycled if it is large."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return recycled_array(shape, dtype) if nbytes >= RECYCLED_BYTES else np.empty(shape, dtype)


def clear() -> None:
    """Frees all memory that is kept for later."""
    _free.clear()
    if native.CALLS.loaded():
        _clear_arenas()


@frozen()
class PoolStatistics:
    """Bytes: of arenas; of unused result blocks kept; of result blocks that arrays use now.
    fresh, recycled: how many large results got new memory, and memory used before."""

    arena_bytes: int
    kept_bytes: int
    lent_bytes: int
    fresh: int
    recycled: int


def statistics() -> PoolStatistics:
    """What is kept and lent now, and how large results were allocated so far."""
    arenas = sum(b.nbytes for b in list(_blocks.values()))
    kept, lent = (sum(b.nbytes for b in list(d.values())) for d in (_free, _lent))
    return PoolStatistics(arenas, kept, lent, _counts["fresh"], _counts["recycled"])
