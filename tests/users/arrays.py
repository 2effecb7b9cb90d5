"""Programs with arrays: indices, masks, changes in place, shapes, as NumPy users write them."""

# ruff: noqa: RUF007, RUF005  (as users write)
import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tests.errors.case import LINE, MATRIX, PLACES, SQUARE, TRUTHS, given

X = LINE + 0.5
WIDE = np.arange(24.0).reshape(4, 6)
CUBE = np.arange(24.0).reshape(2, 3, 4)
INTS = np.array([5, 3, 8, 1, 9, 2])


@given(WIDE)
def slices_as_variables(m):
    inner = slice(1, -1)
    every = slice(None, None, 2)
    key = (inner, every)
    return m[key] + m[inner, 1::2], m[np.s_[::-1, 2]], m[(slice(None),) * m.ndim].sum()


@given(CUBE)
def ellipsis_and_newaxis(c):
    return c[..., 0], c[0, ...], c[:, None, ..., -1], c[np.newaxis][0, 1, 2, 3], c[...]


@given(X)
def negative_steps(x):
    return x[::-1], x[-2::-1], x[3:0:-2], x[10:], x[-10:2], x[2:1]


@given(WIDE)
def fancy_indices(m):
    rows = np.array([0, 2, 3])
    cols = [1, 0, 5]
    return m[rows, cols], m[rows][:, cols], m[np.ix_(rows, cols)], m[rows, 1:3], m[-1, cols]


@given(INTS, PLACES)
def indices_from_arrays(v, p):
    return v[p], v[p[::-1]], v[p] * p, v[v.argsort()], np.take(v, p), v[p.reshape(3, 1)]


@given(WIDE)
def masks(m):
    big = m > 7
    a = m.copy()
    a[big] = -1
    a[~big & (m % 2 == 0)] *= 2
    return a, m[big].sum(), m[m > 3].mean(), np.where(big, m, 0).max(), big.any(axis=1), big.sum()


@given(WIDE, X)
def masks_of_rows(m, x):
    a = m.copy()
    rows = x > 1
    a[rows] = 0
    a[rows, 0] = 5
    a[~rows] += m[0]
    return a


@given(WIDE, X)
def rows_under_a_mask_from_a_view(m, x):
    a = m.copy()
    a[x > 1, :] = m[0]
    a[x < 1] = m[1]
    a[x > 2, 1:3] = m[2, 1:3]
    return a


@given(TRUTHS, X)
def masks_as_arguments(t, x):
    y = x.copy()
    y[t] = 0.0
    y[np.logical_not(t)] -= 1
    return y, np.count_nonzero(t), x[t].sum(), t @ x


@given(WIDE)
def known_masks(m):
    even = np.arange(6) % 2 == 0
    return m[:, even], m[[True, False, True, True]], m[:, np.flatnonzero(even)]


@given(WIDE)
def views_are_written_through(m):
    a = m.copy()
    top = a[:2]
    col = top[:, 1]
    col[:] = 100
    top *= 2
    a.T[0] += 1
    flat = a.reshape(-1)
    flat[-1] = -5
    a.ravel()[3] = 77
    return a, top, col, flat


@given(WIDE)
def swapped_rows_and_columns(m):
    a = m.copy()
    a[[0, 1]] = a[[1, 0]]
    a[:, [0, 1]] = a[:, [1, 0]]
    a[2], a[3] = a[3].copy(), a[2].copy()
    return a


@given(X)
def augmented_assignments(x):
    a = x.copy()
    a += 1
    a -= x
    a *= 3
    a /= 2
    a **= 2
    a //= 1
    a %= 2
    n = np.arange(4)
    n <<= 2
    n |= 1
    n ^= 3
    n &= 7
    n >>= 1
    return a, n


