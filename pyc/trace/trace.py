"""`Trace`: the interpreter that records what is done with arrays as equations of a Graph.

A trace may have a parent: the body of a loop or a branch is traced into a closed Graph of its own,
and what it uses of its surroundings becomes a capture, a parameter that the parent gives.

What the function reads from outside (globals, closures, attributes) comes by the namespace, which
notes where it was read: arrays are hidden arguments, parameters behind those of the arguments. A
concrete NumPy array that meets a traced value came by another way, such as a library that is left
alone. Nothing reads it again at the next call, so it must be unable to change: read-only arrays up
to `CONSTANT_BYTES` become constants, others are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pyc.array import Array as DeviceArray
from pyc.array import is_fixed
from pyc.errors import (
    DTypeError,
    LeakedTracerError,
    LoopStateError,
    PycError,
    TraceError,
    UnboundVariableError,
    format_place,
)
from pyc.frozen import frozen
from pyc.interpreter import WEAK, Interpreter, type_of
from pyc.ir import dtype as dt
from pyc.ir.graph import Builder, Graph, Location, Value
from pyc.ir.op import Op
from pyc.ir.types import ArrayType
from pyc.reasons import Reason, record
from pyc.trace import failing, known_values, location, namespaces, stacks
from pyc.trace.memory import VIEWS, Step, is_row_major, makes_view
from pyc.trace.reads import Read, Reads
from pyc.trace.telling import Told
from pyc.trace.tracer import Tracer

if TYPE_CHECKING:
    from pyc.ir.integer_range import Range

CONSTANT_BYTES = 1 << 16
"""The largest array that becomes a constant of the program: one that was captured, or that NumPy
has computed."""

PythonType: TypeAlias = type


@frozen()
class Input:
    """What a traced function is given for a leaf: its type, whether it stands for a Python number
    (which type), its name in messages, and its value if the trace may ask for that."""

    type: ArrayType
    weak: PythonType | None = None
    name: str = ""
    value: Any = None


class Trace(Interpreter):
    """Records equations until it is closed. parent: whoever interprets around it, if values of
    there may be captured; changing: of `Reads`, None if what is read from outside is no hidden
    argument."""

    def __init__(
        self, parent: Interpreter | None = None, changing: frozenset[Any] | None = None
    ) -> None:
        self.builder = Builder()
        self.parent = parent
        self.open = True
        self.captured: list[Any] = []
        """What the parent gives for the captures, in order."""
        self.inputs: list[Tracer] = []
        self._captures: dict[int, Tracer] = {}
        self._entered: dict[int, tuple[Tracer, Tracer]] = {}
        """What stands here for a tracer of a surrounding trace, by its id; both, so that the id
        stays its own."""
        self._seen_through: dict[int, tuple[Tracer, Tracer]] = {}
        """What stands here for a tracer of a trace around the parent, by its id; both."""
        self._carried: dict[int, Tracer] = {}
        """What stands here for arrays of surrounding traces that are parameters, by id."""
        self.changed: dict[int, Tracer] = {}
        """What arrays of surrounding traces that were changed in place here are now, by id."""
        self.lost: list[Tracer] = []
        """Arrays of surrounding traces that may have been changed in place here; see
        `Tracer.lose`."""
        self.may_change = False
        """Whether the user of this trace takes care of `changed` and `lost`; else such a change is
        refused."""
        self.caller = "pyc.lax"
        """What the function is given to, for messages."""
        self.unbound: dict[tuple[str, str], tuple[str, str]] = {}
        """Why variables have no value and what to give them, by file and name."""
        self.told: list[Told] = []
        """The numbers in the texts of exceptions that were made here."""
        self.slices: dict[Any, Any] = {}
        """The runs that slices take of axes, by their bounds; see `runs`."""
        self.ranges: dict[Value, Range] = {}
        """What counters of loops run through."""
        self.asked_in_vain = False
        """Whether elements were asked for that are not known here."""
        self.host_calls = 0
        """How many calls back into Python the program has so far."""
        self.refusal: PycError | None = None
        """A refusal that the user's code may catch: it is raised again at the end."""
        self.recursive: set[Any] = set()
        """The code of branches in which a function calls itself without end if both are traced."""
        self._capture_values: list[Value] = []
        self._names: dict[Value, str] = {}
        self._scalars: dict[tuple[type, Any], Tracer] = {}
        self._arrays: dict[int, tuple[Any, Tracer]] = {}
        self._known: Any = None
        self._needed: Any = None
        self._given: dict[Value, _Given] = {}
        self.reads = Reads(None if changing is None else self._hide, changing or frozenset())
        self.hidden: list[Read] = []
        """The reads of hidden arguments: parameters behind the inputs, in this order."""
        self._namespace: Any = None
        self._place: Location | None = None
        """Where new equations are in the user's code, if that is not where the user is now."""
        self._locator: location.Locator = (
            parent._locator if isinstance(parent, Trace) else location.Locator()
        )

    # --- interpreting -----------------------------------------------------------------------------

    def bind(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """Tracers of the results of a new equation."""
        if op.fails is not None:
            instead: tuple[Any, ...] | None = failing().bind_failing(self, op, args, params)
            if instead is not None:
                return instead
        operands = tuple([a.value for a in args])
        values = self.builder.located(op, operands, params, self.place)
        if op.name in VIEWS and makes_view(op, args):
            found = Tracer(self, values[0])
            found.view_of(args[0], Step(op, params, args[1:]), args[0].value)
            return (found,)
        return tuple([Tracer(self, v) for v in values])

    def bind_at(
        self, place: Location, op: str, args: tuple[Any, ...], params: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Tracers of the results of a new equation, of another place than the user's now."""
        values = self.builder.bind(op, *[a.value for a in args], loc=place, **params)
        return tuple([Tracer(self, v) for v in values])

    @property
    def outermost(self) -> Trace:
        """The trace of the whole function."""
        found = self
        while isinstance(found.parent, Trace):
            found = found.parent
        return found

    def forgive(self, error: PycError) -> PycError:
        """`error`, which has come to pyc itself: there is another way."""
        if self.outermost.refusal is error:
            self.outermost.refusal = None
        return error

    @property
    def is_function(self) -> bool:
        """Whether this is the trace of a function, and not of the body of a loop or a branch."""
        return not isinstance(self.parent, Trace)

    def place(self) -> Location | None:
        """Where the function is."""
        return self._place or self._locator.here()

    def copy(self, x: Any) -> Any:
        """A tracer of the same value, an array of its own in row-major order."""
        found = Tracer(self, self.lift(x).value, x.weak)
        found.dense = True
        found.boxed = not x.ndim and x.weak is None and x.is_array
        return found

    def separate(self, x: Any, arguments: Sequence[Any]) -> Any:
        """A tracer of the same value if `x` is a view or an argument; anything else as it is."""
        if type(x) is not Tracer:
            return x
        if x.viewed is None:
            for a in arguments:
                if a is x:
                    break
            else:
                return x
        return Tracer(self, self.lift(x).value, x.weak)

    def alias(self, x: Any, source: Any) -> Any:
        """A view that cannot be computed again."""
        found = Tracer(self, x.value, x.weak)
        found.view_of(source, Step(None, {}), source.value)
        return found

    def transposed(self, x: Any) -> tuple[Any, tuple[int, ...]] | None:
        """See `Interpreter.transposed`."""
        if type(x) is not Tracer or x.viewed is None or x.step is None or x.step.op is None:
            return None
        return (x.viewed, x.step.params["axes"]) if x.step.op.name == "transpose" else None

    def boxed(self, x: Any) -> Any:
        """See `Interpreter.boxed`."""
        if type(x) is not Tracer or x.is_array:
            return x
        found = Tracer(self, self.lift(x).value)
        found.boxed = True
        return found

    def rows(self, items: Sequence[Any]) -> list[Any] | None:
        """See `rows.joined`."""
        found: list[Any] | None = stacks().joined(items)
        return found

    def lift(self, x: Any) -> Any:
        """`x` as a tracer of this trace; see the module docstring for arrays."""
        kind = type(x)
        if kind is Tracer:
            if x.owner is self and self.open:
                if x.bound is not None:
                    x.require()
                return x
            known = self._entered.get(id(x)) or self._seen_through.get(id(x))
            return self._enter(x) if known is None or not self.open else known[1]
        if kind in WEAK:
            # Zeros differ by sign and NaNs are not equal: numbers are known by their text.
            key = (kind, x if kind is int else repr(x))
            if key not in self._scalars:
                if kind is int and not -(1 << 63) <= x < 1 << 63:
                    raise DTypeError(
                        f"the Python integer {x} does not fit int64",
                        fix=f"Write it as a NumPy scalar of a wider type, such as `np.uint64({x})`."
                        if 0 <= x < 1 << 64
                        else "",
                    )
                self._scalars[key] = Tracer(self, self.builder.constant(x, WEAK[kind]), kind)
            return self._scalars[key]
        type_of(x)  # raises for what is not an array
        if isinstance(x, np.generic):
            return Tracer(self, self.builder.constant(x, dt.of(x.dtype)))
        return self._array(x)

    def inline(self, graph: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
        """Tracers of the results of `graph`, its equations recorded here."""
        values = self.builder.inline(graph, [a.value for a in args])
        return tuple(Tracer(self, v) for v in values)

    def _array(self, array: Any) -> Tracer:
        known = self._arrays.get(id(array))
        if known is not None:
            return known[1]
        if self.parent is not None:
            outer = self.parent.lift(array)
            # Equal arrays may be one constant there, and are then one capture here.
            key = id(outer.value if isinstance(outer, Tracer) else outer)
            tracer = self._capture(key, outer, type_of(array), None)
        elif isinstance(array, DeviceArray):
            raise TraceError(
                f"an array on {array.device} that is not an argument, {array.type}, meets a traced "
                "value",
                fix="Pass it as an argument of the jitted function.",
            )
        else:
            _check_constant(array)
            tracer = Tracer(self, self.builder.constant(array, dt.of(array.dtype)))
        self._arrays[id(array)] = (array, tracer)  # the array is kept, so that its id stays its own
        return tracer

    # --- what the function reads ------------------------------------------------------------------

    @property
    def namespace(self) -> Any:
        """The translations of what the traced function reads: one for all traces of a function."""
        if isinstance(self.parent, Trace):
            return self.parent.namespace
        if self._namespace is None:
            self._namespace = namespaces().Namespace(self.reads)
        return self._namespace

    def close(self) -> None:
        """Ends the trace."""
        self.open = False
        if self._namespace is not None:
            self._namespace.close()

    # --- values of surrounding traces -------------------------------------------------------------

    def _enter(self, x: Tracer) -> Tracer:
        """A tracer of another trace as one of this: a capture, if that surrounds this one."""
        owner: Any = x.owner
        if not owner.open:
            raise LeakedTracerError(
                lambda: (
                    f"{x.owner.describe(x.value)} is used after the trace that it belongs to "
                    "has ended"
                ),
                fix="Return it from the traced function in place of storing it in a global, an "
                "attribute, a closure or a container.",
            )
        around = self.parent
        while around is not None and around is not owner:
            around = around.parent if isinstance(around, Trace) else None
        if around is None or not self.open:
            raise LeakedTracerError(
                lambda: (
                    f"{x.owner.describe(x.value)} is used in another trace than the one that "
                    "it belongs to"
                ),
                fix="Pass it as an argument to the function that uses it.",
            )
        assert self.parent is not None
        if isinstance(self.parent, Trace) and owner is not self.parent and x.bound is None:
            # One array is one here, whether it comes as that of the parent, as the base of a view
            # that was made there, or as that of a trace around it.
            return self._entered_from(x, self.parent.lift(x))
        outer = self.parent.lift(x.bare())
        same = self._capture(id(outer.value), outer, outer.type, x.weak)
        entered = Tracer(self, same.value, x.weak, outer=x)
        if x.bound is not None:
            entered.bound = x.bound
            entered.require()
        if x.viewed is not None:
            base = self.lift(x.viewed)
            if id(x.viewed) in self._carried:
                entered.view_of(base, x.step, None)
            else:
                before = self.parent.lift(x.viewed)
                seen = self._capture(id(before.value), before, before.type, before.weak).value
                entered.view_of(base, x.step, seen)
        self._entered[id(x)] = (x, entered)
        return entered

    def _entered_from(self, x: Tracer, parents: Tracer) -> Tracer:
        """What stands here for `x`, for which `parents` stands in the parent."""
        known = self._entered.get(id(parents))
        found = self._enter(parents) if known is None else known[1]
        if x.weak is not parents.weak:
            return Tracer(self, found.value, x.weak, outer=x)
        self._seen_through[id(x)] = (x, found)
        return found

    def carry(self, outer: Tracer, given: Tracer) -> Tracer:
        """Makes a parameter stand for an array of a surrounding trace, and returns its tracer."""
        found = Tracer(self, given.value, outer.weak, outer=outer)
        self._entered[id(outer)] = (outer, found)
        self._carried[id(outer)] = found
        return found

    def entered(self) -> list[Tracer]:
        """The tracers of surrounding traces that were used here."""
        return [outer for outer, _ in self._entered.values()]

    def used_captures(self, results: Sequence[Tracer]) -> tuple[list[Value], list[Any]]:
        """The captures that the equations and `results` use: as parameters here, and as what the
        parent gives for them."""
        used = {a for eqn in self.builder.eqns for a in eqn.args} | {r.value for r in results}
        pairs = zip(self._capture_values, self.captured, strict=True)
        kept = [(value, outer) for value, outer in pairs if value in used]
        return [value for value, _ in kept], [outer for _, outer in kept]

    def _capture(self, key: int, outer: Any, type: ArrayType, weak: type | None) -> Tracer:
        tracer = self._captures.get(key)
        if tracer is None:
            tracer = Tracer(self, self.builder.param(type), weak)
            self._captures[key] = tracer
            self._capture_values.append(tracer.value)
            self.captured.append(outer)
        return tracer if tracer.weak is weak else Tracer(self, tracer.value, weak)

    # --- values that are known --------------------------------------------------------------------

    def known(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of `value`, read-only; None if they depend on an input of the function."""
        if not self.open:
            return None
        if self._known is None:
            self._known = known_values().KnownValues(self.builder, self._known_outside)
        found: np.ndarray[Any, Any] | None = self._known.value(value)
        return found

    def needed(self, value: Value) -> np.ndarray[Any, Any] | None:
        """As `known`, also of number arguments and of what was captured: the program is then for
        this value only."""
        found = self.known(value)
        if found is None and self.open:
            found = self._needed_values().value(value)
            if found is not None:
                self.keep(value)
        self.asked_in_vain |= found is None
        return found

    def is_at_hand(self, value: Value) -> bool:
        """Whether `needed` would give the elements."""
        return self.open and self._needed_values().value(value) is not None

    def peek(self, value: Value) -> Any:
        """As `needed` of one element, and the program stays for all values; None where it is not at
        hand."""
        found = self._needed_values().value(value) if self.open else None
        return None if found is None else found.item()

    def _needed_values(self) -> Any:
        if self._needed is None:
            self._needed = known_values().KnownValues(self.builder, self._needed_outside)
        return self._needed

    def _known_outside(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of a capture, if the surrounding trace knows them."""
        outer = self._outer(value)
        return None if outer is None else outer.known()

    def _needed_outside(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of an input or a capture, if they may be had."""
        given = self._given.get(value)
        if given is not None:
            return given.elements()
        outer = self._outer(value)
        if outer is None or not isinstance(outer.owner, Trace):
            return None
        found: np.ndarray[Any, Any] | None = outer.owner._needed_values().value(outer.value)
        return found

    def keep(self, value: Value) -> None:
        """From now on the program is for the inputs that `value` is made of."""
        for given in self.sources(value):
            given.keep()

    def sources(self, value: Value) -> Iterator[_Given]:
        """The inputs that `value`, which is needed, is made of."""
        for source in self._needed_values().inputs_of(value):
            outer = self._outer(source)
            if source in self._given:
                yield self._given[source]
            elif outer is not None and isinstance(outer.owner, Trace):
                yield from outer.owner.sources(outer.value)

    def _outer(self, value: Value) -> Tracer | None:
        """What a capture stands for, if that is a tracer."""
        for known, outer in zip(self._capture_values, self.captured, strict=True):
            if known is value and isinstance(outer, Tracer):
                return outer
        return None

    # --- hidden arguments -------------------------------------------------------------------------

    def _hide(self, type: ArrayType, weak: PythonType | None, name: str, read: Read) -> Tracer:
        """A tracer of a new hidden argument."""
        value = self.builder.param(type)
        self._names[value] = name
        self._given[value] = _Given(name, read.value, read)
        self.hidden.append(read)
        found = Tracer(self, value, weak)
        found.argument = weak is None
        return found

    # --- messages ---------------------------------------------------------------------------------

    def describe(self, value: Value) -> str:
        """What `value` is: an argument, or where it was made."""
        if value in self._names:
            return f"`{self._names[value]}` ({value.type})"
        for known, outer in zip(self._capture_values, self.captured, strict=True):
            if known is value and isinstance(outer, Tracer):
                return outer.owner.describe(outer.value)
        for eqn in self.builder.eqns:
            if value in eqn.outs:
                made = f", made at {format_place(eqn.loc)}" if eqn.loc else ""
                return f"a traced {value.type} ({eqn.op}{made})"
        return f"a traced {value.type}"

    def name_of(self, value: Value) -> str | None:
        """The name of an argument or of what was read from outside, None for other values."""
        return self._names.get(value)

    def is_captured(self, value: Value) -> bool:
        """Whether `value` is an array that was read from outside, a hidden argument."""
        given = self._given.get(value)
        return given is not None and given.read is not None

    def is_row_major(self, value: Value) -> bool:
        """Whether NumPy would make `value` dense in row-major order, for certain."""
        return is_row_major(self.builder, value)

    def is_made(self, value: Value) -> bool:
        """Whether an operation of this trace makes `value`, which is no constant."""
        return any(value in e.outs and e.op.name != "constant" for e in self.builder.eqns)

    def note_change(self, outer: Tracer, entered: Tracer) -> None:
        """Records that `outer`, of a surrounding trace, was changed in place; `entered` is what it
        is here."""
        self._check_change(outer)
        self.changed[id(outer)] = entered

    def note_loss(self, outer: Tracer) -> None:
        """Records that `outer`, of a surrounding trace, may have been changed in place."""
        self._check_change(outer)
        self.lost.append(outer)

    def _check_change(self, outer: Tracer) -> None:
        if not self.may_change:
            raise TraceError(
                lambda: (
                    f"{outer.owner.describe(outer.value)} would be changed in place inside of a "
                    f"function for `{self.caller}`, whose changes would be lost"
                ),
                fix="Carry it: give it to the function as an operand, change it there and return "
                "it."
                if self.caller == "pyc.lax"
                else "Return what each lane adds, and combine it outside: "
                "`total += mapped(x).sum(axis=0)`.",
                place=location.here(),
            )

    def explain(self, error: NameError) -> None:
        """PycError if a variable has no value because of what a traced loop or branch does to it,
        or if it is one of the function that bodies and branches share."""
        place = location.of_traceback(error.__traceback__)
        name = unbound_name(error)
        known = self.unbound.get((place.file, name)) if place is not None else None
        if known is not None:
            why, remedy = known
            raise LoopStateError(
                f"`{name}` has no value here that is known, {why}",
                fix=f"Give `{name}` {remedy}.",
                place=place,
            ) from None
        if not isinstance(self.parent, Trace) and "free variable" in str(error):
            raise UnboundVariableError(f"`{name}` has no value here", place=place) from None

    # --- the result -------------------------------------------------------------------------------

    def add_inputs(self, inputs: Sequence[Input]) -> list[Tracer]:
        """Tracers of new parameters."""
        found = []
        for given in inputs:
            value = self.builder.param(given.type)
            if given.name:
                self._names[value] = given.name
            if given.value is not None:
                self._given[value] = _Given(given.name, given.value)
            found.append(Tracer(self, value, given.weak))
            found[-1].argument = self.parent is None and given.weak is None
        self.inputs += found
        return found

    def results(self, found: Sequence[Any]) -> list[Tracer]:
        """What a function has returned, as tracers of this trace. A variable that may have no value
        fails on the line that may give it one."""
        lifted = []
        for x in found:
            self._place = x.bound[2] if isinstance(x, Tracer) and x.bound is not None else None
            lifted.append(self.lift(x))
        self._place = None
        return lifted

    def build(self, results: Sequence[Tracer], captures: Sequence[Value] | None = None) -> Graph:
        """The Graph (captures, inputs) -> results."""
        values = self._capture_values if captures is None else list(captures)
        outs = [r.value for r in results]
        if self.hidden:
            used = {a for eqn in self.builder.eqns for a in eqn.args}.union(outs)
            self.hidden = [r for r in self.hidden if r.tracer.made in used]
        hidden = [r.tracer.made for r in self.hidden]
        self.builder.params[:] = [*values, *(t.made for t in self.inputs), *hidden]
        return self.builder.build(outs)

    def kept(self) -> tuple[Any, ...]:
        """The values of inputs that the program is for, None for those that may change."""
        return tuple(
            given.value if given is not None and given.is_kept else None
            for given in (self._given.get(t.made) for t in self.inputs)
        )

    def outer_of(self, value: Value) -> Any:
        """What the parent gives for a parameter, a tracer; None if that is no capture."""
        for outer, own in zip(self.captured, self._capture_values, strict=True):
            if own is value and isinstance(outer, Tracer):
                return outer
        return None

    def capture_value(self, outer: Any) -> Value:
        """The parameter for a value of the parent, a new one if it was not captured here."""
        key = id(outer.value) if isinstance(outer, Tracer) else id(outer)
        for known, value in zip(self.captured, self._capture_values, strict=True):
            known_key = id(known.value) if isinstance(known, Tracer) else id(known)
            if known_key == key:
                return value
        return self.builder.param(type_of(outer))


class _Given:
    """The value that a number argument or a hidden one has at the trace. read: of a hidden one;
    is_kept: whether the program is for this value only."""

    def __init__(self, name: str, value: Any, read: Read | None = None) -> None:
        self.name = name
        self.value = value
        self.read = read
        self.is_kept = False

    def elements(self) -> np.ndarray[Any, Any] | None:
        """The elements, read-only; None if they are too many, or on a device."""
        if isinstance(self.value, DeviceArray) or getattr(self.value, "nbytes", 0) > CONSTANT_BYTES:
            return None
        found = np.array(self.value, order="C")
        found = found.astype(found.dtype.newbyteorder("="), copy=False)
        found.flags.writeable = False
        return found

    def keep(self) -> None:
        """Notes that the program is for this value."""
        if self.is_kept:
            return
        if self.read is None:
            number = self.value.item() if isinstance(self.value, np.generic) else self.value
            record(Reason.GUARD_ARGUMENT_VALUE, name=self.name, value=number)
        else:
            is_array = isinstance(self.value, np.ndarray)
            self.read.content = np.array(self.value, order="C") if is_array else self.value
            record(Reason.GUARD_CAPTURE_VALUE, name=self.name)
        self.is_kept = True


def unbound_name(error: NameError) -> str:
    """The variable without a value that an error is about."""
    found = re.search("'(.*?)'", str(error))
    return found[1] if found else ""


def _check_constant(array: Any) -> None:
    """TraceError unless an array that came by no path is small and cannot change."""
    fixed = is_fixed(array)
    if fixed and array.nbytes <= CONSTANT_BYTES:
        return
    why = (
        f"it has {array.nbytes} bytes, and constants are limited to {CONSTANT_BYTES}"
        if fixed
        else "it may change between calls, and the compiled program would not see that"
    )
    raise TraceError(
        f"a NumPy array that is not an argument, {type_of(array)}, meets a traced value: {why}",
        fix="Pass it as an argument of the jitted function.\nIf a library that pyc does not trace "
        "made it in the function, make it outside; a small constant table may be made\nread-only: "
        "`a.flags.writeable = False`.",
    )
