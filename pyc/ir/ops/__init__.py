"""The op table: importing this package fills `pyc.ir.op.OPS`, one module per family."""

from pyc.ir.ops import (
    contract,
    control,
    cumulative,
    divisors,
    elementwise,
    fourier,
    host,
    indexing,
    linalg,
    math,
    reduce,
    shape,
    sort,
)

__all__ = [
    "contract",
    "control",
    "cumulative",
    "divisors",
    "elementwise",
    "fourier",
    "host",
    "indexing",
    "linalg",
    "math",
    "reduce",
    "shape",
    "sort",
]
