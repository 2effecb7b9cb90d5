"""The text of a Graph: `print_graph` and `parse_graph`, inverse to each other.

    graph     = 'graph(' %0: f32[8,4], %1: i64[] ... ') {' equation* 'return' %k, ... '}'
    equation  = [%k: type, ... '='] op '(' %k, ... ')' [name=value, ...]
    value     = 3 | 1.5 | inf | nan | true | false | none | "text" | f32 | f32[8,4]
              | (value, ...) | graph | array
    array     = 'array' type '{' element, ... '}'   one element and `...`: all are equal
              | 'array' type 0x...                  the bytes, where elements are many or not exact

Names are positional (a sub-graph, being closed, begins again at %0) and parameters are sorted, so
equal programs have equal text: it is what a cache key is made of. Locations are printed only on
request, as comments in the margin, which the parser skips.

Printing works on invalid graphs too (an undefined value is `%?`). Parsing checks grammar, names and
ops, and gives a graph without changing it; `verify_graph` checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Eqn, Graph, Value
from pyc.ir.op import OPS
from pyc.ir.tokens import TokenReader, quoted, unquoted
from pyc.ir.types import ArrayType, parse_type

MAX_ELEMENTS = 16
"""Elements of an array that are printed one by one."""

MARGIN = 60
"""Column of the comments with locations."""


# --- printing -------------------------------------------------------------------------------------


def print_graph(graph: Graph, *, locations: bool = False) -> str:
    """The text of a graph, ending in a newline.

    locations: adds a comment with the user's file and line to each equation that has one.
    raises TypeError: a parameter of an equation is of a kind that equations cannot hold
    """
    return "\n".join(_graph_lines(graph, locations)) + "\n"


def print_equation(graph: Graph, eqn: Eqn) -> str:
    """The first line of an equation as it stands in the text of `graph`."""
    return _equation_lines(eqn, _numbers(graph), False)[0]


def _numbers(graph: Graph) -> dict[Value, int]:
    numbers: dict[Value, int] = {}
    for value in (*graph.params, *(out for e in graph.eqns for out in e.outs)):
        numbers.setdefault(value, len(numbers))
    return numbers


def _name(value: Value, numbers: dict[Value, int]) -> str:
    return f"%{numbers.get(value, '?')}"


def _typed(values: Sequence[Value], numbers: dict[Value, int]) -> str:
    return ", ".join(f"{_name(v, numbers)}: {v.type}" for v in values)


def _names(values: Sequence[Value], numbers: dict[Value, int]) -> str:
    return ", ".join(_name(v, numbers) for v in values)


def _graph_lines(graph: Graph, locations: bool) -> list[str]:
    numbers = _numbers(graph)
    lines = [f"graph({_typed(graph.params, numbers)}) {{"]
    for eqn in graph.eqns:
        lines += [f"  {line}" for line in _equation_lines(eqn, numbers, locations)]
    result = f" {_names(graph.results, numbers)}" if graph.results else ""
    return [*lines, f"  return{result}", "}"]


def _equation_lines(eqn: Eqn, numbers: dict[Value, int], locations: bool) -> list[str]:
    """One line, or several if a parameter holds a graph."""
    left = f"{_typed(eqn.outs, numbers)} = " if eqn.outs else ""
    lines = [f"{left}{eqn.op.name}({_names(eqn.args, numbers)})"]
    for k, name in enumerate(sorted(eqn.params)):
        first, *rest = _value_lines(eqn.params[name], locations)
        lines[-1] += f"{',' if k else ''} {name}={first}"
        lines += rest
    if locations and eqn.loc is not None:
        lines[0] = f"{lines[0]:<{MARGIN}}  # {eqn.loc.file}:{eqn.loc.line}"
    return lines


def _value_lines(value: Any, locations: bool) -> list[str]:
    """A parameter's value; of several lines where it holds graphs."""
    if isinstance(value, Graph):
        return _graph_lines(value, locations)
    if isinstance(value, (tuple, list)):
        lines = ["("]
        for k, item in enumerate(value):
            first, *rest = _value_lines(item, locations)
            lines[-1] += f"{', ' if k else ''}{first}"
            lines += rest
        lines[-1] += ",)" if len(value) == 1 else ")"
        return lines
    return [_leaf(value)]


