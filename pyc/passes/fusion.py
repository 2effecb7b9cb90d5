"""What fusion decides: groups of equations that are one kernel each, and why.

`fuse` makes a `Fusion` of a Graph; `lower` makes kernels of its groups.
"""

from __future__ import annotations

from pyc.frozen import field, frozen, slotted
from pyc.ir.graph import Eqn, Value
from pyc.passes.apart import Apart
from pyc.passes.reads import Read, Walker
from pyc.passes.sums import Sum
from pyc.passes.work import Work
from pyc.reasons import Reason


@frozen()
class Decision:
    """Why something was done as it is. equation: its number, within the Graph that is fused here,
    in the text of the whole program where the planner gives it (-1: the program itself)."""

    reason: Reason
    equation: int
    details: str


@slotted
class Group:
    """One kernel to be; see `fuse`. `reads` are of values made outside. operands: the arrays
    that an opaque equation reads; sum: of contractions, of which `opaque` is one, that it makes;
    epilogue: the value that a contraction's kernel stores in place of its own result, element by
    element; followers: the groups that come next, which are done with it: the other side of a
    matrix (`pairs`), or a row program and a product of its result (`between`)."""

    domain: tuple[int, ...] = ()
    reduced: tuple[int, ...] = ()
    reduces: list[Eqn] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    opaque: Eqn | None = None
    operands: tuple[Value, ...] = ()
    sum: Sum | None = None
    epilogue: Value | None = None
    followers: tuple[Group, ...] = ()
    reads: list[Read] = field(default_factory=list)
    needs: set[int] = field(default_factory=set)
    work: Work = field(default_factory=Work)
    number: int = -1

    @property
    def product(self) -> Value:
        """What the kernel of a contraction makes before its epilogue."""
        assert self.opaque is not None
        return self.opaque.out if self.sum is None else self.sum.total

    @property
    def kept(self) -> tuple[int, ...]:
        """Positions of the domain that are not reduced."""
        return tuple(k for k in range(len(self.domain)) if k not in self.reduced)


@frozen()
class Fusion:
    """The groups in execution order, the values that have memory, why, the walker of reads, and why
    groups that read from each other are apart."""

    groups: tuple[Group, ...]
    stored: frozenset[Value]
    decisions: tuple[Decision, ...]
    walker: Walker
    apart: tuple[Apart, ...] = ()
