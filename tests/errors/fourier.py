"""Programs that ask for Fourier transforms that there are not.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

from tests.errors.case import EMPTY, LINE, MATRIX, PAIRS, given


@given(LINE)
def norm_that_is_unknown(x):
    return np.fft.fft(x, norm="orthogonal")


@given(LINE)
def transform_of_nothing(x):
    return np.fft.ifft(x, n=0)


@given(EMPTY)
def transform_of_an_empty_axis(x):
    return np.fft.fft(x, axis=0)


@given(LINE)
def length_that_is_no_integer(x):
    return np.fft.rfft(x, n=2.5)


@given(LINE)
def axis_that_is_not_there(x):
    return np.fft.fft(x, axis=1)


@given(PAIRS)
def complex_numbers_for_real_ones(x):
    return np.fft.rfft(x)


@given(MATRIX)
def lengths_for_other_axes(x):
    return np.fft.fftn(x, s=(2, 2), axes=(0,))


@given(MATRIX)
def no_axes_of_real_numbers(x):
    return np.fft.rfftn(x, axes=())


@given(MATRIX)
def no_axes_back_to_real_numbers(x):
    return np.fft.irfftn(x, axes=())


@given(LINE)
def frequencies_of_a_fraction(x):
    return np.fft.fftfreq(2.5, x)


@given(LINE)
def frequencies_of_a_part_of_one(x):
    return np.fft.rfftfreq(x)


@given(LINE)
def frequencies_of_no_samples(x):
    return np.fft.fftfreq(0) + x


@given(MATRIX)
def transform_along_one_number(x):
    return np.fft.fftn(x, axes=0)
