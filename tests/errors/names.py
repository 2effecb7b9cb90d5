"""Programs that are refused by functions of `pyc.numpy` that are loaded on demand, and by arguments
of the array API standard.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from tests.errors.case import LINE, MATRIX, PAIRS, PLACES, TRUTHS, given


@given(LINE)
def array_that_may_not_be_copied(x):
    return x + pnp.asarray([1, 2, 3, 4], copy=False)


@given(LINE)
def device_in_a_program(x):
    return x + pnp.zeros(4, device="cpu")


@given(LINE)
def places_in_a_number(x):
    return x[pnp.nonzero(3.0)[0]]


@given(LINE)
def negative_size(x):
    return pnp.unique(x, size=-1)


@given(MATRIX)
def distinct_rows_along_no_axis(x):
    return pnp.unique(x, axis=2, size=2)


@given(LINE)
def elements_of_both_without_size(x):
    return pnp.intersect1d(x, [1, 2])


@given(LINE)
def exponent_that_is_no_integer(x):
    return pnp.ldexp(x, 0.5)


@given(TRUTHS)
def order_of_bits(x):
    return pnp.packbits(x, bitorder="middle")


@given(LINE)
def packed_floats(x):
    return pnp.packbits(x)


@given(LINE)
def unpacked_floats(x):
    return pnp.unpackbits(x)


@given(np.zeros(2, np.uint8))
def more_bits_left_out_than_there_are(x):
    return pnp.unpackbits(x, count=-17)


@given(LINE)
def grid_of_a_number(x):
    return pnp.mgrid[3] + x


@given(PLACES)
def grid_to_a_traced_bound(n):
    return np.ogrid[0 : n[0]]


@given(PLACES)
def triangle_of_a_traced_size(n):
    return pnp.tril_indices(n[0])


@given(MATRIX)
def cross_product_of_places_in_a_matrix(x):
    return x[pnp.ix_([[0, 1]], [0])]


@given(np.zeros((2, 2, 2)))
def points_of_three_axes(x):
    return pnp.histogramdd(x)


@given(LINE)
def coordinates_of_two_lengths(x):
    return pnp.histogram2d(x, x[:2])


@given(MATRIX)
def bins_of_another_number(x):
    return pnp.histogramdd(x, [1, 2])


@given(LINE)
def order_by_no_key(x):
    return x[pnp.lexsort([])]


@given(LINE)
def keys_of_two_lengths(x):
    return x[pnp.lexsort([x, x[:2]])]


@given(PLACES)
def partition_at_a_traced_place(x):
    return pnp.partition(x, x[0])


@given(LINE)
def partition_behind_the_end(x):
    return pnp.argpartition(x, 4)


@given(LINE)
def zeros_that_are_traced(x):
    return pnp.trim_zeros(x)


@given(LINE)
def zeros_trimmed_in_the_middle(x):
    return x + pnp.trim_zeros([1, 2, 3, 4], "m")


@given(MATRIX)
def matrix_of_conditions(x):
    return pnp.compress(x > 0, x)


@given(MATRIX)
def coefficients_in_a_matrix(x):
    return pnp.polyadd(x, 1)


@given(LINE)
def division_by_no_coefficients(x):
    return pnp.polydiv(x, [])


@given(LINE)
def derivative_of_a_negative_order(x):
    return pnp.polyder(x, -1)


@given(LINE)
def constants_of_another_number(x):
    return pnp.polyint(x, 3, [1, 2])


@given(MATRIX)
def powers_of_a_matrix(x):
    return pnp.vander(x)


@given(LINE)
def powers_of_a_negative_number(x):
    return pnp.vander(x, -1)


@given(LINE)
def functions_of_another_number(x):
    return pnp.piecewise(x, [x > 0], [1, 2, 3])


@given(LINE)
def condition_of_another_shape(x):
    return pnp.piecewise(x, [x[:2] > 0], [1])


@given(LINE)
def geometric_sequence_from_zero(x):
    return pnp.geomspace(0, x[1])


@given(PAIRS)
def real_parts_if_the_rest_is_small(x):
    return pnp.real_if_close(x)


@given(PLACES)
def window_of_a_traced_length(n):
    return pnp.hanning(n[0])


# --- methods of ufuncs ----------------------------------------------------------------------------


@given(MATRIX)
def several_axes_where_the_order_decides(x):
    return np.subtract.reduce(x, axis=None)


@given(LINE)
def a_mask_without_an_identity(x):
    return np.fmin.reduce(x, where=x > 1)


@given(LINE)
def nothing_to_reduce(x):
    return np.fmin.reduce(x[:0])


@given(LINE)
def comparisons_one_after_the_other(x):
    return np.less.reduce(x)


@given(LINE)
def parts_from_places_of_floats(x):
    return np.add.reduceat(x, [0.5])


@given(LINE, PLACES)
def parts_along_no_axis(x, places):
    return np.subtract.reduceat(x, places, axis=1)


@given(LINE)
def a_slice_changed_in_turn(x):
    y = x.copy()
    np.divide.at(y, slice(2), 2.0)
    return y


@given(PAIRS)
def bessel_function_of_complex_numbers(x):
    return np.i0(x)


@given(LINE)
def window_of_several_shapes(x):
    return np.kaiser(4, x)
