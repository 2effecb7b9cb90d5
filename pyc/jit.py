"""`jit`: a Python function over arrays as one compiled program per signature.

A call is taken apart into leaves (arrays and numbers) and what is static: arguments named in
`static_argnums` and `static_argnames`, and bools, strings, None, enums, types and functions
wherever they stand. The signature is the structure, the types of the leaves, and the static values.
For a known one the compiled program runs; for a new one the function is traced and compiled, for a
recorded reason.

Stages: `trace` (Graph as written), `lower` (optimised, planned), `compile`. Inside another trace a
jitted function is inlined.
"""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Hashable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pyc import compile as compiler
from pyc import tree
from pyc.array import Array as DeviceArray
from pyc.backends import gpu_compiler
from pyc.device import parse
from pyc.eager import dense, finish
from pyc.errors import ConcretizationError, DTypeError, PycError, TraceError
from pyc.frozen import frozen
from pyc.interpreter import WEAK, is_tracing, type_of
from pyc.ir.graph import Graph
from pyc.ir.text_graph import print_graph
from pyc.reasons import record
from pyc.runtime.dispatch import Dispatcher
from pyc.signature import STATIC, Call, Signature, argument_type, is_static, reason
from pyc.specialise import MAXIMUM, NotNativeError, specialise
from pyc.trace import location
from pyc.trace.capture import Input, capture, current_namespace
from pyc.trace.jumps import rewritten
from pyc.trace.tracer import Tracer

if TYPE_CHECKING:
    from pyc.compile_cuda import GpuCompiled


# --- stages ---------------------------------------------------------------------------------------


@frozen()
class Traced:
    """A traced function. graph: as written, its parameters the leaves that are not static; in_tree:
    the structure of (positional, keywords) arguments; out_tree: of the result; inputs: what each
    parameter is; places: its position among all leaves."""

    name: str
    graph: Graph
    in_tree: tree.TreeDef
    out_tree: tree.TreeDef
    inputs: tuple[Input, ...]
    places: tuple[int, ...]

    def as_text(self) -> str:
        """The text of the graph, with the user's lines in the margin."""
        return print_graph(self.graph, locations=True)


