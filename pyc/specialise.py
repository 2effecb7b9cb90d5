"""From a compiled signature to a `Specialisation`: calls that run no Python.

Takes the arguments of one call as the user gave them and the program that was compiled for them;
returns what the native dispatcher must check to run the same program, or the reason why such calls
go through Python. Anything that could change unnoticed between two calls with the same objects (a
mutable static value, a registered class) is such a reason: the Python way looks again each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import tree
from pyc.array import Array as DeviceArray
from pyc.array import maker_of_host
from pyc.compile import Compiled
from pyc.frozen import replace
from pyc.interpreter import WEAK, native_calls, undirected_calls
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.looks import (
    Looks,
    NotNativeError,
    array_on_device,
    changed,
    fixed_value,
    is_stored,
    looks_at_host,
    version_look,
)
from pyc.reasons import Reason
from pyc.runtime.specialisation import (
    Argument,
    ArgumentSource,
    ArrayArgument,
    AttributeSource,
    DeviceArgument,
    DictArgument,
    EqualArgument,
    Items,
    ItemSource,
    ListArgument,
    Look,
    NativeProgram,
    ObjectArgument,
    SameArgument,
    ScalarArgument,
    Specialisation,
    TupleArgument,
    of_program,
)
from pyc.signature import Call, Signature, is_object
from pyc.trace.guards import Guards

if TYPE_CHECKING:
    from pyc.compile_cuda import GpuCompiled

MAXIMUM = 64
"""Native specialisations of one function: they are tried one after the other."""

_FIXED = (bool, int, float, complex, str, bytes, type(None))
"""Types of values that cannot change: the same object is the same value."""


def specialise(
    signature: Signature,
    call: Call,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compiled: Compiled | GpuCompiled,
    out_tree: tree.TreeDef,
    guards: Guards,
    kept: Sequence[Any],
    donated: Sequence[int] = (),
    moved: Callable[[int, Any], Any] | None = None,
) -> Specialisation:
    """The native form of the call (*args, **kwargs), whose program is `compiled`.

    guards: what the program depends on besides; kept: for each parameter that an argument is for,
    the value that it must have, None for any; donated: numbers of those that the caller gives up;
    moved: see `Looks`
    raises NotNativeError: there is none
    """
    if compiled.calls_back:
        raise NotNativeError(Reason.DISPATCH_SLOW_HOST_CALL, f"{len(compiled.calls)} calls")
    trails = _check_order(signature, call, args, kwargs)
    static = signature.static_positions
    device = compiled.device
    found = _Arguments(kept, donated, device)
    fixed = [k in static for k in range(len(args))]
    fixed += [name in signature.static_names for name in kwargs]
    arguments = [
        _same(x) if same else found.argument(x, (k,))
        for k, (x, same) in enumerate(zip([*args, *kwargs.values()], fixed, strict=True))
    ]
    looks = Looks(guards, call.given, trails, len(kept), found.looks, device, moved)
    if signature.call(args, kwargs).key != call.key:
        raise changed()
    count = len(compiled.results)
    gives_arrays = found.gives_arrays or looks.gives_arrays
    if gives_arrays and donated:
        raise NotNativeError(Reason.DISPATCH_SLOW_DEVICE, "an array is donated")
    plain = not gives_arrays and (
        out_tree == tree.structure(0)
        or (count > 1 and out_tree == tree.flatten_ordered((0,) * count)[1])
    )
    if device is not None and not any(
        isinstance(a, DeviceArgument) for a in [*found.leaves, *(k.found for k in looks.looks)]
    ):
        raise NotNativeError(Reason.DISPATCH_SLOW_DEVICE, "no argument is there")
    directed = signature.directed or found.gives_arrays or device is not None
    program = compiled.native_program({*found.numbers, *looks.numbers}, looks.fixed)
    if not isinstance(program, NativeProgram):
        raise NotNativeError(Reason.DISPATCH_SLOW_DEVICE, program)
    wrap = None if plain else _wrap(out_tree, compiled.results if gives_arrays else None)
    if program.finish is not None:
        wrap = _finished(program.finish, out_tree)
    return of_program(
        program,
        tuple(arguments),
        keywords=tuple(kwargs),
        as_tuple=None if wrap is None else True,
        wrap=wrap,
        valid=native_calls if directed else undirected_calls,
        looks=tuple(looks.looks),
    )


def _wrap(out_tree: tree.TreeDef, types: Sequence[ArrayType] | None) -> Callable[[Any], Any]:
    """Makes what a call returns of the tuple of its results. types: of the `Array`s on the CPU that
    they become, None if they stay NumPy's."""
    if types is None:
        return out_tree.maker()
    made = maker_of_host(types)
    if out_tree == tree.structure(0):
        return lambda results: made(results)[0]
    shaped = out_tree.maker()
    return lambda results: shaped(tuple(made(results)))


