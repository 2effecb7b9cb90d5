"""Sorting by vectors on a CPU: the stable order bit for bit, whatever the data, the width of
vectors and the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.backends.x86 import X86, compile_plan
from pyc.ir import dtype as dt
from pyc.ir import simulate
from pyc.ir.dtype import DType
from pyc.ir.loops import Split, walk
from pyc.ir.op import OPS
from pyc.ir.target import SM_90, X86_64_V3, X86_64_V4, Target
from pyc.ir.text_kernel import print_kernel
from pyc.ir.types import ArrayType
from pyc.kernels import sort_parts, sort_vectors
from pyc.kernels.registry import sequence_of
from pyc.kernels.sequence import LaunchSequence
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.kernels.launch_sequences import execute
from tests.ops.test_sort import elements
from tests.passes.native_plans import by_threads
from tests.passes.programs import graph_of
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
TYPES = (dt.i32, dt.u32, dt.f32, dt.i64, dt.u64, dt.f64)
LEAF = 8


@contextmanager
def small_leaves(parts: int = sort_vectors.PARTS) -> Iterator[None]:
    """Inside the block rows of any number are sorted so, and ranges of eight vectors are leaves."""
    with (
        mock.patch.object(sort_vectors, "LEAF", LEAF),
        mock.patch.object(sort_vectors, "WORTH", 1),
        mock.patch.object(sort_vectors, "PARTS", parts),
    ):
        yield


def made(
    x: Array, descending: bool, parts: int = sort_vectors.PARTS, op: str = "sort"
) -> LaunchSequence:
    dtype = dt.of(x.dtype)
    assert dtype is not None
    with small_leaves(parts):
        found = sequence_of(op, (ArrayType(x.shape, dtype),), {"descending": descending}, X86_64_V4)
    assert found is not None
    assert [c.kernel.name for c in found.calls] == ["sort_vectors"]
    return found


@st.composite
def rows(draw: st.DrawFn) -> Array:
    """Rows about the lengths at which they are parted and vectors end."""
    dtype = draw(st.sampled_from(TYPES))
    lanes = 64 // dtype.itemsize
    length = lanes * draw(st.integers(2, 9)) + draw(st.integers(-2, 2))
    shape = (*draw(st.sampled_from([(), (1,), (3,), (2, 2)])), max(length, sort_vectors.LEAST))
    return elements(draw(st.integers(0, 1 << 20)), dtype, shape, draw(st.integers(0, 1)))


@settings(max_examples=25, deadline=None)
@given(x=rows(), descending=st.booleans(), parts=st.sampled_from([0, sort_vectors.PARTS]))
def test_rows_are_sorted_as_by_one_pass_after_the_other(
    x: Array, descending: bool, parts: int
) -> None:
    """With no turns left (parts 0) every range is parted in the middle of its keys. Places of
    elements of 32 bits are sorted too."""
    for op in ("sort", "argsort")[: 1 + (x.itemsize == 4)]:
        expected = OPS[op].reference(x, descending=descending)
        found = np.zeros_like(expected)
        execute(made(x, descending, parts, op), [x, found])
        assert same_bits(found, expected)


@pytest.mark.parametrize("dtype", [dt.f32, dt.u64])
def test_long_rows_have_scratch_buffers_of_their_own(dtype: DType) -> None:
    x = elements(3, dtype, (2, 150), 0)
    with mock.patch("pyc.ir.ops.sort.STACK_ROW", 100):
        sequence = made(x, False)
    assert [b.name for b in sequence.calls[0].arguments] == ["x", "places", "out", "keys"]
    found = np.zeros_like(x)
    execute(sequence, [x, found])
    assert same_bits(found, OPS["sort"].reference(x, descending=False))


def patterns(dtype: Any, length: int) -> dict[str, Array]:
    """Rows that some ways of sorting find hard."""
    draws, places = np.random.default_rng(length), np.arange(length)
    normal = (draws.standard_normal(length) * 1000).astype(dtype)
    found = {
        "normal": normal,
        "sorted": np.sort(normal),
        "reversed": np.sort(normal)[::-1].copy(),
        "alike": np.full(length, 7).astype(dtype),
        "few": draws.integers(0, 4, length).astype(dtype),
        "organ pipe": np.minimum(places, length - places).astype(dtype),
        "mostly alike": np.where(draws.random(length) < 0.9, 5, places).astype(dtype),
        "bits": draws.integers(0, 256, length * np.dtype(dtype).itemsize, np.uint8).view(dtype),
    }
    if np.dtype(dtype).kind == "f":
        found["skewed"] = np.exp(draws.standard_normal(length) * 20).astype(dtype)
        for name, share in (("some special", 0.01), ("half special", 0.5), ("all special", 1)):
            special = draws.choice([np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf], length)
            chosen = np.where(draws.random(length) < share, special, normal).astype(dtype)
            bits = chosen.view(f"u{chosen.itemsize}")
            bits[np.isnan(chosen)] |= draws.integers(0, 1 << 20, np.isnan(chosen).sum()).astype(
                bits.dtype
            )
            found[name] = chosen
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("length", [32, 33, 47, 255, 256, 257, 511, 1000, 4097, 16384])
def test_native_code_sorts_what_is_hard(dtype: Any, length: int) -> None:
    x = np.stack(list(patterns(dtype, length).values()))
    is_narrow = x.itemsize == 4
    functions = {"sort": lambda a: pnp.sort(a), "argsort": lambda a: pnp.argsort(a, kind="stable")}
    for op, function in functions.items():
        with mock.patch.object(sort_vectors, "WORTH", 1):
            graph = optimise(graph_of(function, x))
            narrow, wide = (plan(graph, t, check=True).plan for t in (X86_64_V3, X86_64_V4))
        by_vectors = [k.name == "sort_vectors" for k in (*wide.kernels, *narrow.kernels)]
        assert by_vectors == [op == "sort" or is_narrow, False]
        expected = OPS[op].reference(x, descending=False)
        for found, target in ((narrow, X86_64_V3), (wide, X86_64_V4)):
            shapes = [(x.shape, expected.dtype)]
            for (result,) in by_threads(found, target, [x], shapes, (1, 2)):
                assert same_bits(result, expected)


@pytest.mark.parametrize("parts", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_range_that_has_no_turns_left_is_parted_in_the_middle_of_its_keys(
    dtype: Any, parts: int
) -> None:
    """As where data that know the places of the bound make bad parts."""
    x = np.stack(list(patterns(dtype, 3000).values()))
    with small_leaves(parts):
        found = plan(optimise(graph_of(lambda a: pnp.sort(a), x)), X86_64_V4, check=True).plan
    (result,) = by_threads(found, X86_64_V4, [x], [(x.shape, x.dtype)], (1,))[0]
    assert same_bits(result, OPS["sort"].reference(x, descending=False))


def against_the_bound(length: int, leaf: int) -> Array:
    """Keys of which those where a bound is looked for are always among the least that are left."""
    x, given, rest = np.full(length, np.inf), 0, np.arange(length)
    while len(rest) > leaf:
        step = len(rest) >> 4
        places = rest[[step * k + (step >> 1) for k in sort_vectors.SAMPLES]]
        new = places[np.isinf(x[places])]
        x[new] = given + np.arange(len(new))
        given += len(new)
        bound = np.median(np.median(x[places].reshape(3, 3), axis=1))
        rest = rest[x[rest] >= bound]
    x[np.isinf(x)] = given + np.arange(np.isinf(x).sum())
    return x.astype(np.float32)


def test_data_against_the_bound_take_bounded_turns() -> None:
    """Each part takes a few off, until the turns are spent. How often a vector is parted without an
    end to them is more than the bound allows."""
    length, lanes = 2000, 16
    x = against_the_bound(length, LEAF * lanes)

    def parted(parts: int) -> int:
        times, usual, found = [], simulate._LEAVES[Split], np.zeros_like(x)

        def counted(*given: Any) -> None:
            times.append(1)
            usual(*given)

        with mock.patch.dict(simulate._LEAVES, {Split: counted}):
            execute(made(x, False, parts), [x, found])
        assert same_bits(found, np.sort(x))
        return len(times)

    turns = sort_vectors.PARTS * length.bit_length() + 32
    bound = turns * -(-length // lanes)
    assert parted(sort_vectors.PARTS) < bound < parted(1000)


def test_which_rows_are_sorted_so() -> None:
    def name(
        shape: tuple[int, ...],
        dtype: DType = dt.f32,
        target: Target = X86_64_V4,
        op: str = "sort",
    ) -> str:
        found = sequence_of(op, (ArrayType(shape, dtype),), {"descending": False}, target)
        return found.calls[0].kernel.name if found is not None else ""

    worth, least = sort_vectors.WORTH, sort_vectors.LEAST
    assert name((worth,)) == name((worth // least, least), dt.u64) == "sort_vectors"
    assert name((worth,), dt.i32, op="argsort") == "sort_vectors"
    for shape in ((worth - 1,), (worth, least - 1), (0, worth)):
        assert name(shape) == name(shape, op="argsort") == ""
    assert name((worth,), dt.f16) == name((worth,), dt.f64, op="argsort") == ""
    assert name((worth,), dt.f32, X86_64_V3) == ""
    assert name((sort_parts.LEAST,)) == "sort_bounds"
    assert name((sort_parts.FEW_ROWS, sort_parts.LEAST)) == "sort_vectors"
    assert name((worth,), target=SM_90) not in ("", "sort_vectors")


def test_the_launch(golden: Any) -> None:
    sequence = made(np.zeros((2, 100), np.float32), True)
    golden("\n".join([str(sequence), *(print_kernel(c.kernel) for c in sequence.calls)]))


def test_the_instructions_of_the_processor() -> None:
    """Packed in a register and stored whole: some processors take long to store a part alone."""
    x = np.zeros(1 << 16, np.float32)
    found = plan(optimise(graph_of(lambda a: pnp.sort(a), x)), X86_64_V4, check=True).plan
    assert any(isinstance(s, Split) for k in found.kernels for s in walk(k.body))
    text = X86().assembly(compile_plan(found, X86_64_V4), X86_64_V4)
    packed = [line.split() for line in text.splitlines() if "vpcompressd" in line]
    assert len(packed) == 2 and all(words[2].startswith("%zmm") for words in packed)
    with pytest.raises(ValueError, match="x86 has no Split"):
        compile_plan(found, X86_64_V3)
