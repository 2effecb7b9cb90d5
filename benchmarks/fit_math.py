"""Prints `pyc/ir/ops/math_tables.py`, the coefficients of pyc's math functions.

    python benchmarks/fit_math.py > pyc/ir/ops/math_tables.py     (all; half a minute; ruff format)
    python benchmarks/fit_math.py EXP_TAIL LOG_TAIL               (only these, to look at)

Each row of `TABLES` is a function to approximate, an interval, the exponents of the basis and a
weight; the fit minimises max |weight * (f - p)| on a dense Chebyshev grid by the Remez exchange in
60-digit arithmetic. Coefficients are rounded to the target type one at a time from the lowest
order, refitting the rest after each, so the printed polynomial (not an ideal one) is near-best.
The printed error is that of the rounded polynomial. Nothing here is copied from another library.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np

mp.mp.dps = 60

Real = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """Approximate `function` on [low, high] by a polynomial of the given degree.

    The error is measured as weight(x) * (function(x) - p(x)); bits: 24 or 53, the precision that
    coefficients are rounded to; split_first: the first coefficient takes two entries, a value and
    what it lacks.
    """

    function: Real
    low: mp.mpf | float
    high: mp.mpf | float
    degree: int
    bits: int
    weight: Real = lambda x: mp.mpf(1)
    points: int = 400
    split_first: bool = False


def rounded(value: mp.mpf, bits: int) -> mp.mpf:
    """`value` to `bits` bits, half to even."""
    if value == 0:
        return value
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def remez(
    xs: Sequence[mp.mpf], ys: Sequence[mp.mpf], ws: Sequence[mp.mpf], exponents: Sequence[int]
) -> tuple[list[mp.mpf], mp.mpf]:
    """The weighted minimax coefficients over grid points xs for basis x^e, and the error."""
    n = len(exponents)
    rows = [[x**e * w for e in exponents] for x, w in zip(xs, ws, strict=True)]
    goal = [y * w for y, w in zip(ys, ws, strict=True)]
    last = len(xs) - 1
    chosen = [round(last * (1 - np.cos(np.pi * k / n)) / 2) for k in range(n + 1)]
    chosen = [max(c, k) for k, c in enumerate(chosen)]
    coefficients: list[mp.mpf] = []
    for _ in range(40):
        system = mp.matrix(n + 1, n + 1)
        right = mp.matrix(n + 1, 1)
        for i, k in enumerate(chosen):
            for j in range(n):
                system[i, j] = rows[k][j]
            system[i, n] = mp.mpf(-1) ** i
            right[i] = goal[k]
        solution = mp.lu_solve(system, right)
        coefficients = [solution[j] for j in range(n)]
        level = abs(solution[n])
        errors = [
            g - mp.fsum(c * v for c, v in zip(coefficients, row, strict=True))
            for g, row in zip(goal, rows, strict=True)
        ]
        worst = max(abs(e) for e in errors)
        if worst <= level * mp.mpf("1.002"):
            break
        chosen = _exchange(errors, n + 1)
    return coefficients, worst


def _exchange(errors: Sequence[mp.mpf], count: int) -> list[int]:
    """`count` indices of alternating local extrema of `errors`, the largest kept."""
    peaks: list[int] = []
    for k, e in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = k
        else:
            peaks.append(k)
    while len(peaks) > count:
        if len(peaks) == count + 1:
            del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
            continue
        weakest = min(range(len(peaks)), key=lambda i: abs(errors[peaks[i]]))
        if weakest in (0, len(peaks) - 1):
            del peaks[weakest]
        else:
            near = weakest - 1
            if abs(errors[peaks[weakest + 1]]) < abs(errors[peaks[weakest - 1]]):
                near = weakest
            del peaks[near : near + 2]
    while len(peaks) < count:  # a degenerate step: fill up with unused neighbours
        spare = next(k for k in range(len(errors)) if k not in peaks)
        peaks = sorted([*peaks, spare])
    return peaks


def fit(task: Fit) -> tuple[list[float], float]:
    """The rounded coefficients of `task`, lowest order first, and their weighted error."""
    low, high = mp.mpf(task.low), mp.mpf(task.high)
    count = task.points
    xs = [
        (low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (k + mp.mpf(1) / 2) / count)
        for k in range(count)
    ]
    ys = [task.function(x) for x in xs]
    ws = [task.weight(x) for x in xs]
    fixed: list[mp.mpf] = []
    rest = ys
    coefficients: list[mp.mpf] = []
    refit, best = True, mp.inf
    for order in range(task.degree + 1):
        coefficients = coefficients[1:]
        # Around an inner zero, x^order .. x^degree is no Haar system and the exchange may diverge.
        if refit:
            try:
                found, error = remez(xs, rest, ws, range(order, task.degree + 1))
                refit = order == 0 or error < 4 * best
                coefficients = found if refit else coefficients
            except ZeroDivisionError:
                refit = False
            best = min(best, error)
        value = rounded(coefficients[0], task.bits)
        fixed.append(value)
        if order == 0 and task.split_first:
            fixed.append(rounded(coefficients[0] - value, task.bits))
            value += fixed[-1]
        rest = [y - value * x**order for x, y in zip(xs, rest, strict=True)]
    error = max(abs(w * y) for w, y in zip(ws, rest, strict=True))
    return [float(c) for c in fixed], float(error)


def near_zero(function: Real, limit: float | mp.mpf) -> Real:
    """`function`, with its limit at 0."""
    return lambda x: mp.mpf(limit) if abs(x) < mp.mpf(10) ** -25 else function(x)


def odd_tail(f: Real, third: mp.mpf | float) -> Real:
    """(f(x) / x - 1) / x^2 as a function of s = x^2, for odd f with f'(0) = 1."""

    def tail(s: mp.mpf) -> mp.mpf:
        x = mp.sqrt(s)
        return (f(x) / x - 1) / s

    return near_zero(tail, third)


