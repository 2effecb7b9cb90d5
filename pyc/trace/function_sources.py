"""The source of a function as a syntax tree, and whether it is that of the code that runs.

It has the places of its file, and must compile to the same instructions."""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import functools
import linecache
from collections.abc import Sequence
from types import CodeType
from typing import Any

from pyc.forks import compiling
from pyc.trace import exits
from pyc.trace.exits import at
from pyc.trace.jumps import nested

RUNTIME = ".pyc"
"""The free variable of rewritten functions that holds the run-time module."""
TRIES = 8
"""How often a source is parsed in which other threads come in between."""

_FUTURE = functools.reduce(
    int.__or__, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names)
)
_TELLING = ("BINARY", "COMPARE", "CONTAINS", "DELETE", "IS_OP", "RETURN", "STORE", "UNARY", "YIELD")
_COMPARED = ("co_code", "co_linetable", "co_names", "co_varnames", "co_freevars", "co_cellvars")


def parsed(code: CodeType, names: dict[str, Any]) -> ast.FunctionDef:
    """The definition of a function with the places of its file. names: those of its module, whose
    loader may have the source.

    raises ValueError: no source; SyntaxError, ValueError: it is not that of a function
    """
    linecache.checkcache(code.co_filename)
    whole = linecache.getlines(code.co_filename, names)
    lines = whole[code.co_firstlineno - 1 :]
    if not lines:
        raise ValueError("could not get source code")
    if code.co_name == "<lambda>":
        return _parsed_lambda(code, "".join(whole))
    # An indented block is parsed under an `if`: dedenting would change texts of several lines.
    indented = lines[0][:1] in (" ", "\t")
    block = "".join(lines[: _end(code, lines)])
    tree = _tree("if 1:\n" + block if indented else block)
    ast.increment_lineno(tree, code.co_firstlineno - 1 - indented)
    found: ast.stmt = tree.body[0]
    if indented and isinstance(found, ast.If):
        found = found.body[0]
    if not isinstance(found, ast.FunctionDef) or found.name != code.co_name:
        raise ValueError("the source is not a function definition")
    return found


def _parsed_lambda(code: CodeType, text: str) -> ast.FunctionDef:
    """The definition of a function that does what a lambda of a file does."""
    for node in _lambdas(text):
        if node.lineno == code.co_firstlineno:
            body = copy.deepcopy(node.body)
            made = ast.FunctionDef(code.co_name, copy.deepcopy(node.args), [], [])
            made.body = [at(ast.Return(body), body)]
            if is_source_of(at(made, node), code):
                return made
    raise ValueError("the source has no such lambda")


@functools.lru_cache(4)
def _lambdas(text: str) -> list[ast.Lambda]:
    """The lambdas of a file."""
    return [node for node in ast.walk(_tree(text)) if isinstance(node, ast.Lambda)]


def _tree(source: str) -> ast.Module:
    # Python 3.11 does not count with two threads that parse at once, or a finaliser that parses in
    # the middle of it. Ours take turns; code of others may still come in between.
    with compiling:
        for _ in range(TRIES):
            try:
                return ast.parse(source)
            except SystemError:
                continue
    raise ValueError("Python could not parse it: other threads do at the same time")


def _end(code: CodeType, lines: Sequence[str]) -> int:
    """How many of the lines from its first one on are of a function: those of its instructions,
    and what follows that is indented further than its first line."""
    last = max((end or 0 for c in nested(code) for _, end, _, _ in c.co_positions()), default=0)
    count = max(last - code.co_firstlineno + 1, 1)
    margin = len(lines[0]) - len(lines[0].lstrip())
    while count < len(lines):
        text = lines[count].lstrip()
        if text and text[0] != "#" and len(lines[count]) - len(text) <= margin:
            break
        count += 1
    return count


def is_source_of(function: ast.FunctionDef, code: CodeType) -> bool:
    """Whether a definition compiles to `code`. Test runners rewrite `assert`: then it cannot be
    told."""
    if any(isinstance(node, ast.Assert) for node in ast.walk(function)):
        return True
    found = extracted(function, code)
    return _same(found, code) or _outline(found) == _outline(code)


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects are equal, wherever in their file they begin."""
    for name in _COMPARED:
        if getattr(a, name) != getattr(b, name):
            return False
    return len(a.co_consts) == len(b.co_consts) and all(
        _same(x, y)
        if isinstance(x, CodeType) and isinstance(y, CodeType)
        else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(a.co_consts, b.co_consts, strict=True)
    )


def _outline(code: CodeType) -> list[Any]:
    """What two compilations of one text have in common. (Names that the module imports are called
    by other instructions if the compiler sees the import.) Not compared: what loads and calls."""
    found: list[Any] = [code.co_varnames, code.co_freevars, sorted(code.co_names)]
    found += [_outline(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    for i in dis.get_instructions(code):
        if i.opname.startswith(_TELLING):
            place = i.positions
            line = place.lineno if place is not None else None
            found.append((i.opname, i.argrepr, line))
    return found


def extracted(function: ast.FunctionDef, code: CodeType) -> CodeType:
    """The code of a definition whose free variables are those of `code`, and the run-time module:
    compiled within a function that has them, and within its class, for the sake of private
    names."""
    bare = ast.FunctionDef(
        name=function.name,
        args=_without_defaults(function.args),
        body=function.body,
        decorator_list=[],
    )
    bare.type_params = []  # type: ignore[attr-defined,unused-ignore]
    inner: ast.stmt = at(bare, function)
    owner = code.co_qualname.split(".")[-2:-1]
    if owner and owner[0] != "<locals>":
        inner = at(ast.ClassDef(owner[0], [], [], [inner], []), function)
        inner.type_params = []  # type: ignore[attr-defined,unused-ignore]
    names = [*code.co_freevars, RUNTIME]
    known = [exits.assign(name, ast.Constant(None), function) for name in names]
    if owner and owner[0] != "<locals>" and owner[0] not in names:
        known.append(at(ast.Global([owner[0]]), function))
    empty = ast.arguments([], [], None, [], [], None, [])
    outer = at(ast.FunctionDef(".outer", empty, [*known, inner], []), function)
    outer.type_params = []  # type: ignore[attr-defined,unused-ignore]
    module = compile(
        ast.Module([outer], []),
        code.co_filename,
        "exec",
        flags=code.co_flags & _FUTURE,
        dont_inherit=True,
    )
    found = _child(module, ".outer")
    if owner and owner[0] != "<locals>":
        found = _child(found, owner[0])
    return _child(found, function.name)


def _child(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _without_defaults(given: ast.arguments) -> ast.arguments:
    """Parameters without the expressions at them, which are evaluated elsewhere."""

    def bare(a: ast.arg) -> ast.arg:
        return ast.arg(a.arg)

    none = ast.Constant(None)
    return ast.arguments(
        posonlyargs=[bare(a) for a in given.posonlyargs],
        args=[bare(a) for a in given.args],
        vararg=given.vararg and bare(given.vararg),
        kwonlyargs=[bare(a) for a in given.kwonlyargs],
        kw_defaults=[d and none for d in given.kw_defaults],
        kwarg=given.kwarg and bare(given.kwarg),
        defaults=[none for _ in given.defaults],
    )


__all__ = ["RUNTIME", "extracted", "is_source_of", "parsed"]
