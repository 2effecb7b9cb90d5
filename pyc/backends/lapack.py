"""LAPACK: the OpenBLAS of the `scipy-openblas32` wheel, an own copy that nothing else uses.

`address(name)` is that of a Fortran function ("lapack.dgetrf"); `run(step, buffers)` does a step
from Python, for the interpreter of Plans. The library works in the thread that calls it: what is
computed does not depend on how many there are. It is loaded when a program that uses it is.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pyc.errors import DeviceError
from pyc.fingerprint import find
from pyc.ir.ops.linalg import PACKAGE
from pyc.ir.routines import PREFIX, ZERO_BYTES, Call, Memory, describe

_FILE = os.path.join("lib", "libscipy_openblas.so")


@cache
def _library() -> ctypes.CDLL:
    """The library.

    raises DeviceError: it is not installed, or cannot be loaded
    """
    spec = find(PACKAGE)
    if spec is None or spec.origin is None:
        raise _missing("is not installed")
    # The package itself is not imported: it would give its symbols to the whole process.
    try:
        found = ctypes.CDLL(os.path.join(os.path.dirname(spec.origin), _FILE))
    except OSError as error:
        raise _missing(f"cannot be loaded: {error}") from None
    found.scipy_openblas_set_num_threads(1)
    return found


def _missing(why: str) -> DeviceError:
    return DeviceError(
        f"linear algebra needs the package scipy-openblas32, which {why}",
        fix="Install it: `pip install scipy-openblas32`.",
    )


def address(routine: str) -> int:
    """The address of a Fortran function by its name in a Plan."""
    function = getattr(_library(), f"scipy_{routine[len(PREFIX) :]}_")
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def run(routine: str, integers: Sequence[int], buffers: Sequence[np.ndarray[Any, Any]]) -> None:
    """Does a step over buffers of bytes, task by task."""
    step = describe(routine, integers)
    for task in range(step.tasks):
        first, last = (k * step.matrices // step.tasks for k in (task, task + 1))
        for matrix in range(first, last):
            for one in step.steps:
                if isinstance(one, Call):
                    _call(one, task, matrix, buffers)
                else:
                    source = _place(one.source, task, matrix, buffers)
                    ctypes.memmove(
                        _place(one.destination, task, matrix, buffers), source, one.nbytes
                    )


def _place(memory: Memory, task: int, matrix: int, buffers: Sequence[np.ndarray[Any, Any]]) -> int:
    number = task if memory.of_task else matrix
    return int(buffers[memory.slot].ctypes.data) + number * memory.stride + memory.offset


def _call(call: Call, task: int, matrix: int, buffers: Sequence[np.ndarray[Any, Any]]) -> None:
    given: list[Any] = []
    for a in call.arguments:
        if isinstance(a, Memory):
            given.append(ctypes.c_void_p(_place(a, task, matrix, buffers)))
        elif isinstance(a, int):
            given.append(ctypes.byref(ctypes.c_int32(a)))
        elif isinstance(a, float):
            given.append(ctypes.create_string_buffer(ZERO_BYTES))
        else:
            given.append(ctypes.c_char_p(a.encode()))
    given += [ctypes.c_size_t(1) for a in call.arguments if isinstance(a, str)]
    function = getattr(_library(), f"scipy_{call.function}_")
    function.restype = None
    function(*given)
