"""Tile products of float64 as PTX: `mma.sync` on fragments that a warp reads from shared memory.

A warp has 16 rows of the product and all of its columns, 8 at a time. Of a fragment, lane
l = 4 g + t holds for j = 0..3 the terms k(t, j) of rows g and g + 8 of a, and of column g of b: any
k gives the product if it is the same for both. Of two, that one is taken whose reads of b meet no
bank conflict:

    b by rows of terms ([n, k])     k = 4 t + j                      a pair lies side by side
    b by rows of columns ([k, n])   k = 2 t + j % 2 + 8 (j / 2)      the swizzle keeps rows apart

Accumulators lie in registers as those of the products of halves do (`nvptx_tiles`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyc.backends.llvm import KernelEmitter
from pyc.backends.llvm_builder import Value
from pyc.ir.expr import Expr
from pyc.ir.loops import Buffer, TileMultiply

TERMS = 16
"""Terms of a tile: 128 bytes."""
_ROW = 128
_PANEL = TERMS * _ROW
_MMA = (
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {$0, $1, $2, $3}, "
    "{$4, $5, $6, $7, $8, $9, $10, $11}, {$12, $13, $14, $15}, {$16, $17, $18, $19};"
)
_CONSTRAINTS = ",".join(["=d"] * 4 + ["d"] * 12 + ["0", "1", "2", "3"])
_FOUR = "{double, double, double, double}"


class DoubleEmitter(KernelEmitter):
    """Emits tile products of float64."""

    def thread_number(self) -> Value:
        """The number of a thread in its block."""
        raise NotImplementedError

    def shared_address(self, buffer: Buffer, index: Sequence[Expr]) -> str:
        """The pointer to an element of a shared buffer."""
        return self.pointer(buffer, self.linear(buffer, index, -1))

    def multiply_doubles(self, s: TileMultiply, first_warp: int, places: Sequence[str]) -> None:
        """Adds a tile's products to the accumulators at `places`; first_warp: of those that share
        the tile."""
        b = self.builder
        if s.first is not None:
            self._clear(self.uniform(s.first), places)
        thread = self.thread_number().ref
        lane = b.emit(f"and i64 {thread}, 31", b.root)
        warp = b.emit(f"sub i64 {b.emit(f'lshr i64 {thread}, 5', b.root)}, {first_warp}", b.root)
        g, t = b.emit(f"lshr i64 {lane}, 2", b.root), b.emit(f"and i64 {lane}, 3", b.root)
        by_terms = s.transpose_b and not s.transpose_a  # else addresses take too many registers
        left = _Fragments(self, self.shared_address(s.a, s.a_index), g, t, by_terms)
        right = _Fragments(self, self.shared_address(s.b, s.b_index), g, t, by_terms)
        own = b.emit(f"mul i64 {warp}, {_PANEL}", b.root)
        if s.transpose_a:  # 16 rows are a panel
            rows = [left.by_columns(0, half, own) for half in range(2)]
        else:
            rows = [left.by_terms(8 * half, own) for half in range(2)]
        a = [rows[half][j] for j in range(4) for half in range(2)]
        for block in range(s.shape[1] // 8):
            if s.transpose_b:
                terms = right.by_terms(8 * block, "0")
            else:
                terms = right.by_columns(block // 2, block % 2, "0")
            held = places[4 * block : 4 * block + 4]
            before = [b.emit(f"load double, ptr {p}, align 8") for p in held]
            values = ", ".join(f"double {v}" for v in (*a, *terms, *before))
            found = b.emit(f'call {_FOUR} asm "{_MMA}", "{_CONSTRAINTS}"({values}) #1')
            for i, place in enumerate(held):
                value = b.emit(f"extractvalue {_FOUR} {found}, {i}")
                b.line(f"store double {value}, ptr {place}, align 8")

    def _clear(self, first: Value, places: Sequence[str]) -> None:
        """Sets accumulators to zero where `first`: in a branch, which costs the others nothing."""
        b = self.builder
        clear, go_on = b.name("clear"), b.name("cleared")
        b.line(f"br i1 {first.ref}, label %{clear}, label %{go_on}")
        b.label(clear)
        for place in places:
            b.line(f"store double 0.0, ptr {place}, align 8")
        b.line(f"br label %{go_on}")
        b.label(go_on)


class _Fragments:
    """Reads of one operand's tile by one lane. by_terms of the constructor: which k(t, j)."""

    def __init__(self, emitter: DoubleEmitter, start: str, g: str, t: str, by_terms: bool) -> None:
        self._b = emitter.builder
        self._start, self._g, self._t, self._side = start, g, t, by_terms

    def _op(self, text: str) -> str:
        return self._b.emit(text, self._b.root)

    def _address(self, own: str, offset: str, piece: str, constant: int) -> str:
        """The tile's start, `own` and `offset` bytes further, and a 16-byte piece."""
        at = self._op(f"add i64 {own}, {offset}")
        at = self._op(f"add i64 {at}, {self._op(f'shl i64 {piece}, 4')}")
        at = self._op(f"add i64 {at}, {constant}")
        return self._b.emit(f"getelementptr i8, ptr addrspace(3) {self._start}, i64 {at}")

    def by_terms(self, row: int, own: str) -> list[str]:
        """The four terms of row `row` + g of a tile whose rows are terms."""
        b = self._b
        offset = self._op(f"shl i64 {self._g}, 7")
        first = self._op(f"shl i64 {self._t}, 1") if self._side else self._t
        piece = self._op(f"xor i64 {first}, {self._g}")
        found = []
        for pair in range(2):
            step = pair if self._side else 4 * pair
            here = self._op(f"xor i64 {piece}, {step}")
            address = self._address(own, offset, here, row * _ROW)
            two = b.emit(f"load <2 x double>, ptr addrspace(3) {address}, align 16")
            found += [b.emit(f"extractelement <2 x double> {two}, i64 {i}") for i in range(2)]
        return found

    def by_columns(self, panel: int, half: int, own: str) -> list[str]:
        """The four terms of column 8 `half` + g of a panel of a tile whose rows are columns."""
        b = self._b
        odd = self._op(f"shl i64 {self._op(f'and i64 {self._g}, 1')}, 3")
        row = self._op(f"shl i64 {self._t}, {9 if self._side else 8}")
        offset = self._op(f"add i64 {odd}, {row}")
        if self._side:
            turned = self._op(f"shl i64 {self._op(f'and i64 {self._t}, 1')}, 2")
        else:
            turned = self._op(f"shl i64 {self._t}, 1")
        piece = self._op(f"xor i64 {self._op(f'lshr i64 {self._g}, 1')}, {turned}")
        found = []
        for j in range(4):
            low, rows = (j, j) if self._side else (j % 2, j % 2 + 8 * (j // 2))
            here = self._op(f"xor i64 {piece}, {4 * half ^ low}")
            address = self._address(own, offset, here, panel * _PANEL + rows * _ROW)
            found.append(b.emit(f"load double, ptr addrspace(3) {address}, align 8"))
        return found
