"""Runs a Plan in the interpreters and counts what its kernels do, by watching them do it.

What `pyc.explanation.counts` says of a kernel follows from its loops; here each expression that the
kernel interpreter evaluates is counted in the lanes that are active then, and the addresses of each
access are noted one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pyc.backends import oracle
from pyc.ir.expr import Apply, Expr, Load
from pyc.ir.loops import Accumulate, Kernel
from pyc.ir.plan import Plan
from pyc.ir.simulate import control, statements, values
from pyc.ir.simulate.lanes import lane_shape
from pyc.ir.simulate.memory import address, storage_of

ARITHMETIC = {"add": 1, "sub": 1, "mul": 1, "div": 1, "sqrt": 1, "minimum": 1, "maximum": 1}
ARITHMETIC["fma"] = 2


class Seen:
    """What one kernel did. loads, stores: by parameter, over all launches; read, written: the
    addresses of the launch that touched the most."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.launches = 0
        self.loads: Counter[int] = Counter()
        self.stores: Counter[int] = Counter()
        self.read: dict[int, set[int]] = {k: set() for k in range(len(kernel.buffers))}
        self.written: dict[int, set[int]] = {k: set() for k in range(len(kernel.buffers))}
        self.flops = 0
        self.accumulates = False


def watch(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, arguments: Sequence[Any], types: Sequence[Any]
) -> list[Seen]:
    """What each kernel of a Plan does for these arguments."""
    seen = [Seen(k) for k in plan.kernels]
    now: list[Seen] = []
    compute, load, scatter = values.compute, values.load, statements._scatter
    run = oracle.run_kernel

    def active(machine: Any, frame: Any) -> Any:
        shape = lane_shape(machine, frame)
        return np.broadcast_to(True if frame.mask is None else frame.mask, shape)

    def number(buffer: Any) -> int | None:
        found = [k for k, b in enumerate(now[-1].kernel.buffers) if b is buffer]
        return found[0] if found else None

    def counting(machine: Any, s: Any, part: str, roots: Sequence[Expr], frame: Any) -> Any:
        lanes = int(active(machine, frame).sum())
        for node in usual(roots):
            if isinstance(node, Load) and number(node.buffer) is not None:
                now[-1].loads[number(node.buffer)] += lanes
            elif isinstance(node, Apply) and node.dtype.is_float:
                now[-1].flops += ARITHMETIC.get(node.name, 0) * lanes
        return compute(machine, s, part, roots, frame)

    def loading(machine: Any, s: Any, node: Load, index: Any, frame: Any) -> Any:
        k = number(node.buffer)
        if k is not None:
            flat = address(machine, s, storage_of(node.buffer, frame), node.index, index, frame)
            here = active(machine, frame)
            now[-1].read[k].update(np.broadcast_to(flat, here.shape)[here].tolist())
        return load(machine, s, node, index, frame)

    def storing(machine: Any, s: Any, frame: Any) -> Any:
        found = scatter(machine, s, frame)
        k = number(s.buffer)
        if k is not None and found is not None:
            now[-1].stores[k] += int(active(machine, frame).sum())
            now[-1].written[k].update(found[1].tolist())
            now[-1].accumulates |= isinstance(s, Accumulate)
        return found

    def launching(kernel: Kernel, *given: Any, **options: Any) -> Any:
        found = next(s for s in seen if s.kernel is kernel)
        before = found.read, found.written
        found.read, found.written = ({k: set() for k in before[0]} for _ in range(2))
        now.append(found)
        found.launches += 1
        outcome = run(kernel, *given, **options)
        for sets, old in zip((found.read, found.written), before, strict=True):
            sets.update({k: max(sets[k], old[k], key=len) for k in old})
        return outcome

    for module in (values, statements, control):
        monkeypatch.setattr(module, "compute", counting)
    monkeypatch.setattr(values, "load", loading)
    monkeypatch.setattr(statements, "_scatter", storing)
    monkeypatch.setattr(oracle, "run_kernel", launching)
    oracle.run_plan(plan, arguments, [(t.shape, t.dtype.numpy) for t in types])
    monkeypatch.undo()
    return seen


def usual(roots: Sequence[Expr]) -> list[Expr]:
    """Every node below some roots, but for those under the rare side of a selection alone."""
    found: dict[int, Expr] = {}

    def visit(node: Expr) -> None:
        if id(node) in found:
            return
        found[id(node)] = node
        rare = isinstance(node, Apply) and node.name == "rare_select"
        for k, child in enumerate(node.operands):
            if not rare or k != 1:
                visit(child)

    for root in roots:
        visit(root)
    return list(found.values())
