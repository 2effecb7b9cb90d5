"""Groups of short rows, read side by side as one stream of memory: what is asked for, by whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import const
from pyc.ir.loops import Buffer, Kernel, Prefetch, walk
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels import row_streams
from pyc.kernels.both_sides import Product, both_sides
from pyc.kernels.dot_rows import dot_rows
from pyc.kernels.few_columns import few_columns
from pyc.kernels.row_streams import AHEAD, LINE, is_row_stream, later_rows
from pyc.runtime.threads import set_num_threads

ROWS_TIMES_X = (((1,), (0,)), ((), ()))
V_TIMES_COLUMNS = (((0,), (0,)), ((), ()))
RNG = np.random.default_rng(12)


@pytest.mark.parametrize("dtype", [dt.f64, dt.f32, dt.f16])
@pytest.mark.parametrize(
    ("rows", "k", "steps"), [(8, 64, 8), (4, 100, 12), (7, 61, 3), (1, 512, 5)]
)
def test_the_whole_of_a_later_group_is_asked_for(
    rows: int, k: int, steps: int, dtype: DType
) -> None:
    """Each of its lines, in the order of memory, whole groups behind what is read."""
    matrix, first, size = Buffer("a", dtype, (1000, k), role="in"), 24, dtype.itemsize
    asked = []
    for step in range(steps):
        for s in later_rows(matrix, const(first), rows, const(step), steps):
            assert isinstance(s, Prefetch)
            row, place = map(int, evaluate(s.index, {}))
            assert (row - first) % rows == 0
            asked.append((row * k + place) * size)
    assert asked == list(range(asked[0], asked[-1] + 1, LINE))
    assert asked[-1] + LINE >= asked[0] + rows * k * size
    assert AHEAD / 2 < asked[0] - first * k * size <= max(AHEAD, rows * k * size)


def test_which_matrices_are_streams() -> None:
    def found(*shape: int, dtype: DType = dt.f64) -> bool:
        return is_row_stream(Buffer("a", dtype, shape, role="in"))

    assert found(1 << 16, 64)
    assert found(1 << 16, 512)
    assert not found(1 << 16, 513), "longer rows are streams of their own"
    assert not found((1 << 13) - 1, 64), "it stays in a cache"
    assert found(1 << 15, 64, dtype=dt.f32) is not found(1 << 13, 64, dtype=dt.f32)
    assert not found(4, 1 << 14, 64), "of several batches"


def asked_for(kernel: Kernel) -> bool:
    return any(isinstance(s, Prefetch) and s.buffer.name == "a" for s in walk(kernel.body))


def kernels(m: int, k: int, target: Target) -> dict[str, Kernel]:
    """The nests that read rows side by side."""
    a, x, v = ArrayType((m, k), dt.f64), ArrayType((k,), dt.f64), ArrayType((m,), dt.f64)
    b = ArrayType((k, 3), dt.f64)
    pair = Product((a, x), ROWS_TIMES_X, None, None), Product((v, a), V_TIMES_COLUMNS, None, None)
    return {
        "dot_rows": dot_rows((a, x), target, dimensions=ROWS_TIMES_X),
        "few_columns": few_columns((a, b), target, dimensions=ROWS_TIMES_X),
        "both_sides": both_sides(*pair, target, dependent=True)[0],
    }


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_who_asks(target: Target) -> None:
    assert all(map(asked_for, kernels(1 << 14, 256, target).values()))
    assert all(map(asked_for, kernels(1 << 16, 32, target).values()))
    assert not any(map(asked_for, kernels(1 << 10, 256, target).values()))
    assert not any(map(asked_for, kernels(1 << 12, 1024, target).values()))


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize(("m", "k"), [(40, 64), (37, 45), (64, 300)])
def test_streams_have_the_bits_of_other_products(
    m: int, k: int, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ragged rows and terms too."""
    a, x, b = RNG.standard_normal((m, k)), RNG.standard_normal(k), RNG.standard_normal((k, 3))

    def results() -> dict[str, list[np.ndarray[Any, Any]]]:
        found = {}
        for name, kernel in kernels(m, k, target).items():
            given = [a, b] if name == "few_columns" else [a, x]
            shapes = [tuple(map(int, o.shape)) for o in kernel.buffers[2:]]  # type: ignore[arg-type]
            outs = [np.zeros(shape) for shape in shapes]
            simulate.run(kernel, [*given, *outs])
            found[name] = outs
        return found

    before = results()
    monkeypatch.setattr(row_streams, "FAR", 0)
    assert all(map(asked_for, kernels(m, k, target).values()))
    after = results()
    for name, outs in before.items():
        for one, other in zip(outs, after[name], strict=True):
            assert one.tobytes() == other.tobytes()


def test_threads_do_not_change_bits() -> None:
    """What is asked for behind the last rows is not there, and matters to nobody."""
    a, x, b = (
        RNG.standard_normal((1 << 14, 61)),
        RNG.standard_normal(61),
        RNG.standard_normal((61, 3)),
    )
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        found = jit(lambda a, x, b: ((a @ x) @ a, a @ b, a @ x))(a, x, b)
        results.add(b"".join(np.asarray(r).tobytes() for r in found))
        np.testing.assert_allclose(found[1], a @ b, rtol=1e-12, atol=1e-12)
    set_num_threads(None)
    assert len(results) == 1
