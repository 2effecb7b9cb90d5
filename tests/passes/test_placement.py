"""What has no schedule for blocks of threads, or would run in few of them: the host's steps.

The golden list names each sample that does not run on the device as a kernel of many threads. A
sample that joins or leaves it is a change that a user notices.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Graph
from pyc.ir.op import OPS, Kind
from pyc.ir.ops.indexing import SCATTER_MODES
from pyc.ir.plan import Launch, launches_of
from pyc.ir.target import SM_90, X86_64_V3, Target, nvptx
from pyc.ir.text_plan import parse_plan, print_plan
from pyc.ir.types import ArrayType
from pyc.passes import optimise
from pyc.passes.host_plan import host_plan
from pyc.passes.memory import Planned, plan
from pyc.reasons import Reason
from tests.ops.cases import cases, pairs
from tests.ops.test_every_op import graph_of as graph_of_cases

PLACES = {
    Reason.FALLBACK_HOST: "fallback",
    Reason.PLACED_ON_HOST: "host",
    Reason.KERNEL_FEW_THREADS: "few threads",
}


def array(*shape: int, dtype: Any = np.float32) -> Any:
    """An argument of any size that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def planned(function: Callable[..., Any], *arguments: Any, target: Target = SM_90) -> Planned:
    """The Plan of a function for a device."""
    return plan(traced(function, *arguments), target, check=True)


def placed(found: Planned) -> list[str]:
    """What is said about where steps run."""
    return [f"{PLACES[d.reason]}: {d.details}" for d in found.decisions if d.reason in PLACES]


# --- the list -------------------------------------------------------------------------------------

LENGTHS = (100, 2000, 1 << 20)
ROWS = ((1000, 1000), (8, 1 << 17))
ORDERED: dict[str, dict[str, Any]] = {
    "sort": {"descending": False},
    "argsort": {"descending": False},
    "top_k": {"k": 5, "descending": True},
    "order_statistics": {"places": (2, 7), "descending": False},
}
"""Ops along the last axis with an order, and params."""
RUNNING = ("cumsum", "cumprod", "cummax", "cummin")
"""Ops along an axis whose order has threads at work."""
APART = ("gcd", "lcm")
"""Kernels whose elements do not depend on each other."""


def bound(name: str, *types: ArrayType, **params: Any) -> Graph:
    """A Graph of one equation."""
    builder = Builder()
    arguments = [builder.param(t) for t in types]
    return builder.build(list(builder.bind(name, *arguments, **params)))


def traced(function: Callable[..., Any], *arguments: Any) -> Graph:
    """The Graph of a function."""
    return optimise(pyc.jit(function).trace(*arguments).graph)


def decayed(x: Any) -> Any:
    """A running value that has an order."""
    return pyc.scan(lambda c, v: (c * 0.5 + v, c), x[0], x)


def samples() -> dict[str, Graph]:
    """Programs whose work has an order, and programs that a launch cannot hold, by name."""
    found: dict[str, Graph] = {}
    for name, params in ORDERED.items():
        for shape in (*((n,) for n in LENGTHS), *ROWS):
            found[f"{name} of {shape}"] = bound(name, ArrayType(shape, dt.f32), **params)
    for mode in SCATTER_MODES:
        for n in LENGTHS:
            types = (ArrayType((1000,), dt.f32), ArrayType((n,), dt.f32), ArrayType((n,), dt.i64))
            params = {"axes": (0,), "position": 0, "mode": mode}
            found[f"scatter {mode} of {n} in 1000"] = bound("scatter", *types, **params)
    found["scatter of 1000 rows of 1000"] = traced(
        lambda x, i, y: (x * 2).at[i].add(y),
        *(array(1000, 1000), array(1000, dtype=np.int64), array(1000, 1000)),
    )
    for shape in ((10_000,), (10_000, 4), (1000, 4096)):
        found[f"scan over {shape}"] = traced(decayed, array(*shape))
    found["while of one number"] = traced(
        lambda x: pyc.while_loop(lambda s: s * s > 2.0, lambda s: s * 0.99, x), np.float32(100)
    )
    found["fori of 100000 steps of one number"] = traced(
        lambda x: lax.fori_loop(0, 100_000, lambda i, s: s * 0.5 + i, x), np.float32(100)
    )
    for count in (500, 600):
        found[f"stack of {count} arrays"] = traced(
            lambda *xs: pnp.stack(xs), *(array(10) for _ in range(count))
        )
    return found


def softmax(x: Any) -> Any:
    """Over the first axis."""
    e = pnp.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def test_what_does_not_run_in_many_threads_of_the_device(golden) -> None:
    """The list of the whole op table, at the sizes of its cases, and of larger samples."""
    seen: dict[str, set[str]] = {}
    for name, dtype in pairs():
        if dtype in (dt.b1, dt.i32, dt.bf16, dt.f32, dt.c64):
            graph, _ = graph_of_cases(OPS[name], cases(OPS[name], dtype))
            found = plan(graph, SM_90)
            seen.setdefault(name, set()).update(line.split(":")[0] for line in placed(found))
    lines = ["# cases of the op table"]
    lines += [f"{name}: {', '.join(sorted(where))}" for name, where in seen.items() if where]
    lines += ["", "# samples"]
    for name, graph in samples().items():
        lines += [f"{name}\n  {line}" for line in placed(plan(graph, SM_90, check=True))]
    golden("\n".join(lines))


