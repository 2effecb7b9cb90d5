"""Scalar instructions as LLVM text: one entry per name of `ir/instructions.py`.

`emit(builder, name, result, args, lanes, scope)` returns the register that holds the instruction
applied to scalars (lanes 0) or to vectors. Each entry has exactly the meaning given there, for
every input: no flags, no contraction, nothing undefined or poisoned reaches a result. (`fastmath`
puts other instructions into the program; it changes nothing here.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pyc.backends.llvm_builder import (
    Builder,
    Scope,
    Value,
    literal,
    register_type,
    splat,
    suffix,
)
from pyc.backends.llvm_halves import TYPES
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

INTRINSICS = (
    *("llvm.fma", "llvm.sqrt", "llvm.fabs", "llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint"),
    *("llvm.copysign", "llvm.minimum", "llvm.maximum", "llvm.smin", "llvm.smax", "llvm.umin"),
    *("llvm.umax", "llvm.abs", "llvm.ctpop", "llvm.ctlz", "llvm.fptosi.sat", "llvm.fptoui.sat"),
    *("llvm.usub.sat", "llvm.vector.reduce.umin"),
)
"""Intrinsics of this file that both x86 and NVPTX expand inline."""


class _Site:
    """Where one instruction is emitted: builder, operand type, lanes, scope; helpers on text."""

    __slots__ = ("builder", "lanes", "scope")

    def __init__(self, builder: Builder, lanes: int, scope: Scope) -> None:
        self.builder = builder
        self.lanes = lanes
        self.scope = scope

    def type(self, dtype: DType) -> str:
        return register_type(dtype, self.lanes)

    def plain(self, scalar: str) -> str:
        return f"<{self.lanes} x {scalar}>" if self.lanes else scalar

    def op(self, text: str) -> str:
        return self.builder.emit(text, self.scope)

    def const(self, value: object, dtype: DType) -> str:
        text = literal(value, dtype)
        return splat(text, dtype, self.lanes) if self.lanes else text

    def number(self, value: int, scalar: str) -> str:
        return f"splat ({scalar} {value})" if self.lanes else str(value)

    def call(self, name: str, type: str, *args: str, tail: str = "") -> str:
        full = f"{name}.{suffix(type)}"
        extra = ["i1"] if tail else []
        head = self.builder.intrinsic(full, type, [type] * len(args) + extra)
        listed = ", ".join(f"{type} {a}" for a in args)
        return self.op(f"{head}({listed}{tail})")

    def select(self, condition: str, then: str, otherwise: str, dtype: DType) -> str:
        t = self.type(dtype)
        return self.op(f"select {self.type(dt.b1)} {condition}, {t} {then}, {t} {otherwise}")


Emitter = Callable[[_Site, DType, Sequence[Value]], str]


def _by_kind(signed: str, unsigned: str, real: str) -> Emitter:
    """A plain two-operand instruction, chosen by the kind of its operands."""

    def emit(site: _Site, result: DType, args: Sequence[Value]) -> str:
        kind = args[0].dtype.kind
        name = real if kind == "float" else signed if kind == "int" else unsigned
        left, right = args[0].ref, args[1].ref
        ref = site.op(f"{name} {site.type(args[0].dtype)} {left}, {right}")
        if site.builder.halves is not None and result is dt.f32:
            site.builder.halves.computed(ref, name, left, right)
        return ref

    return emit


def _call_by_kind(signed: str, unsigned: str, real: str) -> Emitter:
    def emit(site: _Site, result: DType, args: Sequence[Value]) -> str:
        name = real if result.is_float else signed if result.kind == "int" else unsigned
        return site.call(name, site.type(result), *(a.ref for a in args))

    return emit


def _call(name: str, tail: str = "") -> Emitter:
    def emit(site: _Site, result: DType, args: Sequence[Value]) -> str:
        return site.call(name, site.type(result), *(a.ref for a in args), tail=tail)

    return emit


def _approximate(instruction: str, exact: str) -> Emitter:
    """Of float32, where the target has it, an approximate instruction, lane by lane; else the exact
    one."""

    def emit(site: _Site, result: DType, args: Sequence[Value]) -> str:
        if not site.builder.approximates or result is not dt.f32:
            return TABLE[exact](site, result, args)
        call = site.builder.intrinsic(instruction, "float", ["float"] * len(args))
        if not site.lanes:
            return site.op(f"{call}({', '.join(f'float {a.ref}' for a in args)})")
        vector, found = site.type(result), "poison"
        for lane in range(site.lanes):
            ones = [site.op(f"extractelement {vector} {a.ref}, i64 {lane}") for a in args]
            one = site.op(f"{call}({', '.join(f'float {x}' for x in ones)})")
            found = site.op(f"insertelement {vector} {found}, float {one}, i64 {lane}")
        return found

    return emit


def _neg(site: _Site, result: DType, args: Sequence[Value]) -> str:
    t = site.type(result)
    if result.is_float:
        return site.op(f"fneg {t} {args[0].ref}")
    return site.op(f"sub {t} {site.const(0, result)}, {args[0].ref}")


def _abs(site: _Site, result: DType, args: Sequence[Value]) -> str:
    if result.kind == "uint":
        return args[0].ref
    if result.is_float:
        return site.call("llvm.fabs", site.type(result), args[0].ref)
    return site.call("llvm.abs", site.type(result), args[0].ref, tail=", i1 false")


def _copysign(site: _Site, result: DType, args: Sequence[Value]) -> str:
    """By integers where LLVM would move the rounding to a half in front of it: into instructions
    for halves; or, of scalars, to the number that has the sign too, which from float64 is the call
    of a function that images lack."""
    refs = [a.ref for a in args]
    if site.builder.halves is not None and result is dt.f32:
        return _signed(site, result, refs)
    if site.builder.halves is not None or site.lanes:
        return site.call("llvm.copysign", site.type(result), *refs)
    # In the vector registers, where scalars are: integers of one lane would leave them.
    wide = _Site(site.builder, 128 // result.bits, site.scope)
    scalar, vector = site.type(result), wide.type(result)
    refs = [site.op(f"insertelement {vector} poison, {scalar} {x}, i32 0") for x in refs]
    return site.op(f"extractelement {vector} {_signed(wide, result, refs)}, i32 0")


def _signed(site: _Site, result: DType, refs: Sequence[str]) -> str:
    """The first of two floats with the sign of the second, by their bits."""
    word, least = f"i{result.bits}", -(1 << (result.bits - 1))
    t, bits = site.type(result), site.plain(word)
    size, sign = (site.op(f"bitcast {t} {x} to {bits}") for x in refs)
    size = site.op(f"and {bits} {size}, {site.number(~least, word)}")
    sign = site.op(f"and {bits} {sign}, {site.number(least, word)}")
    return site.op(f"bitcast {bits} {site.op(f'or {bits} {size}, {sign}')} to {t}")


def _divide(site: _Site, result: DType, args: Sequence[Value], remainder: bool) -> str:
    """Truncating division: x / 0 is 0, x rem 0 is 0, the most negative / -1 wraps."""
    t = site.type(result)
    a, b = args
    natural = a.low is not None and a.low >= 0
    signed = result.kind == "int" and not (natural and b.const is not None and b.const > 0)
    word = ("srem" if signed else "urem") if remainder else ("sdiv" if signed else "udiv")
    if b.const is not None and b.const not in (0, -1):
        return site.op(f"{word} {t} {a.ref}, {b.ref}")
    zero, one = site.const(0, result), site.const(1, result)
    is_zero = site.op(f"icmp eq {t} {b.ref}, {zero}")
    unsafe = is_zero
    if signed:
        is_minus = site.op(f"icmp eq {t} {b.ref}, {site.const(-1, result)}")
        unsafe = site.op(f"or {site.type(dt.b1)} {is_zero}, {is_minus}")
    safe = site.select(unsafe, one, b.ref, result)
    plain = site.op(f"{word} {t} {a.ref}, {safe}")
    if remainder:  # x rem 1 is 0, which is also the answer for 0 and -1
        return plain
    if signed:
        negated = site.op(f"sub {t} {zero}, {a.ref}")
        plain = site.select(is_minus, negated, plain, result)
    return site.select(is_zero, zero, plain, result)


def _mul_high(site: _Site, result: DType, args: Sequence[Value]) -> str:
    bits = result.bits
    if bits == 64 and site.lanes:
        return _mul_high_64(site, result, args)
    wide = site.plain(f"i{2 * bits}")
    word = "sext" if result.kind == "int" else "zext"
    t = site.type(result)
    a, b = (site.op(f"{word} {t} {x.ref} to {wide}") for x in args)
    product = site.op(f"mul {wide} {a}, {b}")
    high = site.op(f"lshr {wide} {product}, {site.number(bits, f'i{2 * bits}')}")
    return site.op(f"trunc {wide} {high} to {t}")


def _mul_high_64(site: _Site, result: DType, args: Sequence[Value]) -> str:
    """The upper half of a 64-bit vector product, from four 32-bit products."""
    t = site.type(result)
    half, low_bits = site.number(32, "i64"), site.number(0xFFFFFFFF, "i64")
    (a0, b0), (a1, b1) = (
        tuple(site.op(f"and {t} {x.ref}, {low_bits}") for x in args),
        tuple(site.op(f"lshr {t} {x.ref}, {half}") for x in args),
    )
    low = site.op(f"lshr {t} {site.op(f'mul {t} {a0}, {b0}')}, {half}")
    cross = site.op(f"add {t} {site.op(f'mul {t} {a1}, {b0}')}, {low}")
    cross_low = site.op(f"and {t} {cross}, {low_bits}")
    other = site.op(f"add {t} {site.op(f'mul {t} {a0}, {b1}')}, {cross_low}")
    high = site.op(
        f"add {t} {site.op(f'mul {t} {a1}, {b1}')}, {site.op(f'lshr {t} {cross}, {half}')}"
    )
    high = site.op(f"add {t} {high}, {site.op(f'lshr {t} {other}, {half}')}")
    if result.kind == "uint":
        return high
    sign = site.number(63, "i64")
    for x, y in ((args[0], args[1]), (args[1], args[0])):
        mask = site.op(f"ashr {t} {x.ref}, {sign}")
        high = site.op(f"sub {t} {high}, {site.op(f'and {t} {mask}, {y.ref}')}")
    return high


def _scale(site: _Site, result: DType, args: Sequence[Value]) -> str:
    """The two factors from the halved bits of the biased exponent."""
    word = dt.unsigned_of(result.bits)
    mantissa = {32: 23, 64: 52}[result.bits]
    f, i = site.type(result), site.type(word)
    x, rounded = args
    bits = site.op(f"bitcast {f} {rounded.ref} to {i}")
    half = site.op(f"lshr {i} {bits}, {site.const(1, word)}")
    rest = site.op(f"sub {i} {bits}, {half}")
    total = x.ref
    for part in (half, rest):
        exponent = site.op(f"shl {i} {part}, {site.const(mantissa, word)}")
        factor = site.op(f"bitcast {i} {exponent} to {f}")
        total = site.op(f"fmul {f} {total}, {factor}")
    return total


def _not(site: _Site, result: DType, args: Sequence[Value]) -> str:
    ones = site.const(True, result) if result is dt.b1 else site.const(-1, result)
    return site.op(f"xor {site.type(result)} {args[0].ref}, {ones}")


def _shift(site: _Site, result: DType, args: Sequence[Value], left: bool) -> str:
    """Counts are unsigned; `bits` or more gives 0 (or the sign)."""
    t = site.type(result)
    a, n = args
    bits = result.bits
    word = "shl" if left else "ashr" if result.kind == "int" else "lshr"
    if n.const is not None and 0 <= n.const < bits:
        return site.op(f"{word} {t} {a.ref}, {n.ref}")
    if word == "ashr":
        count = site.call("llvm.umin", t, n.ref, site.const(bits - 1, result))
        return site.op(f"ashr {t} {a.ref}, {count}")
    if bits == 64:
        # Twice: LLVM 22 folds a `select` on the count into a PTX shift, which reads 32 bits of it.
        count = site.call("llvm.umin", t, n.ref, site.const(bits - 1, result))
        most = site.op(f"{word} {t} {a.ref}, {count}")
        beyond = site.op(f"icmp ugt {t} {n.ref}, {site.const(bits - 1, result)}")
        once = site.op(f"zext {site.plain('i1')} {beyond} to {t}")
        return site.op(f"{word} {t} {most}, {once}")
    inside = site.op(f"icmp ult {t} {n.ref}, {site.const(bits, result)}")
    zero = site.const(0, result)
    count = site.select(inside, n.ref, zero, result)
    shifted = site.op(f"{word} {t} {a.ref}, {count}")
    return site.select(inside, shifted, zero, result)


def _popcount(site: _Site, result: DType, args: Sequence[Value]) -> str:
    """Set bits of the absolute value, as NumPy's `bitwise_count` counts."""
    return site.call("llvm.ctpop", site.type(result), _abs(site, result, args))


