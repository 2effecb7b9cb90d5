"""The tracing namespace: what a traced function reads. `test_plain_numpy.py` has the constructs;
here are identity, places, rules, classes, Python's builtins bit for bit, and the refusals' texts.
"""

from __future__ import annotations

import cmath
import collections
import copy
import dataclasses
import functools
import gc
import math
import os
import subprocess
import sys
import textwrap
import threading
import traceback
from pathlib import Path
from types import FunctionType, ModuleType
from typing import NamedTuple

import numpy as np
import pytest

import pyc
from pyc import reasons, tree, treedef
from pyc.errors import PycError, TracerBoolConversionError
from pyc.jit import jit
from pyc.reasons import Reason
from pyc.trace import callee, users_code
from pyc.trace.namespace import Namespace
from pyc.trace.paths import Path as ReadPath
from pyc.trace.views import View
from tests.trace import namespace_programs

ROOT = Path(__file__).parents[2]
X = np.array([1.5, 2.25, 3.0])


def read(value, name="value"):
    return Namespace().translate(value, ReadPath(None, "global", name))


def same(function, *args) -> None:
    """Plain Python and the jitted function give the same, types included."""
    found, expected = jit(function)(*args), function(*args)
    ours, structure = tree.flatten(found)
    theirs, expected_structure = tree.flatten(expected)
    assert structure == expected_structure
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


# --- functions ------------------------------------------------------------------------------------


def helper(x):
    return np.zeros(3) + x


def failing(x):
    rows = np.zeros(3) + x
    raise ValueError(f"no such rows: {rows.shape}")


HELPERS = {"helper": helper}


def test_a_function_has_one_translation_in_a_trace() -> None:
    def function(x):
        assert helper is helper and helper is HELPERS["helper"]
        assert helper is globals()["helper"]
        return helper(x)

    same(function, X)


def test_what_is_translated_is_its_own_translation() -> None:
    names = Namespace()
    path = ReadPath(None, "global", "helper")
    made = names.translate(helper, path)
    assert made is not helper and type(made.__globals__) is View
    assert names.translate(made, path) is made
    assert made.__name__ == "helper" and made.__code__ is helper.__code__


def test_tracebacks_keep_the_lines_of_the_user() -> None:
    def function(x):
        return failing(x)

    with pytest.raises(ValueError, match=r"no such rows: \(3,\)") as error:
        jit(function)(X)
    frames = traceback.extract_tb(error.value.__traceback__)
    assert [f.name for f in frames[-2:]] == ["function", "failing"]
    assert frames[-1].line == 'raise ValueError(f"no such rows: {rows.shape}")'
    assert not any("pyc/trace" in f.filename for f in frames)


def test_the_function_itself_may_be_anything_callable() -> None:
    class Scaled:
        def __init__(self, scale):
            self.scale = scale

        def __call__(self, x):
            return np.full(3, self.scale) * x

        def twice(self, x):
            return np.full(3, 2.0) * self(x)

    def scaled(scale, x):
        return np.full(3, scale) * x

    for function in (Scaled(2.0), Scaled(3.0).twice, functools.partial(scaled, 4.0), lambda x: x):
        same(function, X)


def test_static_arguments_are_translated() -> None:
    def apply(f, x):
        return f(x) + np.zeros(3)

    assert jit(apply)(helper, X).tolist() == X.tolist()
    assert jit(apply, static_argnums=0)(np.negative, X).tolist() == (-X).tolist()


def test_a_method_is_traced_with_its_object() -> None:
    @dataclasses.dataclass(frozen=True)
    class Model:
        scale: float

        @functools.partial(jit, static_argnames="self")
        def step(self, x):
            return np.ones(3) * self.scale + self.half(x)

        def half(self, x):
            return np.full(3, 0.5) * x

    assert Model(2.0).step(X).tolist() == (2.0 + X / 2).tolist()
    assert Model(3.0).step(X).tolist() == (3.0 + X / 2).tolist()


def test_globals_closures_and_defaults_are_read_anew_by_each_trace(monkeypatch) -> None:
    """A new shape traces again: nothing of the first trace's views stays."""
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    function = jit(lambda x: x * SCALE)  # noqa: F821
    assert function(X).tolist() == (X * 2).tolist()
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert function(X[:2]).tolist() == (X[:2] * 3).tolist()


