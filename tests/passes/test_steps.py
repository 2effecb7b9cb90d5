"""Scatters that do several updates a step: the same updates, in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.oracle import run_plan
from pyc.errors import IndexOutOfRangeError
from pyc.ir.loops import For, Kind, Prefetch, walk
from pyc.ir.plan import Plan
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.passes.steps import AHEAD, AT_ONCE, FAR, FARTHEST, LONG

from .programs import graph_of

LENGTHS = (1, LONG - 1, LONG, LONG + 1, LONG + AT_ONCE - 1, 4 * LONG + 2)


def counts(x: Any) -> Any:
    return np.bincount(x, minlength=9)


def totals(places: Any, values: Any) -> Any:
    """Places may count from the end; the order of additions shows."""
    return pyc.numpy.zeros(9, np.float32).at[places].add(values)


def last(places: Any, values: Any) -> Any:
    return pyc.numpy.zeros(9, np.float32).at[places].set(values)


def places_of(n: int, low: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(low, 9, n)


def planned(function: Any, *arguments: Any, target: Any = X86_64_V4) -> Plan:
    return plan(optimise(graph_of(function, *arguments)), target, check=True).plan


def asked_of(made: Plan) -> list[Prefetch]:
    return [s for k in made.kernels for s in walk(k.body) if isinstance(s, Prefetch)]


def steps_of(made: Plan) -> list[For]:
    loops = [s for k in made.kernels for s in walk(k.body) if isinstance(s, For)]
    return [s for s in loops if s.kind is Kind.UNROLL]


@pytest.mark.parametrize("n", LENGTHS)
def test_long_loops_are_in_steps_and_count_the_same(n: int) -> None:
    x = places_of(n, 0)
    wanted = np.bincount(x, minlength=9)
    for target in (X86_64_V3, X86_64_V4):
        made = planned(counts, x, target=target)
        assert bool(steps_of(made)) is (n >= LONG)
        (found,) = run_plan(made, [x], [((9,), np.int64)])
        assert (found == wanted).all()
    assert (pyc.jit(counts)(x) == wanted).all()


@pytest.mark.parametrize("function", [totals, last])
@pytest.mark.parametrize("n", LENGTHS)
def test_updates_stay_in_order(function: Any, n: int) -> None:
    places = places_of(n, -9)
    values = np.random.default_rng(1).standard_normal(n).astype(np.float32)
    wanted = np.zeros(9, np.float32)
    for at, value in zip(places, values, strict=True):
        wanted[at] = value + (wanted[at] if function is totals else 0)
    made = planned(function, places, values)
    assert bool(steps_of(made)) is (n >= LONG)
    (found,) = run_plan(made, [places, values], [((9,), np.float32)])
    assert found.tobytes() == wanted.tobytes()
    assert pyc.jit(function)(places, values).tobytes() == wanted.tobytes()


@pytest.mark.parametrize("at", [0, 1, 2, 3, LONG + 1])
def test_a_place_outside_is_an_error_in_any_part_of_a_step(at: int) -> None:
    places, values = places_of(LONG + 2, 0), np.ones(LONG + 2, np.float32)
    function = pyc.jit(totals)
    function(places, values)
    for outside in (9, -10):
        places[at] = outside
        with pytest.raises(IndexOutOfRangeError, match=str(outside)):
            function(places, values)


def test_rows_and_updates_without_checks_are_left_as_they_are() -> None:
    rows, places = np.ones((LONG, 3), np.float32), places_of(LONG, 0)

    def sums(places: Any, rows: Any) -> Any:
        return pyc.numpy.zeros((9, 3), np.float32).at[places].add(rows)

    def dropped(places: Any, values: Any) -> Any:
        return pyc.numpy.zeros(9, np.float32).at[places].add(values, mode="drop")

    assert not steps_of(planned(sums, places, rows))
    assert not steps_of(planned(dropped, places, rows[:, 0].copy()))
    wanted = np.zeros((9, 3), np.float32)
    np.add.at(wanted, places, rows)
    assert (pyc.jit(sums)(places, rows) == wanted).all()


def placed(table: Any, places: Any, values: Any) -> Any:
    return pyc.numpy.asarray(table).at[places].set(values)


def added(table: Any, places: Any, values: Any) -> Any:
    return pyc.numpy.asarray(table).at[places].add(values)


@pytest.mark.parametrize("length", [LONG, LONG + AHEAD - 1, 3 * LONG + 1])
def test_stores_far_apart_are_asked_for(length: int) -> None:
    table = np.zeros(FAR // 4, np.float32)
    places = np.random.default_rng(0).integers(-table.size, table.size, length)
    values = np.arange(length, dtype=np.float32)
    wanted = table.copy()
    wanted[places] = values
    made = planned(placed, table, places, values)
    (asked,) = asked_of(made)
    assert asked.first
    (found,) = run_plan(made, [table, places, values], [(table.shape, np.float32)])
    assert (found == wanted).all()
    function = pyc.jit(placed)
    assert (function(table, places, values) == wanted).all()
    for at in (0, AHEAD, length - AHEAD, length - 1):
        kept, places[at] = places[at], table.size
        with pytest.raises(IndexOutOfRangeError, match=str(table.size)):
            function(table, places, values)
        places[at] = kept


@pytest.mark.parametrize("function", [placed, added])
@pytest.mark.parametrize("nbytes", [FAR - 4, FAR, FARTHEST, FARTHEST + 4])
def test_only_stores_beyond_the_first_caches_are_asked_for(function: Any, nbytes: int) -> None:
    """Sums are loaded before, and loads do not wait for each other."""
    table, places = np.zeros(nbytes // 4, np.float32), places_of(LONG, 0)
    made = planned(function, table, places, places.astype(np.float32))
    far = function is placed and FAR <= nbytes <= FARTHEST
    assert len(asked_of(made)) == far
