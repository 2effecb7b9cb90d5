"""Syntax of a function body said otherwise, so that it can stand in a nested function."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pyc.trace.exits import at
from pyc.trace.function_sources import RUNTIME
from pyc.trace.matching import without_match

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class Plain(ast.NodeTransformer):
    """What cannot stand in a nested function, said otherwise: annotated assignments, declarations,
    `super()`. first: the parameter that `super()` takes."""

    def __init__(self, first: list[str]) -> None:
        self.first = first
        self.declared: set[str] = set()
        """Names that are annotated and get no value there."""

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements changed."""
        out: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            out += found if isinstance(found, list) else [found]
        return out

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An assignment, or nothing."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        if node.value is None:
            self.declared.add(node.target.id)
            return at(ast.Pass(), node)
        return at(ast.Assign([node.target], self.visit(node.value)), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`if not test: raise AssertionError(message)`, where Python runs assertions."""
        if not __debug__:
            return at(ast.Pass(), node)
        made: ast.expr = ast.Attribute(ast.Name(RUNTIME, ast.Load()), "AssertionError", ast.Load())
        if node.msg is not None:
            made = ast.Call(made, [self.visit(node.msg)], [])
        test = ast.UnaryOp(ast.Not(), self.visit(node.test))
        return at(ast.If(test, [ast.Raise(made, None)], []), node)

    def visit_Match(self, node: ast.Match) -> Any:
        """`if` for what may depend on data."""
        self.generic_visit(node)
        return without_match(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Nothing: declared at the top of the function."""
        return at(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Nothing: declared at the top of the function."""
        return at(ast.Pass(), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`super()` with the arguments that it finds by itself in the function proper."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            names = ["__class__", *self.first]
            node.args = [at(ast.Name(n, ast.Load()), node) for n in names]
        return node

    def visit(self, node: ast.AST) -> Any:
        """The node changed; nested scopes stay as they are."""
        return node if isinstance(node, _SCOPES) else super().visit(node)


__all__ = ["Plain"]
