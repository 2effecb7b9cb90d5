"""Random programs in a batch: in each lane what the program gives alone.

Loops, branches and checks among them, arguments with batch axes at all places, and the program as
a branch that only some lanes take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.batch import Batch, Operand
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.types import ArrayType
from tests.programs.differential import same_bits
from tests.programs.random_graphs import random_arguments, random_graph

Array = np.ndarray[Any, Any]
LANES = 3


def one(graph: Graph, arrays: list[Array]) -> list[Array] | Exception:
    try:
        return evaluate(graph, arrays)
    except Exception as error:
        return error


def batched(graph: Graph, axes: list[int | None]) -> Graph:
    """`graph` for all lanes, batch axes of results first."""
    builder = Builder()
    args = []
    for p, axis in zip(graph.params, axes, strict=True):
        shape = p.shape if axis is None else (*p.shape[:axis], LANES, *p.shape[axis:])
        args.append(Operand(builder.param(ArrayType(shape, p.dtype)), axis))
    batch = Batch(builder, LANES)
    return builder.build([batch.at(x, 0) for x in batch.run(graph, args)])


def in_a_branch(graph: Graph) -> Graph:
    """(which, arguments) -> the results of `graph` if `which` is 1, else zeros."""
    builder = Builder()
    which = builder.param(ArrayType((), dt.i64))
    params = [builder.param(p.type) for p in graph.params]
    other = Builder()
    for p in graph.params:
        other.param(p.type)
    zeros = [
        other.bind1("broadcast", other.constant(np.zeros((), r.dtype.numpy)), shape=r.shape)
        for r in graph.results
    ]
    return builder.build(builder.bind("cond", which, *params, branches=(other.build(zeros), graph)))


def check(graph: Graph, arguments: list[list[Array]], seed: int) -> bool:
    """Whether the program gave results in all lanes; they were those of the batch. If it failed in
    some, so did the batch."""
    rng = np.random.default_rng(seed)
    count = len(graph.params)
    axes: list[int | None] = []
    for k in range(count):
        rank = len(graph.params[k].shape)
        axes.append(None if rng.random() < 0.3 else int(rng.integers(0, rank + 1)))
    if all(axis is None for axis in axes):
        axes[0] = 0
    lanes = [
        [arguments[0 if axes[k] is None else lane][k] for k in range(count)]
        for lane in range(LANES)
    ]
    whole = [
        lanes[0][k] if axis is None else np.stack([row[k] for row in lanes], axis)
        for k, axis in enumerate(axes)
    ]
    expected = [one(graph, row) for row in lanes]
    found = one(batched(graph, axes), whole)
    failed = [e for e in expected if isinstance(e, Exception)]
    if failed:
        assert type(found) in [type(e) for e in failed], f"{found!r}, alone {failed!r}"
        return False
    assert not isinstance(found, Exception), repr(found)
    for k, array in enumerate(found):
        for lane, row in enumerate(expected):
            assert not isinstance(row, Exception)
            assert same_bits(array[lane], row[k]), f"result {k} of lane {lane} of seed {seed}"
    return True


def arguments_of(graph: Graph, seed: int) -> list[list[Array]]:
    return [random_arguments(graph, LANES * seed + lane) for lane in range(LANES)]


@pytest.mark.parametrize("block", range(8))
def test_random_programs_in_a_batch(block: int) -> None:
    done = 0
    for seed in range(12 * block, 12 * block + 12):
        graph = random_graph(seed, checks=bool(seed % 2))
        if graph.params:
            done += check(graph, arguments_of(graph, seed), seed)
    assert done


@pytest.mark.parametrize("block", range(8))
def test_random_programs_in_a_branch_that_some_lanes_take(block: int) -> None:
    """Where a lane that does not take the branch would fail, nothing fails."""
    done = 0
    for seed in range(12 * block, 12 * block + 12):
        inner = random_graph(seed, checks=bool(seed % 3))
        if not inner.params:
            continue
        arguments = arguments_of(inner, seed)
        graph = in_a_branch(inner)
        fails = [isinstance(one(inner, row), Exception) for row in arguments]
        taken = [lane != seed % LANES and not fails[lane] for lane in range(LANES)]
        rows = [[np.array(int(t)), *row] for t, row in zip(taken, arguments, strict=True)]
        done += check_all(graph, rows)
    assert done


def power(builder: Builder, x: Value) -> Value:
    """`x` squared by an operation that fails for other exponents."""
    two = builder.bind1("broadcast", builder.constant(np.array(2)), shape=x.shape)
    return builder.bind1("integer_power", x, two)


def factor(builder: Builder, x: Value) -> Value:
    """The Cholesky factor of `x`, by a library."""
    return builder.bind("cholesky", x, upper=False)[0]


def a_loop(step: Callable[[Builder, Value], Value], x: ArrayType, in_condition: bool) -> Graph:
    """(x) -> `step` of `x`, twice; also where the condition asks for the step's result."""
    count = ArrayType((), dt.i64)
    builder = Builder()
    number, value = builder.param(count), builder.param(x)
    test = builder.bind1("lt", number, builder.constant(np.array(2)))
    if in_condition:
        made = step(builder, value)
        same = builder.bind1("eq", made, made)
        every = builder.bind1("reduce_all", same, axes=tuple(range(len(x.shape))))
        test = builder.bind1("logical_and", test, every)
    condition = builder.build([test])
    builder = Builder()
    number, value = builder.param(count), builder.param(x)
    following = builder.bind1("add", number, builder.constant(np.array(1)))
    body = builder.build([following, step(builder, value)])
    builder = Builder()
    start, value = builder.constant(np.array(0)), builder.param(x)
    outs = builder.bind(
        "while",
        start,
        value,
        condition=condition,
        body=body,
        condition_captures=0,
        body_captures=0,
    )
    return builder.build([outs[1]])


STEPS = {
    "fails": (power, dt.i64, np.array([2, 3, 5])),
    "library": (factor, dt.f64, np.array([[4.0, 0.0], [0.0, 16.0]])),
}


@pytest.mark.parametrize("in_condition", [False, True], ids=["body", "condition"])
@pytest.mark.parametrize("name", STEPS)
def test_a_loop_over_the_same_values_in_a_branch_that_some_lanes_take(
    name: str, in_condition: bool
) -> None:
    """Its steps are masked, though no value that it starts from differs between lanes."""
    step, dtype, start = STEPS[name]
    graph = in_a_branch(a_loop(step, ArrayType(start.shape, dtype), in_condition))
    which = np.array([1, 0, 1])
    (found,) = evaluate(batched(graph, [0, None]), [which, start])
    for lane in range(LANES):
        (expected,) = evaluate(graph, [which[lane], start])
        assert same_bits(found[lane], expected), f"lane {lane}"
    assert not same_bits(found[0], start)


def test_what_can_fail_stays_the_same_for_all_lanes() -> None:
    """Under a mask too: a loop over the same values computes them once."""
    graph = in_a_branch(a_loop(power, ArrayType((3,), dt.i64), False))
    loops = [e for e in batched(graph, [0, None]).eqns if e.op.name == "while"]
    assert [out.shape for e in loops for out in e.outs] == [(), (3,)]


def check_all(graph: Graph, rows: list[list[Array]]) -> bool:
    """As `check` with all arguments of the lane."""
    whole = [np.stack([row[k] for row in rows]) for k in range(len(graph.params))]
    found = evaluate(batched(graph, [0] * len(graph.params)), whole)
    for lane, row in enumerate(rows):
        for k, array in enumerate(evaluate(graph, row)):
            assert same_bits(found[k][lane], array), f"result {k} of lane {lane}"
    return True