def test_functions_that_share_a_cell_still_do() -> None:
    def outer(x):
        total = np.zeros(3)

        def add(v):
            nonlocal total
            total = total + v

        def get():
            return total

        add(x)
        add(2 * x)
        return get()

    same(outer, X)


def test_a_function_that_refers_to_itself_by_a_cell() -> None:
    def make():
        def power(x, n):
            return np.ones(3) if n == 0 else x * power(x, n - 1)

        return power

    power = make()
    same(lambda x: power(x, 3), X)


def test_an_unset_cell_is_an_unbound_name() -> None:
    def outer():
        def inner(x):
            return x + later

        if X is None:
            later = 1
        return inner

    with pytest.raises(NameError, match="later"):
        jit(outer())(X)


def test_an_unknown_name_is_a_name_error_that_names_it() -> None:
    with pytest.raises(NameError, match="name 'nowhere' is not defined"):
        jit(lambda x: nowhere + x)(X)  # noqa: F821


def test_functions_may_be_compiled_by_several_threads_at_once() -> None:
    results = {}

    def work(k):
        results[k] = [jit(lambda x, k=k, j=j: helper(x) * k + j)(X) for j in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, found in results.items():
        assert [f.tolist() for f in found] == [(X * k + j).tolist() for j in range(5)]
    assert len(results) == 4


def test_control_flow_outside_of_jit_sees_the_same_names() -> None:
    @tree.register_dataclass
    @dataclasses.dataclass
    class State:
        u: object

        def next(self, v):
            return State(self.u + np.ones(2) * v)

    final, sizes = pyc.lax.scan(
        lambda s, v: (s.next(v), np.zeros(1) + s.u[0]), State(np.zeros(2)), X
    )
    assert type(final) is State
    assert final.u.tolist() == [6.75, 6.75] and sizes.shape == (3, 1)


# --- types that are called ------------------------------------------------------------------------

FORMS = """
import numpy as np
from numpy import float32
T = object()
called = [
    lambda x: np.float32(x),
    lambda x: np.float32(*[x]),
    lambda x: np.float32(x, **{}),
    lambda x: float32(x),
    lambda x: [float32(v) for v in [x]][0],
    lambda x: f"{np.float32(x)!r}" and np.float32(x),
    lambda x: np.float32(
        x
    ),
    lambda x: np.float32(x).astype("f4"),
    lambda x: (1, np.float32(x))[1],
    lambda x: max(np.float32(x), np.float32(0)),
    lambda x: float(x),
]
values = [
    lambda x: np.float32 is T,
    lambda x: isinstance(x, float32),
    lambda x: np.zeros(1, np.float32).dtype == np.float32,
    lambda x: (np.float32, x)[0] is T,
    lambda x: np.float32.__name__ == "float32",
    lambda x: isinstance(x, float) and np.dtype(float) == np.float64,
]
"""


def test_a_type_is_a_converter_where_it_is_called_and_itself_elsewhere() -> None:
    """Each form by itself: the traced value must come through, the type keep its identity."""
    names: dict[str, object] = {"__name__": "forms"}
    exec(compile(FORMS, "<forms>", "exec", dont_inherit=True), names)
    names["T"] = np.float32
    for function in names["called"]:
        assert jit(function)(X[0]) == np.float32(1.5)
    seen = [jit(lambda x, f=f: (x, f(x)))(X[0])[1] for f in names["values"]]
    assert [bool(v) for v in seen] == [True, False, True, True, True, True]


def test_without_column_numbers_a_called_type_is_refused_never_wrong() -> None:
    program = textwrap.dedent("""
        import numpy as np, pyc
        try:
            print(pyc.jit(lambda x: np.float32(x.sum()))(np.ones(3)))
        except pyc.errors.TracerArrayConversionError:
            print("refused")
    """)
    run = [sys.executable, "-X", "no_debug_ranges", "-c", program]
    done = subprocess.run(run, env=dict(os.environ), capture_output=True, text=True)
    assert done.stdout.strip() == "refused", done.stderr


def test_answers_on_calls_are_bounded(monkeypatch) -> None:
    monkeypatch.setattr(callee, "_KEPT", 2)
    for k in range(4):
        assert jit(eval(f"lambda x: np.float32(x + {k})", globals()))(X[0]) == 1.5 + k
        assert len(callee._answers) <= 2


# --- whose code -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "users"),
    [
        (vars(sys.modules["numpy.linalg"]), False),
        (vars(functools), False),
        (vars(pyc.tree), False),
        (vars(sys.modules["scipy.special"]), False),
        (globals(), True),
        ({}, True),
        ({"__name__": "__main__"}, True),
        ({"__name__": "json", "__file__": "/home/user/json.py"}, True),
        ({"__name__": "mine", "__file__": "/opt/lib/site-packages/mine/model.py"}, True),
        ({"__name__": "scipy.mine", "__file__": "/opt/site-packages/scipy/mine.py"}, False),
    ],
)
def test_whose_code_a_module_is(names, users) -> None:
    assert users_code.is_users(names) is users


