"""Specialisations as the native code reads them: records, steps and result rows.

`make_record` fills a record with its steps and results (`structures`). The record is a Python
object that keeps everything its fields point to, the next record included, so native code that
holds a record may follow its list.
"""

from __future__ import annotations

import ctypes
from math import prod
from sys import intern
from typing import Any

import numpy as np

from pyc import config
from pyc.errors import is_of_the_program
from pyc.ir import dtype as dtypes
from pyc.ir.dtype import DType
from pyc.runtime import layout, pool
from pyc.runtime.specialisation import (
    MISSING,
    NEXT,
    UNUSED,
    AliasArgument,
    Argument,
    ArgumentSource,
    ArrayArgument,
    AttributeSource,
    CellSource,
    CountSource,
    DeviceArgument,
    DictArgument,
    EqualArgument,
    Items,
    ItemSource,
    ListArgument,
    Look,
    NameSource,
    ObjectArgument,
    ObjectSource,
    SameArgument,
    ScalarArgument,
    Specialisation,
    TagSource,
    TupleArgument,
    WordSource,
)
from pyc.runtime.structures import RecordFields, Result, Step
from pyc.runtime.text_dispatch import MAXIMUM_RESULTS, RELEASE, TUPLE
from pyc.runtime.text_match import KINDS, MAXIMUM_SLOTS


class Record(RecordFields):
    """A record; the Python object is its owner."""

    specialisation: Specialisation
    following: Record | None
    kept: list[Any]


