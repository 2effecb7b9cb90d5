"""Prints `pyc/ir/ops/integral_tables.py`, the coefficients of the exponential, sine, cosine and
incomplete gamma integrals.

    PYTHONPATH=. python -m benchmarks.fit_integrals > pyc/ir/ops/integral_tables.py   (ruff format)
    PYTHONPATH=. python -m benchmarks.fit_integrals EI_NEAR                           (to look at)

The fits are those of `fit_special`.
"""

from __future__ import annotations

import sys

import mpmath as mp  # type: ignore[import-untyped]

from benchmarks.fit_math import Real, near_zero
from benchmarks.fit_special import Number, Table, write

ROOT_OF_EI = mp.findroot(mp.ei, mp.mpf("0.3725074107813666"))
ROOT_OF_CI = mp.findroot(mp.ci, mp.mpf("0.6165054856207162"))


def _scaled(x: mp.mpf) -> mp.mpf:
    return x * mp.exp(x) * mp.e1(x)


def _scaled_ei(x: mp.mpf) -> mp.mpf:
    return x * mp.exp(-x) * mp.ei(x)


def _ei_near(x: mp.mpf) -> mp.mpf:
    if abs(x - ROOT_OF_EI) < mp.mpf(10) ** -25:
        return (mp.exp(ROOT_OF_EI) - 1) / ROOT_OF_EI
    if x < mp.mpf(10) ** -25:
        return (mp.euler + mp.log(ROOT_OF_EI)) / -ROOT_OF_EI
    return (mp.ei(x) - mp.log(x / ROOT_OF_EI)) / (x - ROOT_OF_EI)


def _ci_near(s: mp.mpf) -> mp.mpf:
    x = mp.sqrt(s)
    return (mp.ci(x) - mp.log(x / ROOT_OF_CI)) / (s - ROOT_OF_CI**2)


def _auxiliary(which: int) -> Real:
    """x f(x) or x^2 g(x) as a function of 1 / x^2 (DLMF 6.2.17, 6.2.18)."""

    def scaled(z: mp.mpf) -> mp.mpf:
        x = 1 / mp.sqrt(z)
        lack, ci = mp.pi / 2 - mp.si(x), mp.ci(x)
        if which == 0:
            return x * (ci * mp.sin(x) + lack * mp.cos(x))
        return x * x * (lack * mp.sin(x) - ci * mp.cos(x))

    return scaled


def _of_inverse(function: Real, middle: Number) -> Real:
    return lambda v: function(1 / (v + middle))


def _piece(low: int, high: int, degrees: tuple[int, int]) -> Table:
    """x exp(-x) Ei(x) from `low` to `high` in 1 / x less the middle of its range."""
    first = 1 / mp.mpf(low)
    last = 1 / mp.mpf(high) if high else mp.mpf(0)
    middle = (first + last) / 2
    half = (first - last) / 2
    until = f"x <= {high}" if high else "infinity"
    return Table(
        f"x exp(-x) Ei(x) in 1 / x - {float(middle)!r}, {low} <= x, {until}",
        _of_inverse(_scaled_ei, middle),
        -half + (0 if high else mp.mpf(10) ** -6),
        half,
        degrees,
        lambda v: mp.mpf(1),
    )


def _uniform_series(count: int, length: int) -> list[list[mp.mpf]]:
    """The series in eta of the first coefficients of Temme's expansion (DLMF 8.12.8 to 8.12.13)."""
    n = length + 2 * count
    alpha = [mp.mpf(0), mp.mpf(1), mp.mpf(1) / 3]
    for k in range(3, n + 3):
        inner = sum(j * alpha[j] * alpha[k - j + 1] for j in range(2, k))
        alpha.append((alpha[k - 1] - inner) / (k + 1))
    # exp(sum of B_2k / (2k (2k - 1)) z^(1 - 2k)), in powers of 1 / z (DLMF 5.11.1, 5.11.3)
    log_of = [mp.mpf(0)] * (count + 1)
    for k in range(1, count + 1, 2):
        log_of[k] = mp.bernoulli(k + 1) / (k * (k + 1))
    stirling = [mp.mpf(1)]
    for k in range(1, count + 1):
        stirling.append(sum(j * log_of[j] * stirling[k - j] for j in range(1, k + 1)) / k)
    first = [mp.mpf(-1) / 3, *((k + 2) * alpha[k + 2] for k in range(1, n))]
    found = [first]
    for k in range(1, count):
        last = found[-1]
        sign = (-1) ** k * stirling[k]
        found.append([sign * first[j] + (j + 2) * last[j + 2] for j in range(n - 2 * k)])
    return found


UNIFORM_DEGREES = (15, 13, 12, 11, 9, 8, 7, 5, 4, 3)
UNIFORM = _uniform_series(len(UNIFORM_DEGREES), 60)


