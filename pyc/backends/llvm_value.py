"""Values as LLVM text: instructions over scalars, lane sequences and vectors.

A value is *uniform* (one scalar for all lanes), a *sequence* (base + stride * lane, not
materialised: that is what makes addresses affine) or the vector of one piece of the vector loop.
Operands and results are `Value`s; nothing here knows expressions. What is known while emitting is
folded: constants, ranges, masks.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from pyc.backends.llvm_facts import divisor, fold, value_range
from pyc.frozen import slotted
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Var
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.integer_range import I64_HIGH, I64_LOW, in_i64

_COMPARES = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


@slotted
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


class ValueEmitter:
    """Emits instructions over values in the vector loop that is being emitted, if any."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.lockstep: Lockstep | None = None
        self._derived: dict[tuple[object, ...], Value] = {}
        self.spread: dict[str, Value] = {}
        """The scalars that all lanes of a vector are, by its register."""

    def scalar_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], scope: Scope
    ) -> str:
        """The register of an instruction over scalars; a target may have another form of it."""
        return llvm_scalar.emit(self.builder, name, dtype, args, 0, scope)

    def vector_instruction(
        self, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
    ) -> str:
        """The register of an instruction over vectors; a target may have one of its own."""
        return llvm_scalar.emit(self.builder, name, dtype, args, lanes, scope)

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
        ref = self.scalar_instruction(name, dtype, args, place)
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
        return self.make_sequence(base, in_i64(stride))

    def make_sequence(self, base: Value, stride: int) -> Value:
        """The lane sequence base + stride * lane, with its range; `base` itself for stride 0."""
        if stride == 0:
            return base
        assert self.lockstep is not None
        span = stride * (self.lockstep.extent - 1)
        low = None if base.low is None else base.low + min(span, 0)
        high = None if base.high is None else base.high + max(span, 0)
        if low is None or high is None or low < I64_LOW or high > I64_HIGH:  # it may wrap
            low = high = None
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
        self.spread[ref] = value
        return result

    def _materialise(
        self, value: Value, piece: int, dtype: DType, last: int | None = None
    ) -> Value:
        """The vector of a lane sequence, in i64, or in i32 if its range fits; last: the lane that
        those behind it repeat."""
        assert self.lockstep is not None and value.base is not None
        width = self.lockstep.width
        places = [piece * width + k for k in range(width)]
        offsets = [in_i64(value.stride * (k if last is None else min(k, last))) for k in places]
        lanes = lane_constants(offsets, dtype)
        base = value.base
        low, high = value.low, value.high
        if base.const is not None:
            text = lane_constants([in_i64(base.const + k) for k in offsets], dtype)
            return Value(text, dtype, base.scope, width, low=low, high=high)
        key = ("lanes", base.ref, value.stride, piece, width, dtype, last)
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
        if name in ("add", "sub") and dtype is dt.i64 and not any(a.lanes for a in args):
            return self._sequence(name, args, scope)  # clamps that this piece does not reach
        if name in _COMPARES:
            special = self._compare_sequence(name, args, piece)
            if special is not None:
                return special
        if name in ("quotient", "remainder") and dtype is dt.i64:
            special = self._over_known_lanes(name, dtype, args, piece)
            if special is None:
                special = self._divide_narrow(name, args, piece, scope)
            if special is not None:
                return special
        if name == "minimum" and dtype is dt.i64:
            special = self._clamped(args, piece)
            if special is not None:
                return special
        if dtype is dt.i64 or args[0].dtype is dt.i64:
            special = self._over_known_lanes(name, dtype, args, piece)
            if special is not None:
                return special
        vectors = [a if a.lanes else self.as_vector(a, piece) for a in args]
        place = scope or self.builder.placement(deepest([v.scope for v in vectors]))
        if dtype is dt.b1 and (masked := self._fold_mask(name, vectors)) is not None:
            return masked
        ref = self.vector_instruction(name, dtype, vectors, width, place)
        if dtype is not dt.i64:
            return Value(ref, dtype, place, width)
        low, high = value_range(name, dtype, args)
        result = Value(ref, dtype, place, width, low=low, high=high)
        if name == "add":
            result.run = self._run_of_sum(args)
        return result

    def _over_known_lanes(
        self, name: str, dtype: DType, args: Sequence[Value], piece: int
    ) -> Value | None:
        """An instruction over lane numbers that are known while emitting."""
        if name in ("cast", "bitcast") or dtype not in (dt.i64, dt.b1):
            return None
        known = [self._lanes_of(a, piece) for a in args]
        if any(lanes is None for lanes in known):
            return None
        arrays = tuple(np.asarray(lanes, np.int64) for lanes in known)
        found = INSTRUCTIONS[name].evaluate(arrays, dtype)
        root = self.builder.root
        if dtype is dt.b1:
            return self.mask_constant([bool(x) for x in found], root)
        numbers = tuple(int(x) for x in found)
        text = lane_constants(numbers, dt.i64)
        result = Value(text, dt.i64, root, len(numbers), low=min(numbers), high=max(numbers))
        result.known = numbers
        return result

    def _lanes_of(self, value: Value, piece: int) -> tuple[int, ...] | None:
        """The lanes of a piece of an i64 value, if they are known."""
        assert self.lockstep is not None
        width = self.lockstep.width
        if value.dtype is not dt.i64:
            return None
        if value.base is not None:
            if value.base.const is None:
                return None
            start = value.base.const + value.stride * piece * width
            return tuple(in_i64(start + value.stride * k) for k in range(width))
        if value.lanes:
            return value.known
        return None if value.const is None else (value.const,) * width

    def _run_of_sum(self, args: Sequence[Value]) -> tuple[Value, int] | None:
        """The run of a vector that has one and a scalar."""
        for one, other in ((args[0], args[1]), (args[1], args[0])):
            if one.run is not None and not other.lanes and other.base is None:
                first, count = one.run
                return self.scalar("add", dt.i64, [other, first]), count
        return None

    def _clamped(self, args: Sequence[Value], piece: int) -> Value | None:
        """min(b + lane, limit) where it is known which lanes the limit reaches: the sequence, the
        limit, or a vector with a run; None for another shape."""
        sequence, limit = args if args[0].base is not None else (args[1], args[0])
        if sequence.base is None or sequence.stride != 1 or limit.base is not None or limit.lanes:
            return None
        bounds = (sequence.low, sequence.high, limit.low, limit.high)
        if any(bound is None or abs(bound) >= 1 << 62 for bound in bounds):
            return None  # either, or the distance, may wrap
        distance = self.scalar("sub", dt.i64, [limit, sequence.base]).const
        if distance is None:
            return None
        assert self.lockstep is not None
        width = self.lockstep.width
        first = piece * width
        if distance >= first + width - 1:
            return sequence
        if distance <= first:
            return limit
        result = self._materialise(sequence, piece, dt.i64, distance)
        start = self.scalar("add", dt.i64, [sequence.base, self.index(first)])
        found = Value(*(result.ref, dt.i64, result.scope, width), low=start.low, high=limit.high)
        found.run = (start, distance - first + 1)
        return found

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

    def reduce_lanes(self, name: str, value: Value) -> Value:
        """`llvm.vector.reduce.NAME` of a vector; a scalar passes through."""
        if not value.lanes:
            return value
        one = register_type(value.dtype)
        full = f"llvm.vector.reduce.{name}.{suffix(value.type)}"
        head = self.builder.intrinsic(full, one, [value.type])
        return Value(self.builder.emit(f"{head}({value})"), value.dtype, self.builder.scope)

    # --- masks ------------------------------------------------------------------------------------

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
