"""Fusion: what becomes one kernel, what does not, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import lax
from pyc.compile import compile_graph
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder
from pyc.ir.plan import Launch
from pyc.ir.target import SM_90, X86_64_V3, nvptx
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.passes import optimise
from pyc.passes.fuse import GROUP_LIMIT, fuse
from pyc.passes.memory import plan
from pyc.passes.nest import instructions
from pyc.passes.stored import WORK_LIMIT
from pyc.reasons import Reason
from tests.passes.programs import graph_of, launches, loops, ones, planned, reasons_of


def softmax(x: Any, axis: Any) -> Any:
    e = pnp.exp(x - pnp.max(x, axis=axis, keepdims=True))
    return e / pnp.sum(e, axis=axis, keepdims=True)


def log_sum_exp(x: Any, axis: Any) -> Any:
    top = pnp.max(x, axis=axis, keepdims=True)
    total = pnp.log(pnp.sum(pnp.exp(x - top), axis=axis, keepdims=True))
    return pnp.squeeze(top + total, axis=axis)


def variance(x: Any, axis: Any) -> Any:
    return pnp.var(x, axis=axis)


def layer_norm(x: Any, axis: Any) -> Any:
    mean = pnp.mean(x, axis=axis, keepdims=True)
    return (x - mean) / pnp.sqrt(pnp.var(x, axis=axis, keepdims=True) + 1e-5)


ROW_PROGRAMS = {f.__name__: f for f in (softmax, log_sum_exp, variance, layer_norm)}


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_a_row_program_is_one_kernel_over_any_axis(name: str, axis: Any) -> None:
    """Softmax, log-sum-exp, variance and layer norm: one launch, nothing stored between."""
    found = planned(lambda x: ROW_PROGRAMS[name](x, axis), ones(4, 6, 50))
    assert [type(s) for s in found.plan.steps] == [Launch]
    assert found.plan.peak == 0


@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_row_program(name: str, golden) -> None:
    """The logical kernel along the last axis."""
    found = planned(lambda x: ROW_PROGRAMS[name](x, -1), ones(4, 50))
    golden("\n".join(print_kernel(k) for k in found.logical))


def test_what_several_sums_share_is_stored_for_them() -> None:
    """The forces between bodies in a space of five axes (fewer are spelled out): what is one number
    for a pair, but read by the sum over each axis, follows from a reduction over another axis; rows
    of that one would compute it once anyway, rows of this one would not."""

    def forces(place: Any, mass: Any) -> Any:
        apart = place[None, :, :] - place[:, None, :]
        square = pnp.sum(apart * apart, axis=2) + 0.01
        pull = mass[None, :] / (square * pnp.sqrt(square))
        return pnp.sum(apart * pull[:, :, None], axis=1)

    found = planned(forces, ones(40, 5), ones(40))
    (pairs,) = (k for k in found.logical if "sqrt" in print_kernel(k))
    assert [b.shape for b in pairs.buffers if b.role == "out"] in ([(40, 40)], [(40, 40, 1)])
    assert Reason.FUSION_EXPENSIVE_PRODUCER in reasons_of(found)


def test_what_one_row_of_sums_shares_is_not_stored() -> None:
    """The sums over both axes that a value is spread over, and over those alone, compute it once
    for each of theirs."""

    def spread(x: Any, y: Any) -> Any:
        norm = pnp.sqrt(pnp.sum(x, axis=1)) / 3.0 + pnp.sqrt(y)
        return pnp.sum(norm[:, None] * x, axis=1), pnp.sum(norm[:, None] * x)

    found = planned(spread, ones(40, 3), ones(40))
    assert Reason.FUSION_EXPENSIVE_PRODUCER not in reasons_of(found)


def test_siblings_are_one_kernel_with_several_outputs(golden) -> None:
    """Sums, extrema and maps of one argument read it once."""

    def siblings(x: Any) -> Any:
        return x.sum(axis=1), x.max(axis=1), pnp.abs(x), x.mean(axis=1)

    found = planned(siblings, ones(8, 50))
    assert len(found.plan.steps) == 1
    golden("\n".join(print_kernel(k) for k in found.logical))


def test_a_chain_is_one_kernel(golden) -> None:
    """Broadcasts, slices and flips move nothing: they become index arithmetic."""

    def chain(x: Any, v: Any) -> Any:
        return (x[::-1, 1:] * 2 + v).T

    found = planned(chain, ones(5, 9), ones(8))
    assert len(found.plan.steps) == 1
    golden("\n".join(print_kernel(k) for k in found.logical))


def smooth(x: Any) -> Any:
    return x[:-2] * 0.25 + x[1:-1] * 0.5 + x[2:] * 0.25


def work(found: Any) -> int:
    """Instructions in the logical kernels, as text lines with all their operators."""
    text = "".join(print_kernel(k) for k in found.logical)
    return text.count("*") + text.count("+")


def test_what_follows_from_a_sum_is_stored_for_a_gather() -> None:
    """A step of PageRank: computed where it is read, each link would gather from two arrays, and
    repeat what one element of its source takes."""

    def function(rank: Any, links: Any) -> Any:
        new = 0.15 * rank + 0.85 * pnp.sum(rank[links], axis=1)
        return pnp.sum(new[links], axis=1)

    for count, reason in ((8, [Reason.FUSION_EXPENSIVE_PRODUCER]), (2, [])):
        found = planned(function, ones(64), ones(64, count, dtype=np.int64))
        assert reasons_of(found) == reason
        last = print_kernel(found.logical[-1])
        assert last.count(": in f32[64]") == 2 - len(reason)


def test_stencils_in_a_row_do_not_repeat_work() -> None:
    """k stencils of 3 points cost O(k), not 3^k: producers dearer to repeat are stored."""

    def times(k: int) -> Any:
        def repeated(x: Any) -> Any:
            for _ in range(k):
                x = smooth(x)
            return x

        return planned(repeated, ones(1000))

    costs = {k: work(times(k)) for k in (1, 2, 4, 8, 16)}
    assert costs[16] <= 3 * costs[8] and costs[8] <= 3 * costs[4], costs
    found = times(8)
    assert Reason.FUSION_EXPENSIVE_PRODUCER in reasons_of(found)
    assert 1 < len(found.plan.steps) <= 8


def test_a_cheap_producer_of_a_stencil_is_computed_where_it_is_read() -> None:
    assert len(planned(lambda x: smooth(x * 2.0), ones(1000)).plan.steps) == 1


def test_an_expensive_producer_of_a_stencil_is_stored() -> None:
    found = planned(lambda x: smooth(pnp.exp(x)), ones(1000))
    assert len(found.plan.steps) == 2
    assert reasons_of(found) == [Reason.FUSION_EXPENSIVE_PRODUCER]


def test_long_chains_are_cut_for_the_compiler() -> None:
    """A chain of more than WORK_LIMIT instructions is stored in between, with the reason, and each
    piece is a kernel of its own: what was cut is not fused again."""
    found = planned(lambda x: chained(x, 2 * WORK_LIMIT), ones(100))
    assert set(reasons_of(found)) == {Reason.FUSION_EXPRESSION_LIMIT}
    assert 3 <= len(reasons_of(found)) <= 6
    assert len(launches(found.plan.steps)) == len(reasons_of(found)) + 1
    assert all(len(k.buffers) == 2 for k in found.plan.kernels)


def chained(x: Any, length: int) -> Any:
    for _ in range(length):
        x = x * 1.5 + 0.5
    return x


def test_outputs_share_a_kernel_up_to_a_limit() -> None:
    """Eight outputs of 400 instructions each over one domain are too much for one kernel."""
    found = planned(lambda x: tuple(chained(x + k, 200) for k in range(8)), ones(100))
    assert set(reasons_of(found)) == {Reason.FUSION_EXPRESSION_LIMIT}
    sizes = [instructions(k.body) for k in found.logical]
    assert sum(sizes) == 8 * 401
    assert max(sizes) <= GROUP_LIMIT
    assert len(sizes) == 2


def test_work_that_outputs_share_counts_once() -> None:
    """Eight outputs of 401 instructions each, 400 of which are the same."""

    def function(x: Any) -> Any:
        common = chained(x, 200)
        return tuple(common + k for k in range(1, 9))

    found = planned(function, ones(100))
    assert reasons_of(found) == []
    assert [instructions(k.body) for k in found.logical] == [408]


def test_work_that_a_later_reader_shares_is_not_lost() -> None:
    """A chain whose links are read twice, the second time far away."""

    def function(x: Any) -> Any:
        links = [x * 1.5]
        for _ in range(300):
            links.append(links[-1] * 1.5 + 0.5)
        total = links[0]
        for link in links[1:]:
            total = total + link
        return total

    found = planned(function, ones(100))
    cut = {Reason.FUSION_EXPRESSION_LIMIT, Reason.FUSION_EXPENSIVE_PRODUCER}
    assert set(reasons_of(found)) <= cut
    sizes = [instructions(k.body) for k in found.logical]
    assert max(sizes) <= GROUP_LIMIT
    assert sum(sizes) < 2 * 901  # each kernel goes on from a link and a total that have memory


def test_what_two_kernels_need_is_stored_where_one_is_too_large() -> None:
    """Before, each of the two computed it."""

    def function(x: Any) -> Any:
        common = chained(x, 100)
        return chained(common, WORK_LIMIT // 2 - 60) + pnp.sqrt(common)

    found = planned(function, ones(100))
    assert Reason.FUSION_EXPENSIVE_PRODUCER in reasons_of(found)
    assert sum(instructions(k.body) for k in found.logical) < WORK_LIMIT + 100


def test_a_reduction_over_everything_shares_its_kernel_where_the_scheduler_cuts_it() -> None:
    """A CPU cuts a program over one long row into launches, a device holds one as long as its
    clusters or groups of blocks may hold in one launch; without, it splits lone reductions only,
    so what uses them comes after."""
    graph = optimise(graph_of(lambda x: x / x.sum(), ones(1 << 18)), check=True)
    for target, kernels, stages in ((X86_64_V3, 1, 3), (SM_90, 1, 1), (nvptx(80), 2, 2)):
        found = plan(graph, target)
        assert len(found.logical) == kernels
        assert len(found.plan.kernels) == stages
    longer = optimise(graph_of(lambda x: x / x.sum(), ones(3 << 20)), check=True)
    assert len(plan(longer, SM_90).logical) == 2


def test_groups_come_after_what_they_need() -> None:
    """In any program, a group reads only what earlier groups made."""

    def program(x: Any, y: Any) -> Any:
        a = pnp.sort(x + y)
        b = x @ y.T
        return a.sum(axis=0), smooth(a), b - a.mean()

    graph = optimise(graph_of(program, ones(6, 6), ones(6, 6)), check=True)
    fusion = fuse(graph)
    made = set(graph.params) | set(fusion.walker.constants) | set(fusion.walker.scalars)
    for group in fusion.groups:
        own = {o for e in group.reduces for o in e.outs} | set(group.outputs)
        assert all(r.value in made | own for r in group.reads)
        made |= own
    assert set(graph.results) <= made


def test_epilogues_of_products_are_elementwise_kernels() -> None:
    """The bias and the activation are one kernel after the product, or part of it."""
    found = planned(lambda x, w, b: pnp.maximum(x @ w + b, 0), ones(16, 32), ones(32, 8), ones(8))
    assert len(found.plan.steps) <= 2


# --- loops ----------------------------------------------------------------------------------------


def mandelbrot(z: Any, n: Any, c: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        z, n = state
        inside = pnp.abs(z) < 2
        return pnp.where(inside, z * z + c, z), n + inside

    return lax.fori_loop(0, 50, body, (z, n))[1]


def test_a_loop_of_elements_is_one_kernel(golden) -> None:
    """Each element iterates in registers: no array passes between iterations."""
    c, n = ones(6, 40, dtype=np.complex64), ones(6, 40, dtype=np.int32)
    found = planned(mandelbrot, c, n, c)
    assert loops(found.plan.steps) == []
    (elements,) = (k for k in found.logical if any(b.shape[:2] == (6, 40) for b in k.buffers))
    golden(print_kernel(elements))


def test_a_loop_of_small_state_is_one_kernel(golden) -> None:
    """A Kalman filter's scan: state in registers, inputs read one by one."""

    def filtered(xs: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            mean, spread = carry
            gain = spread / (spread + 1.0)
            mean = mean + gain * (x - mean)
            return (mean, spread * (1 - gain) + 0.1), mean

        return lax.scan(step, (0.0, 1.0), xs)[1]

    found = planned(filtered, ones(100, dtype=np.float64))
    assert [type(s) for s in found.plan.steps] == [Launch]
    golden("\n".join(print_kernel(k) for k in found.logical))


def test_a_loop_over_whole_arrays_is_a_plan_loop_with_a_reason(golden) -> None:
    """Each iteration needs neighbours of the last: kernels within a Plan loop."""

    def diffused(x: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, a: a.at[1:-1].set(smooth(a)), x)

    found = planned(diffused, ones(1000))
    assert len(loops(found.plan.steps)) == 1
    assert Reason.FUSION_WHOLE_ARRAY_LOOP in reasons_of(found)
    golden("\n".join(f"{d.reason.name}: {d.details}" for d in found.decisions))


def test_a_loop_that_checks_every_element_runs_over_whole_arrays() -> None:
    """A check stands once for all elements, not for each: it stops the loop of all."""
    line, number = ArrayType((5,), dt.i64), ArrayType((), dt.i64)
    test, body, whole = Builder(), Builder(), Builder()
    n, _ = test.param(number), test.param(line)
    condition = test.build([test.bind1("lt", n, test.constant(3, dt.i64))])
    n, x = body.param(number), body.param(line)
    zero = body.bind1("broadcast", body.constant(0, dt.i64), shape=(5,))
    body.bind("check", body.bind1("ge", x, zero), x, error="RuntimeError: below")
    one = body.constant(1, dt.i64)
    fewer = body.bind1("sub", x, body.bind1("broadcast", one, shape=(5,)))
    rounds = body.build([body.bind1("add", n, one), fewer])
    x = whole.param(line)
    params = {"condition": condition, "body": rounds, "condition_captures": 0, "body_captures": 0}
    graph = whole.build(whole.bind("while", whole.constant(0, dt.i64), x, **params)[1:])

    found = plan(optimise(graph), X86_64_V3, check=True)
    assert Reason.FUSION_WHOLE_ARRAY_LOOP in reasons_of(found)
    compiled = compile_graph(graph)
    assert compiled(np.arange(2, 7))[0].tolist() == [-1, 0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="below"):
        compiled(np.arange(1, 6))


def test_plans_do_not_depend_on_how_often_they_are_made() -> None:
    """No state outlives a plan: names, order and offsets are the same the second time."""
    graph = optimise(graph_of(lambda x: softmax(smooth(x), 0), ones(100)), check=True)
    first, second = (plan(graph, X86_64_V3).plan for _ in range(2))
    assert [print_kernel(k) for k in first.kernels] == [print_kernel(k) for k in second.kernels]
    assert first.buffers == second.buffers


PARTS: dict[str, Any] = {
    "a slice": lambda v, i: v[:2],
    "a row": lambda v, i: pnp.reshape(v, (5, 1)).T[0, 1:3],
    "a slice at a computed place": lambda v, i: lax.dynamic_slice(v, (i[0],), (2,)),
    "elements by their indices": lambda v, i: v[pnp.minimum(i, 1)],
    "a rolled slice": lambda v, i: pnp.roll(v, 1)[1:3],
}


@pytest.mark.parametrize("part", PARTS)
def test_all_elements_are_checked_if_some_are_needed(part: str) -> None:
    """As in NumPy, where `x[i]` fails whatever is read of it afterwards."""
    x, i = np.arange(5.0), np.array([0, 1, 2, 9, 3])
    f = pyc.jit(lambda x, i: PARTS[part](x[i] * 2, i))
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        f(x, i)
    good = np.array([0, 1, 2, 4, 3])
    assert f(x, good).shape == np.asarray(PARTS[part](x[good] * 2, good)).shape


@pytest.mark.parametrize("length", [0, 2])
def test_a_reduction_to_nothing_may_be_joined_with_others(length: int) -> None:
    """Nothing reads it then, so there is no kernel for it."""
    call = pyc.jit(lambda x: pnp.concatenate([pnp.ones(length), pnp.sum(x, 1)]))
    np.testing.assert_array_equal(call(np.zeros((0, 3))), np.ones(length))