def _leaf(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, DType):
        return value.short
    if isinstance(value, ArrayType):
        return str(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    raise TypeError(f"an equation cannot hold a {type(value).__name__}")


def _array(array: np.ndarray[Any, Any]) -> str:
    """An array so that it parses back to the same bytes."""
    dtype = dt.of(array.dtype)
    if dtype is None or array.dtype != dtype.numpy:
        raise TypeError(f"an equation cannot hold an array of dtype {array.dtype}")
    head = f"array {ArrayType(array.shape, dtype)}"
    content = array.tobytes()
    if dtype.kind in ("bool", "int", "uint") or (dtype.is_float and dtype.bits >= 16):
        flat = np.frombuffer(content, dtype.numpy)
        one = content[: dtype.itemsize]
        if flat.size > MAX_ELEMENTS and content == one * flat.size:
            elements = f"{_element(flat[0], dtype)}, ..."
            exact = _array_of([elements[:-5]], dtype).tobytes() == one
        else:
            elements = ", ".join(_element(x, dtype) for x in flat[: MAX_ELEMENTS + 1])
            exact = _array_of([_element(x, dtype) for x in flat], dtype).tobytes() == content
            exact = exact and flat.size <= MAX_ELEMENTS
        if exact:
            return f"{head} {{{elements}}}"
    return f"{head} 0x{content.hex()}"


def _element(value: Any, dtype: DType) -> str:
    if dtype is dt.b1:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))
    if dtype is dt.f64:
        return repr(float(value))
    return str(value)


def _array_of(elements: list[str], dtype: DType) -> np.ndarray[Any, Any]:
    """The array that printed elements are."""
    if dtype is dt.b1:
        return np.array([e == "true" for e in elements], dtype=bool)
    if dtype.is_integer:
        return np.array([int(e) for e in elements], dtype=dtype.numpy)
    with np.errstate(all="ignore"):
        return np.array([float(e) for e in elements], dtype=np.float64).astype(dtype.numpy)


# --- parsing --------------------------------------------------------------------------------------

_TOKEN = r"""(?P<skip>\s+|\#[^\n]*)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<bytes>0x[0-9a-f]*)
      | (?P<number>-?(?:(?:inf|nan)\b|\d+(?:\.\d*)?(?:e[+-]?\d+)?))
      | (?P<type>[a-z]\w*\[[\d,]*\])
      | (?P<name>[A-Za-z_][\w.]*)
      | (?P<value>%\d+)
      | (?P<sign>\.\.\.|[(){}=,:])
    """
_EQUALS = r"\s*="
_KEYWORDS = {"true": True, "false": False, "none": None}


def parse_graph(text: str) -> Graph:
    """The graph that `text` is; ValueError names the line and what was expected there."""
    parser = _Parser(text)
    graph = parser.graph()
    parser.end()
    return graph


