"""Programs that give a function of NumPy an argument that it does not take in that form.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from pyc.scipy import special
from tests.errors.case import LINE, MATRIX, PLACES, given


@given(LINE, PLACES)
def choice_by_numbers(x, p):
    return np.select([p], [x[:3]])


@given(LINE)
def sign_of_bools(x):
    return np.positive(x > 0)


@given(LINE)
def einsum_to_a_lower_kind(x):
    return np.einsum("i->", x, dtype=np.int8)


@given(LINE)
def einsum_of_too_many_axes(x):
    return np.einsum(x, [60])


@given(LINE)
def padded_along_more_axes(x):
    return np.pad(x, ((1, 1), (1, 1)))


@given(LINE)
def padded_with_more_constants(x):
    return np.pad(x, 1, constant_values=(1, 2, 3))


@given(LINE)
def slopes_at_other_places(x):
    return np.gradient(x, x[:2])


@given(LINE)
def end_of_another_kind(x):
    return np.ediff1d(x.astype(int), to_end=0.5)


@given(LINE)
def counts_that_are_floats(x):
    return np.cov(x, fweights=x)


@given(LINE)
def weights_of_others(x):
    return np.cov(x, aweights=x[:2])


@given(LINE)
def number_that_there_is_not(x):
    return x[pnp.unravel_index([9], (2, 2))[0]]


@given(PLACES)
def numbers_in_another_order(p):
    return np.unravel_index(p, (9, 9), order="K")


@given(PLACES)
def numbers_without_axes(p):
    return np.unravel_index(p, ())


@given(PLACES)
def places_in_another_mode(p):
    return np.ravel_multi_index((p, p), (9, 9), mode="bend")


@given(LINE)
def nothing_but_nan(x):
    return x[pnp.nanargmax([np.nan, np.nan])]


@given(LINE)
def bins_of_weights(x):
    return np.histogram(x, "auto", weights=x)


@given(LINE)
def broken_bins(x):
    return np.histogram(x, 2.5)


@given(LINE)
def quantile_by_another_method(x):
    return np.quantile(x, 0.5, method="middle")


@given(LINE)
def weights_by_another_method(x):
    return np.quantile(x, 0.5, weights=x, method="lower")


@given(LINE)
def weights_without_an_axis(x):
    return np.average(x, weights=x[:2])


@given(LINE)
def weights_along_another_axis(x):
    return np.average(x, axis=0, weights=x[:2])


@given(LINE)
def freedom_said_twice(x):
    return np.var(x, ddof=1, correction=1)


@given(LINE)
def bins_in_a_matrix(x):
    return np.digitize(x, x[None])


@given(LINE)
def table_of_floats(x):
    return np.isin(x, x, kind="table")


@given(LINE)
def gamma_of_no_dimensions(x):
    return special.multigammaln(x, 0)


@given(LINE)
def numbers_of_a_negative_order(x):
    return x[:1] * special.bernoulli(-1)


@given(LINE)
def exact_factorials(x):
    return special.factorial(x, exact=True)


@given(LINE)
def kind_of_sort_that_there_is_not(x):
    return np.sort(x, kind="bubble")


# --- arrays of lists ------------------------------------------------------------------------------


@given(LINE)
def rows_of_several_lengths(x):
    return pnp.asarray([[1, 2], [3]]) + x[0]


@given(LINE)
def traced_rows_of_several_lengths(x):
    return pnp.asarray([x, x[:1]])


@given(LINE)
def complex_number_in_a_list_of_floats(x):
    return pnp.asarray([1j], np.float64) + x


@given(LINE)
def nan_in_a_list_of_integers(x):
    return pnp.asarray([float("nan")], np.int64) + x


# --- lists of arrays ------------------------------------------------------------------------------


@given(LINE)
def number_to_join(x):
    return pnp.concat(1.5) + x


@given(LINE)
def joined_by_an_unknown_casting(x):
    return np.concatenate([x, x], casting="some")


@given(PLACES)
def nothing_to_choose_from(places):
    return np.choose(places, [])


# --- numbers and options --------------------------------------------------------------------------


@given(MATRIX)
def several_starts_of_a_reduction(m):
    return np.max(m, initial=[1.0, 2.0])


@given(MATRIX)
def bool_for_an_axis(m):
    return np.sum(m, True)


@given(MATRIX)
def axes_to_keep_by_a_text(m):
    return m.sum(keepdims="no")


@given(LINE)
def degrees_of_freedom_in_a_list(x):
    return np.var(x, ddof=[0, 1])


@given(LINE)
def two_shapes(x):
    return pnp.reshape(x, 4, newshape=(2, 2))


@given(MATRIX)
def shape_in_the_order_of_memory(m):
    return np.reshape(m, 6, order="K")


@given(LINE)
def one_value_outside_for_each_place(x):
    return np.interp(x, x, x, left=x)


@given(MATRIX)
def slopes_along_an_axis_twice(m):
    return np.gradient(m, axis=(0, 0))


@given(PLACES)
def weights_of_fewer_counts(places):
    return np.bincount(places, weights=[1.0], minlength=3)


@given(LINE)
def bins_by_an_unknown_rule(x):
    return np.histogram([1.0, 2.0], "some")[0] + x


@given(LINE)
def bins_in_a_range_of_one_number(x):
    return np.histogram(x, range=3)


@given(LINE)
def bins_in_a_range_of_complex_numbers(x):
    return np.histogram(x, range=(0, 1j))


@given(LINE)
def bool_for_a_place(x):
    return np.partition(x, True)


@given(LINE)
def range_without_an_end(x):
    return x + pnp.arange(start=-1)


@given(LINE)
def sort_by_a_kind_and_stable(x):
    return np.sort(x, kind="heapsort", stable=True)


@given(LINE)
def choice_by_no_condition(x):
    return x + np.select([], [])


@given(LINE)
def one_argument_by_two_names(x):
    return pnp.clip(x, min=2, a_min=1)


@given(LINE)
def ufunc_whose_casting_rules_a_conversion_out(x):
    return np.add(x, np.arange(4), casting="no")


@given(LINE)
def scalar_changed_in_place(x):
    total = x.sum()
    total[...] = 1
    return total


@given(LINE)
def sum_of_no_elements_from_the_first(x):
    return np.sum(x[:0], initial=None)


@given(LINE)
def product_under_a_mask_from_the_first(x):
    return np.prod(x, where=x > 0, initial=None)


@given(MATRIX)
def axes_in_a_list(x):
    return np.sum(x, axis=[0, 1])


@given(LINE)
def array_for_a_type(x):
    return np.sum(x, dtype=x)


@given(LINE)
def copy_by_a_text(x):
    return np.reshape(x, (2, 2), copy="never")


@given(LINE)
def array_like_a_number(x):
    return np.require(x, like=3)


@given(LINE)
def more_axes_than_there_are(x):
    return np.array(x, ndmax=100)


@given(LINE)
def sum_from_a_text(x):
    return np.sum(x, initial="0")


@given(LINE)
def range_to_no_number(x):
    return x + np.arange(0, float("nan"))


@given(MATRIX)
def triangle_by_a_list(x):
    return np.linalg.eigvalsh(x @ x.T, UPLO=["L"])


@given(LINE)
def frequencies_of_no_distance(x):
    return x + np.fft.fftfreq(4, 0.0)


@given(LINE)
def bins_in_a_range_that_is_a_number(x):
    return np.histogramdd((x, x), 3, range=4)[0]


@given(LINE)
def argument_by_place_and_by_name(x):
    return pnp.clip(x, 0, 1, max=2)


@given(MATRIX)
def norm_of_several_orders(x):
    return np.linalg.norm(x, ord=[1, 2])


@given(MATRIX)
def norm_along_a_list_of_axes(x):
    return np.linalg.norm(x, axis=[0, 1])


@given(MATRIX)
def contraction_along_no_path(x):
    return np.einsum("ij,kj,kl->il", x, x, x, optimize=[1, 2])


@given(MATRIX)
def axes_exchanged_by_a_truth(x):
    return np.transpose(x, axes=True)


@given(MATRIX)
def turned_in_one_axis(x):
    return np.rot90(x, 1, axes=1)


@given(LINE)
def variance_about_nothing(x):
    return np.nanvar(x, mean=None)


@given(MATRIX)
def covariance_in_integers(x):
    return np.cov(x, dtype="int8")


@given(MATRIX)
def solution_along_one_axis(x):
    return np.linalg.tensorsolve(x, x[0], axes=1)


@given(LINE)
def search_by_one_index(x):
    return np.searchsorted(x, 1.0, sorter=0)


@given(LINE)
def members_or_others_by_a_list(x):
    return np.isin(x, [1.0, 2.0], invert=[0])


@given(LINE)
def elements_by_a_signature_that_is_a_number(x):
    return pnp.vectorize(lambda a: a + 1, signature=3)(x)


@given(LINE)
def elements_of_types_that_there_are_not(x):
    return pnp.vectorize(lambda a: a + 1, otypes="x")(x)


@given(LINE)
def elements_by_an_array_of_caches(x):
    return np.vectorize(lambda a: a + 1, excluded=3)(x)


@given(MATRIX)
def product_of_some_elements(x):
    return np.matmul(x, x.T, where=True)


@given(LINE)
def ufunc_with_an_axis(x):
    return np.sin(x, axis=0)


@given(LINE)
def ufunc_by_no_signature(x):
    return np.add(x, 1, signature=None)


@given(LINE)
def copied_where_there_are_numbers(x):
    y = x.copy()
    np.copyto(y, 1.0, where=1)
    return y


@given(LINE)
def flag_that_is_a_fraction(x):
    return np.zeros_like(x, subok=0.5)


@given(LINE)
def smoothed_over_a_truth(x):
    return np.unwrap(x, axis=True)
