"""The three levels: Graph (tensors), Kernel (loops), Plan (steps), with text and verifier.

Each level prints itself (`str`), and `parse` reads what it prints; `verify` checks one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyc.forks import load

if TYPE_CHECKING:
    from pyc.ir.graph import Eqn, Graph, Value
    from pyc.ir.levels import parse, verify
    from pyc.ir.loops import Kernel
    from pyc.ir.op import Op
    from pyc.ir.plan import Plan
    from pyc.ir.types import ArrayType

__all__ = ["ArrayType", "Eqn", "Graph", "Kernel", "Op", "Plan", "Value", "parse", "verify"]

_ELSEWHERE = {
    "pyc.ir.graph": ("Eqn", "Graph", "Value"),
    "pyc.ir.levels": ("parse", "verify"),
    "pyc.ir.loops": ("Kernel",),
    "pyc.ir.op": ("Op",),
    "pyc.ir.plan": ("Plan",),
    "pyc.ir.types": ("ArrayType",),
}
"""Public names, by the module that has them."""


def __getattr__(name: str) -> Any:
    for module, names in _ELSEWHERE.items():
        if name in names:
            return getattr(load(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
