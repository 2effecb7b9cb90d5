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
INTRINSICS = (SCALE,)
_OFFSET = {dt.f32: 1.5 * 2.0**23 + 254, dt.f64: 1.5 * 2.0**52 + 2046}
"""What `scale` adds to its exponent."""
_CURRENT_ROUNDING = 4


def has_avx512(target: Target) -> bool:
    """Whether 512-bit instructions exist at all widths."""
    return {"+avx512f", "+avx512vl"} <= set(target.features.split(","))


def vector_instruction(
    builder: Builder, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
) -> str | None:
    """The register of an instruction over vectors on a processor with AVX-512, None for the usual
    one."""
    if name != "scale" or lanes * dtype.itemsize not in (16, 32, 64):
        return None
    type = register_type(dtype, lanes)
    x, rounded = args
    offset = splat(literal(_OFFSET[dtype], dtype), dtype, lanes)
    n = builder.emit(f"fsub {type} {rounded.ref}, {offset}", scope)
    bits = 8 * lanes * dtype.itemsize
    mask = f"i{max(lanes, 8)}"
    parameters = [type, type, type, mask]
    last = ""
    if bits == 512:
        parameters.append("i32")
        last = f", i32 {_CURRENT_ROUNDING}"
    full = f"{SCALE}.{'ps' if dtype is dt.f32 else 'pd'}.{bits}"
    head = builder.intrinsic(full, type, parameters)
    given = f"{type} {x.ref}, {type} {n}, {type} zeroinitializer, {mask} -1{last}"
    return builder.emit(f"{head}({given})", scope)
