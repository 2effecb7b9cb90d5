"""Products of bfloat16 by pairs of terms: right for all numbers, the same bits everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pyc import config
from pyc.backends.host import host_target, targets_of
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.target import X86_64_V3, X86_64_V4, X86_64_V4_BF16
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.matmul_pairs import matmul_pairs, refusal_of_pairs
from pyc.kernels.registry import choose
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify

RNG = np.random.default_rng(11)
PLAIN = (((1,), (0,)), ((), ()))
BF16 = ml_dtypes.bfloat16
HERE = pytest.mark.skipif(
    not host_target().bfloat16_pairs, reason="this processor has no products of pairs of bfloat16"
)


@pytest.fixture(autouse=True)
def by_pairs() -> Iterator[None]:
    """Not by tiles, where the processor has these too."""
    target = X86_64_V4_BF16.id if host_target().bfloat16_pairs else "native"
    with config.using(target=target):
        yield


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(BF16)


def in_pairs(a: Any, b: Any) -> Any:
    """The product in the order of the nest, by fma: of each pair of terms the second first."""
    one = INSTRUCTIONS["fma"].evaluate
    if a.shape[1] % 2:
        a = np.concatenate([a, np.zeros((len(a), 1), BF16)], axis=1)
        b = np.concatenate([b, np.zeros((1, b.shape[1]), BF16)])
    a, b = a.astype(np.float32), b.astype(np.float32)
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(0, a.shape[1], 2):
        for term in (k + 1, k):
            total = one((a[:, term, None], b[term], total), dt.f32)
    return total.astype(BF16)


def simulated(a: Any, b: Any) -> Any:
    types = ArrayType(a.shape, dt.bf16), ArrayType(b.shape, dt.bf16)
    assert not refusal_of_pairs(types, PLAIN, X86_64_V4_BF16)
    out = np.zeros((a.shape[0], b.shape[1]), BF16)
    simulate.run(matmul_pairs(types, X86_64_V4_BF16, dimensions=PLAIN), [a, b, out])
    return out


def assert_same(found: Any, expected: Any) -> None:
    """Equal numbers; a NaN is equal to any other."""
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


SHAPES = [(8, 16, 16), (9, 17, 33), (30, 71, 70), (13, 40, 150)]


@pytest.mark.parametrize("shape", SHAPES)
def test_terms_are_added_in_pairs_and_rounded_once(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = sample(m, k), sample(k, n)
    assert np.array_equal(simulated(a, b), in_pairs(a, b))


def numbers(kind: str) -> tuple[Any, Any]:
    """Matrices some numbers of which are too small for the instruction, or no numbers."""
    a, b = sample(20, 40), sample(40, 40)
    if kind == "subnormal":
        a[3, 5], b[5, 7] = 1e-39, 1e38
    elif kind == "tiny":
        a[3], b[:, 7] = (a[3].astype(np.float32) * 1e-20).astype(BF16), 1e-19
    elif kind == "special":
        a[3, 5], a[4, 6], b[5, 7], b[6, 8] = np.inf, np.nan, -np.inf, 0
    elif kind == "zeros":
        a[3], b[:, 7] = 0, -0.0
    elif kind == "largest":
        a[3], b[:, 7] = 3e38, 3e38
    return a, b


KINDS = ["subnormal", "tiny", "special", "zeros", "largest"]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_the_instruction_does_not_take_are_multiplied_by_fma(kind: str) -> None:
    a, b = numbers(kind)
    found = simulated(a, b)
    assert_same(found, in_pairs(a, b))
    if kind == "subnormal":
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(found.astype(np.float64)[3, 7], exact[3, 7], rtol=0.02)


def small_first() -> tuple[Any, Any]:
    """A sum that is subnormal after the first block of terms, and stays so."""
    a, b = sample(20, 600), sample(600, 40)
    a[3], b[:, 7] = 0, 0
    a[3, 5], b[5, 7] = 1e-20, 1e-19
    return a, b


def test_a_sum_that_is_small_stays_with_fma() -> None:
    """The blocks behind it have usual numbers: by the instruction the sum would become 0."""
    a, b = small_first()
    found = simulated(a, b)
    assert_same(found, in_pairs(a, b))
    assert found[3, 7] != 0


@HERE
def test_the_processor_keeps_a_sum_that_is_small() -> None:
    a, b = small_first()
    assert_same(jit(lambda a, b: a @ b)(a, b), in_pairs(a, b))


@HERE
@pytest.mark.parametrize("kind", [*KINDS, "usual"])
def test_the_processor_gives_the_bits_of_the_interpreter(kind: str) -> None:
    a, b = numbers(kind)
    assert_same(jit(lambda a, b: a @ b)(a, b), in_pairs(a, b))
    if kind != "largest":  # whether a sum overflows depends on the order
        verify(jit(lambda a, b: a @ b), a, b)


@HERE
@pytest.mark.parametrize("shape", [*SHAPES, (200, 600, 130), (400, 1025, 70)])
@pytest.mark.parametrize("layout", ["a @ b", "a.T @ b", "a @ b.T", "a.T @ b.T"])
def test_layouts_and_shapes_have_the_same_bits(shape: tuple[int, int, int], layout: str) -> None:
    m, k, n = shape
    a, b = sample(m, k), sample(k, n)
    first = np.ascontiguousarray(a.T) if "a.T" in layout else a
    second = np.ascontiguousarray(b.T) if "b.T" in layout else b
    function = {
        "a @ b": lambda a, b: a @ b,
        "a.T @ b": lambda a, b: a.T @ b,
        "a @ b.T": lambda a, b: a @ b.T,
        "a.T @ b.T": lambda a, b: a.T @ b.T,
    }[layout]
    jitted = jit(function)
    assert "matmul_pairs" in jitted.lower(first, second).as_text("decisions")
    assert np.array_equal(jitted(first, second), in_pairs(a, b))


@HERE
def test_batches_epilogues_and_threads_have_the_bits_of_each() -> None:
    a, b, c = sample(3, 40, 100), sample(3, 100, 48), sample(48)
    product = jit(lambda a, b: a @ b)
    for one, x, y in zip(product(a, b), a, b, strict=True):
        assert np.array_equal(one, in_pairs(x, y))
    verify(jit(lambda a, b, c: np.maximum(a @ b + c, 0)), a, b, c)
    x, y = sample(500, 300), sample(300, 300)
    results = set()
    for count in (1, 2, 5):
        set_num_threads(count)
        results.add(product(x, y).tobytes())
    set_num_threads(None)
    assert results == {in_pairs(x, y).tobytes()}


def test_the_processor_s_flags_say_whether_it_multiplies_pairs() -> None:
    v3 = ["avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "cx16"]
    v4 = [*v3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]
    assert targets_of(frozenset(v4)) == (X86_64_V4, X86_64_V3)
    assert targets_of(frozenset([*v4, "avx512_bf16"])) == (X86_64_V4, X86_64_V3)
    best = targets_of(frozenset([*v4, "avx512_bf16", "avx512vbmi"]))
    assert best == (X86_64_V4_BF16, X86_64_V4, X86_64_V3)


@pytest.mark.parametrize(
    ("a", "b", "dtype", "target", "why"),
    [
        ((64, 64), (64, 64), dt.f32, X86_64_V4_BF16, "for bfloat16"),
        ((64, 64), (64, 64), dt.bf16, X86_64_V4, "does not multiply pairs"),
        ((64, 64), (64,), dt.bf16, X86_64_V4_BF16, "one free axis on each side"),
        ((7, 64), (64, 64), dt.bf16, X86_64_V4_BF16, "are few"),
    ],
)
def test_others_are_refused(a: Any, b: Any, dtype: Any, target: Any, why: str) -> None:
    types = ArrayType(a, dtype), ArrayType(b, dtype)
    assert why in refusal_of_pairs(types, PLAIN, target)
    assert choose("dot_general", types, {"dimensions": PLAIN}, target).name != "matmul_pairs"


def test_the_instruction_refuses_what_processors_round_in_their_own_way() -> None:
    pair = np.array([0x3F803F80], np.uint32)
    run = INSTRUCTIONS["fma_pairs"].evaluate
    assert run((pair, pair, np.array([0.5], np.float32)), dt.f32) == 2.5
    for x, total in ((0x3F800001, 0.0), (0x00013F80, 0.0), (0x3F803F80, 1e-40)):
        given = np.array([x], np.uint32), pair, np.array([total], np.float32)
        with pytest.raises(ValueError, match="outside of its domain"):
            run(given, dt.f32)
