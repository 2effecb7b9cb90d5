"""Native calls: from a Python call to compiled code without running Python in between.

    class Function(Dispatcher): ...            a callable; `_slow` is called for what is not known
    function = Function(slow)
    function.add(Specialisation(...))          from now on such calls are native

A `Specialisation` says what each argument must be (`ArrayArgument`, `ScalarArgument`,
`SameArgument`, tuples, lists and dicts of these), what comes back, and which entry runs (its
calling convention is that of `pyc.ir.plan`). The leaves of the arguments take the entry's 16-byte
slots in order, depth first, then the captures. A call that fits no specialisation, or for which
no arena is free, goes to `_slow` with the same arguments.

The callable is a Python object whose type has a word for the address of native code. The word is
empty, and calls go through `__call__`, until the first specialisation comes. If `layout.problem`
knows a reason not to, `add` refuses with it and the word stays empty.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from sys import intern
from typing import Any, Union

import numpy as np

from pyc.errors import CompileError
from pyc.ir import dtype as dtypes
from pyc.ir.dtype import DType
from pyc.reasons import Reason, record
from pyc.runtime import layout, native, pool, threads
from pyc.runtime.text_dispatch import KINDS, MAXIMUM_RESULTS, MAXIMUM_SLOTS, RELEASE, TUPLE

# --- what a call must look like -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An `ndarray` (no subclass) of this dtype and shape; its data address goes to the slot.

    order: "C" or "F": contiguous in that order (both are aligned).
    """

    dtype: DType
    shape: tuple[int, ...]
    order: str = "C"


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A scalar of exactly this type; its value, converted to `dtype`, goes to the slot.

    type: float, int, bool or complex, or the NumPy scalar type of `dtype`.
    """

    type: type
    dtype: DType


@dataclass(frozen=True, slots=True)
class SameArgument:
    """This very object, such as None or a static value; it takes no slot."""

    value: Any


@dataclass(frozen=True, slots=True)
class TupleArgument:
    """A tuple (no subclass) of these items."""

    items: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class ListArgument:
    """A list (no subclass) of these items."""

    items: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class DictArgument:
    """A dict (no subclass) with these keys (the same objects, in this order) and items."""

    keys: tuple[Any, ...]
    items: tuple[Argument, ...]


Argument = Union[
    *(ArrayArgument, ScalarArgument, SameArgument, TupleArgument, ListArgument, DictArgument)
]


@dataclass(frozen=True, slots=True)
class Capture:
    """An array that the function reads besides its arguments, checked as an argument is."""

    array: np.ndarray[Any, Any]
    argument: ArrayArgument


MISSING = object()
"""What a name maps to that must not be there."""


@dataclass(frozen=True, slots=True)
class NameGuard:
    """`namespace[name]` must be the very object `value`, or absent if that is MISSING."""

    namespace: dict[str, Any]
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class CellGuard:
    """The closure cell must hold the very object `value`, or nothing if that is MISSING."""

    cell: Any
    value: Any


Guard = Union[NameGuard, CellGuard]


@dataclass(frozen=True, slots=True)
class Result:
    """A fresh C-ordered array of this dtype and shape; of rank 0, a NumPy scalar."""

    dtype: DType
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


@dataclass(frozen=True, eq=False)
class Specialisation:
    """One compiled program and the calls it is for.

    arguments: the positional ones, then one for each of `keywords`, in this order;
    results: what the entry writes; one is returned as it is, several as a tuple, unless `as_tuple`
    says otherwise; `wrap` is called on that and gives what the call returns;
    entry, constants, externals: addresses (`pyc.ir.plan`); arena_bytes: of its arena;
    failed(specialisation, code, site, value): called if the entry does not return 0; should raise;
    release: run without the GIL, and so that Ctrl-C ends it (for work over some 10 us, and for
    loops of unknown length); parallel: may use the worker pool;
    valid: a cell that is not 0 as long as calls may use it; captures, guards: checked per call;
    keep: whatever must live as long as the code is used, such as its `Image`.
    """

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    entry: int
    failed: Callable[[Specialisation, int, int, int], Any]
    keywords: tuple[str, ...] = ()
    arena_bytes: int = 0
    constants: int = 0
    externals: int = 0
    release: bool = False
    parallel: bool = True
    as_tuple: bool | None = None
    wrap: Callable[[Any], Any] | None = None
    valid: ctypes.c_int32 | None = None
    captures: tuple[Capture, ...] = ()
    guards: tuple[Guard, ...] = ()
    keep: Any = None

    @cached_property
    def problem(self) -> str | None:
        """Why it cannot be called natively, or None."""
        try:
            plan = _Steps(self)
        except _NotNativeError as error:
            return str(error)
        if plan.slots > MAXIMUM_SLOTS or plan.values - len(self.arguments) > MAXIMUM_SLOTS:
            return f"more than {MAXIMUM_SLOTS} arguments"
        if len(self.results) > MAXIMUM_RESULTS:
            return f"more than {MAXIMUM_RESULTS} results"
        if len(self.results) != 1 and self.as_tuple is False:
            return f"{len(self.results)} results that are not a tuple"
        return None


# --- records --------------------------------------------------------------------------------------


class _Step(ctypes.Structure):
    """`%step` of the native text."""

    _fields_ = (
        *(("kind", ctypes.c_int64), ("position", ctypes.c_int64), ("object", ctypes.c_void_p)),
        *(("slot", ctypes.c_int64), ("type", ctypes.c_void_p), ("identity", ctypes.c_void_p)),
        *(("low", ctypes.c_int64), ("high", ctypes.c_int64), ("more", ctypes.c_void_p)),
    )


class _Result(ctypes.Structure):
    """`%result` of the native text."""

    _fields_ = (
        *(("descriptor", ctypes.c_void_p), ("rank", ctypes.c_int64)),
        *(("dimensions", ctypes.c_void_p), ("maker", ctypes.c_void_p)),
    )


class _Record(ctypes.Structure):
    """`%record` of the native text; the Python object is its owner and keeps all it points to."""

    _fields_ = (
        *(("next", ctypes.c_void_p), ("arguments", ctypes.c_int64), ("names", ctypes.c_void_p)),
        *(("valid", ctypes.c_void_p), ("entry", ctypes.c_void_p), ("flags", ctypes.c_int64)),
        *(("calls", ctypes.c_int64), ("owner", ctypes.c_void_p), ("step_count", ctypes.c_int64)),
        *(("steps", ctypes.c_void_p), ("result_count", ctypes.c_int64)),
        *(("results", ctypes.c_void_p), ("arena_bytes", ctypes.c_int64)),
        *(("failure", ctypes.c_void_p), ("wrap", ctypes.c_void_p), ("values", ctypes.c_int64)),
        ("context", ctypes.c_int64 * 8),
    )

    specialisation: Specialisation
    following: _Record | None
    kept: list[Any]


class _NotNativeError(Exception):
    """A specialisation has something that native calls do not know."""


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
    """The steps of a specialisation. slots: taken by leaves; values: arguments and contents."""

    def __init__(self, specialisation: Specialisation) -> None:
        self.rows: list[_Step] = []
        self.kept: list[Any] = []
        self.slots = 0
        self.values = len(specialisation.arguments)
        # Containers put their items behind the values known so far: breadth first.
        waiting = list(enumerate(specialisation.arguments))
        leaves: list[tuple[int, Argument]] = []
        order: dict[int, tuple[int, ...]] = {}
        paths = {position: (position,) for position, _ in waiting}
        for position, argument in waiting:
            if isinstance(argument, (TupleArgument, ListArgument, DictArgument)):
                base = self._container(position, argument)
                for k, item in enumerate(argument.items):
                    paths[base + k] = (*paths[position], k)
                    waiting.append((base + k, item))
            else:
                leaves.append((position, argument))
            order[position] = paths[position]
        for position, argument in sorted(leaves, key=lambda leaf: order[leaf[0]]):
            self._leaf(argument, position=position)
        for capture in specialisation.captures:
            self.kept.append(capture.array)
            self._leaf(capture.argument, object=id(capture.array))
        for guard in specialisation.guards:
            self._guard(guard)

    def _add(self, kind: str, **fields: Any) -> None:
        self.rows.append(_Step(kind=_KIND[kind], **fields))

    def _container(self, position: int, argument: Argument) -> int:
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
        assert isinstance(argument, (TupleArgument, ListArgument, DictArgument))
        self._add(kind, **fields, low=len(argument.items))
        self.values += len(argument.items)
        return base

    def _leaf(self, argument: Argument, **where: int) -> None:
        if isinstance(argument, SameArgument):
            self.kept.append(argument.value)
            self._add("same", **where, identity=id(argument.value))
            return
        slot = self.slots
        self.slots += 1
        if isinstance(argument, ArrayArgument):
            self._array(argument, slot, where)
            return
        assert isinstance(argument, ScalarArgument)
        kind = _scalar_kind(argument.type, argument.dtype)
        if kind is None:
            raise _NotNativeError(f"a {argument.type.__name__} as {argument.dtype.name}")
        low, high = _integer_range(argument.dtype) if kind == "int" else _LONG
        true = id(True) if kind == "bool" else 0
        self.kept.append(argument.type)
        fields = {"type": id(argument.type), "identity": true, "low": low, "high": high}
        self._add(kind, **where, slot=slot, **fields)

    def _array(self, argument: ArrayArgument, slot: int, where: dict[str, int]) -> None:
        shape = (ctypes.c_int64 * len(argument.shape))(*argument.shape)
        self.kept.append(shape)
        contiguous = layout.C_CONTIGUOUS if argument.order == "C" else layout.F_CONTIGUOUS
        self._add(
            "array",
            **where,
            slot=slot,
            type=id(np.ndarray),
            identity=id(argument.dtype.numpy),
            low=len(argument.shape),
            high=contiguous | layout.ALIGNED,
            more=ctypes.addressof(shape),
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


_ALWAYS_VALID = ctypes.c_int32(1)


def _make_record(specialisation: Specialisation, following: _Record | None) -> _Record:
    plan = _Steps(specialisation)
    steps = (_Step * len(plan.rows))(*plan.rows)
    results = (_Result * len(specialisation.results))()
    kept = [plan.kept, steps, results]
    for row, result in zip(results, specialisation.results):
        shape = (ctypes.c_int64 * len(result.shape))(*result.shape)
        maker = pool.maker(result.shape, result.dtype.numpy, result.nbytes)
        kept += [shape, maker]
        row.descriptor, row.rank = id(result.dtype.numpy), len(result.shape)
        row.dimensions, row.maker = ctypes.addressof(shape), id(maker) if maker else None
    made = _Record()
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


def _report_failure(owner: _Record, code: int, site: int, value: int) -> Any:
    """Called by the native code, with the record that failed."""
    return owner.specialisation.failed(owner.specialisation, code, site, value)


# --- the callable ---------------------------------------------------------------------------------

_HAVE_VECTORCALL, _BASE_TYPE = 1 << 11, 1 << 10
_SLOT_CALL, _SLOT_MEMBERS = 50, 72
_MEMBER_SIZE, _MEMBER_READ_ONLY = 19, 1


class _TypeMember(ctypes.Structure):
    _fields_ = (
        *(("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t)),
        *(("flags", ctypes.c_int), ("doc", ctypes.c_char_p)),
    )


class _TypeSlot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("value", ctypes.c_void_p))


class _TypeSpec(ctypes.Structure):
    _fields_ = (
        *(("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int)),
        *(("flags", ctypes.c_uint), ("slots", ctypes.c_void_p)),
    )


_type_parts: list[Any] = []
"""What CPython reads as long as the type lives."""


def _make_base() -> Any:
    """A type whose instances have one word more than `object`: the address of a native call."""
    members = (_TypeMember * 2)(
        _TypeMember(b"__vectorcalloffset__", _MEMBER_SIZE, layout.HEADER, _MEMBER_READ_ONLY),
    )
    call = ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value
    slots = (_TypeSlot * 3)(
        _TypeSlot(_SLOT_CALL, call), _TypeSlot(_SLOT_MEMBERS, ctypes.addressof(members))
    )
    name = b"pyc.runtime.dispatch._Callable"
    flags = _HAVE_VECTORCALL | _BASE_TYPE
    spec = _TypeSpec(name, layout.HEADER + 8, 0, flags, ctypes.addressof(slots))
    _type_parts.extend((members, slots, spec, name))
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    return make(ctypes.addressof(spec))


_Callable: Any = _make_base()


class Dispatcher(_Callable):  # type: ignore[misc]
    """A callable that runs specialisations natively and calls `_slow` for everything else.

    Subclasses may have attributes and methods, but no other `__call__`.
    """

    # Native code reads the first two: CPython places slots in the order of their names.
    __slots__ = ("_a_first", "_b_slow", "__weakref__")

    _a_first: _Record
    _b_slow: Callable[..., Any]

    def __init__(self, slow: Callable[..., Any]) -> None:
        self._b_slow = slow

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _enable_native_calls(cls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the slow way returns; native calls do not come here."""
        return self._b_slow(*args, **kwargs)

    def add(self, specialisation: Specialisation) -> bool:
        """Makes calls that fit `specialisation` native; the one added last is tried first.

        False, with a reason in the log, if it cannot be: such calls stay slow.
        """
        refused = layout.problem() or _layout_of_callables()
        if refused is None and specialisation.problem is not None:
            refused = Reason.DISPATCH_SLOW_ARGUMENT, specialisation.problem
        if refused is not None:
            record(refused[0], detail=refused[1])
            return False
        self._a_first = _make_record(specialisation, getattr(self, "_a_first", None))
        word = ctypes.c_void_p.from_address(id(self) + layout.HEADER)
        word.value = native.image().address("dispatch")
        return True

    def discard(self, specialisation: Specialisation) -> None:
        """Takes `specialisation` out, if it is there. Calls under way end as they began."""
        kept = [r for r in self._records() if r.specialisation is not specialisation]
        self._relink(kept)

    def clear(self) -> None:
        """Takes all specialisations out."""
        self._relink([])

    def specialisations(self) -> tuple[Specialisation, ...]:
        """Those added, in the order in which they are tried."""
        return tuple(r.specialisation for r in self._records())

    def native_calls(self, specialisation: Specialisation) -> int:
        """How many calls the native code ran with `specialisation`."""
        return sum(r.calls for r in self._records() if r.specialisation is specialisation)

    def _records(self) -> Iterator[_Record]:
        found = getattr(self, "_a_first", None)
        while found is not None:
            yield found
            found = found.following

    def _relink(self, records: list[_Record]) -> None:
        """Records never change once they are in use: a new list is made of the rest."""
        first: _Record | None = None
        for old in reversed(records):
            first = _make_record(old.specialisation, first)
            first.calls = old.calls
        if first is not None:
            self._a_first = first
        elif hasattr(self, "_a_first"):
            del self._a_first


