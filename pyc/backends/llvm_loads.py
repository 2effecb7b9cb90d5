"""Loads as LLVM text: plain, masked, reversed, strided, gathered.

An index that is a unit-stride lane sequence becomes one vector load per piece; a uniform index a
scalar load; small strides a few vector loads that cover them, and so constant places in a thread's
own buffer; anything else a scalar load per lane, or a gather. Under a mask only active lanes touch
memory.
"""

from __future__ import annotations

from abc import abstractmethod
from math import prod

from pyc.backends.llvm_addresses import AddressEmitter
from pyc.backends.llvm_builder import (
    Scope,
    Value,
    deepest,
    lane_constants,
    memory_type,
    register_type,
    splat,
    suffix,
)
from pyc.ir import dtype as dt
from pyc.ir.expr import Load
from pyc.ir.loops import Buffer, Space

LANE_LOADS = 64
"""Lanes of a kernel that are loaded one by one: beyond that the code takes long to compile."""


class LoadEmitter(AddressEmitter):
    """Expression evaluation that reads memory."""

    gathers = True
    """Whether the target loads lanes from anywhere by one instruction."""
    quick_gathers = False
    """Whether that takes less time than its loads one by one."""
    _lane_loads = 0

    @abstractmethod
    def load_metadata(self, buffer: Buffer) -> str:
        """Text after a plain load of `buffer` (", !invariant.load !1" and the like), or ""."""

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
            address = self.pointer(buffer, element)
            alignment = self.alignment(buffer, element)
            return self.plain_load(buffer, address, alignment, 0, scope)
        return self.load_lanes(buffer, element, piece, mask, scope)

    def plain_load(
        self, buffer: Buffer, address: str, alignment: int, lanes: int, scope: Scope
    ) -> Value:
        """An unmasked load of one element (lanes = 0), or of neighbours."""
        type = memory_type(buffer.dtype, lanes)
        pointer = self.places[buffer].pointer
        text = f"load {type}, {pointer} {address}, align {alignment}{self.load_metadata(buffer)}"
        return self.from_memory(self.builder.emit(text, scope), buffer, lanes, scope)

    def from_memory(self, ref: str, buffer: Buffer, lanes: int, scope: Scope) -> Value:
        """Stored elements as they are computed with."""
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
        address = self.pointer(buffer, element)
        ref = self._masked_load(buffer, type, address, self.alignment(buffer, element), one, scope)
        scalar = self.builder.emit(f"extractelement {type} {ref}, i64 0", scope)
        return self.from_memory(scalar, buffer, 0, scope)

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
        address, alignment = self.pointer(buffer, first), self.alignment(buffer, first)
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

    def load_lanes(
        self, buffer: Buffer, element: Value, piece: int, mask: Value | None, scope: Scope
    ) -> Value:
        """The active lanes of a piece of a sequence or a vector of element numbers."""
        assert self.lockstep is not None
        width = self.lockstep.width
        if element.base is not None and element.stride == 1:
            address = self.offset(buffer, element.base, piece * width, scope)
            alignment = self.alignment(buffer, element.base, piece * width)
            if mask is None:
                return self.plain_load(buffer, address, alignment, width, scope)
            type = memory_type(buffer.dtype, width)
            ref = self._masked_load(buffer, type, address, alignment, mask.ref, scope)
            return self.from_memory(ref, buffer, width, scope)
        if element.run is not None and mask is None:
            return self._load_run(buffer, *element.run, scope)
        if element.base is not None and element.stride == -1 and mask is None:
            return self._load_reversed(buffer, element, piece, scope)
        if element.base is not None and 2 <= element.stride <= 5 and mask is None:
            return self._load_strided(buffer, element, piece, scope)
        if element.base is not None and -5 <= element.stride <= -2 and mask is None:
            # From the other end, where the lanes run forwards, and turned round.
            last = element.stride * (self.lockstep.extent - 1)
            first = self.scalar("add", dt.i64, [element.base, self.index(last)])
            forwards = self.make_sequence(first, -element.stride)
            other = self.lockstep.count - 1 - piece
            return self._reverse(self._load_strided(buffer, forwards, other, scope), scope)
        if mask is None and (found := self._load_known(buffer, element, scope)) is not None:
            return found
        few = self._lane_loads + width <= LANE_LOADS
        one_by_one = few and not self.gathers_quickly(buffer)
        if mask is None and (one_by_one or not self.gathers):
            self._lane_loads += width
            return self._load_each(buffer, element, piece, scope)
        return self.gathered(buffer, element, piece, mask, scope)

    def _load_known(self, buffer: Buffer, element: Value, scope: Scope) -> Value | None:
        """Lanes whose places in a thread's own buffer are constants: from the one or two vectors
        that they lie in, None if there are more or the buffer does not hold them whole."""
        assert self.lockstep is not None
        width, size = self.lockstep.width, _constant_size(buffer)
        places = element.known
        if places is None or size is None or buffer.space not in (Space.STACK, Space.REGISTER):
            return None
        numbers = sorted({place // width for place in places})
        if len(numbers) > 2 or numbers[0] < 0 or (numbers[-1] + 1) * width > size:
            return None
        parts = []
        for number in numbers:
            at = self.index(number * width)
            address, alignment = self.pointer(buffer, at), self.alignment(buffer, at)
            parts.append(self.plain_load(buffer, address, alignment, width, scope))
        order = (place % width + width * numbers.index(place // width) for place in places)
        lanes = ", ".join(f"i32 {k}" for k in order)
        text = f"shufflevector {parts[0]}, {parts[-1]}, <{width} x i32> <{lanes}>"
        return Value(self.builder.emit(text, scope), buffer.dtype, scope, width)

    def gathers_quickly(self, buffer: Buffer) -> bool:
        """Whether one instruction loads lanes from anywhere in this buffer, and is worth it."""
        return self.quick_gathers and buffer.dtype.itemsize in (4, 8)

    def gathered(
        self, buffer: Buffer, element: Value, piece: int, mask: Value | None, scope: Scope
    ) -> Value:
        """The active lanes of a piece of element numbers, by one instruction."""
        assert self.lockstep is not None
        width = self.lockstep.width
        pointers = self.pointers(buffer, element, piece, scope)
        type = memory_type(buffer.dtype, width)
        many = self.many(buffer, width)
        head = self.builder.intrinsic(
            f"llvm.masked.gather.{suffix(type)}.{suffix(many)}",
            type,
            [many, f"<{width} x i1>", type],
        )
        lanes = mask.ref if mask is not None else lane_constants([True] * width, dt.b1)
        size = buffer.dtype.itemsize
        arguments = f"{many} align {size} {pointers}, <{width} x i1> {lanes}"
        ref = self.builder.emit(f"{head}({arguments}, {type} zeroinitializer)", scope)
        return self.from_memory(ref, buffer, width, scope)

    def _load_each(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> Value:
        """Lane by lane: an instruction that gathers takes a quarter longer (measured on an EPYC),
        unless it is quick, and LLVM sees whose memory it is."""
        assert self.lockstep is not None
        width = self.lockstep.width
        size = buffer.dtype.itemsize
        loaded: list[Value] = []
        for k in range(width):
            if element.base is not None:
                places = element.stride * (piece * width + k)
                address = self.offset(buffer, element.base, places, scope)
            else:
                at = self.builder.emit(f"extractelement {element}, i64 {k}", scope)
                address = self.pointer(buffer, Value(at, dt.i64, scope))
            loaded.append(self.plain_load(buffer, address, size & -size, 0, scope))
        return self._joined(loaded, scope)

    def _joined(self, lanes: list[Value], scope: Scope) -> Value:
        """A vector of scalars."""
        type = register_type(lanes[0].dtype, len(lanes))
        ref = "poison"
        for k, x in enumerate(lanes):
            ref = self.builder.emit(f"insertelement {type} {ref}, {x}, i64 {k}", scope)
        return Value(ref, lanes[0].dtype, scope, len(lanes))

    def _load_run(self, buffer: Buffer, first: Value, count: int, scope: Scope) -> Value:
        """Lanes that are neighbours up to one, which the others repeat: a vector load of these."""
        assert self.lockstep is not None
        width = self.lockstep.width
        type = memory_type(buffer.dtype, width)
        mask = lane_constants([k < count for k in range(width)], dt.b1)
        address, alignment = self.pointer(buffer, first), self.alignment(buffer, first)
        ref = self._masked_load(buffer, type, address, alignment, mask, scope)
        order = ", ".join(f"i32 {min(k, count - 1)}" for k in range(width))
        text = f"shufflevector {type} {ref}, {type} poison, <{width} x i32> <{order}>"
        return self.from_memory(self.builder.emit(text, scope), buffer, width, scope)

    def _load_reversed(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> Value:
        """Lanes that run backwards: a vector load from the last one, turned round."""
        assert self.lockstep is not None and element.base is not None
        width = self.lockstep.width
        last = -((piece + 1) * width - 1)
        address = self.offset(buffer, element.base, last, scope)
        alignment = self.alignment(buffer, element.base, last)
        value = self.plain_load(buffer, address, alignment, width, scope)
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
        base = element.base
        member = (base.anchor[1] if base.const is None else base.const) % stride
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
            address = self.offset(buffer, element.base, first + start, scope)
            alignment = self.alignment(buffer, element.base, first + start)
            key = ("part", id(buffer), address, width)
            part = self._derived.get(key)
            if part is None or not part.scope.open or buffer in self.written:
                part = self.plain_load(buffer, address, alignment, width, scope)
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


def _constant_size(buffer: Buffer) -> int | None:
    """Elements of a dense buffer of constant shape, else None."""
    if buffer.strides is not None or not all(isinstance(e, int) for e in buffer.shape):
        return None
    return prod(e for e in buffer.shape if isinstance(e, int))