LN2 = mp.log(2)
THIRD = mp.mpf(1) / 3
HALF_LN2 = LN2 / 2 * mp.mpf("1.0005")
LOG_RANGE = (mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1)
EXPM1_RANGE = (mp.log(0.75) - mp.mpf("0.002"), mp.log(1.5) + mp.mpf("0.002"))
QUARTER = (0, mp.mpf("0.64"))


def _exp_tail(r: mp.mpf) -> mp.mpf:
    return (mp.expm1(r) - r) / r**2


def _log_tail(f: mp.mpf) -> mp.mpf:
    return (mp.log1p(f) - f) / f**2


def _cos_tail(s: mp.mpf) -> mp.mpf:
    return (mp.cos(mp.sqrt(s)) - 1 + s / 2) / s**2


def _erf_small(s: mp.mpf) -> mp.mpf:
    return mp.erf(mp.sqrt(s)) / mp.sqrt(s) - 1


def _erfc_scaled(v: mp.mpf) -> mp.mpf:
    x = 2 * (1 + v) / (1 - v)
    return (x + 2) * mp.exp(x * x) * mp.erfc(x)


@dataclass(frozen=True)
class Table:
    """One table of the generated module: a formula for the reader and a fit per type."""

    formula: str
    function: Real
    low: mp.mpf | float
    high: mp.mpf | float
    degrees: tuple[int, int]
    weight: Real
    high64: mp.mpf | float | None = None
    split_first: bool = False

    def fit(self, bits: int) -> Fit:
        """The task for 24 or 53 bits."""
        wide = bits == 53
        high = self.high64 if wide and self.high64 is not None else self.high
        degree = self.degrees[wide]
        points = 400 if wide else 240
        return Fit(
            self.function, self.low, high, degree, bits, self.weight, points, self.split_first
        )


