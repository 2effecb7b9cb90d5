"""The docstrings of the functions of `pyc`, `pyc.tree` and `pyc.cache` name parameters, the errors
and JAX's counterpart, and have an example that is true; those of functions of arrays name shapes
and types; and the errors that wrong arguments raise are those that they name."""

from __future__ import annotations

import contextlib
import doctest
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.cache
import pyc.tree
from tests.docstrings import WIDER, missing, named_errors

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TREE = (
    *("all", "flatten", "flatten_with_path", "is_leaf", "leaves", "map", "map_with_path"),
    *("path_text", "paths", "reduce", "register_dataclass", "register_node", "structure"),
    *("transpose", "unflatten"),
)
CACHE = (
    *("clear", "directory", "explain", "frozen", "inspect", "ls", "prune", "reset_stats"),
    *("stats", "verify"),
)


def public_functions() -> dict[str, Any]:
    """By their names within `pyc`."""
    own = {name: getattr(pyc, name) for name in pyc.__all__}
    found = {
        name: function
        for name, function in own.items()
        if callable(function) and not isinstance(function, (type, ModuleType))
    }
    found |= {f"tree.{name}": getattr(pyc.tree, name) for name in TREE}
    return found | {f"cache.{name}": getattr(pyc.cache, name) for name in CACHE}


