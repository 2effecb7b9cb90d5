"""Equal kernels of a Plan are one function; what differs in anything but its name is not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from pyc.backends.nvptx import module_text
from pyc.backends.same_kernels import representatives
from pyc.backends.x86 import modules
from pyc.frozen import replace
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.text_kernel import print_kernel
from pyc.jit import jit
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.passes.programs import planned

RNG = np.random.default_rng(5)
WEIGHTS = [RNG.standard_normal((32, 32)).astype(np.float32) for _ in range(4)]


def layers(x: Any, weights: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w).cumsum(axis=1)
    return x


def test_the_layers_of_a_network_are_compiled_once() -> None:
    x = RNG.standard_normal((32, 32)).astype(np.float32)
    one, four = planned(layers, x, WEIGHTS[:1]).plan, planned(layers, x, WEIGHTS).plan
    assert len(four.kernels) == 4 * len(one.kernels)
    texts = [modules(plan, X86_64_V3).text for plan in (one, four)]
    # The last layer writes a result, which is a buffer like others to its kernel.
    assert texts[0].count("define hidden void @k") == texts[1].count("define hidden void @k")
    exact = layers(x.astype(np.float64), [w.astype(np.float64) for w in WEIGHTS])
    np.testing.assert_allclose(jit(layers)(x, WEIGHTS), exact, rtol=1e-4, atol=1e-4)


def test_equal_kernels_of_a_gpu_are_one_entry_and_launch_that() -> None:
    """Fifty copies of a product were fifty pieces of code, each fetched from memory when it ran."""
    x = np.ones((16, 16), np.float32)

    def products(x: Any, w: Any) -> Any:
        for _ in range(5):
            x = x @ w
        return np.tanh(x)

    graph = jit(products, loops="unroll").trace(x, x).graph
    kernels = plan(optimise(graph), SM_90).plan.kernels
    text, launches = module_text(kernels, SM_90)
    distinct = set(representatives(kernels))
    assert 1 < len(distinct) < len(kernels) == len(launches)
    names = [launch.name for launch in launches]
    assert len(set(names)) == len(distinct) == text.count("define ptx_kernel")
    assert names[0] == names[1] != names[-1]


def test_names_do_not_count_and_all_else_does() -> None:
    x = np.ones(40)
    (kernel,) = planned(lambda x: x + 1.0, x).plan.kernels
    again = replace(planned(lambda x: x + 1.0, x).plan.kernels[0], name="other")
    other_number = planned(lambda x: x + 2.0, x).plan.kernels[0]
    other_type = planned(lambda x: x + np.float32(1), x.astype(np.float32)).plan.kernels[0]
    out = kernel.buffers[-1]
    may_alias = planned(lambda x: x * 2.0, x).plan.kernels[0]
    streamed = replace(kernel, buffers=(*kernel.buffers[:-1], replace(out, streamed=True)))
    kernels = (kernel, other_number, again, other_type, may_alias, streamed, again)
    assert representatives(kernels) == (0, 1, 0, 3, 4, 5, 0)


def test_checks_of_two_lines_are_two_functions() -> None:
    """Kernels that differ in the site alone would name the wrong line."""

    def gather(x: Any, i: Any, j: Any) -> Any:
        first = np.sort(x[i])
        return np.sort(first[j])

    x, i = np.arange(8.0), np.array([1, 2, 7, 0, 3, 5, 4, 6])
    plan = planned(gather, x, i, i).plan
    texts = {print_kernel(replace(k, name="")).replace("fail 0", "fail 1") for k in plan.kernels}
    assert len(texts) < len(set(representatives(plan.kernels)))
    jitted = jit(gather)
    jitted(x, i, i)
    for arguments, line in (((x, i + 1, i), "sort(x[i])"), ((x, i, i + 1), "sort(first[j])")):
        with pytest.raises(IndexError, match=re.escape(line)):
            jitted(*arguments)
