"""Programs whose shapes, axes or numbers of arrays do not fit together.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from pyc import lax
from tests.errors.case import EMPTY, LINE, MATRIX, PLACES, SINGLE, SQUARE, TRUTHS, given

# --- any function ---------------------------------------------------------------------------------


@given(LINE, MATRIX)
def shapes_that_do_not_broadcast(x, m):
    y = x * 2
    return y + m


@given(MATRIX)
def axis_out_of_bounds(m):
    return m.sum(axis=2)


@given(MATRIX)
def axis_twice(m):
    return np.sum(m, axis=(0, 0))


@given(LINE)
def negative_dimension(x):
    return np.zeros((2, -1)) + x


@given(EMPTY)
def maximum_of_nothing(m):
    return m.max(axis=0)


@given(EMPTY)
def quantile_of_nothing(m):
    return np.quantile(m, 0.5, axis=0)


# --- making arrays --------------------------------------------------------------------------------


@given(LINE)
def negative_number_of_samples(x):
    return np.linspace(0, x[0], -3)


@given(LINE)
def indices_of_nothing(x):
    return np.indices(()) + x


@given(LINE)
def triangle_of_a_number(x):
    return pnp.triu(x[0])


@given(MATRIX)
def broadcast_to_a_shape_that_does_not_fit(m):
    return np.broadcast_to(m, (2, 4))


@given(SQUARE)
def diagonal_of_a_cube(m):
    return np.diag(m[None])


@given(MATRIX)
def places_of_the_diagonal_of_an_oblong(m):
    return m[np.diag_indices_from(m)]


@given(LINE)
def places_of_the_triangle_of_a_line(x):
    return x[np.tril_indices_from(x)]


@given(MATRIX, TRUTHS)
def diagonal_filled_from_outside(m, t):
    a = m[0] * 1
    np.fill_diagonal(a, 1)
    return a


@given(LINE)
def nothing_put_in_places(x):
    a = x * 1
    np.place(a, x > 0, x[:0])
    return a


# --- other forms of an array ----------------------------------------------------------------------


@given(MATRIX)
def two_open_dimensions(m):
    return m.reshape(-1, -1)


@given(MATRIX)
def open_dimension_that_does_not_divide(m):
    return m.reshape(4, -1)


@given(MATRIX)
def transposed_by_no_permutation(m):
    return m.transpose(0, 0)


@given(LINE)
def transposed_line(x):
    return np.matrix_transpose(x)


@given(MATRIX)
def axes_moved_to_too_few(m):
    return np.moveaxis(m, (0, 1), (0,))


@given(MATRIX)
def squeezed_along_a_long_axis(m):
    return m.squeeze(0)


@given(LINE)
def nothing_concatenated(x):
    return np.concatenate([]) + x


@given(LINE)
def numbers_concatenated(x):
    return np.concatenate([x[0], x[1]])


@given(MATRIX, SQUARE)
def rows_of_other_lengths_concatenated(m, s):
    return np.concatenate([m * 1, s], axis=1)


@given(LINE)
def nothing_stacked(x):
    return np.stack([]) + x


@given(LINE, PLACES)
def other_lengths_stacked(x, p):
    return np.stack([x, p])


@given(LINE)
def parts_that_are_not_equal(x):
    return np.split(x, 3)


@given(LINE)
def no_parts(x):
    return np.array_split(x, 0)


@given(MATRIX)
def turned_in_one_axis(m):
    return np.rot90(m, axes=(1, 1))


@given(LINE)
def repeated_less_than_never(x):
    return np.repeat(x, -1)


@given(LINE)
def repeated_by_too_few_numbers(x):
    return np.repeat(x, [1, 2, 3])


@given(LINE)
def padded_by_less_than_nothing(x):
    return np.pad(x, (-1, 2))


@given(LINE, MATRIX)
def padded_with_numbers_that_do_not_fit(x, m):
    return np.pad(x, 1, constant_values=m)


@given(LINE)
def line_as_the_matrix_of_a_product(x):
    return np.matvec(x, x)


@given(LINE)
def block_of_nothing(x):
    return np.block([[], [x]])


@given(LINE, TRUTHS)
def deleted_by_too_few_truths(x, t):
    return np.delete(x, [True, False])


@given(LINE, PLACES)
def deleted_at_traced_places(x, p):
    return np.delete(x, p)


@given(LINE)
def selected_by_fewer_conditions(x):
    return np.select([x > 1], [x, -x])


@given(LINE)
def windows_with_too_many_sizes(x):
    return np.lib.stride_tricks.sliding_window_view(x, (2, 2))


@given(LINE)
def window_that_is_too_wide(x):
    return np.lib.stride_tricks.sliding_window_view(x, 9)


@given(LINE)
def line_flipped_sideways(x):
    return np.fliplr(x)


# --- indexing and changing ------------------------------------------------------------------------


@given(LINE, PLACES)
def update_of_places_with_too_much(x, p):
    return x.at[p].set(x)


@given(LINE)
def update_of_a_part_with_too_much(x):
    return x.at[:2].set(x)


@given(LINE, MATRIX)
def taken_along_an_axis_with_another_rank(x, m):
    return np.take_along_axis(x, m.astype(int), 0)


@given(MATRIX)
def slice_with_too_few_starts(m):
    return lax.dynamic_slice(m, (0,), (1, 1))


@given(MATRIX, LINE)
def slice_that_starts_at_an_array(m, x):
    return lax.dynamic_slice(m, (x.astype(int), 0), (1, 1))


@given(LINE)
def slice_that_is_larger_than_its_array(x):
    return lax.dynamic_slice(x, (0,), (9,))


@given(LINE, PLACES)
def part_that_is_larger_than_its_array(x, p):
    return lax.dynamic_update_slice(x, np.zeros(9), (p[0],))


@given(LINE)
def result_that_is_larger_than_its_array(x):
    a = np.zeros(2)
    a += x
    return a


@given(LINE)
def values_that_do_not_fit_their_places(x):
    a = np.zeros(6)
    a[:3] = x
    return a


@given(LINE)
def places_of_values_that_do_not_fit(x):
    a = np.zeros(6)
    a[[1, 2, 3]] = x[None, :2].repeat(2, 0)
    return a


@given(MATRIX, LINE)
def values_under_a_mask_that_do_not_fit(m, x):
    a = m * 1
    a[a[:, 0] > 1] = x
    return a


@given(LINE, TRUTHS)
def places_put_under_another_mask(x, t):
    a = np.zeros(3)
    np.putmask(a, t, x)
    return a


@given(LINE, PLACES)
def numbered_by_too_few_places(x, p):
    return np.ravel_multi_index((p,), (2, 3))


# --- linear algebra -------------------------------------------------------------------------------


@given(LINE)
def product_with_a_number(x):
    return np.matmul(x, 2.0)


@given(LINE, MATRIX)
def inner_dimensions_of_a_product(x, m):
    h = np.exp(m)
    return h @ x


@given(MATRIX, SQUARE)
def inner_dimensions_of_dot(m, s):
    return np.dot(m, m)


@given(LINE)
def vecdot_of_a_number(x):
    return pnp.vecdot(x, x[0])


@given(MATRIX, SQUARE)
def tensordot_of_other_lengths(m, s):
    return np.tensordot(m, s, axes=([0], [0]))


@given(SQUARE)
def tensordot_over_an_axis_twice(s):
    return np.tensordot(s, s, axes=([0, 0], [0, 1]))


@given(LINE)
def cross_product_of_four_elements(x):
    return np.cross(x, x)


@given(LINE)
def cross_product_in_another_dimension(x):
    return np.linalg.cross(x, x)


@given(MATRIX)
def einsum_of_other_sizes(m):
    return np.einsum("ij,jk->ik", m, m)


@given(MATRIX)
def einsum_of_too_many_operands(m):
    return np.einsum("ij,jk->ik", m)


@given(MATRIX)
def einsum_with_too_few_labels(m):
    return np.einsum("i->i", m)


@given(MATRIX)
def einsum_of_a_diagonal_of_an_oblong(m):
    return np.einsum("ii->i", m)


@given(MATRIX)
def einsum_with_a_new_label(m):
    return np.einsum("ij->ik", m)


@given(LINE)
def trace_of_a_line(x):
    return np.linalg.matrix_norm(x)


@given(MATRIX)
def product_of_one_matrix(m):
    return np.linalg.multi_dot([m])


@given(SQUARE, LINE)
def product_of_several_with_a_line_inside(m, x):
    return np.linalg.multi_dot([m, x[:3], m])


@given(SQUARE)
def norm_of_a_cube(m):
    return np.linalg.norm(m[None], 1)


@given(SQUARE)
def norm_along_three_axes(m):
    return np.linalg.norm(m[None], axis=(0, 1, 2))


@given(MATRIX)
def power_of_an_oblong(m):
    return np.linalg.matrix_power(m, 2)


# --- numerical functions --------------------------------------------------------------------------


@given(MATRIX)
def polynomial_of_a_matrix(m):
    return np.convolve(m, m)


@given(LINE)
def interpolation_of_fewer_values(x):
    return np.interp(x, x, x[1:])


@given(MATRIX)
def gradient_with_too_many_distances(m):
    return np.gradient(m, 1.0, 2.0, 3.0)


@given(LINE)
def gradient_on_an_uneven_grid(x):
    return np.gradient(x, x[1:])


@given(LINE)
def gradient_of_one_element(x):
    return np.gradient(x[:1])


@given(LINE)
def convolution_with_nothing(x):
    return np.convolve(x, x[:0])


@given(SQUARE)
def covariance_of_a_cube(m):
    return np.cov(m[None])


@given(PLACES)
def counts_of_unknown_length(p):
    return np.bincount(p)


@given(LINE)
def histogram_with_one_edge(x):
    return np.histogram(x, bins=[1.0])


@given(MATRIX)
def correlation_of_matrices(m):
    return np.correlate(m, m)


@given(MATRIX)
def running_maximum_of_several_axes(m):
    return np.maximum.accumulate(m, axis=None)


@given(MATRIX)
def running_sum_without_an_axis(m):
    return np.cumulative_sum(m)


@given(EMPTY)
def function_applied_to_no_lines(m):
    return np.apply_along_axis(lambda line: line.sum(), 1, m)


@given(MATRIX)
def function_over_axes_that_adds_one(m):
    return np.apply_over_axes(lambda a, axis: a[None], m, 0)


# --- loops ----------------------------------------------------------------------------------------


@given(LINE)
def scan_of_a_negative_length(x):
    return lax.scan(lambda c, _: (c, c), x, length=-1)


@given(LINE)
def sort_of_no_axis(x):
    return np.sort(x[0])


@given(LINE)
def running_maximum_of_a_number(x):
    return np.maximum.accumulate(x[0])


@given(SINGLE, LINE)
def sorted_places_in_a_matrix(x, y):
    return np.searchsorted(x.reshape(1, 3), y)


# --- in place -------------------------------------------------------------------------------------


@given(LINE, MATRIX)
def part_that_gets_more_axes_than_it_has(x, m):
    a = np.zeros(3)
    a[:] = m
    return a


@given(MATRIX, PLACES)
def places_that_get_more_axes_than_they_have(m, p):
    a = np.zeros(3)
    a[p] = m
    return a


@given(MATRIX, LINE)
def mask_that_does_not_fit_what_it_assigns_to(m, x):
    a = m * 1
    a[x > 1] = 0
    return a


@given(LINE, MATRIX)
def mask_that_does_not_fit_what_it_updates(x, m):
    a = x * 1
    a[m > 1] += 1
    return a


@given(MATRIX, LINE)
def values_that_do_not_fit_rows_under_a_mask(m, x):
    a = m * 1
    a[a[:, 0] > 1, 1:] = x[:2, None]
    return a


@given(MATRIX, LINE)
def too_many_values_for_a_row_under_a_mask(m, x):
    a = m[:, :1] * 1
    a[m[:, 0] > 1, :] = x[:3]
    return a


@given(LINE, MATRIX)
def sum_that_is_written_into_a_smaller_array(x, m):
    out = np.zeros(3)
    np.add(m, 1, out=out)
    return out


@given(MATRIX)
def broadcast_to_fewer_rows(m):
    return np.broadcast_to(m, (3,))


@given(LINE)
def scan_that_returns_no_pair(x):
    return lax.scan(lambda c, v: "late", 0.0, x)


# --- the best, and cases of one shape -------------------------------------------------------------


@given(MATRIX)
def best_of_more_than_there_are(m):
    return pnp.topk(m, 3, axis=0)


@given(LINE)
def no_cases(x):
    return lax.select_n(x > 1)


@given(LINE)
def cases_of_two_shapes(x):
    return lax.select(x > 1, x, x[:2])


@given(LINE)
def choice_of_another_shape(x):
    return lax.select(x[:2] > 1, x, x)


# --- running combinations -------------------------------------------------------------------------


@given(LINE, MATRIX)
def scan_of_other_lengths(x, m):
    return lax.associative_scan(lambda a, b: a, (x, m))


@given(MATRIX)
def scan_that_drops_an_axis(m):
    return lax.associative_scan(lambda a, b: a[0] + b[0], m)


@given(LINE)
def scan_of_a_pair_that_gives_a_number(x):
    return lax.associative_scan(lambda a, b: a[0] * b[0] + a[1], (x, x))


@given(MATRIX, LINE, PLACES)
def values_that_do_not_fit_a_slice_with_a_traced_bound(m, x, p):
    a = m * 1
    a[p[0] :, :] = x[:2]
    return a


@given(LINE)
def weights_of_bins_of_another_length(x):
    return np.histogram(x, weights=x[:1])


@given(LINE)
def weights_of_edges_of_another_length(x):
    return np.histogram_bin_edges(x, weights=x[:1])


@given(LINE)
def weights_of_points_of_another_number(x):
    return np.histogram2d(x, x, weights=x[:1])[0]


@given(MATRIX)
def more_axes_of_a_product_than_there_are(m):
    return np.tensordot(m, m, 3)


@given(LINE)
def part_behind_the_end(x):
    return np.subtract.reduceat(x, [0, 4])


@given(LINE)
def rows_of_several_lengths(x):
    rows = [[1, 2], [3]]
    return x + rows


@given(LINE)
def interpolation_between_no_points(x):
    return np.interp(x, x[:0], x[:0])
