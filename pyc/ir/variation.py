"""What varies between the lanes of a kernel: a fixpoint over its values.

Takes a Kernel, answers for expressions which lane variables their values may differ by.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.ir import loops as lo
from pyc.ir.expr import Expr, Load, Var, postorder
from pyc.ir.loops import Body, Buffer, Extent, Kernel, Kind, Space

LANES = (Kind.VECTOR, Kind.WARP, Kind.THREAD)
"""Loops whose iterations run in lock-step, as lanes or threads."""

_APART = (Kind.CLUSTER, Kind.GROUP, *LANES)
"""Loops whose iterations may differ by what they hold."""

PRIVATE = (Space.STACK, Space.REGISTER)
"""Spaces of which each lane around the allocation has its own."""


class Variation:
    """The variables of lanes (vector, warp, thread) and of blocks that each value may differ by.

    A load from a private buffer differs by every lane around the allocation, one from a shared
    buffer by the block of a cluster or group; one from memory that all share differs as its index
    does. Carried values make it a fixpoint.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._of: dict[Var, frozenset[Var]] = {}
        self._private: dict[Buffer, frozenset[Var]] = {}
        loops = [s for s in lo.walk(kernel.body) if isinstance(s, lo.For)]
        self._blocks = frozenset(s.var for s in loops if s.kind is Kind.GROUP)
        while True:
            before = dict(self._of), dict(self._private)
            self._body(kernel.body, frozenset(), frozenset())
            if (self._of, self._private) == before:
                return

    def of(self, roots: Sequence[Expr]) -> frozenset[Var]:
        """What the values of `roots` vary with."""
        found: frozenset[Var] = frozenset()
        for node in postorder(roots):
            if isinstance(node, Var):
                found |= self._of.get(node, frozenset())
            elif isinstance(node, Load):
                found |= self._private.get(node.buffer, frozenset())
        return found

    def of_extent(self, extent: Extent) -> frozenset[Var]:
        """What an extent varies with."""
        return self.of([extent]) if isinstance(extent, Expr) else frozenset()

    def _add(self, var: Var, varying: frozenset[Var]) -> None:
        self._of[var] = self._of.get(var, frozenset()) | varying

    def _allocated(self, s: lo.Alloc, lanes: frozenset[Var]) -> None:
        if s.buffer.space in (Space.SHARED, *PRIVATE):
            self._private[s.buffer] = self._private.get(s.buffer, frozenset()) | lanes

    def _body(self, body: Body, lanes: frozenset[Var], control: frozenset[Var]) -> None:
        """lanes: the lane loops around; control: what the conditions around vary with."""
        heads, innermost = lo.spine(body)
        for before, alloc in heads:
            self._body(before, lanes, control)
            self._allocated(alloc, lanes)
        for s in innermost:
            inner, under = lanes, control
            if isinstance(s, lo.For):
                if s.kind in _APART:
                    inner = lanes | {s.var}
                    self._add(s.var, frozenset((s.var,)))
                under = control | self.of_extent(s.extent)
            elif isinstance(s, (lo.While, lo.If)):
                under = control | (self.of([s.condition]) if s.condition is not None else set())
            elif isinstance(s, lo.Alloc):
                self._allocated(s, lanes)
            elif isinstance(s, lo.Let):
                self._add(s.var, self.of([s.value]))
            elif isinstance(s, lo.Last):
                self._add(s.var, self._blocks)
            elif isinstance(s, (lo.Reduce, lo.Cumulate)):
                for result in s.results:
                    self._add(result, self.of(lo.expressions(s)))
            elif (
                isinstance(s, lo.Store) and s.buffer.space in PRIVATE and s.buffer in self._private
            ):
                # A private buffer made outside of a vector loop holds what its lanes put there.
                self._private[s.buffer] |= self.of((*s.index, s.value)) | control
            if isinstance(s, (lo.For, lo.While)):
                for c in s.carried:
                    self._add(c.var, self.of([c.initial, c.next]))
                    self._add(c.result, self.of([c.var]) | (under - control))
            for nested in lo.bodies(s):
                self._body(nested, inner, under)
