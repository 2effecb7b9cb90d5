"""Launches: groups that are kernels become steps of a Plan.

Takes a group of `fuse` in a `Scope`; lowers it, decides which buffers its results are made in,
schedules its kernel and adds the launches. An output over a dying input that is read only where it
is written takes the input's buffer; an update runs in its operand's buffer where that is dead
afterwards, else on a copy, with a reason; a result that lies in a donated argument replaces it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pyc.forks import later
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.graph import Eqn, Value
from pyc.ir.loops import Buffer, Kernel
from pyc.ir.op import Kind
from pyc.ir.plan import STREAMED_BYTES, Copy, Launch, Library, Place
from pyc.ir.target import Target
from pyc.ir.types import ArrayType
from pyc.ir.visit import Rewriter
from pyc.kernels.registry import choose, sequence_of
from pyc.kernels.sequence import Around, LaunchSequence, Routine, Solved
from pyc.passes.between import outer, scheduled_rows
from pyc.passes.fusion import Decision, Group
from pyc.passes.lower import Epilogue, Lowered, lower, lower_epilogue, lower_update
from pyc.passes.nest import Stage
from pyc.passes.overwrite import overlaid
from pyc.passes.placement import exceeded
from pyc.passes.schedule import schedule
from pyc.passes.slots import Scope, Slots
from pyc.reasons import Reason

# What few programs need.
Product = later("pyc.kernels.both_sides", "Product")
around_rows = later("pyc.kernels.around_rows", "around_rows")
both_sides = later("pyc.kernels.both_sides", "both_sides")
is_lapack = later("pyc.ir.routines", "is_lapack")
lu = later("pyc.kernels.lu", "lu")
lu_solve = later("pyc.kernels.lu_solve", "lu_solve")
schedule_blocks = later("pyc.passes.schedule_blocks", "schedule_blocks")
small_matrices = later("pyc.kernels.small_matrices", "small_matrices")
solvers = later("pyc.kernels.solvers", "solvers")
verify = later("pyc.ir.verify_kernel", "verify")


class Launches(Slots):
    """The kernels of a program and the steps that run them. check: verify every kernel, as lowered
    and as scheduled."""

    def __init__(self, target: Target, *, check: bool) -> None:
        super().__init__()
        self.target = target
        self.check = check
        self.kernels: list[Kernel] = []
        self.logical: list[Kernel] = []

    def loops(self, scope: Scope, number: int, group: Group) -> None:
        """Adds a loop program."""
        name = f"k{len(self.logical)}"
        lowered = lower(
            *(scope.graph, scope.fusion, scope.walker, group, name, self.site),
            has_calls=not self.target.has_blocks,
        )
        taken: set[Value] = set()
        shared: set[Value] = set()
        for out in group.outputs:
            if out in scope.slot:
                continue
            wanted = scope.wanted.get(out)
            if wanted is None:
                wanted = self._dying(scope, number, lowered, out, taken, shared)
            scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted
        self._launch(scope, lowered, shared)

    def _dying(
        self,
        scope: Scope,
        number: int,
        lowered: Lowered,
        out: Value,
        taken: set[Value],
        shared: set[Value],
    ) -> int | None:
        """The buffer of an input that `out` may overwrite."""
        for value in lowered.values:
            if value not in lowered.elementwise or value in taken or value not in scope.slot:
                continue
            slot = scope.slot[value]
            if self.slots[slot].place is not Place.ARENA or not scope.dies(value, number):
                continue
            if value in scope.graph.params and slot not in scope.writable:
                continue
            if value.dtype.itemsize != out.dtype.itemsize or value.type.size != out.type.size:
                continue
            taken.add(value)
            shared.update((value, out))
            return slot
        return None

    def _launch(self, scope: Scope, lowered: Lowered, shared: set[Value]) -> None:
        if all(v.type.size == 0 for v in lowered.outputs):
            return
        kernel = lowered.kernel
        if shared:
            kernel = _may_alias(kernel, [k for k, v in enumerate(lowered.values) if v in shared])
        slots = [self.where(scope, v) for v in lowered.values]
        self.run(scope, scope.walker.producer[lowered.outputs[0]], kernel, slots)

    def run(self, scope: Scope, eqn: Eqn, kernel: Kernel, slots: Sequence[int]) -> None:
        """Schedules and launches a kernel of `eqn`; its buffers beyond `slots` are scratch."""
        kernel, slots = self._overlaid(kernel, slots)
        # Large results are aligned for stores that pass by the caches; arguments need not be.
        large = {
            kernel.buffers[k]: replace(kernel.buffers[k], role="inout")
            for k, slot in enumerate(slots)
            if self.slots[slot].donated and self.slots[slot].nbytes >= STREAMED_BYTES
            if kernel.buffers[k].role == "out"
        }
        if large:
            kernel = _with_buffers(kernel, large)
        self.logical.append(kernel)
        if self.check:
            verify(kernel)
        cut = schedule_blocks if self.target.has_blocks else schedule
        self._stages(scope, eqn, cut(kernel, self.target), kernel, slots)

    def _overlaid(self, kernel: Kernel, slots: Sequence[int]) -> tuple[Kernel, Sequence[int]]:
        """A kernel that replaces an input where it lies (a donated argument that it reads for the
        last time, or the operand of an update), and the slots of its buffers."""
        roles = [b.role for b in kernel.buffers[: len(slots)]]
        pairs = {
            k: n
            for n, output in enumerate(roles)
            if output != "in"
            for k, role in enumerate(roles)
            if role == "in" and slots[k] == slots[n]
        }
        if not pairs:
            return kernel, slots
        if self.target.has_blocks:
            return _may_alias(kernel, [*pairs, *pairs.values()]), slots
        buffers = {kernel.buffers[k]: kernel.buffers[n] for k, n in pairs.items()}
        return overlaid(kernel, buffers), [s for k, s in enumerate(slots) if k not in pairs]

    def _stages(
        self,
        scope: Scope,
        eqn: Eqn,
        stages: Sequence[Stage],
        logical: Kernel,
        slots: Sequence[int],
    ) -> None:
        """Launches the stages of a logical kernel. Scratch that a step of the host has for itself
        is the host's to make."""
        if len(stages) > 1:
            launches = ", ".join(stage.kernel.name for stage in stages)
            details = f"{logical.name} is {len(stages)} launches: {launches}"
            self.decisions.append(Decision(Reason.KERNEL_STAGES, self.numbers[eqn], details))
        uses = Counter(p for stage in stages for p in stage.positions)
        own = dict(enumerate(slots))
        scratch: dict[Buffer, int] = {}
        for stage in stages:
            positions = list(stage.positions)
            if stage.host and all(uses[p] == 1 for p in positions if p >= len(slots)):
                positions = [p for p in positions if p < len(slots)]
            for p in positions:
                if p not in own:
                    own[p] = self._scratch(logical.buffers[p])
            these = [own[p] for p in positions]
            for buffer in stage.kernel.buffers[len(stage.positions) :]:
                if buffer not in scratch:
                    scratch[buffer] = self._scratch(buffer)
                these.append(scratch[buffer])
            if stage.reason is not None:
                decision = Decision(stage.reason, self.numbers[eqn], stage.details)
                self.decisions.append(decision)
            if self.check:
                verify(stage.kernel, scheduled=not stage.host)
            self.kernels.append(stage.kernel)
            scope.steps.append(Launch(len(self.kernels) - 1, tuple(these), host=stage.host))

    def _scratch(self, buffer: Buffer) -> int:
        return self.new_slot(
            ArrayType(tuple(d for d in buffer.shape if isinstance(d, int)), buffer.dtype)
        )

    def _built(
        self,
        scope: Scope,
        eqn: Eqn,
        types: tuple[ArrayType, ...],
        params: Mapping[str, Any],
        slots: Sequence[int],
    ) -> None:
        """Launches what an op builds itself, or what does the same on this target."""
        found = sequence_of(eqn.op.name, types, params, self.target)
        build = eqn.op.build
        limited = build is not None and self.target.has_blocks
        if found is not None and not (
            limited and any(exceeded(c.kernel, self.target) for c in found.calls)
        ):
            self.sequence(scope, eqn, found, slots)
            return
        assert build is not None
        self.run(scope, eqn, build(types, **params), slots)

    def sequence(
        self, scope: Scope, eqn: Eqn, sequence: LaunchSequence, slots: Sequence[int]
    ) -> None:
        """Launches the calls of `eqn`, whose buffers lie in `slots`."""
        if len(sequence.calls) > 1:
            details = f"{eqn.op.name} is {sequence}"
            self.decisions.append(Decision(Reason.KERNEL_STAGES, self.numbers[eqn], details))
        own = dict(zip(sequence.buffers, slots, strict=True))
        own.update((buffer, self.constant_slot(table)) for buffer, table in sequence.tables)
        numbers: dict[Kernel, int] = {}
        for call in sequence.calls:
            for buffer in call.arguments:
                if buffer not in own:
                    own[buffer] = self._scratch(buffer)
            if call.kernel not in numbers:
                if self.check:
                    verify(call.kernel, scheduled=True)
                numbers[call.kernel] = len(self.kernels)
                self.kernels.append(call.kernel)
                self.logical.append(call.kernel)
            arguments = tuple(own[b] for b in call.arguments)
            scope.steps.append(Launch(numbers[call.kernel], arguments))

    def opaque(self, scope: Scope, number: int, group: Group, eqn: Eqn) -> None:
        """Adds an equation with a kernel or a routine of its own."""
        for k in eqn.op.overwrites:
            self._overwritten(scope, number, eqn, k)
        self._results_of(scope, group)
        if all(o.type.size == 0 for o in group.outputs) and not eqn.op.effect:
            return
        if eqn.op.name == "empty":
            return
        epilogue, between = self._epilogue(scope, group)
        slots = self._places(scope, (*group.operands, *between, *group.outputs))
        types = tuple(a.type for a in eqn.args)
        if eqn.op.kind is Kind.LIBRARY:
            self._library(scope, eqn, types, slots)
            return
        if eqn.op.kind is Kind.KERNEL:
            self._built(scope, eqn, types, eqn.params, slots)
            return
        added = None if group.sum is None else group.sum.added
        choice = choose(eqn.op.name, types, eqn.params, self.target, epilogue, added)
        reason = Reason.KERNEL_NEST if choice.scheduled else Reason.KERNEL_GENERIC
        self.decisions.append(Decision(reason, self.numbers[eqn], str(choice)))
        if choice.scheduled:
            kernel, places = self._overlaid(choice.kernel, slots)
            self.logical.append(kernel)
            given = len(places)
            stages: list[Stage] = []
            cut = schedule_blocks if self.target.has_blocks else schedule
            for k, (operand, copy) in enumerate(choice.copies):
                own = (operand, given + k)
                for stage in cut(copy, self.target):
                    positions = tuple(own[p] for p in stage.positions)
                    stages.append(replace(stage, positions=positions))
            stages.append(Stage(kernel, tuple(range(len(kernel.buffers)))))
            self._stages(scope, eqn, stages, kernel, places)
        else:
            self.run(scope, eqn, choice.kernel, slots)

    def pair(self, scope: Scope, rows: Group, columns: Group) -> None:
        """Adds two products of one matrix: one pass over it, and the addition of its parts."""
        products, between = [], []
        for group in (rows, columns):
            eqn = group.opaque
            assert eqn is not None
            self._results_of(scope, group)
            epilogue, inputs = self._epilogue(scope, group)
            types = tuple(a.type for a in eqn.args)
            dimensions, result = eqn.params["dimensions"], eqn.params.get("result")
            products.append(Product(types, dimensions, result, epilogue))
            between.append(self._places(scope, inputs))
        made, found = rows.outputs[0], columns.outputs[0]
        vector = [
            v
            for v, t in zip(columns.operands, products[1].types, strict=True)
            if t.rank == 1 and v is not made
        ]
        first, second = both_sides(*products, self.target, dependent=not vector)
        given = self._places(scope, (*rows.operands, *vector))
        given[2:2] = between[0]
        partial = self._scratch(first.buffers[-1])
        for group, kernel, slots in (
            (rows, first, [*given, self.where(scope, made), partial]),
            (columns, second, [partial, *between[1], self.where(scope, found)]),
        ):
            assert group.opaque is not None
            details = f"{kernel.name}: one pass over a matrix for two products"
            number = self.numbers[group.opaque]
            self.decisions.append(Decision(Reason.KERNEL_NEST, number, details))
            kernel, places = self._overlaid(kernel, slots)
            self.logical.append(kernel)
            stage = Stage(kernel, tuple(range(len(kernel.buffers))))
            self._stages(scope, group.opaque, [stage], kernel, places)

    def around(self, scope: Scope, first: Group, rows: Group, second: Group) -> bool:
        """Adds two products and the row program between them as one nest; whether that is done: not
        if the row program is no sequence of rows, or the result lies where something is read."""
        eqn, last = first.opaque, second.opaque
        assert eqn is not None and last is not None
        lowered = lower(
            *(scope.graph, scope.fusion, scope.walker, rows, "rows", self.site), has_calls=True
        )
        (scores,) = first.outputs
        program = scheduled_rows(lowered.kernel, lowered.inputs.index(scores), self.target)
        if program is None:
            return False
        self._results_of(scope, second)
        epilogue, between = self._epilogue(scope, second)
        others = [v for v in lowered.inputs if v is not scores]
        a, b, *given = self._places(scope, (*first.operands, *others, *between))
        c, out = self._places(scope, (second.operands[1], second.outputs[0]))
        if out in (a, b, c, *given):
            return False
        of_b, of_c, kernel = around_rows(
            outer(first), program, outer(second, epilogue), self.target
        )
        details = f"{kernel.name}: blocks of rows go through two products and what is between them"
        for e in (eqn, last):
            self.decisions.append(Decision(Reason.KERNEL_NEST, self.numbers[e], details))
        panels = [self._scratch(copy.buffers[1]) for copy in (of_b, of_c)]
        self.run(scope, eqn, of_b, [b, panels[0]])
        self.run(scope, last, of_c, [c, panels[1]])
        self.logical.append(kernel)
        stage = Stage(kernel, tuple(range(len(kernel.buffers))))
        self._stages(scope, last, [stage], kernel, [a, *given, out, *panels])
        return True

    def _results_of(self, scope: Scope, group: Group) -> None:
        """Gives the results of a group buffers."""
        for out in group.outputs:
            if out not in scope.slot:
                wanted = scope.wanted.get(out)
                scope.slot[out] = self.new_slot(out.type) if wanted is None else wanted

    def _epilogue(self, scope: Scope, group: Group) -> tuple[Epilogue | None, tuple[Value, ...]]:
        """What a contraction's kernel stores in place of its result, and what that reads."""
        if group.epilogue is None:
            return None, ()
        found = lower_epilogue(scope.graph, scope.fusion, scope.walker, group, self.site)
        return found, found.inputs

    def _places(self, scope: Scope, values: Sequence[Value]) -> list[int]:
        return [self.where(scope, v) for v in values]

    def _library(
        self, scope: Scope, eqn: Eqn, types: tuple[ArrayType, ...], slots: Sequence[int]
    ) -> None:
        """Adds the call of a routine, with workspace of its own; or the kernel that does the same
        for many small matrices."""
        small = small_matrices(eqn.op.name, types, tuple(o.type for o in eqn.outs), eqn.params)
        if small is not None:
            self.decisions.append(Decision(Reason.KERNEL_NEST, self.numbers[eqn], small.name))
            self.run(scope, eqn, small, slots)
            return
        nest = lu_solve(types, self.target) if eqn.op.name == "lu_solve" else None
        if nest is not None:
            self.decisions.append(Decision(Reason.KERNEL_NEST, self.numbers[eqn], "lu_solve"))
            self.sequence(scope, eqn, nest, slots)
            return
        nest = lu(types, self.target) if eqn.op.name == "lu" else None
        if nest is not None:
            self.decisions.append(Decision(Reason.KERNEL_NEST, self.numbers[eqn], "lu"))
            if slots[0] != slots[1]:
                scope.steps.append(Copy(slots[1], slots[0]))
            self.sequence(scope, eqn, nest, slots[1:])
            return
        assert eqn.op.routine is not None
        step = eqn.op.routine(types, **eqn.params)
        if self.target.has_blocks and is_lapack(step.routine):
            results = tuple(o.type for o in eqn.outs)
            solved = solvers(eqn.op.name, types, results, dict(eqn.params), self.target)
            if isinstance(solved, Solved):
                self._solved(scope, eqn, solved, slots)
                return
            copied = sum(self.slots[slot].nbytes for slot in slots)
            details = f"{eqn.op.name} on {', '.join(map(str, types))}: {copied} bytes are copied"
            details = f"{details} ({solved})"
            self.decisions.append(Decision(Reason.FALLBACK_HOST, self.numbers[eqn], details))
        workspace = (self.new_slot(ArrayType((n,), dt.u8)) for n in step.workspace)
        scope.steps.append(Library(step.routine, (*slots, *workspace), step.integers))

    def _solved(self, scope: Scope, eqn: Eqn, solved: Solved, slots: Sequence[int]) -> None:
        """Adds the steps of an op that a library of the device does."""
        details = f"{eqn.op.name} is {solved}"
        self.decisions.append(Decision(Reason.DEVICE_LIBRARY, self.numbers[eqn], details))
        own = [*slots, *(self.new_slot(t) for t in solved.scratch)]
        for step in solved.steps:
            if isinstance(step, Routine):
                places = tuple(own[k] for k in step.slots)
                scope.steps.append(Library(step.routine, places, step.integers))
            elif isinstance(step, Around):
                self.run(scope, eqn, step.kernel, [own[k] for k in step.slots])
            else:
                scope.steps.append(Copy(own[step.destination], own[step.source]))

    def _overwritten(self, scope: Scope, number: int, eqn: Eqn, k: int) -> None:
        """Puts a result of a routine where an argument lies that is dead afterwards."""
        operand, out = eqn.args[eqn.op.overwrites[k]], eqn.outs[k]
        source = self.where(scope, operand)
        wanted = scope.wanted.get(out)
        if (
            out.type == operand.type
            and wanted in (None, source)
            and self.overwrites(scope, number, eqn, operand)
        ):
            scope.slot[out] = source
        assert wanted != source or out in scope.slot, f"{eqn.op} would overwrite what is read"

    def update(self, scope: Scope, number: int, group: Group, eqn: Eqn) -> None:
        """An update in its operand's buffer where that is dead, else in a copy."""
        operand, out = eqn.args[0], eqn.out
        source = self.where(scope, operand)
        wanted = scope.wanted.get(out)
        if wanted in (None, source) and self.overwrites(scope, number, eqn, operand):
            slot = source
        else:
            slot = self.new_slot(out.type) if wanted is None else wanted
            assert slot != source, f"{eqn.op} would overwrite what is still read"
            self.copy(scope, slot, source, self.why_copied(scope, number, eqn, operand), eqn)
        scope.slot[out] = slot
        if eqn.args[1].type.size == 0:
            return
        if eqn.op.kind is Kind.KERNEL and self.target.has_blocks:
            types = tuple(a.type for a in eqn.args)
            slots = [slot, *(self.where(scope, a) for a in eqn.args[1:])]
            self._built(scope, eqn, types, {**eqn.params, "in_place": True}, slots)
            return
        name = f"k{len(self.logical)}"
        if eqn.op.scattered is not None:
            name = f"{name}_{eqn.op.name}"
        lowered = lower_update(scope.graph, scope.fusion, scope.walker, group, name, self.site)
        self.run(scope, eqn, lowered.kernel, [self.where(scope, v) for v in lowered.values])


def _may_alias(kernel: Kernel, positions: Sequence[int]) -> Kernel:
    """The kernel with some buffers marked as possibly the same memory."""
    changed = {
        kernel.buffers[k]: replace(kernel.buffers[k], may_alias=True, role="inout")
        for k in positions
    }
    return _with_buffers(kernel, changed)


def _with_buffers(kernel: Kernel, changed: dict[Buffer, Buffer]) -> Kernel:
    """The kernel with other buffers in the place of some."""
    rewriter = Rewriter(buffers=lambda b: changed.get(b, b))
    buffers = tuple(changed.get(b, b) for b in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))