def test_an_installed_package_with_compiled_parts_is_left_alone(monkeypatch) -> None:
    part = ModuleType("fast_thing._core")
    part.__file__ = "/opt/site-packages/fast_thing/_core.abi3.so"
    names = {"__name__": "fast_thing.api", "__file__": "/opt/site-packages/fast_thing/api.py"}
    users_code._is_users.cache_clear()
    monkeypatch.setitem(sys.modules, part.__name__, part)
    assert not users_code.is_users(names)
    users_code._is_users.cache_clear()
    monkeypatch.delitem(sys.modules, part.__name__)
    assert users_code.is_users(names)
    users_code._is_users.cache_clear()


def test_functions_of_others_stay_unless_they_hold_one_of_the_user() -> None:
    assert read(textwrap.dedent) is textwrap.dedent
    assert read(np.testing.assert_allclose) is not np.testing.assert_allclose
    assert read(tree.map) is tree.map
    wrapped = functools.singledispatch(helper)
    assert isinstance(read(wrapped), FunctionType) and read(wrapped) is not wrapped


# --- classes --------------------------------------------------------------------------------------


def test_super_leads_to_the_translated_method_over_a_diamond() -> None:
    class A:
        def step(self, x):
            return [np.zeros(3) + x]

    class B(A):
        def step(self, x):
            return [np.ones(3) * x, *super().step(x)]

    class C(A):
        def step(self, x):
            return [np.full(3, 2.0) * x, *super().step(x)]

    class D(B, C):
        def step(self, x):
            return [np.full(3, 3.0) * x, *super(D, self).step(x)]  # noqa: UP008

    d = D()
    same(lambda x: (d.step(x), D().step(x), [k.__name__ for k in D.__mro__].index("C") * x), X)


def test_translating_a_class_leaves_it_as_it_was() -> None:
    made = []

    class Base:
        def __init_subclass__(cls):
            made.append(cls)

        def step(self, x):
            return np.zeros(3) + x

    model = Base()
    before = dict(vars(Base))
    same(lambda x: model.step(x), X)
    gc.collect()
    assert made == [] and Base.__subclasses__() == [] and dict(vars(Base)) == before


def test_registered_classes_stay_registered_and_no_others() -> None:
    @tree.register_dataclass
    @dataclasses.dataclass
    class State:
        u: object

        def double(self):
            return State(self.u * np.full(3, 2.0))

    known = set(treedef._ways)

    def function(state):
        leaves = tree.leaves(state.double())
        assert len(leaves) == 1 and isinstance(state, State)
        return {"state": state.double(), "pair": (state.double(), [state])}

    found = jit(function)(State(X))
    assert set(treedef._ways) == known
    assert type(found["state"]) is State and type(found["pair"][0]) is State
    assert found["state"].u.tolist() == (2 * X).tolist()
    assert found["pair"][1][0].u.tolist() == X.tolist()
    with pytest.raises(TracerBoolConversionError):
        jit(lambda s: bool(s.double().u > 1))(State(X))
    assert set(treedef._ways) == known


class Pair(NamedTuple):
    a: object
    b: object

    def total(self):
        return np.zeros(3) + self.a + self.b


def test_named_tuples_come_back_as_their_own_class() -> None:
    found = jit(lambda x: Pair(x, Pair(x, 2 * x)))(X)
    assert type(found) is Pair and type(found.b) is Pair
    assert found.b.total().tolist() == (3 * X).tolist()