def _compare(signed: str, unsigned: str, real: str) -> Emitter:
    def emit(site: _Site, result: DType, args: Sequence[Value]) -> str:
        source = args[0].dtype
        t = site.type(source)
        if source.is_float:
            return site.op(f"fcmp {real} {t} {args[0].ref}, {args[1].ref}")
        word = signed if source.kind == "int" else unsigned
        return site.op(f"icmp {word} {t} {args[0].ref}, {args[1].ref}")

    return emit


def _select(site: _Site, result: DType, args: Sequence[Value]) -> str:
    return site.select(args[0].ref, args[1].ref, args[2].ref, result)


# --- conversions ----------------------------------------------------------------------------------


def _bitcast(site: _Site, result: DType, args: Sequence[Value]) -> str:
    source = args[0].dtype
    if result is dt.b1:  # one byte: the value is whether it is set
        return site.op(f"icmp ne {site.type(source)} {args[0].ref}, {site.const(0, source)}")
    if source is dt.b1:
        return site.op(f"zext {site.type(source)} {args[0].ref} to {site.type(result)}")
    if site.type(source) == site.type(result):
        return args[0].ref
    return site.op(f"bitcast {site.type(source)} {args[0].ref} to {site.type(result)}")


def _fma_pairs(site: _Site, result: DType, args: Sequence[Value]) -> str:
    """Two products, the upper halves' first."""
    bits, number, total = site.plain("i32"), site.type(dt.f32), args[2].ref
    for text, operand in (("and", 0xFFFF0000), ("shl", 16)):
        given = site.number(operand, "i32")
        halves = [site.op(f"{text} {bits} {a.ref}, {given}") for a in args[:2]]
        x, y = (site.op(f"bitcast {bits} {half} to {number}") for half in halves)
        total = site.call("llvm.fma", number, x, y, total)
    return total


