"""Arenas and recycled results: never shared by two users, bounded, freed by `clear`."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import numpy as np
import pytest

from pyc.runtime import pool
from pyc.runtime.text_dispatch import ARENAS

LARGE = (pool.RECYCLED_BYTES // 8,)
F64 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    pool.clear()
    yield
    pool.clear()


def test_arenas_in_use_are_different_and_aligned() -> None:
    """Also when all places for native calls are taken."""
    managers = [pool.arena(4096) for _ in range(ARENAS + 2)]
    addresses = [m.__enter__() for m in managers]
    assert len(set(addresses)) == ARENAS + 2
    assert all(a % 64 == 0 for a in addresses)
    assert pool.statistics().arena_bytes == ARENAS * 4096
    for manager in managers:
        manager.__exit__(None, None, None)
    with pool.arena(4096) as again:
        assert again in addresses[:ARENAS]


def test_an_arena_grows_and_is_used_again() -> None:
    with pool.arena(100) as small:
        pass
    with pool.arena(100_000):
        pass
    assert pool.statistics().arena_bytes == 100_000
    with pool.arena(50) as third, pool.arena(0) as none:
        assert third and none == 0
    assert small


def test_an_arena_comes_back_after_an_error() -> None:
    with pytest.raises(KeyError), pool.arena(1000) as first:
        raise KeyError
    with pool.arena(1000) as second:
        assert first == second


def test_clear_leaves_arenas_in_use_alone() -> None:
    with pool.arena(1000) as address:
        pool.clear()
        with pool.arena(1000) as other:
            assert other != address
        assert pool.statistics().arena_bytes == 2000
    pool.clear()
    assert pool.statistics().arena_bytes == 0


def test_a_large_result_is_an_ordinary_array() -> None:
    array = pool.empty((2, LARGE[0]), F64)
    assert type(array) is np.ndarray and array.shape == (2, LARGE[0]) and array.dtype is F64
    assert array.flags.writeable and array.flags.c_contiguous and array.ctypes.data % 64 == 0
    array[...] = 1.0
    assert array.sum() == array.size


def test_memory_comes_back_only_with_the_last_view() -> None:
    first = pool.empty(LARGE, F64)
    address = first.ctypes.data
    first[7] = 3.0
    view = first[5:9].reshape(2, 2)
    exported = memoryview(first)
    del first
    assert pool.empty(LARGE, F64).ctypes.data != address
    del view
    assert pool.empty(LARGE, F64).ctypes.data != address
    assert exported[7] == 3.0
    exported.release()
    del exported
    gc.collect()
    found = [pool.empty(LARGE, F64) for _ in range(2)]
    assert address in [a.ctypes.data for a in found]


def test_small_results_are_plain_arrays() -> None:
    assert pool.empty((10,), F64).base is None
    assert pool.statistics().lent_bytes == 0


def test_counts_are_measured() -> None:
    before = pool.statistics()
    first = pool.empty(LARGE, F64)
    assert pool.statistics().lent_bytes == before.lent_bytes + first.nbytes
    nbytes = first.nbytes
    del first
    now = pool.statistics()
    assert now.lent_bytes == before.lent_bytes and now.kept_bytes == nbytes
    again = pool.empty(LARGE, F64)
    after = pool.statistics()
    assert again.size and after.kept_bytes == 0
    assert after.fresh == before.fresh + 1 and after.recycled == before.recycled + 1


def test_a_block_much_larger_than_needed_is_not_used() -> None:
    del_me = pool.empty((2 * LARGE[0],), F64)
    address = del_me.ctypes.data
    del del_me
    assert pool.empty(LARGE, F64).ctypes.data != address


def test_kept_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "KEPT_BYTES", 3 * pool.RECYCLED_BYTES)
    arrays = [pool.empty(LARGE, F64) for _ in range(5)]
    assert pool.statistics().lent_bytes == 5 * pool.RECYCLED_BYTES
    del arrays
    assert pool.statistics().kept_bytes == 3 * pool.RECYCLED_BYTES
    pool.clear()
    assert pool.statistics().kept_bytes == 0
