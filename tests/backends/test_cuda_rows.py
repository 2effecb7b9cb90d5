"""Long rows on a GPU: blocks of a group that wait for each other, the last block of a sum, and the
quotients of a row by one number, all with the CPU's bits, call after call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc

Array = np.ndarray[Any, Any]
Program = Callable[[Any], Any]

SHAPES = [(1, 1 << 20), (9, 700_001), (70, 300_000), (3, 2_500_003), (270, 300_000)]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x: Any) -> Any:
    far = x - x.mean(axis=1, keepdims=True)
    return far / np.sqrt((far * far).mean(axis=1, keepdims=True) + 1e-5)


def sums(x: Any) -> Any:
    return x.sum(axis=1)


def several(x: Any) -> Any:
    """Reductions that need each other, of several types."""
    total = x.sum(axis=1, keepdims=True)
    return (x * total).argmax(axis=1), (x > total).any(axis=1), x / total


def data(shape: tuple[int, ...]) -> Array:
    return np.asarray(np.random.default_rng(len(shape)).standard_normal(shape), np.float32)


def leaves(value: Any) -> list[Array]:
    return [np.asarray(v) for v in (value if isinstance(value, tuple) else (value,))]


@pytest.mark.cuda
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function", [softmax, layer_norm, sums, several], ids=lambda f: f.__name__)
def test_groups_of_blocks_give_the_bits_of_the_cpu(
    function: Program, shape: tuple[int, int]
) -> None:
    """The counters at which blocks meet are as before after each call, so that calls repeat."""
    x = data(shape)
    expected = leaves(pyc.jit(function)(x))
    jitted, there = pyc.jit(device="cuda")(function), pyc.device_put(x)
    for _ in range(5):
        for a, b in zip(expected, leaves(jitted(there)), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.cuda
def test_groups_in_calls_of_several_threads() -> None:
    """All of a program's work goes to one stream: launches share their counters in turn."""
    given = [data((4, 1 << 19)) + k for k in range(4)]
    expected = [np.asarray(pyc.jit(layer_norm)(x)) for x in given]
    jitted = pyc.jit(device="cuda")(layer_norm)
    there = [pyc.device_put(x) for x in given]
    jitted(there[0])
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(20):
            if np.asarray(jitted(there[k])).tobytes() != expected[k].tobytes():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def quotients(x: Any, y: Any) -> Any:
    return x / y[:, None]


def same(a: Array, b: Array) -> Array:
    equal = (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))
    return np.asarray(equal)


@pytest.mark.cuda
def test_every_divisor_gives_exact_quotients() -> None:
    """All mantissas of a divisor, with ordinary numbers of several sizes."""
    y = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32)
    x = np.random.default_rng(3).uniform(1, 2, (1 << 23, 8)).astype(np.float32)
    x[:, 0], x[:, 1] = 1, np.float32(2 - 2.0**-23)
    x[:, 2] *= np.float32(2.0**40)
    x[:, 3] *= np.float32(-(2.0**-50))
    found = np.asarray(pyc.jit(quotients, device="cuda")(x, y))
    assert same(found, x / y[:, None]).all()


@pytest.mark.cuda
def test_quotients_of_any_numbers() -> None:
    """Random bits, and each special value by each."""
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2.0**-60, 2.0**60, 1e-45, 3e38, 1e-38]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 1 << 32, 2048, dtype=np.uint32).view(np.float32)
    y[: len(special)] = special
    x = rng.integers(0, 1 << 32, (2048, 1024), dtype=np.uint32).view(np.float32)
    x[:, : len(special)] = special
    x[:, 512:] = rng.standard_normal((2048, 512)) * 10
    found = np.asarray(pyc.jit(quotients, device="cuda")(x, y))
    expected = np.asarray(pyc.jit(quotients)(x, y))
    assert same(found, expected).all()
