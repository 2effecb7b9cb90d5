"""Loops of elements: the next vector's rows are asked for, and a counter does not halve vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.kernel_facts import widest_element
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.loops import For, Kernel, Kind, Prefetch, walk
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.passes import ahead, optimise
from pyc.passes.ahead import FAR, FORESEEN, PAGE, ROW_BYTES, ROWS_FROM
from pyc.passes.memory import plan
from pyc.runtime.threads import set_num_threads
from tests.passes.test_lower_updates import numbers
from tests.programs.differential import same_bits


def grown(rows: Any) -> Any:
    """Each column's running product with exponentials, summed."""
    price, total = np.ones_like(rows[0]), np.zeros_like(rows[0])
    for t in range(rows.shape[0]):
        price = price * np.exp(rows[t] * 0.25)
        total = total + price
    return total


def chosen(rows: Any, first: Any) -> Any:
    """Rows at places that each element finds for itself."""
    place, total = first, rows[0] * 0
    for _ in range(50):
        total = total * 0.5 + np.take_along_axis(rows, place[None, :] % rows.shape[0], 0)[0]
        place = place * 3 + 1
    return total


def turned(columns: Any) -> Any:
    """Columns: neighbouring elements are not neighbours in memory."""
    total = columns[:, 0] * 0
    for t in range(columns.shape[1]):
        total = total * 0.5 + np.exp(columns[:, t])
    return total


def graph(function: Callable[..., Any], *arguments: Any) -> Graph:
    return optimise(pyc.jit(function).trace(*arguments).graph, check=True)


def kernels(function: Callable[..., Any], *arguments: Any) -> list[Kernel]:
    return list(plan(graph(function, *arguments), X86_64_V4, check=True).plan.kernels)


def asked(found: list[Kernel]) -> list[Prefetch]:
    """What is needed later; `first` is of what is read at once (`reduction.FAR`)."""
    return [s for k in found for s in walk(k.body) if isinstance(s, Prefetch) and not s.first]


LONG = PAGE // 8
ROWS = FAR // PAGE


