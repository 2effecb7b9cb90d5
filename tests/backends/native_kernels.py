"""Helpers of the tests here: run kernels natively and in the kernel interpreter, and compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyc.backends.cpu import Cpu
from pyc.backends.x86 import compile_plan
from pyc.frozen import replace
from pyc.ir import plan as plans
from pyc.ir import simulate
from pyc.ir.loops import Kernel
from pyc.ir.target import X86_64_V3, X86_64_V4, Target

Array = np.ndarray[Any, Any]
TARGETS = [
    X86_64_V3,
    X86_64_V4,
    replace(X86_64_V4, id="v4 narrow", vector_bytes=32),
    replace(X86_64_V4, id="v4 gathers", quick_gathers=True),
]
each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.id)


def one_kernel_plan(
    kernel: Kernel, arrays: Sequence[Array], sizes: Sequence[int] = ()
) -> plans.Plan:
    """A Plan of one launch whose arguments are all of the kernel's buffers."""
    buffers = tuple(
        plans.PlanBuffer(a.nbytes, plans.Place.ARGUMENT, k) for k, a in enumerate(arrays)
    )
    slots = tuple(range(len(arrays)))
    return plans.Plan((kernel,), buffers, (plans.Launch(0, slots, tuple(sizes)),), slots, ())


def native(
    kernel: Kernel,
    arrays: Sequence[Array],
    target: Target,
    sizes: Sequence[int] = (),
    cpu: Cpu | None = None,
) -> list[Array]:
    """The arrays after the kernel ran on copies of them as native code."""
    plan = one_kernel_plan(kernel, arrays, sizes)
    copies = [a.copy() for a in arrays]
    cpu = cpu or Cpu()
    cpu.run(cpu.load(compile_plan(plan, target), plan), copies, [])
    return copies


def check(
    kernel: Kernel, arrays: Sequence[Array], target: Target, sizes: Sequence[int] = ()
) -> list[Array]:
    """Runs a kernel natively and in the kernel interpreter and demands equal bits."""
    expected = [a.copy() for a in arrays]
    simulate.run(kernel, expected, sizes, check_outputs=False)
    found = native(kernel, arrays, target, sizes)
    for buffer, a, b in zip(kernel.buffers, found, expected, strict=True):
        raw = f"u{a.dtype.itemsize}"
        nan = (
            np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
            if a.dtype.kind == "f"
            else np.zeros(a.shape, bool)
        )
        wrong = (a.view(raw) != b.view(raw)) & ~nan
        if buffer.role != "in":
            found_here, wanted, where = a[wrong][:5], b[wrong][:5], np.argwhere(wrong)[:5]
            assert not wrong.any(), f"{buffer.name}: {found_here} instead of {wanted} at {where}"
    return found