@given(X)
def out_arguments(x):
    a = np.empty_like(x)
    np.multiply(x, 2, out=a)
    np.add(a, 1, a)
    np.sqrt(a, out=a)
    np.cumsum(a, out=a)
    return a, np.clip(x, 1, 2, out=np.zeros(4))


@given(WIDE)
def diagonals(m):
    s = m[:, :4].copy()
    np.fill_diagonal(s, 0)
    i = np.arange(4)
    s[i, i] += 2
    s[np.triu_indices(4, 1)] = 9
    s.flat[::5] -= 1
    return s, np.diag(s), np.trace(s), np.diag(m[0]), np.tril(s, -1)


@given(INTS)
def scattered(v):
    counts = np.zeros(10)
    np.add.at(counts, v, 1)
    np.maximum.at(counts, v[:2], 5.0)
    hist = np.bincount(v, minlength=10)
    return counts, hist, np.searchsorted(np.sort(v), v)


@given(WIDE)
def split_and_joined(m):
    a, b = np.hsplit(m, 2)
    parts = np.array_split(m, 3, axis=1)
    return (
        np.hstack([a, b]) - m,
        np.vstack([m[0], m[1]]),
        np.concatenate(parts, axis=-1),
        np.stack([a, b]).shape,
        np.block([[a, b], [b, a]]),
        np.dstack([a, b])[..., 1],
        np.column_stack([m[0], m[1]]),
        np.r_[m[0], 1.0, m[1]],
        np.c_[m[0], m[1]],
        np.append(m[0], 3.0),
        np.tile(m[0], 2),
        np.repeat(m[0], 2),
    )


@given(CUBE)
def axes_moved(c):
    return (
        c.transpose(2, 0, 1),
        np.moveaxis(c, 0, -1),
        c.swapaxes(0, 1),
        np.rollaxis(c, 2),
        np.expand_dims(c, (0, 2)).shape,
        c[:, :1].squeeze(),
        np.flip(c, 1),
        np.roll(c, 1, axis=(0, 1)),
        np.rot90(c[0]),
        np.atleast_3d(c[0]).shape,
        c.reshape(c.shape[0], -1),
        np.broadcast_to(c[0], c.shape) - c,
    )


@given(CUBE)
def reductions(c):
    return (
        c.sum(axis=(0, 2)),
        c.mean(-1, keepdims=True),
        c.std(axis=0, ddof=1),
        c.var(),
        c.min(),
        c.max(axis=1),
        np.ptp(c, axis=0),
        np.median(c, axis=-1),
        np.percentile(c, [25, 75]),
        np.average(c[0], axis=0, weights=[1, 2, 3]),
        c.argmax(),
        np.unravel_index(c.argmin(), c.shape),
        np.cumsum(c, axis=1),
        c.prod(axis=2),
        np.nanmean(np.where(c > 3, c, np.nan)),
        np.all(c >= 0),
        (c > 100).any(),
    )


@given(SQUARE + np.eye(3))
def linear_algebra(m):
    v = m[0]
    return (
        m @ m.T,
        m @ v,
        v @ m,
        v @ v,
        np.outer(v, v),
        np.inner(m, m),
        np.kron(m, m[:1]),
        np.einsum("ij,kj->ik", m, m),
        np.tensordot(m, m, 1),
        np.linalg.norm(m),
        np.linalg.matrix_power(m, 3),
        np.cross(m[0], m[1]),
        np.vdot(v, v),
        m.dot(v),
    )


@given(X)
def dtypes(x):
    a = x.astype(np.float32)
    b = (x * 2).astype(int)
    return (
        a + 1,
        a * x,
        a + b,
        b / 2,
        b // 2,
        b % 3,
        a.dtype == "float32",
        x.astype("f4", copy=False) + np.float32(1),
        np.array([1, 2], dtype=np.uint8) + np.uint8(255),
        b > 2,
        x.astype(bool),
        (x > 1) * 2.5,
        (x > 1) + (x < 3),
        np.result_type(a, x) == np.float64,
        x.astype(complex) * 1j,
    )