@pytest.mark.parametrize("columns", [LONG, LONG + 13])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_line_of_the_next_vector_is_asked_for(columns: int, dtype: Any) -> None:
    """The loop has one access, whose vectors are four machine vectors of four or five lines."""
    found = kernels(grown, numbers(2 * ROWS, 2 * columns, dtype=dtype))
    (kernel,) = (k for k in found if asked([k]))
    loops = [s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.VECTOR]
    assert all(s.extent == 256 // np.dtype(dtype).itemsize for s in loops)
    assert len(asked([kernel])) == 4


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (grown, (numbers(ROWS // 2, LONG),)),
        (grown, (numbers(4 * ROWS, LONG // 2),)),
        (turned, (numbers(2 * LONG, 2 * ROWS),)),
        (chosen, (numbers(2 * ROWS, LONG), np.arange(LONG))),
    ],
    ids=["in the caches", "short rows", "columns", "places of their own"],
)
def test_what_is_near_or_foreseen_or_no_row_is_not_asked_for(
    function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    found = kernels(function, *arguments)
    assert any(map(_runs_loops, (s for k in found for s in walk(k.body))))
    assert not asked(found)


def test_a_place_that_is_read_is_not_asked_for() -> None:
    """To ask for it would wait for what is read."""

    def ordered(rows: Any, order: Any) -> Any:
        total = rows[0] * 0
        for t in range(order.shape[0]):
            total = total * 0.5 + rows[order[t]]
        return total

    found = kernels(ordered, numbers(2 * ROWS, LONG), np.arange(2 * ROWS)[::-1].copy())
    assert any(map(_runs_loops, (s for k in found for s in walk(k.body))))
    assert not asked(found)


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_counter_of_the_loop_does_not_halve_vectors(target: Target, dtype: Any) -> None:
    """All lanes have it in common: a vector is one of numbers, in pieces of machine vectors."""
    found = plan(graph(grown, numbers(40, 300, dtype=dtype)), target, check=True).plan
    loops = [s for k in found.kernels for s in walk(k.body) if isinstance(s, For) and s.carried]
    assert loops and all(any(c.var.dtype.itemsize == 8 for c in s.carried) for s in loops)
    vectors = [s for k in found.kernels for s in walk(k.body) if _runs_loops(s)]
    computed = max(np.dtype(dtype).itemsize, 4)
    assert vectors and all(widest_element(s) == computed for s in vectors)


def _runs_loops(s: Any) -> bool:
    return isinstance(s, For) and s.kind is Kind.VECTOR and any(isinstance(x, For) for x in s.body)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "grown": (grown, (numbers(2 * ROWS, LONG + 13),)),
    "grown float32": (grown, (numbers(2 * ROWS, 2 * LONG + 13, dtype=np.float32),)),
    "chosen": (chosen, (numbers(2 * ROWS, LONG), np.arange(LONG))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_those_of_the_interpreter_with_any_threads(name: str) -> None:
    function, arguments = PROGRAMS[name]
    wanted = evaluate(graph(function, *arguments), list(arguments))
    for target in (X86_64_V3, X86_64_V4):
        found = plan(graph(function, *arguments), target, check=True).plan
        shapes = [(np.shape(w), w.dtype) for w in wanted]
        for a, b in zip(run_plan(found, list(arguments), shapes), wanted, strict=True):
            assert same_bits(a, b)
    try:
        for count in (1, 2):
            set_num_threads(count)
            assert same_bits(pyc.jit(function)(*arguments), wanted[0])
    finally:
        set_num_threads(None)


def centred(rows: Any) -> Any:
    """Each row without its mean: reads it twice."""
    return rows - rows.mean(axis=1, keepdims=True)


def standard(rows: Any) -> Any:
    """Each row over its deviation: divides each element."""
    away = rows - rows.mean(axis=1, keepdims=True)
    return away / np.sqrt((away * away).mean(axis=1, keepdims=True))


def gated(rows: Any) -> Any:
    """A function of each element without its row's mean."""
    return np.tanh(rows - rows.mean(axis=1, keepdims=True))


def shares(rows: Any) -> Any:
    """Each row over the sum of its exponentials."""
    e = np.exp(rows)
    return e / e.sum(axis=1, keepdims=True)


def lines_asked(kernel: Kernel) -> set[tuple[str, Any]]:
    return {(s.buffer.role, s.index) for s in asked([kernel])}


@pytest.mark.parametrize("function", [standard, gated])
@pytest.mark.parametrize("length", [100, 128, 300, 1024])
def test_a_row_program_asks_for_the_rows_of_its_next_turn(
    function: Callable[..., Any], length: int
) -> None:
    """What it reads and what it stores, while it stores; a group of short rows for the next group.
    Both arrays have one shape, so each line of the one is a line of the other."""
    (kernel,) = kernels(function, numbers(ROWS_FROM // (4 * length) + 1, length, dtype=np.float32))
    found = lines_asked(kernel)
    assert {role for role, _ in found} == {"in", "out"}
    assert len({i for r, i in found if r == "in"}) == len({i for r, i in found if r == "out"})


def test_only_stored_rows_are_asked_for_of_arrays_beyond_the_caches() -> None:
    (kernel,) = kernels(standard, numbers(FORESEEN // 4096 + 1, 1024, dtype=np.float32))
    assert {role for role, _ in lines_asked(kernel)} == {"out"}


@pytest.mark.parametrize("length", [100, 1024])
def test_only_stored_rows_are_asked_for_where_memory_has_no_time_to_spare(length: int) -> None:
    """A difference an element is made as fast as it is read. What is divided once a row is no
    quotient an element."""
    rows = numbers(ROWS_FROM // (4 * length) + 1, length, dtype=np.float32)
    for function in (centred, lambda rows: rows * (1 / rows.sum(axis=1, keepdims=True))):
        (kernel,) = kernels(function, rows)
        assert {role for role, _ in lines_asked(kernel)} == {"out"}


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (centred, (ROWS_FROM // 4096 - 1, 1024)),  # small enough to be near
        (centred, (16, ROW_BYTES // 4 + 64)),  # a row that would push out the one before
        (lambda rows: rows.sum(axis=1), (2048, 1024)),  # stores no row
        (lambda rows: rows * 2.0, (2048, 1024)),  # has no turns
    ],
)
def test_other_rows_are_not_asked_for(function: Callable[..., Any], shape: Any) -> None:
    assert not asked(kernels(function, numbers(*shape, dtype=np.float32)))


@pytest.mark.parametrize("function", [centred, shares])
@pytest.mark.parametrize("shape", [(37, 100), (64, 33), (9, 300), (5, 2000)])
def test_what_is_asked_for_changes_nothing(
    function: Callable[..., Any], shape: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last rows ask for places behind the arrays."""
    rows = numbers(*shape, dtype=np.float32)
    plain = pyc.jit(function)(rows)
    monkeypatch.setattr(ahead, "ROWS_FROM", 0)
    pyc.clear_caches()
    with pyc.config.using(cache="off"):
        found = pyc.jit(function)
        assert same_bits(found(rows), plain)
        assert "prefetch" in found.compile(rows).as_text("kernels")
