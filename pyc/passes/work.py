"""`Work`: what computing an element takes, for fusion to weigh against storing it."""

from __future__ import annotations

from pyc.frozen import field, slotted
from pyc.ir.graph import Eqn
from pyc.ir.op import Kind


@slotted
class Work:
    """What computing an element takes. members: the equations computed at the same index (shared
    ones count once); repeated: instructions under other index maps."""

    members: set[Eqn] = field(default_factory=set)
    instructions: int = 0
    repeated: float = 0.0

    @property
    def total(self) -> float:
        """Instructions in all."""
        return self.instructions + self.repeated

    def add(self, eqn: Eqn) -> None:
        """Counts an equation, if it is not counted yet."""
        if eqn not in self.members:
            self.members.add(eqn)
            self.instructions += cost(eqn)

    def join(self, other: Work) -> Work:
        """Counts what another one counts; itself."""
        for eqn in other.members - self.members:
            self.add(eqn)
        self.repeated += other.repeated
        return self

    def with_other(self, other: Work) -> float:
        """Instructions in all if it joined another one."""
        new = sum(cost(e) for e in other.members - self.members)
        return self.total + new + other.repeated

    def copy(self) -> Work:
        """Another one of the same."""
        return Work(set(self.members), self.instructions, self.repeated)


def cost(eqn: Eqn) -> int:
    """Instructions per element; moving data by fixed index maps costs none."""
    return max(eqn.op.cost - 1, 0) if eqn.op.kind is Kind.INDEX else eqn.op.cost
