"""The verifier of Kernels: passes run it between each other in debug mode, tests always.

Takes a Kernel, returns nothing, or raises `VerificationError` that names the statement, with the
printed kernel as an exception note. Checked:

* variables and buffers are bound once, above their uses; expressions have the types that the
  instruction table gives; indices are i64 and have the buffer's rank;
* loops nest as `loops.py` says: grid outermost, threads in them, constant extents where lanes are
  made, values carried only through serial and unrolled loops, `Reduce` and `Cumulate` only in
  logical kernels;
* blocks of a cluster stand inside of one grid loop, store to their own part of what they share, and
  use neither roles nor phased barriers, asynchronous copies or tile steps;
* inputs are never stored to; private buffers of a block are allocated inside its threads, shared
  ones outside; what a block does together stands in its threads, outside of vector loops;
* barriers, tile steps and shuffles do not stand under a condition that varies between the threads
  or lanes they take: what varies is found by a fixpoint over the values;
* no index is out of range for certain: either all its values are, or one that is surely reached
  (an index such as `16 * i + lane` outside of any condition takes its extremes).

What depends on values (races, phases, an index under a condition) is `simulate`'s to find.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyc.errors import VerificationError
from pyc.frozen import frozen, replace
from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, postorder
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.integer_range import Range, full_range, range_of
from pyc.ir.loops import Body, Buffer, Extent, Kernel, Kind, Space, Stmt
from pyc.ir.order import MONOIDS
from pyc.ir.text_kernel import print_kernel, print_statements
from pyc.ir.variation import LANES, PRIVATE, Variation

WARP = 32
MAX_GRID = 3

_THREADS = (Kind.WARP, Kind.THREAD)
_TOGETHER = (Kind.CLUSTER, Kind.GROUP)
_CONSTANT_EXTENT = (Kind.UNROLL, *_TOGETHER, *LANES)
_REPEATED = (Kind.SERIAL, Kind.UNROLL, Kind.VECTOR)
_SIZE_LIMIT = 1 << 62


def verify(kernel: Kernel, *, scheduled: bool = False) -> None:
    """Returns if `kernel` keeps every invariant of its level; VerificationError says which fails.

    scheduled: the kernel comes after `passes/schedule`, so that a `Reduce` is left over.
    """
    try:
        _Verifier(kernel, scheduled).run()
    except _Broken as broken:
        where = "its parameters"
        if broken.statement is not None:
            where = print_statements(kernel).get(broken.statement, "?")
        error = VerificationError(f"kernel {kernel.name}: {broken.message}\n  at: {where}")
        error.add_note(print_kernel(kernel))
        raise error from None


class _Broken(Exception):
    """An invariant that fails, and the statement."""

    def __init__(self, statement: Stmt | None, message: str) -> None:
        super().__init__(message)
        self.statement = statement
        self.message = message


@frozen()
class _Around:
    """What encloses a statement: its loops, outermost first.

    conditional: it may not be executed; dead: it surely is not; varying: the lane variables that
    the conditions above it depend on; role: the innermost; grid_ended: no grid loop may follow.
    """

    loops: tuple[lo.For, ...] = ()
    conditional: bool = False
    dead: bool = False
    varying: frozenset[Var] = frozenset()
    role: lo.Role | None = None
    grid_ended: bool = False

    def kinds(self) -> tuple[Kind, ...]:
        return tuple(loop.kind for loop in self.loops)

    def in_threads(self) -> bool:
        return Kind.THREAD in self.kinds()


class _Verifier:
    """Verifies one kernel; recursion is over nesting of statements only."""

    def __init__(self, kernel: Kernel, scheduled: bool) -> None:
        self.kernel = kernel
        self.scheduled = scheduled
        self._bound: set[Var] = set()
        self._visible: set[Var] = set()
        self._made: set[Buffer] = set()
        self._known: set[Buffer] = set()
        self._ranges: dict[Var, Range] = {}
        self._phased = {p.buffer: p.arrivals for p in kernel.phased}
        self._roles: dict[str, tuple[int, int]] = {}
        statements = list(lo.walk(kernel.body))
        self._has_threads = any(isinstance(s, lo.For) and s.kind is Kind.THREAD for s in statements)
        self._grids = any(isinstance(s, lo.For) and s.kind is Kind.GRID for s in statements)
        self._lane_extents: dict[Kind, int] = {}
        self._blocks = [s for s in statements if isinstance(s, lo.For) and s.kind in _TOGETHER]
        self._scopes = tuple(s.kind.value for s in self._blocks)
        self._accumulators = {s.accumulators for s in statements if isinstance(s, lo.TileMultiply)}
        for s in statements:
            if isinstance(s, lo.If) and s.role is not None:
                span = (s.role.first_warp, s.role.warps)
                if self._roles.setdefault(s.role.name, span) != span:
                    raise _Broken(s, f"role {s.role.name} has other warps elsewhere")
        self._variation = Variation(kernel)
        loops = (s for s in lo.walk(kernel.body) if isinstance(s, lo.For))
        self._vectors = {s.var for s in loops if s.kind is Kind.VECTOR}

    def run(self) -> None:
        for size in self.kernel.sizes:
            self._bind(None, size, dt.i64, Range(0, _SIZE_LIMIT))
        for b in self.kernel.buffers:
            if b.role not in ("in", "out", "inout") or b.space is not Space.GLOBAL:
                raise _Broken(None, f"parameter {b.name} is {b.role} in {b.space.value} memory")
            self._make(None, b)
        self._body(self.kernel.body, _Around())
        if self._blocks:
            self._grouped(self._blocks[0])
        for phased in self.kernel.phased:
            b = phased.buffer
            if b not in self._made or b.space is not Space.SHARED or b.dtype is not dt.i64:
                raise _Broken(None, f"phased barriers {b.name} are no allocated shared i64 buffer")
            if phased.arrivals < 1 or not all(isinstance(d, int) for d in b.shape):
                raise _Broken(None, f"phased barriers {b.name} need a constant shape and arrivals")

    def _grouped(self, blocks: lo.For) -> None:
        """What the blocks of a cluster or group may not do."""
        name = blocks.kind.value
        if len(self._blocks) > 1:
            raise _Broken(self._blocks[1], f"a second {self._scopes[1]} loop")
        threads = 1
        for extent in self._lane_extents.values():
            threads *= extent
        if threads % WARP:
            raise _Broken(blocks, f"blocks of a {name} have {threads} threads")
        for s in lo.walk(self.kernel.body):
            role = isinstance(s, lo.If) and s.role is not None
            if role or isinstance(s, (lo.Copy, lo.Signal, lo.Wait, lo.TileMultiply)):
                raise _Broken(s, f"not in the blocks of a {name}")
            repeats = isinstance(s, lo.While) or getattr(s, "kind", None) in _REPEATED
            again = [x for b in lo.bodies(s) for x in lo.walk(b) if isinstance(x, lo.Last)]
            if repeats and again:
                raise _Broken(again[0], "blocks come here last once, not again in a loop")

    # -- binding and expressions

    def _bind(self, s: Stmt | None, var: Var, dtype: DType, values: Range | None = None) -> None:
        if var in self._bound:
            raise _Broken(s, f"variable {var.name} is bound twice")
        if var.dtype is not dtype:
            raise _Broken(s, f"variable {var.name} is {var.dtype}, its value {dtype}")
        self._bound.add(var)
        self._visible.add(var)
        self._ranges[var] = values or full_range(dtype)

    def _make(self, s: Stmt | None, buffer: Buffer) -> None:
        if buffer in self._made:
            raise _Broken(s, f"buffer {buffer.name} is made twice")
        if buffer.dtype.is_complex:
            raise _Broken(s, f"buffer {buffer.name} is complex: use pairs of its real type")
        if buffer.alignment < 1 or buffer.alignment & (buffer.alignment - 1):
            raise _Broken(s, f"buffer {buffer.name} is aligned to {buffer.alignment} bytes")
        if buffer.streamed and (buffer.role != "out" or buffer.may_alias):
            raise _Broken(s, f"buffer {buffer.name} is streamed, but may be read")
        if buffer.strides is not None and len(buffer.strides) != len(buffer.shape):
            raise _Broken(s, f"buffer {buffer.name} has {len(buffer.strides)} strides")
        for extent in (*buffer.shape, *(buffer.strides or ())):
            self._extent(s, extent, _Around())
        self._made.add(buffer)
        self._known.add(buffer)

    def _extent(self, s: Stmt | None, extent: Extent, around: _Around) -> Range:
        if isinstance(extent, int):
            if extent < 0:
                raise _Broken(s, f"an extent is {extent}")
            return Range(extent, extent, exact=True)
        if extent.dtype is not dt.i64:
            raise _Broken(s, f"an extent is {extent.dtype}, not i64")
        (found,) = self._values(s, [extent], around)
        return found

    def _values(self, s: Stmt | None, roots: Sequence[Expr], around: _Around) -> list[Range]:
        """Checks expressions; the ranges of the roots."""
        found: dict[int, Range] = {}
        for node in postorder(roots):
            inner = [found[id(c)] for c in node.operands]
            if isinstance(node, Var):
                if node not in self._visible:
                    raise _Broken(s, f"variable {node.name} is not bound here")
                found[id(node)] = self._ranges[node]
                continue
            if isinstance(node, Load):
                self._element(s, node.buffer, node.index, inner, around)
                if node.dtype is not node.buffer.dtype:
                    raise _Broken(s, f"a load of {node.buffer.name} is {node.dtype}")
            elif isinstance(node, Shuffle):
                self._shuffle(s, node, around)
            elif isinstance(node, Apply):
                self._apply(s, node)
            elif not isinstance(node, Const):
                raise _Broken(s, f"no such expression: {type(node).__name__}")
            found[id(node)] = range_of(node, inner)
        return [found[id(r)] for r in roots]

    def _apply(self, s: Stmt | None, node: Apply) -> None:
        types = tuple(a.dtype for a in node.args)
        if node.name in ("cast", "bitcast"):
            if len(types) != 1 or types[0].is_complex or node.dtype.is_complex:
                raise _Broken(s, f"{node.name} from {types} to {node.dtype}")
            if node.name == "bitcast" and types[0].bits != node.dtype.bits:
                raise _Broken(s, f"bitcast from {types[0]} to {node.dtype}: sizes differ")
            return
        instruction = INSTRUCTIONS.get(node.name)
        if instruction is None or instruction.arity != len(types):
            raise _Broken(s, f"no instruction {node.name} of {len(types)} arguments")
        try:
            result = instruction.result(types)
        except TypeError as error:
            raise _Broken(s, f"{node.name} {error}") from None
        if result is not node.dtype:
            raise _Broken(s, f"{node.name} gives {result}, it says {node.dtype}")

    def _varies(self, value: lo.Extent, around: _Around) -> frozenset[Var]:
        """What a value varies with where it stands. Memory that a vector loop has written varies
        with its lanes; behind the loop there are none."""
        if not isinstance(value, Expr):
            return frozenset()
        inside = {loop.var for loop in around.loops}
        return frozenset(
            v for v in self._variation.of([value]) if v in inside or v not in self._vectors
        )

    def _shuffle(self, s: Stmt | None, node: Shuffle, around: _Around) -> None:
        loop = next((x for x in around.loops if x.var is node.var), None)
        if loop is None or loop.kind not in (Kind.VECTOR, Kind.THREAD):
            raise _Broken(s, f"shuffles over {node.var.name}, no vector or thread loop around")
        extent = loop.extent
        assert isinstance(extent, int)
        reach = extent if loop.kind is Kind.VECTOR else min(extent, WARP)
        if extent & (extent - 1) or not 0 < node.distance < reach:
            raise _Broken(s, f"shuffles at distance {node.distance} in a loop of {extent}")
        if loop.var in around.varying:
            raise _Broken(s, f"shuffles where some lanes of {loop.var.name} may not be active")

    def _element(
        self,
        s: Stmt | None,
        buffer: Buffer,
        index: Sequence[Expr],
        ranges: Sequence[Range],
        around: _Around,
        box: int = 0,
    ) -> None:
        """An element, or the first of a box over the last `box` axes, which may reach out."""
        if buffer not in self._known:
            raise _Broken(s, f"buffer {buffer.name} is not a parameter and not allocated here")
        if len(index) != len(buffer.shape) or box > len(index):
            rank = len(buffer.shape)
            raise _Broken(s, f"{buffer.name} has {rank} axes, the index {len(index)}, a box {box}")
        if buffer.space is Space.CLUSTER and Kind.VECTOR in around.kinds():
            raise _Broken(s, f"{buffer.name} of a cluster is used inside of a vector loop")
        for axis, (i, values) in enumerate(zip(index, ranges, strict=True)):
            if i.dtype is not dt.i64:
                raise _Broken(s, f"index {axis} of {buffer.name} is {i.dtype}, not i64")
            extent = buffer.shape[axis]
            if box + axis >= len(index) or not isinstance(extent, int) or around.dead:
                continue
            surely = values.exact and not around.conditional
            never = values.low >= extent or values.high < 0
            if never or (surely and (values.low < 0 or values.high >= extent)):
                span = f"{values.low}..{values.high}" if values.low < values.high else values.low
                message = f"index {axis} of {buffer.name} is {span}, its extent {extent}"
                raise _Broken(s, message)

    # -- statements

    def _body(self, body: Body, around: _Around) -> None:
        """Statements in order; what they bind is visible to those after, in this body."""
        visible = set(self._visible)
        heads, innermost = lo.spine(body)
        for before, alloc in heads:
            for s in before:
                self._statement(s, around)
            self._allocated(alloc, around)
            around = replace(around, grid_ended=True)
        for s in innermost:
            self._statement(s, around)
        self._visible = visible
        self._known.difference_update(alloc.buffer for _, alloc in heads)

    def _statement(self, s: Stmt, around: _Around) -> None:
        if isinstance(s, lo.For):
            self._for(s, around)
        elif isinstance(s, lo.While):
            self._while(s, around)
        elif isinstance(s, lo.If):
            self._if(s, around)
        elif isinstance(s, lo.Let):
            (values,) = self._values(s, [s.value], around)
            self._bind(s, s.var, s.value.dtype, values)
        elif isinstance(s, lo.Reduce):
            self._reduce(s, around)
        elif isinstance(s, lo.Cumulate):
            self._cumulate(s, around)
        elif isinstance(s, (lo.Store, lo.Accumulate)):
            *ranges, _ = self._values(s, (*s.index, s.value), around)
            self._element(s, s.buffer, s.index, ranges, around)
            self._written(s, s.buffer, around)
            if s.value.dtype is not s.buffer.dtype:
                raise _Broken(s, f"stores {s.value.dtype} into {s.buffer.dtype} {s.buffer.name}")
            if isinstance(s, lo.Accumulate):
                self._monoid(s, s.monoid, 1)
        elif isinstance(s, lo.Prefetch):
            ranges = self._values(s, s.index, around)
            self._element(s, s.buffer, s.index, ranges, around, box=len(s.index))
            if self._variation.of(s.index):
                raise _Broken(s, f"the prefetched element of {s.buffer.name} varies with the lane")
        elif isinstance(s, lo.Alloc):
            self._allocated(s, around)
            self._body(s.body, replace(around, grid_ended=True))
            self._known.discard(s.buffer)
        elif isinstance(s, lo.Copy):
            self._copy(s, around)
        elif isinstance(s, lo.Barrier):
            self._barrier(s, around)
        elif isinstance(s, lo.Last):
            self._meets(s, around)
            if "group" not in self._scopes:
                raise _Broken(s, "the last block of a group, where there is none")
            self._converged(s, around, (Kind.GROUP, *_THREADS))
            self._bind(s, s.var, dt.b1)
        elif isinstance(s, (lo.Signal, lo.Wait)):
            self._meets(s, around)
            if s.buffer not in self._phased:
                raise _Broken(s, f"{s.buffer.name} holds no phased barriers")
            self._element(s, s.buffer, s.index, self._values(s, s.index, around), around)
            if isinstance(s, lo.Signal):
                self._extent(s, s.bytes, around)
            else:
                self._values(s, [s.parity], around)
                if not s.parity.dtype.is_integer and s.parity.dtype is not dt.b1:
                    raise _Broken(s, f"the parity is {s.parity.dtype}")
        elif isinstance(s, lo.TileMultiply):
            self._multiply(s, around)
        elif isinstance(s, lo.PairsMultiply):
            self._multiply_pairs(s, around)
        elif isinstance(s, lo.Split):
            self._split(s, around)
        elif isinstance(s, lo.Fail):
            self._values(s, [s.condition, s.value], around)
            self._truth(s, s.condition)
            if s.site < 0:
                raise _Broken(s, f"site {s.site}")
        else:
            raise _Broken(s, f"no such statement: {type(s).__name__}")

    def _truth(self, s: Stmt, condition: Expr) -> None:
        if condition.dtype is not dt.b1:
            raise _Broken(s, f"the condition is {condition.dtype}, not b1")

    def _monoid(self, s: Stmt, name: str, components: int) -> None:
        monoid = MONOIDS.get(name)
        if monoid is None or monoid.components != components:
            raise _Broken(s, f"no monoid {name} of {components} components")

    def _for(self, s: lo.For, around: _Around) -> None:
        kinds = around.kinds()
        extent = self._extent(s, s.extent, around)
        self._nesting(s, around, kinds)
        self._values(s, [c.initial for c in s.carried], around)
        visible = set(self._visible)
        constant = isinstance(s.extent, int)
        high = max(extent.high - 1, 0)
        self._bind(s, s.var, dt.i64, Range(0, high, constant, frozenset((s.var,))))
        for c in s.carried:
            self._bind(s, c.var, c.initial.dtype)
        inner = replace(
            around,
            loops=(*around.loops, s),
            conditional=around.conditional or extent.low < 1,
            dead=around.dead or extent.high < 1,
            varying=around.varying | self._varies(s.extent, around),
            grid_ended=around.grid_ended or s.kind is not Kind.GRID,
        )
        if s.kind is Kind.GRID and len(s.body) != 1:
            inner = replace(inner, grid_ended=True)
        # `next` stands at the end of the body, so it sees what the body binds.
        for statement in s.body:
            self._statement(statement, inner)
        self._values(s, [c.next for c in s.carried], inner)
        self._visible = visible
        self._results(s, s.carried)

    def _results(self, s: Stmt, carried: Iterable[lo.Carry]) -> None:
        for c in carried:
            if c.next.dtype is not c.initial.dtype:
                message = f"{c.var.name} starts as {c.initial.dtype} and goes on as {c.next.dtype}"
                raise _Broken(s, message)
            self._bind(s, c.result, c.initial.dtype)

    def _nesting(self, s: lo.For, around: _Around, kinds: tuple[Kind, ...]) -> None:
        """Where a loop of this kind may stand."""
        kind = s.kind
        name = f"a {kind.value} loop"
        if kind in _CONSTANT_EXTENT and not isinstance(s.extent, int):
            raise _Broken(s, f"the extent of {name} must be a constant")
        if s.carried and kind not in (Kind.SERIAL, Kind.UNROLL):
            raise _Broken(s, f"{name} carries no values")
        if s.var.dtype is not dt.i64:
            raise _Broken(s, f"the loop variable is {s.var.dtype}, not i64")
        if kind is Kind.GRID:
            if around.grid_ended or len(self.kernel.body) > 1:
                raise _Broken(s, "grid loops stand outermost, perfectly nested")
            if len(kinds) >= MAX_GRID:
                raise _Broken(s, f"more than {MAX_GRID} grid loops")
        if kind is Kind.PARALLEL and (self._grids or any(k in LANES for k in kinds)):
            raise _Broken(s, "a parallel loop in a kernel of blocks, or inside of lanes")
        if kind in _TOGETHER and kinds != (Kind.GRID,):
            raise _Broken(s, f"{name} stands right inside of one grid loop")
        if kind is Kind.GROUP and not isinstance(around.loops[0].extent, int):
            raise _Broken(s, "the number of groups must be a constant")
        if kind not in _THREADS:
            return
        if any(k in (Kind.VECTOR, Kind.THREAD, kind) for k in kinds):
            raise _Broken(s, f"{name} inside of {'/'.join(k.value for k in kinds)}")
        assert isinstance(s.extent, int)
        if self._lane_extents.setdefault(kind, s.extent) != s.extent:
            raise _Broken(s, f"{name} of {s.extent}, another of {self._lane_extents[kind]}")
        if kind is Kind.THREAD and Kind.WARP in kinds and s.extent != WARP:
            raise _Broken(s, f"a warp has {WARP} threads, not {s.extent}")

    def _while(self, s: lo.While, around: _Around) -> None:
        self._values(s, [c.initial for c in s.carried], around)
        visible = set(self._visible)
        for c in s.carried:
            self._bind(s, c.var, c.initial.dtype)
        self._values(s, [s.condition], around)
        self._truth(s, s.condition)
        varying = around.varying | self._varies(s.condition, around)
        inner = replace(around, conditional=True, varying=varying, grid_ended=True)
        for statement in s.body:
            self._statement(statement, inner)
        self._values(s, [c.next for c in s.carried], inner)
        self._visible = visible
        self._results(s, s.carried)

    def _if(self, s: lo.If, around: _Around) -> None:
        if (s.condition is None) == (s.role is None):
            raise _Broken(s, "an If has either a condition or a role")
        inner = replace(around, conditional=True, grid_ended=True)
        if s.role is not None:
            if not around.in_threads() or Kind.VECTOR in around.kinds():
                raise _Broken(s, f"role {s.role.name} stands inside the threads of a block")
            if s.role.first_warp < 0 or s.role.warps < 1:
                raise _Broken(s, f"role {s.role.name} has no warps")
            self._body(s.then, replace(inner, role=s.role))
            self._body(s.orelse, inner)
            return
        assert s.condition is not None
        (values,) = self._values(s, [s.condition], around)
        self._truth(s, s.condition)
        varying = around.varying | self._varies(s.condition, around)
        for body, never in ((s.then, values.high == 0), (s.orelse, values.low == 1)):
            self._body(body, replace(inner, varying=varying, dead=around.dead or never))

    def _logical(self, s: Stmt, around: _Around) -> None:
        """A statement that scheduling expands."""
        name = f"a {type(s).__name__}"
        if self.scheduled:
            raise _Broken(s, f"{name} is left in a scheduled kernel")
        if any(k not in (Kind.SERIAL, Kind.PARALLEL) for k in around.kinds()):
            raise _Broken(s, f"{name} in a kernel that is no longer logical")

    def _cumulate(self, s: lo.Cumulate, around: _Around) -> None:
        self._logical(s, around)
        self._monoid(s, s.monoid, len(s.values))
        visible = set(self._visible)
        values = self._extent(s, s.extent, around)
        high, exact = max(values.high - 1, 0), isinstance(s.extent, int)
        self._bind(s, s.var, dt.i64, Range(0, high, exact, frozenset((s.var,))))
        conditional, dead = around.conditional or values.low < 1, around.dead or values.high < 1
        inner = replace(around, conditional=conditional, dead=dead)
        self._values(s, s.values, inner)
        if len(s.results) != len(s.values):
            raise _Broken(s, f"{len(s.values)} values give {len(s.results)} results")
        for result, value in zip(s.results, s.values, strict=True):
            self._bind(s, result, value.dtype)
        for statement in s.body:
            if not isinstance(statement, (lo.Let, lo.Store)):
                raise _Broken(s, f"a {type(statement).__name__} in a Cumulate")
        self._body(s.body, inner)
        self._visible = visible

    def _reduce(self, s: lo.Reduce, around: _Around) -> None:
        self._logical(s, around)
        self._monoid(s, s.monoid, len(s.values))
        visible = set(self._visible)
        inner = around
        for var, extent in s.domain:
            values = self._extent(s, extent, around)
            high, exact = max(values.high - 1, 0), isinstance(extent, int)
            self._bind(s, var, dt.i64, Range(0, high, exact, frozenset((var,))))
            if values.low < 1:
                inner = replace(inner, conditional=True, dead=inner.dead or values.high < 1)
        self._values(s, s.values, inner)
        self._visible = visible
        if len(s.results) != len(s.values):
            raise _Broken(s, f"{len(s.values)} values reduce to {len(s.results)} results")
        for result, value in zip(s.results, s.values, strict=True):
            self._bind(s, result, value.dtype)

    def _written(self, s: Stmt, buffer: Buffer, around: _Around) -> None:
        if buffer.role == "in":
            raise _Broken(s, f"stores to the input {buffer.name}")
        if buffer in self._phased:
            raise _Broken(s, f"stores to the phased barriers {buffer.name}")
        if self._has_threads and not around.in_threads():
            raise _Broken(s, f"every thread of the block would store to {buffer.name}")
        if buffer.space is Space.CLUSTER:
            own = [loop.var for loop in around.loops if loop.kind is Kind.CLUSTER]
            if not isinstance(s, lo.Store) or s.index[0] not in own:
                raise _Broken(s, f"a block stores to its own part of {buffer.name} alone")

    def _allocated(self, s: lo.Alloc, around: _Around) -> None:
        """Checks an allocation, whose buffer is known from then on."""
        b = s.buffer
        if b.role != "local":
            raise _Broken(s, f"allocates {b.name}, whose role is {b.role}")
        lanes = [k for k in around.kinds() if k in LANES]
        if b.space is Space.CLUSTER:
            extents = [loop.extent for loop in self._blocks if loop.kind is Kind.CLUSTER]
            if Kind.GRID not in around.kinds() or Kind.CLUSTER in around.kinds() or lanes:
                raise _Broken(s, f"{b.name} of a cluster is allocated between grid and cluster")
            if not b.shape or [b.shape[0]] != extents:
                raise _Broken(s, f"{b.name} of a cluster has no part for each block")
        if b.space is Space.SHARED and not {k.kind for k in self._blocks} <= {*around.kinds()}:
            raise _Broken(s, f"shared {b.name} is allocated outside of the {self._scopes[0]} loop")
        if b.space is Space.SHARED and lanes:
            raise _Broken(s, f"shared {b.name} is allocated inside of a {lanes[-1].value} loop")
        if self._has_threads and b.space in PRIVATE and not around.in_threads():
            raise _Broken(s, f"private {b.name} is allocated outside of the threads")
        self._make(s, b)

    def _meets(self, s: Stmt, around: _Around) -> None:
        """Threads meet in their own code, not in the lanes of one of them."""
        if Kind.VECTOR in around.kinds():
            raise _Broken(s, "threads meet inside of a vector loop")
        if self._has_threads and not around.in_threads():
            raise _Broken(s, "threads meet outside of the thread loop")

    def _barrier(self, s: lo.Barrier, around: _Around) -> None:
        if s.scope not in ("block", "warp", *self._scopes, *self._roles):
            raise _Broken(s, f"no scope {s.scope}: it is a block, a warp or a role")
        if Kind.VECTOR in around.kinds():
            raise _Broken(s, "threads meet inside of a vector loop")
        if not around.in_threads() and (s.scope != "block" or Kind.WARP in around.kinds()):
            raise _Broken(s, f"a barrier of a {s.scope} stands inside the thread loop")
        if s.scope in self._roles:
            first, warps = self._roles[s.scope]
            inside = around.role
            low = -1 if inside is None else inside.first_warp
            high = -1 if inside is None else inside.first_warp + inside.warps
            if not first <= low < high <= first + warps:
                raise _Broken(s, f"threads outside of role {s.scope} arrive")
        kinds = {"warp": (Kind.THREAD,), "cluster": (Kind.CLUSTER, *_THREADS)}
        kinds["group"] = (Kind.GROUP, *_THREADS)
        self._converged(s, around, kinds.get(s.scope, _THREADS))

    def _converged(self, s: Stmt, around: _Around, kinds: tuple[Kind, ...]) -> None:
        for loop in around.loops:
            if loop.kind in kinds and loop.var in around.varying:
                message = f"stands under a condition that varies with {loop.kind.value}"
                raise _Broken(s, f"{message} {loop.var.name}: not all threads arrive")

    def _copy(self, s: lo.Copy, around: _Around) -> None:
        for buffer, index in ((s.destination, s.destination_index), (s.source, s.source_index)):
            ranges = self._values(s, index, around)
            self._element(s, buffer, index, ranges, around, box=len(s.extents))
        if s.destination.role == "in" or s.destination in self._phased:
            raise _Broken(s, f"copies into {s.destination.name}")
        if s.destination.dtype is not s.source.dtype:
            raise _Broken(s, f"copies {s.source.dtype} into {s.destination.dtype}")
        if any(e < 1 for e in s.extents):
            raise _Broken(s, f"copies a box of {s.extents}")
        shared = Space.SHARED in (s.destination.space, s.source.space)
        if s.asynchronous and (not shared or Kind.VECTOR in around.kinds()):
            raise _Broken(s, "asynchronous copies go to or from shared memory, once per block")
        if s.signal is None:
            return
        if not s.asynchronous or s.signal not in self._phased:
            raise _Broken(s, "an asynchronous copy signals a phased barrier")
        ranges = self._values(s, s.signal_index, around)
        self._element(s, s.signal, s.signal_index, ranges, around)

    def _multiply(self, s: lo.TileMultiply, around: _Around) -> None:
        m, n, k = s.shape
        tiles = (
            (s.a, s.a_index, (k, m) if s.transpose_a else (m, k)),
            (s.b, s.b_index, (n, k) if s.transpose_b else (k, n)),
        )
        for buffer, index, shape in tiles:
            ranges = self._values(s, index, around)
            self._element(s, buffer, index, ranges, around, box=2)
            trailing = buffer.shape[-2:]
            for extent, size, first in zip(trailing, shape, ranges[-2:], strict=True):
                if isinstance(extent, int) and first.low + size > extent and not around.dead:
                    raise _Broken(s, f"tile {shape} of {buffer.name} reaches out of it")
        if s.accumulators not in self._known:
            raise _Broken(s, f"buffer {s.accumulators.name} is not allocated here")
        if s.accumulators.shape != (m, n) or s.accumulators.space not in PRIVATE:
            name = s.accumulators.name
            raise _Broken(s, f"accumulators {name} are no register tile of {m} by {n}")
        wide = dt.f64 if s.a.dtype is dt.f64 else dt.f32
        if s.accumulators.dtype is not wide or s.a.dtype is not s.b.dtype:
            types = f"{s.a.dtype} @ {s.b.dtype} into {s.accumulators.dtype}"
            raise _Broken(s, f"tile product of {types}")
        if s.first is not None:
            self._values(s, [s.first], around)
            self._truth(s, s.first)
        if Kind.VECTOR in around.kinds():
            raise _Broken(s, "a tile step inside of a vector loop")
        self._converged(s, around, _THREADS)

    def _multiply_pairs(self, s: lo.PairsMultiply, around: _Around) -> None:
        types = ((dt.f32, "sums"), (dt.bf16, "a"), (dt.u32, "b"))
        for (buffer, index, shape), (dtype, name) in zip(s.boxes, types, strict=True):
            ranges = self._values(s, index, around)
            self._element(s, buffer, index, ranges, around, box=len(shape))
            if buffer.dtype is not dtype:
                raise _Broken(s, f"{name} is {buffer.dtype}, not {dtype}")
            if buffer.space is not Space.STACK or buffer.strides is not None:
                raise _Broken(s, f"{buffer.name} is no dense buffer on the stack")
            trailing = list(zip(buffer.shape[-len(shape) :], shape, strict=True))
            for (extent, size), first in zip(trailing, ranges[-len(shape) :], strict=True):
                if isinstance(extent, int) and first.low + size > extent and not around.dead:
                    raise _Broken(s, f"tiles {shape} of {buffer.name} reach out of it")
        if not (0 < s.tiles[0] <= 2 and 0 < s.tiles[1] <= 2 and s.tiles[2] > 0):
            raise _Broken(s, f"tiles {s.tiles}: one or two of rows and of columns, and steps")
        if s.first is not None:
            self._values(s, [s.first], around)
            self._truth(s, s.first)
        if any(k in LANES for k in around.kinds()):
            raise _Broken(s, "a product of tiles inside of lanes")

    def _split(self, s: lo.Split, around: _Around) -> None:
        for buffer, index in s.accesses:
            ranges = self._values(s, index, around)
            self._element(s, buffer, index, ranges, around, box=1)
            extent, first = buffer.shape[-1], ranges[-1]
            if isinstance(extent, int) and first.low + s.lanes > extent and not around.dead:
                raise _Broken(s, f"{s.lanes} elements of {buffer.name} reach out of it")
            if buffer.dtype is not s.bound.dtype:
                raise _Broken(s, f"{buffer.name} is {buffer.dtype}, the bound {s.bound.dtype}")
            if buffer.strides is not None:
                raise _Broken(s, f"{buffer.name} is no dense buffer")
        self._values(s, [s.bound], around)
        dtype = s.bound.dtype
        if dtype.is_complex or dtype.itemsize not in (4, 8) or s.lanes * dtype.itemsize != 64:
            raise _Broken(s, f"{s.lanes} elements of {dtype}: they are no 64 bytes")
        for buffer in (s.below, s.others):
            self._written(s, buffer, around)
        if any(k in LANES for k in around.kinds()):
            raise _Broken(s, "a vector is parted inside of lanes")
        self._bind(s, s.count, dt.i64, Range(0, s.lanes))
