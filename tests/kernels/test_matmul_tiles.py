"""The product by tensor cores: right values whatever the layout, and each of its waits needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.ir.ops
import pyc.numpy as pnp
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.loops import Kernel
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.simulate import SimulationError
from pyc.ir.target import SM_90, X86_64_V3, nvptx
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify
from pyc.kernels import matmul_tiles as tiles
from pyc.kernels.matmul_tiles import Shape, matmul_tiles, refusal_of_tiles, rows_for_tiles, shape_of
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.interpreted_device import on_device

PLAIN = (((1,), (0,)), ((), ()))
FIRST = (((0,), (0,)), ((), ()))
LAST = (((1,), (1,)), ((), ()))
BATCH = (((2,), (1,)), ((0,), (0,)))


def types_of(a: tuple[int, ...], b: tuple[int, ...], dtype: DType) -> tuple[ArrayType, ...]:
    return ArrayType(a, dtype), ArrayType(b, dtype)


@pytest.mark.parametrize(
    ("dimensions", "a", "b", "result", "dtype"),
    [
        (PLAIN, (128, 64), (64, 128), "ik,kj->ij", dt.bf16),
        (PLAIN, (130, 72), (72, 264), "ik,kj->ij", dt.f16),
        (PLAIN, (1100, 40), (40, 48), "ik,kj->ij", dt.bf16),
        (FIRST, (200, 136), (200, 64), "ki,kj->ij", dt.bf16),
        (LAST, (130, 136), (65, 136), "ik,jk->ij", dt.f16),
        (BATCH, (2, 64, 640), (2, 640, 80), "bik,bkj->bij", dt.bf16),
    ],
)
def test_products_are_right_and_race_free(
    dimensions: Any, a: tuple[int, ...], b: tuple[int, ...], result: str, dtype: DType
) -> None:
    types = types_of(a, b, dtype)
    assert not refusal_of_tiles(types, dimensions, SM_90)
    kernel = matmul_tiles(types, SM_90, dimensions=dimensions)
    verify(kernel, scheduled=True)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype(dtype.numpy) for s in (a, b))
    exact = np.einsum(result, x.astype(np.float64), y.astype(np.float64))
    out = np.zeros(exact.shape, dtype.numpy)
    simulate.run(kernel, [x, y, out])
    room = {dt.f16: 1e-3, dt.bf16: 4e-3}[dtype]
    terms = np.einsum(result, np.abs(x.astype(np.float64)), np.abs(y.astype(np.float64)))
    assert np.all(np.abs(out.astype(np.float64) - exact) <= room * terms)


@pytest.mark.parametrize(
    ("a", "b", "dimensions", "dtype"),
    [
        ((128, 64), (64, 128), PLAIN, dt.f32),
        ((128, 60), (60, 128), PLAIN, dt.bf16),
        ((128, 64), (64, 100), PLAIN, dt.bf16),
        ((128, 16), (16, 128), PLAIN, dt.bf16),
        ((8, 64), (64, 64), PLAIN, dt.bf16),
        ((128, 64), (64, 128), PLAIN, dt.f8e4m3),
        ((64, 2, 64), (64, 2, 64), (((2,), (2,)), ((1,), (1,))), dt.bf16),
    ],
    ids=["single", "rows of a", "rows of b", "few terms", "few results", "bytes", "batch inside"],
)
def test_what_the_copies_cannot_take_or_is_small_is_left_alone(
    a: tuple[int, ...], b: tuple[int, ...], dimensions: Any, dtype: DType
) -> None:
    assert refusal_of_tiles(types_of(a, b, dtype), dimensions, SM_90)


ODD = {
    "ik,kj": (PLAIN, (70, 67), (67, 45)),
    "ki,kj": (FIRST, (67, 70), (67, 48)),
    "ik,jk": (LAST, (70, 67), (45, 67)),
    "bik,bkj": (BATCH, (3, 40, 33), (3, 33, 40)),
    "ibk,bkj": ((((2,), (1,)), ((1,), (0,))), (40, 3, 33), (3, 33, 40)),
}


@pytest.mark.parametrize("layout", ODD)
def test_operands_that_are_no_rows_are_copied_into_rows(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dimensions, a, b = ODD[layout]
    assert refusal_of_tiles(types_of(a, b, dt.bf16), dimensions, SM_90)
    monkeypatch.setattr(tiles, "WORTH_ROWS", 1)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(s).astype(dt.bf16.numpy) for s in (a, b))

    def function(x: Any, y: Any) -> Any:
        return pnp.einsum(f"{layout}->{'b' * ('b' in layout)}ij", x, y) + 1

    traced = pyc.jit(function).trace(x, y).graph
    names = [k.name for k in plan(optimise(traced), SM_90).plan.kernels]
    assert names == [*(f"rows_of_{n}" for n in "ab" if needs_rows(layout, n)), "matmul"]
    (found,) = on_device(traced, [x, y])
    exact = np.einsum(f"{layout}->{'b' * ('b' in layout)}ij", *(v.astype(float) for v in (x, y)))
    assert np.abs(found.astype(float) - (exact + 1)).max() < 0.2


def needs_rows(layout: str, name: str) -> bool:
    return not (layout == "ki,kj" and name == "b") and not (layout.endswith("bkj") and name == "b")


def test_rows_of_whole_lines_are_copied_where_they_are_read_often() -> None:
    half = types_of((4096, 4104), (4104, 4096), dt.bf16)
    _, copies = rows_for_tiles(half, PLAIN)
    assert [operand for operand, _ in copies] == [0]
    assert not rows_for_tiles(types_of((4096, 4104), (4104, 512), dt.bf16), PLAIN)[1]
    assert not rows_for_tiles(types_of((4096, 4096), (4096, 4096), dt.bf16), PLAIN)[1]


def test_the_result_may_be_wider_than_the_operands() -> None:
    types = types_of((70, 64), (64, 48), dt.bf16)
    kernel = matmul_tiles(types, SM_90, dimensions=PLAIN, result=dt.f32)
    x, y = (np.full(t.shape, 0.1, t.dtype.numpy) for t in types)
    out = np.zeros((70, 48), np.float32)
    simulate.run(kernel, [x, y, out])
    assert np.allclose(out, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-6)


def test_it_is_for_one_architecture() -> None:
    types = types_of((128, 64), (64, 128), dt.bf16)
    assert [bool(refusal_of_tiles(types, PLAIN, nvptx(c))) for c in (80, 90, 100)] == [
        True,
        False,
        True,
    ]
    assert refusal_of_tiles(types, PLAIN, X86_64_V3)


def test_tiles_are_as_wide_as_the_device_stays_busy() -> None:
    sides = (1024, 2048, 4096)
    assert [shape_of(n // 128, n).columns for n in sides] == [64, 256, 256]
    assert shape_of(1000, 64).columns == 64


WAITS = {
    "free": (r"wait b7\[v\d+\] parity 1 - v\d+\n", "", "race"),
    "full": (r"wait b6\[v\d+\] parity v\d+\n", "", "unwritten"),
    "bytes": ("bytes 24576", "bytes 24578", "deadlock"),
    "arrivals": ("shared phased 8", "shared phased 9", "deadlock"),
    "warp": (r"\n *barrier \"warp\"(\n *if)", r"\1", "race"),
    "held": (r"(box \(128, 16\)\n) *barrier \"warp\"\n", r"\1", "race"),
    "stored": (r"barrier \"warp\"\n( *)}", r"\1}", "race"),
    "signal": (r"(box \(128, 64\) async) signal b6\[v\d+\]", r"\1", "deadlock"),
}


def one_block_for_all_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "SHAPES", (Shape(64, 1, 16, 1.0),))
    monkeypatch.setattr(tiles, "MULTIPROCESSORS", 1)


@pytest.mark.parametrize("tall", [128, 200], ids=["a tile", "from tile to tile"])
@pytest.mark.parametrize("name", WAITS)
def test_each_wait_is_needed(name: str, tall: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel interpreter says of a product of 2 rounds of stages without it."""
    if tall > 128:
        one_block_for_all_tiles(monkeypatch)
    types = types_of((tall, 640), (640, 64), dt.bf16)
    text = print_kernel(matmul_tiles(types, SM_90, dimensions=PLAIN))
    old, new, finding = WAITS[name]
    changed, found = re.subn(old, new, text, count=1)
    assert found == 1
    kernel: Kernel = parse_kernel(changed)
    x, y = (np.ones(t.shape, t.dtype.numpy) for t in types)
    with pytest.raises(SimulationError) as caught:
        simulate.run(kernel, [x, y, np.zeros((tall, 64), x.dtype)])
    assert finding in str(caught.value)


@pytest.mark.parametrize("processors", [1, 2, 4])
@pytest.mark.parametrize("dtype", [dt.bf16, dt.f64], ids=str)
def test_a_block_goes_from_tile_to_tile(
    processors: int, dtype: DType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five tiles, in stages that go on from one to the next."""
    one_block_for_all_tiles(monkeypatch)
    monkeypatch.setattr(tiles, "WIDE_SHAPES", tiles.SHAPES)
    monkeypatch.setattr(tiles, "MULTIPROCESSORS", processors)
    terms = 72 if dtype is dt.f64 else 200
    types = types_of((600, terms), (terms, 40), dtype)
    kernel = matmul_tiles(types, SM_90, dimensions=PLAIN)
    verify(kernel, scheduled=True)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(t.shape).astype(dtype.numpy) for t in types)
    out = np.zeros((600, 40), x.dtype)
    simulate.run(kernel, [x, y, out])
    wide = [v.astype(np.float64) for v in (x, y)]
    room = {dt.bf16: 4e-3, dt.f64: 1e-14}[dtype]
    sizes = np.abs(wide[0]) @ np.abs(wide[1])
    assert np.all(np.abs(out.astype(np.float64) - wide[0] @ wide[1]) <= room * sizes)
