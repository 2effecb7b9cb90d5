"""The arithmetic of a free kernel: what pyc's contract asks for, or what is fastest.

`CONTRACT` divides with one rounding and takes exp of any argument with pyc's own polynomial, so
that only order and schedule are free. `FAST` multiplies by a reciprocal and takes exp of arguments
in [-87, 0], one rounding less exact each. Both propagate NaN through the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.contracts.reduction.writer import Writer

_FAST_EXP = (1.0, 1.0, 0.5, 0.16666657, 0.041665796, 0.008333336, 0.0013981999)
_EXP = (1.0, 1.0, 0.5, 0.16666515, 0.041666582, 0.008369314, 0.0013921825)
_OFFSET = 1.5 * 2.0**23 + 254


@dataclass(frozen=True)
class Arithmetic:
    """How to take exponentials and quotients."""

    name: str
    contract: bool

    def exp(self, w: Writer, x: str) -> str:
        """e^x of a float32 vector."""
        return _exp(w, x) if self.contract else _fast_exp(w, x)

    def divisor(self, w: Writer, total: str) -> str:
        """What `divided` takes for a divisor, once."""
        return total if self.contract else w.binary("fdiv", w.splat(1.0), total)

    def divided(self, w: Writer, x: str, divisor: str) -> str:
        """x over the divisor that `divisor` made."""
        return w.binary("fdiv" if self.contract else "fmul", x, divisor)


CONTRACT = Arithmetic("contract", True)
FAST = Arithmetic("fast", False)


def _polynomial(w: Writer, r: str, coefficients: tuple[float, ...]) -> str:
    p = w.splat(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        p = w.call("fma", p, r, w.splat(c))
    return p


def _fast_exp(w: Writer, x: str) -> str:
    """8 fused steps and a shift of the exponent."""
    x = w.call("maximum", x, w.splat(-87.0))
    k = w.call("roundeven", w.binary("fmul", x, w.splat(1.44269504)))
    r = w.call("fma", k, w.splat(-0.693359375), x)
    p = _polynomial(w, w.call("fma", k, w.splat(2.12194440e-4), r), _FAST_EXP)
    whole = f"<{w.width} x i32>"
    shift = w.let(f"shl {whole} {w.let(f'fptosi {w.vector} {k} to {whole}')}, splat (i32 23)")
    raised = w.let(f"add {whole} {w.let(f'bitcast {w.vector} {p} to {whole}')}, {shift}")
    return w.let(f"bitcast {whole} {raised} to {w.vector}")


def _exp(w: Writer, x: str) -> str:
    """The definition of `pyc/ir/ops/scalar_exp.py`."""
    for compare, bound in (("olt", 89.0), ("ogt", -104.5)):
        limit = w.splat(bound)
        beyond = w.let(f"fcmp {compare} {w.vector} {limit}, {x}")
        x = w.let(f"select <{w.width} x i1> {beyond}, {w.vector} {limit}, {w.vector} {x}")
    rounded = w.call("fma", x, w.splat(1.442695), w.splat(_OFFSET))
    n = w.binary("fsub", rounded, w.splat(_OFFSET))
    r = w.call("fma", n, w.splat(1.9046542e-09), w.call("fma", n, w.splat(-0.6931472), x))
    p = _polynomial(w, r, _EXP)
    if w.scales:
        return w.scale(p, n)
    whole = f"<{w.width} x i32>"
    bits = w.let(f"bitcast {w.vector} {rounded} to {whole}")
    half = w.let(f"lshr {whole} {bits}, splat (i32 1)")
    for part in (half, w.let(f"sub {whole} {bits}, {half}")):
        exponent = w.let(f"shl {whole} {part}, splat (i32 23)")
        p = w.binary("fmul", p, w.let(f"bitcast {whole} {exponent} to {w.vector}"))
    return p
