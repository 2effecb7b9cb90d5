"""Expressions as LLVM text: evaluates DAG nodes on demand, each once, where it belongs.

Under a vector loop every node has a form: *uniform* (one scalar for all lanes), *sequence* (base +
stride * lane, not materialised: that is what makes addresses affine) or *varying*. A vector loop of
128 lanes is emitted in pieces of one or a few machine vectors; a varying node is asked for piece by
piece, so that a whole expression is computed on one piece before the next (few live registers), and
a shuffle over a long distance is a mere renaming of pieces.

A value is placed out of all loops on which it does not depend. Loads of buffers that the kernel
writes are *volatile*: evaluated at their statement and forgotten after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from pyc.backends.llvm_builder import Builder, Scope, Value, deepest, register_type
from pyc.backends.llvm_value import Lockstep, ValueEmitter
from pyc.frozen import field, slotted
from pyc.ir import dtype as dt
from pyc.ir.defined import CALLED
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var
from pyc.ir.loops import Buffer

UNIFORM, SEQUENCE, VARYING = 0, 1, 2
LARGEST_SIZE = 1 << 48
"""No extent or size reaches this: addresses have 48 bits."""


def nodes_under(roots: Iterable[Expr]) -> list[Expr]:
    """Every node reachable from `roots` once, in a fixed order."""
    found: list[Expr] = []
    seen: set[Expr] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            found.append(node)
            stack.extend(node.operands)
    return found


@slotted
class Binding:
    """What a variable stands for: one value (uniform or sequence), or one per piece.

    expr: a `Let` whose pieces are computed when first asked for."""

    value: Value | None = None
    pieces: list[Value | None] = field(default_factory=list)
    expr: Expr | None = None


class ExpressionEmitter(ValueEmitter, ABC):
    """Evaluates expressions in the state of the statement being emitted."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.bindings: dict[Var, Binding] = {}
        self.mask: tuple[Value, ...] | None = None
        self.written: frozenset[Buffer] = frozenset()
        self._memo: dict[tuple[Expr, int], Value] = {}
        self._volatile_memo: dict[tuple[Expr, int], Value] = {}
        self._info: dict[Expr, tuple[int, bool]] = {}
        self._orders: dict[Expr, list[Expr]] = {}
        self._roots: tuple[Expr, ...] = ()
        self._users: dict[Expr, int] | None = None

    # --- what the rest of the emitter provides ----------------------------------------------------

    @abstractmethod
    def load(self, node: Load, piece: int) -> Value:
        """The element(s) that `node` reads; piece is -1 for a uniform read."""

    @abstractmethod
    def load_where(self, node: Load, mask: Value, otherwise: Value, piece: int) -> Value | None:
        """What `node` reads in the lanes of a mask and a constant in the others, if that is one
        instruction; None if it is not."""

    @abstractmethod
    def is_private(self, buffer: Buffer) -> bool:
        """Whether each lane of the vector loop has its own `buffer`."""

    @abstractmethod
    def thread_shuffle(self, node: Shuffle, value: Value) -> Value:
        """`value` of thread `node.var ^ node.distance` of the warp (GPU targets)."""

    @abstractmethod
    def definition(self, name: str, lanes: int) -> str:
        """The function of the module that computes a definition, for so many lanes; 0: a scalar."""

    # --- statements -------------------------------------------------------------------------------

    def begin(self, roots: Sequence[Expr]) -> None:
        """Starts a statement (or a run of them) that evaluates `roots`: what was read from written
        buffers before is forgotten."""
        self._volatile_memo.clear()
        self._orders.clear()
        self._roots = tuple(roots)
        self._users = None

    def enter_lockstep(self, lockstep: Lockstep | None) -> None:
        """Starts (or, with None, ends) a vector loop."""
        self.lockstep = lockstep
        self._info.clear()
        self._volatile_memo.clear()

    def known_count(self) -> int:
        """A mark for `forget`."""
        return len(self._memo)

    def forget(self, known: int) -> None:
        """Forgets the values of nodes computed since `known_count` gave `known`: variables are
        about to be bound again."""
        while len(self._memo) > known:
            self._memo.popitem()
        self._info.clear()

    # --- forms ------------------------------------------------------------------------------------

    def form(self, node: Expr) -> int:
        """UNIFORM, SEQUENCE or VARYING."""
        return self._information(node)[0]

    def _information(self, root: Expr) -> tuple[int, bool]:
        """(form, volatile) of a node, from those of its operands."""
        info = self._info
        found = info.get(root)
        if found is not None:
            return found
        stack: list[Expr] = [root]
        while stack:
            node = stack[-1]
            if node in info:
                stack.pop()
                continue
            operands = node.operands
            if unknown := [c for c in operands if c not in info]:
                stack += unknown
                continue
            most, volatile = UNIFORM, False
            for c in operands:
                form, unstable = info[c]
                most = form if form > most else most
                volatile = volatile or unstable
            if type(node) is Load and node.buffer in self.written:
                volatile = True
            info[node] = (self._form_of(node, most), volatile)
            stack.pop()
        return info[root]

    def is_lazy(self, node: Expr) -> bool:
        """Whether a `Let` of this value is best computed where it is used: few lanes of a shuffle
        tree are ever asked for. Not with loads, which a mask may cover there."""
        nodes = nodes_under([node])
        if any(isinstance(n, Load) for n in nodes):
            return False
        return any(isinstance(n, Shuffle) for n in nodes)

    def _form_of(self, node: Expr, most: int) -> int:
        """The form of a node whose operands are at most of form `most`."""
        if isinstance(node, Var):
            return self._form_of_var(node)
        if isinstance(node, Load):
            private = self.is_private(node.buffer)
            return VARYING if most != UNIFORM or private else UNIFORM
        if most == UNIFORM:
            return UNIFORM
        if isinstance(node, Apply) and node.dtype is dt.i64 and most == SEQUENCE:
            if node.name in ("add", "sub", "neg"):
                return SEQUENCE
            if node.name == "mul" and any(self._constant(a) is not None for a in node.args):
                return SEQUENCE
        return VARYING

    def _form_of_var(self, var: Var) -> int:
        binding = self.bindings[var]
        if binding.value is None:
            return VARYING
        return UNIFORM if binding.value.base is None else SEQUENCE

    def _constant(self, node: Expr) -> int | None:
        """The integer that a node is, if that is plain."""
        if isinstance(node, Const):
            return int(node.value)
        if isinstance(node, Var):
            value = self.bindings[node].value
            return value.const if value is not None else None
        return None

    # --- evaluation -------------------------------------------------------------------------------

    def uniform(self, root: Expr) -> Value:
        """The scalar value of a uniform expression."""
        return self._evaluate(root, -1)

    def varying(self, root: Expr, piece: int) -> Value:
        """The vector of one piece, whatever the form."""
        return self.as_vector(self._evaluate(root, piece), piece)

    def any_form(self, root: Expr, piece: int) -> Value:
        """The value in its own form: a scalar, a sequence, or the vector of `piece`."""
        return self._evaluate(root, piece)

    def _find(self, node: Expr, piece: int) -> Value | None:
        """The value of a node if it is known here."""
        key = (node, piece)
        found = self._volatile_memo.get(key) or self._memo.get(key)
        return found if found is not None and found.scope.open else None

    def _evaluate(self, root: Expr, piece: int) -> Value:
        info = self._info
        at = piece if self._information(root)[0] == VARYING else -1
        if type(root) is Var:
            return self._bound(root, piece)
        found = self._find(root, at)
        if found is not None:
            return found
        order = self._orders.get(root)
        if order is None:
            order = self._orders[root] = self._order(root)
        for node in order:
            form, volatile = info[node]
            key = (node, piece if form == VARYING else -1)
            memo = self._volatile_memo if volatile else self._memo
            found = memo.get(key)
            if found is None or not found.scope.open:
                memo[key] = self._compute(node, key[1])
        return self._known(root, piece)

    def _order(self, root: Expr) -> list[Expr]:
        """The nodes to compute for `root`, operands first; not what rare operands alone need, nor
        indices of loads (the memory emitter asks for the forms that it needs), nor variables."""
        order: list[Expr] = []
        seen: set[Expr] = set()
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            if type(node) is Apply:
                stack.append((node, True))
                operands = node.args
                if node.name == "rare_select":
                    condition, rare, usual = operands
                    operands = (condition, usual, *self._shared_with(rare))
                elif node.name == "select" and type(operands[1]) is Load:
                    operands = (operands[0], operands[2])  # `_compute` may load with a mask
                stack.extend([(c, False) for c in reversed(operands)])
            elif type(node) is not Var:
                order.append(node)
        return order

    def _known(self, node: Expr, piece: int) -> Value:
        """The value of an operand, which mostly was just computed."""
        if type(node) is Var:
            return self._bound(node, piece)
        found = self._find(node, piece if self._info[node][0] == VARYING else -1)
        return found if found is not None else self._evaluate(node, piece)

    def _compute(self, node: Expr, piece: int) -> Value:
        if isinstance(node, Const):
            return self.constant(node.value, node.dtype)
        if isinstance(node, Load):
            return self.load(node, piece)
        if isinstance(node, Shuffle):
            return self._shuffle(node, piece)
        assert isinstance(node, Apply), node
        if node.name == "rare_select":
            return self._rare_select(node, piece)
        form, volatile = self._info[node]
        if node.name == "select" and type(load := node.args[1]) is Load and form == VARYING:
            mask, otherwise = (self._known(a, piece) for a in (node.args[0], node.args[2]))
            masked = self.load_where(load, mask, otherwise, piece)
            if masked is not None:
                return masked
        args = [self._known(a, piece) for a in node.args]
        scope = self.builder.scope if volatile else None
        if node.name in CALLED:
            if form != UNIFORM:
                args = [self.as_vector(a, piece) for a in args]
            return self._call(node, args, scope)
        if form == UNIFORM:
            return self.scalar(node.name, node.dtype, args, scope)
        if form == SEQUENCE:
            return self._sequence(node.name, args, scope)
        return self._vector(node.name, node.dtype, args, piece, scope)

    def _call(self, node: Apply, args: Sequence[Value], scope: Scope | None) -> Value:
        """The result of a definition, of the values or vectors that `args` are."""
        b, lanes = self.builder, args[0].lanes
        place = scope or b.placement(deepest(a.scope for a in args))
        result = register_type(node.dtype, lanes)
        called = self.definition(node.name, lanes)
        ref = b.emit(f"call {result} @{called}({', '.join(map(str, args))})", place)
        return Value(ref, node.dtype, place, lanes)

    def _bound(self, var: Var, piece: int) -> Value:
        binding = self.bindings[var]
        if binding.value is not None:
            return binding.value
        assert piece >= 0, f"{var.name} differs by lane where one value is needed"
        found = binding.pieces[piece]
        if found is None and binding.expr is not None:
            return self.varying(binding.expr, piece)
        assert found is not None, f"{var.name} has no value for piece {piece}"
        return found

    # --- sequences --------------------------------------------------------------------------------

    # --- shuffles ---------------------------------------------------------------------------------

    def _source_piece(self, node: Shuffle, piece: int) -> int:
        lockstep = self.lockstep
        if lockstep is None or node.var is not lockstep.var or piece < 0:
            return piece
        return piece ^ (node.distance // lockstep.width)

    def _shuffle(self, node: Shuffle, piece: int) -> Value:
        value = self._evaluate(node.value, self._source_piece(node, piece))
        lockstep = self.lockstep
        if lockstep is None or node.var is not lockstep.var:
            return self.thread_shuffle(node, value)
        if not value.lanes and value.base is None:
            return value
        source = self.as_vector(value, self._source_piece(node, piece))
        distance = node.distance % lockstep.width
        if distance == 0:
            return source
        order = ", ".join(f"i32 {k ^ distance}" for k in range(lockstep.width))
        volatile = self._info[node][1]
        place = self.builder.scope if volatile else self.builder.placement(source.scope)
        ref = self.builder.emit(
            f"shufflevector {source}, {source.type} poison, <{lockstep.width} x i32> <{order}>",
            place,
        )
        return Value(ref, node.dtype, place, lockstep.width)

    # --- rare operands ----------------------------------------------------------------------------

    def _shared_with(self, rare: Expr) -> list[Expr]:
        """Nodes under `rare` that other parts of the statement need too: computed before the
        branch, so that they are computed once."""
        users = self._user_counts()
        if users.get(rare, 1) > 1:
            return [rare]
        reached: dict[Expr, int] = {}
        touched: list[Expr] = []
        stack = [rare]
        while stack:  # every node here is used by `rare` alone
            for c in stack.pop().operands:
                count = reached.get(c, 0) + 1
                reached[c] = count
                if count == 1:
                    touched.append(c)
                if count == users.get(c, count):
                    stack.append(c)
        return [
            c for c in touched if reached[c] < users.get(c, 0) and not isinstance(c, (Const, Var))
        ]

    def _user_counts(self) -> dict[Expr, int]:
        """How often each node of the statement is used in it."""
        if self._users is None:
            users: dict[Expr, int] = {}
            for r in self._roots:
                users[r] = users.get(r, 0) + 1
            for n in nodes_under(self._roots):
                for c in n.operands:
                    users[c] = users.get(c, 0) + 1
            self._users = users
        return self._users

    def _rare_select(self, node: Apply, piece: int) -> Value:
        b = self.builder
        condition_node, rare_node, usual_node = node.args
        condition = self._known(condition_node, piece)
        usual = self._known(usual_node, piece)
        if piece >= 0:
            condition = self.as_vector(condition, piece)
            usual = self.as_vector(usual, piece)
        start, rare, end, join = (b.name(p) for p in ("start", "rare", "end", "join"))
        taken = self.any_lane([condition])
        b.jump(start)
        b.line(f"br i1 {taken.ref}, label %{rare}, label %{join}, !prof !0")
        b.open("branch")
        b.label(rare)
        value = self._evaluate(rare_node, piece)
        if piece >= 0:
            value = self.as_vector(value, piece)
        mixed = b.emit(f"select {condition}, {value}, {usual}")
        b.jump(end)
        b.line(f"br label %{join}")
        b.close()
        b.label(join)
        ref = b.emit(f"phi {usual.type} [ {usual.ref}, %{start} ], [ {mixed}, %{end} ]")
        return Value(ref, node.dtype, b.scope, usual.lanes)
