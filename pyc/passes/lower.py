"""Lowering: a fused group of Graph equations becomes one logical Kernel.

Takes a `Group` of `fuse` and returns a `Lowered`: the kernel and the Graph values its buffers hold.
The kernel has parallel loops over the kept positions of the domain; inside them, in order, the
reductions, then loops over the reduced positions that store the outputs. Elements are *pulled*:
the element of an output is the expression of its producer over elements of its arguments at indices
given by the index ops, down to loads. Kinds of loops, vectors and the expansion of `Reduce` are the
business of `schedule`.

A costly element needed by several regions of a row (the exponentials of a softmax) is computed once
and kept in a row buffer, however long: where it lies is for `schedule` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen, replace
from pyc.ir.defined import calls
from pyc.ir.element import Element, components_of, fails_of, literal, result_of, scalar_of
from pyc.ir.expr import Expr, Load, Var, const, substitute, transform
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Fail,
    For,
    Kernel,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
)
from pyc.ir.op import Complex
from pyc.ir.op import Kind as OpKind
from pyc.passes.called import with_calls
from pyc.passes.fusion import Fusion, Group
from pyc.passes.index import Simplifier
from pyc.passes.reads import Index, Walker, full_index, inlines, units_dropped

ROW_BUFFER_WORK = 8
"""Instructions per element worth keeping a row for."""


@frozen()
class Lowered:
    """A kernel, and the values its buffers hold, in buffer order. elementwise: inputs whose every
    read stands at the index that is being stored, so that an output may overwrite them."""

    kernel: Kernel
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    elementwise: frozenset[Value] = frozenset()

    @property
    def values(self) -> tuple[Value, ...]:
        """Inputs, then outputs: one for each buffer."""
        return (*self.inputs, *self.outputs)


def buffer_of(value: Value, name: str, role: str) -> Buffer:
    """The buffer that holds a value; complex ones are real with a trailing axis of 2."""
    shape = value.shape + ((2,) if value.dtype.is_complex else ())
    return Buffer(name, value.dtype.real, shape, role=role)


def load(buffer: Buffer, index: Index, *, is_complex: bool) -> Element:
    """The element of a value at `index` of its buffer."""
    if is_complex:
        return Complex(Load(buffer, (*index, const(0))), Load(buffer, (*index, const(1))))
    return Load(buffer, index)


def store(elements: Sequence[tuple[Buffer, Index, Element]]) -> list[Stmt]:
    """Statements that store elements; all are computed before any is stored, because a buffer that
    is stored to may be one that another element is loaded from."""
    parts: list[tuple[Buffer, Index, Expr]] = []
    for buffer, index, element in elements:
        if isinstance(element, Complex):
            parts.append((buffer, (*index, const(0)), element.re))
            parts.append((buffer, (*index, const(1)), element.im))
        else:
            parts.append((buffer, index, element))
    if len(parts) == 1:
        return [Store(*parts[0])]
    names = [Var(f"x{k}", value.dtype) for k, (_, _, value) in enumerate(parts)]
    lets = [Let(v, value) for v, (_, _, value) in zip(names, parts, strict=True)]
    return [*lets, *(Store(b, i, v) for v, (b, i, _) in zip(names, parts, strict=True))]


def elementwise_reads(walker: Walker, group: Group) -> frozenset[Value]:
    """Inputs of a loop group that it reads only where an output of the same index is stored."""
    if group.reduces:
        return frozenset()
    reads: dict[Value, list[Index]] = {}
    for r in group.reads:
        reads.setdefault(r.value, []).append(r.index)
    plain = walker.variables(group.domain, range(len(group.domain)))
    found = set()
    for value, indices in reads.items():
        if units_dropped(value.shape) != group.domain:
            continue
        full = walker.canonical(full_index(value.shape, plain))
        if all(a is b for i in indices for a, b in zip(i, full, strict=True)):
            found.add(value)
    return frozenset(found)


class Puller:
    """Pulls elements of values as expressions, within one group."""

    def __init__(
        self,
        walker: Walker,
        stops: frozenset[Value],
        buffer: Callable[[Value], Buffer],
        site: Callable[[Eqn], int],
    ) -> None:
        self.walker = walker
        self.simplify: Simplifier = walker.simplify
        self.stops = stops
        self.buffer = buffer
        self.site = site
        self.known: dict[tuple[object, ...], Element] = {}
        self.fails: dict[tuple[object, ...], Fail] = {}
        self.rows: dict[Value, tuple[Buffer, Index, Index]] = {}

    def element(self, value: Value, index: Index) -> Element:
        """The element of `value` at `index`."""
        index = self.walker.canonical(index)
        at = tuple(map(id, index))
        stack: list[tuple[Value, bool]] = [(value, False)]
        while stack:
            current, ready = stack.pop()
            key = (current, *at)
            if key in self.known:
                continue
            eqn = self._inlined(current)
            if eqn is None or self._in_row(current, index):
                self.known[key] = self._leaf(current, index)
            elif eqn.op.kind is OpKind.INDEX:
                self.known[key] = self._moved(eqn, index)
            elif ready:
                self._compute(eqn, index)
            else:
                stack.append((current, True))
                stack.extend((a, False) for a in eqn.args)
        return self.known[(value, *at)]

    def _inlined(self, value: Value) -> Eqn | None:
        eqn = self.walker.producer.get(value)
        if eqn is None or value in self.stops:
            return None
        return eqn if inlines(eqn) else None

    def _in_row(self, value: Value, index: Index) -> bool:
        row = self.rows.get(value)
        return row is not None and all(a is b for a, b in zip(row[1], index, strict=True))

    def _leaf(self, value: Value, index: Index) -> Element:
        if self._in_row(value, index):
            buffer, _, at = self.rows[value]
            return Load(buffer, at)
        scalar = self.walker.scalars.get(value)
        if scalar is not None:
            return literal(scalar, value.dtype)
        return load(self.buffer(value), index, is_complex=value.dtype.is_complex)

    def _moved(self, eqn: Eqn, index: Index) -> Element:
        assert eqn.op.element is not None
        types = tuple(a.type for a in eqn.args)

        def read(position: int, at: Index) -> Element:
            return self.element(eqn.args[position], tuple(at))

        return eqn.op.element(read, index, types, **eqn.params)

    def _compute(self, eqn: Eqn, index: Index) -> None:
        at = tuple(map(id, index))
        args = [self.known[(a, *at)] for a in eqn.args]
        failing = fails_of(eqn.op, args, eqn.params)
        if failing is not None:
            self.fails.setdefault((eqn, *at), Fail(self.site(eqn), failing[0], failing[1]))
        self.known[(eqn.out, *at)] = scalar_of(eqn.op, args, eqn.params)

    def take_fails(self) -> tuple[Fail, ...]:
        """The checks that the elements pulled since the last call need, in order."""
        found = tuple(self.fails.values())
        self.fails.clear()
        return found


class _Lowerer:
    def __init__(
        self, graph: Graph, fusion: Fusion, walker: Walker, group: Group, site: Callable[[Eqn], int]
    ) -> None:
        self.graph = graph
        self.walker = walker
        self.group = group
        self.inputs: dict[Value, Buffer] = {}
        self.outputs = {
            v: buffer_of(v, f"out{k}", "out") for k, v in enumerate(dict.fromkeys(group.outputs))
        }
        made = {out for e in group.reduces for out in e.outs} | set(group.outputs)
        self.pull = Puller(walker, fusion.stored - made, self._input, site)
        self._users: dict[Value, list[Eqn]] = {}
        self._row_buffers: list[tuple[Value, Buffer]] = []

    def run(self, name: str) -> Lowered:
        group = self.group
        simplify = self.walker.simplify
        self.variables = [
            simplify.variable(f"i{p}" if p not in group.reduced else f"r{p}", d)
            for p, d in enumerate(group.domain)
        ]
        self.kept = tuple(self.variables[p] for p in group.kept)
        self._choose_rows()
        body: list[Stmt] = []
        rows_pending = list(self.row_values)
        for number, eqn in enumerate(group.reduces):
            body += self._rows_before(number, rows_pending)
            body += self._reduce(eqn, number)
        body += self._rows_before(len(group.reduces), rows_pending)
        body += self._stores()
        inner: Body = tuple(body)
        for _, buffer in self.row_values.values():
            inner = (Alloc(buffer, inner),)
        for p in reversed(group.kept):
            inner = (For(self.variables[p], group.domain[p], Kind.PARALLEL, inner),)
        buffers = (*self.inputs.values(), *self.outputs.values())
        kernel = Kernel(name, buffers, inner)
        return Lowered(
            kernel, tuple(self.inputs), tuple(self.outputs), elementwise_reads(self.walker, group)
        )

    # --- buffers ----------------------------------------------------------------------------------

    def _input(self, value: Value) -> Buffer:
        if value not in self.inputs:
            self.inputs[value] = buffer_of(value, f"in{len(self.inputs)}", "in")
        return self.inputs[value]

    # --- rows -------------------------------------------------------------------------------------

    def _choose_rows(self) -> None:
        """Values of the whole domain that several regions need and that cost enough to keep."""
        self.row_values: dict[Value, tuple[int, Buffer]] = {}
        group = self.group
        if not group.reduces or not group.reduced:
            return
        regions = [{e.args[0]} for e in group.reduces]
        full = {v for v in group.outputs if self._is_full(v)}
        if full:
            regions.append(full)
        uses: dict[Value, list[int]] = {}
        for number, roots in enumerate(regions):
            for value in self._same_index(roots):
                uses.setdefault(value, []).append(number)
        shared = {v: at for v, at in uses.items() if len(at) > 1}
        for value, at in sorted(shared.items(), key=lambda item: item[1][0]):
            eqn = self.walker.producer[value]
            users = [e for e in self._users.get(value, ()) if e.out in shared]
            if users and all(shared[u.out][0] <= at[0] for u in users):
                continue  # a later value in the chain is kept instead
            if self._work(value) >= ROW_BUFFER_WORK and not value.dtype.is_complex:
                shape = tuple(group.domain[p] for p in group.reduced)
                buffer = Buffer(
                    f"row{len(self.row_values)}", eqn.out.dtype, shape, Space.STACK, alignment=64
                )
                self.row_values[value] = (at[0], buffer)

    def _is_full(self, value: Value) -> bool:
        return units_dropped(value.shape) == self.group.domain

    def _same_index(self, roots: set[Value]) -> list[Value]:
        """Pointwise values computed at the same index as `roots`, whole domain only."""
        seen: dict[Value, None] = {}
        stack = list(roots)
        while stack:
            value = stack.pop()
            eqn = self.walker.producer.get(value)
            if value in seen or eqn is None or eqn.op.kind is not OpKind.POINTWISE:
                continue
            if value in self.pull.stops or not self._is_full(value):
                continue
            seen[value] = None
            for a in eqn.args:
                if eqn not in self._users.setdefault(a, []):
                    self._users[a].append(eqn)
                stack.append(a)
        return list(seen)

    def _work(self, value: Value) -> int:
        return sum(self.walker.producer[v].op.cost for v in self._same_index({value}))

    def _rows_before(self, region: int, pending: list[Value]) -> list[Stmt]:
        """Loops that fill the row buffers first needed by `region`."""
        body: list[Stmt] = []
        for value in [v for v in pending if self.row_values[v][0] == region]:
            pending.remove(value)
            buffer = self.row_values[value][1]
            fresh, index = self._row_variables()
            element = self.pull.element(value, full_index(value.shape, index))
            assert isinstance(element, Expr)
            at = tuple(index[p] for p in self.group.reduced)
            body += self._loop(fresh, (Store(buffer, at, element),))
            self._row_buffers.append((value, buffer))
        return body

    # --- regions ----------------------------------------------------------------------------------

    def _row_variables(self) -> tuple[list[tuple[Var, int]], list[Var]]:
        """Fresh variables for the reduced positions, and the whole domain's with them."""
        group = self.group
        index = list(self.variables)
        fresh: list[tuple[Var, int]] = []
        for p in group.reduced:
            index[p] = self.walker.simplify.variable(f"r{p}", group.domain[p])
            fresh.append((index[p], group.domain[p]))
        at = tuple(index[p] for p in group.reduced)
        self.pull.rows = {
            value: (buffer, self.walker.canonical(full_index(value.shape, index)), at)
            for value, buffer in self._row_buffers
        }
        return fresh, index

    def _loop(self, fresh: Sequence[tuple[Var, int]], body: Sequence[Stmt]) -> list[Stmt]:
        inner: Body = (*self.pull.take_fails(), *body)
        for var, extent in reversed(fresh):
            inner = (For(var, extent, Kind.PARALLEL, inner),)
        return list(inner)

    def epilogue(self) -> Epilogue:
        """The element that is stored instead of a contraction's."""
        value = self.group.epilogue
        assert value is not None
        simplify = self.walker.simplify
        domain = units_dropped(value.shape)
        variables = [simplify.variable(f"i{p}", d) for p, d in enumerate(domain)]
        index = self.walker.canonical(full_index(value.shape, variables))
        made = self.group.product
        product = Var("product", made.dtype)
        at = self.walker.canonical(full_index(made.shape, variables))
        self.pull.known[(made, *map(id, at))] = product
        element = self.pull.element(value, index)
        assert isinstance(element, Expr)
        assert not self.pull.fails
        element = self._with_places(element)
        rest = iter(variables)
        # The kernel has an index of the product, which may have other unit axes than `value`.
        places = tuple(None if d == 1 else next(rest) for d in made.shape)
        return Epilogue(places, product, element, tuple(self.inputs), tuple(self.inputs.values()))

    def _with_places(self, element: Expr) -> Expr:
        """The element with places in place of reads from a constant that holds them, 0, 1, 2, ...:
        a nest sees by them which columns a mask takes (`kernels/wanted.py`)."""
        constants = self.walker.constants
        found = [v for v in self.inputs if v in constants and _counts(constants[v])]
        lines = [self.inputs.pop(v) for v in found]
        (changed,) = transform(
            [element], lambda e: e.index[0] if isinstance(e, Load) and e.buffer in lines else e
        )
        return changed

    def update(self, name: str) -> Lowered:
        """The kernel that stores an update's elements into its operand's buffer."""
        eqn = self.group.opaque
        assert eqn is not None and eqn.op.target is not None
        values, types = eqn.args, tuple(a.type for a in eqn.args)
        domain = units_dropped(values[1].shape)
        simplify = self.walker.simplify
        variables = [simplify.variable(f"i{p}", d) for p, d in enumerate(domain)]
        index = self.walker.canonical(full_index(values[1].shape, variables))
        element = self.pull.element(values[1], index)
        target = eqn.op.target(
            lambda k, at: self.pull.element(values[k], tuple(at)), index, types, **eqn.params
        )
        out = replace(self.outputs[eqn.out], role="inout")
        stores = store([(out, self.walker.canonical(tuple(target)), element)])
        inner = self._loop(list(zip(variables, domain, strict=True)), stores)
        kernel = Kernel(name, (*self.inputs.values(), out), tuple(inner))
        return Lowered(kernel, tuple(self.inputs), (eqn.out,))

    def scatter(self, name: str) -> Lowered:
        """The kernel that scatters into its operand's buffer."""
        eqn = self.group.opaque
        assert eqn is not None and eqn.op.scattered is not None
        _, update, *indices = eqn.args
        domain = units_dropped(update.shape)
        simplify = self.walker.simplify
        variables = [simplify.variable(f"i{p}", d) for p, d in enumerate(domain)]

        def element(at: Index) -> tuple[Body, Element]:
            value = self.pull.element(update, at)
            return self.pull.take_fails(), value

        def places(at: Index) -> tuple[Body, list[Expr]]:
            found = [self.pull.element(i, at) for i in indices]
            return self.pull.take_fails(), [e for e in found if isinstance(e, Expr)]

        out = replace(self.outputs[eqn.out], role="inout")
        types = tuple(a.type for a in eqn.args)
        loops = full_index(update.shape, variables)
        body = eqn.op.scattered(out, types, loops, element, places, **eqn.params)
        kernel = Kernel(name, (*self.inputs.values(), out), body)
        return Lowered(kernel, tuple(self.inputs), (eqn.out,))

    def _reduce(self, eqn: Eqn, number: int) -> list[Stmt]:
        fresh, index = self._row_variables()
        elements = [self.pull.element(a, full_index(a.shape, index)) for a in eqn.args]
        position: Expr = const(0)
        for var, extent in fresh:
            position = self.walker.simplify(position * extent + var)
        values = components_of(eqn.op, elements, position, eqn.params)
        assert eqn.op.monoid is not None
        results = tuple(Var(f"s{number}_{k}", v.dtype) for k, v in enumerate(values))
        body: list[Stmt] = []
        if self.pull.fails:
            checks = self._loop(fresh, ())
            fresh, index = self._row_variables()
            elements = [self.pull.element(a, full_index(a.shape, index)) for a in eqn.args]
            position = const(0)
            for var, extent in fresh:
                position = self.walker.simplify(position * extent + var)
            values = components_of(eqn.op, elements, position, eqn.params)
            self.pull.take_fails()
            body += checks
        if fresh:
            body.append(Reduce(results, tuple(fresh), values, eqn.op.monoid))
        else:
            body += [Let(r, v) for r, v in zip(results, values, strict=True)]
        result = result_of(eqn.op, results, eqn.out.dtype, eqn.params)
        kept = self.walker.canonical(full_index(eqn.out.shape, self.kept))
        self.pull.known[(eqn.out, *map(id, kept))] = self._named(result, body, f"t{number}")
        return body

    def _named(self, element: Element, body: list[Stmt], name: str) -> Element:
        """The element bound to variables, so that it is computed once."""
        if isinstance(element, Complex):
            re, im = Var(f"{name}r", element.re.dtype), Var(f"{name}i", element.im.dtype)
            body += [Let(re, element.re), Let(im, element.im)]
            return Complex(re, im)
        if isinstance(element, Var):
            return element
        var = Var(name, element.dtype)
        body.append(Let(var, element))
        return var

    def _stores(self) -> list[Stmt]:
        """Kept-level stores, then one loop nest with the stores of the whole domain."""
        body: list[Stmt] = []
        full: list[Value] = []
        for value, buffer in self.outputs.items():
            if self._is_full(value) and (self.group.reduced or not self.group.reduces):
                full.append(value)
                continue
            index = self.walker.canonical(full_index(value.shape, self.kept))
            element = self.pull.element(value, index)
            body += [*self.pull.take_fails(), *store([(buffer, index, element)])]
        if not full:
            return body
        fresh, index_variables = self._row_variables()
        elements: list[tuple[Buffer, Index, Element]] = []
        for value in full:
            index = self.walker.canonical(full_index(value.shape, index_variables))
            elements.append((self.outputs[value], index, self.pull.element(value, index)))
        return body + self._loop(fresh, store(elements))


