"""Arithmetic of half types by instructions of their own, for targets that have them.

Kernels widen halves to float32, compute, and round the result. Where the result is a sum, a
difference or a product of two widened halves, an instruction for halves gives the same bits: the 24
digits of float32 are two more than twice those of float16 and many more than those of bfloat16, so
that rounding a sum twice is rounding it once (Figueroa), and products are exact in float32 down to
half of the smallest half.
"""

from __future__ import annotations

import re
import struct

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

TYPES = {dt.f16: "half", dt.bf16: "bfloat"}
_LITERAL = re.compile(r"(?:splat \(float )?0x([0-9A-F]{16})\)?")
_PREFIXES = {dt.f16: "0xH", dt.bf16: "0xR"}


def constant_of(ref: str) -> float | None:
    """The value of a float32 operand that is a literal, or a vector of equal ones."""
    found = _LITERAL.fullmatch(ref)
    if found is None:
        return None
    (value,) = struct.unpack("<d", struct.pack("<Q", int(found[1], 16)))
    return float(value)


class Halves:
    """What registers of one function hold: widened halves, and arithmetic on float32."""

    def __init__(self) -> None:
        self._wide: dict[str, tuple[DType, str]] = {}
        self._results: dict[str, tuple[str, str, str]] = {}

    def widened(self, ref: str, dtype: DType, half: str) -> None:
        """Notes that `ref` is the half whose bits are in register `half`, as float32."""
        self._wide[ref] = dtype, half

    def computed(self, ref: str, name: str, left: str, right: str) -> None:
        """Notes that `ref` is the LLVM instruction `name` over float32 operands."""
        self._results[ref] = name, left, right

    def operation(self, ref: str, dtype: DType) -> tuple[str, tuple[str, str]] | None:
        """The instruction that gives `ref` rounded to `dtype`, and its operands: registers with a
        half's bits, or literals of `TYPES[dtype]`; None if there is none."""
        found = self._results.get(ref)
        if found is None or dtype not in TYPES:
            return None
        name, left, right = found
        if name == "fdiv":  # halves have no such instruction
            return None
        operands = self._half(left, dtype), self._half(right, dtype)
        if operands[0] is None or operands[1] is None:
            return None
        return name, (operands[0], operands[1])

    def quotient(self, ref: str, dtype: DType) -> tuple[str, str] | None:
        """The float32 operands of the division that `ref` is, if both are values of `dtype`."""
        name, left, right = self._results.get(ref, ("", "", ""))
        if name != "fdiv" or self._half(left, dtype) is None or self._half(right, dtype) is None:
            return None
        return left, right

    def _half(self, ref: str, dtype: DType) -> str | None:
        """A float32 operand as a half, if it is one: its register or a literal."""
        kind, half = self._wide.get(ref, (None, ""))
        if kind is dtype:
            return half
        value = constant_of(ref)
        if value is None:
            return None
        rounded = dtype.numpy.type(value)
        if float(rounded) != value:
            return None
        bits = int.from_bytes(rounded.tobytes(), "little")
        text = f"{_PREFIXES[dtype]}{bits:04X}"
        return f"splat ({TYPES[dtype]} {text})" if ref.startswith("splat") else text
