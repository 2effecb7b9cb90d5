"""Prints `pyc/ir/ops/special_tables.py`, the coefficients of the gamma, Bessel and inverse error
functions.

    PYTHONPATH=. python -m benchmarks.fit_special > pyc/ir/ops/special_tables.py   (ruff format)
    PYTHONPATH=. python -m benchmarks.fit_special GAMMA STIRLING                   (to look at)

The fits are those of `fit_math`. These functions are computed in float64 for both types: the row of
f32 has fewer coefficients, enough for one rounding to float32, of the same precision.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import mpmath as mp  # type: ignore[import-untyped]

from benchmarks.fit_math import Fit, Real, fit, near_zero, parts, short_hex

Number = mp.mpf | float
FIRST_OF_LGAMMA = 1 - mp.euler
ROOT_OF_DIGAMMA = mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


@dataclass(frozen=True)
class Table:
    """One table: a formula for the reader, what is fitted where, and the degrees for both types."""

    formula: str
    function: Real
    low: Number
    high: Number
    degrees: tuple[int, int]
    weight: Real

    def rows(self) -> list[tuple[list[float], float]]:
        """Coefficients and weighted error for f32 and f64."""
        tasks = [
            Fit(self.function, self.low, self.high, degree, 53, self.weight, points=12 * degree)
            for degree in self.degrees
        ]
        return [fit(task) for task in tasks]


def _stirling(s: mp.mpf) -> mp.mpf:
    x = 1 / mp.sqrt(s)
    return (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def _digamma_far(s: mp.mpf) -> mp.mpf:
    x = 1 / mp.sqrt(s)
    return (mp.log(x) - 1 / (2 * x) - mp.digamma(x)) * x * x


def inverse_erfc(y: mp.mpf) -> mp.mpf:
    """t with erfc(t) = y, for 0 < y <= 1, by Newton's method on the logarithm."""
    t = mp.sqrt(-mp.log(y)) if y < 0.5 else (1 - y) * mp.sqrt(mp.pi) / 2
    for _ in range(100):
        value = mp.erfc(t)
        step = mp.log(value / y) * value * mp.sqrt(mp.pi) / 2 * mp.exp(t * t)
        t += step
        if abs(step) <= abs(t) * mp.mpf(10) ** -50:
            return t
    raise ArithmeticError(f"no inverse of erfc at {y}")


