"""Proves the error bounds of pyc's math functions and writes them into `docs/numerics.md`.

    python benchmarks/prove_math.py [--functions exp,log] [--stride 1] [--speed] [--write]

Every float32 function of one argument is run over all 2**32 inputs (every `--stride`-th with that
option) and compared with the float64 function of this same package, which in turn is compared with
mpmath on samples of every binade, special values and known hard cases. Functions of two arguments
run over all pairs of exponents with sampled mantissas. The comparison itself is an expression: one
vectorised loop computes the function, the reference and the error in ULP of each input.

Output: a line per function, JSON under `benchmarks/results/`, and with `--write` the table between
the markers of `docs/numerics.md`.
"""

from __future__ import annotations
