"""Positions that were taken apart, as by a reshape, are one again in the loads of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.oracle import run_plan
from pyc.ir.expr import Apply, Expr, Load, Var, apply, const, postorder
from pyc.ir.loops import expressions, walk
from pyc.ir.target import X86_64_V3, X86_64_V4
from pyc.passes import optimise
from pyc.passes.index import Simplifier
from pyc.passes.memory import plan

from .programs import graph_of


def parts(x: Expr, n: int) -> tuple[Expr, Expr]:
    return apply("quotient", x, const(n)), apply("remainder", x, const(n))


@pytest.mark.parametrize("joins", [False, True])
def test_quotient_and_remainder_are_the_value_again(joins: bool) -> None:
    simplify = Simplifier(joins=joins)
    x, y = simplify.variable("x", 60), simplify.variable("y", 7)
    whole, rest = parts(x, 4)
    for total, wanted in (
        (whole * 4 + rest, x),
        (rest * 3 + y + whole * 12 + 5, x * 3 + y + 5),
        (rest + y * 100 + whole * 4, x + y * 100),
    ):
        assert (simplify(total) is simplify(wanted)) is joins


def test_three_axes_are_one() -> None:
    simplify = Simplifier(joins=True)
    x = simplify.variable("x", 2 * 3 * 5)
    first, rest = parts(x, 15)
    second, third = parts(rest, 5)
    assert simplify(first * 15 + second * 5 + third) is simplify(x)


@pytest.mark.parametrize(
    "other", ["another value", "another divisor", "another factor", "a difference"]
)
def test_what_is_no_whole_stays(other: str) -> None:
    simplify = Simplifier(joins=True)
    x, y = simplify.variable("x", 60), simplify.variable("y", 60)
    (whole, rest), (_, of_another), (_, by_another) = parts(x, 4), parts(y, 4), parts(x, 5)
    total = {
        "another value": whole * 4 + of_another,
        "another divisor": whole * 4 + by_another,
        "another factor": whole * 5 + rest,
        "a difference": whole * 4 - rest,
    }[other]
    found = [e.name for e in postorder([simplify(total)]) if isinstance(e, Apply)]
    assert "quotient" in found and "remainder" in found


def test_joined_sums_have_the_values_that_they_had() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        simplify = Simplifier(joins=True)
        x, y = simplify.variable("x", 40), simplify.variable("y", 9)
        inner = x * int(rng.integers(1, 4)) + y * int(rng.integers(0, 6))
        total: Expr = const(0)
        for _ in range(4):
            n, factor = int(rng.integers(1, 6)), int(rng.integers(-3, 4))
            whole, rest = parts(inner, n)
            total = total + whole * (n * factor if rng.random() < 0.7 else 2) + rest * factor
        simple = simplify(total)
        for at in ((0, 0), (39, 8), (17, 3), (1, 7)):
            values = dict(zip((x, y), at))
            assert value(simple, values) == value(total, values)


def value(e: Expr, variables: dict[Var, int]) -> int:
    known: dict[Any, int] = {}
    ways = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "neg": lambda a: -a,
        "quotient": lambda a, b: a // b,
        "remainder": lambda a, b: a % b,
    }
    for node in postorder([e]):
        if isinstance(node, Var):
            known[node] = variables[node]
        elif isinstance(node, Apply):
            known[node] = ways[node.name](*(known[a] for a in node.args))
        else:
            known[node] = int(node.value)  # type: ignore[attr-defined]
    return known[e]


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=["v3", "v4"])
def test_sums_of_complex_columns_read_neighbours(target: Any) -> None:
    def sums(z: Any) -> Any:
        return np.sum(z, axis=0)

    z = np.random.default_rng(0).standard_normal((256, 128)).astype(np.complex64)
    made = plan(optimise(graph_of(sums, z)), target, check=True).plan
    first = made.kernels[0]
    loads = [
        e
        for s in walk(first.body)
        for e in postorder(expressions(s))
        if isinstance(e, Load) and e.buffer is first.buffers[0]
    ]
    assert loads
    names = {e.name for x in loads for e in postorder(x.index) if isinstance(e, Apply)}
    assert not names & {"quotient", "remainder"}
    (found,) = run_plan(made, [z], [((128,), z.dtype)])
    assert found.tobytes() == pyc.jit(sums)(z).tobytes()
    np.testing.assert_allclose(found, z.astype(np.complex128).sum(0), rtol=1e-4, atol=1e-4)
