"""Statements of a scheduled kernel as the text of one LLVM function.

`KernelEmitter` turns `For / While / If / Let / Store / Accumulate / Alloc / Fail` into SSA form
directly: no LLVM optimisation pipeline is needed behind it (but for `sroa` where register buffers
are used). What differs between targets is abstract here: how buffers arrive, loops that are
hardware (grid, warp, thread), shared memory, barriers, copies, matrix steps, failures and
cancellation. Layers: `llvm_builder` (names and scopes), `llvm_scalar` (instructions), `llvm_expr`
(expressions), `llvm_addresses`, `llvm_loads`, `llvm_memory` (stores), `llvm_runs` (runs of
statements in a vector loop).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence

from pyc.backends import llvm_memory, llvm_scalar
from pyc.backends.kernel_facts import varying_carries, widest_element, written_buffers
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Builder, Lines, Scope, Value
from pyc.backends.llvm_expr import LARGEST_SIZE, VARYING, Binding, nodes_under
from pyc.backends.llvm_runs import RunEmitter
from pyc.backends.llvm_value import Lockstep
from pyc.ir import dtype as dt
from pyc.ir.defined import CALLED, Called
from pyc.ir.expr import Expr, Load, Var
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Body,
    Buffer,
    Carry,
    Cumulate,
    DeviceStatement,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
    While,
    expressions,
    spine,
    walk,
)
from pyc.ir.order import MONOIDS
from pyc.ir.target import Target

INTRINSICS = (*llvm_scalar.INTRINSICS, *llvm_memory.INTRINSICS)
"""Intrinsics that the shared emitter uses; a target adds its own."""


class KernelEmitter(RunEmitter):
    """Emits one kernel. A subclass binds `places` and sizes, then calls `body`."""

    def __init__(
        self,
        kernel: Kernel,
        target: Target,
        intrinsics: dict[str, str],
        allowed: Sequence[str] = INTRINSICS,
    ) -> None:
        super().__init__(Builder(intrinsics, allowed))
        self.kernel = kernel
        self.target = target
        self.written = written_buffers(kernel)
        self.uses_registers = False
        self._varying_carries: frozenset[Var] = frozenset()

    # --- target hooks -----------------------------------------------------------------------------

    @abstractmethod
    def function(self, name: str) -> str:
        """The text of the whole function."""

    @abstractmethod
    def hardware_loop(self, loop: For) -> None:
        """A loop of kind grid, cluster, group, warp or thread: binds its variable (`bind`) and
        emits its body."""

    @abstractmethod
    def parallel_range(self, loop: For) -> tuple[Value, Value] | None:
        """First and last + 1 iteration of a parallel loop that this call runs; None for all."""

    @abstractmethod
    def shared_place(self, buffer: Buffer) -> Place:
        """Memory of the block for a local buffer of space SHARED, or its part of one of CLUSTER."""

    @abstractmethod
    def device_statement(self, statement: DeviceStatement) -> None:
        """A statement that only some targets have."""

    @abstractmethod
    def role_branch(self, statement: If) -> None:
        """An `If` whose condition is membership of a role."""

    @abstractmethod
    def poll_cancel(self) -> None:
        """Leaves the kernel if the call is being cancelled; stands on the back-edge of `While`."""

    # --- definitions ------------------------------------------------------------------------------

    def definition(self, name: str, lanes: int) -> str:
        """See `ExpressionEmitter`: made when it is first called in the module."""
        functions, symbol = self.builder.intrinsics, f"{name}_{lanes}"
        if symbol not in functions:
            emitter = type(self)(Kernel(name, (), ()), self.target, functions)
            functions[symbol] = emitter.definition_text(symbol, CALLED[name], lanes)
        return symbol

    def definition_text(self, symbol: str, called: Called, lanes: int) -> str:
        """The text of the function, which is all that this emitter emits."""
        b = self.builder
        if lanes:
            self.enter_lockstep(Lockstep(Var("lane"), lanes, lanes, b.root))
        arguments = [Value(f"%{p.name}", p.dtype, b.root, lanes) for p in called.parameters]
        for parameter, value in zip(called.parameters, arguments, strict=True):
            self.bindings[parameter] = Binding(pieces=[value]) if lanes else Binding(value)
        self.begin([called.body])
        result = self.varying(called.body, 0) if lanes else self.uniform(called.body)
        b.line(f"ret {result}")
        head = f"define internal {result.type} @{symbol}({', '.join(map(str, arguments))}) #0 {{"
        return f"{head}\nentry:\n{b.text()}\n}}\n"

    # --- bodies -----------------------------------------------------------------------------------

    def body(self, statements: Body) -> None:
        """Emits statements in order."""
        heads, statements = spine(statements)
        for before, s in heads:
            self._in_order(before)
            self._place(s)
        self._in_order(statements)

    def _in_order(self, statements: Body) -> None:
        if self.lockstep is None:
            for s in statements:
                self.statement(s)
            return
        run: list[Let | Store] = []
        for s in statements:
            if not isinstance(s, (Let, Store)):
                self.run(run)
                run = []
                self.statement(s)
                continue
            if self.disturbs(run, s):
                self.run(run)
                run = []
            run.append(s)
        self.run(run)

    def statement(self, s: Stmt) -> None:
        """Emits one statement."""
        self.begin(expressions(s))
        if isinstance(s, For):
            self._for(s)
        elif isinstance(s, While):
            self._while(s)
        elif isinstance(s, If):
            self._if(s)
        elif isinstance(s, Let):
            self.bind(s.var, self.uniform(s.value))
        elif isinstance(s, Store):
            self.store(s.buffer, s.index, s.value)
        elif isinstance(s, Accumulate):
            self._accumulate(s)
        elif isinstance(s, Alloc):
            self._place(s)
            self.body(s.body)
        elif isinstance(s, Fail):
            self.checked(s)
        elif isinstance(s, (Reduce, Cumulate)):
            what = type(s).__name__
            raise ValueError(f"kernel {self.kernel.name} still has a {what}: it is not scheduled")
        else:
            assert isinstance(s, DeviceStatement), s
            self.device_statement(s)

    def _place(self, s: Alloc) -> None:
        """Gives an allocation its memory."""
        self.begin(expressions(s))
        if s.buffer.space in (Space.SHARED, Space.CLUSTER):
            self.places[s.buffer] = self.shared_place(s.buffer)
        else:
            self.places[s.buffer] = self.stack_place(s.buffer)
            self.uses_registers |= s.buffer.space is Space.REGISTER

    def _accumulate(self, s: Accumulate) -> None:
        if MONOIDS[s.monoid].components != 1:
            raise ValueError(f"Accumulate into {s.buffer.name}: {s.monoid} has several components")
        if self.lockstep is None:
            self.accumulate(s.buffer, s.index, s.value, s.monoid)
            return
        pieces = range(self.lockstep.count)
        terms = [self.any_form(s.value, piece) for piece in pieces]
        elements = [self.linear(s.buffer, s.index, piece) for piece in pieces]
        for piece in pieces:
            self.accumulate_piece(s.buffer, elements[piece], terms[piece], s.monoid, piece)

    # --- loops ------------------------------------------------------------------------------------

    def _for(self, s: For) -> None:
        if s.kind in (Kind.GRID, Kind.CLUSTER, Kind.GROUP, Kind.WARP, Kind.THREAD):
            self.hardware_loop(s)
        elif s.kind is Kind.VECTOR and s.extent != 1:
            self._vector_loop(s)
        elif s.kind is Kind.UNROLL:
            self._unroll(s)
        elif s.kind is Kind.PARALLEL and (bounds := self.parallel_range(s)) is not None:
            self._counted(s, *bounds)
        elif s.extent == 1:
            self._inline(s)
        elif s.extent == 0:
            for c in s.carried:
                self._bind_carry(c.result, self._initial(c))
        else:
            extent = s.extent if isinstance(s.extent, Expr) else None
            end = self.index(s.extent) if isinstance(s.extent, int) else self.uniform(extent)  # type: ignore[arg-type]
            self._counted(s, self.index(0), end)

    def _inline(self, s: For) -> None:
        """A loop of one iteration."""
        for c in s.carried:
            self._bind_carry(c.var, self._initial(c))
        zero = self.index(0)
        self.bind(s.var, zero)
        self.body(s.body)
        self._advance(s.carried)
        for c in s.carried:
            self.bindings[c.result] = self.bindings[c.var]

    def _unroll(self, s: For) -> None:
        if not isinstance(s.extent, int):
            raise ValueError(f"unrolled loop over {s.var.name} needs a constant extent")
        for c in s.carried:
            self._bind_carry(c.var, self._initial(c))
        known = self.known_count()
        for number in range(s.extent):
            self.bind(s.var, self.index(number))
            self.body(s.body)
            self._advance(s.carried)
            self.forget(known)
        for c in s.carried:
            self.bindings[c.result] = self.bindings[c.var]

    def _advance(self, carried: Sequence[Carry]) -> None:
        """Rebinds carried variables to their next values (all at once)."""
        self.begin([c.next for c in carried])
        following = [self._values(c.next, self._is_varying(c)) for c in carried]
        for c, values in zip(carried, following, strict=True):
            self._bind_carry(c.var, values)

    def _counted(self, s: For, begin: Value, end: Value) -> None:
        """A loop over [begin, end), tested at its end where it surely runs once."""
        b = self.builder
        certain = begin.high is not None and end.low is not None and begin.high < end.low
        initial = [self._initial(c) for c in s.carried]
        start, inside, latch, leave = (b.name(p) for p in ("start", "loop", "latch", "done"))
        scope = b.open("loop", certain)
        b.jump(start)
        if certain:
            b.line(f"br label %{inside}")
        else:
            some = b.emit(f"icmp slt i64 {begin.ref}, {end.ref}")
            b.line(f"br i1 {some}, label %{inside}, label %{leave}")
        b.label(inside)
        phis: Lines = []
        scope.lines.append(phis)
        counter = f"%{b.name('i')}"
        high = (end.high if end.high is not None else LARGEST_SIZE) - 1
        low = begin.low if begin.low is not None else 0
        self.bind(s.var, Value(counter, dt.i64, scope, low=low, high=high))
        values = [self._phi_values(v, scope) for v in initial]
        for c, v in zip(s.carried, values, strict=True):
            self._bind_carry(c.var, v)
        self.body(s.body)
        self.begin([c.next for c in s.carried])
        following = [self._values(c.next, self._is_varying(c)) for c in s.carried]
        b.jump(latch)
        advanced = b.emit(f"add nuw nsw i64 {counter}, 1")
        again = b.emit(f"icmp slt i64 {advanced}, {end.ref}")
        b.line(f"br i1 {again}, label %{inside}, label %{leave}")
        phis.append(f"  {counter} = phi i64 [ {begin.ref}, %{start} ], [ {advanced}, %{latch} ]")
        self._fill_phis(phis, values, initial, start, following, latch)
        b.close()
        b.label(leave)
        for k, c in enumerate(s.carried):
            result = self._rescope(following[k])
            if not certain:
                result = [
                    Value(
                        b.emit(f"phi {old.type} [ {old.ref}, %{start} ], [ {new.ref}, %{latch} ]"),
                        old.dtype,
                        b.scope,
                        old.lanes,
                    )
                    for old, new in zip(initial[k], following[k], strict=True)
                ]
            self._bind_carry(c.result, result)

    def _while(self, s: While) -> None:
        b = self.builder
        per_lane = self.lockstep is not None and self._condition_varies(s)
        initial = [self._initial(c) for c in s.carried]
        # A mask that is carried says which lanes are left, if it begins with those that are here.
        flag = self._flag(s) if per_lane else None
        if flag is not None and self.mask is not None:
            initial[flag] = [self._and(m, v) for m, v in zip(self.mask, initial[flag], strict=True)]
        start, head, inside, latch, leave = (
            b.name(p) for p in ("start", "head", "loop", "latch", "done")
        )
        outer_mask = self.mask
        scope = b.open("loop", certain=False)
        b.jump(start)
        b.line(f"br label %{head}")
        b.label(head)
        phis: Lines = []
        scope.lines.append(phis)
        values = [self._phi_values(v, scope) for v in initial]
        for c, v in zip(s.carried, values, strict=True):
            self._bind_carry(c.var, v)
        live: list[Value] = []
        active: list[Value] = []
        if flag is not None:
            active = values[flag]
            self.mask = tuple(active)
            test = self.any_lane(active)
        elif per_lane:
            live = [self._fresh(m, scope) for m in self._all_masks()]
            self.mask = tuple(live)
            self.begin([s.condition])
            conditions = [self.varying(s.condition, p) for p in range(len(live))]
            active = [self._and(m, c) for m, c in zip(live, conditions, strict=True)]
            self.mask = tuple(active)
            test = self.any_lane(active)
        else:
            self.begin([s.condition])
            test = self.uniform(s.condition)
        b.line(f"br i1 {test.ref}, label %{inside}, label %{leave}")
        b.label(inside)
        self.body(s.body)
        self.begin([c.next for c in s.carried])
        following = [self._values(c.next, self._is_varying(c)) for c in s.carried]
        if per_lane:
            following = [
                [self._and(m, new) for m, new in zip(active, news, strict=True)]
                if k == flag
                else [self._choose(*lane) for lane in zip(active, news, olds, strict=True)]
                if self._is_varying(s.carried[k])
                else news
                for k, (news, olds) in enumerate(zip(following, values, strict=True))
            ]
        self.poll_cancel()
        b.jump(latch)
        b.line(f"br label %{head}")
        self._fill_phis(phis, values, initial, start, following, latch)
        if live:
            masks = [list(outer_mask) if outer_mask is not None else self._full_masks()]
            self._fill_phis(phis, [live], masks, start, [active], latch)
        b.close()
        b.label(leave)
        self.mask = outer_mask
        for c, v in zip(s.carried, values, strict=True):
            self._bind_carry(c.result, self._rescope(v))

    def _flag(self, s: While) -> int | None:
        """The carry that is the whole condition of a loop, and differs from lane to lane."""
        found = (k for k, c in enumerate(s.carried) if c.var is s.condition)
        return next((k for k in found if self._is_varying(s.carried[k])), None)

    def _choose(self, mask: Value, new: Value, old: Value) -> Value:
        text = f"select {mask}, {new}, {old}"
        return Value(self.builder.emit(text), new.dtype, self.builder.scope, new.lanes)

    def _fill_phis(
        self,
        phis: Lines,
        values: Sequence[Sequence[Value]],
        initial: Sequence[Sequence[Value]],
        start: str,
        following: Sequence[Sequence[Value]],
        latch: str,
    ) -> None:
        for group in zip(values, initial, following, strict=True):
            for phi, old, new in zip(*group, strict=True):
                edges = f"[ {old.ref}, %{start} ], [ {new.ref}, %{latch} ]"
                phis.append(f"  {phi.ref} = phi {phi.type} {edges}")

    # --- carried values ---------------------------------------------------------------------------

    def _is_varying(self, c: Carry) -> bool:
        return c.var in self._varying_carries

    def _initial(self, c: Carry) -> list[Value]:
        self.begin([c.initial])
        return self._values(c.initial, self._is_varying(c))

    def _values(self, e: Expr, varying: bool) -> list[Value]:
        """A value as phis need it: one scalar, or a vector per piece."""
        if not varying:
            return [self.uniform(e)]
        assert self.lockstep is not None
        return [self.varying(e, p) for p in range(self.lockstep.count)]

    def _fresh(self, like: Value, scope: Scope) -> Value:
        return Value(f"%{self.builder.name('c')}", like.dtype, scope, like.lanes)

    def _phi_values(self, initial: Sequence[Value], scope: Scope) -> list[Value]:
        return [self._fresh(v, scope) for v in initial]

    def _bind_carry(self, var: Var, values: Sequence[Value]) -> None:
        if self.lockstep is not None and var in self._varying_carries:
            self.bindings[var] = Binding(pieces=list(values))
        else:
            self.bindings[var] = Binding(values[0])

    def _rescope(self, values: Sequence[Value]) -> list[Value]:
        """Values of a loop that has ended, as seen behind it."""
        here = self.builder.scope
        return [v if v.scope.open else _moved(v, here) for v in values]

    # --- vector loops and masks -------------------------------------------------------------------

    def _vector_loop(self, s: For) -> None:
        if not isinstance(s.extent, int):
            raise ValueError(f"vector loop over {s.var.name} needs a constant extent")
        if self.lockstep is not None:
            raise ValueError(f"vector loop over {s.var.name} inside another")
        if s.extent == 0:
            return
        scope = self.builder.open("block")
        self.enter_lockstep(Lockstep(s.var, s.extent, self.piece_width(s), scope))
        self.bind(s.var, self.make_sequence(self.index(0), 1))
        self._varying_carries = varying_carries(s)
        self.body(s.body)
        self._varying_carries = frozenset()
        self.enter_lockstep(None)
        self.builder.close()

    def piece_width(self, s: For) -> int:
        """Lanes of one piece: a machine vector of the widest element type that the loop moves, or
        half of one where that leaves none idle; all lanes where neither does."""
        assert isinstance(s.extent, int)
        width = max(self.target.vector_bytes // widest_element(s), 2)
        if s.extent > width and s.extent % width == width // 2:
            width //= 2
        return width if s.extent % width == 0 else s.extent

    def _if(self, s: If) -> None:
        if s.condition is None:
            self.role_branch(s)
            return
        if self.lockstep is None or self.form(s.condition) != VARYING:
            condition = self.uniform(s.condition)
            if condition.const is not None:
                self.body(s.then if condition.const else s.orelse)
            else:
                self._branch(
                    condition,
                    lambda: self.body(s.then),
                    lambda: self.body(s.orelse),
                    bool(s.orelse),
                    usual=any(isinstance(x, Fail) for x in walk(s.orelse)),
                )
            return
        pieces = range(self.lockstep.count)
        conditions = [self.varying(s.condition, p) for p in pieces]
        outer = self._all_masks()
        self._masked(s.then, [self._and(m, c) for m, c in zip(outer, conditions, strict=True)])
        if s.orelse:
            inverted = [self._inverse(c) for c in conditions]
            self._masked(s.orelse, [self._and(m, c) for m, c in zip(outer, inverted, strict=True)])

    def _inverse(self, mask: Value) -> Value:
        folded = self._fold_mask("not", (mask,))
        if folded is not None:
            return folded
        text = f"xor {mask}, splat (i1 true)"
        return Value(self.builder.emit(text), dt.b1, self.builder.scope, mask.lanes)

    def _masked(self, statements: Body, masks: Sequence[Value]) -> None:
        """Emits statements for the lanes of `masks`; skips them by a branch if they are many."""
        if all(isinstance(m.const, tuple) and not any(m.const) for m in masks):
            return
        outer_mask = self.mask
        full = all(isinstance(m.const, tuple) and all(m.const) for m in masks)

        def inside() -> None:
            self.mask = None if full else tuple(masks)
            self.body(statements)
            self.mask = outer_mask

        if any(isinstance(s, (For, While)) for s in statements) and not full:
            self._branch(self.any_lane(masks), inside, lambda: None, False)
            return
        self.builder.open("block", certain=full)
        inside()
        self.builder.close()

    def _branch(
        self,
        condition: Value,
        then: Callable[[], None],
        orelse: Callable[[], None],
        has_else: bool,
        *,
        usual: bool = False,
    ) -> None:
        """Two arms of code; nothing is carried out of them. usual: the first is, so that it stands
        in the way of what follows and the other one does not."""
        b = self.builder
        taken, other, join = (b.name(p) for p in ("then", "else", "join"))
        scope = b.open("block", certain=False)
        weights = ", !prof !1" if usual else ""
        away = other if has_else else join
        b.line(f"br i1 {condition.ref}, label %{taken}, label %{away}{weights}")
        b.label(taken)
        then()
        b.line(f"br label %{join}")
        b.close()
        if has_else:
            b.open("block", certain=False, before=scope.before)
            b.label(other)
            orelse()
            b.line(f"br label %{join}")
            b.close()
        b.label(join)

    # --- failures ---------------------------------------------------------------------------------

    def _condition_varies(self, s: While) -> bool:
        return any(
            (isinstance(n, Var) and (n in self._varying_carries or self._is_varying_var(n)))
            or (isinstance(n, Load) and self.is_private(n.buffer))
            for n in nodes_under([s.condition])
        )

    def _is_varying_var(self, var: Var) -> bool:
        binding = self.bindings.get(var)
        if binding is None:
            return False
        return binding.value is None or binding.value.base is not None


def _moved(v: Value, scope: Scope) -> Value:
    """The same register seen as a value of another scope."""
    return Value(
        *(v.ref, v.dtype, scope, v.lanes, v.const, v.low, v.high, v.base, v.stride, v.multiple)
    )
