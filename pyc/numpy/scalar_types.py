"""NumPy's scalar types and kinds of types by their other names, `ndarray` and `dtype`."""

from __future__ import annotations

import numpy as np

bool = np.bool_
byte, short, intc, int_, longlong = np.byte, np.short, np.intc, np.int_, np.longlong
ubyte, ushort, uintc, uint, ulonglong = np.ubyte, np.ushort, np.uintc, np.uint, np.ulonglong
intp, uintp = np.intp, np.uintp
half, single, double = np.half, np.single, np.double
csingle, cdouble = np.csingle, np.cdouble

generic, number, inexact, floating = np.generic, np.number, np.inexact, np.floating
integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
complexfloating = np.complexfloating
dtype, ndarray = np.dtype, np.ndarray

__all__ = [
    *("bool", "byte", "cdouble", "complexfloating", "csingle", "double", "dtype", "floating"),
    *("generic", "half", "inexact", "int_", "intc", "integer", "intp", "longlong", "ndarray"),
    *("number", "short", "signedinteger", "single", "ubyte", "uint", "uintc", "uintp"),
    *("ulonglong", "unsignedinteger", "ushort"),
]
