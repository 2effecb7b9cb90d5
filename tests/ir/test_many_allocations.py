"""Kernels of some thousand allocations within each other, more than Python's stack takes: whatever
goes over the statements of a kernel takes them."""

from __future__ import annotations

import numpy as np
import pytest

from pyc.explanation.counts import count
from pyc.explanation.schedule import tasks
from pyc.ir import dtype as dt
from pyc.ir.expr import Load, Var, const
from pyc.ir.loops import Alloc, Body, Buffer, For, Kernel, Kind, Let, Space, Store, walk
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.text_kernel import print_kernel
from pyc.ir.verify_kernel import verify
from pyc.ir.visit import renamed
from tests.backends.native_kernels import check, each_target

MANY = 4000


def nested(count: int, lanes: int = 1) -> Kernel:
    """out = x + count, through buffers of one element, each made within the one before."""
    x = Buffer("x", dt.f64, (lanes,), role="in")
    out = Buffer("out", dt.f64, (lanes,), role="out")
    lane = Var("lane")
    buffers = [Buffer(f"b{k}", dt.f64, (1,), Space.STACK) for k in range(count)]
    zero = const(0)
    last: Body = (Store(out, (lane,), Load(buffers[-1], (zero,))),)
    for k in reversed(range(count)):
        before = Load(buffers[k - 1], (zero,)) if k else Load(x, (lane,))
        value = Var("v", dt.f64)
        last = (
            Alloc(buffers[k], (Let(value, before + 1.0), Store(buffers[k], (zero,), value), *last)),
        )
    kind = Kind.SERIAL if lanes == 1 else Kind.VECTOR
    return Kernel("k", (x, out), (For(lane, lanes, kind, last),))


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return nested(MANY)


def test_they_are_printed_parsed_and_verified(kernel: Kernel) -> None:
    verify(kernel)
    text = print_kernel(kernel)
    assert print_kernel(parse_kernel(text)) == text


def test_they_are_rewritten(kernel: Kernel) -> None:
    made = [s.buffer for s in walk(renamed(kernel.body)) if isinstance(s, Alloc)]
    assert len(made) == MANY
    assert not set(made) & {s.buffer for s in walk(kernel.body) if isinstance(s, Alloc)}


def test_they_are_explained(kernel: Kernel) -> None:
    assert tasks(kernel) == 1
    assert count(kernel).flops == {"f64": MANY}


@each_target
@pytest.mark.parametrize("lanes", [1, 8])
def test_they_run_natively_and_in_the_interpreter(target, lanes) -> None:
    found = check(nested(1200, lanes), [np.ones(lanes), np.zeros(lanes)], target)
    np.testing.assert_array_equal(found[1], np.ones(lanes) + 1200)
