"""Loads at places that lie in memory, as LLVM text: x[places] of an array of integers.

A place counts from the end where it is below zero, and is held within the array. As a vector, that
is some instructions, and then each lane is taken out of the vector: more than the load itself. Here
a vector is only asked whether all its places are plain, that is inside and not below zero. They
mostly are, and then each is read again as a scalar, which is an address as it stands; the rest is
done where they are not.
"""

from __future__ import annotations

from math import prod

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import Scope, Value
from pyc.backends.llvm_expr import VARYING
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
        found = plain_place(node)
        if not self.plain_places or found is None or piece < 0 or self.mask_of(piece) is not None:
            return super().load(node, piece)
        place, extent = found
        first = self._neighbours(place, piece)
        assert self.lockstep is not None
        width = self.lockstep.width
        if node.buffer in self.written or first is None or self._lane_loads + width > LANE_LOADS:
            return super().load(node, piece)
        self._lane_loads += width
        return self._mostly_plain(node, place, first, extent, piece)

    def _neighbours(self, place: Expr, piece: int) -> Value | None:
        """The first element of a place that lanes read from neighbours in memory."""
        assert self.lockstep is not None
        inner = _stored(place)
        if inner.buffer in self.written or any(self.form(i) == VARYING for i in inner.index):
            return None
        element = self.linear(inner.buffer, inner.index, piece)
        return element if element.base is not None and element.stride == 1 else None

    def _mostly_plain(
        self, node: Load, place: Expr, element: Value, extent: int, piece: int
    ) -> Value:
        assert self.lockstep is not None and element.base is not None
        b, width = self.builder, self.lockstep.width
        places = self.varying(place, piece)
        beyond = b.emit(f"icmp uge {places}, splat (i64 {extent})")
        any_beyond = self.any_lane([Value(beyond, dt.b1, b.scope, width)])
        usual, rare, ends, join = (b.name(p) for p in ("plain", "rare", "ends", "join"))
        b.line(f"br i1 {any_beyond.ref}, label %{rare}, label %{usual}, !prof !0")
        before = b.open("branch").before
        b.label(usual)
        plain = self._each(node, place, element.base, piece, b.scope)
        b.line(f"br label %{join}")
        b.close()
        b.open("branch", before=before)
        b.label(rare)
        few, self._lane_loads = self._lane_loads, LANE_LOADS
        other = self.as_vector(super().load(node, piece), piece)
        self._lane_loads = few
        b.jump(ends)
        b.line(f"br label %{join}")
        b.close()
        b.label(join)
        ref = b.emit(f"phi {plain.type} [ {plain.ref}, %{usual} ], [ {other.ref}, %{ends} ]")
        return Value(ref, node.dtype, b.scope, width)

    def _each(self, node: Load, place: Expr, first: Value, piece: int, scope: Scope) -> Value:
        """Lane by lane, by places that are read lane by lane, where the array is near."""
        assert self.lockstep is not None
        if _is_far(node.buffer):
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


def plain_place(node: Load) -> tuple[Expr, int] | None:
    """The place p that a load reads at, and n, where it reads element p if 0 <= p < n, and p lies
    in memory: minimum(maximum(p or p + n, 0), n - 1)."""
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
    lies = isinstance(place, Load) or (
        isinstance(place, Apply) and place.name == "cast" and isinstance(place.args[0], Load)
    )
    integer = lies and _stored(place).buffer.dtype.is_integer
    return (place, extent) if integer and place.dtype is dt.i64 and extent > 0 else None


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
