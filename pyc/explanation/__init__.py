"""`explain`: what a call of a function would do, and why, without running it.

The function is traced, optimised and planned as its first call would do it, by the same code, and
what these steps decide is collected beside the log: nothing is counted, stored or kept, and the
compiled program, if there is one, is not run. The report is made from the Graph, the Plan and the
kernels that are executed; what is counted is counted in them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import numpy as np

from pyc import cache, config, reasons, tree
from pyc import device as devices
from pyc.array import Array as DeviceArray
from pyc.cache.report import explain_document
from pyc.eager import dense, why_copied
from pyc.entries import Traced, given_at_trace
from pyc.errors import PurityWarning, PycError
from pyc.explanation import ceilings, device_ceilings, timing
from pyc.explanation import fusion as fused
from pyc.explanation.kernels import kernels, memory
from pyc.explanation.native import Bench, Cores
from pyc.explanation.on_device import Blocks
from pyc.explanation.places import line_of, note_of, note_of_event
from pyc.explanation.traced import LOOPS, loop_rows, promotions
from pyc.fingerprint import key_of
from pyc.interpreter import WEAK, type_of
from pyc.jit import Jitted, jit, programs_of
from pyc.lowered import Lowered
from pyc.passes.memory import Made
from pyc.programs import Programs
from pyc.reasons import Event, Reason
from pyc.report import Report
from pyc.report.sections import (
    Argument,
    Cache,
    Fusion,
    Kernels,
    Line,
    LoopRow,
    Memory,
    Note,
    Promotion,
    Purity,
    Refusal,
    Signature,
)
from pyc.runtime import native
from pyc.signature import Call, is_object, is_static, reason
from pyc.trace import location
from pyc.trace.bound import Bound

__all__ = ["explain"]


def explain(
    function: Callable[..., Any], /, *args: Any, measure: bool = False, **kwargs: Any
) -> Report:
    """What calling `function` with these arguments would do, and why, without running it.

    function: a jitted function, or one to be jitted. It is traced as by its first call: what the
    modes "warn" and "off" of purity let happen while tracing happens. args, kwargs: of the call.
    measure: run the kernels one by one, on copies of the arguments, and show the time of each and
    its share of what the machine can do. A function that is refused gives a report that says what a
    call would raise.

    raises TypeError: `function` is not callable

    >>> "total" in str(pyc.explain(pyc.jit(np.sum, name="total"), np.ones(3)))
    True
    """
    if isinstance(function, Bound):
        args, function = (function.__self__, *args), function.__func__
    with suppress(PycError):
        for part in (native.HOOKS, native.CALLS):
            part.image()  # pyc's own, loaded by the first call: not what is explained
    made = _Maker(measure)
    with reasons.aside() as made.events, config.using(dump_dir=""):
        if isinstance(function, Jitted):
            made.make(function, args, kwargs)
        elif not callable(function):
            raise TypeError(f"explain: expected a function, got {type(function).__name__}")
        else:
            made.make_plain(function, args, kwargs)
    return made.report(getattr(function, "__name__", type(function).__name__))


class _Refused(Exception):
    """The report ends here."""


class _Maker:
    """The sections of a report, as far as they were made."""

    def __init__(self, measure: bool) -> None:
        self._measure = measure
        self.events: list[Event] = []
        self._refusal: Refusal | None = None
        self._signature: Signature | None = None
        self._purity = Purity(config.current().purity, ())
        self._loops: tuple[LoopRow, ...] = ()
        self._promotions: tuple[Promotion, ...] = ()
        self._fusion: Fusion | None = None
        self._kernels: Kernels | None = None
        self._memory: Memory | None = None
        self._cache: Cache | None = None
        self._notes: list[Note] = []
        self._timings: dict[str, float] = {}

    def report(self, function: str) -> Report:
        """The report of what was made."""
        shown = (*LOOPS, Reason.LOOP_ROLLED_FOR_SIZE)
        refused = None if self._refusal is None else self._refusal.code
        events = [e for e in self.events if e.reason not in shown and e.reason.code != refused]
        notes = [note_of_event(e) for e in events]
        return Report(
            function=function,
            signature=self._signature,
            purity=self._purity,
            refusal=self._refusal,
            loops=self._loops,
            promotions=self._promotions,
            fusion=self._fusion,
            kernels=self._kernels,
            memory=self._memory,
            cache=self._cache,
            notes=tuple(_distinct([*notes, *self._notes])),
            timings=self._timings,
        )

    def make_plain(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """As `make`, for a function that is not jitted."""
        try:
            with self._refusing("when it is decorated"):
                jitted = jit(function)
        except _Refused:
            return
        self.make(jitted, args, kwargs)

    def make(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """All sections, up to the first one that a call would not reach."""
        try:
            self._make(jitted, args, kwargs)
        except _Refused:
            return

    @contextmanager
    def _refusing(self, stage: str) -> Iterator[None]:
        """What the block raises becomes the refusal, and the report ends."""
        try:
            yield
        except Exception as error:
            self._refusal = _refusal(stage, error)
            raise _Refused from None

    def _make(self, jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        programs = programs_of(jitted)
        mode = programs.purity or config.current().purity
        self._purity = Purity(mode, ())
        with self._refusing("when its arguments are looked at"):
            call = programs.signature.call(args, kwargs)
        self._signature = _before_trace(programs, call)
        with self._refusing("while it is traced"):
            traced, found, compiled = self._traced(programs, call, mode)
        self._purity = Purity(mode, found)
        self._promotions = promotions(traced.graph)
        self._loops = loop_rows(traced.graph, self.events, None)
        leaves = [*call.leaves, *given_at_trace(traced)]
        self._signature = _signature(programs, call, traced, programs.on(leaves), "")
        with self._refusing("when it is compiled"):
            lowered = programs.lowered(traced, leaves)
            trail: list[Made] = []
            lowered.trail = trail
            plan = lowered.plan
        self._timings = dict(lowered.timings)
        self._signature = _signature(programs, call, traced, programs.on(leaves), lowered.target.id)
        owners = fused.Owners(trail, [k.name for k in plan.kernels])
        self._loops = loop_rows(traced.graph, self.events, owners)
        self._fusion = fused.section(owners, lowered.decisions, lowered.graph)
        with reasons.unrecorded():
            machine, bench = self._machine(lowered, programs.on(leaves))
            times, problem = self._times(lowered, traced, leaves, bench)
        self._kernels = kernels(lowered, owners, machine, times, problem)
        names = [tree.path_text(p, "result") for p in tree.paths(traced.out_tree)]
        self._memory = memory(lowered, lowered.memory_analysis(), lowered.arguments, names)
        self._cache = _cache(lowered, compiled)
        self._notes = _argument_notes(traced, leaves, lowered)

    def _traced(
        self, programs: Programs, call: Call, mode: str
    ) -> tuple[Traced, tuple[str, ...], Note | None]:
        """The function traced as the next call would do it, what the mode "warn" says, and why it
        would be compiled: None if it is already."""
        changing, compiled = _changing(programs, call)
        with warnings.catch_warnings(record=True) as caught:
            if mode == "warn":
                warnings.simplefilter("always", PurityWarning)
            try:
                traced = programs.traced(call, changing)
            except Exception:
                if not changing:
                    raise
                del self.events[:]
                traced = programs.traced(call)
        found = []
        for w in caught:
            if issubclass(w.category, PurityWarning):
                found.append(str(w.message))
            else:
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        return traced, tuple(dict.fromkeys(found)), compiled

    def _machine(self, lowered: Lowered, device: str) -> tuple[ceilings.Ceilings, Bench]:
        """What the machine that a program is for can do, and where it is measured."""
        if lowered.target.has_blocks:
            on = devices.gpu(device)
            return device_ceilings.ceilings(on, again=self._measure), Blocks(on)
        return ceilings.ceilings(again=self._measure), Cores(lowered.target)

    def _times(
        self, lowered: Lowered, traced: Traced, leaves: Sequence[Any], bench: Bench
    ) -> tuple[timing.Times | None, str]:
        """The times of the kernels, if they were asked for; or why there are none."""
        if not self._measure:
            return None, ""
        problem = timing.why_not(lowered.plan, bench)
        if problem:
            return None, problem
        given = [leaves[k] for k in traced.places] + given_at_trace(traced)
        arrays = [dense(np.asarray(x) if isinstance(x, DeviceArray) else x) for x in given]
        try:
            return timing.measure(lowered.plan, bench, arrays), ""
        except RuntimeError as error:
            return None, f"{error}: a call with these arguments raises"
        finally:
            bench.close()


# --- signature ------------------------------------------------------------------------------------


def _before_trace(programs: Programs, call: Call) -> Signature:
    """What is known of a call before the function is traced."""
    names = _leaf_names(programs, call)
    rows = [_leaf(name, leaf, None) for name, leaf in zip(names, call.leaves, strict=True)]
    text = programs.signature.text(call)
    device = programs.on(call.leaves)
    return Signature(text, device, "", (*rows, *_static(programs, call)), (), (), ())


def _signature(
    programs: Programs, call: Call, traced: Traced, device: str, target: str
) -> Signature:
    names = _leaf_names(programs, call)
    kept = dict(zip(traced.places, traced.kept, strict=True))
    donated = {traced.places[n] for n in traced.donated}
    rows = []
    for k, (name, leaf) in enumerate(zip(names, call.leaves, strict=True)):
        row = _leaf(name, leaf, kept.get(k))
        if k in donated:
            row = Argument(row.name, row.type, "donated array", row.note)
        rows.append(row)
    captured = [
        Argument(read.path.text(), str(type_of(read.value)), "captured", _how_read(read))
        for read in traced.guards.hidden
    ]
    results = [
        (tree.path_text(path, "result"), str(value.type))
        for path, value in zip(tree.paths(traced.out_tree), traced.graph.results, strict=True)
    ]
    return Signature(
        programs.signature.text(call),
        device,
        target,
        (*rows, *_static(programs, call)),
        tuple(captured),
        tuple(_guards(traced)),
        tuple(results),
    )


def _leaf_names(programs: Programs, call: Call) -> list[str]:
    return [programs.signature.names.leaf(path) for path in tree.paths(call.treedef)]


def _leaf(name: str, leaf: Any, kept: Any) -> Argument:
    """A leaf of the arguments. kept: its value, if the program is for this one."""
    kind = type(leaf)
    if is_static(leaf):
        return Argument(name, kind.__name__, "static", f"{_short(leaf)}; each value compiles again")
    if is_object(leaf):
        return Argument(
            name,
            getattr(leaf, "__qualname__", kind.__qualname__),
            "object",
            "its attributes are read by their paths",
        )
    if kind in WEAK:
        if kept is not None:
            return Argument(name, kind.__name__, "number", f"the program is for {kept!r}")
        return Argument(name, kind.__name__, "number", "one program for all values")
    if isinstance(leaf, np.ndarray):
        why = why_copied(leaf)
        if why is not None:
            return Argument(name, str(type_of(leaf)), "array", f"copied at each call [{why.code}]")
    return Argument(name, str(type_of(leaf)), "array")


def _static(programs: Programs, call: Call) -> Iterator[Argument]:
    for place, value in call.static:
        name = programs.signature.name_of(place)
        note = f"{_short(value)}; each value compiles again"
        yield Argument(name, type(value).__name__, "static", note)


def _how_read(read: Any) -> str:
    if read.content is not None:
        return "read and compared at each call: the program is for this value"
    return "read at each call"


def _guards(traced: Traced) -> Iterator[str]:
    """What is looked at before each call, with the values that the program is for."""
    for path in traced.guards.nodes:
        read = path.read
        if read is not None and read.kind == "equal" and not callable(read.known):
            what = "the default of " if path.root.kind == "default" else ""
            yield f"{what}{path.text()} = {_short(read.known)}"


def _short(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    shown = name if isinstance(name, str) else repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


# --- cache ----------------------------------------------------------------------------------------


def _changing(programs: Programs, call: Call) -> tuple[frozenset[Any], Note | None]:
    """The numbers from outside that are hidden arguments of the program of a call, and why it would
    be compiled; None if it is."""
    known = programs.entries.get(call.key, ())
    for entry in known:
        if entry.hidden(call) is not None:
            hidden = (read for read in entry.traced.guards.hidden if read.kind == "number")
            return frozenset(read.path.identity() for read in hidden), None
    changing = set(programs.changing)
    if not known:
        return frozenset(changing), note_of(reason(call.key, programs.entries))
    why, told, number = programs.difference(call, known[0].traced)
    if number is not None:
        changing.add(number)
    return frozenset(changing), note_of(why, ", ".join(f"{k} {v}" for k, v in told.items()))


def _cache(lowered: Lowered, compiled: Note | None) -> Cache:
    document, facts = lowered.key_document, lowered.target_facts
    loaded = key_of({"document": document, "facts": facts}) in cache.memory
    if config.current().cache == "off":
        off = note_of(Reason.CACHE_DISABLED)
        return Cache(lowered.key, compiled is None, False, off, (), None, compiled)
    found = explain_document(document, facts, lowered.name, lowered.arguments)
    missing = config.current().cache == "frozen" and not loaded and compiled is not None
    frozen = "the cache is frozen: a call raises CacheMissError" if missing else ""
    note = None if found.reason is None else note_of(found.reason, frozen)
    own = found.nearest_key is not None and found.nearest_function == lowered.name
    seconds = found.cost if own else None
    fields = found.differing_fields if own else ()
    nearest = tuple((d.field, d.stored, d.asked) for d in fields)
    process = compiled is None or loaded
    return Cache(lowered.key, process, found.reason is None, note, nearest, seconds, compiled)


# --- notes and refusals ---------------------------------------------------------------------------


def _argument_notes(traced: Traced, leaves: Sequence[Any], lowered: Lowered) -> list[Note]:
    """Reasons that a call itself would record, and what `fastmath` changed."""
    notes = []
    for place, given in zip(traced.places, traced.inputs, strict=True):
        leaf = leaves[place]
        why = why_copied(leaf) if isinstance(leaf, np.ndarray) else None
        if why is not None:
            notes.append(note_of(why, f"`{given.name}`, {leaf.nbytes:,} bytes"))
    for number, cause in lowered.planned.unused:
        details = f"`{traced.inputs[number].name}`: {cause}"
        notes.append(note_of(Reason.MEMORY_DONATION_UNUSED, details))
    relaxed = Reason.NUMERIC_RELAXED
    return [*notes, *(note_of(relaxed, what, line_of(line)) for what, line in lowered.relaxed)]


def _distinct(notes: Sequence[Note]) -> list[Note]:
    return list(dict.fromkeys(notes))


def _refusal(stage: str, error: Exception) -> Refusal:
    kind = type(error).__name__
    if not isinstance(error, PycError):
        line = _user_line(error.__traceback__)
        shown = str(error) if line is None else f"{error}\n  at {line.place}:  {line.text}"
        return Refusal(stage, kind, "", str(error), "", line, shown)
    line = None if error.place is None else line_of(error.place)
    rule = getattr(error, "rule", None)
    code = error.code if rule is None else rule.code
    return Refusal(stage, kind, code, error.message, error.advice, line, str(error))


def _user_line(trace: TracebackType | None) -> Line | None:
    """The last line of the user in a traceback."""
    found = None
    while trace is not None:
        if not location.is_own(trace.tb_frame.f_code.co_filename):
            found = location.locate(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    return None if found is None else line_of(found)
