"""The Kernel level: a loop nest over buffers, whose leaves are scalar expressions (`expr.py`).

    Kernel = name, buffers, sizes, body
    Buffer = name, dtype, shape, space (global | cluster | shared | register | stack), role, ...
    Stmt   = For(var, extent, kind, carried, body)   one iteration per 0 <= var < extent
           | While(carried, condition, body)         tested before each iteration
           | If(condition, then, orelse, role)       role: a group of warps that runs `then`
           | Let(var, value)                         a value computed here, once
           | Reduce(results, domain, values, monoid) the documented order (`order.py`); logical only
           | Cumulate(results, var, extent, values, monoid, body)  running combinations in the
                                                     documented order; logical only
           | Store(buffer, index, value)
           | Accumulate(buffer, index, value, monoid)  buffer[index] = buffer[index] . value
           | Alloc(buffer, body)
           | Copy(destination, source, extents, asynchronous, signal)
           | Barrier(scope)                          all threads of the scope arrive and wait
           | Last(var)                               whether this block of a group is the last here
           | Signal(buffer, index, bytes) | Wait(buffer, index, parity)   phased barriers
           | TileMultiply(accumulators, a, b, shape, ...)                  the tensor-core step
           | PairsMultiply(sums, a, b, tiles, first)   a CPU's products of tiles of bfloat16
           | Split(count, source, bound, below, others, lanes)   a CPU parts a vector
           | Fail(site, condition, value)            writes the error slot

Meaning of a loop kind:
* serial: one after the other; may carry values from one iteration to the next.
* unroll: serial, expanded when emitted; the extent is a constant.
* parallel: independent iterations, which do not communicate; on a CPU an outermost parallel loop is
  spread over threads.
* vector: lock-step lanes of one CPU or GPU thread; per-lane values; the extent is a constant. Lanes
  may exchange values by `Shuffle` where all lanes are active.
* grid: blocks of a GPU launch (a kernel has at most three grid loops, perfectly nested, outermost).
* cluster: the blocks of a cluster, which run at the same time: right inside of the one grid loop,
  which then numbers clusters. Its blocks share `cluster` buffers: element [r, ...] lies in block
  r's own memory, that block alone stores it, and any may load it. They meet at barriers "cluster".
* group: blocks that meet in global memory, right inside of the one grid loop, which then numbers
  groups. A block of a group may wait for the others (barriers "group": a device must hold a group
  at once, `Target.group_blocks`), or leave what follows to the one that comes `Last`.
* warp, thread: the warps of a block, and the threads of a warp (or of the block, where no warp loop
  encloses it). Threads share `shared` buffers and meet at `Barrier`s. Extents are constants.

A kernel from `passes/lower` is *logical*: only serial and parallel loops, `Reduce` and `Cumulate`.
`passes/schedule` gives it kinds and expands these two. Both forms run in the kernel interpreter
with the same bits.

Invariants, checked by `verify`: every variable is bound once, above its uses; indices are i64 and
within the buffer's shape; a `Load` is evaluated where its statement stands (use `Let` to keep a
value across a `Store` that may change it); an output element is stored before the kernel ends.
Statements are plain trees. `passes/fuse.py` bounds the work of a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Union

from pyc.forks import load
from pyc.frozen import field, frozen
from pyc.ir.dtype import DType
from pyc.ir.expr import Expr, Var

TILE = 16
"""Rows of a tile of a CPU, and the columns of one of sums."""

Extent = Union[int, Expr]
"""A loop bound or buffer dimension: a constant or an i64 expression over size parameters."""


class Kind(Enum):
    """How the iterations of a loop run; see the module docstring."""

    SERIAL = "serial"
    UNROLL = "unroll"
    PARALLEL = "parallel"
    VECTOR = "vector"
    GRID = "grid"
    CLUSTER = "cluster"
    GROUP = "group"
    WARP = "warp"
    THREAD = "thread"


class Space(Enum):
    """Where a buffer lives. `STACK` and `REGISTER` are private to one thread (per lane of an
    enclosing vector or thread loop); `SHARED` belongs to a GPU block, `CLUSTER` to the blocks of a
    cluster, a part each, by the first axis; a part ends with its block."""

    GLOBAL = "global"
    CLUSTER = "cluster"
    SHARED = "shared"
    STACK = "stack"
    REGISTER = "register"


@frozen(eq=False)
class Buffer:
    """A dense array of `dtype` elements, row-major unless `strides` (in elements) says otherwise.

    role: "in" (never written in this kernel, may be read through the non-coherent path), "out"
    (written only), "inout", or "local" (made by `Alloc`). alignment: bytes the address is known to
    be a multiple of. Distinct parameters of one kernel never overlap unless `may_alias`. A complex
    buffer is one of its real type with a trailing axis of 2. streamed: nothing reads it soon, so
    that its stores may pass by the caches; one that is "out" and has `plan.ALIGNMENT`.
    """

    name: str
    dtype: DType
    shape: tuple[Extent, ...]
    space: Space = Space.GLOBAL
    role: str = "local"
    alignment: int = 16
    strides: tuple[Extent, ...] | None = None
    may_alias: bool = False
    streamed: bool = False


@frozen(eq=False)
class Carry:
    """A value carried through a loop: `var` is `initial` in the first iteration and `next` of the
    iteration before in the others; after the loop its last value is `result`."""

    var: Var
    initial: Expr
    next: Expr
    result: Var


class Stmt:
    """Base of the statements below. Equality is identity."""

    __slots__ = ()


Body = tuple[Stmt, ...]


@frozen(eq=False)
class For(Stmt):
    """A counted loop; `carried` only where kind is serial or unroll."""

    var: Var
    extent: Extent
    kind: Kind
    body: Body
    carried: tuple[Carry, ...] = ()


@frozen(eq=False)
class While(Stmt):
    """Repeats `body` while `condition` (over the carried variables) holds. Under a vector or thread
    loop each lane stops on its own and keeps its values; a backend polls the cancel flag."""

    carried: tuple[Carry, ...]
    condition: Expr
    body: Body


@frozen(eq=False)
class Role:
    """A group of warps `[first_warp, first_warp + warps)` of a block that runs one branch, and the
    registers per thread it asks for (None: as compiled)."""

    name: str
    first_warp: int
    warps: int
    registers: int | None = None


@frozen(eq=False)
class If(Stmt):
    """Runs `then` where `condition`, else `orelse`; with `role`, the condition is membership of it
    and other warps pass by. Loads and stores inside happen only in active lanes. A role stands
    inside the thread loop; warps of different roles run independently of each other there."""

    condition: Expr | None
    then: Body
    orelse: Body = ()
    role: Role | None = None


@frozen(eq=False)
class Let(Stmt):
    """Binds `var` to `value`, evaluated here."""

    var: Var
    value: Expr


@frozen(eq=False)
class Reduce(Stmt):
    """Binds `results` to the reduction of `values` over `domain` in the documented order.

    domain: the reduced variables with their extents, outermost first: their row-major order is the
    sequence order. monoid: a name in `order.MONOIDS`; values and results are its components, in
    its accumulator types. An empty sequence gives the monoid's identity.
    """

    results: tuple[Var, ...]
    domain: tuple[tuple[Var, Extent], ...]
    values: tuple[Expr, ...]
    monoid: str


@frozen(eq=False)
class Cumulate(Stmt):
    """Runs `body` for each 0 <= var < extent, with `results` bound to the combination of `values`
    from the first iteration to this one, in the documented order.

    monoid: a name in `order.MONOIDS`; values and results are its components, in its accumulator
    types. Iterations do not communicate but for that; body: `Let` and `Store`.
    """

    results: tuple[Var, ...]
    var: Var
    extent: Extent
    values: tuple[Expr, ...]
    monoid: str
    body: Body


@frozen(eq=False)
class Store(Stmt):
    """buffer[index] = value. Of the lanes of a vector loop the highest wins an element."""

    buffer: Buffer
    index: tuple[Expr, ...]
    value: Expr


@frozen(eq=False)
class Accumulate(Stmt):
    """buffer[index] = combine(buffer[index], value); under a vector or thread loop the lanes apply
    in lane order, so that equal indices give one defined result. Where the order cannot show
    (integers, min, max, bits) any threads may meet in one element: these are atomic."""

    buffer: Buffer
    index: tuple[Expr, ...]
    value: Expr
    monoid: str


@frozen(eq=False)
class Prefetch(Stmt):
    """Says that buffer[index], one element for all lanes, is read or stored soon: a hint without a
    result. The element may be outside of the buffer, where it says nothing.
    first: it is to come into the first-level cache, not only into the second."""

    buffer: Buffer
    index: tuple[Expr, ...]
    first: bool = False


@frozen(eq=False)
class Alloc(Stmt):
    """Gives `body` an uninitialised local buffer."""

    buffer: Buffer
    body: Body


@frozen(eq=False)
class Copy(Stmt):
    """Copies the box `extents` from source[source_index...] to destination[destination_index...].

    asynchronous: starts the copy and goes on; it is complete for those who `Wait` on `signal`
    (a phased barrier of a shared i64 buffer, at `signal_index`). Elements of the box outside the
    source read as zero; outside the destination they are dropped. `extents` cover the last axes;
    axes before them are single. With a shared source or destination, or asynchronous, the threads
    that reach it (those of a role, a warp, or one) do it once, together, with equal indices; else
    each lane does its own. Its bytes count for `signal` in full, what is outside included. Without
    `signal` an asynchronous copy is complete when the block ends, and reads its source until then.
    """

    destination: Buffer
    destination_index: tuple[Expr, ...]
    source: Buffer
    source_index: tuple[Expr, ...]
    extents: tuple[int, ...]
    asynchronous: bool = False
    signal: Buffer | None = None
    signal_index: tuple[Expr, ...] = ()


@frozen(eq=False)
class Barrier(Stmt):
    """All threads of `scope` ("block", "warp", "cluster", "group" or the name of a role) arrive and
    wait. Each then knows what all of them stored before."""

    scope: str


@frozen(eq=False)
class Last(Stmt):
    """Binds `var` (b1): true in the block of a group that comes here last, which then knows what
    all of them stored before; false in the others, which do not wait. A barrier of each block."""

    var: Var


@frozen(eq=False)
class Signal(Stmt):
    """Arrives at the phased barrier buffer[index]; `bytes` more are expected from copies. Each
    active thread arrives, with its own bytes. A phase ends when its arrivals are complete and the
    bytes that copies brought are those expected."""

    buffer: Buffer
    index: tuple[Expr, ...]
    bytes: Extent = 0


@frozen(eq=False)
class Wait(Stmt):
    """Waits while the phase that runs at the phased barrier buffer[index] is of parity `parity`:
    phases count from 0, so on a fresh barrier parity 1 passes. Orders the waiting threads only."""

    buffer: Buffer
    index: tuple[Expr, ...]
    parity: Expr


@frozen(eq=False)
class PhasedBarrier:
    """How a shared i64 buffer of phased barriers is initialised, by its `Alloc`: arrivals that end
    a phase of each element."""

    buffer: Buffer
    arrivals: int


@frozen(eq=False)
class TileMultiply(Stmt):
    """accumulators[m, n] += a[m, k] @ b[k, n] over tiles in shared memory (or registers).

    shape: (m, n, k). accumulators: a register buffer of f32 of shape (m, n), one logical tile that
    the warps of the enclosing role share; a, b: buffers with the index of the tile's first element.
    transpose_a: a is stored [k, m]; transpose_b: b is stored [n, k]. first: replaces instead of
    adding. Meaning is immediate; a target that runs it asynchronously waits before the next
    statement that reads the accumulators, stores to a or b, or signals. The warps of the role hold
    equal shares of the accumulators' rows, in order; a `Copy` from the accumulators moves a box of
    the shared tile, of whole columns, each warp what it holds.
    """

    accumulators: Buffer
    a: Buffer
    a_index: tuple[Expr, ...]
    b: Buffer
    b_index: tuple[Expr, ...]
    shape: tuple[int, int, int]
    transpose_a: bool = False
    transpose_b: bool = False
    first: Expr | None = None


@frozen(eq=False)
class PairsMultiply(Stmt):
    """sums += a @ b over tiles of local memory, of bfloat16 (AMX): 16 rows, 16 columns, 32 terms.

    tiles: (rows, columns, steps), rows and columns at most two. Of the last axes, from its index
    on: sums, f32 [rows, columns, 16, 16]; a, bf16 [rows, steps, 16 rows, 32 terms]; b, u32
    [columns, 16 steps, 16 columns], whose numbers are two terms, the first in the lower half. For
    each step the products of the first terms of pairs are added by fma in order, those of the
    second apart, and the sum of both is added to the element. first: replaces instead of adding.
    Defined where all numbers of a, b and sums are such that no result can be subnormal, of which
    the processor makes 0: the numbers of a and b are no subnormals, and all products of their least
    bits, and the sums, are multiples of 2^-126.
    """

    sums: Buffer
    sums_index: tuple[Expr, ...]
    a: Buffer
    a_index: tuple[Expr, ...]
    b: Buffer
    b_index: tuple[Expr, ...]
    tiles: tuple[int, int, int]
    first: Expr | None = None

    @property
    def boxes(self) -> tuple[tuple[Buffer, tuple[Expr, ...], tuple[int, ...]], ...]:
        """(buffer, index of the first element, extents over the last axes): sums, a, b."""
        rows, columns, steps = self.tiles
        return (
            (self.sums, self.sums_index, (rows, columns, TILE, TILE)),
            (self.a, self.a_index, (rows, steps, TILE, 2 * TILE)),
            (self.b, self.b_index, (columns, steps * TILE, TILE)),
        )


@frozen(eq=False)
class Split(Stmt):
    """Parts `lanes` neighbouring elements of `source`, of 64 bytes, by whether they are less than
    `bound`: those that are go to `below`, the others to `others`, both in order.

    Each index says where the first element is; from there on all `lanes` elements of below and of
    others are stored, those behind what came there as 0. All are read before any is stored, and
    below is stored first. count (i64): how many are below.
    """

    count: Var
    source: Buffer
    source_index: tuple[Expr, ...]
    bound: Expr
    below: Buffer
    below_index: tuple[Expr, ...]
    others: Buffer
    others_index: tuple[Expr, ...]
    lanes: int

    @property
    def accesses(self) -> tuple[tuple[Buffer, tuple[Expr, ...]], ...]:
        """(buffer, index of the first element): source, below, others."""
        return (
            (self.source, self.source_index),
            (self.below, self.below_index),
            (self.others, self.others_index),
        )


@frozen(eq=False)
class Fail(Stmt):
    """Where `condition`, writes (site, value) to the error slot (the first failure wins; the lowest
    site of one launch is reported) and goes on with defined values."""

    site: int
    condition: Expr
    value: Expr


DeviceStatement = (
    Prefetch | Copy | Barrier | Last | Signal | Wait | TileMultiply | PairsMultiply | Split
)
"""Statements that only some targets have."""


@frozen(eq=False)
class Kernel:
    """A loop nest. buffers: the parameters in call order; sizes: i64 parameters that extents use;
    phased: phased barriers to initialise; dynamic facts (grid, shared bytes) follow from the body.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: Body
    sizes: tuple[Var, ...] = ()
    phased: tuple[PhasedBarrier, ...] = field(default=())

    def __str__(self) -> str:
        text: str = load("pyc.ir.text_kernel").print_kernel(self)
        return text


