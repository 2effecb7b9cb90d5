"""Values of expressions over all lanes of a frame, with loads and shuffles.

Every value is an array of rank `len(machine.one)`. `compute` has the meaning of
`evaluate_expr.evaluate`; the order of a statement's nodes is found once and kept in the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, postorder
from pyc.ir.instructions import INSTRUCTIONS, bare_cast, bitcast
from pyc.ir.loops import Extent, Kind, Stmt
from pyc.ir.simulate.facts import WARP
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.memory import load
from pyc.ir.simulate.state import Array, Compute, Frame, Machine, Plan


def compute(
    machine: Machine, s: Stmt, part: str, roots: Sequence[Expr], frame: Frame
) -> list[Array]:
    """The values of a statement's expressions; the order is computed once per statement."""
    plan = _plan_of(machine, s, part, roots)
    values: list[Array] = []
    env = frame.env
    for node, args, instruction, literal in plan.steps:
        if literal is not None:
            values.append(literal)
        elif instruction is not None:
            values.append(instruction(tuple([values[a] for a in args]), node.dtype))
        elif isinstance(node, Var):
            value = env.get(node)
            if value is None:
                raise SimulationError(f"variable {node.name} is not bound")
            values.append(value)
        elif isinstance(node, Load):
            values.append(load(machine, s, node, [values[a] for a in args], frame))
        elif isinstance(node, Shuffle):
            values.append(_shuffle(machine, s, node, values[args[0]], frame))
        else:
            raise SimulationError(f"no such expression: {type(node).__name__}")
    return [values[r] for r in plan.roots]


def _plan_of(machine: Machine, s: Stmt, part: str, roots: Sequence[Expr]) -> Plan:
    plan = machine.plans.get((s, part))
    if plan is None:
        nodes = postorder(roots)
        place = {id(n): k for k, n in enumerate(nodes)}
        steps = []
        for n in nodes:
            literal = machine.uniform(n.value, n.dtype) if isinstance(n, Const) else None
            instruction = _instruction_of(n.name) if isinstance(n, Apply) else None
            steps.append((n, tuple(place[id(c)] for c in n.operands), instruction, literal))
        plan = Plan(steps, tuple(place[id(r)] for r in roots))
        machine.plans[s, part] = plan
    return plan


def _instruction_of(name: str) -> Compute:
    """What computes an instruction, inside of `quietly`."""
    return _CASTS.get(name) or INSTRUCTIONS[name].bare


_CASTS: dict[str, Compute] = {
    "cast": lambda args, dtype: bare_cast(args[0], dtype),
    "bitcast": lambda args, dtype: bitcast(args[0], dtype),
}


def extent_of(machine: Machine, s: Stmt, extent: Extent, frame: Frame) -> tuple[int, Array | None]:
    """The number of iterations to make, and the extent per lane where lanes differ."""
    if isinstance(extent, int):
        return max(extent, 0), None
    (value,) = compute(machine, s, "extent", [extent], frame)
    if value.size == 1:
        return max(int(value.reshape(-1)[0]), 0), None
    active = value if frame.mask is None else np.where(frame.mask, value, 0)
    return max(int(active.max(initial=0)), 0), value


def _shuffle(machine: Machine, s: Stmt, node: Shuffle, value: Array, frame: Frame) -> Array:
    axis = frame.axes.get(node.var)
    if axis is None or frame.kinds[axis] not in (Kind.VECTOR, Kind.THREAD):
        machine.report("shuffle", s, f"{node.var.name} is no vector or thread loop here")
        return value
    length, distance = frame.lengths[axis], node.distance
    across = frame.kinds[axis] is Kind.THREAD and distance >= WARP
    if length & (length - 1) or not 0 <= distance < length or across:
        machine.report("shuffle", s, f"distance {distance} in a loop of {length} lanes")
        return value
    if frame.mask is not None:
        some = frame.mask.any(axis=axis)
        if (some & ~frame.mask.all(axis=axis)).any():
            machine.report("shuffle", s, "some lanes of the loop are not active here")
    if value.shape[axis] == 1:
        return value
    moved: Array = np.take(value, np.arange(length) ^ distance, axis=axis)
    return moved
