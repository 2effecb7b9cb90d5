"""The kernels of a Plan and its memory as rows of a report: all from the Plan that runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyc.explanation.ceilings import Ceilings
from pyc.explanation.counts import Counts, count
from pyc.explanation.fusion import Owners, notes_of
from pyc.explanation.schedule import describe, tasks
from pyc.explanation.timing import Times
from pyc.explanation.traced import iterations_of
from pyc.ir.graph import Eqn
from pyc.ir.loops import Kernel
from pyc.ir.plan import Branch, Copy, Launch, Library, Loop, Place, Plan, Step
from pyc.ir.routines import describe as described
from pyc.ir.routines import is_lapack
from pyc.ir.solvers import is_solver
from pyc.ir.solvers import made as made_by_solver
from pyc.lowered import Lowered, MemoryAnalysis
from pyc.reasons import ON_HOST, Reason
from pyc.report.sections import BufferRow, KernelRow, Kernels, Memory

CHOICES = (
    *(Reason.KERNEL_NEST, Reason.KERNEL_GENERIC, Reason.KERNEL_STAGES),
    *(Reason.KERNEL_FEW_THREADS, *ON_HOST),
)
COPIES = (
    *(Reason.MEMORY_UPDATE_OPERAND_ALIVE, Reason.MEMORY_UPDATE_OPERAND_IS_ARGUMENT),
    *(Reason.MEMORY_UPDATE_OPERAND_IS_CONSTANT, Reason.MEMORY_UPDATE_ELSEWHERE),
    *(Reason.MEMORY_CARRY_COPIED, Reason.MEMORY_BRANCH_RESULT_COPIED),
    *(Reason.MEMORY_LOOP_RESULT_COPIED, Reason.MEMORY_RESULT_COPIED),
)
"""Why whole buffers are copied."""
OTHERS = (Reason.MEMORY_UPDATE_READS_OPERAND,)


def kernels(
    lowered: Lowered, owners: Owners, machine: Ceilings | None, times: Times | None, problem: str
) -> Kernels:
    """Section `kernels`. machine: the ceilings that bounds follow from; times: what was
    measured."""
    plan = lowered.plan
    choices = _choices(lowered, owners)
    rows = []
    for step, often in _launches(plan.steps, owners, ()):
        kernel = plan.kernels[step.kernel]
        counts = count(kernel, step.known_sizes)
        # A step of the host is not what the device's ceilings are about.
        bound, limit = _bound(counts, kernel, None if step.host else machine)
        rows.append(
            KernelRow(
                name=kernel.name,
                often=" x ".join(often) or "once",
                loads=sum(a.loads for a in counts.accesses),
                stores=sum(a.stores for a in counts.accesses),
                read=counts.read,
                written=counts.written,
                flops=counts.flops,
                repeated=counts.repeated,
                exact=counts.exact,
                schedule=describe(kernel, host=step.host),
                choice=choices.get(step.kernel, ""),
                bound=bound,
                limit=limit,
                measured=None if times is None else times.kernels.get(step.kernel),
            )
        )
    words = "" if machine is None else str(machine)
    return Kernels(tuple(rows), words, None if times is None else times.program, problem)


def _bound(counts: Counts, kernel: Kernel, machine: Ceilings | None) -> tuple[float | None, str]:
    """The least seconds that a kernel's bytes and flops take, and which of them it is."""
    if machine is None or counts.tiles:
        return None, "-"
    memory = machine.memory_seconds(counts.read, counts.written)
    flops = machine.flop_seconds(counts.flops, tasks(kernel))
    found = max((memory, "memory"), (flops, "flops"), (machine.launch, "the launch"))
    return found[0], f"{found[1]}, at least" if counts.repeated else found[1]


def _choices(lowered: Lowered, owners: Owners) -> dict[int, str]:
    """What was decided of kernels, by the number of the first one that it is about."""
    found: dict[int, list[str]] = {}
    for number, made in enumerate(owners.trail):
        if not owners.own[number]:
            continue
        eqns = [*owners.members[number]]
        if made.group.opaque is not None:
            eqns = [made.group.opaque]
        numbers = {made.numbers[e] for e in eqns if e in made.numbers}
        texts = found.setdefault(owners.own[number][0], [])
        for d in lowered.decisions:
            if d.reason in CHOICES and d.equation in numbers:
                texts.append(f"{d.reason.meaning} [{d.reason.code}]: {d.details}")
    return {k: "; ".join(texts) for k, texts in found.items()}


def _launches(
    steps: Sequence[Step], owners: Owners, often: tuple[str, ...]
) -> Iterator[tuple[Launch, tuple[str, ...]]]:
    """Every launch, with how often what is around it happens."""
    for step in steps:
        if isinstance(step, Launch):
            yield step, often
        elif isinstance(step, Loop):
            length = _length(step, owners)
            yield from _launches(step.condition, owners, (*often, _times(length, 1)))
            yield from _launches(step.body, owners, (*often, _times(length, 0)))
        elif isinstance(step, Branch):
            for case in step.cases:
                yield from _launches(case, owners, (*often, "if chosen"))