# --- traversal ------------------------------------------------------------------------------------


def bodies(s: Stmt) -> tuple[Body, ...]:
    """The nested bodies of a statement."""
    if isinstance(s, (For, While, Alloc, Cumulate)):
        return (s.body,)
    if isinstance(s, If):
        return (s.then, s.orelse)
    return ()


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement, parents before children, in program order."""
    stack: list[Stmt] = list(reversed(body))
    while stack:
        s = stack.pop()
        yield s
        for inner in reversed(bodies(s)):
            stack.extend(reversed(inner))


def spine(body: Body) -> tuple[list[tuple[Body, Alloc]], Body]:
    """(what is before it, allocation) for each allocation that ends the body that it is in, the
    outermost first, and the innermost body: programs have thousands of them within each other, more
    than Python's stack takes."""
    found: list[tuple[Body, Alloc]] = []
    while body and isinstance(body[-1], Alloc):
        found.append((body[:-1], body[-1]))
        body = body[-1].body
    return found, body


def _symbolic(*extents: Extent | None) -> tuple[Expr, ...]:
    return tuple(x for x in extents if isinstance(x, Expr))


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """The root expressions that a statement itself evaluates (not those of nested bodies, but the
    carried values of loops are included)."""
    if isinstance(s, For):
        carried = tuple(e for c in s.carried for e in (c.initial, c.next))
        return (*_symbolic(s.extent), *carried)
    if isinstance(s, While):
        return (s.condition, *(e for c in s.carried for e in (c.initial, c.next)))
    if isinstance(s, If):
        return _symbolic(s.condition)
    if isinstance(s, Let):
        return (s.value,)
    if isinstance(s, Reduce):
        return (*_symbolic(*(e for _, e in s.domain)), *s.values)
    if isinstance(s, Cumulate):
        return (*_symbolic(s.extent), *s.values)
    if isinstance(s, (Store, Accumulate)):
        return (*s.index, s.value)
    if isinstance(s, Prefetch):
        return s.index
    if isinstance(s, Alloc):
        return _symbolic(*s.buffer.shape)
    if isinstance(s, Copy):
        return (*s.destination_index, *s.source_index, *s.signal_index)
    if isinstance(s, Signal):
        return (*s.index, *_symbolic(s.bytes))
    if isinstance(s, Wait):
        return (*s.index, s.parity)
    if isinstance(s, TileMultiply):
        return (*s.a_index, *s.b_index, *_symbolic(s.first))
    if isinstance(s, PairsMultiply):
        return (*s.sums_index, *s.a_index, *s.b_index, *_symbolic(s.first))
    if isinstance(s, Split):
        indices = (*s.source_index, *s.below_index, *s.others_index)
        return (*indices, s.bound)
    if isinstance(s, Fail):
        return (s.condition, s.value)
    return ()
