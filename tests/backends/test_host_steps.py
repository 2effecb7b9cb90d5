"""Plans with steps of the host: what runs there, in which order, and how it fails.

Everything here runs without a GPU: the Plan interpreter executes steps of the host on copies, and
`CudaProgram` runs on `InterpretedDevice`, where these steps are the native code of this processor.
`ALL_ON_HOST` is a target that cannot launch a kernel, so that every kernel is such a step.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import config
from pyc.backends.base import SiteFailed
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.compile import compile_graph
from pyc.errors import IndexOutOfRangeError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.op import OPS, Kind
from pyc.ir.plan import Launch, Loop, launches_of
from pyc.ir.target import SM_90, Target
from pyc.lowered import failure_of
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.interpreted_device import (
    ALL_ON_HOST,
    InterpretedDevice,
    call,
    loaded,
    on_device,
)
from tests.ops.cases import cases, pairs
from tests.ops.test_every_op import graph_of as graph_of_cases
from tests.programs.differential import same_bits
from tests.programs.random_graphs import random_arguments, random_graph

Array = np.ndarray[Any, Any]
TARGETS = {"launches": SM_90, "steps of the host": ALL_ON_HOST}


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


def traced(function: Callable[..., Any], *arguments: Any) -> Graph:
    """The optimised Graph of a function."""
    return optimise(pyc.jit(function).trace(*arguments).graph)


def by_oracle(graph: Graph, arguments: list[Array], target: Target) -> list[Array]:
    """Results by the Plan interpreter."""
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    return run_plan(plan(graph, target, check=True).plan, arguments, shapes)


def check(graph: Graph, arguments: list[Array], target: Target = SM_90) -> None:
    """The Plan interpreter and the device give the Graph interpreter's bits."""
    expected = evaluate(graph, arguments)
    for found in (
        by_oracle(graph, arguments, target),
        on_device(graph, arguments, target),
    ):
        for a, b in zip(expected, found, strict=True):
            assert same_bits(a, b), f"{b} is not {a}"


@pytest.fixture
def _sorts_on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launches that sort and scatter are not there, so that one thread would do it."""
    monkeypatch.setattr("pyc.kernels.registry.SEQUENCES", {})


on_host = pytest.mark.usefixtures("_sorts_on_host")


def sorting(x: Any, y: Any) -> Any:
    """Launches around a step of the host, in a loop that swaps its carries, and in a branch."""

    def body(state: Any) -> Any:
        k, a, b = state
        return k + 1, pnp.sort(b) * 0.5, a + pnp.cumsum(a)

    _, a, b = pyc.while_loop(lambda s: s[0] < 3, body, (np.int64(0), x, y))
    chosen = pyc.cond(a[0] > b[0], lambda v: pnp.cumsum(v), lambda v: v * 2, a)
    return chosen, b


# --- the same bits --------------------------------------------------------------------------------


@on_host
def test_loops_and_branches_hold_steps_of_the_host() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(460).astype(np.float32) for _ in range(2))
    graph = traced(sorting, x, y)
    made = plan(graph, SM_90).plan
    (loop,) = (s for s in made.steps if isinstance(s, Loop))
    inner = [s for s in loop.body if isinstance(s, Launch)]
    assert loop.rotate and {s.host for s in inner} == {True, False}
    check(graph, [x, y])
    check(graph, [-x, y])


@pytest.mark.parametrize("kind", TARGETS)
def test_random_programs(kind: str) -> None:
    """Forty programs as launches, and with every kernel on the host: the interpreter's bits."""
    for seed in range(40):
        graph = random_graph(seed)
        arguments = random_arguments(graph, seed)
        expected = evaluate(graph, arguments)
        found = on_device(graph, arguments, TARGETS[kind])
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            assert same_bits(a, b), f"seed {seed}, result {k}"


@pytest.mark.parametrize(
    "name", sorted({n for n, _ in pairs() if OPS[n].kind is not Kind.POINTWISE})
)
def test_ops_as_steps_of_the_host(name: str) -> None:
    """One type of each op that is not pointwise (random programs have those), as native code runs
    it for a device; contractions in their bound."""
    types = [t for n, t in pairs() if n == name]
    dtype = next((t for t in (dt.f32, dt.i32) if t in types), types[0])
    graph, arguments = graph_of_cases(OPS[name], cases(OPS[name], dtype))
    expected = evaluate(graph, arguments)
    for a, b in zip(expected, on_device(graph, arguments, ALL_ON_HOST), strict=True):
        if OPS[name].kind is Kind.CONTRACT:
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
        else:
            assert same_bits(a, b), f"{b} is not {a}"