@frozen()
class _Entry:
    """A compiled signature."""

    traced: Traced
    program: compiler.Compiled | GpuCompiled
    text: str

    def arrays(self, leaves: Sequence[Any]) -> list[Any]:
        """What the program takes for leaves of this signature: one dense array a parameter. A
        program for the CPU that was asked for by name takes arrays from a device."""
        traced = self.traced
        if isinstance(self.program, compiler.Compiled):
            leaves = [np.asarray(x) if isinstance(x, DeviceArray) else x for x in leaves]
        return [dense(leaves[k], x.name) for k, x in zip(traced.places, traced.inputs, strict=True)]

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for leaves of this signature."""
        results = self.program(*self.arrays(leaves))
        return self.traced.out_tree.unflatten([finish(r) for r in results])


@frozen()
class _Quick:
    """A signature of arrays on one device, known without taking a call apart."""

    types: tuple[Any, ...]
    device: str
    entry: _Entry

    def takes(self, args: tuple[Any, ...]) -> bool:
        """Whether positional arguments have this signature."""
        return len(args) == len(self.types) and all(
            type(a) is DeviceArray and (a.type is t or a.type == t) and a.device == self.device
            for a, t in zip(args, self.types, strict=True)
        )

    def run(self, args: tuple[Any, ...]) -> Any:
        """The result for arguments that it takes."""
        return self.entry.traced.out_tree.unflatten(self.entry.program(*args))


class CacheInfo(NamedTuple):
    """misses: signatures compiled; entries: signatures kept."""

    misses: int
    entries: int


_all: weakref.WeakSet[Jitted] = weakref.WeakSet()


def _new_locks() -> None:
    """After a fork: another thread of the parent may have held a lock that nobody will release."""
    for jitted in _all:
        jitted._lock = RLock()


os.register_at_fork(after_in_child=_new_locks)


# --- jit ------------------------------------------------------------------------------------------


class Jitted(Dispatcher):
    """A function that is traced and compiled once per signature; made by `jit`.

    A call with a known signature runs natively, without Python in between, where the dispatcher
    knows its kinds of arguments; other calls do the same in Python.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        name: str,
        device: str | None = None,
        loops: str = "roll",
    ) -> None:
        functools.update_wrapper(self, fun)
        super().__init__(self._call)
        self.__wrapped__ = fun
        self.__name__ = name
        self._device = device
        self._loops = loops
        self._signature = Signature(fun, name, static_argnums, static_argnames)
        self._entries: dict[Hashable, _Entry] = {}
        self._forms: set[Hashable] = set()
        self._quick: _Quick | None = None
        self._misses = 0
        self._lock = RLock()
        _all.add(self)

    def __repr__(self) -> str:
        return f"<jitted {self.__name__}>"

    # A function is a value: two jitted functions are equal if they are the same object.
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """The function itself on a class, bound to its first argument on an instance."""
        return self if instance is None else Bound(self, instance)

    @location.trimmed
    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """The function as a Graph, as written, for the signature of these arguments."""
        return self._traced(self._signature.call(args, kwargs))

    @location.trimmed
    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """The optimised program and its plan for the signature of these arguments."""
        return Lowered(self, self._signature.call(args, kwargs))

    @location.trimmed
    def compile(self, /, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled program for the signature of these arguments, without running it."""
        return Compiled(self, self._signature.call(args, kwargs))

    def signatures(self) -> tuple[str, ...]:
        """The signatures that are compiled, oldest first."""
        return tuple(entry.text for entry in self._entries.values())

    def clear_cache(self) -> None:
        """Forgets all compiled programs of this function."""
        with self._lock:
            self.clear()
            self._entries.clear()
            self._forms.clear()
            self._quick = None

    def cache_info(self) -> CacheInfo:
        """How many signatures were compiled, and how many are kept."""
        with self._lock:
            return CacheInfo(self._misses, len(self._entries))

    # --- how it is done ---------------------------------------------------------------------------

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call in Python: the result of the function for these arguments.

        raises DTypeError: an argument that is not an array, a number or static, or a result that
        is not an array; TraceError: the function cannot be traced; each with the user's line
        """
        try:
            if is_tracing():
                return self._inlined(args, kwargs)
            if self._quick is not None and not kwargs and self._quick.takes(args):
                return self._quick.run(args)
            call = self._signature.call(args, kwargs)
            entry = self._entries.get(call.key)
            if entry is None:
                entry = self._compiled(call)
            result = entry.run(call.leaves)
            form = (call.key, len(args), *kwargs)
            if form not in self._forms:
                self._make_native(form, args, kwargs, entry)
            return result
        except Exception as error:
            location.trim(error)
            raise

    __call__ = _call  # the inherited one would add its own frame to tracebacks

    @location.calls_the_user
    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result within the trace that is current."""
        args, kwargs = self._signature.bound(args, kwargs)
        for place, value in self._signature.split(args, kwargs)[2]:
            for leaf in tree.leaves(value):
                if isinstance(leaf, Tracer):
                    raise ConcretizationError(
                        f"{self.__name__}: the static argument `{self._signature.name_of(place)}` "
                        "is a traced value",
                        fix="Static arguments are needed while tracing: make it static in the "
                        "outer function too.",
                        place=location.here(),
                    )
        return current_namespace().function(self.__wrapped__, self.__name__)(*args, **kwargs)

    def _on(self, leaves: Sequence[Any]) -> str:
        """The device that was asked for, or that the arguments are on."""
        if self._device is not None:
            return self._device
        return next((x.device for x in leaves if isinstance(x, DeviceArray)), "cpu")

    def _lowered(self, graph: Graph, leaves: Sequence[Any]) -> compiler.Lowered:
        """The optimised program for these leaves' device."""
        device = self._on(leaves)
        if device == "cpu":
            return compiler.lower_graph(graph, name=self.__name__)
        made: compiler.Lowered = gpu_compiler().lower_cuda(graph, device=device, name=self.__name__)
        return made

    def _program(self, graph: Graph, leaves: Sequence[Any]) -> compiler.Compiled | GpuCompiled:
        """The compiled program for these leaves' device."""
        device = self._on(leaves)
        if device == "cpu":
            return compiler.compile_graph(graph, name=self.__name__)
        made: GpuCompiled = gpu_compiler().compile_cuda(graph, device=device, name=self.__name__)
        return made

    def _make_native(
        self, form: Hashable, args: tuple[Any, ...], kwargs: dict[str, Any], entry: _Entry
    ) -> None:
        """From now on calls of this form are native, or a reason is recorded why they are not."""
        program = entry.program
        if not isinstance(program, compiler.Compiled):
            self._forms.add(form)  # launches on a GPU start in Python
            if args and not kwargs and all(type(a) is DeviceArray for a in args):
                self._quick = _Quick(tuple(a.type for a in args), args[0].device, entry)
            return
        try:
            found = specialise(self._signature, args, kwargs, program, entry.traced.out_tree)
        except NotNativeError as unfit:
            if unfit.again:
                return
            record(unfit.reason, function=self.__name__, detail=unfit.detail)
        else:
            if len(self._forms) < MAXIMUM:
                self.add(found)
        self._forms.add(form)

    def _traced(self, call: Call) -> Traced:
        signature = self._signature
        names = [signature.names.leaf(path) for path in tree.paths(call.treedef)]
        places, inputs = [], []
        for k, (leaf, name) in enumerate(zip(call.leaves, names, strict=True)):
            if not is_static(leaf):
                places.append(k)
                weak = type(leaf) if type(leaf) in WEAK else None
                inputs.append(Input(argument_type(self.__name__, name, leaf), weak, name))
        out_tree: tree.TreeDef | None = None

        @location.calls_the_user
        def flat(*tracers: Tracer) -> list[Any]:
            nonlocal out_tree
            space = current_namespace()
            leaves = list(call.leaves)
            for k, tracer in zip(places, tracers, strict=True):
                leaves[k] = tracer
            given: Any = call.treedef.unflatten(leaves)
            args, kwargs = list(given[0]), given[1]
            for place, value in call.static:
                if isinstance(place, int):
                    args[place] = value
                else:
                    kwargs[place] = value
            if self._loops == "roll":
                space.rewrite = rewritten
            function = space.function(self.__wrapped__, self.__name__)
            args = [space.argument(x, signature.names.positional(k)) for k, x in enumerate(args)]
            kwargs = {k: space.argument(x, k) for k, x in kwargs.items()}
            result = function(*args, **kwargs)
            space.check()
            results, out_tree = tree.flatten_ordered(space.restored(result))
            for k, result in enumerate(results):
                _check_result(self.__name__, result, out_tree, k)
            return results

        try:
            graph, _ = capture(flat, inputs)
        except PycError as error:
            raise error.at(location.of_function(self.__wrapped__)) from error.__cause__
        assert out_tree is not None
        return Traced(
            name=self.__name__,
            graph=graph,
            in_tree=call.treedef,
            out_tree=out_tree,
            inputs=tuple(inputs),
            places=tuple(places),
        )

    def _compiled(self, call: Call) -> _Entry:
        """The entry of a new signature; one thread makes it, the other ones wait."""
        with self._lock:
            entry = self._entries.get(call.key)
            if entry is None:
                traced = self._traced(call)
                text = self._signature.text(call)
                why = reason(call.key, self._entries)
                record(why, function=self.__name__, signature=text)
                program = self._program(traced.graph, call.leaves)
                entry = _Entry(traced, program, text)
                self._entries[call.key] = entry
                self._misses += 1
        return entry


class Bound:
    """A jitted method bound to its instance, which is its first argument."""

    def __init__(self, jitted: Jitted, instance: Any) -> None:
        self.__func__ = jitted
        self.__self__ = instance

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r}>"

    def __hash__(self) -> int:
        return hash(tree.strict_key((self.__func__, self.__self__), "self"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bound):
            return NotImplemented
        both = ((b.__func__, b.__self__) for b in (self, other))
        first, second = (tree.strict_key(b, "self") for b in both)
        return first == second

    @location.trimmed
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the method for these arguments."""
        return self.__func__(self.__self__, *args, **kwargs)

    @location.trimmed
    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """As `Jitted.trace`."""
        return self.__func__.trace(self.__self__, *args, **kwargs)

    @location.trimmed
    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """As `Jitted.lower`."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    @location.trimmed
    def compile(self, /, *args: Any, **kwargs: Any) -> Compiled:
        """As `Jitted.compile`."""
        return self.__func__.compile(self.__self__, *args, **kwargs)


STATIC += [Jitted, Bound]


class Lowered:
    """The optimised program of one signature, and its plan."""

    def __init__(self, jitted: Jitted, call: Call) -> None:
        self._jitted = jitted
        self._call = call
        self.traced = jitted._traced(call)
        self._program = jitted._lowered(self.traced.graph, call.leaves)

    def __repr__(self) -> str:
        return f"<lowered {self._jitted._signature.text(self._call)}>"

    @property
    def graph(self) -> Graph:
        """The Graph after all passes."""
        return self._program.graph

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The scheduled kernels."""
        return self._program.kernels

    @property
    def plan(self) -> Any:
        """The steps and buffers."""
        return self._program.plan

    @property
    def decisions(self) -> tuple[Any, ...]:
        """What was fused, stored, copied and moved to the host, each with its reason."""
        return self._program.decisions

    @property
    def key_document(self) -> dict[str, Any]:
        """What the cache key is made of."""
        return self._program.key_document

    @property
    def target_facts(self) -> dict[str, Any]:
        """The facts of the target that the code relies on."""
        return self._program.target_facts

    def as_text(self, stage: str = "graph") -> str:
        """The text of a level ("traced", "graph", "logical", "kernels" or "plan"), or of the
        "decisions" that made it so."""
        return self._program.as_text(stage)

    def memory_analysis(self) -> compiler.MemoryAnalysis:
        """Bytes of one call by use; the peak is what a call allocates."""
        return self._program.memory_analysis()

    def cost_analysis(self) -> compiler.CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        return self._program.cost_analysis()

    def compile(self) -> Compiled:
        """The compiled program."""
        return Compiled(self._jitted, self._call)


class Compiled:
    """The compiled program of one signature."""

    def __init__(self, jitted: Jitted, call: Call) -> None:
        self._jitted = jitted
        self._key = call.key
        self._entry = jitted._entries.get(call.key) or jitted._compiled(call)
        self.traced = self._entry.traced
        self.program = self._entry.program

    def __repr__(self) -> str:
        return f"<compiled {self._entry.text}>"

    @location.trimmed
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of this signature; TraceError for other ones."""
        call = self._jitted._signature.call(args, kwargs)
        if call.key != self._key:
            raise TraceError(
                f"this program was compiled for {self._entry.text}, "
                f"it is called as {self._jitted._signature.text(call)}",
                fix=f"Call `{self._jitted.__name__}` itself: it compiles for each signature.",
                place=location.here(),
            )
        return self._entry.run(call.leaves)

    def arrays(self, /, *args: Any, **kwargs: Any) -> list[Any]:
        """The arrays that the Graph's parameters take from these arguments, in order."""
        return self._entry.arrays(self._jitted._signature.call(args, kwargs).leaves)

    @property
    def key(self) -> str:
        """The key of its cache entry."""
        return self.program.key

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by pass, of what was run in this process."""
        return self.program.timings

    def as_text(self, stage: str = "llvm") -> str:
        """The text of a level: those of `Lowered`, "llvm" and "asm"."""
        return self.program.as_text(stage)

    def memory_analysis(self) -> compiler.MemoryAnalysis:
        """Bytes of one call by use; the peak is what a call allocates."""
        return self.program.memory_analysis()

    def cost_analysis(self) -> compiler.CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        return self.program.cost_analysis()


# --- signatures -----------------------------------------------------------------------------------


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


# --- the decorator --------------------------------------------------------------------------------


@overload
def jit(
    fun: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    name: str | None = None,
) -> Jitted: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    name: str | None = None,
) -> Any:
    """`fun`, compiled for each signature of arguments at its first call; a decorator without `fun`.

    fun: takes and returns arrays, numbers, and tuples, lists, dicts and registered classes of them.
    It runs once per signature, on traced values; later calls run the compiled program only. Python
    numbers are traced and weak: new values do not compile again.
    static_argnums, static_argnames: arguments whose values shape the program; each new value
    compiles again. They are hashable, and compared by type and value.
    device: "cpu", or "cuda" to run on a GPU: NumPy arguments are copied there and results back;
    None follows the arguments (a `pyc.Array` among them runs where it is, and results stay there).
    loops: "roll" turns `for`, `while` and `if` on traced values, and long loops, into loops and
    branches of the program (see `docs/loops.md`); "unroll" traces the function as Python runs it.
    name: its name in statistics, `fun.__name__` by default.

    Results are NumPy arrays that share memory with nothing, NumPy scalars for rank 0. Python
    numbers that the function reads from outside (globals, closures, attributes) keep the value
    that they had at the trace: pass what changes as an argument. NumPy arrays from outside are
    refused unless they are small and read-only.

    raises TypeError: `fun` is not callable; ValueError: a static argument that `fun` does not have;
    DeviceError: no such name of a device
    """
    if device is not None:
        parse(device)
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            device=device,
            loops=loops,
            name=name,
        )
    if not callable(fun):
        raise TypeError(f"jit: expected a function, got {type(fun).__name__}")
    if loops not in ("roll", "unroll"):
        raise ValueError(f'jit: loops={loops!r} is neither "roll" nor "unroll"')
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    found = name or getattr(fun, "__name__", None) or type(fun).__name__
    return Jitted(fun, numbers, names, found, device, loops)


__all__ = ["Bound", "CacheInfo", "Compiled", "Jitted", "Lowered", "Traced", "jit"]
