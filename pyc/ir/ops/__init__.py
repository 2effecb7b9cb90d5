"""The op table: importing this package fills `pyc.ir.op.OPS`, one module per family."""

from pyc.ir.ops import contract, control, elementwise, indexing, math, reduce, shape

__all__ = ["contract", "control", "elementwise", "indexing", "math", "reduce", "shape"]