TABLES: dict[str, Table] = {
    "EXP_TAIL": Table(
        "(exp(r) - 1 - r) / r^2, |r| <= ln(2) / 2",
        near_zero(_exp_tail, 0.5),
        -HALF_LN2,
        HALF_LN2,
        (4, 9),
        lambda r: r * r,
    ),
    "EXP2_TAIL": Table(
        "(2^r - 1 - r ln(2)) / r^2, |r| <= 1/2",
        near_zero(lambda r: _exp_tail(r * LN2) * LN2**2, LN2**2 / 2),
        -0.5,
        0.5,
        (4, 9),
        lambda r: r * r,
    ),
    "EXPM1_TAIL": Table(
        "(exp(r) - 1 - r) / r^2, ln(0.75) <= r <= ln(1.5)",
        near_zero(_exp_tail, 0.5),
        *EXPM1_RANGE,
        (4, 10),
        abs,
    ),
    "LOG_TAIL": Table(
        "(log(1 + f) - f) / f^2, sqrt(1/2) <= 1 + f <= sqrt(2)",
        near_zero(_log_tail, -0.5),
        *LOG_RANGE,
        (8, 19),
        abs,
    ),
    "LOG2_TAIL": Table(
        "(log2(1 + f) - f log2(e)) / f^2",
        near_zero(lambda f: _log_tail(f) / LN2, -0.5 / LN2),
        *LOG_RANGE,
        (8, 19),
        abs,
    ),
    "LOG10_TAIL": Table(
        "(log10(1 + f) - f log10(e)) / f^2",
        near_zero(lambda f: _log_tail(f) / mp.log(10), -0.5 / mp.log(10)),
        *LOG_RANGE,
        (8, 19),
        abs,
    ),
    "SIN_TAIL": Table(
        "(1 - sin(x) / x) / x^2 in s = x^2, |x| <= 0.8",
        odd_tail(lambda x: 2 * x - mp.sin(x), mp.mpf(1) / 6),
        *QUARTER,
        (3, 6),
        lambda s: s,
    ),
    "COS_TAIL": Table(
        "(cos(x) - 1 + x^2 / 2) / x^4 in s = x^2, |x| <= 0.8",
        near_zero(_cos_tail, mp.mpf(1) / 24),
        *QUARTER,
        (2, 6),
        lambda s: s * s,
    ),
    "TAN_TAIL": Table(
        "(tan(x) / x - 1) / x^2 in s = x^2, |x| <= 0.8",
        odd_tail(mp.tan, THIRD),
        *QUARTER,
        (6, 13),
        lambda s: s,
    ),
    "ASIN_TAIL": Table(
        "(asin(x) / x - 1) / x^2 in s = x^2, |x| <= 1/2",
        odd_tail(mp.asin, mp.mpf(1) / 6),
        0,
        mp.mpf("0.2501"),
        (4, 12),
        lambda s: s,
    ),
    "ATAN_TAIL": Table(
        "(atan(x) / x - 1) / x^2 in s = x^2, |x| <= 1",
        odd_tail(mp.atan, -THIRD),
        0,
        1,
        (8, 19),
        lambda s: s,
    ),
    "TANH_TAIL": Table(
        "(tanh(x) / x - 1) / x^2 in s = x^2, |x| <= 0.81",
        odd_tail(mp.tanh, -THIRD),
        0,
        mp.mpf("0.81") ** 2,
        (5, 12),
        lambda s: s,
    ),
    "SINH_TAIL": Table(
        "(sinh(x) / x - 1) / x^2 in s = x^2, |x| <= 1",
        odd_tail(mp.sinh, mp.mpf(1) / 6),
        0,
        mp.mpf("1.001"),
        (3, 7),
        lambda s: s,
    ),
    "ERF_SMALL": Table(
        "erf(x) / x - 1 in s = x^2, |x| <= 0.93",
        near_zero(_erf_small, 2 / mp.sqrt(mp.pi) - 1),
        0,
        mp.mpf("0.93") ** 2,
        (6, 13),
        lambda s: mp.mpf(1),
    ),
    "ERF_LARGE": Table(
        "log2(erfc(x)) / x, 0.92 <= x <= 4 (f32), 6 (f64)",
        lambda x: mp.log(mp.erfc(x)) / LN2 / x,
        mp.mpf("0.92"),
        4,
        (7, 17),
        lambda x: x * mp.erfc(x),
        high64=6,
    ),
    "ERFC_SCALED": Table(
        "(x + 2) exp(x^2) erfc(x) in v = (x - 2) / (x + 2), 0.45 <= x <= 10.1 or 27.3",
        _erfc_scaled,
        mp.mpf("-1.55") / mp.mpf("2.45"),
        mp.mpf("8.1") / mp.mpf("12.1"),
        (9, 23),
        lambda v: 1 / _erfc_scaled(v),
        high64=mp.mpf("25.3") / mp.mpf("29.3"),
        split_first=True,
    ),
    "CBRT_INVERSE": Table(
        "m^(-1/3), 1 <= m <= 2",
        lambda m: m ** (-THIRD),
        1,
        2,
        (4, 6),
        lambda m: mp.mpf(1),
    ),
}