@given(X)
def scalars(x):
    s = x[0]
    return (
        s + 1,
        np.float32(s) * 2,
        int(s),
        float(s) ** 0.5,
        round(float(s), 2),
        s.dtype.itemsize,
        s,
        math.sqrt(s),
        math.hypot(s, 2),
        max(s, 1.0),
        min(x[1], x[2], 0.25),
        abs(-s),
        divmod(7, 2)[0],
        s.shape == (),
        np.isnan(s),
    )


@given(X)
def comprehensions_over_arrays(x):
    squares = np.array([v**2 for v in x])
    pairs = [(i, v) for i, v in enumerate(x) if i % 2]
    table = {i: v * 2 for i, v in zip(range(3), x, strict=False)}
    return squares, pairs, table[1], sum(v for v in x), max(v for v in x), [*map(abs, -x)]


@given(WIDE)
def rows_and_columns_in_turn(m):
    total = 0.0
    for row in m:
        for i, v in enumerate(row):
            total += v * i
    for a, b in zip(m, m[1:], strict=False):
        total += a @ b
    for row in reversed(m):
        total -= row[0]
    return total, [c.sum() for c in m.T], all(r.sum() > 0 for r in m)


@given(X)
def finite_differences(x):
    d = np.empty_like(x)
    d[1:-1] = (x[2:] - x[:-2]) / 2
    d[0], d[-1] = x[1] - x[0], x[-1] - x[-2]
    return d - np.gradient(x), np.diff(x, n=2), np.trapezoid(x, dx=0.5), np.ediff1d(x)


@given(X)
def windows(x):
    return sliding_window_view(x, 2).mean(axis=1), np.convolve(x, [1, 2], "valid"), np.pad(x, 1)