def _inverse_erf_over_x(w: mp.mpf) -> mp.mpf:
    """erfinv(x) / x for w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return inverse_erfc(mp.exp(-w) / (1 + x)) / x


def _of_root(middle: float) -> Real:
    """The same as a function of sqrt(w) - middle."""
    return lambda v: _inverse_erf_over_x((v + middle) ** 2)


def _bessel_near(order: int) -> Real:
    """(I_n(x) n! / (x/2)^n - 1) / s as a function of s = (x/2)^2, for n = 0 and 1."""

    def near(s: mp.mpf) -> mp.mpf:
        half = mp.sqrt(s)
        return (mp.besseli(order, 2 * half) / half**order - 1) / s

    return near_zero(near, mp.mpf(1) / (order + 1))


def _bessel_far(order: int) -> Real:
    """sqrt(x) exp(-x) I_n(x) as a function of 1 / x - 1 / 16."""

    def far(v: mp.mpf) -> mp.mpf:
        w = v + mp.mpf(1) / 16
        return mp.sqrt(1 / w) * mp.exp(-1 / w) * mp.besseli(order, 1 / w)

    return far


def _weight_near(order: int) -> Real:
    return lambda s: s / (1 + s * _bessel_near(order)(s))


BESSEL_BORDER = 7.75
NEAR = mp.mpf(BESSEL_BORDER) ** 2 / 4
STIRLING_FROM = mp.mpf("8.5")

TABLES: dict[str, Table] = {
    "GAMMA": Table(
        "(gamma(2 + z) - 1) / z, |z| <= 1/2",
        near_zero(lambda z: (mp.gamma(2 + z) - 1) / z, FIRST_OF_LGAMMA),
        -0.5,
        0.5,
        (11, 19),
        lambda z: z,
    ),
    "LGAMMA": Table(
        "(log(gamma(2 + z)) / z - (1 - Euler's constant)) / z, |z| <= 1/2",
        near_zero(
            lambda z: (mp.loggamma(2 + z) / z - FIRST_OF_LGAMMA) / z,
            (mp.pi**2 / 6 - 1) / 2,
        ),
        -0.5,
        0.5,
        (9, 19),
        lambda z: z,
    ),
    "STIRLING": Table(
        "x (log(gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2), s = 1 / x^2, x >= 8.5",
        near_zero(_stirling, mp.mpf(1) / 12),
        0,
        1 / STIRLING_FROM**2,
        (2, 7),
        lambda s: mp.mpf(1),
    ),
    "SIN_PI": Table(
        "sin(pi r) / r in s = r^2, |r| <= 1/2",
        near_zero(lambda s: mp.sin(mp.pi * mp.sqrt(s)) / mp.sqrt(s), mp.pi),
        0,
        0.25,
        (5, 9),
        lambda s: mp.mpf(1),
    ),
    "DIGAMMA": Table(
        "digamma(x) / (x - root) in z = x - 3/2, 1 <= x <= 2",
        lambda z: mp.digamma(z + 1.5) / (z + 1.5 - ROOT_OF_DIGAMMA),
        -0.5,
        0.5,
        (11, 23),
        lambda z: mp.mpf(1),
    ),
    "DIGAMMA_FAR": Table(
        "x^2 (log(x) - 1 / (2 x) - digamma(x)) in s = 1 / x^2, x >= 3",
        near_zero(_digamma_far, mp.mpf(1) / 12),
        0,
        mp.mpf(1) / 9,
        (5, 14),
        lambda s: s,
    ),
    "ERFINV": Table(
        "erfinv(x) / x in w - 25/8, w = -log(1 - x^2) <= 25/4",
        near_zero(lambda v: _inverse_erf_over_x(v + mp.mpf(25) / 8), mp.mpf(1)),
        mp.mpf(-25) / 8 + mp.mpf(10) ** -24,
        mp.mpf(25) / 8,
        (12, 23),
        lambda v: mp.mpf(1),
    ),
    "ERFINV_FAR": Table(
        "erfinv(x) / x in sqrt(w) - 7/2, 25/4 <= w <= 81/4",
        _of_root(3.5),
        -1,
        1,
        (11, 23),
        lambda v: mp.mpf(1),
    ),
    "ERFINV_FARTHER": Table(
        "erfinv(x) / x in sqrt(w) - 29/4, 81/4 <= w <= 100",
        _of_root(7.25),
        mp.mpf("-2.75"),
        mp.mpf("2.75"),
        (12, 27),
        lambda v: mp.mpf(1),
    ),
    "ERFINV_FARTHEST": Table(
        "erfinv(x) / x in sqrt(w) - 19, 100 <= w <= 784",
        _of_root(19.0),
        -9,
        9,
        (12, 27),
        lambda v: mp.mpf(1),
    ),
    "I0_NEAR": Table(
        "(i0(x) - 1) / s in s = x^2 / 4, |x| <= 7.75",
        _bessel_near(0),
        0,
        NEAR,
        (9, 14),
        _weight_near(0),
    ),
    "I0_FAR": Table(
        "sqrt(x) exp(-x) i0(x) in 1 / x - 1 / 16, x >= 7.75",
        _bessel_far(0),
        mp.mpf(-1) / 16 + mp.mpf(10) ** -24,
        1 / mp.mpf(BESSEL_BORDER) - mp.mpf(1) / 16,
        (7, 23),
        lambda v: mp.mpf(1),
    ),
    "I1_NEAR": Table(
        "(2 i1(x) / x - 1) / s in s = x^2 / 4, |x| <= 7.75",
        _bessel_near(1),
        0,
        NEAR,
        (8, 14),
        _weight_near(1),
    ),
    "I1_FAR": Table(
        "sqrt(x) exp(-x) i1(x) in 1 / x - 1 / 16, x >= 7.75",
        _bessel_far(1),
        mp.mpf(-1) / 16 + mp.mpf(10) ** -24,
        1 / mp.mpf(BESSEL_BORDER) - mp.mpf(1) / 16,
        (7, 22),
        lambda v: mp.mpf(1),
    ),
}

CONSTANTS: dict[str, tuple[str, mp.mpf]] = {
    "FIRST_OF_LGAMMA": ("1 - Euler's constant", FIRST_OF_LGAMMA),
    "ROOT_OF_DIGAMMA": ("digamma is 0 here", ROOT_OF_DIGAMMA),
    "STIRLING_CONSTANT": ("(log(2 pi) - 1) / 2", (mp.log(2 * mp.pi) - 1) / 2),
    "LOG_PI": ("log(pi)", mp.log(mp.pi)),
    "PI": ("pi", mp.pi),
}
"""Each as two float64, a value and what it lacks."""

HEADER = '''"""Coefficients of {of}: written by
`benchmarks/{script}.py`, not by hand.

Each table maps the type of the result to the float64 coefficients of a polynomial, lowest order
first. The comment gives the fitted function and the weighted error for f32 and f64. Constants are
two float64, a value and what it lacks.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())

'''


def table_text(name: str, table: Table) -> str:
    """The Python text of a table, fitted now."""
    rows = table.rows()
    errors = ", ".join(f"{error:.1e}" for _, error in rows)
    lines = [f"# {table.formula}; {errors}", f"{name}: dict[DType, tuple[float, ...]] = {{"]
    for type, (coefficients, _) in zip(("f32", "f64"), rows, strict=True):
        words = [short_hex(c) for c in coefficients]
        lines.append(f"    dt.{type}: _row(")
        lines.extend(f'        "{" ".join(words[k : k + 3])} "' for k in range(0, len(words), 3))
        lines.append("    ),")
    return "\n".join([*lines, "}"])


def constant_text(name: str, comment: str, value: mp.mpf) -> str:
    """The Python text of a constant."""
    words = " ".join(short_hex(c) for c in parts(value, 2, 53))
    return f'# {comment}\n{name} = _row("{words}")'


def write(
    script: str,
    of: str,
    tables: dict[str, Table],
    constants: dict[str, tuple[str, mp.mpf]],
    names: Sequence[str],
) -> None:
    """Print a module of coefficients, or only the tables named."""
    jobs = [(name, tables[name]) for name in names or tables]
    # The functions of a table have no names: a process is forked for each, with all of them.
    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(lambda job: _in_a_process(*job), jobs))
    if not names:
        print(HEADER.format(of=of, script=script))
        print("\n".join(constant_text(name, *constants[name]) for name in constants))
    print("\n".join(texts))


def _in_a_process(name: str, table: Table) -> str:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    worker = context.Process(target=lambda: theirs.send(table_text(name, table)))
    worker.start()
    found: str = ours.recv()
    worker.join()
    return found


def main(names: Sequence[str]) -> None:
    """Print the module of coefficients, or only the tables named."""
    of = "the gamma, Bessel and inverse error\nfunctions"
    write("fit_special", of, TABLES, CONSTANTS, names)


if __name__ == "__main__":
    main(sys.argv[1:])