# Only for pow: both in f64.
POW_TABLES: dict[str, tuple[str, Fit]] = {
    "POW_F32_LOG2_TAIL": (
        "(log2(1 + f) - f log2(e)) / f^2 for pow of f32, computed in f64",
        Fit(TABLES["LOG2_TAIL"].function, *LOG_RANGE, 12, 53, abs),
    ),
    "POW_LOG_TAIL": (
        "(log(1 + f) - f + f^2 / 2) / f^3, |f| <= 0.045",
        Fit(
            near_zero(lambda f: (_log_tail(f) + mp.mpf(1) / 2) / f, THIRD),
            mp.mpf("-0.045"),
            mp.mpf("0.045"),
            9,
            53,
            lambda f: f * f,
        ),
    ),
}

CONSTANTS: dict[str, tuple[mp.mpf, int]] = {
    "LN2": (LN2, 2),
    "LOG2_E": (1 / LN2, 2),
    "LOG10_2": (mp.log10(2), 2),
    "LOG10_E": (mp.log10(mp.e), 2),
    "HALF_PI": (mp.pi / 2, 3),
    "PI": (mp.pi, 2),
    "TWO_OVER_PI": (2 / mp.pi, 1),
    "ROOT_HALF": (mp.sqrt(mp.mpf(1) / 2), 2),
    "CBRT2": (mp.cbrt(2), 1),
    "CBRT4": (mp.cbrt(4), 1),
}

HEADER = '''"""Coefficients of the math functions: written by `benchmarks/fit_math.py`, not by hand.

Each table maps a type to the coefficients of a polynomial, lowest order first, or to a constant cut
into parts of that type whose sum is the constant. The comment gives the fitted function and the
weighted error of the rounded polynomial for f32 and f64.
"""

from __future__ import annotations

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType


def _row(text: str) -> tuple[float, ...]:
    return tuple(float.fromhex(word) for word in text.split())

'''


def parts(value: mp.mpf, count: int, bits: int) -> list[float]:
    """`value` as a sum of `count` floats of `bits` bits, each the rest's nearest."""
    out = []
    for _ in range(count):
        out.append(float(rounded(value, bits)))
        value = value - mp.mpf(out[-1])
    return out


def parts_downwards(value: mp.mpf, count: int, bits: int) -> list[float]:
    """`value` > 0 as a sum of `count` floats, each but the last rounded down: all are positive."""
    out = []
    for _ in range(count - 1):
        mantissa, exponent = mp.frexp(value)
        out.append(float(mp.ldexp(mp.floor(mp.ldexp(mantissa, bits)), exponent - bits)))
        value = value - mp.mpf(out[-1])
    return [*out, float(rounded(value, bits))]


