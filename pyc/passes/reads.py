"""Reads: at which indices the computation of an element needs elements of other values.

A *read* is a (value, index) pair. `Walker` finds those of a value by following index maps
symbolically through what is computed where it is read; equal indices are the same expressions, so
that two reads are compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pyc.frozen import frozen
from pyc.ir.expr import Expr, Var, const
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import Complex, Kind
from pyc.passes.index import Simplifier

Index = tuple[Expr, ...]


@frozen()
class Read:
    """`value` read at `index` (canonical expressions; unit axes are the constant 0)."""

    value: Value
    index: Index


def inlines(eqn: Eqn) -> bool:
    """Whether an equation is computed where it is read. Updates are not: they have memory."""
    return eqn.op.kind in (Kind.POINTWISE, Kind.INDEX) and eqn.op.in_place is None


def units_dropped(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents other than 1: the domain of a shape."""
    return tuple(d for d in shape if d != 1)


def full_index(shape: tuple[int, ...], variables: Iterable[Var]) -> Index:
    """The index of a value of `shape` at the domain's variables: 0 along unit axes."""
    them = iter(variables)
    return tuple(const(0) if d == 1 else next(them) for d in shape)


def reduced_positions(eqn: Eqn) -> tuple[int, ...]:
    """The positions in its argument's domain that a reduction reduces."""
    shape = eqn.args[0].shape
    kept = [k for k, d in enumerate(shape) if d != 1]
    return tuple(p for p, axis in enumerate(kept) if axis in eqn.params["axes"])


def units_index(shape: tuple[int, ...], index: Index) -> Index:
    """The part of an index that lies along axes of extent other than 1."""
    return tuple(e for d, e in zip(shape, index, strict=True) if d != 1)


def array_of(value: Value, producer: Mapping[Value, Eqn]) -> Value:
    """What lies in memory as `value` would, under other axes: reshaping moves no element."""
    while (eqn := producer.get(value)) is not None and eqn.op.relabels:
        value = eqn.args[0]
    return value


class Walker:
    """Follows reads from a value to where inlining stops.

    producer: the equation of each computed value; scalars: constants of one element, which are
    literals in kernels; constants: the others, which have memory like parameters."""

    def __init__(self, graph: Graph) -> None:
        self.producer: dict[Value, Eqn] = {}
        self.scalars: dict[Value, Any] = {}
        self.constants: dict[Value, Any] = {}
        for e in graph.eqns:
            if e.op.name == "constant":
                array = e.params["value"]
                kind = self.scalars if array.size == 1 else self.constants
                kind[e.out] = array.reshape(-1)[0] if array.size == 1 else array
            else:
                self.producer.update((out, e) for out in e.outs)
        self.simplify = Simplifier()
        self._variables: dict[tuple[int, int], Var] = {}
        self._elements: dict[tuple[Any, ...], Any] = {}

    def variables(self, domain: tuple[int, ...], positions: Iterable[int]) -> tuple[Var, ...]:
        """The canonical variables of some positions of a domain."""
        return tuple(self._variable(p, domain[p]) for p in positions)

    def _variable(self, position: int, extent: int) -> Var:
        key = (position, extent)
        if key not in self._variables:
            self._variables[key] = self.simplify.variable(f"d{position}", extent)
        return self._variables[key]

    def canonical(self, index: Index) -> Index:
        """`index` with each expression in canonical form."""
        return tuple(self.simplify(e) for e in index)

    def reads(self, value: Value, index: Index, stops: frozenset[Value] | set[Value]) -> list[Read]:
        """What computing `value` at `index` reads among `stops` and values without producer; the
        value itself is expanded even if it is a stop."""
        found: dict[tuple[Any, ...], Read] = {}
        seen: set[tuple[Any, ...]] = set()
        stack = self.operands(value, self.canonical(index))
        while stack:
            read = stack.pop()
            key = (read.value, *map(id, read.index))
            if key in seen:
                continue
            seen.add(key)
            if read.value in self.scalars:
                continue
            eqn = self.producer.get(read.value)
            if eqn is None or read.value in stops or not inlines(eqn):
                found[key] = read
            else:
                stack.extend(self.operands(read.value, read.index))
        return list(found.values())

    def operands(self, value: Value, index: Index) -> list[Read]:
        """The reads of the producing equation of `value`, one step."""
        eqn = self.producer[value]
        if eqn.op.kind is Kind.POINTWISE:
            return [Read(a, index) for a in dict.fromkeys(eqn.args)]
        if eqn.op.kind is Kind.INDEX:
            return self._index_reads(eqn, index)
        raise AssertionError(f"{eqn.op} is not inlined")

    def _index_reads(self, eqn: Eqn, index: Index) -> list[Read]:
        assert eqn.op.element is not None
        found: list[Read] = []

        def read(position: int, at: Index) -> Any:
            at = self.canonical(tuple(at))
            argument = eqn.args[position]
            found.append(Read(argument, at))
            return self._element(argument, at)

        types = tuple(a.type for a in eqn.args)
        eqn.op.element(read, index, types, **eqn.params)
        return found

    def _element(self, value: Value, index: Index) -> Any:
        """A stand-in for the element: equal reads give the same variable."""
        key = (value, *map(id, index))
        if key not in self._elements:
            real = value.dtype.real
            if value.dtype.is_complex:
                self._elements[key] = Complex(Var("re", real), Var("im", real))
            else:
                self._elements[key] = Var("element", real)
        return self._elements[key]

    def update_operands(self, eqn: Eqn, domain: tuple[int, ...]) -> list[tuple[Value, Index]]:
        """The new elements and the starts of an update, each with the index it is read at."""
        _, update, *starts = eqn.args
        index = full_index(update.shape, self.variables(domain, range(len(domain))))
        return [(update, index), *((s, ()) for s in starts)]

    def update_target(self, eqn: Eqn, domain: tuple[int, ...]) -> Index:
        """Where an update stores its new elements; each in a place of its own."""
        assert eqn.op.target is not None
        index = full_index(eqn.args[1].shape, self.variables(domain, range(len(domain))))
        types = tuple(a.type for a in eqn.args)

        def read(position: int, at: Index) -> Any:
            return self._element(eqn.args[position], self.canonical(tuple(at)))

        return self.canonical(tuple(eqn.op.target(read, index, types, **eqn.params)))

    def scatter_operands(self, eqn: Eqn) -> list[tuple[Value, Index]]:
        """What a scatter stores and where, each with the index it is read at."""
        _, update, *indices = eqn.args
        domain = units_dropped(update.shape)
        index = full_index(update.shape, self.variables(domain, range(len(domain))))
        start = eqn.params["position"]
        inner = index[start : start + len(indices[0].shape)]
        return [(update, index), *((i, inner) for i in indices)]

    def array_of(self, value: Value) -> Value:
        """See `array_of`."""
        return array_of(value, self.producer)

    def arrays_of(self, eqn: Eqn) -> tuple[Value, ...]:
        """The arrays that an opaque equation reads for its arguments. A kernel of its own reads
        what lies as its argument would."""
        op = eqn.op
        if op.kind is Kind.CONTRACT or (
            op.kind is Kind.KERNEL and not op.overwrites and op.scattered is None
        ):
            return tuple(self.array_of(a) for a in eqn.args)
        return eqn.args

    def has_memory(self, value: Value, stored: set[Value]) -> bool:
        """Whether a value is read from memory, if `stored` are."""
        eqn = self.producer.get(value)
        return eqn is None or value in stored or not inlines(eqn)
