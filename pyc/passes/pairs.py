"""Pairs of products that read one matrix from both sides, in one pass over it (`both_sides`).

Takes the groups of a Graph with what they need, returns them in an order in which the two of a pair
follow each other: first `a @ x`, then `v @ a`, which nothing between them makes anything for. The
first one has the other as its follower. Targets with blocks have no such kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pyc.forks import later
from pyc.ir.graph import Graph, Value
from pyc.ir.target import Target
from pyc.passes.between import closure, find_between
from pyc.passes.fusion import Group
from pyc.passes.reads import Walker

# What few programs need.
side_of = later("pyc.kernels.both_sides", "side_of")
may_follow = later("pyc.kernels.both_sides", "may_follow")

NEAREST = 4
"""Products with a matrix from the other side that one is tried with, the nearest first."""


def in_order(
    groups: Sequence[Group], graph: Graph, walker: Walker, target: Target | None
) -> list[Group]:
    """Groups with each after what it needs, otherwise in order of creation, followers behind the
    group that they follow."""
    needs = {g.number: set(g.needs) for g in groups}
    if target is not None and not target.has_blocks:
        _pair(groups, needs, target)
        find_between(groups, needs, graph, walker, target)
    order: list[Group] = []
    done: set[int] = set()
    for start in range(len(groups)):
        stack = [(start, False)]
        while stack:
            k, ready = stack.pop()
            if k in done:
                continue
            if ready:
                together = [groups[k], *groups[k].followers]
                done.update(g.number for g in together)
                order += together
                continue
            stack.append((k, True))
            stack.extend((n, False) for n in sorted(needs[k], reverse=True))
    return order


def _pair(groups: Sequence[Group], needs: dict[int, set[int]], target: Target) -> None:
    """Finds the pairs. The first of each then needs all that the second one does."""
    readers: dict[Value, list[Group]] = defaultdict(list)
    for g in groups:
        if g.opaque is not None and g.opaque.op.name == "dot_general" and g.sum is None:
            ranks = [len(a.shape) for a in g.opaque.args]
            if sorted(ranks) == [1, 2]:
                readers[g.opaque.args[ranks.index(2)]].append(g)
    for matrix, some in readers.items():
        if len(some) < 2:
            continue
        sides = [_side(g) for g in some]
        columns = [g for g, side in zip(some, sides, strict=True) if side == "columns"]
        for first in (g for g, side in zip(some, sides, strict=True) if side == "rows"):
            near = sorted(columns, key=lambda g: abs(g.number - first.number))[:NEAREST]
            for second in near:
                dependent = first.outputs[0] in second.operands
                if dependent and not may_follow(matrix.type, target):
                    continue
                if _may_meet(first, second, needs):
                    first.followers = (second,)
                    columns.remove(second)
                    needs[first.number] |= needs[second.number] - {first.number}
                    needs[second.number].add(first.number)
                    break


def _side(group: Group) -> str:
    """Which side of a pair a product of a matrix and a vector can be; empty if neither."""
    eqn = group.opaque
    assert eqn is not None
    side: str = side_of(tuple(a.type for a in eqn.args), eqn.params["dimensions"])
    return side


def _may_meet(first: Group, second: Group, needs: dict[int, set[int]]) -> bool:
    """Whether nothing that the second one needs comes after the first one, but itself, or the
    other way round."""
    if second.number in closure(first.number, needs):
        return False
    others = needs[second.number] - {first.number}
    return not any(first.number in closure(k, needs) for k in others)