def _enable_native_calls(cls: type) -> None:
    """Sets the flag that CPython never lets classes with a `__call__` inherit (3.11: no class).

    With it an empty word still leads to `__call__`, a full one to native code.
    """
    if layout.problem() is None:
        flags = ctypes.c_ulong.from_address(id(cls) + layout.TYPE_FLAGS)
        flags.value |= _HAVE_VECTORCALL


_enable_native_calls(Dispatcher)


def _layout_of_callables() -> tuple[Reason, str] | None:
    """A reason if instances of `Dispatcher` or records are not laid out as the native code has it."""
    return _checked_layout[0] if _checked_layout else _check_layout()


_checked_layout: list[tuple[Reason, str] | None] = []


def _check_layout() -> tuple[Reason, str] | None:
    probe, first = Dispatcher(print), _Record()
    probe._a_first = first
    words = [
        ctypes.c_void_p.from_address(id(probe) + layout.HEADER + k).value or 0 for k in (0, 8, 16)
    ]
    inside = ctypes.c_void_p.from_address(id(first) + layout.HEADER).value
    right = words == [0, id(first), id(print)] and inside == ctypes.addressof(first)
    right = right and bool(Dispatcher.__flags__ & _HAVE_VECTORCALL)
    found = None if right else (Reason.DISPATCH_SLOW_PROBE, "the fields of a callable")
    _checked_layout.append(found)
    return found


def available() -> tuple[Reason, str] | None:
    """None if calls can be native here; else why not."""
    return layout.problem() or _layout_of_callables()
