"""Linear systems, factorisations and eigenvalues, written out."""

from __future__ import annotations

import numpy as np

from tests.corpus.case import Case, samples

TOLERANCE = 1e-10


class SingularMatrixError(ValueError):
    """A pivot is zero."""


class CyclicTridiagonal:
    """A tridiagonal matrix that acts on vectors without being stored."""

    def __init__(self, diagonal, off):
        self.diagonal = diagonal
        self.off = off

    def __matmul__(self, v):
        return self.diagonal * v + self.off * (np.roll(v, 1) + np.roll(v, -1))

    def solve_by_gradients(self, b, steps=12):
        """Conjugate gradients with this operator."""
        x = np.zeros_like(b)
        r = b - self @ x
        p = r.copy()
        for _ in range(steps):
            ap = self @ p
            alpha = r.dot(r) / p.dot(ap)
            x += alpha * p
            new = r - alpha * ap
            p = new + new.dot(new) / r.dot(r) * p
            r = new
        return x


def positive_definite(n, seed=0):
    """A symmetric positive definite matrix."""
    a = samples(n, n, seed=seed)
    return a @ a.T + n * np.eye(n)


def jacobi(a, b, iterations=30):
    """Jacobi's iteration with the matrix split into diagonal and rest."""
    d = np.diag(a)
    rest = a - np.diagflat(d)
    x = np.zeros_like(b)
    for _ in range(iterations):
        x = (b - rest @ x) / d
    return x


def gauss_seidel(a, b, iterations=10):
    """Gauss-Seidel, each unknown by two dot products."""
    n = len(b)
    x = np.zeros(n)
    for _ in range(iterations):
        for i in range(n):
            s1 = np.dot(a[i, :i], x[:i])
            s2 = np.dot(a[i, i + 1 :], x[i + 1 :])
            x[i] = (b[i] - s1 - s2) / a[i, i]
    return x


def over_relaxation(a, b, omega=1.2, tolerance=1e-8, limit=200):
    """Successive over-relaxation until the residual is small."""
    x = np.zeros_like(b)
    for iteration in range(limit):
        for i in range(b.size):
            sigma = a[i] @ x - a[i, i] * x[i]
            x[i] += omega * ((b[i] - sigma) / a[i, i] - x[i])
        if np.linalg.norm(a @ x - b) < tolerance:
            return x, iteration
    return x, limit


def conjugate_gradients(a, b):
    """Conjugate gradients until the residual is small."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rs = r @ r
    while np.sqrt(rs) > TOLERANCE:
        ap = a @ p
        alpha = rs / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + new / rs * p
        rs = new
    return x


def thomas(lower, diagonal, upper, right):
    """A tridiagonal system, on copies of the bands."""
    n = len(diagonal)
    c, d = upper.copy(), right.copy()
    c[0] = c[0] / diagonal[0]
    d[0] = d[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = c[i] / m
        d[i] = (d[i] - lower[i - 1] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] = d[i] - c[i] * d[i + 1]
    return d


def lu_in_place(a):
    """Doolittle's factors in one matrix that overwrites the argument."""
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_factors(a):
    """L and U of a copy."""
    n = len(a)
    u = np.array(a, copy=True)
    lower = np.eye(n)
    for k in range(n):
        for i in range(k + 1, n):
            lower[i, k] = u[i, k] / u[k, k]
            u[i, k:] -= lower[i, k] * u[k, k:]
    return lower, u


def lu_pivoted(a):
    """Partial pivoting: rows are swapped by fancy indexing."""
    a = a.astype(float)
    n = a.shape[0]
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]
    return a, order


def cholesky(a):
    """Cholesky's factor, row by row."""
    n = a.shape[0]
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - np.dot(factor[i, :j], factor[j, :j])
            if i == j:
                factor[i, j] = np.sqrt(s)
            else:
                factor[i, j] = s / factor[j, j]
    return factor


def forward_substitution(lower, b):
    """A lower triangular system."""
    x = np.zeros_like(b, dtype=float)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def solve_by_cholesky(a, b):
    """A system by two triangular ones."""
    factor = cholesky(a)
    y = forward_substitution(factor, b)
    return forward_substitution(factor.T[::-1, ::-1], y[::-1])[::-1]


