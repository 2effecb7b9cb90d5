"""A writer of LLVM text for one kernel, with loops, masked vectors and the pairwise tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

INTRINSICS = """
declare {v} @llvm.masked.load.{m}.p0(ptr, i32, <{w} x i1>, {v})
declare void @llvm.masked.store.{m}.p0({v}, ptr, i32, <{w} x i1>)
declare {v} @llvm.fma.{m}({v}, {v}, {v})
declare {v} @llvm.sqrt.{m}({v})
declare {v} @llvm.maximum.{m}({v}, {v})
declare {v} @llvm.roundeven.{m}({v})
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.bitreverse.i64(i64)
"""


class Writer:
    """The text of one function `void name(ptr x, ptr out, i64 count)`.

    Loop-carried values live in allocas; the O2 pipeline turns them into registers.
    """

    def __init__(self, dtype: str, bits: int, *, scales: bool = False) -> None:
        """dtype: "float32" or "float64"; bits: the vector width, 256 or 512; scales: whether the
        processor scales float32 vectors by powers of two (AVX-512)."""
        self.dtype = dtype
        self.element = "float" if dtype == "float32" else "double"
        self.size = 4 if dtype == "float32" else 8
        self.bits = bits
        self.scales = scales
        self.width = bits // 8 // self.size
        self.vector = f"<{self.width} x {self.element}>"
        self.mangled = f"v{self.width}f{8 * self.size}"
        self.head: list[str] = []
        self.body: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def let(self, text: str) -> str:
        name = "%" + self.fresh()
        self.body.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        self.body.append("  " + text)

    def alloca(self, kind: str, count: int = 1) -> str:
        name = "%" + self.fresh()
        self.head.append(f"  {name} = alloca {kind}, i32 {count}, align 64")
        return name

    def splat(self, value: float) -> str:
        bits = np.float64(np.float32(value) if self.size == 4 else value).view(np.uint64)
        return f"splat ({self.element} 0x{int(bits):016X})"

    def at(self, base: str, offset: str | int, kind: str | None = None) -> str:
        if offset == 0:
            return base
        return self.let(f"getelementptr {kind or self.element}, ptr {base}, i64 {offset}")

    def mul(self, a: str | int, b: int) -> str | int:
        return a * b if isinstance(a, int) else self.let(f"mul i64 {a}, {b}")

    def sum(self, a: str | int, b: str | int) -> str | int:
        if a == 0:
            return b
        if b == 0:
            return a
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return self.let(f"add i64 {a}, {b}")

    def mask(self, present: int) -> str:
        bits = ", ".join(f"i1 {int(i < present)}" for i in range(self.width))
        return f"<{self.width} x i1> <{bits}>"

    def load(self, pointer: str, present: int | None = None) -> str:
        """A vector at `pointer`; lanes from `present` on are -0.0 and are not read."""
        if present is None or present >= self.width:
            return self.let(f"load {self.vector}, ptr {pointer}, align {self.size}")
        return self.let(
            f"call {self.vector} @llvm.masked.load.{self.mangled}.p0(ptr {pointer}, i32 {self.size}"
            f", {self.mask(present)}, {self.vector} {self.splat(-0.0)})"
        )

    def store(self, value: str, pointer: str, present: int | None = None) -> None:
        if present is None or present >= self.width:
            self.do(f"store {self.vector} {value}, ptr {pointer}, align {self.size}")
            return
        self.do(
            f"call void @llvm.masked.store.{self.mangled}.p0({self.vector} {value}, ptr {pointer}"
            f", i32 {self.size}, {self.mask(present)})"
        )

    def binary(self, op: str, a: str, b: str) -> str:
        return self.let(f"{op} {self.vector} {a}, {b}")

    def add(self, a: str | None, b: str | None) -> str | None:
        """a + b, where None is the identity."""
        if a is None or b is None:
            return b if a is None else a
        return self.binary("fadd", a, b)

    def call(self, name: str, *args: str) -> str:
        actual = ", ".join(f"{self.vector} {a}" for a in args)
        return self.let(f"call {self.vector} @llvm.{name}.{self.mangled}({actual})")

    def scale(self, x: str, n: str) -> str:
        """x * 2^n, float32, on a processor that `scales`."""
        name = f"@llvm.x86.avx512.mask.scalef.ps.{self.bits}"
        mask, last = f"i{max(self.width, 8)}", ", i32 4" if self.bits == 512 else ""
        given = f"{self.vector} {x}, {self.vector} {n}, {self.vector} zeroinitializer, {mask} -1"
        return self.let(f"call {self.vector} {name}({given}{last})")

    def shuffle(self, a: str, b: str, lanes: list[int]) -> str:
        chosen = ", ".join(f"i32 {i}" for i in lanes)
        return self.let(
            f"shufflevector {self.vector} {a}, {self.vector} {b}, <{len(lanes)} x i32> <{chosen}>"
        )

    def broadcast(self, v: str) -> str:
        return self.shuffle(v, "poison", [0] * self.width)

    @contextmanager
    def loop(self, start: str | int, stop: str | int, step: int = 1) -> Iterator[str]:
        slot = self.alloca("i64")
        test, inside, after = self.fresh(), self.fresh(), self.fresh()
        self.do(f"store i64 {start}, ptr {slot}")
        self.do(f"br label %{test}")
        self.body.append(f"{test}:")
        i = self.let(f"load i64, ptr {slot}")
        more = self.let(f"icmp slt i64 {i}, {stop}")
        self.do(f"br i1 {more}, label %{inside}, label %{after}")
        self.body.append(f"{inside}:")
        yield i
        self.do(f"store i64 {self.let(f'add i64 {i}, {step}')}, ptr {slot}")
        self.do(f"br label %{test}")
        self.body.append(f"{after}:")

    def text(self) -> str:
        width = f'"prefer-vector-width"="{self.bits}" "min-legal-vector-width"="{self.bits}"'
        lines = [
            f"define void @k(ptr noalias %x, ptr noalias %out, i64 %count) nounwind {width} {{",
            "entry:",
            *self.head,
            *self.body,
            "  ret void",
            "}",
        ]
        declared = INTRINSICS.format(v=self.vector, m=self.mangled, w=self.width)
        if self.scales:
            v, mask, last = self.vector, f"i{max(self.width, 8)}", ", i32" * (self.bits == 512)
            name = f"@llvm.x86.avx512.mask.scalef.ps.{self.bits}"
            declared += f"declare {v} {name}({v}, {v}, {v}, {mask}{last})\n"
        return "\n".join(lines) + declared


def tree(w: Writer, nodes: list[list[str | None]]) -> list[str | None]:
    """The pairwise tree over `nodes`, lane by lane, an odd one promoted."""
    while len(nodes) > 1:
        paired = [
            [w.add(a, b) for a, b in zip(nodes[i], nodes[i + 1], strict=True)]
            for i in range(0, len(nodes) - 1, 2)
        ]
        nodes = paired + (nodes[-1:] if len(nodes) % 2 else [])
    return nodes[0]


def trailing_ones(w: Writer, index: str | int) -> str:
    """How many levels of a binary counter of chunks `index` carries through."""
    inverse = w.let(f"xor i64 {index}, -1")
    return w.let(f"call i64 @llvm.cttz.i64(i64 {inverse}, i1 false)")
