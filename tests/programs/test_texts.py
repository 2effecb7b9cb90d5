"""The texts of whole programs: what is printed of any program, for a processor and for a GPU,
parses back to what prints the same."""

from __future__ import annotations

from collections import Counter

import ml_dtypes
import numpy as np
import pytest

from pyc import jit
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.text_graph import parse_graph, print_graph
from pyc.ir.text_kernel import print_kernel
from pyc.ir.text_plan import parse_plan, print_plan
from pyc.lowered import Lowered, lower_graph

from .random_graphs import random_graph


def check(program: Lowered, words: Counter[str]) -> None:
    for graph in (program.traced, program.graph):
        text = print_graph(graph)
        assert print_graph(parse_graph(text)) == text
    for kernel in (*program.planned.logical, *program.kernels):
        text = print_kernel(kernel)
        words.update(text.split())
        assert print_kernel(parse_kernel(text)) == text
    text = print_plan(program.plan)
    words.update(text.split())
    assert print_plan(parse_plan(text, program.plan.kernels)) == text


@pytest.mark.parametrize("target", [X86_64_V3, SM_90], ids=["x86", "sm_90"])
def test_the_texts_of_random_programs_parse_back(target) -> None:
    words: Counter[str] = Counter()
    for seed in range(40):
        check(lower_graph(random_graph(seed), target=target), words)
    common = {"for", "if", "carry", "while", "reduce", "accumulate", "alloc", "serial", "launch"}
    own = {"vector", "parallel"} if target is X86_64_V3 else {"grid", "thread", "warp"}
    assert common | own <= set(words)


def test_the_text_of_a_tensor_core_product_parses_back() -> None:
    """Roles, asynchronous copies, phased barriers and tile products."""
    x = np.zeros((512, 512), ml_dtypes.bfloat16)
    lowered = jit(lambda a, b: np.maximum(a @ b, 0)).lower(x, x)
    words: Counter[str] = Counter()
    check(lower_graph(lowered.traced.graph, target=SM_90), words)
    text = " ".join(words)
    for word in ("role", "signal", "wait", "copy", "multiply", "phased"):
        assert word in text, word
