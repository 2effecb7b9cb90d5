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
import inspect
import os
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from threading import RLock
from typing import Any, NamedTuple, overload

import numpy as np

from pyc import compile as compiler
from pyc import tree
from pyc.eager import dense, finish
from pyc.errors import ConcretizationError, DTypeError, PycError, TraceError
from pyc.interpreter import WEAK, current, is_tracing, type_of
from pyc.ir.graph import Graph
from pyc.ir.text_graph import print_graph
from pyc.reasons import Reason, record
from pyc.trace import location
from pyc.trace.capture import Input, capture
from pyc.trace.tracer import Tracer

_STATIC = (
    *(bool, str, bytes, Enum, type, np.dtype),
    *(types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, np.ufunc),
)
"""Leaves of these types are static wherever they stand."""

_EXACT_ARRAYS = (np.ndarray, np.memmap)
"""Array types that are taken; other subclasses give operators another meaning."""


# --- one call -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Call:
    """A call taken apart. key: the signature; leaves: of (positional, keywords), without static
    arguments; static: (position or name, value) of static arguments."""

    key: Hashable
    leaves: list[Any]
    treedef: tree.TreeDef
    static: tuple[tuple[int | str, Any], ...]


def _leaf_key(x: Any) -> Hashable:
    """The part of a signature that a leaf makes; None if it cannot be a leaf."""
    kind = type(x)
    if kind is np.ndarray or isinstance(x, np.generic) or kind in _EXACT_ARRAYS:
        return x.shape, x.dtype
    if kind is float or kind is int or kind is complex:
        return kind.__name__
    return None


def _strict_key(value: Any, name: str) -> Hashable:
    """`tree.strict_key`, its errors at the user's line."""
    try:
        return tree.strict_key(value, name)
    except PycError as error:
        raise error.at(location.here()) from None


def _is_static(x: Any) -> bool:
    return isinstance(x, (*_STATIC, Jitted))


def _is_dynamic(x: Any) -> bool:
    return not _is_static(x)


class _Names:
    """Names of the parameters of a function, for messages."""

    def __init__(self, parameters: Sequence[inspect.Parameter] | None) -> None:
        self.parameters = parameters

    def positional(self, index: int) -> str:
        """The name of the positional argument at `index`."""
        for k, p in enumerate(self.parameters or ()):
            if p.kind is p.VAR_POSITIONAL:
                return f"{p.name}[{index - k}]"
            if k == index:
                return p.name
        return f"argument {index}"

    def leaf(self, path: tree.Path) -> str:
        """The name of a leaf of (positional, keywords)."""
        place, argument, *rest = path
        name = argument.entry if place.entry == 1 else self.positional(argument.entry)
        return tree.path_text(tuple(rest), str(name))


