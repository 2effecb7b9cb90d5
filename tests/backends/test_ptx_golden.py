"""PTX for sm_90, as text: what a change of the schedules or of the emitter does to it.

LLVM chooses registers and their order, so the texts are those of one LLVM; nothing else in them
names a version, a machine or a run.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.nvptx import module_text, ptx
from pyc.ir.target import SM_90
from pyc.lowered import lower_graph

LLVMLITE = "0.50."
"""The llvmlite (LLVM 22) that the golden texts were made with."""

of_this_llvm = pytest.mark.skipif(
    not metadata.version("llvmlite").startswith(LLVMLITE),
    reason=f"the golden texts are those of llvmlite {LLVMLITE}x",
)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (lambda a, b: a / (1 + b * b) + np.sqrt(a) * 0.5, (ones(1000), ones(1000))),
    "row softmax": (softmax, (ones(64, 128),)),
    "full sum": (lambda x: x.sum(), (ones(100_000),)),
    "transpose": (lambda x: x.T + 0.0, (ones(128, 192),)),
    "gather": (lambda x, i: x[i], (ones(100, 8), np.arange(10))),
    "product": (lambda a, b: a @ b, (ones(16, 16), ones(16, 16))),
    "tiled matmul": (lambda a, b: a @ b, (ones(320, 64), ones(64, 320))),
}


@of_this_llvm
@pytest.mark.parametrize("name", PROGRAMS)
def test_ptx(name: str, golden: Callable[..., None]) -> None:
    function, arguments = PROGRAMS[name]
    lowered = lower_graph(pyc.jit(function).trace(*arguments).graph, target=SM_90)
    text, launches = module_text(lowered.kernels, SM_90)
    lines = [f"// launch {x.name}: grid {x.grid}, {x.threads} threads" for x in launches]
    golden("\n".join([*lines, ptx(text, SM_90)]))
