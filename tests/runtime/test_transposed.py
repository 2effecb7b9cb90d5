"""Copies in C order by squares: every element at its place, for any shape, order and step."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import eager
from pyc.errors import OutOfMemoryError
from pyc.runtime import pool, transposed
from pyc.runtime.transposed import SQUARES, copied

TYPES = {1: np.uint8, 2: np.float16, 4: np.float32, 8: np.int64, 16: np.complex128}
ITEMS = sorted(SQUARES)


def numbers(item: int, *shape: int) -> np.ndarray[Any, Any]:
    bits = np.random.default_rng(0).integers(0, 256, (*shape, item), np.uint8)
    return bits.view(TYPES[item])[..., 0]


def check(x: np.ndarray[Any, Any]) -> None:
    found = copied(x)
    assert found is not None and found.flags.c_contiguous and found.flags.writeable
    assert found.shape == x.shape and found.dtype == x.dtype
    assert found.tobytes() == x.tobytes() and not np.shares_memory(found, x)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transposed, "_is_quicker", lambda *_: True)
    monkeypatch.setattr(transposed, "SMALLEST", 0)


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.usefixtures("always")
def test_matrices_of_any_extents(item: int) -> None:
    block, side = 16 // item, SQUARES[item]
    extents = sorted({1, 2, 3, block, block + 1, side - 1, side, side + 1, 2 * side + block + 1})
    for rows in extents[1:]:
        for columns in extents[1:]:
            check(numbers(item, columns, rows).T)


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.usefixtures("always")
def test_axes_in_any_order(item: int) -> None:
    x = numbers(item, 5, 18, 3, 17)
    for order in permutations(range(4)):
        turned = x.transpose(order)
        if order[-1] != 3:
            check(turned)
        else:
            assert copied(turned) is None, "rows lie along"


@pytest.mark.parametrize("item", ITEMS)
@pytest.mark.usefixtures("always")
def test_columns_in_steps_backwards_and_repeated(item: int) -> None:
    x = numbers(item, 40, 35)
    check(x[::2].T)
    check(x[::-1].T)
    check(x[3:, 5:20].T)
    check(numbers(item, 6, 40, 35)[::-2].transpose(2, 0, 1)[::, ::-1])
    check(np.broadcast_to(numbers(item, 1, 33), (40, 33)).T)


@pytest.mark.parametrize("item", ITEMS)
def test_nothing_beside_the_elements_is_written(item: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(item, 300, 275).T
    around = np.full((x.size + 64,), 7, x.dtype)
    monkeypatch.setattr(transposed, "_is_quicker", lambda *_: True)
    monkeypatch.setattr(transposed, "_empty", lambda a: around[32:-32].reshape(a.shape))
    found = copied(x)
    assert found is not None and found.tobytes() == x.tobytes()
    assert (around[:32] == 7).all() and (around[-32:] == 7).all()


def test_what_numpy_copies_as_quickly_is_left_to_it() -> None:
    assert copied(numbers(4, 1024, 1024)) is None, "rows lie along"
    assert copied(numbers(4, 1024, 1024)[:, ::2]) is None
    assert copied(numbers(8, 100, 100).T) is None, "in the first cache"
    assert copied(numbers(4, 3, 100_000).T[:, ::-1]) is None, "a few columns"
    assert copied(numbers(4, 100_000, 3).T) is None, "a few rows"
    assert copied(numbers(8, 40, 40, 40).T) is None, "small matrices"
    check(numbers(8, 100_000, 3).T)
    check(numbers(8, 1024, 128).T)


def test_large_copies_use_memory_again() -> None:
    x = np.ones((1 << 13, 513), np.float64).T
    assert x.nbytes >= pool.RECYCLED_BYTES
    first = copied(x)
    assert first is not None
    place = first.ctypes.data
    del first
    second = copied(x)
    assert second is not None and second.ctypes.data == place


def test_calls_take_such_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, ...]] = []

    def noted(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
        found = copied(x)
        taken.extend([] if found is None else [x.shape])
        return found

    monkeypatch.setattr(transposed, "copied", noted)

    @pyc.jit
    def sums(x: Any) -> Any:
        return np.cumsum(x, axis=1)

    x = numbers(8, 1024, 512).T
    for _ in range(3):
        assert (sums(x) == np.cumsum(x, axis=1)).all()
    assert taken == [x.shape] * 3
    assert eager.dense(x.astype(">i8")).tobytes() == x.tobytes()
    assert len(taken) == 3, "swapped bytes are put right by NumPy"


def test_memory_that_there_is_not_is_an_error_of_the_argument() -> None:
    huge = np.broadcast_to(np.float32(1), (1 << 24, 1 << 24))
    line = np.lib.stride_tricks.as_strided(
        np.ones(1 << 20, np.float32), (1 << 20, 1 << 40), (4, 0), writeable=False
    )
    for x in (huge, line):
        with pytest.raises(OutOfMemoryError, match="could not be allocated"):
            eager.dense(x, "x")