def lower(
    graph: Graph,
    fusion: Fusion,
    walker: Walker,
    group: Group,
    name: str,
    site: Callable[[Eqn], int],
    *,
    has_calls: bool = False,
) -> Lowered:
    """The logical kernel of a loop group. site: the number of an equation that can fail; has_calls:
    whether it may call definitions."""
    lowerer = _Lowerer(graph, fusion, walker, group, site)
    if not has_calls:
        return lowerer.run(name)
    with calls():
        found = lowerer.run(name)
    return replace(found, kernel=with_calls(found.kernel))


def _counts(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is 0, 1, 2, ..., of the type that places have."""
    whole = array.dtype == np.int64 and array.ndim == 1
    return whole and bool((array == np.arange(len(array))).all())


@frozen()
class Epilogue:
    """What a contraction's kernel stores: `value`, over the element `product` at the output index
    `variables` (None along unit axes), and inputs that are read on the way."""

    variables: tuple[Var | None, ...]
    product: Var
    value: Expr
    inputs: tuple[Value, ...]
    buffers: tuple[Buffer, ...]

    def at(self, index: Sequence[Expr], product: Expr) -> Expr:
        """The value to store at an index."""
        binding: dict[Var, Expr] = {self.product: product}
        for var, place in zip(self.variables, index, strict=True):
            if var is not None:
                binding[var] = place
        return substitute([self.value], binding)[0]


def lower_epilogue(
    graph: Graph,
    fusion: Fusion,
    walker: Walker,
    group: Group,
    site: Callable[[Eqn], int],
) -> Epilogue:
    """The epilogue of a contraction's group."""
    return _Lowerer(graph, fusion, walker, group, site).epilogue()


def lower_update(
    graph: Graph,
    fusion: Fusion,
    walker: Walker,
    group: Group,
    name: str,
    site: Callable[[Eqn], int],
) -> Lowered:
    """The logical kernel of an update run in place: its last buffer holds the operand."""
    lowerer = _Lowerer(graph, fusion, walker, group, site)
    assert group.opaque is not None
    return lowerer.update(name) if group.opaque.op.scattered is None else lowerer.scatter(name)
