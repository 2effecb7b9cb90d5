"""Prints `pyc/ir/ops/bessel_tables.py`, the coefficients of the Bessel functions J, Y and K.

    PYTHONPATH=. python -m benchmarks.fit_bessel > pyc/ir/ops/bessel_tables.py   (ruff format)
    PYTHONPATH=. python -m benchmarks.fit_bessel J0_NEAR                         (to look at)

The fits are those of `fit_special`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import mpmath as mp  # type: ignore[import-untyped]

from benchmarks.fit_math import Real, near_zero
from benchmarks.fit_special import Table, write

LIMITS_OF_Y = (
    2 / mp.pi * (mp.euler - mp.log(2)),
    (2 * mp.euler - 1 - 2 * mp.log(2)) / (2 * mp.pi),
)
LIMITS_OF_K = (mp.log(2) - mp.euler, (2 * mp.euler - 1 - 2 * mp.log(2)) / 4)


def _regular(order: int) -> Real:
    """J_n(x) / x^n in x^2."""
    return near_zero(
        lambda s: mp.besselj(order, mp.sqrt(s)) / mp.sqrt(s) ** order, mp.mpf(1) / (order + 1)
    )


def _irregular(order: int) -> Real:
    """(Y_n(x) - (2 / pi) (log(x) J_n(x) - n / x)) / x^n in x^2."""

    def rest(s: mp.mpf) -> mp.mpf:
        x = mp.sqrt(s)
        known = 2 / mp.pi * (mp.log(x) * mp.besselj(order, x) - order / x)
        return (mp.bessely(order, x) - known) / x**order

    return near_zero(rest, LIMITS_OF_Y[order])


def _modified(order: int) -> Real:
    """(K_n(x) + (-1)^n log(x) I_n(x) - n / x) / x^n in x^2."""

    def rest(s: mp.mpf) -> mp.mpf:
        x = mp.sqrt(s)
        known = order / x - (-1) ** order * mp.log(x) * mp.besseli(order, x)
        return (mp.besselk(order, x) - known) / x**order

    return near_zero(rest, LIMITS_OF_K[order])


def _asymptotic(order: int, odd: bool) -> Real:
    """P_n, or x Q_n, of Hankel's expansions in 1 / x^2 (DLMF 10.17.3, 10.17.4)."""

    def scaled(z: mp.mpf) -> mp.mpf:
        x = 1 / mp.sqrt(z)
        phase = x - mp.pi / 4 - order * mp.pi / 2
        j, y, size = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
        if odd:
            return x * size * (y * mp.cos(phase) - j * mp.sin(phase))
        return size * (j * mp.cos(phase) + y * mp.sin(phase))

    limit = mp.mpf(4 * order * order - 1) / 8 if odd else mp.mpf(1)
    return lambda z: limit if z < mp.mpf(10) ** -9 else scaled(z)


def _decaying(order: int, to_x: Callable[[mp.mpf], mp.mpf]) -> Real:
    """sqrt(x) exp(x) K_n(x)."""

    def scaled(v: mp.mpf) -> mp.mpf:
        x = to_x(v)
        return mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)

    return scaled


def _tables(order: int) -> dict[str, Table]:
    one = lambda x: mp.mpf(1)  # noqa: E731
    n = str(order)
    power = f" / x^{order}" if order else ""
    return {
        f"J{n}_NEAR": Table(f"J{n}(x){power} in x^2, x <= 4", _regular(order), 0, 16, (8, 14), one),
        f"J{n}_MIDDLE": Table(
            f"J{n}(x) in x - 6, 4 <= x <= 8",
            lambda y: mp.besselj(order, y + 6),
            -2,
            2,
            (12, 19),
            one,
        ),
        f"Y{n}_NEAR": Table(
            f"(Y{n}(x) - (2 / pi) (log(x) J{n}(x) - {n} / x)){power} in x^2, x <= 4",
            _irregular(order),
            0,
            16,
            (8, 14),
            one,
        ),
        f"Y{n}_MIDDLE": Table(
            f"Y{n}(x) in x - 6, 4 <= x <= 8",
            lambda y: mp.bessely(order, y + 6),
            -2,
            2,
            (12, 28),
            one,
        ),
        f"P{n}": Table(
            f"P{n} in 1 / x^2, x >= 8", _asymptotic(order, False), 0, mp.mpf(1) / 64, (4, 11), one
        ),
        f"Q{n}": Table(
            f"x Q{n} in 1 / x^2, x >= 8", _asymptotic(order, True), 0, mp.mpf(1) / 64, (4, 11), one
        ),
        f"K{n}_NEAR": Table(
            f"(K{n}(x) + (-1)^n log(x) I{n}(x) - {n} / x){power} in x^2, x <= 1",
            _modified(order),
            0,
            1,
            (4, 8),
            one,
        ),
        f"K{n}_MIDDLE": Table(
            f"sqrt(x) exp(x) K{n}(x) in (x - 2) / (x + 2), 1 <= x <= 4",
            _decaying(order, lambda v: 2 * (1 + v) / (1 - v)),
            mp.mpf(-1) / 3,
            mp.mpf(1) / 3,
            (11, 21),
            one,
        ),
        f"K{n}_FAR": Table(
            f"sqrt(x) exp(x) K{n}(x) in 1 / x - 1/8, x >= 4",
            _decaying(order, lambda v: 1 / (v + mp.mpf(1) / 8)),
            mp.mpf(-1) / 8 + mp.mpf(10) ** -6,
            mp.mpf(1) / 8,
            (8, 19),
            one,
        ),
    }


TABLES = _tables(0) | _tables(1)

CONSTANTS: dict[str, tuple[str, mp.mpf]] = {
    "TWO_OVER_PI": ("2 / pi", 2 / mp.pi),
    "ROOT_OF_PI": ("1 / sqrt(pi)", 1 / mp.sqrt(mp.pi)),
}


if __name__ == "__main__":
    write("fit_bessel", "the Bessel functions J, Y and K", TABLES, CONSTANTS, sys.argv[1:])
