"""Which buffers of a kernel may come by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pyc
from pyc.ir.by_value import by_value
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.target import SM_90
from pyc.lowered import lower_graph

X = np.ones(100, np.float32)


@pytest.mark.parametrize(
    ("function", "arguments", "numbers"),
    [
        (lambda x, k: x * k, (X, 2.0), 1),
        (lambda x, k, n: x * k + n, (X, 2.0, 3), 2),
        (lambda x, k: x * k, (X, X[:1]), 1),
        (lambda x, y: x * y, (X, X), 0),
    ],
)
def test_numbers_among_the_arguments(function: Any, arguments: Any, numbers: int) -> None:
    lowered = lower_graph(pyc.jit(function).trace(*arguments).graph, target=SM_90)
    (kernel,) = lowered.kernels
    found = by_value(kernel)
    assert len(found) == numbers
    assert all(kernel.buffers[k].shape == (1,) for k in found)


KERNEL = """kernel "k0"() {{
  b0: {role} {dtype}[{extent}]
  b1: out f32[16]
  for i0 in 0..1 grid {{
    for i1 in 0..16 thread {{
      b1[i1] = cast.f32(b0[{index}])
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("given", "is_number"),
    [
        ({}, True),
        ({"dtype": "bf16"}, True),
        ({"role": "inout"}, False),
        ({"extent": 16, "index": "i1"}, False),
        ({"extent": 16}, False),
        ({"index": "i0"}, False),
    ],
)
def test_what_is_a_number(given: dict[str, Any], is_number: bool) -> None:
    """An element that the kernel writes, or whose place it computes, stays in memory."""
    facts = {"role": "in", "dtype": "f64", "extent": 1, "index": "0"} | given
    assert bool(by_value(parse_kernel(KERNEL.format(**facts)))) == is_number