def test_an_object_of_the_function_is_an_ordinary_one() -> None:
    class Box:
        __slots__ = ("_v", "w")

        def __init__(self, v):
            self.v = v

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, value):
            self._v = np.zeros(3) + value

        def __eq__(self, other):
            return self is other

        __hash__ = object.__hash__

    outside = Box(2.0)
    outside.w = 5.0

    def function(x):
        box = Box(x)
        box.v = box.v + 1
        box.w = x
        del box.w
        assert not hasattr(box, "w") and box == box and hash(box) == hash(box)
        assert {box: 1}[box] == 1 and outside.w == 5.0
        return box.v + outside.w

    same(function, X)
    assert vars(Box)["v"].fget.__globals__ is globals()


def test_containers_of_the_users_classes() -> None:
    class Options(dict):
        __getattr__ = dict.__getitem__

        def grid(self):
            return np.zeros(3) + self["dt"]

    class Stack(list):
        def total(self):
            return sum(layer(np.ones(3)) for layer in self)

    options, stack = Options(dt=0.5, f=helper), Stack([helper, np.sin])
    same(lambda x: options.grid() + options.f(x) + stack.total() + len(stack) + options.dt, X)
    for change in (lambda x: options.update(dt=1.0), lambda x: stack.append(1)):
        with pytest.raises(PycError, match=r"the function changes `(options|stack)`"):
            jit(lambda x, change=change: (change(x), x))(X)


def test_classes_that_cannot_be_translated_run_as_they_are_with_a_reason() -> None:
    class Sealed(type):
        def __new__(cls, name, bases, names):
            if bases:
                raise TypeError("final")
            return super().__new__(cls, name, bases, names)

    Sealed.__module__ = "numpy"

    class Closed(metaclass=Sealed):
        def scaled(self, x):
            return 2 * np.sin(x)

    class Queue(collections.deque):
        def total(self):
            return sum(self)

    closed, queue = Closed(), Queue([1.0, 2.0])
    reasons.clear()
    same(lambda x: closed.scaled(x) + queue.total(), X)
    names = [e.details["name"] for e in reasons.events() if e.reason is Reason.CLASS_NOT_TRANSLATED]
    assert [n.rpartition(".")[2] for n in names] == ["Closed", "Queue"]


def test_a_cached_property_of_an_object_from_outside_stays_out_of_it() -> None:
    class Model:
        @functools.cached_property
        def grid(self):
            return np.arange(3.0)

    model = Model()

    def function(x):
        assert model.grid is model.grid
        local = Model()
        assert local.grid is local.grid and "grid" in vars(local)
        return model.grid * x

    assert jit(function)(X).tolist() == (np.arange(3.0) * X).tolist()
    assert vars(model) == {}


def test_copies_of_an_object_from_outside_may_be_changed() -> None:
    class Options:
        def __init__(self):
            self.dt, self.act = 0.5, np.tanh

    options = Options()

    def function(x):
        for made in (copy.copy(options), copy.deepcopy(options)):
            made.dt = made.dt + 1
            x = made.act(x) * made.dt
        return x

    found = jit(function)(X)
    np.testing.assert_allclose(found, np.tanh(np.tanh(X) * 1.5) * 1.5, rtol=1e-15)
    assert options.dt == 0.5


# --- Python's builtins ----------------------------------------------------------------------------

ORDERS = [
    [2.0, 1.0, 3.0],
    [np.nan, 1.0, 2.0],
    [1.0, np.nan, 0.5],
    [np.nan, np.nan],
    [np.inf, np.nan],
    [-np.inf, np.nan, np.inf],
    [0.0, -0.0],
    [-0.0, 0.0],
    [7.0],
]


@pytest.mark.parametrize("values", ORDERS)
def test_extremes_are_those_of_python(values) -> None:
    """NaN compares false, equal zeros keep their order: the first operand that none beats."""
    x = np.array(values)
    for choose in (min, max):
        expected = np.asarray(choose(x)).tobytes()
        assert jit(lambda x, choose=choose: choose(x))(x).tobytes() == expected
        by_items = jit(lambda x, choose=choose: choose(*x) if len(x) > 1 else choose(list(x)))
        assert by_items(x).tobytes() == expected


