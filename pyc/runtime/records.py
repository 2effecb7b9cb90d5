"""Specialisations as the native code reads them: records, steps and result rows.

`make_record` fills a record with its steps and results (`structures`). The record is a Python
object that keeps everything its fields point to, the next record included, so native code that
holds a record may follow its list.
"""

from __future__ import annotations

import ctypes
from sys import intern
from typing import Any

import numpy as np

from pyc import config
from pyc.errors import PycError
from pyc.ir import dtype as dtypes
from pyc.ir.dtype import DType
from pyc.runtime import layout, pool
from pyc.runtime.specialisation import (
    MISSING,
    NEXT,
    UNUSED,
    Argument,
    ArrayArgument,
    CellGuard,
    Container,
    DictArgument,
    Guard,
    ListArgument,
    SameArgument,
    ScalarArgument,
    Specialisation,
    TupleArgument,
)
from pyc.runtime.structures import RecordFields, Result, Step
from pyc.runtime.text_dispatch import MAXIMUM_RESULTS, RELEASE, TUPLE
from pyc.runtime.text_match import KINDS, MAXIMUM_SLOTS


class Record(RecordFields):
    """A record; the Python object is its owner."""

    specialisation: Specialisation
    following: Record | None
    kept: list[Any]


Leaf = ArrayArgument | ScalarArgument | SameArgument

_KIND = {name: number for number, name in enumerate(KINDS)}
_LONG = (-(1 << 63), (1 << 63) - 1)


def _integer_range(dtype: DType) -> tuple[int, int]:
    low = -(1 << (dtype.bits - 1)) if dtype.kind == "int" else 0
    high = (1 << (dtype.bits - (dtype.kind == "int"))) - 1
    # A Python int beyond 63 bits goes the slow way.
    return low, min(high, _LONG[1])


def _scalar_kind(python: type, dtype: DType) -> str | None:
    """The kind of step that converts a Python or NumPy scalar to `dtype`; None if none does."""
    if python is dtype.numpy.type:
        return "bytes16" if dtype is dtypes.c128 else "bytes8"
    if python is int and dtype.is_integer:
        return "int"
    if python is bool and dtype is dtypes.b1:
        return "bool"
    kind = f"{python.__name__}_{dtype.short}"
    return kind if python in (float, int, complex) and kind in _KIND else None


class _Steps:
    """The steps of a specialisation. slots: that leaves need; values: arguments and contents;
    problem: what native calls do not know in it, or None."""

    def __init__(self, specialisation: Specialisation) -> None:
        self.rows: list[Step] = []
        self.kept: list[Any] = []
        self.slots = self.next = 0
        self.problem: str | None = None
        self.values = len(specialisation.arguments)
        for position, argument in enumerate(specialisation.arguments):
            self._argument(argument, position)
        for capture in specialisation.captures:
            self.kept.append(capture.value)
            self._leaf(capture.argument, object=id(capture.value))
        for guard in specialisation.guards:
            self._guard(guard)

    def _add(self, kind: str, **fields: Any) -> None:
        self.rows.append(Step(kind=_KIND[kind], **fields))

    def _argument(self, argument: Argument, position: int) -> None:
        if not isinstance(argument, (TupleArgument, ListArgument, DictArgument)):
            self._leaf(argument, position=position)
            return
        base = self._container(argument, position)
        for k, item in enumerate(argument.items):
            self._argument(item, base + k)

    def _container(self, argument: Container, position: int) -> int:
        """Puts the items behind the values known so far; the place of the first one."""
        base = self.values
        fields: dict[str, Any] = {"position": position, "high": base}
        if isinstance(argument, DictArgument):
            keys = (ctypes.c_void_p * len(argument.keys))(*map(id, argument.keys))
            self.kept += [keys, argument.keys]
            fields |= {"type": id(dict), "more": ctypes.addressof(keys)}
            kind = "dict"
        else:
            kind = "tuple" if isinstance(argument, TupleArgument) else "list"
            fields["type"] = id(tuple if kind == "tuple" else list)
        self._add(kind, **fields, low=len(argument.items))
        self.values += len(argument.items)
        return base

    def _leaf(self, argument: Leaf, **where: int) -> None:
        if isinstance(argument, SameArgument):
            self.kept.append(argument.value)
            self._add("same", **where, identity=id(argument.value))
            return
        slot = self._slot(argument.slot)
        if isinstance(argument, ArrayArgument):
            self._array(argument, slot, where)
        else:
            self._scalar(argument, slot, where)

    def _slot(self, wanted: int) -> int:
        """The place where a leaf goes; those that are not used share one behind all others."""
        if wanted == UNUSED:
            return MAXIMUM_SLOTS
        slot = self.next if wanted == NEXT else wanted
        self.next = slot + 1
        self.slots = max(self.slots, self.next)
        return slot

    def _scalar(self, argument: ScalarArgument, slot: int, where: dict[str, int]) -> None:
        kind = _scalar_kind(argument.type, argument.dtype)
        if kind is None:
            self.problem = f"a {argument.type.__name__} as {argument.dtype.name}"
            return
        low, high = _integer_range(argument.dtype) if kind == "int" else _LONG
        true = id(True) if kind == "bool" else 0
        self.kept.append(argument.type)
        fields = {"type": id(argument.type), "identity": true, "low": low, "high": high}
        self._add(kind, **where, slot=slot, **fields)

    def _array(self, argument: ArrayArgument, slot: int, where: dict[str, int]) -> None:
        shape = (ctypes.c_int64 * len(argument.shape))(*argument.shape)
        self.kept.append(shape)
        contiguous = layout.C_CONTIGUOUS if argument.order == "C" else layout.F_CONTIGUOUS
        if argument.by_value and argument.shape:
            self.problem = f"the value of an array of shape {argument.shape}"
        more = argument.dtype.itemsize if argument.by_value else ctypes.addressof(shape)
        self._add(
            "element" if argument.by_value else "array",
            **where,
            slot=slot,
            type=id(np.ndarray),
            identity=id(argument.dtype.numpy),
            low=len(argument.shape),
            high=contiguous | layout.ALIGNED,
            more=more,
        )

    def _guard(self, guard: Guard) -> None:
        self.kept.append(guard)
        identity = 0 if guard.value is MISSING else id(guard.value)
        if isinstance(guard, CellGuard):
            self._add("word", object=id(guard.cell) + layout.HEADER, identity=identity)
            return
        name = intern(guard.name)
        self.kept.append(name)
        self._add("name", object=id(guard.namespace), identity=identity, more=id(name))


