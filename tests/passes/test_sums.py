"""Sums of products of windows: one kernel that copies nothing, with the bits of the additions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.plan import Launch
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.kernels.matmul import DEPTH
from pyc.passes import optimise
from pyc.passes.fuse import fuse
from pyc.passes.memory import plan
from pyc.passes.reads import Walker
from pyc.passes.sums import Sum, find_sums
from pyc.runtime.threads import set_num_threads

from .programs import graph_of

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)


def sample(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.standard_normal(shape).astype(dtype)


def apart(x: Any, w: Any) -> list[tuple[Any, Any]]:
    """The operands of the products of a convolution of 2 by 3 points."""
    m, n = x.shape[1] - 1, x.shape[2] - 2
    return [(x[:, i : i + m, j : j + n], w[i, j]) for i in range(2) for j in range(3)]


def strided(x: Any, w: Any) -> list[tuple[Any, Any]]:
    m, n = (x.shape[1] - 1) // 2, (x.shape[2] - 2) // 2
    return [
        (x[:, i : i + 2 * m : 2, j : j + 2 * n : 2], w[i, j]) for i in range(2) for j in range(3)
    ]


def turned(x: Any, w: Any) -> list[tuple[Any, Any]]:
    """Matrices whose columns are neighbours in memory, and fewer terms than there are."""
    return [(x[:, i : i + 4, 1 : 1 + w.shape[3]], w[i, 1].T) for i in range(2)]


def columns(x: Any, w: Any) -> list[tuple[Any, Any]]:
    return [(x[i : i + 5], w[:, 3 * i : 3 * i + 9]) for i in range(3)]


def stacks(x: Any, w: Any) -> list[tuple[Any, Any]]:
    """Batches of matrices, each of a batch of its own."""
    return [(x[i : i + 3, :, i : i + 8], w[:3, i : i + 8]) for i in range(2)]


CASES: dict[str, tuple[Callable[[Any, Any], list[tuple[Any, Any]]], Array, Array]] = {
    "packed": (apart, sample(2, 17, 23, 16), sample(2, 3, 16, 64)),
    "ragged": (apart, sample(1, 13, 22, 5), sample(2, 3, 5, 37)),
    "in_place": (apart, sample(1, 4, 7, 8), sample(2, 3, 8, 32)),
    "panels": (apart, sample(1, 5, 9, 8), sample(2, 3, 8, 200)),
    "tiles": (apart, sample(1, 21, 24, 4), sample(2, 3, 4, 16)),
    "double": (apart, sample(1, 6, 9, 8, dtype=np.float64), sample(2, 3, 8, 24, dtype=np.float64)),
    "strided": (strided, sample(2, 10, 13, 8), sample(2, 3, 8, 16)),
    "turned": (turned, sample(3, 9, 40), sample(2, 2, 33, 24)),
    "columns": (columns, sample(9, 40), sample(40, 16)),
    "stacks": (stacks, sample(5, 8, 12), sample(4, 11, 24)),
    "all_terms": (apart, sample(1, 3, 6, DEPTH), sample(2, 3, DEPTH, 16)),
}


def summed(pairs: Callable[[Any, Any], list[tuple[Any, Any]]]) -> Callable[[Any, Any], Any]:
    def total(x: Any, w: Any) -> Any:
        first, *rest = pairs(x, w)
        found = first[0] @ first[1]
        for a, b in rest:
            found = found + a @ b
        return found

    return total


def launches(graph: Graph, target: Target) -> int:
    return sum(isinstance(step, Launch) for step in plan(optimise(graph), target).plan.steps)


def same(a: Array, b: Array) -> bool:
    """Whether two arrays of finite numbers have the same bits."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", CASES)
def test_a_sum_is_one_kernel_with_the_bits_of_its_additions(name: str) -> None:
    pairs, x, w = CASES[name]
    product = pyc.jit(lambda a, b: a @ b)
    wanted, *rest = (product(a.copy(), b.copy()) for a, b in pairs(x, w))
    for more in rest:
        wanted = wanted + more
    assert same(pyc.jit(summed(pairs))(x, w), wanted)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("name", CASES)
