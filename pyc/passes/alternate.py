"""Launches that go over the same memory one after the other, in opposite directions.

Takes the launches of one logical kernel on a target without blocks. A launch that has tasks and
touches an array of the launch with tasks before it takes its tasks from the last to the first if
that one began with the first: what a core read last is still in its cache. Tasks are independent,
so no bits depend on it. Inside a task memory is read forwards, as processors foresee it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.frozen import replace
from pyc.ir.expr import Var
from pyc.ir.loops import Body, For, Kind, Let
from pyc.passes.nest import Stage


def alternating(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """The launches, with every second one of those over the same memory turned."""
    found: list[Stage] = []
    before: frozenset[int] = frozenset()
    turned = False
    for stage in stages:
        loop = _tasks(stage.kernel.body)
        if loop is not None:
            touched = frozenset(stage.positions)
            turned = bool(touched & before) and not turned
            before = touched
            if turned:
                stage = replace(stage, kernel=replace(stage.kernel, body=(_backwards(loop),)))
        found.append(stage)
    return tuple(found)


def _tasks(body: Body) -> For | None:
    """The loop over tasks that is a whole launch; None if there are not several."""
    if len(body) != 1 or not isinstance(body[0], For) or body[0].kind is not Kind.PARALLEL:
        return None
    return None if body[0].extent == 1 else body[0]


def _backwards(loop: For) -> For:
    """The same loop from its last iteration to its first."""
    task = Var("task")
    return For(task, loop.extent, loop.kind, (Let(loop.var, loop.extent - 1 - task), *loop.body))