def short_hex(value: float) -> str:
    """float.hex without trailing zeros."""
    mantissa, exponent = value.hex().split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}"


def text_of(name: str, comment: str, rows: Sequence[Sequence[float]]) -> str:
    """The Python text of one table."""
    lines = [f"# {comment}", f"{name}: dict[DType, tuple[float, ...]] = {{"]
    for type, row in zip(("f32", "f64"), rows, strict=True):
        words = [short_hex(c) for c in row]
        per = 4 if type == "f32" else 3
        groups = [" ".join(words[k : k + per]) for k in range(0, len(words), per)]
        if len(groups) == 1:
            lines.append(f'    dt.{type}: _row("{groups[0]}"),')
            continue
        lines.append(f"    dt.{type}: _row(")
        lines.extend(f'        "{g} "' for g in groups)
        lines.append("    ),")
    return "\n".join([*lines, "}"])


def table_text(name: str) -> str:
    """The Python text of the table `name`, fitted now."""
    table = TABLES[name]
    (c32, e32), (c64, e64) = fit(table.fit(24)), fit(table.fit(53))
    comment = f"{table.formula}; {e32:.1e}, {e64:.1e}"
    return text_of(name, comment, (c32, c64))


def pow_table_text(name: str) -> str:
    """The Python text of the f64 table `name` of pow."""
    comment, task = POW_TABLES[name]
    coefficients, error = fit(task)
    words = [short_hex(c) for c in coefficients]
    groups = [" ".join(words[k : k + 3]) for k in range(0, len(words), 3)]
    body = "\n".join(f'    "{g} "' for g in groups)
    return f"# {comment}; {error:.1e}\n{name}: tuple[float, ...] = _row(\n{body}\n)"


def pow_centers_text() -> str:
    """The table of multipliers c near 1/m for pow, with -log(c) in two parts."""
    lines = [
        "# (m up to which c is used, c, -log(c) to 42 bits after the point, the rest):",
        "# |m c - 1| <= 0.045 for m in [sqrt(1/2), sqrt(2)], and c has four bits after the point.",
        "POW_CENTERS: tuple[tuple[float, ...], ...] = (",
    ]
    centers = [mp.mpf(k) / 16 for k in range(23, 10, -1)]
    for k, c in enumerate(centers):
        bound = 2 / (c + centers[k + 1]) if k + 1 < len(centers) else mp.mpf(2)
        high = mp.nint(mp.ldexp(-mp.log(c), 42)) / mp.mpf(2) ** 42
        row = [float(bound), float(c), float(high), float(-mp.log(c) - high)]
        lines.append(f'    _row("{" ".join(map(short_hex, row))}"),')
    high = mp.nint(mp.ldexp(LN2, 42)) / mp.mpf(2) ** 42
    split = [float(high), float(LN2 - high)]
    return "\n".join(
        [
            *lines,
            ")",
            "# ln(2) to 42 bits after the point, and the rest",
            "POW_LN2 = _row(",
            f'    "{" ".join(map(short_hex, split))}"',
            ")",
        ]
    )


def main(names: Sequence[str]) -> None:
    """Print the module of coefficients, or only the tables named."""
    with multiprocessing.Pool(2) as pool:
        tables = pool.map(table_text, names or TABLES, chunksize=1)
    if names:
        print("\n".join(tables))
        return
    print(HEADER)
    for name, (value, count) in CONSTANTS.items():
        print(text_of(name, mp.nstr(value, 20), [parts(value, count, b) for b in (24, 53)]))
    steps = [parts_downwards(mp.pi / 2, 3, b) for b in (24, 53)]
    print(text_of("REDUCTION", "pi/2 in positive parts", steps))
    print("\n".join([*tables, *map(pow_table_text, POW_TABLES), pow_centers_text()]))


if __name__ == "__main__":
    main(sys.argv[1:])
