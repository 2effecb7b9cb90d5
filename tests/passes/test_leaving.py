"""Loops over arrays that each element leaves by itself, and those that it must not leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.oracle import run_plan
from pyc.ir import dtype as dt
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Const, Var, const, select
from pyc.ir.graph import Graph
from pyc.ir.plan import Loop
from pyc.ir.target import SM_90, X86_64_V3
from pyc.passes import leaving, optimise
from pyc.passes.leaving import given
from pyc.passes.memory import plan
from tests.backends.assembler import assemble, assembles
from tests.passes.programs import flat, loops
from tests.programs.differential import same_bits

X = np.abs(np.random.default_rng(4).standard_normal((6, 37))).astype(np.float32) + np.float32(0.1)
X[0, :5] = 0.0, np.nan, np.inf, -0.0, 4.0


def asked_first(x: Any, most: Any) -> Any:
    k = 0
    while np.any(x < 4) and k < most:
        x = np.where(x < 4, x * 1.5, x)
        k += 1
    return x


def asked_of_all(x: Any, most: Any) -> Any:
    """An element that is NaN is never done, so that all elements take `most` steps."""
    k = 0
    while not (np.all(x >= 4) or k >= most):
        x = np.where(x >= 4, x, x * 1.5 + 0.1)
        k += 1
    return x


def counted(x: Any, most: Any) -> Any:
    """The loop ends by a `break`; what is counted has several types."""
    small, count = np.zeros(x.shape, np.int8), np.zeros(x.shape, np.int64)
    for _ in range(most):
        on = x < 4
        if not np.any(on):
            break
        small -= on
        count += on
        x = np.where(on, x * 1.5, x)
    return x, small, count


def left_at_last(x: Any, most: Any) -> Any:
    """A `break` in the other case, and no number of iterations; nothing is NaN or 0."""
    x = np.where(x > 0.05, x, 0.5)
    while True:
        done = x >= 4
        if np.all(done):
            break
        x = np.where(done, x, x * 1.5)
    return x * most


def numbered(x: Any, most: Any) -> Any:
    """The number of the iteration, which all elements have in common, is stored by those left."""
    steps = np.zeros(x.shape, np.int64)
    for k in range(most):
        on = x < 4
        if not np.any(on):
            break
        steps = np.where(on, k, steps)
        x = np.where(on, x * 1.5, x)
    return steps


def complex_numbers(x: Any, most: Any) -> Any:
    """State of two parts, and one that is what it was in the iteration before."""

    def step(s: Any) -> Any:
        k, z, last = s
        on = pnp.abs(z) <= 2
        return k + 1, pnp.where(on, z * z + x, z), pnp.where(on, z.real, last)

    def goes_on(s: Any) -> Any:
        return (s[0] < most) & pnp.any(pnp.abs(s[1]) <= 2)

    return lax.while_loop(goes_on, step, (0, x * (0.25 + 0.5j), x))[1:]


def rows_of_three(x: Any, most: Any) -> Any:
    """A row leaves when its sum is large: the state of an element is three numbers."""
    y = x[:, :3].T

    def step(s: Any) -> Any:
        k, y = s
        return k + 1, pnp.where(y.sum(0) < 9, y * 1.5 + y[::-1], y)

    return lax.while_loop(lambda s: (s[0] < most) & pnp.any(s[1].sum(0) < 9), step, (0, y))[1]


def chosen_at_a_break(x: Any, most: Any) -> Any:
    """So little follows the `break` that both cases are computed."""
    for _ in range(most):
        if not np.any(x < 4):
            break
        x = np.where(x < 4, x * 1.5, x)
    return x


def carried_and_narrowed_twice(x: Any, most: Any) -> Any:
    def step(s: Any) -> Any:
        on, x, k = s
        new = x * 1.5
        return (on & (new < 4)) & (k + 1 < most), pnp.where(on, new, x), k + on

    start = (x < 4, x, pnp.zeros(x.shape, pnp.int32))
    return lax.while_loop(lambda s: pnp.any(s[0]), step, start)[1:]


KERNELS = (
    asked_first,
    asked_of_all,
    counted,
    left_at_last,
    numbered,
    complex_numbers,
    rows_of_three,
    chosen_at_a_break,
    carried_and_narrowed_twice,
)


def zero_may_change_its_sign(x: Any, most: Any) -> Any:
    """-0.0 + 0.0 is 0.0, so that an element that has stopped is not what it was."""
    k, sum = 0, -x * 0.0
    while np.any(x < 4) and k < most:
        sum = sum + (x < 4)
        x = np.where(x < 4, x * 1.5, x)
        k += 1
    return sum


def one_goes_on(x: Any, most: Any) -> Any:
    y, k = x * 0, 0
    while np.any(x < 4) and k < most:
        y = y + x
        x = np.where(x < 4, x * 1.5, x)
        k += 1
    return y


def starts_again(x: Any, most: Any) -> Any:
    """An element that has stopped goes on when the number of the iteration has passed it."""
    k = 0
    while np.any(x < k + 2) and k < most:
        x = np.where(x < k + 2, x * 1.5 + 0.5, x)
        k += 1
    return x


def iterations_are_counted(x: Any, most: Any) -> Any:
    k = 0
    while np.any(x < 4) and k < most:
        x = np.where(x < 4, x * 1.5, x)
        k += 1
    return x, k


def two_masks(x: Any, most: Any) -> Any:
    """Different elements may hold the loop up."""
    k = 0
    while np.any(x < 4) and np.any(x > 1) and k < most:
        x = np.where((x < 4) & (x > 1), x * 1.5, x)
        k += 1
    return x


def another_mask(x: Any, most: Any) -> Any:
    """NaN is neither less than 4 nor at least 4."""
    k = 0
    while np.any(x < 4) and k < most:
        x = np.where(x >= 4, x, x * 1.5 + 1)
        k += 1
    return x


def neighbours(x: Any, most: Any) -> Any:
    k = 0
    while np.any(x < 4) and k < most:
        x = np.where(x < 4, x * 1.5 + x[:, ::-1], x)
        k += 1
    return x


def masks_of_rows(x: Any, most: Any) -> Any:
    """A row goes on while its first element does."""
    k = 0
    while np.any(x[:, 0] < 4) and k < most:
        x = np.where((x[:, 0] < 4)[:, None], x * 1.5, x)
        k += 1
    return x


def the_break_is_asked_about(x: Any, most: Any) -> Any:
    ended = False
    for _ in range(most):
        if not np.any(x < 4):
            ended = True
            break
        x = np.where(x < 4, x * 1.5, x)
    return x, ended


def changed_before_the_break(x: Any, most: Any) -> Any:
    for _ in range(most):
        x = x + 0.25
        if not np.any(x < 4):
            break
        x = np.where(x < 4, x * 1.5, x)
    return x


LOOPS = (
    zero_may_change_its_sign,
    one_goes_on,
    starts_again,
    iterations_are_counted,
    two_masks,
    another_mask,
    neighbours,
    masks_of_rows,
    the_break_is_asked_about,
    changed_before_the_break,
)


def traced(function: Callable[..., Any], most: int = 20) -> Graph:
    return pyc.jit(function).trace(X, most).graph


def planned(graph: Graph, target: Any = X86_64_V3) -> Any:
    return plan(optimise(graph, check=True), target, check=True)


@pytest.mark.parametrize("most", [0, 1, 20])
@pytest.mark.parametrize("function", KERNELS + LOOPS)
def test_every_form_gives_the_bits_of_the_loop_as_written(function: Any, most: int) -> None:
    """Interpreted as traced; the Plans of two targets, interpreted; and run."""
    graph = traced(function, most)
    arguments = [np.asarray(X), np.asarray(most)]
    right = evaluate(graph, arguments)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    for target in (X86_64_V3, SM_90):
        found = run_plan(planned(graph, target).plan, arguments, shapes)
        for a, b in zip(right, found, strict=True):
            assert same_bits(a, b)
    for a, b in zip(right, pyc.tree.leaves(pyc.jit(function)(X, most)), strict=True):
        assert same_bits(a, np.asarray(b))


@pytest.mark.parametrize("function", KERNELS)
def test_elements_leave_a_loop_within_a_kernel(function: Any) -> None:
    assert not loops(planned(traced(function)).plan.steps)


@pytest.mark.parametrize("function", LOOPS)
def test_a_loop_that_no_element_may_leave_stays_one_of_launches(function: Any) -> None:
    assert loops(planned(traced(function)).plan.steps)


def test_the_kernel(golden) -> None:
    """The mask is no operand of what is carried."""
    (kernel,) = (k for k in planned(traced(numbered)).logical if " carry " in str(k))
    golden(str(kernel))


def test_the_graph(golden) -> None:
    """What a `break` asks is the loop's condition, and its body has no branch."""
    golden(str(optimise(traced(counted), check=True)))


