"""The front of `pyc.ir`: each level prints itself, and is read and checked by one function."""

from __future__ import annotations

import numpy as np
import pytest

import pyc
from pyc import ir
from pyc.errors import VerificationError
from pyc.frozen import replace

LOWERED = pyc.jit(lambda x: np.exp(x - x.max()) * 2).lower(np.ones((40, 30)))


def test_every_level_is_read_from_its_text() -> None:
    for program in (LOWERED.traced.graph, LOWERED.graph, *LOWERED.kernels):
        again = ir.parse(str(program))
        assert type(again) is type(program) and str(again) == str(program)
        ir.verify(again)
    again = ir.parse(str(LOWERED.plan), LOWERED.plan.kernels)
    assert isinstance(again, ir.Plan) and str(again) == str(LOWERED.plan)
    ir.verify(again)
    assert str(LOWERED.traced) == LOWERED.traced.as_text()


@pytest.mark.parametrize("text", ["", "nothing", "graph", "kernels", "plans {"])
def test_a_text_of_no_level_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="begins with"):
        ir.parse(text)


def test_a_text_that_goes_wrong_names_its_line() -> None:
    text = str(LOWERED.graph).replace("exp(", "expp(")
    with pytest.raises(ValueError, match="line "):
        ir.parse(text)


def test_what_breaks_a_rule_is_refused_at_each_level() -> None:
    graph, plan = LOWERED.graph, LOWERED.plan
    kernel = LOWERED.kernels[0]
    broken = (
        replace(graph, eqns=graph.eqns[1:]),
        replace(kernel, buffers=kernel.buffers[:1]),
        replace(plan, steps=(), results=(99,)),
    )
    for program in broken:
        with pytest.raises(VerificationError):
            ir.verify(program)


def test_the_names_of_the_levels_are_public() -> None:
    assert all(getattr(ir, name) is not None for name in ir.__all__)
    assert {*ir.__all__} <= {*dir(ir)}
    assert isinstance(LOWERED.graph, ir.Graph) and isinstance(LOWERED.kernels[0], ir.Kernel)
    with pytest.raises(AttributeError, match="no attribute 'graf'"):
        ir.graf  # noqa: B018
