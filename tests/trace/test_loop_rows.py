"""The tables of `docs/loops.md`: every row is run, and becomes what the page says."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.errors import CLASSES, PycError
from pyc.ir.plan import Loop
from tests.trace import branch_rows, construct_rows, loop_rows
from tests.trace.construct_rows import Row

DOCUMENT = Path(__file__).parents[2] / "docs" / "loops.md"
START, END = "<!-- rows -->\n", "<!-- end of rows -->\n"
ROWS = [*loop_rows.ROWS, *branch_rows.ROWS]
REFUSED = [r for r in ROWS if r.becomes in CLASSES]


def arguments(text: str) -> tuple[Any, ...]:
    return eval(f"({text},)", {"x": np.array([1.5, 2.25, 3.0]), "np": np})


def run(row: Row) -> tuple[Any, tuple[Any, ...]]:
    """The function of a row, from a module of its own with source, and its arguments."""
    file = f"<{row.construct}>"
    linecache.cache[file] = (len(row.source), None, row.source.splitlines(True), file)
    module = sys.modules["plain"] = ModuleType("plain")
    exec(compile(row.source, file, "exec", dont_inherit=True), vars(module))
    return module.f, arguments(row.args)


@pytest.fixture(autouse=True)
def no_module_stays():
    with pyc.config.using(cache="off"):
        yield
    sys.modules.pop("plain", None)


def became(lowered: Any) -> str:
    """What the loop or the branch of a program is."""
    ops = {e.op.name for e in lowered.graph.eqns}
    if ops & {"scan", "while"}:
        steps = any(isinstance(s, Loop) for s in lowered.plan.steps)
        return construct_rows.LOOP if steps else construct_rows.KERNEL
    if "cond" in ops:
        return construct_rows.BRANCH
    if "check" in ops:
        return construct_rows.CHECK
    return construct_rows.SELECTION if "select" in ops else construct_rows.STRAIGHT


@pytest.mark.parametrize("row", [r for r in ROWS if r not in REFUSED], ids=lambda r: r.construct)
def test_it_gives_what_numpy_gives_and_becomes_what_the_page_says(row: Row) -> None:
    f, args = run(row)
    jitted = pyc.jit(f)
    calls = [args]
    if type(args[-1]) is int:
        calls.append((*args[:-1], args[-1] - 1))
    for call in calls:
        expected, found = tree.leaves(f(*call)), tree.leaves(jitted(*call))
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)
    assert jitted.cache_info().misses == (len(calls) if row.each else 1)
    assert became(pyc.jit(f).lower(*args)) == row.becomes


@pytest.mark.parametrize("row", [r for r in ROWS if r.raises], ids=lambda r: r.construct)
def test_it_raises_what_python_raises(row: Row) -> None:
    f, args = run(row)
    jitted = pyc.jit(f)
    jitted(*args)
    with pytest.raises(Exception) as expected:
        f(*arguments(row.raises))
    with pytest.raises(type(expected.value)) as found:
        jitted(*arguments(row.raises))
    assert type(found.value) is expected.type and found.value.args == expected.value.args
    assert repr(found.value.__cause__) == repr(expected.value.__cause__)
    assert jitted.cache_info().misses == 1


@pytest.mark.parametrize("row", REFUSED, ids=lambda r: r.construct)
def test_it_is_refused_on_its_line(row: Row) -> None:
    f, args = run(row)
    with pytest.raises(PycError) as error:
        pyc.jit(f)(*args)
    assert error.value.code == row.becomes, error.value
    assert error.value.place is not None
    assert "# refused" in row.source.splitlines()[error.value.place.line - 1]
    assert str(error.value.fix)


def tables() -> str:
    lines = []
    for title in dict.fromkeys(r.section for r in ROWS):
        lines += ["", f"### {title}", "", "| construct | becomes |", "| --- | --- |"]
        for row in ROWS:
            if row.section == title:
                verdict = row.becomes
                if verdict in CLASSES:
                    verdict = f"`{CLASSES[verdict].__name__}`, {verdict}"
                lines.append(f"| {row.construct} | {verdict} |")
    return "\n".join([*lines, "", ""])


def test_the_page_has_the_rows(request: pytest.FixtureRequest) -> None:
    text = DOCUMENT.read_text()
    before, rest = text.split(START)
    after = rest.split(END)[1]
    new = before + START + tables() + END + after
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(new)
    assert DOCUMENT.read_text() == new
