"""Loops over slices with traced bounds, as NumPy users write them: each becomes a loop of the
program, and gives what NumPy gives, at both ends of the axes too."""

from __future__ import annotations

import numpy as np


def convolved(x, w):
    n, m = x.shape
    out = np.zeros((n - 2, m - 2))
    for i in range(n - 2):
        for j in range(m - 2):
            out[i, j] = (x[i : i + 3, j : j + 3] * w).sum()
    return out


def columns_changed(x, w):
    x = x.copy()
    for i in range(x.shape[1] - 2):
        x[:, i : i + 3] += i * w[0, 0]
    return x


def around_a_column(x, w):
    out = np.zeros(x.shape[1])
    for i in range(1, x.shape[1] - 1):
        out[i] = x[2:9:2, i - 1 : i + 2].sum() + x[3, i - 1 : i + 2].sum()
        out[i] += x[None, ..., i - 1 : i + 2].sum() + x[-2, i + 1 : i - 1 : -1][0]
    return out


def named_views(x, w):
    """What is done to a slice is done to the array, and the other way."""
    x = x.copy()
    for i in range(1, x.shape[1] - 3):
        x[1::2, i : i + 4 : 2] = x[0:24:2, i : i + 2]
        x[i, i - 1 : i + 2] = x[i - 1 : i + 2, i]
        v = x[i : i + 2]
        v += 1
        w = x[..., i : i + 1]
        w[:] = 3
        v[0, 0] = 7
        x[i, 1] = w.sum()
    return x


def named_boxes(x, w):
    x = x.copy()
    for i in range(20):
        v = x[i:, 1:i]
        v[:] = i
        w = x[i:]
        w[:, 0] -= 1
        w[0] = 2
        w[1:] *= 1.01
        x[3] += 1
        x[0] = w.sum() + v.sum()
    return x


def cut_short(x, w):
    """Slices that reach out of their axis are as long as NumPy makes them."""
    out = np.zeros(60)
    for i in range(60):
        out[i] = x[i : i + 3].sum() + x[i - 30 : i - 27].sum() + x[-i - 1 : -i + 2].sum()
        out[i] += x[2 * i : 2 * i + 3, i : i + 4].sum()
    return out


def empty(x, w):
    out = np.zeros(25)
    for i in range(25):
        out[i] = x[i:i, :].sum() + x[i + 3 : i].sum() + x[:, i + 2 : 2].sum()
    return out


def from_the_end(x, w):
    out = np.zeros(25)
    for i in range(20):
        out[i] = x[i - 25 : i - 22].sum() + x[-i - 3 :][0, 0]
        out[i] += x[-25 + i : i - 21, -i - 3 : -i - 1].sum()
    return out


def backwards(x, w):
    out = np.zeros((25, 2))
    for i in range(24, 2, -1):
        out[i] = x[i - 1 : i + 1, 5][::-1] + x[i : i - 3 : -2, i]
    return out


def lengths(x, w):
    out = np.zeros(25)
    for i in range(22):
        v = x[:, i : i + 3, None]
        out[i] = v.shape[1] + len(x[i : i + 5]) + v.reshape(-1)[0] + v.T.mean(axis=1)[0, 0]
        u = x[:i, i:]
        out[i] += len(u) + u.shape[1] + u.size
    return out


def nested(x, w):
    s = np.zeros(25)
    for i in range(20):
        for j in range(i):
            s[j] += x[j : j + 2, i : i + 3].sum()
    return s


def bounds_from_data(x, w):
    s = np.zeros(20)
    k = (x[0] * 40).astype(np.int64)
    for i in range(20):
        s[i] += x[k[i] : k[i] + 2, i : i + 3].sum()
    return s


def windows_cut_by_hand(x, w):
    out = np.zeros_like(x)
    for i in range(25):
        for j in range(25):
            rows = x[max(i - 2, 0) : min(i + 3, 25), max(j - 1, 0) : j + 2]
            out[i, j] = rows.max() - rows.mean() + np.median(x[max(i - 2, 0) : i + 3, j])
            out[i, j] += np.var(x[: i + 1, : j + 1])
    return out


def lu(a, w):
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_by_columns_and_rows(a, w):
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]
        a[k + 1 :, k + 1 :] += 0 * (a[k + 1 :, k, None] @ a[None, k, k + 1 :])
    return a


def with_pivots(a, w):
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        t = a[k].copy()
        a[k] = a[p]
        a[p] = t
        a[k + 1 :, k:] -= a[k + 1 :, k : k + 1] / a[k, k] * a[k, k:]
    return a