@assembles
@pytest.mark.parametrize("function", KERNELS)
def test_a_gpu_takes_the_kernel(function: Any, tmp_path: Path) -> None:
    kernels = planned(traced(function), SM_90).plan.kernels
    assert assemble(ptx(module_text(kernels, SM_90)[0], SM_90), SM_90.cpu, tmp_path).usages


def test_an_element_that_would_fail_after_it_stopped_does() -> None:
    """NumPy looks up all elements in each iteration, also those that have stopped."""
    table = np.array([1, 1, 1, 9], np.int64)

    def function(start: Any) -> Any:
        k, count = start, np.zeros(start.shape, np.int64)
        for _ in range(20):
            on = k < 4
            if not np.any(on):
                break
            count = np.where(on, count + table[k], count)
            k = np.where(on, k + 1, k)
        return count

    with pytest.raises(IndexError):
        pyc.jit(function)(np.array([3, 0]))
    assert np.array_equal(pyc.jit(function)(np.array([3, 3])), [9, 9])


def test_loops_in_loops_leave_too() -> None:
    def function(x: Any, most: Any) -> Any:
        for _ in range(17):
            x = np.flip(asked_first(x, most) * 0.125)
        return x

    graph = traced(function)
    found = planned(graph).plan
    (outer,) = loops(found.steps)
    assert not [s for s in flat(outer.body) if isinstance(s, Loop)]
    (right,) = evaluate(graph, [X, np.asarray(20)])
    assert same_bits(right, np.asarray(pyc.jit(function)(X, 20)))


