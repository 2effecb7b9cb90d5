"""Results of a loop's body that begin in the buffer of a carry: where they may, and where not.

Every program here runs by the Plan interpreter, which reports two agents of which one writes what
the other reads without order, in schedules with tasks of as little work as there can be.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends.host import host_flags
from pyc.backends.oracle import run_plan
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.loops import Alloc, For, walk
from pyc.ir.plan import Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.passes import optimise, schedule
from pyc.passes.memory import plan
from tests.passes.native_plans import by_threads
from tests.passes.programs import copies, graph_of, loops
from tests.programs.differential import same_bits

Step = Callable[..., Any]
RNG = np.random.default_rng(0)
SHAPE = (12, 37)
A, B, C = (RNG.standard_normal(SHAPE) for _ in range(3))
K, L = (np.floor(a[:, :12] * 4) for a in (A, B))


def checked(graph: Graph, *arguments: Any, target: Target = X86_64_V3) -> Plan:
    """The Plan of a Graph, after it has given the interpreter's bits, in many tasks."""
    graph = optimise(graph, check=True)
    with mock.patch.object(schedule, "TASK_WORK", 1):
        found = plan(graph, target, check=True).plan
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    results = run_plan(found, arguments, shapes)
    for a, b in zip(evaluate(graph, arguments), results, strict=True):
        assert same_bits(a, b), f"{b} is not {a}"
    return found


def applied(step: Step, times: int) -> Callable[..., Any]:
    """The program that applies `step` so often."""
    return lambda *arrays: lax.fori_loop(0, times, lambda i, c: step(*c), arrays)


def looped(step: Step, *initial: Any, times: int = 3, target: Target = X86_64_V3) -> Plan:
    """The Plan of a loop that applies `step` to these arrays."""
    return checked(graph_of(applied(step, times), *initial), *initial, target=target)


def swaps(found: Plan, nbytes: int = A.nbytes) -> int:
    """How many arrays are exchanged after an iteration."""
    return sum(
        found.buffers[a].nbytes >= nbytes for loop in loops(found.steps) for a, _ in loop.rotate
    )


def copied(found: Plan, nbytes: int = A.nbytes) -> int:
    """How many arrays are copied in a loop."""
    inside = [s for loop in loops(found.steps) for s in (*loop.condition, *loop.body)]
    return sum(found.buffers[c.source].nbytes >= nbytes for c in copies(inside))


# --- what is in place -----------------------------------------------------------------------------


def shifted(x: Any) -> Any:
    return pnp.roll(x, 1, 0) - pnp.roll(x, -1, 1)


def shallow(h: Any, u: Any, v: Any) -> Any:
    """Two of three are replaced; the third is read at its neighbours."""
    u = u - (pnp.roll(h, -1, 1) - pnp.roll(h, 1, 1)) * 0.5
    v = v - (pnp.roll(h, -1, 0) - pnp.roll(h, 1, 0)) * 0.5
    return h - 0.1 * (shifted(h * u) + shifted(h * v)), u, v


def turned(x: Any, y: Any) -> Any:
    """Each is made of both, in one kernel."""
    return x * 0.6 - y * 0.8, x * 0.8 + y * 0.6


def leapfrog(before: Any, now: Any) -> Any:
    """The one before last is replaced by the next."""
    return now, now * 2 - before + 0.1 * shifted(now)


def in_a_branch(x: Any, y: Any) -> Any:
    y = lax.cond(x[0, 0] > 0, lambda x, y: y + x, lambda x, y: y - shifted(x), x, y)
    return pnp.flip(x) + y, y


