"""Slots: the buffers of a Plan in the making, which values they hold, what may be overwritten.

`Scope` is one Graph that is planned; `Slots` holds the slots of all of them, constants, places that
can fail, and the reasons of copies. `launches` and `memory` fill them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.frozen import field, frozen, slotted
from pyc.ir.graph import Eqn, Graph, Value, subgraphs
from pyc.ir.plan import ALIGNMENT, Copy, Place, Site, Step
from pyc.ir.types import ArrayType
from pyc.passes.fusion import Decision, Fusion
from pyc.passes.in_place import Uses
from pyc.passes.reads import Walker
from pyc.reasons import Reason

OWN = (Place.ARENA, Place.RESULT)
"""Where memory that is the program's lies."""


@frozen()
class Slot:
    """A buffer to be. turns: its address is exchanged for others by a loop; donated: an argument
    that may be overwritten."""

    nbytes: int
    place: Place = Place.ARENA
    index: int = 0
    scalar: bool = False
    turns: bool = False
    donated: bool = False


@slotted
class Scope:
    """One Graph being planned: where its values are. writable: slots of parameters that may be
    overwritten once they are dead; wanted: where values should be made; owner: the control
    equation that holds the Graph; repeated: runs in a loop."""

    graph: Graph
    uses: Uses
    writable: set[int]
    repeated: bool
    owner: Eqn | None
    slot: dict[Value, int] = field(default_factory=dict)
    wanted: dict[Value, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def fusion(self) -> Fusion:
        """The groups of the Graph."""
        return self.uses.fusion

    @property
    def walker(self) -> Walker:
        """The walker of the Graph's reads."""
        return self.uses.fusion.walker

    def dies(self, value: Value, number: int) -> bool:
        """Whether group `number` is the last to read a value and what shares its buffer."""
        if self.uses.last.get(value) != number:
            return False
        slot, last = self.slot[value], self.uses.last
        return not any(s == slot and last.get(v, -1) > number for v, s in self.slot.items())


class Slots:
    """The slots of a program, and what is noted while they are filled."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.makers: list[int] = []
        """The number of the equation that each slot was made for, -1 for the program."""
        self.now = -1
        self.numbers: dict[Eqn, int] = {}
        """Of the program's equations, in text order."""
        self.sites: list[Site] = []
        """Of all equations that can fail, in text order: of several failures in one launch that of
        the lowest site is raised."""
        self._site_of: dict[Eqn, int] = {}
        self.decisions: list[Decision] = []
        self.constants = bytearray()
        self.copies = 0
        self._literals: dict[bytes, int] = {}

    def new_slot(self, type: ArrayType) -> int:
        """A buffer of the arena."""
        return self.add_slot(Slot(type.nbytes))

    def add_slot(self, slot: Slot) -> int:
        """The number of a buffer to be."""
        self.slots.append(slot)
        self.makers.append(self.now)
        return len(self.slots) - 1

    def constant_slot(self, value: np.ndarray[Any, Any]) -> int:
        """The buffer of a constant array; equal bytes share one."""
        data = np.ascontiguousarray(value).tobytes()
        if data not in self._literals:
            self.constants.extend(b"\0" * (-len(self.constants) % ALIGNMENT))
            offset = len(self.constants)
            self.constants.extend(data)
            self._literals[data] = self.add_slot(Slot(len(data), Place.CONSTANT, offset))
        return self._literals[data]

    def site(self, eqn: Eqn) -> int:
        """The number of a place that can fail."""
        return self._site_of[eqn]

    def number(self, graph: Graph) -> None:
        """Numbers equations in text order, those of nested Graphs after their own, and places."""
        for e in graph.eqns:
            self.numbers[e] = len(self.numbers)
            if e.op.failure is not None:
                self._site_of[e] = len(self.sites)
                self.sites.append(Site(e.op.name, self.numbers[e]))
            for inner in subgraphs(e):
                self.number(inner)

    def where(self, scope: Scope, value: Value) -> int:
        """The buffer that holds a value."""
        walker = scope.walker
        if value not in scope.slot:
            constant = walker.scalars.get(value, walker.constants.get(value))
            assert constant is not None, "a value that is read has no buffer"
            scope.slot[value] = self.constant_slot(np.asarray(constant))
        return scope.slot[value]

    def copy(
        self, scope: Scope, destination: int, source: int, reason: Reason, eqn: Eqn | None
    ) -> None:
        """A copy of a whole buffer and its reason; eqn: for what, None for the program."""
        if not self.slots[source].nbytes:
            return
        scope.steps.append(Copy(destination, source))
        self.copies += 1
        name, number = ("the program", -1) if eqn is None else (eqn.op.name, self.numbers[eqn])
        details = f"{self.slots[source].nbytes} bytes for {name}"
        self.decisions.append(Decision(reason, number, details))

    def overwrites(self, scope: Scope, number: int, eqn: Eqn, operand: Value) -> bool:
        """Whether an equation may write its result where `operand` lies: nothing else reads that
        memory in the equation or later, and it is neither an argument's nor a constant's."""
        slot = self.where(scope, operand)
        if operand in scope.graph.params:
            free = slot in scope.writable
        else:
            free = self.slots[slot].place in OWN or self.slots[slot].donated
        alone = sum(scope.slot.get(a) == slot for a in eqn.args) == 1
        return free and alone and scope.dies(operand, number)

    def why_copied(self, scope: Scope, number: int, eqn: Eqn, operand: Value) -> Reason:
        """Why an equation does not overwrite its operand."""
        slot = self.where(scope, operand)
        place = self.slots[slot].place
        if place is Place.ARGUMENT and not self.slots[slot].donated:
            return Reason.MEMORY_UPDATE_OPERAND_IS_ARGUMENT
        if place is Place.CONSTANT:
            return Reason.MEMORY_UPDATE_OPERAND_IS_CONSTANT
        if self.overwrites(scope, number, eqn, operand):
            return Reason.MEMORY_UPDATE_ELSEWHERE
        return Reason.MEMORY_UPDATE_OPERAND_ALIVE
