"""Which traced arrays share memory: views, as NumPy makes them, over values that never change.

A Graph has values only. An array that the function may change is an `ArrayMemory` whose value is
replaced at each change; a view is one with a base (`viewed`) and a `Step` that gives its value from
the base's.
Reading a view whose base has changed does the step again; writing to it changes the base by the
step's inverse, so that writes go through in both directions, over views of views.

Most steps are views for certain. Where NumPy's answer depends on the layout of memory (`reshape`),
the layout is followed from where the array was made; if it is not known, or the step has no inverse
here, using both sides after a change is an error that asks for a copy, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np

from pyc.errors import DTypeError, PurityError, Text, TraceError
from pyc.frozen import frozen
from pyc.interpreter import bind1, current
from pyc.ir.graph import Builder, Location, Value
from pyc.ir.op import Kind, Op
from pyc.ir.types import ArrayType
from pyc.reasons import Reason
from pyc.trace import location

Strides = tuple[int, ...]


@frozen()
class Step:
    """How a view comes from its base. op: None if it cannot be done again; operands: what the op
    takes after the base, as values of the trace of `owner`; params: its parameters."""

    op: Op | None
    params: dict[str, Any]
    operands: tuple[Any, ...] = ()


# --- steps that make views ------------------------------------------------------------------------


def _unslice(base: Any, new: Any, step: Step) -> Any:
    starts, sizes, steps = (step.params[k] for k in ("start", "size", "step"))
    if 0 in sizes:
        return base
    backwards = [k for k, s in enumerate(steps) if s < 0]
    if backwards:
        shape = new.shape
        turned = {
            "start": tuple(n - 1 if k in backwards else 0 for k, n in enumerate(shape)),
            "size": shape,
            "step": tuple(-1 if k in backwards else 1 for k in range(len(shape))),
        }
        new = bind1("slice", new, **turned)
    low = tuple(
        start + (size - 1) * by if by < 0 else start
        for start, size, by in zip(starts, sizes, steps, strict=True)
    )
    return bind1("update_slice", base, new, starts=low, strides=tuple(map(abs, steps)))


def _untranspose(base: Any, new: Any, step: Step) -> Any:
    axes = step.params["axes"]
    return bind1("transpose", new, axes=tuple(axes.index(k) for k in range(len(axes))))


def _unreshape(base: Any, new: Any, step: Step) -> Any:
    return bind1("reshape", new, shape=base.shape)


def _ungather(base: Any, new: Any, step: Step) -> Any:
    kept = {k: step.params[k] for k in ("axes", "position")}
    return bind1("scatter", base, new, *step.operands, mode="set", **kept)


def _undynamic_slice(base: Any, new: Any, step: Step) -> Any:
    strides = (1,) * len(base.shape)
    return bind1(
        "update_slice", base, new, *step.operands, starts=step.params["starts"], strides=strides
    )


def _unreal(base: Any, new: Any, step: Step) -> Any:
    return bind1("complex", new, bind1("imag", base))


def _unimag(base: Any, new: Any, step: Step) -> Any:
    return bind1("complex", bind1("real", base), new)


INVERSES: dict[str, Callable[[Any, Any, Step], Any]] = {
    "slice": _unslice,
    "transpose": _untranspose,
    "reshape": _unreshape,
    "gather": _ungather,
    "dynamic_slice": _undynamic_slice,
    "real": _unreal,
    "imag": _unimag,
}
"""By op: (base, new value of the view, step) -> new value of the base. Broadcast views are not
here: NumPy makes them read-only."""

VIEWS = frozenset((*INVERSES, "broadcast"))


def makes_view(op: Op, args: Sequence[Any]) -> bool:
    """Whether the result of `op` is a view of its first argument in NumPy, or may be one. Of a
    scalar NumPy makes an array of its own first; what is broadcast is read-only all the same."""
    if op.name != "broadcast" and not args[0].may_be_array:
        return False
    if op.name == "gather":  # basic indexing by integers that are not known; arrays copy
        return all(not index.shape for index in args[1:])
    if op.name in ("real", "imag"):
        return bool(args[0].type.dtype.is_complex)
    return op.name in VIEWS


# --- layouts --------------------------------------------------------------------------------------


def row_major(shape: Sequence[int]) -> Strides:
    """Strides of a dense array, in elements."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def is_row_major(builder: Builder, value: Value) -> bool:
    """Whether NumPy would make `value` dense in row-major order, as far as the Graph shows: what is
    made by ops from constants and counters. Arguments may have any layout."""
    makers = {out: eqn for eqn in builder.eqns for out in eqn.outs}
    todo, seen = [value], set()
    while todo:
        v = todo.pop()
        if v in seen or len(v.shape) <= 1:
            continue
        seen.add(v)
        eqn = makers.get(v)
        if eqn is None:
            return False
        if eqn.op.kind is Kind.POINTWISE:
            todo += [a for a in eqn.args if a.shape == v.shape]
        elif eqn.op.name in ("update_slice", "scatter"):
            todo.append(eqn.args[0])
        elif eqn.op.name not in ("constant", "iota", "broadcast", "dot_general"):
            return False
    return True


