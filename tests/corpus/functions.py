"""Interpolation, quadrature, root finding and series."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tests.corpus.case import Case, samples, uniform

GAUSS_NODES = np.array([-0.7745966692414834, 0.0, 0.7745966692414834])
GAUSS_WEIGHTS = np.array([5 / 9, 8 / 9, 5 / 9])
GOLDEN = (math.sqrt(5) - 1) / 2


class Root(NamedTuple):
    """A root, the value there and the iterations that it took."""

    x: float
    residual: float
    iterations: int


class Polynomial:
    """A polynomial with its coefficients, the lowest power first."""

    def __init__(self, *coefficients):
        self.coefficients = list(coefficients)

    def __call__(self, x):
        result = 0.0
        for c in reversed(self.coefficients):
            result = result * x + c
        return result

    def derivative(self):
        return Polynomial(*[k * c for k, c in enumerate(self.coefficients)][1:])


def table_lookup(x, xs, ys):
    """Linear interpolation by np.searchsorted."""
    i = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
    t = (x - xs[i]) / (xs[i + 1] - xs[i])
    return ys[i] * (1 - t) + ys[i + 1] * t


def resample(signal, factor):
    """np.interp onto a finer grid."""
    old = np.arange(len(signal))
    new = np.linspace(0, len(signal) - 1, len(signal) * factor)
    return np.interp(new, old, signal)


def lagrange(x, xs, ys):
    """Lagrange's polynomial through the points."""
    total = np.zeros_like(x)
    for j in range(len(xs)):
        basis = np.ones_like(x)
        for m in range(len(xs)):
            if m != j:
                basis *= (x - xs[m]) / (xs[j] - xs[m])
        total += ys[j] * basis
    return total


def newton_differences(xs, ys):
    """Divided differences, in place from the end."""
    c = np.array(ys, dtype=float)
    n = len(c)
    for j in range(1, n):
        c[j:n] = (c[j:n] - c[j - 1 : n - 1]) / (xs[j:n] - xs[0 : n - j])
    return c


def natural_spline(xs, ys):
    """Second derivatives of a natural cubic spline."""
    n = len(xs)
    h = np.diff(xs)
    system = np.zeros((n, n))
    right = np.zeros(n)
    system[0, 0] = system[-1, -1] = 1.0
    for i in range(1, n - 1):
        system[i, i - 1 : i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        right[i] = 6 * ((ys[i + 1] - ys[i]) / h[i] - (ys[i] - ys[i - 1]) / h[i - 1])
    return np.linalg.solve(system, right)


def catmull_rom(points, samples_per_segment=4):
    """A smooth curve through points, its pieces in a list."""
    pieces = []
    for p0, p1, p2, p3 in zip(points[:-3], points[1:-2], points[2:-1], points[3:]):
        t = np.linspace(0, 1, samples_per_segment, endpoint=False)[:, None]
        pieces.append(
            0.5
            * (
                2 * p1
                + (p2 - p0) * t
                + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2
                + (3 * p1 - p0 - 3 * p2 + p3) * t**3
            )
        )
    return np.vstack(pieces)


def de_casteljau(control, t):
    """A point on a Bezier curve."""
    points = control.copy()
    n = points.shape[0]
    for k in range(1, n):
        points[: n - k] = (1 - t) * points[: n - k] + t * points[1 : n - k + 1]
    return points[0]


def bilinear(table, x, y):
    """Bilinear interpolation in a table at many places."""
    i = np.floor(x).astype(int)
    j = np.floor(y).astype(int)
    i = np.clip(i, 0, table.shape[0] - 2)
    j = np.clip(j, 0, table.shape[1] - 2)
    u, v = x - i, y - j
    return (
        table[i, j] * (1 - u) * (1 - v)
        + table[i + 1, j] * u * (1 - v)
        + table[i, j + 1] * (1 - u) * v
        + table[i + 1, j + 1] * u * v
    )


def horner(coefficients, x):
    """A polynomial and its derivative at once."""
    value = np.zeros_like(x)
    slope = np.zeros_like(x)
    for c in coefficients:
        slope = slope * x + value
        value = value * x + c
    return value, slope


def evaluate_class(x):
    """A polynomial as an object that is called, and its derivative."""
    p = Polynomial(1.0, -2.0, 0.5, 3.0)
    return p(x), p.derivative()(x)


def chebyshev(coefficients, x):
    """Clenshaw's recurrence."""
    b1 = b2 = np.zeros_like(x)
    for c in coefficients[:0:-1]:
        b1, b2 = c + 2 * x * b1 - b2, b1
    return coefficients[0] + x * b1 - b2


def legendre_values(x, degree):
    """Legendre's polynomials up to a degree, in the rows of an array."""
    p = np.ones((degree + 1, x.size))
    if degree > 0:
        p[1] = x
    for n in range(1, degree):
        p[n + 1] = ((2 * n + 1) * x * p[n] - n * p[n - 1]) / (n + 1)
    return p


def polynomial_fit(x, y):
    """A parabola by least squares."""
    design = np.column_stack([np.ones_like(x), x, x**2])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    return coefficients


def trapezoid(y, dx):
    """The trapezoidal rule."""
    return dx * (np.sum(y) - 0.5 * (y[0] + y[-1]))


def cumulative_trapezoid(y, x):
    """The running integral, zero at the start."""
    steps = 0.5 * (y[1:] + y[:-1]) * np.diff(x)
    return np.concatenate(([0.0], np.cumsum(steps)))


def simpson(f, a, b, n=20):
    """Simpson's rule for a given function."""
    x = np.linspace(a, b, n + 1)
    y = f(x)
    return (b - a) / n / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())


