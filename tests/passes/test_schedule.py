"""Schedules for CPUs: vectors, tails, tasks, blocks, and loops cut where comparisons change."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.backends.x86 import modules
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Load, postorder
from pyc.ir.loops import Alloc, Fail, For, If, Kernel, Kind, Let, Store, walk
from pyc.ir.order import KEEP
from pyc.ir.plan import STREAMED_BYTES
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.ir.text_kernel import print_kernel
from pyc.passes import optimise, schedule
from pyc.passes.memory import plan
from pyc.passes.merged_rows import TOGETHER
from pyc.passes.nest import roots
from pyc.passes.rows import OUTPUT_ROW
from pyc.passes.schedule import AT_ONCE, ONE_LOOP, SPLIT, STEPS, TURNED_ROWS
from pyc.passes.simpler_reductions import FEW
from pyc.reasons import Reason
from tests.passes.programs import awkward_arguments, graph_of, ones, planned, reasons_of
from tests.programs.differential import same_bits


def extents(kernel: Kernel, kind: Kind) -> list[Any]:
    return [s.extent for s in walk(kernel.body) if isinstance(s, For) and s.kind is kind]


SCHEDULED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "map": (lambda x: x * 2, (ones(100),)),
    "map_of_a_transpose": (lambda x: x.T + 1, (ones(20, 30),)),
    "map_of_a_large_transpose": (lambda x: x.T + 1, (ones(70, 100),)),
    "map_of_long_columns": (lambda x: x.T + 1, (ones(1001, 65),)),
    "map_of_transposes": (lambda x: pnp.swapaxes(x, 1, 2) * 2, (ones(9, 65, 70),)),
    "sum_of_a_row": (lambda x: x.sum(axis=1), (ones(3, 2100),)),
    "sum_of_a_column": (lambda x: x.sum(axis=0), (ones(40, 64),)),
    "sum_of_a_short_row": (lambda x: x.sum(axis=1), (ones(30, 5),)),
    "count_of_a_row": (lambda x: (x > 1).sum(axis=1), (ones(3, 1001, dtype=np.int8),)),
    "place_in_a_row": (lambda x: x.argmax(axis=1), (ones(3, 150),)),
    "pad": (lambda x: pnp.pad(x, 2) * 2, (ones(100),)),
    "concatenate": (lambda x, y: pnp.concatenate([x, y]) + 1, (ones(100), ones(60))),
    "padded_join": (lambda x, y: pnp.pad(pnp.concatenate([x, y], 1), 1), (ones(3, 20), ones(3, 9))),
    "rolled": (lambda x: pnp.roll(x, 1, 0) + pnp.roll(x, -1, 1), (ones(5, 40),)),
    "long_sum": (lambda x: x.sum(), (ones(SPLIT + 5),)),
    "long_count": (lambda x: ((x > 0).sum(), x.argmax()), (ones(SPLIT + 5),)),
    "long_pad": (lambda x: pnp.pad(x, 1) * 2, (ones(200_000),)),
    "long_join": (lambda x, y: pnp.concatenate([x, y]) + 1, (ones(100_000), ones(60_000))),
}


@pytest.mark.parametrize("name", SCHEDULED)
def test_scheduled(name: str, golden) -> None:
    """The kernels that run, for a target with 256-bit vectors."""
    function, arguments = SCHEDULED[name]
    found = planned(function, *arguments)
    golden("\n".join(print_kernel(k) for k in found.plan.kernels))


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("name", [n for n in SCHEDULED if not n.startswith("long_")])
def test_schedules_keep_all_bits(name: str, target: Any) -> None:
    """The width of the vectors changes nothing."""
    function, arguments = SCHEDULED[name]
    graph = optimise(graph_of(function, *arguments), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = run_plan(plan(graph, target).plan, values, shapes)
    for a, b in zip(evaluate(graph, values), found, strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("size", [1, 7, 8, 9, 15, 16, 17, 1023, 1025])
def test_tails_of_every_length(size: int) -> None:
    """The last elements, which do not fill a vector."""
    graph = optimise(graph_of(lambda x: (x * 2, (x * x).sum()), ones(size)), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = run_plan(plan(graph, X86_64_V3).plan, values, shapes)
    for a, b in zip(evaluate(graph, values), found, strict=True):
        assert same_bits(a, b)


def long_chain(x: Any) -> Any:
    for k in range(ONE_LOOP):
        x = x * 1.5 - (k % 3)
    return x


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1023, 1024, 1025, 40_003])
def test_large_bodies_are_emitted_once(size: int) -> None:
    """Whole vectors and the rest are one masked loop, where half the code counts."""
    graph = optimise(graph_of(long_chain, ones(size)), check=True)
    found = plan(graph, X86_64_V3).plan
    (kernel,) = found.kernels
    stores = [s for s in walk(kernel.body) if isinstance(s, Store)]
    assert len(stores) == 1
    tasks = extents(kernel, Kind.PARALLEL)
    assert bool(tasks) == (size == 40_003)
    if size < 2000:
        values = awkward_arguments(graph)
        (result,) = run_plan(found, values, [((size,), np.float32)])
        assert same_bits(evaluate(graph, values)[0], result)


@pytest.mark.parametrize("function", [SCHEDULED["pad"][0], lambda x: pnp.roll(x, 3)])
def test_pads_and_concatenations_are_cut_into_pieces(function: Any) -> None:
    """No comparison of the position chooses an element: each piece knows where it is."""
    (kernel,) = planned(function, ones(1000)).plan.kernels
    assert len(extents(kernel, Kind.VECTOR)) >= 2
    text = print_kernel(kernel)
    assert not re.search(r"select\((?!(true|false)( & (true|false))*,)", text), text


def test_a_padded_join_is_cut_into_pieces() -> None:
    """The join compares the position that the pad has clamped: it is decided within the pad's
    pieces, whose accesses then are contiguous."""

    def join(x: Any, y: Any) -> Any:
        return pnp.pad(pnp.concatenate([x, y], axis=1), 1)

    (kernel,) = planned(join, ones(40, 64), ones(40, 64)).plan.kernels
    vectors = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    assert vectors and {s.extent for s in vectors} == {8}
    for vector in vectors:
        assert sum(isinstance(e, Load) for e in postorder(roots(vector.body))) == 1


def test_comparisons_of_outer_positions_do_not_narrow_vectors() -> None:
    """A byte beside a row number is still a byte: 32 to a vector of 256 bits."""
    rolled = ones(64, 256).astype(np.uint8)
    (kernel,) = planned(lambda x: pnp.roll(x, 1, 0) + x, rolled).plan.kernels
    assert set(extents(kernel, Kind.VECTOR)) == {32}


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: x * s.astype(np.float32),
        lambda x, s: (x * s.astype(np.float32)).sum(axis=1),
    ],
    ids=["map", "sum"],
)
def test_scalar_arguments_do_not_narrow_vectors(function: Any) -> None:
    """A Python float is a float64 that all lanes have in common: float32 is 8 to a vector of 256
    bits beside it."""
    (kernel,) = planned(function, ones(8, 1024), np.float64(3)).plan.kernels
    assert all(n % 8 == 0 for n in extents(kernel, Kind.VECTOR))


def test_what_is_read_across_is_read_in_blocks_of_rows() -> None:
    """A vector goes down the rows of a block, so that each line of the cache is read once."""
    (kernel,) = planned(lambda x, y: x.T + y, ones(128, 256), ones(256, 128)).plan.kernels
    assert extents(kernel, Kind.VECTOR) == [8]
    assert extents(kernel, Kind.PARALLEL) == [4 * 16]
    assert extents(kernel, Kind.SERIAL) == [TURNED_ROWS]
    (plain,) = planned(lambda x, y: x + y, ones(128, 256), ones(128, 256)).plan.kernels
    assert TURNED_ROWS not in extents(plain, Kind.SERIAL)


def test_a_long_reduction_has_two_stages() -> None:
    """Blocks of chunks in tasks, then their join: one logical kernel, two launches."""
    short, long = (planned(lambda x: x.sum(), ones(n)) for n in (SPLIT - 1, 4 * SPLIT))
    assert (len(short.logical), len(short.plan.kernels)) == (1, 1)
    assert (len(long.logical), len(long.plan.kernels)) == (1, 2)
    assert extents(long.plan.kernels[0], Kind.PARALLEL)[0] >= 2
    assert Reason.KERNEL_STAGES not in reasons_of(short)
    (decision,) = [d for d in long.decisions if d.reason is Reason.KERNEL_STAGES]
    assert decision.details == "k0 is 2 launches: k0_0_blocks, k0_1_join"


def test_each_launch_of_a_kernel_is_attributed_to_it() -> None:
    """A log-sum-exp of all elements: one logical kernel, whose name the launches bear."""

    def log_sum_exp(x: Any) -> Any:
        top = pnp.max(x)
        return pnp.log(pnp.sum(pnp.exp(x - top))) + top

    found = planned(log_sum_exp, ones(2 * SPLIT))
    assert [k.name for k in found.logical] == ["k0"]
    names = [k.name for k in found.plan.kernels]
    assert names == ["k0_0_blocks", "k0_1_join", "k0_2_blocks", "k0_3_join"]
    (decision,) = [d for d in found.decisions if d.reason is Reason.KERNEL_STAGES]
    assert decision.details == "k0 is 4 launches: " + ", ".join(names)


@pytest.mark.parametrize("size", [SPLIT + 1031, 3 * SPLIT // 2 - 24, 2 * SPLIT])
def test_a_long_reduction_in_two_stages_keeps_the_order(size: int) -> None:
    """The same bits as the definition: at a length that is no multiple of anything, where the last
    of full blocks has a ragged chunk, and where nothing is ragged."""
    graph = optimise(graph_of(lambda x: x.sum(), ones(size)), check=True)
    values = [np.random.default_rng(0).standard_normal(size).astype(np.float32)]
    planned_plan = plan(graph, X86_64_V3).plan
    assert len(planned_plan.kernels) == 2
    (found,) = run_plan(planned_plan, values, [((), np.float32)])
    assert same_bits(evaluate(graph, values)[0], found)


def test_large_maps_are_cut_into_tasks() -> None:
    """An outermost parallel loop of many tasks; small ones stay one task."""
    (small,) = planned(lambda x: pnp.exp(x), ones(100)).plan.kernels
    (large,) = planned(lambda x: pnp.exp(x), ones(1 << 22)).plan.kernels
    tasks = next(s.extent for s in large.body if isinstance(s, For))
    first = next(s for s in small.body if isinstance(s, For))
    assert isinstance(tasks, int) and 8 <= tasks <= 4096
    assert first.kind is not Kind.PARALLEL or first.extent == 1


@pytest.mark.parametrize("columns", [5, 16, 21, 75])
@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_vectors_of_columns_overlap_where_they_are_not_whole(columns: int, target: Any) -> None:
    """No lane is masked, and the body stands once: half the code of whole vectors and a rest."""
    graph = optimise(graph_of(lambda x: pnp.tanh(x).sum(axis=0), ones(9, columns)), check=True)
    values = awkward_arguments(graph)
    found = plan(graph, target, check=True).plan
    (result,) = run_plan(found, values, [((columns,), np.float32)])
    assert same_bits(evaluate(graph, values)[0], result)
    (kernel,) = found.kernels
    assert not [s for s in walk(kernel.body) if isinstance(s, If)]
    assert (
        len([s for s in walk(kernel.body) if isinstance(s, Store) and s.buffer.role == "out"]) == 1
    )


def test_comparisons_of_bools_are_no_places_to_cut() -> None:
    """Only index arithmetic is cut: the difference of two bools has no place."""

    def function(x: Any) -> Any:
        number = pnp.arange(5000)
        return pnp.where((number < 50) == (number < 30), x, -x)

    x = ones(5000)
    found = plan(optimise(graph_of(function, x), check=True), X86_64_V3, check=True).plan
    (result,) = run_plan(found, [x], [(x.shape, x.dtype)])
    np.testing.assert_array_equal(result, np.repeat([1, -1, 1], [30, 20, 4950]))


def test_only_large_outputs_of_maps_are_streamed() -> None:
    """What is that large is in no cache when it is read again; a row program reads its own."""

    def streamed(function: Any, size: int) -> list[bool]:
        kernels = planned(function, ones(4, size // 4)).plan.kernels
        return [b.streamed for k in kernels for b in k.buffers if b.role == "out"]

    least = STREAMED_BYTES // 4
    assert streamed(lambda x: x + 1, least) == [True]
    assert streamed(lambda x: x + 1, least - 4) == [False]
    assert streamed(lambda x: x.sum(), least) == [False]


@pytest.mark.parametrize("name", ["sum", "max", "mean"])
def test_rows_of_one_chunk_stay_in_registers(name: str) -> None:
    """Whatever their length: no array but the one that the last lane is read from, no gathers."""
    found = planned(lambda x: getattr(x, name)(axis=1), ones(3, 1000)).plan
    (kernel,) = found.kernels
    arrays = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
    assert [b.shape for b in arrays] in ([(KEEP,)], [(8,)])
    assert "gather" not in modules(found, X86_64_V3).text


def test_long_rows_are_kept_in_their_output() -> None:
    """A third array beside a row and its result would crowd the first cache; short rows lie on the
    stack."""

    def softmax(x: Any) -> Any:
        e = pnp.exp(x - pnp.max(x, axis=1, keepdims=True))
        return e / pnp.sum(e, axis=1, keepdims=True)

    for length, roles in ((OUTPUT_ROW, ["in", "out"]), (2 * OUTPUT_ROW, ["in", "inout"])):
        (kernel,) = planned(softmax, ones(40, length)).plan.kernels
        assert [b.role for b in kernel.buffers] == roles
        arrays = [s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)]
        assert any(b.shape == (length,) for b in arrays) == (roles[1] == "out")


@pytest.mark.parametrize(
    ("function", "lanes"),
    [
        (lambda x: x * 2.5 + 1, 8 * AT_ONCE[0][1]),
        (lambda x: pnp.exp(pnp.sin(x)), 8 * AT_ONCE[1][1]),
        (long_chain, 8),
    ],
    ids=["cheap", "dear", "large"],
)
def test_cheap_loops_do_several_vectors_a_step(function: Any, lanes: int) -> None:
    """All are loaded before the first is stored."""
    (kernel,) = planned(function, ones(STEPS * 64)).plan.kernels
    assert extents(kernel, Kind.VECTOR) == [lanes]
    (short,) = planned(function, ones(STEPS * 16 - 8)).plan.kernels
    assert extents(short, Kind.VECTOR) == [8]


@pytest.mark.parametrize("size", [256, 257, 267, 272, 279, 280, 281, 287, 200_000, 200_011])
def test_what_is_left_of_several_vectors_is_done_one_by_one(size: int) -> None:
    def function(x: Any, y: Any) -> Any:
        return x * y + 1, x / pnp.sum(x)

    graph = optimise(graph_of(function, ones(size), ones(size)), check=True)
    values = awkward_arguments(graph)
    for target in (X86_64_V3, X86_64_V4):
        found = run_plan(plan(graph, target).plan, values, [((size,), np.float32)] * 2)
        for a, b in zip(evaluate(graph, values), found, strict=True):
            assert same_bits(a, b)


def test_exponentials_are_stored_while_they_are_added() -> None:
    """Softmax walks a row three times: its top, the exponentials with their sum, the quotients."""

    def softmax(x: Any) -> Any:
        e = pnp.exp(x - pnp.max(x, axis=1, keepdims=True))
        return e / pnp.sum(e, axis=1, keepdims=True)

    (kernel,) = planned(softmax, ones(3, 1024)).plan.kernels
    (row,) = [s for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.shape == (1024,)]
    loops = [s for s in walk(row.body) if isinstance(s, For) and s.kind is Kind.SERIAL]
    assert len(loops) == 3


@pytest.mark.parametrize("length", [9, 40, 127, 129, 1000, 1030])
@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_ragged_rows_keep_all_bits(length: int, target: Any) -> None:
    """Rows that end within a vector, with a row buffer, several monoids and two components."""

    def program(x: Any) -> Any:
        e = pnp.exp(x - pnp.max(x, axis=1, keepdims=True))
        return e / pnp.sum(e, axis=1, keepdims=True), pnp.argmin(x, axis=1), x.sum(axis=1)

    graph = optimise(graph_of(program, ones(2, length)), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = run_plan(plan(graph, target, check=True).plan, values, shapes)
    for a, b in zip(evaluate(graph, values), found, strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize(
    "shape", [(19, 5), (16, 6), (17, 9), (40, 16), (33, 31), (20, 64), (2, 18, 90)]
)
@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_short_rows_meet_in_one_vector(shape: tuple[int, ...], target: Any) -> None:
    """A vector of neighbouring rows at once: no lane is read back by itself, the last group
    overlaps the one before, every bit is the definition's."""

    def program(x: Any) -> Any:
        # The place in a longer row is found behind its extremum.
        extremum = pnp.argmax if shape[-1] <= FEW else pnp.max
        return pnp.sqrt(x.sum(axis=-1)), extremum(x, axis=-1), (x * x).mean(axis=-1)

    graph = optimise(graph_of(program, ones(*shape)), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = plan(graph, target, check=True).plan
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)
    (kernel,) = found.kernels
    scalar = [s for s in walk(kernel.body) if isinstance(s, Let) and isinstance(s.value, Load)]
    assert not [s for s in scalar if s.value.buffer.role == "local"]


