"""The text of a Kernel: its grammar, and `print_kernel`. `parse_kernel` reads it back.

    kernel    = 'kernel' STRING '(' s0, s1 ... ')' '{' parameter* statement* '}'
    parameter = b0 ':' role array                        role: in | out | inout
    array     = f32[4096, s0] [cluster | shared | register | stack] [align 64] [strides (s0, 1)]
                [alias]
    statement = temporary* one of
        for i0 in 0..extent kind [carry (v0 = initial, ...) -> (v1, ...)] { statement* [next] }
        while carry (v0 = initial, ...) -> (v1, ...) { when statement* next }
                                          when = temporary* 'when' expr (tested first)
                                          next = temporary* 'next' expr, ... (at the end)
        if condition { statement* } [else { statement* }]
        if role "name" warps 0..4 [registers 40] { statement* } [else { statement* }]
        v0 = expr                                        (Let)
        v0, v1 = reduce argmax (i0 in 0..n, ...) { temporary* yield expr, ... }
        v0, v1 = cumulate add (i0 in 0..n) { temporary* yield expr, ... statement* }
        b0[expr, ...] = expr                             (Store)
        accumulate add b0[expr, ...], expr
        alloc b1: array [phased 2] { statement* }        phased: arrivals that end a phase
        copy b1[expr, ...] <- b0[expr, ...] box (64, 64) [async] [signal b2[expr]]
        barrier "block"
        v0 = last                                        (of the blocks of a group)
        signal b2[expr] [bytes extent]
        wait b2[expr] parity expr
        multiply b3 += b1[expr, ...] @ b2[expr, ...] shape (64, 64, 16) [transpose_a] [transpose_b]
            [first expr]
        fail 3 if expr value expr
    temporary = %0 = expr                                (counted anew for each statement)
    expr      = term | term op term                      op: + - * / & | ^ << >> < <= > >= == !=
    term      = (expr) | i0 | v0 | s0 | %0 | b0[expr, ...] | add(expr, ...) | cast.f32(expr)
              | bitcast.u32(expr) | shuffle(expr, i0 ^ 4) | literal
    literal   = 12 (i64) | true | 12:u8 | 1.5:f32 | -inf:f64 | 0x7fc00001:f32 (bits)

Takes a `Kernel` (a valid one or not: what is unbound prints as `?name`) and returns text. Names are
positional, so equal structure gives equal text. A sub-expression that its statement uses twice, or
that would nest deeper than `MAX_INLINE`, is a temporary: the text is linear in the size of the DAG.
Size parameters are `s0..`, loop variables `i0..`, others `v0..`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.dtype import DType
from pyc.ir.expr import (
    Apply,
    Const,
    Expr,
    Load,
    Shuffle,
    Var,
    postorder,
)
from pyc.ir.loops import Buffer, Kernel, Space, Stmt
from pyc.ir.tokens import quoted

MAX_INLINE = 5
"""Operators nested in one line before a temporary is used; bounds the parser's recursion too."""

MAX_INDENT = 64
"""Levels that are indented: a kernel may have thousands of allocations within each other."""

_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BITWISE = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
INFIX = _ARITHMETIC | _BITWISE | _COMPARISONS


# --- printing -------------------------------------------------------------------------------------


def print_kernel(kernel: Kernel) -> str:
    """The text of a kernel, ending in a newline."""
    return "\n".join(_Printer(kernel).lines) + "\n"


def print_statements(kernel: Kernel) -> dict[Stmt, str]:
    """For each statement, the text that `print_kernel` gives it: its temporaries and first line."""
    return _Printer(kernel).statements


def print_literal(value: Any, dtype: DType) -> str:
    """A constant so that it parses back to the same bits."""
    if dtype is dt.b1:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value)) if dtype is dt.i64 else f"{int(value)}:{dtype.short}"
    exact = np.asarray(value, dtype=dtype.numpy)
    shortest = str(exact[()]) if dtype.bits >= 32 else repr(float(exact))
    with np.errstate(all="ignore"):
        back = np.asarray(float(shortest)).astype(dtype.numpy)
    if back.tobytes() == exact.tobytes():
        return f"{shortest}:{dtype.short}"
    bits = int(exact.reshape(1).view(dt.unsigned_of(dtype.bits).numpy)[0])
    return f"{bits:#x}:{dtype.short}"


