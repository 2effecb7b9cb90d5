"""Pointwise ops that need no approximation: arithmetic, comparison, selection, bits, conversion.

Each entry defines one element by scalar instructions; `+ - * / sqrt`, comparisons, integer and bit
operations give NumPy's values. Complex elements come as pairs: an entry whose kinds include
"complex" says what it does with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.errors import (
    ArgumentError,
    DTypeError,
    IndexOutOfRangeError,
    IntegerRangeError,
    NumericsError,
    UnboundVariableError,
)
from pyc.ir import dtype as dt
from pyc.ir import instructions
from pyc.ir.dtype import DType
from pyc.ir.element import Element, choose, convert, widened
from pyc.ir.expr import Const, Expr, absolute, apply, const, fma, select
from pyc.ir.op import Complex, Kind, Op, Types, define, pointwise_types, same_shape
from pyc.ir.ops import definitions
from pyc.ir.types import ArrayType

NUMBERS = "int uint float complex"
REALS = "int uint float"
INTEGERS = "int uint"
ANY = "bool int uint float complex"


def pointwise(
    name: str,
    kinds: str,
    scalar: Callable[..., Element],
    reference: Callable[..., Any],
    result: DType | None = None,
    **options: Any,
) -> Op:
    """Define a pointwise op over arguments of one type of `kinds`; see `Op` for the options."""
    rule = options.pop("types", None) or pointwise_types(name, kinds, result)
    return define(
        Op(name, Kind.POINTWISE, rule, scalar=scalar, reference=reference, kinds=kinds, **options)
    )


def _real_result(name: str, kinds: str) -> Callable[..., Types]:
    """Type rule: like `pointwise_types`, but complex arguments give their real type."""
    base = pointwise_types(name, kinds)

    def rule(args: Types, **params: Any) -> Types:
        (out,) = base(args, **params)
        return (ArrayType(out.shape, out.dtype.real),)

    return rule


def _instruction(name: str) -> Callable[..., Expr]:
    return lambda *elements: apply(name, *elements)


# --- arithmetic -----------------------------------------------------------------------------------


def _add(x: Element, y: Element) -> Element:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(x.re + y.re, x.im + y.im)
    return apply("add", x, y)  # type: ignore[arg-type]


def _sub(x: Element, y: Element) -> Element:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(x.re - y.re, x.im - y.im)
    return apply("sub", x, y)  # type: ignore[arg-type]


def _mul(x: Element, y: Element) -> Element:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)
    return apply("mul", x, y)  # type: ignore[arg-type]


def _div(x: Element, y: Element) -> Element:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return _complex_div(x, y)
    return apply("div", x, y)  # type: ignore[arg-type]


def _complex_div(x: Complex, y: Complex) -> Complex:
    """Smith's method, the order of operations of NumPy's loops."""
    wide = absolute(y.re) >= absolute(y.im)
    large, small = select(wide, y.re, y.im), select(wide, y.im, y.re)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    re = select(wide, x.re + x.im * ratio, x.re * ratio + x.im) * scale
    im = select(wide, x.im - x.re * ratio, x.im * ratio - x.re) * scale
    zero = y.re.equal(0) & y.im.equal(0)
    return Complex(select(zero, x.re / absolute(y.re), re), select(zero, x.im / absolute(y.re), im))


def _complex_reciprocal(x: Complex) -> Complex:
    """Smith's method for 1 / x; of 0 it is NaN, as in NumPy."""
    wide = absolute(x.im) <= absolute(x.re)
    large, small = select(wide, x.re, x.im), select(wide, x.im, x.re)
    ratio = small / large
    below = large + small * ratio
    one, part = 1.0 / below, ratio / below
    return Complex(select(wide, one, part), -select(wide, part, one))


def _neg(x: Element) -> Element:
    return Complex(-x.re, -x.im) if isinstance(x, Complex) else -x


_hypot = definitions.real("hypot")
_square_root = definitions.pair("square_root")


