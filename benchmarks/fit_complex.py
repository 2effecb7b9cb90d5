"""Prints `pyc/scipy/special/complex_tables.py`, the coefficients of functions of complex numbers.

    PYTHONPATH=. python -m benchmarks.fit_complex > complex_tables.py   (ruff format)

Those of the Faddeeva function are integrals, by the trapezoidal rule in 50 digits (J. A. C.
Weideman, "Computation of the complex error function", SIAM J. Numer. Anal. 31, 1994); 40 of them
give float64. Those of log(gamma(2 + z)) and of Stirling's series are sums and Bernoulli's numbers.
"""

from __future__ import annotations

import mpmath as mp  # type: ignore[import-untyped]

from benchmarks.fit_math import short_hex

FADDEEVA = 40
TAYLOR = 26
STIRLING = 9
HEAD = '''"""Coefficients of functions of complex numbers: `benchmarks/fit_complex.py` writes them.

A row reads from the constant term up.
"""

from __future__ import annotations

import numpy as np


def _row(text: str) -> tuple[np.complex128, ...]:
    return tuple(np.complex128(float.fromhex(word)) for word in text.split())

'''


def faddeeva(count: int) -> tuple[float, list[float]]:
    """Weideman's length L, and the coefficients of the powers of (L + iz) / (L - iz)."""
    points = 4 * count
    length = mp.mpf(float(mp.sqrt(count / mp.sqrt(2))))
    angles = [mp.pi * k / points for k in range(1 - points, points)]
    at = [length * mp.tan(angle / 2) for angle in angles]
    values = [mp.exp(-t * t) * (length * length + t * t) for t in at]
    found = []
    for n in range(1, count + 1):
        terms = (v * mp.cos(n * angle) for v, angle in zip(values, angles, strict=True))
        found.append(float(mp.fsum(terms) / (2 * points)))
    return float(length), found


def _said(name: str, comment: str, values: list[float]) -> None:
    print(f'\n{name} = _row(\n    """')
    for start in range(0, len(values), 4):
        print("    " + " ".join(map(short_hex, values[start : start + 4])))
    print(f'    """\n)\n"""{comment}"""')


def main() -> None:
    """Prints the module."""
    mp.mp.dps = 50
    length, values = faddeeva(FADDEEVA)
    print(HEAD, end="")
    print(f'\nLENGTH = float.fromhex("{short_hex(length)}")\n"""L of Weideman\'s fraction."""')
    _said(
        "FADDEEVA", "w(z) (L - iz)^2 / 2 - (L - iz) / (2 sqrt(pi)), in (L + iz) / (L - iz).", values
    )
    terms = [float(1 - mp.euler)]
    terms += [float((-1) ** k * (mp.zeta(k) - 1) / k) for k in range(2, TAYLOR + 1)]
    _said("LGAMMA_AT_TWO", "log(gamma(2 + z)) / z.", terms)
    numbers = [mp.bernoulli(2 * k) for k in range(1, STIRLING + 1)]
    terms = [float(b / (2 * k * (2 * k - 1))) for k, b in enumerate(numbers, 1)]
    _said("STIRLING", "The tail of Stirling's series of log(gamma(z)), times z, in 1 / z^2.", terms)
    terms = [float(b / (2 * k)) for k, b in enumerate(numbers, 1)]
    _said("DIGAMMA_TAIL", "log(z) - 1 / (2 z) - digamma(z), times z^2, in 1 / z^2.", terms)
    terms = [
        float(mp.mpf((-1) ** k) / (mp.factorial(k) * (2 * k + 1)) * 2 / mp.sqrt(mp.pi))
        for k in range(20)
    ]
    _said("ERF", "erf(z) / z in z^2.", terms)


if __name__ == "__main__":
    main()
