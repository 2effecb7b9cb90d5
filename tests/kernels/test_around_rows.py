"""Row programs between two products: one nest, right, same bits everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyc.jit import jit
from pyc.runtime.threads import set_num_threads
from pyc.verification import verify
from tests.passes.programs import planned

RNG = np.random.default_rng(9)

NEST = ["panels", "panels", "around_rows"]


def sample(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(dtype)


def names(function: Any, *arguments: Any) -> list[str]:
    return [k.name for k in planned(function, *arguments).plan.kernels]


def softmax(s: Any) -> Any:
    e = np.exp(s - np.max(s, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ np.swapaxes(k, -1, -2) * 0.125) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    s = q @ np.swapaxes(k, -1, -2)
    seen = np.arange(s.shape[-1])[None, :] <= np.arange(s.shape[-2])[:, None]
    return softmax(np.where(seen, s, np.float32(-1e30))) @ v


def with_epilogue(q: Any, k: Any, v: Any) -> Any:
    return np.maximum(softmax(q @ np.swapaxes(k, -1, -2)) @ v, 0) + np.sum(v, axis=-2)[..., None, :]


def away(q: Any, k: Any, v: Any) -> Any:
    """The scores are read where the rows' results are stored."""
    s = q @ np.swapaxes(k, -1, -2)
    return (s - np.mean(s, axis=-1, keepdims=True)) @ v


def other_orders(q: Any, k: Any, v: Any) -> Any:
    """Neither k nor v lies as the nest reads it, and v is made after the scores."""
    k = np.ascontiguousarray(np.swapaxes(k, -1, -2)) + 1
    return softmax(q @ k) @ np.tanh(v)


PROGRAMS = [attention, causal, with_epilogue, away, other_orders]

SIZES = {
    "whole": ((2, 3), 192, 256, 32, 64),
    "ragged": ((3,), 331, 411, 19, 37),
    "one batch": ((1, 1), 400, 513, 64, 24),
    "no batch": ((), 259, 1021, 7, 130),
    "rows that are long": ((2,), 70, 2600, 5, 9),
}


def arguments_of(size: str, dtype: Any = np.float32) -> list[np.ndarray[Any, Any]]:
    batch, m, n, k, width = SIZES[size]
    shapes = (*batch, m, k), (*batch, n, k), (*batch, n, width)
    return [sample(*shape, dtype=dtype) for shape in shapes]


CASES = [(f, s) for f in PROGRAMS for s in SIZES if f is attention or s == "ragged"]
CASES += [(away, "rows that are long"), (causal, "no batch")]


@pytest.mark.parametrize(("function", "size"), CASES)
def test_products_and_rows_are_one_nest_and_right(function: Any, size: str) -> None:
    arguments = arguments_of(size)
    assert names(function, *arguments)[-3:] == NEST
    exact = function(*(x.astype(np.float64) for x in arguments))
    scale = np.abs(exact).max()
    np.testing.assert_allclose(jit(function)(*arguments), exact, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("function", [attention, with_epilogue])
def test_doubles_are_exact_to_the_bound_of_doubles(function: Any) -> None:
    arguments = arguments_of("ragged", np.float64)
    assert names(function, *arguments)[-3:] == NEST
    np.testing.assert_allclose(jit(function)(*arguments), function(*arguments), atol=1e-10)


@pytest.mark.parametrize("function", [causal, away])
def test_interpreters_agree(function: Any) -> None:
    arguments = sample(65, 3), sample(2051, 3), sample(2051, 5)
    assert names(function, *arguments)[-3:] == NEST
    verify(jit(function), *arguments)


def test_threads_do_not_change_the_bits() -> None:
    arguments = arguments_of("ragged")
    jitted = jit(causal)
    found = []
    try:
        for threads in (1, 2, 3):
            set_num_threads(threads)
            found.append(np.asarray(jitted(*arguments)).tobytes())
    finally:
        set_num_threads(None)
    assert len(set(found)) == 1


def test_rows_do_not_meet() -> None:
    """What is no number in one row, or beyond the rows of a block, stays there."""
    q, k, v = arguments_of("ragged")
    q[1, 330] = np.nan
    q[2, 0] = np.inf
    with np.errstate(invalid="ignore"):
        expected, found = attention(q, k, v), np.asarray(jit(attention)(q, k, v))
    bad = np.isnan(expected)
    assert bad.any(axis=-1).sum() == 2
    np.testing.assert_array_equal(np.isnan(found), bad)
    np.testing.assert_allclose(found[~bad], expected[~bad], rtol=1e-4, atol=1e-5)


def test_the_result_may_replace_an_argument() -> None:
    """The nest reads all of its arguments until it has stored all of its result."""
    batch = sample(4, 300, 32), sample(4, 300, 32), sample(4, 300, 32)
    for number in range(3):
        jitted = jit(attention, donate_argnums=(number,))
        given = [x.copy() for x in batch]
        np.testing.assert_allclose(jitted(*given), attention(*batch), rtol=1e-4, atol=1e-5)


def kept(q: Any, k: Any, v: Any) -> Any:
    p = softmax(q @ k.T)
    return p @ v, p


def two_readers(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    return softmax(s) @ v, np.sum(s, axis=0)


def squared(q: Any, k: Any, v: Any) -> Any:
    p = softmax(q @ k.T)
    return p @ p


def shifted(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    return softmax(s + np.roll(s, 1, axis=0)) @ v


def along_columns(q: Any, k: Any, v: Any) -> Any:
    s = q @ k.T
    return (s / np.max(np.abs(s), axis=0)) @ v


@pytest.mark.parametrize("function", [kept, two_readers, squared, shifted, along_columns])
def test_what_others_read_is_stored(function: Any) -> None:
    q, k, v = sample(400, 16), sample(400, 16), sample(400, 20)
    assert "around_rows" not in names(function, q, k, v)
    found, expected = jit(function)(q, k, v), function(q, k, v)
    for x, y in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-2, atol=1e-2)


def test_few_scores_and_very_long_rows_stay_as_they_are() -> None:
    long = sample(70, 4), sample(9000, 4), sample(9000, 4)
    assert "around_rows" not in names(attention, *long)
    assert "around_rows" not in names(attention, *(sample(2, 100, 16) for _ in range(3)))
