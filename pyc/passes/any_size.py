"""Programs for arrays of any size: a Graph whose extents stand for sizes that a call brings.

Takes a Graph in whose types each axis of the domain has an extent of its own out of `EXTENTS`, and
returns a Plan whose kernel has a size in place of each of them. Only Graphs of pointwise operations
over one domain, broadcasts to it included, have one: their elements do not depend on extents, so
the kernel that `fuse` and `lower` make for those extents is the kernel for all others, and the bits
are those of a program for one size. The rest is this module's: vectors along the last axis, whole
ones and a masked one for the rest, in tasks of about `schedule.TASK_WORK`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from pyc.frozen import replace
from pyc.ir.expr import Expr, Load, Var, apply, const, maximum, minimum, postorder
from pyc.ir.graph import Eqn, Graph
from pyc.ir.loops import (
    Body,
    Buffer,
    Extent,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Reduce,
    Stmt,
    Store,
    expressions,
    walk,
)
from pyc.ir.plan import ALIGNMENT, Given, Launch, Place, Plan, PlanBuffer, Site, given_bytes
from pyc.ir.shares import Shares
from pyc.ir.sizes import EXTENTS, NoGenericFormError
from pyc.ir.target import Target
from pyc.ir.verify_kernel import verify
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.any_size_blocks import elements_in_blocks
from pyc.passes.any_size_lines import Locals, reduce_column, reduce_row
from pyc.passes.any_size_reductions import Reductions
from pyc.passes.fuse import fuse
from pyc.passes.lower import lower
from pyc.passes.memory import Planned
from pyc.passes.nest import Loop, Nest, instructions, peel
from pyc.passes.schedule import ONE_LOOP, TASK_WORK


def plan_any_size(
    graph: Graph,
    target: Target,
    *,
    streamed: bool = False,
    shared: Shares | None = None,
    check: bool = False,
) -> Planned:
    """The Plan of an optimised Graph for arrays of any size: its given sizes are those of `EXTENTS`
    that its arrays have, in their order. streamed: its results pass by the caches, as each has
    `plan.STREAMED_BYTES` or more; shared: how a reduction is, on a target with blocks: in how many
    parts is given behind the sizes; check: verify its kernels.

    raises NoGenericFormError: it takes more than one kernel, or loops for an element
    """
    fusion = fuse(graph)
    if len(fusion.groups) != 1:
        raise NoGenericFormError(f"{len(fusion.groups)} kernels")
    sites: list[Site] = []

    def site(eqn: Eqn) -> int:
        sites.append(Site(eqn.op.name, graph.eqns.index(eqn)))
        return len(sites) - 1

    lowered = lower(
        *(graph, fusion, fusion.walker, fusion.groups[0], "k0", site),
        has_calls=not target.has_blocks,
    )
    arguments = {p: k for k, p in enumerate(graph.params)}
    logical = _streamed(lowered.kernel) if streamed else lowered.kernel
    kernels = _reduced(logical, shared) if shared else [_scheduled(logical, target)]
    if check:
        verify(lowered.kernel)
        for kernel in kernels:
            verify(kernel, scheduled=True)
    buffers = [
        PlanBuffer(0, Place.ARGUMENT, k, scalar=not p.shape) for k, p in enumerate(graph.params)
    ]
    buffers += [PlanBuffer(0, Place.RESULT, k) for k in range(len(graph.results))]
    results = {r: len(arguments) + k for k, r in enumerate(graph.results)}
    slots = [arguments[v] for v in lowered.inputs] + [results[v] for v in lowered.outputs]
    places = {b.name: slot for b, slot in zip(logical.buffers, slots, strict=True)}
    peak = 0
    for b in (b for kernel in kernels for b in kernel.buffers if b.name not in places):
        places[b.name] = len(buffers)
        nbytes = prod(d for d in b.shape if isinstance(d, int)) * b.dtype.itemsize
        buffers.append(PlanBuffer(nbytes, Place.ARENA, peak, last=len(kernels) - 1))
        peak += -(-nbytes // ALIGNMENT) * ALIGNMENT
    count = len(kernels[0].sizes)
    given = tuple(Given(k) for k in range(count))
    plan = Plan(
        kernels=tuple(kernels),
        buffers=tuple(buffers),
        steps=tuple(
            Launch(k, tuple(places[b.name] for b in kernel.buffers), given)
            for k, kernel in enumerate(kernels)
        ),
        arguments=tuple(arguments.values()),
        results=tuple(results.values()),
        peak=peak,
        lower_bound=peak,
        constants=b"" if target.has_blocks else bytes(given_bytes(count)),
        sites=tuple(sites),
        given=count,
    )
    return Planned(plan, fusion.decisions, (lowered.kernel,), 0)


def _scheduled(logical: Kernel, target: Target) -> Kernel:
    """The kernel for a domain of any size, in vectors and tasks."""
    nest = Nest(logical, target)
    flat = peel(nest.kernel.body)[1]
    width, work = nest.width(flat), nest.work(flat)
    task = max(int(TASK_WORK / work) // (4 * width), 1) * 4 * width
    sizes = {e: Var(f"n{k}") for k, e in enumerate(_extents(logical))}
    loops, core = peel(logical.body)
    core, buffers = _of_sizes(core, logical.buffers, sizes)
    extents = [sizes[x.extent] for x in loops]
    body: list[Stmt]
    if target.has_blocks and not all(isinstance(s, (Store, Fail, Let)) for s in core):
        raise NoGenericFormError("loops within an element, or a reduction")
    if target.has_blocks:
        body = elements_in_blocks(loops, extents, core, width)
    elif any(isinstance(s, Reduce) for s in core):
        body = _reduction(loops, extents, core, width, task)
    elif any(not isinstance(s, (Store, Fail, Let)) for s in core):
        raise NoGenericFormError("loops within an element")
    else:
        vectors = _Vectors(loops[-1], core, width, masked=instructions(flat) > ONE_LOOP)
        if len(loops) == 1:
            body = _line(vectors, extents[0], task)
        else:
            body = _rows(loops, extents, task, vectors.over(const(0), extents[-1]))
    return Kernel(logical.name, buffers, tuple(body), tuple(sizes.values()))


def _reduced(logical: Kernel, shared: Shares) -> list[Kernel]:
    """The kernels of a reduction on a target with blocks."""
    sizes = {e: Var(f"n{k}") for k, e in enumerate(_extents(logical))}
    parts = Var("parts")
    loops, core = peel(logical.body)
    core, buffers = _of_sizes(core, logical.buffers, sizes)
    extents = [sizes[x.extent] for x in loops]
    reduce = next((s for s in core if isinstance(s, Reduce)), None)
    if reduce is None or not all(isinstance(s, (Store, Let, Reduce)) for s in core):
        raise NoGenericFormError("more than a reduction")
    ((_, n),) = reduce.domain
    assert isinstance(n, Expr)
    made = Reductions(loops, extents, core, n, shared, parts)
    found: list[Kernel] = []
    for k, body in enumerate(made.kernels()):
        used = _named(tuple(body))
        known = tuple(b for b in (*buffers, *made.scratch) if b in used)
        name = logical.name if not k else f"{logical.name}_join"
        found.append(Kernel(name, known, tuple(body), (*sizes.values(), parts)))
    return found


def _named(body: Body) -> set[Buffer]:
    """The buffers that statements load from or store to."""
    roots = [e for s in walk(body) for e in expressions(s)]
    found = {n.buffer for n in postorder(roots) if isinstance(n, Load)}
    return found | {s.buffer for s in walk(body) if isinstance(s, Store)}


def _streamed(kernel: Kernel) -> Kernel:
    """The kernel with outputs that pass by the caches."""
    large = {
        b: replace(b, streamed=True, alignment=ALIGNMENT) for b in kernel.buffers if b.role == "out"
    }
    rewriter = Rewriter(buffers=lambda b: large.get(b, b))
    buffers = tuple(large.get(b, b) for b in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))


def _extents(kernel: Kernel) -> list[int]:
    """The stand-ins that occur, in their order."""
    found = {d for b in kernel.buffers for d in b.shape}
    return [e for e in EXTENTS if e in found]


def _of_sizes(
    core: Body, buffers: Sequence[Buffer], sizes: Mapping[int, Var]
) -> tuple[Body, tuple[Buffer, ...]]:
    """Statements and buffers with sizes in place of the extents that stand for them."""

    def sized(s: Stmt) -> Stmt:
        if not isinstance(s, Reduce):
            return s
        ((var, extent),) = s.domain
        assert isinstance(extent, int)
        return replace(s, domain=((var, sizes[extent]),))

    known: dict[Buffer, Buffer] = {}
    for b in buffers:
        shape: list[Extent] = []
        for d in b.shape:
            assert isinstance(d, int)
            shape.append(sizes.get(d, d))
        known[b] = replace(b, shape=tuple(shape))
    body = Rewriter(buffers=lambda b: known[b]).body(core)
    return tuple(map(sized, body)), tuple(known[b] for b in buffers)


class _Vectors:
    """Statements of one element, in vectors along the variable of a loop. masked: one loop, whose
    last vector is masked; else whole vectors, then a masked one for the rest."""

    def __init__(self, loop: Loop, core: Body, width: int, *, masked: bool) -> None:
        self.var = loop.var
        self.core = core
        self.width = width
        self.masked = masked

    def over(self, first: Expr, count: Expr) -> list[Stmt]:
        """Statements for `count` elements from `first` on."""
        width, v, lane = self.width, Var("v"), Var("lane")
        place = v * width + lane
        if self.masked:
            inside = If(place < count, self._at(first + place))
            turns = apply("quotient", count + (width - 1), const(width))
            return [For(v, turns, Kind.SERIAL, (For(lane, width, Kind.VECTOR, (inside,)),))]
        whole = apply("quotient", count, const(width))
        step = For(lane, width, Kind.VECTOR, self._at(first + v * width + lane))
        last = Var("lane")
        behind = self._at(first + whole * width + last)
        rest = apply("remainder", count, const(width))
        tail = For(last, width, Kind.VECTOR, (If(last < rest, behind),))
        return [For(v, whole, Kind.SERIAL, (step,)), If(rest > 0, (tail,))]

    def _at(self, place: Expr) -> Body:
        return renamed(self.core, {self.var: place})


def _line(vectors: _Vectors, n: Expr, task: int) -> list[Stmt]:
    """One axis of n elements in tasks of so many."""
    number = Var("task")
    first = number * task
    body = vectors.over(first, minimum(const(task), n - first))
    tasks = apply("quotient", n + (task - 1), const(task))
    return [For(number, tasks, Kind.PARALLEL, tuple(body))]


def _rows(
    loops: Sequence[Loop], extents: Sequence[Expr], task: int, body: Sequence[Stmt]
) -> list[Stmt]:
    """`body` for all positions of `loops` but the last, as many of them in a task as have about
    `task` elements, if each has as many as the last extent."""
    *outer, inner = extents
    rows = outer[0]
    for n in outer[1:]:
        rows = rows * n
    each = maximum(apply("quotient", const(task), maximum(inner, 1)), 1)
    number, r, row = Var("task"), Var("r"), Var("row")
    binding: list[Stmt] = [Let(row, number * each + r)]
    rest: Expr = row
    for loop, n in zip(reversed(loops[1:-1]), reversed(outer[1:]), strict=True):
        binding.append(Let(loop.var, apply("remainder", rest, n)))
        rest = apply("quotient", rest, n)
    binding.append(Let(loops[0].var, rest))
    these = For(r, minimum(each, rows - number * each), Kind.SERIAL, (*binding, *body))
    tasks = apply("quotient", rows + (each - 1), each)
    return [For(number, tasks, Kind.PARALLEL, (these,))]


def _reduction(
    loops: Sequence[Loop], extents: Sequence[Expr], core: Body, width: int, task: int
) -> list[Stmt]:
    """Rows of (outer, n), each by itself, or columns of (outer, n, inner), side by side."""
    (reduce,) = [s for s in core if isinstance(s, Reduce)]
    ((_, n),) = reduce.domain
    assert isinstance(n, Expr)
    after = tuple(s for s in core if s is not reduce)
    own = Locals()
    if len(loops) == 1:
        body = own.around([*reduce_row(reduce, n, width, own), *after])
        return _rows([loops[0], loops[0]], [extents[0], n], task, body)
    outer, inner = loops
    tile, lane = Var("tile"), Var("lane")
    place = tile * width + lane
    body = own.around([*reduce_column(reduce, n, own), *after])
    inside = If(place < extents[1], renamed(tuple(body), {inner.var: place}))
    vector = For(lane, width, Kind.VECTOR, (inside,))
    tiles = apply("quotient", extents[1] + (width - 1), const(width))
    columns = Loop(tile, inner.extent)
    return _rows([outer, columns, columns], [extents[0], tiles, n * width], task, [vector])
