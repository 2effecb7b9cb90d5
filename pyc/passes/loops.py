"""`scan` in terms of `while`, where the loop is not one kernel: what the planner runs.

A scan is a counted loop that slices its inputs at the counter and stores its outputs there; as a
`while` whose stacked outputs are carried, these stores are updates, which the planner does in
place. (Reduction order and bits are those of the body: nothing is reassociated.)
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value
from pyc.ir.types import ArrayType
from pyc.passes.loop_forms import NotAKernelError, lower_loop

_COUNTER = ArrayType((), dt.i64)


def expand_scans(graph: Graph) -> Graph:
    """The Graph with every scan that `lower_loops` cannot make a kernel as a while; itself if there
    is none."""
    expanded = False

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        nonlocal expanded
        if eqn.op.name != "scan":
            return None
        if eqn.params["length"] == 0:
            expanded = True
            return _without_steps(builder, eqn, args)
        try:
            lower_loop(eqn, "trial", lambda _: 0, side_by_side=False)
        except NotAKernelError:
            expanded = True
            return _as_while(builder, eqn, args)
        return None

    found = Rewriter(rule)(graph)
    return found if expanded else graph


def _without_steps(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...]:
    """A scan over nothing: the initial carries, and stacks of no rows."""
    captures, carries = eqn.params["captures"], eqn.params["carries"]
    empty = [
        builder.bind1("broadcast", builder.constant(0, o.dtype), loc=eqn.loc, shape=o.shape)
        for o in eqn.outs[carries:]
    ]
    return (*args[captures : captures + carries], *empty)


def _as_while(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...]:
    body: Graph = eqn.params["body"]
    length, captures, carries = (eqn.params[k] for k in ("length", "captures", "carries"))
    captured, carried, sliced = (
        args[:captures],
        args[captures : captures + carries],
        args[captures + carries :],
    )
    stacked = [o.type for o in eqn.outs[carries:]]
    zero = builder.constant(0, dt.i64)
    empty = [
        builder.bind1("broadcast", builder.constant(0, t.dtype), loc=eqn.loc, shape=t.shape)
        for t in stacked
    ]
    initial = (zero, *carried, *empty)
    types = tuple(v.type for v in initial)
    outs = builder.bind(
        "while",
        *captured,
        *sliced,
        *initial,
        loc=eqn.loc,
        condition=_condition(types, length),
        body=_body(eqn, body, (*captured, *sliced), types, length, captures, carries),
        condition_captures=0,
        body_captures=len(captured) + len(sliced),
    )
    return outs[1:]


def _condition(types: tuple[ArrayType, ...], length: int) -> Graph:
    builder = Builder()
    counter, *_ = (builder.param(t) for t in types)
    return builder.build([builder.bind1("lt", counter, builder.constant(length, dt.i64))])


def _body(
    eqn: Eqn,
    inner: Graph,
    captured: tuple[Value, ...],
    types: tuple[ArrayType, ...],
    length: int,
    captures: int,
    carries: int,
) -> Graph:
    builder = Builder()
    outside = [builder.param(v.type) for v in captured]
    counter, *state = (builder.param(t) for t in types)
    place = counter
    if eqn.params["reverse"]:
        last = builder.constant(length - 1, dt.i64)
        place = builder.bind1("sub", last, counter, loc=eqn.loc)
    xs = [_element(builder, x, place, eqn) for x in outside[captures:]]
    results = builder.inline(inner, [*outside[:captures], *state[:carries], *xs])
    stacked = []
    for stack, y in zip(state[carries:], results[carries:], strict=True):
        one = builder.bind1("reshape", y, loc=eqn.loc, shape=(1, *y.shape))
        starts = (None, *[0] * len(y.shape))
        strides = (1,) * len(starts)
        stacked.append(
            builder.bind1(
                "update_slice", stack, one, place, loc=eqn.loc, starts=starts, strides=strides
            )
        )
    following = builder.bind1("add", counter, builder.constant(1, dt.i64), loc=eqn.loc)
    return builder.build([following, *results[:carries], *stacked])


def _element(builder: Builder, x: Value, place: Value, eqn: Eqn) -> Value:
    """x[place]."""
    starts = (None, *[0] * (len(x.shape) - 1))
    sizes = (1, *x.shape[1:])
    one = builder.bind1("dynamic_slice", x, place, loc=eqn.loc, starts=starts, sizes=sizes)
    return builder.bind1("reshape", one, loc=eqn.loc, shape=x.shape[1:])
