"""Every op of the table has a rule for batches, and gives in a batch what it gives lane by lane.

Each case of an op is made into lanes by rolling its elements around; each choice of arguments that
have a batch axis, at its first or its last place, is compared with the op in each lane, by bytes
(contractions within their bound), in the interpreter and natively.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from pyc import config
from pyc.compile import compile_graph
from pyc.ir import dtype as dt
from pyc.ir.batch import Batch, Operand, has_rule
from pyc.ir.dtype import DType
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph
from pyc.ir.op import OPS, Kind, Op
from pyc.ir.types import ArrayType
from tests.ops.cases import Case, cases, pairs
from tests.ops.test_every_op import graph_of
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
LANES = 3
SIZE = 80
"""Cases of more elements say nothing more of a rule."""


PAIRS = pairs()


def one_type(name: str) -> DType:
    """Rules do not look at types: one says enough."""
    taken = [dtype for op, dtype in PAIRS if op == name]
    return next(t for t in (dt.f32, dt.i32, dt.b1, dt.c64, *dt.ALL) if t in taken)


NAMES = sorted({name for name, _ in PAIRS})


def lanes_of(array: Array, seed: int, ascending: bool = False) -> Array:
    """An array for each lane, stacked: the same elements at other places; or, of an ascending line,
    another one."""
    if ascending:
        places = np.arange(array.size) + np.arange(LANES)[:, None]
        return array[np.minimum(places, max(array.size - 1, 0))]
    flat = array.reshape(-1)
    return np.stack([np.roll(flat, seed * lane).reshape(array.shape) for lane in range(LANES)])


def is_line(op: Op, k: int) -> bool:
    """Whether an argument must be ascending."""
    return op.name == "searchsorted" and k == 0


def choices(case: Case) -> Iterator[tuple[int | None, ...]]:
    """Where the batch axis of each argument is: some choices, each argument with and without."""
    count = len(case.arrays)
    for axes in product(*[(None, 0)] * min(count, 4)):
        found = (*axes, *axes[-1:] * (count - len(axes)))
        if any(axis is not None for axis in found):
            yield found
    for seed in range(2):
        rng = np.random.default_rng(seed)
        yield tuple(int(rng.integers(0, a.ndim + 1)) for a in case.arrays)


def batched(op: Op, case: Case, axes: Sequence[int | None]) -> tuple[Graph, list[Array]]:
    """The op over lanes, results with their batch axes first; and the arguments."""
    builder = Builder()
    types = [ArrayType(a.shape, t.dtype) for a, t in zip(case.arrays, case.types, strict=True)]
    lane = Builder()
    params = [lane.param(t) for t in types]
    graph = lane.build(lane.bind(op, *params, **case.params))
    arrays = []
    args = []
    for k, (array, axis) in enumerate(zip(case.arrays, axes, strict=True)):
        found = np.asarray(array)
        if axis is not None:
            found = np.moveaxis(lanes_of(found, k + 1, is_line(op, k)), 0, axis)
        arrays.append(np.array(found, order="C"))
        args.append(Operand(builder.param(ArrayType(found.shape, types[k].dtype)), axis))
    batch = Batch(builder, LANES)
    outs = [batch.at(x, 0) for x in batch.run(graph, args)]
    return builder.build(outs), arrays


def one_by_one(op: Op, case: Case, axes: Sequence[int | None]) -> list[Array]:
    """The results of the op in each lane, stacked."""
    rows = []
    for lane in range(LANES):
        arrays = [
            np.asarray(a) if axis is None else lanes_of(np.asarray(a), k + 1, is_line(op, k))[lane]
            for k, (a, axis) in enumerate(zip(case.arrays, axes, strict=True))
        ]
        rows.append(evaluate(*graph_of(op, [Case(tuple(arrays), case.params)])))
    return [np.stack(column) for column in zip(*rows, strict=True)]


def native(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    with config.using(cache="off"):
        return compile_graph(graph)(*arguments)


def check(op: Op, case: Case, found: Array, expected: Array) -> None:
    if op.kind is not Kind.CONTRACT:
        assert same_bits(found, expected), f"{case.params}: {found} is not {expected}"
        return
    # Sums of terms up to the greatest product, in any order.
    terms = max(a.size for a in case.arrays)
    greatest = np.prod([np.abs(a).max(initial=0) for a in case.arrays])
    bound = 2 * terms**2 * np.finfo(expected.dtype).eps * greatest
    np.testing.assert_allclose(found, expected, rtol=0, atol=bound, strict=True)


def test_every_op_has_a_rule() -> None:
    assert [name for name, op in OPS.items() if not has_rule(op)] == []


def test_every_op_that_can_fail_says_with_what_it_does_not() -> None:
    for op in OPS.values():
        assert bool(op.spared) == (op.fails is not None), op.name


@pytest.mark.parametrize("name", NAMES)
def test_an_op_over_lanes_is_the_op_in_each_lane(name: str) -> None:
    op = OPS[name]
    programs = []
    for case in cases(op, one_type(name)):
        if not case.arrays or sum(a.size for a in case.arrays) > SIZE:
            continue
        if len(programs) > (9 if op.kind is Kind.POINTWISE else 60):  # of which all have one rule
            break
        for axes in choices(case):
            graph, arrays = batched(op, case, axes)
            expected = one_by_one(op, case, axes)
            for found, value in zip(evaluate(graph, arrays), expected, strict=True):
                check(op, case, found, value)
            programs.append((case, graph, arrays, expected))
    if name in ("constant", "iota"):
        assert not programs  # they have no arguments
        return
    assert programs
    builder = Builder()
    given: list[Array] = []
    results = []
    chosen = programs[:: 6 if op.kind is Kind.POINTWISE else max(len(programs) // 12, 1)]
    for _, graph, arrays, _ in chosen:
        results += builder.inline(graph, [builder.param(p.type) for p in graph.params])
        given += arrays
    outs = iter(native(builder.build(results), given))
    for case, _, _, expected in chosen:
        for value in expected:
            check(op, case, np.asarray(next(outs)), value)
