"""Bytes, loads, stores and flops: what is said of a kernel is what it does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.entries import given_at_trace
from pyc.explanation.counts import Counts, count
from pyc.explanation.schedule import describe
from pyc.ir.loops import While, walk
from pyc.ir.plan import Library, walk_steps
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.lowered import lower_graph
from tests.explanation.watched import Seen, watch
from tests.users.test_users import PROGRAMS as USERS

RNG = np.random.default_rng(0)


def given(*shapes: Any, dtype: Any = np.float32) -> tuple[Any, ...]:
    return tuple(RNG.standard_normal(s).astype(dtype) for s in shapes)


def chain(x, y):
    return np.tanh(x * y + 1) - x


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def stencil(u):
    return u[1:-1, 1:-1] * 4 - u[2:, 1:-1] - u[:-2, 1:-1] - u[1:-1, 2:] - u[1:-1, :-2]


def heat(u):
    u = u.copy()
    for _ in range(20):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def layer(x, w, b):
    return np.maximum(x @ w + b, 0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (chain, given((13, 7), (13, 7))),
    "broadcast": (lambda x, y: x * y + 1, given((13, 1), (7,))),
    "transpose": (lambda x: x.T + 1, given((13, 7))),
    "strided": (lambda x: x[::2, 1:3] * 2, given((13, 7))),
    "reversed": (lambda x: x[::-1] - x, given((37,))),
    "rows": (softmax, given((9, 37))),
    "long_rows": (softmax, given((3, 1100))),
    "columns": (lambda x: x.sum(axis=0), given((70, 33))),
    "whole": (lambda x: (x.sum(), x.max(), x.mean()), given((40, 50))),
    "stencil": (stencil, given((12, 15))),
    "loop_over_whole_arrays": (heat, given((40,), dtype=np.float64)),
    "product": (lambda x, w: x @ w, given((24, 32), (32, 48))),
    "layer": (layer, given((33, 40), (40, 50), (50,))),
    "product_of_vectors": (lambda x, w: x @ w, given((24, 32), (32,))),
    "gather": (lambda x, i: x[i] * 2, (given((50, 4))[0], np.array([3, 1, 3]))),
    "update": (lambda x, v: x.at[2:5].set(v) if hasattr(x, "at") else x, given((9,), (3,))),
    "concatenated": (lambda x, y: np.concatenate([x, y * 2]), given((9,), (4,))),
    "cumulative": (lambda x: np.cumsum(x), given((50,))),
    "sorted": (lambda x: np.sort(x), given((50,))),
    "complex": (lambda x: x * (1 + 2j), given((20,), dtype=np.complex64)),
    "integers": (lambda x: x * 2 + 1, (np.arange(50),)),
    "large": (lambda x: x + 1, given((70000,))),
    "large_stencil": (lambda x: x[1:] - x[:-1], given((70001,))),
}


def counted(
    function: Any, args: Any, monkeypatch: Any, target: Target = X86_64_V3
) -> list[tuple[Counts, Seen]]:
    traced = pyc.jit(function).trace(*args)
    lowered = lower_graph(traced.graph, target=target)
    if any(isinstance(s, Library) for s in walk_steps(lowered.plan.steps)):
        return []
    arrays = [np.asarray(a) for a in (*args, *given_at_trace(traced))]
    seen = watch(monkeypatch, lowered.plan, arrays, lowered.graph.types)
    return [(count(s.kernel), s) for s in seen]


def check(counts: Counts, seen: Seen) -> None:
    """The two counts of one kernel are one, or the reported one is the larger where data decide."""
    if not seen.launches:
        return
    dynamic = any(isinstance(s, While) for s in walk(seen.kernel.body)) or not counts.exact
    for k, (access, buffer) in enumerate(zip(counts.accesses, seen.kernel.buffers, strict=True)):
        nbytes = buffer.dtype.itemsize
        if not dynamic:
            assert access.loads * seen.launches == seen.loads[k], (seen.kernel.name, k)
            assert access.stores * seen.launches == seen.stores[k], (seen.kernel.name, k)
        read, written = len(seen.read[k]) * nbytes, len(seen.written[k]) * nbytes
        assert access.read >= read, (seen.kernel.name, k)
        assert access.written >= written, (seen.kernel.name, k)
        if not dynamic:
            assert (access.read, access.written) == (read, written), (seen.kernel.name, k)
    if not dynamic and not seen.accumulates:
        assert sum(counts.flops.values()) * seen.launches == seen.flops


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4, SM_90], ids=lambda target: target.id)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_kernel_does_what_is_counted(
    name: str, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    function, args = PROGRAMS[name]
    found = counted(function, args, monkeypatch, target)
    assert found
    for counts, seen in found:
        check(counts, seen)


@pytest.mark.parametrize("name", sorted(USERS))
def test_kernels_of_users_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = USERS[name]
    args, options = function.given
    if options or not all(isinstance(a, (np.ndarray, np.generic)) for a in args):
        pytest.skip("not of arrays alone")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for counts, seen in counted(function, args, monkeypatch):
            check(counts, seen)


def test_flops_of_a_product() -> None:
    """2 m n k where tiles divide the product; with their padding where they do not."""
    for m, n, k in ((48, 64, 96), (264, 128, 64)):
        x, w = given((m, k), (k, n))
        (kernel,) = pyc.jit(lambda x, w: x @ w).lower(x, w).kernels
        assert count(kernel).flops == {"f32": 2 * m * n * k}
    x, w = given((50, 64), (64, 64))
    (kernel,) = pyc.jit(lambda x, w: x @ w).lower(x, w).kernels
    assert 2 * 50 * 64 * 64 <= count(kernel).flops["f32"] < 2.5 * 50 * 64 * 64


def test_bytes_of_large_arrays_are_not_looked_at_one_by_one() -> None:
    """Runs beyond the bound are counted by one repetition, the same as apart."""
    few = pyc.jit(lambda x: x[:, :3] * 2).lower(np.zeros((1000, 20), np.float32)).kernels[0]
    many = pyc.jit(lambda x: x[:, :3] * 2).lower(np.zeros((400_000, 20), np.float32)).kernels[0]
    for kernel, rows in ((few, 1000), (many, 400_000)):
        assert [a.read + a.written for a in count(kernel).accesses] == [12 * rows, 12 * rows]


def test_a_rare_side_and_an_unknown_number_of_iterations_are_told_apart() -> None:
    (kernel,) = pyc.jit(lambda x: np.sin(x)).lower(np.zeros(64, np.float32)).kernels
    usual = count(kernel).flops
    assert set(usual) == {"f32"}, "the rare side computes in float64"

    def root(x):
        y = x
        while abs(y * y - x) > 1e-6:
            y = 0.5 * (y + x / y)
        return y

    counts = [count(k) for k in pyc.jit(root).lower(np.float64(2.0)).kernels]
    assert any(c.repeated for c in counts)


def test_products_of_tiles_on_a_gpu() -> None:
    """Their flops are the tensor cores', which are not counted; their copies are."""
    x = np.zeros((256, 256), pnp.bfloat16)
    traced = pyc.jit(lambda x, w: x @ w).trace(x, x)
    (kernel,) = lower_graph(traced.graph, target=SM_90).kernels
    counts = count(kernel)
    assert counts.tiles
    assert (counts.read, counts.written) == (2 * x.nbytes, x.nbytes)
    assert "tensor cores" in describe(kernel)
    assert "blocks" in describe(kernel)
