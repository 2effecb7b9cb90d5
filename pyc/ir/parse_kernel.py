"""The Kernel that a text is: `parse_kernel`, the inverse of `print_kernel`.

Takes text in the grammar of `text_kernel`; ValueError names the line that does not parse. It checks
grammar and names only; `verify_kernel` checks the rest. `print(parse(print(k))) == print(k)`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import loops as lo
from pyc.ir.dtype import DType
from pyc.ir.expr import Apply, Const, Expr, Load, Shuffle, Var, apply
from pyc.ir.loops import Buffer, Extent, Kernel, Kind, Space, Stmt
from pyc.ir.text_kernel import INFIX
from pyc.ir.tokens import unquoted

_NAME_OF_INFIX = {symbol: name for name, symbol in INFIX.items()}

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
    results: tuple[Var, ...] = ()
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
        return unquoted(self._take())

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
        if self._peek() in ("cluster", "shared", "register", "stack"):
            buffer = replace(buffer, space=Space(self._take()))
        if self._maybe("align"):
            buffer = replace(buffer, alignment=self._int())
        if self._maybe("strides"):
            self._expect("(")
            buffer = replace(buffer, strides=self._extents(")"))
        if self._maybe("alias"):
            buffer = replace(buffer, may_alias=True)
        if self._maybe("streamed"):
            buffer = replace(buffer, streamed=True)
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
        if block.word == "cumulate":  # the statements that follow use the results
            names = block.head[0]
            found = (self._bind(n, e.dtype) for n, e in zip(names, ends, strict=True))
            block.results = tuple(found)

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
        elif self._maybe("prefetch"):
            into_first = self._maybe("first")
            add(lo.Prefetch(*self._element(), into_first))
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
        elif self._maybe("multiply_pairs"):
            add(self._multiply_pairs())
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

    def _multiply_pairs(self) -> lo.PairsMultiply:
        sums, sums_index = self._element()
        self._expect("+=")
        a, a_index = self._element()
        self._expect("@")
        b, b_index = self._element()
        self._expect("tiles")
        rows, columns, steps = self._ints()
        first = self._expr() if self._maybe("first") else None
        tiles = rows, columns, steps
        return lo.PairsMultiply(sums, sums_index, a, a_index, b, b_index, tiles, first)

    def _split(self, name: str) -> lo.Split:
        source = self._element()
        self._expect("bound")
        bound = self._expr()
        self._expect("below")
        below = self._element()
        self._expect("others")
        others = self._element()
        self._expect("lanes")
        lanes = self._int()
        return lo.Split(self._bind(name, dt.i64), *source, bound, *below, *others, lanes)

    def _binding(self) -> None:
        names = [self._name()]
        while self._maybe(","):
            names.append(self._name())
        self._expect("=")
        if self._maybe("cumulate"):
            monoid = self._name()
            self._expect("(")
            var, extent = self._loop()
            self._expect(")")
            self._open("cumulate", (names, monoid, var, extent))
            return
        if not self._maybe("reduce"):
            (name,) = names
            if self._maybe("last"):
                self._stack[-1].body.append(lo.Last(self._bind(name, dt.b1)))
                return
            if self._maybe("split"):
                self._stack[-1].body.append(self._split(name))
                return
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
        elif block.word == "cumulate":
            _, monoid, var, extent = block.head
            statement = lo.Cumulate(block.results, var, extent, block.ends, monoid, body)
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
