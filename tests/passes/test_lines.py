"""Lines: what a loop needs at several neighbouring positions is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pyc.numpy as pnp
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Load, postorder
from pyc.ir.loops import Alloc, Kernel, Space, walk
from pyc.ir.target import X86_64_V3, X86_64_V4, Target
from pyc.ir.text_kernel import print_kernel
from pyc.passes import optimise
from pyc.passes.lines import LINE_BYTES, NEAR, NOT_SHORT, SHORTEST
from pyc.passes.memory import plan
from pyc.passes.nest import roots
from tests.passes.programs import awkward_arguments, graph_of, ones, planned
from tests.programs.differential import same_bits


def blur(u: Any) -> Any:
    """Down, then across."""
    d = (u[:-4] + u[4:]) + 4.0 * (u[1:-3] + u[3:-1]) + 6.0 * u[2:-2]
    return (d[:, :-4] + d[:, 4:]) + 4.0 * (d[:, 1:-3] + d[:, 3:-1]) + 6.0 * d[:, 2:-2]


def neighbours(cells: Any) -> Any:
    """Of a torus, and the cells themselves."""
    rows = (cells + pnp.roll(cells, 1, 0) + pnp.roll(cells, -1, 0)) * 0.5
    return rows + pnp.roll(rows, 1, 1) + pnp.roll(rows, -1, 1)


def box(u: Any) -> Any:
    """Sums of 3 by 3 elements."""
    rows = u[:-2] + u[1:-1] + u[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]


def lines(kernel: Kernel) -> list[Alloc]:
    return [s for s in walk(kernel.body) if isinstance(s, Alloc) and s.buffer.space is Space.STACK]


LINES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "blur": (blur, (ones(9, 100),)),
    "neighbours": (neighbours, (ones(5, 80),)),
    "tiles": (blur, (ones(6, LINE_BYTES // 4 * 2 + 21),)),
    "whole tiles": (blur, (ones(6, LINE_BYTES // 4 * 2 + 4),)),
    "box": (box, (ones(5, NOT_SHORT // 4 + 2),)),
}


@pytest.mark.parametrize("name", ["blur", "tiles"])
def test_lines(name: str, golden) -> None:
    """The kernels that run, for a target with 256-bit vectors."""
    function, arguments = LINES[name]
    found = planned(function, *arguments)
    golden("\n".join(print_kernel(k) for k in found.plan.kernels))


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
@pytest.mark.parametrize("name", LINES)
def test_lines_keep_all_bits(name: str, target: Target) -> None:
    function, arguments = LINES[name]
    graph = optimise(graph_of(function, *arguments), check=True)
    values = awkward_arguments(graph)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = plan(graph, target, check=True).plan
    assert any(lines(k) for k in found.kernels)
    for a, b in zip(evaluate(graph, values), run_plan(found, values, shapes), strict=True):
        assert same_bits(a, b)


def test_an_element_of_a_line_is_computed_once() -> None:
    """A blur loads ten elements for each, not twenty-five."""
    (kernel,) = planned(blur, ones(40, 100)).plan.kernels
    (line,) = lines(kernel)
    for s in line.body:
        loads = [e for e in postorder(roots((s,))) if isinstance(e, Load)]
        assert len(loads) % 5 == 0 and len(loads) <= 10


def test_cheap_sums_have_lines_where_arrays_are_near_and_rows_long() -> None:
    wide = NOT_SHORT // 4 + 2
    for rows, columns, found in ((9, wide, 1), (9, wide - 1, 0), (NEAR // 8 // wide, wide, 1)):
        (kernel,) = planned(box, ones(rows, columns)).plan.kernels
        assert len(lines(kernel)) == found, (rows, columns)
    (kernel,) = planned(box, ones(NEAR // 4 // wide, wide)).plan.kernels
    assert not lines(kernel), "from memory"


@pytest.mark.parametrize(
    "function",
    [lambda u: blur(u[:, : SHORTEST - 1]), lambda u: u[:, 2:] + u[:, 1:-1] + u[:, :-2]],
    ids=["short", "loads"],
)
def test_what_is_short_or_cheap_has_no_line(function: Any) -> None:
    (kernel,) = planned(function, ones(9, 100)).plan.kernels
    assert not lines(kernel)
