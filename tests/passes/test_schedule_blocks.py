"""Schedules for targets with blocks give the bits of the logical kernel, without races."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.ir.ops
import pyc.numpy as pnp
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.loops import Alloc, Barrier, Body, Buffer, For, If, Kernel, Kind, Space, While, walk
from pyc.ir.target import SM_90, X86_64_V3, Target
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.passes import element_blocks, optimise
from pyc.passes.memory import plan
from pyc.passes.schedule_blocks import schedule_blocks

Array = np.ndarray[Any, Any]
Make = Callable[[Builder, list[Value]], list[Value]]


def values(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> Array:
    """Awkward elements: signs, zeros, large and small magnitudes."""
    rng = np.random.default_rng(seed)
    if dtype is dt.b1:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        return rng.integers(0, 100, shape).astype(dtype.numpy)
    found = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)
    return np.asarray(found).astype(dtype.numpy)


def graph_of(make: Make, *types: tuple[tuple[int, ...], DType]) -> Graph:
    """The Graph of `make` over parameters of these types."""
    builder = Builder()
    params = [builder.param(ArrayType(shape, dtype)) for shape, dtype in types]
    return builder.build(make(builder, params))


def run_stages(kernel: Kernel, arrays: list[Array], target: Target = SM_90) -> list[Kernel]:
    """Runs the stages of a logical kernel in place; the scheduled kernels."""
    stages = schedule_blocks(kernel, target)
    scratch: dict[Buffer, Array] = {}
    for stage in stages:
        here: list[Array] = []
        for k, buffer in enumerate(stage.kernel.buffers):
            shape = tuple(d for d in buffer.shape if isinstance(d, int))
            if k < len(stage.positions):
                here.append(arrays[stage.positions[k]].reshape(shape))
            else:
                scratch.setdefault(buffer, np.full(shape, 7, buffer.dtype.numpy))
                here.append(scratch[buffer])
        simulate.run(stage.kernel, here, check_outputs=len(stages) == 1)
    return [s.kernel for s in stages]


NO_ROOM = replace(SM_90, shared_bytes=31 << 10, cluster_blocks=1, group_blocks=1)
"""A device whose blocks have no room for what a row program reads."""


def check(
    make: Make, *types: tuple[tuple[int, ...], DType], target: Target = SM_90
) -> list[Kernel]:
    """Every kernel of the Graph gives the same bits scheduled as logical; the scheduled ones."""
    found: list[Kernel] = []
    for kernel in plan(graph_of(make, *types), X86_64_V3).logical:
        found += run_on(kernel, target)
    return found


def run_on(kernel: Kernel, target: Target) -> list[Kernel]:
    """What a target runs for a logical kernel, whose bits it gives."""
    arrays = [
        np.array(values(tuple(d for d in b.shape if isinstance(d, int)), b.dtype, k))
        for k, b in enumerate(kernel.buffers)
    ]
    expected = [a.copy() for a in arrays]
    simulate.run(kernel, expected)
    found = run_stages(kernel, arrays, target)
    for buffer, a, e in zip(kernel.buffers, arrays, expected, strict=True):
        assert a.tobytes() == e.tobytes(), buffer.name
    return found


def extents(kernels: list[Kernel], kind: Kind) -> list[Any]:
    """Extents of the loops of one kind."""
    return [
        s.extent for k in kernels for s in walk(k.body) if isinstance(s, For) and s.kind is kind
    ]


@pytest.mark.parametrize("size", [1, 3, 1024, 1030, 4099])
def test_chains_run_one_vector_per_thread(size: int) -> None:
    found = check(
        lambda b, p: [b.bind1("add", b.bind1("mul", p[0], p[1]), p[1])],
        ((size,), dt.f32),
        ((size,), dt.f32),
    )
    assert len(found) == 1
    if size >= 1024:
        assert extents(found, Kind.VECTOR) == [4]
        assert extents(found, Kind.THREAD) == [256]


def test_wide_and_narrow_types_take_the_vector_of_the_widest() -> None:
    found = check(lambda b, p: [b.bind1("cast", p[0], dtype=dt.f64)], ((4096,), dt.f32))
    assert extents(found, Kind.VECTOR) == [2]
    found = check(lambda b, p: [b.bind1("bitwise_not", p[0])], ((4096,), dt.u8))
    assert extents(found, Kind.VECTOR) == [16]


@pytest.mark.parametrize("function", [lambda x, k: x * k, lambda x, k: x / k * k])
def test_a_number_of_a_wider_type_leaves_vectors_as_wide(function: Callable[..., Any]) -> None:
    """A Python float is a float64, which is converted once and is no element of a vector."""
    graph = optimise(pyc.jit(function).trace(np.ones(4096, np.float32), 2.0).graph)
    found = plan(graph, SM_90, check=True).plan.kernels
    assert extents(found, Kind.VECTOR) == [4]


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (lambda a, b: a / (a + 1) * b, ["b0", "b1"]),
        (lambda a, b: a + 1 + b, []),
        (lambda a, b: pnp.where(a > 1, a / 3, b), ["b1"]),
        (lambda a, b: pnp.where(a > b, a / 3, b), ["b0", "b1"]),
    ],
    ids=["quotient", "no branch", "below a choice", "chosen and compared"],
)
def test_reads_stand_before_work_that_branches(function: Any, first: list[str]) -> None:
    """The compiler leaves them behind it; what a choice may leave out stays where it is."""
    x = np.ones(4096, np.float32)
    (kernel,) = plan(optimise(pyc.jit(function).trace(x, x).graph), SM_90).plan.kernels
    bound = re.findall(r"v\d+ = (b\d)\[", print_kernel(kernel))
    assert sorted(bound) == first


@pytest.mark.parametrize(
    "shape", [(64, 128), (33, 64), (70, 129), (64, 2, 96), (7, 5), (3, 40, 50)]
)
@pytest.mark.parametrize("dtype", [dt.f32, dt.f64, dt.u8])
def test_transposes_keep_their_values(shape: tuple[int, ...], dtype: DType) -> None:
    axes = tuple(reversed(range(len(shape))))
    found = check(lambda b, p: [b.bind1("transpose", p[0], axes=axes)], (shape, dtype))
    assert _shared(found) == (min(shape[0], shape[-1]) >= 16)


def test_work_on_both_orders_reads_one_of_them_through_a_tile() -> None:
    def make(b: Builder, p: list[Value]) -> list[Value]:
        return [b.bind1("add", b.bind1("transpose", p[0], axes=(1, 0)), p[1])]

    assert _shared(check(make, ((65, 40), dt.f32), ((40, 65), dt.f32)))


def _shared(kernels: list[Kernel]) -> bool:
    """Whether some kernel has shared memory."""
    statements = (s for k in kernels for s in walk(k.body))
    return any(isinstance(s, Alloc) and s.buffer.space is Space.SHARED for s in statements)


ROWS = [1, 3, 16, 100, 128, 130, 1000, 1024, 1025, 3072, 4096, 5000]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_max", "argmax"])
def test_sums_over_the_last_axis(row: int, op: str) -> None:
    check(lambda b, p: list(b.bind(op, p[0], axes=(1,))), ((5, row), dt.f32))


@pytest.mark.parametrize("dtype", [dt.f64, dt.i32, dt.bf16, dt.u8])
def test_sums_of_other_types(dtype: DType) -> None:
    check(lambda b, p: list(b.bind("reduce_sum", p[0], axes=(1,))), ((3, 2048), dtype))


@pytest.mark.parametrize("row", [2, 16, 100, 1024, 3000])
def test_sums_over_the_first_axis(row: int) -> None:
    check(lambda b, p: list(b.bind("reduce_sum", p[0], axes=(0,))), ((row, 40), dt.f32))


def test_sums_over_the_middle_axis() -> None:
    check(lambda b, p: list(b.bind("reduce_sum", p[0], axes=(1,))), ((3, 130, 6), dt.f32))


def test_sums_over_two_axes() -> None:
    check(lambda b, p: list(b.bind("reduce_sum", p[0], axes=(0, 2))), ((3, 4, 100), dt.f32))


@pytest.mark.parametrize("size", [32768, 40000, 70000, 300000])
def test_long_sums_are_split_and_joined(size: int) -> None:
    found = check(lambda b, p: list(b.bind("reduce_sum", p[0], axes=(0,))), ((size,), dt.f32))
    assert len(found) == 1
    assert bool(extents(found, Kind.GROUP)) == (size > 32768), "the last block joins"


def along_rows(b: Builder, op: str, x: Value) -> Value:
    """A reduction over the last axis, stretched back."""
    (found,) = b.bind(op, x, axes=(1,))
    column = b.bind1("reshape", found, shape=(x.shape[0], 1))
    return b.bind1("broadcast", column, shape=x.shape)


def softmax(b: Builder, p: list[Value]) -> list[Value]:
    """exp(x - max) / sum over the last axis."""
    (x,) = p
    e = b.bind1("exp", b.bind1("sub", x, along_rows(b, "reduce_max", x)))
    return [b.bind1("div", e, along_rows(b, "reduce_sum", e))]


@pytest.mark.parametrize("row", [3, 100, 128, 1000, 1024, 2500, 4096])
def test_softmax_is_one_kernel(row: int) -> None:
    found = check(softmax, ((9, row), dt.f32))
    assert len(found) == 1


def test_a_row_too_long_for_registers_is_read_again() -> None:
    check(softmax, ((1, 40000), dt.f32))


def test_what_a_row_stores_twice_is_bound_in_each_piece() -> None:
    """A thread walks several pieces of the row, each with names of its own."""

    def make(b: Builder, p: list[Value]) -> list[Value]:
        doubled = b.bind1("add", p[0], p[0])
        (most,) = b.bind("reduce_max", doubled, axes=(0, 1))
        return [most, doubled, b.bind1("mul", doubled, doubled)]

    graph = graph_of(make, ((6, 35), dt.f32))
    plan(graph, SM_90, check=True)
    check(make, ((6, 35), dt.f32))


@pytest.mark.parametrize("size", [5000, 70_000])
def test_many_reductions_share_their_memory(size: int) -> None:
    """Two pieces in turn are enough for any number of reductions, beside what is held of a long
    row: a block has 48 KiB."""

    def make(b: Builder, p: list[Value]) -> list[Value]:
        found: list[Value] = []
        for k in range(5):
            factor = b.bind1("broadcast", b.constant(k + 0.5, dt.f32), shape=p[0].shape)
            scaled = b.bind1("mul", p[0], factor)
            found += b.bind("reduce_sum", scaled, axes=(1,))
            found += b.bind("argmax", scaled, axes=(1,))
        return found

    for kernel in check(make, ((2, size), dt.f32)):
        shared = [
            s.buffer
            for s in walk(kernel.body)
            if isinstance(s, Alloc) and s.buffer.space is Space.SHARED
        ]
        assert len(shared) <= (4 if size == 5000 else 5)
        sizes = [prod(int(n) for n in b.shape) * b.dtype.itemsize for b in shared]
        assert sum(sizes) <= 48 << 10


# --- row programs in several launches -------------------------------------------------------------


def along(b: Builder, op: str, x: Value, axis: int) -> Value:
    """A reduction over an axis, stretched back."""
    (found,) = b.bind(op, x, axes=(axis,))
    shape = tuple(1 if k == axis else d for k, d in enumerate(x.shape))
    return b.bind1("broadcast", b.bind1("reshape", found, shape=shape), shape=x.shape)


def softmax_along(axis: int) -> Make:
    def make(b: Builder, p: list[Value]) -> list[Value]:
        e = b.bind1("exp", b.bind1("sub", p[0], along(b, "reduce_max", p[0], axis)))
        return [b.bind1("div", e, along(b, "reduce_sum", e, axis))]

    return make


def dependent(axis: int) -> Make:
    """Three reductions, each of which needs the one before, and results of all kinds."""

    def make(b: Builder, p: list[Value]) -> list[Value]:
        (x,) = p
        first = along(b, "reduce_sum", x, axis)
        product = b.bind1("mul", x, first)
        second = along(b, "reduce_max", product, axis)
        last = b.bind1("sub", product, second)
        (place,) = b.bind("argmax", last, axes=(axis,))
        (total,) = b.bind("reduce_sum", last, axes=(axis,))
        return [b.bind1("add", last, second), place, total, b.bind1("mul", x, x)]

    return make


@pytest.mark.parametrize("make", [softmax_along, dependent], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("shape", "axis"), [((900, 12), 0), ((1100, 7), 0), ((3, 900, 3), 1), ((2, 33_000), 1)]
)
def test_few_long_rows_are_several_launches(
    make: Callable[[int], Make], shape: tuple[int, ...], axis: int
) -> None:
    """Blocks of each reduction, what joins them, and the row at last: no thread walks a row. Each
    launch over rows joins for itself what the one before left."""
    found = check(make(axis), (shape, dt.f32), target=NO_ROOM)
    count = 2 if make is softmax_along else 3
    assert len(found) == (2 * count + 1 if axis + 1 < len(shape) else count + 1)
    assert not any(
        isinstance(s, Alloc) and s.buffer.space is Space.STACK for k in found for s in walk(k.body)
    )


def beside_columns(b: Builder, p: list[Value]) -> list[Value]:
    """The maximum of y.T * sum(x) over rows: x is read along them, y across."""
    x, y = p
    product = b.bind1("mul", b.bind1("transpose", y, axes=(1, 0)), along(b, "reduce_sum", x, 1))
    return list(b.bind("reduce_max", product, axes=(1,)))


@pytest.mark.parametrize("row", [129, 300, 1024, 1500])
def test_warps_beyond_a_short_row_read_nothing(row: int) -> None:
    """A block of several warps has a row of one chunk: the others would add the rows behind it."""
    found = check(beside_columns, ((9, row), dt.f32), ((row, 9), dt.f32))
    assert len(found) > 1


def sliced(b: Builder, p: list[Value]) -> list[Value]:
    """A part of y from where x is largest on, and where that is largest."""
    x, y = p
    (start,) = b.bind("argmax", x, axes=(0,))
    part = b.bind1("dynamic_slice", y, start, starts=(None,), sizes=x.shape)
    return [part, *b.bind("argmax", part, axes=(0,))]


def from_largest(axis: int) -> Make:
    """The same of each row, or column, and two reductions."""

    def make(b: Builder, p: list[Value]) -> list[Value]:
        x, y = p
        places = b.bind1("iota", shape=x.shape, axis=axis, dtype=dt.i64)
        places = b.bind1("add", places, along(b, "argmax", x, axis))
        part = b.bind1("gather", y, places, axes=(0,), position=0)
        total = b.bind("reduce_sum", part, axes=(axis,))
        return [part, *total, *b.bind("reduce_max", b.bind1("mul", part, part), axes=(axis,))]

    return make


@pytest.mark.parametrize("target", [SM_90, NO_ROOM], ids=["sm_90", "no room"])
@pytest.mark.parametrize(
    ("make", "shape"),
    [
        *((sliced, (n,)) for n in (5, 300, 5000, 40_000)),
        *((from_largest(1), shape) for shape in ((9, 5), (9, 300), (9, 5000), (3, 900, 3))),
        *((from_largest(0), shape) for shape in ((900, 12), (1100, 7))),
    ],
    ids=lambda x: x.__name__ if callable(x) else "x".join(map(str, x)),
)
def test_what_a_reduction_finds_may_be_an_address(
    make: Make, shape: tuple[int, ...], target: Target
) -> None:
    """What several regions read stays in registers or shared memory, but where its address comes
    from one of them it cannot be loaded before it."""
    check(make, (shape, dt.f32), ((2 * max(shape),), dt.f32), target=target)


def test_many_columns_and_short_ones_stay_one_launch() -> None:
    assert len(check(softmax_along(0), ((100, 40), dt.f32))) == 1
    wide = plan(graph_of(softmax_along(0), ((200, 1 << 16), dt.f32)), SM_90)
    assert len(wide.plan.kernels) == 1


# --- several vectors of a thread ------------------------------------------------------------------


def stencil(b: Builder, p: list[Value]) -> list[Value]:
    """The middle of each element's neighbours above, below and beside it."""
    (x,) = p
    rows, columns = x.shape

    def part(row: int, column: int) -> Value:
        size = (rows - 2, columns - 2)
        return b.bind1("slice", x, start=(row, column), size=size, step=(1, 1))

    total = b.bind1("add", part(0, 1), part(2, 1))
    return [b.bind1("add", b.bind1("add", total, part(1, 0)), part(1, 2))]


