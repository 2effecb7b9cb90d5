"""The ops of linear algebra: native code, the Plan interpreter, steps of the host of a device.

All of them call the same library, so their bits are equal; the Graph interpreter goes through
NumPy, which is within a bound. Vectors of singular values and eigenvectors, whose signs are open,
are left to tests/numpy/test_linalg.py, which checks what they solve.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.errors import DTypeError, ShapeError
from pyc.ir import dtype as dt
from pyc.ir.batch import Batch, Operand
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.op import LINEAR_ALGEBRA, OPS
from pyc.ir.ops.linalg import LETTERS
from pyc.ir.plan import Library
from pyc.ir.routines import MOST_TASKS, WORKSPACE_BYTES, describe
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.types import ArrayType
from pyc.passes.memory import Planned, plan
from pyc.reasons import Reason
from tests.backends.interpreted_device import on_device
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
Case = tuple[str, tuple[Array, ...], dict[str, Any]]
TYPES = tuple(LETTERS)
BATCHES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 30), (0,), (2, 0))


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


def normal(dtype: dt.DType, *shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if dtype.is_complex:
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype.numpy)


def dominant(dtype: dt.DType, *shape: int) -> Array:
    """Well-conditioned square matrices whose pivots are not the first of their columns."""
    x = normal(dtype, *shape) + 6 * np.eye(shape[-1])
    return np.ascontiguousarray(x[..., ::-1]).astype(dtype.numpy)


def positive(dtype: dt.DType, *shape: int) -> Array:
    x = normal(dtype, *shape)
    return (x @ np.swapaxes(x.conj(), -1, -2) + np.eye(shape[-1])).astype(dtype.numpy)


def cases(dtype: dt.DType, batch: tuple[int, ...]) -> Iterator[Case]:
    """Every op, with all its params, on square, wide, tall and empty matrices."""
    real = (dtype.real if dtype.is_complex else dtype).numpy
    for n in (5, 1, 0):
        spd, a = positive(dtype, *batch, n, n), dominant(dtype, *batch, n, n)
        for upper in (False, True):
            yield "cholesky", (spd,), {"upper": upper}
            for vectors in (False, True):
                yield "eigh", (spd,), {"upper": upper, "vectors": vectors}
            for transposed in (False, True):
                params = {"upper": upper, "transposed": transposed, "unit": not transposed}
                triangle = spd + 4 * np.eye(n, dtype=real)
                b = normal(dtype, *batch, 3, n)
                yield "triangular_solve", (triangle.astype(dtype.numpy), b), params
        for vectors in (False, True):
            yield "eig", (a,), {"vectors": vectors}
        yield "lu", (a,), {}
        factors, pivots, _ = evaluate(*one("lu", (a,), {}))
        for right in (2, 1, 0):
            yield "lu_solve", (factors, pivots, normal(dtype, *batch, right, n)), {}
        yield "lu_inverse", (factors, pivots), {}
    for n, m in ((4, 6), (6, 4), (3, 3), (0, 3), (3, 0)):
        a = normal(dtype, *batch, n, m)
        yield "lu", (a,), {}
        yield "qr", (a,), {}
        reflectors, taus = evaluate(*one("qr", (a,), {}))
        for columns in {min(m, n), m}:
            yield "qr_columns", (reflectors, taus), {"columns": columns}
        if not min(m, n):
            continue
        for kind in (0, 1, 2):
            yield "svd", (a,), {"vectors": kind}
        b = normal(dtype, *batch, 2, max(m, n))
        yield "least_squares", (a, b, np.full(batch, 1e-6, real)), {}


def one(name: str, arrays: Sequence[Array], params: dict[str, Any]) -> tuple[Graph, list[Array]]:
    builder = Builder()
    args = [builder.param(type_of(a)) for a in arrays]
    return builder.build(builder.bind(name, *args, **params)), [np.array(a) for a in arrays]


def type_of(array: Array) -> ArrayType:
    found = dt.of(array.dtype)
    assert found is not None
    return ArrayType(array.shape, found)


def planned(graph: Graph, target: Any = X86_64_V3, donated: tuple[int, ...] = ()) -> Planned:
    return plan(graph, target, donated=donated, check=True)


SIGNS_OPEN = {"svd": (1, 2), "eigh": (1,), "eig": (1, 2)}
"""Matrices of vectors, which the problem leaves open."""


@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_all_ways_agree(dtype: dt.DType, batch: tuple[int, ...]) -> None:
    """Native code and the Plan interpreter by their bits, NumPy within a bound."""
    eps = float(np.finfo(dtype.numpy).eps)
    seen = set()
    for name, arrays, params in cases(dtype, batch):
        seen.add(name)
        graph, arguments = one(name, arrays, params)
        native = compile_graph(graph)(*arguments)
        shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
        simulated = run_plan(planned(graph).plan, arguments, shapes)
        expected = evaluate(graph, arguments)
        for k, (a, b, c) in enumerate(zip(native, simulated, expected, strict=True)):
            assert same_bits(np.asarray(a), b), (name, params, k)
            left_open = k in SIGNS_OPEN.get(name, ()) and c.ndim == arrays[0].ndim
            if name == "eig" and c.ndim + 1 == arrays[0].ndim:  # in any order
                a, c = (np.sort(v, axis=-1) for v in (a, c))
            if not left_open and c.dtype.kind in "fc":
                np.testing.assert_allclose(a, c, rtol=3000 * eps, atol=3000 * eps, err_msg=name)
            elif c.dtype.kind == "i":
                np.testing.assert_array_equal(a, c, err_msg=name)
    assert seen == LINEAR_ALGEBRA


@pytest.mark.parametrize("dtype", [dt.f64, dt.c64], ids=str)
def test_a_device_runs_them_on_the_host(dtype: dt.DType) -> None:
    """The same bits through copies, and the reason is told."""
    for name, arrays, params in cases(dtype, (3,)):
        graph, arguments = one(name, arrays, params)
        native = compile_graph(graph)(*arguments)
        for a, b in zip(native, on_device(graph, arguments, SM_90), strict=True):
            assert same_bits(np.asarray(a), np.asarray(b)), name
        if any(v.type.size for v in graph.results):
            (told,) = planned(graph, SM_90).decisions
            assert told.reason is Reason.FALLBACK_HOST and name in told.details


# --- lanes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LINEAR_ALGEBRA))
def test_lanes_are_one_call(name: str) -> None:
    """Each choice of arguments that have a batch axis, at its first or last place: what each lane
    gives alone, within a bound (a library may order a larger right side otherwise)."""
    found = [c for c in cases(dt.f64, (2,)) if c[0] == name and min(map(np.size, c[1])) > 0]
    for _, arrays, params in found[:3]:
        for chosen in range(1, 1 << len(arrays)):
            axes = [(-1 if chosen == 1 else 0) if chosen >> k & 1 else None for k in range(3)]
            builder = Builder()
            lane = Builder()
            graph = lane.build(lane.bind(name, *[lane.param(type_of(a)) for a in arrays], **params))
            given, args = [], []
            for a, axis in zip(arrays, axes, strict=False):
                place = None if axis is None else axis % (a.ndim + 1)
                lanes = np.stack([a, a * 2 if a.dtype.kind == "f" else a, a])
                given.append(
                    a if place is None else np.ascontiguousarray(np.moveaxis(lanes, 0, place))
                )
                args.append(Operand(builder.param(type_of(given[-1])), place))
            batch = Batch(builder, 3)
            outs = [batch.at(x, 0) for x in batch.run(graph, args)]
            whole = builder.build(outs)
            made = compile_graph(whole)(*given)
            assert sum(e.op.name == name for e in whole.eqns) == 1
            for k in range(3):
                alone = [
                    np.ascontiguousarray(np.moveaxis(g, x.axis, 0)[k]) if x.axis is not None else g
                    for g, x in zip(given, args, strict=True)
                ]
                expected = compile_graph(graph)(*alone)
                for a, b in zip(made, expected, strict=True):
                    np.testing.assert_allclose(a[k], b, rtol=1e-9, atol=1e-9)


def test_systems_with_one_matrix_are_columns_of_one_system() -> None:
    """The factors are not repeated for each lane."""
    a, b = dominant(dt.f64, 5, 5), normal(dt.f64, 7, 2, 5)
    builder = Builder()
    left, right = builder.param(type_of(a)), builder.param(type_of(b))
    factors, pivots, _ = builder.bind("lu", left)
    lane = Builder()
    params = [lane.param(v.type) for v in (factors, pivots)]
    graph = lane.build(lane.bind("lu_solve", *params, lane.param(ArrayType((2, 5), dt.f64))))
    args = [Operand(factors), Operand(pivots), Operand(right, 0)]
    (x,) = Batch(builder, 7).run(graph, args)
    (solve,) = (e for e in builder.build([x.value]).eqns if e.op.name == "lu_solve")
    assert solve.args[0].shape == (5, 5) and solve.args[2].shape == (14, 5)


# --- memory ---------------------------------------------------------------------------------------


def library(found: Planned) -> list[Library]:
    return [s for s in found.plan.steps if isinstance(s, Library)]


def test_a_factorisation_lies_where_its_argument_was() -> None:
    """What is dead is factored in place: an intermediate array, and a donated argument."""
    builder = Builder()
    x = builder.param(ArrayType((6, 6), dt.f64))
    double = builder.bind1("add", x, x)
    factors, pivots, _ = builder.bind("lu", double)
    inverse, _ = builder.bind("lu_inverse", factors, pivots)
    first, second = library(planned(builder.build([inverse])))
    assert first.slots[0] == first.slots[1] == second.slots[0] == second.slots[2]

    builder = Builder()
    x = builder.param(ArrayType((6, 6), dt.f64))
    factor, _ = builder.bind("cholesky", x, upper=False)
    graph = builder.build([factor])
    (step,) = library(planned(graph))
    assert step.slots[0] != step.slots[1]
    (step,) = library(planned(graph, donated=(0,)))
    assert step.slots[0] == step.slots[1]


def test_what_is_read_later_is_not_overwritten() -> None:
    a = positive(dt.f64, 6, 6)
    builder = Builder()
    x = builder.param(type_of(a))
    double = builder.bind1("add", x, x)
    factor, _ = builder.bind("cholesky", double, upper=False)
    graph = builder.build([factor, builder.bind1("add", double, factor)])
    (step,) = library(planned(graph))
    assert step.slots[0] != step.slots[1]
    for found, expected in zip(compile_graph(graph)(a), evaluate(graph, [a]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_tasks_follow_from_shapes_and_workspace_is_bounded() -> None:
    """Small matrices are one task, many are tasks for several workers, large ones few of them."""

    def step(name: str, *shape: int, **params: Any) -> Any:
        found = OPS[name].routine
        assert found is not None
        return found((ArrayType(shape, dt.f64),), **params)

    assert step("lu", 10, 4, 4).integers[:2] == (1, 10)
    assert step("lu", 100_000, 4, 4).integers[0] == 25
    assert step("lu", 100_000, 16, 16).integers[0] == MOST_TASKS
    assert step("lu", 3, 200, 200).integers[0] == 3
    large = step("svd", 40, 700, 700, vectors=2)
    assert 1 < large.integers[0] < 40 and sum(large.workspace) <= WORKSPACE_BYTES
    made = describe(large.routine, large.integers)
    assert tuple(n * made.tasks for n in made.workspace) == large.workspace


# --- types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LINEAR_ALGEBRA))
def test_types_are_checked(name: str) -> None:
    for found, arrays, params in cases(dt.f32, (2,)):
        if found != name:
            continue
        types = [type_of(a) for a in arrays]
        rule = OPS[name].types
        rule(tuple(types), **params)
        with pytest.raises(DTypeError, match=name):
            rule((ArrayType(types[0].shape, dt.f16), *types[1:]), **params)
        with pytest.raises(ShapeError, match=name):
            rule((ArrayType((4,), dt.f32), *types[1:]), **params)
        if len(types) > 1:
            wrong = ArrayType((5, *types[1].shape[1:], 7), types[1].dtype)
            with pytest.raises(ShapeError, match=name):
                rule((types[0], wrong, *types[2:]), **params)


# --- the same bits --------------------------------------------------------------------------------

PROGRAM = """
import hashlib, numpy as np, pyc
pyc.set_num_threads({threads})
x = np.random.default_rng(3).standard_normal((64, 40, 40))

