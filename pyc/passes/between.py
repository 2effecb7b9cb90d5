"""Row programs between two products, `softmax(q @ k.T) @ v`: found, and given to one nest.

Takes the groups of a Graph with what they need; of three that follow each other, where nothing else
reads what the first two make, the first gets the others as its `followers`. `kernels/around_rows`
is their nest, if the row program is scheduled as one row after the other. Targets with blocks have
no such kernel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from pyc.forks import later
from pyc.ir.expr import Load, postorder
from pyc.ir.graph import Graph, Value
from pyc.ir.loops import Body, Buffer, Fail, For, Kernel, Kind, Store, expressions, spine, walk
from pyc.ir.target import Target
from pyc.kernels.contraction import Epilogue
from pyc.passes.fusion import Group
from pyc.passes.reads import Walker, full_index, units_dropped
from pyc.passes.schedule import schedule

# What few programs need.
Outer = later("pyc.kernels.around_rows", "Outer")
Rows = later("pyc.kernels.around_rows", "Rows")
may_surround = later("pyc.kernels.around_rows", "may_surround")


def find_between(
    groups: Sequence[Group],
    needs: Mapping[int, set[int]],
    graph: Graph,
    walker: Walker,
    target: Target,
) -> None:
    """Gives products their followers. What these need comes before the first of the three."""
    readers: dict[Value, set[int]] = defaultdict(set)
    maker: dict[Value, Group] = {}
    for g in groups:
        for r in g.reads:
            readers[r.value].add(g.number)
        maker.update((out, g) for out in g.outputs)
    for rows in groups:
        if rows.opaque is not None or len(rows.outputs) != 1 or not rows.reduces:
            continue
        (made,) = rows.outputs
        domain = units_dropped(made.shape)
        if 1 in made.shape[-2:] or rows.domain != domain or rows.reduced != (len(domain) - 1,):
            continue
        if made in graph.results or len(readers[made]) != 1:
            continue
        (second,) = (groups[k] for k in readers[made])
        if not _is_product(second) or second.operands[0] is not made or second.operands[1] is made:
            continue
        if second.opaque is None or second.opaque.args[0].type != made.type:
            continue  # it reads the result under other axes
        variables = walker.variables(domain, range(len(domain)))
        plain = walker.canonical(full_index(made.shape, variables))
        for given in dict.fromkeys(r.value for r in rows.reads):
            first = maker.get(given)
            if first is None or given.type != made.type or given in graph.results:
                continue
            if not _is_product(first) or first.epilogue is not None:
                continue
            if readers[given] != {rows.number}:
                continue
            if any(r.index != plain for r in rows.reads if r.value is given):
                continue
            if not may_surround(outer(first), outer(second), target):
                continue
            if _follow(first, rows, second, needs):
                break


def _is_product(group: Group) -> bool:
    eqn = group.opaque
    if eqn is None or eqn.op.name != "dot_general" or group.sum is not None or group.followers:
        return False
    return eqn.params.get("result") in (None, eqn.args[0].dtype)


def outer(group: Group, epilogue: Epilogue | None = None) -> Any:
    """The product of a group, for the nest."""
    eqn = group.opaque
    assert eqn is not None
    return Outer(tuple(a.type for a in eqn.args), eqn.params["dimensions"], epilogue)


def _follow(first: Group, rows: Group, second: Group, needs: Mapping[int, set[int]]) -> bool:
    """Lets two groups follow a third, unless what they need comes after it."""
    three = {first.number, rows.number, second.number}
    others = (needs[rows.number] | needs[second.number]) - three
    if any(closure(k, needs) & three for k in others):
        return False
    first.followers = (rows, second)
    needs[first.number].update(others)
    return True


def closure(start: int, needs: Mapping[int, set[int]]) -> set[int]:
    """Groups that one needs, itself included."""
    seen, stack = {start}, [start]
    while stack:
        for k in needs[stack.pop()] - seen:
            seen.add(k)
            stack.append(k)
    return seen


def scheduled_rows(kernel: Kernel, given: int, target: Target) -> Any:
    """A row program whose only result is its last buffer, for the nest; None if it is not scheduled
    as one row after the other. given: the place of the buffer of scores."""
    stages = schedule(kernel, target)
    if len(stages) != 1:
        return None
    (stage,) = stages
    scheduled = stage.kernel
    if stage.positions != tuple(range(len(kernel.buffers))) or len(scheduled.body) != 1:
        return None
    (loop,) = scheduled.body
    count = prod(d for d in kernel.buffers[-1].shape[:-1] if isinstance(d, int))
    if not isinstance(loop, For) or loop.kind is not Kind.PARALLEL or loop.extent != count:
        return None
    if any(isinstance(s, Fail) for s in walk(loop.body)):
        return None
    *inputs, made = scheduled.buffers
    scores = inputs.pop(given)
    in_place = _reads_before(loop.body, scores, made)
    return Rows(loop.var, loop.body, scores, made, tuple(inputs), in_place)


def _reads_before(body: Body, scores: Buffer, made: Buffer) -> bool:
    """Whether all scores of a row are read before its result is stored."""
    around, inner = spine(body)
    statements = [*(s for before, _ in around for s in before), *inner]
    stores = False
    for s in statements:
        within = list(walk((s,)))
        stores |= any(isinstance(x, Store) and x.buffer is made for x in within)
        roots = [e for x in within for e in expressions(x)]
        loads = (e for e in postorder(roots) if isinstance(e, Load))
        if stores and any(e.buffer is scores for e in loads):
            return False
    return True
