"""Correctly rounded values of the special functions, from mpmath: writes `values.json` beside this.

    PYTHONPATH=. python -m tests.scipy.values

A row is (arguments, value) in hexadecimal; the arguments are values of the type.
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath as mp
import numpy as np

from benchmarks.prove_special import BINARY, EXACT, TERMS, UNARY, samples

FILE = Path(__file__).with_name("values.json")
FORMATS = {"f32": (np.float32, 24, -149, 128), "f64": (np.float64, 53, -1074, 1024)}
ROWS = 60


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


def main() -> None:
    """Writes the file."""
    mp.mp.prec = 300
    names = [*UNARY, *BINARY]
    table = {n: {t: rows(n, t) for t in FORMATS} for n in names}
    lines = [
        f'"{n}.{t}": [\n' + ",\n".join(json.dumps(r) for r in table[n][t]) + "\n]"
        for n in names
        for t in FORMATS
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
