"""Functions that cannot be traced, one reason each; `test_refusals.py` checks the texts.
Keep the lines where they are: the golden files name them.
"""

import collections
import math
from dataclasses import dataclass

import numpy as np

from pyc import lax
from pyc.jit import jit
from tests.trace.keeper import keeper

ARRAY = np.arange(3.0)
VECTOR = np.array([1.0, 2.0, 3.0])
KEPT = keeper()  # nothing looks into it


class Plain:
    """A class that pyc knows nothing of."""


@dataclass
class Settings:
    """A dataclass with a field that cannot be hashed."""

    layers: list


def truth_of_an_array(x):
    if x.sum() > 2:
        return x
    return -x


def maximum_of_python(x):
    return max(x, -x)


def python_integer(x, n):
    return x + np.zeros(n[0]).sum()


def python_range(x, n):
    for _ in range(n[0]):
        x = x + 1
    return x


def python_float(x):
    return math.pi, list(map(float, x))


def python_int(x):
    return list(map(int, x))


def python_complex(x):
    return list(map(complex, x))


def formatted(x):
    return x, format(x.sum(), ".3f")


def numpy_conversion(x):
    return x.dtype.type(x) + 1


def numpy_array_of_traced(x):
    return np.ma.array([x.sum(), x.prod()])


def numpy_scalar_of_traced(x):
    return x.dtype.type(x.sum())


def dictionary_key(x):
    return {x: 1}


def item_assignment(x):
    x[0] = 1
    return x


def augmented_assignment(x):
    x += 1
    return x


def augmented_assignment_to_a_scalar_argument(x, n):
    n += x.sum()
    return n


def augmented_assignment_of_a_numpy_array(x):
    total = ARRAY
    total += x
    return total


def item_assignment_of_a_numpy_array(x):
    KEPT_ARRAY = ARRAY
    KEPT_ARRAY[0] = x.sum()
    return KEPT_ARRAY


def shape_assignment(x):
    x.shape = (3, 1)
    return x


def in_place_sort(x):
    x.sort()
    return x


def item(x):
    return x.sum().item()


def array_of_a_library(x):
    return x + BOX[0]


def large_array_of_a_library(x):
    return x.sum() + BOX[1]


def returned_array_of_a_library(x):
    return x, BOX[0]


def returned_text(x):
    return {"name": ["text"], "x": x}


def leaked(x):
    KEPT[0](x * 2)
    return x


def leaked_of_a_loop(x):
    kept = []

    def body(carry, item):
        kept.append(carry * item)
        return carry, None

    lax.scan(body, 0.0, x)
    return kept[0] + 1


def uses_leaked(x):
    return x + KEPT[1]()


def unknown_function(x):
    return np.emath.sqrt(x)


def unknown_keyword(x):
    return np.sort(x, order="weight")


def unknown_ufunc_method(x):
    return np.add.at(x, 0, 1)


def output_argument(x):
    return np.sqrt(x, out=ARRAY)


def copied_into(x):
    np.copyto(ARRAY, x)
    return x


def large_python_integer(x):
    return x, 2**70


def carry_changes_dtype(x):
    return lax.scan(lambda c, v: ({"h": c["h"].astype("float32")}, None), {"h": x}, length=3)


def carry_changes_shape(x):
    return lax.while_loop(lambda c: c.sum() < 9, lambda c: c.sum(), x)


def carry_changes_structure(x):
    return lax.fori_loop(0, 3, lambda i, c: [c, c], x)


def scan_without_pair(x):
    return lax.scan(lambda c, v: c + v, 0.0, x)


def scan_over_different_lengths(x):
    return lax.scan(lambda c, v: (c, None), 0.0, (x, x.reshape(1, 3)))


def scan_over_a_scalar(x):
    return lax.scan(lambda c, v: (c, None), 0.0, x.sum())


def scan_over_nothing(x):
    return lax.scan(lambda c, v: (c, None), x)


def condition_of_a_number(x):
    return lax.while_loop(lambda c: c, lambda c: c - 1, x.sum())


def condition_of_an_array(x):
    return lax.cond(x > 1, lambda: x, lambda: -x)


def branches_differ_in_structure(x):
    return lax.cond(x.sum() > 1, lambda: (x, x), lambda: x)


def branches_differ_in_shape(x):
    return lax.cond(x.sum() > 1, lambda: x, lambda: x.sum())


def branches_differ_in_dtype(x):
    return lax.cond(x.sum() > 1, lambda: x.astype("float32"), lambda: x)


def branch_returns_a_wider_number(x):
    return lax.cond(x.sum() > 1, lambda: x.sum().astype("int32"), lambda: 0.5)


def switch_by_a_float(x):
    return lax.switch(x.sum(), [lambda: x, lambda: -x])


def loop_over_floats(x):
    return lax.fori_loop(0, x.sum(), lambda i, c: c, x)


def loop_carries_a_text(x):
    return lax.fori_loop(0, 3, lambda i, c: c, {"x": x, "name": "text"})


def static_of_the_inner_function_is_traced(x, n):
    return jit(lambda y, power: y**power, static_argnames="power")(x, n)


def place_of_a_shape_error(x):
    first = x.sum()
    return first + x.reshape(2, 2)


def array_of_rank_zero_on_the_left_of_a_comparison(x):
    return BOX[2] < x


def chained_comparison(x):
    return 0 < x < 3


def array_plus_text(x):
    return x + "a"


def text_plus_array(x):
    return "a" + x


def array_times_nothing(x):
    return x * [2, 1].sort()


def slice_with_a_traced_start(x):
    i = x.argmax()
    return x[i : i + 2]


def update_of_a_slice_with_a_traced_start(x):
    i = x.argmax()
    return x.at[i : i + 2].set(0.0)


def index_by_a_text(x):
    return x["name"]


def slice_without_a_step(x):
    return x[::0]


LARGE = np.zeros(10_000)
LARGE.flags.writeable = False
BOX = collections.UserList([ARRAY, LARGE, np.array(1.0)])  # pyc does not look inside


def operands_of_different_shapes(x):
    return x + np.ones(4)


def product_of_different_lengths(x):
    return x.reshape(1, 3) @ np.ones((2, 3))


def index_that_is_known(x):
    return x[7]


def index_that_is_computed(x):
    return x[x.argmax() + 5]


def maximum_of_nothing(x):
    return np.max(x[:0])


def axis_that_is_not_there(x):
    return x.sum(axis=3)


def integer_beyond_the_type(x):
    return x.astype(np.uint8) + 300


def bits_of_a_float(x):
    return x << 1


def mode_that_is_not_there(x):
    return x.at[0].get(mode="nearest")


def result_too_large_for_its_output(x):
    out = np.zeros(2)
    np.add(x, 1, out=out)
    return out


def type_of_a_text(x):
    return x.astype(str)


def too_many_axes(x):
    return x.reshape((1,) * 64 + (3,))


def membership(x):
    return x.__contains__(1.0)
