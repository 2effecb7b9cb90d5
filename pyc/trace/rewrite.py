"""Functions rewritten so that their control flow can be traced. `if`, `while`, `for`, `a if c else
b`, `and`, `or`, `not` and chained comparisons become calls of `pyc.trace.rolled`.

    if test:            def .then(): nonlocal x; x = f(x)
        x = f(x)   ->   def .orelse(): nonlocal x; x = g(x)
    else:               .pyc.branch(test, .then, .orelse, ...)
        x = g(x)

Bodies become nested functions over the variables of the function, which become cells: the run-time
functions read and write these. On concrete values they do what Python does. `exits` takes out jumps
first, `liveness` says which variables matter later. Every node keeps its place and every generated
function the name of the user's, so that error messages and tracebacks show the user's lines.

The source is parsed from its file and must compile to the code that runs; whatever cannot be
rewritten stays as it is, for a recorded reason.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from pyc.reasons import Reason, record
from pyc.trace import exits, liveness, rolled
from pyc.trace.exits import at
from pyc.trace.function_sources import RUNTIME, extracted, is_source_of, parsed
from pyc.trace.jumps import has_loops
from pyc.trace.plain_syntax import Plain

_OWN = ".own"
"""The parameter that tells generated lambdas from the user's."""

_SEQUENCES = frozenset(("range", "enumerate", "zip", "reversed", "product", "ndindex"))
_INDEX_ERRORS = frozenset(("BaseException", "Exception", "IndexError", "LookupError"))
"""Classes of an index out of range."""
_FOLDS = frozenset(("all", "any", "list", "max", "min", "sorted", "sum", "tuple"))
"""Functions that go over all that they are given, if no truth that is known ends them."""
_SCOPE_READERS = frozenset(("locals", "vars", "dir", "eval", "exec"))
_GENERATORS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


# --- functions ------------------------------------------------------------------------------------

# Without a lock: a fork, or a signal handler that traces, may come in the middle of the rewriting.
_codes: dict[int, tuple[CodeType, CodeType | None]] = {}
"""By the id of a code object: itself, so that the id stays its own, and what it became."""


def rewritten(function: FunctionType) -> FunctionType:
    """`function` with its control flow as calls, over the same globals, cells and defaults; itself
    if it cannot be rewritten, for a recorded reason."""
    code = function.__code__
    known = _codes.get(id(code))
    if known is None:
        # Of several threads that get here the first one's code is everybody's.
        known = _codes.setdefault(id(code), (code, _rewritten_code(function)))
        if known[1] is not None:
            _codes[id(known[1])] = (known[1], None)
    return function if known[1] is None else _rebuilt(function, known[1])


