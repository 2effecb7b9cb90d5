"""Batching rules of control flow and of calls back into Python.

A decision that is the same for all lanes stays one. Where it differs, every branch is computed and
a loop runs while any lane goes on, under a mask (`ir/batch.py`): a lane sees nothing of branches
that it does not take, and keeps its values once its loop has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Builder, Graph, HostCall, Value
from pyc.ir.types import ArrayType

if TYPE_CHECKING:
    from pyc.ir.batch import Batch, Operand

Operands = Sequence["Operand"]
Array = np.ndarray[Any, Any]


def _batched(args: Operands) -> list[bool]:
    return [x.axis is not None for x in args]


def _either(a: Sequence[bool], b: Sequence[bool]) -> list[bool]:
    return [x or y for x, y in zip(a, b, strict=True)]


def _lanes(batch: Batch, values: Sequence[Value], batched: Sequence[bool]) -> list[Operand]:
    """Values whose batch axes are first."""
    return [batch.operand(v, 0 if b else None) for v, b in zip(values, batched, strict=True)]


def _values(batch: Batch, args: Operands, batched: Sequence[bool]) -> list[Value]:
    """Arguments with their batch axes first, repeated where others of their kind are batched."""
    return [batch.at(x, 0) if b else x.value for x, b in zip(args, batched, strict=True)]


def _mask(batch: Batch, *graphs: Graph) -> list[Value]:
    """What is given to the Graphs for the lanes that take part: nothing if that is all the same."""
    needed = batch.mask is not None and any(batch.shows(g) for g in graphs)
    return [batch.mask] if needed and batch.mask is not None else []


# --- cond -----------------------------------------------------------------------------------------


def cond(batch: Batch, args: Operands, *, branches: tuple[Graph, ...]) -> list[Operand]:
    """A branch that all lanes take, or all branches where the index differs between lanes."""
    index, *operands = args
    if index.axis is not None:
        return _chosen(batch, index, operands, branches)
    given = _batched(operands)
    mask = _mask(batch, *branches)
    results = [False] * len(branches[0].results)
    for branch in branches:
        results = _either(results, batch.inner(branch, given, None, bool(mask))[1])
    made = tuple(batch.inner(branch, given, results, bool(mask))[0] for branch in branches)
    values = _values(batch, operands, given)
    return _lanes(batch, batch.bind("cond", index.value, *mask, *values, branches=made), results)


def _chosen(
    batch: Batch, index: Operand, operands: Operands, branches: tuple[Graph, ...]
) -> list[Operand]:
    """The results of all branches, chosen for each lane."""
    number = batch.at(index, 0)
    last = len(branches) - 1
    if not last:
        return batch.under(batch.mask).run(branches[0], operands)
    outs: list[Operand] | None = None
    for k, branch in enumerate(branches):
        # The index is clamped: the ends take what is beyond.
        test = "le" if k == 0 else "ge" if k == last else "eq"
        lanes = batch.bind1(test, number, batch.filled(k, number.type))
        mask = lanes if batch.mask is None else batch.bind1("logical_and", lanes, batch.mask)
        found = batch.under(mask).run(branch, operands)
        if outs is None:
            outs = found
            continue
        outs = [
            a
            if a.value is b.value and a.axis == b.axis
            else batch.operand(batch.select(lanes, batch.at(b, 0), batch.at(a, 0)), 0)
            for a, b in zip(outs, found, strict=True)
        ]
    assert outs is not None
    return outs


# --- while ----------------------------------------------------------------------------------------


def while_loop(
    batch: Batch,
    args: Operands,
    *,
    condition: Graph,
    body: Graph,
    condition_captures: int,
    body_captures: int,
) -> list[Operand]:
    """One loop for all lanes; a value is carried with a batch axis if it gets one in any step."""
    of_condition = args[:condition_captures]
    of_body = args[condition_captures : condition_captures + body_captures]
    carries = args[condition_captures + body_captures :]
    captured = _batched(of_condition), _batched(of_body)
    flags = _batched(carries)
    mask = [] if batch.mask is None else [batch.mask]  # it must end where no lane takes part
    while True:
        # The Graph that tells which values get batch axes is the step: no other has its mask.
        step, found = batch.inner(body, [*captured[1], *flags], flags, bool(mask))
        if found == flags:
            break
        flags = found
    test, (differs,) = batch.inner(condition, [*captured[0], *flags], None, bool(mask))
    if differs:
        return _while_any(batch, of_condition, of_body, carries, condition, body)
    values = batch.bind(
        "while",
        *mask,
        *_values(batch, of_condition, captured[0]),
        *mask,
        *_values(batch, of_body, captured[1]),
        *_values(batch, carries, flags),
        condition=_unless_idle(test) if mask else test,
        body=step,
        condition_captures=condition_captures + len(mask),
        body_captures=body_captures + len(mask),
    )
    return _lanes(batch, values, flags)


def _unless_idle(condition: Graph) -> Graph:
    """A condition, whose first parameter is a mask, that is false where no lane takes part."""
    builder = Builder()
    params = [builder.param(p.type) for p in condition.params]
    (truth,) = builder.inline(condition, params)
    some = builder.bind1("reduce_any", params[0], axes=(0,))
    return builder.build([builder.bind1("logical_and", truth, some)])


def _while_any(
    batch: Batch,
    of_condition: Operands,
    of_body: Operands,
    carries: Operands,
    condition: Graph,
    body: Graph,
) -> list[Operand]:
    """A loop while any lane goes on. Whether a lane does is one carried value more; every carried
    value differs between lanes."""
    captured = _batched(of_condition), _batched(of_body)
    all_lanes = [True] * len(carries)
    test = batch.inner(condition, [*captured[0], *all_lanes], [True], masked=True)[0]
    step = batch.inner(body, [*captured[1], *all_lanes], all_lanes, masked=True)[0]
    outside = [
        *_values(batch, of_condition, captured[0]),
        *_values(batch, of_body, captured[1]),
    ]
    first = [batch.at(x, 0) for x in carries]
    lanes = ArrayType((batch.size,), dt.b1)

    builder = Builder()
    going = builder.param(lanes)
    for x in first:
        builder.param(x.type)
    ends = builder.build([builder.bind1("reduce_any", going, axes=(0,))])

    builder = Builder()
    inner = batch.within(builder)
    taken = [builder.param(x.type) for x in outside]
    going = builder.param(lanes)
    before = [builder.param(x.type) for x in first]
    split = len(of_condition)
    after = builder.inline(step, [going, *taken[split:], *before])
    kept = [inner.select(going, a, b) for a, b in zip(after, before, strict=True)]
    (truth,) = builder.inline(test, [going, *taken[:split], *kept])
    again = builder.bind1("logical_and", truth, going)
    whole = builder.build([again, *kept])

    start = batch.mask if batch.mask is not None else batch.filled(True, lanes)
    (truth,) = batch.builder.inline(test, [start, *outside[:split], *first])
    if batch.mask is not None:
        truth = batch.bind1("logical_and", truth, batch.mask)
    values = batch.bind(
        "while",
        *outside,
        truth,
        *first,
        condition=ends,
        body=whole,
        condition_captures=0,
        body_captures=len(outside),
    )
    return _lanes(batch, values[1:], all_lanes)


# --- scan -----------------------------------------------------------------------------------------


def scan(
    batch: Batch,
    args: Operands,
    *,
    body: Graph,
    length: int,
    captures: int,
    carries: int,
    reverse: bool,
) -> list[Operand]:
    """The steps are those of one lane, over slices for all of them."""
    of_body, carried = args[:captures], args[captures : captures + carries]
    stepped = args[captures + carries :]
    captured, sliced, flags = _batched(of_body), _batched(stepped), _batched(carried)
    mask = _mask(batch, body)
    ys = [False] * (len(body.results) - carries)
    while True:
        made, found = batch.inner(body, [*captured, *flags, *sliced], [*flags, *ys], bool(mask))
        if found[:carries] == flags:
            break
        flags = found[:carries]
    values = batch.bind(
        "scan",
        *mask,
        *_values(batch, of_body, captured),
        *_values(batch, carried, flags),
        *(batch.at(x, 1) if b else x.value for x, b in zip(stepped, sliced, strict=True)),
        body=made,
        length=length,
        captures=captures + len(mask),
        carries=carries,
        reverse=reverse,
    )
    stacked = zip(values[carries:], found[carries:], strict=True)
    return [
        *_lanes(batch, values[:carries], flags),
        *(batch.operand(v, 1 if b else None) for v, b in stacked),
    ]


# --- calls back into Python -----------------------------------------------------------------------


def host_call(
    batch: Batch,
    args: Operands,
    *,
    number: int,
    shapes: tuple[tuple[int, ...], ...],
    dtypes: tuple[DType, ...],
) -> list[Operand]:
    """One call of the program, which calls the function for each lane that takes part; or once,
    where it takes all lanes, or where its arguments are the same for all."""
    place = batch.place
    assert isinstance(place, HostCall)
    alone = not any(_batched(args))
    many = None if alone else place.many
    mask = [] if batch.mask is None or many is not None else [batch.mask]
    if many is not None:
        answers = many(batch.size)
        given = [batch.at(x, 0) for x in args]
    else:
        given = _values(batch, args, _batched(args))
        size = None if alone else batch.size
        answers = _Lanes(place.answers, tuple(_batched(args)), size, bool(mask), shapes, dtypes)
    made = HostCall(
        *(place.file, place.line, place.function, place.column, place.end_column, answers),
        getattr(answers, "many", None),
    )
    outs = batch.builder.bind(
        batch.op,
        *mask,
        *given,
        loc=made,
        number=number,
        shapes=shapes if alone else tuple((batch.size, *s) for s in shapes),
        dtypes=dtypes,
    )
    return _lanes(batch, outs, [not alone] * len(outs))


@frozen(eq=False)
class _Lanes:
    """Answers for many lanes what `one` answers for each. batched: which arguments have a first
    axis of lanes; size: how many lanes, None for one call for all of them; masked: whether the
    first argument says which take part, zeros being the results of the others."""

    one: Any
    batched: tuple[bool, ...]
    size: int | None
    masked: bool
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[DType, ...]

    def __call__(self, given: list[Array]) -> list[Array]:
        """The results of all lanes."""
        assert self.one is not None, "no function"
        mask = given[0] if self.masked else None
        args = given[1:] if self.masked else given
        lanes = () if self.size is None else (self.size,)
        kinds = zip(self.shapes, self.dtypes, strict=True)
        outs = [np.zeros((*lanes, *shape), dtype.numpy) for shape, dtype in kinds]
        if self.size is None:
            return list(self.one(args)) if mask is None or mask.any() else outs
        for lane in range(self.size):
            if mask is not None and not mask[lane]:
                continue
            parts = zip(args, self.batched, strict=True)
            found = self.one([np.array(a[lane]) if b else a for a, b in parts])
            for out, part in zip(outs, found, strict=True):
                out[lane] = part
        return outs


__all__ = ["cond", "host_call", "scan", "while_loop"]
