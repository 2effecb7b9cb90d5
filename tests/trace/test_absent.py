"""Nothing that computes on arrays is missing by oversight: every public name of NumPy's is in
`pyc.numpy`, or in the table of what is not, and the same holds for arguments and methods."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.numpy import keywords
from pyc.trace.tracer import Tracer
from tests.trace.absent import ABSENT, KEYWORDS, METHODS

LEFT_OUT = {name for names in ABSENT.values() for name in names}
GONE = {"row_stack"}
"""Names that newer releases of NumPy have no more (this one since 2.5)."""
SPACES = [(np, pnp), (np.linalg, pnp.linalg), (np.fft, pnp.fft)]


def public(module: Any) -> set[str]:
    """Names of a module, less its submodules and errors."""
    found = {name for name in dir(module) if not name.startswith("_")}
    return {
        name
        for name in found
        if not isinstance(getattr(module, name), types.ModuleType) and name != "LinAlgError"
    }


def test_every_name_of_numpy_is_there_or_left_out_for_a_reason() -> None:
    missing = {name for theirs, ours in SPACES for name in public(theirs) - {*ours.__all__}}
    assert missing == LEFT_OUT - (GONE - {*dir(np)})


def test_what_is_left_out_is_not_there() -> None:
    """And is said once."""
    assert not LEFT_OUT & {*pnp.__all__}
    assert sum(map(len, ABSENT.values())) == len(LEFT_OUT)


ONLY_NAMES = {
    "apply_along_axis", "apply_over_axes", "arange", "broadcast_arrays", "broadcast_shapes",
    "copyto", "einsum", "einsum_path", "fill_diagonal", "fromfunction", "gradient", "ix_",
    "lexsort", "meshgrid", "place", "put", "put_along_axis", "putmask", "result_type", "vectorize",
    "atleast_1d", "atleast_2d", "atleast_3d",
}  # fmt: skip
"""Functions of any number of arguments, and those that write: their arguments have own tests."""
RENAMED = {"object": "x", "from_": "source", "to": "target"}


def arguments(function: Any) -> list[str]:
    """Parameters by name, behind the first."""
    found = keywords.parameters(function) or ()
    kinds = (found[0].VAR_POSITIONAL, found[0].VAR_KEYWORD) if found else ()
    return [p.name for p in found[1:] if p.kind not in kinds]


FUNCTIONS = [
    (theirs, ours, name)
    for theirs, ours in SPACES
    for name in ours.__all__
    if isinstance(getattr(ours, name), types.FunctionType)
    and name not in ONLY_NAMES
    and not isinstance(getattr(theirs, name, None), (np.ufunc, type, type(None)))
]


@pytest.mark.parametrize(
    ("theirs", "ours", "name"), FUNCTIONS, ids=[f"{t.__name__}.{n}" for t, _, n in FUNCTIONS]
)
def test_every_argument_is_taken_or_left_out(theirs: Any, ours: Any, name: str) -> None:
    """Under NumPy's name, or by position."""
    without = {argument for names in KEYWORDS.values() for argument in names}
    without |= {"kind", "overwrite_input", "interpolation", "kwargs"}
    function = getattr(ours, name)
    own = {p.name for p in keywords.parameters(function) or ()}
    own |= {theirs_ for theirs_, ours_ in {**keywords.RENAMED, **RENAMED}.items() if ours_ in own}
    own |= {p.name for p in (keywords.parameters(function) or ()) if p.kind is p.VAR_KEYWORD}
    missing = {*arguments(getattr(theirs, name))} - own - without
    assert not missing


def test_every_method_of_arrays_is_there_or_left_out_for_a_reason() -> None:
    """Of `pyc.Array`, and of traced values but for what needs their elements."""
    names = {name for name in dir(np.ndarray) if not name.startswith("_")}
    array = pyc.device_put(np.ones((2, 2)), "cpu")
    left_out = {name for names in METHODS.values() for name in names}
    assert {name for name in names if not hasattr(array, name)} == left_out
    assert {name for name in names if not hasattr(Tracer, name)} <= left_out | {
        "device",
        "to_device",
    }
