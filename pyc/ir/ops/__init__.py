"""The op table: importing this package fills `pyc.ir.op.OPS`, one module per family.

The families of `op.ON_DEMAND` are loaded when somebody asks for one of their ops.
"""

from pyc.ir.ops import (
    contract,
    control,
    elementwise,
    host,
    indexing,
    math,
    reduce,
    shape,
)

__all__ = [
    "contract",
    "control",
    "elementwise",
    "host",
    "indexing",
    "math",
    "reduce",
    "shape",
]
