"""The docstrings of linear algebra, transforms, polynomials, windows, sorting, sets, grids,
histograms and changes in place name parameters, shapes, types and errors; and the errors that wrong
arguments raise, directly and inside of `jit`, are those that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from tests.docstrings import missing, named_errors, raised

Values = tuple[Any, ...]
Given = tuple[dict[str, Any], dict[str, Values]]
"""Arguments that fit, and by parameter those that may be refused."""

HOMES = (
    *("linear_algebra", "linalg", "solvers", "factorisations", "fft", "polynomials", "windows"),
    *("polynomial_fits", "indexing", "sorting", "sets", "samples", "grids", "histograms"),
    *("in_place", "callbacks"),
)
"""Modules whose functions are public in `pyc.numpy`, or its `linalg` and `fft`."""
IN_PLACE = ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
"""These change NumPy's arrays as NumPy does, so that their errors are those of traced arrays."""
GENERAL = {
    *("PurityError", "TraceError", "TracerBoolConversionError", "TracerIntegerConversionError"),
}
"""What any function raises for a traced value where it needs to know it, and for what it changes
outside of the trace."""

L = np.array([1.0, 2.0, 3.0])
M = np.array([[2.0, 1.0], [1.0, 3.0]])
THREE = np.ones((3, 3))
CUBE = np.ones((2, 2, 2))
WIDE = np.ones((2, 3))
INTEGERS = np.arange(3)
NONE, NAN = np.ones(0), np.full((2, 2), np.nan)
ON_DEVICE = pyc.device_put(L, "cpu"), pyc.device_put(M, "cpu")
NUMBER = np.array(2)

HALF = M.astype(np.float16)
MATRICES: Values = ("a", HALF, L, WIDE, np.zeros((2, 2)), NAN, np.array(1.0), np.array([["a"]]))
LINES: Values = ("a", M, L * 1j, NONE)
COUNT: Values = (-1, 1.5, "a", NUMBER)
POINTS: Values = ("a", -1, 1.5, 1j, NUMBER, L)
AXIS: Values = (7, 1.5, "a", np.array(0), (0, 0), (0, 7))
FILL: Values = ("a", L, 1.5)
TYPE: Values = ("no type", np.int8, object)
NORM: Values = ("a", 3, "ortho")
LENGTHS: Values = ([0, 1], [-1, 2], [1.5, 2], "a", 3, [2, 2, 2], [2], np.array([2, 2]))
AXES: Values = ((7, 0), 7, "a", (0, 0), (), 1.5, None, 0)
DEVICES: Values = ("a", 3, "cpu")


def add_up(line: Any) -> Any:
    return line.sum()


def text_of(*args: Any) -> Any:
    return "a"


def total(x: Any) -> Any:
    return x.sum()


def first_row(m: Any, k: Any) -> Any:
    return m[0]


def first_corner(m: Any, k: Any) -> Any:
    return m[0, 0]


ONE_LINE = [L > 1]
SIZED: dict[str, Values] = {"size": COUNT, "fill_value": FILL}
BINS: Values = (0, -1, "a", 1.5, [2, 2, 2], [[3, 2, 1], 2], 1j, "auto")
RANGES: Values = ("a", 3, [[0, 1]], [[1, 0], [0, 1]], [[0, np.inf], None])
FRACTIONS: Values = ("a", 101, -1, L / 5, L * 1j, np.nan)
WEIGHTS: Values = ("a", L, M, -L, np.zeros(3))