FUNCTIONS = public_functions()
WITHOUT_JAX = ("tree.is_leaf", "tree.paths", "verify", "explain", *(f"cache.{n}" for n in CACHE))
"""What JAX has no function for."""
OF_THREADS = ("get_num_threads", "set_num_threads", "threads")
OF_ARRAYS = (
    *("cond", "device_put", "eval_shape", "fori_loop", "pure_callback", "scan", "switch"),
    *("io_callback", "while_loop"),
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_docstring_names_the_parameters_and_what_jax_calls_it(name: str) -> None:
    lacks = missing(FUNCTIONS[name])
    beside = () if name in OF_ARRAYS else ("shape", "dtype")
    assert [x for x in lacks if x not in (*beside, "raises")] == []
    if name not in (*WITHOUT_JAX, *OF_THREADS):
        assert "JAX: `jax." in (inspect.getdoc(FUNCTIONS[name]) or "")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_docstring_is_true(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, {"np": np, "pyc": pyc}, name, None, 0)
    assert example.examples, text
    assert not doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(example).failed


# --- errors ---------------------------------------------------------------------------------------

Given = tuple[dict[str, Any], dict[str, tuple[Any, ...]]]
X = np.arange(3.0)
CALLED = ("interpret", "jit", "make_graph", "vmap")
"""Functions that give a function, which is called."""


def of_another_shape(*args: Any) -> Any:
    return args[-1][:2]


def of_another_type(*args: Any) -> Any:
    return args[-1] * 1j


def of_another_structure(*args: Any) -> Any:
    return args[-1], args[-1]


def increased(*args: Any) -> Any:
    return args[-1] + 1


def below_three(x: Any) -> Any:
    return x[0] < 3


def running_sum(carry: Any, x: Any) -> Any:
    return carry + x, carry


OTHERS = of_another_shape, of_another_type, of_another_structure
DEVICES = "tpu", 3, "cpu:7"
BACK: Given = (
    {"callback": np.sin, "result_shape_dtypes": X, "args": (X,)},
    {"callback": (3, *OTHERS), "result_shape_dtypes": ("a", object())},
)
CASES: dict[str, Given] = {
    "cond": (
        {"pred": True, "true_fun": np.sin, "false_fun": np.cos, "operands": (X,)},
        {"pred": (X, "a", 1j), "true_fun": OTHERS, "operands": (("a",),)},
    ),
    "default_device": ({"device": "cpu"}, {"device": DEVICES}),
    "device_put": ({"x": X, "device": "cpu"}, {"x": ("a", object()), "device": DEVICES}),
    **{
        name: ({"kind": "cpu"}, {"kind": ("tpu", 3)})
        for name in ("device_count", "devices", "local_devices")
    },
    "eval_shape": ({"fun": np.sin, "args": (X,)}, {"fun": (3,), "args": (("a",), (object(),))}),
    "explain": ({"function": np.sin, "args": (X,)}, {"function": (3,), "args": (("a",), ())}),
    "fori_loop": (
        {"lower": 0, "upper": 3, "body_fun": increased, "init_val": X},
        {
            "lower": (1.5, "a", X),
            "upper": (1.5, "a", X, -1),
            "body_fun": OTHERS,
            "init_val": ("a",),
            "unroll": (-1, "a", True, 1.5),
        },
    ),
    "interpret": ({"fun": np.sin}, {"fun": (3,)}),
    "io_callback": BACK,
    "jit": (
        {"fun": np.sin},
        {
            "fun": (3,),
            "static_argnums": (7, "a", 1.5),
            "static_argnames": ("q", 3),
            "donate_argnums": (7, "a"),
            "donate_argnames": ("q", 3),
            "device": DEVICES,
            "loops": ("a", 3),
            "purity": ("a", 3),
            "fastmath": (3, "a"),
            "unknown": (1,),
        },
    ),
    "make_graph": ({"fun": np.sin}, {"fun": (3,)}),
    "pure_callback": BACK,
    "scan": (
        {"f": running_sum, "init": 0.0, "xs": X},
        {
            "f": (lambda c, x: c, lambda c, x: (X, x), lambda c, x: ((c, c), x)),
            "init": ("a", 0j, X),
            "xs": ("a", 1.0, (X, X[:2]), None),
            "length": (5, -1, 1.5, "a"),
            "unroll": (-1, "a", 1.5, True),
        },
    ),
    "set_num_threads": ({"count": None}, {"count": (0, 1.5, "a")}),
    "switch": (
        {"index": 1, "branches": (np.sin, np.cos), "operands": (X,)},
        {
            "index": (X, "a", 1.5, True),
            "branches": ((), *((np.sin, other) for other in OTHERS)),
            "operands": (("a",),),
        },
    ),
    "threads": ({"count": 2}, {"count": (0, 1.5, "a")}),
    "verify": (
        {"function": np.sin, "args": (X,)},
        {"function": (3,), "args": (("a",),), "ulp": ("a", -1)},
    ),
    "vmap": (
        {"fun": np.sin},
        {
            "fun": (3,),
            "in_axes": ("a", 7, 1.5, (0, 0)),
            "out_axes": ("a", 1.5, 7),
            "axis_size": (7, "a"),
            "axis_name": ([],),
        },
    ),
    "while_loop": (
        {"cond_fun": below_three, "body_fun": increased, "init_val": X},
        {"cond_fun": (lambda x: x < 3, of_another_structure), "body_fun": OTHERS},
    ),
    "tree.map": ({"f": increased, "tree": [1], "rest": ([2],)}, {"rest": (([2, 3],), (2,))}),
    "tree.map_with_path": (
        {"f": increased, "tree": [1], "rest": ([2],)},
        {"rest": (([2, 3],), (2,))},
    ),
    "tree.reduce": ({"function": max, "tree": [1, 2]}, {"tree": ([],)}),
    "tree.transpose": (
        {
            "outer_treedef": pyc.tree.structure([0]),
            "inner_treedef": pyc.tree.structure((0,)),
            "pytree_to_transpose": [(1,)],
        },
        {"pytree_to_transpose": ([1], 1)},
    ),
    "tree.unflatten": (
        {"treedef": pyc.tree.structure([0]), "leaves": [1]},
        {"leaves": ([], [1, 2])},
    ),
    "cache.explain": ({"function": pyc.jit(np.sin), "args": (X,)}, {"function": (3, np.sin)}),
    "cache.prune": ({}, {"max_bytes": (-1,), "older_than": (-1,), "unused": (-1,)}),
}
ELSEWHERE = {
    "cache.clear": "CacheError",
    "cache.inspect": "KeyError",
    "cache.prune": "CacheError",
    "cache.verify": "CacheError",
    "tree.register_dataclass": "",
    "tree.register_node": "",
    "verify": "VerificationError",
}
"""Errors that their own tests raise: what is wrong is no argument, or registers a class."""


def call(name: str, given: Mapping[str, Any]) -> None:
    """Calls a function, and the function that it gives, or enters the block that it guards."""
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    several = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    names = dict(given)
    places: list[Any] = []
    if several:
        first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, _EITHER)]
        places = [names.pop(k) for k in first if k in names] + list(names.pop(several[0], ()))
    found = function(*places, **names)
    if name in CALLED:
        found(X)
    if isinstance(found, contextlib.AbstractContextManager):
        with found:
            pass


_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD


def raised(attempt: Callable[[], None]) -> str:
    try:
        attempt()
    except Exception as error:
        return WIDER.get(type(error).__name__, type(error).__name__)
    return ""


@pytest.mark.parametrize("name", CASES)
def test_what_wrong_arguments_raise_is_named(name: str) -> None:
    fitting, wrong = CASES[name]
    call(name, fitting)
    attempts = [{**fitting, k: x} for k, values in wrong.items() for x in values]
    found = {raised(lambda given=given: call(name, given)) for given in attempts} - {""}
    own = {ELSEWHERE[name]} if name in ELSEWHERE else set()
    if name == "jit":
        own |= {"PurityError"}  # of what the function does
    assert found | own == named_errors(FUNCTIONS[name])


def test_a_function_without_wrong_arguments_names_no_errors() -> None:
    silent = sorted(set(FUNCTIONS) - set(CASES) - set(ELSEWHERE))
    assert [name for name in silent if named_errors(FUNCTIONS[name])] == []
