"""PTX of scheduled kernels: exact arithmetic, wide accesses, and what the assembler says of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.backends.nvptx import launch_of, module_text, ptx
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Load, Shuffle, Var
from pyc.ir.graph import Builder, Value
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Fail,
    For,
    Kernel,
    Kind,
    Let,
    Space,
    Store,
)
from pyc.ir.target import SM_90, Target, nvptx
from pyc.ir.types import ArrayType
from pyc.passes.memory import plan

Make = Callable[[Builder, list[Value]], list[Value]]


def kernels_of(make: Make, *types: tuple[tuple[int, ...], DType]) -> tuple[Kernel, ...]:
    """The kernels of a Graph scheduled for sm_90."""
    builder = Builder()
    params = [builder.param(ArrayType(shape, dtype)) for shape, dtype in types]
    return plan(builder.build(make(builder, params)), SM_90).plan.kernels


def ptx_of(make: Make, *types: tuple[tuple[int, ...], DType]) -> str:
    """Their PTX."""
    return ptx(module_text(kernels_of(make, *types), SM_90)[0], SM_90)


@pytest.mark.parametrize("op", ["shift_left", "shift_right"])
@pytest.mark.parametrize("dtype", [dt.i64, dt.u64], ids=str)
def test_all_bits_of_a_shift_count_count(op: str, dtype: DType) -> None:
    """PTX reads 32 bits of it: 1 << (1 << 32) would be 1. (LLVM 22 thinks that it reads all.)"""
    text = ptx_of(lambda b, p: [b.bind1(op, *p)], ((4096,), dtype), ((4096,), dtype))
    assert "min.u64" in text


def silu(b: Builder, p: list[Value]) -> list[Value]:
    """a / (1 + exp(-a)) * b + sqrt(b)."""
    x, y = p
    one = b.bind1("broadcast", b.constant(1.0, dt.f32), shape=x.shape)
    below = b.bind1("add", one, b.bind1("exp", b.bind1("neg", x)))
    product = b.bind1("mul", b.bind1("div", x, below), y)
    return [b.bind1("add", product, b.bind1("sqrt", y))]


def softmax(b: Builder, p: list[Value]) -> list[Value]:
    """exp(x - max) / sum over the last axis."""

    def stretched(op: str, x: Value) -> Value:
        (found,) = b.bind(op, x, axes=(1,))
        column = b.bind1("reshape", found, shape=(x.shape[0], 1))
        return b.bind1("broadcast", column, shape=x.shape)

    e = b.bind1("exp", b.bind1("sub", p[0], stretched("reduce_max", p[0])))
    return [b.bind1("div", e, stretched("reduce_sum", e))]


def test_arithmetic_is_exactly_rounded_and_never_contracted() -> None:
    text = ptx_of(silu, ((4096,), dt.f32), ((4096,), dt.f32))
    assert not re.search(r"\.approx|\.ftz|\.full", text)
    assert "div.rn.f32" in text and "sqrt.rn.f32" in text
    assert not re.search(r"\b(add|sub|mul)\.f(32|64)", text), "without .rn the driver may contract"


@pytest.mark.parametrize("space", [Space.GLOBAL, Space.SHARED])
@pytest.mark.parametrize(
    ("dtype", "monoid", "instruction"),
    [
        (dt.i32, "add", r"atom\S*\.add\.u32"),
        (dt.u64, "minimum", r"atom\S*\.min\.u64"),
        (dt.i64, "maximum", r"atom\S*\.max\.s64"),
        (dt.i32, "mul", r"atom\S*\.cas\.b32"),
        (dt.i8, "add", r"atom\S*\.cas\.b32"),
        (dt.b1, "or", r"atom\S*\.cas\.b32"),
        (dt.f32, "minimum", r"atom\S*\.cas\.b32"),
        (dt.f64, "maximum", r"atom\S*\.cas\.b64"),
        (dt.f32, "add", None),
    ],
    ids=str,
)
def test_threads_that_meet_in_memory_accumulate_at_once(
    space: Space, dtype: DType, monoid: str, instruction: str | None
) -> None:
    """What has an order is not: such a kernel has one thread for each element."""
    own = Buffer("own", dtype, (8,), Space.SHARED)
    x = Buffer("x", dtype, (8,), role="inout")
    values = Buffer("values", dtype, (64,), role="in")
    block, thread = Var("block"), Var("thread")
    target = x if space is Space.GLOBAL else own
    meet = Accumulate(target, (thread & 7,), Load(values, (thread,)), monoid)
    body: Body = (For(thread, 64, Kind.THREAD, (meet,)),)
    if space is Space.SHARED:
        body = (Alloc(own, body),)
    kernel = Kernel("k", (x, values), (For(block, 1, Kind.GRID, body),))
    text = ptx(module_text((kernel,), SM_90)[0], SM_90)
    if instruction is None:
        assert "atom" not in text
    else:
        assert re.search(instruction, text)


def test_a_product_and_a_sum_stay_two_roundings() -> None:
    text = ptx_of(
        lambda b, p: [b.bind1("add", b.bind1("mul", p[0], p[1]), p[1])],
        ((4096,), dt.f32),
        ((4096,), dt.f32),
    )
    assert "fma" not in text
    assert "mul.rn.f32" in text and "add.rn.f32" in text


def test_operands_move_in_16_bytes() -> None:
    text = ptx_of(silu, ((1 << 20,), dt.f32), ((1 << 20,), dt.f32))
    assert text.count("ld.global.nc.v4") == 2
    assert text.count("st.global.v4") == 1
    assert not re.search(r"\b(ld|st)\.(global|local)\S*\.f32|\.local\.", text)


def padded(b: Builder, p: list[Value]) -> list[Value]:
    zero = b.constant(0, p[0].dtype)
    return [b.bind1("pad", p[0], zero, low=(3, 3), high=(3, 3))]


def test_indices_are_compared_and_divided_in_32_bits() -> None:
    """64 bits are several instructions of a GPU each; addresses stay as wide as they are."""
    text = ptx_of(padded, ((1000, 1002), dt.f32))
    assert not re.search(r"\b(min|max|mul\.hi|div|rem)\.[su]64|setp\.\w+\.[su]64", text)
    assert "min.s32" in text and "mul.hi.u32" in text
    assert re.search(r"mul\.wide|add\.s64", text)


def test_indices_that_may_not_fit_in_32_bits_stay_wide() -> None:
    text = ptx_of(padded, ((1 << 31, 33), dt.u8))
    assert re.search(r"setp\.\w+\.[su]64|(min|max)\.[su]64", text)


def test_lanes_from_anywhere_are_read_through_the_read_only_path() -> None:
    """They would have to be read before the next store otherwise, whatever it is to."""
    text = ptx_of(padded, ((2048, 512), dt.f32))
    assert "ld.global.nc" in text and not re.search(r"ld\.global\.[vb]", text)


def test_row_programs_stay_out_of_local_memory() -> None:
    text = ptx_of(softmax, ((64, 4096), dt.f32))
    assert ".local" not in text
    assert text.count("ld.global") == 8, "each thread reads its part of the row once"
    assert text.count("bar.sync") + text.count("barrier.sync") == 2, "one per reduction"
    assert "shfl.sync.bfly" in text


def test_text_does_not_depend_on_the_run() -> None:
    one, two = (module_text(kernels_of(softmax, ((5, 1000), dt.f32)), SM_90)[0] for _ in range(2))
    assert one == two
    assert ptx(one, SM_90) == ptx(two, SM_90)


@pytest.mark.parametrize("target", [nvptx(80), nvptx(89), SM_90], ids=lambda t: t.id)
def test_each_capability_is_named(target: Target) -> None:
    text = ptx(module_text(kernels_of(silu, ((64,), dt.f32), ((64,), dt.f32)), target)[0], target)
    assert f".target {target.cpu}" in text and ".version 8.1" in text


def test_launches_follow_from_the_loops() -> None:
    (kernel,) = kernels_of(softmax, ((64, 4096), dt.f32))
    assert launch_of(kernel, "k").grid == (64, 1, 1)
    assert launch_of(kernel, "k").threads == 128
    assert ".maxntid 128" in ptx(module_text((kernel,), SM_90)[0], SM_90)


def test_clusters_are_part_of_the_code() -> None:
    """A plain launch starts them: their blocks are neighbours along x."""
    (kernel,) = kernels_of(softmax, ((64, 1 << 17), dt.f32))
    launch = launch_of(kernel, "k")
    assert launch.grid == (1024, 1, 1) and launch.cluster == 16
    text = ptx(module_text((kernel,), SM_90)[0], SM_90)
    assert ".explicitcluster" in text and ".reqnctapercluster 16" in text
    for needed in ("mapa.shared::cluster", "barrier.cluster.arrive", "ld.shared::cluster"):
        assert needed in text, needed


def threads(body: Callable[[Var, Buffer, Buffer], tuple[Any, ...]], dtype: DType) -> Kernel:
    """A kernel of one warp over two buffers of 32 elements."""
    source = Buffer("source", dtype, (32,), role="in")
    out = Buffer("out", dtype, (32,), role="out")
    block, thread = Var("block"), Var("thread")
    loop = For(thread, 32, Kind.THREAD, body(thread, source, out))
    return Kernel("threads", (source, out), (For(block, 1, Kind.GRID, (loop,)),))


@pytest.mark.parametrize(
    ("dtype", "exchanges"),
    [(dt.f32, 1), (dt.f64, 2), (dt.i64, 2), (dt.bf16, 1), (dt.u8, 1), (dt.b1, 1)],
)
def test_shuffles_move_every_type_in_words(dtype: DType, exchanges: int) -> None:
    def body(thread: Var, source: Buffer, out: Buffer) -> tuple[Any, ...]:
        value = Var("value", dtype)
        return (
            Let(value, Load(source, (thread,))),
            Store(out, (thread,), Shuffle(value, thread, 4)),
        )

    text = ptx(module_text((threads(body, dtype),), SM_90)[0], SM_90)
    assert text.count("shfl.sync.bfly.b32") == exchanges


def test_failures_lower_the_site_and_its_value() -> None:
    def body(thread: Var, source: Buffer, out: Buffer) -> tuple[Any, ...]:
        value = Load(source, (thread,))
        return (Fail(3, value < 0, value), Store(out, (thread,), value))

    text = ptx(module_text((threads(body, dt.i64),), SM_90)[0], SM_90)
    assert "min.u64" in text


def running(op: str, axis: int) -> Make:
    """A running combination."""
    return lambda b, p: [b.bind1(op, p[0], axis=axis, reverse=False)]


CASES: dict[str, tuple[Make, tuple[tuple[tuple[int, ...], DType], ...]]] = {
    "chain": (silu, (((4099,), dt.f32), ((4099,), dt.f32))),
    "softmax 1024": (softmax, (((64, 1024), dt.f32),)),
    "softmax 4096": (softmax, (((64, 4096), dt.f32),)),
    "softmax 32768": (softmax, (((4, 32768), dt.f32),)),
    "long sum": (
        lambda b, p: list(b.bind("reduce_sum", p[0], axes=(0,))),
        (((1 << 22,), dt.f32),),
    ),
    "columns": (
        lambda b, p: list(b.bind("reduce_sum", p[0], axes=(0,))),
        (((4096, 512), dt.f32),),
    ),
    "softmax of columns": (
        lambda b, p: softmax(b, [b.bind1("transpose", p[0], axes=(1, 0))]),
        (((4096, 300), dt.f32),),
    ),
    "softmax of long columns": (
        lambda b, p: softmax(b, [b.bind1("transpose", p[0], axes=(1, 0))]),
        (((1 << 16, 4096), dt.f32),),
    ),
    "softmax of long rows": (softmax, (((64, 1 << 17), dt.f32),)),
    "softmax of the longest rows": (softmax, (((64, 1 << 20), dt.f32),)),
    "argmax": (lambda b, p: list(b.bind("argmax", p[0], axes=(1,))), (((8, 3000), dt.f64),)),
    "product": (
        lambda b, p: [b.bind1("dot_general", p[0], p[1], dimensions=(((1,), (0,)), ((), ())))],
        (((1000, 300), dt.f32), ((300, 500), dt.f32)),
    ),
    "running sum": (running("cumsum", 1), (((300, 1000), dt.f32),)),
    "running sum of doubles": (running("cumsum", 1), (((3, 4000), dt.f64),)),
    "running maximum of columns": (running("cummax", 0), (((4000, 40), dt.f32),)),
    "running product of columns": (running("cumprod", 0), (((100, 400), dt.f32),)),
    "transpose": (
        lambda b, p: [b.bind1("transpose", p[0], axes=(1, 0))],
        (((1000, 516), dt.f32),),
    ),
    "sort of rows": (
        lambda b, p: list(b.bind("sort", p[0], descending=False)),
        (((64, 1000), dt.f32),),
    ),
    "long argsort": (
        lambda b, p: list(b.bind("argsort", p[0], descending=True)),
        (((1 << 20,), dt.f32),),
    ),
    "long sort of numbers of 64 bits": (
        lambda b, p: list(b.bind("sort", p[0], descending=False)),
        (((1 << 20,), dt.i64),),
    ),
    "best": (
        lambda b, p: list(b.bind("top_k", p[0], k=5, descending=True)),
        (((1 << 20,), dt.f32),),
    ),
    "scatter in order": (
        lambda b, p: [b.bind1("scatter", *p, axes=(0,), position=0, mode="add")],
        (((5000,), dt.f32), ((1 << 18,), dt.f32), ((1 << 18,), dt.i64)),
    ),
    "scatter in shares": (
        lambda b, p: [b.bind1("scatter", *p, axes=(0,), position=0, mode="max")],
        (((5000,), dt.f32), ((1 << 18,), dt.f32), ((1 << 18,), dt.i64)),
    ),
}