def problem(specialisation: Specialisation) -> str | None:
    """Why `specialisation` cannot be called natively, or None."""
    found = _Steps(specialisation)
    if found.problem is not None:
        return found.problem
    if max(found.slots, found.values - len(specialisation.arguments)) > MAXIMUM_SLOTS:
        return f"more than {MAXIMUM_SLOTS} arguments"
    if len(specialisation.results) > MAXIMUM_RESULTS:
        return f"more than {MAXIMUM_RESULTS} results"
    if len(specialisation.results) != 1 and specialisation.as_tuple is False:
        return f"{len(specialisation.results)} results that are not a tuple"
    return None


_ALWAYS_VALID = ctypes.c_int32(1)


def make_record(specialisation: Specialisation, following: Record | None) -> Record:
    """A record of `specialisation` (which has no `problem`), in front of the list `following`."""
    plan = _Steps(specialisation)
    steps = (Step * len(plan.rows))(*plan.rows)
    results = (Result * len(specialisation.results))()
    kept = [plan.kept, steps, results]
    for row, result in zip(results, specialisation.results):
        shape = (ctypes.c_int64 * len(result.shape))(*result.shape)
        maker = pool.maker(result.shape, result.dtype.numpy, result.nbytes)
        kept += [shape, maker]
        row.descriptor, row.rank = id(result.dtype.numpy), len(result.shape)
        row.dimensions, row.maker = ctypes.addressof(shape), id(maker) if maker else None
    made = Record()
    names = tuple(map(intern, specialisation.keywords))
    valid = specialisation.valid or _ALWAYS_VALID
    tuples = specialisation.as_tuple
    as_tuple = len(specialisation.results) != 1 if tuples is None else tuples
    made.next = ctypes.addressof(following) if following is not None else None
    made.arguments = len(specialisation.arguments)
    made.names = id(names) if names else None
    made.valid = ctypes.addressof(valid)
    made.entry = specialisation.entry
    made.flags = RELEASE * specialisation.release + TUPLE * as_tuple
    made.owner = id(made)
    made.step_count, made.steps = len(plan.rows), ctypes.addressof(steps)
    made.result_count, made.results = len(results), ctypes.addressof(results)
    made.arena_bytes = specialisation.arena_bytes
    made.failure = id(_report_failure)
    made.wrap = id(specialisation.wrap) if specialisation.wrap else None
    made.values = plan.values
    made.context[:] = pool.context_fields(
        specialisation.constants, specialisation.externals, specialisation.parallel
    )
    made.specialisation, made.following = specialisation, following
    made.kept = [*kept, names, valid]
    return made


def _report_failure(owner: Record, code: int, site: int, value: int) -> Any:
    """Called by the native code, with the record that failed."""
    try:
        return owner.specialisation.failed(owner.specialisation, code, site, value)
    except PycError as error:
        if not config.current().debug:
            error.__traceback__ = None  # the program raises it, at the user's call
        raise
