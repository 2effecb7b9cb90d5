"""Programs that map functions over axes which are not there, or do not fit.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc
from tests.errors.case import LINE, MATRIX, SQUARE, given


def scaled(x, k):
    return x * k


@given(MATRIX, LINE)
def lanes_of_different_sizes(m, x):
    return pyc.vmap(scaled)(m, x)


@given(MATRIX, LINE)
def lanes_of_another_size_than_told(m, x):
    return pyc.vmap(np.sum, axis_size=5)(m)


@given(LINE)
def lane_of_a_scalar(x):
    return pyc.vmap(scaled)(x, x.sum())


@given(LINE)
def lane_of_a_number(x):
    return pyc.vmap(scaled)(x, 2.0)


@given(LINE)
def lane_of_a_text(x):
    return pyc.vmap(lambda v, mode: v)(x, "fast")


@given(MATRIX)
def lane_over_an_axis_that_there_is_not(m):
    return pyc.vmap(np.sum, in_axes=2)(m)


@given(LINE)
def nothing_is_mapped(x):
    return pyc.vmap(np.sum, in_axes=None)(x)


@given(LINE)
def axes_for_other_arguments(x):
    return pyc.vmap(scaled, in_axes=(0,))(x, x)


@given(MATRIX)
def axes_of_another_structure(m):
    return pyc.vmap(lambda p: p["w"] * 2, in_axes=({"v": 0},))({"w": m})


@given(MATRIX)
def axes_in_an_array(m):
    return pyc.vmap(np.sum, in_axes=((0, None),))(m)


@given(MATRIX)
def axes_of_other_results(m):
    return pyc.vmap(lambda v: (v, v.sum()), out_axes=(0, 0, 0))(m)


@given(MATRIX)
def axis_that_is_a_text(m):
    return pyc.vmap(np.sum, in_axes="rows")(m)


@given(MATRIX)
def number_of_lanes_that_is_none(m):
    return pyc.vmap(np.sum, axis_size=-1)(m)


@given(MATRIX)
def result_that_differs_between_lanes(m):
    return pyc.vmap(lambda v: (v.sum(), v), out_axes=(0, None))(m)


@given(MATRIX)
def result_along_an_axis_that_there_is_not(m):
    return pyc.vmap(np.sum, out_axes=1)(m)


@given(MATRIX)
def result_that_is_a_text(m):
    return pyc.vmap(lambda v: {"name": "sum", "value": v.sum()})(m)


@given(SQUARE)
def argument_of_a_lane_in_place(m):
    def lane(row):
        row[0] = 0.0
        return row

    return pyc.vmap(lane)(m)


@given(SQUARE)
def array_of_all_lanes_in_place(m):
    total = np.zeros(3)

    def lane(row):
        total[:] += row
        return row

    return pyc.vmap(lane)(m) + total


@given(MATRIX)
def signature_that_is_none(m):
    return np.vectorize(np.sum, signature="n->")(m)


@given(MATRIX)
def signature_for_other_arguments(m):
    return np.vectorize(np.sum, signature="(n),(n)->()")(m)


@given(LINE)
def signature_of_more_axes(x):
    return np.vectorize(np.sum, signature="(m,n)->()")(x)


@given(MATRIX, LINE)
def signature_whose_axes_differ(m, x):
    return np.vectorize(np.dot, signature="(n),(n)->()")(m, x)


@given(MATRIX)
def signature_of_other_results(m):
    return np.vectorize(np.sum, signature="(n)->(),()")(m)


@given(MATRIX)
def signature_of_results_of_other_axes(m):
    return np.vectorize(np.sort, signature="(n)->()")(m)


@given(MATRIX)
def types_of_other_results(m):
    return np.vectorize(lambda v: (v, v), otypes=[float])(m)


@given(MATRIX)
def keyword_that_has_no_axis(m):
    return pyc.vmap(lambda v, mode="slow": v)(m, mode="fast")


@given(MATRIX)
def name_of_lanes_that_is_a_list(m):
    return pyc.vmap(np.sum, axis_name=["batch"])(m)


@given(MATRIX, LINE)
def named_lanes_of_two_sizes(m, x):
    return pyc.vmap(np.dot, axis_name="batch")(m, x[:, None])
