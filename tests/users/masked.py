"""Programs with `where=`, `initial=` and `out=`, and masks behind slices."""

import numpy as np

from tests.errors.case import given

LINE = np.array([0.5, -1.25, 3.0, 2.0, 0.0, 4.5])
TABLE = np.arange(12.0).reshape(3, 4) - 4.5
HOLES = np.where((TABLE == -4.5) | (TABLE > 4), np.nan, TABLE)
WHOLE = np.arange(12).reshape(3, 4) - 4
BLOCK = np.arange(24.0).reshape(2, 3, 4)


@given(TABLE)
def reductions_under_a_mask(m):
    return (
        m.sum(where=m > 0),
        np.sum(m, 0, where=m > 0),
        m.sum(axis=1, where=m[0] > -4, keepdims=True, initial=2),
        np.prod(m, where=m > 3, initial=2.0),
        np.min(m, axis=0, initial=np.inf, where=m > 0),
        m.max(initial=0, where=m < 3),
        np.amax(m, 0, None, False, 3, m > 0),
        np.any(m > 2, axis=0, where=m < 4),
        np.all(m > 2, where=m > 1),
        m.any(where=m > 100),
        np.sum(m, where=True),
        np.max(m, initial=None),
    )


@given(TABLE)
def averages_under_a_mask(m):
    return (
        m.mean(axis=0, where=m > -10),
        np.mean(m, where=[[True], [False], [True]]),
        m.mean(where=m > 100),
        m.std(where=m > 0),
        m.var(axis=1, where=m > -2, ddof=1),
        np.std(m, 0, where=m > -3, ddof=1, keepdims=True),
    )


@given(HOLES)
def reductions_without_nan_under_a_mask(m):
    return (
        np.nansum(m, where=m > 0),
        np.nanmean(m, axis=0, where=m < 2),
        np.nanmax(m, axis=1, initial=0),
        np.nanmin(m, where=m > -2, initial=9),
        np.nanstd(m, axis=0, where=m < 2),
        np.nanvar(m, where=m > -3, ddof=1),
        np.nanprod(m, initial=2),
        np.sum(m, where=~np.isnan(m)),
        np.maximum.reduce(m, axis=1, where=~np.isnan(m), initial=-np.inf),
        np.nansum(m, axis=0, initial=1),
    )


@given(WHOLE)
def reductions_of_integers_under_a_mask(k):
    return (
        k.mean(where=k > 0),
        k.max(where=k < 3, initial=-100),
        np.sum(k, initial=2.5),
        np.add.reduce(k, axis=1, where=k > 0, initial=10),
        np.logical_and.reduce(k, where=k > 0),
        np.sum(k > 1, where=k > 2),
        k.astype(np.int8).sum(initial=1),
        k.astype(np.int8).max(initial=3),
        k.astype(np.float32).mean(where=k > 1),
        np.multiply.reduce(k, initial=2, axis=0),
        np.sum(k.astype(np.float32), initial=1e-3),
    )


@given(TABLE + 1j)
def reductions_of_complex_numbers_under_a_mask(c):
    left = c.real > 0
    return c.sum(where=left), c.mean(where=left), c.var(where=left), c.prod(where=left)


@given(np.zeros((0, 3)))
def reductions_of_nothing_from_a_value_on(m):
    return (
        m.max(axis=0, initial=2),
        m.min(initial=3),
        m.sum(axis=0, initial=1),
        m.max(axis=0, keepdims=True, initial=2),
        sum(m, 5),
    )


@given(TABLE)
def reductions_from_a_traced_value_on(m):
    return np.sum(m, initial=m[0, 0]), np.max(m, initial=m[0, 0], where=m < 0)


@given(TABLE)
def later_positions(m):
    return (
        m.mean(0, None, None, True),
        np.std(m, 0, None, None, 1),
        m.max(1, None, True),
        np.var(m, 1, None, None, 0, True),
        m.min(1, None, False, -3),
        m.sum(0, None, None, False, 5.0),
        m.std(0, None, None, 1, True),
        np.median(m, 0, None, False, True),
        np.median(m, 0, overwrite_input=True),
    )


@given(LINE)
def quotients_where_they_exist(x):
    out = np.zeros_like(x)
    np.sqrt(x, where=x > 0, out=out)
    np.divide(1, x, out=out, where=x > 1)
    return out, np.divide(x, x, out=np.full_like(x, 7), where=x != 0)


@given(LINE)
def results_in_two_arrays(x):
    q, r = np.zeros(6), np.ones(6)
    np.divmod(x, 2, out=(q, r))
    np.divmod(x, 3, out=(q, r), where=x > 1)
    whole = np.zeros(6)
    np.modf(x, out=(None, whole))
    return q, r, whole


@given(LINE)
def results_in_views_and_wider_arrays(x):
    out = np.zeros(6)
    np.exp(x[:3], out=out[::2], where=x[:3] > 0)
    wide = np.zeros((2, 6), np.float32)
    np.add(x, 1, out=wide, where=[[True], [False]])
    np.multiply(out, 2, out=out, where=out > 1)
    return out, wide


@given(WHOLE)
def powers_of_integers_where_they_exist(k):
    out = np.zeros((3, 4), int)
    np.power(2, k, where=k >= 0, out=out)
    return out


@given(TABLE)
def masks_of_columns(m):
    a = m.copy()
    a[:, m[0] < -3] = 1.5
    a[1:, m[1] > 0] = 7
    a[..., m[2] > 5] = 2
    a[::2, m[0] < -4] = m[:2, :1]
    a.T[m[0] < -3] += 1
    return a


@given(BLOCK)
def masks_of_the_last_axes(t):
    a = t.copy()
    a[:, t[0] > 3] = 9
    a[:, t[0, :, 0] > 3] = 5
    a[:, :, t[0, 0] > 1] = 4
    a[:, t[0, :, 1] > 1, 1:3] = 3
    a[1, :, t[0, 0] > 2] = 0
    a[:, t[0, :, 0] > 3] = t[0, 0]
    a[:, t[0, :, 0] > 3, :] = t[:, :1, :1]
    return a
