"""Instructions of x86 that stand for an instruction of `ir/instructions.py`.

Takes the same operands as `llvm_scalar.emit` and returns the register, or None where the processor
has nothing of its own for them. Values are those of the table, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends.llvm_builder import (
    Builder,
    Scope,
    Value,
    literal,
    register_type,
    splat,
    suffix,
)
from pyc.ir import dtype as dt
from pyc.ir.defined import CALLED
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, postorder
from pyc.ir.loops import Kernel, expressions, walk
from pyc.ir.target import Target

SCALE = "llvm.x86.avx512.mask.scalef"
RANGE = "llvm.x86.avx512.mask.range"
PAIRS = "llvm.x86.avx512bf16.dpbf16ps"
SUMS = "llvm.x86.avx512.psad.bw.512"
"""Sums of differences of bytes."""
AHEAD = 512
"""Bytes from where a part of a vector is stored to what is fetched for later ones: a processor does
not foresee stores."""
COMPRESS = "llvm.x86.avx512.mask.compress"
NEAR_INVERSE_ROOT = "llvm.x86.avx512.rsqrt14.pd"
"""Its relative error is below 2^-14."""
BESIDE_A_ROOT = 18
"""Instructions of floats for each root, those of its operand too, that take as long as the root."""
INTRINSICS = (SCALE, RANGE, PAIRS, SUMS, COMPRESS, NEAR_INVERSE_ROOT, "llvm.ctpop")
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
    if name == "narrow_sqrt" and dtype is dt.f64:
        return _narrow_root(_Vectors(builder, dtype, lanes, scope), *args)
    if name in _RANGES and not any(_is_constant(x) for x in args):
        return _extremum(_Vectors(builder, dtype, lanes, scope), _RANGES[name], *args)
    return None


def keeps_roots(kernel: Kernel) -> bool:
    """Whether a kernel computes so much else that `narrow_sqrt` is better the processor's root,
    which goes on beside products and sums."""
    seen: set[int] = set()
    roots = others = 0
    for statement in walk(kernel.body):
        for e in postorder(expressions(statement)):
            if id(e) in seen or not isinstance(e, Apply) or not e.dtype.is_float:
                continue
            seen.add(id(e))
            if e.name == "narrow_sqrt":
                roots += 1
            else:
                others += CALLED[e.name].usual if e.name in CALLED else 1
    return others > BESIDE_A_ROOT * roots


def add_truth(
    builder: Builder, dtype: DType, total: Value, mask: Value, lanes: int, scope: Scope
) -> str:
    """The register of integers, one more in the lanes of a mask: an addition with a mask."""
    vector = register_type(dtype, lanes)
    one = splat("1", dtype, lanes)
    more = builder.emit(f"add {vector} {total.ref}, {one}", scope)
    return builder.emit(f"select {mask}, {vector} {more}, {vector} {total.ref}", scope)


def is_half_shift(dtype: DType, by: Value) -> bool:
    """Whether shifting integers by `by` leaves the upper half of their bits."""
    return dtype.is_integer and by.const == dtype.bits // 2


def has_permutation(target: Target, dtype: DType, source: DType, lanes: int) -> bool:
    """Whether one instruction takes every other element of two registers: integers of half the
    bits of `source` that fill a register. Bytes need more than AVX-512BW."""
    fills = lanes * dtype.itemsize == 64 and 2 * dtype.itemsize == source.itemsize
    return fills and (dtype.bits > 8 or "+avx512vbmi" in target.features.split(","))


def high_halves(builder: Builder, dtype: DType, x: Value, lanes: int, scope: Scope) -> str:
    """The register of the upper half of the bits of each integer."""
    both = f"<{2 * lanes} x {register_type(dtype)}>"
    places = ", ".join(f"i32 {2 * k + 1}" for k in range(lanes))
    halves = builder.emit(f"bitcast {x} to {both}", scope)
    taken = f"{both} poison, <{lanes} x i32> <{places}>"
    return builder.emit(f"shufflevector {both} {halves}, {taken}", scope)


def pairs_instruction(
    builder: Builder, args: Sequence[Value], lanes: int, scope: Scope
) -> str | None:
    """The register of `fma_pairs` over vectors on a processor that has it, None for the usual
    instructions."""
    if lanes not in (4, 8, 16):
        return None
    number, pairs = f"<{lanes} x float>", f"<{2 * lanes} x bfloat>"
    x, y = (builder.emit(f"bitcast {a} to {pairs}", scope) for a in args[:2])
    head = builder.intrinsic(f"{PAIRS}.{32 * lanes}", number, [number, pairs, pairs])
    return builder.emit(f"{head}({args[2]}, {pairs} {x}, {pairs} {y})", scope)


def split(builder: Builder, bound: Value, places: Sequence[str], lanes: int) -> str:
    """Parts the vector at the first address and stores the parts at the others (`loops.Split`); the
    register of how many elements are below the bound. places: addresses, with their alignments."""
    vector, flags = register_type(bound.dtype, lanes), f"<{lanes} x i1>"
    source, *targets = places
    elements = builder.emit(f"load {vector}, {source}")
    around = builder.placement(bound.scope)
    bounds = spread(builder, bound, lanes, around)
    less = {"float": "fcmp olt", "int": "icmp slt", "uint": "icmp ult"}[bound.dtype.kind]
    below = builder.emit(f"{less} {vector} {elements}, {bounds}")
    # All lanes, in a way that LLVM does not see: it would compare again for the others rather than
    # turn the flags, which is work for the one port that packs.
    numbers, integers = "<64 x i8>", f"<{lanes} x i{512 // lanes}>"
    sums = builder.intrinsic(SUMS, "<8 x i64>", [numbers, numbers])
    same = f"{numbers} {builder.emit(f'bitcast {vector} {bounds} to {numbers}', around)}"
    zeros = builder.emit(f"{sums}({same}, {same})", around)
    zeros = builder.emit(f"bitcast <8 x i64> {zeros} to {integers}", around)
    all_lanes = builder.emit(f"icmp eq {integers} {zeros}, zeroinitializer", around)
    others = builder.emit(f"xor {flags} {below}, {all_lanes}")
    name = f"{COMPRESS}.{suffix(vector)}"
    head = builder.intrinsic(name, vector, [vector, vector, flags])
    parts = [
        builder.emit(f"{head}({vector} {elements}, {vector} zeroinitializer, {flags} {mask})")
        for mask in (below, others)
    ]
    fetch = builder.intrinsic("llvm.prefetch.p0", "void", ["ptr", *["i32"] * 3])
    for part, target in zip(parts, targets, strict=True):
        builder.line(f"store {vector} {part}, {target}")
        ahead = builder.emit(f"getelementptr i8, {target.split(',')[0]}, i64 {AHEAD}")
        builder.line(f"{fetch}(ptr {ahead}, i32 0, i32 3, i32 1)")
    bits = builder.emit(
        f"zext i{lanes} {builder.emit(f'bitcast {flags} {below} to i{lanes}')} to i64"
    )
    head = builder.intrinsic("llvm.ctpop.i64", "i64", ["i64"])
    return builder.emit(f"{head}(i64 {bits})")


def spread(builder: Builder, x: Value, lanes: int, scope: Scope) -> str:
    """The register of a scalar in all lanes."""
    vector = register_type(x.dtype, lanes)
    first = builder.emit(f"insertelement {vector} poison, {x}, i64 0", scope)
    zeros = f"<{lanes} x i32> zeroinitializer"
    return builder.emit(f"shufflevector {vector} {first}, {vector} poison, {zeros}", scope)


def scalar_instruction(
    builder: Builder, name: str, dtype: DType, args: Sequence[Value], scope: Scope
) -> str | None:
    """The same over scalars, in the first lane of a vector."""
    if dtype not in (dt.f32, dt.f64) or name not in _RANGES or any(_is_constant(x) for x in args):
        return None
    at = _Vectors(builder, dtype, 16 // dtype.itemsize, scope)
    x, y = args
    operands = [f"{at.type} {_alone(at, v.ref)}" for v in args]
    number = _first(at, at.all_lanes(RANGE, [*operands, f"i32 {_RANGES[name]}"]))
    one = register_type(dtype)
    unordered = at.op(f"fcmp uno {one} {x.ref}, {y.ref}")
    nan = at.op(f"fadd {one} {x.ref}, {y.ref}")
    return at.op(f"select i1 {unordered}, {one} {nan}, {one} {number}")


class Bound:
    """A number that a loop takes the minimum or maximum with in each of its iterations: what is
    known of it before the loop makes that one instruction and one or two on bits.

    The instruction gives its second operand where the operands are equal or one is NaN, which is
    the other number, `x`. That is wrong where the bound is NaN, and where it is the zero that wins
    and x the other zero. The bits of the result that are then others are set (`ones`: NaN's own, or
    the sign) or cleared (`kept`: all but the sign)."""

    def __init__(self, builder: Builder, name: str, bound: Value, scope: Scope) -> None:
        """scope: outside of the loop, where it is looked at."""
        self.name = name
        self.bound = bound
        self.scope = scope
        self.width = bound.lanes or 16 // bound.dtype.itemsize
        at = _Vectors(builder, bound.dtype, self.width, scope)
        number = bound.ref if bound.lanes else _alone(at, bound.ref)
        self.bits = f"<{self.width} x i{bound.dtype.bits}>"
        flags = f"<{self.width} x i1>"
        sign = f"splat (i{bound.dtype.bits} {-(1 << (bound.dtype.bits - 1))})"
        rest = f"splat (i{bound.dtype.bits} {(1 << (bound.dtype.bits - 1)) - 1})"
        bits = at.op(f"bitcast {at.type} {number} to {self.bits}")
        nan = at.op(f"fcmp uno {at.type} {number}, {number}")
        zero = "zeroinitializer" if name == "maximum" else sign
        wins = at.op(f"icmp eq {self.bits} {bits}, {zero}")
        self.kept: str | None = None
        changed = "zeroinitializer"
        if name == "maximum":
            every = f"splat (i{bound.dtype.bits} -1)"
            self.kept = at.op(f"select {flags} {wins}, {self.bits} {rest}, {self.bits} {every}")
        else:
            changed = at.op(f"select {flags} {wins}, {self.bits} {sign}, {self.bits} {changed}")
        self.ones = at.op(f"select {flags} {nan}, {self.bits} {bits}, {self.bits} {changed}")

    def with_(self, builder: Builder, x: Value, scope: Scope) -> str:
        """The register of the minimum or maximum of `x` and the bound."""
        at = _Vectors(builder, x.dtype, self.width, scope)
        test = "ogt" if self.name == "maximum" else "olt"
        bound = self.bound
        chosen = at.op(f"fcmp {test} {bound}, {x.ref}")
        flags = f"<{x.lanes} x i1>" if x.lanes else "i1"
        number = at.op(f"select {flags} {chosen}, {bound}, {x}")
        if not x.lanes:
            number = _alone(at, number)
        bits = at.op(f"bitcast {at.type} {number} to {self.bits}")
        if self.kept is not None:
            bits = at.op(f"and {self.bits} {bits}, {self.kept}")
        bits = at.op(f"or {self.bits} {bits}, {self.ones}")
        found = at.op(f"bitcast {self.bits} {bits} to {at.type}")
        return found if x.lanes else _first(at, found)


def is_bound(name: str, dtype: DType, bound: Value, x: Value) -> bool:
    """Whether a minimum or maximum is of a number that varies in a loop and one that does not."""
    if name not in _RANGES or dtype not in (dt.f32, dt.f64) or _is_constant(bound):
        return False
    scope: Scope | None = x.scope
    while scope is not None and scope.depth > bound.scope.depth:
        if scope.kind == "loop":
            return True
        scope = scope.parent
    return False


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


def _alone(at: _Vectors, scalar: str) -> str:
    """A vector of which the first lane matters."""
    one = register_type(at.dtype)
    return at.op(f"insertelement {at.type} poison, {one} {scalar}, i64 0")


def _first(at: _Vectors, vector: str) -> str:
    return at.op(f"extractelement {at.type} {vector}, i64 0")


def _is_constant(x: Value) -> bool:
    return not x.ref.startswith("%")


def _scale(at: _Vectors, x: Value, rounded: Value) -> str:
    offset = splat(literal(_OFFSET[at.dtype], at.dtype), at.dtype, at.lanes)
    n = at.op(f"fsub {at.type} {rounded.ref}, {offset}")
    return at.all_lanes(SCALE, [f"{at.type} {x.ref}", f"{at.type} {n}"])


def _narrow_root(at: _Vectors, x: Value) -> str:
    """sqrt(x) for a cast to float32, by additions and products, some 0.6 of the time of the root.

    With y = (1 + e) / sqrt(x), |e| < 2^-14, a step of Newton's for both leaves the root g and half
    its inverse h with relative errors d < 2^-27.3. The first remainder brings g to within one unit
    in the last place (1.5 d^2 and half a unit); the second one, x - g^2, is then exact, and what
    is rounded last is off by a 2^-27.3th of a unit at most. Another number than the rounded root
    comes out only if the root is that close to the middle of two neighbours, and float32 tells
    them apart only if one of these, m, is the middle of two numbers of float32: 25 bits, no power
    of two. With m in (1, 2) units are 2^-52, and x = m^2 + k 2^-52, or k 2^-51 from 2 on. The root
    is m + k 2^-53 / m, or k 2^-52 / m, which is closest to m + 2^-53 for k = 1 and m = 1 + 2^-24,
    or m = 2 - 2^-24: off by a 2^-25th or 2^-26th of a unit, which is more.
    """
    bits = 64 * at.lanes
    mask = f"i{max(at.lanes, 8)}"
    flags = at.op(f"fcmp une {at.type} {x.ref}, zeroinitializer")
    head = at.builder.intrinsic(f"{NEAR_INVERSE_ROOT}.{bits}", at.type, [at.type, at.type, mask])
    y = at.op(f"{head}({at.type} {x.ref}, {at.type} zeroinitializer, {mask} -1)")
    y = at.op(f"select <{at.lanes} x i1> {flags}, {at.type} {y}, {at.type} zeroinitializer")
    half = splat(literal(0.5, dt.f64), dt.f64, at.lanes)
    fused = at.builder.intrinsic(f"llvm.fma.{suffix(at.type)}", at.type, [at.type] * 3)

    def fma(a: str, b: str, c: str) -> str:
        return at.op(f"{fused}({at.type} {a}, {at.type} {b}, {at.type} {c})")

    g = at.op(f"fmul {at.type} {x.ref}, {y}")
    h = at.op(f"fmul {at.type} {y}, {half}")
    step = fma(at.op(f"fneg {at.type} {g}"), h, half)
    g, h = fma(g, step, g), fma(h, step, h)
    for _ in range(2):
        rest = fma(at.op(f"fneg {at.type} {g}"), g, x.ref)
        g = fma(rest, h, g)
    return g


def _extremum(at: _Vectors, kind: int, x: Value, y: Value) -> str:
    """minimum or maximum in three instructions, where the usual vector instructions, which know no
    order of zeros, take six: the instruction orders zeros but prefers numbers to NaN."""
    operands = [f"{at.type} {x.ref}", f"{at.type} {y.ref}", f"i32 {kind}"]
    number = at.all_lanes(RANGE, operands)
    unordered = at.op(f"fcmp uno {at.type} {x.ref}, {y.ref}")
    nan = at.op(f"fadd {at.type} {x.ref}, {y.ref}")
    return at.op(f"select <{at.lanes} x i1> {unordered}, {at.type} {nan}, {at.type} {number}")
