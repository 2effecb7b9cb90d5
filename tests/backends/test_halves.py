"""Half types and divisions by instructions of their own on a GPU: where, and why the bits are the
same."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.backends import cuda
from pyc.backends.llvm_halves import Halves, constant_of
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.nvptx_division import NORMAL, ORDINARY
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.target import SM_90, Target, nvptx
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.programs.differential import same_bits

HALVES = (dt.f16, dt.bf16)


def ptx_of(function: Any, dtype: DType, target: Target = SM_90, count: int = 2) -> str:
    args = [np.ones(4096, dtype.numpy)] * count
    graph = optimise(pyc.jit(function).trace(*args).graph)
    return ptx(module_text(plan(graph, target).plan.kernels, target)[0], target)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_and_products_of_halves_are_instructions(dtype: DType) -> None:
    text = ptx_of(lambda x, y: (x * y + 0.5) - y, dtype)
    name = {dt.f16: "f16x2", dt.bf16: "bf16x2"}[dtype]
    for op in ("add", "sub", "mul"):
        assert f"{op}.rn.{name}" in text
    assert "cvt.rn" not in text and "f32" not in text


def test_bfloat16_is_fused_from_where_it_has_a_product_and_a_sum() -> None:
    text = ptx_of(lambda x, y: x * y + y, dt.bf16, nvptx(80))
    assert "fma.rn.bf16x2" in text and "cvt.rn" not in text


def test_what_needs_float32_keeps_it() -> None:
    text = ptx_of(lambda x, y: x / y, dt.f16)
    assert "div.rn.f32" in text and "rcp.approx" not in text
    wide = ptx_of(lambda x, y: x.astype(np.float32) / y.astype(np.float32), dt.bf16)
    assert "div.rn.f32" in wide and "rcp.approx" not in wide
    text = ptx_of(lambda x, y: x / y, dt.bf16)
    assert "div.rn.f32" in text and "cvt.rn.bf16x2.f32" in text
    mixed = ptx_of(lambda x, y: (x.astype(np.float32) + np.float32(0.1)).astype(x.dtype), dt.bf16)
    assert "add.rn.f32" in mixed  # 0.1 is no bfloat16


def test_only_results_over_halves_are_taken() -> None:
    halves = Halves()
    halves.widened("%a", dt.bf16, "%h")
    halves.computed("%s", "fadd", "%a", "%other")
    halves.computed("%t", "fmul", "%a", "splat (float 0x3FE0000000000000)")
    assert halves.operation("%s", dt.bf16) is None
    assert halves.operation("%t", dt.bf16) == ("fmul", ("%h", "splat (bfloat 0xR3F00)"))
    assert halves.operation("%t", dt.f16) is None
    halves.computed("%u", "fadd", "splat (float 0x3FE0000000000000)", "%a")
    assert halves.operation("%u", dt.f8e5m2) is None  # no type of the hardware's
    assert constant_of("splat (float 0x3FE0000000000000)") == 0.5
    assert constant_of("%a") is None


def exactly(value: Fraction, kind: Any) -> Any:
    """The nearest number of a type to a rational, ties to even; zero is positive."""
    near = kind(float(value))  # at most one step off
    bits = {2: np.uint16, 4: np.uint32}[near.itemsize]
    here = int(near.view(bits))
    places = np.array([here + step for step in (-1, 0, 1) if here + step >= 0], bits)
    finite = [x for x in places.view(kind) if np.isfinite(x)]
    return min(finite, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(bits)) & 1))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_rounding_a_sum_or_product_twice_is_rounding_it_once(dtype: DType) -> None:
    kind: Any = ml_dtypes.bfloat16 if dtype is dt.bf16 else np.float16
    rng = np.random.default_rng(0)
    small = np.finfo(np.float16).smallest_subnormal if kind is np.float16 else 2.0**-133
    scales = [1.0, float(small) * 100, 2.0**-70 if kind is not np.float16 else 2.0**-12]
    for scale in scales:
        x, y = (np.abs(rng.standard_normal(1500)) * scale for _ in range(2))
        for a, b in zip(x.astype(kind), y.astype(kind), strict=True):
            p, q = Fraction(float(a)), Fraction(float(b))
            assert kind(np.float32(a) + np.float32(b)) == exactly(p + q, kind)
            assert kind(np.float32(a) * np.float32(b)) == exactly(p * q, kind)


def fma(a: np.float32, b: np.float32, c: np.float32) -> np.float32:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact < 0:
        return np.float32(-exactly(-exact, np.float32))
    return np.float32(exactly(exact, np.float32))


def test_the_short_way_to_divide_a_constant_is_exactly_rounded() -> None:
    rng = np.random.default_rng(1)
    one = np.float32(1)
    for x in (np.float32(1), np.float32(2), np.float32(0.3)):
        for y in rng.uniform(1, 2, 300).astype(np.float32) * np.float32(2.0) ** np.float32(40):
            for step in (-1, 0, 1):  # the reciprocal of the hardware is at most an ulp off
                near = np.uint32(int((one / y).view(np.uint32)) + step).view(np.float32)
                exact = fma(near, fma(-y, near, one), near)
                product = np.float32(x * exact)
                assert fma(fma(-y, product, x), exact, product) == x / y


def test_divisions_of_a_constant_share_a_branch() -> None:
    shared = ptx_of(lambda x: 1 / (1 + pnp.exp(-x)), dt.f32, count=1)
    assert shared.count("rcp.approx.ftz.f32") == 4
    assert "rcp.approx" not in ptx_of(lambda x: 1e-30 / x, dt.f32, count=1)
    assert ORDINARY[0] * ORDINARY[1] == 1


def rounded_quotient(x: Any, y: Any) -> Any:
    """x / y in bfloat16, rounded once: float64 has more than twice its digits, and its range."""
    return (x.astype(np.float64) / y.astype(np.float64)).astype(ml_dtypes.bfloat16)


def test_quotients_of_bfloat16_are_far_from_where_they_would_round_the_other_way() -> None:
    x, y = np.meshgrid(np.arange(128.0, 256), np.arange(128.0, 256))
    exact = rounded_quotient(x, y)
    near = np.float32(x) / np.float32(y)
    for step in range(-8, 9):  # the short way is at most two steps off
        moved = (near.view(np.int32) + step).view(np.float32)
        np.testing.assert_array_equal(moved.astype(ml_dtypes.bfloat16), exact)


def test_the_short_way_to_divide_bfloat16_takes_no_quotient_that_it_gets_wrong() -> None:
    """All dividends over divisors of every size, with reciprocals as the hardware gives them: of
    subnormal numbers infinite, zero where they would be subnormal, an ulp off."""
    x = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    codes = [
        e << 7 | m
        for e in (0, 1, 2, 3, 64, 126, 127, 128, 250, 252, 253, 254, 255)
        for m in (0, 1, 2, 77, 126, 127)
    ]
    least = np.float32(2.0**-126)
    with np.errstate(all="ignore"):
        for code in codes:
            y = np.array(code, np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
            near = np.float32(1) / y if y >= least or np.isnan(y) else np.float32(np.inf)
            near = np.float32(0) if near < least else near
            exact = rounded_quotient(x, y)
            for step in (-1, 0, 1) if 0 < near < np.inf else (0,):
                reciprocal = (near.view(np.int32) + np.int32(step)).view(np.float32)
                quick = x * reciprocal
                size = np.abs(quick)
                good = (size > NORMAL[0]) & (size < NORMAL[1]) | (quick == x)
                found = quick.astype(ml_dtypes.bfloat16)
                assert np.array_equal(found[good].view(np.uint16), exact[good].view(np.uint16))
                ordinary = (np.abs(x) > 2.0**-60) & (np.abs(x) < 2.0**60) | (x == 0)
                if 2.0**-60 < y < 2.0**60:
                    assert good[ordinary].all()


def test_divisions_of_bfloat16_share_a_branch() -> None:
    text = ptx_of(lambda x, y: x / y, dt.bf16)
    assert text.count("rcp.approx.ftz.f32") == 4 and text.count("div.rn.f32") == 4
    assert len([line for line in text.splitlines() if "bra" in line.split()[:2]]) <= 2


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_quotients_of_halves_are_those_of_the_cpu(dtype: DType) -> None:
    """All dividends, over a divisor of each size and sign and a few of its significands."""
    x = np.arange(1 << 16, dtype=np.uint16)
    y = np.arange(0, 1 << 16, 149, dtype=np.uint16)
    shape = (len(y), len(x))
    x = np.ascontiguousarray(np.broadcast_to(x, shape)).view(dtype.numpy)
    y = np.ascontiguousarray(np.broadcast_to(y[:, None], shape)).view(dtype.numpy)
    found = np.asarray(pyc.jit(lambda x, y: x / y, device="cuda")(x, y))
    assert same_bits(found, pyc.jit(lambda x, y: x / y)(x, y))


def rounded(v: Any, dtype: DType) -> Any:
    """The bits of float32 numbers rounded to a half type, without an instruction that rounds to it:
    to bfloat16 by a sum of integers, to float16 by a sum with a number whose spacing is that of the
    result."""
    bits = v.view(np.uint32)
    if dtype is dt.bf16:
        return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) >> 16).astype(np.uint16)
    sign, size = (bits >> 16) & np.uint32(0x8000), bits & np.uint32(0x7FFFFFFF)
    exponent = np.maximum(size >> 23, np.uint32(127 - 14))
    large = (((exponent + np.uint32(13)) << 23) | np.uint32(0x400000)).view(np.float32)
    number = (size.view(np.float32) + large) - large
    whole = number.view(np.uint32)
    normal = ((whole >> 13) - np.uint32(112 << 10)).astype(np.uint32)
    small = (number * np.float32(2.0**24)).astype(np.uint32)
    found = np.where(number < np.float32(2.0**-14), small, normal)
    found = np.where(number > np.float32(65504), np.uint32(0x7C00), found)
    return (sign | found).astype(np.uint16)


OPERATIONS = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
}


def disagreements(name: str, dtype: DType, device: str) -> Any:
    """A jitted function of halves x and y: how many results differ from those in float32, rounded;
    any NaN is as good as another."""

    def function(x: Any, y: Any) -> Any:
        found = OPERATIONS[name](x, y)
        wide = OPERATIONS[name](x.astype(np.float32), y.astype(np.float32))
        same = (found.view(np.uint16) == rounded(wide, dtype)) | (np.isnan(found) & np.isnan(wide))
        return (~same).sum()

    return pyc.jit(function, device=device)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_rounding_by_hand_is_that_of_the_type(dtype: DType) -> None:
    """Both neighbours of each half, and what lies between them."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    halves = bits.view(dtype.numpy).astype(np.float32)
    steps = np.arange(-3, 4, dtype=np.int64)[:, None]
    with np.errstate(all="ignore"):
        middle = (halves + np.roll(halves, -1)) / np.float32(2)
        v = np.concatenate([halves, middle])
        v = v[np.isfinite(v)].view(np.uint32)
        v = (v + steps).astype(np.uint32).view(np.float32)
        v = np.append(v[np.isfinite(v)], np.float32([np.inf, -np.inf, 3e38, 1e-45]))
        expected = v.astype(dtype.numpy).view(np.uint16)
        assert (rounded(v, dtype) == expected).all()


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_and_products_of_some_halves_on_the_cpu(name: str, dtype: DType) -> None:
    y = np.arange(0, 1 << 16, 7, dtype=np.uint16).view(dtype.numpy)
    x = np.arange(0, 1 << 16, 2039, dtype=np.uint16).view(dtype.numpy)[:, None]
    assert disagreements(name, dtype, "cpu")(x, y) == 0


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_sums_and_products_of_all_halves(name: str, dtype: DType) -> None:
    """All 2^32 pairs: the instructions give what float32 gives, rounded."""
    function = disagreements(name, dtype, "cuda")
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype.numpy)
    y = pyc.device_put(every)
    wrong = [function(pyc.device_put(x[:, None]), y) for x in every.reshape(64, 1024)]
    assert sum(int(w) for w in wrong) == 0
