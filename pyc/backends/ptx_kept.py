"""PTX without what the assembler makes something else of (ptxas 12.9 and 13.0, and an H200).

* `abs.s32`, `.s64`: it takes the result for positive, so that no test finds that of the least
  integer, which is itself, negative. The smaller of a number and its negative, both unsigned, is
  the same value, of which nothing is known.
* `neg.s16`, `abs.s16`: of -32768 it leaves 32768 in a register of 32 bits and takes that for
  extended by its sign: conversions, comparisons, shifts and quotients read it. `sub.s16` is the
  same where the assembler finds 0 for the first operand. Products by -1 are extended again.
* `add.s16x2`: where it computes one half once more, it adds 0 in place of the constant. Sums of
  single halves are right, and it does not join them.
* Arithmetic of single halves: it joins two of them into one instruction for pairs, and takes an
  operand of the one after a conversion under a mask has already put its value for the other into
  that register. In float32, rounded, they have the same bits (`llvm_halves`), and are not joined.
  Pairs that are pairs in PTX stay what they are.
"""

from __future__ import annotations

import re

_NEGATIVE = re.compile(r"^\tneg\.s16 \t(%\w+), (%\w+);$", re.M)
_DIFFERENCE = re.compile(r"^\tsub\.s16 \t(%\w+), ([%\w-]+), (%\w+);$", re.M)
_PAIRS = re.compile(r"^\tadd\.s16x2 \t(%\w+), (%\w+), (%?\w+);$", re.M)
_ABS = re.compile(r"^\tabs\.s(16|32|64) \t(%\w+), (%\w+);$", re.M)
_HALVES = re.compile(
    r"^\t(add|sub|mul|fma)\.rn\.(b?f16) \t(%\w+), (%\w+), (%\w+)(?:, (%\w+))?;$", re.M
)

_SUMS = (
    "\t{\n\t.reg .b16 %low<2>, %high<2>;\n"
    "\tmov.b32 {%low0, %high0}, \\2;\n\tmov.b32 {%low1, %high1}, \\3;\n"
    "\tadd.s16 %low0, %low0, %low1;\n\tadd.s16 %high0, %high0, %high1;\n"
    "\tmov.b32 \\1, {%low0, %high0};\n\t}"
)
"""What stands for `add.s16x2`."""


def kept(ptx: str) -> str:
    """The text with these instructions replaced."""
    ptx = _ABS.sub(r"\tneg.s\1 \t\2, \3;\n\tmin.u\1 \t\2, \3, \2;", ptx)
    ptx = _NEGATIVE.sub(r"\tmul.lo.s16 \t\1, \2, -1;", ptx)
    ptx = _DIFFERENCE.sub(r"\tmad.lo.s16 \t\1, \3, -1, \2;", ptx)
    ptx = _PAIRS.sub(_SUMS, ptx)
    return _HALVES.sub(_in_float32, ptx)


def _in_float32(found: re.Match[str]) -> str:
    name, dtype, result, *operands = found.groups()
    given = [x for x in operands if x is not None]
    wide = [f"%wide{k}" for k in range(len(given))]
    lines = ["{", f".reg .b32 {', '.join(wide)};"]
    if dtype == "bf16":
        lines += [".reg .b16 %low;", "mov.b16 %low, 0;"]
    for register, x in zip(wide, given, strict=True):
        widened = f"mov.b32 {register}, {{%low, {x}}};"
        lines.append(widened if dtype == "bf16" else f"cvt.f32.f16 {register}, {x};")
    lines.append(f"{name}.rn.f32 {wide[0]}, {', '.join(wide)};")
    lines += [f"cvt.rn.{dtype}.f32 {result}, {wide[0]};", "}"]
    return "\n".join(f"\t{line}" for line in lines)
