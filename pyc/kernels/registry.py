"""Which kernel does a contraction: the candidates for (op, types, target), the best first.

A candidate is a generic logical kernel (scheduled by `passes/schedule`), a hand-made scheduled one,
or a library routine. The order is a cost model's: a function of shapes, types and target only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyc.frozen import frozen
from pyc.ir.loops import Kernel
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.kernels.contraction import Epilogue, contraction
from pyc.kernels.matmul import applies, matmul
from pyc.kernels.matmul_blocks import applies_to_blocks, matmul_blocks
from pyc.kernels.matmul_tiles import applies_to_tiles, matmul_tiles


@frozen()
class Candidate:
    """One way to run an equation, over buffers (arguments, results).

    kernel: a logical kernel, or a scheduled one if `scheduled`; routine, integers: a library
    routine instead."""

    name: str
    kernel: Kernel | None = None
    scheduled: bool = False
    routine: str | None = None
    integers: tuple[int, ...] = ()


def candidates(
    op: str,
    types: tuple[ArrayType, ...],
    params: Mapping[str, Any],
    target: Target,
    epilogue: Epilogue | None = None,
) -> list[Candidate]:
    """The ways to run `op`, the preferred one first. With an epilogue the buffers are (arguments,
    the epilogue's inputs, result)."""
    if op != "dot_general":
        raise NotImplementedError(f"no kernel for {op}")
    found: list[Candidate] = []
    if applies(types, params["dimensions"], target):
        found.append(Candidate("matmul", matmul(types, target, epilogue, **params), scheduled=True))
    if applies_to_tiles(types, params["dimensions"], target):
        nest = matmul_tiles(types, target, epilogue, **params)
        found.append(Candidate("matmul_tiles", nest, scheduled=True))
    if applies_to_blocks(types, params["dimensions"], target):
        nest = matmul_blocks(types, target, epilogue, **params)
        found.append(Candidate("matmul_blocks", nest, scheduled=True))
    return [*found, Candidate("contraction", contraction(types, epilogue, **params))]
