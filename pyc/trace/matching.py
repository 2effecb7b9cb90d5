"""`match` as `if`, AST to AST: values and guards of cases may then depend on data.

A pattern that is a value, `None` or a bool is a comparison, a name always matches; all other
patterns stay a `match` of one case, which says whether it matched. What the cases do moves into
the branches. The names of what is kept hold a dot, so that they cannot be the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pyc.trace.exits import Statements, assign, at


def without_match(node: ast.Match) -> Statements:
    """Statements that do what `node` does; itself if nothing in it can depend on data."""
    if not any(case.guard or _compares(case.pattern) for case in node.cases):
        return [node]
    subject = f".subject{node.lineno}.{node.col_offset}"
    return [assign(subject, node.subject, node), *_cases(subject, node.cases)]


def _compares(pattern: ast.pattern) -> bool:
    """Whether a pattern is a value, or several."""
    if isinstance(pattern, ast.MatchOr):
        return all(map(_compares, pattern.patterns))
    return isinstance(pattern, (ast.MatchValue, ast.MatchSingleton))


def _cases(subject: str, cases: Sequence[ast.match_case]) -> Statements:
    """The statements for these cases, one after the other."""
    if not cases:
        return []
    case, *rest = cases
    place = case.pattern
    given = ast.Name(subject, ast.Load())
    before: Statements = []
    test: ast.expr | None
    if _compares(case.pattern):
        test = _comparison(subject, case.pattern)
    elif isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
        test = None
        if case.pattern.name:
            before = [assign(case.pattern.name, given, place)]
    else:
        matched = f".matched{place.lineno}.{place.col_offset}"
        yes = ast.match_case(case.pattern, None, [assign(matched, ast.Constant(True), place)])
        before = [
            assign(matched, ast.Constant(False), place),
            at(ast.Match(at(given, place), [yes]), place),
        ]
        test = ast.Name(matched, ast.Load())
    if case.guard is not None:
        test = case.guard if test is None else ast.BoolOp(ast.And(), [test, case.guard])
    if test is None:
        return [*before, *case.body]
    return [*before, at(ast.If(test, case.body, _cases(subject, rest)), place)]


def _comparison(subject: str, pattern: ast.pattern) -> ast.expr:
    given = ast.Name(subject, ast.Load())
    if isinstance(pattern, ast.MatchOr):
        return at(
            ast.BoolOp(ast.Or(), [_comparison(subject, p) for p in pattern.patterns]), pattern
        )
    if isinstance(pattern, ast.MatchSingleton):
        return at(ast.Compare(given, [ast.Is()], [ast.Constant(pattern.value)]), pattern)
    assert isinstance(pattern, ast.MatchValue)
    return at(ast.Compare(given, [ast.Eq()], [pattern.value]), pattern)


__all__ = ["without_match"]
