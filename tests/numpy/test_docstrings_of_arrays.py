"""The docstring of each function that changes, reduces or counts arrays names its parameters, the
shape, the type and the errors. Wrong arguments raise the errors that it names, and no others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import PycError
from tests.docstrings import WIDER, missing, named_errors, raised

MODULES = (
    *("manipulation", "pieces", "statistics", "numerical", "editing", "places", "missing_values"),
    "orders",
)
LINE, MATRIX, SQUARE = np.arange(3.0), np.arange(6.0).reshape(2, 3), np.arange(9.0).reshape(3, 3)
CUBE, PLACES = np.arange(8.0).reshape(2, 2, 2), np.array([0, 1, 2])
REDUCTIONS = (
    *("all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cummax"),
    *("cummin", "cumprod", "cumsum", "mean", "nanargmax", "nanargmin", "nancumprod", "nancumsum"),
    *("nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "prod"),
    *("ptp", "std", "sum", "trace", "var"),
)
SHAPED = (
    *("diag", "diagonal", "diff", "flip", "fliplr", "flipud", "matrix_transpose", "permute_dims"),
    *("ravel", "rot90", "unstack"),
)
JOINED = ("column_stack", "concat", "dstack", "hstack", "stack", "vstack")
FITTING: dict[str, dict[str, Any]] = {
    **{name: {"x": MATRIX} for name in (*REDUCTIONS, *SHAPED)},
    **{name: {"arrays": (LINE, LINE)} for name in JOINED},
    **{f"atleast_{n}d": {"xs": LINE} for n in (1, 2, 3)},
    **{f"cumulative_{name}": {"x": LINE} for name in ("prod", "sum")},
    **{name: {"a": LINE, "kth": 1} for name in ("argpartition", "partition")},
    **{name: {"x": MATRIX, "q": 0.5} for name in ("nanpercentile", "nanquantile")},
    **{name: {"a": LINE, "v": LINE} for name in ("convolve", "correlate")},
    **{f"{name}_indices_from": {"arr": SQUARE} for name in ("diag", "tril", "triu")},
    **{name: {"a": LINE} for name in ("argwhere", "flatnonzero")},
    "allclose": {"a": LINE, "b": LINE},
    "append": {"x": LINE, "values": LINE},
    "array_equal": {"a1": LINE, "a2": LINE},
    "array_split": {"x": LINE, "indices_or_sections": 2},
    "ascontiguousarray": {"a": LINE},
    "astype": {"x": LINE, "dtype": "float32"},
    "bincount": {"x": PLACES},
    "block": {"arrays": [[MATRIX, MATRIX]]},
    "choose": {"a": PLACES, "choices": [LINE, LINE, LINE]},
    "compress": {"condition": PLACES, "a": LINE, "size": 2},
    "corrcoef": {"x": MATRIX},
    "cov": {"m": MATRIX},
    "delete": {"arr": LINE, "obj": 1},
    "diagflat": {"v": LINE},
    "dsplit": {"ary": CUBE, "indices_or_sections": 2},
    "ediff1d": {"x": LINE},
    "expand_dims": {"x": MATRIX},
    "extract": {"condition": PLACES, "arr": LINE, "size": 2},
    "gradient": {"f": LINE},
    "histogram": {"a": LINE},
    "hsplit": {"ary": SQUARE, "indices_or_sections": 3},
    "insert": {"arr": LINE, "obj": 1, "values": 2},
    "interp": {"x": LINE, "xp": LINE, "fp": LINE},
    "lexsort": {"keys": (LINE, LINE)},
    "matvec": {"a": MATRIX, "b": LINE},
    "moveaxis": {"x": MATRIX, "source": 0, "destination": 1},
    "pad": {"x": MATRIX, "pad_width": 1},
    "polyval": {"p": LINE, "x": LINE},
    "ravel_multi_index": {"multi_index": (PLACES, PLACES), "dims": (3, 3)},
    "repeat": {"x": MATRIX, "repeats": 2},
    "reshape": {"x": MATRIX, "shape": (3, 2)},
    "resize": {"x": LINE, "new_shape": (2, 2)},
    "roll": {"x": MATRIX, "shift": 1},
    "rollaxis": {"x": MATRIX, "axis": 1},
    "select": {"condlist": [LINE > 1], "choicelist": [LINE]},
    "sliding_window_view": {"x": LINE, "window_shape": 2},
    "sort_complex": {"a": LINE},
    "split": {"x": LINE, "indices_or_sections": 3},
    "squeeze": {"x": np.ones((1, 3))},
    "swapaxes": {"x": MATRIX, "axis1": 0, "axis2": 1},
    "tile": {"x": MATRIX, "reps": 2},
    "trapezoid": {"y": MATRIX},
    "trim_zeros": {"filt": LINE},
    "unravel_index": {"indices": PLACES, "shape": (2, 2)},
    "vecmat": {"a": LINE, "b": SQUARE},
    "vsplit": {"ary": SQUARE, "indices_or_sections": 3},
}
"""Arguments that a function takes."""
OTHERS = "a", np.ones((2, 5)), np.ones((2, 0)), 1.0, LINE * 1j
"""Arguments that may be refused: text, other shapes, complex numbers."""
AXES = 7, 1.5, (0, 0), (0, 7)
INTEGERS = 1.5, "a", -1, 9, [1, 1, 1, 1]
LISTS = "a", 1.0, [], (LINE, "a"), (LINE, np.ones((2, 5)))
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("axis", "axis1", "axis2", "source", "destination", "axes", "start"), AXES),
    **dict.fromkeys(("k", "n", "offset", "shape", "shift", "repeats", "reps"), INTEGERS),
    **dict.fromkeys(("pad_width", "obj", "new_shape", "window_shape", "size", "kth"), INTEGERS),
    **dict.fromkeys(("dims", "minlength", "length", "indices_or_sections"), INTEGERS),
    **dict.fromkeys(("ddof", "correction"), ("a", [1], 1j)),
    **dict.fromkeys(("mode", "order", "casting", "method", "trim"), ("some", 1.5)),
    **dict.fromkeys(("returned", "copy", "rowvar", "bias", "density", "equal_nan"), ()),
    **dict.fromkeys(("include_initial", "subok", "device", "options"), ()),
    **dict.fromkeys(("arrays", "keys", "choices", "condlist", "choicelist"), LISTS),
    "bins": (0, 1.5, "some", [[1, 2]], [2, 1]),
    "dtype": ("no type", "U3", np.int8),
    "edge_order": (3, "a"),
    "initial": ("a", 1j, [1.0, 2.0]),
    "keepdims": ("a", None),
    "newshape": ((2, 3),),
    "q": (2.0, 200.0),
    "range": ((1, 0), 3, (0, 1j)),
    "varargs": (),
    "where": ("a", LINE, np.ones(5, bool), np.ones(3, bool)),
    "writeable": (True,),
}
"""Those of parameters that are no arrays."""


TRACED: dict[str, tuple[Any, ...]] = {
    **{
        name: (lambda k, name=name: getattr(pnp, name)(LINE, k), np.array(1))
        for name in ("argpartition", "partition")
    },
    **{name: (getattr(pnp, name), LINE) for name in ("argwhere", "flatnonzero", "trim_zeros")},
    "bincount": (pnp.bincount, PLACES),
    "compress": (lambda c: pnp.compress(c, LINE), PLACES),
    "delete": (lambda at: pnp.delete(LINE, at), PLACES),
    "extract": (lambda c: pnp.extract(c, LINE), PLACES),
    "histogram": (lambda x: pnp.histogram(x, "auto"), LINE),
    "ravel": (lambda x: pnp.ravel(x, "A"), MATRIX),
    "ravel_multi_index": (lambda at: pnp.ravel_multi_index((at, at), (2, 2)), PLACES),
    "repeat": (lambda n: pnp.repeat(LINE, n), np.array(2)),
    "reshape": (lambda x: pnp.reshape(x, 6, "A"), MATRIX),
    "unravel_index": (lambda at: pnp.unravel_index(at, (2,)), PLACES),
}
"""Programs that are refused, or that raise when they run, and their argument."""
SEVERAL: dict[str, tuple[dict[str, Any], ...]] = {
    **{name: ({"ddof": 1, "correction": 1},) for name in ("nanstd", "nanvar", "std", "var")},
    **{name: ({"axis1": 0, "axis2": 0},) for name in ("diagonal", "trace")},
    **{name: ({"x": LINE * np.nan},) for name in ("nanargmax", "nanargmin")},
    "append": ({"x": MATRIX, "values": np.ones((2, 5)), "axis": 0},),
    "bincount": ({"x": [-1], "length": 2},),
    "choose": ({"a": [7]},),
    "cov": ({"fweights": np.full(MATRIX.shape[1], -1)},),
    "diagflat": ({"k": 1 << 70},),
    "interp": ({"period": 0},),
    "roll": ({"shift": float("inf")}, {"shift": (1, 2, 3), "axis": (0, 1)}),
}
"""Other arguments that are refused."""


def functions() -> dict[str, Callable[..., Any]]:
    """Each function of the modules once, by name."""
    found: dict[int, tuple[str, Any]] = {}
    for name in pnp.__all__:
        function = getattr(pnp, name)
        if inspect.isroutine(function):
            own = inspect.unwrap(function)
            if own.__module__.rpartition(".")[2] in MODULES:
                found.setdefault(id(own), (name, function))
    return dict(found.values())


FUNCTIONS = functions()


def by_name(name: str) -> Callable[..., Any]:
    """A function that takes all of its arguments by name."""
    function = FUNCTIONS[name]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    kinds = {k: p.kind for k, p in inspect.signature(function).parameters.items()}

    def call(**given: Any) -> Any:
        first = [given.pop(k) for k, kind in kinds.items() if kind in positional and k in given]
        return function(*first, **given)

    return call


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    assert missing(FUNCTIONS[name]) == []


def error_of(function: Callable[..., Any], *args: Any, **given: Any) -> str:
    with pytest.raises(PycError) as found:
        function(*args, **given)
    return WIDER.get(type(found.value).__name__, type(found.value).__name__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    wrong = {k: WRONG.get(k, OTHERS) for k in inspect.signature(FUNCTIONS[name]).parameters}
    found = raised(by_name(name), FITTING[name], wrong)
    if name in TRACED:
        function, argument = TRACED[name]
        found.add(error_of(pyc.jit(function), argument))
    for given in SEVERAL.get(name, ()):
        found.add(error_of(by_name(name), **{**FITTING[name], **given}))
    assert found == named_errors(FUNCTIONS[name])