@given(WIDE)
def game_of_life(m):
    board = (m % 3 == 0).astype(int)
    n = sum(np.roll(np.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
    return ((n == 3) | ((board == 1) & (n == 2))).astype(int)


@given(X)
def grids(x):
    a, b = np.meshgrid(x, x[:2])
    i, j = np.indices((2, 2))
    r, c = np.ogrid[:2, :3]
    return a * b, i + j, (r + c) * x[0], np.fromfunction(lambda p, q: p * q, (2, 3)), np.mgrid[:2]


@given(X)
def special_values(x):
    y = np.where(x > 2, np.nan, x)
    y[0] = np.inf
    z = np.nan_to_num(y, nan=0.0, posinf=9.0)
    return np.isfinite(y), np.nansum(y[1:]), z, np.sign(-x), np.copysign(x, -1), np.isclose(x, x)


@given(X)
def polynomials(x):
    return np.polyval([1, 2, 3], x), np.interp(1.7, x, x**2)


@given(X)
def choices(x):
    return (
        np.select([x < 1, x < 2], [x, x * 2], default=-1),
        np.choose([0, 1, 0, 1], [x, -x]),
        np.clip(x, None, 2),
        np.digitize(x, [1, 2, 3]),
        np.heaviside(x - 1, 0.5),
        np.maximum(x, x[::-1]),
        np.fmin(x, 1),
    )


@given(X)
def sorted_arrays(x):
    order = np.argsort(-x)
    y = x[order]
    y.sort()
    return order, y, np.sort(x)[::-1], sorted([3, 1, 2]), x[order[0]]


@given(X)
def arrays_in_containers(x):
    state = {"a": x, "b": [x * 2, (x, 3.0)]}
    state["b"][0] += 1
    state["a"] = state["a"] + state["b"][1][1]
    stack = [x]
    stack.extend([x * k for k in range(2)])
    last = stack.pop()
    stack.insert(0, last)
    del stack[1]
    return state, np.array(stack), np.sum(stack, axis=0), len(stack)


@given(X)
def shapes_from_arithmetic(x):
    n = x.shape[0] // 2
    m = int(np.ceil(len(x) / 3))
    k = int(math.log2(x.size))
    return np.zeros((n, m)), x[: n + k - 1], np.arange(n * m) * x[0], np.ones(x.shape[:-1] + (2,))


@given(X)
def equality_and_closeness(x):
    return np.array_equal(x, x), np.allclose(x, x + 1e-12), (x == x).all(), np.max(np.abs(x - x))


@given(np.array([1 + 2j, 3 - 1j]))
def complex_numbers(z):
    a = z.copy()
    a.real = 0
    a.imag *= 2
    return z.conj(), np.abs(z), np.angle(z), z.real * z.imag, np.exp(1j * z), a, (z * z.conj()).real


@given(INTS)
def integer_work(v):
    return (
        v & 1,
        v << 2,
        ~v,
        v // -2,
        v % -3,
        -v,
        v**2,
        v ^ 3,
        np.bitwise_and(v, 6),
        np.right_shift(v, 1),
        v.cumsum()[-1],
        np.sum(v == 3),
    )


@given(3, 2.5)
def numbers_as_arguments(n, t):
    lists = [t] * n, n * (t, 1), "ab" * n == "ababab", n.bit_length(), [0.0] * (n - 1)
    return np.arange(n) * t, n // 2, n / 2, lists, np.full((n, 2), t), round(t)


@given(X, True, None, "sum", (1, 2))
def static_arguments(x, flag, nothing, name, pair):
    if flag and nothing is None:
        x = x * pair[1]
    return getattr(np, name)(x) + getattr(x, name)()


@given(X)
def shape_assignment_of_its_own(x):
    a = np.arange(6.0)
    b = a.reshape(2, 3)
    b[0] = x[0]
    return a, np.resize(a, (2, 2)), a.copy()


@given(MATRIX)
def normalised(m):
    z = (m - m.mean(axis=0)) / (m.std(axis=0) + 1e-9)
    e = np.exp(m - m.max(axis=1, keepdims=True))
    return z, e / e.sum(axis=1, keepdims=True), m / np.linalg.norm(m, axis=1)[:, None]


@given(WIDE)
def deleted_and_inserted(m):
    return (
        np.delete(m, 1, axis=0),
        np.insert(m[0], 2, 9.0),
        np.flipud(m),
        np.fliplr(m),
    )


@given(WIDE)
def pairwise_distances(m):
    d = m[:, None, :] - m[None, :, :]
    s = np.sqrt((d**2).sum(axis=-1))
    np.fill_diagonal(s, np.inf)
    return s.argmin(axis=1), s.min()


@given(X)
def array_of_arrays(x):
    a = np.array([x, x * 2, np.zeros(4)])
    b = np.array([[x[0], 1], [2, x[1]]])
    c = np.asarray([x.sum(), x.mean(), 3])
    return a, b, c, np.array(x), np.asarray(x) is x, np.array([[1, 2]], float).T


@given(X)
def iterated_in_place(x):
    a = x.copy()
    for i in range(len(a)):
        a[i] = a[i] + a[i - 1]
    for i, v in enumerate(a):
        a[i] = v * 2
    it = iter(a)
    return a, next(it), next(it), list(it)


@given(WIDE)
def views_of_einsum(m):
    a = m.copy()
    np.einsum("ij->ji", a)[0] = 7
    same = np.einsum("ij", a)
    same[1, 1] = -1
    b = np.einsum("ij->i", a)
    b[0] = 100
    return a, same, b, np.einsum("ii->i", a[:, :4])


@given(WIDE)
def flat_is_assigned(m):
    a = m.copy()
    a.flat = np.arange(24.0)[::-1]
    b = m.copy()
    b.flat = 3
    return a, b


@given(X)
def places_of_known_elements(x):
    return x[np.arange(4).nonzero()], np.array([0, 1, 1, 0]).nonzero()[0] + 1
