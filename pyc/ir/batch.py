"""Batching: what a Graph gives for many lanes at once, as one Graph over arrays with one more axis.

`Batch.run` goes through the equations of a Graph. A value is the same for all lanes, or has a
*batch axis* somewhere; equations of which every argument is the same for all lanes stay as they
are. The others follow the rule of their op's entry (`Op.batch`), or that of its kind:

    rule(batch, args, **params) -> results       args, results: `Operand`s, one of args batched

A rule binds equations in `batch` and says where the batch axis of each result is. Rules move no
data that they can leave where they are.

A *mask*, b1[size], says which lanes take part: inside of a branch or a loop that others do not
enter. Only what shows outside asks for it: operations that can fail get arguments in lanes that
take no part with which they cannot (`Op.spared`), calls back into Python leave these lanes out,
and loops end when no lane goes on. All else computes what nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Location, Value, inner_equations
from pyc.ir.op import Kind, Op
from pyc.ir.types import ArrayType


@frozen(eq=False)
class Operand:
    """A value in a batch. axis: the batch axis; None: the same value for all lanes."""

    value: Value
    axis: int | None = None

    @property
    def lane(self) -> ArrayType:
        """Its type in one lane."""
        shape = self.value.shape
        if self.axis is not None:
            shape = (*shape[: self.axis], *shape[self.axis + 1 :])
        return ArrayType(shape, self.value.dtype)


Operands = Sequence[Operand]
Rule = Callable[..., list[Operand]]


def is_masked(eqn: Eqn) -> bool:
    """Whether lanes that take no part must be left out of an equation."""
    return any(_shows(e.op) for e in (eqn, *inner_equations(eqn)))


def _shows(op: Op) -> bool:
    return op.fails is not None or op.kind is Kind.LIBRARY or op.effect or op.name == "while"


class Batch:
    """Binds equations over arrays of `size` lanes. mask: which of them take part; None: all."""

    def __init__(self, builder: Builder, size: int, mask: Value | None = None) -> None:
        self.builder = builder
        self.size = size
        self.mask = mask
        self._eqn: Eqn | None = None

    # --- for rules --------------------------------------------------------------------------------

    @property
    def op(self) -> Op:
        """The operation that is batched."""
        assert self._eqn is not None
        return self._eqn.op

    @property
    def place(self) -> Location | None:
        """The place of the equation that is batched."""
        return None if self._eqn is None else self._eqn.loc

    def bind(self, op: Op | str, *args: Value, **params: Any) -> tuple[Value, ...]:
        """Results of `op`, at the place of the equation that is batched."""
        return self.builder.bind(op, *args, loc=self.place, **params)

    def bind1(self, op: Op | str, *args: Value, **params: Any) -> Value:
        """The only result of `op`."""
        (out,) = self.bind(op, *args, **params)
        return out

    def operand(self, value: Value, axis: int | None = None) -> Operand:
        """A value with its batch axis, as rules return it."""
        return Operand(value, axis)

    def at(self, x: Operand, axis: int) -> Value:
        """`x` with its batch axis at `axis`, repeated for each lane if it has none."""
        value = x.value
        if x.axis is None:
            shape = (*value.shape[:axis], self.size, *value.shape[axis:])
            if axis:
                value = self.reshaped(value, (*value.shape[:axis], 1, *value.shape[axis:]))
            return self.repeated(value, shape)
        if x.axis == axis:
            return value
        order = [k for k in range(len(value.shape)) if k != x.axis]
        order.insert(axis, x.axis)
        return self.bind1("transpose", value, axes=tuple(order))

    def front(self, x: Operand) -> Operand:
        """`x` with its batch axis first, if it has one."""
        return x if x.axis is None else Operand(self.at(x, 0), 0)

    def reshaped(self, x: Value, shape: tuple[int, ...]) -> Value:
        """`x` with another shape."""
        return x if x.shape == shape else self.bind1("reshape", x, shape=shape)

    def repeated(self, x: Value, shape: tuple[int, ...]) -> Value:
        """`x` broadcast to a shape."""
        return x if x.shape == shape else self.bind1("broadcast", x, shape=shape)

    def common(self, args: Operands) -> int:
        """The place of the batch axis that moves the fewest arguments of equal ranks."""
        found = {x.axis for x in args if x.axis is not None}
        return found.pop() if len(found) == 1 else 0

    def numbers(self, shape: tuple[int, ...], axis: int = 0) -> Value:
        """The index along an axis, i64."""
        return self.bind1("iota", shape=shape, axis=axis, dtype=dt.i64)

    def filled(self, number: Any, type: ArrayType) -> Value:
        """An array of one number."""
        constant = self.builder.constant(np.asarray(number).astype(type.dtype.numpy))
        return self.repeated(constant, type.shape)

    def select(self, chosen: Value, then: Value, otherwise: Value) -> Value:
        """`then` in the lanes that are `chosen`, b1[size], else `otherwise`; their batch axes are
        first."""
        return self.bind1("select", self.per_lane(chosen, then.shape), then, otherwise)

    def per_lane(self, x: Value, shape: tuple[int, ...]) -> Value:
        """One number for each lane as an array of `shape`, whose batch axis is first."""
        return self.repeated(self.reshaped(x, (self.size, *(1,) * (len(shape) - 1))), shape)

    def some(self, lanes: Value) -> Value:
        """Whether any lane is chosen, b1[]."""
        return self.bind1("reduce_any", lanes, axes=(0,))

    # --- rules that several ops have --------------------------------------------------------------

    def together(self, args: Operands, **params: Any) -> list[Operand]:
        """The results of an operation on elements of arguments of equal shapes."""
        axis = self.common(args)
        values = [self.at(x, axis) for x in args]
        return [Operand(v, axis) for v in self.bind(self.op, *values, **params)]

    def rows(self, args: Operands, **params: Any) -> list[Operand]:
        """The results of an operation on the last axis of one argument."""
        (x,) = args
        axis = x.axis if x.axis is not None and x.axis < x.lane.rank else 0
        return [Operand(v, axis) for v in self.bind(self.op, self.at(x, axis), **params)]

    # --- Graphs -----------------------------------------------------------------------------------

    def run(self, graph: Graph, args: Operands) -> list[Operand]:
        """The results of `graph` for all lanes, its equations bound here."""
        env = dict(zip(graph.params, args, strict=True))
        for eqn in graph.eqns:
            found = self._results(eqn, [env[a] for a in eqn.args])
            env.update(zip(eqn.outs, found, strict=True))
        return [env[r] for r in graph.results]

    def _results(self, eqn: Eqn, args: list[Operand]) -> list[Operand]:
        self._eqn = eqn
        hidden = self.mask is not None and is_masked(eqn)
        if hidden and eqn.op.spared:
            args = self._spared(eqn.op, args)
            hidden = False  # with these arguments it shows nothing of the lanes left out
        elif not (hidden or any(x.axis is not None for x in args)):
            return [Operand(v) for v in self.builder.repeat(eqn, tuple([x.value for x in args]))]
        if all(x.axis is None for x in args) and not hidden:
            return [Operand(v) for v in self.bind(eqn.op, *(x.value for x in args), **eqn.params)]
        rule = eqn.op.batch or _OF_KIND.get(eqn.op.kind)
        if rule is None:
            raise AssertionError(f"{eqn.op} has no rule for batches")
        found: list[Operand] = rule(self, args, **eqn.params)
        self._check(eqn, found)
        return found

    def _check(self, eqn: Eqn, found: Operands) -> None:
        for out, x in zip(eqn.outs, found, strict=True):
            if x.lane != out.type or (x.axis is not None and x.value.shape[x.axis] != self.size):
                raise AssertionError(f"{eqn.op}: a lane of {x.value.type} is not {out.type}")

    def _spared(self, op: Op, args: Operands) -> list[Operand]:
        """Arguments of an operation that can fail, with which it does not where no lane takes
        part."""
        assert self.mask is not None
        found = list(args)
        alone = all(x.axis is None for x in args)
        for k, number in op.spared.items():
            x = args[k] if alone else Operand(self.at(args[k], 0), 0)
            harmless = self.filled(number, x.value.type)
            if alone:
                taken = self.repeated(self.some(self.mask), x.value.shape)
                found[k] = Operand(self.bind1("select", taken, x.value, harmless))
            else:
                found[k] = Operand(self.select(self.mask, x.value, harmless), 0)
        return found

    def under(self, mask: Value | None) -> Batch:
        """The same batch, where only the lanes of `mask` take part."""
        found = Batch(self.builder, self.size, mask)
        found._eqn = self._eqn
        return found

    def within(self, builder: Builder) -> Batch:
        """A batch of as many lanes that binds in another builder."""
        found = Batch(builder, self.size)
        found._eqn = self._eqn
        return found

    def shows(self, graph: Graph) -> bool:
        """Whether lanes that take no part must be left out of some equation of `graph`."""
        return any(map(is_masked, graph.eqns))

    def inner(
        self,
        graph: Graph,
        axes: Sequence[bool],
        results: Sequence[bool] | None = None,
        masked: bool = False,
    ) -> tuple[Graph, list[bool]]:
        """`graph` for all lanes as a closed Graph ([mask], params) -> results, and which of these
        are batched. All batch axes are first.

        axes: which params are batched; results: which results must be, those that differ between
        lanes aside
        """
        builder = Builder()
        mask = builder.param(ArrayType((self.size,), dt.b1)) if masked else None
        batch = Batch(builder, self.size, mask)
        args = []
        for p, batched in zip(graph.params, axes, strict=True):
            shape = (self.size, *p.shape) if batched else p.shape
            args.append(Operand(builder.param(ArrayType(shape, p.dtype)), 0 if batched else None))
        outs = batch.run(graph, args)
        forced = results or [False] * len(outs)
        found = [b or x.axis is not None for b, x in zip(forced, outs, strict=True)]
        values = [batch.at(x, 0) if b else x.value for b, x in zip(found, outs, strict=True)]
        return builder.build(values), found


# --- the rules of kinds ---------------------------------------------------------------------------


def pointwise(batch: Batch, args: Operands, **params: Any) -> list[Operand]:
    """Arguments of equal shapes: the batch axis is one axis more."""
    return batch.together(args, **params)


def reduction(
    batch: Batch, args: Operands, *, axes: tuple[int, ...], **params: Any
) -> list[Operand]:
    """The sequences that are reduced stay the same, and with them the bits."""
    axis = batch.common(args)
    values = [batch.at(x, axis) for x in args]
    moved = tuple(a + (a >= axis) for a in axes)
    place = axis - sum(a < axis for a in moved)
    return [Operand(v, place) for v in batch.bind(batch.op, *values, axes=moved, **params)]


_OF_KIND: dict[Kind, Rule] = {Kind.POINTWISE: pointwise, Kind.REDUCE: reduction}
"""The rules of ops whose entry has none."""


def has_rule(op: Op) -> bool:
    """Whether an op can be batched."""
    return op.batch is not None or op.kind in _OF_KIND


__all__ = ["Batch", "Operand", "Operands", "has_rule", "is_masked"]
