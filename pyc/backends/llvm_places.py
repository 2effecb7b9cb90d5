"""Loads at places that vary by lane, as LLVM text: x[places] of an array of integers, or of numbers
that are computed.

A place counts from the end where it is below zero, and is held within the array. As a vector, that
is some instructions, and then each lane is taken out of the vector: more than the load itself. Here
a vector is only asked whether all its places are plain, that is inside and not below zero. They
mostly are, and then each is an address as it stands; the rest is done where they are not.

* Places that lie in memory are read again as scalars.
* Places that are computed in 32 bits are taken out of the vector in pairs, as 64 bits.
* Two loads of neighbours, x[p] and x[p + 1], are one load of both for each lane.

Where one instruction gathers lanes quickly, it does so by the plain places as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeGuard

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import Scope, Value, memory_type, register_type, suffix
from pyc.backends.llvm_expr import VARYING, nodes_under
from pyc.backends.llvm_loads import LANE_LOADS, LoadEmitter
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Expr, Load
from pyc.ir.loops import Buffer

FAR = 1 << 18
"""Bytes of an array from which lanes by places in memory are loaded by one instruction: there they
wait for the caches, and more of them are under way at once where each is fewer instructions."""


class PlaceEmitter(LoadEmitter):
    """Expression evaluation that reads memory, by places in memory too."""

    plain_places = False
    """Whether the target gains by them."""

    def load(self, node: Load, piece: int) -> Value:
        """The element(s) that `node` reads; piece is -1 for a uniform read."""
        found = held_place(node)
        if not self.plain_places or found is None or piece < 0 or self.mask_of(piece) is not None:
            return super().load(node, piece)
        place, extent = found
        assert self.lockstep is not None
        width = self.lockstep.width
        if node.buffer in self.written or self._lane_loads + width > LANE_LOADS:
            return super().load(node, piece)
        if _lies_in_memory(place):
            element = self._neighbours(place, piece)
            if element is None or (first := element.base) is None:
                return super().load(node, piece)
            self._lane_loads += width
            (value,) = self._mostly_plain(
                [node],
                self._beyond(self.varying(place, piece), extent),
                piece,
                lambda scope: [self._each(node, place, first, piece, scope)],
            )
            return value
        if not _is_narrow(place, extent) or self.form(place) != VARYING:
            return super().load(node, piece)
        self._lane_loads += width
        return self._at_computed(node, place, extent, piece)

    def _at_computed(self, node: Load, place: Apply, extent: int, piece: int) -> Value:
        """The elements at places that are computed; a load of their neighbours is done with it."""
        other, step = self._neighbour_load(node, place, extent)
        loads = [node] if other is None else [node, other][::step]
        held = held_place(loads[0])
        assert held is not None and isinstance(held[0], Apply)
        places = self.varying(held[0].args[0], piece)
        beyond = self._beyond(places, extent + 1 - len(loads))
        values = self._mostly_plain(
            loads, beyond, piece, lambda scope: self._taken_out(node, places, len(loads), scope)
        )
        if other is not None:
            self._memo[other, piece] = values[loads.index(other)]
        return values[loads.index(node)]

    def _neighbour_load(self, node: Load, place: Apply, extent: int) -> tuple[Load | None, int]:
        """Another load of the statement that reads the elements behind (1) or before (-1)."""
        for other in nodes_under(self._roots):
            if not isinstance(other, Load) or other.buffer is not node.buffer or other is node:
                continue
            held = held_place(other)
            if held is None or held[1] != extent or not isinstance(held[0], Apply):
                continue
            if _is_narrow(held[0], extent):
                mine, its = place.args[0], held[0].args[0]
                if _is_next(mine, its):
                    return other, 1
                if _is_next(its, mine):
                    return other, -1
        return None, 1

    def _beyond(self, places: Value, extent: int) -> Value:
        """Which lanes are not plain places."""
        b = self.builder
        text = f"icmp uge {places}, splat ({register_type(places.dtype)} {extent})"
        return Value(b.emit(text), dt.b1, b.scope, places.lanes)

    def any_beyond(self, condition: Expr, piece: int) -> Value | None:
        """Lanes that are all for which a check of places can fail; None for another condition."""
        if not self.plain_places or piece < 0 or (found := checked_place(condition)) is None:
            return None
        place, extent = found
        if self.form(place) != VARYING:
            return None
        return self._beyond(self.varying(place.args[0], piece), extent)

    def _neighbours(self, place: Expr, piece: int) -> Value | None:
        """The first element of a place that lanes read from neighbours in memory."""
        assert self.lockstep is not None
        inner = _stored(place)
        if inner.buffer in self.written or any(self.form(i) == VARYING for i in inner.index):
            return None
        element = self.linear(inner.buffer, inner.index, piece)
        return element if element.base is not None and element.stride == 1 else None

    def _mostly_plain(
        self,
        loads: Sequence[Load],
        beyond: Value,
        piece: int,
        plainly: Callable[[Scope], list[Value]],
    ) -> list[Value]:
        """What loads read: `plainly`, unless some lane is `beyond`."""
        assert self.lockstep is not None
        b, width = self.builder, self.lockstep.width
        any_beyond = self.any_lane([beyond])
        usual, rare, ends, join = (b.name(p) for p in ("plain", "rare", "ends", "join"))
        b.line(f"br i1 {any_beyond.ref}, label %{rare}, label %{usual}, !prof !0")
        before = b.open("branch").before
        b.label(usual)
        plain = plainly(b.scope)
        b.line(f"br label %{join}")
        b.close()
        b.open("branch", before=before)
        b.label(rare)
        few, self._lane_loads = self._lane_loads, LANE_LOADS
        other = [self.as_vector(super(PlaceEmitter, self).load(n, piece), piece) for n in loads]
        self._lane_loads = few
        b.jump(ends)
        b.line(f"br label %{join}")
        b.close()
        b.label(join)
        found = []
        for one, two in zip(plain, other, strict=True):
            ref = b.emit(f"phi {one.type} [ {one.ref}, %{usual} ], [ {two.ref}, %{ends} ]")
            found.append(Value(ref, one.dtype, b.scope, width))
        return found

    def _taken_out(self, node: Load, places: Value, count: int, scope: Scope) -> list[Value]:
        """The elements at plain places, and those behind them (for a `count` of 2): each lane is
        taken out of the vector, two at once."""
        b, buffer = self.builder, node.buffer
        size = buffer.dtype.itemsize
        if self.gathers_quickly(buffer) and count * size <= 8:
            return self._gathered_plainly(buffer, places, count, scope)
        parts: list[str] = []
        type = memory_type(buffer.dtype, count)
        pointer = self.places[buffer].pointer
        pairs = f"<{places.lanes // 2} x i64>"
        both = b.emit(f"bitcast {places} to {pairs}", scope)
        for k in range(places.lanes // 2):
            pair = b.emit(f"extractelement {pairs} {both}, i64 {k}", scope)
            low = b.emit(f"and i64 {pair}, 4294967295", scope)
            high = b.emit(f"lshr i64 {pair}, 32", scope)
            for at in (low, high):
                address = self.pointer(buffer, Value(at, dt.i64, scope))
                text = f"load {type}, {pointer} {address}, align {size & -size}"
                parts.append(b.emit(text + self.load_metadata(buffer), scope))
        lanes = count
        while len(parts) > 1:
            parts = [
                b.emit(_shuffle(parts[k], parts[k + 1], buffer, lanes, range(2 * lanes)), scope)
                for k in range(0, len(parts), 2)
            ]
            lanes *= 2
        return self._of_each(parts[0], buffer, lanes, count, scope)

    def _gathered_plainly(
        self, buffer: Buffer, places: Value, count: int, scope: Scope
    ) -> list[Value]:
        """The same by one instruction, of a `count` of 2 as integers of both elements."""
        b, place, size = self.builder, self.places[buffer], buffer.dtype.itemsize
        type = register_type(buffer.dtype if count == 1 else dt.i64, places.lanes)
        many = self.many(buffer, places.lanes)
        element = memory_type(buffer.dtype)
        at = f"getelementptr inbounds {element}, {place.pointer} {place.address}, {places}"
        arguments = (
            f"{many} align {size} {b.emit(at, scope)}, <{places.lanes} x i1> splat (i1 true)"
        )
        head = b.intrinsic(
            f"llvm.masked.gather.{suffix(type)}.{suffix(many)}",
            type,
            [many, f"<{places.lanes} x i1>", type],
        )
        ref = b.emit(f"{head}({arguments}, {type} zeroinitializer)", scope)
        if count == 2:
            pairs = memory_type(buffer.dtype, 2 * places.lanes)
            ref = b.emit(f"bitcast {type} {ref} to {pairs}", scope)
        return self._of_each(ref, buffer, count * places.lanes, count, scope)

    def _of_each(
        self, ref: str, buffer: Buffer, lanes: int, count: int, scope: Scope
    ) -> list[Value]:
        """The first elements of groups of `count` neighbours, and the others."""
        if count == 1:
            return [self.from_memory(ref, buffer, lanes, scope)]
        found = []
        for first in range(count):
            order = range(first, lanes, count)
            one = self.builder.emit(_shuffle(ref, "poison", buffer, lanes, order), scope)
            found.append(self.from_memory(one, buffer, lanes // count, scope))
        return found

    def _each(self, node: Load, place: Expr, first: Value, piece: int, scope: Scope) -> Value:
        """Lane by lane, by places that are read lane by lane, where the array is near."""
        assert self.lockstep is not None
        if _is_far(node.buffer) or self.gathers_quickly(node.buffer):
            return self.gathered(node.buffer, self.varying(place, piece), piece, None, scope)
        inner, size = _stored(place), node.buffer.dtype.itemsize
        bytes_of_place, loaded = inner.buffer.dtype.itemsize, []
        for k in range(self.lockstep.width):
            address = self.offset(inner.buffer, first, piece * self.lockstep.width + k, scope)
            at = self.plain_load(inner.buffer, address, bytes_of_place, 0, scope)
            if at.dtype is not dt.i64:
                ref = llvm_scalar.emit(self.builder, "cast", dt.i64, [at], 0, scope)
                at = Value(ref, dt.i64, scope)
            address = self.pointer(node.buffer, at)
            loaded.append(self.plain_load(node.buffer, address, size & -size, 0, scope))
        return self._joined(loaded, scope)


def held_place(node: Load) -> tuple[Expr, int] | None:
    """The place p that a load reads at, and n, where it reads element p if 0 <= p < n:
    minimum(maximum(p or p + n, 0), n - 1)."""
    index = node.index[-1] if node.index else None
    if len(node.index) != 1 or not isinstance(index, Apply) or index.name != "minimum":
        return None
    last = index.args[1]
    if not isinstance(last, Const):
        return None
    held, extent = index.args[0], int(last.value) + 1
    if not isinstance(held, Apply) or held.name != "maximum" or not _is(held.args[1], 0):
        return None
    place = held.args[0]
    if isinstance(place, Apply) and place.name == "select":
        test, below, place = place.args
        if not _is_of(test, "lt", place) or not _is_of(below, "add", place):
            return None
        if not _is(test.operands[1], 0):
            return None
    return (place, extent) if place.dtype is dt.i64 and extent > 1 else None


def checked_place(condition: Expr) -> tuple[Apply, int] | None:
    """The place p and n of a check that fails where p >= n or p < -n."""
    if not isinstance(condition, Apply) or condition.name != "or":
        return None
    above, below = condition.args
    if not isinstance(above, Apply) or above.name != "ge":
        return None
    place, extent = above.args
    if not isinstance(extent, Const) or not _is_of(below, "lt", place):
        return None
    number = int(extent.value)
    if not _is(below.operands[1], -number) or not _is_narrow(place, number):
        return None
    assert isinstance(place, Apply)
    return place, number


def _is_narrow(place: Expr, extent: int) -> TypeGuard[Apply]:
    """Whether a place is computed in 32 bits."""
    cast = isinstance(place, Apply) and place.name == "cast" and place.dtype is dt.i64
    return cast and place.operands[0].dtype is dt.i32 and extent < 1 << 31


def _is_next(place: Expr, other: Expr) -> bool:
    """Whether another place is the next one."""
    if not isinstance(other, Apply) or other.name != "add":
        return False
    a, b = other.args
    return (a is place and _is(b, 1)) or (b is place and _is(a, 1))


def _lies_in_memory(place: Expr) -> bool:
    inner = place.args[0] if isinstance(place, Apply) and place.name == "cast" else place
    return isinstance(inner, Load) and inner.buffer.dtype.is_integer


def _shuffle(one: str, two: str, buffer: Buffer, lanes: int, order: range) -> str:
    """The instruction that takes elements of two vectors in an order."""
    type = memory_type(buffer.dtype, lanes)
    mask = ", ".join(f"i32 {k}" for k in order)
    return f"shufflevector {type} {one}, {type} {two}, <{len(order)} x i32> <{mask}>"


def _is_of(e: Expr, name: str, first: Expr) -> bool:
    return isinstance(e, Apply) and e.name == name and e.args[0] == first


def _is(e: Expr, value: int) -> bool:
    return isinstance(e, Const) and e.value == value


def _is_far(buffer: Buffer) -> bool:
    extents = [n for n in buffer.shape if isinstance(n, int)]
    return len(extents) == len(buffer.shape) and prod(extents) * buffer.dtype.itemsize >= FAR


def _stored(place: Expr) -> Load:
    """The load of a place that lies in memory."""
    inner = place.args[0] if isinstance(place, Apply) else place
    assert isinstance(inner, Load)
    return inner
