"""What cannot be traced is refused: the error names the user's line and the rewrite."""

from __future__ import annotations

from array import array
from collections import UserDict, UserList
from decimal import Decimal
from functools import cmp_to_key
from pathlib import Path

import numpy as np
import pytest

from pyc.errors import PycError
from pyc.jit import jit
from tests.trace import programs

ROOT = Path(__file__).parents[2]
VECTOR = programs.VECTOR


class Rate(float):
    """A number of a class."""


CALLS = {
    **{
        name: (VECTOR,)
        for name, f in vars(programs).items()
        if callable(f) and f.__module__ == programs.__name__ and not isinstance(f, type)
    },
    "python_integer": (VECTOR, np.array([3])),
    "python_range": (VECTOR, np.array([3])),
    "augmented_assignment_to_a_scalar_argument": (VECTOR, np.float64(1)),
    "static_of_the_inner_function_is_traced": (VECTOR, 2),
}
"""Arguments of each program."""

TRACEABLE = ("leaked",)
"""Programs that set the scene for another."""

ARGUMENTS = {
    "object_array": ((np.array([object()]),), {}),
    "text_array": ((np.array(["a"]),), {}),
    "structured_array": ((np.zeros(2, [("a", float)]),), {}),
    "array_of_dates": ((np.zeros(2, "M8[s]"),), {}),
    "long_double": ((np.longdouble(1),), {}),
    "masked_array": ((np.ma.array([1.0]),), {}),
    "class_of_a_library": (([VECTOR, {"model": Decimal(1)}],), {}),
    "class_of_a_library_by_keyword": ((), {"x": Decimal(1)}),
    "set": (({1, 2},), {}),
    "iterator": ((iter([1, 2]),), {}),
    "generator_of_random_numbers": ((np.random.default_rng(0),), {}),
    "mapping": ((UserDict(a=1),), {}),
    "sequence": ((UserList([1]),), {}),
    "buffer": ((array("d", [1.0]),), {}),
    "module": ((np,), {}),
    "object_that_cannot_be_hashed": ((cmp_to_key(min)(1),), {}),
    "number_of_a_class": ((Rate(2.0),), {}),
    "large_integer": ((1 << 63,), {}),
    "static_list": ((VECTOR,), {"how": [1, 2]}),
    "static_array": ((VECTOR,), {"how": VECTOR}),
    "static_dataclass_with_a_list": ((VECTOR,), {"how": programs.Settings([1])}),
    "static_object": ((VECTOR,), {"how": programs.Plain()}),
}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages are relative to the working directory."""
    monkeypatch.chdir(ROOT)


def text_of(function, *args, **kwargs) -> str:
    with pytest.raises(PycError) as found:
        function(*args, **kwargs)
    return f"{type(found.value).__name__}: {found.value}"


@pytest.mark.parametrize("name", sorted(CALLS.keys() - set(TRACEABLE)))
def test_refused(name, golden) -> None:
    jit(programs.leaked, purity="off")(VECTOR)
    golden(text_of(jit(getattr(programs, name), **OPTIONS.get(name, {})), *CALLS[name]))


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_refused_argument(name, golden) -> None:
    def function(x, how="fast"):
        return x

    args, kwargs = ARGUMENTS[name]
    golden(text_of(jit(function, static_argnames="how"), *args, **kwargs))


def test_refused_leak_outside_of_any_trace(golden) -> None:
    jit(programs.leaked, purity="off")(VECTOR)
    golden(text_of(lambda: programs.KEPT[1]() + 1))


def test_refused_leak_as_an_argument(golden) -> None:
    jit(programs.leaked, purity="off")(VECTOR)
    golden(text_of(jit(lambda x: x), programs.KEPT[1]()))


def test_refused_call_of_a_compiled_program(golden) -> None:
    def function(x, n=2):
        return x

    golden(text_of(jit(function).compile(VECTOR), VECTOR[:2], n=3))


def test_refused_decoration(golden) -> None:
    def function(x, n=2):
        return x

    found = []
    for options in ({"static_argnums": 2}, {"static_argnums": -3}, {"static_argnames": "m"}):
        with pytest.raises(ValueError) as error:
            jit(function, **options)
        found.append(str(error.value))
    with pytest.raises(TypeError) as error:
        jit(3)
    golden("\n".join([*found, str(error.value)]))


def test_a_refused_program_leaves_no_trace_behind() -> None:
    """The next call traces afresh: an error must not leave its interpreter current."""
    function = jit(programs.truth_of_an_array, loops="unroll")
    for _ in range(2):
        with pytest.raises(PycError):
            function(VECTOR)
    assert jit(lambda x: x * 2)(VECTOR).tolist() == [2.0, 4.0, 6.0]


OPTIONS = {name: {"loops": "unroll"} for name in ("python_range", "truth_of_an_array")}
"""Programs that are refused only if they are traced as Python runs them."""
OPTIONS["uses_leaked"] = {"purity": "off"}  # the iterator that keeps it would be refused first
