"""Products of bfloat16 by tiles (AMX): right for all numbers, the same bits by tiles and by fma."""

from __future__ import annotations

import ctypes
import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import ml_dtypes
import numpy as np
import pytest

from pyc import reasons
from pyc.backends import host
from pyc.backends.host import host_target, targets_of
from pyc.backends.x86 import X86, compile_plan
from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.expr import Const, Load, const
from pyc.ir.instructions import INSTRUCTIONS, multiply_tiles
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    For,
    If,
    Kernel,
    Kind,
    PairsMultiply,
    Space,
    Stmt,
    Store,
    Var,
    walk,
)
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.target import X86_64_V3, X86_64_V4, X86_64_V4_AMX, X86_64_V4_BF16, X86_64_V4_FP16
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.ir.verify_kernel import verify as verify_kernel
from pyc.jit import jit
from pyc.kernels.matmul_amx import matmul_amx, refusal_of_amx
from pyc.kernels.registry import choose
from pyc.pipeline import plan
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify

RNG = np.random.default_rng(13)
PLAIN = (((1,), (0,)), ((), ()))
LAYOUTS = {
    "a @ b": (lambda a, b: a @ b, PLAIN),
    "a.T @ b": (lambda a, b: a.T @ b, (((0,), (0,)), ((), ()))),
    "a @ b.T": (lambda a, b: a @ b.T, (((1,), (1,)), ((), ()))),
    "a.T @ b.T": (lambda a, b: a.T @ b.T, (((0,), (1,)), ((), ()))),
}
BF16 = ml_dtypes.bfloat16
HERE = pytest.mark.skipif(
    not host_target().bfloat16_tiles, reason="this processor has no tiles of bfloat16 (AMX)"
)


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(BF16)


def in_steps(a: Any, b: Any) -> Any:
    """The product in the order of the nest, by fma: of 32 terms the even and the odd ones apart."""
    one = INSTRUCTIONS["fma"].evaluate
    a, b = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[1], 32):
            parts = []
            for parity in range(2):
                part = np.zeros_like(total)
                for k in range(start + parity, min(start + 32, a.shape[1]), 2):
                    part = one((a[:, k, None], b[k], part), dt.f32)
                parts.append(part)
            total = total + (parts[0] + parts[1])
    return total.astype(BF16)


def stored(a: Any, b: Any, layout: str) -> tuple[Any, Any]:
    """The matrices as they lie in memory."""
    first = np.ascontiguousarray(a.T) if "a.T" in layout else a
    return first, np.ascontiguousarray(b.T) if "b.T" in layout else b


def kernel_of(a: Any, b: Any, layout: str = "a @ b") -> Kernel:
    types = ArrayType(a.shape, dt.bf16), ArrayType(b.shape, dt.bf16)
    return matmul_amx(types, X86_64_V4_AMX, dimensions=LAYOUTS[layout][1])


def simulated(a: Any, b: Any, layout: str = "a @ b") -> Any:
    out = np.zeros((a.shape[0], b.shape[1]), BF16)
    first, second = stored(a, b, layout)
    kernel = kernel_of(first, second, layout)
    verify_kernel(kernel, scheduled=True)
    simulate.run(kernel, [first, second, out])
    return out


def assert_same(found: Any, expected: Any) -> None:
    """Equal numbers; a NaN is equal to any other."""
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


