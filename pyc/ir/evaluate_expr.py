"""Values of scalar expressions: the NumPy meaning of an `Expr` DAG over whole arrays of lanes.

Takes roots and an array per variable; returns an array per root. Each node is computed once, in
postorder, as its `Instruction` says, so the result is the exact meaning of the DAG: what a
backend emits must give these bits. Nothing recurses; chains may be as long as users write them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, postorder
from pyc.ir.instructions import INSTRUCTIONS, bare_cast, bitcast, quietly

Array = np.ndarray[Any, Any]
LoadFunction = Callable[[Load, tuple[Array, ...]], Array]
ShuffleFunction = Callable[[Shuffle, Array], Array]


def evaluate(
    roots: Sequence[Expr],
    env: Mapping[Var, Array],
    load: LoadFunction | None = None,
    shuffle: ShuffleFunction | None = None,
) -> list[Array]:
    """The arrays that `roots` are, given an array (or scalar) for each variable.

    env: variables to arrays that broadcast together; each must have its variable's type.
    load: (node, index arrays) -> the elements read; shuffle: (node, values) -> the values moved.
    Constants stay of rank 0, so a root that depends on no variable gives a rank-0 array.
    raises KeyError: a variable is missing from `env`; TypeError: one is of the wrong type, or a
    `Load` or `Shuffle` occurs without its callback.
    """
    return evaluate_steps(steps_of(roots), env, load, shuffle)


@frozen(eq=False)
class Steps:
    """A DAG in evaluation order: its nodes with the places of their operands, and the roots'."""

    nodes: Sequence[tuple[Expr, tuple[int, ...]]]
    roots: Sequence[int]


def steps_of(roots: Sequence[Expr]) -> Steps:
    """What `evaluate_steps` takes, for roots that are evaluated more than once."""
    nodes = postorder(roots)
    place = {id(n): k for k, n in enumerate(nodes)}
    steps = [(n, tuple([place[id(c)] for c in n.operands])) for n in nodes]
    return Steps(steps, [place[id(r)] for r in roots])


def evaluate_steps(
    steps: Steps,
    env: Mapping[Var, Array],
    load: LoadFunction | None = None,
    shuffle: ShuffleFunction | None = None,
) -> list[Array]:
    """As `evaluate`, of roots put in order before."""
    values: list[Array] = []
    with quietly():
        for node, operands in steps.nodes:
            args = tuple([values[k] for k in operands])
            if type(node) is not Apply:
                values.append(_value(node, args, env, load, shuffle))
            elif node.name == "cast":
                values.append(bare_cast(args[0], node.dtype))
            elif node.name == "bitcast":
                values.append(bitcast(args[0], node.dtype).reshape(args[0].shape))
            else:
                values.append(INSTRUCTIONS[node.name].bare(args, node.dtype))
    return [values[k] for k in steps.roots]


def _value(
    node: Expr,
    args: tuple[Array, ...],
    env: Mapping[Var, Array],
    load: LoadFunction | None,
    shuffle: ShuffleFunction | None,
) -> Array:
    """A node that is no instruction, over its operands' values."""
    if isinstance(node, Const):
        return np.asarray(node.value)
    if isinstance(node, Var):
        return _bound(node, env)
    if isinstance(node, Load):
        if load is None:
            raise TypeError(f"a load from {node.buffer!r} needs the `load` callback")
        return load(node, args)
    assert isinstance(node, Shuffle), node
    if shuffle is None:
        raise TypeError(f"a shuffle over {node.var.name} needs the `shuffle` callback")
    return shuffle(node, args[0])


def _bound(var: Var, env: Mapping[Var, Array]) -> Array:
    """The array of a variable, checked against the variable's type."""
    if var not in env:
        known = ", ".join(sorted(v.name for v in env)) or "nothing"
        raise KeyError(
            f"variable {var.name} ({var.dtype}) has no value; the environment has {known}"
        )
    value = np.asarray(env[var])
    if value.dtype != var.dtype.numpy:
        raise TypeError(f"variable {var.name} is {var.dtype}, its value is {value.dtype}")
    return value
