"""Loads at places that are computed in 32 bits: lanes that are all inside take addresses as they
are, neighbours come with one load, and every other place is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.base import SiteFailed
from pyc.backends.llvm_builder import memory_type
from pyc.backends.x86 import modules
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Load, Var, const, maximum, minimum, select
from pyc.ir.loops import Buffer, Fail, If, Kernel, Store
from pyc.ir.target import Target
from tests.backends.native_kernels import (
    TARGETS,
    check,
    each_target,
    native,
    one_kernel_plan,
)
from tests.backends.small_kernels import normal, vector

Array = np.ndarray[Any, Any]
N, LANES = 40, 64


def held(place: Expr) -> Expr:
    """A place as indexing makes it: from the end where it is below zero, and within the array."""
    wrapped = select(place < 0, place + N, place)
    return minimum(maximum(wrapped, 0), N - 1)


def places_kernel(
    t: DType, distances: list[int], *, checks: bool = False, limit: int = 0
) -> Kernel:
    """out_k = x[2 at + 1 + distance], with the places checked; limit: lanes, if not all."""
    x, at = Buffer("x", t, (N,), role="in"), Buffer("at", dt.i32, (LANES,), role="in")
    outs = [Buffer(f"out{k}", t, (LANES,), role="inout") for k in range(len(distances))]
    v = Var("v")
    first = Load(at, (v,)) * const(2, dt.i32) + const(1, dt.i32)
    body = []
    values = []
    for d in distances:
        narrow = first + const(d, dt.i32) if d else first
        place = narrow.cast(dt.i64)
        if checks:
            body.append(Fail(3, (place >= N) | (place < -N), place))
        values.append(Load(x, (held(place),)))
    body += [Store(out, (v,), value) for out, value in zip(outs, values, strict=True)]
    inside = (If(v < limit, tuple(body)),) if limit else tuple(body)
    return Kernel("k", (x, at, *outs), (vector(v, LANES, *inside),))


def numbers(t: DType) -> Array:
    if t is dt.b1:
        return np.arange(N) % 3 == 0
    if t.is_integer:
        return (np.arange(N) * 37 % 101).astype(t.numpy)
    return normal(N, dtype=np.float32).astype(t.numpy)


def some_places(inside: bool) -> Array:
    found = (np.arange(LANES) * 7 % 19).astype(np.int32)
    if not inside:
        edges = [-1, -21, -20, 19, 20, 50, -60, 2**30, -(2**30), 2**31 - 1, -(2**31)]
        found[3 : 3 + len(edges)] = edges
    return found


TYPES = [dt.f32, dt.f64, dt.u8, dt.i16, dt.i64, dt.b1]


@each_target
@pytest.mark.parametrize("t", TYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("inside", [True, False], ids=["inside", "at the edges"])
@pytest.mark.parametrize("distances", [[0], [0, 1], [1, 0], [0, 1, 2], [0, -1], [0, 2]])
def test_places_have_the_interpreters_elements(
    target: Target, t: DType, inside: bool, distances: list[int]
) -> None:
    """One edge place among the lanes takes the general form, for each load by itself."""
    arrays = [numbers(t), some_places(inside), *(np.zeros(LANES, t.numpy) for _ in distances)]
    check(places_kernel(t, distances), arrays, target)


@each_target
def test_neighbours_are_one_load(target: Target) -> None:
    kernel = places_kernel(dt.f32, [0, 1])
    arrays = [numbers(dt.f32), some_places(True), *(np.zeros(LANES, np.float32) for _ in "ab")]
    text = modules(one_kernel_plan(kernel, arrays), target).text
    assert text.count("load <2 x float>") == (0 if target.quick_gathers else LANES)
    assert (text.count("llvm.masked.gather.v16i64.") > 0) == target.quick_gathers
    assert " = load float," not in text


@pytest.mark.parametrize(
    "t", [dt.f32, dt.i32, dt.f64, dt.i64, dt.bf16, dt.u8], ids=lambda t: t.name
)
def test_places_are_gathered_where_that_is_quick(t: DType) -> None:
    """Elements that the instruction has; no branch then loads them one by one."""
    arrays = [numbers(t), some_places(True), np.zeros(LANES, t.numpy)]
    for target in TARGETS[1::2]:
        text = modules(one_kernel_plan(places_kernel(t, [0]), arrays), target).text
        lanes = text.count(f"load {memory_type(t, 1)},")
        whole = target.quick_gathers and t.itemsize >= 4
        assert lanes == (0 if whole else LANES), target.id


@each_target
def test_lanes_that_are_masked_may_have_any_place(target: Target) -> None:
    kernel = places_kernel(dt.f32, [0, 1], checks=True, limit=40)
    at = some_places(True)
    at[40:] = 2**30
    check(kernel, [numbers(dt.f32), at, *(np.zeros(LANES, np.float32) for _ in "ab")], target)


@each_target
@pytest.mark.parametrize("limit", [0, 61])
def test_a_check_names_the_place(target: Target, limit: int) -> None:
    """Places up to -N count from the end; what is beyond fails, whatever the lane."""
    kernel = places_kernel(dt.f32, [0, 1], checks=True, limit=limit)
    at = some_places(True)
    outs = [np.zeros(LANES, np.float32) for _ in "ab"]
    at[5] = -20  # -39 and -38
    check(kernel, [numbers(dt.f32), at, *outs], target)
    for wrong, place in ((-21, -41), (20, 41), (60, 121)):
        at[60] = wrong
        with pytest.raises(SiteFailed) as failed:
            native(kernel, [numbers(dt.f32), at, *outs], target)
        assert failed.value.site == 3
        assert failed.value.value in (place, place + 1)


def interpolated(table: Any, x: Any) -> Any:
    place = x * np.float32(table.shape[0] - 1)
    low = np.minimum(place.astype(np.int32), table.shape[0] - 2)
    part = place - low.astype(np.float32)
    return table[low] * (1.0 - part) + table[low + 1] * part


def test_interpolation_is_numpys() -> None:
    """Places below zero too, in any lane, with any number of threads."""
    draw = np.random.default_rng(0)
    table = draw.standard_normal(1000).astype(np.float32)
    function = pyc.jit(interpolated)
    for low in (0.0, -0.5):
        x = draw.uniform(low, 1.0, 100_003).astype(np.float32)
        found = []
        for threads in (1, 2):
            pyc.set_num_threads(threads)
            found.append(np.asarray(function(table, x)))
        assert found[0].tobytes() == found[1].tobytes() == interpolated(table, x).tobytes()


def test_a_place_beyond_the_table_is_an_index_error() -> None:
    table, x = np.ones(50, np.float32), np.zeros(1000, np.float32)
    x[777] = -1.5
    with pytest.raises(IndexError, match="-7"):
        pyc.jit(interpolated)(table, x)
