"""The rewriting of control flow, text to text, and rewritten functions without any tracing: they
must do what the user's do."""

from __future__ import annotations

import ast
import inspect
import textwrap
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc import tree
from pyc.trace import exits, jumps, liveness, rewrite
from tests.trace import loop_programs as programs
from tests.trace.test_rolled import CALLS, PROGRAMS, X, copied


def converted(text: str) -> str:
    """The rewritten definition of a function given as text."""
    definition = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    rewrite.convert(definition)
    return ast.unparse(definition)


SHAPES = {
    "if": """
        def f(x):
            if x > 0:
                y = x
            else:
                y = -x
            return y
        """,
    "if of a name that nobody reads": """
        def f(x):
            if x > 0:
                t = x * 2
                x = t
            return x
        """,
    "for": """
        def f(x, n):
            for i in range(n):
                x = x + i
            return x
        """,
    "for over two": """
        def f(x, y):
            s = 0
            for i, (a, b) in enumerate(zip(x, y)):
                s += a * b
            return s, i
        """,
    "while": """
        def f(x):
            while 0 < x < 5 and not x == 2:
                x = x + 1
            return x
        """,
    "break, continue, else": """
        def f(x):
            for v in x:
                if v < 0:
                    continue
                if v > 9:
                    break
                s = v
            else:
                s = 0
            return s
        """,
    "return from nested loops": """
        def f(a):
            for row in a:
                for v in row:
                    if v > 0:
                        return v
            return 0
        """,
    "guards": """
        def f(x):
            if x < 0:
                return 0
            if x < 1:
                return x
            return x * x
        """,
    "guard that may fall through": """
        def f(x):
            if x < 0:
                if x < -1:
                    return 0
                x = -x
            return x
        """,
    "expressions": """
        def f(x, y):
            a = x if x > y else y
            b = x and y or a
            c = [v if v > 0 else 0 for v in x]
            return (lambda v: v if v else a)(b), c
        """,
    "assignment expressions stay in the function": """
        def f(x):
            y = 1 if (n := x) else (m := 2)
            return y, n, m
        """,
    "nested functions and global names": """
        def f(x):
            global g
            total: float
            def inner(v):
                nonlocal x
                if v:
                    x = v
                return x
            for v in x:
                g = inner(v)
            return g
        """,
    "nothing": """
        def f(x):
            y = x + 1
            return y
        """,
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_function_becomes(name: str, golden: Any) -> None:
    golden(converted(SHAPES[name]))


def body_of(text: str) -> list[ast.stmt]:
    definition = ast.parse(textwrap.dedent(text)).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return exits.without_exits(definition.body)


def test_no_exit_is_left_but_the_last_return() -> None:
    for name in PROGRAMS:
        body = body_of(inspect.getsource(getattr(programs, name)))
        assert not exits.contains(body, (ast.Break, ast.Continue))
        assert not exits.contains(body[:-1], (ast.Return,))


def test_a_live_name_is_read_later() -> None:
    body = body_of(SHAPES["if of a name that nobody reads"])
    liveness.mark(body, liveness.NONE, liveness.NONE)
    branch = body[0]
    assert isinstance(branch, ast.If)
    assert branch.live == {"x"}  # type: ignore[attr-defined]
    assert liveness.bound(branch.body) == {"t", "x"}


def test_a_name_of_the_next_iteration_is_live_at_the_head_of_its_loop() -> None:
    text = """
        def f(x):
            for v in x:
                if v > 0:
                    last = v
                t = last
                s = t
            return s
        """
    body = body_of(text)
    liveness.mark(body, liveness.NONE, liveness.NONE)
    assert body[0].live == {"last", "s"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_rewritten_function_does_the_same_in_python(name: str) -> None:
    function = getattr(programs, name)
    rewritten = rewrite.rewritten(function)
    for args in CALLS.get(name, [(X,)]):
        expected = tree.leaves(function(*copied(args)))
        found = tree.leaves(rewritten(*copied(args)))
        for a, b in zip(expected, found, strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)


def fails(x: Any) -> Any:
    """Raises in a loop in a branch."""
    if x:
        for v in x:
            y = 1 / v if v < 5 else v
    return y


def test_a_traceback_is_that_of_the_user() -> None:
    rewritten = rewrite.rewritten(fails)
    assert rewritten is not fails
    assert rewritten.__doc__ == fails.__doc__
    with pytest.raises(ZeroDivisionError) as found:
        rewritten([1, 0])
    frames = [f for f in traceback.extract_tb(found.value.__traceback__) if f.filename == __file__]
    assert {f.name for f in frames[1:]} == {"fails"}
    assert frames[-1].line == "y = 1 / v if v < 5 else v"
    with pytest.raises(NameError, match="'y'"):
        rewritten([])


def unchanged(function: Any) -> Any:
    return function


@unchanged
@unchanged
def is_decorated(x: Any) -> Any:
    if x:
        x = x + 1
    return 1 / x


def test_the_lines_of_a_decorated_function_are_those_of_its_file() -> None:
    """Lines count from the first one of a code object: with decorators that is not its `def`."""

    def line_of_the_failure(function: Any) -> int | None:
        with pytest.raises(ZeroDivisionError) as found:
            function(-1)
        return traceback.extract_tb(found.value.__traceback__)[-1].lineno

    rewritten = rewrite.rewritten(is_decorated)
    assert rewritten is not is_decorated
    assert line_of_the_failure(rewritten) == line_of_the_failure(is_decorated)


def test_functions_of_one_code_are_rewritten_once() -> None:
    def make(k: int) -> Any:
        def f(x: Any) -> Any:
            return x if x > k else -x

        return f

    first, second = rewrite.rewritten(make(1)), rewrite.rewritten(make(5))
    assert first.__code__ is second.__code__
    assert rewrite.rewritten(first) is first
    assert (first(3), second(3)) == (3, -3)


def test_what_has_no_control_flow_is_left_alone() -> None:
    def plain(x: Any) -> Any:
        return x + 1

    def generator(x: Any) -> Any:
        if x:
            yield from x

    def looks_at_its_variables(x: Any) -> Any:
        return sorted(locals()) if x else x

    def leaves_finally(x: Any) -> Any:
        for _ in x:
            try:
                x = 1
            finally:
                return x  # noqa: B012
        return None

    for function in (plain, generator, looks_at_its_variables, leaves_finally):
        assert jumps.rewritten(function) is function
    assert not jumps.has_control_flow(plain.__code__)


def test_texts_of_several_lines_keep_their_indents() -> None:
    def text(x: Any) -> Any:
        return (
            """a
            b"""
            if x
            else ""
        )

    assert rewrite.rewritten(text)(1) == text(1)


class Named:
    """Its methods read its own name, which is a global name, and have private ones."""

    def __init__(self, value: Any) -> None:
        self.__value = value

    def doubled(self, x: Any) -> Any:
        assert isinstance(self, Named)
        return Named(x * 2 if x else self.__value).__value

    def tripled(self, x: Any) -> Any:
        return Named(x * 3 if x else self.__value).__value


def test_a_method_reads_the_name_of_its_class() -> None:
    named = Named(7)
    for method in (Named.doubled, Named.tripled):
        rewritten = rewrite.rewritten(method)
        assert rewritten is not method
        assert [rewritten(named, x) for x in (0, 1)] == [method(named, x) for x in (0, 1)]


def test_a_method_reads_the_name_of_a_class_in_a_function() -> None:
    class Local:
        def __init__(self, value: Any) -> None:
            self.value = value

        def doubled(self, x: Any) -> Any:
            return Local(x * 2 if x else self.value).value

    rewritten = rewrite.rewritten(Local.doubled)
    assert rewritten is not Local.doubled
    assert [rewritten(Local(7), x) for x in (0, 1)] == [7, 2]


SOURCE = '''
import functools

def marked(function):
    return functools.wraps(function)(lambda *args: function(*args))

if True:
        def indented(x):
                if x:
                    y = """
a text at the margin"""
                else:
                    y = ""
                return y
        # a comment that ends nothing

                # nor does this one

def last_words(x):
    while x < 5:
        x += 1
        if x == 3:
            pass
    return (
        x
    )

@functools.lru_cache(
    maxsize=None,
)
def decorated(x):
    return "some" if x else "none"

def before(x): return x and 1
def after(x): return x or 2

class Holder:
    def method(self, x):
        for v in x:
            if v:
                return v

    other = 1
'''


def test_the_source_of_a_function_is_found_whole(tmp_path: Path) -> None:
    file = tmp_path / "quirks.py"
    file.write_text(SOURCE)
    names: dict[str, Any] = {}
    exec(compile(SOURCE, str(file), "exec"), names)
    functions = [names["indented"], names["last_words"], names["decorated"].__wrapped__]
    functions += [names["before"], names["after"], names["Holder"].method]
    calls: list[list[tuple[Any, ...]]] = [[(0,), (1,)]] * 5 + [[(None, (0, 3)), (None, (0,))]]
    for function, arguments in zip(functions, calls, strict=True):
        rewritten = rewrite.rewritten(function)
        assert rewritten is not function, function
        assert [rewritten(*a) for a in arguments] == [function(*a) for a in arguments]


def test_lambdas_are_found_among_others_of_their_line() -> None:
    first, second, plain = lambda x: 1 if x else 2, lambda x: 3 if x else 4, lambda x: x
    nested = (lambda k: lambda x, y=1: x and y and k)(5)
    for function in (first, second, nested):
        rewritten = rewrite.rewritten(function)
        assert rewritten is not function
        assert rewritten.__name__ == "<lambda>"
        assert [rewritten(x) for x in (0, 1)] == [function(x) for x in (0, 1)]
    assert jumps.rewritten(plain) is plain


def test_a_loader_may_have_the_source() -> None:
    """As those of archives and notebooks do."""

    class Loader:
        def get_source(self, name: str) -> str:
            return text

    text = "def f(x):\n    return 1 if x else 2\n"
    names: dict[str, Any] = {"__name__": "in_archive", "__loader__": Loader()}
    exec(compile(text, "no such place/in_archive.py", "exec"), names)
    rewritten = rewrite.rewritten(names["f"])
    assert rewritten is not names["f"]
    assert (rewritten(1), rewritten(0)) == (1, 2)
