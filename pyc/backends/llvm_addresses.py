"""Addresses as LLVM text: where buffers lie, element numbers, what divides an address.

An element number is a scalar, a lane sequence (base and stride), or a vector for each piece. A
local buffer allocated inside a vector loop is private to each lane: its elements are stored lane by
lane, so that access with a uniform index is a sequence of unit stride.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from pyc.backends.llvm_builder import (
    Builder,
    Scope,
    Value,
    deepest,
    memory_type,
    register_type,
)
from pyc.backends.llvm_expr import ExpressionEmitter
from pyc.frozen import slotted
from pyc.ir import dtype as dt
from pyc.ir.expr import Expr
from pyc.ir.loops import Buffer


@slotted
class Place:
    """Where a buffer lies: its base address and the LLVM type of the address. lanes: 0, or how many
    lanes of a vector loop have one each (element e of lane l is at e * lanes + l)."""

    address: str
    pointer: str
    scope: Scope
    lanes: int = 0


class AddressEmitter(ExpressionEmitter):
    """Expression evaluation that knows where buffers lie."""

    def __init__(self, builder: Builder) -> None:
        super().__init__(builder)
        self.places: dict[Buffer, Place] = {}

    def is_private(self, buffer: Buffer) -> bool:
        """Whether each lane of the vector loop has its own `buffer`."""
        return self.places[buffer].lanes > 0

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

    def pointer(self, buffer: Buffer, element: Value) -> str:
        """The address of a scalar element number."""
        root, constant = element.anchor
        if constant:
            return self.offset(buffer, root, constant, self.builder.placement(element.scope))
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

    def offset(self, buffer: Buffer, base: Value, elements: int, scope: Scope) -> str:
        """The address of `elements` after a scalar element number."""
        root, constant = base.anchor
        elements += constant
        address = self.pointer(buffer, root)
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

    def mask_of(self, piece: int) -> Value | None:
        """The active lanes of a piece, None for all."""
        if self.mask is None:
            return None
        mask = self.mask[piece]
        return None if isinstance(mask.const, tuple) and all(mask.const) else mask

    def many(self, buffer: Buffer, width: int) -> str:
        """The type of as many addresses."""
        return f"<{width} x {self.places[buffer].pointer}>"

    def pointers(self, buffer: Buffer, element: Value, piece: int, scope: Scope) -> str:
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
