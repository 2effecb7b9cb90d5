"""The text of a Kernel: `print_kernel` and `parse_kernel`, inverse to each other on printed text.

    kernel    = 'kernel' STRING '(' s0, s1 ... ')' '{' parameter* statement* '}'
    parameter = b0 ':' role array                        role: in | out | inout
    array     = f32[4096, s0] [shared | register | stack] [align 64] [strides (s0, 1)] [alias]
    statement = temporary* one of
        for i0 in 0..extent kind [carry (v0 = initial, ...) -> (v1, ...)] { statement* [next] }
        while carry (v0 = initial, ...) -> (v1, ...) { when statement* next }
                                          when = temporary* 'when' expr (tested first)
                                          next = temporary* 'next' expr, ... (at the end)
        if condition { statement* } [else { statement* }]
        if role "name" warps 0..4 [registers 40] { statement* } [else { statement* }]
        v0 = expr                                        (Let)
        v0, v1 = reduce argmax (i0 in 0..n, ...) { temporary* yield expr, ... }
        b0[expr, ...] = expr                             (Store)
        accumulate add b0[expr, ...], expr
        alloc b1: array [phased 2] { statement* }        phased: arrivals that end a phase
        copy b1[expr, ...] <- b0[expr, ...] box (64, 64) [async] [signal b2[expr]]
        barrier "block"
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

Takes a `Kernel` (a valid one or not: what is unbound prints as `?name`) and returns text, or the
other way round; ValueError with the line where the text does not parse. Names are positional, so
equal structure gives equal text; `print(parse(print(k))) == print(k)`. A sub-expression that its
statement uses twice, or that would nest deeper than `MAX_INLINE`, is a temporary: the text is
linear in the size of the DAG. Size parameters are `s0..`, loop variables `i0..`, others `v0..`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyc.frozen import replace
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
    apply,
    children,
    postorder,
)
from pyc.ir.loops import Buffer, Extent, Kernel, Kind, Space, Stmt

MAX_INLINE = 5
"""Operators nested in one line before a temporary is used; bounds the parser's recursion too."""

_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_BITWISE = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
INFIX = _ARITHMETIC | _BITWISE | _COMPARISONS
_NAME_OF_INFIX = {symbol: name for name, symbol in INFIX.items()}


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
        self._line(f"kernel {json.dumps(kernel.name)}({sizes}) {{")
        self._depth = 1
        for buffer in kernel.buffers:
            array = self._array(buffer)
            self._line(f"{self._bind_buffer(buffer)}: {buffer.role} {array}")
        self._body(kernel.body)
        self._depth = 0
        self._line("}")

    # names

    def _line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

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
            for child in children(node):
                uses[id(child)] = uses.get(id(child), 0) + 1
        final = {id(r) for r in exprs}
        for root in exprs:
            uses[id(root)] = uses.get(id(root), 0) + 1
        text: dict[int, str] = {}
        nesting: dict[int, int] = {}
        count = 0
        for node in order:
            inner = [nesting[id(c)] for c in children(node)]
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
        return " ".join(parts)

    def _body(self, body: lo.Body) -> None:
        # Recursion is over nesting of statements only, which is shallow; a body may be long.
        for s in body:
            self._statement(s)

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
                head += f" role {json.dumps(s.role.name)} warps {s.role.first_warp}..{last}"
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
        elif isinstance(s, lo.Store):
            *index, value = self._expressions((*s.index, s.value))
            self._heading(s, start, f"{self._element(s.buffer, index)} = {value}")
        elif isinstance(s, lo.Accumulate):
            *index, value = self._expressions((*s.index, s.value))
            element = self._element(s.buffer, index)
            self._heading(s, start, f"accumulate {s.monoid} {element}, {value}")
        elif isinstance(s, lo.Alloc):
            array = self._array(s.buffer)
            if s.buffer in self._phased:
                array += f" phased {self._phased[s.buffer]}"
            self._heading(s, start, f"alloc {self._bind_buffer(s.buffer)}: {array} {{")
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
            self._heading(s, start, f"barrier {json.dumps(s.scope)}")
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


# --- parsing --------------------------------------------------------------------------------------