def strides_after(step: Step, shape: Sequence[int], strides: Strides) -> Strides | None:
    """Strides of the view that a step makes of an array of these, in elements; None if NumPy
    copies, or the step is not one of layout."""
    model = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), shape, strides)
    name, params = ("" if step.op is None else step.op.name), step.params
    if name == "slice":
        box = zip(params["start"], params["size"], params["step"], strict=True)
        found = model[tuple(slice(s, s + n) if n else slice(0, 0) for s, n, _ in box)]
        return tuple(s * by for s, by in zip(found.strides, params["step"], strict=True))
    if name == "dynamic_slice":
        return tuple(strides)
    if name == "transpose":
        return model.transpose(params["axes"]).strides
    if name == "reshape":
        try:
            return np.reshape(model, params["shape"], copy=False).strides
        except ValueError:
            return None
    return None


def keeps_memory(step: Step, shape: Sequence[int]) -> bool:
    """Whether a step is a view whatever the layout of its base, of this shape: all but a reshape
    that does more than to put in or take out axes of length 1."""
    if step.op is None or step.op.name != "reshape":
        return True
    target = step.params["shape"]
    bare = [n for n in shape if n != 1] == [n for n in target if n != 1]
    return bare or math.prod(shape) <= 1 or len(shape) == 0


# --- arrays ---------------------------------------------------------------------------------------


_CHANGE = "change"
"""The parameter of the step by which an array comes from nothing, once its elements are not known:
where the array was changed that may share its memory; see `Tracer.lose`."""