class _Printer:
    """Prints one kernel; `lines` is the text, `statements` the part of each statement."""

    def __init__(self, kernel: Kernel) -> None:
        self.lines: list[str] = []
        self.statements: dict[Stmt, str] = {}
        self._depth = 0
        self._vars: dict[Var, str] = {v: f"s{n}" for n, v in enumerate(kernel.sizes)}
        self._buffers: dict[Buffer, str] = {}
        self._loops = 0
        self._values = 0
        self._phased = {p.buffer: p.arrivals for p in kernel.phased}
        sizes = ", ".join(self._vars.values())
        self._line(f"kernel {quoted(kernel.name)}({sizes}) {{")
        self._depth = 1
        for buffer in kernel.buffers:
            array = self._array(buffer)
            self._line(f"{self._bind_buffer(buffer)}: {buffer.role} {array}")
        self._body(kernel.body)
        self._depth = 0
        self._line("}")

    # names

    def _line(self, text: str) -> None:
        self.lines.append("  " * min(self._depth, MAX_INDENT) + text)

    def _bind_buffer(self, buffer: Buffer) -> str:
        return self._buffers.setdefault(buffer, f"b{len(self._buffers)}")

    def _bind_loop(self, var: Var) -> str:
        self._vars[var] = f"i{self._loops}"
        self._loops += 1
        return self._vars[var]

    def _bind(self, var: Var) -> str:
        self._vars[var] = f"v{self._values}"
        self._values += 1
        return self._vars[var]

    def _buffer(self, buffer: Buffer) -> str:
        return self._buffers.get(buffer, f"?{buffer.name}")

    # expressions

    def _expressions(self, roots: Iterable[Expr | int]) -> list[str]:
        """The text of each root; temporaries are printed as lines before."""
        given = list(roots)
        exprs = [r for r in given if isinstance(r, Expr)]
        order = postorder(exprs)
        uses: dict[int, int] = {}
        for node in order:
            for child in node.operands:
                uses[id(child)] = uses.get(id(child), 0) + 1
        final = {id(r) for r in exprs}
        for root in exprs:
            uses[id(root)] = uses.get(id(root), 0) + 1
        text: dict[int, str] = {}
        nesting: dict[int, int] = {}
        count = 0
        for node in order:
            inner = [nesting[id(c)] for c in node.operands]
            deep = 1 + max(inner) if inner else 0
            shown = self._node(node, text)
            too_deep = deep >= MAX_INLINE and id(node) not in final
            if inner and (uses[id(node)] > 1 or too_deep):
                self._line(f"%{count} = {shown}")
                shown, deep = f"%{count}", 0
                count += 1
            text[id(node)] = shown
            nesting[id(node)] = deep
        return [text[id(r)] if isinstance(r, Expr) else str(r) for r in given]

    def _node(self, node: Expr, text: dict[int, str]) -> str:
        if isinstance(node, Var):
            return self._vars.get(node, f"?{node.name}")
        if isinstance(node, Const):
            return print_literal(node.value, node.dtype)
        if isinstance(node, Load):
            return f"{self._buffer(node.buffer)}[{', '.join(text[id(i)] for i in node.index)}]"
        if isinstance(node, Shuffle):
            var = self._vars.get(node.var, f"?{node.var.name}")
            return f"shuffle({text[id(node.value)]}, {var} ^ {node.distance})"
        if not isinstance(node, Apply):
            return f"?{type(node).__name__}"
        args = [text[id(a)] for a in node.args]
        if node.name in INFIX and len(args) == 2:
            left, right = (_closed(a) for a in args)
            return f"{left} {INFIX[node.name]} {right}"
        if node.name in ("cast", "bitcast"):
            return f"{node.name}.{node.dtype.short}({args[0]})"
        return f"{node.name}({', '.join(args)})"

    # statements

    def _array(self, buffer: Buffer) -> str:
        strides = buffer.strides
        dims = self._expressions((*buffer.shape, *(strides or ())))
        parts = [f"{buffer.dtype.short}[{', '.join(dims[: len(buffer.shape)])}]"]
        if buffer.space is not Space.GLOBAL:
            parts.append(buffer.space.value)
        if buffer.alignment != 16:
            parts.append(f"align {buffer.alignment}")
        if strides is not None:
            parts.append(f"strides ({', '.join(dims[len(buffer.shape) :])})")
        if buffer.may_alias:
            parts.append("alias")
        if buffer.streamed:
            parts.append("streamed")
        return " ".join(parts)

    def _body(self, body: lo.Body) -> None:
        # Recursion is over nesting of loops and branches only, which is shallow; a body may be
        # long, and allocations within each other many.
        heads, innermost = lo.spine(body)
        for before, s in heads:
            for other in before:
                self._statement(other)
            self._allocation(s)
            self._depth += 1
        for other in innermost:
            self._statement(other)
        for _ in heads:
            self._depth -= 1
            self._line("}")

    def _block(self, body: lo.Body) -> None:
        self._depth += 1
        self._body(body)
        self._depth -= 1

    def _heading(self, s: Stmt, start: int, text: str) -> None:
        """The statement's own line; what was printed since `start` are its temporaries."""
        self._line(text)
        self.statements[s] = "\n".join(line.strip() for line in self.lines[start:])

    def _end(self, word: str, roots: Sequence[Expr]) -> None:
        self._depth += 1
        self._line(f"{word} {', '.join(self._expressions(roots))}")
        self._depth -= 1

    def _element(self, buffer: Buffer, index: Sequence[str]) -> str:
        return f"{self._buffer(buffer)}[{', '.join(index)}]"

    def _carry(self, carried: tuple[lo.Carry, ...], initial: Sequence[str]) -> str:
        pairs = ", ".join(
            f"{self._bind(c.var)} = {x}" for c, x in zip(carried, initial, strict=True)
        )
        # Results are bound here, before the body: the numbers only have to be found again.
        return f"carry ({pairs}) -> ({', '.join(self._bind(c.result) for c in carried)})"

    def _allocation(self, s: lo.Alloc) -> None:
        start = len(self.lines)
        array = self._array(s.buffer)
        if s.buffer in self._phased:
            array += f" phased {self._phased[s.buffer]}"
        self._heading(s, start, f"alloc {self._bind_buffer(s.buffer)}: {array} {{")

    def _statement(self, s: Stmt) -> None:
        start = len(self.lines)
        if isinstance(s, lo.For):
            extent, *initial = self._expressions((s.extent, *(c.initial for c in s.carried)))
            head = f"for {self._bind_loop(s.var)} in 0..{_closed(extent)} {s.kind.value}"
            if s.carried:
                head += " " + self._carry(s.carried, initial)
            self._heading(s, start, head + " {")
            self._block(s.body)
            if s.carried:
                self._end("next", [c.next for c in s.carried])
            self._line("}")
        elif isinstance(s, lo.While):
            initial = self._expressions([c.initial for c in s.carried])
            self._heading(s, start, f"while {self._carry(s.carried, initial)} {{")
            self._end("when", [s.condition])
            self._block(s.body)
            self._end("next", [c.next for c in s.carried])
            self._line("}")
        elif isinstance(s, lo.If):
            head = "if"
            condition = self._expressions([s.condition] if s.condition is not None else [])
            if s.role is not None:
                last = s.role.first_warp + s.role.warps
                head += f" role {quoted(s.role.name)} warps {s.role.first_warp}..{last}"
                if s.role.registers is not None:
                    head += f" registers {s.role.registers}"
            self._heading(s, start, " ".join([head, *condition, "{"]))
            self._block(s.then)
            if s.orelse:
                self._line("} else {")
                self._block(s.orelse)
            self._line("}")
        elif isinstance(s, lo.Let):
            (value,) = self._expressions([s.value])
            self._heading(s, start, f"{self._bind(s.var)} = {value}")
        elif isinstance(s, lo.Reduce):
            extents = self._expressions([e for _, e in s.domain])
            domain = ", ".join(
                f"{self._bind_loop(v)} in 0..{_closed(e)}"
                for (v, _), e in zip(s.domain, extents, strict=True)
            )
            results = ", ".join(self._bind(v) for v in s.results)
            self._heading(s, start, f"{results} = reduce {s.monoid} ({domain}) {{")
            self._end("yield", s.values)
            self._line("}")
        elif isinstance(s, lo.Cumulate):
            (extent,) = self._expressions([s.extent])
            domain = f"{self._bind_loop(s.var)} in 0..{_closed(extent)}"
            results = ", ".join(self._bind(v) for v in s.results)
            self._heading(s, start, f"{results} = cumulate {s.monoid} ({domain}) {{")
            self._end("yield", s.values)
            self._block(s.body)
            self._line("}")
        elif isinstance(s, lo.Store):
            *index, value = self._expressions((*s.index, s.value))
            self._heading(s, start, f"{self._element(s.buffer, index)} = {value}")
        elif isinstance(s, lo.Accumulate):
            *index, value = self._expressions((*s.index, s.value))
            element = self._element(s.buffer, index)
            self._heading(s, start, f"accumulate {s.monoid} {element}, {value}")
        elif isinstance(s, lo.Prefetch):
            index = self._expressions(s.index)
            level = "first " if s.first else ""
            self._heading(s, start, f"prefetch {level}{self._element(s.buffer, index)}")
        elif isinstance(s, lo.Alloc):
            self._allocation(s)
            self._block(s.body)
            self._line("}")
        elif isinstance(s, lo.Copy):
            texts = self._expressions((*s.destination_index, *s.source_index, *s.signal_index))
            n, m = len(s.destination_index), len(s.source_index)
            line = f"copy {self._element(s.destination, texts[:n])}"
            line += f" <- {self._element(s.source, texts[n : n + m])} box {_tuple(s.extents)}"
            if s.asynchronous:
                line += " async"
            if s.signal is not None:
                line += f" signal {self._element(s.signal, texts[n + m :])}"
            self._heading(s, start, line)
        elif isinstance(s, lo.Barrier):
            self._heading(s, start, f"barrier {quoted(s.scope)}")
        elif isinstance(s, lo.Last):
            self._heading(s, start, f"{self._bind(s.var)} = last")
        elif isinstance(s, lo.Signal):
            *index, size = self._expressions((*s.index, s.bytes))
            head = f"signal {self._element(s.buffer, index)}"
            head += "" if size == "0" else f" bytes {size}"
            self._heading(s, start, head)
        elif isinstance(s, lo.Wait):
            *index, parity = self._expressions((*s.index, s.parity))
            self._heading(s, start, f"wait {self._element(s.buffer, index)} parity {parity}")
        elif isinstance(s, lo.TileMultiply):
            first = [] if s.first is None else [s.first]
            texts = self._expressions((*s.a_index, *s.b_index, *first))
            n, m = len(s.a_index), len(s.b_index)
            line = f"multiply {self._buffer(s.accumulators)} += {self._element(s.a, texts[:n])}"
            line += f" @ {self._element(s.b, texts[n : n + m])} shape {_tuple(s.shape)}"
            line += " transpose_a" if s.transpose_a else ""
            line += " transpose_b" if s.transpose_b else ""
            if first:
                line += f" first {texts[-1]}"
            self._heading(s, start, line)
        elif isinstance(s, lo.PairsMultiply):
            first = [] if s.first is None else [s.first]
            texts = self._expressions((*s.sums_index, *s.a_index, *s.b_index, *first))
            n, m = len(s.sums_index), len(s.sums_index) + len(s.a_index)
            line = f"multiply_pairs {self._element(s.sums, texts[:n])} += "
            line += f"{self._element(s.a, texts[n:m])} @ "
            line += self._element(s.b, texts[m : m + len(s.b_index)])
            line += f" tiles {_tuple(s.tiles)}"
            if first:
                line += f" first {texts[-1]}"
            self._heading(s, start, line)
        elif isinstance(s, lo.Split):
            *places, bound = self._expressions(lo.expressions(s))
            elements = []
            for buffer, at in s.accesses:
                elements.append(self._element(buffer, places[: len(at)]))
                del places[: len(at)]
            source, below, others = elements
            line = f"{self._bind(s.count)} = split {source} bound {bound}"
            line += f" below {below} others {others} lanes {s.lanes}"
            self._heading(s, start, line)
        elif isinstance(s, lo.Fail):
            texts = self._expressions((s.condition, s.value))
            self._heading(s, start, f"fail {s.site} if {texts[0]} value {texts[1]}")
        else:
            self._heading(s, start, f"?{type(s).__name__}")


def _tuple(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))})"


def _closed(text: str) -> str:
    """`text` as a term: in parentheses if it is an infix operation at its top level."""
    depth = 0
    for c in text:
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        elif c == " " and depth == 0:
            return f"({text})"
    return text