BUILTINS = [
    lambda x: (min(x, key=lambda v: -v), max(x, key=abs)),
    lambda x: min([(v, k) for k, v in enumerate(x)], key=lambda p: p[0])[0],
    lambda x: (min([], default=x), max((), default=2.0), min(3, 2), max([1, 2])),
    lambda x: (sum(x), sum(x, 1.0), sum([x, x]), sum(x > 2)),
    lambda x: sum(x.astype(np.int32)),
    lambda x: (any(x > 2), all(x > 2), any([]), all([]), any([0, x[0] > 9, 1]), all([1, x[0] > 9])),
    lambda x: (any(v > 9 for v in x), all(v > 0 for v in x), any(np.arange(3) > 5)),
    lambda x: (sorted(x), sorted(x, reverse=True), sorted([3, 1, 2], key=lambda v: -v)),
    lambda x: (float(x[0]), int(x[1]), bool(x[0]), complex(x[0]), complex(1, x[0]), int("3")),
    lambda x: float(x[0]) * np.ones(2, np.float32),
    lambda x: (int(-x[1]), int(x[1] > 2), float(x[:1].sum() > 1)),
    lambda x: (abs(-x), round(x[1], 1), round(x[1]), pow(x, 2), divmod(x, 2), len(x)),
    lambda x: (isinstance(x[0], (int, float)), isinstance(x, int | str), issubclass(bool, int)),
]


@pytest.mark.parametrize("function", BUILTINS)
def test_builtins_give_what_python_gives(function) -> None:
    same(function, X)


@pytest.mark.parametrize("choose", [min, max])
def test_extremes_of_nothing_and_of_complex_numbers_raise(choose) -> None:
    for call in (lambda x: choose([]), lambda x: choose(x[:0])):
        with pytest.raises(ValueError, match="empty"):
            jit(call)(X)
    with pytest.raises(TypeError):
        jit(lambda x: choose())(X)
    with pytest.raises(TypeError):
        jit(lambda x: choose(x + 1j))(X)


@pytest.mark.parametrize(
    "convert", [lambda x: float(x), lambda x: int(x), lambda x: bool(x), lambda x: complex(x)]
)
def test_only_one_element_is_a_python_number(convert) -> None:
    with pytest.raises((TypeError, ValueError), match=r"one element|is ambiguous"):
        jit(convert)(X)
    same(convert, X[:1].reshape(1, 1)[0, 0])


@pytest.mark.parametrize("convert", [lambda x: float(x), lambda x: int(x)])
def test_a_complex_number_has_no_real_value(convert) -> None:
    with pytest.raises(TypeError, match="must be a real number"):
        jit(convert)(1 + 2j)


TRACED_REAL = (
    *("acos", "asin", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "degrees", "erf", "erfc"),
    *("exp", "exp2", "expm1", "fabs", "floor", "isfinite", "isinf", "isnan", "log", "log10"),
    *("log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "asinh", "modf"),
)


@pytest.mark.parametrize("name", [n for n in TRACED_REAL if hasattr(math, n)])
def test_functions_of_math(name) -> None:
    function = getattr(math, name)
    for value in (0.5, 0.75, 0.0) if name == "trunc" else (0.5, np.float32(0.25), 0.75):
        found, expected = jit(lambda v: function(v))(value), function(value)
        np.testing.assert_allclose(found, expected, rtol=4e-16)
        assert np.asarray(found).dtype == np.asarray(expected).dtype


def test_functions_of_math_with_several_operands() -> None:
    def function(x):
        a, b, c = x
        return (
            math.atan2(a, b) + math.fmod(b, a) + math.copysign(a, -1) + math.pow(a, 2.0),
            math.hypot(a, b, c) + math.dist([a, b], [c, 1]) + math.prod([a, b, 2]),
            math.log(b, 2) + math.log(8, a) + math.ldexp(1.0, 3) + math.gcd(4, 6),
            (math.isclose(a, a + 1e-12), math.isclose(a, b), math.isclose(a, 1, abs_tol=1)),
            math.floor(a * 1) + math.floor(np.int64(2)),
        )

    found, expected = jit(function)(X), function(X)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)


