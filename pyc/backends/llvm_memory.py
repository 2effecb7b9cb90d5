"""Loads and stores as LLVM text: addresses, alignment, masks, gathers.

An index that is a unit-stride lane sequence becomes one vector access per piece; a uniform index a
scalar access; anything else a gather or scatter. Under a mask only active lanes touch memory. A
local buffer allocated inside a vector loop is private to each lane: its elements are stored lane by
lane, so that access with a uniform index is again one vector access.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import gcd, prod

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import (
    Builder,
    Scope,
    Value,
    deepest,
    lane_constants,
    memory_type,
    register_type,
    splat,
    suffix,
)
from pyc.backends.llvm_expr import ExpressionEmitter
from pyc.frozen import slotted
from pyc.ir import dtype as dt
from pyc.ir.expr import Expr, Load
from pyc.ir.loops import Buffer

INTRINSICS = (
    *("llvm.masked.load", "llvm.masked.store", "llvm.masked.gather", "llvm.masked.scatter"),
)


@slotted
class Place:
    """Where a buffer lies: its base address and the LLVM type of the address. lanes: 0, or how many
    lanes of a vector loop have one each (element e of lane l is at e * lanes + l)."""

    address: str
    pointer: str
    scope: Scope
    lanes: int = 0


class MemoryEmitter(ExpressionEmitter):
    """Expression evaluation with memory."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.places: dict[Buffer, Place] = {}

    @abstractmethod
    def load_metadata(self, buffer: Buffer) -> str:
        """Text after a plain load of `buffer` (", !invariant.load !1" and the like), or ""."""

    @abstractmethod
    def store_metadata(self, buffer: Buffer, alignment: int, nbytes: int) -> str:
        """Text after a plain store of `nbytes` to an address of `buffer` so aligned, or ""."""

    def is_private(self, buffer: Buffer) -> bool:
        """Whether each lane of the vector loop has its own `buffer`."""
        return self.places[buffer].lanes > 0

    # --- addresses --------------------------------------------------------------------------------

    def strides(self, buffer: Buffer) -> tuple[Value, ...]:
        """Distance in elements between neighbours along each axis."""
        if buffer.strides is not None:
            return tuple(self._extent(s) for s in buffer.strides)
        out: list[Value] = []
        step = self.index(1)
        for extent in reversed(buffer.shape):
            out.append(step)
            step = self.scalar("mul", dt.i64, [step, self._extent(extent)])
        return tuple(reversed(out))

    def _extent(self, extent: int | Expr) -> Value:
        return self.index(extent) if isinstance(extent, int) else self.uniform(extent)

    def linear(self, buffer: Buffer, index: Sequence[Expr], piece: int) -> Value:
        """The element number of buffer[index]: a scalar, a sequence, or the vector of a piece."""
        if len(index) != len(buffer.shape):
            raise ValueError(
                f"buffer {buffer.name} of rank {len(buffer.shape)} has {len(index)} indices"
            )
        axes = [self.any_form(i, piece) for i in index]
        place = self.places[buffer]
        strides = self.strides(buffer)
        if place.lanes:
            lanes = self.index(place.lanes)
            strides = tuple(self.scalar("mul", dt.i64, [s, lanes]) for s in strides)
            axes.append(self.make_sequence(self.index(0), 1))
            strides = (*strides, self.index(1))
        return self._dot(axes, strides, piece)

    def _dot(self, axes: Sequence[Value], strides: Sequence[Value], piece: int) -> Value:
        """The sum of axes[k] * strides[k]; outer-loop terms first, so that they leave the loop."""
        scalars: list[Value] = []
        vectors: list[Value] = []
        lane_stride = 0
        for value, stride in zip(axes, strides, strict=True):
            if value.base is not None and stride.const is not None:
                lane_stride += value.stride * stride.const
                scalars.append(self.scalar("mul", dt.i64, [value.base, stride]))
            elif value.base is not None or value.lanes:
                vectors.append(self._scaled(self.as_vector(value, piece), stride, piece))
            else:
                scalars.append(self.scalar("mul", dt.i64, [value, stride]))
        scalars.sort(key=lambda v: v.scope.depth)
        total = self.index(0)
        for term in scalars:
            total = self.scalar("add", dt.i64, [total, term])
        combined = self.make_sequence(total, lane_stride)
        for vector in vectors:
            combined = self._vector("add", dt.i64, [combined, vector], piece, None)
        return combined

    def _scaled(self, value: Value, stride: Value, piece: int) -> Value:
        if stride.const == 1:
            return value
        return self._vector("mul", dt.i64, [value, stride], piece, None)

    def _pointer(self, buffer: Buffer, element: Value) -> str:
        """The address of a scalar element number."""
        root, constant = element.anchor
        if constant:
            return self._offset(buffer, root, constant, self.builder.placement(element.scope))
        place = self.places[buffer]
        if element.const == 0:
            return place.address
        key = ("address", place.address, element.ref, buffer.dtype.itemsize)
        found = self._derived.get(key)
        if found is not None and found.scope.open:
            return found.ref
        where = deepest((element.scope, place.scope))
        target = self.builder.placement(where)
        # Not `inbounds`: the constant of the index is added behind it.
        text = f"getelementptr {memory_type(buffer.dtype)}, {place.pointer} {place.address}"
        ref = self.builder.emit(f"{text}, i64 {element.ref}", target)
        self._derived[key] = Value(ref, dt.i64, target)
        return ref

    def _offset(self, buffer: Buffer, base: Value, elements: int, scope: Scope) -> str:
        """The address of `elements` after a scalar element number."""
        root, constant = base.anchor
        elements += constant
        address = self._pointer(buffer, root)
        if elements == 0:
            return address
        place = self.places[buffer]
        key = ("displaced", address, elements, buffer.dtype.itemsize)
        found = self._derived.get(key)
        if found is not None and found.scope.open:
            return found.ref
        size = elements * buffer.dtype.itemsize
        text = f"getelementptr i8, {place.pointer} {address}, i64 {size}"
        ref = self.builder.emit(text, scope)
        self._derived[key] = Value(ref, dt.i64, scope)
        return ref

    def alignment(self, buffer: Buffer, base: Value, elements: int = 0) -> int:
        """The power of two that divides the address of `elements` after element `base`."""
        size = buffer.dtype.itemsize
        known = gcd(self.start_alignment(buffer), gcd(base.multiple, elements) * size)
        return max(known & -known, size if size & (size - 1) == 0 else 1)

    def start_alignment(self, buffer: Buffer) -> int:
        """Bytes that the address of a buffer is a multiple of."""
        return buffer.alignment

    def in_bounds(self, buffer: Buffer, index: Sequence[Expr], piece: int) -> bool:
        """Whether every index is known to be inside a constant shape."""
        for axis, extent in zip(index, buffer.shape, strict=True):
            value = self.any_form(axis, piece)
            if not isinstance(extent, int) or not self.is_inside(value, extent):
                return False
        return True

    # --- loads ------------------------------------------------------------------------------------

    def load(self, node: Load, piece: int) -> Value:
        """The element(s) that `node` reads; piece is -1 for a uniform read."""
        buffer = node.buffer
        volatile = buffer in self.written
        element = self.linear(buffer, node.index, piece)
        safe = self.in_bounds(buffer, node.index, piece)
        mask = None if safe or piece < 0 else self.mask_of(piece)
        number = element.ref if element.base is None else (element.base.ref, element.stride)
        width = self.lockstep.width if self.lockstep is not None else 0
        key = ("load", id(buffer), number, piece, width, mask.ref if mask is not None else "")
        if not volatile and (found := self._derived.get(key)) is not None and found.scope.open:
            return found
        result = self._load(buffer, element, piece, safe, mask, volatile)
        if not volatile:
            self._derived[key] = result
        return result

    def _load(
        self,
        buffer: Buffer,
        element: Value,
        piece: int,
        safe: bool,
        mask: Value | None,
        volatile: bool,
    ) -> Value:
        here = self.builder.scope
        if volatile or (self.mask is not None and not safe):
            scope = here
        else:
            needed = deepest((element.scope, self.places[buffer].scope))
            scope = self.builder.placement(needed, speculative=safe)
        if not element.lanes and element.base is None:
            if self.mask is not None and not safe:
                return self._load_if_any(buffer, element, scope)
            address = self._pointer(buffer, element)
            alignment = self.alignment(buffer, element)
            return self._plain_load(buffer, address, alignment, 0, scope)
        return self._load_lanes(buffer, element, piece, mask, scope)

    def mask_of(self, piece: int) -> Value | None:
        """The active lanes of a piece, None for all."""
        if self.mask is None:
            return None
        mask = self.mask[piece]
        return None if isinstance(mask.const, tuple) and all(mask.const) else mask

    def _plain_load(
        self, buffer: Buffer, address: str, alignment: int, lanes: int, scope: Scope
    ) -> Value:
        type = memory_type(buffer.dtype, lanes)
        pointer = self.places[buffer].pointer
        text = f"load {type}, {pointer} {address}, align {alignment}{self.load_metadata(buffer)}"
        return self._from_memory(self.builder.emit(text, scope), buffer, lanes, scope)

    def _from_memory(self, ref: str, buffer: Buffer, lanes: int, scope: Scope) -> Value:
        if buffer.dtype is dt.b1:
            zero = "zeroinitializer" if lanes else "0"
            ref = self.builder.emit(f"icmp ne {memory_type(dt.b1, lanes)} {ref}, {zero}", scope)
        return Value(ref, buffer.dtype, scope, lanes)

    def _load_if_any(self, buffer: Buffer, element: Value, scope: Scope) -> Value:
        """A uniform load that happens only if some lane is active, else zero."""
        assert self.mask is not None
        active = self.any_lane(self.mask)
        one = self.builder.emit(f"insertelement <1 x i1> poison, i1 {active.ref}, i64 0", scope)
        type = memory_type(buffer.dtype, 1)
        address = self._pointer(buffer, element)
        ref = self._masked_load(buffer, type, address, self.alignment(buffer, element), one, scope)
        scalar = self.builder.emit(f"extractelement {type} {ref}, i64 0", scope)
        return self._from_memory(scalar, buffer, 0, scope)

    def load_where(self, node: Load, mask: Value, otherwise: Value, piece: int) -> Value | None:
        """What `node` reads in the first lanes and a constant in the others, where these lanes are
        neighbours: one masked load."""
        buffer = node.buffer
        if buffer.dtype is dt.b1 or buffer in self.written or self.mask_of(piece) is not None:
            return None
        lanes, constant = mask.const, not otherwise.lanes and not otherwise.ref.startswith("%")
        if not isinstance(lanes, tuple) or not constant or not all(lanes[: sum(lanes)]):
            return None
        element = self.linear(buffer, node.index, piece)
        if element.run is None or sum(lanes) > element.run[1]:
            return None
        first, width = element.run[0], len(lanes)
        needed = deepest((element.scope, self.places[buffer].scope))
        safe = self.in_bounds(buffer, node.index, piece)
        scope = self.builder.placement(needed, speculative=safe)
        type = memory_type(buffer.dtype, width)
        address, alignment = self._pointer(buffer, first), self.alignment(buffer, first)
        rest = splat(otherwise.ref, buffer.dtype, width)
        ref = self._masked_load(buffer, type, address, alignment, mask.ref, scope, rest)
        return Value(ref, buffer.dtype, scope, width)

    def _masked_load(
        self,
        buffer: Buffer,
        type: str,
        address: str,
        alignment: int,
        mask: str,
        scope: Scope,
        rest: str = "zeroinitializer",
    ) -> str:
        pointer = self.places[buffer].pointer
        lanes = type[1 : type.index(" ")]
        masks = f"<{lanes} x i1>"
        head = self.builder.intrinsic(
            f"llvm.masked.load.{suffix(type)}.{suffix(pointer)}", type, [pointer, masks, type]
        )
        arguments = f"{pointer} align {alignment} {address}, {masks} {mask}"
        return self.builder.emit(f"{head}({arguments}, {type} {rest})", scope)

    def _load_lanes(
        self, buffer: Buffer, element: Value, piece: int, mask: Value | None, scope: Scope
    ) -> Value:
        assert self.lockstep is not None
        width = self.lockstep.width
        if element.base is not None and element.stride == 1:
            address = self._offset(buffer, element.base, piece * width, scope)
            alignment = self.alignment(buffer, element.base, piece * width)
            if mask is None:
                return self._plain_load(buffer, address, alignment, width, scope)
            type = memory_type(buffer.dtype, width)
            ref = self._masked_load(buffer, type, address, alignment, mask.ref, scope)
            return self._from_memory(ref, buffer, width, scope)
        if element.run is not None and mask is None:
            return self._load_run(buffer, *element.run, scope)
        if element.base is not None and element.stride == -1 and mask is None:
            return self._load_reversed(buffer, element, piece, scope)
        if element.base is not None and 2 <= element.stride <= 5 and mask is None:
            return self._load_strided(buffer, element, piece, scope)
        pointers = self._pointers(buffer, element, piece, scope)
        type = memory_type(buffer.dtype, width)
        many = self._many(buffer, width)
        head = self.builder.intrinsic(
            f"llvm.masked.gather.{suffix(type)}.{suffix(many)}",
            type,
            [many, f"<{width} x i1>", type],
        )
        lanes = mask.ref if mask is not None else lane_constants([True] * width, dt.b1)
        size = buffer.dtype.itemsize
        arguments = f"{many} align {size} {pointers}, <{width} x i1> {lanes}"
        ref = self.builder.emit(f"{head}({arguments}, {type} zeroinitializer)", scope)
        return self._from_memory(ref, buffer, width, scope)

    def _load_run(self, buffer: Buffer, first: Value, count: int, scope: Scope) -> Value:
        """Lanes that are neighbours up to one, which the others repeat: a vector load of these."""
        assert self.lockstep is not None
        width = self.lockstep.width
        type = memory_type(buffer.dtype, width)
        mask = lane_constants([k < count for k in range(width)], dt.b1)
        address, alignment = self._pointer(buffer, first), self.alignment(buffer, first)
        ref = self._masked_load(buffer, type, address, alignment, mask, scope)
        order = ", ".join(f"i32 {min(k, count - 1)}" for k in range(width))
        text = f"shufflevector {type} {ref}, {type} poison, <{width} x i32> <{order}>"
        return self._from_memory(self.builder.emit(text, scope), buffer, width, scope)

    def _load_reversed(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> Value:
        """Lanes that run backwards: a vector load from the last one, turned round."""
        assert self.lockstep is not None and element.base is not None
        width = self.lockstep.width
        last = -((piece + 1) * width - 1)
        address = self._offset(buffer, element.base, last, scope)
        alignment = self.alignment(buffer, element.base, last)
        value = self._plain_load(buffer, address, alignment, width, scope)
        return self._reverse(value, scope)

    def _reverse(self, value: Value, scope: Scope) -> Value:
        order = ", ".join(f"i32 {k}" for k in reversed(range(value.lanes)))
        text = f"shufflevector {value}, {value.type} poison, <{value.lanes} x i32> <{order}>"
        return Value(self.builder.emit(text, scope), value.dtype, scope, value.lanes)

    def _load_strided(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> Value:
        """Every second to fourth element, from vector loads that cover them and nothing beyond.

        The loads start at a multiple of the stride where the buffer is known to hold the whole
        group, so that its other members (real and imaginary parts) use the same loads.
        """
        assert self.lockstep is not None and element.base is not None
        width, stride = self.lockstep.width, element.stride
        member = element.base.anchor[1] % stride
        first = piece * width * stride - member
        size = _constant_size(buffer)
        before, after = element.low, element.high
        grouped = (
            size is not None
            and before is not None
            and after is not None
            and before >= member
            and after + stride - 1 - member < size
        )
        if not grouped:
            first, member = piece * width * stride, 0
        starts = [k * width for k in range(stride)]
        if not grouped:
            starts[-1] = stride * (width - 1) + 1 - width
        parts = []
        for start in starts:
            address = self._offset(buffer, element.base, first + start, scope)
            alignment = self.alignment(buffer, element.base, first + start)
            key = ("part", id(buffer), address, width)
            part = self._derived.get(key)
            if part is None or not part.scope.open or buffer in self.written:
                part = self._plain_load(buffer, address, alignment, width, scope)
                self._derived[key] = part
            parts.append(part)
        gathered = parts[0]
        for number in range(1, stride):
            order = []
            for lane in range(width):
                at = stride * lane + member
                source = min(at // width, stride - 1)
                if source == number:
                    order.append(f"i32 {width + at - starts[number]}")
                elif source < number:
                    order.append(f"i32 {at if number == 1 else lane}")
                else:
                    order.append("i32 poison")
            text = (
                f"shufflevector {gathered}, {parts[number]}, <{width} x i32> <{', '.join(order)}>"
            )
            ref = self.builder.emit(text, scope)
            gathered = Value(ref, buffer.dtype, scope, width)
        return gathered

    def _many(self, buffer: Buffer, width: int) -> str:
        return f"<{width} x {self.places[buffer].pointer}>"

    def _pointers(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> str:
        """The addresses of the lanes, by 32-bit offsets where the element numbers fit."""
        vector = self.as_vector(element, piece)
        assert self.lockstep is not None
        width = self.lockstep.width
        place = self.places[buffer]
        offsets = str(vector)
        if self.is_inside(element, 1 << 31):
            narrow = register_type(dt.i32, width)
            if element.base is not None:
                offsets = f"{narrow} {self._materialise(element, piece, dt.i32).ref}"
            else:
                offsets = f"{narrow} {self.builder.emit(f'trunc {vector} to {narrow}', scope)}"
        text = (
            f"getelementptr inbounds {memory_type(buffer.dtype)}, {place.pointer} {place.address}"
        )
        return self.builder.emit(f"{text}, {offsets}", scope)

    # --- stores -----------------------------------------------------------------------------------

    def _to_memory(self, value: Value) -> str:
        if value.dtype is not dt.b1:
            return value.ref
        return self.builder.emit(f"zext {value} to {memory_type(dt.b1, value.lanes)}")

    def store(self, buffer: Buffer, index: Sequence[Expr], value: Expr) -> None:
        """buffer[index] = value, outside of a vector loop."""
        b = self.builder
        element = self.linear(buffer, index, -1)
        self._plain_store(buffer, element, self.uniform(value), b.scope)

    def _plain_store(self, buffer: Buffer, element: Value, value: Value, scope: Scope) -> None:
        pointer = self.places[buffer].pointer
        address = self._pointer(buffer, element)
        type = memory_type(buffer.dtype)
        text = self._to_memory(value)
        align = self.alignment(buffer, element)
        self.builder.line(f"store {type} {text}, {pointer} {address}, align {align}")

    def store_piece(self, buffer: Buffer, index: Sequence[Expr], value: Expr, piece: int) -> None:
        """buffer[index] = value for the active lanes of one piece of a vector loop."""
        mask = self.mask_of(piece)
        if mask is not None and isinstance(mask.const, tuple) and not any(mask.const):
            return
        element = self.linear(buffer, index, piece)
        if not element.lanes and element.base is None:
            self._store_uniform(buffer, element, value, piece, mask)
            return
        self.store_lanes(buffer, element, self.varying(value, piece), piece, mask)

    def store_lanes(
        self, buffer: Buffer, element: Value, value: Value, piece: int, mask: Value | None
    ) -> None:
        """Stores a vector to the element numbers of a sequence or a vector."""
        assert self.lockstep is not None
        b, width = self.builder, self.lockstep.width
        type = memory_type(buffer.dtype, width)
        masks = f"<{width} x i1>"
        pointer = self.places[buffer].pointer
        if element.base is not None and element.stride == 1:
            text = self._to_memory(value)
            address = self._offset(buffer, element.base, piece * width, b.scope)
            alignment = self.alignment(buffer, element.base, piece * width)
            if mask is None:
                facts = self.store_metadata(buffer, alignment, width * buffer.dtype.itemsize)
                b.line(f"store {type} {text}, {pointer} {address}, align {alignment}{facts}")
                return
            if isinstance(mask.const, tuple) and sum(mask.const) == 1:
                # LLVM 22 widens such a store of a truncated vector: it would write beyond the lane.
                lane = mask.const.index(True)
                one = b.emit(f"extractelement {type} {text}, i64 {lane}")
                address = self._offset(buffer, element.base, piece * width + lane, b.scope)
                size = buffer.dtype.itemsize
                b.line(
                    f"store {memory_type(buffer.dtype)} {one}, {pointer} {address}, align {size}"
                )
                return
            head = b.intrinsic(
                f"llvm.masked.store.{suffix(type)}.{suffix(pointer)}",
                "void",
                [type, pointer, masks],
            )
            b.line(
                f"{head}({type} {text}, {pointer} align {alignment} {address}, {masks} {mask.ref})"
            )
            return
        text = self._to_memory(value)
        pointers = self._pointers(buffer, element, piece, b.scope)
        many = self._many(buffer, width)
        head = b.intrinsic(
            f"llvm.masked.scatter.{suffix(type)}.{suffix(many)}", "void", [type, many, masks]
        )
        lanes = mask.ref if mask is not None else lane_constants([True] * width, dt.b1)
        size = buffer.dtype.itemsize
        b.line(f"{head}({type} {text}, {many} align {size} {pointers}, {masks} {lanes})")

    def store_interleaved(
        self, buffer: Buffer, element: Value, even: Value, odd: Value, piece: int
    ) -> None:
        """Stores even[k], odd[k] to elements 2 k and 2 k + 1 behind a sequence of stride 2."""
        assert self.lockstep is not None and element.base is not None
        b, width = self.builder, self.lockstep.width
        pointer, type = self.places[buffer].pointer, memory_type(buffer.dtype, width)
        first, second = self._to_memory(even), self._to_memory(odd)
        for half in range(2):
            places = range(half * width, (half + 1) * width)
            order = [f"i32 {at // 2 + width * (at % 2)}" for at in places]
            mixed = b.emit(
                f"shufflevector {type} {first}, {type} {second}, "
                f"<{width} x i32> <{', '.join(order)}>"
            )
            at = (2 * piece + half) * width
            address = self._offset(buffer, element.base, at, b.scope)
            alignment = self.alignment(buffer, element.base, at)
            b.line(f"store {type} {mixed}, {pointer} {address}, align {alignment}")

    def _store_uniform(
        self, buffer: Buffer, element: Value, value: Expr, piece: int, mask: Value | None
    ) -> None:
        """All lanes store to one element: the last active one remains."""
        b = self.builder
        known = mask is None or isinstance(mask.const, tuple)
        if known:
            lane = 0
            if mask is not None:
                lane = max(k for k, on in enumerate(mask.const) if on)
            elif self.lockstep is not None:
                lane = self.lockstep.width - 1
            self._plain_store(
                buffer, element, self._lane(self.any_form(value, piece), piece, lane), b.scope
            )
            return
        assert mask is not None and self.lockstep is not None
        width = self.lockstep.width
        store, done = b.name("store"), b.name("done")
        found = self.any_form(value, piece)
        b.line(f"br i1 {self.any_lane([mask]).ref}, label %{store}, label %{done}")
        b.open("branch")
        b.label(store)
        if found.lanes or found.base is not None:
            vector = self.as_vector(found, piece)
            bits = b.emit(f"bitcast <{width} x i1> {mask.ref} to i{width}")
            zeros = Value(bits, dt.i64, b.scope)
            head = b.intrinsic(f"llvm.ctlz.i{width}", f"i{width}", [f"i{width}", "i1"])
            leading = b.emit(f"{head}(i{width} {zeros.ref}, i1 true)")
            position = b.emit(f"sub i{width} {width - 1}, {leading}")
            found = Value(
                b.emit(f"extractelement {vector}, i{width} {position}"), vector.dtype, b.scope
            )
        self._plain_store(buffer, element, found, b.scope)
        b.line(f"br label %{done}")
        b.close()
        b.label(done)

    def _lane(self, value: Value, piece: int, lane: int) -> Value:
        """One lane of a value, as a scalar."""
        if value.base is not None:
            assert self.lockstep is not None
            offset = value.stride * (piece * self.lockstep.width + lane)
            return self.scalar("add", dt.i64, [value.base, self.index(offset)])
        if not value.lanes:
            return value
        ref = self.builder.emit(f"extractelement {value}, i64 {lane}")
        return Value(ref, value.dtype, self.builder.scope)

    # --- accumulation -----------------------------------------------------------------------------

    def accumulate(self, buffer: Buffer, index: Sequence[Expr], value: Expr, name: str) -> None:
        """buffer[index] = buffer[index] . value outside of a vector loop; name: the instruction."""
        element = self.linear(buffer, index, -1)
        self._accumulate_one(buffer, element, self.uniform(value), name)

    def _accumulate_one(self, buffer: Buffer, element: Value, value: Value, name: str) -> None:
        scope = self.builder.scope
        address = self._pointer(buffer, element)
        old = self._plain_load(buffer, address, self.alignment(buffer, element), 0, scope)
        ref = llvm_scalar.emit(self.builder, name, buffer.dtype, [old, value], 0, scope)
        self._plain_store(buffer, element, Value(ref, buffer.dtype, scope), scope)

    def accumulate_piece(
        self, buffer: Buffer, element: Value, term: Value, name: str, piece: int
    ) -> None:
        """The same for the active lanes of one piece, in lane order where they may collide."""
        assert self.lockstep is not None
        b, width = self.builder, self.lockstep.width
        mask = self.mask_of(piece)
        if mask is not None and isinstance(mask.const, tuple) and not any(mask.const):
            return
        if element.base is not None:  # distinct elements
            old = self._load_lanes(buffer, element, piece, mask, b.scope)
            vector = self.as_vector(term, piece)
            new = llvm_scalar.emit(b, name, buffer.dtype, [old, vector], width, b.scope)
            self.store_lanes(buffer, element, Value(new, buffer.dtype, b.scope, width), piece, mask)
            return
        for lane in range(width):
            at, one = self._lane(element, piece, lane), self._lane(term, piece, lane)
            if mask is None or (isinstance(mask.const, tuple) and mask.const[lane]):
                self._accumulate_one(buffer, at, one, name)
            elif not isinstance(mask.const, tuple):
                active, done = b.name("active"), b.name("done")
                bit = b.emit(f"extractelement {mask}, i64 {lane}")
                b.line(f"br i1 {bit}, label %{active}, label %{done}")
                b.open("branch")
                b.label(active)
                self._accumulate_one(buffer, at, one, name)
                b.line(f"br label %{done}")
                b.close()
                b.label(done)

    # --- local buffers ----------------------------------------------------------------------------

    def stack_place(self, buffer: Buffer) -> Place:
        """A stack allocation for a local buffer, private to each lane inside a vector loop."""
        count = 1
        for extent in buffer.shape:
            if not isinstance(extent, int):
                raise ValueError(f"local buffer {buffer.name} needs a constant shape")
            count *= extent
        lanes = self.lockstep.extent if self.lockstep is not None else 0
        total = max(count, 1) * max(lanes, 1)
        alignment = max(64, buffer.alignment)
        address = self.builder.allocate(memory_type(buffer.dtype), total, alignment)
        return Place(address, "ptr", self.builder.root, lanes)


def _constant_size(buffer: Buffer) -> int | None:
    """Elements of a dense buffer of constant shape, else None."""
    if buffer.strides is not None or not all(isinstance(e, int) for e in buffer.shape):
        return None
    return prod(e for e in buffer.shape if isinstance(e, int))
