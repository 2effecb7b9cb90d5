"""Calls of programs on a GPU: what needs the driver's own graphs, memory and order."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.runtime import dispatch
from tests.runtime.test_device_checks import READS
from tests.runtime.test_device_loops import PROGRAMS

pytestmark = pytest.mark.cuda


def native(f: Any) -> int:
    """How many calls of a jitted function were native."""
    return sum(dispatch.native_calls(f, s) for s in dispatch.specialisations(f))


@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_of_unknown_length_run_on_the_device(name: str) -> None:
    """With other arguments at each call, which the nodes in the loops are told."""
    function, arguments = PROGRAMS[name]
    f = pyc.jit(function)
    kept = []
    for k in range(5):
        given = arguments(k)
        found = f(*(pyc.device_put(x) if isinstance(x, np.ndarray) else x for x in given))
        kept.append((found, pyc.jit(function)(*given)))
    for found, expected in kept:
        for y, z in zip(pyc.tree.leaves(found), pyc.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(y), z, rtol=1e-9)
    assert native(f) >= 3


def scaled(x: Any, k: Any, n: Any) -> Any:
    return x * k + n


def scaled_often(x: Any, k: Any, n: Any) -> Any:
    for _ in range(6):
        x = (x @ x) * k + n
    return x


def scaled_until(x: Any, k: Any, n: Any) -> Any:
    def step(s: Any) -> Any:
        return (abs(s * k) + abs(n) + 1).astype(np.float32)

    return pyc.while_loop(lambda s: s.sum() < 300, step, x)


@pytest.mark.parametrize("function", [scaled, scaled_often, scaled_until])
@pytest.mark.parametrize("number", [float, np.float32, np.float64, int])
def test_numbers_are_those_of_the_call(function: Any, number: Any) -> None:
    """They go with the launch, or are copied before it; results of earlier calls stay."""
    f, kept = pyc.jit(function), []
    x = np.arange(256.0, dtype=np.float32).reshape(16, 16) / 256
    there = pyc.device_put(x)
    for k in (1, 2, 2, 3, -1, 0, 0, 5, 2):
        kept.append((f(there, number(k), 1 + k), pyc.jit(function)(x, number(k), 1 + k)))
    for found, expected in kept:
        if function is scaled:
            assert np.asarray(found).tobytes() == expected.tobytes()
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4)
    assert native(f) == 8


def test_numbers_outside_of_a_trace_are_those_of_the_call() -> None:
    x = np.arange(256.0, dtype=np.float32).reshape(16, 16) / 256
    there, kept = pyc.device_put(x), []
    for k in (1.5, 2.5, -0.0, 2.5, 1e-3):
        kept.append((there * k, x * np.float32(k)))
        kept.append((there + k, x + np.float32(k)))
    for found, expected in kept:
        assert np.asarray(found).tobytes() == expected.tobytes()


ENDLESS = """
import os, signal, threading
import numpy as np, pyc

@pyc.jit
def run(x, w):
    state = x, x[0] * 0
    return pyc.while_loop(lambda s: s[1].sum() >= 0, lambda s: (s[0] @ w, s[1] + 1), state)[0]

@pyc.jit
def seven(x, w):
    state = x, x[0] * 0
    return pyc.while_loop(lambda s: s[1][0] < 7, lambda s: (s[0] @ w, s[1] + 1), state)[0]

x, w = (pyc.device_put(a) for a in (np.ones((20, 20)), np.eye(20)))
seven(x, w)
for k in range(2):
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        run(x, w)
        print("came back")
    except KeyboardInterrupt:
        print("ended", np.asarray(seven(x, w)).sum())
"""


def test_ctrl_c_ends_a_loop_on_the_device() -> None:
    """One that has no end; what comes after it is right."""
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == ["ended", "400.0"] * 2, done.stderr


def test_a_check_in_a_loop_on_the_device() -> None:
    @pyc.jit
    def walk(x: Any, i: Any) -> Any:
        def step(s: Any) -> Any:
            return s[0] @ s[0] + x[s[1][0] + i], s[1] + 1

        return pyc.while_loop(lambda s: s[1].sum() < 6 * 16, step, (x, i * 0))[0]

    x = pyc.device_put(np.eye(16) * 0.5)
    for _ in range(3):
        good = walk(x, pyc.device_put(np.zeros(16, int)))
        bad = walk(x, pyc.device_put(np.full(16, 12)))
        with pytest.raises(IndexError, match="out of bounds for axis 0 with size 16"):
            np.asarray(bad)
        assert np.isfinite(np.asarray(good)).all()
    assert native(walk)


@pytest.mark.parametrize("size", [64, 1000, 40_000])
def test_kernels_that_begin_early_see_what_the_one_before_stored(size: int) -> None:
    """Each reads what all threads of the one before have written, at another place."""

    def turned(x: Any) -> Any:
        for k in range(40):
            x = np.roll(x, size // 3 + k).cumsum()[::-1] % 1009
        return x

    f = pyc.jit(turned, loops="unroll")
    for seed in range(6):
        x = np.random.default_rng(seed).integers(0, 1000, size)
        for _ in range(3):
            found = f(pyc.device_put(x))
        np.testing.assert_array_equal(np.asarray(found), turned(x))
    assert native(f)


@pytest.mark.parametrize("read", READS)
def test_a_failed_check_is_raised_by_who_reads(read: str) -> None:
    f = pyc.jit(lambda x, i: x[i] * 2)
    x = pyc.device_put(np.arange(8.0))
    good, bad = (pyc.device_put(np.array([1, k, 7])) for k in (2, 9))
    for _ in range(2):
        assert f(x, good).tolist() == [2, 4, 14]
    kept, failed = f(x, good), f(x, bad)
    for _ in range(2):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            failed.tolist() if _ else READS[read](failed)
    assert kept.tolist() == f(x, good).tolist() == [2, 4, 14] and native(f) == 4


def test_a_failure_of_one_of_many_calls_is_found() -> None:
    f = pyc.jit(lambda x, i: x[i] + 1)
    x, i = pyc.device_put(np.zeros(3)), pyc.device_put(np.array([0, 1, 2]))
    bad = pyc.device_put(np.array([0, 3, 2]))
    for k in range(200):
        x = f(x, bad if k == 100 else i)
    with pytest.raises(IndexError):
        x.tolist()
    assert native(f) == 199


def test_donated_arrays_are_taken_natively() -> None:
    f = pyc.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x, y = pyc.device_put(np.ones(1000)), pyc.device_put(np.ones(1000))
    address = x.address
    for _ in range(5):
        given, x = x, f(x, y)
        assert given.is_deleted() and x.address == address
    assert x.tolist() == [63] * 1000 and native(f) == 4
