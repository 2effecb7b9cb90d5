"""The Graph interpreter: the values of a Graph over NumPy arrays, the oracle of everything else.

Takes a Graph and one array per parameter, returns one array per result. Pointwise equations
evaluate the op's own scalar definition with `evaluate_expr`, reductions the documented order of
`order.py`: both are bit-exact. Index and kernel ops move or order data: their `reference` is exact.
Contractions go through extended precision (longdouble; plain loops, so the same on every machine
of one kind) and are rounded once: within the bound of `ops/contract.py` of any other way.

It shares no lowering or scheduling code with the compiler, and does not recurse over equations:
Graphs may be as deep as users write them. Control flow recurses into the Graphs it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyc.errors import raises_for_the_program
from pyc.ir import dtype as dt
from pyc.ir import evaluate_expr, order
from pyc.ir.element import Element, components_of, fails_of, result_of, scalar_of
from pyc.ir.expr import Expr, Var
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import Complex, Kind
from pyc.ir.types import ArrayType

Array = np.ndarray[Any, Any]


def evaluate(graph: Graph, arrays: Sequence[Any]) -> list[Array]:
    """The results of `graph` for `arrays`; fresh C-ordered arrays, rank 0 as 0-d arrays.

    raises TypeError: an array does not have its parameter's shape and dtype; the error of a
    failing equation (an index out of range, say), placed on its line.
    """
    env: dict[Value, Array] = {}
    for value, array in zip(graph.params, arrays, strict=True):
        env[value] = _checked(value.type, array)
    for eqn in graph.eqns:
        outs = evaluate_eqn(eqn, [env[a] for a in eqn.args])
        for value, out in zip(eqn.outs, outs, strict=True):
            env[value] = _checked(value.type, out)
    return [np.array(env[r], order="C") for r in graph.results]


def evaluate_eqn(eqn: Eqn, args: Sequence[Array]) -> list[Array]:
    """The results of one equation for its argument values."""
    op = eqn.op
    if op.kind is Kind.POINTWISE:
        return [_pointwise(eqn, args)]
    if op.kind is Kind.REDUCE:
        return [_reduce(eqn, args)]
    if op.kind is Kind.CONTROL:
        return _CONTROL[op.name](eqn.params, list(args))
    if op.kind is Kind.LIBRARY and op.reference is None:
        return eqn.answer([np.array(a) for a in args])
    if op.reference is None:
        raise AssertionError(f"{op} has no reference to evaluate")
    with np.errstate(all="ignore"):
        outs = op.reference(*args, **eqn.params)
    return list(outs) if isinstance(outs, tuple) else [outs]


def _checked(type: ArrayType, array: Any) -> Array:
    """`array`, if it is of `type`."""
    array = np.asarray(array)
    found: Array = array
    if tuple(array.shape) != type.shape or array.dtype != type.dtype.numpy:
        raise TypeError(f"expected {type}, got {array.dtype}[{','.join(map(str, array.shape))}]")
    return found


# --- elements as arrays ---------------------------------------------------------------------------


def bind_elements(
    args: Sequence[Array], prefix: str = "x"
) -> tuple[list[Element], dict[Var, Array]]:
    """A variable per array (two per complex one), and the arrays they stand for."""
    elements: list[Element] = []
    env: dict[Var, Array] = {}
    for k, array in enumerate(args):
        dtype = dt.of(array.dtype)
        assert dtype is not None
        if dtype.is_complex:
            pair = Complex(Var(f"{prefix}{k}_re", dtype.real), Var(f"{prefix}{k}_im", dtype.real))
            assert isinstance(pair.re, Var) and isinstance(pair.im, Var)
            env[pair.re], env[pair.im] = array.real, array.imag
            elements.append(pair)
        else:
            var = Var(f"{prefix}{k}", dtype)
            env[var] = array
            elements.append(var)
    return elements, env


def _assembled(element: Element, env: Mapping[Var, Array], type: ArrayType) -> Array:
    """The array of `type` whose elements `element` gives."""
    out = np.empty(type.shape, type.dtype.numpy)
    if isinstance(element, Complex):
        re, im = evaluate_expr.evaluate([element.re, element.im], env)
        out.real, out.imag = re, im
    else:
        out[...] = evaluate_expr.evaluate([element], env)[0]
    return out


def _pointwise(eqn: Eqn, args: Sequence[Array]) -> Array:
    elements, env = bind_elements(args)
    failing = fails_of(eqn.op, elements, eqn.params)
    if failing is not None:
        _raise_failure(eqn, failing, env)
    return _assembled(scalar_of(eqn.op, elements, eqn.params), env, eqn.out.type)


@raises_for_the_program
def _raise_failure(eqn: Eqn, failing: tuple[Expr, Expr], env: Mapping[Var, Array]) -> None:
    """Raises the op's error for the failing element of the least value, read as unsigned: kernels
    report that one, since it does not depend on the order in which elements are computed."""
    fails, values = evaluate_expr.evaluate(failing, env)
    shape = eqn.out.shape
    where = np.flatnonzero(np.broadcast_to(fails, shape))
    if not where.size:
        return
    value = int(np.broadcast_to(values, shape).reshape(-1)[where].astype(np.uint64).min())
    value -= (value >> 63) << 64
    raise eqn.failure(value)


# --- reductions -----------------------------------------------------------------------------------


def _reduce(eqn: Eqn, args: Sequence[Array]) -> Array:
    """The reduced axes moved last and flattened to one sequence per kept element."""
    axes = eqn.params["axes"]
    rows = []
    for array in args:
        kept = [a for a in range(array.ndim) if a not in axes]
        shape = [array.shape[a] for a in kept]
        count = int(np.prod([array.shape[a] for a in axes], dtype=int))
        rows.append(array.transpose(*kept, *axes).reshape(*shape, count))
    elements, env = bind_elements(rows)
    position = Var("position")
    env[position] = np.arange(rows[0].shape[-1])
    components = components_of(eqn.op, elements, position, eqn.params)
    values = tuple(
        np.broadcast_to(v, rows[0].shape) for v in evaluate_expr.evaluate(components, env)
    )
    monoid = order.MONOIDS[eqn.op.monoid or ""]
    types = tuple(c.dtype for c in components)
    fill = tuple(c.value for c in order.neutral(monoid, types))
    reduced = order.reduce(_combine_arrays(monoid, types), values, fill)
    found = [Var(f"reduced{k}", t) for k, t in enumerate(types)]
    result = result_of(eqn.op, found, eqn.out.dtype, eqn.params)
    return _assembled(result, dict(zip(found, reduced, strict=True)), eqn.out.type)


def _combine_arrays(monoid: order.Monoid, types: tuple[dt.DType, ...]) -> Any:
    """The monoid's combination over arrays of its components."""
    left = tuple(Var(f"left{k}", t) for k, t in enumerate(types))
    right = tuple(Var(f"right{k}", t) for k, t in enumerate(types))
    steps = evaluate_expr.steps_of(monoid.combine(left, right))

    def combine(a: tuple[Array, ...], b: tuple[Array, ...]) -> tuple[Array, ...]:
        env = dict(zip((*left, *right), (*a, *b), strict=True))
        return tuple(evaluate_expr.evaluate_steps(steps, env))

    return combine


