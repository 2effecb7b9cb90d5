"""The columns CPU and GPU of `docs/ops.md`: what the Plans of both say, and what calls record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import reasons
from pyc.cli.functions_table import Row, rows
from pyc.cli.places import CALLS_OF_PYTHON, LAPACK, LOOPS, NATIVE, PYTHON, Places, places, places_of
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.op import OPS, Kind
from pyc.ir.plan import Library, launches_of, walk_steps
from pyc.ir.target import SM_90, X86_64_V3
from pyc.passes.memory import plan
from pyc.reasons import ON_HOST, Reason
from tests.backends.interpreted_device import InterpretedDevice, install
from tests.ops import test_linalg
from tests.ops.cases import cases, pairs
from tests.ops.test_every_op import graph_of
from tests.passes.test_placement import decayed, samples, traced

ON_LIBRARY = Places(LAPACK, str(Reason.FALLBACK_HOST))
EVERYWHERE = Places(NATIVE, NATIVE)


@pytest.fixture(scope="module")
def table() -> dict[str, Row]:
    return {row.name: row for row in rows()}


# --- operations -----------------------------------------------------------------------------------


def test_operations_with_kernels_run_on_both_devices() -> None:
    """Every one, at the sizes of its cases, in the first type that it takes."""
    first = dict(reversed(pairs()))
    assert len(first) > 100
    for name, dtype in first.items():
        graph, _ = graph_of(OPS[name], cases(OPS[name], dtype))
        assert places(graph) == places_of(OPS[name]) == EVERYWHERE, name


def test_operations_of_the_library_are_steps_of_the_host() -> None:
    """Every one, and nothing else: the steps themselves, and their reason."""
    seen = set()
    for name, arrays, params in test_linalg.cases(dt.f64, ()):
        if name in seen or not all(a.size for a in arrays):
            continue
        seen.add(name)
        graph, _ = test_linalg.one(name, arrays, params)
        assert places(graph) == places_of(OPS[name]) == ON_LIBRARY, name
        steps = [s for s in walk_steps(plan(graph, SM_90).plan.steps) if isinstance(s, Library)]
        assert steps
    calls = {name for name, op in OPS.items() if op.kind is Kind.LIBRARY}
    assert calls == seen | {*CALLS_OF_PYTHON}


def squared(x: Any) -> Any:
    return x * x


def printing(x: Any) -> Any:
    pyc.debug.print("{}", x)
    return x + 1


def calling(x: Any) -> Any:
    return pyc.pure_callback(squared, x, x)


@pytest.mark.parametrize("function", [printing, calling])
def test_calls_of_python_are_steps_of_the_host(function: Callable[..., Any]) -> None:
    graph = traced(function, np.ones(3))
    (name,) = {e.op.name for e in graph.eqns} & {*CALLS_OF_PYTHON}
    assert places(graph) == places_of(OPS[name]) == Places(PYTHON, PYTHON)


def test_loops_are_placed_by_their_shapes() -> None:
    found = samples()
    for name in ("scan over (10000,)", "fori of 100000 steps of one number"):
        assert places(found[name]) == Places(NATIVE, str(Reason.PLACED_ON_HOST))
    assert places(traced(decayed, np.ones(50))) == EVERYWHERE
    assert places_of(OPS["scan"]).gpu == "native, placed_on_host"
    control = {name for name, op in OPS.items() if op.kind is Kind.CONTROL}
    assert control == {*LOOPS, "cond"}


def test_what_cannot_be_launched_is_said() -> None:
    small = replace(SM_90, parameter_bytes=16)
    assert places(traced(np.sin, np.ones(50)), small).gpu == str(Reason.FALLBACK_HOST)


# --- functions ------------------------------------------------------------------------------------


def test_linear_algebra_alone_runs_on_the_host(table: dict[str, Row]) -> None:
    """Those that are made of products and sums do not."""
    host = {name for name, row in table.items() if row.places == ON_LIBRARY}
    assert {row.places for row in table.values()} == {None, EVERYWHERE, ON_LIBRARY}
    by_eigenvalues = {"poly", "polyfit", "roots"}
    assert {name for name in host if not name.startswith("linalg.")} <= by_eigenvalues
    assert any(name.startswith("linalg.") for name in host)
    kernels = {"linalg.norm", "linalg.matmul", "linalg.matrix_power", "linalg.outer"}
    assert all(table[name].places == EVERYWHERE for name in kernels)


def test_where_a_function_runs_is_known_if_it_takes_arrays(table: dict[str, Row]) -> None:
    for row in table.values():
        assert row.places is not None or not row.kinds, row.name
    assert table["zeros"].places == table["linspace"].places == EVERYWHERE


CALLS: dict[str, Callable[..., Any]] = {
    "linalg.svdvals": lambda p, x: p.linalg.svdvals(x),
    "linalg.det": lambda p, x: p.linalg.det(x),
    "linalg.solve": lambda p, x: p.linalg.solve(x, x[0]),
    "linalg.eigvalsh": lambda p, x: p.linalg.eigvalsh(x),
    "linalg.norm": lambda p, x: p.linalg.norm(x),
    "fft.rfft": lambda p, x: p.fft.rfft(x),
    "sort": lambda p, x: p.sort(x),
    "cumsum": lambda p, x: p.cumsum(x),
    "median": lambda p, x: p.median(x),
    "matmul": lambda p, x: p.matmul(x, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_record_what_the_table_says(
    name: str, table: dict[str, Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a device: its reasons, the numbers of NumPy, and steps of the host in the Plan."""
    x = np.eye(4) * 3 + np.arange(16.0).reshape(4, 4) / 20
    install(InterpretedDevice(), monkeypatch)
    reasons.clear()
    found = pyc.jit(lambda x: CALLS[name](np, x))(pyc.device_put(x, "cuda"))
    recorded = {str(r) for r in reasons.counts() if r in ON_HOST}
    np.testing.assert_allclose(np.asarray(found), CALLS[name](np, x), 1e-9, 1e-9)
    places = table[name].places
    assert places is not None and (", ".join(recorded) or NATIVE) == places.gpu
    on_cpu = plan(traced(lambda x: CALLS[name](np, x), x), X86_64_V3).plan
    assert any(isinstance(s, Library) for s in walk_steps(on_cpu.steps)) == (places.cpu == LAPACK)
    assert not any(step.host for step in launches_of(on_cpu.steps))
