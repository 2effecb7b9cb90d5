"""Exact simplifications of the Graph: a table of rules, each bit-identical for every input.

A rule takes (`Match`, equation, arguments) and returns the replacing values, or None. NaN,
infinities and -0.0 included: `x + 0.0` is not `x` (it turns -0.0 into 0.0), `x + -0.0` is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.ir.evaluate import evaluate_eqn
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.ir.op import Kind
from pyc.kernels.merged import Dimensions, runs_of
from pyc.passes.carries import settle
from pyc.passes.sorted_rows import SortedRows

Values = tuple[Value, ...]


class Match:
    """What rules may look at: the builder, who made each of its values, and sorts of the Graph."""

    def __init__(self, graph: Graph, builder: Builder) -> None:
        self.builder = builder
        self.sorted = SortedRows(graph, builder)
        self.checked: dict[tuple[Value, int], Value] = {}
        """Indices that were checked, by what they were checked against."""

    def maker(self, value: Value, name: str) -> Eqn | None:
        """The equation that made `value`, if its op is `name`."""
        eqn = self.builder.producer[value]
        return eqn if eqn is not None and eqn.op.name == name else None

    def scalar(self, value: Value) -> Any:
        """The one element that all of `value` is known to equal (a NumPy scalar), or None."""
        while True:
            moved = self.maker(value, "broadcast") or self.maker(value, "reshape")
            if moved is None:
                break
            value = moved.args[0]
        constant = self.maker(value, "constant")
        if constant is None or constant.params["value"].size != 1:
            return None
        return constant.params["value"].reshape(-1)[0]


def _same_bits(a: Any, b: Any) -> bool:
    return bool(np.asarray(a).tobytes() == np.asarray(b).astype(np.asarray(a).dtype).tobytes())


def _to_own_type(m: Match, e: Eqn, args: Values) -> Values | None:
    """cast, broadcast, reshape or slice that changes nothing."""
    return (args[0],) if args[0].type == e.out.type else None


def _full_slice(m: Match, e: Eqn, args: Values) -> Values | None:
    """A slice of all elements in order."""
    forward = all(step == 1 for step in e.params["step"])
    return (args[0],) if args[0].type == e.out.type and forward else None


def _whole_store(m: Match, e: Eqn, args: Values) -> Values | None:
    """A store of all elements, or of none. Not where it starts at a computed place, though all of
    it fits at the first element only: that place may have been checked, and nobody else reads it.
    """
    if None in e.params["starts"]:
        return None
    array, update = args
    if update.type == e.out.type:
        return (update,)
    return (array,) if update.type.size == 0 else None


def _of_itself(m: Match, e: Eqn, args: Values) -> Values | None:
    """reshape(reshape(x)) and broadcast(broadcast(x)) need the outer one only, or none."""
    inner = m.maker(args[0], e.op.name)
    if inner is None:
        return None
    if inner.args[0].type == e.out.type:
        return (inner.args[0],)
    return m.builder.bind(e.op, inner.args[0], loc=e.loc, **e.params)


def _transpose(m: Match, e: Eqn, args: Values) -> Values | None:
    """An identity permutation vanishes; two permutations are one."""
    axes = e.params["axes"]
    if list(axes) == sorted(axes):
        return (args[0],)
    inner = m.maker(args[0], "transpose")
    if inner is None:
        return None
    both = tuple(inner.params["axes"][a] for a in axes)
    if list(both) == sorted(both):
        return (inner.args[0],)
    return m.builder.bind(e.op, inner.args[0], loc=e.loc, axes=both)


def _involution(m: Match, e: Eqn, args: Values) -> Values | None:
    """neg(neg(x)) and not(not(x)) are x."""
    inner = m.maker(args[0], e.op.name)
    return (inner.args[0],) if inner else None


def _select(m: Match, e: Eqn, args: Values) -> Values | None:
    """A select between equal values, or by a known condition."""
    condition, then, otherwise = args
    if then is otherwise:
        return (then,)
    known = m.scalar(condition)
    return None if known is None else ((then,) if known else (otherwise,))


def _turned_operands(m: Match, e: Eqn, args: Values) -> Values | None:
    """A contraction of a transposed operand is one over the operand's own axes, where the order of
    its free axes cannot show, and contracted axes are not neighbours there only."""
    pairs = zip(*e.params["dimensions"], strict=True)
    sides: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    operands: list[Value] = []
    for value, (contract, batch) in zip(args, pairs, strict=True):
        turned = m.maker(value, "transpose")
        if turned is not None and len(value.shape) - len(contract) - len(batch) <= 1:
            axes = turned.params["axes"]
            value = turned.args[0]
            contract, batch = (tuple(axes[k] for k in group) for group in (contract, batch))
        operands.append(value)
        sides.append((contract, batch))
    if all(a is b for a, b in zip(args, operands, strict=True)):
        return None
    dimensions: Dimensions = tuple(zip(*sides, strict=True))  # type: ignore[assignment]
    if _terms(dimensions) > _terms(e.params["dimensions"]):
        return None
    return m.builder.bind(e.op, *operands, loc=e.loc, **{**e.params, "dimensions": dimensions})


def _terms(dimensions: Dimensions) -> int:
    """How many contracted axes a nest sees."""
    contract, _ = dimensions
    return len(runs_of(sorted(zip(*contract, strict=True))))


def _joined_slices(m: Match, e: Eqn, args: Values) -> Values | None:
    """Adjacent parts of a concatenation that are adjacent slices of one array are one slice of it:
    what a loop has stacked comes apart and together again."""
    axis = e.params["axis"]
    joined: list[tuple[Value, Eqn | None, int]] = []
    for value in args:
        part = m.maker(value, "slice")
        before, source, length = joined[-1] if joined else (value, None, 0)
        if part is not None and source is not None and _follows(source, length, part, axis):
            joined[-1] = (before, source, length + part.params["size"][axis])
        else:
            joined.append((value, part, value.shape[axis]))
    if len(joined) == len(args):
        return None
    parts: list[Value] = []
    for value, source, length in joined:
        if source is not None and length > value.shape[axis]:
            size = tuple(length if k == axis else n for k, n in enumerate(value.shape))
            params = {**source.params, "size": size}
            (value,) = source.args
            if value.shape != size:
                (value,) = m.builder.bind(source.op, value, loc=e.loc, **params)
        parts.append(value)
    return tuple(parts) if len(parts) == 1 else m.builder.bind(e.op, *parts, loc=e.loc, axis=axis)


def _follows(first: Eqn, length: int, second: Eqn, axis: int) -> bool:
    """Whether a slice goes on where another one of so many steps along the axis ends."""
    a, b = first.params, second.params
    if first.args[0] is not second.args[0] or any(n != 1 for n in (*a["step"], *b["step"])):
        return False
    starts = [n + length * (k == axis) for k, n in enumerate(a["start"])]
    rest = [k for k in range(len(starts)) if k != axis]
    return starts == list(b["start"]) and all(a["size"][k] == b["size"][k] for k in rest)


def _settled_loop(m: Match, e: Eqn, args: Values) -> Values | None:
    """Carries that stay as they are, or equal another one."""
    return settle(m.builder, e, args)


def _part_of_sorted(m: Match, e: Eqn, args: Values) -> Values | None:
    return m.sorted.part(e, args)


def _sorted_again(m: Match, e: Eqn, args: Values) -> Values | None:
    return m.sorted.sort(e, args)


def _negated_order(m: Match, e: Eqn, args: Values) -> Values | None:
    return m.sorted.argsort(e, args)


def _checked_before(m: Match, e: Eqn, args: Values) -> Values | None:
    """An index that was checked against the same extent: one of another axis, or line."""
    key = args[0], e.params["bound"]
    if key in m.checked:
        return (m.checked[key],)
    m.checked[key] = m.builder.bind1(e.op.name, *args, loc=e.loc, **e.params)
    return (m.checked[key],)


RULES: dict[str, tuple[Callable[[Match, Eqn, Values], Values | None], ...]] = {
    "cast": (_to_own_type,),
    "broadcast": (_to_own_type, _of_itself),
    "reshape": (_to_own_type, _of_itself),
    "slice": (_full_slice, _part_of_sorted),
    "update_slice": (_whole_store,),
    "sort": (_sorted_again,),
    "argsort": (_negated_order,),
    "concatenate": (_joined_slices,),
    "transpose": (_transpose,),
    "dot_general": (_turned_operands,),
    "index_check": (_checked_before,),
    "neg": (_involution,),
    "logical_not": (_involution,),
    "bitwise_not": (_involution,),
    "select": (_select,),
    "while": (_settled_loop,),
    "scan": (_settled_loop,),
}
"""Rules by op name, tried in order."""


def _unit(m: Match, e: Eqn, args: Values) -> Values | None:
    """An operand that the op's entry calls a unit, or absorbing, of a two-argument op. Not for
    complex numbers: (a + bi) (1 + 0i) is not a + bi when b is infinite, or -0.0."""
    if (
        e.out.dtype.is_complex
        or len(args) != 2
        or args[0].type != e.out.type
        or args[1].type != e.out.type
    ):
        return None
    for position, table in ((p, t) for t in (e.op.unit, e.op.absorbing) for p in t):
        known = m.scalar(args[position])
        if known is not None and _same_bits(known, table[position]):
            return (args[1 - position] if table is e.op.unit else args[position],)
    return None


def _scalars_first(m: Match, e: Eqn, args: Values) -> Values | None:
    """A pointwise op over broadcast scalars is a broadcast of one result."""
    if e.op.fails is not None or not args or e.out.type.size <= 1:
        return None
    inner = [m.maker(a, "broadcast") for a in args]
    if any(b is None or b.args[0].shape != () for b in inner):
        return None
    scalars = [b.args[0] for b in inner if b is not None]
    known = [m.maker(s, "constant") for s in scalars]
    (one,) = m.builder.bind(e.op, *scalars, loc=e.loc, **e.params)
    made = m.builder.producer[one]
    if made is not None and all(known):  # `fold` has been here
        (value,) = evaluate_eqn(made, [k.params["value"] for k in known if k is not None])
        one = m.builder.constant(value)
    return m.builder.bind("broadcast", one, loc=e.loc, shape=e.out.shape)


def simplify(graph: Graph) -> Graph:
    """The Graph after the rules above, each equation once, in order."""
    builder = Builder()
    match = Match(graph, builder)

    def rule(builder: Builder, eqn: Eqn, args: Values) -> Values | None:
        for each in RULES.get(eqn.op.name, ()):
            found = each(match, eqn, args)
            if found is not None:
                return found
        if eqn.op.kind is Kind.POINTWISE:
            return _unit(match, eqn, args) or _scalars_first(match, eqn, args)
        return None

    return Rewriter(rule, builder)(graph)
