"""Sums of products of windows: a chain of additions of matrix products that is one kernel.

    total = x[:, :m, :n] @ w[0, 0]
    total = total + x[:, i : i + m, j : j + n] @ w[i, j]          for other i, j

The operands of all products are windows of the same two arrays, so that a kernel reads them where
they lie, and each partial sum is read by the next addition alone, so that it stays in the kernel.
The additions are done in the order of the Graph, with its bits. One product by itself is a sum if
an operand is a part of an array, which needs no copy then.

Targets with blocks have other kernels for products, which read whole arrays.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from pyc.frozen import frozen
from pyc.ir.element import widened
from pyc.ir.expr import Expr
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import Kind
from pyc.ir.target import Target
from pyc.kernels.merged import merged, sides_of
from pyc.kernels.registry import first_nest
from pyc.kernels.windows import DEPTH, Windows, WindowSum
from pyc.passes.reads import Index, Walker, full_index, inlines, units_dropped


@frozen(eq=False)
class Sum:
    """products: in the order in which they are added; additions: of these; total: the last sum;
    operands: the arrays that the kernel reads; added: where the products' arguments lie there."""

    products: tuple[Eqn, ...]
    additions: tuple[Eqn, ...]
    total: Value
    operands: tuple[Value, Value]
    added: WindowSum


@frozen(eq=False)
class _Window:
    """One operand of one product: the array that it lies in, and how."""

    array: Value
    axes: tuple[int, ...]
    steps: tuple[int, ...]
    start: tuple[int, ...]


