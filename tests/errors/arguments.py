"""Programs that give a function a value that it does not take.

Keep the lines where they are: the golden files name them.
"""

import numpy as np

import pyc.numpy as pnp
from pyc import lax
from tests.errors.case import LINE, PLACES, TRUTHS, given


@given(LINE)
def order_of_a_grid(x):
    return np.meshgrid(x, x, indexing="yx")


@given(LINE, PLACES)
def choice_in_an_unknown_mode(x, p):
    return np.choose(p, [x[:3], x[:3]], mode="skip")


@given(LINE, PLACES)
def update_in_an_unknown_mode(x, p):
    return x.at[p].set(0.0, mode="skip")


@given(LINE, TRUTHS)
def update_under_a_mask_with_an_array(x, t):
    return x.at[t].set(x)


@given(LINE)
def padded_in_an_unknown_mode(x):
    return np.pad(x, 1, mode="more")


@given(LINE)
def convolved_in_an_unknown_mode(x):
    return np.convolve(x, x, mode="most")


@given(LINE)
def bins_that_go_down(x):
    return np.histogram(x, bins=[2.0, 1.0])


@given(LINE)
def no_bins(x):
    return np.histogram(x, bins=0)


@given(LINE)
def range_that_goes_down(x):
    return np.histogram(x, bins=3, range=(2.0, 1.0))


@given(LINE)
def fraction_beyond_one(x):
    return np.quantile(x, 1.5)


@given(LINE)
def side_that_is_none(x):
    return np.searchsorted(x, x, side="middle")


@given(LINE)
def differences_less_than_never(x):
    return np.diff(x, n=-1)


@given(LINE)
def rolled_by_a_complex_number(x):
    return np.roll(x, 1.5j)


@given(LINE)
def lengths_of_vecdot(x):
    return pnp.vecdot(x, x[:3])


@given(LINE)
def more_elements_than_any_memory_has(x):
    return np.broadcast_to(x, (1 << 40, 1 << 40, 4))


@given(LINE)
def mean_without_nan_as_an_integer(x):
    return np.nanmean(x, dtype=np.int32)


@given(LINE)
def result_of_a_ufunc_as_an_integer(x):
    return np.add(x, x, dtype=np.int32)


@given(LINE)
def complex_number_in_an_array_of_floats(x):
    a = x * 1
    a[0] = 1j
    return a


@given(LINE)
def switch_between_nothing(x):
    return lax.switch(x.astype(int).sum(), [], x)


@given(LINE)
def loop_without_bounds_that_is_unrolled(x):
    return lax.fori_loop(0, x.astype(int).sum(), lambda i, c: c + i, x, unroll=2)


@given(LINE)
def loop_that_is_unrolled_less_than_never(x):
    return lax.fori_loop(0, 8, lambda i, c: c + i, x, unroll=-1)


@given(LINE)
def best_in_a_mode_that_there_is_not(x):
    return pnp.topk(x, 2, mode="min")


@given(LINE)
def limits_of_an_integer_type_as_a_float_type(x):
    return x + pnp.finfo(np.int32).eps


@given(LINE)
def limits_of_a_float_type_as_an_integer_type(x):
    return x + pnp.iinfo(x.dtype).max


@given(LINE)
def cast_by_an_unknown_rule(x):
    return x + pnp.can_cast(x.dtype, np.float32, "wild")


@given(LINE)
def type_of_nothing(x):
    return x.astype(pnp.result_type())


@given(LINE)
def range_by_no_step(x):
    return x + pnp.arange(0, 4, 0)


@given(LINE)
def choice_without_the_other(x):
    return np.where(x > 1, x)


@given(LINE)
def places_in_a_number(x):
    return np.where(x.sum() > 1)


@given(LINE)
def buffer_of_another_size(x):
    return x + pnp.frombuffer(bytes(9))


@given(LINE)
def loop_of_a_fraction_of_steps(x):
    return lax.scan(lambda c, _: (c, c), x, length=1.5)
