"""Captured arrays are data, not code: none of their elements lies in the cache, whoever reads it.

Each way to read a large array is either refused or gives NumPy's result; in both cases the files of
the cache are searched for its elements, as bytes and as text.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pyc import cache
from pyc.errors import TraceError
from pyc.jit import jit

WEIGHTS = np.random.default_rng(7).standard_normal((512, 256))
FIXED = WEIGHTS.copy()
FIXED.flags.writeable = False
NUMBERS = WEIGHTS.reshape(-1).tolist()
TABLE = {"w": FIXED}
LAYERS = [FIXED, WEIGHTS]
MODEL = SimpleNamespace(w=WEIGHTS, inner=SimpleNamespace(w=FIXED))

FEW = tuple(np.random.default_rng(8).standard_normal(8).tolist())


class Layer:
    w = FIXED

    def __init__(self) -> None:
        self.own = WEIGHTS

    def of_class(self, x):
        return x @ self.w

    def of_instance(self, x):
        return x @ self.own


def helper(x):
    return x @ FIXED


def closure() -> Callable[..., object]:
    w = WEIGHTS.copy()
    return lambda x: x @ w


def looped(x):
    total = np.zeros(256)
    for k in range(3):
        total = total + k * (x @ FIXED)
    return total


WAYS: dict[str, Callable[..., object]] = {
    "a global": lambda x: x @ WEIGHTS,
    "a read-only global": lambda x: x @ FIXED,
    "a closure": closure(),
    "a default": lambda x, w=FIXED: x @ w,
    "a partial": functools.partial(lambda w, x: x @ w, FIXED),
    "an item of a dict": lambda x: x @ TABLE["w"],
    "an item of a list": lambda x: x @ LAYERS[1],
    "an attribute": lambda x: x @ MODEL.w,
    "an attribute of an attribute": lambda x: x @ MODEL.inner.w,
    "an attribute of a class": Layer().of_class,
    "an attribute of an instance": Layer().of_instance,
    "a helper": helper,
    "a loop": looped,
    "a copy": lambda x: x @ FIXED.copy(),
    "a view": lambda x: FIXED.T @ x,
    "a part": lambda x: x[:400] @ FIXED[:400],
    "a computed array": lambda x: x @ (2.0 * FIXED),
    "a cast array": lambda x: x @ FIXED.astype(np.float32),
    "an array made again": lambda x: x @ np.array(FIXED),
    "a joined array": lambda x: x @ np.concatenate([FIXED[:256], FIXED[256:]]),
    "a list of numbers": lambda x: x @ np.array(NUMBERS).reshape(512, 256),
    "bytes": lambda x: x @ np.frombuffer(FIXED.tobytes()).reshape(512, 256),
    "a branch": lambda x: np.where(x[0] > 0, x @ FIXED, 0.0),
}


def elements_in(directory: Path, array: np.ndarray) -> list[str]:
    """The files below a directory that hold elements of `array`, as bytes or as text."""
    few = [float(x) for x in array.reshape(-1)[:: max(array.size // 64, 1)]]
    forms = [form for x in few for form in (np.float64(x).tobytes(), repr(x).encode())]
    forms += [np.float32(x).tobytes() for x in few]
    files = {path.name: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    return [name for name, held in files.items() if any(form in held for form in forms)]


def test_the_search_finds_numbers_that_are_part_of_a_program(cache_dir) -> None:
    jit(lambda x: x * np.array(FEW), name="few")(np.ones(8))
    assert elements_in(cache_dir, np.array(FEW))


def test_an_argument_is_not_stored(cache_dir) -> None:
    x = np.linspace(0.0, 1.0, 512)
    found = jit(lambda x, w: x @ w, name="argument")(x, WEIGHTS)
    assert np.allclose(found, x @ WEIGHTS)
    assert len(cache.ls("argument")) == 1
    assert elements_in(cache_dir, WEIGHTS) == []


@pytest.mark.parametrize("way", WAYS)
def test_large_captured_arrays_are_never_stored(cache_dir, way) -> None:
    function, x = WAYS[way], np.linspace(0.0, 1.0, 512)
    with suppress(TraceError):
        found = jit(function, name="captured")(x)
        assert np.allclose(found, function(x))
        assert len(cache.ls("captured")) == 1
    assert elements_in(cache_dir, WEIGHTS) == []


@pytest.mark.parametrize("count", [1_000, 4_000_000])
def test_an_entry_is_as_small_for_large_weights(cache_dir, count) -> None:
    """Some 10 KB of code, whether the arrays that it reads have 8 KB or 32 MB."""
    model = SimpleNamespace(w=np.full(count, 1.5), layers=[np.full(count, 2.0)])
    x = np.ones(count)
    found = jit(lambda x: x * model.w + model.layers[0], name="sized")(x)
    assert found[0] == 3.5
    assert len(cache.ls("sized")) == 1
    files = [path.stat().st_size for path in cache_dir.rglob("*") if path.is_file()]
    assert 0 < sum(files) < 64_000