def householder_qr(a):
    """Q and R by Householder's reflections."""
    m, n = a.shape
    q = np.eye(m)
    r = a.copy()
    for k in range(min(m - 1, n)):
        x = r[k:, k]
        e = np.zeros_like(x)
        e[0] = np.copysign(np.linalg.norm(x), x[0])
        v = x + e
        v /= np.linalg.norm(v)
        r[k:, k:] -= 2 * np.outer(v, v @ r[k:, k:])
        q[:, k:] -= 2 * np.outer(q[:, k:] @ v, v)
    return q, r


def gram_schmidt(vectors):
    """An orthonormal basis, the vectors in a list."""
    basis = []
    for v in vectors:
        w = v - sum(np.dot(v, b) * b for b in basis)
        if np.linalg.norm(w) > TOLERANCE:
            basis.append(w / np.linalg.norm(w))
    return np.array(basis)


def modified_gram_schmidt(a):
    """Q and R column by column."""
    m, n = a.shape
    q = np.zeros((m, n))
    r = np.zeros((n, n))
    v = a.copy()
    for i in range(n):
        r[i, i] = np.sqrt(v[:, i] @ v[:, i])
        q[:, i] = v[:, i] / r[i, i]
        for j in range(i + 1, n):
            r[i, j] = q[:, i].T @ v[:, j]
            v[:, j] -= r[i, j] * q[:, i]
    return q, r


def power_iteration(a, iterations=100):
    """The largest eigenvalue and its vector."""
    v = np.ones(a.shape[0])
    for _ in range(iterations):
        w = a @ v
        v = w / np.linalg.norm(w)
    return v @ a @ v, v


def power_until_converged(a, tolerance=1e-9):
    """Power iteration that stops when the eigenvalue stands."""
    v = np.ones(len(a)) / np.sqrt(len(a))
    value, old = 0.0, np.inf
    while abs(value - old) > tolerance * abs(value):
        old = value
        v = a @ v
        v /= np.sqrt((v**2).sum())
        value = v.dot(a).dot(v)
    return value


def deflated_eigenvalues(a, count=3):
    """Several eigenvalues, each found part taken off the matrix."""
    a = a.copy()
    values = []
    for _ in range(count):
        value, vector = power_iteration(a, iterations=60)
        values.append(value)
        a -= value * np.outer(vector, vector)
    return values


def qr_algorithm(a, iterations=40):
    """Eigenvalues by the unshifted QR algorithm with np.linalg.qr."""
    for _ in range(iterations):
        q, r = np.linalg.qr(a)
        a = r @ q
    return np.sort(np.diag(a))


def jacobi_rotations(a, sweeps=4):
    """Eigenvalues of a symmetric matrix by rotations, pair by pair."""
    a = a.copy()
    n = len(a)
    for _ in range(sweeps):
        for p in range(n - 1):
            for q in range(p + 1, n):
                theta = 0.5 * np.arctan2(2 * a[p, q], a[q, q] - a[p, p])
                c, s = np.cos(theta), np.sin(theta)
                rotation = np.eye(n)
                rotation[p, p] = rotation[q, q] = c
                rotation[p, q], rotation[q, p] = s, -s
                a = rotation.T @ a @ rotation
    return np.sort(np.diagonal(a))


def gaussian_elimination(a, b):
    """Elimination on the augmented matrix, an error for a zero pivot."""
    m = np.hstack([a, b.reshape(-1, 1)])
    n = len(b)
    for i in range(n):
        if abs(m[i, i]) < TOLERANCE:
            raise SingularMatrixError(f"pivot {i} is zero")
        m[i] /= m[i, i]
        for j in range(n):
            if j != i:
                m[j] -= m[j, i] * m[i]
    return m[:, -1]


def determinant(a):
    """The determinant by elimination without pivoting."""
    a = np.array(a)
    sign_and_size = 1.0
    for k in range(len(a)):
        sign_and_size *= a[k, k]
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] -= factors[:, None] * a[k]
    return sign_and_size


