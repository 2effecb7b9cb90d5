"""Programs that give a function of NumPy an argument that it does not take in that form.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from pyc.scipy import special
from tests.errors.case import LINE, PLACES, given


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