_NUMBER = r"-?(?:0x[0-9a-f]+|inf|nan|\d+(?:\.(?!\.)\d*)?(?:e[+-]?\d+)?)"
_TYPE = r"(?:[iuf]\d+|bf16|f8e4m3|f8e5m2)\b"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<literal>{_NUMBER}:{_TYPE})
    | (?P<integer>-?\d+)
    | (?P<name>%?[A-Za-z_][A-Za-z0-9_.]*|%\d+)
    | (?P<symbol>\.\.|<-|->|<<|>>|<=|>=|==|!=|\+=|[-+*/&|^<>=()\[\]{{}},:@])
    )""",
    re.VERBOSE,
)


def parse_kernel(text: str) -> Kernel:
    """The kernel that prints as `text`; ValueError naming the line if there is none."""
    done = _Parser(text).done
    if done is None:
        raise ValueError("kernel text ends inside a block")
    return done


@dataclass
class _Open:
    """A statement whose body is being read."""

    word: str
    head: Any
    body: list[Stmt]
    condition: Expr | None = None
    ends: tuple[Expr, ...] = ()
    then: tuple[Stmt, ...] | None = None


class _Parser:
    """Reads the text line by line, with a stack of open statements."""

    def __init__(self, text: str) -> None:
        self._vars: dict[str, Var] = {}
        self._buffers: dict[str, Buffer] = {}
        self._temporaries: dict[str, Expr] = {}
        self._phased: list[lo.PhasedBarrier] = []
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._parameters: list[Buffer] = []
        self._sizes: list[Var] = []
        self._stack: list[_Open] = []
        self.done: Kernel | None = None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                self._read(line)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                message = f"unknown name {error}" if isinstance(error, KeyError) else str(error)
                raise ValueError(
                    f"kernel text, line {number}: {message}\n  {line.strip()}"
                ) from error

    # tokens

    def _read(self, line: str) -> None:
        self._tokens = []
        self._at = 0
        at, end = 0, len(line.rstrip())
        while at < end:
            match = _TOKEN.match(line, at)
            if match is None:
                raise ValueError(f"cannot read {line[at:].strip()!r}")
            assert match.lastgroup is not None
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self._line()
        if self._at < len(self._tokens):
            raise ValueError(f"does not expect {self._tokens[self._at][1]!r}")

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        if self._at >= len(self._tokens):
            raise ValueError("the line ends too early")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _maybe(self, text: str) -> bool:
        if self._peek() != text:
            return False
        self._at += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._maybe(text):
            raise ValueError(f"expects {text!r}, found {self._peek()!r}")

    def _int(self) -> int:
        return int(self._take())

    def _string(self) -> str:
        return str(json.loads(self._take()))

    def _name(self) -> str:
        if self._at < len(self._tokens) and self._tokens[self._at][0] == "name":
            return self._take()
        raise ValueError(f"expects a name, found {self._peek()!r}")

    # expressions

    def _expr(self) -> Expr:
        left = self._term()
        name = _NAME_OF_INFIX.get(self._peek())
        if name is None:
            kind, text = self._tokens[self._at] if self._at < len(self._tokens) else ("", "")
            if kind in ("integer", "literal") and text.startswith("-"):
                raise ValueError(f"expects a space in {text!r}")
            return left
        self._at += 1
        return apply(name, left, self._term())

    def _term(self) -> Expr:
        if self._at >= len(self._tokens):
            raise ValueError("the line ends where an expression should stand")
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "integer":
            return Const(int(text), dt.i64)
        if kind == "literal":
            return _literal(text)
        if text == "(":
            inner = self._expr()
            self._expect(")")
            return inner
        if kind != "name":
            raise ValueError(f"expects an expression, found {text!r}")
        if text in ("true", "false"):
            return Const(text == "true", dt.b1)
        if text.startswith("%"):
            return self._temporaries[text]
        if self._peek() == "[":
            return Load(self._buffers[text], self._index())
        if self._peek() != "(":
            return self._vars[text]
        self._expect("(")
        if text == "shuffle":
            value = self._expr()
            self._expect(",")
            var = self._vars[self._name()]
            self._expect("^")
            distance = self._int()
            self._expect(")")
            return Shuffle(value, var, distance)
        args = self._list(")")
        op, _, target = text.partition(".")
        if target:
            (arg,) = args
            return Apply(op, (arg,), dt.parse(target))
        return apply(op, *args)

    def _list(self, end: str) -> list[Expr]:
        found: list[Expr] = []
        while not self._maybe(end):
            if found:
                self._expect(",")
            found.append(self._expr())
        return found

    def _index(self) -> tuple[Expr, ...]:
        self._expect("[")
        return tuple(self._list("]"))

    def _extents(self, end: str) -> tuple[Extent, ...]:
        return tuple(_extent(e) for e in self._list(end))

    def _ints(self) -> tuple[int, ...]:
        self._expect("(")
        found: list[int] = []
        while not self._maybe(")"):
            if found:
                self._expect(",")
            found.append(self._int())
        return tuple(found)

    def _element(self) -> tuple[Buffer, tuple[Expr, ...]]:
        buffer = self._buffers[self._name()]
        return buffer, self._index()

    # statements

    def _line(self) -> None:
        first = self._peek()
        if first.startswith("%"):
            name = self._take()
            self._expect("=")
            self._temporaries[name] = self._expr()
            return
        if not self._stack:
            if self.done is not None:
                raise ValueError("text after the end of the kernel")
            self._header()
        elif first == "}":
            self._close()
        elif first in ("when", "next", "yield"):
            self._part(self._take())
        elif re.fullmatch(r"b\d+", first) and self._tokens[1][1] == ":":
            self._take()
            self._expect(":")
            role = self._name()
            self._parameters.append(self._array(first, role))
        else:
            self._statement(first)
        self._temporaries = {}

    def _header(self) -> None:
        self._expect("kernel")
        name = self._string()
        self._expect("(")
        while not self._maybe(")"):
            if self._sizes:
                self._expect(",")
            self._sizes.append(self._bind(self._name(), dt.i64))
        self._open("kernel", name)

    def _open(self, word: str, head: Any) -> None:
        self._expect("{")
        self._stack.append(_Open(word, head, []))

    def _bind(self, name: str, dtype: DType) -> Var:
        if name in self._vars:
            raise ValueError(f"{name} is bound twice")
        self._vars[name] = Var(name, dtype)
        return self._vars[name]

    def _array(self, name: str, role: str) -> Buffer:
        element = dt.parse(self._name())
        self._expect("[")
        buffer = Buffer(name, element, self._extents("]"), role=role)
        if self._peek() in ("shared", "register", "stack"):
            buffer = replace(buffer, space=Space(self._take()))
        if self._maybe("align"):
            buffer = replace(buffer, alignment=self._int())
        if self._maybe("strides"):
            self._expect("(")
            buffer = replace(buffer, strides=self._extents(")"))
        if self._maybe("alias"):
            buffer = replace(buffer, may_alias=True)
        self._buffers[name] = buffer
        return buffer

    def _part(self, word: str) -> None:
        block = self._stack[-1]
        if word == "when":
            block.condition = self._expr()
            return
        ends = [self._expr()]
        while self._maybe(","):
            ends.append(self._expr())
        block.ends = tuple(ends)

    def _carry(self) -> list[tuple[Var, Expr, Var]]:
        """`carry (v0 = x) -> (v1)`: variable, initial value and result of each."""
        self._expect("carry")
        self._expect("(")
        named: list[tuple[str, Expr]] = []
        while not self._maybe(")"):
            if named:
                self._expect(",")
            name = self._name()
            self._expect("=")
            named.append((name, self._expr()))
        variables = [self._bind(name, initial.dtype) for name, initial in named]
        self._expect("->")
        self._expect("(")
        found: list[tuple[Var, Expr, Var]] = []
        for n, (var, (_, initial)) in enumerate(zip(variables, named, strict=True)):
            if n:
                self._expect(",")
            found.append((var, initial, self._bind(self._name(), initial.dtype)))
        self._expect(")")
        return found

    def _loop(self) -> tuple[Var, Extent]:
        """`i0 in 0..extent`."""
        name = self._name()
        self._expect("in")
        self._expect("0")
        self._expect("..")
        extent = _extent(self._term())
        return self._bind(name, dt.i64), extent

    def _statement(self, first: str) -> None:
        add = self._stack[-1].body.append
        if self._maybe("for"):
            var, extent = self._loop()
            kind = Kind(self._name())
            carried = self._carry() if self._peek() == "carry" else []
            self._open("for", (var, extent, kind, carried))
        elif self._maybe("while"):
            self._open("while", self._carry())
        elif self._maybe("if"):
            role = self._role() if self._maybe("role") else None
            condition = None if self._peek() == "{" else self._expr()
            self._open("if", (condition, role))
        elif self._maybe("alloc"):
            name = self._name()
            self._expect(":")
            buffer = self._array(name, "local")
            if self._maybe("phased"):
                self._phased.append(lo.PhasedBarrier(buffer, self._int()))
            self._open("alloc", buffer)
        elif self._maybe("accumulate"):
            monoid = self._name()
            buffer, index = self._element()
            self._expect(",")
            add(lo.Accumulate(buffer, index, self._expr(), monoid))
        elif self._maybe("copy"):
            destination, at = self._element()
            self._expect("<-")
            source, source_at = self._element()
            self._expect("box")
            extents = self._ints()
            asynchronous = self._maybe("async")
            signal, signal_at = self._element() if self._maybe("signal") else (None, ())
            add(
                lo.Copy(
                    destination, at, source, source_at, extents, asynchronous, signal, signal_at
                )
            )
        elif self._maybe("barrier"):
            add(lo.Barrier(self._string()))
        elif self._maybe("signal"):
            buffer, index = self._element()
            add(lo.Signal(buffer, index, _extent(self._expr()) if self._maybe("bytes") else 0))
        elif self._maybe("wait"):
            buffer, index = self._element()
            self._expect("parity")
            add(lo.Wait(buffer, index, self._expr()))
        elif self._maybe("multiply"):
            add(self._multiply())
        elif self._maybe("fail"):
            site = self._int()
            self._expect("if")
            condition = self._expr()
            self._expect("value")
            add(lo.Fail(site, condition, self._expr()))
        elif re.fullmatch(r"b\d+", first):
            buffer, index = self._element()
            self._expect("=")
            add(lo.Store(buffer, index, self._expr()))
        else:
            self._binding()

    def _role(self) -> lo.Role:
        name = self._string()
        self._expect("warps")
        low = self._int()
        self._expect("..")
        high = self._int()
        return lo.Role(name, low, high - low, self._int() if self._maybe("registers") else None)

    def _multiply(self) -> lo.TileMultiply:
        accumulators = self._buffers[self._name()]
        self._expect("+=")
        a, a_index = self._element()
        self._expect("@")
        b, b_index = self._element()
        self._expect("shape")
        m, n, k = self._ints()
        turned = self._maybe("transpose_a"), self._maybe("transpose_b")
        first = self._expr() if self._maybe("first") else None
        return lo.TileMultiply(accumulators, a, a_index, b, b_index, (m, n, k), *turned, first)

    def _binding(self) -> None:
        names = [self._name()]
        while self._maybe(","):
            names.append(self._name())
        self._expect("=")
        if not self._maybe("reduce"):
            (name,) = names
            value = self._expr()
            self._stack[-1].body.append(lo.Let(self._bind(name, value.dtype), value))
            return
        monoid = self._name()
        self._expect("(")
        domain: list[tuple[Var, Extent]] = []
        while not self._maybe(")"):
            if domain:
                self._expect(",")
            domain.append(self._loop())
        self._open("reduce", (names, monoid, tuple(domain)))

    def _close(self) -> None:
        self._expect("}")
        block = self._stack[-1]
        body = tuple(block.body)
        if block.word == "if" and block.then is None and self._maybe("else"):
            self._expect("{")
            block.then, block.body = body, []
            return
        self._stack.pop()
        if block.word == "kernel":
            self.done = Kernel(
                block.head, tuple(self._parameters), body, tuple(self._sizes), tuple(self._phased)
            )
            return
        statement: Stmt
        if block.word == "for":
            var, extent, kind, carried = block.head
            statement = lo.For(var, extent, kind, body, _carries(carried, block.ends))
        elif block.word == "while":
            if block.condition is None:
                raise ValueError("a while without `when`")
            statement = lo.While(_carries(block.head, block.ends), block.condition, body)
        elif block.word == "if":
            condition, role = block.head
            then, orelse = (body, ()) if block.then is None else (block.then, body)
            statement = lo.If(condition, then, orelse, role)
        elif block.word == "alloc":
            statement = lo.Alloc(block.head, body)
        else:
            names, monoid, domain = block.head
            results = tuple(
                self._bind(name, value.dtype) for name, value in zip(names, block.ends, strict=True)
            )
            statement = lo.Reduce(results, domain, block.ends, monoid)
        self._stack[-1].body.append(statement)


def _carries(
    carried: Sequence[tuple[Var, Expr, Var]], ends: Sequence[Expr]
) -> tuple[lo.Carry, ...]:
    return tuple(
        lo.Carry(var, initial, following, result)
        for (var, initial, result), following in zip(carried, ends, strict=True)
    )


def _extent(e: Expr) -> Extent:
    return int(e.value) if isinstance(e, Const) else e


def _literal(text: str) -> Const:
    value, _, short = text.rpartition(":")
    dtype = dt.parse(short)
    if value.startswith("0x"):
        bits = np.array([int(value, 16)], dt.unsigned_of(dtype.bits).numpy)
        return Const(bits.view(dtype.numpy)[0], dtype)
    return Const(int(value) if dtype.is_integer else float(value), dtype)
