"""Loops over slices with traced bounds: loops of the program that give what NumPy gives."""

from __future__ import annotations

from inspect import isfunction
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import PycError
from pyc.reasons import Reason, collecting
from tests.corpus.outcome import compare
from tests.trace import slice_programs as programs

RNG = np.random.default_rng(0)
MATRIX = RNG.random((25, 25)) + np.eye(25)
SMALL = RNG.random((3, 3))
NAMES = [name for name, f in vars(programs).items() if isfunction(f)]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_as_in_numpy_and_a_loop(name: str) -> None:
    function: Any = getattr(programs, name)
    expected = function(MATRIX.copy(), SMALL.copy())
    with pyc.config.using(cache="off"), collecting() as notes:
        found = pyc.jit(function)(MATRIX.copy(), SMALL.copy())
    compare(found, expected, name)
    assert not [n for n in notes if n.reason is Reason.LOOP_UNROLLED]


def ops_in_loops(graph: Any) -> set[str]:
    found: set[str] = set()
    for e in graph.eqns:
        if e.op.name in ("while", "scan"):
            found |= {x.op.name for x in e.params["body"].eqns} | ops_in_loops(e.params["body"])
    return found


@pytest.mark.parametrize("name", ["convolved", "columns_changed", "around_a_column", "backwards"])
def test_slices_of_known_lengths_are_no_masks(name: str) -> None:
    ops = ops_in_loops(pyc.jit(getattr(programs, name)).trace(MATRIX, SMALL).graph)
    assert "dynamic_slice" in ops
    assert not ops & {"select", "lt", "ge"} - {"select"}


def other_length(a, b):
    s = np.zeros(25)
    for i in range(25):
        s[:i] = b
    return s


def other_rows(a, b):
    s = np.zeros((25, 25))
    for i in range(25):
        s[i:, :3] = a[i:, :4]
    return s


def element_that_is_not_there(a, b):
    s = 0.0
    for i in range(25):
        s += a[:, i:][0, 3]
    return s


def argument_changed(a, b):
    for i in range(20):
        v = a[:, i : i + 2]
        v += 1
    return a


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (other_length, ValueError),
        (other_rows, ValueError),
        (element_that_is_not_there, IndexError),
        (argument_changed, PycError),
    ],
)
def test_it_raises(function: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        pyc.jit(function)(MATRIX.copy(), MATRIX[0].copy())
