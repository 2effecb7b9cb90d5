"""Every place of pyc's source that makes a public error, with the forms that its message can have.

`sites()` reads the source of the package and gives a `Site` for each call of an error class. What
a message can be is found from the expression that makes it: texts, f-strings (whatever stands in
braces matches anything), conditional expressions, functions that return a text, names that are
assigned before, and parameters, which are followed to the callers of the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyc
from pyc.errors import CLASSES

PACKAGE = Path(pyc.__file__).parent
NAMES = {cls.__name__ for cls in CLASSES.values()}
MAKERS = {"Unstable": ("LoopStateError", 0), "Effect": ("PurityError", 1)}
"""What carries the message of an error that is made later: the class of that, and the position."""
ANYTHING = "\0"
"""Stands for what is not known of a message before the program runs."""
DEPTH = 4
"""How far names and parameters are followed."""


class Site(NamedTuple):
    """file: within the package; line: of the call; error: name of the class; form: the message,
    `ANYTHING` where its text depends on the program."""

    file: str
    line: int
    error: str
    form: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.error}: {self.form.replace(ANYTHING, '{}')}"

    @property
    def pattern(self) -> re.Pattern[str]:
        """Matches `Class: message`, and the message alone, at the start of a line."""
        words = ".*?".join(re.escape(part) for part in self.form.split(ANYTHING))
        return re.compile(rf"^(?:{self.error}: )?{words}$", re.MULTILINE)

    def is_in(self, text: str) -> bool:
        """Whether a text has this message."""
        longest = max(self.form.split(ANYTHING), key=len)
        return longest in text and self.pattern.search(text) is not None

    @property
    def literal(self) -> int:
        """How many letters of the message are known."""
        return len(re.sub(r"\W", "", self.form))


class Module:
    """One file: its tree, and the function that each node stands in."""

    def __init__(self, path: Path) -> None:
        self.name = str(path.relative_to(PACKAGE))
        self.tree = ast.parse(path.read_text())
        self.owner: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self.owner[child] = node

    def function(self, node: ast.AST) -> ast.AST | None:
        """The innermost function or lambda around a node."""
        found = self.owner.get(node)
        while found is not None and not isinstance(found, (ast.FunctionDef, ast.Lambda)):
            found = self.owner.get(found)
        return found


@cache
def modules() -> tuple[Module, ...]:
    return tuple(Module(path) for path in sorted(PACKAGE.rglob("*.py")))


@cache
def sites() -> tuple[Site, ...]:
    """Every site, in the order of the files and lines."""
    found = []
    for module in modules():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            for error, position in _made(node):
                forms = _argument(module, node, position, "message", DEPTH)
                subject = ANYTHING + " " if _name(node.func) == "Effect" else ""
                found += [Site(module.name, n, error, subject + form) for n, form in forms]
    return tuple(sorted(set(found)))


def _made(call: ast.Call) -> Iterator[tuple[str, int]]:
    """The error class that a call makes, and which argument is the message; also where the class is
    handed to a function that makes it, with the message behind."""
    name = _name(call.func)
    if name in NAMES:
        yield name, 0
    elif name in MAKERS:
        yield MAKERS[name]
    for k, argument in enumerate(call.args[:-1]):
        if isinstance(argument, ast.Name) and argument.id in NAMES:
            yield argument.id, k + 1


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _argument(
    module: Module, call: ast.Call, position: int, name: str, depth: int
) -> Iterator[tuple[int, str]]:
    """The forms of an argument of a call, each with the line where it is written."""
    given = [k.value for k in call.keywords if k.arg == name]
    if position < len(call.args) and not isinstance(call.args[position], ast.Starred):
        given = [call.args[position]]
    for expression in given:
        yield from _forms(module, expression, depth)
    if not given:
        yield call.lineno, ANYTHING


def _forms(module: Module, node: ast.expr, depth: int) -> Iterator[tuple[int, str]]:
    line = node.lineno
    match node:
        case ast.Constant(value=str(text)):
            yield line, text
        case ast.JoinedStr(values=values):
            parts = [v.value if isinstance(v, ast.Constant) else ANYTHING for v in values]
            yield line, "".join(str(p) for p in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            for _, first in _forms(module, left, depth):
                yield from ((line, first + second) for _, second in _forms(module, right, depth))
        case ast.IfExp(body=body, orelse=orelse):
            yield from _forms(module, body, depth)
            yield from _forms(module, orelse, depth)
        case ast.Lambda(body=body):
            yield from _forms(module, body, depth)
        case ast.Name(id=name) if depth:
            yield from _named(module, node, name, depth - 1) or [(line, ANYTHING)]
        case ast.Call(func=function) if depth:
            yield from _returned(module, _name(function), depth - 1) or [(line, ANYTHING)]
        case _:
            yield line, ANYTHING


def _named(module: Module, node: ast.AST, name: str, depth: int) -> list[tuple[int, str]]:
    """What a name stands for: what it was assigned, what a nested function of that name returns,
    or what the callers give for the parameter."""
    function = module.function(node)
    while function is not None:
        found = []
        for inner in ast.walk(function):
            if isinstance(inner, ast.Assign) and name in [_name(t) for t in inner.targets]:
                found += _forms(module, inner.value, depth)
            elif isinstance(inner, ast.FunctionDef) and inner.name == name:
                found += _returns(module, inner, depth)
        if found:
            return found
        if isinstance(function, ast.FunctionDef) and name in _parameters(function):
            return _given(module, function, name, depth)
        function = module.function(function)
    return _returned(module, name, depth)


def _parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _given(
    module: Module, function: ast.FunctionDef, name: str, depth: int
) -> list[tuple[int, str]]:
    """What the callers of a function of this file give for a parameter."""
    position = _parameters(function).index(name)
    method = isinstance(module.owner[function], ast.ClassDef)
    calls = (n for n in ast.walk(module.tree) if isinstance(n, ast.Call))
    return [
        form
        for call in calls
        if _name(call.func) == function.name
        for form in _argument(module, call, position - method, name, depth)
    ]


def _returned(module: Module, name: str, depth: int) -> list[tuple[int, str]]:
    """What a function of this file returns."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return _returns(module, node, depth)
    return []


def _returns(module: Module, function: ast.FunctionDef, depth: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            found += _forms(module, node.value, depth)
    return found