def reflected(a, w):
    """Householder's reflections."""
    a = a.copy()
    for k in range(a.shape[1] - 1):
        x = a[k:, k].copy()
        x[0] += np.sign(x[0]) * np.linalg.norm(x)
        x /= np.linalg.norm(x)
        a[k:, k:] -= 2 * np.outer(x, x @ a[k:, k:])
    return a


def covariances(d, w):
    m = d.shape[1]
    c = np.zeros((m, m))
    for i in range(m):
        c[i, i:] = d[:, i] @ d[:, i:] / (d.shape[0] - 1.0)
        c[i:, i] = c[i, i:]
    return c


def back_substituted(a, w):
    x = a[0].copy()
    for i in range(a.shape[0] - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def products(a, w):
    """What is beside a slice does not count, NaN or not."""
    a = a.copy()
    a[24, 24] = np.nan
    s = np.zeros(25)
    for i in range(1, 24):
        s[:24] += a[i, :i] @ a[:i, :24]
        s[i] += (a[:i, :i] @ a[:i, i]).sum() + (a[:i, :i] @ a[:i, i:24]).sum()
    return s


def steps(x, w):
    x = x.copy()
    for i in range(24):
        x[i::2, 3] += 1
        x[1:i:3] *= 1.5
        x[i:, ::2] = x[i, 0]
        x[0] += x[i::2][0]
    return x


def transposed(a, w):
    s = np.zeros_like(a)
    for i in range(25):
        s[:, i:] += a[i:, :].T
        s[i:, :i] += a[:i, i:].T
        s[:i] = np.where(s[:i] > 3, 3, s[:i])
        s[i] += np.sum(a[:, i:], axis=1) + a[i:, :].min(axis=0)
        s[i] += a[i:, :].mean(axis=0, keepdims=True)[0]
    return s


def slices_of_slices(a, w):
    s = np.zeros(25)
    for i in range(3, 25):
        v = a[i - 3 :, 2]
        d = v[1:] - v[:-1]
        s[i] = d.sum() + v[-1] + v[2] + v[i - i] + v[::-1][0]
        u = a[:i, :i]
        s[i] += u[1:-1, 1:].sum() + u[0].sum() + u[:, -1].sum()
    return s


def broadcast(a, w):
    s = np.zeros((25, 25))
    for i in range(25):
        s[:i] = a[3]
        s[:, i:] = a[:, 4:5]
        s[i:, i:] = 4.0
        s[None, i:] += a[i:]
    return s


def looped_over(a, w):
    s = 0.0
    for i in range(20):
        for e in a[i:, 0]:
            s += e
    return s


def masked(a, w):
    s = np.zeros(25)
    for i in range(25):
        v = a[i:, 0]
        s[i] = v[v > 0.5].sum()
        u = a[i:, 1].copy()
        u[u > 0.5] = 0
        s[i] += u.sum()
    return s


def rows_of_an_array_that_is_read(x, w):
    """A view made in the outer loop and the array itself are one memory in the inner one."""
    x = x.copy()
    for i in range(20):
        row = x[i]
        for j in range(20):
            row += x[j, i] * 0.001
            row[j : j + 3] += x[j, i] * 0.001
            row[j:] -= x[:, j][j:] * 0.1
            x[j, 3] += row.sum() * 0.001
    return x


def views_beside_the_array(x, w):
    x = x.copy()
    for i in range(22):
        a, b = x[i : i + 2], x[i + 1 : i + 3]
        a[:] = b
        x[i : i + 2, 3], x[i : i + 2, 4] = x[i : i + 2, 4].copy(), x[i : i + 2, 3].copy()
        x[i + 1 :] += x[i:-1]
        x[1 : i + 1] = x[:i]
        y = x[:, i:]
        y -= y.mean(axis=0)
        x[i:] = x[i:][:, ::-1]
        np.add(x[i:], 1, out=x[i:])
    return x


def of_other_types(x, w):
    x = x.astype(np.float32)
    out = np.zeros_like(x)
    for i in range(1, 25):
        out[:i] += x[:i] * np.float64(0.5)
        out[i:, i] = np.sqrt(x[i:, i]).astype(np.float64)
        if (x[i:, 0] > 1).any():
            out[0, 0] += np.count_nonzero((x * 3).astype(np.int64)[i:, :i])
    return out


def until_it_ends(x, w):
    x = x.copy()
    i = 0
    while i + 3 <= 25:
        x[:, i : i + 3] *= 1.5
        x[i : i + 3] = x[0]
        i += 2
    return x