def _finished(finish: Callable[[tuple[Any, ...]], Sequence[Any]], out_tree: tree.TreeDef) -> Any:
    """The same where the program makes its results of what the entry has."""
    if out_tree == tree.structure(0):
        return lambda made: finish(made)[0]
    shaped = out_tree.maker()
    return lambda made: shaped(tuple(finish(made)))


def _check_order(
    signature: Signature, call: Call, args: Sequence[Any], kwargs: dict[str, Any]
) -> dict[int | str, int]:
    """Where each bound argument (its position or its name) is among those that were given.

    raises NotNativeError: the arguments do not stand in the order of the program's parameters;
    binding moves keywords to their positions
    """
    positional, rest = call.given
    moved = [signature.names.positional(k) for k in range(len(args), len(positional))]
    if [*moved, *rest] != [*kwargs]:
        raise NotNativeError(
            Reason.DISPATCH_SLOW_KEYWORDS, "keywords in another order than parameters"
        )
    return {place: k for k, place in enumerate([*range(len(positional)), *rest])}


class _Arguments:
    """The arguments of a call, and the looks at what is in registered dataclasses among them. kept:
    for each leaf that is a parameter the value that it must have, None for any; donated: numbers of
    parameters; device: where arrays must be, None for the host."""

    def __init__(self, kept: Sequence[Any], donated: Sequence[int], device: Any) -> None:
        self.looks: list[Look] = []
        self.numbers: list[int] = []
        """The slots of parameters that are numbers."""
        self.leaves: list[Argument] = []
        self.gives_arrays = False
        """Whether there is an `Array` of the CPU among them, so that results are `Array`s."""
        self._device = device
        self._kept = kept
        self._donated = donated
        self._slot = 0
        self._tagged: set[type] = set()

    def argument(self, x: Any, trail: tuple[int, ...]) -> Argument:
        """What an argument must be. trail: where it is, see `ArgumentSource`."""
        kind = type(x)
        if kind is DeviceArray and self._device is None:
            self._on_host(x, self._look(ArgumentSource(trail), None))
            return ObjectArgument(kind)
        leaf = self._leaf(x)
        if leaf is not None:
            self.leaves.append(leaf)
            return leaf
        if kind is tuple:
            return TupleArgument(tuple(self._items(x, trail)))
        if kind is list:
            return ListArgument(tuple(self._items(x, trail)))
        if kind is dict:
            return DictArgument(tuple(x), tuple(self._items(x.values(), trail)))
        if tree.fields_of(kind) is not None:
            self._fields(x, self._look(ArgumentSource(trail), None))
            return ObjectArgument(kind)
        if is_object(x) and tree.is_leaf(x):
            return ObjectArgument(kind)
        return _same(x)

    def _items(self, items: Iterable[Any], trail: tuple[int, ...]) -> Iterator[Argument]:
        return (self.argument(v, (*trail, k)) for k, v in enumerate(items))

    def _leaf(self, x: Any) -> Argument | None:
        """An array or a number, in the next slot."""
        kind = type(x)
        if self._device is not None and isinstance(x, (DeviceArray, np.ndarray)):
            slot, _ = self._next()
            there = array_on_device(x, self._device, slot, f"an argument of type {kind.__name__}")
            return replace(there, donated=slot in self._donated)
        if kind is np.ndarray:
            slot, _ = self._next()
            return replace(_array(x), slot=slot, donated=slot in self._donated)
        dtype = WEAK.get(kind) if kind is not bool else None
        if dtype is None and isinstance(x, np.generic):
            dtype = dt.of(x.dtype)
        if dtype is None:
            return None
        slot, wanted = self._next()
        if wanted is not None and kind is not int:
            raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, f"the value of a {kind.__name__}")
        self.numbers.append(slot)
        return ScalarArgument(kind, dtype, slot, wanted)

    def _next(self) -> tuple[int, Any]:
        slot = self._slot
        self._slot += 1
        return slot, self._kept[slot]

    def _on_host(self, x: DeviceArray, of: int) -> None:
        """An `Array` for the CPU, which look `of` has found."""
        slot, _ = self._next()
        self._tag(DeviceArray)
        self.looks += looks_at_host(x, of, slot, "an argument")
        self.gives_arrays = True

    # --- dataclasses ------------------------------------------------------------------------------

    def _look(self, source: Any, found: Any) -> int:
        self.looks.append(Look(source, found))
        return len(self.looks) - 1

    def _tag(self, kind: type) -> None:
        """A class must not change."""
        if kind not in self._tagged:
            self._tagged.add(kind)
            self.looks.append(version_look(kind))

    def _fields(self, x: Any, of: int) -> None:
        """Looks at the fields of a dataclass, which is what look `of` has found."""
        kind = type(x)
        fields = tree.fields_of(kind)
        assert fields is not None
        self._tag(kind)
        data, meta = fields
        for name in (*data, *meta):
            if not is_stored(kind, name):
                raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, f"{kind.__name__}.{name}")
        for name in data:
            self._inside(getattr(x, name), AttributeSource(of, name))
        for name in meta:
            self._look(AttributeSource(of, name), _same_value(getattr(x, name)))

    def _inside(self, x: Any, source: Any) -> None:
        """Looks at what lies in a dataclass."""
        kind = type(x)
        if kind is DeviceArray and self._device is None:
            self._on_host(x, self._look(source, ObjectArgument(kind)))
            return
        leaf = self._leaf(x)
        if leaf is not None:
            if isinstance(leaf, (ArrayArgument, DeviceArgument)) and leaf.donated:
                raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, "a donated dataclass")
            self._look(source, leaf)
        elif kind in (tuple, list, dict):
            of = self._look(source, Items(kind, tuple(x) if kind is dict else len(x)))
            for k, item in enumerate(x.values() if kind is dict else x):
                self._inside(item, ItemSource(of, k))
        elif tree.fields_of(kind) is not None:
            self._fields(x, self._look(source, ObjectArgument(kind)))
        else:
            self._look(source, _same(x))


def _same_value(x: Any) -> EqualArgument | Argument:
    return fixed_value(x) or _same(x)


def _array(x: np.ndarray[Any, Any]) -> ArrayArgument:
    dtype = dt.of(x.dtype)
    if not x.ndim:
        raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, "an array of rank 0", again=True)
    if dtype is None or not (x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative):
        raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, "an array that is copied", again=True)
    return ArrayArgument(dtype, x.shape)


def _same(x: Any) -> Argument:
    """A static value, by identity: only if the same object is the same value for ever."""
    if type(x) in _FIXED or isinstance(x, (Enum, type, np.dtype, np.ufunc)):
        return SameArgument(x)
    if type(x) is tuple:
        for item in x:
            _same(item)
        return SameArgument(x)
    raise NotNativeError(Reason.DISPATCH_SLOW_ARGUMENT, f"an argument of type {type(x).__name__}")
