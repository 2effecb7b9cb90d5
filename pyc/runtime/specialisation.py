"""`Specialisation`: one compiled program, the calls it is for, and what they return.

Plain data that the compiler's glue fills in and `dispatch` reads. Unless they say otherwise, the
leaves of the arguments take the entry's 16-byte slots in order, depth first, then the looks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Union

from pyc.frozen import frozen
from pyc.ir.dtype import DType

NEXT, UNUSED = -1, -2
"""Slots of a leaf: the one after the last leaf's; none, for a leaf that is only checked."""


@frozen()
class ArrayArgument:
    """An `ndarray` (no subclass) of this dtype and shape; its data address goes to the slot.

    order: "C" or "F": contiguous in that order (both are aligned); by_value: of rank 0, its value
    goes to the slot; slot: the number of the slot, NEXT or UNUSED; donated: it is writable and
    shares memory with no other array that has a slot.
    """

    dtype: DType
    shape: tuple[int, ...]
    order: str = "C"
    by_value: bool = False
    slot: int = NEXT
    donated: bool = False


@frozen()
class DeviceArgument:
    """An array on a device: an object of exactly this class whose first three fields are its
    address, an int, which goes to the slot as that object; the very device; the very type.
    donated: it is no other argument that has a slot."""

    kind: type
    device: Any
    type: Any
    slot: int = NEXT
    donated: bool = False


@frozen()
class ScalarArgument:
    """A scalar of exactly this type; its value, converted to `dtype`, goes to the slot.

    type: float, int, bool or complex, or the NumPy scalar type of `dtype`;
    slot: the number of the slot, NEXT or UNUSED; only: the value it must have, an int; None: any.
    """

    type: type
    dtype: DType
    slot: int = NEXT
    only: int | None = None


@frozen()
class SameArgument:
    """This very object, such as None or a static value; it takes no slot."""

    value: Any


@frozen()
class TupleArgument:
    """A tuple (no subclass) of these items."""

    items: tuple[Argument, ...]


@frozen()
class ListArgument:
    """A list (no subclass) of these items."""

    items: tuple[Argument, ...]


@frozen()
class DictArgument:
    """A dict (no subclass) with these keys (the same objects, in this order) and items."""

    keys: tuple[Any, ...]
    items: tuple[Argument, ...]


@frozen()
class ObjectArgument:
    """An object of exactly this class; it takes no slot. What is read from it are `Look`s."""

    type: type


Container = Union[TupleArgument, ListArgument, DictArgument]
Leaf = Union[ArrayArgument, DeviceArgument, ScalarArgument, SameArgument, ObjectArgument]
Argument = Union[Leaf, Container]


@frozen()
class EqualArgument:
    """A float, an int or a NumPy scalar of 8 bytes with the bits of this one; it takes no slot."""

    value: Any


@frozen()
class Items:
    """A list or tuple of exactly this type with so many items, or a dict with these keys (the same
    objects, in this order): what `ItemSource` reads from."""

    type: type
    items: int | tuple[Any, ...]


@frozen()
class AliasArgument:
    """The very object that another look (its number) has found; it takes no slot."""

    of: int


MISSING = object()
"""What a name or an attribute leads to that must not be there."""


# --- what a call looks at besides its arguments ---------------------------------------------------


@frozen()
class ObjectSource:
    """This very object."""

    value: Any


@frozen()
class NameSource:
    """What a dict holds by a name."""

    namespace: dict[str, Any]
    name: str


@frozen()
class CellSource:
    """What a closure cell holds."""

    cell: Any


@frozen()
class WordSource:
    """What stands at an address: a field of `owner` that holds an object."""

    owner: Any
    address: int


@frozen()
class ArgumentSource:
    """An argument, or what lies in it: its place among the arguments, then places of items."""

    trail: tuple[int, ...]


