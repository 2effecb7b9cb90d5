"""Every scalar instruction, as scalars and as vectors of both widths, gives the bits of its
definition in `ir/instructions.py`, for awkward inputs too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from pyc.backends.cpu import Cpu
from pyc.backends.x86 import compile_plan
from pyc.backends.x86_kernel import X86Kernel
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import plan as plans
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Expr, Load, Var, apply
from pyc.ir.instructions import INSTRUCTIONS, SCALED, bitcast, cast, quietly
from pyc.ir.loops import Buffer, For, Kernel, Kind, Store
from pyc.ir.target import X86_64_V3, X86_64_V4, Target

Array = np.ndarray[Any, Any]
SCALARS = [t for t in dt.ALL if not t.is_complex]
WIDTHS = {
    "256": X86_64_V3,
    "512": X86_64_V4,
    "512 split": replace(X86_64_V4, vector_bytes=32),
}
LANES = 64


def same(a: Array, b: Array) -> bool:
    """Bit equality, where any NaN equals any NaN."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    with np.errstate(invalid="ignore"):
        nans = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    raw = f"u{a.dtype.itemsize}"
    return bool(((a.view(raw) == b.view(raw)) | (nans[0] & nans[1])).all())


def awkward(t: DType) -> Array:
    """Values at the edges of a type, then random bits: a multiple of LANES of them."""
    rng = np.random.default_rng(7)
    if t is dt.b1:
        return np.arange(LANES * 2) % 3 == 0
    raw = (
        rng.integers(0, 1 << t.bits, LANES * 8, dtype=np.uint64, endpoint=False)
        if t.bits < 64
        else rng.integers(0, (1 << 64) - 1, LANES * 8, dtype=np.uint64, endpoint=True)
    )
    values = raw.astype(f"u{t.itemsize}").view(t.numpy).copy()
    if t.is_integer:
        info = np.iinfo(t.numpy)
        edge = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, t.bits - 1, t.bits]
        if t.kind == "int":
            edge += [-1, -2, -t.bits]
        values[: len(edge)] = np.array(edge, t.numpy)
        values[64:192] = (np.arange(128) % 17).astype(t.numpy)
        return values
    edge = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        6e-8,
        65504.0,
        65519.99,
        65520.0,
        448.0,
        464.0,
        465.0,
        240.0,
        2.0**31,
        -(2.0**31),
        2.0**63,
        -(2.0**63),
        2.0**64,
        2.0**32,
        127.5,
        128.0,
        -128.5,
        -129.0,
        255.5,
        256.0,
        32767.5,
        3.4e38,
        2.0**-149,
        2.0**-126,
        2.0**-9,
        2.0**-10,
        3 * 2.0**-11,
        2.0**-17,
        57344.0,
        61440.0,
        61441.0,
    ]
    with np.errstate(all="ignore"):
        values[: len(edge)] = np.array(edge).astype(t.numpy)
        values[64 : 64 + 256] = (
            rng.standard_normal(256) * 10.0 ** rng.integers(-9, 9, 256)
        ).astype(t.numpy)
    return values


def pairs(t: DType, arity: int) -> list[Array]:
    """Operands that meet every edge value with every other."""
    base = awkward(t)
    if arity == 1:
        return [base]
    edge = base[:48]
    a, b = (np.ascontiguousarray(x.reshape(-1)) for x in np.meshgrid(edge, edge))
    a, b = np.concatenate([base, a]), np.concatenate([np.roll(base, 1), b])
    if arity == 2:
        return [a, b]
    return [a, b, np.roll(a, 5)]