IN_PLACE: dict[str, tuple[Step, tuple[Any, ...], int]] = {
    "elements": (lambda x: (pnp.sort(x, axis=1) * 0.1 + x,), (A,), 0),
    "elements beside a stencil": (shallow, (A, B, C), 1),
    "each of both": (lambda x, y: turned(pnp.sort(x), pnp.sort(y)), (A, B), 0),
    "the one before": (leapfrog, (A, B), 1),
    "rows": (lambda x: (x / (1 + pnp.sum(x * x, axis=1, keepdims=True)),), (A,), 0),
    "columns": (lambda x: (x - pnp.mean(x, axis=0),), (A,), 0),
    "what a product is added to": (
        lambda x, y: (0.25 * (x + pnp.sort(y) @ y[:, ::-1]), y),
        *((K, L), 0),
    ),
    "complex numbers": (lambda z: (z * z * 0.1 + shifted(pnp.sort(z.real)),), (A + 1j * B,), 0),
    "after the last read": (lambda x: (pnp.flip(pnp.sort(x, axis=1)) * 0.5,), (A,), 0),
    "a loop of each element": (
        lambda x: (
            lax.while_loop(
                lambda s: pnp.max(s) < 9, lambda s: pnp.sort(s) * 1.5 + 1, pnp.sort(pnp.abs(x))
            ),
        ),
        *((A,), 0),
    ),
    "then an update": (
        lambda x, y: ((pnp.sort(x) * 0.5 + x).at[3].set(y[2]), pnp.sort(y) - y),
        *((A, B), 0),
    ),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_a_result_begins_in_the_buffer_of_a_carry(name: str) -> None:
    step, initial, exchanged = IN_PLACE[name]
    found = looped(step, *initial)
    assert loops(found.steps), "the loop is one of whole arrays"
    assert copied(found, initial[0].nbytes) == 0
    assert swaps(found, initial[0].nbytes) == exchanged


ON_A_GPU = {"rows": 1, "columns": 1, "what a product is added to": 1}
"""Rows that threads share are not replaced there."""


@pytest.mark.parametrize("name", IN_PLACE)
def test_on_a_gpu_only_elements_are_replaced(name: str) -> None:
    step, initial, exchanged = IN_PLACE[name]
    found = looped(step, *initial, target=SM_90)
    assert swaps(found, initial[0].nbytes) == ON_A_GPU.get(name, exchanged)


@pytest.mark.parametrize("name", IN_PLACE)
def test_each_width_and_number_of_threads_gives_the_same_bits(name: str) -> None:
    """Native code; the tasks of a kernel store beside one another."""
    step, initial, _ = IN_PLACE[name]
    graph = optimise(graph_of(applied(step, 5), *initial))
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    expected = evaluate(graph, initial)
    for target in (X86_64_V3, X86_64_V4)[: 2 if "avx512f" in host_flags() else 1]:
        with mock.patch.object(schedule, "TASK_WORK", 1):
            found = plan(graph, target).plan
        for results in by_threads(found, target, initial, shapes):
            for a, b in zip(expected, results, strict=True):
                assert same_bits(a, b)


def test_two_that_take_turns_need_no_third() -> None:
    """Of a leapfrog; the results are the two, and nothing else has memory."""
    found = looped(leapfrog, A, B, times=4)
    assert found.peak < A.nbytes


def flux(u: Any, h: Any) -> Any:
    """What is made of three rows is needed at three neighbouring places."""
    q = pnp.roll(h, 1, 0) * 3 + h * 5 - pnp.roll(h, -1, 0) * pnp.roll(h, -1, 0)
    return u - (pnp.roll(q, -1, 1) + q * pnp.roll(q, 1, 1)) * 0.1, pnp.sort(h)


def across(u: Any, h: Any) -> Any:
    """The other array is read along its columns."""
    return u * 0.5 + h.T, pnp.sort(h)


@pytest.mark.parametrize(("step", "name"), [(flux, "line0"), (across, "row")])
def test_what_replaces_a_carry_keeps_its_schedule(step: Step, name: str) -> None:
    """Lines and blocks of rows, which take each position once."""
    shape = (3, 700) if step is flux else (70, 70)
    found = looped(step, RNG.random(shape), RNG.random(shape))
    own = [k for k in found.kernels if k.name != "sort"]
    replaced = [k for k in own if any(b.role == "inout" for b in k.buffers)]
    inside = {s.buffer.name for k in replaced for s in walk(k.body) if isinstance(s, Alloc)}
    inside |= {s.var.name for k in replaced for s in walk(k.body) if isinstance(s, For)}
    assert name in inside


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(("m", "n"), [(8, 1), (1, 9), (1, 1), (8, 5)])
def test_a_product_with_axes_of_one_is_added_where_a_carry_lies(
    m: int, n: int, together: bool
) -> None:
    """The kernel has batch axes, or these and the rows, as one axis."""
    x, y = np.floor(RNG.random((2, 3, m, n)) * 9), np.floor(RNG.random((2, 3, m, 400)) * 5)
    z = np.floor(RNG.random((400, n) if together else (2, 3, 400, n)) * 5)

    def function(x: Any, y: Any, z: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, x: 0.5 * (y @ z + x) - x, x)

    found = checked(graph_of(function, x, y, z), x, y, z, target=X86_64_V4)
    assert swaps(found, x.nbytes) == 0 or not loops(found.steps)


# --- what must not be -----------------------------------------------------------------------------

SWAPPED: dict[str, tuple[Step, tuple[Any, ...], int]] = {
    "neighbours": (lambda x: (shifted(x) + x,), (A,), 1),
    "another element of the row": (lambda x: (x - x[:, :1] + pnp.sum(x),), (A,), 1),
    "read by a later group": (lambda x, y: (x * 0.5, pnp.sort(x + y) + x * 0.5), (A, B), 0),
    "read behind": (lambda x, y: (pnp.sort(x) + x, pnp.sort(x - y) - x), (A, B), 1),
    "another's neighbours": (lambda x, y: (x + shifted(y), y + shifted(x)), (A, B), 2),
    "one result of two carries": (lambda x, y: (lambda z: (z, z))(pnp.sort(x) + y), (A, B), 2),
    "transposed": (lambda x: (x[:, :12] + x[:, :12].T,), (A[:, :12].copy(),), 1),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_what_is_read_elsewhere_keeps_its_buffer(name: str) -> None:
    """The count is the least there can be: what may be in place is."""
    step, initial, exchanged = SWAPPED[name]
    found = looped(step, *initial)
    assert swaps(found, initial[0].nbytes) <= exchanged
    assert swaps(found, initial[0].nbytes) + copied(found, initial[0].nbytes) > 0 or not exchanged


def test_a_kept_row_is_not_computed_twice() -> None:
    """The sines of a long row lie in the result, while the carry is read again (`kepler`)."""
    line, off = RNG.random(3000), RNG.random(3000)

    def step(x: Any, off: Any) -> Any:
        away = x - off * pnp.sin(x)
        return x - away / (1 + pnp.max(pnp.abs(away))), off

    found = looped(step, line, off)
    assert swaps(found, line.nbytes) == 1


@pytest.mark.parametrize("times", [0, 1, 2])
def test_the_callers_arrays_stay_as_they_are(times: int) -> None:
    """The first iteration replaces a copy; so with none, one carry for all, and constants."""

    def function(x: Any, y: Any, n: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            a, b, d, e = c
            return pnp.sort(a) + a, pnp.sort(b) * y + b, pnp.sort(d) + d - e, pnp.sort(e) * 2 + e

        zero = pnp.zeros(SHAPE)
        return *lax.fori_loop(0, n, step, (x, x, y, zero)), x - y

    jitted = pyc.jit(function)
    a, b = A.copy(), B.copy()
    jitted(a, b, times)
    assert same_bits(a, A) and same_bits(b, B)
    checked(graph_of(function, A, B, np.int64(0)), A, B, np.asarray(times))


@pytest.mark.parametrize("times", [0, 1, 3])
def test_the_initial_value_may_be_read_after_the_loop(times: int) -> None:
    def function(x: Any, n: Any) -> Any:
        start = pnp.sort(x)
        end = lax.fori_loop(0, n, lambda i, y: pnp.sort(y) + y, start)
        return pnp.sort(end - start), start

    checked(graph_of(function, A, np.int64(0)), A, np.asarray(times))


def test_the_condition_reads_what_is_there_then() -> None:
    def function(x: Any) -> Any:
        def going(x: Any) -> Any:
            return pnp.sum(pnp.abs(x)) < 1e4

        return lax.while_loop(going, lambda x: pnp.sort(x, axis=0) + x * 1.5, x)

    assert swaps(checked(graph_of(function, A), A)) == 0


def test_a_scan_stores_what_it_carries() -> None:
    def function(x: Any, rows: Any) -> Any:
        def step(x: Any, row: Any) -> Any:
            new = pnp.sort(x) * 0.5 + x + row
            return new, (new[0], new.sum(axis=0))

        return lax.scan(step, x, rows)

    assert swaps(checked(graph_of(function, A, B[:4]), A, B[:4])) == 0


def test_a_nested_loop_captures_what_is_replaced_after_it() -> None:
    def step(x: Any, y: Any) -> Any:
        inner = lax.fori_loop(0, 2, lambda i, z: pnp.sort(z) + shifted(x), y)
        return pnp.sort(inner) + x, inner + y

    looped(step, A, B)


# --- random bodies --------------------------------------------------------------------------------


WAYS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x * 0.5 + y,
    lambda x, y: x - y * 0.25,
    lambda x, y: shifted(x) * 0.25 + y,
    lambda x, y: pnp.sort(x, axis=0),
    lambda x, y: pnp.sort(x, axis=1),
    lambda x, y: x / (1 + pnp.sum(pnp.abs(y), axis=1, keepdims=True)),
    lambda x, y: x - pnp.mean(y, axis=0),
    lambda x, y: x.at[2].set(y[3]),
    lambda x, y: lax.cond(y[0, 0] > 0, lambda a, b: a, lambda a, b: a + b, x, y),
    lambda x, y: lax.fori_loop(0, 2, lambda i, z: pnp.sort(z) + y, x),
)


def random_step(seed: int, carries: int) -> Step:
    """A body that makes new carries of old ones, in random ways, of few values."""

    def step(*values: Any) -> Any:
        rng = random.Random(seed)
        known = list(values)
        for _ in range(rng.randint(2, 7)):
            known.append(rng.choice(WAYS)(rng.choice(known), rng.choice(known)))
        fresh = known[carries:]
        return tuple(rng.choice(fresh if rng.random() < 0.8 else known) for _ in range(carries))

    return step


@pytest.mark.parametrize("seed", range(60))
def test_random_bodies_give_the_same_bits(seed: int) -> None:
    rng = random.Random(-1 - seed)
    carries, target = rng.randint(1, 3), rng.choice([X86_64_V3, X86_64_V4, SM_90])
    initial = [rng.choice([A, B, C]) for _ in range(carries)]
    step = random_step(seed, carries)

    def function(n: Any, *arrays: Any) -> Any:
        ends = lax.fori_loop(0, n, lambda i, c: step(*c), tuple(pnp.sort(a) for a in arrays))
        return (*ends, shifted(ends[0])) if seed % 2 else ends

    times = np.int64(rng.randint(0, 3))
    graph = graph_of(function, np.int64(0), *initial)
    checked(graph, np.asarray(times), *initial, target=target)
