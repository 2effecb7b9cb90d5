"""What `fastmath` changes in a Graph: one small function per rule, and its text after; and that
what comes out is run to the bit by everything that runs Graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc import config
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.text_graph import print_graph
from pyc.lax import fori_loop
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.passes.relax import LARGEST_POWER, RULES, Told
from tests.passes.programs import graph_of, ones
from tests.programs.differential import same_bits
from tests.programs.random_graphs import random_arguments, random_graph

X, Y = ones(3, 4), ones(3, 4)
Z = ones(5, dtype=np.complex64)
HALF = ones(4, dtype=np.float16)

CHANGED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "product_and_sum": (lambda x, y: x * y + 1, (X, Y)),
    "sum_and_product": (lambda x, y: y + x * x, (X, Y)),
    "square_and_sum": (lambda x, y: pnp.square(x) + y, (X, Y)),
    "product_and_difference": (lambda x, y: x * y - x, (X, Y)),
    "difference_and_product": (lambda x, y: x - x * y, (X, Y)),
    "factor_of_two_terms": (lambda x, y: pnp.exp(x) + 2.0 * x + 2.0 * y, (X, Y)),
    "factor_that_is_small": (lambda x, y: pnp.exp(x) + 0.5 * x + 0.5 * y, (X, Y)),
    "halves": (lambda x: x * x + x, (HALF,)),
    "sum_with_zero": (lambda x: 0.0 + x, (X,)),
    "difference_with_zero": (lambda x: (x - 0.0, 0.0 - x, x - x), (X,)),
    "product_with_zero": (lambda x: x * 0.0, (X,)),
    "constants_that_are_added": (lambda x: x + 1.5 + 2.5, (X,)),
    "constants_that_are_multiplied": (lambda x: 3.0 * (x * 1.5), (X,)),
    "over_a_constant": (lambda x: x / 3.0, (X,)),
    "over_one_number": (lambda x, a: x / a, (X, np.float32(2))),
    "over_rows": (lambda x: x / pnp.sum(x, axis=1, keepdims=True), (X,)),
    "over_columns": (lambda x: x / pnp.sum(x, axis=0), (X,)),
    "over_elements": (lambda x, y: x / y, (X, Y)),
    "one_over": (lambda x: pnp.reciprocal(x), (X,)),
    "over_less_than_a_normal_number": (lambda x: x / np.float32(3e38), (X,)),
    "square_root": (lambda x: pnp.sqrt(x), (X,)),
    "extrema": (lambda x, y: (pnp.maximum(x, 0.0), pnp.minimum(x, y)), (X, Y)),
    "whole_power": (lambda x: x**5.0, (X,)),
    "negative_power": (lambda x: x**-2.0, (X,)),
    "half_power": (lambda x: x**2.5, (X,)),
    "complex_product": (lambda z: z * z, (Z,)),
    "complex_product_and_sum": (lambda z: z * z + 1, (Z,)),
    "complex_quotient": (lambda z: (z / z, z / 4), (Z,)),
    "complex_size": (lambda z: pnp.abs(z), (Z,)),
    "squared_size": (lambda z: pnp.abs(z) ** 2, (Z,)),
}
KEPT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "integers": (lambda n: (n * n + n - 0, pnp.maximum(n, 0)), (ones(4, dtype=np.int32),)),
    "large_power": (lambda x: x ** (LARGEST_POWER + 1.0), (X,)),
    "other_power": (lambda x: x**0.3, (X,)),
    "product_that_others_use": (lambda x, y: (x * y, x * y + x), (X, Y)),
    "size_of_real_numbers": (lambda x: abs(x), (X,)),
    "test_for_nan": (lambda x: pnp.isnan(x), (X,)),
}


def relaxed(graph: Graph) -> tuple[Graph, Told]:
    told: Told = []
    return optimise(graph, check=True, relaxed=told), told


@pytest.mark.parametrize("name", CHANGED)
def test_a_rule_makes_what_its_text_says(name: str, golden: Any) -> None:
    function, arguments = CHANGED[name]
    after, told = relaxed(graph_of(function, *arguments))
    assert told
    golden(print_graph(after), name)


@pytest.mark.parametrize("name", KEPT)
def test_what_no_rule_is_for_stays(name: str) -> None:
    function, arguments = KEPT[name]
    graph = graph_of(function, *arguments)
    after, told = relaxed(graph)
    assert not told and print_graph(after) == print_graph(optimise(graph))


def test_every_rule_has_a_function_that_it_changes() -> None:
    told = {
        what for make, given in CHANGED.values() for what, _ in relaxed(graph_of(make, *given))[1]
    }
    assert told == {what for rules in RULES.values() for what, _ in rules}


def test_it_ends_and_changes_nothing_the_second_time() -> None:
    for function, arguments in CHANGED.values():
        once, _ = relaxed(graph_of(function, *arguments))
        again, told = relaxed(once)
        assert not told and print_graph(again) == print_graph(once)


def test_bodies_of_loops_are_changed_too() -> None:
    def horner(x: Any) -> Any:
        return fori_loop(0, 6, lambda _, a: a * x + 1.0, x)

    graph, told = relaxed(graph_of(horner, X))
    assert "fma(" in print_graph(graph) and told


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_have_the_bits_of_their_changed_graph(seed: int) -> None:
    """By the schedules of a CPU and of a GPU, and compiled."""
    graph = random_graph(seed)
    after, _ = relaxed(graph)
    arguments = random_arguments(graph, seed)
    expected = evaluate(after, arguments)
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]
    plans = [plan(after, target, check=True).plan for target in (X86_64_V3, SM_90)]
    ways = [run_plan(p, arguments, shapes) for p in plans]
    with config.using(cache="off"):
        ways.append(compile_graph(graph, options={"fastmath": True})(*arguments))
    for found in ways:
        assert all(same_bits(a, b) for a, b in zip(expected, found, strict=True))