@frozen()
class AttributeSource:
    """An attribute of what another look has found (its number) or of an object. It must be read
    without running Python code: kept in the object, in a slot or in its class."""

    of: Any
    name: str


@frozen()
class ItemSource:
    """An item (by its place) of the container that another look has found."""

    of: int
    place: int


@frozen()
class CountSource:
    """A number that CPython counts up: the 64 bits at an address. owner: of what it tells."""

    owner: Any
    address: int
    count: int


@frozen()
class TagSource:
    """The version of a class: CPython gives it a new one when it or a base changes."""

    cls: type
    version: int


Source = Union[
    ObjectSource,
    NameSource,
    CellSource,
    WordSource,
    ArgumentSource,
    AttributeSource,
    ItemSource,
    TagSource,
    CountSource,
]


@frozen()
class Look:
    """What a call looks at before it runs the entry: read from `source`, it must be what `found`
    says (MISSING: nothing is there; None: whatever is there). Arrays and scalars may take slots."""

    source: Source
    found: Any


@frozen()
class Result:
    """A fresh C-ordered array of this dtype and shape; of rank 0, a NumPy scalar. taken: the slot
    of the donated array, of this dtype and shape, that is returned instead; maker: makes the array
    instead, of the donated one if there is one, an object whose first field is what the entry takes
    as its place."""

    dtype: DType
    shape: tuple[int, ...]
    taken: int | None = None
    maker: Callable[..., Any] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


@frozen()
class NativeProgram:
    """What a compiled program has for native calls: see `Specialisation`. device: where its arrays
    are, None for the host; finish: makes the program's results of the tuple of `results`, where
    there are others among them that only the entry needs."""

    entry: int
    results: tuple[Result, ...]
    failed: Callable[[Specialisation, int, int, int], Any]
    arena_bytes: int = 0
    constants: int = 0
    externals: int = 0
    release: bool = False
    parallel: bool = True
    device: Any = None
    finish: Callable[[tuple[Any, ...]], Sequence[Any]] | None = None
    keep: Any = None


@frozen(eq=False, weak=True)
class Specialisation:
    """One compiled program and the calls it is for.

    arguments: the positional ones, then one for each of `keywords`, in this order;
    results: what the entry writes; one is returned as it is, several as a tuple, unless `as_tuple`
    says otherwise; `wrap` is called on that and gives what the call returns;
    entry, constants, externals: addresses (`pyc.ir.plan`); arena_bytes: of its arena;
    failed(specialisation, code, site, value): called if the entry does not return 0; should raise;
    release: run without the GIL, and so that Ctrl-C ends it (for work over some 10 us, and for
    loops of unknown length); parallel: may use the worker pool;
    valid: a cell that is not 0 as long as calls may use it; looks: what each call looks at besides,
    in this order;
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
    looks: tuple[Look, ...] = ()
    keep: Any = None


def of_program(
    program: NativeProgram, arguments: tuple[Argument, ...], **more: Any
) -> Specialisation:
    """The calls of a program with these arguments. more: further fields."""
    return Specialisation(
        arguments=arguments,
        results=program.results,
        entry=program.entry,
        failed=program.failed,
        arena_bytes=program.arena_bytes,
        constants=program.constants,
        externals=program.externals,
        release=program.release,
        parallel=program.parallel,
        keep=program.keep,
        **more,
    )


def describe(value: Any, leaf: Callable[[Any], Argument]) -> Argument:
    """The argument that `value` is: tuples, lists and dicts (no subclasses) of what `leaf` gives.

    `leaf` is called for everything else but None, depth first, dicts in their order.
    """
    if value is None:
        return SameArgument(None)
    if type(value) is tuple:
        return TupleArgument(tuple(describe(item, leaf) for item in value))
    if type(value) is list:
        return ListArgument(tuple(describe(item, leaf) for item in value))
    if type(value) is dict:
        return DictArgument(tuple(value), tuple(describe(v, leaf) for v in value.values()))
    return leaf(value)
