"""Programs that give arguments of another kind than a function takes.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc
from pyc.scipy import linalg
from tests.errors.case import LINE, SQUARE, given


@given(LINE)
def number_for_the_body_of_a_scan(x):
    return pyc.lax.scan(3, x, x)


@given(LINE)
def array_for_a_branch(x):
    return pyc.lax.cond(x[0] > 0, lambda v: v, x, x)


@given(LINE)
def one_branch_that_is_in_no_list(x):
    return pyc.lax.switch(0, np.sin, x)


@given(LINE)
def array_for_a_dtype(x):
    return np.sum(x, dtype=np.ones(3))


@given(LINE)
def text_for_an_order(x):
    return pyc.numpy.argsort(x, descending="yes")


@given(LINE)
def window_without_a_length(x):
    return x * np.hanning(float("nan"))


@given(SQUARE)
def factors_that_are_no_pair(a):
    return linalg.lu_solve(a, a)


@given(SQUARE)
def three_items_for_a_pair(a):
    return linalg.cho_solve((a, True, 0), a)


@given(SQUARE)
def number_for_exchanged_rows(a):
    return linalg.lu_solve((a, 1), a)


@given(LINE)
def indices_beyond_every_array(x):
    return np.triu_indices(10**30)[0] + x
