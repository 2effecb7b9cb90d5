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
from dataclasses import dataclass, field

import numpy as np

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import (
    Builder,
    Scope,
    Value,
    deepest,
    lane_constants,
    literal,
    register_type,
    splat,
    suffix,
)
from pyc.backends.llvm_facts import I64_HIGH, I64_LOW, divisor, fold, value_range
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, children
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.loops import Buffer

UNIFORM, SEQUENCE, VARYING = 0, 1, 2
LARGEST_SIZE = 1 << 48
"""No extent or size reaches this: addresses have 48 bits."""
_LINEAR = frozenset(("add", "sub"))
_COMPARES = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def nodes_under(roots: Iterable[Expr]) -> list[Expr]:
    """Every node reachable from `roots` once, in a fixed order."""
    found: list[Expr] = []
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            found.append(node)
            stack.extend(children(node))
    return found


@dataclass(slots=True)
class Lockstep:
    """The vector loop being emitted: `count` pieces of `width` lanes."""

    var: Var
    extent: int
    width: int
    scope: Scope

    @property
    def count(self) -> int:
        """Pieces."""
        return self.extent // self.width


@dataclass(slots=True)
class Binding:
    """What a variable stands for: one value (uniform or sequence), or one per piece.

    expr: a `Let` whose pieces are computed when first asked for."""

    value: Value | None = None
    pieces: list[Value | None] = field(default_factory=list)
    expr: Expr | None = None