def _cast(site: _Site, result: DType, args: Sequence[Value]) -> str:
    source, x = args[0].dtype, args[0].ref
    if source.is_half:
        if result is dt.b1:
            return _half_is_nonzero(site, source, x)
        if not site.lanes and not x.startswith("%"):
            bits = int(x).to_bytes(source.itemsize, "little")
            exact = np.frombuffer(bits, source.numpy)[0].astype(np.float32)
            return _convert(site, dt.f32, result, literal(exact, dt.f32))
        wide = _widen(site, source, x)
        if site.builder.halves is not None:
            site.builder.halves.widened(wide, source, x)
        return _convert(site, dt.f32, result, wide)
    return _convert(site, source, result, x)


def _convert(site: _Site, source: DType, result: DType, x: str) -> str:
    """The conversion of a value of any register type with arithmetic."""
    s, t = site.type(source), site.type(result)
    if source is result:
        return x
    if result.is_half:
        if result is dt.f16 and source is dt.f64:
            return _narrow_f16(site, _f64_to_f32_odd(site, x))
        x = _convert(site, source, dt.f32, x)
        own = _half_arithmetic(site, result, x)
        if own is not None:
            return own
        return _narrow_f16(site, x) if result is dt.f16 else _NARROW[result](site, x)
    if result is dt.b1:
        if source.is_float:
            return site.op(f"fcmp une {s} {x}, {site.const(0.0, source)}")
        return site.op(f"icmp ne {s} {x}, {site.const(0, source)}")
    if source is dt.b1:
        word = "uitofp" if result.is_float else "zext"
        return site.op(f"{word} {s} {x} to {t}")
    if source.is_float and result.is_float:
        return site.op(f"{'fpext' if result.bits > source.bits else 'fptrunc'} {s} {x} to {t}")
    if source.is_float and site.lanes:
        return _saturate(site, source, result, x)
    if source.is_float:
        name = "llvm.fptosi.sat" if result.kind == "int" else "llvm.fptoui.sat"
        head = site.builder.intrinsic(f"{name}.{suffix(t)}.{suffix(s)}", t, [s])
        return site.op(f"{head}({s} {x})")
    if result.is_float:
        return site.op(f"{'sitofp' if source.kind == 'int' else 'uitofp'} {s} {x} to {t}")
    if result.bits < source.bits:
        return site.op(f"trunc {s} {x} to {t}")
    if result.bits == source.bits:
        return x
    return site.op(f"{'sext' if source.kind == 'int' else 'zext'} {s} {x} to {t}")


