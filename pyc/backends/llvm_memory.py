"""Stores, accumulation and local buffers as LLVM text.

An index that is a unit-stride lane sequence becomes one vector store per piece; a uniform index a
scalar store of the last active lane; anything else a scatter. Under a mask only active lanes touch
memory. `llvm_loads` reads, `llvm_addresses` says where.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from pyc.backends import llvm_scalar
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import (
    Scope,
    Value,
    lane_constants,
    memory_type,
    suffix,
)
from pyc.backends.llvm_places import PlaceEmitter
from pyc.ir import dtype as dt
from pyc.ir.expr import Expr
from pyc.ir.loops import Buffer

INTRINSICS = (
    *("llvm.masked.load", "llvm.masked.store", "llvm.masked.gather", "llvm.masked.scatter"),
)


class MemoryEmitter(PlaceEmitter):
    """Expression evaluation with memory."""

    @abstractmethod
    def store_metadata(self, buffer: Buffer, alignment: int, nbytes: int) -> str:
        """Text after a plain store of `nbytes` to an address of `buffer` so aligned, or ""."""

    @abstractmethod
    def accumulated_at_once(self, buffer: Buffer, element: Value, term: Value, name: str) -> bool:
        """Emits an accumulation that other threads cannot come between, if the target has threads
        that may meet in `buffer` and their order does not show; else False, and nothing."""

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
        address = self.pointer(buffer, element)
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
            address = self.offset(buffer, element.base, piece * width, b.scope)
            alignment = self.alignment(buffer, element.base, piece * width)
            if mask is None:
                facts = self.store_metadata(buffer, alignment, width * buffer.dtype.itemsize)
                b.line(f"store {type} {text}, {pointer} {address}, align {alignment}{facts}")
                return
            if isinstance(mask.const, tuple) and sum(mask.const) == 1:
                # LLVM 22 widens such a store of a truncated vector: it would write beyond the lane.
                lane = mask.const.index(True)
                one = b.emit(f"extractelement {type} {text}, i64 {lane}")
                address = self.offset(buffer, element.base, piece * width + lane, b.scope)
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
        pointers = self.pointers(buffer, element, piece, b.scope)
        many = self.many(buffer, width)
        head = b.intrinsic(
            f"llvm.masked.scatter.{suffix(type)}.{suffix(many)}", "void", [type, many, masks]
        )
        lanes = mask.ref if mask is not None else lane_constants([True] * width, dt.b1)
        size = buffer.dtype.itemsize
        b.line(f"{head}({type} {text}, {many} align {size} {pointers}, {masks} {lanes})")

    def store_interleaved(
        self, buffer: Buffer, element: Value, values: Sequence[Value], piece: int
    ) -> None:
        """Stores values[j][k] to element j + n k behind a sequence of stride n, the number of
        values, which is a power of two: n whole vectors."""
        assert self.lockstep is not None and element.base is not None
        b, width = self.builder, self.lockstep.width
        pointer, type = self.places[buffer].pointer, memory_type(buffer.dtype, width)
        halves = [
            ", ".join(f"i32 {(half * width + k) // 2 + width * (k % 2)}" for k in range(width))
            for half in range(2)
        ]
        lines = [[self._to_memory(v)] for v in values]
        while len(lines) > 1:
            # Each with the one half as many values further on: these lie between in the end.
            half = len(lines) // 2
            lines = [
                [
                    b.emit(
                        f"shufflevector {type} {x}, {type} {y}, <{width} x i32> <{order}>",
                    )
                    for x, y in zip(lines[k], lines[k + half], strict=True)
                    for order in halves
                ]
                for k in range(half)
            ]
        for number, mixed in enumerate(lines[0]):
            at = (len(values) * piece + number) * width
            address = self.offset(buffer, element.base, at, b.scope)
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
        element, term = self.linear(buffer, index, -1), self.uniform(value)
        if not self.accumulated_at_once(buffer, element, term, name):
            self._accumulate_one(buffer, element, term, name)

    def _accumulate_one(self, buffer: Buffer, element: Value, value: Value, name: str) -> None:
        scope = self.builder.scope
        address = self.pointer(buffer, element)
        old = self.plain_load(buffer, address, self.alignment(buffer, element), 0, scope)
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
            old = self.load_lanes(buffer, element, piece, mask, b.scope)
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
