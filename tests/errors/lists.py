"""Programs that are given lists of which no array can be made, or none where there must be one.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from tests.errors.case import LINE, given

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