SHAPES = [(16, 64, 16), (33, 70, 50), (20, 17, 70), (70, 33, 12), (48, 600, 33)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_steps_of_32_terms_are_added_in_order(shape: tuple[int, int, int], layout: str) -> None:
    m, k, n = shape
    a, b = sample(m, k), sample(k, n)
    assert np.array_equal(simulated(a, b, layout), in_steps(a, b))


def numbers(kind: str, terms: int = 1040, rows: int = 40) -> tuple[Any, Any]:
    """Matrices some numbers of which are too small for tiles, or no numbers."""
    a, b = sample(rows, terms), sample(terms, 40)
    if kind == "subnormal":
        a[3, 5], b[5, 7] = 1e-39, 1e38
    elif kind == "tiny, then usual":
        a[3, :9], b[:9, 7] = 1e-20, 1e-19
        a[3, 9:], b[9:, 7] = 0, 0
        a[3, -1], b[-1, 7] = 2.0**-60, 2.0**-60
    elif kind == "a long tail":
        a[3] = (a[3].astype(np.float32) * 2.0**-80).astype(BF16)
    elif kind == "special":
        a[3, 5], a[4, 6], b[5, 7], b[6, 8] = np.inf, np.nan, -np.inf, 0
    elif kind == "zeros":
        a[3], b[:, 7] = 0, -0.0
    elif kind == "largest":
        a[3], b[:, 7] = 3e38, 3e38
    return a, b


KINDS = ["subnormal", "tiny, then usual", "a long tail", "special", "zeros", "largest"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_tiles_do_not_take_are_multiplied_by_fma(kind: str) -> None:
    """The interpreter refuses tiles of numbers outside of their domain: none gets there."""
    a, b = numbers(kind, rows=10)
    found = simulated(a, b)
    assert_same(found, in_steps(a, b))
    if kind in ("subnormal", "tiny, then usual"):
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(found.astype(np.float64)[3, 7], exact[3, 7], rtol=0.02)


def without_tiles(body: Body) -> Body:
    """A body whose choices between tiles and fma are all for fma."""
    found: list[Stmt] = []
    for s in body:
        if isinstance(s, If) and any(isinstance(x, PairsMultiply) for x in walk(s.orelse)):
            deeper = any(
                isinstance(x, If) and any(isinstance(y, PairsMultiply) for y in walk((x,)))
                for x in walk(s.orelse)
            )
            if not deeper:
                found += without_tiles(s.then)
                continue
        if isinstance(s, If):
            s = If(s.condition, without_tiles(s.then), without_tiles(s.orelse))
        elif isinstance(s, (For, Alloc)):
            s = replace(s, body=without_tiles(s.body))
        found.append(s)
    return tuple(found)


@pytest.mark.parametrize("kind", ["usual", "a long tail", "zeros"])
def test_tiles_and_fma_have_the_same_bits_where_both_may(kind: str) -> None:
    a, b = numbers(kind, 100, 10)
    kernel = kernel_of(a, b)
    by_fma = Kernel(kernel.name, kernel.buffers, without_tiles(kernel.body))
    assert not any(isinstance(s, PairsMultiply) for s in walk(by_fma.body))
    out = np.zeros((10, 40), BF16)
    simulate.run(by_fma, [a, b, out])
    assert np.array_equal(out, simulated(a, b))


def test_results_do_not_depend_on_how_a_product_is_cut() -> None:
    """The first rows and columns of a product in many tasks are those of a small one."""
    a, b = sample(528, 32), sample(32, 289)
    (tasks,) = (
        s for s in walk(kernel_of(a, b).body) if isinstance(s, For) and s.var.name == "task"
    )
    assert tasks.extent == 4
    found = simulated(a, b)
    assert np.array_equal(found[:40, :70], simulated(a[:40], np.ascontiguousarray(b[:, :70])))
    assert np.array_equal(found, in_steps(a, b))


def test_the_kernel_has_a_text() -> None:
    text = print_kernel(kernel_of(sample(40, 600), sample(600, 40)))
    assert "multiply_pairs" in text
    assert print_kernel(parse_kernel(text)) == text


def test_the_interpreter_refuses_numbers_that_the_processor_would_make_zero() -> None:
    a, b = np.ones((1, 1, 16, 32), BF16), np.full((1, 16, 16), 0x3F803F80, np.uint32)
    sums = np.full((1, 1, 16, 16), 0.5, np.float32)
    assert (multiply_tiles(sums, a, b) == 32.5).all()
    assert (multiply_tiles(sums, a * BF16(2.0**-112), b) == 0.5).all()
    outside = [
        (sums, a * BF16(1e-39), b),
        (sums, a * BF16(2.0**-113), b),
        (sums, a, b >> np.uint32(9)),
        (np.float32(1e-40) + sums * 0, a, b),
    ]
    for given in outside:
        with pytest.raises(ValueError, match="outside of its domain"):
            multiply_tiles(*given)


def product(tiles: tuple[int, int, int] = (1, 1, 1), space: Space = Space.STACK) -> Kernel:
    """One step over local buffers of ones, its sums stored."""
    made = (
        Buffer("sums", dt.f32, (1, 1, 16, 16), space),
        Buffer("a", dt.bf16, (1, 1, 16, 32), space),
        Buffer("b", dt.u32, (1, 16, 16), space),
    )
    out = Buffer("out", dt.f32, (16, 16), role="out")
    zero = const(0)
    body: list[Stmt] = []
    values = (Const(0.0, dt.f32), Const(1.0, dt.bf16), Const(0x3F803F80, dt.u32))
    for buffer, value in zip(made, values, strict=True):
        variables = [Var("i") for _ in buffer.shape]
        inner: Stmt = Store(buffer, tuple(variables), value)
        for var, extent in zip(reversed(variables), reversed(buffer.shape), strict=True):
            inner = For(var, extent, Kind.SERIAL, (inner,))
        body.append(inner)
    sums, a, b = made
    body.append(PairsMultiply(sums, (zero,) * 4, a, (zero,) * 4, b, (zero,) * 3, tiles))
    row, column = Var("row"), Var("column")
    store = Store(out, (row, column), Load(sums, (zero, zero, row, column)))
    body.append(For(row, 16, Kind.SERIAL, (For(column, 16, Kind.SERIAL, (store,)),)))
    whole = tuple(body)
    for buffer in made:
        whole = (Alloc(buffer, whole),)
    return Kernel("product", (out,), whole)


def test_a_step_adds_the_products_of_all_its_terms() -> None:
    out = np.zeros((16, 16), np.float32)
    verify_kernel(product(), scheduled=True)
    simulate.run(product(), [out])
    assert (out == 32).all()


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (product((2, 1, 1)), "reach out of it"),
        (product((1, 1, 2)), "reach out of it"),
        (product((3, 1, 1)), "reach out of it|one or two"),
        (product(space=Space.REGISTER), "no dense buffer on the stack"),
    ],
)
def test_broken_steps_are_found(kernel: Kernel, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        verify_kernel(kernel, scheduled=True)


def test_the_target_has_the_processor_s_instruction() -> None:
    a, b = sample(100, 96), sample(96, 100)
    made = plan(jit(lambda a, b: a @ b).trace(a, b).graph, X86_64_V4_AMX, check=True).plan
    text = X86().assembly(compile_plan(made, X86_64_V4_AMX), X86_64_V4_AMX)
    places = [m.start() for m in re.finditer(r"ldtilecfg|tdpbf16ps|tilerelease", text)]
    words = [text[p : p + 9] for p in places]
    assert words[0] == "ldtilecfg"
    assert words[-1] == "tilerelea"
    assert set(words[1:-1]) == {"tdpbf16ps"}
    assert "tdpbf16ps\t%tmm7, %tmm5, %tmm3" in text
    with pytest.raises(ValueError, match="x86 has no PairsMultiply"):
        compile_plan(made, X86_64_V4)


def test_the_processor_s_flags_and_the_system_say_whether_there_are_tiles(monkeypatch: Any) -> None:
    v3 = ["avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "cx16"]
    v4 = [*v3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_bf16"]
    v4.append("avx512vbmi")
    flags = frozenset([*v4, "avx512_fp16", "amx_tile", "amx_bf16"])
    others = (X86_64_V4_FP16, X86_64_V4_BF16, X86_64_V4, X86_64_V3)
    assert targets_of(flags) == (X86_64_V4_AMX, *others)
    assert targets_of(flags - {"amx_bf16"}) == others
    assert targets_of(flags - {"avx512_fp16"}) == others[1:]
    monkeypatch.setattr(host, "host_flags", lambda: flags)
    for answer, best in ((0, X86_64_V4_AMX), (-1, X86_64_V4_FP16)):
        library = SimpleNamespace(syscall=Mock(return_value=answer))
        monkeypatch.setattr(ctypes, "CDLL", Mock(return_value=library))
        host.tiles_allowed.cache_clear()
        with reasons.collecting() as events:
            assert host_target() is best
        found = [e.reason for e in events]
        assert found == [reasons.Reason.DEVICE_TILES_REFUSED] * (answer != 0)
    host.tiles_allowed.cache_clear()


@pytest.mark.parametrize(
    ("a", "b", "dtype", "target", "why"),
    [
        ((64, 64), (64, 64), dt.f32, X86_64_V4_AMX, "for bfloat16"),
        ((64, 64), (64, 64), dt.bf16, X86_64_V4_BF16, "does not multiply tiles"),
        ((64, 64), (64,), dt.bf16, X86_64_V4_AMX, "one free axis on each side"),
        ((8, 64), (64, 64), dt.bf16, X86_64_V4_AMX, "are few: pairs"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dtype: Any, target: Any, why: str) -> None:
    types = ArrayType(a, dtype), ArrayType(b, dtype)
    assert why in refusal_of_amx(types, PLAIN, target)
    assert choose("dot_general", types, {"dimensions": PLAIN}, target).name != "matmul_amx"


@HERE
@pytest.mark.parametrize("kind", ["normal", "random", "small", "far"])
def test_the_instruction_is_what_the_interpreter_says(kind: str) -> None:
    """65,536 results of numbers of each kind, in and out of the domain of the instruction."""
    shape = (64, 1024)
    bits = RNG.integers(0, 1 << 16, shape)
    if kind != "random":
        low, high = {"normal": (120, 130), "small": (40, 80), "far": (71, 190)}[kind]
        exponent = RNG.integers(low, high, shape)
        bits = (bits & 0x807F) | (exponent << 7)
    a = bits.astype(np.uint16).view(BF16)
    b = RNG.permuted(a).T.copy()
    product = jit(lambda a, b: a @ b)
    rows = np.concatenate([a] * 4)
    columns = np.concatenate([b] * 4, axis=1)
    assert "matmul_amx" in product.lower(rows, columns).as_text("decisions")
    assert_same(product(rows, columns), in_steps(rows, columns))


@HERE
@pytest.mark.parametrize("kind", [*KINDS, "usual"])
def test_the_processor_gives_the_bits_of_the_interpreter(kind: str) -> None:
    a, b = numbers(kind)
    assert_same(jit(lambda a, b: a @ b)(a, b), in_steps(a, b))
    if kind != "largest":  # whether a sum overflows depends on the order
        verify(jit(lambda a, b: a @ b), a, b)


@HERE
@pytest.mark.parametrize("shape", [*SHAPES[1:], (200, 600, 130), (530, 525, 300)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_shapes_have_the_same_bits(shape: tuple[int, int, int], layout: str) -> None:
    m, k, n = shape
    a, b = sample(m, k), sample(k, n)
    first, second = stored(a, b, layout)
    jitted = jit(LAYOUTS[layout][0])
    assert "matmul_amx" in jitted.lower(first, second).as_text("decisions")
    assert np.array_equal(jitted(first, second), in_steps(a, b))


@HERE
def test_batches_epilogues_and_threads_have_the_bits_of_each() -> None:
    a, b, c = sample(3, 40, 100), sample(3, 100, 48), sample(48)
    product = jit(lambda a, b: a @ b)
    for one, x, y in zip(product(a, b), a, b, strict=True):
        assert np.array_equal(one, in_steps(x, y))
    verify(jit(lambda a, b, c: np.maximum(a @ b + c, 0)), a, b, c)
    x, y = sample(700, 300), sample(300, 700)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(product(x, y).tobytes())
    set_num_threads(None)
    assert results == {in_steps(x, y).tobytes()}
