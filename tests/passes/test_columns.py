"""Sweeps over tiles of columns: reductions and row programs along the first axis, on a CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Load, postorder
from pyc.ir.loops import Alloc, Buffer, For, Kernel, Kind, Prefetch, Store, expressions, walk
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.target import X86_64_V3, X86_64_V4, X86_64_V4_FP16, Target
from pyc.passes import (
    column_elements,
    column_reduction,
    columns,
    joint_sums,
    kept_lanes,
    optimise,
    schedule,
    sweeps,
)
from pyc.passes.memory import plan
from tests.passes.programs import awkward_arguments, graph_of, ones, planned
from tests.programs.differential import same_bits


def softmax(x: Any) -> Any:
    e = pnp.exp(x - pnp.max(x, axis=0))
    return e / pnp.sum(e, axis=0)


def softmax_and_logarithm(x: Any) -> Any:
    top = pnp.max(x, axis=0)
    e = pnp.exp(x - top)
    total = pnp.sum(e, axis=0)
    return e / total, pnp.log(total) + top


def wider_softmax(x: Any) -> Any:
    return pnp.astype(softmax(x), np.float64)


def layer_norm(x: Any, scale: Any) -> Any:
    away = x - pnp.mean(x, axis=0)
    return away / pnp.sqrt(pnp.mean(away * away, axis=0) + 1e-5) * scale


def several(x: Any) -> Any:
    return pnp.sum(x, axis=0), pnp.argmax(x, axis=0), pnp.sum(pnp.sin(x), axis=0)


def integers(x: Any) -> Any:
    return pnp.sum(pnp.astype(x, np.int32), axis=0), pnp.any(x > 2, axis=0)


def batched(x: Any) -> Any:
    return pnp.var(pnp.stack([x, x + 1]), axis=1)


def batched_difference(x: Any) -> Any:
    both = pnp.stack([x, x + 1])
    return both - pnp.mean(both, axis=1, keepdims=True)


PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    f.__name__: (f, count)
    for f, count in (
        (softmax, 1),
        (softmax_and_logarithm, 1),
        (wider_softmax, 1),
        (layer_norm, 2),
        (several, 1),
        (integers, 1),
        (batched, 1),
        (batched_difference, 1),
    )
}
ROWS = (40, 128, 200)
TALL = (1024, 2050)
COLUMNS = (16, 19)
CASES = [
    *((name, rows) for name in PROGRAMS for rows in ROWS),
    *((name, rows) for name in ("softmax", "several") for rows in TALL),
    ("layer_norm", 1300),
]


def check(name: str, rows: int, width: int, target: Any) -> list[Kernel]:
    """A program over (rows, width) gives the definition's bits; its scheduled kernels."""
    function, count = PROGRAMS[name]
    graph = optimise(graph_of(function, *(ones(rows, width), ones(width))[:count]), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = plan(graph, target, check=True).plan
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b), f"{name} of ({rows}, {width}) on {target.id}"
    return list(found.kernels)


