"""Broken Plans are refused, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

import pyc.numpy as pnp
from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir.expr import Load, Var
from pyc.ir.loops import Buffer, Fail, For, Kernel, Kind, Store
from pyc.ir.plan import Branch, Copy, Launch, Loop, Place, Plan, PlanBuffer, Site
from pyc.ir.verify_plan import verify_plan
from tests.passes.programs import ones, planned


def kernel(kind: Kind = Kind.PARALLEL) -> Kernel:
    """Copies 8 numbers; a check that fails for negative ones."""
    source, out = Buffer("x", dt.f64, (8,), role="in"), Buffer("out", dt.f64, (8,), role="out")
    i = Var("i")
    value = Load(source, (i,))
    body = (Fail(0, value < 0.0, i), Store(out, (i,), value))
    return Kernel("copy", (source, out), (For(i, 8, kind, body),))


def plan_of(*steps: Any, **changes: Any) -> Plan:
    """Steps over an argument, a result, two arena buffers, a flag and a constant."""
    arena = {"first": 1, "last": 9}
    buffers = (
        PlanBuffer(64, Place.ARGUMENT, 0),
        PlanBuffer(64, Place.RESULT, 0),
        PlanBuffer(64, Place.ARENA, 0, **arena),
        PlanBuffer(64, Place.ARENA, 64, **arena),
        PlanBuffer(1, Place.ARENA, 128, **arena),
        PlanBuffer(64, Place.CONSTANT, 0),
    )
    made = Plan((kernel(), kernel(Kind.UNROLL)), buffers, steps, (0,), (1,), 192, 192, b"0" * 64)
    return replace(replace(made, sites=(Site("index", 0),)), **changes)


def moved(slot: int, **changes: Any) -> tuple[PlanBuffer, ...]:
    """The buffers, with one changed."""
    buffers = list(plan_of().buffers)
    buffers[slot] = replace(buffers[slot], **changes)
    return tuple(buffers)


LOOP = Loop((Launch(0, (0, 2)),), 4, (Copy(3, 2),), ((2, 3),))
VALID = (Launch(0, (0, 2)), LOOP, Launch(0, (2, 1), host=True), Branch(2, ((Copy(1, 5),), ())))


def test_a_plan_with_every_step_is_valid() -> None:
    verify_plan(plan_of(*VALID))
    verify_plan(plan_of(Launch(0, (0,), host=True)))
    verify_plan(planned(lambda x: pnp.sort(x * 2) + pnp.cumsum(x), ones(5000)).plan)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Launch(2, (0, 1)),), "launch of kernel 2 of 2"),
        ((Launch(0, (0,)),), "launch of copy: 1 buffers for 2 parameters"),
        ((Launch(0, (0, 1, 2), host=True),), "launch of copy: 3 buffers for 2 parameters"),
        ((Launch(0, (0, 1), (4,)),), "launch of copy: 1 numbers for 0 sizes"),
        ((Launch(0, (4, 1)),), "launch of copy: b4 has 1 bytes, 64 are used"),
        ((Launch(0, (2, 0)),), "launch of copy writes b0, which is of the arguments"),
        ((Launch(0, (2, 5)),), "launch of copy writes b5, which is of the constants"),
        ((Launch(1, (0, 1), host=True),), "on the host: the kernel is scheduled already"),
        ((Launch(0, (0, 9)),), "step 1 names b9 of 6 buffers"),
        ((Copy(0, 2),), "copy writes b0"),
        ((Copy(4, 2),), "copy of b4 and b2: 1 and 64 bytes"),
        ((Branch(4, ((),)),), "branch: b4 has 1 bytes, 8 are used"),
        ((Branch(2, ()),), "branch b2 has no cases"),
        ((Loop((), 4, (), ((2, 4),)),), "swap of b2 and b4: 64 and 1 bytes"),
        ((Loop((), 4, (), ((0, 2),)),), "swap writes b0, which is of the arguments"),
        ((Loop((), 4, (), ((1, 2),)),), "swap of b1 and b2: b1 is a result"),
        ((Loop((Copy(0, 1),), 4, ()),), "copy writes b0"),
        ((Loop((), 4, (), (), -1),), "loop while b4 runs -1 times"),
        ((Branch(2, ((Copy(0, 1),),)),), "copy writes b0"),
    ],
)
def test_broken_steps_are_named(steps: tuple[Any, ...], message: str) -> None:
    with pytest.raises(VerificationError) as refused:
        verify_plan(plan_of(*steps))
    assert message in str(refused.value)
    assert refused.value.__notes__[0].startswith("plan peak 192")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buffers": moved(3, index=0)}, "b2 and b3 share bytes while both are alive"),
        ({"buffers": moved(3, index=32)}, "b3 lies at 32..96 of 192 bytes, aligned to 64"),
        ({"buffers": moved(4, index=192)}, "b4 lies at 192..193 of 192 bytes"),
        ({"buffers": moved(5, index=64)}, "b5 lies at 64..128 of 64 bytes"),
        ({"buffers": moved(2, last=1)}, "step 3 uses b2, alive in 1..1"),
        ({"buffers": moved(2, first=3)}, "step 1 uses b2, alive in 3..9"),
        ({"buffers": moved(0, index=1)}, "b0 is not argument 0"),
        ({"results": (0,)}, "result 0 takes over b0, which is not donated"),
        ({"results": (4,)}, "b4 is not result 0"),
        ({"results": (9,)}, "b9 of 6 buffers is an argument or a result"),
        ({"sites": ()}, "launch of copy: site 0 of 0"),
    ],
)
def test_wrong_memory_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(VerificationError) as refused:
        verify_plan(plan_of(*VALID, **changes))
    assert message in str(refused.value)


def test_buffers_may_share_bytes_one_after_the_other() -> None:
    first, second = replace(plan_of().buffers[2], last=1), replace(plan_of().buffers[3], index=0)
    buffers = (*plan_of().buffers[:2], first, replace(second, first=2), *plan_of().buffers[4:])
    verify_plan(plan_of(Launch(0, (0, 2)), Launch(0, (0, 3)), buffers=buffers))
