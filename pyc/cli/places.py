"""Where the steps of a program run, on a CPU and on a GPU: read off its Plans.

Takes a Graph, gives words for a table. Nothing is said of a function that its Plan does not say:
the routines that are called, and the reasons that placement has recorded for steps of the host.
"""

from __future__ import annotations

from pyc.frozen import frozen
from pyc.ir.graph import Graph
from pyc.ir.op import Kind, Op
from pyc.ir.plan import Library, Plan, walk_steps
from pyc.ir.routines import is_lapack
from pyc.ir.target import SM_90, X86_64_V3, Target
from pyc.passes import optimise
from pyc.passes.memory import plan
from pyc.reasons import ON_HOST, Reason

NATIVE, LAPACK, PYTHON = "native", "LAPACK", "Python"
CALLS_OF_PYTHON = ("host_call", "pure_host_call")
"""Operations that call Python back."""
LOOPS = ("scan", "while")
"""Operations that may have an order which leaves few threads at work: shapes decide."""


@frozen()
class Places:
    """Where the steps of a function run. cpu: `NATIVE` code alone, or what is called besides; gpu:
    on the device alone (`NATIVE`), or why a step runs on the host."""

    cpu: str
    gpu: str


def places(graph: Graph, gpu: Target = SM_90) -> Places:
    """Where a program runs, by its Plans for a CPU and for a GPU. Shapes decide: a step of the host
    may be a kernel for others."""
    found = optimise(graph)
    called = _called(plan(found, X86_64_V3).plan)
    planned = plan(found, gpu)
    reasons = {str(d.reason) for d in planned.decisions if d.reason in ON_HOST}
    reasons |= {PYTHON} & _called(planned.plan)
    return Places(", ".join(sorted(called)) or NATIVE, ", ".join(sorted(reasons)) or NATIVE)


def places_of(op: Op) -> Places:
    """Where an operation runs, of the op table alone: a routine is the host's, all else has kernels
    for both."""
    if op.name in LOOPS:
        return Places(NATIVE, f"{NATIVE}, {Reason.PLACED_ON_HOST}")
    if op.kind is not Kind.LIBRARY:
        return Places(NATIVE, NATIVE)
    if op.name in CALLS_OF_PYTHON:
        return Places(PYTHON, PYTHON)
    return Places(LAPACK, str(Reason.FALLBACK_HOST))


def _called(found: Plan) -> set[str]:
    """What a Plan calls that is no kernel."""
    routines = (s.routine for s in walk_steps(found.steps) if isinstance(s, Library))
    return {LAPACK if is_lapack(r) else PYTHON for r in routines}


__all__ = ["NATIVE", "Places", "places", "places_of"]
