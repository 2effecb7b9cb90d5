"""The tensor-core half of PTX: roles of warps, phased barriers, asynchronous copies, tile products.

Operands of a tile product lie in shared memory as the hardware wants them: panels 128 bytes wide,
one after the other, the 16-byte pieces of row r exchanged by `piece ^ (r % 8)`. The copy engine
writes and the product reads that layout; nothing else may touch such a buffer. Of the accumulators
each thread of a group of four warps holds, of 64 rows, register 4 j + 2 h + e: row 16 w + 8 h +
l / 4, column 8 j + 2 (l % 4) + e for lane l of warp w (PTX ISA, "wgmma.mma_async", fragment D).

What has no PTX here is a `CompileError` that names the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from pyc.backends.launching import TensorMap
from pyc.backends.llvm_addresses import Place
from pyc.backends.llvm_builder import Scope, Value, memory_type
from pyc.backends.nvptx_doubles import DoubleEmitter
from pyc.errors import CompileError
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Var, postorder
from pyc.ir.loops import (
    Accumulate,
    Alloc,
    Barrier,
    Body,
    Buffer,
    Copy,
    DeviceStatement,
    For,
    If,
    Kernel,
    Kind,
    Last,
    PairsMultiply,
    Prefetch,
    Role,
    Signal,
    Space,
    Split,
    Stmt,
    Store,
    TileMultiply,
    Wait,
    bodies,
    expressions,
    walk,
)

WARP = 32
GROUP = 4
"""Warps that do a tile product together."""
PANEL_BYTES = 128
SWIZZLE_ALIGNMENT = 1024
TILE_ROWS = 64
"""Rows of a product that one group of warps computes."""
STEP_TERMS = 16
"""Terms of one instruction."""
COLUMNS = 8
"""Columns of the accumulators between registers 4 j and 4 j + 4."""
KEPT_SHARED = 1024
"""Bytes of shared memory that the hardware keeps of each block."""
STATIC_SHARED = 48 << 10
"""Bytes of shared memory that a kernel may have without asking for more."""
REGISTERS = 65536
_HALVES = {dt.bf16: "bf16", dt.f16: "f16"}


class TileEmitter(DoubleEmitter):
    """Emits what the warps of a block do together beyond plain barriers."""

    threads: int
    """Threads of a block."""
    blocks: int
    """Blocks that a multiprocessor should hold at once: what the registers are shared by."""
    room_blocks: int
    """Blocks that its shared memory has room for."""
    symbol: str
    """The entry's name."""

    def prepare(self) -> None:
        """Checks the kernel's use of roles, copies and tiles; before anything is emitted."""
        statements = list(walk(self.kernel.body))
        products = [s for s in statements if isinstance(s, TileMultiply)]
        self.tiles = {b for s in products for b in (s.a, s.b)}
        self.accumulators = {s.accumulators: s.shape for s in products}
        self.maps: list[TensorMap] = []
        self.shared_bytes = 0
        self.globals: list[str] = []
        self._phased = {p.buffer: p.arrivals for p in self.kernel.phased}
        self._started = not self._phased
        self._role: Role | None = None
        roles = [s.role for s in statements if isinstance(s, If) and s.role is not None]
        names = list(dict.fromkeys(role.name for role in roles))
        self._barriers = {name: k + 1 for k, name in enumerate(names)}
        self._barrier_threads = {role.name: role.warps * WARP for role in roles}
        made = [s.buffer for s in statements if isinstance(s, Alloc)]
        shared = sum(bytes_of(b) for b in made if b.space is Space.SHARED)
        shared += sum(bytes_of(b) // _constant(b)[0] for b in made if b.space is Space.CLUSTER)
        self._dynamic = shared > STATIC_SHARED
        room = self.target.shared_bytes + KEPT_SHARED
        self.room_blocks = max(room // (shared + KEPT_SHARED), 1)
        if self._dynamic:
            self.blocks = self.room_blocks
        _check_accesses(statements, self.tiles, set(self.accumulators))
        _check_copies(self.kernel)

    # --- shared memory ----------------------------------------------------------------------------

    def shared_place(self, buffer: Buffer) -> Place:
        """An array of the block: in the module, or a part of what the launch gives. Phased barriers
        are initialised; threads meet before the first of them is used."""
        alignment = max(buffer.alignment, 16)
        if buffer in self.tiles:
            alignment = max(alignment, SWIZZLE_ALIGNMENT)
        nbytes = bytes_of(buffer)
        b = self.builder
        if self._dynamic:
            start = -(-self.shared_bytes // alignment) * alignment
            self.shared_bytes = start + nbytes
            base = f"@{self.symbol}_shared"
            if not self.globals:
                self.globals.append(
                    f"{base} = external addrspace(3) global [0 x i8], align {SWIZZLE_ALIGNMENT}"
                )
            name = b.emit(f"getelementptr i8, ptr addrspace(3) {base}, i64 {start}", b.root)
        else:
            name = f"@{self.symbol}_shared{len(self.globals)}"
            self.globals.append(
                f"{name} = internal addrspace(3) global [{max(nbytes, 1)} x i8] undef, "
                f"align {alignment}"
            )
        place = Place(name, "ptr addrspace(3)", b.root)
        if buffer in self._phased:
            self._initialise(buffer, place)
        return place

    def _initialise(self, buffer: Buffer, place: Place) -> None:
        b = self.builder
        if _in_loop(b.scope):
            raise CompileError(f"phased barriers {buffer.name} are made inside of a loop")
        self.places[buffer] = place
        first, done = b.name("first"), b.name("done")
        thread = self.thread_number()
        test = b.emit(f"icmp eq i64 {thread.ref}, 0")
        b.line(f"br i1 {test}, label %{first}, label %{done}")
        b.label(first)
        b.open("block", certain=False)
        for element in range(prod(_constant(buffer))):
            address = self._address(buffer, self.index(element))
            text = f"mbarrier.init.shared::cta.b64 [$0], {self._phased[buffer]};"
            self._assembly(text, [("r", f"i32 {address}")])
        self._assembly("fence.mbarrier_init.release.cluster;", [])
        b.line(f"br label %{done}")
        b.close()
        b.label(done)

    def start_phases(self) -> None:
        """The barrier between the initialisation of phased barriers and their first use."""
        if not self._started:
            self.block_barrier()
            self._started = True

    def _address(self, buffer: Buffer, element: Value, offset: int = 0) -> str:
        """The 32-bit shared address of an element, `offset` bytes further."""
        b = self.builder
        pointer = self.pointer(buffer, element)
        address = b.emit(f"ptrtoint ptr addrspace(3) {pointer} to i32")
        return b.emit(f"add i32 {address}, {offset}") if offset else address

    def _first_of(self, buffer: Buffer, index: Sequence[Expr]) -> Value:
        return self.linear(buffer, index, -1)

    def _assembly(
        self, text: str, operands: Sequence[tuple[str, str]], result: str = "void", outs: str = ""
    ) -> str:
        """A convergent statement of assembly; operands: (constraint, typed value)."""
        constraints = ",".join([*filter(None, [outs]), *(c for c, _ in operands), "~{memory}"])
        values = ", ".join(v for _, v in operands)
        call = f'call {result} asm sideeffect "{text}", "{constraints}"({values}) #1'
        if result == "void":
            self.builder.line(call)
            return ""
        return self.builder.emit(call)

    # --- warps ------------------------------------------------------------------------------------

    def block_barrier(self) -> None:
        """All threads of the block meet."""
        raise NotImplementedError

    def role_branch(self, statement: If) -> None:
        """The body, run by the warps of a role, with the registers that it asks for."""
        role = statement.role
        assert role is not None
        b = self.builder
        thread = self.thread_number()
        warp = b.emit(f"lshr i64 {thread.ref}, 5", b.root)
        own = b.emit(f"sub i64 {warp}, {role.first_warp}")
        test = b.emit(f"icmp ult i64 {own}, {role.warps}")
        inside, done = b.name("role"), b.name("others")
        b.line(f"br i1 {test}, label %{inside}, label %{done}")
        b.label(inside)
        b.open("block", certain=False)
        if role.registers is not None:
            if role.warps % GROUP or role.first_warp % GROUP:
                raise CompileError(
                    f"kernel {self.kernel.name}: role {role.name} asks for registers, which groups "
                    f"of {GROUP} warps do together"
                )
            entry = REGISTERS // (self.threads * self.blocks) // 8 * 8
            way = "inc" if role.registers > entry else "dec"
            self._assembly(f"setmaxnreg.{way}.sync.aligned.u32 {role.registers};", [])
        outer, self._role = self._role, role
        self.body(statement.then)
        self._role = outer
        b.line(f"br label %{done}")
        b.close()
        b.label(done)
        self.body(statement.orelse)

    def device_statement(self, statement: DeviceStatement) -> None:
        """Barriers, copies and tile products."""
        s = statement
        if isinstance(s, Barrier):
            self._barrier(s)
        elif isinstance(s, Signal):
            self._signal(s)
        elif isinstance(s, Wait):
            self._wait(s)
        elif isinstance(s, TileMultiply):
            self._multiply(s)
        elif isinstance(s, (Prefetch, Last, PairsMultiply, Split)):
            raise CompileError(f"kernel {self.kernel.name}: {type(s).__name__} has no PTX here")
        elif s.asynchronous:
            self._start_copy(s)
        elif s.source in self.accumulators:
            self._give(s)
        else:
            raise CompileError(
                f"kernel {self.kernel.name}: a synchronous copy has PTX from accumulators only"
            )

    def _barrier(self, s: Barrier) -> None:
        b = self.builder
        if s.scope == "block":
            self.block_barrier()
        elif s.scope == "warp":
            call = b.intrinsic("llvm.nvvm.bar.warp.sync", "void", ["i32"])
            b.line(f"{call}(i32 -1)")
        else:
            number, threads = self._barriers[s.scope], self._barrier_threads[s.scope]
            self._assembly(f"bar.sync {number}, {threads};", [])

    def _signal(self, s: Signal) -> None:
        address = self._address(s.buffer, self._first_of(s.buffer, s.index))
        if s.bytes == 0:
            text = "mbarrier.arrive.shared::cta.b64 _, [$0];"
            self._assembly(text, [("r", f"i32 {address}")])
            return
        size = self.index(s.bytes) if isinstance(s.bytes, int) else self.uniform(s.bytes)
        narrow = self.builder.emit(f"trunc {size} to i32")
        text = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
        self._assembly(text, [("r", f"i32 {address}"), ("r", f"i32 {narrow}")])

    def _wait(self, s: Wait) -> None:
        address = self._address(s.buffer, self._first_of(s.buffer, s.index))
        parity = self.uniform(s.parity)
        way = "zext" if parity.dtype is dt.b1 else "trunc"
        narrow = self.builder.emit(f"{way} {parity} to i32")
        text = (
            "{ .reg .pred p; AGAIN: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
            "@p bra DONE; bra AGAIN; DONE: }"
        )
        self._assembly(text, [("r", f"i32 {address}"), ("r", f"i32 {narrow}")])

    # --- copies -----------------------------------------------------------------------------------

    def _start_copy(self, s: Copy) -> None:
        """The copy engine brings the box, a panel at a time."""
        signal, source, destination = s.signal, s.source, s.destination
        if source not in self.kernel.buffers or destination not in self.tiles or signal is None:
            raise CompileError(
                f"kernel {self.kernel.name}: an asynchronous copy has PTX from a parameter to an "
                "operand of a tile product, with a signal"
            )
        shape, inner = _constant(destination), PANEL_BYTES // source.dtype.itemsize
        origin = [self.uniform(i) for i in s.destination_index]
        if s.extents != shape[-2:] or any(v.const != 0 for v in origin[-2:]):
            raise CompileError(f"kernel {self.kernel.name}: a copy fills a whole tile")
        rows, width = s.extents
        if width % inner or rows > 256:
            raise CompileError(f"kernel {self.kernel.name}: a copied tile of {rows} x {width}")
        b = self.builder
        rank = len(source.shape)
        found = TensorMap(
            self.kernel.buffers.index(source),
            source.dtype,
            _constant(source),
            (*(1,) * (rank - 2), rows, inner),
        )
        if found not in self.maps:
            self.maps.append(found)
        number = self.maps.index(found)
        start = self._first_of(destination, s.destination_index)
        barrier = self._address(signal, self._first_of(signal, s.signal_index))
        places = [self.uniform(i) for i in s.source_index]
        for panel in range(width // inner):
            address = self._address(destination, start, panel * rows * PANEL_BYTES)
            narrow = [b.emit(f"trunc {v} to i32") for v in places]
            if panel:
                narrow[-1] = b.emit(f"add i32 {narrow[-1]}, {panel * inner}")
            coordinates = ", ".join(f"${2 + k}" for k in range(rank))
            text = (
                f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.mbarrier::complete_tx::bytes "
                f"[$0], [$1, {{{coordinates}}}], [${2 + rank}];"
            )
            operands = [("r", f"i32 {address}"), ("l", f"ptr %map{number}")]
            operands += [("r", f"i32 {v}") for v in reversed(narrow)]
            self._assembly(text, [*operands, ("r", f"i32 {barrier}")])

    def map_parameters(self) -> list[str]:
        """Parameters behind the error slot: a tensor map each."""
        return [
            f'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map{k}'
            for k in range(len(self.maps))
        ]

    # --- tile products ----------------------------------------------------------------------------

    def stack_place(self, buffer: Buffer) -> Place:
        """Memory of a thread; of accumulators, its share."""
        shape = self.accumulators.get(buffer)
        if shape is None:
            return super().stack_place(buffer)
        self._groups(shape, buffer.dtype)
        count = TILE_ROWS * shape[1] // (GROUP * WARP)
        address = self.builder.allocate(memory_type(buffer.dtype), count, 64)
        return Place(address, "ptr", self.builder.root)

    def _groups(self, shape: tuple[int, int, int], accumulator: DType) -> int:
        """Groups of warps that share a tile product."""
        m, n, k = shape
        role = self._role
        warps = self.threads // WARP if role is None else role.warps
        first = 0 if role is None else role.first_warp
        if warps % GROUP or first % GROUP or m != warps // GROUP * TILE_ROWS:
            raise CompileError(
                f"kernel {self.kernel.name}: {m} rows of a tile product need "
                f"{m // TILE_ROWS * GROUP} warps, from a multiple of {GROUP} on; found {warps}"
            )
        itemsize = 8 if accumulator is dt.f64 else 2
        if n % COLUMNS or n > 256 or k * itemsize != PANEL_BYTES:
            raise CompileError(f"kernel {self.kernel.name}: no tile product of {shape}")
        return warps // GROUP

    def _group_number(self) -> str:
        """The number of this thread's group in its role, as i64."""
        b = self.builder
        first = 0 if self._role is None else self._role.first_warp
        group = b.emit(f"lshr i64 {self.thread_number().ref}, 7", b.root)
        return b.emit(f"sub i64 {group}, {first // GROUP}", b.root)

    def _register(self, buffer: Buffer, number: int) -> str:
        place = self.places[buffer]
        element = memory_type(buffer.dtype)
        return self.builder.emit(f"getelementptr {element}, ptr {place.address}, i64 {number}")

    def _multiply(self, s: TileMultiply) -> None:
        """One statement of assembly: the instructions of a tile's terms, and the wait for them, so
        that nothing can move between the product and the registers it fills."""
        _, n, k = s.shape
        half = _HALVES.get(s.a.dtype)
        doubles = s.a.dtype is dt.f64
        if (half is None and not doubles) or s.b.dtype is not s.a.dtype:
            raise CompileError(f"kernel {self.kernel.name}: no tile product of {s.a.dtype}")
        self._groups(s.shape, s.accumulators.dtype)
        if doubles:
            places = [
                self._register(s.accumulators, e) for e in range(TILE_ROWS * n // (GROUP * WARP))
            ]
            first_warp = 0 if self._role is None else self._role.first_warp
            self.multiply_doubles(s, first_warp, places)
            return
        b = self.builder
        group = b.emit(f"trunc i64 {self._group_number()} to i32", b.root)
        own = b.emit(f"mul i32 {group}, {TILE_ROWS * PANEL_BYTES}", b.root)
        a_start = self._address(s.a, self._first_of(s.a, s.a_index))
        a_own = b.emit(f"add i32 {a_start}, {own}")
        b_start = self._address(s.b, self._first_of(s.b, s.b_index))
        operands = [
            self._descriptor(a_own, s.transpose_a, k),
            self._descriptor(b_start, not s.transpose_b, k),
        ]
        add = "1"
        if s.first is not None:
            first = self.uniform(s.first)
            add = b.emit(f"select i1 {first.ref}, i32 0, i32 1")
        count = TILE_ROWS * n // (GROUP * WARP)
        places = [self._register(s.accumulators, number) for number in range(count)]
        before = [b.emit(f"load float, ptr {p}, align 4") for p in places]
        registers = "{" + ", ".join(f"${i}" for i in range(count)) + "}"
        turned = f"{int(s.transpose_a)}, {int(not s.transpose_b)}"
        a_step = _step(s.transpose_a)
        b_step = _step(not s.transpose_b)
        lines = [
            "{ .reg .pred p; .reg .b64 xa, xb;",
            f"setp.ne.b32 p, ${2 * count + 2}, 0;",
            "wgmma.fence.sync.aligned;",
        ]
        for step in range(k // STEP_TERMS):
            lines += [
                f"add.s64 xa, ${2 * count}, {step * a_step};",
                f"add.s64 xb, ${2 * count + 1}, {step * b_step};",
                f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{half}.{half} {registers}, xa, xb, "
                f"{'p' if step == 0 else '1'}, 1, 1, {turned};",
            ]
        lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0; }"]
        tied = [(str(i), f"float {v}") for i, v in enumerate(before)]
        inputs = [("l", f"i64 {d}") for d in operands]
        result = "{" + ", ".join(["float"] * count) + "}"
        outs = ",".join(["=f"] * count)
        found = self._assembly(" ".join(lines), [*tied, *inputs, ("r", f"i32 {add}")], result, outs)
        for number, place in enumerate(places):
            value = b.emit(f"extractvalue {result} {found}, {number}")
            b.line(f"store float {value}, ptr {place}, align 4")

    def _descriptor(self, address: str, across: bool, k: int) -> str:
        """The matrix descriptor of a tile at a shared address (PTX ISA, "Matrix descriptor"): 128
        bytes swizzled, 1024 bytes between groups of eight rows. across: the terms are its rows, so
        that panels follow each other after `k` rows."""
        b = self.builder
        panel = k * PANEL_BYTES // 16 if across else 1
        facts = 1 << 62 | (SWIZZLE_ALIGNMENT // 16) << 32 | panel << 16
        low = b.emit(f"and i32 {address}, {0x3FFFF}")
        start = b.emit(f"zext i32 {b.emit(f'lshr i32 {low}, 4')} to i64")
        return b.emit(f"or i64 {start}, {facts}")

    def _give(self, s: Copy) -> None:
        """Each thread stores the accumulators that it holds of the box, two at a time."""
        m, _, _ = self.accumulators[s.source]
        row, column = (self.uniform(i).const for i in s.source_index)
        rows, columns = s.extents
        if s.destination.space is not Space.SHARED or s.destination in self.tiles:
            raise CompileError(
                f"kernel {self.kernel.name}: accumulators are copied to shared memory"
            )
        if row != 0 or rows != m or column is None or column % COLUMNS or columns % COLUMNS:
            raise CompileError(
                f"kernel {self.kernel.name}: accumulators are copied in whole columns, {COLUMNS} "
                "at a time, at a constant place"
            )
        b = self.builder
        destination = s.destination
        pitch, unit = (v.const for v in self.strides(destination)[-2:])
        if unit != 1 or pitch is None or pitch % 2:
            raise CompileError(f"kernel {self.kernel.name}: rows of {destination.name} are no rows")
        start = self.pointer(destination, self._first_of(destination, s.destination_index))
        thread = self.thread_number().ref
        lane = b.emit(f"and i64 {thread}, {WARP - 1}", b.root)
        warp = b.emit(f"and i64 {b.emit(f'lshr i64 {thread}, 5', b.root)}, {GROUP - 1}", b.root)
        terms = (
            (b.emit(f"lshr i64 {lane}, 2", b.root), pitch),
            (warp, 16 * pitch),
            (self._group_number(), TILE_ROWS * pitch),
            (b.emit(f"and i64 {lane}, 3", b.root), 2),
        )
        offset = "0"
        for value, stride in terms:
            product = b.emit(f"mul i64 {value}, {stride}", b.root)
            offset = b.emit(f"add i64 {offset}, {product}", b.root)
        element = memory_type(destination.dtype)
        own = b.emit(f"getelementptr {element}, ptr addrspace(3) {start}, i64 {offset}")
        for j in range(columns // COLUMNS):
            for h in range(2):
                number = 4 * (column // COLUMNS + j) + 2 * h
                pair = "poison"
                for e in range(2):
                    place = self._register(s.source, number + e)
                    value = b.emit(f"load {element}, ptr {place}, align 4")
                    text = f"insertelement <2 x {element}> {pair}, {element} {value}, i64 {e}"
                    pair = b.emit(text)
                to = 8 * h * pitch + COLUMNS * j
                address = b.emit(f"getelementptr {element}, ptr addrspace(3) {own}, i64 {to}")
                aligned = 2 * destination.dtype.itemsize
                store = f"store <2 x {element}> {pair}, ptr addrspace(3) {address}"
                b.line(f"{store}, align {aligned}")


def _step(across: bool) -> int:
    """What the descriptor of the next terms has more: 16 rows of a panel, or 32 bytes of a row."""
    return (STEP_TERMS * PANEL_BYTES if across else STEP_TERMS * 2) // 16


def _in_loop(scope: Scope | None) -> bool:
    while scope is not None:
        if scope.kind == "loop":
            return True
        scope = scope.parent
    return False


def _constant(buffer: Buffer) -> tuple[int, ...]:
    """The shape of a buffer whose extents are constants."""
    found = tuple(e for e in buffer.shape if isinstance(e, int))
    if len(found) != len(buffer.shape):
        raise CompileError(f"buffer {buffer.name} needs a constant shape")
    return found


def bytes_of(buffer: Buffer) -> int:
    """What a shared buffer takes, its strides counted."""
    shape = _constant(buffer)
    if not all(shape):
        return 0
    if buffer.strides is None:
        return prod(shape) * buffer.dtype.itemsize
    steps = [s for s in buffer.strides if isinstance(s, int)]
    last = sum((e - 1) * s for e, s in zip(shape, steps, strict=True))
    return (last + 1) * buffer.dtype.itemsize


# --- rules that a kernel must keep to have PTX ----------------------------------------------------


def _check_accesses(statements: Sequence[Stmt], tiles: set[Buffer], sums: set[Buffer]) -> None:
    """Tiles and accumulators are reached by copies and products only: their layout is hidden."""
    for s in statements:
        touched = {n.buffer for n in postorder(expressions(s)) if isinstance(n, Load)}
        if isinstance(s, (Store, Accumulate)):
            touched.add(s.buffer)
        for buffer in touched & (tiles | sums):
            what = "a tile" if buffer in tiles else "accumulators"
            raise CompileError(f"{buffer.name} is {what}: only copies and tile products reach it")


def _check_copies(kernel: Kernel) -> None:
    """An asynchronous copy is started by one thread: under `warp == c` (or in a role of one warp)
    and `thread == c`."""
    warps: set[Var] = set()

    def visit(body: Body, lanes: frozenset[Var], fixed: frozenset[Var]) -> None:
        for s in body:
            if isinstance(s, Copy) and s.asynchronous and lanes - fixed:
                raise CompileError(
                    f"kernel {kernel.name}: an asynchronous copy is started by one thread; put it "
                    "in a role of one warp, under an `if` that compares the thread with a constant"
                )
            inner, known = lanes, fixed
            if isinstance(s, For) and s.kind in (Kind.WARP, Kind.THREAD) and s.extent != 1:
                inner = lanes | {s.var}
            if isinstance(s, For) and s.kind is Kind.WARP:
                warps.add(s.var)
            if isinstance(s, If):
                found = frozenset(_compared(s.condition)) if s.condition is not None else fixed
                if s.role is not None and s.role.warps == 1:
                    found = frozenset(warps)
                visit(s.then, lanes, fixed | found)
                visit(s.orelse, lanes, fixed)
                continue
            for nested in bodies(s):
                visit(nested, inner, known)

    visit(kernel.body, frozenset(), frozenset())


def _compared(condition: Expr) -> Iterator[Var]:
    """Variables that a conjunction says are equal to a constant."""
    if isinstance(condition, Apply) and condition.name == "and":
        for e in condition.args:
            yield from _compared(e)
    elif isinstance(condition, Apply) and condition.name == "eq":
        variables = [e for e in condition.args if isinstance(e, Var)]
        if any(isinstance(e, Const) for e in condition.args):
            yield from variables