def _saturate(site: _Site, source: DType, result: DType, x: str) -> str:
    """A vector of floats to integers: LLVM takes its own saturating conversion apart by lane. The
    plain conversion is poison outside of the range, where no select chooses it."""
    s, i1 = site.type(source), site.type(dt.b1)
    info = np.iinfo(result.numpy)
    word = dt.i32 if result.bits < 32 else result
    name = "fptosi" if word.kind == "int" else "fptoui"
    t = site.type(word)
    value = site.op(f"{name} {s} {x} to {t}")
    high = site.const(2.0 ** (result.bits - (result.kind == "int")), source)
    above = site.op(f"fcmp oge {s} {x}, {high}")
    value = site.op(f"select {i1} {above}, {t} {site.const(info.max, word)}, {t} {value}")
    if result.kind == "int":
        below = site.op(f"fcmp olt {s} {x}, {site.const(float(info.min), source)}")
        value = site.op(f"select {i1} {below}, {t} {site.const(info.min, word)}, {t} {value}")
        wrong = site.op(f"fcmp uno {s} {x}, {x}")
    else:
        wrong = site.op(f"fcmp ult {s} {x}, {site.const(0.0, source)}")
    value = site.op(f"select {i1} {wrong}, {t} {site.const(0, word)}, {t} {value}")
    return value if word is result else site.op(f"trunc {t} {value} to {site.type(result)}")