def elementwise(
    name: str, expr: Callable[..., Expr], types: list[DType], result: DType, n: int, lanes: int
) -> Kernel:
    """A kernel that applies `expr` to n elements, in vectors of `lanes` (0: as scalars)."""
    ins = [Buffer(f"x{k}", t, (n,), role="in") for k, t in enumerate(types)]
    out = Buffer("out", result, (n,), role="out")
    chunk, lane = Var("c"), Var("l")
    index = chunk * lanes + lane if lanes else chunk
    store = Store(out, (index,), expr(*(Load(x, (index,)) for x in ins)))
    inner = For(lane, lanes, Kind.VECTOR, (store,)) if lanes else store
    body = (For(chunk, n // max(lanes, 1), Kind.SERIAL, (inner,)),)
    return Kernel(name, (*ins, out), body)


class Case:
    """One instruction over given operands and its expected result."""

    def __init__(
        self, expr: Callable[..., Expr], operands: list[Array], expected: Array, label: str
    ) -> None:
        n = len(operands[0]) // LANES * LANES
        self.expr = expr
        self.operands = [np.ascontiguousarray(x[:n]) for x in operands]
        self.expected = expected[:n]
        self.label = label


def cases(t: DType) -> Iterator[Case]:
    """Every instruction whose operands may be of type t."""
    for name, instruction in INSTRUCTIONS.items():
        types = (t,) * instruction.arity
        if name in ("select", "rare_select"):
            types = (dt.b1, t, t)
        try:
            result = instruction.result(types)
        except TypeError:
            continue
        operands = pairs(t, instruction.arity)
        if types[0] is not t:
            operands[0] = np.arange(len(operands[0])) % 5 < 2
        if name in ("shl", "shr"):
            operands[1] = (operands[1].astype(np.int64) % (t.bits + 4)).astype(t.numpy)
        if name == "scale":
            operands = scaled(t)
        if name == "narrow_sqrt":
            yield from narrowed()
            continue
        expected = instruction.evaluate(tuple(operands), result)
        yield Case(lambda *a, name=name: apply(name, *a), operands, expected, name)
    for to in SCALARS:
        operands = pairs(t, 1)
        if to is not t:
            expected = cast(operands[0], to)
            yield Case(
                lambda a, to=to: Apply("cast", (a,), to), operands, expected, f"cast to {to}"
            )
        if to is not t and to.bits == t.bits and to is not dt.b1:
            expected = bitcast(operands[0], to)
            yield Case(lambda a, to=to: a.bitcast(to), operands, expected, f"bitcast to {to}")


def scaled(t: DType) -> list[Array]:
    """Operands of `scale`: its whole domain, results from zero through subnormals to infinity."""
    mantissa, bias = (23, 127) if t is dt.f32 else (52, 1023)
    random = np.random.default_rng(5)
    n = np.repeat(np.arange(2 - 2 * bias, 2 * bias - 1), 8)
    x = np.exp2(random.uniform(-32, 32, n.size)) * random.choice([-1, 1], n.size)
    x[::8], x[1::8], x[2::8], x[3::8] = SCALED, 1 / SCALED, np.nan, random.choice([0.0, -0.0])
    return [x.astype(t.numpy), (n + (1.5 * 2.0**mantissa + 2 * bias)).astype(t.numpy)]


def narrowed() -> Iterator[Case]:
    """Roots that are cast to float32: of all magnitudes, and those next to the middle of two
    neighbours, which decide by the last bit of the root."""
    random = np.random.default_rng(6)
    far = np.exp2(random.uniform(-299, 299, 4000))
    thin = np.exp2(random.integers(-140, 120, 20_000)) * (1 + random.random(20_000))
    below = thin.astype(np.float32)
    middles = (below.astype(np.float64) + np.nextafter(below, np.float32(np.inf))) / 2
    edges = np.exp2(np.arange(-140.0, 120.0))
    middles = np.concatenate([middles, edges * (1 + 2.0**-24), edges * (2 - 2.0**-24)])
    near = middles * middles  # exact: a middle has 25 bits
    around = [near]
    for toward in (0.0, np.inf):
        one = np.nextafter(near, toward)
        around += [one, np.nextafter(one, toward)]
    squares = np.concatenate([[0.0, np.nan], far, *around])
    with quietly():
        roots = np.sqrt(squares).astype(np.float32)
    yield Case(lambda a: apply("narrow_sqrt", a).cast(dt.f32), [squares], roots, "narrow_sqrt")


@pytest.mark.parametrize(("more", "near"), [(0, True), (40, False)])
def test_a_root_beside_much_else_is_the_processors(more: int, near: bool) -> None:
    """Which costs nothing there, where products and sums would take their turn."""

    def expr(a: Expr) -> Expr:
        root = apply("narrow_sqrt", a).cast(dt.f32)
        for k in range(more):
            root = root * 1.5 + float(k)
        return root

    text = X86Kernel(elementwise("k", expr, [dt.f64], dt.f32, 64, 8), X86_64_V4, {}).function("k")
    assert ("rsqrt14" in text) is near
    assert ("llvm.sqrt" in text) is not near


def test_scale_has_a_domain() -> None:
    """Outside of it processors may differ: the interpreters refuse."""
    evaluate = INSTRUCTIONS["scale"].evaluate
    for x, rounded in ((1e-20, 12583166.0), (1e20, 12583166.0), (1.0, 0.0), (1.0, np.nan)):
        operands = (np.array([x], np.float32), np.array([rounded], np.float32))
        with pytest.raises(ValueError, match="domain"):
            evaluate(operands, dt.f32)


def run_cases(found: list[Case], lanes: int, target: Target) -> list[str]:
    """The labels of the cases that differ: all in one module, one launch each."""
    kernels, buffers, steps, arrays, outs = [], [], [], [], []
    for k, case in enumerate(found):
        types = [dt.of(x.dtype) for x in case.operands]
        result = dt.of(case.expected.dtype)
        assert result is not None
        n = len(case.expected)
        kernels.append(elementwise(f"k{k}", case.expr, types, result, n, lanes))  # type: ignore[arg-type]
        slots = []
        for x in case.operands:
            slots.append(len(buffers))
            buffers.append(plans.PlanBuffer(x.nbytes, plans.Place.ARGUMENT, len(arrays)))
            arrays.append(x)
        slots.append(len(buffers))
        buffers.append(plans.PlanBuffer(case.expected.nbytes, plans.Place.RESULT, len(outs)))
        outs.append(np.empty_like(case.expected))
        steps.append(plans.Launch(k, tuple(slots)))
    plan = plans.Plan(tuple(kernels), tuple(buffers), tuple(steps), tuple(range(len(arrays))), ())
    cpu = Cpu()
    cpu.run(cpu.load(compile_plan(plan, target), plan), arrays, outs)
    wrong = []
    for case, out in zip(found, outs, strict=True):
        if not same(out, case.expected):
            bad = [k for k in range(len(out)) if not same(out[k : k + 1], case.expected[k : k + 1])]
            k = bad[0]
            call = f"{case.label}({[x[k] for x in case.operands]})"
            wrong.append(f"{call} = {out[k]!r}, not {case.expected[k]!r} ({len(bad)} differ)")
    return wrong


@pytest.mark.parametrize("width", ["scalar", *WIDTHS])
@pytest.mark.parametrize("t", SCALARS, ids=repr)
def test_every_instruction_has_the_bits_of_its_definition(t: DType, width: str) -> None:
    found = list(cases(t))
    assert found
    wrong = run_cases(found, 0 if width == "scalar" else LANES, WIDTHS.get(width, X86_64_V4))
    assert not wrong, "\n".join(wrong)


def between(t: DType) -> Array:
    """float64s around each number of a half type and each point half way between two: what rounding
    twice, by float32, would get wrong among them."""
    bits = np.arange(1 << (t.bits - 1)).astype(f"u{t.itemsize}")
    with np.errstate(all="ignore"):
        numbers = bits.view(t.numpy).astype(np.float64)
    numbers = np.unique(numbers[np.isfinite(numbers)])
    middles = np.append((numbers[1:] + numbers[:-1]) / 2, 1.5 * numbers[-1] - numbers[-2] / 2)
    exact = np.concatenate([numbers, middles, [2.0 * numbers[-1], 1e300, 5e-324, np.inf]])
    near = [exact, np.nextafter(exact, np.inf), np.nextafter(exact, 0)]
    # Nearer to it than a float32 can be, yet on one side.
    aside = [exact * (1 + 2.0**-40), exact * (1 - 2.0**-40)]
    found = np.concatenate([*near, *aside, [np.nan]])
    found = np.concatenate([found, -found])
    return np.resize(found, -(-len(found) // LANES) * LANES)


@pytest.mark.parametrize("width", ["scalar", *WIDTHS])
@pytest.mark.parametrize("t", [x for x in SCALARS if x.is_half], ids=repr)
def test_float64_becomes_a_half_as_in_numpy(t: DType, width: str) -> None:
    """Rounded once to float16; by float32 to the types of ml_dtypes, which convert so."""
    wide = between(t)
    with np.errstate(all="ignore"):
        expected = wide.astype(t.numpy)
        single = wide.astype(np.float32)
        narrowed = single.astype(t.numpy)
    assert t is not dt.f16 or not same(expected, narrowed)
    with np.errstate(all="ignore"):
        back = expected.astype(np.float64)
    found = [
        Case(lambda x: x.cast(t), [wide], expected, "from float64"),
        Case(lambda x: x.cast(dt.f32).cast(t), [wide], narrowed, "by float32"),
        Case(lambda x: x.cast(dt.f64), [expected], back, "to float64"),
    ]
    wrong = run_cases(found, 0 if width == "scalar" else LANES, WIDTHS.get(width, X86_64_V4))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width", ["scalar", *WIDTHS])
@pytest.mark.parametrize("t", [x for x in SCALARS if x.is_half], ids=repr)
def test_a_sign_is_copied_before_rounding_to_a_half(t: DType, width: str) -> None:
    """LLVM rounds the sign's number too, from float64 to float16 by a function that it calls, where
    it may move the rounding in front of `copysign`."""
    wide = between(t)
    with np.errstate(all="ignore"):
        single = wide.astype(np.float32)
    signs = np.where(np.arange(len(wide)) % 3 == 0, -1.0, 1.0)
    with np.errstate(all="ignore"):
        half = np.resize(np.array([-1.0, 1.0, -0.0, np.inf]), len(wide)).astype(t.numpy)

    def rounded(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return x.astype(np.float32).astype(t.numpy)

    def copied(x: Expr, sign: Expr) -> Expr:
        return apply("copysign", x, sign)

    def twice(x: Expr, y: Expr) -> Expr:
        sign = y.cast(dt.f32).cast(t).cast(dt.f32)
        return copied(x, sign).cast(t)

    found = [
        Case(
            lambda x, y: copied(x, y).cast(dt.f32).cast(t),
            [wide, signs],
            rounded(np.copysign(wide, signs)),
            "float64",
        ),
        Case(
            lambda x, y: copied(x, y.cast(dt.f32)).cast(t),
            [single, signs],
            rounded(np.copysign(single, signs.astype(np.float32))),
            "by a float64's sign",
        ),
        Case(
            lambda x, y: copied(x.cast(dt.f32), y.cast(dt.f32)).cast(t),
            [half, half],
            half,
            "by a half's sign",
        ),
        Case(twice, [single, signs], rounded(np.copysign(single, signs)), "by a rounded sign"),
    ]
    wrong = run_cases(found, 0 if width == "scalar" else LANES, WIDTHS.get(width, X86_64_V4))
    assert not wrong, "\n".join(wrong)
