"""Facts about a kernel that are known before it runs: its lanes, its threads, its lane loops."""

from __future__ import annotations

from pyc.ir import loops as lo
from pyc.ir.expr import Expr, Load, Var, postorder
from pyc.ir.loops import Buffer, Kernel, Kind, Space, Stmt
from pyc.ir.simulate.findings import SimulationError

WARP = 32

TOGETHER = (Kind.CLUSTER, Kind.GROUP)
LANE_KINDS = (Kind.PARALLEL, Kind.VECTOR, *TOGETHER, Kind.WARP, Kind.THREAD)
THREAD_KINDS = (Kind.WARP, Kind.THREAD)


def lane_depth(body: lo.Body, batched: set[Stmt]) -> int:
    """The most lane axes that are open at once."""
    deepest = 0
    heads, innermost = lo.spine(body)
    for s in (*(s for before, _ in heads for s in before), *innermost):
        inner = max((lane_depth(b, batched) for b in lo.bodies(s)), default=0)
        lanes = isinstance(s, lo.For) and (s.kind in LANE_KINDS or s in batched)
        lanes = lanes or isinstance(s, (lo.Reduce, lo.Cumulate))
        deepest = max(deepest, inner + (1 if lanes else 0))
    return deepest


def thread_count(kernel: Kernel) -> tuple[int, int, int, int]:
    """Threads of a thread loop, and of a block, blocks of a cluster, and of a group; 1 where there
    are none."""
    extents = {Kind.CLUSTER: 1, Kind.GROUP: 1, Kind.WARP: 1, Kind.THREAD: 1}
    for s in lo.walk(kernel.body):
        if isinstance(s, lo.For) and s.kind in extents:
            if not isinstance(s.extent, int):
                raise SimulationError(f"the extent of {s.kind.value} loops must be a constant")
            extents[s.kind] = max(extents[s.kind], s.extent)
    threads = extents[Kind.WARP] * extents[Kind.THREAD]
    return extents[Kind.THREAD], threads, extents[Kind.CLUSTER], extents[Kind.GROUP]


def _is_role(s: Stmt) -> bool:
    return isinstance(s, lo.If) and s.role is not None


def independent_loops(kernel: Kernel) -> set[Stmt]:
    """Serial loops whose iterations provably do not meet, to be run as lanes.

    Only loops of logical form: nothing carried, only serial loops inside, no accumulation; what is
    stored is not loaded in the loop, and each store of a buffer has the loop variable itself at
    one and the same index position, so that no two iterations store to one element.
    """
    return {
        s
        for s in lo.walk(kernel.body)
        if isinstance(s, lo.For)
        and s.kind is Kind.SERIAL
        and not s.carried
        and _independent(s, kernel)
    }


def _independent(loop: lo.For, kernel: Kernel) -> bool:
    private: set[Buffer] = set()
    places: dict[Buffer, set[int]] = {}
    loaded: set[Buffer] = set()
    for s in lo.walk(loop.body):
        if isinstance(s, lo.For):
            if s.kind not in (Kind.SERIAL, Kind.UNROLL):
                return False
        elif isinstance(s, lo.Alloc):
            if s.buffer.space in (Space.SHARED, Space.CLUSTER):
                return False
            private.add(s.buffer)
        elif isinstance(s, lo.Store):
            here = {n for n, i in enumerate(s.index) if i is loop.var}
            places[s.buffer] = places.get(s.buffer, here) & here
        elif isinstance(s, lo.Reduce):
            free = [e for _, e in s.domain if isinstance(e, Expr)]
            known = kernel.sizes
            if any(isinstance(n, (Var, Load)) and n not in known for n in postorder(free)):
                return False
        elif not isinstance(s, (lo.Let, lo.If, lo.While, lo.Fail)) or _is_role(s):
            return False
        loaded |= {n.buffer for n in postorder(lo.expressions(s)) if isinstance(n, Load)}
    stored = {b for b in places if b not in private}
    return all(places[b] and b not in loaded and not b.may_alias for b in stored)