def _half_is_nonzero(site: _Site, source: DType, x: str) -> str:
    magnitude = (1 << (source.bits - 1)) - 1
    scalar = f"i{source.bits}"
    t = site.plain(scalar)
    body = site.op(f"and {t} {x}, {site.number(magnitude, scalar)}")
    return site.op(f"icmp ne {t} {body}, {site.number(0, scalar)}")


def _widen(site: _Site, source: DType, x: str) -> str:
    """A stored half type as float32, exactly."""
    if source is dt.f16:
        half = site.op(f"bitcast {site.plain('i16')} {x} to {site.plain('half')}")
        return site.op(f"fpext {site.plain('half')} {half} to {site.plain('float')}")
    i32 = site.plain("i32")
    if source is dt.bf16 and site.builder.halves is not None and site.lanes % 2 == 0 < site.lanes:
        return _widen_pairs(site, x)
    if source is dt.bf16:
        bits = site.op(f"zext {site.plain('i16')} {x} to {i32}")
        bits = site.op(f"shl {i32} {bits}, {site.number(16, 'i32')}")
        return site.op(f"bitcast {i32} {bits} to {site.plain('float')}")
    return _widen_f8(site, source, x)


def _widen_pairs(site: _Site, x: str) -> str:
    """bfloat16 lanes as float32 where registers hold two: one instruction for each."""
    pairs, words = site.lanes // 2, f"<{site.lanes // 2} x i32>"
    both = site.op(f"bitcast <{site.lanes} x i16> {x} to {words}")
    low = site.op(f"shl {words} {both}, splat (i32 16)")
    high = site.op(f"and {words} {both}, splat (i32 {-(1 << 16)})")
    order = ", ".join(f"i32 {k // 2 + k % 2 * pairs}" for k in range(site.lanes))
    mask = f"<{site.lanes} x i32> <{order}>"
    bits = site.op(f"shufflevector {words} {low}, {words} {high}, {mask}")
    return site.op(f"bitcast <{site.lanes} x i32> {bits} to <{site.lanes} x float>")


