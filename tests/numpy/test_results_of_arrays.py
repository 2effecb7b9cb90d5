"""The shapes and types of what functions of arrays give are NumPy's, whatever type the elements
have, of arrays of rank 0 and of empty ones too. For bfloat16, which NumPy lacks, they are those for
float16, with bfloat16 in its place."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc.numpy as pnp
from pyc.errors import PycError
from tests.numpy.test_docstrings_of_arrays import (
    FITTING,
    FUNCTIONS,
    LINE,
    MATRIX,
    PLACES,
    by_name,
)

TYPES = "bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex128"
ELEMENTS = (
    *("x", "a", "b", "v", "m", "f", "p", "y", "fp", "arr", "ary", "arrays", "choices", "keys"),
    *("values", "choicelist", "filt", "xs", "a1", "a2"),
)
"""Parameters whose elements may have any type."""
EDGES = {"rank 0": np.array(2.0), "empty": np.zeros(0), "no rows": np.zeros((0, 3))}
OWN = ("cummax", "cummin")
"""Functions that NumPy lacks."""
WIDER = {
    *(("choose", "uint64"), ("gradient", "bool"), ("nanpercentile", "bool")),
    ("nanquantile", "bool"),
}
"""What pyc takes and NumPy refuses."""
NARROWER = {("histogram", "complex128"), ("polyval", "no rows")}
"""What NumPy takes and pyc refuses: bins of complex numbers, several polynomials at once."""
FITTING_BOTH: dict[str, dict[str, Any]] = {
    **FITTING,
    "compress": {"condition": PLACES, "a": LINE},
    "expand_dims": {"x": MATRIX, "axis": 1},
    "extract": {"condition": PLACES, "arr": LINE},
}
"""Arguments that NumPy's function takes too."""


def theirs(name: str, given: dict[str, Any]) -> Any:
    """What NumPy gives, for arguments by position as far as they are named otherwise there."""
    function = getattr(np, name, None) or getattr(np.lib.stride_tricks, name)
    needed = FITTING_BOTH[name]
    first = [given[k] for k in inspect.signature(FUNCTIONS[name]).parameters if k in needed]
    return function(*first, **{k: v for k, v in given.items() if k not in needed})


def outcome(call: Callable[[], Any]) -> Any:
    """The shapes and types of results, or that a call is refused."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except (TypeError, ValueError, IndexError, PycError, OverflowError):
            return "refused"
    return [(x.shape, x.dtype.name) for x in leaves(found)]


def leaves(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [leaf for each in found for leaf in leaves(each)]
    return [np.asarray(found)]


def converted(given: Any, kind: Any) -> Any:
    if isinstance(given, (list, tuple)):
        return type(given)(converted(x, kind) for x in given)
    return np.asarray(given).astype(kind)


def of_type(name: str, kind: Any) -> dict[str, Any]:
    return {k: converted(v, kind) if k in ELEMENTS else v for k, v in FITTING_BOTH[name].items()}


def compare(name: str, case: str, given: dict[str, Any], others: dict[str, Any]) -> None:
    """given: for pyc; others: for NumPy"""
    ours, expected = outcome(lambda: by_name(name)(**given)), outcome(lambda: theirs(name, others))
    if (name, case) in WIDER:
        assert ours != expected == "refused"
    elif (name, case) in NARROWER:
        assert expected != ours == "refused"
    elif case == "bfloat16" and expected != "refused":
        kinds = {"float16": "bfloat16"}
        assert ours == [(shape, kinds.get(kind, kind)) for shape, kind in expected]
    else:
        assert ours == expected


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OWN))
def test_the_results_of_a_type_have_numpys_shapes_and_types(name: str, kind: str) -> None:
    numpys = of_type(name, "float16" if kind == "bfloat16" else kind)
    compare(name, kind, of_type(name, pnp.bfloat16 if kind == "bfloat16" else kind), numpys)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OWN))
def test_the_results_of_arrays_at_the_edge_have_numpys_shapes_and_types(
    name: str, edge: str
) -> None:
    given = dict(FITTING_BOTH[name])
    first = next(iter(given))
    if first in ELEMENTS and isinstance(given[first], np.ndarray):
        given[first] = EDGES[edge]
    compare(name, edge, given, given)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("kind", TYPES)
def test_running_extremes_keep_shapes_and_types(name: str, kind: str) -> None:
    x = MATRIX.astype(getattr(pnp, kind))
    assert outcome(lambda: getattr(pnp, name)(x)) == [((2, 3), kind)]
