"""Why kernels are not one: each reason by a program that has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir.target import nvptx
from pyc.passes import optimise
from pyc.passes.fuse import fuse
from pyc.passes.stored import WORK_LIMIT
from pyc.reasons import Reason

from .programs import graph_of, ones

X, ROW = ones(40, 50), ones(50)
LONG = ones(2, 200_000)


def several_readers(x, w):
    h = x @ w
    return np.exp(h), h[:2]


def result_itself(x, w):
    h = x @ w
    return h, h + 1


def neighbours(x):
    y = np.exp(x)
    return y, y[1:] - y[:-1]


def transposed(x):
    y = np.exp(x)
    return y, y.T + y


def large(x):
    for _ in range(2 * WORK_LIMIT):
        x = x * 1.5 + 0.5
    return x


def begun_before(x, y):
    a = np.exp(x)
    b = np.exp(y)
    return a, b, a + b


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Reason, str]] = {
    "product_and_rows": (
        lambda x, w: (x @ w).sum(axis=1),
        (X, ones(50, 30)),
        Reason.FUSION_OWN_KERNEL,
        "dot_general has a kernel of its own, which stores its result",
    ),
    "what_a_product_reads": (
        lambda x, w: np.exp(x) @ w,
        (X, ones(50, 30)),
        Reason.FUSION_OWN_KERNEL,
        "dot_general has a kernel of its own, which reads its arguments from memory",
    ),
    "several_readers": (
        several_readers,
        (X, ones(50, 30)),
        Reason.FUSION_OWN_KERNEL,
        "several values are computed from the product",
    ),
    "product_that_is_a_result": (
        result_itself,
        (X, ones(50, 30)),
        Reason.FUSION_OWN_KERNEL,
        "the product is a result of the program",
    ),
    "sort": (
        lambda x: np.sort(x) * 2,
        (ROW,),
        Reason.FUSION_OWN_KERNEL,
        "sort has a kernel of its own, which stores its result",
    ),
    "two_axes": (
        lambda x: (np.exp(x) / np.exp(x).sum(axis=0)).sum(axis=1),
        (X,),
        Reason.FUSION_OTHER_LOOPS,
        "they reduce different axes",
    ),
    "neighbours": (
        neighbours,
        (ROW,),
        Reason.FUSION_OTHER_LOOPS,
        "one runs over 50, the other over 49",
    ),
    "transposed": (
        transposed,
        (ones(40, 40),),
        Reason.FUSION_OTHER_PLACES,
        "add needs elements that the kernel makes later, or in another task",
    ),
    "large": (large, (ROW,), Reason.FUSION_EXPRESSION_LIMIT, "instructions per element"),
    "begun_before": (
        begun_before,
        (ROW, ones(50)),
        Reason.FUSION_ELSEWHERE,
        "add joined another kernel, begun when these had nothing in common",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_two_kernels_have_a_reason(name: str) -> None:
    function, args, reason, details = CASES[name]
    fusion = fuse(optimise(graph_of(function, *args)))
    found = {a.reason: a.details for a in fusion.apart}
    assert reason in found, fusion.apart
    assert any(details in a.details for a in fusion.apart if a.reason is reason), found


def test_long_rows_are_a_reason_where_no_scheduler_cuts_them() -> None:
    """Of a device: `rows of ... are reduced by tasks that share a row`."""
    graph = optimise(graph_of(lambda x: x / x.sum(axis=1, keepdims=True), LONG))
    assert not fuse(graph).apart
    (apart,) = fuse(graph, target=nvptx(80)).apart
    assert apart.reason is Reason.FUSION_LONG_ROWS
    assert apart.details == "rows of 200000 elements are reduced by tasks that share a row"


def raised(x):
    y = x + 1
    if y.sum() > 3:
        raise ValueError("large")
    return y[x.astype(int)[0]] + y, y


def test_what_can_fail_keeps_its_order() -> None:
    """An index comes after the check before it in the program, whose sum needs what it reads."""
    fusion = fuse(optimise(pyc.jit(raised).trace(np.zeros(5)).graph))
    assert Reason.FUSION_ORDER in {a.reason for a in fusion.apart}


def test_kernels_that_read_from_each_other_have_a_reason() -> None:
    """Whatever a program is: none of the pairs is left without one."""
    for function, args, *_ in CASES.values():
        fusion = fuse(optimise(graph_of(function, *args)))
        known = {(a.maker, a.reader) for a in fusion.apart}
        maker = {out: g.number for g in fusion.groups for out in g.outputs}
        for group in fusion.groups:
            for read in group.reads:
                before = maker.get(read.value, group.number)
                assert before == group.number or (before, group.number) in known