class ExpressionEmitter(ABC):
    """Evaluates expressions in the state of the statement being emitted."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.bindings: dict[Var, Binding] = {}
        self.lockstep: Lockstep | None = None
        self.mask: tuple[Value, ...] | None = None
        self.written: frozenset[Buffer] = frozenset()
        self._memo: dict[tuple[int, int], Value] = {}
        self._volatile_memo: dict[tuple[int, int], Value] = {}
        self._derived: dict[tuple[object, ...], Value] = {}
        self._info: dict[int, tuple[int, bool]] = {}
        self._orders: dict[int, list[Expr]] = {}
        self._roots: tuple[Expr, ...] = ()
        self._users: dict[int, int] | None = None

    # --- what the rest of the emitter provides ----------------------------------------------------

    @abstractmethod
    def load(self, node: Load, piece: int) -> Value:
        """The element(s) that `node` reads; piece is -1 for a uniform read."""

    @abstractmethod
    def is_private(self, buffer: Buffer) -> bool:
        """Whether each lane of the vector loop has its own `buffer`."""

    @abstractmethod
    def thread_shuffle(self, node: Shuffle, value: Value) -> Value:
        """`value` of thread `node.var ^ node.distance` of the warp (GPU targets)."""

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
        found = info.get(id(root))
        if found is not None:
            return found
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in info:
                continue
            operands = children(node)
            if not ready and operands:
                stack.append((node, True))
                stack.extend([(c, False) for c in operands if id(c) not in info])
                continue
            most, volatile = UNIFORM, False
            for c in operands:
                form, unstable = info[id(c)]
                most = form if form > most else most
                volatile = volatile or unstable
            if type(node) is Load and node.buffer in self.written:
                volatile = True
            info[id(node)] = (self._form_of(node, most), volatile)
        return info[id(root)]

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
            if node.name in _LINEAR or node.name == "neg":
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
        key = (id(node), piece)
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
        order = self._orders.get(id(root))
        if order is None:
            order = self._orders[id(root)] = self._order(root)
        for node in order:
            form, volatile = info[id(node)]
            key = (id(node), piece if form == VARYING else -1)
            memo = self._volatile_memo if volatile else self._memo
            found = memo.get(key)
            if found is None or not found.scope.open:
                memo[key] = self._compute(node, key[1])
        return self._known(root, piece)

    def _order(self, root: Expr) -> list[Expr]:
        """The nodes to compute for `root`, operands first; not what rare operands alone need, nor
        indices of loads (the memory emitter asks for the forms that it needs), nor variables."""
        order: list[Expr] = []
        seen: set[int] = set()
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            if type(node) is Apply:
                stack.append((node, True))
                operands = node.args
                if node.name == "rare_select":
                    condition, rare, usual = operands
                    operands = (condition, usual, *self._shared_with(rare))
                stack.extend([(c, False) for c in reversed(operands)])
            elif type(node) is not Var:
                order.append(node)
        return order

    def _known(self, node: Expr, piece: int) -> Value:
        """The value of an operand, which mostly was just computed."""
        if type(node) is Var:
            return self._bound(node, piece)
        found = self._find(node, piece if self._info[id(node)][0] == VARYING else -1)
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
        args = [self._known(a, piece) for a in node.args]
        form, volatile = self._info[id(node)]
        scope = self.builder.scope if volatile else None
        if form == UNIFORM:
            return self.scalar(node.name, node.dtype, args, scope)
        if form == SEQUENCE:
            return self._sequence(node.name, args, scope)
        return self._vector(node.name, node.dtype, args, piece, scope)

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

    # --- scalars ----------------------------------------------------------------------------------

    def constant(self, value: object, dtype: DType) -> Value:
        """A literal."""
        root = self.builder.root
        text = literal(value, dtype)
        if dtype is dt.b1:
            return Value(text, dtype, root, const=bool(value))
        if dtype.is_integer:
            number = int(value)  # type: ignore[call-overload]
            return Value(
                text, dtype, root, const=number, low=number, high=number, multiple=abs(number)
            )
        return Value(text, dtype, root)

    def index(self, value: int) -> Value:
        """A literal of the index type."""
        return self.constant(value, dt.i64)

    def scalar(
        self, name: str, dtype: DType, args: Sequence[Value], scope: Scope | None = None
    ) -> Value:
        """An instruction over scalars; integer constants are folded."""
        needed = deepest(a.scope for a in args)
        folded = fold(name, dtype, args)
        if folded is not None:
            if isinstance(folded, Value):
                return folded
            result = self.constant(folded, dtype)
            result.scope = needed
            return result
        if dtype is dt.i64 and scope is None and len(args) == 2:
            moved = self._constant_last(name, args)
            if moved is not None:
                return moved
        key = (name, dtype, *((a.dtype, a.ref) for a in args))
        found = self._derived.get(key)
        if found is not None and found.scope.open:
            return found
        place = scope or self.builder.placement(needed)
        ref = llvm_scalar.emit(self.builder, name, dtype, args, 0, place)
        low, high = value_range(name, dtype, args)
        result = Value(ref, dtype, place, low=low, high=high, multiple=divisor(name, args))
        if name == "add" and dtype is dt.i64 and args[1].const is not None:
            result.plus = (args[0], args[1].const)
        self._derived[key] = result
        return result

    def _constant_last(self, name: str, args: Sequence[Value]) -> Value | None:
        """Index arithmetic with its constant added last (exact: it wraps), so that neighbouring
        elements share an address and differ in the displacement; None if it is so already."""
        (left, first), (right, second) = args[0].anchor, args[1].anchor
        if name == "add" and args[0].const is not None:
            return self.scalar("add", dt.i64, [args[1], args[0]])
        if name == "sub" and args[1].const is not None:
            number = -args[1].const
            return self.scalar("add", dt.i64, [args[0], self.index(number)])
        if first == 0 and second == 0:
            return None
        if name == "add" and args[1].const is not None:
            inner, number = left, first + args[1].const
        elif name in ("add", "sub"):
            inner = self.scalar(name, dt.i64, [left, right])
            number = first + second if name == "add" else first - second
        elif name == "mul" and args[1].const is not None:
            inner = self.scalar("mul", dt.i64, [left, args[1]])
            number = first * args[1].const
        else:
            return None
        if not -(1 << 62) < number < 1 << 62:
            return None
        return self.scalar("add", dt.i64, [inner, self.index(number)])

    # --- sequences --------------------------------------------------------------------------------

    def _sequence(self, name: str, args: Sequence[Value], scope: Scope | None) -> Value:
        """base + stride * lane under a linear instruction."""
        bases = [a if a.base is None else a.base for a in args]
        strides = [a.stride for a in args]
        if name == "mul":
            factor = bases[1] if args[0].base is not None else bases[0]
            stride = (strides[0] + strides[1]) * factor.const
        else:
            signs = {"add": (1, 1), "sub": (1, -1), "neg": (-1,)}[name]
            stride = sum(s * k for s, k in zip(strides, signs, strict=True))
        base = self.scalar(name, dt.i64, bases, scope)
        return self.make_sequence(base, stride)

    def make_sequence(self, base: Value, stride: int) -> Value:
        """The lane sequence base + stride * lane, with its range; `base` itself for stride 0."""
        if stride == 0:
            return base
        assert self.lockstep is not None
        span = stride * (self.lockstep.extent - 1)
        low = None if base.low is None else base.low + min(span, 0)
        high = None if base.high is None else base.high + max(span, 0)
        return Value("", dt.i64, base.scope, low=low, high=high, base=base, stride=stride)

    def is_inside(self, value: Value, extent: int) -> bool:
        """Whether an index is known to be in [0, extent)."""
        return (
            value.low is not None
            and value.high is not None
            and (value.low >= 0 and value.high < extent)
        )

    # --- vectors ----------------------------------------------------------------------------------

    def as_vector(self, value: Value, piece: int) -> Value:
        """A value as the vector of one piece."""
        if value.lanes:
            return value
        assert self.lockstep is not None
        width = self.lockstep.width
        if value.base is not None:
            return self._materialise(value, piece, dt.i64)
        if not value.ref.startswith("%"):
            text = splat(value.ref, value.dtype, width)
            const = None
            if value.dtype is dt.b1:
                const = (bool(value.const),) * width
            elif value.const is not None:
                const = value.const
            return Value(
                text, value.dtype, value.scope, width, const, low=value.low, high=value.high
            )
        return self._splat(value, width)

    def _splat(self, value: Value, width: int) -> Value:
        key = ("splat", value.ref, width)
        found = self._derived.get(key)
        if found is not None and found.scope.open:
            return found
        place = self.builder.placement(value.scope)
        one, many = register_type(value.dtype), register_type(value.dtype, width)
        first = self.builder.emit(f"insertelement {many} poison, {one} {value.ref}, i64 0", place)
        text = f"shufflevector {many} {first}, {many} poison, <{width} x i32> zeroinitializer"
        ref = self.builder.emit(text, place)
        result = Value(ref, value.dtype, place, width, low=value.low, high=value.high)
        self._derived[key] = result
        return result

    def _materialise(self, value: Value, piece: int, dtype: DType) -> Value:
        """The vector of a lane sequence, in i64, or in i32 if its range fits."""
        assert self.lockstep is not None and value.base is not None
        width = self.lockstep.width
        offsets = [value.stride * (piece * width + k) for k in range(width)]
        lanes = lane_constants(offsets, dtype)
        base = value.base
        low, high = value.low, value.high
        if base.const is not None:
            numbers = [base.const + k for k in offsets]
            if min(numbers) >= I64_LOW and max(numbers) <= I64_HIGH:
                text = lane_constants(numbers, dtype)
                return Value(text, dtype, base.scope, width, low=low, high=high)
        key = ("lanes", base.ref, value.stride, piece, width, dtype)
        found = self._derived.get(key)
        if found is not None and found.scope.open:
            return found
        if dtype is dt.i32:
            base = self.scalar("cast", dt.i32, [base])
        spread = self._splat(base, width) if base.ref.startswith("%") else None
        spread_text = spread.ref if spread else splat(base.ref, dtype, width)
        place = self.builder.placement(base.scope)
        ref = self.builder.emit(f"add {register_type(dtype, width)} {spread_text}, {lanes}", place)
        result = Value(ref, dtype, place, width, low=low, high=high)
        self._derived[key] = result
        return result

    def _vector(
        self, name: str, dtype: DType, args: Sequence[Value], piece: int, scope: Scope | None
    ) -> Value:
        assert self.lockstep is not None
        width = self.lockstep.width
        if not any(a.lanes or a.base is not None for a in args):  # folding made them uniform
            return self.scalar(name, dtype, args, scope)
        if name in _COMPARES:
            special = self._compare_sequence(name, args, piece)
            if special is not None:
                return special
        if name in ("quotient", "remainder") and dtype is dt.i64:
            special = self._divide_narrow(name, args, piece, scope)
            if special is not None:
                return special
        vectors = [a if a.lanes else self.as_vector(a, piece) for a in args]
        place = scope or self.builder.placement(deepest([v.scope for v in vectors]))
        if dtype is dt.b1 and (masked := self._fold_mask(name, vectors)) is not None:
            return masked
        ref = llvm_scalar.emit(self.builder, name, dtype, vectors, width, place)
        if dtype is not dt.i64:
            return Value(ref, dtype, place, width)
        low, high = value_range(name, dtype, args)
        return Value(ref, dtype, place, width, low=low, high=high)

    def _fold_mask(self, name: str, vectors: Sequence[Value]) -> Value | None:
        """Masks known while emitting stay known."""
        if name == "not" and isinstance(vectors[0].const, tuple):
            return self.mask_constant([not x for x in vectors[0].const], vectors[0].scope)
        if name not in ("and", "or") or vectors[0].dtype is not dt.b1:
            return None
        for one, other in ((vectors[0], vectors[1]), (vectors[1], vectors[0])):
            if isinstance(one.const, tuple):
                if all(one.const):
                    return other if name == "and" else one
                if not any(one.const):
                    return one if name == "and" else other
        return None

    def mask_constant(self, lanes: Sequence[bool], scope: Scope) -> Value:
        """A constant mask."""
        text = lane_constants(lanes, dt.b1)
        return Value(text, dt.b1, scope, len(lanes), const=tuple(lanes))

    def _compare_sequence(self, name: str, args: Sequence[Value], piece: int) -> Value | None:
        """Compares the unit-stride sequence b + lane with uniform n by comparing small lane numbers
        with n - b; None where it could wrap or has another shape."""
        left, right = args
        if left.base is None:
            left, right, name = right, left, _MIRRORED[name]
        if left.base is None or right.base is not None or right.lanes or left.stride != 1:
            return None
        bounds = (left.low, left.high, right.low, right.high)
        if left.low is None or left.high is None or right.low is None or right.high is None:
            return None
        if max(abs(b) for b in bounds if b is not None) >= 1 << 62:
            return None
        assert self.lockstep is not None
        extent, width = self.lockstep.extent, self.lockstep.width
        distance = self.scalar("sub", dt.i64, [right, left.base])
        lanes = range(piece * width, (piece + 1) * width)
        if distance.const is not None:
            function = INSTRUCTIONS[name].evaluate
            found = function((np.array(lanes), np.array(distance.const)), dt.b1)
            return self.mask_constant([bool(x) for x in found], distance.scope)
        clamped = self.scalar("maximum", dt.i64, [distance, self.index(-1)])
        clamped = self.scalar("minimum", dt.i64, [clamped, self.index(extent)])
        short = self.scalar("cast", dt.i32, [clamped])
        vectors = [
            Value(lane_constants(lanes, dt.i32), dt.i32, self.builder.root, width),
            self.as_vector(short, piece),
        ]
        place = self.builder.placement(short.scope)
        ref = llvm_scalar.emit(self.builder, name, dt.b1, vectors, width, place)
        return Value(ref, dt.b1, place, width)

    def _divide_narrow(
        self, name: str, args: Sequence[Value], piece: int, scope: Scope | None
    ) -> Value | None:
        """Index division by a constant in 32 bits, where the range allows it: vectors have no
        64-bit multiplication worth using."""
        a, b = args
        small = a.low is not None and a.high is not None and a.low >= 0 and a.high < 1 << 31
        if not small or not isinstance(b.const, int) or not 0 < b.const < 1 << 31:
            return None
        assert self.lockstep is not None
        width = self.lockstep.width
        if a.base is not None:
            narrow = self._materialise(a, piece, dt.i32)
        else:
            place = scope or self.builder.placement(a.scope)
            text = f"trunc {a} to {register_type(dt.i32, width)}"
            narrow = Value(
                self.builder.emit(text, place), dt.i32, place, width, low=a.low, high=a.high
            )
        place = scope or self.builder.placement(narrow.scope)
        divisor = self.as_vector(self.constant(b.const, dt.i32), piece)
        ref = llvm_scalar.emit(self.builder, name, dt.i32, (narrow, divisor), width, place)
        wide = self.builder.emit(
            f"zext {register_type(dt.i32, width)} {ref} to {register_type(dt.i64, width)}", place
        )
        low, high = value_range(name, dt.i64, args)
        return Value(wide, dt.i64, place, width, low=low, high=high)

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
        volatile = self._info[id(node)][1]
        place = self.builder.scope if volatile else self.builder.placement(source.scope)
        ref = self.builder.emit(
            f"shufflevector {source}, {source.type} poison, <{lockstep.width} x i32> <{order}>",
            place,
        )
        return Value(ref, node.dtype, place, lockstep.width)

    # --- rare operands ----------------------------------------------------------------------------

    def any_lane(self, masks: Sequence[Value]) -> Value:
        """Whether any lane of any mask is set, as a scalar b1; uniform masks pass through."""
        b = self.builder
        kept = [m for m in masks if not isinstance(m.const, tuple) or any(m.const)]
        if not kept:
            return self.constant(False, dt.b1)
        if not kept[0].lanes:
            return kept[0]
        if any(isinstance(m.const, tuple) for m in kept):
            return self.constant(True, dt.b1)
        ref = kept[0].ref
        for other in kept[1:]:
            ref = b.emit(f"or {other.type} {ref}, {other.ref}")
        lanes = kept[0].lanes
        bits = b.emit(f"bitcast {kept[0].type} {ref} to i{lanes}")
        return Value(b.emit(f"icmp ne i{lanes} {bits}, 0"), dt.b1, b.scope)

    def _shared_with(self, rare: Expr) -> list[Expr]:
        """Nodes under `rare` that other parts of the statement need too: computed before the
        branch, so that they are computed once."""
        users = self._user_counts()
        if users.get(id(rare), 1) > 1:
            return [rare]
        reached: dict[int, int] = {}
        touched: list[Expr] = []
        stack = [rare]
        while stack:  # every node here is used by `rare` alone
            for c in children(stack.pop()):
                count = reached.get(id(c), 0) + 1
                reached[id(c)] = count
                if count == 1:
                    touched.append(c)
                if count == users.get(id(c), count):
                    stack.append(c)
        return [
            c
            for c in touched
            if reached[id(c)] < users.get(id(c), 0) and not isinstance(c, (Const, Var))
        ]

    def _user_counts(self) -> dict[int, int]:
        """How often each node of the statement is used in it."""
        if self._users is None:
            users: dict[int, int] = {}
            for r in self._roots:
                users[id(r)] = users.get(id(r), 0) + 1
            for n in nodes_under(self._roots):
                for c in children(n):
                    users[id(c)] = users.get(id(c), 0) + 1
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

    # --- helpers for the other layers -------------------------------------------------------------

    def reduce_lanes(self, name: str, value: Value) -> Value:
        """`llvm.vector.reduce.NAME` of a vector; a scalar passes through."""
        if not value.lanes:
            return value
        one = register_type(value.dtype)
        full = f"llvm.vector.reduce.{name}.{suffix(value.type)}"
        head = self.builder.intrinsic(full, one, [value.type])
        return Value(self.builder.emit(f"{head}({value})"), value.dtype, self.builder.scope)
