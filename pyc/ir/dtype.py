"""The element types of pyc and NumPy 2's promotion between them.

Takes NumPy dtypes, returns `DType` singletons; `DType.numpy` leads back. A `DType` compares by
identity, prints as its short name (`f32`), and is the only notion of element type in the IR.

The types that NumPy lacks are those of ml_dtypes, which is imported when one of them is first
needed: it takes 5 ms, and few programs have them.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from pyc.forks import load
from pyc.frozen import frozen


@frozen(eq=False)
class DType:
    """One element type.

    name: NumPy's name; short: the name in IR text; kind: one of "bool", "int", "uint", "float",
    "complex"; bits: the storage size.
    """

    name: str
    short: str
    kind: str
    bits: int
    _numpy: np.dtype[Any] | None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The native-endian NumPy dtype."""
        return self._numpy if self._numpy is not None else _extension(self.name)

    @property
    def is_extension(self) -> bool:
        """True for types of ml_dtypes, which is loaded when one of them is needed."""
        return self._numpy is None

    @property
    def limits(self) -> Any:
        """Of a real float: NumPy's `finfo`, or that of ml_dtypes for its own types."""
        return np.finfo(self.numpy) if self._numpy is not None else _ml_dtypes().finfo(self.numpy)

    @property
    def itemsize(self) -> int:
        """Bytes of one stored element."""
        return max(self.bits // 8, 1)

    @property
    def is_float(self) -> bool:
        """True for real floating-point types, half and storage types included."""
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers, not for bool."""
        return self.kind in ("int", "uint")

    @property
    def is_complex(self) -> bool:
        """True for complex types."""
        return self.kind == "complex"

    @property
    def is_half(self) -> bool:
        """True for the types whose arithmetic is done in float32 and rounded after each op."""
        return self.kind == "float" and self.bits <= 16

    @property
    def real(self) -> DType:
        """The type of the real part: itself for anything but complex."""
        if self.kind != "complex":
            return self
        return f32 if self.bits == 64 else f64

    def __repr__(self) -> str:
        return self.short

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return parse, (self.short,)


def _ml_dtypes() -> Any:
    return load("ml_dtypes")


@cache
def _extension(name: str) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(getattr(_ml_dtypes(), name))
    return found


def _define(name: str, short: str, kind: str, bits: int, *, numpy: bool = True) -> DType:
    return DType(name, short, kind, bits, np.dtype(name) if numpy else None)


b1 = _define("bool", "b1", "bool", 8)
i8 = _define("int8", "i8", "int", 8)
i16 = _define("int16", "i16", "int", 16)
i32 = _define("int32", "i32", "int", 32)
i64 = _define("int64", "i64", "int", 64)
u8 = _define("uint8", "u8", "uint", 8)
u16 = _define("uint16", "u16", "uint", 16)
u32 = _define("uint32", "u32", "uint", 32)
u64 = _define("uint64", "u64", "uint", 64)
f16 = _define("float16", "f16", "float", 16)
bf16 = _define("bfloat16", "bf16", "float", 16, numpy=False)
f8e4m3 = _define("float8_e4m3fn", "f8e4m3", "float", 8, numpy=False)
f8e5m2 = _define("float8_e5m2", "f8e5m2", "float", 8, numpy=False)
f32 = _define("float32", "f32", "float", 32)
f64 = _define("float64", "f64", "float", 64)
c64 = _define("complex64", "c64", "complex", 64)
c128 = _define("complex128", "c128", "complex", 128)

ALL: tuple[DType, ...] = (
    *(b1, i8, i16, i32, i64, u8, u16, u32, u64),
    *(f16, bf16, f8e4m3, f8e5m2, f32, f64, c64, c128),
)
_BY_SHORT = {t.short: t for t in ALL}
_BY_NUMPY = {t.numpy: t for t in ALL if t._numpy is not None}
_EXTENSIONS = {t.name: t for t in ALL if t._numpy is None}


def parse(short: str) -> DType:
    """The type whose IR name is `short`; KeyError otherwise."""
    return _BY_SHORT[short]


def of(dtype: Any) -> DType | None:
    """The type of a NumPy dtype (or anything `np.dtype` takes), None if pyc has no such type.

    Byte-swapped dtypes map to their native twin: the caller copies and says so.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in _EXTENSIONS:
        return _EXTENSIONS[dtype]
    native = np.dtype(dtype).newbyteorder("=")
    found = _BY_NUMPY.get(native)
    if found is None and "ml_dtypes" in sys.modules:  # else there is no array of its types
        return next((t for t in _EXTENSIONS.values() if t.numpy == native), None)
    return found


def signed_of(bits: int) -> DType:
    """The signed integer type of `bits` bits."""
    return parse(f"i{bits}")


def unsigned_of(bits: int) -> DType:
    """The unsigned integer type of `bits` bits."""
    return parse(f"u{bits}")


def promote(*types: DType) -> DType:
    """The common type of strong (array) operands by NumPy 2's rules (NEP 50).

    ml_dtypes' rules stand for bfloat16 and float8 met by other types. TypeError where NumPy has
    no common type.
    """
    first, *others = types
    for t in others:
        if t is not first:
            break
    else:
        return first
    found = of(np.result_type(*(t.numpy for t in types)))
    if found is None:
        raise TypeError(f"no common type of {', '.join(map(repr, types))}")
    return found


def promote_weak(scalar: type, *types: DType) -> DType:
    """The common type of a weak Python scalar (bool, int, float or complex) and strong `types`."""
    strong = promote(*types)
    if scalar is bool or (scalar is int and strong.kind != "bool"):
        return strong
    if scalar is int:
        return i64
    if scalar is float:
        return strong if strong.kind in ("float", "complex") else f64
    if strong.kind == "complex":
        return strong
    return c64 if strong.kind == "float" and strong.bits <= 32 else c128