def _abs(x: Element) -> Expr:
    return _hypot(x.re, x.im) if isinstance(x, Complex) else absolute(x)


def _sign(x: Element) -> Element:
    if isinstance(x, Complex):
        size = _hypot(x.re, x.im)
        zero, endless = Const(0, size.dtype), size.equal(np.inf)
        both = absolute(x.re).equal(absolute(x.im))  # no direction where both are infinite
        nan = Const(np.nan, size.dtype)

        def part(v: Expr) -> Expr:
            axis = select(absolute(v).equal(np.inf), apply("copysign", Const(1, v.dtype), v), zero)
            sized = select(endless, select(both, nan, axis), v / size)
            return select(size.equal(0), zero, sized)

        return Complex(part(x.re), part(x.im))
    if x.dtype.kind == "uint":
        return select(x > 0, Const(1, x.dtype), Const(0, x.dtype))
    below = select(x < 0, Const(-1, x.dtype), x)
    zero_or_nan = select(x.equal(0), Const(0, x.dtype), below)
    return select(x > 0, Const(1, x.dtype), zero_or_nan)


def _square(x: Element) -> Element:
    return _mul(x, x)


def _reciprocal(x: Element) -> Element:
    if isinstance(x, Complex):
        return _complex_reciprocal(x)
    return apply("div", Const(1, x.dtype), x)


def _fused(x: Any, y: Any, z: Any) -> Any:
    """x * y + z for the tests: exact up to the last rounding."""
    wide = np.longdouble
    return (x.astype(wide) * y.astype(wide) + z.astype(wide)).astype(x.dtype)


def _lesser(x: Any, y: Any) -> Any:
    return np.where(x < y, x, y)


def _greater(x: Any, y: Any) -> Any:
    return np.where(x > y, x, y)


def _integer_power(x: Expr, y: Expr) -> Expr:
    """x ** y by squaring, wrapping; 1 where y < 0 (which is a failure)."""
    result: Expr = Const(1, x.dtype)
    digits = x.dtype.bits - (x.dtype.kind == "int")
    for k in range(digits):
        bit = (y >> k) & 1
        result = result * select(bit.differs(0), x, 1)
        x = x * x
    return select(y < 0, 1, result) if y.dtype.kind == "int" else result


def _negative_exponent(x: Expr, y: Expr) -> tuple[Expr, Expr]:
    return y < 0, y.cast(dt.i64)


pointwise("add", NUMBERS, _add, np.add, unit={0: -0.0, 1: -0.0})
pointwise("sub", NUMBERS, _sub, np.subtract, unit={1: 0})
pointwise("mul", NUMBERS, _mul, np.multiply, unit={0: 1, 1: 1})
pointwise("div", "float complex", _div, np.true_divide, unit={1: 1}, cost=8)
pointwise("floor_divide", REALS, definitions.divided("floor_divide"), np.floor_divide, cost=40)
pointwise("remainder", REALS, definitions.divided("remainder"), np.remainder, cost=40)
pointwise("fmod", REALS, definitions.divided("fmod"), np.fmod, cost=40)
pointwise("neg", NUMBERS, _neg, np.negative)
pointwise("abs", NUMBERS, _abs, np.abs, types=_real_result("abs", NUMBERS))
pointwise("sign", NUMBERS, _sign, np.sign, cost=3)
pointwise("square", NUMBERS, _square, np.square)
pointwise("reciprocal", "float complex", _reciprocal, np.reciprocal, cost=8)
pointwise(
    "integer_power",
    INTEGERS,
    _integer_power,
    lambda x, y: np.power(x, np.maximum(y, 0)),
    fails=_negative_exponent,
    failure=lambda value: NumericsError(
        f"power: an integer is raised to the negative power {value}",
        fix="Convert the base to float first: `x.astype(float) ** y`.",
    ),
    spared={1: 0},
    cost=200,
)
pointwise("fma", "float", lambda x, y, z: fma(x, y, z), _fused)

# --- what `fastmath` puts in place of others (`passes/relax.py`) ----------------------------------