@on_host
def test_a_step_that_updates_in_place_reads_and_writes_one_copy() -> None:
    """The operand's buffer is read and written; what the indices do not name stays."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal(500).astype(np.float32)
    i = rng.integers(0, 500, 700)
    w = rng.standard_normal(700).astype(np.float32)
    graph = traced(lambda x, i, w: (x * 2).at[i].add(w), x, i, w)
    assert [s.host for s in launches_of(plan(graph, SM_90).plan.steps)].count(True) == 1
    check(graph, [x, i, w])


@on_host
def test_constants_reach_the_host() -> None:
    table = np.arange(460.0)[::-1].copy()
    graph = traced(lambda x: pnp.sort(pnp.asarray(table.tolist())) + x, np.float64(1))
    check(graph, [np.asarray(np.float64(1))])


# --- failures -------------------------------------------------------------------------------------


def picked(x: Any, i: Any, j: Any) -> Any:
    """A check on the device, work on the host, another check."""
    return pnp.sort(x[i])[j]


X = np.linspace(0.0, 1.0, 2000)
GOOD, FIRST, SECOND = np.arange(2000), np.arange(1, 2001), np.arange(-2001, -1)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize(("i", "j"), [(FIRST, GOOD), (GOOD, SECOND), (FIRST, SECOND)])
def test_a_check_fails_as_on_the_cpu(kind: str, i: Array, j: Array) -> None:
    """The first check that fails is named, with the value and the user's line."""
    graph = traced(picked, X, GOOD, GOOD)
    with pytest.raises(IndexOutOfRangeError) as native:
        compile_graph(graph)(X, i, j)
    made = plan(graph, TARGETS[kind]).plan
    with pytest.raises(SiteFailed) as failed:
        on_device(graph, [X, i, j], TARGETS[kind])
    error = failure_of(graph, made.sites[failed.value.site], failed.value.value)
    assert str(error) == str(native.value) and "picked" in str(error)
    with pytest.raises(PlanFailure) as simulated:
        by_oracle(graph, [X, i, j], TARGETS[kind])
    assert simulated.value.site == failed.value.site


@on_host
def test_what_follows_a_failure_on_the_host_does_not_run() -> None:
    """As on the CPU: a step of the host waits for the device and reads its error slot first."""
    graph = traced(lambda x, i: pnp.sort(x[i]) * 2, X, GOOD)
    device = InterpretedDevice()
    program = loaded(plan(graph, SM_90).plan, device)
    call(program, [X, GOOD], graph)
    before = device.launched
    with pytest.raises(SiteFailed):
        call(program, [X, FIRST], graph)
    assert device.launched == before + len(program.launches) - 1


# --- calls ----------------------------------------------------------------------------------------


@on_host
def test_a_call_after_a_failed_one_is_clean() -> None:
    graph = traced(picked, X, GOOD, GOOD)
    program = loaded(plan(graph, SM_90).plan, InterpretedDevice())
    (expected,) = evaluate(graph, [X, GOOD, GOOD])
    for _ in range(3):
        with pytest.raises(SiteFailed):
            call(program, [X, FIRST, GOOD], graph)
        (found,) = call(program, [X, GOOD, GOOD], graph)
        assert same_bits(found, expected)


@on_host
def test_calls_of_several_threads_do_not_meet() -> None:
    """One program, calls that fail and calls that pass at the same time: each has what it asked
    for. A shared error slot, arena or table of addresses gives one the other's."""
    rng = np.random.default_rng(2)

    def function(x: Any, i: Any) -> Any:
        y = (x * 2 - 1).reshape(20, 100)
        return pnp.sort(y[i].sum(axis=1)) + x.mean()

    x, good = rng.standard_normal(2000), np.arange(20)
    graph = traced(function, x, good)
    device = InterpretedDevice()
    program = loaded(plan(graph, SM_90).plan, device)
    wrong: list[str] = []

    def work(number: int) -> None:
        for k in range(6):
            mine = x * (number + 1) + k
            if (number + k) % 2:
                bad = good + number + 1
                try:
                    call(program, [mine, bad], graph)
                    wrong.append(f"thread {number}: {k} passed")
                except SiteFailed as failed:
                    if failed.value != 20:
                        wrong.append(f"thread {number}: {failed.value}")
            else:
                (found,) = call(program, [mine, good], graph)
                if not same_bits(found, evaluate(graph, [mine, good])[0]):
                    wrong.append(f"thread {number}: {k} differs")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


@on_host
def test_a_program_keeps_no_more_memory_than_its_calls_need_at_once() -> None:
    graph = traced(sorting, np.ones(460, np.float32), np.ones(460, np.float32))
    device = InterpretedDevice()
    program = loaded(plan(graph, SM_90).plan, device)
    arguments = [np.ones(460, np.float32)] * 2
    call(program, arguments, graph)
    kept = set(device.memory)
    for _ in range(3):
        call(program, arguments, graph)
    assert set(device.memory) == kept and kept
    del program
    gc.collect()
    assert not device.memory, "freed with the program"


@on_host
def test_a_large_arena_belongs_to_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = traced(sorting, np.ones(460, np.float32), np.ones(460, np.float32))
    made = plan(graph, SM_90).plan
    assert made.peak
    monkeypatch.setattr("pyc.backends.cuda_program.KEPT_ARENA", made.peak - 1)
    device = InterpretedDevice()
    program = loaded(made, device)
    call(program, [np.ones(460, np.float32)] * 2, graph)
    assert all(piece.nbytes < made.peak for piece in device.memory.values())


@on_host
def test_a_failed_allocation_leaves_the_program_usable() -> None:
    graph = traced(picked, X, GOOD, GOOD)
    device = InterpretedDevice()
    program = loaded(replace(plan(graph, SM_90).plan, peak=1 << 40), device)
    real = device.allocate

    def allocate(nbytes: int) -> int:
        if nbytes >= 1 << 40:
            raise MemoryError
        return real(nbytes)

    device.allocate = allocate  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(MemoryError):
            call(program, [X, GOOD, GOOD], graph)
    device.allocate = lambda nbytes: real(min(nbytes, 1 << 20))  # type: ignore[method-assign]
    (found,) = call(program, [X, GOOD, GOOD], graph)
    assert same_bits(found, evaluate(graph, [X, GOOD, GOOD])[0])