@pyc.jit
def everything(x):
    spd = x @ np.swapaxes(x, -1, -2) + 40 * np.eye(40)
    u, s, vt = np.linalg.svd(x)
    w, v = np.linalg.eigh(spd)
    q, r = np.linalg.qr(x)
    return (np.linalg.cholesky(spd), np.linalg.solve(x, x[:, :, 0:3]), np.linalg.inv(x), u, s, vt,
            w, v, q, r, np.linalg.eig(x[:3]), np.linalg.det(x), np.linalg.pinv(x))

def digest():
    return hashlib.sha256(b"".join(a.tobytes() for a in pyc.tree.leaves(everything(x)))).hexdigest()

print(digest(), digest(), hashlib.sha256(everything.compile(x).program.llvm.encode()).hexdigest())
"""


def run(threads: int, seed: str, cache: Path) -> list[str]:
    """(bits, bits of a second call, text of the code) of a process of its own."""
    cache.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYC_CACHE_DIR": str(cache)}
    code = PROGRAM.replace("{threads}", str(threads))
    made = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return made.stdout.split()


def test_processes_and_threads_give_the_same_bits_and_code(tmp_path: Path) -> None:
    """With one thread and two, with other hash seeds and caches, compiled or from the cache."""
    first, again, code = run(1, "1", tmp_path / "a")
    assert first == again and len(first) == len(hashlib.sha256().hexdigest())
    assert run(2, "2", tmp_path / "b") == [first, first, code]
    assert run(2, "3", tmp_path / "a") == [first, first, code]
