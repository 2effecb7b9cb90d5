"""Elements of half types: rounded where an op may leave the type, and only there."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyc
import pyc.ir.ops
from pyc.ir import dtype as dt
from pyc.ir.element import scalar_of
from pyc.ir.expr import Apply, Const, Expr, Var, postorder
from pyc.ir.op import OPS
from tests.programs.differential import same_bits

HALVES = (dt.bf16, dt.f16, dt.f8e4m3, dt.f8e5m2)


def of(name: str, *args: Any) -> Expr:
    found = scalar_of(OPS[name], args, {})
    assert isinstance(found, Expr)
    return found


def roundings(x: Expr) -> int:
    """Conversions to half types."""
    return sum(
        isinstance(n, Apply) and n.name == "cast" and n.dtype.is_half for n in postorder([x])
    )


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_what_a_type_holds_is_not_rounded_to_it(half: dt.DType) -> None:
    x, y, c = Var("x", half), Var("y", half), Var("c", dt.b1)
    kept = of("maximum", of("neg", x), of("abs", of("select", c, x, Const(0.5, half))))
    assert roundings(of("add", kept, y)) == 1
    assert roundings(of("add", of("add", x, y), y)) == 2
    assert roundings(of("exp", of("neg", of("mul", x, y)))) == 2


def test_a_long_chain_is_looked_through_a_little() -> None:
    """Each op looks at the few before it, not at all of them in all ways."""
    x: Expr = Var("x", dt.bf16)
    for _ in range(40):
        x = of("maximum", of("neg", x), x)
    assert 1 <= roundings(x) < 40


@pytest.mark.parametrize("type", [ml_dtypes.bfloat16, np.float16, ml_dtypes.float8_e4m3fn])
def test_all_values_give_numpys_bits(type: Any) -> None:
    bits = np.dtype(f"u{np.dtype(type).itemsize}")
    x = np.arange(1 << (8 * bits.itemsize), dtype=np.uint32).astype(bits).view(type)
    y = x[::-1].copy()

    def f(x: Any, y: Any) -> Any:
        least = np.where(x < y, -x, np.abs(y))
        return np.minimum(least, y) + x, -(x * y), np.abs(-x).astype(np.float32)

    with np.errstate(all="ignore"):
        expected = f(x, y)
    for a, b in zip(expected, pyc.jit(f)(x, y), strict=True):
        assert same_bits(a, b)
