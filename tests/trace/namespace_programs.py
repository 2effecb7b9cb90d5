"""Functions that the tracing namespace refuses, one reason each; `test_namespace.py` checks the
texts.

Keep the lines where they are: the golden files name them.
"""

import enum
import functools
import math

import numpy as np
import scipy.special

VECTOR = np.array([1.0, 2.0, 3.0])
STEPS = [np.sin, np.cos]
TABLE = {"sin": np.sin}
COUNT = 0
RNG = np.random.default_rng(3)


class Model:
    """An object from outside of the function."""

    weight = 2.0

    def __init__(self):
        self.calls = 0
        self.layers = [Model.step]

    def step(self, x):
        self.calls += 1
        return x * self.weight


MODEL = Model()


def evaluated(x):
    return eval("x + 1")


def executed(x):
    exec("y = x + 1")
    return x


def global_name_assigned(x):
    global COUNT
    COUNT += 1
    return x


def global_name_assigned_by_item(x):
    globals()["COUNT"] = 1
    return x


def attribute_set(x):
    return MODEL.step(x)


def attribute_deleted(x):
    del MODEL.calls
    return x


def module_attribute_set(x):
    np.tau = 6.28
    return x


def list_changed(x):
    STEPS.append(np.exp)
    return x


def dict_changed(x):
    TABLE["exp"] = np.exp
    return x


def attribute_changed(x):
    MODEL.layers.clear()
    return x


def make_counter():
    calls = 0

    def counted(x):
        nonlocal calls
        calls += 1
        return x

    return counted


counter = make_counter()


def cell_changed(x):
    return counter(x)


def random_function(x):
    return x + np.random.normal(size=3)


def generator_from_outside(x):
    return x + RNG.normal(size=3)


def generator_without_a_seed(x):
    return x + np.random.default_rng().normal(size=3)


def draw_with_a_traced_scale(x):
    return x + np.random.default_rng(3).normal(0.0, x.sum(), size=3)


def file_read(x):
    return x + np.load("weights.npy")


def settings_changed(x):
    np.set_printoptions(precision=3)
    return x


def printed(x):
    np.show_config()
    return x


def tested(x):
    return np.testing.assert_allclose(x, 1)


def iterated_in_memory(x):
    return list(np.nditer(x))


def concatenated_with_a_text(x):
    return np.r_["r", x, x]


def range_with_a_traced_bound(x):
    return np.r_[0 : x.argmax()]


def grid_with_a_traced_bound(x):
    return np.mgrid[0 : x.argmax(), 0:2]


def numpy_function_without_counterpart(x):
    return np.emath.sqrt(x)


def math_function_without_counterpart(x):
    return math.gamma(x[0])


def ufunc_of_scipy(x):
    return scipy.special.ellipk(x)


def large_constant(x):
    return x.sum() + np.polynomial.chebyshev.chebpts1(20000)


def type_in_a_variable(x):
    kind = functools.partial(np.float32)
    return kind(x.sum())


def integer_of_uint64(x):
    return int(x.astype(np.uint64)[0])


def sorted_by_traced_keys(x):
    return sorted(["a", "b", "c"], key=dict(zip("abc", x, strict=True)).__getitem__)


def chosen_between_texts(x):
    return {"a": x, "b": -x}[min(("a", "b"), key={"a": x[0], "b": x[1]}.__getitem__)]


def class_with_prepared_names(x):
    class Colour(enum.Enum):
        RED = 1

    return x * Colour.RED.value