def _uniform(k: int, degree: int) -> Table:
    """The coefficient of a^-k. Where a is 20 it counts 20^-k."""
    return Table(
        f"c_{k}(eta) of DLMF 8.12.9, for x / a from 0.6 to 1.4",
        lambda eta: mp.polyval(UNIFORM[k][::-1], eta),
        mp.mpf("-0.472"),
        mp.mpf("0.357"),
        (max(degree // 2, 1), degree),
        lambda eta: mp.mpf(1),
    )


TABLES: dict[str, Table] = {
    "E1_NEAR": Table(
        "E1(x) + log(x), 0 <= x <= 1",
        near_zero(lambda x: mp.e1(x) + mp.log(x), -mp.euler),
        0,
        1,
        (7, 13),
        lambda x: 1 / mp.e1(x),
    ),
    "E1_MIDDLE": Table(
        "x exp(x) E1(x) in v = (x - 9/4) / (x + 9/4), 1 <= x <= 5",
        lambda v: _scaled((1 + v) / (1 - v) * 9 / 4),
        mp.mpf(-5) / 13,
        mp.mpf(11) / 29,
        (12, 19),
        lambda v: 1 / _scaled((1 + v) / (1 - v) * 9 / 4),
    ),
    "E1_FAR": Table(
        "x exp(x) E1(x) in 1 / x - 1 / 10, x >= 5",
        _of_inverse(_scaled, mp.mpf(1) / 10),
        mp.mpf(-1) / 10 + mp.mpf(10) ** -6,
        mp.mpf(1) / 10,
        (11, 24),
        lambda v: mp.mpf(1),
    ),
    "EI_NEAR": Table(
        "(Ei(x) - log(x / root)) / (x - root) in x - 3, 0 <= x <= 6",
        lambda y: _ei_near(y + 3),
        -3,
        3,
        (13, 20),
        lambda y: 1 / _ei_near(y + 3),
    ),
    "EI_6": _piece(6, 12, (11, 21)),
    "EI_12": _piece(12, 24, (10, 21)),
    "EI_24": _piece(24, 48, (7, 17)),
    "EI_48": _piece(48, 0, (5, 12)),
    "SI_NEAR": Table(
        "Si(x) / x in s = x^2, 0 <= x <= 4",
        near_zero(lambda s: mp.si(mp.sqrt(s)) / mp.sqrt(s), mp.mpf(1)),
        0,
        16,
        (7, 13),
        lambda s: mp.mpf(1),
    ),
    "CI_NEAR": Table(
        "(Ci(x) - log(x / root)) / (x^2 - root^2) in s = x^2, 0 <= x <= 4",
        near_zero(_ci_near, (mp.euler + mp.log(ROOT_OF_CI)) / -(ROOT_OF_CI**2)),
        0,
        16,
        (7, 13),
        lambda s: 1 / _ci_near(s) if s else mp.mpf(1),
    ),
    "SI_MIDDLE": Table(
        "Si(x) in x - 6, 4 <= x <= 8",
        lambda y: mp.si(y + 6),
        -2,
        2,
        (11, 17),
        lambda y: mp.mpf(1),
    ),
    "CI_MIDDLE": Table(
        "Ci(x) in x - 6, 4 <= x <= 8",
        lambda y: mp.ci(y + 6),
        -2,
        2,
        (12, 22),
        lambda y: mp.mpf(1),
    ),
    "SI_F": Table(
        "x f(x) in 1 / x^2 - 5/512, 8 <= x <= 16, f as in DLMF 6.2.17",
        lambda v: _auxiliary(0)(v + mp.mpf(5) / 512),
        mp.mpf(-3) / 512,
        mp.mpf(3) / 512,
        (8, 17),
        lambda v: mp.mpf(1),
    ),
    "SI_F_FAR": Table(
        "the same in 1 / x^2, x >= 16",
        near_zero(_auxiliary(0), mp.mpf(1)),
        mp.mpf(10) ** -9,
        mp.mpf(1) / 256,
        (5, 14),
        lambda z: mp.mpf(1),
    ),
    "SI_G": Table(
        "x^2 g(x) in 1 / x^2 - 5/512, 8 <= x <= 16, g as in DLMF 6.2.18",
        lambda v: _auxiliary(1)(v + mp.mpf(5) / 512),
        mp.mpf(-3) / 512,
        mp.mpf(3) / 512,
        (9, 18),
        lambda v: mp.mpf(1),
    ),
    "SI_G_FAR": Table(
        "the same in 1 / x^2, x >= 16",
        near_zero(_auxiliary(1), mp.mpf(1)),
        mp.mpf(10) ** -9,
        mp.mpf(1) / 256,
        (6, 15),
        lambda z: mp.mpf(1),
    ),
} | {f"UNIFORM_{k}": _uniform(k, degree) for k, degree in enumerate(UNIFORM_DEGREES)}

CONSTANTS: dict[str, tuple[str, mp.mpf]] = {
    "ROOT_OF_EI": ("Ei is 0 here", ROOT_OF_EI),
    "ROOT_OF_CI": ("Ci is 0 here for the first time", ROOT_OF_CI),
    "LOG_ROOT_OF_EI": ("the logarithm of the root of Ei", mp.log(ROOT_OF_EI)),
    "LOG_ROOT_OF_CI": ("the logarithm of the root of Ci", mp.log(ROOT_OF_CI)),
    "HALF_PI": ("pi / 2", mp.pi / 2),
    "DILOGARITHM_OF_1": ("pi^2 / 6", mp.pi**2 / 6),
}


if __name__ == "__main__":
    of = "the exponential, sine, cosine and\nincomplete gamma integrals"
    write("fit_integrals", of, TABLES, CONSTANTS, sys.argv[1:])