pointwise("fast_div", "float complex", definitions.fast("div"), np.true_divide, cost=8)
pointwise("fast_sqrt", "float", definitions.fast("sqrt"), np.sqrt, cost=8)
pointwise("fast_mul", "complex", definitions.fast("mul"), np.multiply, cost=4)
pointwise(
    "fast_fma", "complex", definitions.fast("multiply_add"), lambda x, y, z: x * y + z, cost=4
)
pointwise(
    "fast_abs",
    "complex",
    definitions.fast("size"),
    np.abs,
    types=_real_result("fast_abs", "complex"),
    cost=8,
)
pointwise("fast_minimum", "float", definitions.fast("minimum"), _lesser)
pointwise("fast_maximum", "float", definitions.fast("maximum"), _greater)


# --- order ----------------------------------------------------------------------------------------


def _extremum(instruction: str) -> Callable[[Expr, Expr], Expr]:
    """minimum or maximum; on bool they are `and` and `or`."""
    logical = "and" if instruction == "minimum" else "or"
    return lambda x, y: apply(logical if x.dtype is dt.b1 else instruction, x, y)


def _first_number(instruction: str) -> Callable[[Expr, Expr], Expr]:
    """minimum or maximum, but of a number and a NaN it is the number."""
    extremum = _extremum(instruction)

    def scalar(x: Expr, y: Expr) -> Expr:
        if not x.dtype.is_float:
            return extremum(x, y)
        return select(x.differs(x), y, select(y.differs(y), x, extremum(x, y)))

    return scalar


def _equal(x: Element, y: Element) -> Expr:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return x.re.equal(y.re) & x.im.equal(y.im)
    return apply("eq", x, y)  # type: ignore[arg-type]


def _differ(x: Element, y: Element) -> Expr:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return x.re.differs(y.re) | x.im.differs(y.im)
    return apply("ne", x, y)  # type: ignore[arg-type]


_ORDERED = "bool int uint float"
pointwise("minimum", _ORDERED, _extremum("minimum"), np.minimum)
pointwise("maximum", _ORDERED, _extremum("maximum"), np.maximum)
pointwise("fmin", _ORDERED, _first_number("minimum"), np.fmin, cost=3)
pointwise("fmax", _ORDERED, _first_number("maximum"), np.fmax, cost=3)
pointwise("eq", ANY, _equal, np.equal, dt.b1)
pointwise("ne", ANY, _differ, np.not_equal, dt.b1)
pointwise("lt", _ORDERED, _instruction("lt"), np.less, dt.b1)
pointwise("le", _ORDERED, _instruction("le"), np.less_equal, dt.b1)
pointwise("gt", _ORDERED, _instruction("gt"), np.greater, dt.b1)
pointwise("ge", _ORDERED, _instruction("ge"), np.greater_equal, dt.b1)


# --- rounding and the parts of a float ------------------------------------------------------------


def _sign_bit(x: Expr) -> Expr:
    return x.bitcast(dt.signed_of(x.dtype.bits)) < 0


def _next_after(x: Expr, y: Expr) -> Expr:
    """The neighbour of x towards y, by stepping its bits; y where they are equal."""
    bits = x.bitcast(dt.signed_of(x.dtype.bits))
    one = Const(1, bits.dtype)
    x_value, y_value = x.cast(widened(x.dtype)), y.cast(widened(y.dtype))
    # From 0 the first step gives the smallest subnormal of y's sign.
    smallest = select(y_value < 0, Const(-(2 ** (bits.dtype.bits - 1)) + 1, bits.dtype), one)
    away = (x_value > 0) ^ (x_value > y_value)
    moved = select(x_value.equal(0), smallest, select(away, bits + one, bits - one))
    stepped = moved.bitcast(x.dtype)
    nan = Const(np.nan, x.dtype)
    unordered = x_value.differs(x_value) | y_value.differs(y_value)
    return select(unordered, nan, select(x_value.equal(y_value), y, stepped))


def _sqrt(x: Element) -> Element:
    return _square_root(x) if isinstance(x, Complex) else apply("sqrt", x)


