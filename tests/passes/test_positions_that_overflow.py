"""Arithmetic on positions wraps, as NumPy's does: nothing is decided by ranges that it leaves.

A generator of pseudo-random numbers over `np.arange(n)` is the ordinary program of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyc
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, apply, const
from pyc.ir.instructions import INSTRUCTIONS
from pyc.passes.index import Simplifier
from tests.programs.differential import EVERYWHERE, EXECUTORS, ON_A_GPU, same_bits

N = 1000
X = np.arange(N) * 1.0
EXECUTOR = [
    *EVERYWHERE,
    *(pytest.param(name, marks=pytest.mark.cuda) for name in ON_A_GPU),
]


def places() -> Any:
    return np.arange(N)


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a product is negative": lambda x, y: np.where(places() * 2**61 >= 0, x, y),
    "a product is small again": lambda x, y: np.where(places() * 2**61 < 5, x, y),
    "beyond a large number": lambda x, y: np.where(places() * 2**55 >= 2**60, x, y),
    "products of powers of two that are 0": lambda x, y: np.where(
        places() * 2**54 * 2**10 == 0, x, y
    ),
    "a sum of large numbers": lambda x, y: np.where((places() * 2**54 + 2**62) * 4 > 100, x, y),
    "three differences": lambda x, y: np.where(places() - 2**62 - 2**62 - 2**62 < 0, x, y),
    "greater by a number": lambda x, y: np.where(places() * 2**55 + 9 > places() * 2**55, x, y),
    "the remainder": lambda x, y: x[(places() * 2**55) % N],
    "the quotient": lambda x, y: x[(places() * 2**57 // 2**55) % 7],
    "two quotients": lambda x, y: x[((places() + 2**62) // 2**40 // 2**40) % N],
    "a shift": lambda x, y: x[((places() * 2**60) >> 50) % N],
    "a minimum": lambda x, y: x[np.minimum(places() * 2**58, N - 1) % N],
    "a maximum": lambda x, y: np.concatenate([x, y])[np.maximum(places() * 2**57, 0) % N],
    "one of two places": lambda x, y: x[np.where(places() * 2**57 >= 0, 1, 2)],
    "a congruential generator": lambda x, y: x[
        (places() * 6364136223846793005 + 1442695040888963407) % N
    ],
    "the high bits of one": lambda x, y: (
        ((places() * 6364136223846793005 + 1442695040888963407) >> 33) * 2.0**-31 + y
    ),
}


@pytest.mark.parametrize("executor", EXECUTOR)
@pytest.mark.parametrize("name", PROGRAMS)
def test_positions_wrap_as_numpys_do(name: str, executor: str) -> None:
    program = PROGRAMS[name]
    graph = pyc.jit(program).trace(X, -X).graph
    (found,) = EXECUTORS[executor](graph, [X, -X])
    assert same_bits(np.asarray(found), program(X, -X))


NUMBERS = st.one_of(
    st.integers(-9, 9),
    st.sampled_from([2**31, 2**32 + 1, 2**61, 2**62, 2**63 - 1, -(2**62), -(2**63)]),
)


@given(data=st.data())
def test_what_is_simplified_is_equal_at_each_position(data: st.DataObject) -> None:
    """Expressions of one position, with numbers near the ends of i64."""
    simplify = Simplifier()
    extent = data.draw(st.sampled_from([1, 3, 8]))
    var = simplify.variable("i", extent)
    pool: list[Expr] = [var]
    for _ in range(data.draw(st.integers(1, 6))):
        name = data.draw(st.sampled_from(["add", "sub", "mul", "quotient", "remainder", "minimum"]))
        one = data.draw(st.sampled_from(pool))
        other = const(data.draw(NUMBERS)) if name != "sub" else data.draw(st.sampled_from(pool))
        pool.append(apply(name, one, other))
    other = data.draw(st.sampled_from([*pool, const(data.draw(NUMBERS))]))
    test = apply(data.draw(st.sampled_from(["lt", "le", "eq", "ne"])), pool[-1], other)
    for e in (pool[-1], test):
        simple = simplify(e)
        for i in range(extent):
            assert value(simple, i) == value(e, i), (i, e, simple)


def value(e: Expr, position: int) -> Any:
    """An expression of one variable at a position, by the instructions' definitions."""
    if isinstance(e, Const):
        return e.value
    if not isinstance(e, Apply):
        return np.int64(position)
    operands = [np.asarray(value(a, position)) for a in e.args]
    return INSTRUCTIONS[e.name].evaluate(operands, e.dtype)[()]


def test_squares_of_a_number_do_not_grow() -> None:
    """Each square would double the digits of the one before."""
    simplify, e = Simplifier(), const(3)
    for _ in range(100):
        e = simplify(apply("mul", e, e))
    assert isinstance(e, Const)
    assert e.dtype is dt.i64
    assert int(e.value) == (pow(3, 2**100, 2**64) ^ 2**63) - 2**63