def test_what_is_known_of_a_mask_is_exact() -> None:
    """Zeros of floats are not nothing, and other nodes stay."""
    mask, count, number = Var("m", dt.b1), Var("n", dt.i32), Var("x", dt.f32)
    whole, part = count + mask.cast(dt.i32), number + mask.cast(dt.f32)
    roots = [whole, part, select(mask, number * 2.0, number), ~mask & (count < 3)]
    off, zero, old, rest = given(roots, mask, truth=False)
    assert off is count
    assert old is number
    assert zero is not number
    assert rest is roots[3].args[1]
    on = given(roots, mask, truth=True)
    assert isinstance(on[3], Const) and not on[3].value
    assert given([const(5)], mask, truth=True)[0].value == 5


def test_terms_of_a_condition_are_told_apart() -> None:
    def function(x: Any, most: Any) -> Any:
        return lax.while_loop(
            lambda s: ~(pnp.all(s[1] >= 4) | (s[0] >= most)),
            lambda s: (s[0] + 1, s[1] * 2),
            (0, x),
        )[1]

    (loop,) = (e for e in optimise(traced(function)).eqns if e.op.name == "while")
    terms = leaving.conditions(loop.params["condition"])
    assert [t.truth for t in terms.masks] == [False]
    assert [t.truth for t in terms.numbers] == [False]
