"""Arrays that kernels of their own read under other axes, as they lie in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc import lax
from pyc.ir.plan import launches_of
from pyc.ir.target import SM_90, X86_64_V4, Target
from pyc.passes import optimise
from pyc.passes.memory import plan

from .programs import graph_of

Array = np.ndarray[Any, Any]
A = np.arange(24 * 32.0).reshape(24, 32) / 100
X = np.cos(np.arange(96.0))


def launches(function: Any, *arguments: Array, target: Target = X86_64_V4) -> list[str]:
    made = plan(optimise(graph_of(function, *arguments)), target).plan
    return [made.kernels[s.kernel].name for s in launches_of(made.steps)]


@pytest.mark.parametrize("target", [X86_64_V4, SM_90], ids=str)
def test_the_operand_of_a_product_is_not_copied(target: Target) -> None:
    assert len(launches(lambda a, x: a.reshape(8, 96) @ x, A, X, target=target)) == 1
    sums = launches(lambda a, x: np.cumsum(a.reshape(8, 96), axis=1), A, X, target=target)
    assert sums == launches(lambda a, x: np.cumsum(a, axis=1), A.reshape(8, 96), X, target=target)


def test_what_is_computed_is_stored_once() -> None:
    both = launches(lambda a, x: ((b := np.sin(a)).reshape(8, 96) @ x, x @ b.reshape(96, 8)), A, X)
    assert len(both) == 3


def test_an_epilogue_is_stored_for_the_next_product() -> None:
    w = np.ones((32, 4))

    def layers(a: Any, x: Any) -> Any:
        return np.maximum(a @ w, 1.0).reshape(1, 96) @ x

    assert len(launches(layers, A, X)) == 2
    assert np.allclose(pyc.jit(layers)(A, X), layers(A, X))


def updated(a: Any, x: Any) -> Any:
    a = a.copy()
    b = a.reshape(8, 96)
    first = b @ x
    a[3] = 7.0
    second = b @ x
    a *= 2.0
    return first, second, a, b @ x


def replaced(a: Any, x: Any) -> Any:
    total = np.zeros(8)
    for _ in range(5):
        total = total + a.reshape(8, 96) @ x
        a = a * 0.5 + 1.0
    return total, a


def looped(a: Any, x: Any) -> Any:
    def step(k: Any, carry: Any) -> Any:
        a, total = carry
        after = a.at[k].set(total[k])
        return after, total + after.reshape(8, 96) @ x - a.reshape(8, 96) @ x

    return lax.fori_loop(0, 8, step, (a, X[:8]))


@pytest.mark.parametrize("function", [updated, replaced])
def test_arrays_that_change_afterwards(function: Any) -> None:
    for found, wanted in zip(pyc.jit(function)(A, X), function(A, X), strict=True):
        assert np.allclose(found, wanted)


def test_arrays_that_loops_carry() -> None:
    found = pyc.jit(looped)(A, X)
    a, total = A.copy(), X[:8].copy()
    for k in range(8):
        after = a.copy()
        after[k] = total[k]
        a, total = after, total + after.reshape(8, 96) @ X - a.reshape(8, 96) @ X
    assert np.allclose(found[0], a) and np.allclose(found[1], total)


@pytest.mark.parametrize("shape", [(24, 4), (6, 16)])
def test_a_donated_argument_is_a_result_under_its_own_axes(shape: tuple[int, ...]) -> None:
    def program(p: Any, a: Any, w: Any) -> Any:
        return np.tanh(p.reshape(24, 4) + a @ w).reshape(6, 16), p.sum()

    p = np.sin(np.arange(96.0)).reshape(shape)
    wanted = program(p, A, W)
    found = pyc.jit(program, donate_argnums=0)(p.copy(), A, W)
    assert found[0].shape == (6, 16)
    assert np.allclose(found[0], wanted[0]) and np.allclose(found[1], wanted[1])


def test_a_donated_argument_is_replaced_after_it_is_read() -> None:
    def program(a: Any, x: Any) -> Any:
        return a * 2.0, a.reshape(8, 96) @ x, np.cumsum(a.reshape(-1))

    wanted = program(A, X)
    found = pyc.jit(program, donate_argnums=0)(A.copy(), X)
    for one, other in zip(found, wanted, strict=True):
        assert np.allclose(one, other)


W = np.cos(np.arange(32 * 4.0)).reshape(32, 4)
RESULTS: dict[str, tuple[Any, int]] = {
    "a product": (lambda a, w: (a @ w).reshape(4, 6, 4), 1),
    "what is computed from one": (lambda a, w: np.tanh(a @ w + 1.0).reshape(6, 16), 1),
    "of reshaped operands": (lambda a, w: (a.reshape(-1, 32) @ w).reshape(2, 12, 4), 1),
    "running sums": (lambda a, w: np.cumsum(a.reshape(-1)).reshape(8, 96), 1),
    "the product too": (lambda a, w: ((b := a @ w), b.reshape(6, 16)), 2),
    "twice": (lambda a, w: ((b := a @ w).reshape(6, 16), b.reshape(16, 6)), 2),
    "an argument": (lambda a, w: (a.reshape(8, 96), w), 2),
    "to one element": (lambda a, w: (a.reshape(1, -1) @ a.reshape(-1, 1)).reshape(()), 2),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_made_under_other_axes(name: str) -> None:
    function, most = RESULTS[name]
    assert len(launches(function, A, W)) <= most
    found, wanted = pyc.jit(function)(A, W), function(A, W)
    if not isinstance(wanted, tuple):
        found, wanted = (found,), (wanted,)
    for one, other in zip(found, wanted, strict=True):
        assert np.shape(one) == np.shape(other) and np.allclose(one, other)
    for k, one in enumerate(found):
        assert not any(np.shares_memory(one, x) for x in (A, W, *found[:k]))


PARTS: dict[str, Any] = {
    "rows and terms": lambda a, x: a[3:20, 5:] @ x[5:32],
    "a vector of a matrix": lambda a, x: a @ a[7],
    "transposed": lambda a, x: a[2:9, 4:30].T @ x[10:17],
    "a batch": lambda a, x: np.einsum("bij,bj->bi", a.reshape(4, 6, 32)[1:, :, 3:], a[1:4, 3:]),
    "integers": lambda a, x: (a[1:, 2:] * 100).astype(int) @ x[:30].astype(int),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_read_where_they_lie(name: str) -> None:
    function = PARTS[name]
    *before, product = launches(function, A, X)
    assert product in ("contraction", "few_rows")
    assert len(before) == (2 if name == "integers" else 0), "what is computed is stored"
    assert np.allclose(pyc.jit(function)(A, X), function(A, X))