def test_a_sum_reads_and_stores_what_it_should(name: str, target: Target) -> None:
    """The kernel interpreter finds reads outside of an array, and tasks that meet."""
    pairs, x, w = CASES[name]
    graph = optimise(graph_of(summed(pairs), x, w), check=True)
    made = plan(graph, target, check=True).plan
    assert len(made.steps) == 1 and not made.peak
    (found,) = run_plan(made, [x, w], [(graph.results[0].shape, x.dtype)])
    (wanted,) = evaluate(graph, [x, w])
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-4)


def test_a_sum_does_not_depend_on_threads() -> None:
    pairs, x, w = apart, sample(4, 34, 35, 32), sample(2, 3, 32, 48)
    function = pyc.jit(summed(pairs))
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        found.append(function(x, w))
    set_num_threads(None)
    assert same(*found)


def test_a_sum_keeps_negative_zeros_and_what_it_starts_from() -> None:
    """Products that vanish below the least number have a sign; what begins with 0 loses it."""
    x, w = np.full((6, 8), -1e-30, np.float32), np.full((8, 32), 1e-30, np.float32)

    def plain(x: Any, w: Any) -> Any:
        return x[:5] @ w + x[1:] @ w

    def started(x: Any, w: Any) -> Any:
        total = np.zeros((5, 32), np.float32)
        total += x[:5] @ w
        total += x[1:] @ w
        return total

    def ahead(x: Any, w: Any) -> Any:
        return x[:5] @ w + 3.0 + x[1:] @ w

    assert np.signbit(pyc.jit(plain)(x, w)).all()
    assert not np.signbit(pyc.jit(started)(x, w)).any()
    assert (pyc.jit(ahead)(x, w) == 3).all()
    assert launches(graph_of(plain, x, w), X86_64_V4) == 1
    assert launches(graph_of(started, x, w), X86_64_V4) == 1


def test_what_follows_a_sum_is_in_its_kernel() -> None:
    x, w, bias = sample(2, 9, 9, 8), sample(2, 3, 8, 16), sample(16)

    def layer(x: Any, w: Any, bias: Any) -> Any:
        return np.maximum(summed(apart)(x, w) + bias, 0)

    assert launches(graph_of(layer, x, w, bias), X86_64_V4) == 1
    wanted = np.maximum(pyc.jit(summed(apart))(x, w) + bias, 0)
    assert same(pyc.jit(layer)(x, w, bias), wanted)
    graph = optimise(graph_of(layer, x, w, bias))
    made = plan(graph, X86_64_V3).plan
    (found,) = run_plan(made, [x, w, bias], [(wanted.shape, wanted.dtype)])
    assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_computed_array_is_stored_once_in_the_place_of_its_windows() -> None:
    x, w = sample(2, 9, 9, 8), sample(2, 3, 8, 16)

    def layers(x: Any, w: Any) -> Any:
        return summed(apart)(np.maximum(x, 0), w)

    assert launches(graph_of(layers, x, w), X86_64_V4) == 2
    assert same(pyc.jit(layers)(x, w), pyc.jit(summed(apart))(np.maximum(x, 0), w))


def test_one_product_of_a_part_copies_nothing() -> None:
    x, w = sample(3, 40, 24), sample(30, 32)

    def part(x: Any, w: Any) -> Any:
        return x[1:, 4:36] @ w[3:27]

    assert launches(graph_of(part, x, w), X86_64_V4) == 1
    wanted = pyc.jit(lambda a, b: a @ b)(x[1:, 4:36].copy(), w[3:27].copy())
    assert same(pyc.jit(part)(x, w), wanted)