CASES: dict[str, Given | list[Given]] = {
    "apply_along_axis": (
        {"func1d": add_up, "axis": 0, "arr": M},
        {"func1d": (text_of,), "axis": AXIS, "arr": ("a", np.ones((2, 0)), np.array(1.0))},
    ),
    "apply_over_axes": (
        {"func": pnp.sum, "a": M, "axes": (0, 1)},
        {"func": (lambda x, k: x.sum(), text_of), "a": ("a", L), "axes": AXIS},
    ),
    "fromfunction": (
        {"function": total, "shape": (3,)},
        {"shape": (-1, "a", 1.5, np.array(3)), "dtype": TYPE},
    ),
    "vectorize": [
        (
            {"pyfunc": np.sin},
            {
                "pyfunc": (3, "a"),
                "otypes": ("a", 3, [object], ["d", "d"]),
                "excluded": (3, ["a"]),
                "signature": ("a", 3, "(n),(n)->()", "()->(),()"),
            },
        ),
        ({"pyfunc": total, "signature": "(n)->()"}, {"given": ((1.0,), (M, M))}),
        (
            {"pyfunc": np.add, "given": (L, L)},
            {"given": ((L, L[:2]),), "signature": ("(n),(n)->(n)", "(n,k),(n)->(n)")},
        ),
        ({"pyfunc": np.dot, "given": (L, L), "signature": "(n),(n)->()"}, {"given": ((L, L[:2]),)}),
    ],
    "argsort": ({"x": M}, {"x": ("a", M * 1j), "axis": AXIS, "kind": ("a", 3)}),
    "sort": ({"x": M}, {"x": ("a", M * 1j), "axis": AXIS, "kind": ("a", 3)}),
    "topk": (
        {"x": M, "k": 1},
        {"x": ("a", M * 1j), "k": (-1, 9, 1.5, "a"), "axis": AXIS, "mode": ("a", 3)},
    ),
    "digitize": (
        {"x": L, "bins": L},
        {"x": ("a", L * 1j), "bins": ("a", L * 1j, M, np.array([1.0, 3.0, 2.0]))},
    ),
    "isin": (
        {"element": L, "test_elements": L},
        {"element": ("a", L * 1j), "test_elements": ("a", M), "kind": ("a", "table", 3)},
    ),
    "median": ({"x": M}, {"x": ("a", M * 1j, NONE), "axis": AXIS}),
    "nonzero": ({"x": INTEGERS, "size": 2}, {"x": ("a", np.array(1.0)), "size": (*COUNT, None)}),
    "percentile": (
        {"x": L, "q": 25},
        {"x": LINES, "q": FRACTIONS, "axis": AXIS, "method": ("a", 3)},
    ),
    "quantile": (
        {"x": L, "q": 0.25, "method": "inverted_cdf"},
        {"x": LINES, "q": FRACTIONS, "axis": AXIS, "method": ("a", 3), "weights": WEIGHTS},
    ),
    "searchsorted": (
        {"a": L, "v": L},
        {
            "a": ("a", M, 1.0, L * 1j),
            "v": ("a", L * 1j, M),
            "side": ("a", 3),
            "sorter": ("a", INTEGERS[:2], np.array([0, 1, 7]), L, M),
        },
    ),
    "array_equiv": ({"a1": L, "a2": L}, {"a1": ("a", M), "a2": ("a", np.array([None]))}),
    "geomspace": (
        {"start": 1.0, "stop": 8.0, "num": 4},
        {
            "start": ("a", 0, np.array([0.0]), M),
            "stop": ("a", 0, M),
            "num": COUNT,
            "dtype": TYPE,
            "axis": (*AXIS, None),
        },
    ),
    "piecewise": (
        {"x": L, "condlist": ONE_LINE, "funclist": [0, 1]},
        {
            "x": ("a", M),
            "condlist": ("a", [M > 0], [L > 1, L > 2, L > 0]),
            "funclist": ("a", [], 3, [1, 2, 3], [text_of], [lambda v: v[:2]]),
        },
    ),
    "real_if_close": ({"a": L}, {"a": ("a", L * 1j)}),
    "unwrap": (
        {"p": L},
        {"p": LINES[:3], "discont": ("a", M, L), "axis": AXIS, "period": ("a", 0, 1j, M)},
    ),
    **{
        name: ({"M": 3}, {"M": (*POINTS, float("nan"), 1e300)})
        for name in ("bartlett", "blackman", "hamming", "hanning")
    },
    "kaiser": ({"M": 3, "beta": 1.0}, {"M": POINTS, "beta": ("a", L, 1j, np.array(1.0))}),
    "i0": ({"x": L}, {"x": ("a", L * 1j, 1j)}),
    "copyto": (
        {"dst": np.zeros(3), "src": L},
        {
            "dst": ("a", 3, [1], ON_DEVICE[0]),
            "src": ("a", L * 1j, M, np.ones(5)),
            "casting": ("a", "no", "unsafe"),
            "where": (M, L, np.ones(5, bool)),
        },
    ),
    "fill_diagonal": (
        {"a": np.zeros((2, 2)), "val": 1},
        {"a": ("a", 3, [1], ON_DEVICE[1], L, np.ones((2, 3, 3))), "val": ("a", 1j, L, L * 1j)},
    ),
    "place": (
        {"arr": np.zeros(3), "mask": L > 1, "vals": L},
        {
            "arr": ("a", 3, [1], ON_DEVICE[0]),
            "mask": ("a", M, L, L > 9),
            "vals": ("a", L * 1j, NONE),
        },
    ),
    "put": (
        {"a": np.zeros(3), "ind": np.array([0, 2]), "v": 1},
        {
            "a": ("a", 3, [1], ON_DEVICE[0]),
            "ind": ("a", 1.5, np.array([7]), L),
            "v": ("a", L * 1j, M),
            "mode": ("a", 3, "clip"),
        },
    ),
    "put_along_axis": (
        {"arr": np.zeros((2, 2)), "indices": np.array([[0], [1]]), "values": 1, "axis": 1},
        {
            "arr": ("a", 3, [1], ON_DEVICE[1]),
            "indices": ("a", M, np.array([[7], [0]]), INTEGERS),
            "values": ("a", L * 1j, L, M * 1j),
            "axis": AXIS,
        },
    ),
    "putmask": (
        {"a": np.zeros(3), "mask": L > 1, "values": L},
        {"a": ("a", 3, [1], ON_DEVICE[0]), "mask": ("a", M, L), "values": ("a", L * 1j, NONE)},
    ),
    "cross": (
        {"a": L, "b": L},
        {
            "a": ("a", np.ones(4), M, 1.0, np.ones((3, 5)), np.ones(3, bool)),
            "b": ("a", np.ones(4), 1.0, np.ones((5, 3))),
            **dict.fromkeys(("axisa", "axisb", "axisc", "axis"), AXIS),
        },
    ),
    "dot": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", L, 1.0)}),
    "einsum": (
        {"subscripts": "ij,jk", "xs": (M, M)},
        {
            "subscripts": ("a", "ij", "ij,jk->il", "ij,jk->ikk", 3, "ij;jk", "ij,jkk"),
            "xs": ((M,), (M, L), (M, THREE), ("a", M), (M * 1j, M)),
            "optimize": ("a", True, "greedy", 3),
            "dtype": TYPE,
            "casting": ("a", 3),
        },
    ),
    "inner": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", L)}),
    "kron": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", L, CUBE)}),
    "matmul": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", L, 1.0, np.ones((3, 5, 2)))}),
    "outer": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", L)}),
    "tensordot": (
        {"a": M, "b": M},
        {
            "a": ("a", L, THREE, 1.0),
            "b": ("a", L),
            "axes": (7, 1.5, "a", ((0,), (0, 1)), ((0,), (7,)), NUMBER, (0, 1, 2)),
        },
    ),
    "vdot": ({"a": M, "b": M}, {"a": ("a", L), "b": ("a", L)}),
    "vecdot": ({"a": M, "b": M}, {"a": ("a", L, 1.0), "b": ("a", THREE, 1.0), "axis": AXIS}),
    "diag_indices": ({"n": 2}, {"n": COUNT, "ndim": COUNT}),
    "tril_indices": ({"n": 2}, {"n": COUNT, "k": COUNT, "m": COUNT}),
    "triu_indices": ({"n": 2}, {"n": COUNT, "k": COUNT, "m": COUNT}),
    "ix_": (
        {"args": (INTEGERS, INTEGERS)},
        {"args": (("a",), (M,), (1,), (INTEGERS > 1,), (L,), ([],))},
    ),
    "mask_indices": (
        {"n": 2, "mask_func": pnp.triu},
        {"n": COUNT, "mask_func": (first_row, first_corner, text_of), "k": (np.array(1),)},
    ),
    "histogram2d": (
        {"x": L, "y": L},
        {
            "x": (*LINES, np.ones(5), L * np.nan),
            "y": ("a", M),
            "bins": (*BINS, np.array([3.0, 2.0, 1.0])),
            "range": RANGES,
            "weights": ("a", M, L * 1j),
        },
    ),
    "histogramdd": (
        {"sample": M},
        {
            "sample": ("a", L, M * 1j, CUBE, NAN, [L, L], [L, L[:2]]),
            "bins": BINS,
            "range": RANGES,
            "weights": ("a", M, L),
        },
    ),
    "histogram_bin_edges": [
        (
            {"a": L},
            {
                "a": (*LINES, L * np.nan),
                "bins": (0, -1, "a", 1.5, np.array([3.0, 2.0, 1.0]), 1j, "auto", M),
                "range": ("a", 3, [1, 0], [0, np.inf], [0, 1, 2]),
                "weights": ("a", M),
            },
        ),
        ({"a": [1.0, 2.0], "bins": "auto"}, {"range": ("a", 3, [1, 0])}),
    ],
    **{
        name: [
            ({"ar1": [1, 2], "ar2": [2]}, {"ar1": ("a", L, M), "ar2": ("a", L), "size": COUNT}),
            ({"ar1": L, "ar2": L, "size": 2}, {"ar1": ("a",), **SIZED}),
        ]
        for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d")
    },
    "unique": [
        ({"ar": [1, 2]}, {"ar": ("a", L, M), "axis": AXIS, **SIZED}),
        ({"ar": L, "size": 2}, {"ar": ("a",), "axis": AXIS, **SIZED}),
    ],
    **{
        name: [
            ({"x": [1, 2]}, {"x": ("a", L, M), "size": COUNT}),
            ({"x": L, "size": 2}, {"x": ("a",), **SIZED}),
        ]
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")
    },
    "poly": ({"seq_of_zeros": L}, {"seq_of_zeros": ("a", WIDE, CUBE, NAN, np.ones((0, 0)))}),
    "polyfit": (
        {"x": L, "y": L, "deg": 1},
        {
            "x": (*LINES, np.ones(5), L * np.nan),
            "y": ("a", np.ones(5), M),
            "deg": (-1, 1.5, "a"),
            "rcond": ("a", L, 1j),
            "w": ("a", M),
        },
    ),
    "roots": [
        ({"p": [1.0, 2.0]}, {"p": (*LINES, [np.nan, 1.0])}),
        ({"p": L, "size": 2}, {"p": ("a", M, L * np.nan), "size": COUNT}),
    ],
    **{
        name: ({"a1": L, "a2": L}, {"a1": LINES, "a2": ("a", M)})
        for name in ("polyadd", "polymul", "polysub")
    },
    "polydiv": ({"u": L, "v": L}, {"u": LINES, "v": ("a", M, NONE, np.zeros(3))}),
    "polyder": ({"p": L}, {"p": LINES, "m": (*COUNT, 9)}),
    "polyint": ({"p": L}, {"p": LINES, "m": (*COUNT, 9), "k": ("a", [1, 2], M, [])}),
    "vander": ({"x": L}, {"x": (*LINES, 1.0), "N": COUNT}),
    "take": (
        {"x": L, "indices": INTEGERS},
        {
            "x": ("a", M),
            "indices": ("a", L, 7, np.array([7]), 1.5),
            "axis": AXIS,
            "mode": ("a", 3, "clip"),
        },
    ),
    "take_along_axis": (
        {"x": L, "indices": INTEGERS},
        {"x": ("a", M, 1.0), "indices": ("a", L, 1, np.array([7])), "axis": AXIS},
    ),
    "linalg.cholesky": ({"a": M}, {"a": (*MATRICES, -M)}),
    **{f"linalg.{name}": ({"a": M}, {"a": MATRICES}) for name in ("det", "eig", "eigvals", "inv")},
    **{
        f"linalg.{name}": ({"a": M}, {"a": MATRICES, "UPLO": ("a", 3)})
        for name in ("eigh", "eigvalsh")
    },
    "linalg.qr": ({"a": M}, {"a": MATRICES, "mode": ("a", 3)}),
    "linalg.slogdet": ({"a": M}, {"a": MATRICES}),
    "linalg.svd": ({"a": M}, {"a": MATRICES}),
    "linalg.svdvals": ({"x": M}, {"x": MATRICES}),
    "linalg.cond": (
        {"x": M},
        {"x": (*MATRICES, np.ones((0, 0))), "p": ("a", 3, 1, "fro", "nuc")},
    ),
    "linalg.cross": (
        {"a": L, "b": L},
        {"a": ("a", np.ones(2), 1.0), "b": ("a", CUBE, np.ones((5, 3))), "axis": AXIS},
    ),
    "linalg.diagonal": ({"x": M}, {"x": ("a", L, 1.0), "offset": (9, 1.5, "a")}),
    "linalg.trace": ({"x": M}, {"x": ("a", L), "offset": (9, 1.5, "a"), "dtype": TYPE}),
    "linalg.matrix_norm": [
        ({"x": M}, {"x": (*MATRICES, np.ones((0, 2))), "ord": ("a", 3, 1, "nuc")}),
        ({"x": M, "ord": 2}, {"x": (*MATRICES, np.ones((0, 2)))}),
        ({"x": M, "ord": -2}, {"x": (np.ones((0, 2)),)}),
    ],
    "linalg.matrix_power": (
        {"x": M, "n": -2},
        {"x": MATRICES, "n": (2, 1.5, "a")},
    ),
    "linalg.multi_dot": (
        {"arrays": [M, M, M]},
        {"arrays": ([M], [M, THREE], ["a", M], [M, CUBE], [M, L])},
    ),
    "linalg.norm": [
        ({"x": M}, {"x": MATRICES, "ord": ("a", 3, 1), "axis": (*AXIS, (0, 1, 2))}),
        ({"x": M, "ord": "nuc"}, {"x": (HALF, NAN, CUBE)}),
        ({"x": L}, {"x": ("a",), "ord": ("a", 1j)}),
    ],
    "linalg.outer": ({"x1": L, "x2": L}, {"x1": ("a", M, 1.0), "x2": ("a", M)}),
    "linalg.vector_norm": [
        ({"x": M}, {"x": MATRICES, "axis": AXIS, "ord": ("a", 3, 1, "nuc", None, 0, 1j)}),
        ({"x": L, "ord": -np.inf}, {"x": (NONE,)}),
    ],
    "linalg.lstsq": (
        {"a": M, "b": M},
        {"a": MATRICES, "b": (*MATRICES, np.ones((5, 2))), "rcond": ("a", L, 1j, -1)},
    ),
    "linalg.matrix_rank": [
        ({"A": M}, {"A": MATRICES, "tol": ("a", L), "rtol": ("a", L)}),
        ({"A": M, "tol": 1.0}, {"rtol": (1.0,)}),
        ({"A": M, "hermitian": True}, {"A": (WIDE,)}),
    ],
    "linalg.pinv": [
        ({"a": M}, {"a": MATRICES, "rcond": ("a", L), "rtol": ("a", L)}),
        ({"a": M, "rcond": 1.0}, {"rtol": (1.0,)}),
    ],
    "linalg.solve": ({"a": M, "b": M}, {"a": MATRICES, "b": (*MATRICES, np.ones((5, 2)))}),
    "linalg.tensorinv": ({"a": M, "ind": 1}, {"a": MATRICES, "ind": (0, -1, 1.5, "a", 2, 9)}),
    "linalg.tensorsolve": (
        {"a": M, "b": L[:2]},
        {"a": MATRICES, "b": ("a", M, L), "axes": ((7,), (0,), "a", 1.5, (0, 0))},
    ),
    **{
        f"fft.{name}": (
            {"a": M},
            {"a": ("a", M * 1j, NONE), "n": (0, *COUNT), "axis": AXIS, "norm": NORM},
        )
        for name in ("fft", "hfft", "ifft", "ihfft", "irfft", "rfft")
    },
    **{
        f"fft.{name}": (
            {"a": M},
            {"a": ("a", M * 1j, L, NONE), "s": LENGTHS, "axes": AXES, "norm": NORM},
        )
        for name in ("fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn")
    },
    **{
        f"fft.{name}": (
            {"n": 4},
            {
                "n": (0, *COUNT),
                "d": ("a", np.ones((5, 1, 1)), 1j, np.ones(5)),
                "dtype": TYPE,
                "device": DEVICES,
            },
        )
        for name in ("fftfreq", "rfftfreq")
    },
    **{
        f"fft.{name}": ({"x": M}, {"x": ("a", 1.0), "axes": AXIS})
        for name in ("fftshift", "ifftshift")
    },
}