def _times(length: int | None, more: int) -> str:
    return "in a loop" if length is None else f"{length + more:,}"


def _length(loop: Loop, owners: Owners) -> int | None:
    """How often a loop of the Plan goes round; None if that is not known."""
    for step in (*loop.condition, *loop.body):
        if isinstance(step, Launch):
            owner = next(
                m.owner for k, m in enumerate(owners.trail) if step.kernel in owners.own[k]
            )
            return None if owner is None else _iterations(owner, owners)
    return None


def _iterations(eqn: Eqn, owners: Owners) -> int | None:
    around = next(m for m in owners.trail if m.group.opaque is eqn)
    return iterations_of(eqn, around.fusion.walker.scalars)


# --- memory ---------------------------------------------------------------------------------------


def memory(
    lowered: Lowered, analysis: MemoryAnalysis, arguments: Sequence[str], results: Sequence[str]
) -> Memory:
    """Section `memory`. arguments, results: the names of the Graph's parameters and results."""
    plan = lowered.plan
    names = _slot_names(plan, arguments, results)
    writers = _Writers(plan, names)
    writers.walk(plan.steps, set())
    buffers = []
    for k, b in enumerate(plan.buffers):
        if not b.nbytes or (b.place is Place.ARENA and b.last < b.first):
            continue
        use = writers.makers.get(k, "") if b.place is Place.ARENA else names[k]
        buffers.append(BufferRow(f"b{k}", b.nbytes, b.place.value, b.index, b.first, b.last, use))
    buffers.sort(key=lambda b: (b.place, b.offset, b.first))
    return Memory(
        peak=analysis.peak,
        lower_bound=analysis.lower_bound,
        requested=analysis.requested,
        arguments=analysis.arguments,
        results=analysis.results,
        constants=analysis.constants,
        donated=analysis.donated,
        buffers=tuple(buffers),
        in_place=tuple(writers.in_place),
        copies=notes_of(lowered.decisions, lowered.graph, *COPIES),
        others=notes_of(lowered.decisions, lowered.graph, *OTHERS),
    )


def _slot_names(plan: Plan, arguments: Sequence[str], results: Sequence[str]) -> dict[int, str]:
    """What the buffers of a Plan are called in a report."""
    names = {}
    for k, b in enumerate(plan.buffers):
        if b.place is Place.ARGUMENT:
            names[k] = f"`{arguments[b.index]}`"
        elif b.place is Place.RESULT:
            names[k] = f"`{results[b.index]}`"
        else:
            names[k] = f"b{k}"
    return names


class _Writers:
    """What writes each buffer first, in words; and which launches write where they read."""

    def __init__(self, plan: Plan, names: dict[int, str]) -> None:
        self.plan = plan
        self.names = names
        self.makers: dict[int, str] = {}
        self.in_place: dict[str, None] = {}

    def walk(self, steps: Sequence[Step], written: set[int]) -> None:
        """Looks at steps in order; written: slots that hold something, which they add to."""
        for step in steps:
            if isinstance(step, Copy):
                self.makes(step.destination, f"a copy of {self.names[step.source]}", written)
            elif isinstance(step, Library):
                for slot in _made(step):
                    self.makes(slot, f"made by {step.routine}", written)
            elif isinstance(step, Loop):
                self.walk((*step.condition, *step.body), written)
            elif isinstance(step, Branch):
                cases = [set(written) for _ in step.cases]
                for case, known in zip(step.cases, cases, strict=True):
                    self.walk(case, known)
                written.update(*cases)
            else:
                self.launch(step, written)

    def launch(self, step: Launch, written: set[int]) -> None:
        """Looks at a kernel."""
        kernel = self.plan.kernels[step.kernel]
        roles = [(slot, b.role) for slot, b in zip(step.slots, kernel.buffers, strict=False)]
        before = set(written)
        for slot, role in roles:
            if role == "in":
                continue
            held = slot in before or self.plan.buffers[slot].place is Place.ARGUMENT
            if role == "inout" and held:
                self.in_place[f"{kernel.name} writes {self.names[slot]} where it lies"] = None
            result = self.plan.buffers[slot].place is Place.RESULT
            scratch = role == "inout" and not (held or result)
            words = f"scratch of {kernel.name}" if scratch else f"made by {kernel.name}"
            self.makes(slot, words, written)

    def makes(self, slot: int, words: str, written: set[int]) -> None:
        """Notes that something writes a buffer."""
        self.makers.setdefault(slot, words)
        written.add(slot)


def _made(step: Library) -> tuple[int, ...]:
    """The slots that a routine writes; of a call of Python, which does not say, all of them."""
    if is_solver(step.routine):
        return made_by_solver(step)
    if not is_lapack(step.routine):
        return step.slots
    roles = described(step.routine, step.integers).roles
    return tuple(slot for slot, role in zip(step.slots, roles, strict=True) if role == "out")
