"""The table of `docs/plain-numpy.md`: every row is run, as plain NumPy and under `pyc.jit`."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pyc import tree
from pyc.errors import CLASSES, PycError
from pyc.jit import jit
from tests.trace import plain_functions, plain_numpy
from tests.trace.absent import ABSENT, ELSEWHERE, KEYWORDS, METHODS
from tests.trace.plain_rows import Row

DOCUMENT = Path(__file__).parents[2] / "docs" / "plain-numpy.md"

ROWS = [*plain_numpy.ROWS, *plain_functions.ROWS]

INTRODUCTION = """\
# Plain NumPy code

What `pyc.jit` runs as it stands, and what it refuses, with the error's code (`python -m pyc explain
CODE`). Every row is a test: the programs are in `tests/trace/plain_numpy.py` and
`plain_functions.py`, and this page is written from them by
`pytest tests/trace/test_plain_numpy.py --update-golden`.

A function is traced with a *view* of its module's names: NumPy, `math` and some builtins act on
traced values, the user's own functions and classes are traced in turn. Left alone are the standard
library, and installed packages with compiled parts (SciPy, pandas, ...): their functions get traced
values only where NumPy's protocols lead back here, and raise an error otherwise. An installed
package that is written in Python only is traced like the user's own code.

What is not exactly as in Python and NumPy:
* `sum(x)` of a traced array is `np.sum(x, axis=0)`: the same numbers, added in another order;
* `min` and `max` of an int and a float are a float; functions of `math` give NaN or infinity where
  Python raises `ValueError` or `OverflowError`;
* numbers that are arguments compute as NumPy's scalars: 64 bits, which overflow, `1 / 0` is
  infinite, `(-2.0) ** 0.5` is NaN, `round` is NumPy's; as NumPy's scalars they are returned;
* results of rank 0 are scalars also where NumPy gives an array (`np.tensordot`), and so are
  arguments of rank 0 to `isinstance`: what is called with an array of rank 0 and with a scalar is
  one program. Those that are made as arrays (`total = np.zeros(())`, `v = a[1, ...]`), and those
  from outside, are arrays, and the former change in place;
* what no result needs is not computed, and does not raise either: an index out of range in `x[i]`
  whose value is not used; `raise` statements and linear algebra always raise;
* a sum of zeros that are all negative is -0.0;
* traced edges of bins (`np.digitize`) and lines to search in (`np.searchsorted`) are taken to be in
  order;
* `np.roots` and `np.linalg.eigvals` of traced values are complex also where all of them are real;
* `ufunc.reduce` and `reduceat` combine elements from the left (NumPy's of `np.power` and
  `np.arctan2` may leave some out, where they compute several at once);
* results have the byte order of the machine, and are in C order;
* casts of floats to integers that do not hold them saturate, and NaN gives 0;
* what makes complex numbers real (`z.astype(float)`, `x[:] = z`) warns with NumPy's
  `ComplexWarning` while it is traced, not at later calls;
* `np.empty` gives zeros; `order="F"` of a new array changes nothing, and `order="A"` and `"K"`,
  which ask where elements lie, are refused for traced arrays of several axes.

"""


def run(row: Row) -> tuple[Any, tuple[Any, ...]]:
    """The function of a row, from a module of its own with source, and its arguments."""
    file = f"<{row.construct}>"
    linecache.cache[file] = (len(row.source), None, row.source.splitlines(True), file)
    module = sys.modules["plain"] = ModuleType("plain")
    exec(compile(row.source, file, "exec", dont_inherit=True), vars(module))
    args = eval(f"({row.args},)", {"x": np.array([1.5, 2.25, 3.0]), "np": np})
    return module.f, args


@pytest.fixture(autouse=True)
def no_module_stays():
    yield
    sys.modules.pop("plain", None)


@pytest.mark.parametrize("row", [r for r in ROWS if not r.code], ids=lambda r: r.construct)
def test_it_gives_what_numpy_gives(row) -> None:
    f, args = run(row)
    found = jit(f)(*args)  # first: plain NumPy may keep something in the module
    expected = f(*args)
    ours, structure = tree.flatten(found)
    theirs, expected_structure = tree.flatten(expected)
    assert structure == expected_structure
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
        assert a.dtype == np.asarray(b).dtype and a.shape == np.shape(b)


@pytest.mark.parametrize("row", [r for r in ROWS if r.code], ids=lambda r: r.construct)
def test_it_is_refused_on_its_line(row) -> None:
    f, args = run(row)
    with pytest.raises(PycError) as error:
        jit(f)(*args)
    assert error.value.code == row.code, error.value
    lines = row.source.splitlines()
    assert error.value.place is not None
    assert "# refused" in lines[error.value.place.line - 1]
    assert str(error.value.fix)


def document() -> str:
    lines = [INTRODUCTION]
    for title in dict.fromkeys(r.section for r in ROWS):
        lines += [f"## {title}", "", "| construct | |", "| --- | --- |"]
        for row in ROWS:
            if row.section == title:
                verdict = "works"
                if row.code:
                    verdict = f"refused: `{CLASSES[row.code].__name__}`, {row.code}"
                lines.append(f"| {row.construct} | {verdict} |")
        lines.append("")
    lines += ["## What NumPy has and pyc does not", ""]
    lines += ["| what | why, or what instead |", "| --- | --- |"]
    for table, mark in ((ABSENT, ""), (METHODS, "."), (KEYWORDS, "")):
        for reason, names in table.items():
            shown = ", ".join(f"`{mark}{name}`" for name in sorted(names))
            lines.append(f"| {shown} | {reason} |")
    lines += [f"| {what} | {instead} |" for what, instead in ELSEWHERE.items()]
    return "\n".join([*lines, ""])


def test_the_page_is_that_of_the_rows(request) -> None:
    if request.config.getoption("--update-golden"):
        DOCUMENT.write_text(document())
    assert DOCUMENT.read_text() == document()


def test_what_no_result_needs_does_not_raise():
    x, beyond = np.arange(4.0), np.array([9])

    def unused(x, k):
        x[k]
        return x * 2

    np.testing.assert_array_equal(jit(unused)(x, beyond), x * 2)
    with pytest.raises(IndexError):
        jit(lambda x, k: x[k] * 0)(x, beyond)
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda x: [np.linalg.inv(np.zeros((2, 2)) * x[0]), x][1])(x)


def test_a_sum_of_negative_zeros_is_negative():
    assert np.signbit(jit(np.sum)(np.full(5, -0.0)))
