"""Results that are made under other axes.

    (x.reshape(-1, k) @ w).reshape(b, m, n)

A result of a program that is a `reshape` of a product, of what is computed from its elements, or of
another kernel's result, lies in memory as that does: the program's result is what is reshaped, and
no copy of it. What has the program's types knows the axes.
"""

from __future__ import annotations

from collections.abc import Collection

from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import Kind
from pyc.passes.reads import array_of, units_dropped


def with_made_results(graph: Graph, donated: Collection[int]) -> Graph:
    """`graph` with such results in place of those under other axes. donated: numbers of parameters,
    which may be results themselves, under their own axes."""
    given = {graph.params[k].type for k in donated}
    producer = {out: e for e in graph.eqns for out in e.outs}
    results = list(graph.results)
    for k, value in enumerate(graph.results):
        made = array_of(value, producer)
        if made is value or made in results or results.count(value) > 1:
            continue
        if made.type in given or value.type in given:
            continue
        other_axes = units_dropped(made.shape) != units_dropped(value.shape)
        if other_axes and made.shape and value.shape and _is_made(made, producer):
            results[k] = made
    return Graph(graph.params, graph.eqns, tuple(results))


def _is_made(value: Value, producer: dict[Value, Eqn]) -> bool:
    """Whether a kernel of its own makes a value, or what it is computed from element by element."""
    stack, seen = [value], {value}
    while stack:
        eqn = producer.get(stack.pop())
        if eqn is None:
            continue
        if eqn.op.kind is Kind.CONTRACT or (eqn.op.kind is Kind.KERNEL and value in eqn.outs):
            return True
        if eqn.op.kind is Kind.POINTWISE:
            new = [a for a in eqn.args if a.shape == value.shape and a not in seen]
            seen.update(new)
            stack += new
    return False
