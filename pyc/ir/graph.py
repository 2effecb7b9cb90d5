"""The Graph level: an ordered, immutable list of equations over typed SSA values.

    Value(type)                          compares by identity
    Eqn(op, args, params, outs, loc)     outs are new values; params are static
    Graph(params, eqns, results)         closed: every value used is a param or an earlier out

Params of an equation are ints, floats, strings, bools, None, DTypes, ArrayTypes, Graphs, read-only
NumPy arrays (of `constant`, small) and tuples of these. `loc` is for messages only: it never enters
text, keys or equality.

`Builder` is the only way to make a Graph: it checks types by the op's rule and numbers values by
(op, args, params), so equal equations are one (those with an effect excepted).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.dtype import DType
from pyc.ir.op import OPS, Op
from pyc.ir.types import ArrayType


@frozen()
class Location:
    """A place in the user's code; `function` and the columns (1-based, end exclusive) may be
    unknown (empty, 0)."""

    file: str
    line: int
    function: str = ""
    column: int = 0
    end_column: int = 0


@frozen(eq=False)
class Value:
    """An SSA value. Its identity is its name."""

    type: ArrayType

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """Element type of the value."""
        return self.type.dtype


@frozen(eq=False)
class Eqn:
    """outs = op(args, **params)."""

    op: Op
    args: tuple[Value, ...]
    params: Mapping[str, Any]
    outs: tuple[Value, ...]
    loc: Location | None = None

    @property
    def out(self) -> Value:
        """The only result."""
        (value,) = self.outs
        return value


@frozen(eq=False)
class Graph:
    """A closed program: params -> results."""

    params: tuple[Value, ...]
    eqns: tuple[Eqn, ...]
    results: tuple[Value, ...]

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """Types of the results."""
        return tuple(v.type for v in self.results)


def freeze(value: Any) -> Any:
    """A hashable stand-in of an equation parameter: equal for equal parameters."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Graph):
        return ("graph", graph_key(value))
    if isinstance(value, (tuple, list)):
        return ("tuple", *map(freeze, value))
    if isinstance(value, float):
        return ("float", value.hex())
    return (type(value).__name__, value)


def graph_key(graph: Graph) -> tuple[Any, ...]:
    """Structural identity of a Graph: equal for equal programs whatever their locations."""
    number: dict[Value, int] = {v: k for k, v in enumerate(graph.params)}
    rows = []
    for e in graph.eqns:
        params = tuple((k, freeze(e.params[k])) for k in sorted(e.params))
        rows.append((e.op.name, tuple(number[a] for a in e.args), params))
        for out in e.outs:
            number[out] = len(number)
    types = tuple(v.type for v in graph.params)
    return (types, tuple(rows), tuple(number[r] for r in graph.results))


class Builder:
    """Collects equations into a Graph, merging equal ones."""

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.eqns: list[Eqn] = []
        self._number: dict[Value, int] = {}
        self._known: dict[tuple[Any, ...], tuple[Value, ...]] = {}

    def param(self, type: ArrayType) -> Value:
        """A new parameter."""
        value = Value(type)
        self.params.append(value)
        self._number[value] = len(self._number)
        return value

    def bind(
        self,
        op: Op | str,
        *args: Value,
        loc: Location | None = None,
        **params: Any,
    ) -> tuple[Value, ...]:
        """Results of `op` over `args`; raises what the op's type rule raises."""
        if isinstance(op, str):
            op = OPS[op]
        numbers = tuple(self._number[a] for a in args)
        key = (op.name, numbers, tuple((k, freeze(params[k])) for k in sorted(params)))
        if not op.effect and key in self._known:
            return self._known[key]
        outs = tuple(Value(t) for t in op.types(tuple(a.type for a in args), **params))
        self.eqns.append(Eqn(op, args, params, outs, loc))
        for out in outs:
            self._number[out] = len(self._number)
        self._known[key] = outs
        return outs

    def bind1(self, op: Op | str, *args: Value, **params: Any) -> Value:
        """The only result of `op` over `args`."""
        (out,) = self.bind(op, *args, **params)
        return out

    def constant(self, value: Any, dtype: DType | None = None) -> Value:
        """A `constant` equation of the NumPy array `value` (copied, read-only)."""
        array = np.array(value, dtype=None if dtype is None else dtype.numpy, order="C")
        array.flags.writeable = False
        return self.bind1("constant", value=array)

    def inline(self, graph: Graph, args: Sequence[Value]) -> tuple[Value, ...]:
        """Results of `graph` applied to `args`, its equations added here."""
        env = dict(zip(graph.params, args, strict=True))
        for e in graph.eqns:
            outs = self.bind(e.op, *(env[a] for a in e.args), loc=e.loc, **e.params)
            env.update(zip(e.outs, outs, strict=True))
        return tuple(env[r] for r in graph.results)

    def build(self, results: Sequence[Value]) -> Graph:
        """The Graph of what was bound so far."""
        return Graph(tuple(self.params), tuple(self.eqns), tuple(results))


@dataclass
class Rewriter:
    """Rebuilds a Graph equation by equation: `rule` may bind replacements in the builder and
    return them, or None to keep the equation. Types are re-checked on the way; each replaced value
    must keep its type. Rules see arguments that were already rewritten."""

    rule: Callable[[Builder, Eqn, tuple[Value, ...]], Sequence[Value] | None]
    builder: Builder = field(default_factory=Builder)

    def __call__(self, graph: Graph) -> Graph:
        """The rewritten Graph."""
        builder = self.builder
        env: dict[Value, Value] = {p: builder.param(p.type) for p in graph.params}
        for e in graph.eqns:
            args = tuple(env[a] for a in e.args)
            outs = self.rule(builder, e, args)
            if outs is None:
                outs = builder.bind(e.op, *args, loc=e.loc, **e.params)
            for old, new in zip(e.outs, outs, strict=True):
                if old.type != new.type:
                    raise AssertionError(f"{e.op}: rewrite changes {old.type} to {new.type}")
                env[old] = new
        return builder.build([env[r] for r in graph.results])


def subgraphs(eqn: Eqn) -> Iterator[Graph]:
    """The Graphs that a control equation holds."""
    for value in eqn.params.values():
        if isinstance(value, Graph):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Graph))


__all__ = [
    *("Builder", "Eqn", "Graph", "Location", "Rewriter", "Value"),
    *("freeze", "graph_key", "subgraphs"),
]
