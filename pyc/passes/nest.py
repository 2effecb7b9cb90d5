"""What a scheduler asks of a logical kernel: its loops, strides, work and regions.

Takes a kernel of `lower` (or one that an op builds), makes every buffer access flat, so that
contiguity is a matter of factors, and answers questions about statements: which loops enclose them,
how far neighbours lie apart along a loop, how wide a vector may be, how much work an element is,
whether loops walk memory as one. `schedule` and `schedule_blocks` decide what to make of it.

Rewrites here keep the meaning and the kinds of loops: loops that every access walks as one become
one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from math import prod

from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir.defined import usual_size, widest_in
from pyc.ir.expr import Apply, Const, Expr, Load, Var, const, postorder
from pyc.ir.loops import (
    Alloc,
    Body,
    Buffer,
    Cumulate,
    Fail,
    For,
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
from pyc.ir.order import LANES
from pyc.ir.plan import ALIGNMENT, STREAMED_BYTES
from pyc.ir.target import Target
from pyc.ir.visit import Rewriter
from pyc.passes.index import Simplifier
from pyc.reasons import ON_HOST, Reason

LOOP_WORK = 64
"""Iterations that a loop of one element is taken to run."""


@frozen()
class Stage:
    """One launch. The kernel's first buffers are those at `positions` of the logical kernel, the
    others scratch buffers, which stages of one kernel share by identity. reason, details: why it
    runs where it does, if there is something to say; a stage of the host keeps its logical kernel.
    """

    kernel: Kernel
    positions: tuple[int, ...]
    reason: Reason | None = None
    details: str = ""

    @property
    def host(self) -> bool:
        """Whether the host runs it, on a target that is a device."""
        return self.reason in ON_HOST


@frozen()
class Loop:
    """A loop of a perfect nest."""

    var: Var
    extent: int


# --- statements -----------------------------------------------------------------------------------


def flatten(kernel: Kernel, simplify: Simplifier) -> Kernel:
    """The kernel with every buffer one-dimensional and every index canonical."""
    for s in walk(kernel.body):
        if isinstance(s, (For, Cumulate)) and isinstance(s.extent, int):
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


def peel(body: Body) -> tuple[list[Loop], Body]:
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


def unwrap(body: Body) -> tuple[list[Buffer], Body]:
    """The local buffers around `body`, and what is inside."""
    allocated: list[Buffer] = []
    while len(body) == 1 and isinstance(body[0], Alloc):
        allocated.append(body[0].buffer)
        body = body[0].body
    return allocated, body


def around(buffers: Sequence[Buffer], body: Sequence[Stmt]) -> list[Stmt]:
    """`body` with local buffers, the first one outermost."""
    inner: Body = tuple(body)
    for b in reversed(buffers):
        inner = (Alloc(b, inner),)
    return list(inner)


def is_element_loop(s: Stmt) -> bool:
    """Whether a statement is a loop that one element of the domain runs by itself."""
    ordered = isinstance(s, While) or (isinstance(s, For) and s.kind is Kind.SERIAL)
    return ordered and all(isinstance(x, (Store, Fail, Let)) for x in s.body)  # type: ignore[attr-defined]


def is_loop_program(core: Body) -> bool:
    """Whether the core is what `lower` makes: reductions, bindings, stores, row loops."""
    for s in core:
        if is_element_loop(s):
            continue
        if isinstance(s, For):
            loops, inner = peel((s,))
            if not loops or not all(isinstance(x, (Store, Fail, Let)) for x in inner):
                return False
        elif isinstance(s, Reduce):
            if not all(isinstance(e, int) for _, e in s.domain):
                return False
        elif not isinstance(s, (Store, Fail, Let)):
            return False
    return True


def has_regions(core: Body) -> bool:
    """Whether a loop program reduces or walks a row: a row program, not a nest of elements."""
    return any(isinstance(s, (Reduce, For)) and not is_element_loop(s) for s in core)


def is_in_place(body: Sequence[Stmt]) -> bool:
    """Whether statements load from memory that they store to: to do them again may read what they
    stored."""
    stored = {s.buffer for s in walk(tuple(body)) if isinstance(s, Store)}
    return any(
        isinstance(e, Load) and e.buffer in stored and e.buffer.space is Space.GLOBAL
        for e in postorder(roots(body))
    )


def reads_elsewhere(body: Sequence[Stmt]) -> bool:
    """Whether statements load from memory that they store to, other than where they store it: the
    order of their positions decides what is read."""
    stores = [s for s in walk(tuple(body)) if isinstance(s, Store)]
    written: dict[Buffer, list[Sequence[Expr]]] = {}
    for s in stores:
        written.setdefault(s.buffer, []).append(s.index)
    return any(
        isinstance(e, Load)
        and e.buffer in written
        and e.buffer.space is Space.GLOBAL
        and not all(_same(e.index, at) for at in written[e.buffer])
        for e in postorder(roots(body))
    )


def _same(a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    return all(x is y for x, y in zip(a, b, strict=True))


def row_length(s: Stmt) -> int | None:
    """Elements of the row that a region walks; None for a statement of one element."""
    if isinstance(s, Reduce):
        return prod(int(e) for _, e in s.domain if isinstance(e, int))
    if isinstance(s, For):
        return prod(x.extent for x in peel((s,))[0])
    return None


def can_split(core: Body) -> bool:
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


def values_of(body: Sequence[Stmt], same: Collection[Var] | None = None) -> list[Expr]:
    """Expressions below what is stored or reduced, index arithmetic and rare work left out.
    same: variables that all lanes have in common; what is made of these alone, or read at a place
    that is, is left out too."""
    found: list[Expr] = []
    stack: list[Expr] = []
    places: list[Var] = []
    for s in walk(tuple(body)):
        if isinstance(s, Store):
            stack.append(s.value)
        elif isinstance(s, (Reduce, Cumulate)):
            stack.extend(s.values)
            places += [v for v, _ in s.domain] if isinstance(s, Reduce) else [s.var]
        elif isinstance(s, Let):
            stack.append(s.value)
        elif isinstance(s, (For, While)):
            stack.extend(e for c in s.carried for e in (c.initial, c.next))
    common = in_common(stack, same, loaded=True) if same is not None else set()
    # A position in fewer bits is computed in these.
    index = in_common(stack, places) if places else set()
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        if e in common:
            continue
        found.append(e)
        if isinstance(e, Apply) and e.name == "cast" and e.args[0] in index:
            continue
        if isinstance(e, Apply) and e.name == "rare_select":
            stack.extend((e.args[0], e.args[2]))  # the rare operand is computed seldom
        elif not isinstance(e, Load):
            stack.extend(e.operands)
    return found


def in_common(roots: Sequence[Expr], same: Collection[Var], *, loaded: bool = False) -> set[Expr]:
    """The expressions that are made of constants and these variables alone. loaded: and of what is
    read at such places."""
    made = (Apply, Load) if loaded else Apply
    found: set[Expr] = set()
    for e in postorder(roots):
        known = isinstance(e, made) and all(x in found for x in e.operands)
        if known or isinstance(e, Const) or any(e is v for v in same):
            found.add(e)
    return found


def in_common_within(body: Body, common: Callable[[Var], bool]) -> set[Var]:
    """The variables that loops of elements and bindings among some statements bind and that are
    equal for all lanes. common: whether one that is bound elsewhere is."""
    made: dict[Var, tuple[Expr, ...]] = {}
    stored: set[Buffer] = set()
    for s in walk(body):
        if isinstance(s, For) and s.kind is Kind.SERIAL:
            made[s.var] = () if isinstance(s.extent, int) else (s.extent,)
        if isinstance(s, (For, While)):
            made |= {c.var: (c.initial, c.next) for c in s.carried}
        elif isinstance(s, Let):
            made[s.var] = (s.value,)
        elif isinstance(s, Store):
            stored.add(s.buffer)

    def differs(e: Expr) -> bool:
        if isinstance(e, Load):
            return e.buffer.space is not Space.GLOBAL or e.buffer in stored
        return isinstance(e, Var) and not (e in found if e in made else common(e))

    found = set(made)
    while apart := {v for v in found if any(map(differs, postorder(made[v])))}:
        found -= apart
    return found


def instructions(body: Sequence[Stmt]) -> int:
    """Instructions of one element: those below what is stored or reduced."""
    return applications(values_of(body))


def applications(values: Iterable[Expr]) -> int:
    """How many of these are instructions."""
    return sum(map(usual_size, values))


def bindings(s: Reduce) -> Body:
    """The values of a reduction as statements, for questions about what they read."""
    return tuple(Let(r, v) for r, v in zip(s.results, s.values, strict=True))


# --- one kernel -----------------------------------------------------------------------------------


class Nest:
    """A kernel in flat form, on a target, with the simplifier that knows its loop variables."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.target = target
        # What vectors load should lie side by side; blocks have loads for each thread.
        self.simplify = Simplifier(joins=not target.has_blocks)
        self.kernel = flatten(kernel, self.simplify)
        self._accesses: dict[Body, list[tuple[Buffer, Expr]]] = {}
        self._values: dict[tuple[Body, Collection[Var] | None], list[Expr]] = {}
        """What was asked of statements: a schedule asks the same several times."""

    def stage(
        self,
        suffix: str,
        body: Sequence[Stmt],
        scratch: Sequence[Buffer] = (),
        *,
        streamed: bool = False,
    ) -> Stage:
        """A launch over the buffers that its body touches; `positions` say which they are.
        streamed: large outputs are written as fast as memory takes them."""
        used = {b for b, _ in self.accesses(body)}
        known = list(enumerate(self.kernel.buffers))
        buffers = [b for _, b in known if b in used] + [b for b in scratch if b in used]
        positions = [k for k, b in known if b in used]
        kernel = replace(
            self.kernel, name=self.kernel.name + suffix, buffers=tuple(buffers), body=tuple(body)
        )
        return Stage(_streamed(kernel) if streamed else kernel, tuple(positions))

    def exchange(self, old: Buffer, new: Buffer) -> None:
        """The kernel has another buffer in the place of one of its own."""
        buffers = tuple(new if b is old else b for b in self.kernel.buffers)
        self.kernel = replace(self.kernel, buffers=buffers)

    # --- work -------------------------------------------------------------------------------------

    def accesses(self, body: Sequence[Stmt]) -> list[tuple[Buffer, Expr]]:
        """`accesses`, found once."""
        key = tuple(body)
        found = self._accesses.get(key)
        if found is None:
            found = self._accesses[key] = accesses(key)
        return found

    def values(self, body: Sequence[Stmt], same: Collection[Var] | None = None) -> list[Expr]:
        """`values_of`, found once."""
        key = tuple(body), None if same is None else tuple(same)
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = values_of(*key)
        return found

    def instructions(self, body: Sequence[Stmt]) -> int:
        """`instructions` of statements whose `values` were found once."""
        return applications(self.values(body))

    def width(self, body: Sequence[Stmt], same: Collection[Var] = ()) -> int:
        """Lanes of a vector for these statements: by the widest element they handle, those aside
        that all lanes have in common, as a scalar argument or the counter of a loop. same:
        variables that they have so."""
        if any(is_element_loop(s) for s in body):
            same = (*same, *in_common_within(tuple(body), lambda v: v in same))
        read = self.accesses(body)
        common = in_common([a for _, a in read], same)
        data = [b.dtype for b, a in read if a not in common]
        values = self.values(body, same)
        sizes = [t.itemsize for t in (*data, *(e.dtype for e in values))]
        sizes += [widest_in(e) for e in values if type(e) is Apply]
        widest = max(sizes, default=8)
        return min(self.target.lanes(widest), LANES)

    def row_width(self, core: Body) -> int:
        """Lanes of a vector along the row of a row program: what is computed once for a row, from
        what its regions give, does not count."""
        regions = [s for s in core if isinstance(s, (Reduce, For))]
        return self.width(regions or core)

    def work(self, body: Sequence[Stmt]) -> float:
        """Work of one element: instructions over the lanes of a vector, and bytes moved."""
        moved = sum(b.dtype.itemsize for b, _ in self.accesses(body) if b.space is Space.GLOBAL)
        once = self.instructions(body) * 4 / self.width(body) + moved
        return once * (LOOP_WORK if any(is_element_loop(s) for s in body) else 1)

    # --- strides ----------------------------------------------------------------------------------

    def factor(self, var: Var, address: Expr) -> int | None:
        """The stride of an address along `var`; None if it is not a fixed one."""
        form = self.simplify.linear(address)
        if any(atom is not var and uses(atom, var) for atom, _ in form.terms):
            return None
        return next((f for atom, f in form.terms if atom is var), 0)

    def contiguous(self, var: Var, body: Sequence[Stmt]) -> bool:
        """Whether some access walks memory along `var`, and most of those that move at all do."""
        strides = [self.factor(var, a) for b, a in self.accesses(body) if b.space is Space.GLOBAL]
        unit = sum(f == 1 for f in strides)
        other = sum(f not in (0, 1) for f in strides)
        return unit > 0 and unit >= other

    def contiguous_rows(self, core: Body) -> bool:
        """Whether the regions of a row walk memory along their last row variable."""
        votes: list[bool] = []
        for s in core:
            if isinstance(s, Reduce) and s.domain:
                lets = bindings(s)
                if any(b.space is Space.GLOBAL for b, _ in accesses(lets)):
                    votes.append(self.contiguous(s.domain[-1][0], lets))
            elif isinstance(s, For):
                loops, inner = peel((s,))
                if any(b.space is Space.GLOBAL for b, _ in accesses(inner)):
                    votes.append(self.contiguous(loops[-1].var, inner))
        return all(votes)

    # --- loops that memory walks as one -----------------------------------------------------------

    def collapse(self, loops: list[Loop], core: Sequence[Stmt]) -> tuple[list[Loop], Body]:
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

    def collapse_rows(self, core: Body) -> Body:
        """Merges the row variables of each region where every access walks them as one."""
        result: list[Stmt] = []
        for s in core:
            if isinstance(s, For):
                loops, inner = peel((s,))
                loops, inner = self.collapse(loops, inner)
                for loop in reversed(loops):
                    inner = (For(loop.var, loop.extent, Kind.PARALLEL, inner),)
                result += inner
            elif isinstance(s, Reduce) and len(s.domain) > 1:
                loops = [Loop(v, int(e)) for v, e in s.domain if isinstance(e, int)]
                loops, lets = self.collapse(loops, bindings(s))
                values = tuple(x.value for x in lets if isinstance(x, Let))
                result.append(
                    replace(s, domain=tuple((x.var, x.extent) for x in loops), values=values)
                )
            else:
                result.append(s)
        return tuple(result)

    def _merge(self, outer: Loop, inner: Loop, body: Body) -> tuple[Loop, Body] | None:
        addresses = dict.fromkeys(a for _, a in self.accesses(body))
        # The place of an element, as a reduction to one has it, is an address too.
        places = [s.value for s in body if isinstance(s, Let) and s.value.dtype is dt.i64]
        known = in_common(places, [outer.var, inner.var])
        addresses.update(dict.fromkeys(e for e in places if e in known))
        for a in addresses:
            form = self.simplify.linear(a)
            factors = dict(form.terms)
            others = [t for t, _ in form.terms if t is not outer.var and t is not inner.var]
            if any(uses(t, outer.var) or uses(t, inner.var) for t in others):
                return None
            if factors.get(outer.var, 0) != factors.get(inner.var, 0) * inner.extent:
                return None
        if _outside_addresses(body, {outer.var, inner.var}, addresses):
            return None
        loop = Loop(
            self.simplify.variable(inner.var.name, outer.extent * inner.extent),
            outer.extent * inner.extent,
        )
        moved = {a: self._merged_address(a, outer.var, inner.var, loop.var) for a in addresses}
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


def _streamed(kernel: Kernel) -> Kernel:
    """The kernel with its large outputs streamed."""
    large = {
        b: replace(b, streamed=True, alignment=ALIGNMENT)
        for b in kernel.buffers
        if b.role == "out" and not b.may_alias and _nbytes(b) >= STREAMED_BYTES
    }
    if not large:
        return kernel
    rewriter = Rewriter(buffers=lambda b: large.get(b, b))
    buffers = tuple(large.get(b, b) for b in kernel.buffers)
    return replace(kernel, buffers=buffers, body=rewriter.body(kernel.body))


def _nbytes(b: Buffer) -> int:
    return prod(d for d in b.shape if isinstance(d, int)) * b.dtype.itemsize


def _outside_addresses(body: Body, variables: set[Var], addresses: Collection[Expr]) -> bool:
    """Whether a variable occurs anywhere but within the given addresses."""
    stack = list(roots(body))
    seen: set[Expr] = set()
    while stack:
        e = stack.pop()
        if e in seen or e in addresses:
            continue
        seen.add(e)
        if isinstance(e, Var) and e in variables:
            return True
        stack.extend(e.operands)
    return False
