"""`break`, `continue` and `return` in the middle of a function as flags, AST to AST.

What leaves a loop or a function early cannot cross the border of the nested functions into which
`rewrite` puts bodies and branches. So a `break` sets the loop's stop flag, which its runner reads
after each iteration; what follows in the body runs under `if not skip`. A `return` keeps its value,
and all that follows runs under `if not returned`. Where a branch of an `if` always leaves, what
follows moves into the other branch, and no flag is read.

Takes the statements of one function; nested functions are not entered. The names of flags hold a
dot, so that they cannot be the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

RESULT = ".result"
HELD = ".held"
"""The result of a function that returns from a `with` or a `try` whose end may still change it."""
RETURNED = ".returned"

Statements = list[ast.stmt]
Node = TypeVar("Node", bound=ast.AST)

_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.While)
_LEAVING = (ast.Return, ast.Break, ast.Continue)


def at(node: Node, place: ast.AST) -> Node:
    """`node`, and what is below it and has no place yet, at the place of another node."""
    known = {name: getattr(place, name) for name in _PLACE}
    todo: list[ast.AST] = [node]
    while todo:
        new = todo.pop()
        if new is not node and hasattr(new, "lineno"):
            continue  # as is what is below it
        if "lineno" in new._attributes:
            vars(new).update(known)
        todo += ast.iter_child_nodes(new)
    return node


def assign(name: str, value: ast.expr, place: ast.AST) -> ast.stmt:
    """`name = value`."""
    return at(ast.Assign([ast.Name(name, ast.Store())], value), place)


def unless(name: str, body: Statements, place: ast.AST) -> ast.stmt:
    """`if not name: body`."""
    test = ast.UnaryOp(ast.Not(), ast.Name(name, ast.Load()))
    return at(ast.If(test, body, []), place)


def contains(statements: Sequence[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    """Whether one of `kinds` is among or below nodes, outside of nested scopes."""
    todo = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, kinds):
            return True
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)
    return False


def stop_of(loop: ast.AST) -> str | None:
    """The name of the flag that stops a loop, None if nothing does."""
    return getattr(loop, "stop", None)


class _Loop:
    """The flags of the loop around a statement."""

    def __init__(self, number: int) -> None:
        self.stop = f".stop{number}"
        self.skip = f".skip{number}"


class _Exits:
    def __init__(self, returns: bool) -> None:
        self.returns = returns
        self.result = RESULT
        self.loops = 0

    def function(self, body: Statements) -> Statements:
        """The statements of a function that ends with the only `return`."""
        if not self.returns:
            return self.block(body, None)
        if any(contains(end.body, (ast.Return,)) for end in _with_ends(body)):
            self.result = HELD
        last = body[-1]
        if not _always_leaves(body):
            body = [*body, at(ast.Return(ast.Constant(None)), last)]
        first = assign(RETURNED, ast.Constant(False), body[0])
        end = at(ast.Return(ast.Name(self.result, ast.Load())), last)
        return [first, *self.block(body, None), end]

    def block(self, body: Sequence[ast.stmt], loop: _Loop | None) -> Statements:
        """A sequence of statements, each guarded by the flag that one before may have set."""
        out: Statements = []
        for k, statement in enumerate(body):
            rest = list(body[k + 1 :])
            leaves = contains([statement], _LEAVING) and _leaves(statement, self.returns)
            if leaves and isinstance(statement, ast.If) and rest:
                if _always_leaves(statement.body):
                    statement.orelse += rest
                    rest = []
                elif statement.orelse and _always_leaves(statement.orelse):
                    statement.body += rest
                    rest = []
            out += self.statement(statement, loop)
            if leaves:
                if rest and not isinstance(statement, _LEAVING):
                    guard = RETURNED if loop is None else loop.skip
                    out.append(unless(guard, self.block(rest, loop), rest[0]))
                break
        return out

    def statement(self, node: ast.stmt, loop: _Loop | None) -> Statements:
        """What a statement becomes."""
        yes = ast.Constant(True)
        if isinstance(node, (ast.Break, ast.Continue)) and loop is not None:
            names = [loop.stop] if isinstance(node, ast.Break) else []
            return [assign(name, yes, node) for name in (*names, loop.skip)]
        if isinstance(node, ast.Return) and self.returns:
            value = node.value or ast.Constant(None)
            found = [assign(self.result, value, node), assign(RETURNED, yes, node)]
            if loop is not None:
                found += [assign(loop.stop, yes, node), assign(loop.skip, yes, node)]
            return found
        if isinstance(node, _LOOPS):
            return self.loop(node, loop)
        if isinstance(node, _SCOPES):
            return [node]
        for field in ("body", "orelse", "finalbody"):
            if getattr(node, field, None):
                setattr(node, field, self.block(getattr(node, field), loop))
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self.block(part.body, loop)
        return [node]

    def loop(self, node: ast.For | ast.While, outer: _Loop | None) -> Statements:
        """A loop without exits in its body, with what is before and after it."""
        self.loops += 1
        loop = _Loop(self.loops)
        returns = self.returns and contains(node.body, (ast.Return,))
        stops = returns or _leaves_by(node.body, ast.Break)
        skips = returns or stops or _leaves_by(node.body, ast.Continue)
        node.body = self.block(node.body, loop)
        out: Statements = []
        if skips:
            node.body.insert(0, assign(loop.skip, ast.Constant(False), node))
        if stops:
            out.append(assign(loop.stop, ast.Constant(False), node))
            node.stop = loop.stop  # type: ignore[union-attr]
        orelse = self.block(node.orelse, outer)
        node.orelse = []
        out.append(node)
        if orelse:
            out += [unless(loop.stop, orelse, orelse[0])] if stops else orelse
        if returns and outer is not None:
            found: Statements = [
                assign(name, ast.Constant(True), node) for name in (outer.stop, outer.skip)
            ]
            out.append(at(ast.If(ast.Name(RETURNED, ast.Load()), found, []), node))
        return out


def _with_ends(body: Sequence[ast.stmt]) -> list[Any]:
    """The statements of a function that do something at their end however they are left."""
    kinds = (ast.With, ast.AsyncWith)
    return [
        node
        for node in ast.walk(ast.Module(list(body), []))
        if isinstance(node, kinds) or getattr(node, "finalbody", None)
    ]


def _leaves(statement: ast.stmt, returns: bool) -> bool:
    """Whether a statement may end the block that it stands in: by a `break` or `continue` of a loop
    around it, or by a `return`."""
    if returns and contains([statement], (ast.Return,)):
        return True
    return any(_leaves_by([statement], kind) for kind in (ast.Break, ast.Continue))


def _leaves_by(body: Sequence[ast.AST], kind: type[ast.AST]) -> bool:
    """Whether `kind` is in a body and belongs to the loop around it."""
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, kind):
            return True
        if isinstance(node, _LOOPS):
            todo += node.orelse
        elif not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)
    return False


def _always_leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    for node in body:
        if isinstance(node, (*_LEAVING, ast.Raise)):
            return True
        if isinstance(node, ast.If) and _always_leaves(node.body) and _always_leaves(node.orelse):
            return True
        if isinstance(node, ast.With) and _always_leaves(node.body):
            return False  # the manager may swallow what is raised
        if _is_endless(node):
            return True
    return False


def _is_endless(node: ast.stmt) -> bool:
    """Whether only a `return` leaves a statement: `while True` without a `break`."""
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
        and not _leaves_by(node.body, ast.Break)
    )


def _without_else(body: Statements) -> Statements:
    """A sequence of statements in which the `else` of loops that no `break` leaves stands behind
    them: what follows a loop that has returned does not run either."""
    out: Statements = []
    for node in body:
        out.append(node)
        if isinstance(node, _SCOPES):
            continue
        for part in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(part, field, None):
                    setattr(part, field, _without_else(getattr(part, field)))
        if isinstance(node, _LOOPS) and not _leaves_by(node.body, ast.Break):
            out += node.orelse
            node.orelse = []
    return out


def _only_at_the_end(body: Sequence[ast.stmt]) -> bool:
    """Whether the only `return` of a function, if any, is its last statement."""
    last = body[-1:] if body and isinstance(body[-1], ast.Return) else []
    return not contains(body[: len(body) - len(last)], (ast.Return,))


def refused(body: Sequence[ast.stmt]) -> str:
    """Why the exits of a function cannot be taken out; empty if they can."""
    for node in ast.walk(ast.Module(list(body), [])):
        if not isinstance(node, (ast.Try, ast.TryStar)):
            continue
        if contains(node.finalbody, _LEAVING):
            return "an exit in a `finally` block"
        if node.orelse and contains(node.body, _LEAVING):
            return "an exit in a `try` block that has an `else`"
    return ""


def without_exits(body: Statements) -> Statements:
    """The statements of a function, changed in place and returned, without `break` and `continue`
    and with no other `return` than one at the end."""
    body = _without_else(body)
    return _Exits(returns=not _only_at_the_end(body)).function(body)


__all__ = ["HELD", "RESULT", "RETURNED", "assign", "at", "contains", "refused", "stop_of"]
__all__ += ["without_exits"]
