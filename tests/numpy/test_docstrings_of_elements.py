"""The docstring of each function of elements, of their types and of how arrays are made names its
parameters, the shape, the type and the errors; the errors that wrong arguments raise are those that
it names, and the types of the results are those that it promises."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import DTypeError, PycError, UnsupportedOpError
from tests.docstrings import missing, named_errors, raised, text_of

MODULES = (
    *("bits", "creation", "data_types", "elementwise", "facts", "logic", "rounding"),
    "transcendental",
)


def functions() -> list[str]:
    """The public functions of `MODULES`."""
    found = {n: getattr(pnp, n) for n in pnp.__all__}
    return [
        name
        for name, f in found.items()
        if inspect.isroutine(f) and inspect.unwrap(f).__module__.rpartition(".")[2] in MODULES
    ]


FUNCTIONS = functions()
RAISE_NOTHING = ("isscalar", "iterable")
HUGE = 1 << 70
INTEGERS, FLOATS = np.ones(3, np.int64), np.ones(3)
OF_INTEGERS = (
    *("bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not"),
    *("bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "invert", "lcm", "left_shift"),
    *("packbits", "right_shift"),
)
"""Functions that take no floats."""
OF_PAIRS = (
    *("add", "divmod", "floor_divide", "fmax", "fmin", "fmod", "maximum", "minimum", "mod"),
    *("multiply", "pow", "power", "remainder", "subtract"),
)
"""Functions that take two arrays of any real numbers, in their own type."""

GIVEN: dict[str, Any] = {
    **dict.fromkeys(("shape", "dimensions"), (3,)),
    **dict.fromkeys(("N", "n", "stop", "fill_value"), 3),
    **dict.fromkeys(("dtype", "type1", "type2", "source", "target", "arg1"), np.float32),
    **dict.fromkeys(("element", "start", "decimals", "zero"), 1),
    "arg2": np.floating,
    "kind": "numeric",
    "iter": [1, 2],
    "buffer": bytes(16),
    "string": "1 2",
    "sep": " ",
    "subscripts": "i",
    "x2": INTEGERS,
}
"""Arguments that have no default, where an array of floats is none."""
OWN_GIVEN: dict[str, dict[str, Any]] = {
    "arange": {"start": 1, "stop": 3},
    **{name: dict.fromkeys("axy", INTEGERS) for name in OF_INTEGERS + OF_PAIRS},
    "broadcast_shapes": {"shapes": (3,)},
    "iinfo": {"dtype": np.int8},
    "tril": {"x": np.ones((2, 2))},
    "triu": {"x": np.ones((2, 2))},
    "unpackbits": {"a": np.ones(3, np.uint8)},
    "where": {"x": FLOATS, "y": FLOATS},
    "require": {"a": FLOATS},
}
"""The same by function."""

NUMBERS = "a", FLOATS * 1j, FLOATS, FLOATS > 0, np.ones(5), HUGE
"""Operands of other kinds, of another shape, and an integer that int64 does not hold."""
ROWS = [1], [2, 3]
INDEX = 1.5, "a"
SHAPES = "a", 1.5, (-1,), (1 << 62,), (1,) * 65
WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("x", "y", "a", "x1", "x2", "xs", "items", "arrays", "condition"), NUMBERS),
    **dict.fromkeys(("b", "min", "max", "nan", "posinf", "neginf", "zero", "rtol"), NUMBERS),
    "atol": NUMBERS,
    **dict.fromkeys(("operands", "fill_value", "start", "stop", "step", "base"), NUMBERS),
    **dict.fromkeys(("shape", "shapes", "dimensions"), SHAPES),
    **dict.fromkeys(("k", "ndmin", "count", "decimals"), (*INDEX, None)),
    **dict.fromkeys(("N", "M", "n", "num"), (*INDEX, -1, HUGE)),
    **dict.fromkeys(("dtype", "type1", "type2", "source", "target"), ("text", np.longdouble, "O")),
    **dict.fromkeys(("arg1", "arg2", "like"), (3, object())),
    "axis": (*INDEX, 7),
    "device": ("moon",),
    "indexing": ("yx",),
    "bitorder": ("middle",),
    "casting": ("wild", 3),
    "kind": ("text", 3),
    "requirements": (3, "Z"),
    "iter": (3, ["a"], [HUGE]),
    "buffer": (3,),
    "offset": (*INDEX, 99),
    "string": (3, "a b"),
    "subscripts": ("ij", "i!"),
    "optimize": (3,),
}
"""Arguments that may be refused, by parameter; the others are switches."""
OWN_WRONG: dict[str, dict[str, tuple[Any, ...]]] = {
    "array": {"ndmin": (*INDEX, 65), "x": (*NUMBERS, ROWS)},
    "asarray": {"x": (*NUMBERS, ROWS)},
    "arange": {"step": (0, "a"), "start": (HUGE, "a")},
    "einsum_path": {"optimize": (3, ["einsum_path", (0, 5)])},
    "fromiter": {"count": (*INDEX, 9)},
    "frombuffer": {"count": (*INDEX, 9)},
    "size": {"axis": (*INDEX, 7, (0, 0))},
    "unpackbits": {"count": (*INDEX, -99)},
    "where": {"x": (*NUMBERS, None)},
}
"""The same by function."""
CALLS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "array": (lambda f: f([1, 300], np.uint8), lambda f: f([1], copy=False)),
    "asanyarray": (lambda f: f([1, 300], np.uint8), lambda f: f([1], copy=False)),
    "asarray": (lambda f: f([1, 300], np.uint8), lambda f: f([1], copy=False)),
    "asarray_chkfinite": (lambda f: f([1, 300], np.uint8), lambda f: f([np.nan])),
    "common_type": (lambda f: f(FLOATS, FLOATS > 0),),
    "finfo": (lambda f: f(np.int8),),
    "from_dlpack": (lambda f: f(FLOATS.astype(">f8")),),
    "fromiter": (lambda f: f([300], np.uint8),),
    "full_like": (lambda f: f(INTEGERS, HUGE),),
    "iinfo": (lambda f: f(np.float32),),
    "pow": (lambda f: f(INTEGERS, -INTEGERS),),
    "power": (lambda f: f(INTEGERS, -INTEGERS),),
    "result_type": (lambda f: f(),),
    "where": (lambda f: f(True, HUGE, 1), lambda f: pyc.jit(lambda x: f(x))(FLOATS)),
}
"""Whole calls that are refused, by function."""


def call_of(name: str) -> Any:
    """A function as one of named arguments, also those that it takes by position only."""
    function = getattr(pnp, name)
    kinds = {k: p.kind for k, p in inspect.signature(function).parameters.items()}
    several = inspect.Parameter.VAR_POSITIONAL
    first = {several, inspect.Parameter.POSITIONAL_ONLY}
    first |= {inspect.Parameter.POSITIONAL_OR_KEYWORD} if several in kinds.values() else set()

    def call(**given: Any) -> Any:
        args: list[Any] = []
        for k, kind in kinds.items():
            if k in given and kind in first:
                args += given.pop(k) if kind is several else [given.pop(k)]
        return function(*args, **given)

    return call


def fitting(name: str) -> dict[str, Any]:
    """Arguments that a function takes."""
    found = {}
    own = OWN_GIVEN.get(name, {})
    for k, p in inspect.signature(getattr(pnp, name)).parameters.items():
        if p.default is inspect.Parameter.empty or k in own:
            found[k] = own.get(k, GIVEN.get(k, FLOATS))
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            found[k] = (found[k],)
    return found


def wrong(name: str) -> dict[str, tuple[Any, ...]]:
    """Arguments that a function may refuse."""
    given = fitting(name)
    found = {}
    for k, p in inspect.signature(getattr(pnp, name)).parameters.items():
        values = OWN_WRONG.get(name, {}).get(k, WRONG.get(k, ()))
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            values = tuple((*given[k], each) for each in values)
        found[k] = values
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_parameters_shape_type_and_errors(name: str) -> None:
    assert missing(getattr(pnp, name)) == (["raises"] if name in RAISE_NOTHING else [])
    assert max(map(len, text_of(getattr(pnp, name)).splitlines())) <= 100


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    found = raised(call_of(name), fitting(name), wrong(name))
    for call in CALLS.get(name, ()):
        with pytest.raises((PycError, BufferError)) as error:
            call(getattr(pnp, name))
        found.add(type(error.value).__name__)
    if "device" in inspect.signature(getattr(pnp, name)).parameters and name != "from_dlpack":
        with pytest.raises(UnsupportedOpError):
            pyc.jit(lambda: call_of(name)(**fitting(name), device="cpu"))()
        found.add("UnsupportedOpError")
    assert found == named_errors(getattr(pnp, name))


KINDS = [np.dtype(k) for k in ("bool", "int8", "uint16", "int32", "uint64", "float16")]
KINDS += [np.dtype(ml_dtypes.bfloat16)]
KINDS += [np.dtype(k) for k in ("float32", "float64", "complex64", "complex128")]
BOOL = KINDS[0]
OF_BITS = {8: np.float16, 16: np.float32}


def kept(kind: Any) -> Any:
    """Results of the type of the argument."""
    return kind


def floating(kind: Any) -> Any:
    """Results of floats: integers and bools give those that hold them."""
    if kind in KINDS[:5]:
        return np.dtype(OF_BITS.get(8 * kind.itemsize, np.float64))
    return kind


def in_float64(kind: Any) -> Any:
    """Results of floats: integers and bools give float64."""
    return np.dtype(np.float64) if kind in KINDS[:5] else kind


def angles(kind: Any) -> Any:
    """Results of real floats, float64 of bools."""
    return np.dtype(np.float64) if kind == BOOL else floating(np.ones(1, kind).real.dtype)


def always(result: Any) -> Callable[[Any], Any]:
    """Results of one type."""
    return lambda kind: np.dtype(result)


RULES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "kept": ("the same shape and dtype", kept),
    "promoted": ("the promoted dtype", kept),
    "floating": ("float16, of 16 float32, else float64", floating),
    "int8 for bools": ("int8 for bools", lambda k: np.dtype(np.int8) if k == BOOL else k),
    "float64 of pairs": ("the promoted dtype; float64 for integers and bools", in_float64),
    "float64": ("the same shape and dtype; float64 for integers and bools", in_float64),
    "wide": ("float64, complex128 of complex numbers", lambda k: np.result_type(k, np.float64)),
    "parts": ("complex numbers give floats", lambda k: np.ones(1, k).real.dtype),
    "angles": ("others and bools float64", angles),
    "rounded": ("float16 for bools", lambda k: np.dtype(np.float16) if k == BOOL else k),
    "bools": ("bools of", always(np.bool_)),
    "bytes": ("uint8", always(np.uint8)),
}
"""What a docstring says of the type of results, and the type that it means of arguments of one."""
INTEGER_KINDS, REAL_KINDS, NUMBER_KINDS = KINDS[:5], KINDS[:9], KINDS[1:]
RESULTS: dict[tuple[str, ...], tuple[str, list[np.dtype[Any]]]] = {
    ("bitwise_and", "bitwise_or", "bitwise_xor"): ("promoted", INTEGER_KINDS),
    ("gcd", "lcm"): ("promoted", KINDS[1:5]),
    ("add", "multiply", "minimum", "maximum", "fmin", "fmax", "clip"): ("promoted", KINDS),
    ("subtract",): ("promoted", NUMBER_KINDS),
    ("negative", "positive", "sign"): ("kept", NUMBER_KINDS),
    ("floor_divide", "remainder", "fmod", "divmod"): ("int8 for bools", REAL_KINDS),
    ("left_shift", "right_shift"): ("int8 for bools", INTEGER_KINDS),
    ("power", "square", "reciprocal", "conj"): ("int8 for bools", KINDS),
    ("divide",): ("float64 of pairs", KINDS),
    ("sinc",): ("float64", KINDS),
    ("float_power",): ("wide", KINDS),
    ("absolute", "real", "imag"): ("parts", KINDS),
    ("angle",): ("angles", KINDS),
    ("round",): ("rounded", KINDS),
    ("floor", "ceil", "trunc"): ("kept", REAL_KINDS),
    ("nan_to_num", "tril", "triu", "copy"): ("kept", KINDS),
    ("invert", "bitwise_not"): ("kept", INTEGER_KINDS),
    ("bitwise_count", "packbits"): ("bytes", INTEGER_KINDS),
    ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"): ("bools", KINDS),
    ("logical_and", "logical_or", "logical_xor", "logical_not"): ("bools", KINDS),
    ("isnan", "isinf", "isfinite", "isclose", "iscomplex", "isreal"): ("bools", KINDS),
    ("signbit", "isneginf", "isposinf"): ("bools", REAL_KINDS),
    (
        *("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"),
        *("arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
        "rint",
    ): ("floating", KINDS),
    (
        *("cbrt", "erf", "erfc", "fabs", "deg2rad", "rad2deg", "modf", "frexp", "spacing"),
        *("arctan2", "hypot", "copysign", "nextafter", "logaddexp", "logaddexp2", "heaviside"),
    ): ("floating", REAL_KINDS),
}
"""By functions, the rule of the types of their results, and the types that they take."""
TYPED = {name: rule for names, rule in RESULTS.items() for name in names}


def test_every_function_of_elements_has_a_rule() -> None:
    """Under one of its names; the type of `where` depends on two of three arguments, that of
    `ldexp` on one of two."""
    own = {inspect.unwrap(getattr(pnp, name)) for name in (*TYPED, "where", "ldexp")}
    modules = [f"pyc.numpy.{m}" for m in MODULES if m not in ("creation", "data_types", "facts")]
    found = {inspect.unwrap(getattr(pnp, name)) for name in FUNCTIONS}
    left = {f.__name__ for f in found - own if f.__module__ in modules}
    assert left == {"unpackbits"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TYPED)
def test_results_have_the_types_that_the_docstring_says(name: str) -> None:
    rule, taken = TYPED[name]
    said, expected = RULES[rule]
    function = getattr(pnp, name)
    assert said in " ".join(text_of(function).split())
    for kind in KINDS:
        args = [np.ones((3, 3), kind) for _ in fitting(name)]
        if kind not in taken:
            with pytest.raises(DTypeError):
                function(*args)
            continue
        found = function(*args)
        assert (found[0] if isinstance(found, tuple) else found).dtype == expected(kind), kind