def test_an_array_that_is_replaced_is_read_before() -> None:
    """In a loop whose body stores to the array that the windows lie in."""

    def steps(x: Any, w: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return x.at[1:-1].set(x[:-2] @ w[0] + x[2:] @ w[1])

        return pyc.lax.fori_loop(0, 3, step, x)

    x, w = sample(12, 16), sample(2, 16, 16)
    wanted = x.copy()
    product = pyc.jit(lambda a, b: a @ b)
    for _ in range(3):
        wanted[1:-1] = product(wanted[:-2].copy(), w[0]) + product(wanted[2:].copy(), w[1])
    assert same(pyc.jit(steps)(x, w), wanted)
    assert same(pyc.jit(steps, donate_argnames=("x",))(x.copy(), w), wanted)


X, W = np.ones((3, 20, 24), np.float32), np.ones((4, 24, 32), np.float32)
SHORT = np.ones((4, 24, 32), np.float16)


def twice(x: Any, w: Any) -> Any:
    first = x[0] @ w[0]
    total = first + x[1] @ w[1]
    return total + x[2] @ w[2], total


def others(x: Any, w: Any) -> Any:
    return x[0] @ w[0] + (x + 1)[1] @ w[1]


def lengths(x: Any, w: Any) -> Any:
    return x[0, :1] @ w[0] + x[1] @ w[1]


def reversed_rows(x: Any, w: Any) -> Any:
    return x[0, ::-1] @ w[0] + x[1, ::-1] @ w[1]


def apart_terms(x: Any, w: Any) -> Any:
    return x[0, :, ::2] @ w[0, ::2] + x[1, :, ::2] @ w[1, ::2]


def halves(x: Any, w: Any) -> Any:
    return x[0].astype(np.float16) @ w[0] + x[1].astype(np.float16) @ w[1]


def sums_of(function: Any, *arguments: Any, target: Target = X86_64_V4) -> tuple[Sum, ...]:
    graph = optimise(graph_of(function, *arguments))
    return find_sums(graph, Walker(graph), target)


@pytest.mark.parametrize(
    ("function", "w"),
    [(others, W), (lengths, W), (reversed_rows, W), (apart_terms, W), (halves, SHORT)],
)
def test_other_sums_have_kernels_of_their_own(function: Any, w: Array) -> None:
    assert not any(s.additions for s in sums_of(function, X, w))
    x = sample(*X.shape).astype(X.dtype)
    w = sample(*w.shape).astype(w.dtype)
    close = 1e-1 if w.dtype == np.float16 else 1e-4
    assert np.allclose(pyc.jit(function)(x, w), function(x, w), rtol=close, atol=close)


def test_a_partial_sum_that_is_read_ends_a_sum() -> None:
    (found,) = (s for s in sums_of(twice, X, W) if s.additions)
    assert len(found.products) == 2
    x, w = sample(*X.shape), sample(*W.shape)
    for a, b in zip(pyc.jit(twice)(x, w), twice(x, w), strict=True):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-4)


def test_targets_with_blocks_and_unknown_ones_have_no_sums() -> None:
    assert not sums_of(summed(apart), *CASES["packed"][1:], target=SM_90)
    graph = optimise(graph_of(summed(apart), *CASES["packed"][1:]))
    assert not any(g.sum for g in fuse(graph).groups)
    assert any(g.sum for g in fuse(graph, target=X86_64_V4).groups)


def test_more_terms_than_a_block_are_no_sum() -> None:
    x, w = np.ones((1, 3, 6, DEPTH + 1), np.float32), np.ones((2, 3, DEPTH + 1, 16), np.float32)
    assert not any(s.additions for s in sums_of(summed(apart), x, w))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (sample(17, 24), sample(3, 24, 32)),  # matmul
        (sample(4, 1, 9, 24), sample(5, 24, 32)),
        (sample(3, 1, 9, 24), sample(1, 4, 24, 32)),
        (sample(12, 64), sample(5, 64, 2)),  # few_columns
        (sample(5, 2, 64), sample(2, 5, 64, 300)),  # few_rows
        (sample(1, 4, 64), sample(20, 64, 8)[::2]),
    ],
)
def test_an_operand_that_is_one_for_all_of_a_batch_is_read_where_it_lies(
    a: Array, b: Array
) -> None:
    graph = graph_of(lambda a, b: a @ b, a, b)
    assert launches(graph, X86_64_V4) == 1
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = [np.broadcast_to(x, (*shape, *x.shape[-2:])).copy() for x in (a, b)]
    wanted = pyc.jit(lambda a, b: a @ b)(*wide)
    assert same(pyc.jit(lambda a, b: a @ b)(a, b), wanted)
    made = plan(optimise(graph), X86_64_V4).plan
    (found,) = run_plan(made, [a, b], [(wanted.shape, wanted.dtype)])
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_a_computed_operand_of_a_batch_is_stored_once() -> None:
    a, b = sample(17, 24), sample(3, 24, 32)
    made = plan(optimise(graph_of(lambda a, b: np.exp(a) @ b, a, b)), X86_64_V4).plan
    assert sum(isinstance(step, Launch) for step in made.steps) == 2
    assert a.nbytes <= made.peak < 2 * a.nbytes
