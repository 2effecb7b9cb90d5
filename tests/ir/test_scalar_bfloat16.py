"""The shorter ways of bfloat16: for each argument the bits of the definition for float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.element import scalar_of
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Apply, Expr, Var, postorder
from pyc.ir.op import OPS
from tests.programs.differential import same_bits

SHORTER = [name for name, op in OPS.items() if op.of_bfloat16 is not None]


def both(name: str) -> tuple[Var, Expr, Expr]:
    """The element of an op over a bfloat16, and its definition for float32, rounded."""
    x = Var("x", dt.bf16)
    short, long = scalar_of(OPS[name], (x,), {}), scalar_of(OPS[name], (x.cast(dt.f32),), {})
    assert isinstance(short, Expr) and isinstance(long, Expr)
    return x, short, long.cast(dt.bf16)


def test_there_are_some() -> None:
    assert SHORTER == ["exp", "tanh"]


@pytest.mark.parametrize("name", SHORTER)
def test_every_argument_gives_the_bits_of_the_definition(name: str) -> None:
    x, short, long = both(name)
    every = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    with np.errstate(all="ignore"):
        found, expected = evaluate([short, long], {x: every})
    assert same_bits(found, expected)


@pytest.mark.parametrize("name", SHORTER)
def test_it_is_shorter(name: str) -> None:
    _, short, long = both(name)
    ours, theirs = (sum(isinstance(e, Apply) for e in postorder([v])) for v in (short, long))
    assert ours < theirs