# --- control flow ---------------------------------------------------------------------------------


def _cond(params: Mapping[str, Any], args: list[Array]) -> list[Array]:
    """branches[clamped index](*args); the index is the first argument."""
    branches = params["branches"]
    index, operands = args[0], args[1:]
    chosen = min(max(int(index), 0), len(branches) - 1)
    return evaluate(branches[chosen], operands)


def _while(params: Mapping[str, Any], args: list[Array]) -> list[Array]:
    """Captures of the condition, captures of the body, then the carried values."""
    condition_captures = params["condition_captures"]
    body_captures = params["body_captures"]
    for_condition = args[:condition_captures]
    for_body = args[condition_captures : condition_captures + body_captures]
    carried = args[condition_captures + body_captures :]
    while bool(evaluate(params["condition"], [*for_condition, *carried])[0]):
        carried = evaluate(params["body"], [*for_body, *carried])
    return carried


def _scan(params: Mapping[str, Any], args: list[Array]) -> list[Array]:
    """Captures, carried values, then arrays to step over along their first axis; the body gives
    the next carried values and one slice of each stacked result."""
    body: Graph = params["body"]
    captures, carries, length = params["captures"], params["carries"], params["length"]
    captured, carried = args[:captures], args[captures : captures + carries]
    stepped = args[captures + carries :]
    stacked = [np.empty((length, *r.shape), r.dtype.numpy) for r in body.results[carries:]]
    steps = range(length - 1, -1, -1) if params["reverse"] else range(length)
    for k in steps:
        outs = evaluate(body, [*captured, *carried, *(x[k] for x in stepped)])
        carried = outs[:carries]
        for whole, part in zip(stacked, outs[carries:], strict=True):
            whole[k] = part
    return [*carried, *stacked]


_CONTROL = {"cond": _cond, "while": _while, "scan": _scan}