class _Parser(TokenReader):
    def __init__(self, text: str) -> None:
        super().__init__(text, _TOKEN)
        self._equals = re.compile(_EQUALS)

    def graph(self) -> Graph:
        self._words("graph")
        values: dict[str, Value] = {}
        self._words("(")
        params = self._typed(values) if self._text != ")" else []
        self._words(")")
        self._words("{")
        eqns = []
        while self._text != "return":
            eqns.append(self._equation(values))
        self._words("return")
        results = self._used(values, "}")
        self._words("}")
        return Graph(tuple(params), tuple(eqns), tuple(results))

    def end(self) -> None:
        if self._kind:
            raise self._error("the end")

    def _equation(self, values: dict[str, Value]) -> Eqn:
        # The outputs are made first but may be named as arguments only afterwards.
        made: dict[str, Value] = {}
        outs = []
        if self._kind == "value":
            outs = self._typed(made, values)
            self._words("=")
        name = self._text
        if self._kind != "name" or name not in OPS:
            raise self._error("the name of an op")
        self._advance()
        self._words("(")
        args = self._used(values, ")")
        self._words(")")
        params: dict[str, Any] = {}
        if self._kind == "name" and self._equals.match(self._source, self._place + len(self._text)):
            params = self._params()
        values.update(made)
        return Eqn(OPS[name], tuple(args), params, tuple(outs))

    def _params(self) -> dict[str, Any]:
        params: dict[str, Any] = {}
        while True:
            if self._kind != "name":
                raise self._error("the name of a parameter")
            name = self._text
            self._advance()
            self._words("=")
            params[name] = self._value()
            if not self._skip(","):
                return params

    def _typed(
        self, values: dict[str, Value], taken: dict[str, Value] | None = None
    ) -> list[Value]:
        """`%0: f32[8], ...` as new values, added to `values`."""
        made = []
        while True:
            name = self._text
            if self._kind != "value" or name in values or name in (taken or {}):
                raise self._error("a new value")
            self._advance()
            self._words(":")
            values[name] = Value(self._type())
            made.append(values[name])
            if not self._skip(","):
                return made

    def _used(self, values: dict[str, Value], stop: str) -> list[Value]:
        """`%0, %1` up to `stop`."""
        used: list[Value] = []
        while self._text != stop:
            if used:
                self._words(",")
            if self._text not in values:
                raise self._error("a value that was defined above")
            used.append(values[self._text])
            self._advance()
        return used

    def _value(self) -> Any:
        kind, text = self._kind, self._text
        if text == "graph":
            return self.graph()
        if text == "array":
            return self._array()
        if text == "(":
            return self._tuple()
        if kind == "type":
            return self._type()
        self._advance()
        if kind == "string":
            return unquoted(text)
        if kind == "number":
            return float(text) if re.search(r"[.enf]", text) else int(text)
        if text in _KEYWORDS:
            return _KEYWORDS[text]
        try:
            return dt.parse(text)
        except KeyError:
            raise self._error("a value", text) from None

    def _tuple(self) -> tuple[Any, ...]:
        self._words("(")
        items = []
        while self._text != ")":
            items.append(self._value())
            if not self._skip(","):
                break
        self._words(")")
        return tuple(items)

    def _array(self) -> np.ndarray[Any, Any]:
        self._words("array")
        type = self._type()
        if self._kind == "bytes":
            content = bytes.fromhex(self._text[2:])
            if len(content) != type.nbytes:
                raise self._error(f"{type.nbytes} bytes")
            self._advance()
            array = np.frombuffer(content, type.dtype.numpy).reshape(type.shape)
        else:
            array = self._elements(type)
        array = array.copy()
        array.flags.writeable = False
        return array

    def _elements(self, type: ArrayType) -> np.ndarray[Any, Any]:
        self._words("{")
        elements: list[str] = []
        repeated = False
        while self._text != "}":
            if elements:
                self._words(",")
            repeated = self._skip("...")
            if not repeated:
                elements.append(self._text)
                self._advance()
        if len(elements) != (1 if repeated else type.size):
            raise self._error(f"{type.size} elements")
        try:
            array = _array_of(elements, type.dtype)
        except (ValueError, OverflowError):
            raise self._error(f"elements of {type.dtype}") from None
        self._words("}")
        return np.broadcast_to(array, (type.size,)).reshape(type.shape)

    def _type(self) -> ArrayType:
        if self._kind != "type":
            raise self._error("a type")
        try:
            type = parse_type(self._text)
        except (KeyError, ValueError):
            raise self._error("a type") from None
        self._advance()
        return type
