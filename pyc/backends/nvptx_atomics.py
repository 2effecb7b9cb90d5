"""Accumulation by many threads at once, as atomic instructions.

`Accumulate` into memory that threads share meets in any order where the order cannot show: those of
integers, and of minima, maxima and bits. Integers have instructions; the rest is a loop that tries
again until no other thread came between. What has an order stays a load and a store: one thread
does it.
"""

from __future__ import annotations

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import Value, memory_type
from pyc.backends.llvm_memory import MemoryEmitter
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.loops import Buffer, Space

_PRIVATE = (Space.STACK, Space.REGISTER)
_SIGNED = {"add": "add", "and": "and", "or": "or", "xor": "xor", "minimum": "min", "maximum": "max"}
_UNSIGNED = {**_SIGNED, "minimum": "umin", "maximum": "umax"}
_ORDER = 'syncscope("device") monotonic'


def order_free(monoid: str, dtype: DType) -> bool:
    """Whether accumulation in any order gives the same bits."""
    return not dtype.is_float or monoid in ("minimum", "maximum")


class AtomicEmitter(MemoryEmitter):
    """Memory that threads share."""

    def accumulated_at_once(self, buffer: Buffer, element: Value, term: Value, name: str) -> bool:
        """Whether it is done, because other threads may do the same; name: the instruction."""
        dtype = buffer.dtype
        if buffer.space in _PRIVATE or not order_free(name, dtype):
            return False
        address = self.pointer(buffer, element)
        found = (_SIGNED if dtype.kind == "int" else _UNSIGNED).get(name)
        if found is None or not dtype.is_integer or dtype.bits < 32:
            self._tried_again(buffer, address, term, name)
            return True
        place = f"{self.places[buffer].pointer} {address}"
        text = f"atomicrmw {found} {place}, {memory_type(dtype)} {term.ref} {_ORDER}"
        self.builder.emit(text)
        return True

    def _tried_again(self, buffer: Buffer, address: str, term: Value, name: str) -> None:
        """Exchanges what is there for what it becomes, unless it has changed since."""
        b, dtype = self.builder, buffer.dtype
        type = f"i{dtype.itemsize * 8}"
        place = f"{self.places[buffer].pointer} {address}"
        start, again, done = b.name("start"), b.name("again"), b.name("done")
        known = b.emit(f"load atomic {type}, {place} {_ORDER}, align {dtype.itemsize}")
        b.jump(start)
        b.line(f"br label %{again}")
        b.label(again)
        scope = b.open("branch", certain=False)
        old, seen, tried = (f"%{b.name('old')}" for _ in range(3))
        phi = f"  {old} = phi {type} [ {known}, %{start} ], [ {seen}, %{{latch}} ]"
        at = len(scope.lines)
        scope.lines.append("")
        element = Value(self._from_bits(old, dtype), dtype, scope)
        new = llvm_scalar.emit(b, name, dtype, [element, term], 0, scope)
        bits = self._to_bits(new, dtype)
        b.line(f"{tried} = cmpxchg {place}, {type} {old}, {type} {bits} {_ORDER} monotonic")
        b.line(f"{seen} = extractvalue {{ {type}, i1 }} {tried}, 0")
        fine = b.emit(f"extractvalue {{ {type}, i1 }} {tried}, 1")
        latch = b.name("latch")
        b.jump(latch)
        b.line(f"br i1 {fine}, label %{done}, label %{again}")
        scope.lines[at] = phi.format(latch=latch)
        b.close()
        b.label(done)

    def _from_bits(self, bits: str, dtype: DType) -> str:
        """The register of an element from its bits in memory."""
        if dtype is dt.b1:
            return self.builder.emit(f"icmp ne i8 {bits}, 0")
        if dtype in (dt.f32, dt.f64):
            return self.builder.emit(f"bitcast i{dtype.bits} {bits} to {memory_type(dtype)}")
        return bits

    def _to_bits(self, ref: str, dtype: DType) -> str:
        """The other way."""
        if dtype is dt.b1:
            return self.builder.emit(f"zext i1 {ref} to i8")
        if dtype in (dt.f32, dt.f64):
            return self.builder.emit(f"bitcast {memory_type(dtype)} {ref} to i{dtype.bits}")
        return ref
