"""Dense linear algebra: products with factors, factorisations and solutions by loops over rows."""

from __future__ import annotations

import numpy as np

from tests.published.kernel import Kernel, dominant, uniform


def general_product(alpha, beta, c, a, b):
    """C := alpha A B + beta C."""
    c = c.copy()
    c *= beta
    c += alpha * a @ b
    return c


def two_products(alpha, beta, a, b, c, d):
    d = d.copy()
    d[:] = alpha * a @ b @ c + beta * d
    return d


def three_products(a, b, c, d):
    return a @ b @ c @ d


def normal_equations_product(a, x):
    """A^T (A x), as a step of least squares."""
    return (a @ x) @ a


def bi_conjugate_products(a, p, r):
    return r @ a, a @ p


def two_vector_updates(x1, x2, y1, y2, a):
    x1, x2 = x1.copy(), x2.copy()
    x1 += a @ y1
    x2 += y2 @ a
    return x1, x2


def rank_two_update(alpha, beta, a, u1, v1, u2, v2, y, z):
    """A + u1 v1^T + u2 v2^T, and the two products that follow."""
    a = a.copy()
    a += np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * y @ a + z
    return a, x, alpha * a @ x


def sum_of_two_products(alpha, beta, a, b, x):
    return alpha * a @ x + beta * b @ x


def symmetric_product(alpha, beta, c, a, b):
    """C := alpha A B + beta C where only the lower triangle of the symmetric A is read."""
    c = c.copy()
    c *= beta
    for i in range(c.shape[0]):
        c[:i, :] += alpha * np.outer(a[i, :i], b[i, :])
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * a[i, :i] @ b[:i, :]
    return c


def symmetric_rank_k(alpha, beta, c, a):
    """The lower triangle of alpha A A^T + beta C."""
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def triangular_product(alpha, a, b):
    """alpha A^T B for a unit lower triangular A, in place."""
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b


def multiresolution(a, c4):
    """The last axis of a three-dimensional array times a matrix, plane by plane."""
    a = a.copy()
    for r in range(a.shape[0]):
        for q in range(a.shape[1]):
            a[r, q, :] = a[r, q, :] @ c4
    return a


def cholesky_by_rows(a):
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return np.tril(a)


def lu_by_rows(a):
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def solve_by_lu(a, b):
    """LU by outer products, then the two triangular systems."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    y = np.zeros(n)
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def lower_triangular_solve(lower, b):
    x = np.zeros_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def gram_schmidt(a):
    """Q and R of a matrix, column by column, in place."""
    a = a.copy()
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def toeplitz_solve(r):
    """Durbin's recursion for the Yule-Walker equations."""
    y = np.zeros_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def covariances(data):
    data = data.copy()
    data -= np.mean(data, axis=0)
    m = data.shape[1]
    cov = np.zeros((m, m))
    for i in range(m):
        cov[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
        cov[i:, i] = cov[i, i:]
    return cov


def correlations(data):
    mean = np.mean(data, axis=0)
    spread = np.std(data, axis=0)
    spread[spread <= 0.1] = 1.0
    data = (data - mean) / (np.sqrt(data.shape[0]) * spread)
    m = data.shape[1]
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        corr[i + 1 :, i] = corr[i, i + 1 :]
    return corr


def conjugate_gradients(a, b, steps):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(steps):
        ap = a @ p
        alpha = old / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / old) * p
        old = new
    return x


def jacobi_solve(a, b, tolerance):
    """Jacobi's iteration until the solution settles."""
    x = np.zeros_like(b)
    diagonal = np.diag(a)
    rest = a - np.diag(diagonal)
    change = 1.0
    while change > tolerance:
        new = (b - rest @ x) / diagonal
        change = np.max(np.abs(new - x))
        x = new
    return x


def power_method(a, steps):
    v = np.ones(a.shape[0])
    value = 0.0
    for _ in range(steps):
        w = a @ v
        value = v @ w / (v @ v)
        v = w / np.sqrt(w @ w)
    return value, v


KERNELS = [
    Kernel(
        general_product,
        lambda n: (1.5, 1.2, uniform(n, n), uniform(n, n, seed=1), uniform(n, n, seed=2)),
        (20,),
        (500,),
    ),
    Kernel(
        two_products,
        lambda n: (1.5, 1.2, *(uniform(n, n, seed=k) for k in range(4))),
        (17,),
        (400,),
    ),
    Kernel(
        three_products, lambda n: tuple(uniform(n, n, seed=k) / n for k in range(4)), (16,), (400,)
    ),
    Kernel(normal_equations_product, lambda n: (uniform(n, n), uniform(n)), (30,), (1500,)),
    Kernel(
        bi_conjugate_products,
        lambda n: (uniform(n, n + 3), uniform(n + 3), uniform(n)),
        (20,),
        (1500,),
    ),
    Kernel(
        two_vector_updates,
        lambda n: (*(uniform(n, seed=k) for k in range(4)), uniform(n, n)),
        (20,),
        (1500,),
    ),
    Kernel(
        rank_two_update,
        lambda n: (1.5, 1.2, uniform(n, n), *(uniform(n, seed=k) for k in range(6))),
        (20,),
        (1000,),
    ),
    Kernel(
        sum_of_two_products,
        lambda n: (1.5, 1.2, uniform(n, n), uniform(n, n, seed=1), uniform(n)),
        (20,),
        (1500,),
    ),
    Kernel(
        symmetric_product,
        lambda n: (1.5, 1.2, uniform(n, n + 5), uniform(n, n, seed=1), uniform(n, n + 5, seed=2)),
        (12,),
        (200,),
    ),
    Kernel(
        symmetric_rank_k,
        lambda n: (1.5, 1.2, uniform(n, n), uniform(n, n - 5, seed=1)),
        (14,),
        (120,),
    ),
    Kernel(triangular_product, lambda n: (1.5, uniform(n, n), uniform(n, n + 2)), (12,), (120,)),
    Kernel(
        multiresolution, lambda n: (uniform(n, n + 1, n + 2), uniform(n + 2, n + 2)), (7,), (60,)
    ),
    Kernel(cholesky_by_rows, lambda n: (dominant(n),), (15,), (200,)),
    Kernel(lu_by_rows, lambda n: (dominant(n),), (12,), (150,)),
    Kernel(solve_by_lu, lambda n: (dominant(n), uniform(n)), (16,), (300,)),
    Kernel(
        lower_triangular_solve,
        lambda n: (np.tril(uniform(n, n)) + n * np.eye(n), uniform(n)),
        (20,),
        (1000,),
    ),
    Kernel(gram_schmidt, lambda n: (uniform(n + 4, n) + np.eye(n + 4, n),), (10,), (120,)),
    Kernel(toeplitz_solve, lambda n: (0.3 * uniform(n) / n,), (14,), (1000,)),
    Kernel(covariances, lambda n: (uniform(n + 20, n),), (12,), (300,)),
    Kernel(correlations, lambda n: (uniform(n + 20, n),), (12,), (300,)),
    Kernel(conjugate_gradients, lambda n: (dominant(n), uniform(n), 20), (20,), (600,)),
    Kernel(
        jacobi_solve, lambda n: (uniform(n, n) + n * np.eye(n), uniform(n), 1e-10), (20,), (600,)
    ),
    Kernel(power_method, lambda n: (dominant(n), 30), (20,), (600,)),
]
