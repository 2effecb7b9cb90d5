"""Initial values that loops and updates store over: dropped where, and only where, nobody reads
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends.oracle import run_plan
from pyc.errors import IndexOutOfRangeError
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value, subgraphs
from pyc.ir.plan import Launch, Place
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.text_graph import parse_graph, print_graph
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

LINE = np.random.default_rng(5).standard_normal(90)
ROWS = np.random.default_rng(6).standard_normal((11, 9))


def empties(graph: Graph) -> int:
    """How many arrays without initial values there are."""
    found = sum(e.op.name == "empty" for e in graph.eqns)
    return found + sum(empties(g) for e in graph.eqns for g in subgraphs(e))


def traced(function: Callable[..., Any], *arguments: Any) -> Graph:
    """With its loops as loops."""
    return pyc.jit(function).trace(*arguments).graph


def lowered(function: Callable[..., Any], *arguments: Any) -> Graph:
    return optimise(traced(function, *arguments), check=True)


# --- what is dropped ------------------------------------------------------------------------------


def recursive(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    y[1] = x[1] - 0.5 * y[0]
    for i in range(2, x.shape[0]):
        y[i] = x[i] - 0.5 * y[i - 1] + 0.25 * y[i - 2]
    return y


def backwards(x: Any) -> Any:
    y = np.full_like(x, 3.0)
    y[-1] = x[-1]
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = x[i] - 0.5 * y[i + 1]
    return y


def ends_last(x: Any) -> Any:
    y = np.empty_like(x)
    for i in range(1, x.shape[0] - 1):
        y[i] = x[i + 1] - x[i - 1]
    y[0] = 0.0
    y[-1] = 1.0
    return y


def rows(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] - np.mean(x[i])
    return y


def columns(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(x.shape[1]):
        y[:, i] = np.cumsum(x[:, i])
    return y


def blocks(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(x.shape[0] // 9):
        y[9 * i : 9 * i + 9] = x[9 * i : 9 * i + 9] * i
    return y


def twice(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i]
        y[i] = y[i] * 2
    return y


def two_arrays(x: Any) -> Any:
    y, z = np.zeros_like(x), np.zeros_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
        z[i] = y[i] + 1
    return y, z


def trajectory(u: Any) -> Any:
    out = np.zeros((12, u.shape[0]))
    out[0] = u
    for i in range(1, 12):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        out[i] = u
    return out


def stacked(u: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        u = pnp.cumsum(u)
        return u, u * 2

    return lax.scan(step, u, None, length=7, reverse=True)


def quarters(x: Any) -> Any:
    y = np.zeros((10, 12))
    y[:5, :6] = np.sort(x[:5, :6])
    y[5:, :6] = np.sort(x[:5, :6])
    y[:, 6:] = 1.0
    return y


def the_last_number(x: Any) -> Any:
    """No element is a result; what one iteration stores is there in the next one."""
    y = np.zeros_like(x)
    y[0] = 1.0
    total = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i] = 0.5 * y[i - 1] + np.sum(np.sort(x) * i)
        total = np.sort(total + y[i])
    return total


def of_an_iteration(x: Any) -> Any:
    y, total = np.zeros_like(x), x
    for i in range(x.shape[0]):
        y[i] = np.sum(np.sort(total) * i)
        total = np.sort(total * 0.5 + y[i])
    return total


def spare(x: Any) -> Any:
    """An initial value that was computed, which nobody needs then."""
    y = np.sort(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * 2
    return y


def read_before(x: Any) -> Any:
    y = np.zeros_like(x)
    z = np.sort(y) + 1.0
    for i in range(90):
        y[i] = x[i]
    return y, z


DROPPED: dict[str, tuple[Callable[..., Any], Any, int]] = {
    "a recursion": (recursive, LINE, 1),
    "backwards": (backwards, LINE, 1),
    "the ends last": (ends_last, LINE, 1),
    "rows": (rows, ROWS, 1),
    "columns": (columns, ROWS, 1),
    "blocks": (blocks, LINE, 1),
    "one place twice": (twice, LINE, 1),
    "two arrays": (two_arrays, LINE, 2),
    "a trajectory": (trajectory, LINE, 1),
    "results of a scan": (stacked, LINE, 1),
    "parts of a plane": (quarters, np.tile(ROWS, (1, 2)), 1),
    "an array for a loop": (the_last_number, LINE, 1),
    "one number of each iteration": (of_an_iteration, LINE, 1),
    "computed": (spare, LINE, 1),
    "read for another array": (read_before, LINE, 1),
    "complex": (recursive, LINE + 1j * LINE[::-1], 1),
    "float32": (recursive, LINE.astype(np.float32), 1),
    "whole numbers": (twice, np.arange(90), 1),
    "truths": (two_arrays, LINE > 0, 2),
    "lanes": (pyc.vmap(recursive), ROWS.repeat(9, axis=1), 1),
}


@pytest.mark.parametrize("case", DROPPED)
def test_what_is_stored_over_is_not_made(case: str) -> None:
    """In every way of running it, with elements that show where one of them were read."""
    function, x, count = DROPPED[case]
    assert empties(lowered(function, x)) == count
    pyc.verify(function, x)


@pytest.mark.parametrize("case", DROPPED)
def test_a_gpu_has_the_same_bits(case: str) -> None:
    function, x, _ = DROPPED[case]
    graph = lowered(function, x)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    found = run_plan(plan(graph, SM_90, check=True).plan, [x], shapes)
    for a, b in zip(evaluate(traced(function, x), [x]), found, strict=True):
        assert same_bits(a, b)


def test_nothing_is_done_for_it() -> None:
    """Three launches for the two elements that come first, one for the loop: no fill, no copy."""
    found = plan(lowered(recursive, LINE), X86_64_V3, check=True).plan
    assert [type(s) for s in found.steps] == [Launch] * 4


def test_memory_that_only_an_iteration_needs_is_shared() -> None:
    """And what is read there is there."""
    found = plan(lowered(of_an_iteration, LINE), X86_64_V3, check=True).plan
    assert any(b.nbytes == LINE.nbytes and b.place is Place.ARENA for b in found.buffers)
    pyc.verify(of_an_iteration, LINE)


def test_its_text_reads_back() -> None:
    graph = lowered(recursive, LINE)
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)


def test_two_arrays_are_two() -> None:
    """Equal equations are one value, of which a loop could overwrite one use only."""
    graph = lowered(two_arrays, LINE)
    assert len({e.params["number"] for e in graph.eqns if e.op.name == "empty"}) == 2
    assert not plan(graph, X86_64_V3).copies


# --- what is not ----------------------------------------------------------------------------------


def _filled(body: Callable[..., Any], first: int = 0, end: int = 90, step: int = 1) -> Any:
    def program(x: Any) -> Any:
        y = np.zeros_like(x)
        for i in range(first, end, step):
            body(x, y, i)
        return y

    return program


def _store(x: Any, y: Any, i: Any) -> None:
    y[i] = x[i]


def _add(x: Any, y: Any, i: Any) -> None:
    y[i] += x[i]


def _ahead(x: Any, y: Any, i: Any) -> None:
    y[i] = x[i] + y[i + 1]


def _around(x: Any, y: Any, i: Any) -> None:
    y[i] = x[i] + y[i - 1]


def _all_of_it(x: Any, y: Any, i: Any) -> None:
    y[i] = x[i] + np.sum(y)


def _elsewhere(x: Any, y: Any, i: Any) -> None:
    y[(i * 7) % 90] = x[i]


def _if_positive(x: Any, y: Any, i: Any) -> None:
    if x[i] > 0:
        y[i] = x[i]


def first_two_read_three(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, 90):
        y[i] = x[i] + y[i - 1] + y[max(i - 2, 0)] + y[5]
    return y


def read_between(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(45):
        y[i] = x[i]
    z = np.sort(y)
    for i in range(45, 90):
        y[i] = x[i]
    return y, z


def half(x: Any) -> Any:
    y = np.zeros((90, 4))
    for i in range(90):
        y[i, :2] = x[i]
    return y


def an_argument(x: Any) -> Any:
    return lax.fori_loop(0, 90, lambda i, y: y.at[i].set(2.0 * i), x)


def sums(x: Any) -> Any:
    return lax.fori_loop(0, 90, lambda i, y: y.at[i].add(x[i]), pnp.zeros_like(x))


def other_values(x: Any) -> Any:
    def step(i: Any, s: Any) -> Any:
        y, _ = s
        return y.at[i].set(x[i]), pnp.sort(y)

    return lax.fori_loop(0, 90, step, (pnp.zeros_like(x), x))


def until(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(90):
        if x[i] > 1:
            break
        y[i] = x[i]
    return y


def watched(x: Any) -> Any:
    def going(s: Any) -> Any:
        return (s[0] < 90) & (s[1][89] == 0)

    return lax.while_loop(going, lambda s: (s[0] + 1, s[1].at[s[0]].set(x[s[0]])), (0, x * 0))[1]


def of_a_number(x: Any, n: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(n):
        y[i] = x[i]
    return y


KEPT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "the first is not stored": (_filled(_store, 1), (LINE,)),
    "the last is not stored": (_filled(_store, 0, 89), (LINE,)),
    "every other is stored": (_filled(_store, 0, 90, 2), (LINE,)),
    "no iteration": (_filled(_store, 5, 5), (LINE,)),
    "sums": (_filled(_add), (LINE,)),
    "sums by a method": (sums, (LINE,)),
    "the next is read": (_filled(_ahead, 0, 89), (LINE,)),
    "the last is read by the first": (_filled(_around), (LINE,)),
    "all of it is read": (_filled(_all_of_it), (LINE,)),
    "places that are not known": (_filled(_elsewhere), (LINE,)),
    "some are stored": (_filled(_if_positive), (LINE,)),
    "a place is read early": (first_two_read_three, (LINE,)),
    "read between": (read_between, (LINE,)),
    "half of each row": (half, (LINE,)),
    "an argument": (an_argument, (LINE,)),
    "another value carries it": (other_values, (LINE,)),
    "a loop that may stop": (until, (LINE,)),
    "the condition reads it": (watched, (LINE,)),
    "as often as a number says": (of_a_number, (LINE, np.int64(90))),
}


@pytest.mark.parametrize("case", KEPT)
def test_what_is_read_is_made(case: str) -> None:
    function, arguments = KEPT[case]
    assert not empties(lowered(function, *arguments))
    pyc.verify(function, *arguments)


def test_small_arrays_stay_in_registers() -> None:
    assert not empties(lowered(rows, ROWS[:3, :4]))


def test_an_error_half_way_leaves_no_result() -> None:
    @pyc.jit
    def taken(x: Any, places: Any) -> Any:
        y = np.zeros_like(x)
        for i in range(90):
            y[i] = x[places[i]]
        return y

    places = np.arange(90)
    assert empties(lowered(taken, LINE, places)) == 1
    np.testing.assert_array_equal(taken(LINE, places[::-1].copy()), LINE[::-1])
    places[40] = 90
    with pytest.raises(IndexOutOfRangeError):
        taken(LINE, places)


def test_a_donated_argument_is_still_made_in_its_memory() -> None:
    x = LINE.copy()
    found = pyc.jit(an_argument, donate_argnums=0)(x)
    assert found.ctypes.data == x.ctypes.data


# --- random loops ---------------------------------------------------------------------------------


def _random(seed: int) -> Callable[..., Any]:
    """A loop over the rows or columns of a plane, with stores and reads at drawn distances."""
    rng = np.random.default_rng(seed)
    length, width = 16, 6
    down = rng.random() < 0.5
    pace = int(rng.choice([-2, -1, 1, 1, 2]))
    size = abs(pace) if rng.random() < 0.8 else 3 - abs(pace)
    most = (length - size) // abs(pace) + 1
    times = max(most - int(rng.choice([0, 0, 1, 2])), 1)
    first = int(rng.integers(0, length - size - abs(pace) * (times - 1) + 1))
    start = first if pace > 0 else first - pace * (times - 1)
    reads = [int(d) for d in rng.integers(-3, 4, size=rng.integers(0, 3)) if d or pace > 0]
    reads = [d for d in reads if 0 <= first + d <= length - size - abs(pace) * (times - 1)]
    again, whole = rng.random() < 0.4, rng.random() < 0.5
    width_stored = width - 1 if rng.random() < 0.15 else width
    before = [int(k) for k in rng.integers(0, length, size=rng.integers(0, 5))]
    behind = [int(k) for k in rng.integers(0, length, size=rng.integers(0, 5))]

    def program(x: Any) -> Any:
        y = np.zeros((length, width) if down else (width, length))
        for k in before:
            if down:
                y[k] = k
            else:
                y[:, k] = k
        for i in range(times):
            at = start + pace * i
            new = x[i] + 1.0
            if down:
                for d in reads:
                    new = new + 0.5 * y[at + d : at + d + size, :width_stored]
                y[at : at + size, :width_stored] = new
                if again:
                    y[at, :width_stored] = y[at, :width_stored] + 1.0
            else:
                for d in reads:
                    new = new + 0.5 * y[:width_stored, at + d : at + d + size]
                y[:width_stored, at : at + size] = new
                if again:
                    y[:width_stored, at] = y[:width_stored, at] + 1.0
        for k in behind:
            if down:
                y[k] = -k
            else:
                y[:, k] = -k
        part = slice(0, length) if whole else slice(2, length - 2)
        return y[part] if down else y[:, part]

    return program


@pytest.mark.parametrize("part", range(4))
def test_random_loops_read_nothing_that_was_dropped(part: int) -> None:
    """`empty` has NaN in the interpreter: what is read of it shows in a result. Some are dropped,
    some are not."""
    dropped = 0
    x = np.arange(16.0)
    for seed in range(25 * part, 25 * part + 25):
        graph = traced(_random(seed), x)
        found = optimise(graph, check=True)
        (expected,), (result,) = evaluate(graph, [x]), evaluate(found, [x])
        assert same_bits(expected, result), f"seed {seed}"
        assert empties(found) == _may_be_dropped(graph, x), f"seed {seed}"
        dropped += empties(found)
    assert 3 < dropped < 22


def _may_be_dropped(graph: Graph, x: Any) -> int:
    """Whether no result changes with the number that the plane is filled with."""
    (fill,) = (e for e in graph.eqns if e.op.name == "broadcast" and e.out.type.size == 96)

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        return builder.keep(eqn, (builder.constant(np.nan),)) if eqn is fill else None

    (a,), (b,) = evaluate(graph, [x]), evaluate(Rewriter(rule)(graph), [x])
    return int(same_bits(a, b))
