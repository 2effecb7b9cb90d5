"""Updates by tasks that have a part of the buffer each: the bits of one loop, by any number of
threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
from pyc.backends import x86_entry
from pyc.backends.base import SiteFailed
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.backends.owned import owned_buffer
from pyc.backends.x86_kernel import outermost_parallel
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Load, Var, const
from pyc.ir.loops import Buffer, For, If, Kernel, Kind, Store
from pyc.ir.plan import Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4
from pyc.passes import owned_tasks

from .native_plans import by_threads
from .test_update_tasks import Array, planned, updated

HOW = {
    "set": lambda x, places, values: x.__setitem__(places, values),
    "add": np.add.at,
    "multiply": np.multiply.at,
    "min": np.minimum.at,
    "max": np.maximum.at,
}
TYPES = (np.float32, np.float64, np.float16, np.complex64, np.int8, np.int64, np.bool_)


@contextmanager
def small_parts() -> Iterator[None]:
    """Inside the block few updates of a short buffer are worth tasks."""
    with (
        mock.patch.object(owned_tasks, "LEAST_UPDATES", 8),
        mock.patch.object(owned_tasks, "LEAST_BYTES", 8),
    ):
        yield


def owned(made: Plan) -> list[Kernel]:
    """The kernels whose tasks have parts of a buffer."""
    return [k for k in made.kernels if owned_buffer(outermost_parallel(k)) is not None]


def wanted_of(how: str, x: Array, places: Array, values: Array) -> Array:
    found = x.copy()
    with np.errstate(all="ignore"):
        HOW[how](found, places, values)
    return found


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_updates_are_those_of_one_loop(data: st.DataObject) -> None:
    """Equal places, whose order shows, and places from the end."""
    dtype = np.dtype(data.draw(st.sampled_from(TYPES), "dtype"))
    names = ["set"] if dtype.kind in "bc" else sorted(HOW)
    how = data.draw(st.sampled_from(names), "how")
    size, n = data.draw(st.integers(8, 300), "size"), data.draw(st.integers(8, 200), "n")
    draws = np.random.default_rng(data.draw(st.integers(0, 1 << 20), "seed"))
    places = draws.integers(-size, size, n)
    x, values = ((draws.standard_normal(m) * 100).astype(dtype) for m in (size, n))
    target = data.draw(st.sampled_from([X86_64_V3, X86_64_V4]), "target")
    with small_parts():
        made = planned(updated(how), x, places, values, target=target)
    if how == "set" or dtype.char in "fd":
        assert owned(made)
    wanted = wanted_of(how, x, places, values)
    (found,) = run_plan(made, [x, places, values], [(x.shape, dtype)])
    assert found.tobytes() == wanted.tobytes()
    counts = (1, 2, 4, 7)
    shapes = [(x.shape, dtype)]
    for (result,) in by_threads(made, target, [x, places, values], shapes, counts):
        assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("outside", [{5: 900}, {100: 301, 190: -301}, {3: 300, 4: -400}])
@pytest.mark.parametrize("how", ["set", "add"])
def test_the_error_is_that_of_one_loop(how: str, outside: dict[int, int]) -> None:
    draws = np.random.default_rng(0)
    x, values = draws.standard_normal(300), draws.standard_normal(200)
    places = draws.integers(0, 300, 200)
    plain = planned(updated(how), x, places, values)
    with small_parts():
        made = planned(updated(how), x, places, values)
    assert owned(made)
    assert not owned(plain)
    places[list(outside)] = list(outside.values())
    given, shapes = [x, places, values], [(x.shape, x.dtype)]
    failures: list[Any] = []
    for each in (plain, made):
        with pytest.raises(PlanFailure) as interpreted:
            run_plan(each, given, shapes)
        failures.append((interpreted.value.site, interpreted.value.value))
        for count in (1, 2, 4):
            with pytest.raises(SiteFailed) as native:
                by_threads(each, X86_64_V4, given, shapes, (count,))
            failures.append((native.value.site, native.value.value))
    assert len(set(failures)) == 1, failures


def test_few_updates_and_short_buffers_stay_in_one_loop() -> None:
    x, values = np.zeros(1000), np.ones(500)
    assert not owned(planned(updated("set"), x, np.arange(500), values))


def test_rows_stay_in_one_loop() -> None:
    """A row may lie in two parts."""
    x, values = np.zeros((300, 5)), np.ones((200, 5))
    with small_parts():
        made = planned(updated("set"), x, np.arange(200), values)
    assert not owned(made)


def test_parts_are_of_cpus() -> None:
    x, values = np.zeros(300), np.ones(200)
    with small_parts():
        made = planned(updated("set"), x, np.arange(200), values, target=SM_90)
    assert not owned(made)


@pytest.mark.parametrize("how", ["set", "add"])
@pytest.mark.parametrize("order", ["drawn", "ascending", "one place"])
def test_many_updates_of_a_long_buffer_are_numpys(how: str, order: str) -> None:
    """By the limits as they are, through `jit`."""
    draws = np.random.default_rng(1)
    size, n = (1 << 20) + 3, (1 << 17) + 5
    x, values = draws.standard_normal(size), draws.standard_normal(n)
    places = draws.integers(-size, size, n)
    if order == "ascending":
        places.sort()
    elif order == "one place":
        places[:] = 77
    made = planned(updated(how), x, places, values)
    assert [outermost_parallel(k).extent for k in owned(made)] == [33]  # type: ignore[union-attr]
    found = pyc.jit(updated(how))(x, places, values)
    assert found.tobytes() == wanted_of(how, x, places, values).tobytes()


_TABLE = Buffer("table", dt.f64, (64,), role="inout")


def _loop(condition: Any, value: Any, kind: Kind = Kind.SERIAL) -> For:
    task, step = Var("task"), Var("step")
    store = Store(_TABLE, (step,), value(task, step))
    inner = For(step, 64, kind, (If(condition(task, step), (store,)),))
    return For(task, 4, Kind.PARALLEL, (inner,))


def test_what_else_a_task_is_asked_for_is_no_part() -> None:
    """Another condition, or a value that depends on the task."""
    plain = lambda task, step: const(1.0, dt.f64)  # noqa: E731
    part = lambda task, step: (step >> 4).equal(task)  # noqa: E731
    assert owned_buffer(_loop(part, plain)) is not None
    assert owned_buffer(_loop(lambda t, s: (s >> 4) < t, plain)) is None
    assert owned_buffer(_loop(lambda t, s: (s >> t).equal(t), plain)) is None
    assert owned_buffer(_loop(part, lambda t, s: t.cast(dt.f64))) is None
    assert owned_buffer(_loop(part, plain, Kind.VECTOR)) is None
    assert owned_buffer(_loop(part, lambda t, s: Load(_TABLE, (s,)))) is None
    loop = _loop(part, plain)
    other = Buffer("other", dt.f64, (1,), role="inout")
    stored = Store(other, (const(0),), const(1.0, dt.f64))
    assert owned_buffer(replace(loop, body=(*loop.body, stored))) is None
    assert owned_buffer(None) is None


@pytest.mark.parametrize("extra", [-8, 0, 8, 8 * 33_000])
def test_large_copies_are_whole(extra: int) -> None:
    """Of a length around that from which on workers copy, and no multiple of a piece."""
    n = (x86_entry._SPREAD_BYTES + extra) // 8
    x = np.random.default_rng(2).standard_normal(n)
    made = planned(lambda x: x.at[3].set(1.0), x)
    wanted = x.copy()
    wanted[3] = 1.0
    for (result,) in by_threads(made, X86_64_V4, [x], [(x.shape, x.dtype)], (1, 2, 5)):
        assert result.tobytes() == wanted.tobytes()