# --- stages ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced function. graph: as written, its parameters the leaves that are kept; in_tree: the
    structure of (positional, keywords) arguments; out_tree: of the result; inputs: what each kept
    leaf is; kept: its position among all leaves."""

    name: str
    graph: Graph
    in_tree: tree.TreeDef
    out_tree: tree.TreeDef
    inputs: tuple[Input, ...]
    kept: tuple[int, ...]

    def as_text(self) -> str:
        """The text of the graph, with the user's lines in the margin."""
        return print_graph(self.graph, locations=True)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A compiled signature."""

    traced: Traced
    executable: compiler.Compiled
    text: str

    def run(self, leaves: Sequence[Any]) -> Any:
        """The result for leaves of this signature."""
        arrays = []
        for k, given in zip(self.traced.kept, self.traced.inputs, strict=True):
            x = leaves[k]
            if type(x) is not np.ndarray or not (
                x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative
            ):
                x = dense(x, given.name)
            arrays.append(x)
        results = self.executable(*arrays)
        return self.traced.out_tree.unflatten([finish(r) for r in results])


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


class Jitted:
    """A function that is traced and compiled once per signature; made by `jit`."""

    def __init__(
        self,
        fun: Callable[..., Any],
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        keep_unused: bool,
        name: str,
    ) -> None:
        functools.update_wrapper(self, fun)
        self.__wrapped__ = fun
        self.__name__ = name
        self._keep_unused = keep_unused
        self._signature = _signature_of(fun)
        parameters = None if self._signature is None else [*self._signature.parameters.values()]
        self._names = _Names(parameters)
        self._static_positions, self._static_names = _static_parameters(
            name, parameters, static_argnums, static_argnames
        )
        self._entries: dict[Hashable, _Entry] = {}
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function for these arguments, computed by its compiled program.

        raises DTypeError: an argument that is not an array, a number or static, or a result that
        is not an array; TraceError: the function cannot be traced; each with the user's line
        """
        if is_tracing():
            return self._inlined(args, kwargs)
        call = self._call(args, kwargs)
        entry = self._entries.get(call.key)
        if entry is None:
            entry = self._compiled(call)
        return entry.run(call.leaves)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function as a Graph, as written, for the signature of these arguments."""
        return self._traced(self._call(args, kwargs))

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The optimised program and its plan for the signature of these arguments."""
        return Lowered(self, self._call(args, kwargs))

    def compile(self, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled program for the signature of these arguments, without running it."""
        return Compiled(self, self._call(args, kwargs))

    def signatures(self) -> tuple[str, ...]:
        """The signatures that are compiled, oldest first."""
        return tuple(entry.text for entry in self._entries.values())

    def clear_cache(self) -> None:
        """Forgets all compiled programs of this function."""
        with self._lock:
            self._entries.clear()

    def cache_info(self) -> CacheInfo:
        """How many signatures were compiled, and how many are kept."""
        with self._lock:
            return CacheInfo(self._misses, len(self._entries))

    # --- a call, taken apart ----------------------------------------------------------------------

    def _bound(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with as many as possible by position; TypeError as Python raises it."""
        if not kwargs or self._signature is None:
            return args, kwargs
        bound = self._signature.bind(*args, **kwargs)
        return bound.args, bound.kwargs

    def _split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[tuple[int | str, Any], ...]]:
        """Arguments without the static ones (None at their positions), and these."""
        static: list[tuple[int | str, Any]] = []
        if self._static_positions:
            rest = list(args)
            for k in self._static_positions:
                if k < len(rest):
                    static.append((k, rest[k]))
                    rest[k] = None
            args = tuple(rest)
        for name in self._static_names:
            if name in kwargs:
                static.append((name, kwargs[name]))
        if self._static_names:
            kwargs = {k: v for k, v in kwargs.items() if k not in self._static_names}
        return args, kwargs, tuple(static)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        args, kwargs = self._bound(args, kwargs)
        args, kwargs, static = self._split(args, kwargs)
        leaves, treedef = tree.flatten_ordered((args, kwargs))
        keys: list[Hashable] = []
        for k, leaf in enumerate(leaves):
            key = _leaf_key(leaf)
            if key is None:
                name = self._names.leaf(tree.paths(treedef)[k])
                if isinstance(leaf, Tracer):
                    current().lift(leaf)  # raises: it has leaked out of its trace
                if not _is_static(leaf):
                    raise _not_an_argument(self.__name__, name, leaf)
                key = ("static", _strict_key(leaf, name))
            keys.append(key)
        fixed = tuple((place, _strict_key(value, self._name_of(place))) for place, value in static)
        return _Call((treedef, tuple(keys), fixed), leaves, treedef, static)

    def _name_of(self, place: int | str) -> str:
        return place if isinstance(place, str) else self._names.positional(place)

    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result within the trace that is current."""
        args, kwargs = self._bound(args, kwargs)
        for place, value in self._split(args, kwargs)[2]:
            for leaf in tree.leaves(value):
                if isinstance(leaf, Tracer):
                    raise ConcretizationError(
                        f"{self.__name__}: the static argument `{self._name_of(place)}` is a "
                        "traced value",
                        fix="Static arguments are needed while tracing: make it static in the "
                        "outer function too.",
                        place=location.here(),
                    )
        return self.__wrapped__(*args, **kwargs)

    # --- a new signature --------------------------------------------------------------------------

    def _traced(self, call: _Call) -> Traced:
        names = [self._names.leaf(path) for path in tree.paths(call.treedef)]
        places, inputs = [], []
        for k, (leaf, name) in enumerate(zip(call.leaves, names, strict=True)):
            if _is_dynamic(leaf):
                places.append(k)
                weak = type(leaf) if type(leaf) in WEAK else None
                inputs.append(Input(_argument_type(self.__name__, name, leaf), weak, name))
        out_tree: tree.TreeDef | None = None

        def flat(*tracers: Tracer) -> list[Any]:
            nonlocal out_tree
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
            results, out_tree = tree.flatten_ordered(self.__wrapped__(*args, **kwargs))
            for k, result in enumerate(results):
                _check_result(self.__name__, result, out_tree, k)
            return results

        try:
            graph, _ = capture(flat, inputs)
        except PycError as error:
            raise error.at(location.of_function(self.__wrapped__)) from error.__cause__
        assert out_tree is not None
        kept = range(len(inputs)) if self._keep_unused else _used(graph)
        return Traced(
            name=self.__name__,
            graph=replace(graph, params=tuple(graph.params[k] for k in kept)),
            in_tree=call.treedef,
            out_tree=out_tree,
            inputs=tuple(inputs[k] for k in kept),
            kept=tuple(places[k] for k in kept),
        )

    def _compiled(self, call: _Call) -> _Entry:
        """The entry of a new signature; one thread makes it, the other ones wait."""
        with self._lock:
            entry = self._entries.get(call.key)
            if entry is None:
                traced = self._traced(call)
                text = self._text(call)
                record(_reason(call.key, self._entries), function=self.__name__, signature=text)
                executable = compiler.compile_graph(traced.graph, name=self.__name__)
                entry = _Entry(traced, executable, text)
                self._entries[call.key] = entry
                self._misses += 1
        return entry

    def _text(self, call: _Call) -> str:
        """A signature as a reader knows it: `f(x: f32[3], n: int, mode='fast')`."""
        parts = []
        for path, leaf in zip(tree.paths(call.treedef), call.leaves, strict=True):
            name = self._names.leaf(path)
            if not _is_dynamic(leaf):
                parts.append(f"{name}={_short(leaf)}")
            elif type(leaf) in WEAK:
                parts.append(f"{name}: {type(leaf).__name__}")
            else:
                parts.append(f"{name}: {type_of(leaf)}")
        parts += [f"{self._name_of(place)}={_short(value)}" for place, value in call.static]
        return f"{self.__name__}({', '.join(parts)})"


class Bound:
    """A jitted method bound to its instance, which is its first argument."""

    def __init__(self, jitted: Jitted, instance: Any) -> None:
        self.__func__ = jitted
        self.__self__ = instance

    def __repr__(self) -> str:
        return f"<bound {self.__func__!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the method for these arguments."""
        return self.__func__(self.__self__, *args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """As `Jitted.trace`."""
        return self.__func__.trace(self.__self__, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """As `Jitted.lower`."""
        return self.__func__.lower(self.__self__, *args, **kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> Compiled:
        """As `Jitted.compile`."""
        return self.__func__.compile(self.__self__, *args, **kwargs)


class Lowered:
    """The optimised program of one signature, and its plan."""

    def __init__(self, jitted: Jitted, call: _Call) -> None:
        self._jitted = jitted
        self._call = call
        self.traced = jitted._traced(call)
        self._program = compiler.lower_graph(self.traced.graph, name=jitted.__name__)

    def __repr__(self) -> str:
        return f"<lowered {self._jitted._text(self._call)}>"

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
    def key_document(self) -> dict[str, Any]:
        """What the cache key is made of."""
        return self._program.key_document

    @property
    def target_facts(self) -> dict[str, Any]:
        """The facts of the target that the code relies on."""
        return self._program.target_facts

    def as_text(self, stage: str = "graph") -> str:
        """The text of a level: "traced", "graph", "logical", "kernels" or "plan"."""
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

    def __init__(self, jitted: Jitted, call: _Call) -> None:
        self._jitted = jitted
        self._key = call.key
        self._entry = jitted._entries.get(call.key) or jitted._compiled(call)
        self.traced = self._entry.traced
        self.executable = self._entry.executable

    def __repr__(self) -> str:
        return f"<compiled {self._entry.text}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments of this signature; TraceError for other ones."""
        call = self._jitted._call(args, kwargs)
        if call.key != self._key:
            raise TraceError(
                f"this program was compiled for {self._entry.text}, "
                f"it is called as {self._jitted._text(call)}",
                fix=f"Call `{self._jitted.__name__}` itself: it compiles for each signature.",
                place=location.here(),
            )
        return self._entry.run(call.leaves)

    @property
    def key(self) -> str:
        """The key of its cache entry."""
        return self.executable.key

    @property
    def timings(self) -> dict[str, float]:
        """Seconds by pass, of what was run in this process."""
        return self.executable.timings

    def as_text(self, stage: str = "llvm") -> str:
        """The text of a level: those of `Lowered`, "llvm" and "asm"."""
        return self.executable.as_text(stage)

    def memory_analysis(self) -> compiler.MemoryAnalysis:
        """Bytes of one call by use; the peak is what a call allocates."""
        return self.executable.memory_analysis()

    def cost_analysis(self) -> compiler.CostAnalysis:
        """Kernels, least bytes moved and instructions."""
        return self.executable.cost_analysis()


# --- signatures -----------------------------------------------------------------------------------


def _signature_of(fun: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):  # some functions in C have none
        return None


def _static_parameters(
    name: str,
    parameters: Sequence[inspect.Parameter] | None,
    numbers: tuple[int, ...],
    names: tuple[str, ...],
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Positions and names of the static parameters: a parameter that may be given either way is in
    both. ValueError: no such parameter."""
    if parameters is None:
        return tuple(sorted(set(numbers))), names
    by_position = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    open_positions = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    open_names = any(p.kind is p.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    positions, found = set(), list(names)
    for number in numbers:
        place = number + len(by_position) if number < 0 else number
        if place < 0 or (place >= len(by_position) and not open_positions):
            raise ValueError(
                f"jit: static_argnums has {number}, but {name} takes {len(by_position)} positional "
                "arguments"
            )
        positions.add(place)
        if place < len(by_position):
            found.append(by_position[place])
    for given in names:
        if given not in known and not open_names:
            raise ValueError(
                f"jit: static_argnames has {given!r}, but {name} takes {', '.join(sorted(known))}"
            )
        if given in by_position:
            positions.add(by_position.index(given))
    return tuple(sorted(positions)), tuple(dict.fromkeys(found))


def _argument_type(function: str, name: str, leaf: Any) -> Any:
    try:
        return type_of(leaf)
    except DTypeError:
        raise _not_an_argument(function, name, leaf) from None


def _not_an_argument(function: str, name: str, leaf: Any) -> DTypeError:
    """The error for a leaf that is neither an array of a known type, a number, nor static."""
    kind = type(leaf).__name__
    if isinstance(leaf, np.ndarray) and type(leaf) not in _EXACT_ARRAYS:
        found = f"a {kind}, whose operators differ from those of arrays"
        fix = f"Pass `numpy.asarray({name})`."
    elif isinstance(leaf, (np.ndarray, np.generic)):
        found = f"an array of dtype {leaf.dtype}"
        fix = "Convert it to numbers, or make the argument static: `pyc.jit(static_argnames=...)`."
    else:
        found = f"of type {kind}"
        fix = (
            "Arguments are arrays, numbers, and tuples, lists and dicts of them.\n"
            f"Register {kind} with `pyc.tree.register_node` or `register_dataclass`, or make the "
            "argument static: `pyc.jit(static_argnames=...)`."
        )
    return DTypeError(f"{function}: `{name}` is {found}", fix=fix, place=location.here())


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


def _used(graph: Graph) -> list[int]:
    """Positions of the parameters that the graph uses."""
    used = {a for e in graph.eqns for a in e.args}.union(graph.results)
    return [k for k, p in enumerate(graph.params) if p in used]


def _reason(key: Any, known: Iterable[Any]) -> Reason:
    """Why a signature is compiled: what sets it apart from the nearest of those known."""
    order = (
        Reason.COMPILE_NEW_SHAPE,
        Reason.COMPILE_NEW_DTYPE,
        Reason.COMPILE_NEW_STATIC,
        Reason.COMPILE_NEW_STRUCTURE,
        Reason.COMPILE_FIRST_CALL,
    )
    return min((_difference(key, other) for other in known), key=order.index, default=order[-1])


def _difference(key: Any, other: Any) -> Reason:
    treedef, leaves, static = key
    other_treedef, other_leaves, other_static = other
    if treedef != other_treedef or len(static) != len(other_static):
        return Reason.COMPILE_NEW_STRUCTURE
    differing = [(a, b) for a, b in zip(leaves, other_leaves, strict=True) if a != b]
    if static != other_static or any(_is_static_key(a) or _is_static_key(b) for a, b in differing):
        return Reason.COMPILE_NEW_STATIC
    if any(_dtype_key(a) != _dtype_key(b) for a, b in differing):
        return Reason.COMPILE_NEW_DTYPE
    return Reason.COMPILE_NEW_SHAPE


def _is_static_key(key: Any) -> bool:
    return isinstance(key, tuple) and key[0] == "static"


def _dtype_key(key: Any) -> Any:
    return key[1] if isinstance(key, tuple) else key


def _short(value: Any) -> str:
    """A static value in a signature."""
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# --- the decorator --------------------------------------------------------------------------------


@overload
def jit(
    fun: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    name: str | None = None,
) -> Jitted: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    keep_unused: bool = False,
    name: str | None = None,
) -> Any:
    """`fun`, compiled for each signature of arguments at its first call; a decorator without `fun`.

    fun: takes and returns arrays, numbers, and tuples, lists, dicts and registered classes of them.
    It runs once per signature, on traced values; later calls run the compiled program only. Python
    numbers are traced and weak: new values do not compile again.
    static_argnums, static_argnames: arguments whose values shape the program; each new value
    compiles again. They are hashable, and compared by type and value.
    keep_unused: pass arguments that the program does not use to it all the same.
    name: its name in statistics, `fun.__name__` by default.

    Results are NumPy arrays that share memory with nothing, NumPy scalars for rank 0. Python
    numbers that the function reads from outside (globals, closures, attributes) keep the value
    that they had at the trace: pass what changes as an argument. NumPy arrays from outside are
    refused unless they are small and read-only.

    raises TypeError: `fun` is not callable; ValueError: a static argument that `fun` does not have
    """
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            keep_unused=keep_unused,
            name=name,
        )
    if not callable(fun):
        raise TypeError(f"jit: expected a function, got {type(fun).__name__}")
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    found = name or getattr(fun, "__name__", None) or type(fun).__name__
    return Jitted(fun, numbers, names, keep_unused, found)


__all__ = ["Bound", "CacheInfo", "Compiled", "Jitted", "Lowered", "Traced", "jit"]
