"""Each optional argument of each function, with values of all kinds: where NumPy raises, pyc raises
an error of a class that NumPy's has, and where both give something, it is the same. The calls are
those of `benchmarks/namespace_calls.py`, eager and jitted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
from benchmarks.namespace_calls import CALLS, SAMPLES, arguments
from pyc.errors import DTypeError, PycError, TraceError, UnsupportedOpError
from tests.numpy.interpreted import difference
from tests.numpy.test_every_function import OWN_VALUES, REFERENCES, _function, _plain

VALUES: tuple[Callable[[], Any], ...] = (
    *(lambda: None, lambda: True, lambda: False),
    *(lambda: 0, lambda: 1, lambda: -1, lambda: 2, lambda: 3),
    *(lambda: 1.5, lambda: float("nan"), lambda: 2 + 1j),
    *(lambda: (), lambda: (0,), lambda: [0], lambda: (0, 1), lambda: [1, 2]),
    *(lambda: "x", lambda: "C", lambda: "int8", lambda: np.float32),
    *(lambda: np.array([1, 2]), lambda: np.array([0.0, 1.0, 2.0])),
    *(lambda: np.array(0), lambda: np.array(1.5)),
)
"""Makers of what an argument is given, anew for each call."""

UFUNC_OPTIONS = ("dtype", "where", "casting", "order", "subok", "axis", "keepdims", "signature")
UFUNCS = ("add", "sin", "divmod", "isnan", "power", "matmul", "vecdot", "logical_not", "frexp")
"""Of the ufuncs, whose options are told by one function, these."""

LEFT_OUT = ("empty", "empty_like", "from_dlpack")
"""Their elements are whatever was in memory, or they share it."""

WITHOUT_REASON = (AttributeError, IndexError, KeyError)
"""Classes of errors that NumPy's own code runs into where it takes an argument for another kind of
thing, as `1.upper()`: pyc says what is wrong in one of its own."""

DIFFERENT = {
    ("pyc.numpy.diag_indices", "ndim"): "NumPy repeats a tuple `ndim` times, and an array is "
    "multiplied by it instead",
    ("pyc.numpy.einsum_path", "einsum_call"): "an argument for NumPy itself",
    ("pyc.numpy.fft.fftshift", "axes"): "an array of one integer is an integer",
    ("pyc.numpy.fft.ifftshift", "axes"): "an array of one integer is an integer",
    ("pyc.numpy.fft.fftn", "s"): "the first of two mistakes is told",
    ("pyc.numpy.fft.ifftn", "s"): "the first of two mistakes is told",
    ("pyc.numpy.fft.rfftn", "s"): "the first of two mistakes is told",
    ("pyc.numpy.linalg.cond", "p"): "an array of one number is a number",
    ("pyc.numpy.put", "mode"): "for some numbers NumPy raises a SystemError",
    ("pyc.numpy.where", "x"): "NumPy takes it by place only, which is refused as another argument",
    ("pyc.numpy.where", "y"): "NumPy takes it by place only, which is refused as another argument",
    ("pyc.numpy.vectorize", "otypes"): "arrays of types, which NumPy cannot hold itself",
    ("pyc.numpy.cov", "aweights"): "the first of two mistakes is told",
    ("pyc.numpy.cov", "fweights"): "the first of two mistakes is told",
    ("pyc.scipy.special.comb", "exact"): "exact=True is refused, of whatever",
    ("pyc.scipy.special.factorial", "extend"): "pyc's has no `extend`",
}
"""Arguments of which pyc and NumPy differ for some value, and why."""


def _options(reference: Any) -> list[str]:
    if isinstance(reference, np.ufunc):
        return [*UFUNC_OPTIONS]
    try:
        given = inspect.signature(reference).parameters.values()
    except (TypeError, ValueError):  # a builtin that does not tell
        return []
    variadic = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    # NumPy itself crashes where `out=` of some functions is an array of rank 0.
    return [
        p.name
        for p in given
        if p.default is not p.empty and p.kind not in variadic and p.name != "out"
    ]


def _with_reference() -> list[str]:
    """The functions that NumPy or SciPy have, with an optional argument."""
    found = []
    for name in CALLS:
        space, _, last = name.rpartition(".")
        reference = getattr(REFERENCES.get(space), last, None)
        if reference is None or last in LEFT_OUT:
            continue
        if isinstance(reference, np.ufunc) and (space != "pyc.numpy" or last not in UFUNCS):
            continue
        if _options(reference):
            found.append(name)
    return found


def _outcome(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return _plain(run()), None
    except Exception as error:  # NumPy's may be of any class
        return None, error


def _classes(error: Exception) -> set[type]:
    """Python's own classes of an error."""
    mine = {c for c in type(error).__mro__ if c.__module__ == "builtins"}
    return mine - {Exception, BaseException, object}


def _told(name: str, option: str, value: Any, theirs: Exception, ours: Exception | None) -> bool:
    """Whether pyc's error stands for NumPy's."""
    if ours is None:
        return False
    if _classes(theirs) & _classes(ours) or isinstance(ours, TraceError):  # it is not known yet
        return True
    if not isinstance(ours, PycError):
        return False
    if isinstance(theirs, WITHOUT_REASON) and not isinstance(theirs, np.exceptions.AxisError):
        return True
    # NumPy makes an array of a text or a class before it looks at what it holds.
    return isinstance(value, (str, type)) and isinstance(ours, DTypeError)


def test_there_are_functions_to_look_at() -> None:
    assert len(_with_reference()) > 200
    assert DIFFERENT.keys() <= {
        (n, p)
        for n in _with_reference()
        for p in _options(getattr(REFERENCES[n.rpartition(".")[0]], n.rpartition(".")[2]))
    }


@pytest.mark.filterwarnings("ignore")  # NumPy's warnings of what it takes nevertheless
@pytest.mark.parametrize("way", ["eager", "jitted"])
@pytest.mark.parametrize("name", _with_reference())
def test_options_are_taken_or_refused_as_by_numpy(name: str, way: str) -> None:
    space, _, last = name.rpartition(".")
    call, reference = CALLS[name], getattr(REFERENCES[space], last)
    function = _function(name)
    wrong = []

    def samples() -> list[Any]:
        given = [SAMPLES[a] for a in arguments(call)]
        return [a.copy() if isinstance(a, np.ndarray) else a for a in given]

    for option in _options(reference):
        for make in VALUES:

            def with_option(
                of: Any, option: str = option, make: Callable[[], Any] = make
            ) -> Callable[..., Any]:
                return lambda *args, **named: of(*args, **{option: make(), **named})

            expected, theirs = _outcome(lambda of=with_option: call(of(reference), *samples()))
            if way == "eager":
                found, ours = _outcome(lambda of=with_option: call(of(function), *samples()))
            else:
                traced = pyc.jit(lambda *given, of=with_option: call(of(reference), *given))
                found, ours = _outcome(lambda f=traced: f(*samples()))
            if option == "device" and way == "jitted":  # a program runs where it runs
                fine = isinstance(ours, (UnsupportedOpError, ValueError)) or make() is None
            elif theirs is not None:
                fine = _told(name, option, make(), theirs, ours)
            elif ours is not None:  # told, whatever NumPy makes of it
                fine = isinstance(ours, (PycError, TypeError))
            else:
                fine = last in OWN_VALUES or not difference(expected, found)
            if not fine and (name, option) not in DIFFERENT:
                wrong.append(f"{option}={make()!r}: {theirs or expected!r} -> {ours or found!r}")
    assert not wrong, "\n".join(wrong)