def test_every_op_with_an_order_has_a_sample() -> None:
    kernels = {name for name, op in OPS.items() if op.kind is Kind.KERNEL}
    assert kernels == {*ORDERED, *RUNNING, *APART, "fft", "scatter", "empty"}


@pytest.mark.parametrize("name", RUNNING)
@pytest.mark.parametrize("shape", [(n,) for n in LENGTHS] + [*ROWS, (1 << 20, 3)])
@pytest.mark.parametrize("axis", [0, -1])
def test_running_combinations_run_on_the_device(
    name: str, shape: tuple[int, ...], axis: int
) -> None:
    assert placed(plan(bound(name, ArrayType(shape, dt.f32), axis=axis), SM_90)) == []


@pytest.mark.parametrize("shape", [(1 << 20,), (1000, 1024), (8, 100_000)])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("capability", [80, 90])
def test_transforms_run_on_the_device(shape: tuple[int, ...], axis: int, capability: int) -> None:
    target = nvptx(capability)
    params = {"axis": axis % len(shape), "inverse": False, "scale": 1.0, "real": ""}
    assert placed(plan(bound("fft", ArrayType(shape, dt.c64), **params), target)) == []


@pytest.mark.parametrize("name", APART)
def test_kernels_of_elements_apart_run_in_many_threads(name: str) -> None:
    """Their cases in the list above are small; large ones are launches of the device too."""
    types = (ArrayType((1 << 20,), dt.i32),) * 2
    assert placed(plan(bound(name, *types), SM_90)) == []


# --- decisions ------------------------------------------------------------------------------------


@pytest.fixture
def _sorts_on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launches that sort and scatter are not there, so that one thread would do it."""
    monkeypatch.setattr("pyc.kernels.registry.SEQUENCES", {})


on_host = pytest.mark.usefixtures("_sorts_on_host")


def launches(found: Planned) -> list[Launch]:
    return list(launches_of(found.plan.steps))


@on_host
def test_long_work_of_one_thread_is_a_step_of_the_host(golden) -> None:
    """The kernel stays logical, its scratch memory is the host's own, and the reason is given."""
    found = planned(lambda x, y: pnp.sort(x * 2) + y, array(1 << 16), array(1 << 16))
    assert [step.host for step in launches(found)] == [False, True, False]
    (step,) = (s for s in launches(found) if s.host)
    assert len(step.slots) == 2 < len(found.plan.kernels[step.kernel].buffers)
    golden("\n".join([print_plan(found.plan).rstrip(), *placed(found)]))
    assert parse_plan(print_plan(found.plan), found.plan.kernels) == found.plan


def test_short_work_of_one_thread_stays_on_the_device() -> None:
    found = planned(decayed, array(2000))
    assert [step.host for step in launches(found)] == [False, False]
    assert placed(found) == [
        "few threads: k1 runs in 1 thread, each with 4002 memory accesses and 4000 instructions "
        "in order"
    ]
    assert not placed(planned(decayed, array(50))), "not worth a word"


def test_enough_threads_hide_what_each_waits_for() -> None:
    assert not placed(planned(decayed, array(2000, 64)))


@pytest.mark.parametrize(
    ("limits", "function", "shape", "words"),
    [
        (
            {"parameter_bytes": 16},
            lambda x: x + 1.0,
            (2000, 40),
            "24 bytes of parameters, a launch has 16",
        ),
        (
            {"thread_bytes": 1000, "shared_bytes": 20_000, "cluster_blocks": 1},
            softmax,
            (400, 1 << 16),
            "1600 bytes of memory for each thread, a launch has 1000",
        ),
        ({"grid": (3, 1, 1)}, lambda x: x + 1.0, (2000, 40), "blocks, a launch has 3"),
    ],
)
def test_what_a_launch_cannot_hold_is_a_step_of_the_host(
    limits: dict[str, Any], function: Callable[..., Any], shape: tuple[int, ...], words: str
) -> None:
    assert not placed(planned(function, array(*shape)))
    found = planned(function, array(*shape), target=replace(SM_90, **limits))
    assert all(step.host for step in launches(found))
    assert words in placed(found)[0]


def test_a_cpu_has_no_steps_of_the_host() -> None:
    for graph in samples().values():
        assert not placed(plan(graph, X86_64_V3))


@on_host
def test_the_plan_of_a_step_has_its_arguments_and_scratch() -> None:
    """What the host runs: the kernel's own buffers by address, all else in its arena."""
    found = planned(lambda x: pnp.sort(x), array(1 << 16))
    (step,) = launches(found)
    made = host_plan(found.plan.kernels[step.kernel], len(step.slots), X86_64_V3, check=True)
    assert made.arguments == (0, 1) and not made.results
    scratch = [b for k, b in enumerate(made.buffers) if k not in made.arguments]
    assert scratch and sum(b.nbytes for b in scratch) <= made.peak
    ends = sorted((b.index, b.index + b.nbytes) for b in scratch)
    assert all(a[1] <= b[0] for a, b in pairwise(ends))


def test_equal_programs_have_equal_steps() -> None:
    def text() -> str:
        found = planned(lambda x: pnp.sort(x) + x, array(1 << 16))
        return print_plan(found.plan) + "".join(placed(found))

    assert text() == text()
