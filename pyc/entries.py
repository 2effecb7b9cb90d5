"""What `jit` keeps of a signature: the traced function, the compiled program, ways to call it.

One signature may have several programs: what they find outside of the function, and the values of
number arguments that Python needed, tell them apart (`trace/guards.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from pyc import compile as compiler
from pyc import tree
from pyc.array import Array as DeviceArray
from pyc.array import is_fixed, moved, of_host
from pyc.donation import check_donated
from pyc.eager import dense, finish, why_copied
from pyc.errors import TraceError
from pyc.fingerprint import Document
from pyc.forks import load
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.text_graph import print_graph
from pyc.lowered import Lowered, lower_graph
from pyc.runtime.specialisation import Specialisation
from pyc.signature import Call, Signature
from pyc.trace import location
from pyc.trace.guards import Guards
from pyc.trace.reads import array_key
from pyc.trace.trace import Input

if TYPE_CHECKING:
    from pyc.compile_cuda import GpuCompiled


@frozen()
class Traced:
    """A traced function. graph: as written, its parameters the leaves that are not static, then the
    hidden arguments; in_tree: the structure of (positional, keywords) arguments; out_tree: of the
    result; inputs: what each parameter but the hidden ones is; places: its position among all
    leaves; kept: its value if the graph is for this one only; guards: what the graph depends on
    besides the arguments, and the hidden ones; donated: numbers of inputs that the caller gives
    up; fastmath: whether roundings may change; alike: which of the inputs are one array, where the
    function compares objects and some might be, else None."""

    name: str
    graph: Graph
    in_tree: tree.TreeDef
    out_tree: tree.TreeDef
    inputs: tuple[Input, ...]
    places: tuple[int, ...]
    kept: tuple[Any, ...]
    guards: Guards
    donated: tuple[int, ...] = ()
    fastmath: bool = False
    alike: tuple[int, ...] | None = None

    def __str__(self) -> str:
        return self.as_text()

    @property
    def captures(self) -> tuple[str, ...]:
        """Where the hidden arguments are read at each call, as Python code."""
        return self.guards.names

    @property
    def options(self) -> Document:
        """What affects code besides the graph, for the cache key: only what is not the default."""
        options: Document = {"donated": list(self.donated)} if self.donated else {}
        return {**options, "fastmath": True} if self.fastmath else options

    def lower(self, target: str | None = None) -> Lowered:
        """The optimised program and its plan for a target, whether this machine is one or not:
        "native", "x86-64-v3", "x86-64-v4", "sm_90" ...; by default for this processor.

        raises ArgumentError: there is no such target
        """
        chosen = None if target is None else load("pyc.targets").named(target)
        return lower_graph(
            self.graph,
            target=chosen,
            options=self.options,
            name=self.name,
            arguments=[*(x.name for x in self.inputs), *self.captures],
        )

    def as_text(self) -> str:
        """The text of the graph, with the user's lines in the margin."""
        return print_graph(self.graph, locations=True)


@frozen()
class Entry:
    """A compiled signature."""

    traced: Traced
    program: compiler.Compiled | GpuCompiled
    text: str
    moved: dict[int, tuple[Any, Any]]
    """Hidden arguments that cannot change, by number: a reference to one, its copy on the GPU."""

    def hidden(self, call: Call) -> list[Any] | None:
        """The hidden arguments of a call; None if the program is not for what it finds outside."""
        for place, kept in zip(self.traced.places, self.traced.kept, strict=True):
            if kept is not None and not is_same_number(call.leaves[place], kept):
                return None
        if self.traced.alike not in (None, which_are_one(call.leaves, self.traced.places)):
            return None
        return self.traced.guards.values(call.given)

    def other_values(self, call: Call) -> TraceError:
        """The error for a call that finds other things outside than the program is for."""
        if self.traced.alike not in (None, which_are_one(call.leaves, self.traced.places)):
            return TraceError(
                "this program was compiled for a call in which other arguments are one array",
                fix="Call the jitted function itself: it has a program for each such case.",
                place=location.here(),
            )
        path = self.traced.guards.difference(call.given)
        what = "a number argument" if path is None else f"`{path.text()}`"
        return TraceError(
            f"this program was compiled for another value of {what} than it has now",
            fix="Call the jitted function itself: it compiles again for what has changed. If it "
            "raised this error,\nthe function changes it, or reads another value each time: pass "
            "it as an argument.",
            place=location.here(),
        )

    def arrays(self, leaves: Sequence[Any], hidden: Sequence[Any]) -> list[Any]:
        """What the program takes for leaves of this signature: one dense array a parameter. A
        program for the CPU that was asked for by name takes arrays from a device; for a GPU, hidden
        arrays that cannot change are moved there once."""
        traced = self.traced
        given = [(leaves[k], x.name) for k, x in zip(traced.places, traced.inputs, strict=True)]
        if isinstance(self.program, compiler.Compiled):
            given += zip(hidden, traced.captures, strict=True)
            given = [(_on_host(x, k in traced.donated), name) for k, (x, name) in enumerate(given)]
        else:
            given += zip(map(self.on_gpu, count(), hidden), traced.captures, strict=True)
        return [dense(x, name) for x, name in given]

    def on_gpu(self, number: int, x: Any) -> Any:
        """A hidden argument, moved to the GPU if it cannot change."""
        known = self.moved.get(number)
        if known is not None and known[0]() is x:
            return known[1]
        if not is_fixed(x) and not _is_on_cpu(x):
            return x
        assert not isinstance(self.program, compiler.Compiled)
        there = moved(x, self.program.device)
        self.moved[number] = ref(x), there
        return there

    def check(self, arrays: Sequence[Any]) -> None:
        """DonationError if the program must not take over a donated argument among `arrays`."""
        traced = self.traced
        if traced.donated:
            names = [*(x.name for x in traced.inputs), *traced.captures]
            check_donated(traced.name, traced.donated, names, arrays)

    def run(self, leaves: Sequence[Any], hidden: Sequence[Any]) -> Any:
        """The result for leaves of this signature.

        raises DonationError: a donated argument cannot be taken over
        """
        arrays = self.arrays(leaves, hidden)
        self.check(arrays)
        if isinstance(self.program, compiler.Compiled):  # a GPU takes its own
            for k in self.traced.donated:
                given = leaves[self.traced.places[k]]
                if isinstance(given, DeviceArray):
                    given.delete()
            if any(map(_is_on_cpu, chain(leaves, hidden))):
                return self.traced.out_tree.unflatten(map(of_host, self.program(*arrays)))
        results = self.program(*arrays)
        return self.traced.out_tree.unflatten([finish(r) for r in results])


