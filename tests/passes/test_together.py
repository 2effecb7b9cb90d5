"""What every row reads with a stride is put together once, and gives the bits that it gave."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc.numpy as pnp
from pyc.ir.target import X86_64_V4
from pyc.ir.text_kernel import print_kernel
from pyc.passes import optimise, together
from pyc.passes.memory import plan
from tests.passes.native_plans import by_threads
from tests.passes.programs import graph_of, launches
from tests.passes.test_any_order import same_everywhere
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]


def forces(place: Any, mass: Any) -> Any:
    apart = place[None, :, :] - place[:, None, :]
    square = pnp.sum(apart * apart, axis=2) + 0.01
    pull = mass[None, :] / (square * pnp.sqrt(square))
    return pnp.sum(pull[:, :, None] * apart, axis=1)


def scaled(rows: Any, pairs: Any) -> Any:
    """Rows less their means, with scale and shift in pairs."""
    mean, spread = pnp.mean(rows, 1, keepdims=True), pnp.var(rows, 1, keepdims=True)
    return (rows - mean) / pnp.sqrt(spread + 1.0) * pairs[:, 0] + pairs[:, 1]


def waves(place: Any, wave: Any) -> Any:
    """Sums of complex numbers, which lie in pairs."""
    return pnp.sum(pnp.exp(wave[:, None] * place[None, :]), axis=1)


def drawn(
    name: str, rows: int, length: int, dtype: Any, seed: int
) -> tuple[Any, tuple[Array, ...]]:
    rng = np.random.default_rng(seed)

    def of(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(dtype)

    if name == "forces":
        return forces, (of(length, 3), np.abs(of(length)))
    if name == "scaled":
        return scaled, (of(rows, length), of(length, 2))
    return waves, (of(length) + 1j * of(length), of(rows) * 1j)


def programs(function: Any, *arguments: Any) -> list[str]:
    """The texts of the kernels that put something together."""
    made = plan(optimise(graph_of(function, *arguments)), X86_64_V4, check=True).plan
    assert len(launches(made.steps)) == len(made.kernels)
    return [print_kernel(k) for k in made.kernels if k.name.endswith("_together")]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["forces", "scaled", "waves"]),
    st.integers(30, 50),
    st.integers(30, 150),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32 - 1),
)
def test_the_bits_are_those_of_the_graph(
    name: str, rows: int, length: int, dtype: Any, seed: int
) -> None:
    function, arguments = drawn(name, rows, length, dtype, seed)
    same_everywhere(function, *arguments)


@pytest.mark.parametrize("name", ["forces", "scaled", "waves"])
def test_threads_and_strides_do_not_show(name: str) -> None:
    """With and without what is put together, by one, two and three threads."""
    function, arguments = drawn(name, 300, 300, np.float32, 5)
    graph = optimise(graph_of(function, *arguments))
    shapes = [(r.shape, r.dtype.numpy) for r in graph.results]
    found = by_threads(plan(graph, X86_64_V4).plan, X86_64_V4, arguments, shapes)
    with mock.patch.object(together, "ROWS", 1 << 40):
        apart = plan(graph, X86_64_V4).plan
        assert not any(k.name.endswith("_together") for k in apart.kernels)
        found += by_threads(apart, X86_64_V4, arguments, shapes)
    for results in found[1:]:
        for a, b in zip(found[0], results, strict=True):
            assert same_bits(a, b)


def test_places_of_points_are_columns() -> None:
    """Each is read once with a stride, and by all rows of pairs without."""
    function, arguments = drawn("forces", 0, 64, np.float64, 0)
    (text,) = programs(function, *arguments)
    assert text.count("* 3") == 3 and text.count("inout f64[64] align 64") == 3
    made = plan(optimise(graph_of(function, *arguments)), X86_64_V4, check=True).plan
    (rows,) = (print_kernel(k) for k in made.kernels if k.name == "k0")
    assert "i0 * 3" in rows and all(f"%{k} * 3" not in rows for k in range(10))


@pytest.mark.parametrize(
    ("name", "rows", "length"), [("forces", 0, 31), ("scaled", 31, 200), ("scaled", 64, 31)]
)
def test_few_rows_or_short_ones_are_read_as_they_lie(name: str, rows: int, length: int) -> None:
    function, arguments = drawn(name, rows, length, np.float32, 0)
    assert not programs(function, *arguments)


def test_what_a_row_alone_reads_stays() -> None:
    """A stride along the row of an array that rows do not share."""
    arguments = np.ones((64, 100, 2), np.float32), np.ones((100, 2), np.float32)

    def function(x: Any, pairs: Any) -> Any:
        return pnp.sum(pnp.exp(x[:, :, 0]) * pairs[:, 1], axis=1)

    for text in programs(function, *arguments):
        assert "f32[12800]" not in text