def gathered(b: Builder, p: list[Value]) -> list[Value]:
    return [b.bind1("gather", p[0], p[1], axes=(0,), position=0)]


SEVERAL: dict[str, tuple[Make, tuple[tuple[tuple[int, ...], DType], ...], list[int]]] = {
    "narrow": (lambda b, p: [b.bind1("cast", p[0], dtype=dt.f32)], (((9000,), dt.bf16),), [4, 4]),
    "whole blocks": (lambda b, p: [b.bind1("neg", p[0])], (((8192,), dt.f32),), [2]),
    "a part of a block": (lambda b, p: [b.bind1("neg", p[0])], (((9000,), dt.f32),), [2, 2]),
    "a part of a vector": (lambda b, p: [b.bind1("neg", p[0])], (((9003,), dt.f32),), [2, 2]),
    "enough": (lambda b, p: [b.bind1("add", *p)], (((9000,), dt.f32),) * 2, []),
    "joined": (
        lambda b, p: [b.bind1("concatenate", *p, axis=1)],
        (((41, 100), dt.f32), ((41, 131), dt.f32)),
        [4, 4],
    ),
    "padded": (
        lambda b, p: [b.bind1("pad", *p, low=(1, 3), high=(2, 0))],
        (((40, 100), dt.f32), ((), dt.f32)),
        [8, 8],
    ),
    "gathered": (gathered, (((70, 60), dt.f32), ((90,), dt.i64)), [2, 2]),
    "rows of a stencil": (stencil, (((40, 230), dt.f32),), [4, 2]),
    "all rows of a stencil": (stencil, (((42, 230), dt.f64),), [4]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_threads_of_large_work_compute_several_vectors(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many that enough bytes are under way; fewer threads than keep the device busy are none."""
    make, types, counts = SEVERAL[name]
    assert not extents(check(make, *types), Kind.UNROLL)
    monkeypatch.setattr(element_blocks, "BUSY", 64)
    found = check(make, *types)
    assert extents(found, Kind.UNROLL) == counts
    plan(graph_of(make, *types), SM_90, check=True)


@pytest.mark.parametrize("shape", [(9000,), (90, 100), (8192,)])
@pytest.mark.parametrize("types", [(dt.f32,), (dt.bf16, dt.bf16)])
def test_all_vectors_of_a_thread_are_read_before_work_that_branches(
    shape: tuple[int, ...], types: tuple[DType, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a branch of the first vector the reads of the next would wait for it."""
    monkeypatch.setattr(element_blocks, "BUSY", 64)
    (found,) = check(
        lambda b, p: [b.bind1("div", b.bind1("add", p[0], p[-1]), p[-1])],
        *((shape, t) for t in types),
    )
    lines = print_kernel(found).splitlines()
    quotients = [k for k, line in enumerate(lines) if " / " in line]
    reads = [k for k, line in enumerate(lines) if re.search(r" = b[01]\[", line)]
    assert 0 < len(reads) == len(types) * len(quotients)
    assert all(k < quotients[0] for k in reads[: len(types)])
    assert set(extents([found], Kind.UNROLL)) == {2}
    assert sum("register" in line for line in lines) == len(reads)


# --- barriers -------------------------------------------------------------------------------------


def without_barrier(body: Body, number: int) -> Body:
    """`body` without the barrier of this number in program order."""
    seen = iter(range(1 << 30))

    def rest(body: Body) -> Body:
        kept: list[Any] = []
        for s in body:
            if isinstance(s, Barrier) and next(seen) == number:
                continue
            if isinstance(s, (For, While, Alloc)):
                s = replace(s, body=rest(s.body))
            elif isinstance(s, If):
                s = replace(s, then=rest(s.then), orelse=rest(s.orelse))
            kept.append(s)
        return tuple(kept)

    return rest(body)


def _sum_and_maximum(b: Builder, p: list[Value]) -> list[Value]:
    total = b.bind1("reduce_sum", p[0], axes=(1,))
    mean = b.bind1("broadcast", b.bind1("reshape", total, shape=(4, 1)), shape=(4, 3000))
    return [b.bind1("reduce_max", b.bind1("sub", p[0], mean), axes=(1,))]


WITH_BARRIERS: dict[str, tuple[Make, tuple[int, ...], int]] = {
    "row sum": (lambda b, p: [b.bind1("reduce_sum", p[0], axes=(1,))], (5, 3000), 1),
    "argmax": (lambda b, p: [b.bind1("argmax", p[0], axes=(1,))], (3, 5000), 1),
    "transpose": (lambda b, p: [b.bind1("transpose", p[0], axes=(1, 0))], (64, 128), 1),
    "two reductions": (_sum_and_maximum, (4, 3000), 2),
}


@pytest.mark.parametrize("name", WITH_BARRIERS)
def test_each_barrier_that_is_removed_is_a_race(name: str) -> None:
    make, shape, count = WITH_BARRIERS[name]
    (logical,) = plan(graph_of(make, (shape, dt.f32)), X86_64_V3).logical
    (stage,) = schedule_blocks(logical, SM_90)
    kernel = stage.kernel
    assert sum(isinstance(s, Barrier) for s in walk(kernel.body)) == count
    arrays = [np.ones([int(str(d)) for d in b.shape], b.dtype.numpy) for b in kernel.buffers]
    simulate.run(kernel, arrays)
    for number in range(count):
        wrong = replace(kernel, body=without_barrier(kernel.body, number))
        with pytest.raises(simulate.SimulationError, match=r"race: .* without order"):
            simulate.run(wrong, arrays)
