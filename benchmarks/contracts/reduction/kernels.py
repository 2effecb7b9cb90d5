"""The kernel texts worth trying for a shape and an order, by name."""

from __future__ import annotations

from typing import Any

from benchmarks.contracts.reduction.arithmetic import FAST, Arithmetic
from benchmarks.contracts.reduction.first_axis import sum_first
from benchmarks.contracts.reduction.first_axis_wide import sum_first_wide
from benchmarks.contracts.reduction.last_axis import sum_last
from benchmarks.contracts.reduction.order import ALTERNATIVES, DOCUMENTED, Order
from benchmarks.contracts.reduction.writer import Writer

KEEP16 = next(order for order in ALTERNATIVES if order.name == "keep16")
ADJACENT = next(order for order in ALTERNATIVES if order.name == "adjacent-keep1")
FIRST_AXIS_ORDERS = (DOCUMENTED, KEEP16, ADJACENT)
ROW_ORDERS = (DOCUMENTED, KEEP16)


def last_axis_kernels(dtype: str, n: int, order: Order | None) -> dict[str, str]:
    """Kernel texts by name: both widths, and accumulators (free) or chunks in registers."""
    groups = (4, 8) if order is None else (1, 2, 4) if n >= 2 * order.chunk else (1,)
    return {
        f"{bits}/{group}": sum_last(Writer(dtype, bits), n, order, group)
        for bits in (512, 256)
        for group in groups
    }


def first_axis_kernels(
    dtype: str, rows: int, columns: int, stride: int, order: Order | None
) -> dict[str, str]:
    """Kernel texts by name: the loop nests worth trying for this shape, 512 bits."""
    if order == DOCUMENTED and rows <= order.chunk:
        # in one chunk DOCUMENTED and KEEP16 are the same tree, and all nests serve both
        order = KEEP16
    narrow: tuple[str, ...]
    wide: list[tuple[int, int]] = []
    vectors = -(-columns * (4 if dtype == "float32" else 8) // 64)
    if order is None:
        narrow, wide = ("free",), [(64, 1), (64, 2), (256, 1), (256, 2)]
    elif order.keep == 1:
        narrow = ("small-stack",)
    elif order.keep < order.lanes:
        narrow = ("kept-sweep",) if rows > 16 else ()
        wide = [(tile, at_once) for tile in (16, 64, 256) for at_once in (1, 2)]
    else:
        narrow = ("lane-sweep", "bit-reversed") if rows > 16 else ()
        wide = [(tile, at_once) for tile in (16, 64, 256) for at_once in (1, 2)]
    if order is not None and order.keep > 1 and rows <= order.chunk:
        narrow = ("few-rows", *narrow)  # one chunk: all these orders are one tree
        if rows <= order.lanes:
            wide = [(tile, 8) for tile in (16, 64, 256)]
    if vectors < 8 or rows <= 16:
        wide = []
    tiles = (1, 2) if vectors < 8 else (4, 8, 16)
    texts = {
        f"{nest}/{tile}": sum_first(Writer(dtype, 512), rows, columns, stride, nest, tile, order)
        for nest in narrow
        for tile in tiles
        if not (nest in ("lane-sweep", "kept-sweep", "bit-reversed") and tile == 8)
    }
    for tile, at_once in wide:
        text = sum_first_wide(Writer(dtype, 512), rows, columns, stride, tile, order, at_once)
        texts[f"wide/{tile}/{at_once}"] = text
    return texts


def row_kernels(
    program: Any,
    n: int,
    order: Order | None,
    arithmetic: Arithmetic = FAST,
    *,
    scales: bool = False,
) -> dict[str, str]:
    groups = (4, 8) if order is None else (1, 2)
    return {
        f"{bits}/{group}": program(
            Writer("float32", bits, scales=scales), n, order, group, arithmetic
        )
        for bits in (512, 256)
        for group in groups
    }


def first_axis_programs(
    program: Any, rows: int, columns: int, arithmetic: Arithmetic, *, scales: bool
) -> dict[str, str]:
    """Free kernels of a program along the first axis, by tile."""
    vectors = -(-columns // 16)
    tiles = [tile for tile in (1, 4, 16, 64, 256) if tile < vectors] + [min(vectors, 256)]
    return {
        f"wide/{tile}": program(
            Writer("float32", 512, scales=scales), rows, columns, tile, arithmetic
        )
        for tile in tiles
    }
