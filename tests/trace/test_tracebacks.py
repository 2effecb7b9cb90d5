"""The traceback of an error ends at the user's line; what pyc itself does wrong stays visible."""

from __future__ import annotations

import math
import sys
import traceback
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pyc
from pyc import cache, config, errors
from pyc.jit import jit

HERE = Path(__file__).name
X = np.arange(5.0)


def frames(call, *args) -> list[str]:
    """`file:function` of each frame of the error that `call` raises, outermost first."""
    with pytest.raises(Exception) as found:
        call(*args)
    error = found.value
    return [f"{Path(f.filename).name}:{f.name}" for f in traceback.extract_tb(error.__traceback__)]


def here(*names: str) -> list[str]:
    return [f"{HERE}:{name}" for name in ("frames", *names)]


def helper(x):
    return x @ np.float32(2)


def refused(x):
    return helper(x)


def fails(x):
    raise RuntimeError("mine")


def of_an_attribute(x):
    return x.nothing


def nested(x):
    return pyc.lax.cond(x.sum() > 0, lambda: jit(refused)(x), lambda: x)


@dataclass(frozen=True)
class Model:
    """A class with a jitted method."""

    width: int = 1

    @partial(jit, static_argnames="self")
    def layer(self, x):
        return helper(x)


@pytest.mark.parametrize("how", ["call", "again", "trace", "lower", "compile", "method"])
def test_what_is_refused_ends_at_the_users_line(how) -> None:
    """Eight frames of pyc between the call and the line told a user nothing."""
    f = jit(refused)
    if how == "again":  # known signatures are called natively
        f = jit(lambda x: refused(x) if x.ndim else x)
        f(np.float64(1))
        f(np.float64(1))
        # Each side of the conditional expression is a function of the same name.
        assert frames(f, X) == here("<lambda>", "<lambda>", "refused", "helper")
        return
    calls = {"call": f, "trace": f.trace, "lower": f.lower, "compile": f.compile}
    if how == "method":
        model = Model()
        assert frames(lambda: model.layer(X)) == here("<lambda>", "layer", "helper")
        return
    assert frames(calls[how], X) == here("refused", "helper")


def test_frames_of_pyc_between_the_users_are_left_out() -> None:
    assert frames(jit(nested), X) == here("nested", "<lambda>", "refused", "helper")


def test_the_users_own_errors_end_where_they_were_raised() -> None:
    assert frames(jit(fails), X) == here("fails")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (AttributeError, of_an_attribute),
        (TypeError, lambda x: len(x[0])),
        (TypeError, lambda x: [*x[0]]),
        (TypeError, lambda x: float(x)),
        (TypeError, lambda x: math.sqrt(x)),
        (ValueError, lambda x: x.__delitem__(0)),
        (ValueError, lambda x: [*zip(x, x[2:], strict=True)]),
    ],
)
def test_what_is_raised_as_numpy_does_ends_at_the_users_line(kind, wrong) -> None:
    """These are no errors of pyc's own classes, since NumPy's and Python's are none."""
    with pytest.raises(kind):
        wrong(X)
    got = frames(jit(wrong), X)
    assert got == here(wrong.__name__)


def test_a_call_with_wrong_arguments_ends_at_the_call() -> None:
    assert frames(jit(refused)) == here()
    assert frames(jit(refused), X, X) == here()


def test_what_pyc_calls_in_the_library_is_left_out() -> None:
    f = jit(lambda x: x * 3.25 - 17.0)
    with cache.frozen():
        assert frames(f, X) == here()


def test_what_the_user_calls_in_the_library_stays() -> None:
    got = frames(jit(lambda x: x * Fraction("one half")), X)
    assert got == [*here("<lambda>"), "fractions.py:__new__"]


def test_an_index_out_of_range_at_run_time_ends_at_the_call() -> None:
    f = jit(lambda x, i: x[i])
    assert frames(f, X, 9) == here()
    f(X, 1)
    assert frames(f, X, 9) == here()
    assert frames(f.compile(X, 1), X, 9) == here()


def test_what_python_raises_inside_pyc_keeps_its_frames(monkeypatch) -> None:
    """Else a mistake in pyc would look like one in the user's line."""
    monkeypatch.setattr("pyc.numpy.contractions.bind1", None)
    monkeypatch.setattr("pyc.numpy.elementwise.operands", None)
    got = frames(jit(lambda x: x + x), X)
    assert got == [*here("<lambda>"), "tracer.py:operator", "keywords.py:run", "elementwise.py:add"]
    monkeypatch.setattr(sys.modules["pyc.programs"], "capture", None)
    assert frames(jit(refused), X)[-1] == "programs.py:trace"


@pytest.mark.parametrize("kind", [errors.CompileError, errors.VerificationError])
def test_errors_that_are_mistakes_in_pyc_keep_their_frames(monkeypatch, kind) -> None:
    def broken(*args):
        raise kind("broken")

    monkeypatch.setattr("pyc.numpy.elementwise.operands", broken)
    assert "elementwise.py:add" in frames(jit(lambda x: x + x), X)


def test_debugging_shows_all_frames() -> None:
    with config.using(debug=True):
        got = frames(jit(refused), X)
    assert "capture.py:capture" in got
    assert got[-1].startswith("linear_algebra.py:")