@pytest.mark.parametrize(("name", "rows"), CASES)
def test_one_launch_keeps_all_bits(name: str, rows: int) -> None:
    """Lanes, chunks, ragged rows and ragged columns."""
    number = CASES.index((name, rows))
    check(name, rows, COLUMNS[number % 2], (X86_64_V3, X86_64_V4)[number // 2 % 2])


@pytest.mark.parametrize(("name", "rows"), CASES)
def test_several_launches_keep_all_bits(
    name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept lanes and blocks of chunks are tasks: the same bits as in one task."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1)
    number = CASES.index((name, rows))
    kernels = check(name, rows, COLUMNS[number % 2], X86_64_V4)
    assert len(kernels) > 1
    assert all(_tasks(k) for k in kernels)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "several"])
@pytest.mark.parametrize("rows", [200, 900, 1030, 1300])
@pytest.mark.parametrize("together", [0, 1 << 30])
def test_lanes_one_by_one_keep_all_bits(
    name: str, rows: int, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the sums of all lanes of a tile are too many to take rows in order, or to have all
    at a time."""
    monkeypatch.setattr(kept_lanes, "IN_ORDER_BYTES", 0)
    monkeypatch.setattr(kept_lanes, "TOGETHER_BYTES", together)
    for work in (1, 1 << 60):
        monkeypatch.setattr(schedule, "TASK_WORK", work)
        check(name, rows, COLUMNS[rows % 4 // 2], X86_64_V4)


@pytest.mark.parametrize("target", [X86_64_V4, X86_64_V4_FP16], ids=lambda t: t.id)
@pytest.mark.parametrize("rows", [1025, 3072, 4100])
@pytest.mark.parametrize("tasks", [True, False])
def test_kept_lanes_that_meet_as_they_are_read_keep_all_bits(
    rows: int, target: Target, tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks with all elements and the last one, whose lanes are of two lengths."""
    monkeypatch.setattr(kept_lanes, "TOGETHER_BYTES", 0)
    monkeypatch.setattr(column_reduction, "LANE_BYTES", 0)
    monkeypatch.setattr(column_reduction, "FLAT_COLUMNS", 0)
    monkeypatch.setattr(schedule, "TASK_WORK", 1 if tasks else 1 << 60)
    check_program(lambda x: pnp.sum(x, axis=0), rows, 19, target=target)
    check_program(several_sums, rows, 19, target=target)


def several_sums(x: Any) -> Any:
    return pnp.sum(x, axis=0), pnp.sum(x * x, axis=0), pnp.prod(x, axis=0)


@pytest.mark.parametrize(("target", "rows"), [(X86_64_V4, 8), (X86_64_V4_FP16, 16)])
def test_sums_of_wide_columns_read_as_many_rows_as_the_caches_hold(
    target: Target, rows: int
) -> None:
    """Rows of one place in a page. What lies between the launches is a value for each kept lane
    and column: of the chunks of a kept lane only their total."""
    graph = optimise(graph_of(lambda x: pnp.sum(x, axis=0), ones(4096, 4096)))
    found = plan(graph, target).plan
    first, _ = found.kernels
    loops = [s for s in walk(first.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    reads = []
    for loop in loops:
        nodes = [n for s in walk(loop.body) for n in postorder(expressions(s))]
        reads.append(len({n for n in nodes if isinstance(n, Load) and n.buffer.role == "in"}))
    assert set(reads) == {0, rows}
    assert _tasks(first) == KEEP
    assert found.peak == KEEP * 4096 * 4


@pytest.mark.parametrize(
    ("target", "columns", "sweeps"),
    [(X86_64_V4, 1 << 20, 2), (X86_64_V4_FP16, 1 << 20, 1), (X86_64_V4_FP16, 1 << 14, 2)],
)
def test_few_rows_from_memory_are_one_sweep_where_the_second_cache_holds_them(
    target: Target, columns: int, sweeps: int
) -> None:
    """Sixteen rows of one place within a page. What stays in the second cache is read in two
    sweeps, whose rows the first cache holds."""
    graph = optimise(graph_of(lambda x: pnp.sum(x, axis=0), ones(16, columns)))
    (kernel,) = plan(graph, target).plan.kernels
    vectors = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    assert len(vectors) == sweeps


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "several"])
def test_several_tiles_keep_all_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of few columns, whose last vectors overlap."""
    monkeypatch.setattr(columns, "TILE_BYTES", 128)
    check(name, 150, 75, X86_64_V3)
    monkeypatch.setattr(schedule, "TASK_WORK", 1)
    check(name, 40, 75, X86_64_V3)


@pytest.mark.parametrize("name", ["softmax", "wider_softmax", "batched_difference"])
@pytest.mark.parametrize("width", COLUMNS)
@pytest.mark.parametrize("rows", [40, 300])
def test_held_tiles_keep_all_bits(
    name: str, width: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first region copies a tile of the input; the others read the copy, and values of a row
    take its place."""
    _hold(monkeypatch, rows * 64)
    monkeypatch.setattr(schedule, "TASK_WORK", 1 << 60)
    (kernel,) = check(name, rows, 3 * width, (X86_64_V3, X86_64_V4)[rows == 300])
    assert _held(kernel) == 1


def test_held_tiles_of_a_layer_norm_keep_all_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three readers of one input, and a factor that does not move along the rows."""
    _hold(monkeypatch, 1100 * 64)
    monkeypatch.setattr(schedule, "TASK_WORK", 1)
    monkeypatch.setattr(columns, "TASKS", 2)
    (kernel,) = check("layer_norm", 1100, 48, X86_64_V4)
    assert _held(kernel) == 1
    assert _tasks(kernel) == 3


def test_large_programs_along_the_first_axis_are_one_launch() -> None:
    """What a tile of columns needs lies beside it: the input is read from memory once."""
    for function, shape in ((softmax, (4096, 4096)), (softmax, (1000, 8192))):
        (kernel,) = planned(function, ones(*shape)).plan.kernels
        assert _tasks(kernel) >= columns.TASKS
        read = [n for s in walk(kernel.body) for e in expressions(s) for n in postorder([e])]
        loads = [n for n in read if isinstance(n, Load) and n.buffer.role == "in"]
        stores = [s for s in walk(kernel.body) if isinstance(s, Store) and s.buffer.role == "out"]
        rows = [s for s in walk(kernel.body) if isinstance(s, For) and s.extent == shape[0]]
        assert loads and len(stores) == 1 and len(rows) == 1, "stored in one loop, never loaded"


def logarithm_of_sums(x: Any) -> Any:
    top = pnp.max(x, axis=0)
    return pnp.log(pnp.sum(pnp.exp(x - top), axis=0)) + top


@pytest.mark.parametrize("shape", [(256, 4096), (4096, 4096), (8192, 4096)])
def test_programs_over_wide_columns_are_one_launch(shape: tuple[int, int]) -> None:
    """Log-sum-exp and variance read their input twice, but nothing lies in memory in between. What
    stays in the caches has rows of 4 KB in a task."""
    cached = shape == (256, 4096)
    for function in (logarithm_of_sums, lambda x: pnp.var(x, axis=0), softmax):
        (kernel,) = planned(function, ones(*shape)).plan.kernels
        assert _tasks(kernel) == 4 if cached else _tasks(kernel) >= columns.TASKS


@pytest.mark.parametrize(
    ("shape", "held"),
    [((16, 8192), 1), ((16, 65536), 1), ((16, 8200), 0), ((16, 4096), 0), ((17, 8192), 0)],
)
def test_sixteen_rows_at_one_place_of_a_cache_are_held(shape: tuple[int, int], held: int) -> None:
    """From half a megabyte on: each row begins where the one before does, within a page."""
    for function in (softmax, lambda x: layer_norm(x, 1.0)):
        (kernel,) = planned(function, ones(*shape)).plan.kernels
        assert _held(kernel) == held


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_sixteen_held_rows_have_the_bits_of_the_interpreter(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "FEW_PACKED_FROM", 0)
    (kernel,) = check("softmax", 16, 1024, target)
    assert _held(kernel) == 1


def test_inputs_that_gain_nothing_are_not_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A copy stands for one element a step; nor are inputs of which no row is stored."""

    def turned(x: Any) -> Any:
        return (x - pnp.max(x, axis=0)) * pnp.flip(x, axis=0)

    def spread(x: Any) -> Any:
        return pnp.var(x, axis=0)

    _hold(monkeypatch, 40 * 64)
    for function in (turned, spread):
        (kernel,) = planned(function, ones(40, 48)).plan.kernels
        assert _held(kernel) == 0


def _hold(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    """Small programs hold tiles of so many bytes."""
    monkeypatch.setattr(columns, "PACKED_FROM", 0)
    monkeypatch.setattr(columns, "PACKED_ROW", 32)
    monkeypatch.setattr(columns, "PACKED_BYTES", nbytes)


def _held(kernel: Kernel) -> int:
    """Tiles of inputs that a kernel holds."""
    return sum(isinstance(s, Alloc) and s.buffer.name[:6] == "packed" for s in walk(kernel.body))


def test_elements_of_shared_values_are_looked_at_once() -> None:
    """Of a value that is squared sixty times there are 2^60 paths to its argument."""

    def squares(x: Any) -> Any:
        for _ in range(60):
            x = x * x
        return pnp.sum(x, axis=0)

    check_program(squares, 200, 16)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("rows", [129, 144, 1000, 1024, 2065, 5000])
@pytest.mark.parametrize("width", [2, 3, 10, 17])
def test_sums_of_few_columns_sweep_several_rows_as_one(
    rows: int, width: int, target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept lanes lie side by side; the rows behind the last whole KEEP are masked. As one task and
    as several."""

    def sums(x: Any, y: Any) -> Any:
        return pnp.sum(x, axis=0), pnp.mean(x * y + 1, axis=0)

    graph = optimise(graph_of(sums, ones(rows, width), ones(rows, width)), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    expected = evaluate(graph, values)
    monkeypatch.setattr(schedule, "LARGE_WORK", 0)
    for work in (1 << 60, 1):
        monkeypatch.setattr(schedule, "TASK_WORK", work)
        found = plan(graph, target, check=True).plan
        for a, b in zip(expected, run_plan(found, values, shapes), strict=True):
            assert same_bits(a, b)
    extents = {s.extent for s in walk(found.kernels[0].body) if isinstance(s, For)}
    assert KEEP * width // (8 if target is X86_64_V3 else 16) in extents


@pytest.mark.parametrize("rows", [16, 130, 250, 400, 768, 1000])
def test_rows_that_do_notfit_together_are_summed_in_several_sweeps(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kept lane is one sweep, or several over neighbours in the tree of lanes."""
    monkeypatch.setattr(column_reduction, "FLAT_COLUMNS", 0)
    for ways in (8, 0):
        monkeypatch.setattr(column_elements, "WAYS", ways)
        for work in (1, 1 << 60):
            monkeypatch.setattr(schedule, "TASK_WORK", work)
            check_program(lambda x: pnp.sum(x, axis=0), rows, 19)


@pytest.mark.parametrize("rows", [17, 20, 31, 32, 33, 48, 63, 64])
@pytest.mark.parametrize("width", [16, 37])
def test_few_rows_are_summed_in_groups_of_neighbours_in_the_tree(
    rows: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many at a time as the first cache holds together; what a group gives waits for the other
    half of its tree. One launch, whether rows fit or not, as one task and as several."""
    monkeypatch.setattr(column_reduction, "FEW_ELEMENTS", 64)
    monkeypatch.setattr(column_reduction, "FLAT_COLUMNS", 0)
    monkeypatch.setattr(columns, "PIECE_BYTES", 4)
    for fits in (True, False):
        monkeypatch.setattr(
            column_reduction.ColumnReduction, "fit_together", lambda s, step, count, f=fits: f
        )
        for work in (1, 1 << 60):
            monkeypatch.setattr(schedule, "TASK_WORK", work)
            kernel = check_program(lambda x: pnp.sum(x, axis=0), rows, width)
            sums = [s for s in walk(kernel.body) if isinstance(s, Alloc)]
            groups = 1 if fits and rows <= 32 else 2 if fits else -(-rows // 8)
            assert bool(sums) == (groups > 1)


def test_sums_that_know_their_column_are_not_flat() -> None:
    """A mean of each column is no function of what lies at an element's place."""

    def spread(x: Any) -> Any:
        return pnp.var(x, axis=0), pnp.sum(x * pnp.arange(3.0), axis=0)

    check_program(spread, 300, 3)


def check_program(function: Callable[..., Any], *shape: int, target: Target = X86_64_V4) -> Kernel:
    """A program of one argument gives the definition's bits; its first kernel."""
    graph = optimise(graph_of(function, ones(*shape)), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = plan(graph, target, check=True).plan
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)
    return found.kernels[0]


def gaps(x: Any) -> Any:
    missing = pnp.isnan(x)
    filled = pnp.where(missing, 0.0, x)
    return pnp.sum(~missing, axis=0), pnp.sum(filled, axis=0), pnp.sum(filled * filled, axis=0)


def six_sums(x: Any) -> Any:
    return tuple(pnp.sum(x + float(k), axis=0) for k in range(6))


def sums_of_sums(x: Any) -> Any:
    total = pnp.sum(x, axis=0)
    return total, pnp.sum(pnp.where(x > total, x, total), axis=0), pnp.max(x, axis=0)


@pytest.mark.parametrize("columns_", [16, 19])
@pytest.mark.parametrize("rows", [300, 1100])
@pytest.mark.parametrize(("function", "walks"), [(gaps, 1), (six_sums, 2), (sums_of_sums, 3)])
def test_sums_of_one_array_are_one_walk(
    function: Callable[..., Any],
    walks: int,
    rows: int,
    columns_: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each with its own bits, counts among them; four at most, and none that needs another."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1)
    check_program(function, rows, columns_)
    assert _walks(function, rows, columns_) == walks
    monkeypatch.setattr(joint_sums, "LONG", rows + 1)
    assert _walks(function, rows, columns_) > walks or walks == 3


def _walks(function: Callable[..., Any], *shape: int) -> int:
    """How many launches read all of the program's argument."""
    found = plan(optimise(graph_of(function, ones(*shape))), X86_64_V4).plan
    return sum(any(b.role == "in" for b in k.buffers) for k in found.kernels)


def test_values_that_are_stored_on_the_way_are_computed_for_several_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No load stands behind the store of another row."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1 << 60)
    for rows in (600, 1030):
        (kernel,) = check("softmax", rows, 140, X86_64_V4)
        vectors = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
        stores = [[isinstance(x, Store) for x in s.body] for s in vectors]
        several = [kinds for kinds in stores if sum(kinds) == column_elements.AT_ONCE + 1]
        assert several and all(kinds == sorted(kinds) for kinds in several)


@pytest.mark.parametrize(("width", "in_order"), [(16, True), (48, True), (64, False)])
def test_rows_of_few_columns_come_in_order(
    width: int, in_order: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their exponentials are stored and added as memory has them, in one loop over the rows; wide
    tiles take the rows of a lane one behind the other."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1 << 60)
    (kernel,) = planned(softmax, ones(1024, width)).plan.kernels
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    at_once = 1 if in_order else column_elements.AT_ONCE
    exponentials = [s for s in loops if sum(isinstance(x, Store) for x in s.body) == at_once + 1]
    assert len(exponentials) == (1 if in_order else CHUNK // LANES // at_once)
    written_out = any(isinstance(s, For) and s.kind is Kind.UNROLL for s in walk(kernel.body))
    assert written_out == (width == 16), "up to four vectors"


@pytest.mark.parametrize(("width", "slots"), [(256, LANES), (1024, LANES // KEEP)])
def test_sums_of_lanes_of_wide_tiles_stay_in_the_first_cache(
    width: int, slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One kept lane at a time; rows of a kilobyte are read one after the other instead."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1 << 60)
    (kernel,) = planned(lambda x: x.sum(axis=0), ones(2048, width)).plan.kernels
    (sums,) = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc) and _is_sums(s.buffer))
    assert sums.shape == (slots * width + sweeps.PAD,)


def _is_sums(buffer: Buffer) -> bool:
    return buffer.name.startswith("sums")


def test_tiles_of_few_rows_stay_in_the_first_cache() -> None:
    """A held tile of 16 rows has no more than a kilobyte of each; 512 rows fill half a megabyte."""
    for rows, columns_ in ((16, 1 << 18), (512, 1 << 13)):
        (kernel,) = planned(softmax, ones(rows, columns_)).plan.kernels
        (held,) = (
            s.buffer
            for s in walk(kernel.body)
            if isinstance(s, Alloc) and s.buffer.name.startswith("packed")
        )
        assert held.shape == (rows * (columns.PACKED_PIECE // 4) + sweeps.PAD,)


@pytest.mark.parametrize(
    ("shape", "asks"), [((256, 4096), True), ((10485, 100), False), ((4096, 4096), False)]
)
def test_rows_that_are_stored_ask_for_the_next(shape: tuple[int, int], asks: bool) -> None:
    """Not those that processors foresee, nor those that lie beside the program."""
    kernels = planned(layer_norm, ones(*shape), ones(shape[1])).plan.kernels
    found = {s.buffer.role for k in kernels for s in walk(k.body) if isinstance(s, Prefetch)}
    assert found == ({"in", "out"} if asks else set())


@pytest.mark.parametrize(("width", "at_once"), [(16, 8), (24, 4), (32, 4), (160, 4)])
def test_extrema_of_narrow_tiles_take_more_rows_at_once(
    width: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step reads sixteen vectors at least, so that steps do not wait for each other."""
    monkeypatch.setattr(schedule, "TASK_WORK", 1 << 60)
    (kernel,) = planned(lambda x: x.max(axis=0), ones(320, width)).plan.kernels
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.SERIAL]
    assert 320 // at_once in {s.extent for s in loops}


def test_exponentials_are_kept_in_the_output() -> None:
    """The output is the row buffer: no other memory is as large as the argument."""
    (kernel,) = planned(softmax, ones(300, 16)).plan.kernels
    arrays = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    assert max(map(_elements, arrays)) < 300 * 16
    stored = {s.buffer for s in walk(kernel.body) if isinstance(s, Store)}
    assert [b.role for b in kernel.buffers if b in stored] == ["inout"]


def test_exponentials_of_another_type_are_computed_again() -> None:
    """Where no output can hold a row it is not kept at all."""
    (kernel,) = planned(wider_softmax, ones(300, 16)).plan.kernels
    arrays = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    assert max(map(_elements, arrays)) < 300 * 16
    assert not any(b.role == "inout" for b in kernel.buffers)


def test_large_sums_are_tasks_whatever_the_number_of_columns() -> None:
    """Wide arrays by tiles, tall ones by blocks of chunks and groups of lanes."""
    for shape, launches in (((200, 100_000), 1), ((1 << 16, 32), 2), ((4096, 4096), 2)):
        kernels = planned(lambda x: x.sum(axis=0), ones(*shape)).plan.kernels
        assert len(kernels) == launches, shape
        assert _tasks(kernels[0]) >= columns.TASKS, shape


def _tasks(kernel: Kernel) -> int:
    """Iterations of the outermost parallel loop."""
    (loop,) = [s for s in kernel.body if isinstance(s, For)] or [None]
    if loop is None or loop.kind is not Kind.PARALLEL:
        return 0
    assert isinstance(loop.extent, int)
    return loop.extent


def _elements(buffer: Buffer) -> int:
    (size,) = buffer.shape
    assert isinstance(size, int)
    return size


def spread(x: Any) -> Any:
    return pnp.sum((x - pnp.mean(x, axis=0)) ** 2, axis=0)


@pytest.mark.parametrize(
    ("function", "rows", "at_once"),
    [
        (lambda x: x.sum(axis=0), 256, 16),
        (lambda x: x.sum(axis=0), 240, 8),
        (spread, 256, 8),
    ],
)
def test_rows_from_beyond_the_second_cache_are_read_at_once(
    function: Callable[..., Any], rows: int, at_once: int
) -> None:
    """16 rows at one place within a page, from 4 MB on where they are read once."""
    graph = optimise(graph_of(function, ones(rows, 4096)), check=True)
    lanes = plan(graph, X86_64_V4_FP16).plan.kernels[0]
    vectors = [s for s in walk(lanes.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    read = [
        {n for x in walk(s.body) for e in expressions(x) for n in postorder([e])} for s in vectors
    ]
    found = [sum(isinstance(n, Load) and n.buffer.role == "in" for n in nodes) for nodes in read]
    assert max(found) == at_once
