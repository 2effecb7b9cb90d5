"""Correctly rounded values of the special functions, from mpmath: writes `values.json` and
`integrals.json` beside this.

    PYTHONPATH=. python -m tests.scipy.values

A row is (arguments, value) in hexadecimal; the arguments are values of the type.
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp
import numpy as np

from benchmarks.prove_integrals import FUNCTIONS, drawn
from benchmarks.prove_special import BINARY, EXACT, TERMS, UNARY, samples

FILE = Path(__file__).with_name("values.json")
INTEGRAL_FILE = Path(__file__).with_name("integrals.json")
FORMATS = {"f32": (np.float32, 24, -149, 128), "f64": (np.float64, 53, -1074, 1024)}
ROWS = 60
INTEGRAL_ROWS = 12


def rounded(value: mp.mpf, bits: int, least: int, top: int) -> float:
    """The nearest number of a binary format, ties to even; least: the exponent of the smallest
    one, top: that of the first beyond."""
    if mp.isnan(value) or mp.isinf(value) or not value:
        return float(value)
    unit = max(mp.frexp(value)[1] - bits, least)
    nearest = mp.nint(mp.ldexp(value, -unit))
    if abs(mp.ldexp(nearest, unit)) >= mp.mpf(2) ** top:
        return float(mp.sign(value)) * float("inf")
    return float(mp.ldexp(nearest, unit))


def rows(name: str, type_name: str) -> list[tuple[list[str], str]]:
    """Arguments of all sizes in the domain of a function, and its values."""
    kind, *limits = FORMATS[type_name]
    drawn = [a.astype(kind).astype(np.float64) for a in samples(name, 60)]
    drawn = [np.stack(drawn)[:, np.isfinite(drawn).all(0)]] if len(drawn) == 2 else drawn
    places = np.random.default_rng(1).permutation(drawn[0].shape[-1])
    found = []
    for arguments in np.atleast_2d(drawn[0])[:, places].T.tolist():
        exact = EXACT[name](*map(mp.mpf, arguments))
        near = abs(exact) < 1 and arguments[0] < 0 and name in TERMS
        if len(found) < ROWS and np.isfinite(arguments).all() and all(arguments) and not near:
            found.append(([a.hex() for a in arguments], rounded(exact, *limits).hex()))
    return found


def integral_rows(name: str, type_name: str) -> list[tuple[list[str], str]]:
    """As `rows`, of `prove_integrals`; none where terms cancel."""
    function, limits = FUNCTIONS[name], FORMATS[type_name][1:]
    arguments = np.stack(drawn(name, type_name, 2 * INTEGRAL_ROWS, 23)).T
    found: list[tuple[list[str], str]] = []
    for row in np.random.default_rng(1).permutation(arguments).tolist():
        numbers = [mp.mpf(a) for a in row]
        exact = function.exact(*numbers)
        cancels = function.scale is not None and abs(exact) < function.scale(*numbers) / 2
        if len(found) < INTEGRAL_ROWS and not cancels:
            found.append(([a.hex() for a in row], rounded(exact, *limits).hex()))
    return found


def main() -> None:
    """Writes the files."""
    mp.mp.prec = 300
    write(FILE, {f"{n}.{t}": rows(n, t) for n in (*UNARY, *BINARY) for t in FORMATS})
    write(INTEGRAL_FILE, {f"{n}.{t}": integral_rows(n, t) for n in FUNCTIONS for t in FORMATS})


def write(file: Path, table: dict[str, list[tuple[list[str], str]]]) -> None:
    """One row a line."""
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in found) + "\n]"
        for name, found in table.items()
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
