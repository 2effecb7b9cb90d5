"""Variables that only some iterations assign, and the memory of the arrays that they name: a change
of one is seen by the other, or refused, but never missed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import TraceError

Z, D = np.arange(3.0) + 1, np.arange(3)


def branch_of_a_loop(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i):
            v = c
    return c, v


def view_in_a_branch_of_a_loop(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i):
            v = c[::-1]
    return c, v


def loop_of_a_loop(z, d):
    c = z.copy()
    for i in range(20):
        h = 0
        while h < 4 and np.any(d > h + i):
            h += 1
            v = c[::-1]
    return c, v


def loop_of_branches(z, d):
    c = z.copy()
    if d[0] > -5:
        c += 1
        if d[0] > -4:
            h = 0
            while h < 4 and np.any(d > h):
                h += 1
                v = c
    return c, v


def branch_of_a_branch(z, d):
    c = z.copy()
    if d[0] > -5:
        c += 1
        if d[0] > -4:
            v = c
    return c, v


def names_of_one_variable(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i):
            b = z.copy()
        if np.any(d > i):
            c = b
    v = b
    return c, v


PROGRAMS = (
    *(branch_of_a_loop, view_in_a_branch_of_a_loop, loop_of_a_loop, loop_of_branches),
    *(branch_of_a_branch, names_of_one_variable),
)


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_change_of_an_array_that_a_variable_may_name_is_not_missed(
    program: Callable[..., Any], changed: int
) -> None:
    def whole(z, d):
        found = program(z, d)
        found[changed][...] -= found[changed][1]
        return found

    for expected, found in zip(program(Z, D), pyc.jit(program)(Z, D), strict=True):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(TraceError, match="may share memory"):
        pyc.jit(whole)(Z, D)


def own_array_of_a_branch(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i):
            v = c * 2
            w = v[::-1]
            w += 1
    c += 1
    v += c
    return c, v


def variable_that_is_not_used(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i + 9):
            v = c  # noqa: F841
    c += 1
    return c, c * 2


def variable_that_is_assigned_again(z, d):
    c = z.copy()
    for i in range(20):
        if np.any(d > i):
            v = c
    c += 1
    for i in range(20):
        v = c * i
    return c, v


@pytest.mark.parametrize(
    "program",
    [own_array_of_a_branch, variable_that_is_not_used, variable_that_is_assigned_again],
    ids=lambda p: p.__name__,
)
def test_arrays_that_share_nothing_may_be_changed(program: Callable[..., Any]) -> None:
    for expected, found in zip(program(Z, D), pyc.jit(program)(Z, D), strict=True):
        np.testing.assert_array_equal(found, expected)
