"""`DeviceCode`: a compiled program of a GPU, as the cache keeps it.

Takes what a Plan and its kernels became, gives plain values that msgpack can hold, and back. It has
what running needs and no kernels, so that a process that finds it loads no compiler.
"""

from __future__ import annotations

from typing import Any

from pyc.backends.launching import HostKernel, KernelLaunch, TensorMap
from pyc.fingerprint import Document
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.plan import (
    Branch,
    Copy,
    Given,
    Launch,
    Library,
    Loop,
    Place,
    Plan,
    PlanBuffer,
    Site,
)
from pyc.ir.types import ArrayType


@frozen(eq=False)
class DeviceCode:
    """A program of a GPU. ptx: of its kernels; image: the machine code; plan: without kernels;
    launches: of the kernels by number; host: those that the host runs; results: their types;
    unused, largest: see `Planned`; on_host: why kernels are the host's: the code of the reason, the
    number of the equation, details."""

    ptx: str
    image: bytes
    plan: Plan
    launches: tuple[tuple[int, KernelLaunch], ...]
    host: tuple[tuple[int, HostKernel], ...]
    results: tuple[ArrayType, ...]
    unused: tuple[tuple[int, str], ...] = ()
    largest: tuple[tuple[int, int], ...] = ()
    on_host: tuple[tuple[str, int, str], ...] = ()

    def payload(self) -> Document:
        """What the cache keeps."""
        return {name: plain(getattr(self, name)) for name in _FIELDS}

    @classmethod
    def of_payload(cls, payload: Document) -> DeviceCode:
        """The program that a cache entry holds."""
        return cls(*(restored(payload[name]) for name in _FIELDS))


_FIELDS = DeviceCode.__match_args__

RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (
        *(ArrayType, Branch, Copy, Given, HostKernel, KernelLaunch, Launch, Library, Loop, Plan),
        *(PlanBuffer, Site, TensorMap),
    )
}
"""The records that programs are made of, by name."""
_PLAIN = (int, bool, str, bytes, type(None))


def plain(x: Any) -> Any:
    """A value of records, tuples and plain values as plain values alone: a record as the dict of
    its name and its fields, a place or a type as that of its kind and its name.

    raises TypeError: it has something else
    """
    if type(x) in _PLAIN:
        return x
    if type(x) is tuple:
        return [plain(v) for v in x]
    if type(x) is DType:
        return {"DType": x.short}
    if type(x) is Place:
        return {"Place": x.value}
    name = type(x).__name__
    if RECORDS.get(name) is not type(x):
        raise TypeError(f"the cache keeps nothing of type {type(x).__name__}")
    return {name: [plain(getattr(x, field)) for field in type(x).__match_args__]}


def restored(x: Any) -> Any:
    """What `plain` was given."""
    if type(x) is list:
        return tuple([restored(v) for v in x])
    if type(x) is not dict:
        return x
    ((name, content),) = x.items()
    if name == "DType":
        return dt.parse(content)
    if name == "Place":
        return Place(content)
    return RECORDS[name](*[restored(v) for v in content])