def laplace_determinant(a):
    """The determinant by recursion over minors."""
    if a.shape == (1, 1):
        return a[0, 0]
    total = 0.0
    for j in range(a.shape[1]):
        minor = np.delete(a[1:], j, axis=1)
        total += (-1) ** j * a[0, j] * laplace_determinant(minor)
    return total


def matrix_exponential(a, terms=12, squarings=4):
    """Scaling, Taylor's series, squaring."""
    scaled = a / 2**squarings
    result = np.eye(len(a))
    term = np.eye(len(a))
    for k in range(1, terms):
        term = term @ scaled / k
        result += term
    for _ in range(squarings):
        result = result @ result
    return result


def arnoldi(a, b, steps=4):
    """An orthonormal Krylov basis and the Hessenberg matrix."""
    n = len(b)
    q = np.zeros((n, steps + 1))
    h = np.zeros((steps + 1, steps))
    q[:, 0] = b / np.linalg.norm(b)
    for k in range(steps):
        v = a @ q[:, k]
        for j in range(k + 1):
            h[j, k] = q[:, j] @ v
            v = v - h[j, k] * q[:, j]
        h[k + 1, k] = np.linalg.norm(v)
        q[:, k + 1] = v / h[k + 1, k]
    return q, h


def diagonally_dominant(a):
    """Whether the diagonal dominates in every row."""
    size = np.abs(a)
    diagonal = np.diag(size)
    return np.all(2 * diagonal > size.sum(axis=1))


def condition_estimate(a):
    """A condition number in the infinity norm."""
    inverse = np.linalg.inv(a)
    return np.linalg.norm(a, np.inf) * np.linalg.norm(inverse, np.inf)


def newton_inverse(a, iterations=25):
    """The inverse by the Newton-Schulz iteration."""
    x = a.T / (np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))
    identity = np.identity(a.shape[0])
    for _ in range(iterations):
        x = x @ (2 * identity - a @ x)
    return x


CASES = [
    Case(CyclicTridiagonal(3.0, -1.0).solve_by_gradients, lambda: (samples(12),)),
    Case(jacobi, lambda: (positive_definite(6) + 20 * np.eye(6), samples(6))),
    Case(gauss_seidel, lambda: (positive_definite(5), samples(5))),
    Case(over_relaxation, lambda: (positive_definite(5), samples(5))),
    Case(conjugate_gradients, lambda: (positive_definite(6), samples(6))),
    Case(thomas, lambda: (samples(9), 4 + np.abs(samples(10)), samples(9, seed=1), samples(10))),
    Case(lu_in_place, lambda: (positive_definite(6),)),
    Case(lu_factors, lambda: (positive_definite(5),)),
    Case(lu_pivoted, lambda: (samples(6, 6),)),
    Case(cholesky, lambda: (positive_definite(5),)),
    Case(forward_substitution, lambda: (np.tril(samples(6, 6)) + 4 * np.eye(6), samples(6))),
    Case(solve_by_cholesky, lambda: (positive_definite(5), samples(5))),
    Case(householder_qr, lambda: (samples(6, 4),)),
    Case(gram_schmidt, lambda: (samples(3, 5),)),
    Case(modified_gram_schmidt, lambda: (samples(6, 4),)),
    Case(power_iteration, lambda: (positive_definite(5),)),
    Case(power_until_converged, lambda: (positive_definite(5),)),
    Case(deflated_eigenvalues, lambda: (positive_definite(5),)),
    Case(qr_algorithm, lambda: (positive_definite(4),)),
    Case(jacobi_rotations, lambda: (positive_definite(4),)),
    Case(gaussian_elimination, lambda: (positive_definite(5), samples(5))),
    Case(determinant, lambda: (positive_definite(5),)),
    Case(laplace_determinant, lambda: (samples(4, 4),)),
    Case(matrix_exponential, lambda: (samples(4, 4),)),
    Case(arnoldi, lambda: (positive_definite(6), samples(6))),
    Case(diagonally_dominant, lambda: (positive_definite(5),)),
    Case(condition_estimate, lambda: (positive_definite(5),)),
    Case(newton_inverse, lambda: (positive_definite(5),)),
]