def _is_nan(x: Element) -> Expr:
    if isinstance(x, Complex):
        return x.re.differs(x.re) | x.im.differs(x.im)
    return x.differs(x)


def _is_infinite(x: Element) -> Expr:
    if isinstance(x, Complex):
        return absolute(x.re).equal(np.inf) | absolute(x.im).equal(np.inf)
    return absolute(x).equal(np.inf)


def _is_finite(x: Element) -> Expr:
    if isinstance(x, Complex):
        return (absolute(x.re) < np.inf) & (absolute(x.im) < np.inf)
    return absolute(x) < np.inf


pointwise("sqrt", "float complex", _sqrt, np.sqrt, cost=8)
pointwise("floor", "float", _instruction("floor"), np.floor)
pointwise("ceil", "float", _instruction("ceil"), np.ceil)
pointwise("trunc", "float", _instruction("trunc"), np.trunc)
pointwise("rint", "float", _instruction("rint"), np.rint)
pointwise("copysign", "float", _instruction("copysign"), np.copysign)
pointwise("nextafter", "float", _next_after, np.nextafter, widen=False, cost=6)
pointwise("signbit", "float", _sign_bit, np.signbit, dt.b1)
pointwise("isnan", "float complex", _is_nan, np.isnan, dt.b1)
pointwise("isinf", "float complex", _is_infinite, np.isinf, dt.b1)
pointwise("isfinite", "float complex", _is_finite, np.isfinite, dt.b1)


# --- logic and bits -------------------------------------------------------------------------------


def _popcount(x: Expr) -> Expr:
    """The number of one bits of |x|, as NumPy counts them."""
    return apply("popcount", absolute(x)).cast(dt.u8)


_BITS = "bool int uint"
pointwise("logical_and", "bool", _instruction("and"), np.logical_and)
pointwise("logical_or", "bool", _instruction("or"), np.logical_or)
pointwise("logical_xor", "bool", _instruction("xor"), np.logical_xor)
pointwise("logical_not", "bool", _instruction("not"), np.logical_not)
pointwise(
    "bitwise_and",
    _BITS,
    _instruction("and"),
    np.bitwise_and,
    unit={0: -1, 1: -1},
    absorbing={0: 0, 1: 0},
)
pointwise(
    "bitwise_or",
    _BITS,
    _instruction("or"),
    np.bitwise_or,
    unit={0: 0, 1: 0},
    absorbing={0: -1, 1: -1},
)
pointwise("bitwise_xor", _BITS, _instruction("xor"), np.bitwise_xor, unit={0: 0, 1: 0})
pointwise("bitwise_not", _BITS, _instruction("not"), np.invert)
pointwise("shift_left", INTEGERS, _instruction("shl"), np.left_shift, unit={1: 0})
pointwise("shift_right", INTEGERS, _instruction("shr"), np.right_shift, unit={1: 0})
pointwise("popcount", INTEGERS, _popcount, np.bitwise_count, dt.u8)


def _philox_types(args: Types, *, word: int) -> Types:
    # Only `pyc.random` binds it.
    assert word in range(4) and [a.dtype for a in args] == [dt.u32] * 6, f"{args}, word {word}"
    return (ArrayType(same_shape("philox", args), dt.u32),)


# More than its instructions: what needs two words is beyond what a kernel computes in one go, so
# the pairs of float64 are stored (logarithms of them in the same loop: a fifth slower).
pointwise(
    "philox",
    "uint",
    definitions.words("philox"),
    definitions.words("reference"),
    types=_philox_types,
    cost=256,
)


# --- selection and conversion ---------------------------------------------------------------------


def _select_types(args: Types, **_: Any) -> Types:
    shape = same_shape("select", args)
    condition, then, otherwise = args
    if condition.dtype is not dt.b1 or then.dtype is not otherwise.dtype:
        found = ", ".join(map(str, args))
        raise DTypeError(f"select: needs (b1, T, T), got {found}")
    return (ArrayType(shape, then.dtype),)