Leaf = (
    ArrayArgument | DeviceArgument | ScalarArgument | SameArgument | ObjectArgument | EqualArgument
)

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
        self._arrays: dict[int, int] = {}
        """The bytes of arrays, by their slots; and where those are that are donated."""
        self._donated: dict[int, dict[str, int]] = {}
        self._positions: dict[tuple[int, ...], int] = {}
        """The values of arguments, by the places that lead to them."""
        for position, argument in enumerate(specialisation.arguments):
            self._argument(argument, position, (position,))
        self._found: list[dict[str, int]] = []
        """Where the object of each look is: a position, or the object itself."""
        self._items: dict[int, int] = {}
        """Where the items are of each look that has found a container."""
        for number, look in enumerate(specialisation.looks):
            self.kept.append(look)
            self._found.append(self._look(number, look))
        self.owned = {slot: self._own(slot, where) for slot, where in self._donated.items()}
        """The places among the values of the donated arrays, by their slots."""

    def _own(self, slot: int, where: dict[str, int]) -> int:
        """The steps that see that a donated array lies apart from all others, and hold it."""
        for other, nbytes in self._arrays.items():
            if other != slot and not (other in self._donated and other < slot):
                self._add("apart", slot=slot, low=self._arrays[slot], high=other, more=nbytes)
        place = self.values
        self.values += 1
        self._add("hold", **where, high=place)
        return place

    def _add(self, kind: str, **fields: Any) -> None:
        self.rows.append(Step(kind=_KIND[kind], **fields))

    def _argument(self, argument: Argument, position: int, trail: tuple[int, ...]) -> None:
        self._positions[trail] = position
        if not isinstance(argument, (TupleArgument, ListArgument, DictArgument)):
            self._leaf(argument, position=position)
            return
        kind: type = {TupleArgument: tuple, ListArgument: list, DictArgument: dict}[type(argument)]
        keys = argument.keys if isinstance(argument, DictArgument) else len(argument.items)
        base = self._container(kind, keys, {"position": position})
        for k, item in enumerate(argument.items):
            self._argument(item, base + k, (*trail, k))

    def _container(self, kind: type, items: int | tuple[Any, ...], where: dict[str, int]) -> int:
        """Puts the items behind the values known so far; the place of the first one."""
        base = self.values
        self.kept.append(kind)
        fields: dict[str, Any] = {**where, "high": base, "type": id(kind)}
        count = items if isinstance(items, int) else len(items)
        if not isinstance(items, int):
            keys = (ctypes.c_void_p * count)(*map(id, items))
            self.kept += [keys, items]
            fields["more"] = ctypes.addressof(keys)
        step = "tuple" if issubclass(kind, tuple) else kind.__name__
        self._add(step, **fields, low=count)
        self.values += count
        return base

    def _leaf(self, argument: Leaf, **where: int) -> None:
        if isinstance(argument, SameArgument):
            self.kept.append(argument.value)
            self._add("same", **where, identity=id(argument.value))
            return
        if isinstance(argument, ObjectArgument):
            self.kept.append(argument.type)
            self._add("typed", **where, type=id(argument.type))
            return
        if isinstance(argument, EqualArgument):
            self._equal(argument.value, where)
            return
        slot = self._slot(argument.slot)
        if isinstance(argument, ArrayArgument):
            self._array(argument, slot, where)
        elif isinstance(argument, DeviceArgument):
            self.kept.append(argument)
            # What arrays have in their slots are numbers of their own: one array, one number.
            if slot != MAXIMUM_SLOTS:
                self._arrays[slot] = 1
            if argument.donated:
                self._donated[slot] = where
            same = {"identity": id(argument.type), "more": id(argument.device), "low": id(int)}
            self._add("device", **where, slot=slot, type=id(argument.kind), **same)
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
        if argument.only is not None:
            if kind not in ("int", "int_f64", "int_f32") or not low <= argument.only <= high:
                self.problem = f"a {argument.type.__name__} that must be {argument.only}"
            low = high = argument.only
        true = id(True) if kind == "bool" else 0
        self.kept.append(argument.type)
        fields = {"type": id(argument.type), "identity": true, "low": low, "high": high}
        self._add(kind, **where, slot=slot, **fields)

    def _array(self, argument: ArrayArgument, slot: int, where: dict[str, int]) -> None:
        shape = (ctypes.c_int64 * len(argument.shape))(*argument.shape)
        self.kept.append(shape)
        flags = layout.ALIGNED
        flags |= layout.C_CONTIGUOUS if argument.order == "C" else layout.F_CONTIGUOUS
        if argument.donated:
            flags |= layout.WRITEABLE
            self._donated[slot] = where
        if not argument.by_value and slot != MAXIMUM_SLOTS:
            self._arrays[slot] = prod(argument.shape) * argument.dtype.itemsize
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
            high=flags,
            more=more,
        )

    def _equal(self, value: Any, where: dict[str, int]) -> None:
        kind = type(value)
        self.kept.append(kind)
        if kind is int:
            if not _LONG[0] <= value <= _LONG[1]:
                self.problem = "a large integer from outside"
                return
            self._add("int", **where, slot=MAXIMUM_SLOTS, type=id(int), low=value, high=value)
        else:
            bits = int.from_bytes(np.asarray(value).tobytes(), "little", signed=True)
            self._add("bits", **where, type=id(kind), low=bits)

    # --- looks ------------------------------------------------------------------------------------

    def _look(self, number: int, look: Look) -> dict[str, int]:
        """The steps of a look; where its object is for the looks that read from it."""
        source, found = look.source, look.found
        if isinstance(source, TagSource):
            at = id(source.cls) + layout.TYPE_VERSION
            self._add("half", object=at, low=source.version)
            return {}
        if isinstance(source, CountSource):
            self._add("word", object=source.address, identity=source.count)
            return {}
        if isinstance(source, (NameSource, CellSource, WordSource)):
            same = isinstance(found, SameArgument)
            if same or found is MISSING:
                self._same(source, id(found.value) if same else 0)
                return {"object": id(found.value)} if same else {}
        elif isinstance(source, AttributeSource) and found is MISSING:
            self._add("lacks", **self._where(source.of), **self._key(source.name))
            return {}
        where = self._source(source)
        if isinstance(found, Items):
            self._items[number] = self._container(found.type, found.items, where)
        elif isinstance(found, AliasArgument):
            self._alias(self._found[found.of], where)
        elif found is not None:
            self._leaf(found, **where)
        return {"object": id(found.value)} if isinstance(found, SameArgument) else where

    def _alias(self, of: dict[str, int], where: dict[str, int]) -> None:
        """What is at `where` must be the object that is at `of`."""
        if "object" in of:
            self._add("same", **where, identity=of["object"])
        else:
            self._add("alias", **where, low=of["position"])

    def _same(self, source: NameSource | CellSource | WordSource, identity: int) -> None:
        """A name, a cell or a field that must hold the very object."""
        if isinstance(source, NameSource):
            where = {"object": id(source.namespace)}
            self._add("name", **where, **self._key(source.name), identity=identity)
        else:
            self._add("word", object=_address(source), identity=identity)

    def _source(self, source: Any) -> dict[str, int]:
        """Where the object of a source is; the step that takes it there."""
        if isinstance(source, ObjectSource):
            return {"object": id(source.value)}
        if isinstance(source, ArgumentSource):
            return {"position": self._positions[source.trail]}
        if isinstance(source, ItemSource):
            return {"position": self._items[source.of] + source.place}
        position = self.values
        self.values += 1
        if isinstance(source, NameSource):
            key = self._key(source.name)
            self._add("load_name", object=id(source.namespace), **key, high=position)
        elif isinstance(source, AttributeSource):
            self._add(
                "attribute", **self._where(source.of), **self._key(source.name), high=position
            )
        else:
            self._add("load_word", object=_address(source), high=position)
        return {"position": position}

    def _where(self, of: Any) -> dict[str, int]:
        """The object that an attribute is read from."""
        if isinstance(of, int):
            return self._found[of]
        self.kept.append(of)
        return {"object": id(of)}

    def _key(self, name: str) -> dict[str, int]:
        interned = intern(name)
        self.kept.append(interned)
        return {"more": id(interned)}


def _address(source: CellSource | WordSource) -> int:
    return source.address if isinstance(source, WordSource) else id(source.cell) + layout.HEADER


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
        maker = result.maker or pool.maker(result.shape, result.dtype.numpy, result.nbytes)
        kept += [shape, maker]
        row.descriptor, row.rank = id(result.dtype.numpy), len(result.shape)
        row.aligned = pool.aligned_bytes(result.nbytes)
        row.dimensions, row.maker = ctypes.addressof(shape), id(maker) if maker else None
        if result.taken is not None:
            row.rank = plan.owned[result.taken] - len(specialisation.arguments)
            row.dimensions, row.maker = None, id(maker) if result.maker else id(np.ndarray)
            row.descriptor = None if result.maker else row.descriptor
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
    except Exception as error:
        if is_of_the_program(error) and not config.current().debug:
            error.__traceback__ = None  # the program raises it, at the user's call
        raise
