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
from typing import Any

import numpy as np

from pyc.errors import OutOfMemoryError, PycError
from pyc.forks import load
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


@frozen()
class Raise(Location):
    """The place of a `raise`. error: makes what it raises, given the number in its message."""

    error: Callable[[int], Exception] | None = None


@frozen()
class HostCall(Location):
    """The place of a call back into Python. answers: takes the arguments, gives the results; many:
    makes of a number what answers for as many lanes at once, each argument and result with a first
    axis more, where the function can do that."""

    answers: Callable[[Any], Any] | None = None
    many: Callable[[int], Any] | None = None


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

    def answer(self, arguments: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The results of a call back into Python; raises what the function does."""
        assert isinstance(self.loc, HostCall) and self.loc.answers is not None, "no function"
        return list(self.loc.answers(list(arguments)))

    def failure(self, value: int) -> Exception:
        """The error that a failing value is, with its place."""
        if isinstance(self.loc, Raise) and self.loc.error is not None:
            return self.loc.error(value)
        assert self.op.failure is not None
        error = self.op.failure(value, **self.params)
        return error.at(self.loc) if isinstance(error, PycError) else error


@frozen(eq=False)
class Graph:
    """A closed program: params -> results."""

    params: tuple[Value, ...]
    eqns: tuple[Eqn, ...]
    results: tuple[Value, ...]

    def __str__(self) -> str:
        text: str = load("pyc.ir.text_graph").print_graph(self)
        return text

    @property
    def types(self) -> tuple[ArrayType, ...]:
        """Types of the results."""
        return tuple(v.type for v in self.results)


def freeze(value: Any) -> Any:
    """A hashable stand-in of an equation parameter: equal for equal parameters."""
    kind = type(value)
    if kind is int or kind is str or kind is bool:
        return (kind, value)
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, Graph):
        return ("graph", graph_key(value))
    if isinstance(value, (tuple, list)):
        return ("tuple", *[freeze(v) for v in value])
    if isinstance(value, float):
        return ("float", value.hex())
    return (type(value).__name__, value)


def graph_key(graph: Graph) -> tuple[Any, ...]:
    """Structural identity of a Graph: equal for equal programs whatever their locations.

    raises AssertionError: the Graph is not closed
    """
    try:
        return _graph_key(graph)
    except KeyError as error:
        raise AssertionError(f"a Graph that is not closed uses {error.args[0]!r}") from None


def _graph_key(graph: Graph) -> tuple[Any, ...]:
    number: dict[Value, int] = {v: k for k, v in enumerate(graph.params)}
    rows = []
    for e in graph.eqns:
        params = tuple((k, freeze(e.params[k])) for k in sorted(e.params))
        rows.append((e.op.name, tuple(number[a] for a in e.args), params))
        for out in e.outs:
            number[out] = len(number)
    types = tuple(v.type for v in graph.params)
    return (types, tuple(rows), tuple(number[r] for r in graph.results))


LARGEST_BYTES = (1 << 63) - 1
"""Bytes of the largest value: code counts elements and bytes in 64 bits."""


class Builder:
    """Collects equations into a Graph, merging equal ones."""

    def __init__(self) -> None:
        self.params: list[Value] = []
        self.eqns: list[Eqn] = []
        self.producer: dict[Value, Eqn | None] = {}
        """The equation that made each value, None for parameters."""
        self._known: dict[tuple[Any, ...], tuple[Value, ...]] = {}

    def param(self, type: ArrayType) -> Value:
        """A new parameter."""
        return self.adopt(Value(type))

    def adopt(self, param: Value) -> Value:
        """`param`, a parameter of another Graph, as the next one of this."""
        self.params.append(param)
        self.producer[param] = None
        return param

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
        return self.located(op, args, params, lambda: loc)

    def located(
        self,
        op: Op,
        args: tuple[Value, ...],
        params: Mapping[str, Any],
        here: Callable[[], Location | None],
    ) -> tuple[Value, ...]:
        """As `bind`; here: the place of a new equation, asked for only if there is none like it."""
        key = self._key(op, args, params)
        known = self._known.get(key)
        if known is not None and not op.effect:
            return known
        types = op.types(tuple([a.type for a in args]), **params)
        for t in types:
            if t.nbytes > LARGEST_BYTES:
                raise OutOfMemoryError(
                    f"{op.name}: {t} has {t.size:,} elements: more than can be counted",
                    place=here(),
                )
        outs = tuple([Value(t) for t in types])
        return self._append(key, Eqn(op, args, params, outs, here()))

    def keep(self, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """Results of an equation of another Graph, whose place this one takes, over `args`: that
        very equation if they are its own."""
        if any(a is not b for a, b in zip(args, eqn.args, strict=True)):
            return self.repeat(eqn, args)
        key = self._key(eqn.op, args, eqn.params)
        known = self._known.get(key)
        return known if known is not None and not eqn.op.effect else self._append(key, eqn)

    def repeat(self, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """New results of the same operation over `args`, as of `bind`; where these have the types
        of its own, so have the results."""
        if [a.type for a in args] != [a.type for a in eqn.args]:
            return self.bind(eqn.op, *args, loc=eqn.loc, **eqn.params)
        key = self._key(eqn.op, args, eqn.params)
        known = self._known.get(key)
        if known is not None and not eqn.op.effect:
            return known
        outs = tuple([Value(o.type) for o in eqn.outs])
        return self._append(key, Eqn(eqn.op, args, eqn.params, outs, eqn.loc))

    def _key(self, op: Op, args: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Any, ...]:
        """What equal equations have in common. KeyError: an argument that is not of this Graph."""
        for a in args:
            self.producer[a]
        if not params:
            return (op.name, args)
        if len(params) == 1:
            ((name, value),) = params.items()
            return (op.name, args, name, freeze(value))
        return (op.name, args, *[(k, freeze(params[k])) for k in sorted(params)])

    def _append(self, key: tuple[Any, ...], eqn: Eqn) -> tuple[Value, ...]:
        self.eqns.append(eqn)
        for out in eqn.outs:
            self.producer[out] = eqn
        self._known[key] = eqn.outs
        return eqn.outs

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
            outs = self.repeat(e, tuple([env[a] for a in e.args]))
            env.update(zip(e.outs, outs, strict=True))
        return tuple(env[r] for r in graph.results)

    def build(self, results: Sequence[Value]) -> Graph:
        """The Graph of what was bound so far."""
        return Graph(tuple(self.params), tuple(self.eqns), tuple(results))


class Rewriter:
    """Rewrites a Graph equation by equation: `rule` may bind replacements in the builder and
    return them, or None to keep the equation. Types are checked on the way; each replaced value
    must keep its type. Rules see arguments that were already rewritten. Equations that nothing
    changed are the same objects afterwards."""

    def __init__(
        self,
        rule: Callable[[Builder, Eqn, tuple[Value, ...]], Sequence[Value] | None],
        builder: Builder | None = None,
    ) -> None:
        """builder: of the new Graph; by default an empty one."""
        self.rule = rule
        self.builder = builder or Builder()

    def __call__(self, graph: Graph) -> Graph:
        """The rewritten Graph."""
        builder = self.builder
        env: dict[Value, Value] = {p: builder.adopt(p) for p in graph.params}
        for e in graph.eqns:
            args = tuple([env[a] for a in e.args])
            outs = self.rule(builder, e, args)
            if outs is None:
                outs = builder.keep(e, args)
            for old, new in zip(e.outs, outs, strict=True):
                if old is not new and old.type != new.type:
                    raise AssertionError(f"{e.op}: rewrite changes {old.type} to {new.type}")
                env[old] = new
        return builder.build([env[r] for r in graph.results])


def subgraphs(eqn: Eqn) -> Iterator[Graph]:
    """The Graphs that a control equation holds, in the order of its text."""
    for _, value in sorted(eqn.params.items()):
        if isinstance(value, Graph):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Graph))


def equations_of(graph: Graph) -> Iterator[Eqn]:
    """All equations in the order of the text, those of the Graphs that one holds behind it. A Plan
    numbers them so."""
    for eqn in graph.eqns:
        yield eqn
        yield from inner_equations(eqn)


def inner_equations(eqn: Eqn) -> Iterator[Eqn]:
    """The equations of the Graphs that a control equation holds."""
    for graph in subgraphs(eqn):
        yield from equations_of(graph)


def has_effect(eqn: Eqn) -> bool:
    """Whether an equation, or one of a Graph that it holds, must be kept though nobody reads it."""
    return eqn.op.effect or any(e.op.effect for e in inner_equations(eqn))


__all__ = [
    *("Builder", "Eqn", "Graph", "Location", "Raise", "Rewriter", "Value"),
    *("equations_of", "freeze", "graph_key", "has_effect", "inner_equations", "subgraphs"),
]