def with_copies(signature: Signature, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with dense copies of the arrays that a program takes as such: a native call
    takes these. None if there are none, or if the caller gives some up."""
    if signature.donates:
        return None
    copied = {
        id(x): k
        for k, x in reversed([*enumerate(args)])
        if type(x) is np.ndarray and why_copied(x) is not None
    }
    if not copied or any(
        k in signature.static_positions or dt.of(args[k].dtype) is None for k in copied.values()
    ):
        return None
    found = {n: dense(args[k], signature.names.positional(k)) for n, k in copied.items()}
    return tuple(found.get(id(x), x) for x in args)


def _is_on_cpu(x: Any) -> bool:
    return type(x) is DeviceArray and x.device == "cpu"


def _on_host(x: Any, donated: bool) -> Any:
    """An argument of a program for the CPU; of an `Array` that is donated a copy, to be written."""
    if not isinstance(x, DeviceArray):
        return x
    return np.array(x) if donated else np.asarray(x)


@frozen()
class QuickEntry:
    """A signature of arrays on one device, known without taking a call apart."""

    types: tuple[Any, ...]
    device: str
    entry: Entry

    def hidden(self, args: tuple[Any, ...]) -> list[Any] | None:
        """The hidden arguments for positional arguments of this signature; None for others, or if
        the program does not hold any more."""
        if len(args) != len(self.types):
            return None
        for a, t in zip(args, self.types, strict=True):
            fits = type(a) is DeviceArray and (a.type is t or a.type == t)
            if not fits or a.device != self.device:
                return None
        return self.entry.traced.guards.values((args, {}))

    def run(self, args: tuple[Any, ...], hidden: list[Any]) -> Any:
        """The result for arguments that it takes."""
        entry = self.entry
        given = entry.arrays(args, hidden) if hidden else args
        entry.check(given)
        return entry.traced.out_tree.unflatten(entry.program(*given))


class NativeWay:
    """What was made of calls of one form. specialisation: the native one, None if there is none;
    tries: how often it had to be made again."""

    def __init__(self, entry: Entry, tries: int = 0) -> None:
        self.entry = entry
        self.tries = tries
        self.specialisation: Specialisation | None = None

    def is_stale(self) -> bool:
        """Whether calls came through Python although there is a native way, which looks for the
        same objects where equal ones are enough."""
        found = self.specialisation
        return found is not None and found.valid is not None and found.valid.value != 0


def which_are_one(leaves: Sequence[Any], places: Sequence[int]) -> tuple[int, ...]:
    """For each of the inputs at these places the first one that is the same array."""
    first: dict[int, int] = {}
    return tuple(
        first.setdefault(id(leaves[k]), n) if array_key(leaves[k]) is not None else n
        for n, k in enumerate(places)
    )


def given_at_trace(traced: Traced) -> list[Any]:
    """The values that the hidden arguments had at the trace, which decide where the program runs;
    without arrays on the CPU, which cannot change and are moved where it does."""
    return [read.value for read in traced.guards.hidden if not _is_on_cpu(read.value)]


def is_same_number(a: Any, b: Any) -> bool:
    """Whether two numbers of one type have the same bits, any NaN those of any other."""
    if a != b:
        return bool(a != a and b != b)
    return a != 0 or math.copysign(1, a) == math.copysign(1, b)
