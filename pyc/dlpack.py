"""DLPack's C structures, by ctypes: memory handed to another library, and taken from one.

`export` makes a capsule of memory that is kept alive until its deleter is called; `take` reads a
capsule, marks it as used, and keeps what the producer gave until the `Taken` is dropped. Both know
the versioned structure (1.0) and the one before it.

A deleter may be called by any thread and while an exception is on its way, which no callback of
ctypes outlives. So NumPy makes the structures, of an array that stands for the memory, and what
differs is written into them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType

CPU, CUDA = 1, 2
"""Device types."""
VERSION = (1, 0)
"""The newest version that is written."""
_READ_ONLY, _COPIED = 1, 2
_CODES = {"int": 0, "uint": 1, "float": 2, "complex": 5, "bool": 6}
_OWN_CODES = {"bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Old(ctypes.Structure):
    """`DLManagedTensor`."""

    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class _Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_NAMES: dict[bytes, tuple[type[Any], bytes]] = {
    b"dltensor_versioned": (_Versioned, b"used_dltensor_versioned"),
    b"dltensor": (_Old, b"used_dltensor"),
}
"""Names of capsules: their structure, and their name once they are used."""

_STAND_INS = {8 * n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)} | {128: np.dtype("c16")}
"""NumPy's types for arrays that stand for memory of elements of so many bits."""

_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)


def export(
    address: int,
    shape: tuple[int, ...],
    dtype: DType,
    device: tuple[int, int],
    keep: Any,
    *,
    versioned: bool,
    copied: bool = False,
) -> Any:
    """A capsule of C-ordered memory. keep: what owns it, dropped when the consumer lets go of it;
    copied: whether the consumer is the only one that has it, and may write.

    raises BufferError: DLPack has no such element type
    """
    code = _OWN_CODES.get(dtype.name, _CODES.get(dtype.kind))
    if code is None or (dtype.is_extension and dtype.name not in _OWN_CODES):
        raise BufferError(f"DLPack has no element type {dtype.name}")
    bits = 8 if dtype.kind == "bool" else dtype.bits
    stands_for = _STAND_INS[bits]
    memory: Any = (ctypes.c_char * stands_for.itemsize)()
    memory.owner = keep
    first = np.frombuffer(memory, stands_for)
    steps = [stands_for.itemsize * prod(shape[k + 1 :]) for k in range(len(shape))]
    carrier = np.lib.stride_tricks.as_strided(first, shape, steps)
    options: dict[str, Any] = {"max_version": VERSION} if versioned else {}
    capsule = carrier.__dlpack__(**options)
    name = next(n for n in _NAMES if _is_valid(capsule, n))
    made = _NAMES[name][0].from_address(_pointer(capsule, name))
    if prod(shape):
        made.tensor.data = address
        made.tensor.byte_offset = 0
    made.tensor.device_type, made.tensor.device_id = device
    made.tensor.code, made.tensor.bits = code, bits
    if versioned:
        made.flags = _COPIED if copied else _READ_ONLY
    return capsule


@frozen(eq=False)
class Taken:
    """Memory of another library. strides: in elements; owner: keeps it alive, and gives it back
    when it is dropped."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: tuple[int, int]
    read_only: bool
    owner: Any

    @property
    def is_row_major(self) -> bool:
        """Whether the elements are dense and in C order."""
        step = 1
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent > 1 and stride != step and 0 not in self.shape:
                return False
            step *= extent
        return True


class _Owner:
    """Calls a producer's deleter when it is dropped. before: is called first."""

    def __init__(self, structure: Any) -> None:
        self._structure = structure
        self.before: Callable[[], None] | None = None

    def __del__(self) -> None:
        if sys.is_finalizing():
            return
        if self.before is not None:
            self.before()
        if self._structure.deleter:
            _DELETER(self._structure.deleter)(ctypes.addressof(self._structure))


def take(capsule: Any) -> Taken:
    """The memory of a capsule, which is used up by it.

    raises BufferError: it is used already or no capsule of DLPack, or it has a version, or
    elements, that are not known
    """
    name = next((n for n in _NAMES if _is_valid(capsule, n)), None)
    if name is None:
        raise BufferError("`__dlpack__` gave no capsule of DLPack, or one that is used already")
    kind, used = _NAMES[name]
    structure = kind.from_address(_pointer(capsule, name))
    if kind is _Versioned and structure.major != VERSION[0]:
        raise BufferError(f"DLPack of version {structure.major}.{structure.minor} is not known")
    tensor = structure.tensor
    dtype = _dtype(tensor)
    rank = int(tensor.ndim)
    shape = tuple((ctypes.c_int64 * rank).from_address(tensor.shape)) if rank else ()
    if tensor.strides and rank:
        strides = tuple((ctypes.c_int64 * rank).from_address(tensor.strides))
    else:
        strides = tuple(prod(shape[k + 1 :]) for k in range(rank))
    _rename(capsule, used)
    return Taken(
        int(tensor.data or 0) + int(tensor.byte_offset),
        shape,
        strides,
        dtype,
        (int(tensor.device_type), int(tensor.device_id)),
        kind is _Versioned and bool(structure.flags & _READ_ONLY),
        _Owner(structure),
    )


def elements(taken: Taken) -> np.ndarray[Any, Any]:
    """The elements in memory of the host, as a NumPy array that keeps the memory."""
    kind = taken.dtype.numpy
    if not taken.address or 0 in taken.shape:
        return np.empty(taken.shape, kind)
    strides = tuple(kind.itemsize * s for s in taken.strides)
    reach = [(n - 1) * s for n, s in zip(taken.shape, strides, strict=True)]
    before = -sum(r for r in reach if r < 0)
    nbytes = sum(map(abs, reach)) + kind.itemsize
    memory: Any = (ctypes.c_char * nbytes).from_address(taken.address - before)
    memory.owner = taken.owner
    return np.ndarray(taken.shape, kind, memory, before, strides)


def _dtype(tensor: Any) -> DType:
    for found in dt.ALL:
        code = _OWN_CODES.get(found.name, _CODES.get(found.kind))
        known = not found.is_extension or found.name in _OWN_CODES
        bits = 8 if found.kind == "bool" else found.bits
        if known and (tensor.code, tensor.bits, tensor.lanes) == (code, bits, 1):
            return found
    raise BufferError(
        f"DLPack's element type {tensor.code} of {tensor.bits} bits and {tensor.lanes} lanes is "
        "not supported"
    )
