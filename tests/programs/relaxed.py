"""Programs as `jit(fastmath=True)` changes them, and what their results may be.

The changed Graph is a program like any other: its interpreter has the bits of every target, but for
quotients and square roots that a GPU rounds nearly. There such an equation is made exact, so that
what follows has one answer, and the op itself, of the same operands, is one more result of the
program, within a bound. In bodies of branches and loops it is only made exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value, subgraphs
from pyc.passes import optimise

Array = np.ndarray[Any, Any]

EXACT = {"fast_div": "div", "fast_sqrt": "sqrt", "fast_abs": "abs"}
"""What GPUs round nearly in float32, and with it in narrower types -> what they round exactly."""
UNITS = 6
"""Units in the last place of the bound: two of a quotient of reals, which the product with it and
its rounding make at most five in one of complex numbers."""


@dataclass(frozen=True)
class Relaxed:
    """graph: the changed program; near: the numbers of its results that have a bound."""

    graph: Graph
    near: frozenset[int] = frozenset()


def relaxed(graph: Graph, *, nearly: bool) -> Relaxed:
    """The program as `fastmath` changes it. nearly: for what rounds some of it nearly."""
    changed = optimise(graph, relaxed=[])
    if not nearly:
        return Relaxed(changed)
    builder = Builder()
    twins: list[Value] = []

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if _is_near(eqn):
            twins.extend(builder.bind(eqn.op, *args, loc=eqn.loc))
        return _exactly(builder, eqn, args)

    made = Rewriter(rule, builder)(changed)
    first = len(made.results)
    whole = builder.build([*made.results, *twins])
    return Relaxed(whole, frozenset(range(first, len(whole.results))))


def _exactly(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
    if _is_near(eqn):
        return builder.bind(EXACT[eqn.op.name], *args, loc=eqn.loc)
    if not subgraphs(eqn):
        return None
    params = {k: _exact_param(v) for k, v in eqn.params.items()}
    return builder.bind(eqn.op, *args, loc=eqn.loc, **params)


def _exact_param(value: Any) -> Any:
    if isinstance(value, Graph):
        return Rewriter(_exactly)(value)
    return tuple(map(_exact_param, value)) if isinstance(value, tuple) else value


def _is_near(eqn: Eqn) -> bool:
    return eqn.op.name in EXACT and eqn.args[0].dtype.real.bits <= 32


def near(expected: Array, found: Array) -> bool:
    """Whether a result that has a bound is within it: where the exact one is finite, for `fastmath`
    does not care for others."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return False
    if expected.dtype.kind == "c":
        return near(expected.real, found.real) and near(expected.imag, found.imag)
    limits = ml_dtypes.finfo(expected.dtype)
    a, b = expected.astype(np.float64), found.astype(np.float64)
    allowed = UNITS * (float(limits.eps) * np.abs(a) + float(limits.smallest_subnormal))
    # Next to the largest number there may be what follows it.
    counts = np.isfinite(a) & (np.abs(a) + allowed < float(limits.max))
    return bool((np.abs(a[counts] - b[counts]) <= allowed[counts]).all())
