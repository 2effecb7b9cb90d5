"""Programs that find places by data, and take slices between them."""

import numpy as np

from tests.errors.case import given

LINE = np.array([0.5, -1.25, 3.0, 2.0, -0.75, 4.5, 3.0])
TABLE = (np.arange(12.0).reshape(3, 4) * 7) % 5 - 1
HOLES = np.array([1.0, np.nan, 3, -1])


@given(LINE)
def places_of_what_holds(x):
    return (
        np.nonzero(x > 1)[0][0],
        np.where(x > 1)[0][-1],
        np.flatnonzero(x > 0)[1],
        len(np.nonzero(x > 1)[0]),
        np.argwhere(x > 1)[0, 0],
        np.flatnonzero(x > 1).size,
        (x > 1).nonzero()[0][0],
        np.flatnonzero(x > 1).max(),
        x[np.flatnonzero(x > 1)].sum(),
        np.where(np.diff(np.sign(x)))[0][0],
        np.flatnonzero(x)[2],
    )


@given(LINE)
def places_that_may_not_be_there(x):
    high = np.where(x > 200)[0]
    first = high[0] if high.size > 0 else -1
    low = np.where(x < 1)[0]
    if len(low) == 0:
        return first, x
    return first, x * low[0]


@given(LINE)
def loops_over_places(x):
    s = 0.0
    for i in np.flatnonzero(x > 0):
        s += x[i] * i
    for i in np.nonzero(x < 3)[0]:
        if x[i] > 1.9:
            break
        s -= i
    for v in x[x > 0]:
        s += v
    return s


@given(TABLE)
def loops_over_places_of_a_table(m):
    s, out = 0.0, np.zeros_like(m)
    for i, j in np.argwhere(m > 1):
        s += m[i, j] * i + j
        out[i, j] = s
    rows, columns = np.nonzero(m > 2)
    return s, out, m[rows, columns].sum(), rows.sum(), columns.max()


@given(LINE)
def slices_around_a_place(x):
    k = np.argmax(x)
    low, high = max(k - 2, 0), min(k + 2, len(x))
    part = x[low:high]
    return (
        part.sum(),
        part.max(),
        len(part),
        part[0],
        part[-1],
        low + np.argmin(part),
        part.argmax(),
        x[:k].sum(),
        x[k:].mean(),
        x[-k:].sum(),
        x[: k - len(x)].sum(),
        x[k : k + 100].sum(),
    )


@given(LINE)
def slices_that_are_changed(x):
    k, y = np.argmax(x), x.copy()
    y[:k] = 0
    y[k:] += 1
    y[k - 1 : k + 1] *= 2
    return y


@given(TABLE)
def slices_of_rows_and_columns(m):
    k, i = np.argmax(m[0]), np.argmax(m[:, 0])
    a = m.copy()
    a[i, :k] = 7
    a[:, k:] = 3
    a[:i, 1:] += 1
    return m[i, :k].sum(), m[:i].sum(axis=0), m[:i, 0].sum(), a


@given(LINE)
def loops_over_slices(x):
    k, s = np.argmax(x), 0.0
    for v in x[:k]:
        s += v
    for v in x[k + 1 :]:
        s -= v
    return s


@given(LINE, 3)
def slices_by_a_number(x, n):
    return x[:n], x[n:].sum(), x[n : n + 2] * 2


@given(LINE)
def sums_of_all_slices(x):
    best = 0.0
    for i in range(len(x)):
        for j in range(i, len(x)):
            best = max(best, x[i : j + 1].sum())
    return best


@given(LINE)
def slices_in_a_while(x):
    i, s = 0, 0.0
    while i < len(x):
        s += x[:i].sum() * 0.1
        i += 1 if x[i] > 0 else 2
    return s


@given(np.arange(40.0) % 7)
def slices_by_the_counter(x):
    out = x.copy()
    for i in range(1, len(x)):
        out[i] += 0.1 * out[:i].mean() - out[max(i - 3, 0) : i].max()
        out[:i] *= 0.99
    return out


@given(LINE, HOLES)
def extremes_among_those_selected(x, h):
    return (
        np.argmin(x[x > 0]),
        np.argmax(x[x < 3]),
        x[x > 0].argmin(),
        h[h != 3].argmax(),
        np.argmin(h[~np.isnan(h)]),
    )
