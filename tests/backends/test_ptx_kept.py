"""What the assembler of PTX makes something else of is not in it (`ptx_kept`)."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyc
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.ptx_kept import kept
from pyc.ir.target import Target, nvptx
from pyc.passes import optimise
from pyc.passes.memory import plan

TARGETS = [nvptx(c) for c in (80, 90, 100)]
INTEGERS = ["i1", "i2", "i4", "i8"]
HALVES = [np.dtype("f2"), np.dtype(ml_dtypes.bfloat16)]
SINGLE = re.compile(r"^\t(?:add|sub|mul|fma)\.rn\.b?f16 ", re.M)


def ptx_of(function: Any, *args: Any, target: Target) -> str:
    graph = optimise(pyc.jit(function).trace(*args).graph)
    return ptx(module_text(plan(graph, target).plan.kernels, target)[0], target)


def sign_of_size(x: Any) -> Any:
    return np.sign(np.abs(x)), np.abs(x) < 0, np.sign(np.where(x < 0, -x, x))


def negatives(x: Any, y: Any) -> Any:
    """What is done with a negative of 16 bits: conversions, comparisons, a shift, quotients."""
    taken = []
    for z in (-x, x - y, np.int16(0) - x, np.int16(-1) - x, x * np.int16(-1)):
        taken += [z.astype("i8"), z.astype("i4"), z.astype("f4"), z < 0, z >> 1, z // 7, abs(z)]
    return taken


def sums_before_and_after(x: Any, dtype: Any) -> Any:
    """Two sums of halves of which the second may have other operands."""
    y = x.astype(dtype)
    z = y.copy()
    z[1:] = np.maximum(y[:-1], y[1:])
    return y[:3] + y[1:4], z[:3] + z[1:4], y[:3] * z[:3] - y[1:4]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_size_of_an_integer_is_not_taken_for_positive(dtype: str, target: Target) -> None:
    text = ptx_of(sign_of_size, np.zeros(5, dtype), target=target)
    assert "abs.s" not in text
    bits = max(8 * np.dtype(dtype).itemsize, 16)
    negative = "mul.lo.s16" if bits == 16 else f"neg.s{bits}"
    assert f"min.u{bits}" in text and negative in text


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)
def test_negatives_and_differences_of_16_bits_are_products(target: Target) -> None:
    text = ptx_of(negatives, np.zeros(5, "i2"), np.zeros(5, "i2"), target=target)
    assert not re.search(r"\b(?:neg|sub)\.s16", text)
    assert "mul.lo.s16" in text and "mad.lo.s16" in text


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_single_halves_are_computed_in_float32(dtype: Any, target: Target) -> None:
    text = ptx_of(lambda x: sums_before_and_after(x, dtype), np.zeros(5, np.int64), target=target)
    assert not SINGLE.search(text)
    assert re.search(r"\b(?:add|fma)\.rn\.f32 %wide0, %wide0, %wide1", text)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)
def test_pairs_of_16_bits_are_added_one_by_one(target: Target) -> None:
    text = ptx_of(lambda x, y: x // ~y, np.zeros(64, "i2"), np.zeros(64, "i2"), target=target)
    assert "add.s16 " in text and "add.s16x2" not in text


def test_pairs_and_the_rest_of_the_text_stay() -> None:
    text = "\tadd.rn.bf16x2 \t%r1, %r2, %r3;\n\tabs.f32 \t%f1, %f2;\n\tadd.rn.f32 \t%f1, %f2, %f3;"
    assert kept(text) == text
    assert kept("\tabs.s64 \t%rd1, %rd2;") == (
        "\tneg.s64 \t%rd1, %rd2;\n\tmin.u64 \t%rd1, %rd2, %rd1;"
    )


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_size_of_the_least_integer_is_negative_on_a_gpu(dtype: str) -> None:
    least = np.iinfo(dtype).min
    x = np.array([least, least + 1, -1, 0, 1, least], dtype)
    found = pyc.jit(sign_of_size, device="cuda")(x)
    for a, b in zip(sign_of_size(x), found, strict=True):
        np.testing.assert_array_equal(np.asarray(b), a)
    assert np.asarray(found[0]).tolist() == [-1, 1, 1, 0, 1, -1]


@pytest.mark.cuda
def test_negatives_of_16_bits_are_extended_on_a_gpu() -> None:
    ends = np.array([-32768, -32767, -1, 0, 1, 32767], "i2")
    x, y = (a.ravel() for a in np.meshgrid(ends, ends))
    found = pyc.jit(negatives, device="cuda")(x, y)
    for a, b in zip(negatives(x, y), found, strict=True):
        np.testing.assert_array_equal(np.asarray(b), a, strict=True)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_sum_of_halves_has_the_operands_from_before_on_a_gpu(dtype: Any) -> None:
    x = np.array([6, -4, -5, 5, -5])
    found = pyc.jit(lambda x: sums_before_and_after(x, dtype), device="cuda")(x)
    for a, b in zip(sums_before_and_after(x, dtype), found, strict=True):
        assert np.asarray(b).tobytes() == a.tobytes()
