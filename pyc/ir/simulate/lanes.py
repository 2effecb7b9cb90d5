"""Lanes of a frame: opened by loops, narrowed by conditions, numbered as threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.frozen import replace
from pyc.ir import loops as lo
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.loops import Extent
from pyc.ir.simulate.findings import SimulationError
from pyc.ir.simulate.state import Array, Frame, Machine


def lane_shape(machine: Machine, frame: Frame) -> tuple[int, ...]:
    """The shape of a value that every open lane varies."""
    return (*frame.lengths, *machine.one[len(frame.lengths) :])


def narrow(frame: Frame, condition: Array) -> Frame:
    """The frame with those lanes active that were and for which `condition` holds."""
    mask = condition if frame.mask is None else frame.mask & condition
    return replace(frame, mask=mask)


def open_lanes(machine: Machine, s: lo.For, frame: Frame, first: int, count: int) -> Frame:
    """The frame inside a lane loop that runs iterations `first` to `first + count` at once."""
    axis = len(frame.lengths)
    positions = np.arange(first, first + count, dtype=np.int64)
    frame.env[s.var] = machine.line(axis, positions)
    return replace(
        frame,
        kinds=(*frame.kinds, s.kind),
        lengths=(*frame.lengths, count),
        axes={**frame.axes, s.var: axis},
    )


def carry(mask: Array | None, new: list[Array], old: list[Array]) -> list[Array]:
    """What a loop carries on: `new` in the lanes of `mask`, `old` in the others."""
    if mask is None:
        return new
    return [np.where(mask, n, o) for n, o in zip(new, old, strict=True)]


def static_extent(extent: Extent, frame: Frame) -> int:
    """An extent that must be the same for all lanes."""
    if isinstance(extent, int):
        return extent
    (value,) = evaluate([extent], frame.env)
    if value.size != 1:
        raise SimulationError("an extent here must not vary between lanes")
    return int(value.reshape(-1)[0])


def active_threads(frame: Frame) -> Array:
    """The numbers of the threads that are active."""
    if frame.warps is None:
        return np.zeros(1, np.int64)
    if frame.mask is None:
        return np.unique(frame.inner)
    shape = np.broadcast_shapes(frame.inner.shape, frame.mask.shape)
    active = np.broadcast_to(frame.mask, shape)
    return np.unique(np.broadcast_to(frame.inner, shape)[active])


def per_thread(frame: Frame, *arrays: Array) -> list[Array]:
    """The values of each active thread."""
    if frame.warps is None:
        return [a.reshape(-1)[:1] for a in arrays]
    shapes = [a.shape for a in arrays]
    if frame.mask is not None:
        shapes.append(frame.mask.shape)
    shape = np.broadcast_shapes(frame.inner.shape, *shapes)
    active = np.broadcast_to(True if frame.mask is None else frame.mask, shape)
    return [np.broadcast_to(a, shape)[active] for a in arrays]


def at_lane(value: Array, lane: Sequence[int]) -> Any:
    """The value of one lane."""
    return value[tuple(i if n > 1 else 0 for i, n in zip(lane, value.shape, strict=True))]


def in_role(role: lo.Role, warps: Array) -> Array:
    """Which of `warps` belong to the role."""
    member: Array = (warps >= role.first_warp) & (warps < role.first_warp + role.warps)
    return member


def ranges(numbers: Array) -> str:
    """Sorted numbers as `0..31, 64..95`."""
    if len(numbers) == 0:
        return "none"
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    parts = np.split(numbers, cuts)
    return ", ".join(f"{p[0]}..{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)
