"""Index arithmetic in 32 bits, for processors whose registers are that wide.

A 64-bit comparison, minimum or division of a GPU is several instructions. Where the ranges of the
operands are known to fit in 32 bits, so does the result, and it is computed there; LLVM takes the
conversions between neighbours away. Sums and products stay as they are: an address is 64 bits wide,
and LLVM narrows what leads to one of these.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends import llvm_scalar
from pyc.backends.llvm_builder import Builder, Scope, Value, register_type, splat
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

LOW, HIGH = -(1 << 31), (1 << 31) - 1
_COMPARED = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_COMPUTED = frozenset(("minimum", "maximum", "quotient", "remainder"))


def emit(
    builder: Builder, name: str, dtype: DType, args: Sequence[Value], lanes: int, scope: Scope
) -> str:
    """The register of an instruction, as `llvm_scalar.emit`: in 32 bits where that is the same."""
    known = name in (_COMPARED if dtype is dt.b1 else _COMPUTED)
    natural = all(a.low is not None and a.low >= 0 for a in args)
    divides = name in ("quotient", "remainder")
    if not known or not all(_fits(a) for a in args) or (divides and not natural):
        return llvm_scalar.emit(builder, name, dtype, args, lanes, scope)
    narrow = [_narrowed(builder, a, lanes, scope) for a in args]
    if dtype is dt.b1:
        return llvm_scalar.emit(builder, name, dtype, narrow, lanes, scope)
    ref = llvm_scalar.emit(builder, name, dt.i32, narrow, lanes, scope)
    types = f"{register_type(dt.i32, lanes)} {ref} to {register_type(dt.i64, lanes)}"
    return builder.emit(f"{'zext' if natural else 'sext'} {types}", scope)


def _fits(a: Value) -> bool:
    known = a.low is not None and a.high is not None
    return a.dtype is dt.i64 and known and a.low >= LOW and a.high <= HIGH  # type: ignore[operator]


def _narrowed(builder: Builder, a: Value, lanes: int, scope: Scope) -> Value:
    """An operand in 32 bits."""
    if isinstance(a.const, int):
        ref = splat(str(a.const), dt.i32, lanes) if lanes else str(a.const)
    else:
        ref = builder.emit(f"trunc {a} to {register_type(dt.i32, lanes)}", scope)
    return Value(ref, dt.i32, scope, lanes, a.const, low=a.low, high=a.high)
