"""Programs that are given element types, or values of Python, that an operation does not take.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from pyc import lax
from pyc.interpreter import bind1
from tests.errors.case import EMPTY, LINE, MATRIX, PAIRS, PLACES, SQUARE, TRUTHS, given

# --- what arrays are made of ----------------------------------------------------------------------


@given(LINE)
def list_of_texts(x):
    return pnp.sum(["a", "b"]) + x


@given(LINE)
def list_of_large_integers(x):
    return pnp.sum([10**30]) + x


@given(LINE)
def dtype_of_texts(x):
    return x.astype("U3")


@given(LINE)
def long_double(x):
    return pnp.add(x, np.arange(4, dtype=np.longdouble))


@given(LINE)
def places_of_dates(x):
    return pnp.arange(3, dtype="M8[s]") + x


@given(LINE)
def object_in_an_operation(x):
    return pnp.add(x, object())


@given(LINE)
def unknown_kind_of_dtype(x):
    return pnp.isdtype(x.dtype, "numeral")


@given(LINE)
def axis_that_is_no_integer(x):
    return np.sum(x, axis=0.5)


@given(LINE)
def shape_that_is_no_integer(x):
    return np.full((2, 1.5), x[0])


@given(LINE)
def range_of_long_doubles(x):
    return pnp.arange(np.longdouble(4)) + x


# --- element types --------------------------------------------------------------------------------


@given(LINE)
def bits_of_floats(x):
    return x & 1


@given(LINE)
def inverted_floats(x):
    return ~x


@given(LINE)
def bits_counted_of_floats(x):
    return np.bitwise_count(x)


@given(PAIRS)
def rounded_complex_numbers(z):
    return np.floor(z)


@given(TRUTHS)
def subtracted_bools(t):
    return t - t


@given(TRUTHS)
def negative_of_bools(t):
    return -t


@given(PAIRS)
def complex_numbers_in_logaddexp(z):
    return np.logaddexp(z, z)


@given(PAIRS)
def complex_angles(z):
    return np.deg2rad(z)


@given(PAIRS)
def complex_numbers_in_cbrt(z):
    return np.cbrt(z)


@given(PAIRS)
def complex_numbers_in_arctan2(z):
    return np.arctan2(z, z)


@given(PAIRS)
def complex_numbers_in_copysign(z):
    return np.copysign(z, z)


@given(PAIRS)
def quantile_of_complex_numbers(z):
    return np.quantile(z, 0.5)


@given(PAIRS)
def complex_numbers_in_bins(z):
    return np.digitize(z, [0, 1])


@given(PAIRS)
def first_of_complex_numbers(z):
    return pnp.topk(z, 1)


@given(PAIRS)
def complex_numbers_as_truths(z):
    return z.view(bool)


@given(PAIRS)
def complex_number_as_a_float(z):
    a = np.zeros(2)
    a += z
    return a


@given(PLACES, LINE)
def floats_added_to_integers_in_place(p, x):
    a = p * 1
    a += x[:3]
    return a


@given(PLACES, LINE)
def floats_copied_to_integers(p, x):
    a = p * 1
    np.copyto(a, x[:3])
    return a


@given(LINE)
def counts_of_floats(x):
    return np.bincount(x, minlength=4)


@given(LINE)
def choice_by_floats(x):
    return np.choose(x, [x, x])


@given(LINE)
def repeated_by_floats(x):
    return np.repeat(x, 1.5)


@given(SQUARE)
def inverse_of_half_floats(m):
    return np.linalg.inv(m.astype(np.float16))


@given(MATRIX)
def norm_of_matrices_of_an_unknown_kind(m):
    return np.linalg.norm(m, 3)


@given(LINE)
def norm_of_an_unknown_kind(x):
    return pnp.linalg.vector_norm(x, ord="fro")


@given(PLACES)
def quotients_of_integers(p):
    return p.at[0].divide(2)


@given(LINE)
def loop_between_signed_and_unsigned(x):
    return lax.fori_loop(np.uint64(0), np.int64(3), lambda i, c: c + 1, x)


@given(PLACES)
def number_that_does_not_fit_what_a_loop_carries(p):
    return lax.fori_loop(0, 3, lambda i, c: 300, np.uint8(1)) + p


@given(LINE, PLACES)
def operation_on_two_types(x, p):
    return bind1("add", x[:3], p)


# --- indices --------------------------------------------------------------------------------------


@given(LINE)
def two_ellipses(x):
    return x[..., ...]


@given(LINE)
def too_many_indices(x):
    y = x + 1
    return y[0, 1]


@given(LINE)
def index_out_of_bounds(x):
    return x[4]


@given(LINE)
def list_of_indices_out_of_bounds(x):
    return x[[0, -5]]


@given(LINE)
def mask_of_another_length(x):
    return x[[True, False]]


@given(LINE)
def slice_by_a_float(x):
    return x[: 4 / 2]


@given(LINE)
def indices_that_are_floats(x):
    return x[x]


@given(LINE)
def deleted_out_of_bounds(x):
    return np.delete(x, 7)


@given(LINE)
def deleted_at_a_float(x):
    return np.delete(x, 1.5)


@given(LINE)
def inserted_at_a_traced_float(x):
    return np.insert(x, x[0], 1.0)


@given(LINE)
def unravelled_floats(x):
    return np.unravel_index(x, (2, 2))


# --- what depends on data -------------------------------------------------------------------------


@given(LINE)
def places_where(x):
    return pnp.where(x > 1)


@given(LINE)
def places_of_what_is_not_zero(x):
    return pnp.nonzero(x)


@given(LINE)
def unique_elements(x):
    return np.unique(x)


@given(LINE)
def places_found(x):
    return pnp.argwhere(x > 1)


@given(LINE, PLACES)
def repeated_by_traced_numbers(x, p):
    return np.repeat(x[:3], p)


@given(LINE)
def quantile_by_an_unknown_rule(x):
    return np.quantile(x, x[0], method="best")


@given(LINE)
def histogram_with_automatic_bins(x):
    return np.histogram(x, bins="auto")


@given(LINE, LINE)
def as_many_values_as_a_mask_selects(x, y):
    a = x * 1
    a[a > 1] = y
    return a


@given(LINE, LINE)
def as_many_values_as_a_mask_selects_added(x, y):
    a = x * 1
    a[a > 1] += y
    return a


@given(LINE, LINE)
def as_many_values_as_a_known_place_needs(x, y):
    a = x * 1
    a[x > 1, ...] = y
    return a


@given(PLACES, PLACES)
def negative_power_of_an_integer(p, q):
    return p ** (q - 1)


@given(LINE)
def list_that_its_dtype_does_not_hold(x):
    return pnp.array([1, 300], dtype=np.uint8) + x[:2]


@given(LINE)
def conversion_that_is_not_safe(x):
    return x.astype(np.int32, casting="safe")


# --- integers, and cases of one type --------------------------------------------------------------


@given(LINE)
def divisor_of_floats(x):
    return np.gcd(x, 2)


@given(LINE)
def best_of_half_a_number(x):
    return pnp.topk(x, 1.5)


@given(LINE)
def cases_of_two_types(x):
    return lax.select(x > 1, x, x.astype(np.float32))


@given(LINE)
def cases_chosen_by_floats(x):
    return lax.select_n(x, x, x + 1)


@given(LINE)
def three_cases_chosen_by_bools(x):
    return lax.select_n(x > 1, x, x + 1, x + 2)


@given(TRUTHS)
def differences_of_bools(t):
    return np.ediff1d(t)


@given(LINE)
def sine_in_integers(x):
    return np.sin(x > 1, dtype=int)


@given(LINE)
def number_that_is_changed_in_place(x):
    np.put(2.5, [0], x)
    return x


@given(PLACES)
def fractions_added_to_integers(i):
    return i.at[0].add(0.5)


@given(MATRIX)
def index_arrays_of_two_lengths(m):
    return m[[0, 1], [0, 1, 2]]


@given(EMPTY)
def index_of_an_axis_without_elements(x):
    return x[[0], :]


@given(LINE)
def parts_from_a_fraction(x):
    return np.split(x, [1.5])


@given(PLACES, TRUTHS[:3], LINE)
def values_under_a_mask_that_lose_fractions(p, mask, x):
    a = p.copy()
    np.putmask(a, mask, x[:3])
    return a


@given(LINE)
def batches_of_a_part_of_a_slice(x):
    return lax.map(lambda v: v * 2, x, batch_size=1.5)


@given(np.zeros((2, 3, 2)))
def diagonal_of_unequal_axes(a):
    b = a.copy()
    np.fill_diagonal(b, 1.0)
    return b


@given(LINE)
def windows_to_be_written_to(x):
    return np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)


@given(LINE, MATRIX)
def outer_product_of_a_matrix(x, m):
    return np.linalg.outer(x, m)


@given(LINE)
def quantile_by_weights_that_sum_to_nothing(x):
    return np.quantile(x, 0.5, weights=x * 0, method="inverted_cdf")


@given(LINE)
def line_of_what_is_no_iterable(x):
    return x + pnp.fromiter(4, np.float64)


@given(LINE)
def array_of_a_library_that_is_none(x):
    return x + pnp.from_dlpack("x")


@given(LINE)
def rounded_to_half_a_place(x):
    return np.round(x, 1.5)


@given(LINE)
def diagonal_between_two(x):
    return x[:, None] * pnp.eye(4, k=0.5)


@given(LINE)
def complex_number_in_place_of_nan(x):
    return np.nan_to_num(x, nan=1j)
