"""Programs with numbers that do not fit a type, or values that an argument does not take.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

from pyc import lax
from tests.errors.case import LINE, MATRIX, SINGLE, SQUARE, TRUTHS, given

# --- numbers and types ----------------------------------------------------------------------------


@given(LINE)
def integer_beyond_the_type(x):
    return x.astype(np.uint8) + 300


@given(LINE, 300)
def integer_argument_beyond_the_type(x, n):
    return x.astype(np.uint8) + n


@given(LINE)
def complex_number_in_a_real_array(x):
    return x.at[0].set(1j)


@given(LINE)
def ufunc_in_a_lesser_type(x):
    return np.add(x, 1.5, dtype=int)


@given(SINGLE)
def conversion_that_casting_rules_out(x):
    return x.astype(np.int8, casting="safe")


# --- sizes ----------------------------------------------------------------------------------------


@given(LINE)
def more_axes_than_there_can_be(x):
    return x.reshape((1,) * 64 + (4,))


@given(LINE)
def more_elements_than_any_memory(x):
    return np.broadcast_to(x[0], (2**40, 2**23))


@given(MATRIX)
def vecdot_of_two_lengths(m):
    return np.vecdot(m, m[:, :1])


@given(LINE)
def differences_a_negative_number_of_times(x):
    return np.diff(x, n=-1)


@given(LINE)
def endless_shift(x):
    return np.roll(x, np.inf)


# --- values of arguments --------------------------------------------------------------------------


@given(LINE)
def mode_of_reading(x):
    return x.at[0].get(mode="nearest")


@given(LINE)
def mode_of_writing(x):
    return x.at[0].set(1.0, mode="nearest")


@given(LINE)
def values_of_a_traced_mask(x):
    return x.at[x > 2].set(np.ones(2))


@given(LINE)
def mask_of_another_shape(x):
    return x.at[x[:3] > 2].set(0)


@given(LINE)
def option_of_padding(x):
    return np.pad(x, 1, mode="mean", reflect_type="odd")


@given(LINE)
def order_of_a_grid(x):
    return np.meshgrid(x, x, indexing="xz")


@given(LINE)
def mode_of_choosing(x):
    return np.choose(x.astype(int), [x, x], mode="none")


@given(LINE)
def mode_of_convolution(x):
    return np.convolve(x, x, mode="none")


@given(LINE)
def edges_that_descend(x):
    return np.histogram(x, [2.0, 1.0])


@given(LINE)
def no_bins(x):
    return np.histogram(x, 0)


@given(LINE)
def range_that_descends(x):
    return np.histogram(x, 4, (2, 1))


@given(LINE)
def fraction_above_one(x):
    return np.quantile(x, 1.5)


@given(LINE)
def side_that_there_is_not(x):
    return np.searchsorted(x, 1.0, side="middle")


@given(LINE)
def no_branches(x):
    return lax.switch(0, [], x)


@given(SQUARE)
def steps_of_an_iteration_below_zero(m):
    return lax.map(lambda row: row * 2, m, batch_size=-1)


@given(LINE, np.array(3))
def steps_of_a_loop_of_unknown_length(x, n):
    return lax.fori_loop(0, n, lambda i, c: c + i, x, unroll=2)


@given(np.array([1.0, np.nan, 2.0]))
def bins_of_a_range_that_is_not_finite(x):
    return np.histogram(x)


@given(np.array([1, 12]))
def number_that_a_shape_does_not_have(i):
    return np.unravel_index(i, (3, 4))


@given(np.array([1, 12]))
def modes_of_fewer_axes(i):
    return np.ravel_multi_index((i, i), (3, 4), mode=("wrap",))


@given(TRUTHS)
def quantile_between_bools(x):
    return np.quantile(x, 0.5, method="hazen")
