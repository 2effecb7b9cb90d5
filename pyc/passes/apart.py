"""Why two groups of a Graph are two kernels, for reports: `fuse` finds it, this says it.

`Apart` names the two and the reason; `describe` makes its details of what `fuse` compared.
"""

from __future__ import annotations

from math import prod
from typing import Protocol

from pyc.frozen import frozen
from pyc.ir.graph import Eqn
from pyc.reasons import Reason

Domain = tuple[int, ...]


@frozen()
class Apart:
    """Why two groups are two kernels, by their numbers: `reader` reads what `maker` makes."""

    maker: int
    reader: int
    reason: Reason
    details: str


class Maker(Protocol):
    """A group that makes what is read."""

    domain: Domain
    reduced: Domain
    opaque: Eqn | None


def describe(
    reason: Reason,
    maker: Maker,
    eqn: Eqn,
    domain: Domain,
    reduced: Domain | None,
    instructions: float,
) -> str:
    """What a reason says of the group `maker` and an equation that does not join it. domain,
    reduced: of the equation; instructions: per element, of both together."""
    if reason is Reason.FUSION_OWN_KERNEL:
        assert maker.opaque is not None
        return f"{maker.opaque.op} has a kernel of its own, which stores its result"
    if reason is Reason.FUSION_OTHER_LOOPS:
        if maker.domain != domain:
            return f"one runs over {extents(maker.domain)}, the other over {extents(domain)}"
        return "they reduce different axes"
    if reason is Reason.FUSION_LONG_ROWS:
        row = prod(domain[p] for p in reduced or maker.reduced)
        return f"rows of {row} elements are reduced by tasks that share a row"
    if reason is Reason.FUSION_OTHER_PLACES:
        return f"{eqn.op} needs elements that the kernel makes later, or in another task"
    if reason is Reason.FUSION_EXPRESSION_LIMIT:
        return f"{instructions:.0f} instructions per element"
    if reason is Reason.FUSION_ORDER:
        return f"{eqn.op} stands behind a check"
    return f"{eqn.op} joined another kernel, begun when these had nothing in common"


def read_by(eqn: Eqn) -> str:
    """The details of an operation with a kernel of its own that reads another kernel's result."""
    return f"{eqn.op} has a kernel of its own, which reads its arguments from memory"


def extents(domain: Domain) -> str:
    """A domain in words."""
    return " x ".join(map(str, domain)) or "one element"