def _half_arithmetic(site: _Site, result: DType, x: str) -> str | None:
    """A float32 rounded to a half type by the instruction for halves that computes it, if any."""
    found = site.builder.halves.operation(x, result) if site.builder.halves is not None else None
    if found is None:
        return None
    name, operands = found
    bits, half = site.plain("i16"), site.plain(TYPES[result])
    left, right = (
        site.op(f"bitcast {bits} {e} to {half}") if e.startswith("%") else e for e in operands
    )
    return site.op(f"bitcast {half} {site.op(f'{name} {half} {left}, {right}')} to {bits}")


def _narrow_f16(site: _Site, x: str) -> str:
    half = site.op(f"fptrunc {site.plain('float')} {x} to {site.plain('half')}")
    return site.op(f"bitcast {site.plain('half')} {half} to {site.plain('i16')}")


def _f64_to_f32_odd(site: _Site, x: str) -> str:
    """A float64 rounded to odd in float32: rounding it again to float16 is then exact."""
    f32, f64, i32 = site.plain("float"), site.plain("double"), site.plain("i32")
    i1 = site.plain("i1")
    near = site.op(f"fptrunc {f64} {x} to {f32}")
    back = site.op(f"fpext {f32} {near} to {f64}")
    bits = site.op(f"bitcast {f32} {near} to {i32}")
    # Where rounding moved away from zero, step back one; then set the last bit if inexact.
    magnitude = [
        site.call("llvm.fabs", f64, back),
        site.call("llvm.fabs", f64, x),
    ]
    above = site.op(f"fcmp ogt {f64} {magnitude[0]}, {magnitude[1]}")
    step = site.op(f"sext {i1} {above} to {i32}")
    toward = site.op(f"add {i32} {bits}, {step}")
    inexact = site.op(f"fcmp one {f64} {back}, {x}")
    odd = site.op(f"zext {i1} {inexact} to {i32}")
    fixed = site.op(f"or {i32} {toward}, {odd}")
    return site.op(f"bitcast {i32} {fixed} to {f32}")


def _narrow_bf16(site: _Site, x: str) -> str:
    """float32 to bfloat16, to nearest even: by integers where the target has no such instruction;
    NaN becomes a quiet NaN."""
    i32, f32 = site.plain("i32"), site.plain("float")
    if site.builder.halves is not None:
        short = site.plain("bfloat")
        return site.op(
            f"bitcast {short} {site.op(f'fptrunc {f32} {x} to {short}')} to {site.plain('i16')}"
        )
    bits = site.op(f"bitcast {f32} {x} to {i32}")
    high = site.op(f"lshr {i32} {bits}, {site.number(16, 'i32')}")
    even = site.op(f"and {i32} {high}, {site.number(1, 'i32')}")
    bias = site.op(f"add {i32} {even}, {site.number(0x7FFF, 'i32')}")
    rounded = site.op(f"add {i32} {bits}, {bias}")
    short = site.op(f"lshr {i32} {rounded}, {site.number(16, 'i32')}")
    quiet = site.op(f"or {i32} {high}, {site.number(0x40, 'i32')}")
    nan = site.op(f"fcmp uno {f32} {x}, {x}")
    chosen = site.op(f"select {site.plain('i1')} {nan}, {i32} {quiet}, {i32} {short}")
    return site.op(f"trunc {i32} {chosen} to {site.plain('i16')}")


