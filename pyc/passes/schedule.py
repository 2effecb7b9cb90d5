"""Scheduling for targets without blocks: a logical Kernel becomes loops of kinds.

Takes a kernel of `lower` (or one that an op builds) and returns `Stage`s: scheduled kernels to be
launched in order, over the kernel's buffers and scratch buffers of the stages. Every buffer access
is made flat first, so that contiguity is a matter of factors:

* a nest of independent stores runs over its collapsed domain in vectors along the last loop, cut
  into tasks of `Target.task_bytes`;
* a row program runs along its rows in vectors where the row is contiguous (`AcrossLanes`), else
  with the rows of neighbouring kept positions side by side in a vector (`WithinLane`);
* a long reduction with few kept positions is cut into blocks of chunks, one task each, and a second
  stage joins them;
* anything else (loops with an order) stays as it is.

The choice looks at shapes, types and `Target` facts only: never at how many threads there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Var, apply, children, const, minimum, postorder
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Fail,
    For,
    If,
    Kernel,
    Kind,
    Let,
    Reduce,
    Space,
    Stmt,
    Store,
    While,
    expressions,
    walk,
)
from pyc.ir.order import CHUNK, KEEP, LANES
from pyc.ir.target import Target
from pyc.ir.visit import Rewriter, renamed
from pyc.passes.index import Simplifier
from pyc.passes.reduction import AcrossLanes, Components, Value, WithinLane

SPLIT = 1 << 17
"""Elements of a sequence from which it is cut into blocks, where few are reduced side by side."""
BLOCK = 64
"""Chunks of one block: a power of two."""
TASK_WORK = 200_000
"""Work of one task in instructions and quarter bytes: some 50 us on one core."""
SHORT_ROW = 32
"""Elements of an inner loop below which outer loops are not collapsed into one."""


LOOP_WORK = 64
"""Iterations that a loop of one element is taken to run."""
MOST_CUTS = 6
"""Places at which a loop is cut into pieces at most."""
SEGMENT_LIMIT = 800
"""Instructions that the pieces of a cut loop may add."""
_CUTTING = ("lt", "le", "gt", "ge", "eq", "ne", "minimum", "maximum")
SIDE_VECTORS = 8
"""Vectors of neighbouring kept positions that cheap rows are reduced in at once: each row then
reads some 512 contiguous bytes (measured: three times one vector's speed beyond the caches)."""
SIDE_COST = 8
"""Instructions per element up to which that many vectors fit the registers."""


@frozen()
class Stage:
    """One launch. The kernel's first buffers are those at `positions` of the logical kernel, the
    others scratch buffers, which stages of one kernel share by identity."""

    kernel: Kernel
    positions: tuple[int, ...]


@frozen()
class Loop:
    """A loop of a perfect nest."""

    var: Var
    extent: int


def flatten(kernel: Kernel, simplify: Simplifier) -> Kernel:
    """The kernel with every buffer one-dimensional and every index canonical."""
    for s in walk(kernel.body):
        if isinstance(s, For) and isinstance(s.extent, int):
            simplify.declare(s.var, s.extent)
        elif isinstance(s, Reduce):
            for var, extent in s.domain:
                if isinstance(extent, int):
                    simplify.declare(var, extent)
    flat: dict[Buffer, Buffer] = {}

    def buffers(b: Buffer) -> Buffer:
        if b not in flat:
            constant = all(isinstance(d, int) for d in b.shape)
            size = prod(d for d in b.shape if isinstance(d, int)) if constant else None
            flat[b] = b if size is None else replace(b, shape=(size,))
        return flat[b]

    def index(b: Buffer, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if buffers(b) is b:
            return at
        address: Expr = const(0)
        for extent, e in zip(b.shape, at, strict=True):
            assert isinstance(extent, int)
            address = address * extent + e
        return (simplify(address),)

    rewriter = Rewriter(buffers=buffers, index=index)
    body = rewriter.body(kernel.body)
    return replace(kernel, buffers=tuple(map(buffers, kernel.buffers)), body=body)


def roots(body: Sequence[Stmt]) -> list[Expr]:
    """Every expression root of some statements and the statements within."""
    return [e for s in walk(tuple(body)) for e in expressions(s)]


def accesses(body: Sequence[Stmt]) -> list[tuple[Buffer, Expr]]:
    """Every flat (buffer, address) that is loaded or stored."""
    found: list[tuple[Buffer, Expr]] = []
    for e in postorder(roots(body)):
        if isinstance(e, Load) and len(e.index) == 1:
            found.append((e.buffer, e.index[0]))
    for s in walk(tuple(body)):
        if isinstance(s, Store) and len(s.index) == 1:
            found.append((s.buffer, s.index[0]))
    return found


def uses(e: Expr, var: Var) -> bool:
    """Whether `var` occurs in an expression."""
    return any(x is var for x in postorder([e]))


class _Scheduler:
    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.target = target
        self.simplify = Simplifier()
        self.kernel = flatten(kernel, self.simplify)
        self.locals: list[Buffer] = []
        self._index_only: dict[int, bool] = {}
        self._keep: list[Expr] = []

    def run(self) -> tuple[Stage, ...]:
        loops, core = self._peel(self.kernel.body)
        allocated, core = self._unwrap(core)
        if not self._is_loop_program(core):
            return (Stage(self.kernel, tuple(range(len(self.kernel.buffers)))),)
        if any(x.extent == 0 for x in loops):
            return ()
        if any(isinstance(s, (Reduce, For)) and not self._is_element_loop(s) for s in core):
            return self._row_program(loops, allocated, core)
        loops, core = self._collapse(loops, core)
        return (self._stage("", self._nest(loops, core)),)

    def _stage(self, suffix: str, body: Sequence[Stmt], scratch: Sequence[Buffer] = ()) -> Stage:
        """A launch over the buffers that its body touches; `positions` say which they are."""
        used = {b for b, _ in accesses(body)}
        known = list(enumerate(self.kernel.buffers))
        buffers = [b for _, b in known if b in used] + [b for b in scratch if b in used]
        positions = [k for k, b in known if b in used]
        kernel = replace(
            self.kernel, name=self.kernel.name + suffix, buffers=tuple(buffers), body=tuple(body)
        )
        return Stage(kernel, tuple(positions))

    # --- structure --------------------------------------------------------------------------------

    @staticmethod
    def _peel(body: Body) -> tuple[list[Loop], Body]:
        """The perfect nest of parallel loops outside, and what is inside."""
        loops: list[Loop] = []
        while len(body) == 1 and isinstance(body[0], For) and body[0].kind is Kind.PARALLEL:
            (loop,) = body
            assert isinstance(loop, For)
            if not isinstance(loop.extent, int) or loop.carried:
                break
            loops.append(Loop(loop.var, loop.extent))
            body = loop.body
        return loops, body

    @staticmethod
    def _unwrap(body: Body) -> tuple[list[Buffer], Body]:
        allocated: list[Buffer] = []
        while len(body) == 1 and isinstance(body[0], Alloc):
            allocated.append(body[0].buffer)
            body = body[0].body
        return allocated, body

    def _is_loop_program(self, core: Body) -> bool:
        """Whether the core is what `lower` makes: reductions, bindings, stores, row loops."""
        for s in core:
            if self._is_element_loop(s):
                continue
            if isinstance(s, For):
                loops, inner = self._peel((s,))
                if not loops or not all(isinstance(x, (Store, Fail, Let)) for x in inner):
                    return False
            elif isinstance(s, Reduce):
                if not all(isinstance(e, int) for _, e in s.domain):
                    return False
            elif not isinstance(s, (Store, Fail, Let)):
                return False
        return True

    @staticmethod
    def _is_element_loop(s: Stmt) -> bool:
        """Whether a statement is a loop that one element of the domain runs by itself."""
        ordered = isinstance(s, While) or (isinstance(s, For) and s.kind is Kind.SERIAL)
        return ordered and all(isinstance(x, (Store, Fail, Let)) for x in s.body)  # type: ignore[attr-defined]

    def _collapse(self, loops: list[Loop], core: Sequence[Stmt]) -> tuple[list[Loop], Body]:
        """Merges neighbouring loops that every access walks as one."""
        body = tuple(core)
        position = len(loops) - 1
        while position > 0:
            outer, inner = loops[position - 1], loops[position]
            merged = self._merge(outer, inner, body)
            if merged is not None:
                loop, body = merged
                loops = [*loops[: position - 1], loop, *loops[position + 1 :]]
            position -= 1
        return loops, body

    def _merge(self, outer: Loop, inner: Loop, body: Body) -> tuple[Loop, Body] | None:
        addresses = {id(a): a for _, a in accesses(body)}
        for a in addresses.values():
            form = self.simplify.linear(a)
            factors = {id(atom): f for atom, f in form.terms}
            others = [t for t, _ in form.terms if t is not outer.var and t is not inner.var]
            if any(uses(t, outer.var) or uses(t, inner.var) for t in others):
                return None
            if factors.get(id(outer.var), 0) != factors.get(id(inner.var), 0) * inner.extent:
                return None
        if self._outside_addresses(body, {outer.var, inner.var}, set(addresses)):
            return None
        loop = Loop(
            self.simplify.variable(inner.var.name, outer.extent * inner.extent),
            outer.extent * inner.extent,
        )
        moved = {
            id(a): self._merged_address(a, outer.var, inner.var, loop.var)
            for a in addresses.values()
        }
        rewriter = Rewriter(index=lambda _, at: at)
        rewriter._done.update(moved)
        return loop, rewriter.body(body)

    def _merged_address(self, address: Expr, outer: Var, inner: Var, var: Var) -> Expr:
        form = self.simplify.linear(address)
        terms = [(var if atom is inner else atom, f) for atom, f in form.terms if atom is not outer]
        total: Expr = const(form.constant)
        for atom, factor in terms:
            total = total + atom * factor
        return self.simplify(total)

    @staticmethod
    def _outside_addresses(body: Body, variables: set[Var], addresses: set[int]) -> bool:
        """Whether a variable occurs anywhere but within the given addresses."""
        stack = list(roots(body))
        seen: set[int] = set()
        while stack:
            e = stack.pop()
            if id(e) in addresses or id(e) in seen:
                continue
            seen.add(id(e))
            if isinstance(e, Var) and e in variables:
                return True
            stack.extend(children(e))
        return False

    # --- element types and work -------------------------------------------------------------------

    def _width(self, body: Sequence[Stmt]) -> int:
        """Lanes of a vector for these statements: by the widest element they handle."""
        widest = 1
        data = [b.dtype for b, _ in accesses(body)]
        data += [e.dtype for e in self._values(body)]
        widest = max((t.itemsize for t in data), default=8)
        return min(self.target.lanes(widest), LANES)

    @staticmethod
    def _values(body: Sequence[Stmt]) -> list[Expr]:
        """Expressions below what is stored or reduced, index arithmetic and rare work left out."""
        found: list[Expr] = []
        stack: list[Expr] = []
        for s in walk(tuple(body)):
            if isinstance(s, Store):
                stack.append(s.value)
            elif isinstance(s, Reduce):
                stack.extend(s.values)
            elif isinstance(s, Let):
                stack.append(s.value)
            elif isinstance(s, (For, While)):
                stack.extend(e for c in s.carried for e in (c.initial, c.next))
        seen: set[int] = set()
        while stack:
            e = stack.pop()
            if id(e) in seen:
                continue
            seen.add(id(e))
            found.append(e)
            if isinstance(e, Apply) and e.name == "rare_select":
                stack.extend((e.args[0], e.args[2]))  # the rare operand is computed seldom
            elif not isinstance(e, Load):
                stack.extend(children(e))
        return found

    def _work(self, body: Sequence[Stmt]) -> float:
        """Work of one element: instructions over the lanes of a vector, and bytes moved."""
        instructions = sum(isinstance(e, Apply) for e in self._values(body))
        moved = sum(b.dtype.itemsize for b, _ in accesses(body) if b.space is Space.GLOBAL)
        once = instructions * 4 / self._width(body) + moved
        return once * (LOOP_WORK if any(self._is_element_loop(s) for s in body) else 1)

    # --- pointwise nests --------------------------------------------------------------------------

    def _nest(self, loops: list[Loop], core: Body) -> list[Stmt]:
        if not loops:
            return list(core)
        inner = loops[-1]
        width = self._width(core)
        total = prod(x.extent for x in loops)
        parallel = self._work(core) * total > 2 * TASK_WORK
        if len(loops) == 1:
            return self._flat(inner, core, width, parallel)
        vectors = self._vectors(inner, inner.extent, core, width)
        if inner.extent < SHORT_ROW:
            return self._wrap(loops[:-1], vectors, parallel=parallel)
        return self._rows(loops[:-1], vectors, parallel)

    def _flat(self, loop: Loop, core: Body, width: int, parallel: bool) -> list[Stmt]:
        """One loop: in tasks of whole vectors, or in one piece."""
        if not parallel:
            return self._vectors(loop, loop.extent, core, width)
        size = max(int(TASK_WORK / self._work(core)) // (4 * width), 1) * 4 * width
        tasks = -(-loop.extent // size)
        task = Var("task")
        limit: int | Expr = size
        if loop.extent % size:
            limit = minimum(const(size), const(loop.extent) - task * size)
        body = self._vectors(loop, limit, core, width, first=task * size)
        return [For(task, tasks, Kind.PARALLEL, tuple(body))]

    def _vectors(
        self,
        loop: Loop,
        extent: int | Expr,
        core: Body,
        width: int,
        first: Expr | None = None,
    ) -> list[Stmt]:
        """`core` for first <= var < first + extent: whole vectors, then a masked one."""
        start = first if first is not None else const(0)
        if isinstance(extent, int) and first is None:
            pieces = self._segments(loop, core)
            if len(pieces) > 1:
                return [
                    s
                    for piece, inside in pieces
                    for s in self._vectors(piece, piece.extent, inside, width, const(0))
                ]
        if isinstance(extent, int):
            if extent == 1:
                return list(self._at(loop.var, start, core))
            width = min(width, 1 << (extent - 1).bit_length())
        count: int | Expr
        rest: int | Expr
        if isinstance(extent, int):
            count, rest = divmod(extent, width)
        else:
            count = apply("quotient", extent, const(width))
            rest = apply("remainder", extent, const(width))
        body: list[Stmt] = []
        if not isinstance(count, int) or count > 1:
            v, lane = Var("v"), Var("lane")
            inner = self._at(loop.var, start + v * width + lane, core)
            vector = For(lane, width, Kind.VECTOR, inner)
            body.append(For(v, count, Kind.SERIAL, (vector,)))
        elif count == 1:
            lane = Var("lane")
            body.append(For(lane, width, Kind.VECTOR, self._at(loop.var, start + lane, core)))
        if isinstance(rest, int) and rest == 0:
            return body
        lane = Var("lane")
        inner = self._at(
            loop.var,
            start + count * width + lane
            if not isinstance(count, int)
            else start + (lane + count * width),
            core,
        )
        vector = For(lane, width, Kind.VECTOR, (If(lane < rest, inner),))
        body.append(vector if isinstance(rest, int) else If(rest > 0, (vector,)))
        return body

    def _segments(self, loop: Loop, core: Body) -> list[tuple[Loop, Body]]:
        """The loop cut where comparisons of its variable with constants change, as concatenations,
        pads and shifts have them: within a piece they are decided, so that what was a guarded,
        clamped access is a contiguous one."""
        cuts = self._cuts(loop, core)
        if not cuts:
            return [(loop, core)]
        if len(cuts) * sum(isinstance(e, Apply) for e in self._values(core)) > SEGMENT_LIMIT:
            return [(loop, core)]
        pieces = []
        for first, last in pairwise([0, *cuts, loop.extent]):
            var = self.simplify.variable(loop.var.name, last - first)
            inside = Rewriter(
                expr=self._decide, variables={loop.var: var + first}, index=self._simpler
            ).body(core)
            pieces.append((Loop(var, last - first), inside))
        return pieces

    def _cuts(self, loop: Loop, core: Body) -> list[int]:
        points: set[int] = set()
        for e in postorder(roots(core)):
            if not isinstance(e, Apply) or e.name not in _CUTTING or not self._is_index(e):
                continue
            if not e.args[0].dtype.is_integer:
                continue
            form = self.simplify.linear(e.args[0] - e.args[1])
            if len(form.terms) == 1 and form.terms[0][0] is loop.var:
                at = -form.constant / form.terms[0][1]
                points.update((int(at // 1), int(at // 1) + 1))
        inside = sorted(p for p in points if 0 < p < loop.extent)
        return inside if len(inside) <= MOST_CUTS else []

    def _is_index(self, e: Expr) -> bool:
        """Whether an expression is index arithmetic: over loop variables and constants only, for
        which there is no overflow (data may overflow and wraps)."""
        known = self._index_only.get(id(e))
        if known is None:
            if isinstance(e, (Const, Var)):
                known = e.dtype is dt.i64
            elif isinstance(e, Apply):
                known = e.dtype in (dt.i64, dt.b1) and all(map(self._is_index, e.args))
            else:
                known = False
            self._index_only[id(e)] = known
            self._keep.append(e)
        return known

    def _decide(self, e: Expr) -> Expr:
        if isinstance(e, Apply) and e.name == "select" and isinstance(e.args[0], Const):
            return e.args[1] if e.args[0].value else e.args[2]
        if isinstance(e, Apply) and self._is_index(e):
            return self.simplify(e)
        return e

    def _simpler(self, _: Buffer, index: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.simplify(e) if self._is_index(e) else e for e in index)

    def _at(self, var: Var, value: Expr, core: Body) -> Body:
        """`core` with the loop variable replaced, its own bindings renamed."""
        return renamed(core, {var: value})

    def _wrap(self, loops: Sequence[Loop], body: Sequence[Stmt], *, parallel: bool) -> list[Stmt]:
        """Loops around `body`, the outermost one parallel if there is work for tasks."""
        inner: Body = tuple(body)
        for depth, loop in reversed(list(enumerate(loops))):
            kind = Kind.PARALLEL if depth == 0 and parallel else Kind.SERIAL
            inner = (For(loop.var, loop.extent, kind, inner),)
        return list(inner)

    def _rows(self, loops: Sequence[Loop], body: Sequence[Stmt], parallel: bool) -> list[Stmt]:
        """Outer loops as one parallel loop over their product, so that tasks come out even."""
        if len(loops) <= 1 or not parallel:
            return self._wrap(loops, body, parallel=parallel)
        row = Var("row")
        binding: list[Stmt] = []
        rest: Expr = row
        for loop in reversed(loops[1:]):
            binding.append(Let(loop.var, apply("remainder", rest, const(loop.extent))))
            rest = apply("quotient", rest, const(loop.extent))
        binding.append(Let(loops[0].var, rest))
        total = prod(x.extent for x in loops)
        return [For(row, total, Kind.PARALLEL, (*binding, *body))]

    # --- row programs -----------------------------------------------------------------------------

    def _row_program(
        self, loops: list[Loop], allocated: list[Buffer], core: Body
    ) -> tuple[Stage, ...]:
        core = self._collapse_rows(core)
        kept = prod(x.extent for x in loops)
        row = max(
            [
                prod(int(e) for _, e in s.domain if isinstance(e, int))
                for s in core
                if isinstance(s, Reduce)
            ],
            default=1,
        )
        along_row = self._contiguous_rows(core)
        side_by_side = loops and self._contiguous(loops[-1].var, core)
        self.locals = list(allocated)
        parallel = self._work(core) * kept * row > 2 * TASK_WORK
        if side_by_side and (not along_row or row < 16) and loops[-1].extent > 1:
            return (self._stage("", self._side_by_side(loops, core, parallel)),)
        if row >= SPLIT and kept < 64 and self._can_split(core):
            return self._split(loops, core, row)
        width = self._width(core)
        body = self._allocated(self._along_rows(core, width))
        if kept > 1 and parallel and kept < 8 and len(loops) == 1:
            return (self._stage("", self._wrap(loops, body, parallel=True)),)
        return (self._stage("", self._rows(loops, body, parallel)),)

    def _allocated(self, body: Sequence[Stmt]) -> list[Stmt]:
        inner: Body = tuple(body)
        for b in reversed(self.locals):
            inner = (Alloc(b, inner),)
        return list(inner)

    def _allocate(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Buffer:
        buffer = Buffer(name, dtype, shape, Space.STACK, alignment=64)
        self.locals.append(buffer)
        return buffer

    def _collapse_rows(self, core: Body) -> Body:
        """Merges the row variables of each region where every access walks them as one."""
        result: list[Stmt] = []
        for s in core:
            if isinstance(s, For):
                loops, inner = self._peel((s,))
                loops, inner = self._collapse(loops, inner)
                for loop in reversed(loops):
                    inner = (For(loop.var, loop.extent, Kind.PARALLEL, inner),)
                result += inner
            elif isinstance(s, Reduce) and len(s.domain) > 1:
                loops = [Loop(v, int(e)) for v, e in s.domain if isinstance(e, int)]
                lets: Body = tuple(Let(r, v) for r, v in zip(s.results, s.values, strict=True))
                loops, lets = self._collapse(loops, lets)
                values = tuple(x.value for x in lets if isinstance(x, Let))
                result.append(
                    replace(s, domain=tuple((x.var, x.extent) for x in loops), values=values)
                )
            else:
                result.append(s)
        return tuple(result)

    def _factor(self, var: Var, address: Expr) -> int | None:
        """The stride of an address along `var`; None if it is not a fixed one."""
        form = self.simplify.linear(address)
        if any(atom is not var and uses(atom, var) for atom, _ in form.terms):
            return None
        return next((f for atom, f in form.terms if atom is var), 0)

    def _contiguous(self, var: Var, body: Sequence[Stmt]) -> bool:
        """Whether some access walks memory along `var`, and most of those that move at all do."""
        strides = [self._factor(var, a) for b, a in accesses(body) if b.space is Space.GLOBAL]
        unit = sum(f == 1 for f in strides)
        other = sum(f not in (0, 1) for f in strides)
        return unit > 0 and unit >= other

    def _contiguous_rows(self, core: Body) -> bool:
        """Whether the regions of a row walk memory along their last row variable."""
        votes: list[bool] = []
        for s in core:
            if isinstance(s, Reduce) and s.domain:
                lets = tuple(Let(r, v) for r, v in zip(s.results, s.values, strict=True))
                if any(b.space is Space.GLOBAL for b, _ in accesses(lets)):
                    votes.append(self._contiguous(s.domain[-1][0], lets))
            elif isinstance(s, For):
                loops, inner = self._peel((s,))
                if any(b.space is Space.GLOBAL for b, _ in accesses(inner)):
                    votes.append(self._contiguous(loops[-1].var, inner))
        return all(votes)

    def _sequence(self, s: Reduce) -> tuple[int, Value]:
        """The length of a reduction's sequence, and its values by position."""
        n = prod(int(e) for _, e in s.domain if isinstance(e, int))
        if not s.domain:
            return 1, lambda _: s.values

        def value(position: Expr) -> Components:
            binding: dict[Var, Expr] = {}
            rest = position
            for var, extent in reversed(s.domain[1:]):
                binding[var] = apply("remainder", rest, const(extent))
                rest = apply("quotient", rest, const(extent))
            binding[s.domain[0][0]] = rest
            return Rewriter(variables=binding).exprs(s.values)

        return n, value

    def _along_rows(self, core: Body, width: int) -> list[Stmt]:
        body: list[Stmt] = []
        for s in core:
            if isinstance(s, Reduce):
                n, value = self._sequence(s)
                types = [r.dtype for r in s.results]
                lanes = AcrossLanes(types, s.monoid, self._allocate, width)
                body += lanes.reduce(s.results, value, n)
            elif isinstance(s, For):
                loops, inner = self._peel((s,))
                vectors = self._vectors(loops[-1], loops[-1].extent, inner, width)
                body += self._wrap(loops[:-1], vectors, parallel=False)
            else:
                body.append(s)
        return body

    def _within_lanes(self, core: Body) -> list[Stmt]:
        body: list[Stmt] = []
        for s in core:
            if isinstance(s, Reduce):
                n, value = self._sequence(s)
                types = [r.dtype for r in s.results]
                body += WithinLane(types, s.monoid, self._allocate).reduce(s.results, value, n)
            elif isinstance(s, For):
                loops, inner = self._peel((s,))
                body += self._wrap(loops, inner, parallel=False)
            else:
                body.append(s)
        return body

    def _side_by_side(self, loops: list[Loop], core: Body, parallel: bool) -> list[Stmt]:
        """Neighbouring kept positions in the lanes of a vector, each with its own row."""
        inner = loops[-1]
        instructions = sum(isinstance(e, Apply) for e in self._values(core))
        vectors = SIDE_VECTORS if instructions <= SIDE_COST else 1
        width = min(self._width(core) * vectors, 1 << (inner.extent - 1).bit_length())
        tiles = -(-inner.extent // width)
        tile, lane = self.simplify.variable("tile", tiles), Var("lane")
        body = self._allocated(self._within_lanes(core))
        placed: Body = (Let(inner.var, tile * width + lane), *body)
        if inner.extent % width:
            here = Var(inner.var.name)
            inside = Rewriter(variables={inner.var: here}).body(tuple(body))
            position = tile * width + lane
            placed = (If(position < inner.extent, (Let(here, position), *inside)),)
        vector = For(lane, width, Kind.VECTOR, placed)
        return self._rows([*loops[:-1], Loop(tile, tiles)], [vector], parallel)

    # --- long reductions --------------------------------------------------------------------------

    @staticmethod
    def _can_split(core: Body) -> bool:
        """Whether reductions do not depend on each other and all else follows them."""
        results = {r for s in core if isinstance(s, Reduce) for r in s.results}
        done = False
        for s in core:
            if isinstance(s, Reduce):
                if done or any(e in results for e in postorder(s.values) if isinstance(e, Var)):
                    return False
            elif isinstance(s, For):
                return False
            else:
                done = True
        return True

    def _split(self, loops: list[Loop], core: Body, row: int) -> tuple[Stage, ...]:
        width = self._width(core)
        chunks = -(-row // CHUNK)
        blocks = -(-chunks // BLOCK)
        reduces = [s for s in core if isinstance(s, Reduce)]
        kept = prod(x.extent for x in loops)
        scratch: list[list[Buffer]] = []
        first: list[Stmt] = []
        block = self.simplify.variable("block", blocks)
        position: Expr = const(0)
        for loop in loops:
            position = position * loop.extent + loop.var
        count: int | Expr = BLOCK
        if chunks % BLOCK:
            count = minimum(const(BLOCK), const(chunks) - block * BLOCK)
        lanes_of: list[AcrossLanes] = []
        for number, s in enumerate(reduces):
            n, value = self._sequence(s)
            types = [r.dtype for r in s.results]
            across = AcrossLanes(types, s.monoid, self._allocate, width)
            lanes_of.append(across)
            lanes = across.buffers("lanes", KEEP)
            held = [
                Buffer(f"part{number}_{k}", t, (kept * blocks * KEEP,), role="inout", alignment=64)
                for k, t in enumerate(types)
            ]
            scratch.append(held)
            first += across.block(lanes, value, block * BLOCK, count, n)
            start = (position * blocks + block) * KEEP
            lane = Var("l")
            copies = [
                Store(h, (start + lane,), Load(b, (lane,)))
                for h, b in zip(held, lanes, strict=True)
            ]
            first += self._vectors(Loop(lane, KEEP), KEEP, tuple(copies), across.width)
        tasks = self._rows([*loops, Loop(block, blocks)], self._allocated(first), parallel=True)
        everything = [b for held in scratch for b in held]
        one = self._stage("_blocks", tasks, everything)
        self.locals = []
        second: list[Stmt] = []
        for s, across, held in zip(reduces, lanes_of, scratch, strict=True):
            joined = across.buffers("total", KEEP)
            start = position * (blocks * KEEP)

            def vector(k: Expr, held: list[Buffer] = held, start: Expr = start) -> Components:
                return tuple(Load(b, (start + k,)) for b in held)

            second += across.join(joined, vector, blocks)
            second += across.finish(s.results, joined, KEEP)
        second += [s for s in core if not isinstance(s, Reduce)]
        two = self._stage(
            "_join", self._wrap(loops, self._allocated(second), parallel=False), everything
        )
        return (one, two)


def schedule(kernel: Kernel, target: Target) -> tuple[Stage, ...]:
    """The launches that do what a logical kernel says, on a target without blocks."""
    return _Scheduler(kernel, target).run()