def public_functions() -> dict[str, Any]:
    """The functions of these modules, each by one name within `pyc.numpy`."""
    found: dict[int, tuple[str, Any]] = {}
    for prefix, module in (("", pnp), ("linalg.", pnp.linalg), ("fft.", pnp.fft)):
        for name in module.__all__:
            function = getattr(module, name)
            home = getattr(function, "__module__", "").rpartition(".")[2]
            if inspect.isroutine(function) and home in HOMES:
                found.setdefault(id(inspect.unwrap(function)), (prefix + name, function))
    return dict(found.values())


FUNCTIONS = public_functions()


# --- how they are called --------------------------------------------------------------------------


def by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with all arguments by name, of which it takes some by place only."""
    parameters = inspect.signature(function).parameters.values()
    several = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    either = {inspect.Parameter.POSITIONAL_OR_KEYWORD} if several else set()
    kinds = {inspect.Parameter.POSITIONAL_ONLY, *either}
    first = [p.name for p in parameters if p.kind in kinds]

    def call(**given: Any) -> Any:
        places = [given[name] for name in first if name in given]
        for name in several:
            places = [*places, *given.get(name, ())]
        return function(
            *places, **{k: x for k, x in given.items() if k not in first and k not in several}
        )

    return call


def _is_array(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_is_array, x))
    return type(x) is np.ndarray and x.dtype.kind in "biufc"


def traced(function: Callable[..., Any], changed: str | None, /, **given: Any) -> None:
    """Calls the function in a program whose arguments are the arrays. changed: the parameter whose
    array is changed in place."""
    arrays = {name: x for name, x in given.items() if _is_array(x)}
    others = {name: x for name, x in given.items() if name not in arrays}

    def program(arrays: Any) -> Any:
        if changed in arrays:
            arrays = {**arrays, changed: pnp.copy(arrays[changed])}
        found = function(**others, **arrays)
        return arrays.get(changed, found)

    pyc.jit(program)(arrays)


def errors_of(name: str, fitting: Mapping[str, Any], wrong: Mapping[str, Values]) -> set[str]:
    """The errors of wrong arguments outside and inside of a trace."""
    function = vectorized if name == "vectorize" else by_name(FUNCTIONS[name])
    changed = next(iter(fitting)) if name in IN_PLACE else None
    inside = raised(partial(traced, function, changed), fitting, wrong) - GENERAL
    if changed is not None:
        on_device = {changed: [x for x in wrong[changed] if type(x) is not np.ndarray]}
        return inside | raised(function, _copied(fitting), on_device)
    return inside | raised(function, fitting, wrong)


def vectorized(given: Any = (L,), **options: Any) -> Any:
    return pnp.vectorize(**options)(*given)


def _copied(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x.copy() if isinstance(x, np.ndarray) else x for name, x in given.items()}


# --- what holds for each of them ------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    assert missing(FUNCTIONS[name]) == []


@pytest.mark.parametrize("name", CASES)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    given = CASES[name]
    found = [errors_of(name, *each) for each in (given if isinstance(given, list) else [given])]
    assert set().union(*found) == named_errors(FUNCTIONS[name])


def test_each_function_has_wrong_arguments() -> None:
    assert sorted(CASES) == sorted(FUNCTIONS)