def _cast_types(args: Types, *, dtype: DType) -> Types:
    (x,) = args
    if x.dtype.is_complex and not dtype.is_complex and dtype is not dt.b1:
        raise DTypeError(
            f"cast: {x} cannot become {dtype}: the imaginary part would be lost",
            fix="Take `x.real` first if that is meant.",
        )
    return (ArrayType(x.shape, dtype),)


def _bitcast_types(args: Types, *, dtype: DType) -> Types:
    (x,) = args
    allowed = all(t.kind not in ("bool", "complex") for t in (x.dtype, dtype))
    if not allowed or x.dtype.bits != dtype.bits:
        raise DTypeError(f"bitcast: {x} cannot be read as {dtype}: sizes or kinds differ")
    return (ArrayType(x.shape, dtype),)


pointwise("select", ANY, choose, np.where, types=_select_types, widen=False)
pointwise(
    "cast",
    ANY,
    lambda x, *, dtype: convert(x, dtype),
    lambda x, *, dtype: instructions.cast(x, dtype),
    types=_cast_types,
    widen=False,
)
pointwise(
    "bitcast",
    REALS,
    lambda x, *, dtype: x.bitcast(dtype),
    lambda x, *, dtype: instructions.bitcast(x, dtype).reshape(x.shape),
    types=_bitcast_types,
    widen=False,
)


def _narrow_types(args: Types, *, dtype: DType) -> Types:
    (x,) = args
    if x.dtype is not dt.i64 or not dtype.is_integer:
        raise DTypeError(f"narrow: needs i64 and an integer type, got {x} and {dtype}")
    return (ArrayType(x.shape, dtype),)


def _narrow_fails(x: Expr, *, dtype: DType) -> tuple[Expr, Expr]:
    info = np.iinfo(dtype.numpy)
    wrong = x < max(int(info.min), -(1 << 63))
    return (wrong if dtype is dt.u64 else wrong | (x > int(info.max))), x


def _narrow_failure(value: int, *, dtype: DType) -> Exception:
    return IntegerRangeError(f"Python integer {value} out of bounds for {dtype.name}")


# A Python integer in the type of what it meets, or IntegerRangeError when the program runs.
pointwise(
    "narrow",
    "int",
    lambda x, *, dtype: convert(x, dtype),
    lambda x, *, dtype: instructions.cast(x, dtype),
    types=_narrow_types,
    fails=_narrow_fails,
    failure=_narrow_failure,
    spared={0: 0},
    widen=False,
    cost=3,
)


# --- complex parts --------------------------------------------------------------------------------


def _complex_types(args: Types, **_: Any) -> Types:
    (part,) = pointwise_types("complex", "float")(args)
    if part.dtype.is_half:
        raise DTypeError(f"complex: there is no complex type of {part.dtype}")
    return (ArrayType(part.shape, dt.c64 if part.dtype is dt.f32 else dt.c128),)


pointwise("complex", "float", Complex, lambda x, y: x + 1j * y, types=_complex_types)
pointwise("real", "complex", lambda x: x.re, np.real, types=_real_result("real", "complex"))
pointwise("imag", "complex", lambda x: x.im, np.imag, types=_real_result("imag", "complex"))
pointwise("conj", "complex", lambda x: Complex(x.re, -x.im), np.conj)


# --- variables ------------------------------------------------------------------------------------


def _require_types(args: Types, *, name: str) -> Types:
    x, bound = args
    if bound.dtype is not dt.b1 or bound.shape != x.shape:
        raise DTypeError(f"require: needs (T, b1) of one shape, got {x}, {bound}")
    return (x,)


def unbound_variable(name: str) -> UnboundVariableError:
    """What is raised where a variable of this name is used without a value."""
    return UnboundVariableError(
        f"`{name}` has no value: what gives it one was not executed",
        fix=f"Give `{name}` a value before the loop or the `if`.",
    )


