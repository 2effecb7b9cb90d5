"""Products of many terms that are neighbours in memory: what is asked for, by which tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import const
from pyc.ir.loops import Buffer, For, Kernel, Kind, Prefetch, walk
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels import matmul as nest
from pyc.kernels import term_streams
from pyc.kernels.matmul import matmul
from pyc.kernels.term_streams import LINE, TermStream
from pyc.runtime.threads import set_num_threads

TERMS_FIRST = (((0,), (0,)), ((), ()))
RNG = np.random.default_rng(8)


@pytest.mark.parametrize("dtype", [dt.f64, dt.f32, dt.f16])
@pytest.mark.parametrize(
    ("rows", "groups", "panels"), [(8, 3, 2), (8, 3, 1), (5, 4, 2), (12, 2, 1)]
)
def test_the_whole_of_the_next_block_is_asked_for(
    rows: int, groups: int, panels: int, dtype: DType
) -> None:
    """Each of its lines, in the order of memory but for the panels and groups."""
    depth, across, start = 32, rows * groups - 1, 64
    a = Buffer("a", dtype, (1000, across), role="in")
    stream = TermStream(a, depth, groups, rows, panels)
    asked = []
    for panel in range(panels):
        for group in range(groups):
            for k in range(depth):
                places = (const(panel), const(group), const(start), const(k))
                for s in stream.next_piece(*places):
                    assert isinstance(s, Prefetch)
                    term, place = map(int, evaluate(s.index, {}))
                    asked.append((term * across + place) * dtype.itemsize // LINE)
    first, end = (t * across * dtype.itemsize for t in (start + depth, start + 2 * depth))
    assert set(range(first // LINE, -(-end // LINE))) <= set(asked)
    assert asked == sorted(asked)


def product(k: int, m: int, n: int, dtype: DType) -> Kernel:
    """The kernel of a.mT @ b."""
    types = ArrayType((k, m), dtype), ArrayType((k, n), dtype)
    return matmul(types, X86_64_V4, dimensions=TERMS_FIRST)


def tasks(kernel: Kernel) -> object:
    """How many there are."""
    (extent,) = (
        s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.PARALLEL
    )
    return extent


def test_tasks_have_two_panels_where_memory_is_slower_than_one() -> None:
    """Of wide elements that come from memory, and never all of them."""
    assert tasks(product(1 << 16, 64, 64, dt.f64)) == 2
    assert tasks(product(1 << 10, 64, 64, dt.f64)) == 4, "it stays in a cache"
    assert tasks(product(1 << 16, 64, 32, dt.f64)) == 2, "one task would be left"
    assert tasks(product(1 << 16, 64, 48, dt.f64)) == 3, "one would have a panel less"
    assert tasks(product(1 << 16, 64, 128, dt.f32)) == 4
    assert not asked_for(product(1 << 10, 64, 64, dt.f64)) - {"b"}
    assert asked_for(product(1 << 16, 64, 64, dt.f64)) == {"a", "b"}


def asked_for(kernel: Kernel) -> set[str]:
    """The buffers that it says it reaches soon."""
    return {s.buffer.name for s in walk(kernel.body) if isinstance(s, Prefetch)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize(("k", "m", "n"), [(40, 20, 64), (33, 29, 61)])
def test_streams_have_the_bits_of_other_products(
    k: int, m: int, n: int, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any vectors; ragged rows, columns and blocks too."""
    monkeypatch.setattr(term_streams, "FAR", 0)
    monkeypatch.setattr(nest, "DEPTH", 16)
    a, b = (RNG.standard_normal((k, x)).astype(dtype) for x in (m, n))
    types = ArrayType(a.shape, dt.of(a.dtype)), ArrayType(b.shape, dt.of(b.dtype))
    expected = jit(lambda a, b: a @ b)(np.ascontiguousarray(a.T), b)
    for target in (X86_64_V3, X86_64_V4):
        out = np.zeros((m, n), dtype)
        kernel = matmul(types, target, dimensions=TERMS_FIRST)
        assert "a" in asked_for(kernel)
        simulate.run(kernel, [a, b, out])
        assert np.array_equal(out, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_streams_from_memory_have_the_bits_of_products_whose_terms_lie_together(dtype: Any) -> None:
    """With what follows a product, and beside any memory: what is asked for may not be there."""
    a, b = (RNG.standard_normal((9000, x)).astype(dtype) for x in (67, 61))
    along = np.ascontiguousarray(a.T)
    assert np.array_equal(jit(lambda a, b: a.T @ b)(a, b), jit(lambda a, b: a @ b)(along, b))
    turned = jit(lambda a, b: np.tanh(a.T @ b) / (1 + (a.T @ b) ** 2))
    plain = jit(lambda a, b: np.tanh(a @ b) / (1 + (a @ b) ** 2))
    assert np.array_equal(turned(a, b), plain(along, b))


def test_threads_do_not_change_bits() -> None:
    a, b = RNG.standard_normal((1 << 12, 67)), RNG.standard_normal((1 << 12, 64))
    along = np.ascontiguousarray(a.T)
    results = {np.asarray(jit(lambda a, b: a @ b)(along, b)).tobytes()}
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(np.asarray(jit(lambda a, b: a.T @ b)(a, b)).tobytes())
    set_num_threads(None)
    assert len(results) == 1
