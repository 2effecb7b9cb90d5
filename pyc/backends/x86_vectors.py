"""Vector instructions of x86 that stand for an instruction of `ir/instructions.py`.

Takes the same operands as `llvm_scalar.emit` and returns the register, or None where the processor
has nothing of its own for them. Values are those of the table, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends.llvm_builder import Builder, Scope, Value, literal, register_type, splat
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.target import Target

SCALE = "llvm.x86.avx512.mask.scalef"
RANGE = "llvm.x86.avx512.mask.range"
INTRINSICS = (SCALE, RANGE)
_OFFSET = {dt.f32: 1.5 * 2.0**23 + 254, dt.f64: 1.5 * 2.0**52 + 2046}
"""What `scale` adds to its exponent."""
_CURRENT_ROUNDING = 4
_RANGES = {"minimum": 0b0100, "maximum": 0b0101}
"""Which of two numbers is taken, with its own sign."""


def has_avx512(target: Target) -> bool:
    """Whether 512-bit instructions exist at all widths, those of AVX512DQ too."""
    return {"+avx512f", "+avx512vl", "+avx512dq"} <= set(target.features.split(","))


def vector_instruction(
    builder: Builder, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
) -> str | None:
    """The register of an instruction over vectors on a processor with AVX-512, None for the usual
    one."""
    if dtype not in (dt.f32, dt.f64) or lanes * dtype.itemsize not in (16, 32, 64):
        return None
    if name == "scale":
        return _scale(_Vectors(builder, dtype, lanes, scope), *args)
    if name in _RANGES and not any(_is_constant(x) for x in args):
        return _extremum(_Vectors(builder, dtype, lanes, scope), _RANGES[name], *args)
    return None


class _Vectors:
    """Where an instruction over vectors of floating-point numbers is emitted."""

    def __init__(self, builder: Builder, dtype: DType, lanes: int, scope: Scope) -> None:
        self.builder, self.dtype, self.lanes, self.scope = builder, dtype, lanes, scope
        self.type = register_type(dtype, lanes)

    def op(self, text: str) -> str:
        """The register of an instruction."""
        return self.builder.emit(text, self.scope)

    def all_lanes(self, name: str, operands: Sequence[str]) -> str:
        """The register of an instruction with a mask, in all lanes."""
        bits = 8 * self.lanes * self.dtype.itemsize
        mask = f"i{max(self.lanes, 8)}"
        given = [*operands, f"{self.type} zeroinitializer", f"{mask} -1"]
        if bits == 512:
            given.append(f"i32 {_CURRENT_ROUNDING}")
        full = f"{name}.{'ps' if self.dtype is dt.f32 else 'pd'}.{bits}"
        head = self.builder.intrinsic(full, self.type, [x.rsplit(" ", 1)[0] for x in given])
        return self.op(f"{head}({', '.join(given)})")


def _is_constant(x: Value) -> bool:
    return not x.ref.startswith("%")


def _scale(at: _Vectors, x: Value, rounded: Value) -> str:
    offset = splat(literal(_OFFSET[at.dtype], at.dtype), at.dtype, at.lanes)
    n = at.op(f"fsub {at.type} {rounded.ref}, {offset}")
    return at.all_lanes(SCALE, [f"{at.type} {x.ref}", f"{at.type} {n}"])


def _extremum(at: _Vectors, kind: int, x: Value, y: Value) -> str:
    """minimum or maximum in three instructions, where the usual vector instructions, which know no
    order of zeros, take six: the instruction orders zeros but prefers numbers to NaN."""
    operands = [f"{at.type} {x.ref}", f"{at.type} {y.ref}", f"i32 {kind}"]
    number = at.all_lanes(RANGE, operands)
    unordered = at.op(f"fcmp uno {at.type} {x.ref}, {y.ref}")
    nan = at.op(f"fadd {at.type} {x.ref}, {y.ref}")
    return at.op(f"select <{at.lanes} x i1> {unordered}, {at.type} {nan}, {at.type} {number}")
