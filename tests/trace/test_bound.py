"""Methods as values: captured, given to jitted functions, compared, copied, sent to processes."""

from __future__ import annotations

import copy
import functools
import inspect
import multiprocessing
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import pyc
from pyc.runtime import dispatch

X = np.array([1.5, 2.25, 3.0])


class Model:
    """A class without `__eq__`, as most are."""

    def __init__(self, rate: float) -> None:
        self.rate, self.weights = rate, np.ones(3)

    def plain(self, x):
        """What the method says of itself."""
        return x * self.rate + self.weights

    @pyc.jit
    def jitted(self, x, times=1):
        """What the jitted method says of itself."""
        return (x * self.rate + self.weights) * times


class Holder:
    """Keeps a method of its own, jitted."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.run = pyc.jit(self.scaled)

    def scaled(self, x):
        return x * self.rate


@dataclass(frozen=True)
class Fixed:
    """Compared by its fields."""

    rate: float

    def plain(self, x):
        return x * self.rate

    jitted = pyc.jit(plain)


@pyc.jit
def of_the_module(x):
    return x * 2.0


@pyc.jit
def integrate(function, x, steps=3):
    for _ in range(steps):
        x = x + 0.1 * function(x)
    return x


def expected(function, x, steps=3):
    return integrate.__wrapped__(function, x, steps)


@pytest.mark.parametrize("name", ["plain", "jitted"])
@pytest.mark.parametrize("how", ["itself", "partial", "list", "dict"])
def test_a_method_given_as_an_argument_is_never_stale(name, how) -> None:
    wraps = {"itself": lambda f: f, "partial": functools.partial}
    wrap = (wraps | {"list": lambda f: [f], "dict": lambda f: {"f": f}})[how]

    @pyc.jit
    def run(given, x):
        function = given
        if isinstance(given, list):
            function = given[0]
        elif isinstance(given, dict):
            function = given["f"]
        return x + function(x)

    def check(model) -> None:
        for _ in range(3):
            given = wrap(getattr(model, name))
            np.testing.assert_array_equal(run(given, X), X + X * model.rate - -model.weights)

    first, second = Model(2.0), Model(3.0)
    check(first)
    check(second)
    second.rate = 5.0
    check(second)
    check(first)
    first.weights[1] = 7.0
    check(first)
    first.weights = np.zeros(3)
    check(first)


def test_methods_of_two_classes_and_two_methods_are_told_apart() -> None:
    class Other(Model):
        def plain(self, x):
            return -x

        def another(self, x):
            return x + 1.0

    for function in (Model(2.0).plain, Other(2.0).plain, Other(2.0).another, Model(2.0).jitted):
        for _ in range(2):
            np.testing.assert_allclose(integrate(function, X), expected(function, X))


def test_calls_with_a_method_are_native() -> None:
    run = pyc.jit(lambda function, x: function(x) * 2.0)
    model = Model(2.0)
    for _ in range(5):
        run(model.plain, X)
    entries = dispatch.specialisations(run)
    assert sum(dispatch.native_calls(run, s) for s in entries) >= 3
    assert run.cache_info().entries == 1


def test_objects_of_one_class_share_a_program() -> None:
    run = pyc.jit(lambda function, x: function(x) * 2.0)
    for rate in (2.0, 3.0, 4.0, 5.0):
        np.testing.assert_allclose(run(Model(rate).plain, X), (X * rate + 1.0) * 2.0)
    assert run.cache_info().entries <= 2, "the rate is a number that changes"


def test_a_method_that_is_static_by_name_is_known_by_what_its_object_holds() -> None:
    run = pyc.jit(lambda x, f: f(x), static_argnames="f")
    for method in (Fixed(2.0).plain, Fixed(3.0).plain, Fixed(2.0).jitted, Fixed(3.0).jitted):
        np.testing.assert_array_equal(run(X, method), X * method.__self__.rate)


@pytest.mark.parametrize("name", ["plain", "jitted"])
def test_methods_compare_as_pythons_do(name) -> None:
    first, second = Model(2.0), Model(2.0)
    method = getattr(first, name)
    assert method == getattr(first, name) and method != getattr(second, name)
    assert hash(method) == hash(getattr(first, name))
    assert {method: 1}[getattr(first, name)] == 1
    assert method in [getattr(first, name)] and method != 3
    assert Fixed(2.0).plain != Fixed(3.0).plain


def test_a_jitted_method_has_what_a_method_has() -> None:
    bound = Model(2.0).jitted
    assert bound.__name__ == "jitted" and bound.__doc__ == "What the jitted method says of itself."
    assert bound.__qualname__ == "Model.jitted"
    assert str(inspect.signature(bound)) == "(x, times=1)"
    bound(X)
    assert bound.signatures() == Model.jitted.signatures()
    assert bound.cache_info() == Model.jitted.cache_info()
    np.testing.assert_array_equal(functools.partial(bound, times=2)(X), (X * 2 + 1) * 2)
    with pytest.raises(AttributeError, match="nothing"):
        _ = bound.nothing


def test_copies_of_jitted_functions_are_the_functions() -> None:
    assert copy.copy(of_the_module) is of_the_module
    assert copy.deepcopy({"f": of_the_module})["f"] is of_the_module
    assert copy.deepcopy(Model.jitted) is Model.jitted


def test_a_copied_object_has_its_own_method() -> None:
    first = Holder(2.0)
    second = copy.deepcopy(first)
    second.rate = 5.0
    np.testing.assert_array_equal(second.run(X), X * 5.0)
    np.testing.assert_array_equal(first.run(X), X * 2.0)
    model = Model(2.0)
    model.kept = model.jitted
    other = copy.deepcopy(model)
    other.rate = 7.0
    np.testing.assert_array_equal(other.kept(X), X * 7.0 + 1.0)


def renamed_function(x, n):
    return x * n


renamed = pyc.jit(renamed_function, static_argnames="n", loops="unroll", name="other")


def test_jitted_functions_are_pickled_by_their_names() -> None:
    def again(value):
        return pickle.loads(pickle.dumps(value))

    assert again(of_the_module) is of_the_module
    assert again(Model.jitted) is Model.jitted
    np.testing.assert_array_equal(again(Model(3.0).jitted)(X), X * 3.0 + 1.0)
    np.testing.assert_array_equal(again(Holder(3.0)).run(X), X * 3.0)
    made = again(renamed)
    np.testing.assert_array_equal(made(X, n=3), X * 3)
    assert made.signatures() == ("other(x: f64[3], n=3)",)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(pyc.jit(lambda x: x))


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_jitted_functions_are_sent_to_other_processes(how) -> None:
    with multiprocessing.get_context(how).Pool(1) as pool:
        np.testing.assert_array_equal(pool.map(of_the_module, [X, X + 1]), [X * 2, X * 2 + 2])
        np.testing.assert_array_equal(pool.map(Model(3.0).jitted, [X]), [X * 3 + 1])
