"""`jit(fastmath=True)`: what it may change, what it may not, and that it says so."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends.nvptx import module_text, ptx
from pyc.ir.target import SM_90
from pyc.ir.text_kernel import print_kernel
from pyc.jit import jit
from pyc.reasons import Reason, collecting
from tests.programs.differential import same_bits

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng(11)
EPS = {np.float32: 2.0**-23, np.float64: 2.0**-52, np.complex64: 2.0**-23, np.complex128: 2.0**-52}


def values(dtype: Any, *shape: int) -> Any:
    """Numbers of sizes between 1/2 and 4, of either sign."""
    found = RNG.uniform(0.5, 4.0, shape) * RNG.choice([-1.0, 1.0], shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * RNG.uniform(0.5, 4.0, shape)
    return found.astype(dtype)


# --- values ---------------------------------------------------------------------------------------

# Function, and the bound of its difference from NumPy's in wide types: a number of roundings, each
# of the size of the largest term.
REAL: dict[str, tuple[Callable[..., Any], float, Callable[..., Any]]] = {
    "product_and_sum": (lambda x, y: x * y + y, 1, lambda x, y: abs(x * y) + abs(y)),
    "product_and_difference": (lambda x, y: y - x * y, 1, lambda x, y: abs(x * y) + abs(y)),
    "sum_of_products": (
        lambda x, y: np.sum(x * y + x, axis=1, keepdims=True) + x,
        300,
        lambda x, y: np.sum(abs(x * y) + abs(x), axis=1, keepdims=True) + abs(x),
    ),
    "mean": (lambda x, y: np.mean(x, axis=1), 300, lambda x, y: np.mean(abs(x), axis=1)),
    "over_a_constant": (lambda x, y: x / 3, 2, lambda x, y: x / 3),
    "over_rows": (
        lambda x, y: abs(x) / np.sum(abs(x), axis=1, keepdims=True),
        300,
        lambda x, y: abs(x) / np.sum(abs(x), axis=1, keepdims=True),
    ),
    "quotient": (lambda x, y: x / y, 2, lambda x, y: x / y),
    "softmax": (
        lambda x, y: (
            np.exp(x - x.max(axis=1, keepdims=True))
            / np.exp(x - x.max(axis=1, keepdims=True)).sum(axis=1, keepdims=True)
        ),
        300,
        lambda x, y: np.ones_like(x),
    ),
    "root": (lambda x, y: np.sqrt(abs(x)), 1, lambda x, y: np.sqrt(abs(x))),
    "power_5": (lambda x, y: x**5, 5, lambda x, y: x**5),
    "power_minus_3_halves": (
        lambda x, y: np.abs(x) ** -1.5,
        4,
        lambda x, y: np.abs(x) ** -1.5,
    ),
    "extrema": (lambda x, y: np.maximum(x, y) - np.minimum(x, 0), 1, lambda x, y: abs(x) + abs(y)),
    "chain": (lambda x, y: ((x * 1.1) * 3 + 2.5) + 1.25, 4, lambda x, y: abs(3.3 * x) + 4),
}
COMPLEX: dict[str, tuple[Callable[..., Any], float, Callable[..., Any]]] = {
    "product": (lambda x, y: x * y, 3, lambda x, y: abs(x * y)),
    "product_and_sum": (lambda x, y: x * y + x, 4, lambda x, y: abs(x * y) + abs(x)),
    "quotient": (lambda x, y: x / y, 6, lambda x, y: abs(x / y)),
    "size": (lambda x, y: np.abs(x), 3, lambda x, y: abs(x)),
    "squared_size": (lambda x, y: np.abs(x) ** 2, 3, lambda x, y: abs(x) ** 2),
}
CASES = [
    *((name, REAL[name], t) for name in REAL for t in (np.float32, np.float64)),
    *((f"complex_{n}", COMPLEX[n], t) for n in COMPLEX for t in (np.complex64, np.complex128)),
]


@pytest.mark.parametrize(
    ("case", "dtype"), [(c, t) for _, c, t in CASES], ids=[f"{n}-{t.__name__}" for n, _, t in CASES]
)
def test_results_are_numpys_within_some_roundings(case: Any, dtype: Any) -> None:
    function, roundings, size = case
    x, y = values(dtype, 40, 300), values(dtype, 40, 300)
    wide = np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble
    exact = function(x.astype(wide), y.astype(wide))
    found = jit(function, fastmath=True)(x, y)
    assert found.dtype == function(x, y).dtype
    bound = roundings * EPS[dtype] * abs(size(x.astype(wide), y.astype(wide)))
    assert (abs(found - exact) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7,), (1000,), (130_000,), (300, 41), (41, 300)])
def test_sums_are_within_their_bound_along_any_axis(dtype: Any, shape: tuple[int, ...]) -> None:
    """A sum of n terms within n eps of the sum of their sizes."""
    x = values(dtype, *shape)
    for axis in (None, *range(len(shape))):
        found = jit(lambda x, axis: np.sum(x, axis), static_argnums=1, fastmath=True)(x, axis)
        exact = np.sum(x.astype(np.longdouble), axis=axis)
        terms = x.size if axis is None else shape[axis]
        bound = terms * EPS[dtype] * np.sum(abs(x.astype(np.longdouble)), axis=axis)
        assert (abs(found - exact) <= bound).all()


def test_a_contracted_difference_shows_that_it_is_one_rounding() -> None:
    """(1 + e)(1 - e) - 1 is -e^2 with one rounding and 0 with two."""
    e = np.float32(2**-13)
    x, y = np.array([1 + e]), np.array([1 - e])
    function = lambda x, y: x * y - np.float32(1)  # noqa: E731
    assert jit(function)(x, y) == 0
    assert jit(function, fastmath=True)(x, y) == -(e * e)


def test_what_asks_for_nan_or_infinity_still_does() -> None:
    x = np.array([1.0, np.nan, np.inf, -np.inf])
    function = lambda x: (np.isnan(x), np.isinf(x), np.isfinite(x))  # noqa: E731
    for a, b in zip(jit(function, fastmath=True)(x), function(x), strict=True):
        np.testing.assert_array_equal(a, b)


# --- determinism ----------------------------------------------------------------------------------


def work(x: Any, w: Any) -> Any:
    h = x * 2.5 + np.tanh(x) / 3.0
    h = np.exp(h - h.max(axis=1, keepdims=True))
    h = h / h.sum(axis=1, keepdims=True)
    return np.maximum(h @ w, 0.001) ** 3.0, np.sum(h * x), np.sqrt(np.sum(x * x, axis=0))


def digests(function: Any) -> list[str]:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((700, 300)).astype(np.float32)
    w = rng.standard_normal((300, 40)).astype(np.float32)
    results = [np.ascontiguousarray(r).tobytes() for r in function(x, w)]
    return [hashlib.sha256(r).hexdigest() for r in results]


PRINTED = """
import json, pyc
from tests.test_fastmath import digests, work
f = pyc.jit(work, fastmath=True)
found = digests(f)
print(json.dumps([found, digests(f)]))
"""


def test_processes_and_threads_agree_to_the_bit(tmp_path: Path) -> None:
    """From the compiler and from the cache, with one thread and two, with other hash seeds."""
    expected = digests(jit(work, fastmath=True))
    for seed, threads in (("0", "1"), ("77", "2"), ("3", "1")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYC_NUM_THREADS": threads,
            "PYC_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": str(ROOT),
        }
        command = [sys.executable, "-c", PRINTED]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [expected, expected]


def test_interpreters_of_the_changed_program_give_the_compiled_bits() -> None:
    x = values(np.float32, 30, 20)
    report = pyc.verify(jit(work, fastmath=True), x, values(np.float32, 20, 4), ulp=0)
    assert "plan" in {c.executor for c in report.checks}
    assert "compiled" in {c.executor for c in report.checks}
    assert report.skipped == ("passes: they change roundings because of fastmath",)


# --- what knows of it -----------------------------------------------------------------------------


def ratio(x: Any) -> Any:
    return x * x / 3.0 + 1.0


def test_a_strict_function_beside_it_is_as_without_it() -> None:
    """Same function, same process, same cache: two programs, two keys, each with its own bits."""
    x = values(np.float32, 1000)
    before = jit(ratio)
    alone, text, key = before(x), before.compile(x).llvm, before.compile(x).key
    fast = jit(ratio, fastmath=True)
    different = fast(x)
    after = jit(ratio)
    assert same_bits(after(x), alone) and same_bits(alone, x * x / np.float32(3) + np.float32(1))
    assert not same_bits(different, alone)
    assert after.compile(x).llvm == text and after.compile(x).key == key != fast.compile(x).key
    assert before.lower(x).key_document["options"] == {}
    assert fast.lower(x).key_document["options"] == {"fastmath": True}


def test_a_miss_of_the_cache_names_the_option() -> None:
    x = values(np.float32, 33)
    jit(ratio)(x)
    report = pyc.cache.explain(jit(ratio, fastmath=True), x)
    assert "options.fastmath" in [d.field for d in report.differing_fields]
    assert "options.fastmath: stored absent, asked True" in str(report)


def test_explain_and_the_decisions_name_each_changed_line() -> None:
    x = values(np.float32, 33)
    report = pyc.explain(jit(ratio, fastmath=True), x)
    notes = [n for n in report.notes if n.code == Reason.NUMERIC_RELAXED.code]
    assert {n.details for n in notes} == {
        "a product with the reciprocal",
        "a product and a sum as one `fma`",
    }
    assert all(n.line is not None and "x * x / 3.0" in n.line.text for n in notes)
    decisions = jit(ratio, fastmath=True).lower(x).as_text("decisions")
    assert "test_fastmath.py" in decisions and "a product with the reciprocal" in decisions
    assert Reason.NUMERIC_RELAXED.code not in str(pyc.explain(jit(ratio), x))
    assert Reason.NUMERIC_RELAXED.code not in jit(ratio).lower(x).as_text("decisions")


def test_the_kernels_the_llvm_text_and_the_machine_code_have_it() -> None:
    x = values(np.float32, 1000)
    strict, fast = jit(ratio), jit(ratio, fastmath=True)
    for f, has in ((strict, False), (fast, True)):
        assert ("fma(" in "".join(map(print_kernel, f.lower(x).kernels))) is has
        assert ("@llvm.fma" in f.compile(x).llvm) is has
        assert ("vfmadd" in f.compile(x).asm) is has
        assert ("fdiv" not in f.compile(x).llvm) is has


@pytest.mark.parametrize(
    ("dtype", "size", "fast", "strict"),
    [
        (np.float32, 999, ("div.full.f32", "sqrt.approx.f32", "fma.rn.f32"), "sqrt.rn.f32"),
        (np.float32, 1 << 20, ("div.full.f32", "sqrt.approx.f32", "fma.rn.f32"), "sqrt.rn.f32"),
        (np.float64, 999, ("div.rn.f64", "sqrt.rn.f64", "fma.rn.f64"), "sqrt.rn.f64"),
    ],
)
def test_a_gpu_has_its_instructions_for_it(
    dtype: Any, size: int, fast: tuple[str, ...], strict: str
) -> None:
    """Those that round nearly where there are such; strict programs have none of them."""
    function = lambda x, y: np.sqrt(x) / y + x * y  # noqa: E731
    x, y = values(dtype, size), values(dtype, size)
    texts = []
    for f in (jit(function, fastmath=True), jit(function)):
        kernels = f.trace(x, y).lower("sm_90").kernels
        texts.append(ptx(module_text(kernels, SM_90)[0], SM_90))
    assert all(instruction in texts[0] for instruction in fast)
    assert strict in texts[1]
    assert not any(word in texts[1] for word in (".full", "sqrt.approx", "fma.rn.f64"))


def test_it_goes_with_other_options_and_copies() -> None:
    x = values(np.float32, 64)
    expected = jit(ratio, fastmath=True)(x)
    assert same_bits(pickle.loads(pickle.dumps(KNOWN))(x), expected)
    assert same_bits(jit(fastmath=True, name="other")(ratio)(x), expected)
    assert same_bits(jit(ratio, fastmath=True, donate_argnums=0)(x.copy()), expected)


KNOWN = jit(ratio, fastmath=True)


def test_of_functions_that_call_each_other_the_outermost_decides() -> None:
    x = values(np.float32, 64)
    inner, strict = jit(ratio, fastmath=True), jit(ratio)
    with collecting() as events:
        assert same_bits(jit(lambda x: inner(x))(x), strict(x))
    told = [e for e in events if e.reason is Reason.NUMERIC_STRICT_OUTSIDE]
    assert [(e.details["function"], e.details["file"]) for e in told] == [("ratio", __file__)]
    with collecting() as events:
        assert same_bits(jit(lambda x: strict(x), fastmath=True)(x), inner(x))
        assert same_bits(jit(lambda x: inner(x), fastmath=True)(x), inner(x))
    assert Reason.NUMERIC_STRICT_OUTSIDE not in {e.reason for e in events}


def test_a_function_mapped_over_an_axis_keeps_it() -> None:
    x = values(np.float32, 8, 64)
    assert same_bits(pyc.vmap(jit(ratio, fastmath=True))(x), jit(ratio, fastmath=True)(x))
    assert same_bits(pyc.vmap(jit(ratio))(x), jit(ratio)(x))


@pytest.mark.parametrize("given", ["yes", 1, None, "True", np.True_])
def test_anything_but_a_bool_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match=r"jit: fastmath=.* is neither True nor False"):
        jit(ratio, fastmath=given)


def test_a_misspelt_name_is_told() -> None:
    with pytest.raises(TypeError, match="'fast_math'; did you mean fastmath"):
        jit(ratio, fast_math=True)