class _Finder:
    def __init__(self, graph: Graph, walker: Walker, target: Target) -> None:
        self.graph = graph
        self.walker = walker
        self.target = target
        self.uses = Counter(a for e in graph.eqns for a in e.args)
        self.uses.update(graph.results)

    def run(self) -> tuple[Sum, ...]:
        found: list[Sum] = []
        taken: set[Eqn] = set()
        for eqn in reversed(self.graph.eqns):
            if eqn in taken or eqn.op.name not in ("add", "dot_general"):
                continue
            products, additions, start = self._chain(eqn)
            if not products:
                taken.update(additions)  # all of them lead to what is none
                continue
            made = self._sum(products, additions, start)
            if made is not None:
                found.append(made)
                taken.update(products, additions)
        return tuple(found)

    def _is_product(self, value: Value) -> bool:
        maker = self.walker.producer.get(value)
        return maker is not None and maker.op.name == "dot_general"

    def _chain(self, eqn: Eqn) -> tuple[list[Eqn], list[Eqn], float]:
        """The products whose sum an equation makes, the additions, and what the first is added to;
        no products, and the additions so far, if it makes another thing."""
        producer = self.walker.producer
        products: list[Eqn] = []
        additions: list[Eqn] = []
        while not self._is_product(eqn.out):
            if eqn.op.name != "add":
                return [], additions, 0.0
            additions.append(eqn)
            rest, last = eqn.args
            if not self._is_product(last):
                rest, last = last, rest
            if not self._is_product(last) or self.uses[last] != 1:
                return [], additions, 0.0
            products.append(producer[last])
            start = self._number(rest)
            if start is not None:
                return products[::-1], additions[::-1], start
            if rest not in producer or self.uses[rest] != 1 or len(producer[rest].outs) != 1:
                return [], additions, 0.0
            eqn = producer[rest]
        return [eqn, *reversed(products)], additions[::-1], -0.0

    def _number(self, value: Value) -> float | None:
        """The number that all elements of a value are; None if they are computed."""
        while value not in self.walker.scalars:
            maker = self.walker.producer.get(value)
            if maker is None or maker.op.name not in ("broadcast", "reshape"):
                return None
            (value,) = maker.args
        return float(self.walker.scalars[value])

    def _sum(self, products: list[Eqn], additions: list[Eqn], start: float) -> Sum | None:
        first = products[0]
        total = (additions or products)[-1].out
        types = tuple(a.type for a in first.args)
        if any(prod(t.shape) == 0 for t in types) or (additions and len(products) == 1):
            return None
        for e in products[1:]:
            if tuple(a.type for a in e.args) != types or e.params != first.params:
                return None
        fewer = merged(types, first.params["dimensions"])
        nest_types = types if fewer is None else fewer.types
        dimensions = first.params["dimensions"] if fewer is None else fewer.dimensions
        nest = first_nest(nest_types, dimensions, self.target)
        if nest is None:
            if additions:
                return None
        elif not (nest.name == "matmul" if additions else nest.windows):
            return None
        terms = nest_types[0].shape[dimensions[0][0][0]] if dimensions[0][0] else 1
        if additions and (terms > DEPTH or total.dtype is not widened(types[0].dtype)):
            return None
        sides = []
        for side in range(2):
            batch = first.params["dimensions"][1][side]
            windows = [self._window(e.args[side], batch) for e in products]
            known = [w for w in windows if w is not None]
            if len(known) < len(windows) or not _alike(known):
                return None
            # Vectors run along its columns, and lines of the caches along its terms.
            runs = sides_of(types, fewer)[side]
            if nest is not None and any(len(run) > 1 for run in runs[-1 if side == 0 else -2 :]):
                return None
            sides.append(known)
        arrays = tuple(s[0].array for s in sides)
        if not additions and all(x is a for x, a in zip(arrays, first.args, strict=True)):
            return None
        # An array that is computed for it alone is stored, in the place of its windows.
        for array, argument in zip(arrays, first.args, strict=True):
            held = self.walker.array_of(array)
            maker = self.walker.producer.get(held)
            computed = maker is not None and inlines(maker) and held not in self.graph.results
            windowed = argument.type.size * len(products)
            fewer_stored = windowed - array.type.size
            if computed and array is not argument and fewer_stored < (0 if additions else 1):
                return None
        a, b = (
            Windows(s[0].array.type, s[0].axes, s[0].steps, tuple(w.start for w in s))
            for s in sides
        )
        added = WindowSum(a, b, start)
        return Sum(tuple(products), tuple(additions), total, (arrays[0], arrays[1]), added)

    def _window(self, operand: Value, batch: tuple[int, ...]) -> _Window | None:
        """Where an operand lies in what it is a window of; None if its neighbours lie apart. batch:
        axes along which it may be one for all."""
        domain = units_dropped(operand.shape)
        variables = self.walker.variables(domain, range(len(domain)))
        axis_of: dict[Expr, int] = dict(
            zip(variables, (k for k, d in enumerate(operand.shape) if d != 1), strict=True)
        )
        value, index = operand, full_index(operand.shape, variables)
        found = self._along(value, index, axis_of, batch)
        while found is not None:
            eqn = self.walker.producer.get(value)
            if eqn is None or not inlines(eqn) or eqn.op.kind is not Kind.INDEX:
                return found
            if len(eqn.args) != 1 or eqn.args[0].dtype is not value.dtype:
                return found
            (read,) = self.walker.operands(value, index)
            deeper = self._along(read.value, read.index, axis_of, batch)
            if deeper is None:
                return found
            value, index, found = read.value, read.index, deeper
        return None

    def _along(
        self, value: Value, index: Index, axis_of: dict[Expr, int], batch: tuple[int, ...]
    ) -> _Window | None:
        """The window of `value` that elements at `index` make, if all axes that are in `axis_of`
        run along one of it each, upwards, the last of them along the last one by steps of 1; those
        of `batch` may run along none."""
        axes, steps, start = [], [], []
        for e in index:
            form = self.walker.simplify.linear(e)
            if len(form.terms) > 1:
                return None
            atom, step = form.terms[0] if form.terms else (None, 1)
            if atom is not None and (atom not in axis_of or step < 1):
                return None
            axes.append(-1 if atom is None else axis_of[atom])
            steps.append(step)
            start.append(form.constant)
        used = [axis for axis in axes if axis >= 0]
        wanted = [axis for axis in sorted(axis_of.values()) if axis in used or axis not in batch]
        if used != wanted or not used or axes[-1] != used[-1] or steps[-1] != 1:
            return None
        return _Window(value, tuple(axes), tuple(steps), tuple(start))


def _alike(windows: list[_Window]) -> bool:
    first = windows[0]
    return all(
        w.array is first.array and w.axes == first.axes and w.steps == first.steps for w in windows
    )


def find_sums(graph: Graph, walker: Walker, target: Target) -> tuple[Sum, ...]:
    """The sums of products of a Graph that are one kernel each on a target."""
    return () if target.has_blocks else _Finder(graph, walker, target).run()
