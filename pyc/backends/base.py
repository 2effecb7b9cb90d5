"""What a backend is: a `Codegen` that turns a Plan into native code, a `Driver` that runs it.

A Code is bytes plus names and can be stored; an Executable holds resources (mapped code, modules)
for as long as it lives. Arrays reach a driver as addresses of C-ordered data on its device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from pyc.frozen import frozen
from pyc.ir.plan import Plan
from pyc.ir.target import Target


@frozen()
class Code:
    """Compiled code of one Plan. object: what the driver loads; externals: names of the routines
    whose addresses the context's table must hold, in order; parallel: whether it calls the
    context's `parallel`; llvm: the text it was made from; entry: the object of the entry, where it
    is one of its own."""

    object: bytes
    externals: tuple[str, ...]
    parallel: bool
    llvm: str
    entry: bytes = b""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """What is loaded."""
        return tuple(data for data in (self.object, self.entry) if data)


class Codegen(ABC):
    """Emits code for one family of targets."""

    @abstractmethod
    def compile_plan(self, plan: Plan, target: Target) -> Code:
        """The code of a Plan whose kernels are scheduled for `target`; equal plans give equal
        bytes."""

    @abstractmethod
    def assembly(self, code: Code, target: Target) -> str:
        """Readable machine code."""


E_ = TypeVar("E_")


class Driver(ABC, Generic[E_]):
    """Loads code of one family of devices and runs it."""

    @abstractmethod
    def load(self, code: Code, plan: Plan) -> E_:
        """An executable that lives as long as it is referenced."""

    @abstractmethod
    def run(self, executable: E_, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Runs the entry once. arguments: arrays and scalars in call order; results: C-ordered
        arrays that are filled. Raises `SiteFailed` or `KeyboardInterrupt`."""


class SiteFailed(Exception):
    """A checked site failed: `site` is its number in the Plan, `value` the offending value."""

    def __init__(self, site: int, value: int) -> None:
        super().__init__(f"site {site} failed with value {value}")
        self.site = site
        self.value = value
