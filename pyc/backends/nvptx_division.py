"""Quotients of neighbouring lanes on a GPU, exactly rounded, with one branch for all of them.

The assembler's own division has a branch for each number, behind which the others wait. Where all
lanes are ordinary, a short way gives the same bits; the rest is left to the assembler.

A constant over float32: an approximate reciprocal, a step that corrects it, and one that corrects
the quotient.

bfloat16 over bfloat16: the product with an approximate reciprocal, rounded once. Significands have
8 bits, and a point half way between two has 9: of X / Y and M / 256, where M is odd, the difference
is |256 X - M Y| / 256 Y, which is not zero, since M has a bit more than X. So no quotient is nearer
to such a point than 2^-17 of itself, and the product is off by 2^-22 at most: the reciprocal by an
ulp (PTX ISA, "rcp"), the product by half of one. Both must be normal numbers: where the reciprocal
is zero or infinite, the product is none of the accepted ones. Zero divided is zero.
"""

from __future__ import annotations

from pyc.backends.llvm_builder import Builder, literal
from pyc.ir import dtype as dt

ORDINARY = (2.0**-60, 2.0**60)
"""Sizes of numbers for which the short way to divide a float32 constant is exactly rounded."""
NORMAL = (2.0**-125, 2.0**127)
"""Sizes of products that are bfloat16 quotients when they are rounded."""


def _short_or_long(b: Builder, good: str, quick: str, x: str, y: str, lanes: int) -> str:
    """`quick` where all lanes are `good`, else the assembler's quotients."""
    bits = f"<{lanes} x i1>"
    all_good = b.emit(f"extractelement {bits} {good}, i64 0")
    for lane in range(1, lanes):
        one = b.emit(f"extractelement {bits} {good}, i64 {lane}")
        all_good = b.emit(f"and i1 {all_good}, {one}")
    return quick_or_exact(b, all_good, quick, x, y, lanes)


def quick_or_exact(b: Builder, good: str, quick: str, x: str, y: str, lanes: int) -> str:
    """`quick` where a condition holds, else the assembler's quotients."""
    f32 = f"<{lanes} x float>"
    start, odd, join = (b.name(name) for name in ("start", "odd", "join"))
    b.jump(start)
    b.line(f"br i1 {good}, label %{join}, label %{odd}, !prof !1")
    b.label(odd)
    slow = b.emit(f"fdiv {f32} {x}, {y}")
    b.line(f"br label %{join}")
    b.label(join)
    return b.emit(f"phi {f32} [ {quick}, %{start} ], [ {slow}, %{odd} ]")


def _reciprocals(b: Builder, y: str, lanes: int) -> str:
    f32 = f"<{lanes} x float>"
    reciprocal = b.intrinsic("llvm.nvvm.rcp.approx.ftz.f", "float", ["float"])
    near = "poison"
    for lane in range(lanes):
        one = b.emit(f"extractelement {f32} {y}, i64 {lane}")
        found = b.emit(f"{reciprocal}(float {one})")
        near = b.emit(f"insertelement {f32} {near}, float {found}, i64 {lane}")
    return near


def _between(b: Builder, x: str, bounds: tuple[float, float], lanes: int) -> str:
    """Which lanes of x have a size strictly inside of the bounds."""
    f32 = f"<{lanes} x float>"
    size = b.emit(f"{b.intrinsic(f'llvm.fabs.v{lanes}f32', f32, [f32])}({f32} {x})")
    least, most = (f"splat (float {literal(e, dt.f32)})" for e in bounds)
    above = b.emit(f"fcmp ogt {f32} {size}, {least}")
    below = b.emit(f"fcmp olt {f32} {size}, {most}")
    return b.emit(f"and <{lanes} x i1> {above}, {below}")


def divide_constant(b: Builder, x: str, y: str, lanes: int) -> str:
    """The quotients of a constant of ordinary size and float32 lanes."""
    f32 = f"<{lanes} x float>"
    fma = b.intrinsic(f"llvm.fma.v{lanes}f32", f32, [f32] * 3)
    good = _between(b, y, ORDINARY, lanes)
    near = _reciprocals(b, y, lanes)
    back = b.emit(f"fneg {f32} {y}")
    one = f"splat (float {literal(1.0, dt.f32)})"
    error = b.emit(f"{fma}({f32} {back}, {f32} {near}, {f32} {one})")
    exact = b.emit(f"{fma}({f32} {near}, {f32} {error}, {f32} {near})")
    product = b.emit(f"fmul {f32} {x}, {exact}")
    rest = b.emit(f"{fma}({f32} {back}, {f32} {product}, {f32} {x})")
    quick = b.emit(f"{fma}({f32} {rest}, {f32} {exact}, {f32} {product})")
    return _short_or_long(b, good, quick, x, y, lanes)


def divide_bfloat16(b: Builder, x: str, y: str, lanes: int) -> str:
    """Float32 lanes that are the quotients of bfloat16 values x and y once they are rounded."""
    f32 = f"<{lanes} x float>"
    quick = b.emit(f"fmul {f32} {x}, {_reciprocals(b, y, lanes)}")
    inside = _between(b, quick, NORMAL, lanes)
    same = b.emit(f"fcmp oeq {f32} {quick}, {x}")
    good = b.emit(f"or <{lanes} x i1> {inside}, {same}")
    return _short_or_long(b, good, quick, x, y, lanes)