@pytest.mark.parametrize("numbers", [(18, -30), (0, 5), (0, 0), (7, 1)])
def test_divisors_and_multiples_of_math(numbers: tuple[int, int]) -> None:
    def function(n, m):
        both = math.gcd(n, m), math.lcm(n, m, 4)
        return (*both, math.gcd(n), math.lcm(m), math.gcd(n, m, 12) + both[0] // (1 + both[1]))

    found = jit(function)(*numbers)
    assert found == function(*numbers)
    assert all(type(x) is np.int64 for x in found)


def test_a_result_of_math_is_a_python_number() -> None:
    found = jit(lambda x: math.sin(x[0]) * np.ones(2, np.float32))(X.astype(np.float32))
    assert found.dtype == np.float32
    with pytest.raises(TypeError):
        jit(lambda x: math.sin(x))(X)


@pytest.mark.parametrize("name", ["exp", "sqrt", "log", "sin", "cosh", "phase", "isnan", "atan"])
def test_functions_of_cmath(name) -> None:
    function = getattr(cmath, name)
    found = jit(lambda z: function(z))(0.5 + 0.25j)
    np.testing.assert_allclose(found, function(0.5 + 0.25j), rtol=1e-15)


def test_python_numbers_stay_with_python() -> None:
    """`math` of numbers that are not traced is Python's own, at no cost and with its bits."""
    graph = jit(lambda x: x * math.sin(0.3) * max(2, 3) * float("2") * np.float32(0.5)).trace(X)
    assert not any(e.op.name in ("sin", "max") for e in graph.graph.eqns)


SCALARS = [np.float32(2), np.float64(2.0), np.int64(2), np.bool_(True)]
HELD = np.array(2.0)


def test_numpy_scalars_on_the_left_of_comparisons() -> None:
    """NumPy makes arrays of them, which nobody else can change."""
    same(lambda x: [(s < x, s >= x, s == x, s != x, s + x) for s in SCALARS], X)
    same(lambda x: x.dtype.type(2) > x, X)
    for compare in (lambda x: HELD < x, lambda x: [HELD][0] >= x):  # noqa: SIM300
        same(compare, X)


WEIGHTS, PLACES, MASK = np.array([1.0, 2.0, 0.5]), np.array([0, 2]), np.array([True, False, True])

BAKED = [
    lambda x: np.array([WEIGHTS, x]),
    lambda x: np.array([WEIGHTS, WEIGHTS]),
    lambda x: np.float32(WEIGHTS),
    lambda x: np.unique(WEIGHTS),
    lambda x: np.where(MASK)[0],
    lambda x: np.repeat(x, [*PLACES, PLACES[0]]) + np.repeat(x, PLACES),
    lambda x: np.pad(x, PLACES),
    lambda x: np.split(x, PLACES),
    lambda x: np.zeros(PLACES),
    lambda x: x.reshape(PLACES),
    lambda x: np.quantile(x, WEIGHTS / 2),
    lambda x: np.linspace(WEIGHTS, 2.0, 3),
    lambda x: x[MASK],
    lambda x: x[PLACES],
    lambda x: np.take(x, PLACES, mode="clip"),
    lambda x: np.random.default_rng(PLACES).normal(size=3),
]


@pytest.mark.parametrize("function", BAKED)
def test_an_array_from_outside_is_read_at_each_call(function) -> None:
    """Also where Python or NumPy needs its elements while the function is traced."""
    jitted = jit(function)
    for weights, places, mask in (
        ([1.0, 2.0, 0.5], [0, 2], [True, False, True]),
        ([0.5, 0.25, 1.0], [2, 1], [False, False, True]),
        ([0.5, 0.25, 1.0], [1, 3], [False, True, True]),
        ([1.0, 2.0, 0.5], [0, 2], [True, False, True]),
    ):
        WEIGHTS[:], PLACES[:], MASK[:] = weights, places, mask
        try:
            expected = function(X)
        except (IndexError, ValueError) as error:
            with pytest.raises((type(error), PycError)):
                jitted(X)
            continue
        for a, b in zip(np.atleast_1d(*jitted(X)), np.atleast_1d(*expected), strict=True):
            np.testing.assert_array_equal(a, b)


# --- refusals -------------------------------------------------------------------------------------

PROGRAMS = {
    name: function
    for name, function in vars(namespace_programs).items()
    if isinstance(function, FunctionType) and function.__code__.co_varnames[:1] == ("x",)
    if name not in ("counter",)
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_refused(name, golden, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(PycError) as found:
        jit(PROGRAMS[name])(namespace_programs.VECTOR)
    golden(f"{type(found.value).__name__}: {found.value}")


def test_what_is_refused_has_not_happened() -> None:
    model, steps = namespace_programs.MODEL, namespace_programs.STEPS
    for name in ("attribute_set", "attribute_changed", "list_changed", "global_name_assigned"):
        with pytest.raises(PycError):
            jit(PROGRAMS[name])(X)
    assert model.calls == 0 and len(model.layers) == 1 and len(steps) == 2
    assert namespace_programs.COUNT == 0
