"""Programs of linear algebra that have no result: matrices that are singular or not finite, and
shapes or arguments that do not fit, those of lines, sets and bins too.

Keep the lines where they are: the golden files name them.
"""

import numpy as np
import scipy.linalg

import pyc.scipy.linalg
from tests.errors.case import CUBE, LINE, MATRIX, PLACES, SQUARE, given

ONES = np.ones((3, 3))
UNKNOWN = np.full((2, 2), np.nan)


@given(ONES, LINE[:3])
def singular_equations(a, b):
    return np.linalg.solve(a, b)


@given(np.stack([np.eye(3), ONES]))
def singular_among_others(a):
    return np.linalg.inv(a)


@given(-np.eye(2))
def negative_definite(a):
    return np.linalg.cholesky(a)


@given(UNKNOWN)
def singular_values_of_nan(a):
    return np.linalg.svd(a)


@given(UNKNOWN)
def eigenvalues_of_nan(a):
    return np.linalg.eigvals(a)


@given(ONES)
def negative_power_of_a_singular_matrix(a):
    return np.linalg.matrix_power(a, -2)


@given(LINE)
def factors_of_a_line(x):
    return np.linalg.qr(x)


@given(MATRIX)
def inverse_of_an_oblong(m):
    return np.linalg.inv(m)


@given(MATRIX)
def power_of_two_lengths(m):
    return np.linalg.matrix_power(m, 0)


@given(SQUARE, LINE)
def equations_of_another_number(a, b):
    return np.linalg.solve(a, b)


@given(SQUARE, LINE)
def least_squares_of_other_lengths(a, b):
    return np.linalg.lstsq(a, b)


@given(SQUARE, LINE[:3])
def least_squares_with_a_share_for_each(a, b):
    return np.linalg.lstsq(a, b, rcond=np.ones(3))


@given(SQUARE)
def factors_of_an_unknown_mode(a):
    return np.linalg.qr(a, mode="half")


@given(SQUARE)
def eigenvalues_of_an_unknown_triangle(a):
    return np.linalg.eigvalsh(a, UPLO="left")


@given(SQUARE)
def two_limits_of_an_inverse(a):
    return np.linalg.pinv(a, 0.1, rtol=0.2)


@given(SQUARE)
def two_limits_of_a_rank(a):
    return np.linalg.matrix_rank(a, tol=0.1, rtol=0.2)


@given(CUBE, LINE)
def tensor_equations_of_another_number(a, b):
    return np.linalg.tensorsolve(a, b)


@given(CUBE)
def tensor_that_is_not_square(a):
    return np.linalg.tensorinv(a, ind=1)


@given(CUBE)
def tensor_without_rows(a):
    return np.linalg.tensorinv(a, ind=0)


@given(np.zeros((0, 3)))
def condition_of_nothing(a):
    return np.linalg.cond(a)


@given(MATRIX)
def condition_of_an_oblong_in_another_norm(a):
    return np.linalg.cond(a, 1)


@given(SQUARE, LINE[:3])
def triangle_turned_in_an_unknown_way(a, b):
    return pyc.scipy.linalg.solve_triangular(a, b, trans=3)


@given(SQUARE, LINE[:3])
def triangle_with_a_zero(a, b):
    return scipy.linalg.solve_triangular(a, b, lower=True)


@given(SQUARE)
def failure_that_is_caught(a):
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return a


@given(SQUARE + 9 * np.eye(3))
def factors_of_both_sides(a):
    return scipy.linalg.cho_solve((np.stack([a, a]), np.array([True, False])), np.stack([a, a]))


# --- products -------------------------------------------------------------------------------------


@given(SQUARE)
def three_lists_of_axes(x):
    return np.tensordot(x, x, axes=((0,), (1,), (0,)))


@given(SQUARE)
def sum_with_an_unknown_casting(x):
    return pyc.numpy.einsum("ij,jk", x, x, casting="sometimes")


@given(SQUARE)
def sum_in_an_unknown_order(x):
    return np.einsum("ij,jk", x, x, optimize="slow")


@given(np.ones((3, 3)), np.ones(3))
def shares_for_other_matrices(x, rcond):
    return np.linalg.pinv(x, rcond)


# --- lines, sets and bins -------------------------------------------------------------------------


@given(LINE)
def fractions_of_complex_numbers(x):
    return np.quantile(x, [0.5j])


@given(LINE, PLACES)
def sorter_of_another_length(a, sorter):
    return np.searchsorted(a, 1.0, sorter=sorter)


@given(LINE)
def pieces_that_are_no_list(x):
    return np.piecewise(x, [x > 1], 3)


@given(LINE)
def places_of_another_rank(x):
    a = np.zeros((2, 2)) + x[0]
    np.put_along_axis(a, np.array([0, 1]), 1, 1)
    return a


@given(LINE)
def bins_of_an_unknown_rule(x):
    return x + np.histogram_bin_edges(np.arange(4.0), "sometimes")


@given(LINE)
def bins_in_a_range_of_one_number(x):
    return np.histogram_bin_edges(x, 3, range=4)


@given(LINE)
def bins_of_a_rule_in_two_dimensions(x):
    return np.histogram2d(x, x, bins="auto")


@given(LINE)
def roots_of_nan(x):
    return x[:2] + np.roots(np.array([1.0, np.nan, 2.0]))


# --- functions of elements ------------------------------------------------------------------------


@given(LINE)
def elements_of_no_function(x):
    return pyc.numpy.vectorize(3)(x)


@given(LINE)
def elements_without_a_list_of_types(x):
    return pyc.numpy.vectorize(np.sin, otypes=3)(x)


@given(LINE)
def window_of_a_complex_length(x):
    return x + pyc.numpy.hanning(4j)
