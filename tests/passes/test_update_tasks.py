"""Updates by tasks: the same elements as in one loop, whatever the number of tasks and threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.backends.base import SiteFailed
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.ir.loops import Accumulate, Alloc, For, Kernel, Kind, Space, walk
from pyc.ir.plan import Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4
from pyc.ir.text_kernel import print_kernel
from pyc.passes import optimise, update_tasks
from pyc.passes.memory import plan

from .native_plans import by_threads
from .programs import graph_of

Array = np.ndarray[Any, Any]
INTEGERS = (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64)
UFUNCS = {"add": np.add, "min": np.minimum, "max": np.maximum, "multiply": np.multiply}
EDGE = 24
"""Updates of a task in the tests here."""


@contextmanager
def small_tasks(updates: int = EDGE, stack: int = 1 << 16) -> Iterator[None]:
    """Inside the block few updates are worth a task. stack: `STACK_BYTES`."""
    with (
        mock.patch.object(update_tasks, "TASK_UPDATES", updates),
        mock.patch.object(update_tasks, "TABLE_SHARE", 1),
        mock.patch.object(update_tasks, "STACK_BYTES", stack),
    ):
        yield


def updated(how: str) -> Any:
    return lambda x, places, values: getattr(x.at[places], how)(values)


def planned(function: Any, *arguments: Any, target: Any = X86_64_V4) -> Plan:
    return plan(optimise(graph_of(function, *arguments)), target, check=True).plan


def parallel(made: Plan) -> list[Kernel]:
    """The kernels that update tables by tasks."""

    def is_one(kernel: Kernel) -> bool:
        inside = list(walk(kernel.body))
        tasks = any(isinstance(s, For) and s.kind is Kind.PARALLEL for s in inside)
        return tasks and any(isinstance(s, Accumulate) for s in inside)

    return [k for k in made.kernels if is_one(k)]


def counts(x: Any) -> Any:
    return np.bincount(x, minlength=9)


def wanted_of(how: str, x: Array, places: Array, values: Array) -> Array:
    found = x.copy()
    with np.errstate(all="ignore"):
        UFUNCS[how].at(found, places, values)
    return found


@pytest.mark.parametrize("n", [2 * EDGE - 1, 2 * EDGE, 2 * EDGE + 1, 5 * EDGE - 2, 400, 1001])
@pytest.mark.parametrize("stack", [0, 1 << 16])
def test_counts_are_those_of_one_loop(n: int, stack: int) -> None:
    x = np.random.default_rng(n).integers(0, 9, n)
    wanted = np.bincount(x, minlength=9)
    for target in (X86_64_V3, X86_64_V4):
        with small_tasks(stack=stack):
            made = planned(counts, x, target=target)
        assert bool(parallel(made)) is (n >= 2 * EDGE)
        (found,) = run_plan(made, [x], [((9,), np.int64)])
        assert (found == wanted).all()
        for (result,) in by_threads(made, target, [x], [((9,), np.int64)]):
            assert result.tobytes() == wanted.tobytes()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_updates_in_any_order_are_numpys(data: st.DataObject) -> None:
    """Sums, products and extrema of integers; rows; places from the end."""
    how = data.draw(st.sampled_from(sorted(UFUNCS)), "how")
    dtype = np.dtype(data.draw(st.sampled_from(INTEGERS), "dtype"))
    size, n = data.draw(st.integers(1, 40), "size"), data.draw(st.integers(0, 5 * EDGE), "n")
    row = data.draw(st.sampled_from([(), (1,), (3,), (20,)]), "row")
    draws = np.random.default_rng(data.draw(st.integers(0, 1 << 20), "seed"))
    places = draws.integers(-size, size, n)
    x, values = ((draws.standard_normal((m, *row)) * 100).astype(dtype) for m in (size, n))
    target = data.draw(st.sampled_from([X86_64_V3, X86_64_V4]), "target")
    with small_tasks(stack=data.draw(st.sampled_from([0, 1 << 16]), "stack")):
        made = planned(updated(how), x, places, values, target=target)
    shapes = [(x.shape, dtype)]
    wanted = wanted_of(how, x, places, values)
    (found,) = run_plan(made, [x, places, values], shapes)
    assert found.tobytes() == wanted.tobytes()
    for (result,) in by_threads(made, target, [x, places, values], shapes):
        assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("how", ["add", "multiply", "set", "min", "max"])
def test_updates_of_floats_stay_in_one_loop(how: str) -> None:
    """Their order shows; that of extrema in which NaN is kept."""
    n = 10 * EDGE
    draws = np.random.default_rng(0)
    x, places = draws.standard_normal(9), draws.integers(0, 9, n)
    with small_tasks():
        made = planned(updated(how), x, places, draws.standard_normal(n))
    assert not parallel(made)


@pytest.mark.parametrize("outside", [{5: 9}, {200: 9, 100: -1}, {30: 77, 31: 12, 301: 9}])
def test_the_error_is_that_of_one_loop(outside: dict[int, int]) -> None:
    """The least number outside, whichever task meets it, by any number of threads."""
    x = np.random.default_rng(0).integers(0, 9, 15 * EDGE + 3)
    with small_tasks():
        made = planned(counts, x)
    assert parallel(made)
    x[list(outside)] = list(outside.values())
    failures: list[Any] = []
    for made_so in (made, planned(counts, x)):
        with pytest.raises(PlanFailure) as interpreted:
            run_plan(made_so, [x], [((9,), np.int64)])
        failures.append((interpreted.value.site, interpreted.value.value))
        for count in (1, 2, 3):
            with pytest.raises(SiteFailed) as native:
                by_threads(made_so, X86_64_V4, [x], [((9,), np.int64)], (count,))
            failures.append((native.value.site, native.value.value))
    assert len(set(failures)) == 1, failures


def test_tables_begin_and_end_with_a_line_of_the_caches() -> None:
    """No two tasks write one line; a small table is filled on the stack."""
    x = np.zeros(50 * EDGE, np.int64)
    with small_tasks():
        (kernel,) = parallel(planned(counts, x))
    tables = kernel.buffers[-1]
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, For) and s.kind is Kind.PARALLEL)
    assert tables.alignment == update_tasks.LINE_BYTES
    assert tables.shape == (loop.extent * 16,), "9 numbers of 8 bytes are two lines"
    (own,) = (s.buffer for s in walk(kernel.body) if isinstance(s, Alloc))
    assert own.space is Space.STACK


@pytest.mark.parametrize(
    ("n", "bins", "tasks"), [(1 << 15, 256, 0), (1 << 20, 256, 32), (1 << 24, 8, 64)]
)
def test_tables_follow_from_the_sizes(n: int, bins: int, tasks: int) -> None:
    made = planned(lambda x: pnp.bincount(x, length=bins), np.zeros(n, np.int64))
    found = [s.extent for k in parallel(made) for s in k.body if isinstance(s, For)]
    assert found == ([tasks] if tasks else [])


def test_long_tables_stay_in_one_loop() -> None:
    assert not parallel(planned(lambda x: pnp.bincount(x, length=1 << 16), np.zeros(1 << 20, int)))


def test_a_gpu_has_its_own_launches() -> None:
    x = np.zeros(50 * EDGE, np.int64)
    before = planned(counts, x, target=SM_90)
    with small_tasks():
        after = planned(counts, x, target=SM_90)
    assert [*map(print_kernel, after.kernels)] == [*map(print_kernel, before.kernels)]


def test_the_kernels(golden: Any) -> None:
    with small_tasks():
        made = planned(counts, np.zeros(5 * EDGE + 1, np.int64))
    golden("\n".join(map(print_kernel, made.kernels)))
