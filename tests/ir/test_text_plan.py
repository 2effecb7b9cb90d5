"""The text of Plans prints and parses."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyc.ir.loops import Kernel
from pyc.ir.plan import Branch, Copy, Given, Launch, Library, Loop, Place, Plan, PlanBuffer, Site
from pyc.ir.text_plan import parse_plan, print_plan

KERNELS = (
    Kernel("fused add", (), ()),
    Kernel('a "quoted" name', (), ()),
    Kernel("fused add", (), ()),
)

SLOTS = st.integers(0, 3)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def several(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(values, max_size=3).map(tuple)


SIZES_OF = st.one_of(NUMBERS, st.builds(Given, st.integers(0, 5)))
LEAVES = st.one_of(
    st.builds(Launch, st.integers(0, 2), several(SLOTS), several(SIZES_OF), st.booleans()),
    st.builds(Library, st.text(max_size=5), several(SLOTS), several(NUMBERS)),
    st.builds(Copy, SLOTS, SLOTS),
)
STEPS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Loop, several(inner), SLOTS, several(inner), several(st.tuples(SLOTS, SLOTS))),
        st.builds(Branch, SLOTS, st.lists(several(inner), min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)
SIZES = st.integers(0, 2**40)
BUFFERS = st.builds(PlanBuffer, SIZES, st.sampled_from(Place), SIZES, st.booleans(), SIZES, SIZES)
PLANS = st.builds(
    Plan,
    kernels=st.just(KERNELS),
    buffers=st.lists(BUFFERS, min_size=4, max_size=4).map(tuple),
    steps=several(STEPS),
    arguments=several(SLOTS),
    results=several(SLOTS),
    peak=SIZES,
    lower_bound=SIZES,
    constants=st.binary(max_size=8),
    sites=several(st.builds(Site, st.text(max_size=5), SIZES)),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(PLANS)
def test_plans_parse_back(plan) -> None:
    text = print_plan(plan)
    again = parse_plan(text, KERNELS)
    assert again == plan
    assert print_plan(again) == text


def example() -> Plan:
    return Plan(
        kernels=KERNELS,
        buffers=(
            PlanBuffer(32, Place.ARGUMENT, 0),
            PlanBuffer(8, Place.ARGUMENT, 1, scalar=True),
            PlanBuffer(1, Place.ARENA, 64, first=1, last=4),
            PlanBuffer(32, Place.RESULT, 0),
            PlanBuffer(16, Place.CONSTANT, 0),
        ),
        steps=(
            Launch(0, (0, 1, 3)),
            Launch(2, (0, 3), (), host=True),
            Loop(
                condition=(Launch(1, (3, 2), (8,)),),
                flag=2,
                body=(
                    Branch(1, ((Copy(3, 0),), (), (Library("gemm", (0, 4, 3), (1, -1)),))),
                    Launch(2, ()),
                ),
                rotate=((0, 3), (1, 4)),
            ),
            Loop((), 2, (Copy(3, 0),), (), times=12),
        ),
        arguments=(0, 1),
        results=(3,),
        peak=128,
        lower_bound=65,
        constants=b"\x00\x01\xfe\xff",
        sites=(Site("index", 3),),
    )


def test_the_text_of_every_step(golden) -> None:
    golden(print_plan(example()))
    assert parse_plan(print_plan(example()), KERNELS) == example()
    golden(print_plan(Plan((), (), (), (), ())), "empty")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("peak 128", "peak x", "line 1: expected a number, found 'x'"),
        ('kernel 0 "fused add"', 'kernel 0 "other"', "line 2: expected '\"fused add\"'"),
        ("at arena", "at moon", "line 7: expected a place, found 'moon'"),
        ("launch 0", "launch 7", "expected one of 3 kernels"),
        ("on host", "on moon", "expected 'host', found 'moon'"),
        ("b3 <- b0", "b3 <- b9", "expected a buffer, found 'b9'"),
        ("results b3", "result b3", "expected 'results', found 'result'"),
        ("}\n", "}\n}", "expected the end, found '}'"),
        ("plan", "?", "line 1: unexpected '?'"),
    ],
)
def test_what_does_not_parse_is_named(old, new, message) -> None:
    head, found, tail = print_plan(example()).rpartition(old)
    assert found
    with pytest.raises(ValueError, match=message):
        parse_plan(head + new + tail, KERNELS)