def normalised(x: Any) -> Any:
    away = x - pnp.mean(x, axis=-1, keepdims=True)
    square = pnp.mean(away * away, axis=-1, keepdims=True)
    return away / pnp.sqrt(square + 1e-5), square, pnp.max(x, axis=-1)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("shape", [(16, 9), (37, 16), (19, 50), (2, 21, 90)])
def test_programs_over_short_rows_run_for_a_group_of_rows(
    shape: tuple[int, ...], target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a row keeps between its regions is computed for a vector of rows."""
    monkeypatch.setattr(schedule, "LARGE_WORK", 0)

    graph = optimise(graph_of(normalised, ones(*shape)), check=True)
    values = awkward_arguments(graph)
    found = plan(graph, target, check=True).plan
    roots = {
        s.var.name
        for k in found.kernels
        for s in walk(k.body)
        if isinstance(s, For) and s.kind is Kind.SERIAL
    }
    assert "some" in roots, "rows of a group are stored one after the other"
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("shape", [(17, 9), (31, 20), (50, 64), (3, 18, 90)])
def test_groups_of_short_rows_that_overlap_are_one_task(
    shape: tuple[int, ...], target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last group of rows begins within the one before: were they two tasks, both would write
    these rows, which the kernel interpreter reports as a race."""
    monkeypatch.setattr(schedule, "LARGE_WORK", 0)
    monkeypatch.setattr(schedule, "TASK_WORK", 1)
    for program in (lambda x: pnp.sqrt(x.sum(axis=-1)), normalised):
        graph = optimise(graph_of(program, ones(*shape)), check=True)
        values = awkward_arguments(graph)
        shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
        found = plan(graph, target, check=True).plan
        for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
            assert same_bits(a, b)
        (kernel,) = found.kernels
        (tasks,) = extents(kernel, Kind.PARALLEL)
        group = min(target.lanes(4), KEEP)
        if program is not normalised and shape[-1] < group:
            group //= 2  # vectors of half as many lanes: sums of 9 would leave 7 of 16 idle
        assert tasks == (shape[-2] // group) * prod(shape[:-2]), "the last two groups are one task"


def test_short_rows_of_gathered_elements_stay_in_registers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A vector for each row, which is never stored: what is gathered next would wait for it."""
    monkeypatch.setattr(schedule, "LARGE_WORK", 0)
    places = np.arange(30 * 8).reshape(30, 8) * 7 % 100
    graph = optimise(graph_of(lambda x, at: x[at].sum(axis=1), ones(100), places), check=True)
    values = [np.linspace(1, 2, 100, dtype=np.float32), places - 40]
    found = plan(graph, X86_64_V4, check=True).plan
    (kernel,) = found.kernels
    assert not [s for s in walk(kernel.body) if isinstance(s, Alloc)]
    (result,) = run_plan(found, values, [((30,), np.float32)])
    assert same_bits(evaluate(graph, values)[0], result)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_rows_of_a_group_are_checked_as_one_loop(
    target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What memory walks as one row after the other is tested several vectors at a time."""
    monkeypatch.setattr(schedule, "LARGE_WORK", 0)
    places = np.arange(32 * 8).reshape(32, 8) * 7 % 100

    def gathered(x: Any, at: Any) -> Any:
        return x[at].sum(axis=1)

    graph = optimise(graph_of(gathered, ones(100, dtype=np.float64), places), check=True)
    values = [np.linspace(1, 2, 100), places - 40]
    found = plan(graph, target, check=True).plan
    whole = 4 * target.lanes(8)
    for kernel in found.kernels:
        loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
        checked = [s.extent for s in loops if any(isinstance(x, Fail) for x in s.body)]
        assert set(checked) == {whole}
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)
    wrong = [values[0], values[1].copy()]
    wrong[1][29, 3] = 100
    with pytest.raises(PlanFailure, match="failed with 100"):
        run_plan(found, wrong, shapes)


def test_lanes_that_are_known_choose_without_masks() -> None:
    """Which of two rows a lane belongs to is a constant: the code shuffles, it tests nothing."""
    text = modules(planned(lambda x: x.sum(axis=1), ones(64, 10)).plan, X86_64_V3).text
    assert "icmp" not in "".join(x for x in text.splitlines() if "<8 x i64>" in x)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_what_is_left_of_a_row_is_one_masked_load(target: Any) -> None:
    """The other lanes get the neutral element with it: nothing is moved or chosen afterwards."""
    graph = optimise(graph_of(lambda x: x.sum(axis=1), ones(64, 20)), check=True)
    text = modules(plan(graph, target).plan, target).text
    masked = [x for x in text.splitlines() if " @llvm.masked.load" in x and "declare" not in x]
    assert masked and all("splat (float 0x8000000000000000)" in x for x in masked)
    assert len(masked) == (KEEP if target is X86_64_V4 else TOGETHER), "one for each row"