# The value of a variable if it has one, which depends on data.
pointwise(
    "require",
    ANY,
    lambda x, bound, *, name: x,
    lambda x, bound, *, name: x,
    types=_require_types,
    fails=lambda x, bound, *, name: (~bound, const(0, dt.i64)),
    failure=lambda value, *, name: unbound_variable(name),
    spared={1: True},
    widen=False,
    cost=2,
)


# --- exceptions -----------------------------------------------------------------------------------


def _check_types(args: Types, *, error: str) -> Types:
    ok, value = args
    if ok.dtype is not dt.b1 or value != ArrayType(ok.shape, dt.i64):
        raise DTypeError(f"check: needs (b1, i64) of one shape, got {ok}, {value}")
    return (ok,)


# What Python would `raise` where `ok` is false. error: its type and message; the exception itself
# belongs to the place (`ir.graph.Raise`), which a Graph that was parsed from text does not have.
pointwise(
    "check",
    "bool",
    lambda ok, value, *, error: ok,
    lambda ok, value, *, error: ok,
    types=_check_types,
    fails=lambda ok, value, *, error: (~ok, value),
    failure=lambda value, *, error: RuntimeError(error),
    spared={0: True},
    effect=True,
    widen=False,
    cost=2,
)


# --- indices --------------------------------------------------------------------------------------


def _index_types(args: Types, *, bound: int, axis: int) -> Types:
    (out,) = pointwise_types("index_check", INTEGERS)(args)
    return (ArrayType(out.shape, dt.i64),)


def _normal_index(x: Expr, *, bound: int, axis: int) -> Expr:
    """Negative indices count from the end; what fails is left as it comes."""
    index = x.cast(dt.i64)
    return select(index < 0, index + bound, index) if x.dtype.kind == "int" else index


def _index_fails(x: Expr, *, bound: int, axis: int) -> tuple[Expr, Expr]:
    index = x.cast(dt.i64)
    if x.dtype.kind == "uint":
        return (index >= bound) | (index < 0), index
    return (index >= bound) | (index < -bound), index


def _normal_reference(x: Any, *, bound: int, axis: int) -> Any:
    return np.where(x < 0, x.astype(np.int64) + bound, x.astype(np.int64))


def _are_inside(x: Any, *, bound: int, axis: int) -> bool:
    low = 0 if x.dtype.kind == "u" else -bound
    return bool(((x >= low) & (x < bound)).all())


def _index_failure(value: int, *, bound: int, axis: int) -> Exception:
    return IndexOutOfRangeError(f"index {value} is out of bounds for axis {axis} with size {bound}")


# An index made non-negative, or IndexOutOfRangeError when the program runs. Readers of the result
# (gather, slices, scatter) stay within bounds whatever it is.
pointwise(
    "index_check",
    INTEGERS,
    _normal_index,
    _normal_reference,
    types=_index_types,
    fails=_index_fails,
    failure=_index_failure,
    spared={0: 0},
    exact=_are_inside,
    cost=3,
)


def _number_types(args: Types, *, bound: int, asked: str) -> Types:
    (out,) = pointwise_types("number_check", INTEGERS)(args)
    return (ArrayType(out.shape, dt.i64),)


def _number_fails(x: Expr, *, bound: int, asked: str) -> tuple[Expr, Expr]:
    number = x.cast(dt.i64)
    return (number >= bound) | (number < 0), number


def _number_failure(value: int, *, bound: int, asked: str) -> Exception:
    return ArgumentError(f"{asked}: index {value} is not in [0, {bound})")


# A number of [0, bound), or ArgumentError when the program runs: where NumPy, which does not count
# from the end there, has a ValueError. asked: the function that takes it.
pointwise(
    "number_check",
    INTEGERS,
    lambda x, *, bound, asked: x.cast(dt.i64),
    lambda x, *, bound, asked: x.astype(np.int64),
    types=_number_types,
    fails=_number_fails,
    failure=_number_failure,
    spared={0: 0},
    exact=lambda x, *, bound, asked: bool(((x >= 0) & (x < bound)).all()),
    cost=3,
)