class Owner(Protocol):
    """The trace of a tracer. open: until its Graph is built."""

    open: bool

    @property
    def is_function(self) -> bool:
        """Whether this is the trace of a function, and not of the body of a loop or a branch."""

    def place(self) -> Location | None:
        """Where the function is."""

    def describe(self, value: Value) -> str:
        """What `value` is, for messages: where it was made, or which argument it is."""

    def name_of(self, value: Value) -> str | None:
        """The name of an argument or of what was read from outside, None for other values."""

    def is_captured(self, value: Value) -> bool:
        """Whether `value` is an array that was read from outside, a hidden argument."""

    def is_row_major(self, value: Value) -> bool:
        """Whether NumPy would make `value` dense in row-major order, for certain."""

    def is_made(self, value: Value) -> bool:
        """Whether an operation of this trace makes `value`, which is no constant."""

    def note_change(self, outer: Any, entered: Any) -> None:
        """Records that an array of a surrounding trace was changed in place."""

    def note_loss(self, outer: Any) -> None:
        """Records that an array of a surrounding trace may have been changed in place."""

    def lift(self, x: Any) -> Any:
        """See `Interpreter.lift`."""

    def bind(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """See `Interpreter.bind`."""

    def known(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of `value`, read-only, if they do not depend on an argument."""

    def needed(self, value: Value) -> np.ndarray[Any, Any] | None:
        """As `known`, also of number arguments and of what was captured, which are then kept."""

    def is_at_hand(self, value: Value) -> bool:
        """Whether `needed` would give the elements."""


def _copied(array: ArrayMemory) -> str:
    """How the user copies an argument before it is changed."""
    name = array.owner.name_of(array.value) or "x"
    return f"`{name} = {name}.copy()`" if name.isidentifier() else f"`copy = {name}.copy()`"


class ArrayMemory:
    """The value of a traced array and the memory that it is in. owner: the trace; value: the name
    in the Graph; outer: the array of a surrounding trace that this one stands for.

    `argument`: whether the memory is the caller's; `boxed`: of rank 0, whether NumPy makes an array
    of it and not a scalar; `either`: of rank 0, whether data decide that; `dense`: whether it was
    made in row-major order, whatever the value; `made`: the value that it was made with; `viewed`,
    `step`: the array of which it is a view, and how; `rivals`: arrays that may share its memory:
    which of them do depends on data; `named`: the array of a variable of which this is the value
    alone, in the same memory.
    """

    __slots__ = (
        *("_seen", "_value", "argument", "boxed", "dense", "either", "made", "named", "outer"),
        *("owner", "rivals", "step", "type", "viewed"),
    )

    def __init__(self, owner: Owner, value: Value, outer: Self | None = None) -> None:
        self.owner = owner
        self._value = value
        self.type: ArrayType = value.type
        self.outer = outer
        self.argument = False
        self.boxed = False
        self.either = False
        self.dense = False
        self.made = value
        self.viewed: Self | None = None
        self.step: Step | None = None
        self._seen: Value | None = None
        self.rivals: list[Self] = []
        self.named: Self | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.type.shape

    @property
    def value(self) -> Value:
        """Its value now: that of a view follows its base."""
        base = self.viewed
        if base is not None:
            now = base.value
            if now is not self._seen:
                self._follow(base)
                self._seen = now
        return self._value

    @property
    def is_array(self) -> bool:
        """Whether NumPy could change it in place: of rank 0 an array, or a view of one, but not a
        scalar."""
        array: ArrayMemory | None = self
        while array is not None:
            if array.type.shape or array.argument or array.boxed:
                return True
            array = array.outer if array.viewed is None else array.viewed
        return False

    @property
    def is_known_array(self) -> bool:
        """As `is_array`, but no argument of rank 0, which may be a scalar of NumPy as well."""
        array: ArrayMemory | None = self
        while array is not None:
            if array.type.shape or array.boxed:
                return True
            if array.argument:
                return array.owner.is_captured(array.value)
            array = array.outer if array.viewed is None else array.viewed
        return False

    @property
    def may_be_array(self) -> bool:
        """As `is_array`, or a branch or a loop decides whether it is an array or a scalar."""
        array: ArrayMemory | None = self
        while array is not None:
            if array.either:
                return True
            array = array.outer if array.viewed is None else array.viewed
        return self.is_array

    def view_of(self, base: Self, step: Step | None, seen: Value | None) -> None:
        """Makes it a view of `base`, which had the value `seen` when this had its own."""
        self.viewed, self.step, self._seen = base, step, seen

    def _follow(self, base: Self) -> None:
        """Takes the value of a view whose base has changed."""
        step = self.step
        assert step is not None
        shares = self._shares()
        if shares is False:
            self.viewed = None  # NumPy has copied: what it was is what it is
            return
        if _CHANGE in step.params:
            raise TraceError(
                f"an array ({self.type}) that is used later may share memory with the one that is "
                "changed in place here: which array a name stands for was decided by a loop or a "
                "branch on traced values",
                fix="Copy where two names get one array: `a = b.copy()`.",
                place=step.params[_CHANGE],
            )
        if step.op is None or shares is None:
            raise self.refusal(
                TraceError,
                lambda: (
                    f"{self.owner.describe(self._value)} may share memory with an array that was "
                    "changed in place since"
                ),
                "Copy one of them before the change: `y = x.reshape(shape).copy()`.",
            )
        owner = self.owner
        operands = [owner.lift(a) for a in (base, *step.operands)]
        self._value = owner.bind(step.op, tuple(operands), step.params)[0].value

    def _shares(self) -> bool | None:
        """Whether NumPy's array would share the base's memory; None if that is not known."""
        assert self.viewed is not None and self.step is not None
        if keeps_memory(self.step, self.viewed.shape):
            return True
        strides = self.viewed.known_strides()
        if strides is None:
            return None
        return strides_after(self.step, self.viewed.shape, strides) is not None

    def known_strides(self) -> Strides | None:
        """The strides that NumPy's array would have, in elements, if they are known."""
        if self.viewed is None:
            first: ArrayMemory = self
            while first.outer is not None:
                first = first.outer
            known = first.dense or (not first.argument and first.owner.is_row_major(first.made))
            return row_major(self.shape) if known else None
        strides = self.viewed.known_strides()
        if strides is None or self.step is None:
            return None
        return strides_after(self.step, self.viewed.shape, strides)

    def change(self, new: Any, what: str, rewrite: str) -> None:
        """Replaces the elements in place, through every view: `new` has the array's type.

        what: names the statement in messages; rewrite: what to write if it is refused
        raises TraceError: an argument, or memory that is shared with one or read-only;
        PurityError: an array that was read from outside; DTypeError: a scalar
        """
        here: ArrayMemory = current().lift(self)
        here.check_writable(what, rewrite)
        here._write(current().lift(new))

    def check_writable(self, what: str, rewrite: str) -> None:
        """TraceError or PurityError unless its memory is the function's own, DTypeError if it has
        none."""
        self._check_memory(what)
        array: ArrayMemory = self
        while array.viewed is not None:
            step, shares = array.step, array._shares()
            if shares is False:
                array.viewed = None
                break
            why = ""
            if step is None or step.op is None or shares is None or not array.viewed.is_array:
                why = "may share memory with another array"
            elif step.op.name == "broadcast":
                why = "is a broadcast view, which NumPy makes read-only"
            elif step.op.name not in INVERSES:
                why = "cannot be written through"
            if why:
                raise self.refusal(
                    TraceError,
                    f"{what}: {array._described()} {why}",
                    f"Copy it first: `y = y.copy()`; or make a new array: {rewrite}.",
                )
            array = array.viewed
        outermost = array
        while outermost.outer is not None:
            outermost = outermost.outer
            while outermost.viewed is not None:
                outermost = outermost.viewed
        if outermost.argument and outermost.owner.is_captured(outermost.value):
            raise PurityError(
                f"{what} would change {outermost._described()} in place, which exists outside of "
                "the function: compiled code would not do so",
                rule=Reason.PURITY_OBJECT,
                fix="Copy it first, `a = a.copy()`, return the copy, and assign it outside of the "
                "jitted function.",
                place=location.here(),
            )
        if outermost.argument:
            raise self.refusal(
                TraceError,
                lambda: (
                    f"{what} would change {outermost._described()} in place: it belongs to the "
                    "caller"
                ),
                f"Copy it first: {_copied(outermost)}; or make a new array: {rewrite}.",
            )

    def _check_memory(self, what: str) -> None:
        """DTypeError if it is one of NumPy's scalars for certain: what an operation made, and not
        what stands for an argument of a function, where arrays of rank 0 come in too."""
        if self.type.shape or self.is_array:
            return
        first: ArrayMemory = self
        while first.outer is not None or first.viewed is not None:
            first = first.outer if first.viewed is None else first.viewed  # type: ignore[assignment]
        if first.owner.is_made(first.value):
            raise DTypeError(
                f"{what} would change {self._described()} in place: NumPy makes a scalar of it, "
                "which cannot be changed",
                fix="Give the name another value, `a = value`; or make an array of it before: "
                "`a = np.array(a)`.",
                place=location.here(),
            )

    def _write(self, new: Any) -> None:
        base, step = self.viewed, self.step
        if base is not None:
            assert step is not None and step.op is not None
            base._write(INVERSES[step.op.name](base, new, step))
            self._seen = base.value
        elif self.outer is not None:
            self.owner.note_change(self.outer, self)
        self._value = new.value
        self._lose_rivals()

    def replaced(self) -> None:
        """Notes a change in place of what is an array for some data, and a scalar for others: who
        made the change has the new value, other names may have the new one or the old one."""
        self._lose_rivals()
        self.lose()

    def _lose_rivals(self) -> None:
        first: ArrayMemory = self
        while True:
            for rival in first.rivals:
                if rival.owner.open and not rival.is_lost:
                    here: Any = current()
                    (rival if rival.owner is here else here.lift(rival)).lose()
            if first.outer is None:
                break
            first = first.outer

    def lose(self) -> None:
        """From now on its elements are not known: another array that may share its memory was
        changed. Using it, or a view of it, is an error."""
        array = self.memory
        if array.outer is not None:
            array.owner.note_loss(array.outer)
        step = Step(None, {_CHANGE: location.here()})
        array.view_of(type(array)(array.owner, array._value), step, None)

    @property
    def is_lost(self) -> bool:
        """Whether its elements are not known any more; see `lose`."""
        array: ArrayMemory | None = self
        while array is not None and (array.step is None or _CHANGE not in array.step.params):
            array = array.viewed
        return array is not None

    @property
    def is_changed(self) -> bool:
        """Whether its elements were changed in place, or may have been, since it was made."""
        return self._value is not self.made or self.is_lost

    @property
    def memory(self) -> Self:
        """The array whose memory it is in: itself, or that of which it is a view."""
        array: Self = self
        while array.viewed is not None and array._shares() is not False:
            array = array.viewed
        return array

    @property
    def origin(self) -> Self:
        """The array whose memory it is in, of the outermost trace."""
        array = self.memory
        while True:
            further = array.named if array.outer is None else array.outer
            if further is None:
                return array
            array = further.memory

    def is_same_part(self, other: Self) -> bool:
        """Whether the two are made by the same steps from one array."""
        a, b = self, other
        while a is not b:
            if a.viewed is None or b.viewed is None or a.step is None or b.step is None:
                return False
            if a.step.op is not b.step.op or a.step.params != b.step.params:
                return False
            pairs = zip(a.step.operands, b.step.operands, strict=True)
            if any(x.value is not y.value for x, y in pairs):
                return False
            a, b = a.viewed, b.viewed
        return True

    # --- messages ---------------------------------------------------------------------------------

    def _described(self) -> str:
        """What it is, for messages."""
        return self.owner.describe(self.value)

    def refusal(self, error: type[TraceError], message: Text, fix: str) -> TraceError:
        """The error of what cannot be done to it here."""
        return error(message, fix=fix, place=location.here())
