"""Definitions that kernels call, and those that they have in place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.scipy.special as special
from pyc.backends.nvptx import module_text
from pyc.backends.oracle import run_plan
from pyc.backends.x86 import modules
from pyc.explanation.counts import count
from pyc.ir import dtype as dt
from pyc.ir.defined import CALLED, calls, defined
from pyc.ir.evaluate import evaluate
from pyc.ir.expr import Apply, Expr, Var
from pyc.ir.graph import Graph
from pyc.ir.ops.scalar_math import pow
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.plan import Plan
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.ir.text_kernel import print_kernel
from pyc.lowered import lower_graph
from pyc.passes import called, optimise
from pyc.passes.called import worthwhile
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

X = np.random.default_rng(3).uniform(0.1, 9.0, (5, 37))
X[0, :6] = 0.0, np.nan, np.inf, -0.0, -2.5, 1.0
Y = np.random.default_rng(4).uniform(0.1, 9.0, (5, 37))
Y[1, :6] = 0.0, np.nan, np.inf, -0.0, -2.5, 1.0


def zetas(x: Any, y: Any) -> Any:
    return special.zeta(x, y)


def logarithms(x: Any, y: Any) -> Any:
    return special.gammaln(x) - special.gammaln(y) - special.gammaln(x - y)


def of_rows(x: Any, y: Any) -> Any:
    """A reduction whose element calls, and what is stored of it too."""
    total = np.sum(special.gammaln(np.abs(x)) - special.gammaln(np.abs(y)), axis=1)
    return special.beta(np.abs(total), np.abs(total))


def some_powers(x: Any, y: Any) -> Any:
    return x**y + y**x + (x + y) ** y


def graph_of(function: Callable[..., Any], *arguments: Any) -> Graph:
    return optimise(pyc.jit(function).trace(*arguments).graph, check=True)


def plan_of(function: Callable[..., Any], target: Target, *arguments: Any) -> Plan:
    return plan(graph_of(function, *arguments), target, check=True).plan


def called_in(found: Plan) -> set[str]:
    """The names of definitions in the texts of the kernels."""
    texts = [print_kernel(k) for k in found.kernels]
    return {name for name in CALLED if any(re.search(rf"\b{name}\(", text) for text in texts)}


PARTS = (np.s_[:, :], np.s_[0, 3], np.s_[:, :3])
CALLERS = {
    zetas: {"pow_of_positive_f64_f64", "zeta_f64_f64"},
    logarithms: {"lgamma_f64"},
    of_rows: {"lgamma_f64", "beta_positive_f64_f64"},
}


@pytest.mark.parametrize("function", CALLERS)
@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4], ids=lambda t: t.id)
def test_a_long_definition_that_is_needed_often_is_one_function(function, target) -> None:
    made = plan_of(function, target, X, Y)
    assert called_in(made) <= CALLERS[function]
    text = modules(made, target).text
    functions = [line for line in text.splitlines() if line.startswith("define internal")]
    names = {line.partition("@")[2].partition("(")[0] for line in functions}
    assert len(functions) == len(names)
    assert {name.rpartition("_")[0] for name in names} == CALLERS[function]


@pytest.mark.parametrize("function", CALLERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "part", [np.s_[:, :], np.s_[0, 3], np.s_[:, :3]], ids=["rows", "one", "threes"]
)
def test_calls_have_the_bits_of_what_they_stand_for(function, dtype, part) -> None:
    """Whole vectors, the rest of a row, and scalars; by all interpreters."""
    if function is of_rows and part == np.s_[0, 3]:
        part = np.s_[:1, :1]
    x, y = (np.asarray(a[part], dtype) for a in (X, Y))
    graph = graph_of(function, x, y)
    (wanted,) = evaluate(graph, [x, y])
    made = plan(graph, X86_64_V3, check=True).plan
    (found,) = run_plan(made, [x, y], [(wanted.shape, wanted.dtype)])
    assert same_bits(found, wanted)
    assert same_bits(pyc.jit(function)(x, y), wanted)


def test_what_is_short_or_needed_seldom_stays_in_place() -> None:
    made = plan_of(some_powers, X86_64_V4, X, Y)
    assert called_in(made) == set()
    assert "define internal" not in modules(made, X86_64_V4).text


@pytest.mark.parametrize("function", CALLERS)
def test_a_kernel_of_a_gpu_calls_nothing(function) -> None:
    made = plan_of(function, SM_90, X, Y)
    assert called_in(made) == set()
    assert "define internal" not in module_text(made.kernels, SM_90)[0]


def test_what_is_called_counts_as_what_it_stands_for(monkeypatch) -> None:
    """Flops and instructions."""
    x, y = (np.abs(a[2:]) + 0.5 for a in (X, Y))
    of_calls = flops_and_instructions(x, y)
    monkeypatch.setattr(called, "worthwhile", lambda counts: set())
    in_place = flops_and_instructions(x, y)
    assert of_calls[0] == pytest.approx(in_place[0], rel=0.1)
    # Nodes that are equal are not one yet in a kernel as it is lowered.
    assert 3 * CALLED["lgamma_f64"].size < of_calls[1] <= in_place[1]


def flops_and_instructions(x: Any, y: Any) -> tuple[int, int]:
    """Of `logarithms`, compiled anew."""
    lowered = lower_graph(pyc.jit(logarithms).trace(x, y).graph, target=X86_64_V3)
    (kernel,) = lowered.kernels
    return sum(count(kernel).flops.values()), lowered.cost_analysis().instructions


def test_the_text_of_a_kernel_that_calls_can_be_read() -> None:
    for kernel in plan_of(logarithms, X86_64_V3, X, Y).kernels:
        assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)


def test_one_that_another_calls_is_counted_with_it() -> None:
    with calls():
        special_zeta = load_zeta()
    assert worthwhile(Counter({special_zeta: 1})) >= {"pow_of_positive_f64_f64"}
    assert worthwhile(Counter({"pow_of_positive_f64_f64": 2})) == set()


def load_zeta() -> str:
    from pyc.ir.ops.special_math import zeta  # noqa: PLC0415

    found = zeta(Var("s", dt.f64), Var("q", dt.f64))
    assert isinstance(found, Apply)
    return found.name


def test_outside_of_lowering_a_definition_is_its_instructions() -> None:
    x, y = Var("x", dt.f64), Var("y", dt.f64)
    found = pow(x, y)
    assert isinstance(found, Apply)
    assert found.name == "select"
    with calls():
        call = pow(x, y)
    assert isinstance(call, Apply)
    assert (call.name, call.args) == ("pow_f64_f64", (x, y))


def test_two_definitions_of_one_name_are_refused() -> None:
    def pow(x: Expr, y: Expr) -> Expr:
        return x * y

    x, y = Var("x", dt.f32), Var("y", dt.f32)
    with calls():
        globals()["pow"](x, y)
        with pytest.raises(ValueError, match="instruction pow_f32_f32 is defined twice"):
            defined(pow)(x, y)
