"""The programs of a jitted function: one for each signature and what the function finds outside.

`entry` gives the program for a call: a known one whose guards hold, or a new one, for which the
function is traced and compiled, for a recorded reason. A number from outside that has changed is a
hidden argument of the next program, so that it need not change again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock, local
from typing import TYPE_CHECKING, Any

import numpy as np

from pyc import collector, config, tree
from pyc import compile as compiler
from pyc.array import is_fixed
from pyc.backends import gpu_compiler
from pyc.device import parse
from pyc.eager import device_of
from pyc.entries import Entry, Traced, given_at_trace, is_same_number, which_are_one
from pyc.errors import DTypeError, PycError
from pyc.forks import load, may_wait
from pyc.interpreter import WEAK, elsewhere, type_of
from pyc.lowered import Lowered, lower_graph
from pyc.purity import watching
from pyc.reasons import Reason, record
from pyc.signature import Call, Signature, argument_type, is_object, is_static, reason
from pyc.trace import location
from pyc.trace.capture import capture, current_namespace
from pyc.trace.guards import Guards
from pyc.trace.jumps import rewritten
from pyc.trace.meanwhile import others, steadily, torn
from pyc.trace.reads import array_key
from pyc.trace.trace import Input
from pyc.trace.tracer import Tracer

if TYPE_CHECKING:
    from pyc.compile_cuda import GpuCompiled
    from pyc.purity.watch import Watch

PROGRAMS = 32
"""The most programs that are kept for one signature."""
_NUMBERS = (int, float, complex, np.number)

_making = local()
"""depth: how many functions this thread is compiling now, one in the middle of the other."""


@contextmanager
def _alone(lock: Any) -> Iterator[None]:
    """Inside the block no other thread has the lock; unless it has, and this thread is called back
    (by a signal handler or a finaliser) in the middle of a compilation. Then two may compile the
    same function, but none waits for one that waits for it."""
    depth = getattr(_making, "depth", 0)
    _making.depth = depth + 1
    try:
        locked = lock.acquire(blocking=not depth and may_wait())
        try:
            yield
        finally:
            if locked:
                lock.release()
    finally:
        _making.depth = depth


class Programs:
    """What is compiled of one function. dropped: told of each program that is not kept."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        signature: Signature,
        device: str | None,
        loops: str,
        purity: str | None,
        fastmath: bool,
        dropped: Callable[[Entry], object],
    ) -> None:
        self.function = function
        self.name = name
        self.signature = signature
        self.purity = purity
        self._device = device
        self._loops = loops
        self.fastmath = fastmath
        self._dropped = dropped
        self.entries: dict[Hashable, tuple[Entry, ...]] = {}
        """Programs by signature, the newest first: what they find outside tells them apart."""
        self.changing: set[Any] = set()
        """The numbers from outside that have changed, and are hidden arguments since."""
        self._fixed: set[Any] = set()
        """Those that cannot be hidden arguments."""
        self.misses = 0
        """How many were compiled."""
        self.lock = RLock()

    def entry(self, call: Call) -> tuple[Entry, list[Any]]:
        """The program for a call, and its hidden arguments."""
        for entry in self.entries.get(call.key, ()):
            hidden = entry.hidden(call)
            if hidden is not None:
                return entry, hidden
        return self._compiled(call)

    def _compiled(self, call: Call, tries: int = 2) -> tuple[Entry, list[Any]]:
        """A new program for a call; one thread makes it, the other ones wait."""
        with _alone(self.lock), collector.seldom():
            kind, number = parse(self._device or elsewhere() or "cpu")
            if kind == "cuda":
                load("pyc.ahead").device(number)
            known = self.entries.get(call.key, ())
            for entry in known:
                hidden = entry.hidden(call)
                if hidden is not None:
                    return entry, hidden
            details: dict[str, Any] = {"function": self.name}
            if known:
                why = self._what_changed(call, known[0].traced, details)
            else:
                why = reason(call.key, self.entries)
            traced = self._traced_again(call)
            text = self.signature.text(call)
            record(why, **details, signature=text)
            program = self._program(traced, [*call.leaves, *given_at_trace(traced)])
            entry = Entry(traced, program, text, {})
            self._note_copies(entry)
            for number, cause in program.unused:
                record(
                    Reason.MEMORY_DONATION_UNUSED,
                    function=self.name,
                    argument=traced.inputs[number].name,
                    detail=cause,
                )
            traced.guards.forget()
            known = self.entries.get(call.key, ())  # a callback may have compiled another one
            if len(known) >= PROGRAMS:
                record(Reason.GUARD_PROGRAM_DROPPED, function=self.name)
                self._dropped(known[-1])
            self.entries[call.key] = (entry, *known[: PROGRAMS - 1])
            self.misses += 1
        hidden = entry.hidden(call)
        if hidden is not None:
            return entry, hidden
        if tries:  # another thread changed it while the function was compiled
            return self._compiled(call, tries - 1)
        raise entry.other_values(call)

    def traced(self, call: Call, changing: frozenset[Any] = frozenset()) -> Traced:
        """The function as a Graph, for the signature of a call. changing: the numbers from outside
        that are hidden arguments."""
        signature = self.signature
        paths = tree.paths(call.treedef)
        names = [signature.names.leaf(path) for path in paths]
        places, inputs = [], []
        for k, (leaf, name) in enumerate(zip(call.leaves, names, strict=True)):
            if not is_static(leaf) and not is_object(leaf):
                places.append(k)
                weak = type(leaf) if type(leaf) in WEAK else None
                number = weak in (int, float) or isinstance(leaf, (np.integer, np.floating))
                of = argument_type(self.name, name, leaf)
                inputs.append(Input(of, weak, name, leaf if number else None))
        out_tree: tree.TreeDef | None = None
        purity = self.purity or config.current().purity
        from_the_start = asked_too_late = asks = False
        alike = which_are_one(call.leaves, places)
        types = [array_key(call.leaves[k]) for k in places]
        may_be_one = any(t is not None and types.index(t) < n for n, t in enumerate(types))

        @location.calls_the_user
        def flat(watch: Watch | None, *tracers: Tracer) -> list[Any]:
            nonlocal out_tree, asked_too_late, asks
            space = current_namespace()
            if from_the_start:
                space.reads.ask_which_are_one()
            if watch is not None:
                watch.attach(space)
            leaves = list(call.leaves)
            for n, k in enumerate(places):
                leaves[k] = tracers[alike[n] if from_the_start else n]
            given: Any = call.treedef.unflatten(leaves)
            args, kwargs = list(given[0]), given[1]
            for place, value in call.static:
                if isinstance(place, int):
                    args[place] = value
                else:
                    kwargs[place] = value
            space.fastmath = self.fastmath
            if self._loops == "roll":
                space.rewrite = rewritten
            function = space.function(self.function, self.name)
            named = signature.names.positional
            args = [space.argument(x, named(k), k) for k, x in enumerate(args)]
            kwargs = {k: space.argument(x, k, k) for k, x in kwargs.items()}
            try:
                if watch is None:
                    result = function(*args, **kwargs)
                else:
                    result = watch.run(function, args, kwargs)
            finally:
                asks = space.reads.asks_identity
                asked_too_late |= space.reads.asked_too_late
                asked_too_late |= asks and alike != (*range(len(places)),)
            if purity == "off":
                space.check()  # it had copies: what it has done to them would be lost
            results, out_tree = tree.flatten_ordered(space.restored(result))
            for k, result in enumerate(results):
                _check_result(self.name, result, out_tree, k)
            return results

        def trace(watch: Watch | None) -> Traced:
            found = capture(functools.partial(flat, watch), inputs, changing)
            if found.torn is not None and others():
                raise torn(self.name, found.torn.text())
            assert out_tree is not None
            return Traced(
                name=self.name,
                graph=found.graph,
                in_tree=call.treedef,
                out_tree=out_tree,
                inputs=tuple(inputs),
                places=tuple(places),
                kept=found.kept,
                guards=Guards(found.reads, found.hidden),
                donated=tuple(n for n, k in enumerate(places) if signature.is_donated(paths[k])),
                fastmath=self.fastmath,
                alike=alike if asks and may_be_one else None,
            )

        def changed(first: Traced, second: Traced) -> str:
            path = first.guards.unlike(second.guards) or first.guards.difference(call.given)
            return "" if path is None else path.text()

        def made() -> Traced:
            if purity == "off":
                return steadily(functools.partial(trace, None), self.name)
            found: Traced = watching().traced_twice(trace, changed, self.name, purity)
            return found

        try:
            try:
                found = made()
                if not asked_too_late:
                    return found
            except Exception:  # of the user's code too, which took one array for several
                if not asked_too_late:
                    raise
            from_the_start = True
            return made()
        except PycError as error:
            raise error.at(location.of_function(self.function)) from error.__cause__

    def _traced_again(self, call: Call) -> Traced:
        """The function traced with the numbers that change as hidden arguments, where it can."""
        if self.changing:
            try:
                return self.traced(call, frozenset(self.changing))
            except Exception:  # of the user's code too: what stands for a number is no float
                traced = self.traced(call)  # raises if the function itself is at fault
                self._fixed |= self.changing
                self.changing.clear()
                record(Reason.GUARD_CAPTURE_KEPT, function=self.name)
                return traced
        return self.traced(call)

    def lowered(self, traced: Traced, leaves: Sequence[Any]) -> Lowered:
        """The optimised program for these leaves' device."""
        device = self.on(leaves)
        if device == "cpu":
            return lower_graph(traced.graph, **self._told(traced))
        lower = gpu_compiler().lower_cuda
        made: Lowered = lower(traced.graph, device=device, **self._told(traced))
        return made

    def _program(self, traced: Traced, leaves: Sequence[Any]) -> compiler.Compiled | GpuCompiled:
        """The compiled program for these leaves' device."""
        device = self.on(leaves)
        if device == "cpu":
            return compiler.compile_graph(traced.graph, **self._told(traced))
        compile_cuda = gpu_compiler().compile_cuda
        made: GpuCompiled = compile_cuda(traced.graph, device=device, **self._told(traced))
        return made

    def on(self, leaves: Sequence[Any]) -> str:
        """The device that was asked for, or that the arguments are on, or the default one."""
        if self._device is not None:
            return self._device
        return device_of(leaves) or elsewhere() or "cpu"

    def _told(self, traced: Traced) -> dict[str, Any]:
        """What reports say of a program, and the options that shape it."""
        return {
            "name": self.name,
            "arguments": [*(x.name for x in traced.inputs), *traced.captures],
            "options": traced.options,
        }

    def _note_copies(self, entry: Entry) -> None:
        """Records what is copied to a GPU before each call."""
        if isinstance(entry.program, compiler.Compiled):
            return
        for read in entry.traced.guards.hidden:
            if isinstance(read.value, np.ndarray) and not is_fixed(read.value):
                record(
                    Reason.DEVICE_CAPTURE_COPIED,
                    function=self.name,
                    path=read.path.text(),
                    bytes=read.value.nbytes,
                )

    def _what_changed(self, call: Call, known: Traced, details: dict[str, Any]) -> Reason:
        """Why no program is for a call of a known signature; where it can, the next one will be for
        any number that is found there."""
        why, told, number = self.difference(call, known)
        details.update(told)
        if number is not None:
            self.changing.add(number)
            record(Reason.GUARD_CAPTURE_TRACED, function=self.name, path=told["path"])
        return why

    def difference(self, call: Call, known: Traced) -> tuple[Reason, dict[str, str], Any]:
        """Why `known` is not for a call of its signature, with details, and the identity of what
        has changed, if that is a number which can be a hidden argument."""
        path = known.guards.difference(call.given)
        if path is None:
            changed = [*_told_apart(call, known)]
            changed += [
                x.name
                for place, x, kept in zip(known.places, known.inputs, known.kept, strict=True)
                if kept is not None and not is_same_number(call.leaves[place], kept)
            ]
            return Reason.COMPILE_NEW_VALUE, {"arguments": ", ".join(changed)}, None
        number = path.read.kind == "equal" and isinstance(path.read.known, _NUMBERS)
        number = number and type(path.read.known) is not bool
        identity = path.identity() if number and path.identity() not in self._fixed else None
        return Reason.GUARD_CAPTURE_CHANGED, {"path": path.text()}, identity


def _told_apart(call: Call, known: Traced) -> Iterator[str]:
    """The arguments of a call that are one array, and were not or the other way round, as Python
    code."""
    if known.alike is None:
        return
    names = [x.name for x in known.inputs]
    now = which_are_one(call.leaves, known.places)
    for n, (before, first) in enumerate(zip(known.alike, now, strict=True)):
        if first != before:
            yield (
                f"{names[first]} is {names[n]}"
                if first < n
                else f"{names[before]} is not {names[n]}"
            )


def _check_result(function: str, result: Any, out_tree: tree.TreeDef, k: int) -> None:
    """DTypeError unless a leaf of the result is an array or a number."""
    try:
        type_of(result)
    except DTypeError:
        name = tree.path_text(tree.paths(out_tree)[k], "result")
        raise DTypeError(
            f"{function}: `{name}` is of type {type(result).__name__}, not an array or a number",
            fix="Return arrays, numbers, None, and tuples, lists and dicts of them.",
        ) from None
