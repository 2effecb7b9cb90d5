"""The smoke test: what a newcomer runs first. Each part of pyc once, end to end, in seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import PycError, TracerBoolConversionError

X = np.random.default_rng(0).standard_normal((6, 50)).astype(np.float32)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_a_function_of_numpy_is_compiled() -> None:
    """NumPy's own functions are traced; the result is NumPy's, within rounding."""
    found = pyc.jit(softmax)(X)
    assert type(found) is np.ndarray and found.dtype == np.float32
    np.testing.assert_allclose(found, softmax(X), rtol=1e-5)
    assert len(pyc.jit(softmax).lower(X).kernels) == 1


def test_calls_of_one_signature_compile_once() -> None:
    function = pyc.jit(lambda x, n: x * n)
    for n in range(5):
        np.testing.assert_array_equal(function(X, n), X * n)
    assert function.cache_info() == (1, 1)


def test_trees_go_in_and_out() -> None:
    @pyc.jit
    def step(state: Any, *, rate: float) -> Any:
        return {"w": state["w"] - rate * state["g"], "n": (state["n"] + 1, None)}

    found = step({"w": X, "g": X, "n": 3}, rate=0.5)
    np.testing.assert_array_equal(found["w"], X - np.float32(0.5) * X)
    assert found["n"] == (4, None)


def test_control_flow() -> None:
    """A loop with a data-dependent end, a scan, and a branch."""

    @pyc.jit
    def function(x: Any) -> Any:
        steps = pyc.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (x[0], 0))[1]
        total, running = pyc.scan(lambda c, v: (c + v, c + v), 0.0, x)
        sign = pyc.cond(total > 0, lambda: 1, lambda: -1)
        doubled = pyc.fori_loop(0, 3, lambda i, a: a * 2, x)
        return steps, total, running, sign, doubled

    x = np.array([3.0, -1.0, 4.0, -1.5])
    steps, total, running, sign, doubled = function(x)
    assert (steps, total, sign) == (6, 4.5, 1)
    np.testing.assert_array_equal(running, np.cumsum(x))
    np.testing.assert_array_equal(doubled, x * 8)


def test_updates_are_functional() -> None:
    found = pyc.jit(lambda x, i: x.at[i].set(0.0).at[0, 1:3].add(5.0))(X, np.array([2, 4]))
    expected = X.copy()
    expected[[2, 4]] = 0
    expected[0, 1:3] += 5
    np.testing.assert_array_equal(found, expected)


def test_reductions_sorts_and_products() -> None:
    found = pyc.jit(lambda x: (x.sum(), x.argmax(axis=0), pnp.sort(x), x @ x.T))(X)
    np.testing.assert_allclose(found[0], X.sum(dtype=np.float64), rtol=1e-4)
    np.testing.assert_array_equal(found[1], X.argmax(axis=0))
    np.testing.assert_array_equal(found[2], np.sort(X))
    np.testing.assert_allclose(found[3], X @ X.T, rtol=1e-4, atol=1e-4)


def test_functions_work_outside_of_jit() -> None:
    """Same bits: one op at a time, or in one program."""
    np.testing.assert_array_equal(pnp.exp(X), pyc.jit(pnp.exp)(X))


def test_errors_name_the_line_and_the_remedy() -> None:
    def asks(x: Any) -> Any:
        return x if x > 0 else -x

    with pytest.raises(TracerBoolConversionError) as found:
        pyc.jit(asks)(X)
    assert "return x if x > 0 else -x" in str(found.value)
    assert "where" in str(found.value)
    with pytest.raises(PycError, match=r"test_tiny\.py"):
        pyc.jit(lambda x: x @ x)(X)
    with pytest.raises(IndexError, match="99"):
        pyc.jit(lambda x, i: x[i])(X, np.array([99]))


def test_levels_can_be_read() -> None:
    lowered = pyc.jit(softmax).lower(X)
    for stage in ("traced", "graph", "logical", "kernels", "plan"):
        assert "exp" in lowered.as_text(stage) or stage in ("logical", "kernels", "plan")
    assert lowered.memory_analysis().results == X.nbytes
    assert "define" in pyc.jit(softmax).compile(X).as_text("llvm")


def test_the_cache_gives_the_second_program(cache_dir: Any) -> None:
    """The same program again: from memory, and without memory from the directory."""
    first = pyc.jit(softmax)(X)
    again = pyc.jit(softmax)(X)
    pyc.cache.memory.clear()
    third = pyc.jit(softmax)(X)
    assert first.tobytes() == again.tobytes() == third.tobytes()
    stats = pyc.cache.stats().per_function["softmax"]
    assert (stats.hits_memory, stats.hits_disk) == (1, 1), stats


def test_verify_compares_every_way() -> None:
    report = pyc.verify(softmax, X[:2, :9])
    assert all(c.difference == 0 for c in report.checks)
