"""Loops that update arrays in place: one kernel, whose numbers are variables of its loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.oracle import run_plan
from pyc.errors import IndexOutOfRangeError
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Load, postorder
from pyc.ir.graph import Graph
from pyc.ir.loops import For, Kernel, Stmt, While, expressions, walk
from pyc.ir.plan import Loop
from pyc.ir.target import SM_90, X86_64_V3, Target
from pyc.passes import optimise
from pyc.passes.memory import Planned, plan
from pyc.reasons import Reason
from tests.backends.assembler import assemble, assembles
from tests.passes.programs import flat
from tests.programs.differential import same_bits

N = 24
Array = np.ndarray[Any, Any]


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Array:
    """Normal numbers, some of them special."""
    found = np.random.default_rng(seed).standard_normal(shape)
    if found.size > 12:
        found.reshape(-1)[7::9] = (-0.0, np.nan, np.inf)[seed % 3]
    return found.astype(dtype)


def places(n: int, limit: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(0, limit, n)


def recursion(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(2, x.shape[0]):
        y[i] = x[i] - 0.5 * y[i - 1] - 0.25 * y[i - 2]
    return y


def backwards(x: Any) -> Any:
    y = x * 2.0
    for i in range(x.shape[0] - 4, -1, -1):
        y[i] = y[i + 3] - x[i]
    return y


def limited(x: Any, wall: Any) -> Any:
    out, place = np.zeros_like(x), np.float32(0)
    for i in range(x.shape[0]):
        place = np.minimum(np.maximum(place + x[i], -wall), wall)
        out[i] = place
    return out, place


def filtered(measured: Any) -> Any:
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    state, spread = np.zeros(2), np.eye(2)
    out = np.zeros((measured.shape[0], 2))
    for i in range(measured.shape[0]):
        state = move @ state
        spread = move @ spread @ move.T + 0.5 * np.eye(2)
        gain = spread[:, 0] / (spread[0, 0] + 0.25)
        state = state + gain * (measured[i] - state[0])
        spread = spread - np.outer(gain, spread[0])
        out[i] = state
    return out


def counted(k: Any) -> Any:
    found = np.zeros(7, np.int32)
    for i in range(k.shape[0]):
        found[k[i]] += 1
    return found


def marked(k: Any) -> Any:
    seen, again = np.zeros(7, bool), 0
    for i in range(k.shape[0]):
        again += seen[k[i]]
        seen[k[i]] = True
    return seen, again


def followed(k: Any, n: Any) -> Any:
    """A chain through a table, each link of which is cut, to its end."""
    at, table = 0, k.copy()
    while (table[0] < 0) | (table[7] == 0):
        n, previous = n - 1, at
        at = table[previous]
        table[previous] = -n
        table[7] = n
    return at, table


def crossed(x: Any) -> Any:
    a, b = x * 1.0, x + 1.0
    for i in range(1, x.shape[0]):
        a[i] = b[i - 1] + 1.0
        b[i] = a[i] * a[i - 1]
    return a, b


def bubbled(x: Any) -> Any:
    a = x.copy()
    for i in range(x.shape[0] - 1):
        low, high = np.minimum(a[i], a[i + 1]), np.maximum(a[i], a[i + 1])
        a[i] = low
        a[i + 1] = high
    return a


def gathered_in_one(x: Any) -> Any:
    y = x * 0.0
    for i in range(x.shape[0]):
        y[3] = y[3] * 0.5 + x[i]
    return y


def moving_slices(x: Any) -> Any:
    y = x.copy()
    for i in range(2, x.shape[0] - 3):
        y[i : i + 3] = y[i - 1 : i + 2] * 0.5
    return y


def of_its_own_copy(x: Any) -> Any:
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = x[i - 1] + y[i - 1]
    return y, x * 2.0


def columns(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        y[i, 0] = y[i - 1, 0] + x[i, 1]
        y[i, 1] = y[i - 1, 1] - x[i, 0]
    return y


def no_step(x: Any) -> Any:
    y = x.copy()
    for i in range(3, 3):
        y[i] = y[i - 1]
    return y


def to_a_limit(x: Any, n: Any) -> Any:
    y, i = x.copy(), 0
    while i < n:
        y[i] = y[i] + i
        i += 1
    return y


def added(x: Any, k: Any) -> Any:
    def body(i: Any, a: Any) -> Any:
        return a.at[k[i]].add(x[i]).at[k[i] + 1].max(x[i]).at[k[i] - 1].min(x[i])

    return lax.fori_loop(0, x.shape[0], body, x[:9])


def twice_in_one(x: Any, k: Any) -> Any:
    """The second place of an update may be the first one: then its element is what is read."""

    def body(i: Any, a: Any) -> Any:
        b = a.at[pnp.stack((i, k[i] * 1))].set(pnp.stack((x[i] + a[i], x[i] - 1.0)))
        return b.at[i + 1].set(b[i] * 0.5)

    return lax.fori_loop(0, x.shape[0] - 1, body, x)


def dropped(x: Any, k: Any) -> Any:
    """Updates out of range are dropped."""
    return lax.fori_loop(0, x.shape[0], lambda i, a: a.at[k[i]].set(x[i], mode="drop"), x[:5])


PROGRAMS = {
    "recursion": (recursion, numbers(N)),
    "complex": (recursion, numbers(N) + 1j * numbers(N, seed=1)),
    "half": (recursion, numbers(N, dtype=np.float16)),
    "whole numbers": (backwards, places(N, 100).astype(np.float32)),
    "backwards": (backwards, numbers(N, seed=2)),
    "limited": (limited, numbers(N, dtype=np.float32), 0.75),
    "limited by NaN": (limited, numbers(N, dtype=np.float32), np.nan),
    "limited by zero": (limited, numbers(N, dtype=np.float32), 0.0),
    "small matrices": (filtered, np.cumsum(np.ones(N))),
    "counted": (counted, places(N, 7)),
    "marked": (marked, places(N, 7)),
    "followed": (followed, np.array([3, -1, 5, 6, 1, 4, 2, 0]), 6),
    "crossed": (crossed, numbers(N)),
    "bubbled": (bubbled, numbers(N)),
    "gathered in one": (gathered_in_one, numbers(90)),
    "moving slices": (moving_slices, numbers(N)),
    "of its own copy": (of_its_own_copy, numbers(N)),
    "columns": (columns, numbers(N, 2)),
    "no step": (no_step, numbers(N)),
    "to a limit": (to_a_limit, numbers(N), 11),
    "added": (added, numbers(N, dtype=np.float32), places(N, 7) + 1),
    "twice in one": (twice_in_one, numbers(90), np.arange(90) // 3 * 3),
    "dropped": (dropped, numbers(N), places(N, 12) - 3),
}


IN_LAX = (added, dropped, twice_in_one)


def graph_of(function: Any, *arguments: Any) -> Graph:
    """With its loops as ops, after all passes."""
    return optimise(pyc.jit(function).trace(*arguments).graph, check=True)


def planned(function: Any, *arguments: Any, target: Target = X86_64_V3) -> Planned:
    return plan(graph_of(function, *arguments), target, check=True)


def loops_of(kernel: Kernel) -> list[For | While]:
    return [s for s in walk(kernel.body) if isinstance(s, (For, While)) and s.carried]


def is_update(kernel: Kernel) -> bool:
    """Whether it is a loop that loads and stores an array."""
    inout = {b for b in kernel.buffers if b.role == "inout"}
    return bool(inout) and any(isinstance(s, (For, While)) for s in walk(kernel.body))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernel_gives_the_loops_bits(name: str, tmp_path: Path) -> None:
    """Interpreted, compiled, and for a GPU; there is no loop of launches."""
    function, *given = PROGRAMS[name]
    arguments = [np.asarray(a) for a in given]
    graph = graph_of(function, *given)
    right = evaluate(graph, arguments)
    for target in (X86_64_V3, SM_90):
        found = plan(graph, target, check=True).plan
        assert not [s for s in flat(found.steps) if isinstance(s, Loop)]
        assert name == "no step" or any(map(is_update, found.kernels))
        shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
        for a, b in zip(right, run_plan(found, arguments, shapes), strict=True):
            assert same_bits(a, b)
    results = pyc.jit(function)(*given)
    results = results if isinstance(results, tuple) else (results,)
    for a, b in zip(right, results, strict=True):
        assert same_bits(a, np.asarray(b))


@pytest.mark.parametrize("name", [n for n in PROGRAMS if PROGRAMS[n][0] not in IN_LAX])
def test_the_kernel_gives_what_python_gives(name: str) -> None:
    function, *given = PROGRAMS[name]
    with np.errstate(all="ignore"):
        right = function(*given)
    results = pyc.jit(function)(*given)
    right, results = (x if isinstance(x, tuple) else (x,) for x in (right, results))
    for a, b in zip(right, results, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=2e-3)


@assembles
@pytest.mark.parametrize("name", ["recursion", "small matrices", "followed", "added"])
def test_a_gpu_takes_the_kernel(name: str, tmp_path: Path) -> None:
    function, *given = PROGRAMS[name]
    kernels = planned(function, *given, target=SM_90).plan.kernels
    used = assemble(ptx(module_text(kernels, SM_90)[0], SM_90), SM_90.cpu, tmp_path).usages
    assert len(used) == len(kernels) and not any(u.spilled for u in used)


@pytest.mark.parametrize("name", ["recursion", "limited", "small matrices", "crossed", "followed"])
def test_the_kernel(name: str, golden) -> None:
    """State and what was stored last are variables; what is known of the counter needs no check."""
    function, *given = PROGRAMS[name]
    (kernel,) = filter(is_update, planned(function, *given).plan.kernels)
    golden(str(kernel))


@pytest.mark.parametrize(
    ("function", "loads"), [(recursion, 0), (backwards, 0), (gathered_in_one, 0), (crossed, 0)]
)
def test_what_was_just_stored_is_not_loaded(function: Any, loads: int) -> None:
    (kernel,) = filter(is_update, planned(function, numbers(90)).plan.kernels)
    (loop,) = (s for s in kernel.body if isinstance(s, For))
    roots = [e for s in walk(loop.body) for e in expressions(s)]
    arrays = {b for b in kernel.buffers if b.role == "inout"}
    found = [e for e in postorder(roots) if isinstance(e, Load) and e.buffer in arrays]
    assert len(found) == loads


def rows(x: Any) -> Any:
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + y[i]
    return y


def swapped(x: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        a, b = state
        return b, a.at[i].set(b[i])

    return lax.fori_loop(0, 5, body, (x, x + 1.0))


def of_the_past(x: Any, k: Any) -> Any:
    """Reads, where an array says that it has changed, another as it was."""

    def body(i: Any, state: Any) -> Any:
        a, b, total = state
        b = b.at[k[i]].set(i)
        place = b[k[i] - 1]
        c = a.at[k[i]].set(0.0)
        return c, b.at[place].set(k[place]), total + a[b.at[place].set(k[place])[i]]

    return lax.fori_loop(0, 5, body, (x, k, 0.0))


@pytest.mark.parametrize(
    ("function", "arguments", "why"),
    [
        (rows, (numbers(N, 100),), "stores more than 64 elements"),
        (swapped, (numbers(N),), "memory for scatter"),
        (of_the_past, (numbers(N), places(N, N)), "an array that it has overwritten"),
    ],
)
def test_other_loops_stay_loops_of_launches(function: Any, arguments: Any, why: str) -> None:
    found = planned(function, *arguments)
    assert [s for s in flat(found.plan.steps) if isinstance(s, Loop)]
    (decision,) = (d for d in found.decisions if d.reason is Reason.FUSION_WHOLE_ARRAY_LOOP)
    assert why in decision.details
    graph = graph_of(function, *arguments)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    right = evaluate(graph, list(arguments))
    for a, b in zip(right, run_plan(found.plan, list(arguments), shapes), strict=True):
        assert same_bits(a, b)


def test_the_first_iteration_that_fails_is_told() -> None:
    """Later ones fail with lower numbers."""

    def read(x: Any, k: Any) -> Any:
        y = np.zeros_like(x)
        for i in range(k.shape[0]):
            y[i] = x[k[i]]
        return y

    with pytest.raises(IndexOutOfRangeError, match="index 90 is out of bounds"):
        pyc.jit(read)(numbers(8), np.array([1, 2, 90, 4, 80, 70]))


def test_a_donated_array_is_updated_where_it_lies() -> None:
    x = numbers(N)
    right = recursion_of(x)
    given = pnp.asarray(x)
    step = pyc.jit(recursion_of, donate_argnums=(0,))
    assert same_bits(np.asarray(step(given)), right)
    assert step.lower(pnp.asarray(x)).memory_analysis().donated == x.nbytes


def recursion_of(x: Any) -> Any:
    y = x.copy()
    for i in range(1, x.shape[0]):
        y[i] = y[i] - 0.5 * y[i - 1]
    return y


def test_a_long_loop_asks_whether_to_go_on() -> None:
    """Ctrl-C ends it: `while` is where a kernel looks for that."""

    def long(x: Any) -> Any:
        y = x.copy()
        for i in range(1 << 24):
            y[i & 7] = y[(i + 1) & 7] + 1.0
        return y

    (kernel,) = filter(is_update, planned(long, numbers(8)).plan.kernels)
    assert [s for s in kernel.body if isinstance(s, While)]


@pytest.mark.parametrize("written", [True, False], ids=["update", "state"])
def test_elements_of_known_arrays_are_literals(written: bool) -> None:
    """A matrix that the program names is no memory of its loop: a product with 1 is none at all."""

    def filtered(x: Any) -> Any:
        matrix = np.array([[1.0, 1.0], [0.0, 0.5]])
        state, out = pnp.zeros(2), pnp.zeros((x.shape[0], 2))
        for i in range(x.shape[0]):
            state = matrix @ state + x[i]
            if written:
                out[i] = state
        return out if written else state

    x = numbers(300)
    graph = optimise(graph_of(filtered, x), check=True)
    found = plan(graph, X86_64_V3).plan
    kernel = next(k for k in found.kernels if any(b.shape == (300,) for b in k.buffers))
    assert (4,) not in [b.shape for b in kernel.buffers]
    (result,) = graph.results
    (compiled,) = run_plan(found, [x], [(result.shape, result.dtype.numpy)])
    assert same_bits(evaluate(graph, [x])[0], compiled)
    state = np.zeros(2)
    for number in x:
        state = np.array([state.sum(), 0.5 * state[1]]) + number
    assert np.allclose(compiled[-1] if written else compiled, state)


def blocks(x: Any) -> Any:
    """Eight elements after the other, which no other iteration changes."""

    def step(i: Any, y: Any) -> Any:
        return lax.dynamic_update_slice(y, lax.dynamic_slice(x, (8 * i,), (8,)) * 2, (8 * i,))

    return lax.fori_loop(0, x.shape[0] // 8, step, x)


def _runs(s: Stmt, times: int) -> bool:
    return isinstance(s, For) and s.extent == times


@pytest.mark.parametrize("target", [X86_64_V3, SM_90], ids=lambda t: t.id)
def test_on_a_processor_not_every_element_runs_all_iterations(target: Target) -> None:
    """200 elements and 25 iterations are 5,000 steps if it does; a GPU has as many threads."""
    x = numbers(200)
    graph = optimise(pyc.jit(blocks).trace(x).graph, check=True)
    found = plan(graph, target, check=True)
    elements = [s for k in found.logical for s in walk(k.body) if _runs(s, 200)]
    assert any(isinstance(s, While) for e in elements for s in walk((e,))) == target.has_blocks
    (result,) = run_plan(found.plan, [x], [((200,), np.dtype(np.float64))])
    assert same_bits(result, x * 2)
    pyc.verify(blocks, x)


def test_few_places_are_chosen_by_each_element() -> None:
    """Of eight rows, say: less than what going through memory takes."""

    def rows(x: Any) -> Any:
        def step(i: Any, y: Any) -> Any:
            return lax.dynamic_update_slice(y, x * i, (i, 0))

        return lax.fori_loop(0, 8, step, pnp.zeros((8, 200)))

    x = numbers(1, 200)
    assert "scan" in [e.op.name for e in optimise(pyc.jit(rows).trace(x).graph).eqns]
    pyc.verify(rows, x)
