"""Programs that give numerical functions arguments that they do not take.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from tests.errors.case import LINE, MATRIX, PAIRS, PLACES, SQUARE, TRUTHS, given

# --- polynomials ----------------------------------------------------------------------------------


@given(MATRIX)
def roots_of_a_table(m):
    return np.roots(m)


@given(LINE)
def roots_of_a_negative_number(x):
    return pnp.roots(x, size=-1)


@given(MATRIX)
def polynomial_of_a_table(m):
    return np.poly(m)


@given(LINE)
def fit_of_a_negative_degree(x):
    return np.polyfit(x, x, -1)


@given(MATRIX)
def fit_at_places_in_a_table(m):
    return np.polyfit(m, m, 1)


@given(LINE)
def fit_of_fewer_values(x):
    return np.polyfit(x, x[1:], 1)


@given(LINE)
def fit_of_fewer_weights(x):
    return np.polyfit(x, x, 1, w=x[1:])


@given(LINE)
def fit_of_few_points(x):
    return np.polyfit(x[:2], x[:2], 1, cov=True)


# --- padding --------------------------------------------------------------------------------------


@given(LINE)
def padded_by_a_function(x):
    return np.pad(x, 1, mode=lambda vector, width, axis, options: None)


@given(LINE)
def padded_by_half_an_element(x):
    return np.pad(x, 0.5)


@given(LINE)
def padded_with_nothing(x):
    return np.pad(x[:0], 1, mode="edge")


@given(LINE)
def reflected_in_an_unknown_way(x):
    return np.pad(x, 1, mode="reflect", reflect_type="both")


@given(LINE)
def padded_with_the_mean_of_less_than_nothing(x):
    return np.pad(x, 1, mode="mean", stat_length=-1)


@given(LINE)
def padded_with_the_greatest_of_nothing(x):
    return np.pad(x, 1, mode="maximum", stat_length=0)


# --- samples --------------------------------------------------------------------------------------


@given(LINE)
def period_of_zero(x):
    return np.interp(x, x, x, period=0)


@given(LINE)
def gradient_of_third_order(x):
    return np.gradient(x, edge_order=3)


@given(MATRIX)
def covariance_of_a_fraction(m):
    return np.cov(m, ddof=0.5)


@given(MATRIX)
def covariance_of_fewer_weights(m):
    return np.cov(m, aweights=m[0, :2])


@given(MATRIX)
def covariance_of_weights_below_zero(m):
    return np.cov(m, aweights=[-1.0, 1.0, 1.0])


@given(MATRIX)
def covariance_of_fractions_of_observations(m):
    return np.cov(m, fweights=m[0])


@given(MATRIX, LINE)
def average_of_weights_without_an_axis(m, x):
    return np.average(m, weights=x)


@given(MATRIX, LINE)
def average_of_weights_of_another_length(m, x):
    return np.average(m, axis=1, weights=x)


@given(LINE)
def quantile_of_weights_between_elements(x):
    return np.quantile(x, 0.5, weights=x)


@given(LINE)
def quantile_of_weights_below_zero(x):
    return np.quantile(x, 0.5, weights=[1.0, 1.0, -1.0, 1.0], method="inverted_cdf")


@given(LINE)
def quantile_of_no_weights(x):
    return np.quantile(x, 0.5, weights=[0.0, 0.0, 0.0, 0.0], method="inverted_cdf")


@given(MATRIX)
def bins_in_a_table(m):
    return np.digitize(m, m)


@given(LINE)
def bins_in_no_order(x):
    return np.digitize(x, [1, 3, 2])


@given(LINE)
def search_in_an_unknown_way(x):
    return np.isin(x, x, kind="hash")


# --- orders and places ----------------------------------------------------------------------------


@given(MATRIX)
def order_that_there_is_not(m):
    return np.ravel(m, "B")


@given(MATRIX)
def order_of_memory(m):
    return m.T.reshape(6, order="A")


@given(PLACES)
def order_of_places(p):
    return np.unravel_index(p, (2, 2), order="A")


@given(PLACES)
def places_in_an_unknown_mode(p):
    return np.ravel_multi_index((p, p), (3, 3), mode="skip")


@given(SQUARE)
def axes_of_another_number(m):
    return np.matmul(m, m, axes=[(0, 1), (0, 1)])


@given(SQUARE)
def matrices_that_stay(m):
    return np.matmul(m, m, keepdims=True)


# --- types ----------------------------------------------------------------------------------------


@given(LINE)
def joined_into_integers(x):
    return np.concatenate([x, x], dtype=np.int32)


@given(LINE)
def summed_in_a_smaller_type(x):
    return np.einsum("i->", x, dtype=np.float32)


@given(PLACES)
def ends_of_another_type(p):
    return np.ediff1d(p, to_end=0.5)


@given(TRUTHS)
def truths_as_larger_numbers(t):
    return t.view(np.int32)


@given(LINE)
def number_as_smaller_ones(x):
    return x[0].view(np.int32)


@given(PAIRS)
def numbers_that_are_no_pairs(z):
    return z.real[:1].view("c16")


@given(LINE)
def numbers_that_do_not_divide(x):
    return x[:3].view("u4")[:5].view("u8")


@given(TRUTHS)
def common_type_of_truths(t):
    return t.astype(np.common_type(t))


@given(LINE)
def types_without_a_common_one(x):
    return x.astype(pnp.promote_types("bfloat16", "float16"))


# --- pieces ---------------------------------------------------------------------------------------


@given(LINE)
def text_behind_a_piece(x):
    return np.r_[x, "0"]


@given(LINE)
def text_of_a_matrix(x):
    return np.r_["r", x]


@given(LINE)
def text_that_says_nothing(x):
    return np.r_["first", x]


@given(LINE)
def requirement_that_there_is_not(x):
    return np.require(x, requirements=["X"])


@given(LINE)
def fewer_items_than_asked_for(x):
    return pnp.fromiter([1, 2], np.int64, 3) + x[:3]


# --- complex numbers ------------------------------------------------------------------------------


@given(PAIRS)
def signs_of_complex_numbers(z):
    return np.signbit(z)


@given(PAIRS)
def complex_numbers_counted_in_bins(z):
    return np.histogram(z)


@given(PLACES)
def nan_among_integers(i):
    j = i.copy()
    j[0] = np.nan
    return j


@given(PLACES)
def integer_of_a_list_beyond_the_type(i):
    j = i.astype(np.uint8)
    j[:2] = [1, 300]
    return j


@given(PLACES)
def fraction_copied_to_integers(i):
    j = i.copy()
    np.copyto(j, 1.5)
    return j