def _rebuilt(function: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = CellType(rolled)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    new.__doc__ = function.__doc__
    new.__dict__.update(function.__dict__)
    return new


def _rewritten_code(function: FunctionType) -> CodeType | None:
    """The new code; None if it cannot be done."""
    code = function.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return None
    try:
        definition = parsed(code, getattr(function.__globals__, "own", function.__globals__))
    except (SyntaxError, ValueError) as error:
        if has_loops(code):
            record(
                Reason.LOOP_NO_SOURCE,
                function=code.co_name,
                file=code.co_filename,
                detail=str(error),
            )
        return None
    why = _unfit(definition)
    if not why and not is_source_of(definition, code):
        why = "the source is not that of the function: the file has changed"
    if why:
        if has_loops(code):
            record(Reason.LOOP_NOT_REWRITTEN, function=code.co_name, detail=why)
        return None
    convert(definition)
    return _compiled(definition, code)


def _unfit(function: ast.FunctionDef) -> str:
    """Why a function cannot be rewritten; empty if it can."""
    for node in liveness.own(function.body):
        if isinstance(node, _GENERATORS):
            return "it is a generator or a coroutine"
        if isinstance(node, ast.Name) and node.id in _SCOPE_READERS:
            return f"it may look at its own variables: `{node.id}`"
    return exits.refused(function.body)


# --- compiling ------------------------------------------------------------------------------------


def _compiled(function: ast.FunctionDef, code: CodeType) -> CodeType:
    return _named(extracted(function, code), code.co_name, code.co_qualname)


def _named(code: CodeType, name: str, qualified: str) -> CodeType:
    """`code` with generated functions under the name of the user's function around them."""
    constants = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            own = constant.co_name.startswith(".") or constant.co_varnames[:1] == (_OWN,)
            names = (name, qualified) if own else (constant.co_name, constant.co_qualname)
            constant = _named(constant, *names)
        constants.append(constant)
    return code.replace(co_consts=tuple(constants), co_name=name, co_qualname=qualified)


# --- statements -----------------------------------------------------------------------------------


def convert(function: ast.FunctionDef) -> None:
    """Rewrites a definition in place, and those nested in it."""
    _Function(function).run()


class _Function(ast.NodeTransformer):
    """Rewrites one function."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        given = function.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        parameters += [a for a in (given.vararg, given.kwarg) if a]
        self.parameters = [a.arg for a in parameters]
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.cells: set[str] = set()
        """Variables that nested functions assign."""

    def run(self) -> None:
        """Rewrites it."""
        function = self.function
        for node in liveness.own(function.body):
            if isinstance(node, ast.Global):
                self.globals |= set(node.names)
            elif isinstance(node, ast.Nonlocal):
                self.nonlocals |= set(node.names)
        plain = Plain(self.parameters[:1])
        body = plain.statements(function.body)
        body = exits.without_exits(body)
        always = liveness.shared(body) | self.globals | self.nonlocals
        liveness.mark(body, liveness.NONE, always)
        body = self.block(body)
        declared: list[ast.stmt] = []
        if self.globals:
            declared.append(ast.Global(sorted(self.globals)))
        if self.nonlocals:
            declared.append(ast.Nonlocal(sorted(self.nonlocals)))
        known = {*self.parameters, *self.globals, *self.nonlocals}
        for name in sorted((self.cells | plain.declared) - known):
            # An annotation makes a name local to the function without giving it a value.
            target = ast.Name(name, ast.Store())
            declared.append(ast.AnnAssign(target, ast.Constant(0), None, 1))
        function.body = [*(at(d, function) for d in declared), *body]

    def block(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements rewritten."""
        out: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            out += found if isinstance(found, list) else [found]
        return out

    def nested(
        self, name: str, body: list[ast.stmt], assigned: Iterable[str], place: ast.AST, *given: str
    ) -> ast.stmt:
        """The definition of a function over the variables of this one."""
        names = set(assigned)
        declared: list[ast.stmt] = []
        if shared := sorted(names & self.globals):
            declared.append(ast.Global(shared))
        if own := sorted(names - self.globals):
            declared.append(ast.Nonlocal(own))
            self.cells.update(own)
        arguments = ast.arguments([], [ast.arg(g) for g in given], None, [], [], None, [])
        made = ast.FunctionDef(name, arguments, [*declared, *(body or [ast.Pass()])], [])
        made.type_params = []  # type: ignore[attr-defined,unused-ignore]
        return at(made, place)

    def variables(self, node: Any, nodes: Sequence[ast.AST]) -> list[ast.expr]:
        """The arguments that say which variables nodes assign, where, whether all that is done is
        to augment them, and which of these are live."""
        assigned = sorted(liveness.bound(nodes) - self.globals)
        inside = list(liveness.own(nodes))
        places = [n for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
        lines = {n.id: n.lineno for n in places}
        targets = [n.target for n in inside if isinstance(n, ast.AugAssign)]
        rebound = {n.id for n in places if n not in targets}
        rebound |= set(assigned) - {n.id for n in places}
        live = tuple(name for name in assigned if name in node.live)
        names = tuple((n, lines.get(n, node.lineno), n not in rebound) for n in assigned)
        return [_constant(names), _constant(live)]

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        """`if`: a call with a function for each branch."""
        parts = [node.body, node.orelse]
        names = ("then", "orelse")
        assigned = [liveness.bound(part) for part in parts]
        variables = self.variables(node, [*node.body, *node.orelse])
        made = [
            self.nested("." + name, self.block(part), bound, node)
            for name, part, bound in zip(names, parts, assigned, strict=True)
        ]
        call = _call("branch", self.truth(node.test), *_functions(*names), *variables)
        return [*made, at(ast.Expr(at(call, node.test)), node)]

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        """`while`: a call with functions for the condition and the body."""
        variables = self.variables(node, [node.test, *node.body])
        assigned = liveness.bound(node.body)
        test = at(ast.Return(self.truth(node.test)), node.test)
        made = [
            self.nested(".test", [test], liveness.bound([node.test]), node),
            self.nested(".body", self.block(node.body), assigned, node),
        ]
        stop = ast.Constant(exits.stop_of(node))
        call = _call("repeat", *_functions("test", "body"), *variables, stop)
        return [*made, at(ast.Expr(at(call, node.test)), node)]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        """`for`: a call with what it goes over and a function for the body."""
        variables = self.variables(node, [node.target, *node.body])
        assigned = liveness.bound([node.target, *node.body])
        inside = liveness.bound(node.body)
        lists = {} if exits.stop_of(node) else _appended(node.body)
        grown = tuple(sorted((n, k) for n, k in lists.items() if n not in assigned))
        target = node.target
        counter = target.id if isinstance(target, ast.Name) and target.id not in inside else None
        item = at(ast.Assign([target], ast.Name(".item", ast.Load())), target)
        item.targets = [self.visit(target)]
        body = [item, *self.block(node.body)]
        made = self.nested(".body", body, assigned, node, ".item")
        call = _call(
            "each",
            self.sequence(node.iter),
            *_functions("body"),
            *variables,
            ast.Constant(exits.stop_of(node)),
            ast.Constant(counter),
            _constant(grown),
        )
        return [made, at(ast.Expr(at(call, node.iter)), node)]

    def visit_Try(self, node: ast.Try) -> Any:
        """`try` of one value with one `except`: a call with a function for each, which is tried
        where Python catches what is raised while tracing."""
        if not _is_attempt(node):
            return self.generic_visit(node)
        (handler,) = node.handlers
        variables = self.variables(node, [*node.body, *handler.body])
        parts = {"body": node.body, "orelse": handler.body}
        bound = {name: liveness.bound(part) for name, part in parts.items()}
        made = [
            self.nested("." + name, self.block(part), bound[name], node)
            for name, part in parts.items()
        ]
        classes = handler.type or at(ast.Name("BaseException", ast.Load()), handler)
        handler.type = handler.type and self.visit(handler.type)
        call = _call("attempt", _later(classes), *_functions("body", "orelse"), *variables)
        node.body = [at(ast.Expr(at(call, node.body[0])), node.body[0])]
        caught = ast.Call(ast.Name(".orelse", ast.Load()), [], [])
        handler.body = [at(ast.Expr(at(caught, handler)), handler)]
        return [*made, node]

    def sequence(self, node: ast.expr) -> ast.expr:
        """What a loop goes over: the functions of Python that make sequences are called by the
        run time, which knows traced ones."""
        if isinstance(node, ast.Call) and _name_of(node.func) in _SEQUENCES:
            made = _call("sequence", node.func, *map(self.sequence, node.args))
            made.keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
            return at(made, node)
        if isinstance(node, ast.Starred):
            return at(ast.Starred(self.visit(node.value), ast.Load()), node)
        found: ast.expr = self.visit(node)
        return found

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A nested function: rewritten for itself."""
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        if not _unfit(node):
            convert(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Stays as it is."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Stays as it is, but for its methods."""
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef):
                self.visit_FunctionDef(statement)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """`raise`: what is raised is evaluated by the run time, which knows traced numbers."""
        if node.exc is None or not _may_wait([node.exc]):
            return self.generic_visit(node)
        error = at(_call("raising", _later(self.visit(node.exc))), node.exc)
        return at(ast.Raise(error, node.cause and self.visit(node.cause)), node)

    # --- expressions ------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> ast.expr:
        """An expression of which only the truth is asked."""
        if isinstance(node, ast.BoolOp) and _may_wait(node.values[1:]):
            name = "all_true" if isinstance(node.op, ast.And) else "any_true"
            first, *rest = [self.truth(v) for v in node.values]
            return at(_call(name, first, *map(_later, rest)), node)
        found: ast.expr = self.visit(node)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`and`, `or`: the first operand, and functions for the other ones."""
        if not _may_wait(node.values[1:]):
            return self.generic_visit(node)
        name = "all_of" if isinstance(node.op, ast.And) else "any_of"
        first, *rest = [self.visit(v) for v in node.values]
        return at(_call(name, first, *map(_later, rest)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`not`."""
        if not isinstance(node.op, ast.Not):
            return self.generic_visit(node)
        return at(_call("negation", self.truth(node.operand)), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`"..." % values`."""
        text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        if not (text and isinstance(node.op, ast.Mod)):
            return self.generic_visit(node)
        return at(_call("percent", node.left, self.visit(node.right)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`a < b < c`, `a in b`; another single comparison stays."""
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            found = _call("contained", self.visit(node.left), self.visit(node.comparators[0]))
            inside = isinstance(node.ops[0], ast.In)
            return at(found if inside else _call("negation", at(found, node)), node)
        if len(node.ops) == 1 or not _may_wait(node.comparators[1:]):
            return self.generic_visit(node)
        operators = _constant(tuple(type(op).__name__ for op in node.ops))
        left, middle, *rest = [self.visit(v) for v in (node.left, *node.comparators)]
        return at(_call("comparison", operators, left, middle, *map(_later, rest)), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """`a if c else b`."""
        if not _may_wait([node.body, node.orelse]):
            return self.generic_visit(node)
        test = self.truth(node.test)
        yes, no = _later(self.visit(node.body)), _later(self.visit(node.orelse))
        return at(_call("choice", test, yes, no), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """A list with conditions: of pairs, of which those are kept whose condition holds."""
        return self.comprehension(node, "kept")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """As a list, one after the other."""
        return self.comprehension(node, "passing")

    def mapped(self, node: Any, name: str) -> Any:
        """A comprehension without conditions: what it goes over, and a function for the element."""
        (one,) = node.generators
        over = self.sequence(one.iter)
        one.iter = at(ast.Tuple([ast.Name(_OWN, ast.Load())], ast.Load()), one.iter)
        one.target = self.visit(one.target)
        node.elt = self.visit(node.elt)
        element: ast.expr = at(_call("only", node), node.elt)
        if isinstance(node, ast.ListComp):
            element = at(ast.Subscript(node, ast.Constant(0), ast.Load()), node.elt)
        own = ast.arguments([], [ast.arg(_OWN)], None, [], [], None, [])
        return at(_call(name, over, at(ast.Lambda(own, element), node.elt)), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A function that goes over all of a generator expression: `sum(f(x) for x in xs)`."""
        folds = isinstance(node.func, ast.Name) and node.func.id in _FOLDS
        if not folds or not node.args or not _is_mapped(node.args[0]):
            return self.generic_visit(node)
        first, *rest = node.args
        node.args = []
        self.generic_visit(node)
        node.args = [self.mapped(first, "generated"), *(self.visit(a) for a in rest)]
        return node

    def comprehension(self, node: Any, name: str) -> ast.AST:
        """The conditions of the last `for` as part of the element."""
        last = node.generators[-1]
        tests = last.ifs
        if name == "kept" and _is_mapped(node):
            mapped: ast.AST = self.mapped(node, "listed")
            return mapped
        if not tests or last.is_async or not _may_wait([node.elt, *tests[1:]]):
            return self.generic_visit(node)
        last.ifs = []
        test = tests[0] if len(tests) == 1 else at(ast.BoolOp(ast.And(), tests), tests[0])
        plain = ast.Constant(isinstance(node.elt, (ast.Name, ast.Constant)))
        pair = _call("member", self.truth(test), _later(self.visit(node.elt)), plain)
        node.generators = [self.generic_visit(g) for g in node.generators]
        node.elt = at(pair, node.elt)
        return at(_call(name, node), node)


def _appended(body: Sequence[ast.stmt]) -> dict[str, int]:
    """The variables that hold lists of which all that statements do is to append to them, to read
    elements and to ask for the length; how many statements append to each."""
    appended: list[str] = []
    read: list[str] = []
    for node in (n for s in body for n in ast.walk(s)):
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [_], [])):
                appended.append(name)
            case ast.Subscript(ast.Name(name), _, ast.Load()):
                read.append(name)
            case ast.Call(ast.Name("len"), [ast.Name(name)], []):
                read.append(name)
    used = [n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name)]
    counts = Counter(appended) + Counter(read)
    return {n: appended.count(n) for n in appended if used.count(n) == counts[n]}


def _is_attempt(node: ast.Try) -> bool:
    """Whether a `try` finds one value, with an element in it, and has one `except` for an index out
    of range."""
    if node.orelse or node.finalbody or len(node.handlers) != 1 or node.handlers[0].name:
        return False
    kind = node.handlers[0].type
    names = {n.id for n in ast.walk(kind) if isinstance(n, ast.Name)} if kind else _INDEX_ERRORS
    first, *rest = node.body
    flags = all(isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) for s in rest)
    match first:
        case ast.Assign(targets):
            simple = all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets)
        case ast.AugAssign(target):
            simple = isinstance(target, ast.Name)
        case _:
            simple = False
    return simple and flags and not names.isdisjoint(_INDEX_ERRORS) and _may_wait(node.body)


def _is_mapped(node: ast.expr) -> bool:
    """Whether it is a comprehension of one `for` without conditions, whose elements do not see the
    variable of the `for` when it is over, as functions made there do."""
    if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) > 1:
        return False
    one = node.generators[0]
    return not one.ifs and not one.is_async and _may_wait([node.elt]) and not _is_kept(node.elt)


def _is_kept(element: ast.expr) -> bool:
    """Whether an expression makes something that may read its names later: a function, or a
    generator that is not gone through at once."""
    inner = [*ast.walk(element)]
    calls = (n for n in inner if isinstance(n, ast.Call) and n.args)
    at_once = {id(n.args[0]) for n in calls if isinstance(n.func, ast.Name) and n.func.id in _FOLDS}
    return any(
        isinstance(n, ast.Lambda) or (isinstance(n, ast.GeneratorExp) and id(n) not in at_once)
        for n in inner
    )


def _constant(value: Any) -> ast.expr:
    return ast.Constant(value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    """A call of the run time."""
    runtime = ast.Name(RUNTIME, ast.Load())
    return ast.Call(ast.Attribute(runtime, name, ast.Load()), list(args), [])


def _functions(*names: str) -> list[ast.expr]:
    return [ast.Name("." + name, ast.Load()) for name in names]


def _later(node: ast.expr) -> ast.expr:
    """A function that evaluates an expression."""
    own = ast.arguments([], [ast.arg(_OWN)], None, [], [], None, [ast.Constant(None)])
    return at(ast.Lambda(own, node), node)


def _name_of(function: ast.expr) -> str:
    """The name by which a function is called, without its module."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _may_wait(nodes: Iterable[ast.AST]) -> bool:
    """Whether expressions can be evaluated in a function: they bind no variable of this one."""
    return not any(isinstance(n, ast.NamedExpr) for node in nodes for n in ast.walk(node))


__all__ = ["RUNTIME", "convert", "rewritten"]
