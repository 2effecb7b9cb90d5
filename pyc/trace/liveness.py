"""Which names statements bind, and which of them are read later: what a branch must merge and what
a loop must carry.

Works on the statements of one function after `exits` has taken out its jumps, so that all control
flow is structured. Errs on the side of more live names: `try`, `with` and `match` kill nothing, and
names that nested functions read, or that are global or nonlocal, are live everywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from pyc.trace.exits import stop_of

Names = frozenset[str]
NONE: Names = frozenset()

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def own(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes of one scope, in no order. Of nested functions and classes only what is evaluated where
    they stand (decorators, defaults) is entered, of comprehensions all but their own targets."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            todo += getattr(node, "decorator_list", [])
            todo += [d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None]
        elif isinstance(node, ast.ClassDef):
            todo += [*node.decorator_list, *node.bases, *node.keywords]
        elif isinstance(node, ast.comprehension):
            todo += [node.iter, *node.ifs]
        else:
            todo += ast.iter_child_nodes(node)


def bound(nodes: Iterable[ast.AST]) -> Names:
    """The names that nodes bind or delete in their scope."""
    found: set[str | None] = set()
    for node in own(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            found.add(node.rest)
    return frozenset(name for name in found if name)


def read(nodes: Iterable[ast.AST]) -> Names:
    """The names that nodes read, in nested functions too."""
    found: set[str] = set()
    for node in own(nodes):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            found |= _inside(node)
    return frozenset(found)


def _inside(scope: ast.AST) -> Names:
    """Every name that occurs in a nested scope."""
    return frozenset(n.id for n in ast.walk(scope) if isinstance(n, ast.Name))


def shared(body: Sequence[ast.stmt]) -> Names:
    """The names of a function that others may read at any time: those in nested functions, and
    those that it declares global or nonlocal."""
    found: set[str] = set()
    for node in own(body):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, ast.GeneratorExp)):
            found |= _inside(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
    return frozenset(found)


def mark(body: Sequence[ast.stmt], after: Names, always: Names) -> Names:
    """The names that are live before statements after which `after` are.

    Writes on each `if` and `try` the names that are live after it, and on each loop those that are
    live at its head, before an iteration, as `live`. always: the names that are live everywhere
    """
    live = after
    for statement in reversed(body):
        live = _before(statement, live, always) | always
    return live


def _before(node: ast.stmt, after: Names, always: Names) -> Names:
    if isinstance(node, ast.If):
        node.live = after  # type: ignore[attr-defined]
        branches = mark(node.body, after, always) | mark(node.orelse, after, always)
        return branches - bound([node.test]) | read([node.test])
    if isinstance(node, (ast.While, ast.For)):
        return _before_loop(node, after, always)
    if isinstance(node, ast.Return):
        return read([node])
    blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [p.body for p in (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))]
    if any(blocks) and not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        everything = after | read([node])
        node.live = after  # type: ignore[attr-defined]
        for block in blocks:
            mark(block, everything, always)
        return everything
    kills = NONE if isinstance(node, ast.Delete) else bound([node])
    return (after - kills) | read([node])


def _before_loop(node: ast.While | ast.For, after: Names, always: Names) -> Names:
    stop = stop_of(node)
    head = after | ({stop} if stop else NONE)
    while True:
        node.live = head  # type: ignore[union-attr]
        before = mark(node.body, head, always)
        if isinstance(node, ast.While):
            before = before - bound([node.test]) | read([node.test])
        else:
            before = before - bound([node.target]) | read([node.target])
        if before <= head:
            break
        head |= before
    return head | read([node.iter]) if isinstance(node, ast.For) else head


__all__ = ["Names", "bound", "mark", "own", "read", "shared"]