_F8 = {dt.f8e4m3: (3, 7), dt.f8e5m2: (2, 15)}
"""Mantissa bits and exponent bias."""


def _widen_f8(site: _Site, source: DType, x: str) -> str:
    """float8 to float32: the bits as a tiny float32, scaled up exactly; then NaN and infinity."""
    mantissa, bias = _F8[source]
    i32, f32, i1 = site.plain("i32"), site.plain("float"), site.plain("i1")
    bits = site.op(f"zext {site.plain('i8')} {x} to {i32}")
    magnitude = site.op(f"and {i32} {bits}, {site.number(0x7F, 'i32')}")
    shifted = site.op(f"shl {i32} {magnitude}, {site.number(23 - mantissa, 'i32')}")
    tiny = site.op(f"bitcast {i32} {shifted} to {f32}")
    scaled = site.op(f"fmul {f32} {tiny}, {site.const(2.0 ** (127 - bias), dt.f32)}")
    value = site.op(f"bitcast {f32} {scaled} to {i32}")
    nan = site.number(0x7FC00000, "i32")
    if source is dt.f8e4m3:
        special = site.op(f"icmp eq {i32} {magnitude}, {site.number(0x7F, 'i32')}")
        value = site.op(f"select {i1} {special}, {i32} {nan}, {i32} {value}")
    else:
        infinite = site.op(f"icmp eq {i32} {magnitude}, {site.number(0x7C, 'i32')}")
        special = site.op(f"icmp ugt {i32} {magnitude}, {site.number(0x7C, 'i32')}")
        infinity = site.number(0x7F800000, "i32")
        value = site.op(f"select {i1} {infinite}, {i32} {infinity}, {i32} {value}")
        value = site.op(f"select {i1} {special}, {i32} {nan}, {i32} {value}")
    sign = site.op(f"and {i32} {bits}, {site.number(0x80, 'i32')}")
    sign = site.op(f"shl {i32} {sign}, {site.number(24, 'i32')}")
    value = site.op(f"or {i32} {value}, {sign}")
    return site.op(f"bitcast {i32} {value} to {f32}")


def _narrow_f8(site: _Site, x: str, result: DType) -> str:
    """float32 to float8, to nearest even.

    Normal results round in the integer bits; subnormal ones by adding a power of two whose last
    place is the smallest float8. Overflow gives NaN (e4m3fn has no infinity) or infinity.
    """
    mantissa, bias = _F8[result]
    i32, f32, i1 = site.plain("i32"), site.plain("float"), site.plain("i1")
    drop = 23 - mantissa
    bits = site.op(f"bitcast {f32} {x} to {i32}")
    magnitude = site.op(f"and {i32} {bits}, {site.number(0x7FFFFFFF, 'i32')}")
    last = site.op(f"lshr {i32} {magnitude}, {site.number(drop, 'i32')}")
    even = site.op(f"and {i32} {last}, {site.number(1, 'i32')}")
    rebias = ((127 - bias) << 23) - ((1 << (drop - 1)) - 1)
    normal = site.op(f"sub {i32} {magnitude}, {site.number(rebias, 'i32')}")
    normal = site.op(f"add {i32} {normal}, {even}")
    normal = site.op(f"lshr {i32} {normal}, {site.number(drop, 'i32')}")
    smallest = 1 - bias - mantissa
    anchor = site.const(2.0 ** (smallest + 23), dt.f32)
    plain = site.op(f"bitcast {i32} {magnitude} to {f32}")
    summed = site.op(f"fadd {f32} {plain}, {anchor}")
    small = site.op(f"bitcast {f32} {summed} to {i32}")
    anchor_bits = (smallest + 23 + 127) << 23
    small = site.op(f"sub {i32} {small}, {site.number(anchor_bits, 'i32')}")
    least_normal = (1 - bias + 127) << 23
    tiny = site.op(f"icmp ult {i32} {magnitude}, {site.number(least_normal, 'i32')}")
    value = site.op(f"select {i1} {tiny}, {i32} {small}, {i32} {normal}")
    # The largest finite code, what lies beyond it, and the code for NaN.
    finite, beyond, nan = (0x7E, 0x7F, 0x7F) if result is dt.f8e4m3 else (0x7B, 0x7C, 0x7E)
    huge = site.op(f"icmp ugt {i32} {magnitude}, {site.number(0x47800000, 'i32')}")
    above = site.op(f"icmp ugt {i32} {value}, {site.number(finite, 'i32')}")
    above = site.op(f"or {i1} {above}, {huge}")
    value = site.op(f"select {i1} {above}, {i32} {site.number(beyond, 'i32')}, {i32} {value}")
    unordered = site.op(f"fcmp uno {f32} {x}, {x}")
    value = site.op(f"select {i1} {unordered}, {i32} {site.number(nan, 'i32')}, {i32} {value}")
    sign = site.op(f"lshr {i32} {bits}, {site.number(24, 'i32')}")
    sign = site.op(f"and {i32} {sign}, {site.number(0x80, 'i32')}")
    value = site.op(f"or {i32} {value}, {sign}")
    return site.op(f"trunc {i32} {value} to {site.plain('i8')}")


