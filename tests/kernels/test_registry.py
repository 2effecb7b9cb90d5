"""Which nest does a contraction, and what the others say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.target import SM_90, X86_64_V3, Target
from pyc.ir.types import ArrayType
from pyc.jit import jit
from pyc.kernels.registry import choose
from pyc.reasons import Reason
from tests.passes.programs import planned, reasons_of

PLAIN = (((1,), (0,)), ((), ()))
TWO_TERMS = (((1, 2), (1, 2)), ((), ()))

ROWS_OF_TWO_AXES = (((2,), (0,)), ((), ()))
APART = (((1,), (0,)), ((), ()))

CASES: dict[str, tuple[Target, Any, tuple[int, ...], tuple[int, ...], DType]] = {
    "plain": (X86_64_V3, PLAIN, (64, 64), (64, 64), dt.f32),
    "few": (X86_64_V3, PLAIN, (2, 20), (20, 3), dt.f64),
    "integers": (X86_64_V3, PLAIN, (64, 64), (64, 64), dt.i32),
    "vector": (X86_64_V3, PLAIN, (64, 64), (64,), dt.f32),
    "two_terms": (X86_64_V3, TWO_TERMS, (64, 4, 4), (64, 4, 4), dt.f32),
    "rows_of_two_axes": (X86_64_V3, ROWS_OF_TWO_AXES, (8, 8, 64), (64, 64), dt.f32),
    "columns_of_two_axes": (X86_64_V3, PLAIN, (64, 64), (64, 8, 8), dt.f32),
    "rows_apart": (X86_64_V3, APART, (8, 64, 8), (64, 64), dt.f32),
    "device_float32": (SM_90, PLAIN, (256, 256), (256, 256), dt.f32),
    "device_bfloat16": (SM_90, PLAIN, (256, 256), (256, 256), dt.bf16),
    "device_few": (SM_90, PLAIN, (16, 16), (16, 16), dt.f16),
    "device_odd_rows": (SM_90, PLAIN, (256, 255), (255, 256), dt.f16),
    "device_integers": (SM_90, PLAIN, (64, 64), (64, 64), dt.i32),
    "device_two_terms": (SM_90, TWO_TERMS, (64, 4, 4), (64, 4, 4), dt.f32),
    "device_rows_of_two_axes": (SM_90, ROWS_OF_TWO_AXES, (8, 64, 64), (64, 64), dt.f16),
    "device_three_terms": (SM_90, PLAIN, (64, 3), (3, 64), dt.f32),
}


def test_each_choice_says_why_the_others_were_refused(golden) -> None:
    rows = []
    for name, (target, dimensions, a, b, dtype) in CASES.items():
        types = (ArrayType(a, dtype), ArrayType(b, dtype))
        choice = choose("dot_general", types, {"dimensions": dimensions}, target)
        rows.append(f"{name}: {choice}")
        assert choice.scheduled is (choice.name != "contraction")
    golden("\n".join(rows))


@pytest.mark.parametrize(
    ("shape", "reason"), [((64, 64), Reason.KERNEL_NEST), ((1, 1), Reason.KERNEL_GENERIC)]
)
def test_a_product_carries_the_reason_of_its_kernel(shape: Any, reason: Reason) -> None:
    x = np.ones(shape)
    assert reasons_of(planned(lambda x: pnp.exp(x) @ x, x)) == [reason]


def test_decisions_are_text_with_the_users_line(golden) -> None:
    """In the order in which they were made: fusion first."""

    def function(x: Any) -> Any:
        y = x @ x
        for _ in range(2):
            y = y.at[0].set(y[1])
        return y, y + (x @ x[0])

    text = jit(function).lower(np.ones((64, 64))).as_text("decisions")
    assert "test_registry.py:" in text
    golden(re.sub(r"\S*test_registry\.py:\d+", "model.py:1", text))
