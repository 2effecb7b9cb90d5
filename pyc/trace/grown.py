"""Lists that a loop appends to, once in each iteration: what it appends is stacked by the loop.

Takes lists that the body of a loop only appends to (`rewrite` sees that) and that it cannot reach
otherwise. While the body is traced each is an empty list of its own; what it holds then becomes
stacked results of a `scan`, and the rows of these are appended to the list of the user's. Numbers
and arrays that an iteration makes only: one that is there for longer would be one array, not a row
for each iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc import tree
from pyc.interpreter import WEAK
from pyc.trace.carried import Carried, Unstable
from pyc.trace.leaves import Static, is_array, kind_of
from pyc.trace.sharing import Final, memories, relate
from pyc.trace.state import Variable
from pyc.trace.trace import Input, Trace
from pyc.trace.tracer import Tracer


class Grown:
    """A list that grows. variable: the one that holds it."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.items: list[Any] = variable.get()
        self.new: list[Any] = []
        """What an iteration has appended."""
        self.kinds: list[Input] = []
        """What its leaves are."""
        self.memories: list[list[Tracer]] = []
        """In whose memory they are, within the iteration."""

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    def hide(self) -> None:
        """Takes the list away, so that nothing finds it."""
        self.variable.set(None)

    def show(self) -> None:
        """Puts it back."""
        self.variable.set(self.items)

    def enter(self) -> None:
        """Gives the body an empty list."""
        self.new = []
        self.variable.set(self.new)

    def leave(self, trace: Trace, carried: Sequence[Carried], steady: bool) -> list[Tracer]:
        """The values of an iteration, to be stacked. steady: whether it changes no array that it
        has from the one before.

        raises Unstable: something else than numbers and arrays that are new in each iteration
        """
        leaves = tree.leaves(self.new)
        found = [kind_of(leaf, self.name) for leaf in leaves]
        self.kinds = [k for k in found if isinstance(k, Input)]
        if any(isinstance(k, Static) for k in found):
            raise Unstable(
                f"the loop appends something else than numbers and arrays to `{self.name}`",
                "Append it after the loop, or in a comprehension.",
                again=False,
            )
        self.memories = [self._memories(trace, x) for x in leaves]
        given = [id(m) for c in carried for x in c.given if is_array(x) for m in memories(x)]
        going = [m for c in carried for f in c.finals if f is not None for m in f.memories]
        mine = [m for held in self.memories for m in held]
        lasting = any(m.owner is not trace or id(m) in given for m in mine)
        shared = not steady and any(m is x for m in mine for x in going)
        if lasting or shared or len({id(m) for m in mine}) < len(mine):
            raise self._lasting()
        return [trace.lift(leaf) for leaf in leaves]

    def _memories(self, trace: Trace, leaf: Any) -> list[Tracer]:
        if type(leaf) in WEAK or isinstance(leaf, np.generic):
            return []
        if not isinstance(leaf, Tracer):
            raise self._lasting()
        return Final(trace, leaf).memories if is_array(leaf) else []

    def _lasting(self) -> Unstable:
        return Unstable(
            f"`{self.name}` gets an array that is there for longer than the iteration",
            f"Append a copy of it: `{self.name}.append(x.copy())`.",
            again=False,
        )

    def extend(
        self, stacks: Sequence[Tracer], length: int, ends: Sequence[tuple[Tracer, Final]]
    ) -> None:
        """Appends the rows, in the order in which the iterations would have. ends: what the loop
        carries, which may be the last row."""
        for stack, held in zip(stacks, self.memories, strict=True):
            relate(stack, [x for x, f in ends if any(m is h for m in f.memories for h in held)])
        treedef = tree.structure(self.new)
        for k in range(length):
            rows = [
                stack[k] if kind.weak is None else stack[k].weakened()
                for stack, kind in zip(stacks, self.kinds, strict=True)
            ]
            self.items.extend(treedef.unflatten(rows))


__all__ = ["Grown"]
