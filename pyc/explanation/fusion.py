"""Which operations became which kernels, on which lines, and why kernels are not one.

Takes the planner's trail (`passes/memory.Made`): the groups of equations and the kernels that they
became. The members of a group are those that its outputs and reductions are computed from, up to
what it reads from memory; constants and moves that cost nothing are no operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyc.explanation.places import line_of, note_of
from pyc.ir.graph import Eqn, Graph, Value, equations_of, inner_equations
from pyc.ir.op import Kind
from pyc.passes.fusion import Decision, Fusion, Group
from pyc.passes.memory import Made
from pyc.passes.reads import inlines
from pyc.passes.work import cost
from pyc.reasons import Reason
from pyc.report.sections import Boundary, Joined, Line, Note
from pyc.report.sections import Fusion as Section


class Owners:
    """What became of each group. own: the kernels of a group that no group inside of it has; place:
    by id of an equation of the optimised Graph, the trail's entry of the group that computes it."""

    def __init__(self, trail: Sequence[Made], names: Sequence[str]) -> None:
        self.trail = trail
        self.names = names
        taken: set[int] = set()
        self.own: list[tuple[int, ...]] = []
        for made in trail:  # groups inside of others come before them
            mine = tuple(k for k in made.kernels if k not in taken)
            taken.update(mine)
            self.own.append(mine)
        self.members = [members(made.group, made.fusion) for made in trail]

    def kernels(self, number: int) -> tuple[str, ...]:
        """The names of a group's own kernels."""
        return tuple(self.names[k] for k in self.own[number])

    def is_plan_loop(self, number: int) -> bool:
        """Whether the group is a control operation that the Plan runs, over kernels of its own."""
        eqn = self.trail[number].group.opaque
        return eqn is not None and any(made.owner is eqn for made in self.trail)

    def of_equation(self, eqn: Eqn) -> int | None:
        """The entry of the group that is a control operation at the same place in the user's code:
        passes make new ones of them."""
        for number, made in enumerate(self.trail):
            found = made.group.opaque
            if found is None or found.op.kind is not Kind.CONTROL or found.loc != eqn.loc:
                continue
            if found.op is eqn.op or eqn.op.name == "scan":
                return number
        return None


def members(group: Group, fusion: Fusion) -> list[Eqn]:
    """The equations that a group computes, in no particular order."""
    walker = fusion.walker
    found: dict[Eqn, None] = {}
    stack: list[Value] = []
    eqn = group.opaque
    if eqn is None:
        for e in group.reduces:
            found[e] = None
            stack += e.args
        stack += group.outputs
    else:
        found[eqn] = None
        if group.sum is not None:
            found.update(dict.fromkeys((*group.sum.products, *group.sum.additions)))
        if eqn.op.kind is Kind.CONTROL:
            found.update(dict.fromkeys(inner_equations(eqn)))
        if group.epilogue is not None:
            stack.append(group.epilogue)
        if eqn.op.in_place is not None:
            stack += eqn.args[1:]
    outputs = set(group.outputs)
    while stack:
        value = stack.pop()
        maker = walker.producer.get(value)
        if maker is None or maker in found or not inlines(maker):
            continue
        if value in fusion.stored and value not in outputs:
            continue
        found[maker] = None
        stack += maker.args
    return list(found)


def section(owners: Owners, decisions: Sequence[Decision], graph: Graph) -> Section:
    """Section `fusion`. decisions: of the planner; graph: the optimised one."""
    equations = list(equations_of(graph))
    joined = []
    for number, made in enumerate(owners.trail):
        kernels = owners.kernels(number)
        if not kernels and owners.is_plan_loop(number):
            continue  # its kernels are those of what it holds
        eqns = [e for e in owners.members[number] if e.op.name != "constant"]
        eqns.sort(key=lambda e: made.numbers.get(e, -1))
        names = kernels or ((made.group.opaque.op.name,) if made.group.opaque is not None else ())
        joined.append(Joined(names, _rows(eqns, made.owner), sum(map(_counts, eqns))))
    stored = [
        note_of(
            d.reason, d.details, line_of(equations[d.equation].loc) if d.equation >= 0 else None
        )
        for d in decisions
        if d.reason.group == "fusion"
    ]
    return Section(_alike(joined), tuple(_boundaries(owners)), tuple(stored))


def _alike(joined: Sequence[Joined]) -> tuple[Joined, ...]:
    """Neighbours that are of the same lines and operations as one: iterations in a row."""
    found: list[Joined] = []
    for j in joined:
        if found and found[-1].rows == j.rows and j.kernels:
            last = found.pop()
            j = Joined((*last.kernels, *j.kernels), j.rows, last.count + j.count)
        found.append(j)
    return tuple(found)


def _rows(eqns: Sequence[Eqn], owner: Eqn | None) -> tuple[tuple[Line, tuple[str, ...]], ...]:
    """Operations by the user's line, the lines in the order of the program; moves of data where a
    line does nothing else. What counts iterations stands where its loop does, which is `owner`."""
    found: dict[tuple[str, int], tuple[Line, list[Eqn]]] = {}
    for e in eqns:
        place = e.loc or (owner.loc if owner is not None else None)
        key = (place.file, place.line) if place is not None else ("", 0)
        found.setdefault(key, (line_of(place), []))[1].append(e)
    rows = []
    for line, here in found.values():
        names = [e.op.name for e in here if _counts(e)] or [e.op.name for e in here]
        rows.append((line, tuple(dict.fromkeys(names))))
    return tuple(rows)


def _counts(eqn: Eqn) -> bool:
    """Whether an equation is more than a move by a fixed index map, which costs nothing."""
    return cost(eqn) > 0 or eqn.op.kind is not Kind.INDEX


def _boundaries(owners: Owners) -> Iterator[Boundary]:
    """Why kernels that read from each other are two, in the order of the program."""
    seen: set[int] = set()
    for made in owners.trail:
        if id(made.fusion) in seen:
            continue
        seen.add(id(made.fusion))
        entry = {m.group.number: k for k, m in enumerate(owners.trail) if m.fusion is made.fusion}
        for a in sorted(made.fusion.apart, key=lambda a: (entry.get(a.reader, 0), a.maker)):
            if a.maker in entry and a.reader in entry:
                maker, reader = (_name(owners, entry[k]) for k in (a.maker, a.reader))
                yield Boundary(maker, reader, note_of(a.reason, a.details))


def _name(owners: Owners, number: int) -> str:
    """What stands for a group in a report: its kernels, or its operation."""
    names = owners.kernels(number)
    eqn = owners.trail[number].group.opaque
    if names:
        return " + ".join(names)
    return eqn.op.name if eqn is not None else "an empty kernel"


def notes_of(decisions: Sequence[Decision], graph: Graph, *reasons: Reason) -> tuple[Note, ...]:
    """The planner's decisions of some reasons."""
    equations = list(equations_of(graph))
    return tuple(
        note_of(
            d.reason, d.details, line_of(equations[d.equation].loc) if d.equation >= 0 else None
        )
        for d in decisions
        if d.reason in reasons
    )
