"""`__array_namespace_info__`: what the array API standard lets users ask of `pyc.numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.device import device_named, devices
from pyc.interpreter import is_tracing
from pyc.ir import dtype as dt
from pyc.numpy.data_types import isdtype

__all__ = ["__array_namespace_info__"]

_MOST_AXES = 64


class Information:
    """Answers about the namespace, by the array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """Whether masks may index and shapes may depend on data, which they may not inside `jit`;
        and the most axes that an array has."""
        eager = not is_tracing()
        return {
            "boolean indexing": eager,
            "data-dependent shapes": eager,
            "max dimensions": _MOST_AXES,
        }

    def default_device(self) -> str:
        """The device of arrays that are made without one."""
        return "cpu"

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtype that arrays of each kind have where none is given; the same on all devices.

        raises DeviceError: there is no such device
        """
        _checked(device)
        return {
            "real floating": np.dtype(np.float64),
            "complex floating": np.dtype(np.complex128),
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard by name, or those of a kind as `isdtype` has them.

        raises DeviceError: there is no such device; DTypeError: there is no such kind
        """
        _checked(device)
        found = {d.name: d.numpy for d in dt.ALL if not d.is_extension and d is not dt.f16}
        return {name: d for name, d in found.items() if kind is None or isdtype(d, kind)}

    def devices(self) -> tuple[str, ...]:
        """The devices of this machine, by name."""
        return tuple("cpu" if d.kind == "cpu" else str(d) for d in devices())


def _checked(device: Any) -> None:
    if device is not None:
        device_named(device)


def __array_namespace_info__() -> Information:
    """Answers about the namespace: `capabilities`, `default_device`, `default_dtypes`, `dtypes` and
    `devices`, by the array API standard.

    NumPy: `numpy.__array_namespace_info__`.

    >>> __array_namespace_info__().default_device()
    'cpu'
    """
    return Information()
