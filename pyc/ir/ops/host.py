"""Calls back into Python: `host_call`, which has an effect, and `pure_host_call`, which has none.

    number: int                which call of the program it is
    shapes, dtypes             of the results, one or more
    (*arguments) -> results

The function itself belongs to the place (`ir.graph.HostCall`): a Graph that was parsed from text
has none, and no cache entry does. A Plan runs the call as a step of the routine `ROUTINE`.
"""

from __future__ import annotations

from pyc.errors import ShapeError
from pyc.ir.dtype import DType
from pyc.ir.op import Kind, LibraryStep, Op, Types, batch_by, define
from pyc.ir.types import ArrayType

ROUTINE = "host_call"
"""The external that native code calls; its only integer is `number`."""


def _types(
    args: Types, *, number: int, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[DType, ...]
) -> Types:
    if not shapes or len(shapes) != len(dtypes):
        raise ShapeError(f"host call {number}: {len(shapes)} shapes and {len(dtypes)} types")
    return tuple(ArrayType(s, d) for s, d in zip(shapes, dtypes, strict=True))


def _routine(
    args: Types, *, number: int, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[DType, ...]
) -> LibraryStep:
    return LibraryStep(ROUTINE, (number,))


for _name, _effect in (("host_call", True), ("pure_host_call", False)):
    define(
        Op(
            _name,
            Kind.LIBRARY,
            _types,
            routine=_routine,
            batch=batch_by("control_batches", "host_call"),
            effect=_effect,
        )
    )
