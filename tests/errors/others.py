"""Programs that hand traced values to Python's own code, and masks to what does not take them.

Keep the lines where they are: the golden files name them.
"""

import json
import statistics
from decimal import Decimal
from fractions import Fraction

import numpy as np

from tests.errors.case import LINE, MATRIX, PLACES, given


@given(2.5)
def number_and_list(a):
    return a * 2 + [1, 2]


@given(LINE)
def list_that_a_float_repeats(x):
    return [1, 2] * x[0]


@given(np.float64(2.0))
def power_by_a_modulus_of_a_float(a):
    return pow(a, 2, 5)


@given(LINE)
def power_by_a_modulus_with_an_exponent_of_data(x):
    return pow(2, int(x[0]), 5)


@given(PLACES)
def mean_of_the_library_of_integers(p):
    return statistics.mean(p)


@given(MATRIX)
def mean_of_the_library_of_rows(x):
    return statistics.mean(x)


@given(LINE)
def fraction(x):
    return Fraction(x[0])


@given(LINE)
def decimal(x):
    return Decimal(x[0])


@given(LINE)
def text_in_json(x):
    return json.dumps([x[0]])


@given(LINE)
def maximum_under_a_mask(x):
    return x.max(where=x > 1)


@given(LINE)
def sum_under_integers(x):
    return x.sum(where=x.astype(int))


@given(LINE)
def sum_under_a_mask_of_more_axes(x):
    return x.sum(where=np.ones((2, 4), bool))


@given(LINE)
def result_under_integers(x):
    return np.sqrt(x, where=x.astype(int), out=np.zeros(4))


@given(LINE)
def result_under_a_mask_of_more_axes(x):
    return np.sqrt(x, where=np.ones((2, 4), bool), out=np.zeros(4))


@given(MATRIX)
def columns_under_a_mask(x):
    return x[:, x[0] > 1].sum()


@given(MATRIX)
def assignment_to_columns_under_a_mask_of_rows(x):
    a = x * 1
    a[:, x[:, 0] > 1] = 0
    return a


@given(MATRIX)
def columns_of_another_shape_under_a_mask(x):
    a = x * 1
    a[:, x[0] > 1] = np.ones((5, 1))
    return a


@given(LINE)
def list_of_what_fits(x):
    return [v for v in x if v > 1]


@given(LINE)
def element_of_a_list_of_what_fits(x):
    return [v for v in x if v > 1][1]


@given(LINE)
def more_than_the_first_that_fits(x):
    found = (v for v in x if v > 1)
    return next(found) + next(found)


@given(LINE)
def tuple_of_what_fits(x):
    return tuple(v for v in x if v > 1)


@given(LINE)
def name_that_fits(x):
    return next(name for name, v in zip("abcd", x, strict=True) if v > 1)


@given(LINE)
def texts_sorted_by_data(x):
    return sorted(["a", "b"], key=lambda s: x[0] if s == "a" else x[1])


@given(MATRIX)
def rows_in_a_list_and_columns_under_a_mask(x):
    return x[[0, 1], x[0] > 1]