_NARROW: dict[DType, Callable[[_Site, str], str]] = {
    dt.bf16: _narrow_bf16,
    dt.f8e4m3: lambda site, x: _narrow_f8(site, x, dt.f8e4m3),
    dt.f8e5m2: lambda site, x: _narrow_f8(site, x, dt.f8e5m2),
}


# --- the table ------------------------------------------------------------------------------------

TABLE: dict[str, Emitter] = {
    "add": _by_kind("add", "add", "fadd"),
    "sub": _by_kind("sub", "sub", "fsub"),
    "mul": _by_kind("mul", "mul", "fmul"),
    "neg": _neg,
    "abs": _abs,
    "div": _by_kind("sdiv", "udiv", "fdiv"),
    "sqrt": _call("llvm.sqrt"),
    "narrow_sqrt": _call("llvm.sqrt"),
    "fma": _call("llvm.fma"),
    "fast_div": _approximate("llvm.nvvm.div.full", "div"),
    "fast_sqrt": _approximate("llvm.nvvm.sqrt.approx.f", "sqrt"),
    "fma_pairs": _fma_pairs,
    "scale": _scale,
    "floor": _call("llvm.floor"),
    "ceil": _call("llvm.ceil"),
    "trunc": _call("llvm.trunc"),
    "rint": _call("llvm.rint"),
    "copysign": _copysign,
    "minimum": _call_by_kind("llvm.smin", "llvm.umin", "llvm.minimum"),
    "maximum": _call_by_kind("llvm.smax", "llvm.umax", "llvm.maximum"),
    "quotient": lambda s, r, a: _divide(s, r, a, remainder=False),
    "remainder": lambda s, r, a: _divide(s, r, a, remainder=True),
    "mul_high": _mul_high,
    "and": _by_kind("and", "and", "and"),
    "or": _by_kind("or", "or", "or"),
    "xor": _by_kind("xor", "xor", "xor"),
    "not": _not,
    "shl": lambda s, r, a: _shift(s, r, a, left=True),
    "shr": lambda s, r, a: _shift(s, r, a, left=False),
    "popcount": _popcount,
    "clz": _call("llvm.ctlz", tail=", i1 false"),
    "eq": _compare("eq", "eq", "oeq"),
    "ne": _compare("ne", "ne", "une"),
    "lt": _compare("slt", "ult", "olt"),
    "le": _compare("sle", "ule", "ole"),
    "gt": _compare("sgt", "ugt", "ogt"),
    "ge": _compare("sge", "uge", "oge"),
    "select": _select,
    "cast": _cast,
    "bitcast": _bitcast,
}
"""Every instruction but `rare_select`, which is control flow (`llvm_expr.py`)."""


def emit(
    builder: Builder, name: str, result: DType, args: Sequence[Value], lanes: int, scope: Scope
) -> str:
    """The text of the value of instruction `name` over `args` (all uniform, or all of `lanes`)."""
    return TABLE[name](_Site(builder, lanes, scope), result, args)