def integrate_gaussian(a, b):
    """Simpson's rule of a lambda."""
    return simpson(lambda t: np.exp(-(t**2)), a, b)


def gauss_legendre(a, b, pieces=4):
    """Three-point Gauss quadrature of a fixed function on pieces."""
    edges = np.linspace(a, b, pieces + 1)
    total = 0.0
    for left, right in zip(edges[:-1], edges[1:]):
        middle, half = (left + right) / 2, (right - left) / 2
        total += half * np.dot(GAUSS_WEIGHTS, np.sin(middle + half * GAUSS_NODES))
    return total


def romberg(a, b, levels=5):
    """Romberg's table for 1 / (1 + x)."""
    table = np.zeros((levels, levels))
    for k in range(levels):
        x = np.linspace(a, b, 2**k + 1)
        y = 1.0 / (1.0 + x)
        table[k, 0] = np.trapezoid(y, x)
        for m in range(1, k + 1):
            table[k, m] = table[k, m - 1] + (table[k, m - 1] - table[k - 1, m - 1]) / (4**m - 1)
    return table[-1, -1]


def adaptive_simpson(a, b, tolerance=1e-6):
    """Adaptive quadrature by recursion."""

    def f(x):
        return np.sqrt(x)

    def panel(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    def refine(a, b, whole, tolerance):
        middle = (a + b) / 2
        left, right = panel(a, middle), panel(middle, b)
        if abs(left + right - whole) < 15 * tolerance:
            return left + right
        return refine(a, middle, left, tolerance / 2) + refine(middle, b, right, tolerance / 2)

    return refine(a, b, panel(a, b), tolerance)


def bisect(a, b, tolerance=1e-10):
    """Bisection of cos(x) - x."""
    fa = np.cos(a) - a
    while b - a > tolerance:
        c = (a + b) / 2
        fc = np.cos(c) - c
        if fa * fc <= 0:
            b = c
        else:
            a, fa = c, fc
    return (a + b) / 2


def bisect_array(targets, iterations=40):
    """Bisection of x + exp(x) for many targets at once."""
    low = np.full_like(targets, -20.0)
    high = np.full_like(targets, 20.0)
    for _ in range(iterations):
        middle = 0.5 * (low + high)
        too_big = middle + np.exp(middle) > targets
        high = np.where(too_big, middle, high)
        low = np.where(too_big, low, middle)
    return 0.5 * (low + high)


def newton_root(x, tolerance=1e-12, limit=50):
    """Newton's method with an early return."""
    for i in range(limit):
        fx = x**3 - 2 * x - 5
        if abs(fx) < tolerance:
            return Root(x, fx, i)
        x = x - fx / (3 * x**2 - 2)
    return Root(x, x**3 - 2 * x - 5, limit)


def secant(x0, x1):
    """The secant method in a while loop with break."""
    f0, f1 = np.exp(-x0) - x0, np.exp(-x1) - x1
    while True:
        if abs(x1 - x0) < 1e-12:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, np.exp(-x1) - x1
    return x1


def cube_roots(values):
    """Cube roots of all elements by Newton's method until all have converged."""
    x = np.ones_like(values)
    while np.any(np.abs(x**3 - values) > 1e-9):
        x -= (x**3 - values) / (3 * x**2)
    return x


def lambert_w(x):
    """Lambert's function by Halley's method, element by element."""
    out = np.empty_like(x)
    for i, value in enumerate(x):
        w = np.log1p(value)
        for _ in range(12):
            e = np.exp(w)
            f = w * e - value
            w -= f / (e * (w + 1) - (w + 2) * f / (2 * w + 2))
        out[i] = w
    return out


def error_function(x, terms=30):
    """erf by its power series."""
    total = np.zeros_like(x)
    for n in range(terms):
        total += (-1) ** n * x ** (2 * n + 1) / (math.factorial(n) * (2 * n + 1))
    return 2 / np.sqrt(np.pi) * total


def continued_fraction(x, depth=20):
    """The tangent by Lambert's continued fraction."""
    value = 2 * depth - 1.0
    for k in range(depth - 1, 0, -1):
        value = (2 * k - 1) - x * x / value
    return x / value


def gamma_lanczos(z):
    """Gamma by Lanczos' approximation, its coefficients in a local list."""
    g = 7
    coefficients = [
        0.99999999999980993,
        676.5203681218851,
        -1259.1392167224028,
        771.32342877765313,
        -176.61502916214059,
        12.507343278686905,
        -0.13857109526572012,
        9.9843695780195716e-6,
        1.5056327351493116e-7,
    ]
    z = z - 1
    total = coefficients[0]
    for i in range(1, g + 2):
        total = total + coefficients[i] / (z + i)
    t = z + g + 0.5
    return np.sqrt(2 * np.pi) * t ** (z + 0.5) * np.exp(-t) * total


CASES = [
    Case(table_lookup, lambda: (uniform(9), np.linspace(0, 1, 6), samples(6))),
    Case(resample, lambda: (samples(8), 3)),
    Case(lagrange, lambda: (uniform(7), np.linspace(0, 1, 5), samples(5))),
    Case(newton_differences, lambda: (np.linspace(0, 1, 6), samples(6))),
    Case(natural_spline, lambda: (np.linspace(0, 1, 6), samples(6))),
    Case(catmull_rom, lambda: (samples(7, 2),)),
    Case(de_casteljau, lambda: (samples(5, 2), 0.3)),
    Case(bilinear, lambda: (samples(5, 6), 4 * uniform(8), 5 * uniform(8, seed=1))),
    Case(horner, lambda: ([2.0, -1.0, 0.5], samples(6))),
    Case(evaluate_class, lambda: (samples(6),)),
    Case(chebyshev, lambda: (samples(6), 2 * uniform(9) - 1)),
    Case(legendre_values, lambda: (2 * uniform(7) - 1, 5)),
    Case(polynomial_fit, lambda: (samples(10), samples(10, seed=1))),
    Case(trapezoid, lambda: (samples(20), 0.1)),
    Case(cumulative_trapezoid, lambda: (samples(20), np.linspace(0, 2, 20))),
    Case(integrate_gaussian, lambda: (0.0, 1.5)),
    Case(gauss_legendre, lambda: (0.0, 2.0)),
    Case(romberg, lambda: (0.0, 1.0)),
    Case(adaptive_simpson, lambda: (0.1, 2.0)),
    Case(bisect, lambda: (0.0, 2.0)),
    Case(bisect_array, lambda: (samples(8),)),
    Case(newton_root, lambda: (2.0,)),
    Case(secant, lambda: (0.0, 1.0)),
    Case(cube_roots, lambda: (1 + uniform(8),)),
    Case(lambert_w, lambda: (0.1 + uniform(5),)),
    Case(error_function, lambda: (samples(9),)),
    Case(continued_fraction, lambda: (uniform(9),)),
    Case(gamma_lanczos, lambda: (1 + 3 * uniform(9),)),
]
