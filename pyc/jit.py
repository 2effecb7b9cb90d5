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
import operator
import sys
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pyc import compile as compiler
from pyc import config, tree
from pyc.array import Array as DeviceArray
from pyc.device import parse
from pyc.entries import Entry, NativeWay, QuickEntry, Traced, with_copies
from pyc.errors import ConcretizationError, DonationError
from pyc.forks import in_child, later, load
from pyc.interpreter import apart, is_tracing
from pyc.looks import NotNativeError
from pyc.programs import Programs
from pyc.purity.code import check_code
from pyc.reasons import Reason, record
from pyc.runtime import dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.signature import STATIC, Call, Signature
from pyc.specialise import MAXIMUM, specialise
from pyc.trace import location, name_views
from pyc.trace.bound import Bound
from pyc.trace.capture import current_namespace
from pyc.trace.tracer import Tracer

if TYPE_CHECKING:
    from pyc.cache.report import CacheInfo
    from pyc.report import Report
    from pyc.stages import Compiled, Lowered


_cache_info = later("pyc.cache.report", "CacheInfo")
_all: weakref.WeakSet[Jitted] = weakref.WeakSet()


def programs_of(jitted: Jitted) -> Programs:
    """What is compiled of a function, for who explains it or runs it in another way."""
    return jitted._programs


def jitted_functions() -> list[Jitted]:
    """Every jitted function that is alive."""
    return list(_all)


def _new_locks() -> None:
    """After a fork: another thread of the parent may have held a lock that nobody will release."""
    for jitted in _all:
        jitted._programs.lock = RLock()


in_child(_new_locks)


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
        purity: str | None = None,
        fastmath: bool = False,
        donate_argnums: tuple[int, ...] = (),
        donate_argnames: tuple[str, ...] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        super().__init__(self._call)
        self.__wrapped__ = fun
        self.__name__ = name
        asked = static_argnums, static_argnames, name, device, loops, purity, fastmath
        self._made = fun, *asked, donate_argnums, donate_argnames
        self._signature = Signature(
            *(fun, name, static_argnums, static_argnames, donate_argnums, donate_argnames),
            directed=device is not None,
        )
        self._programs = Programs(
            *(fun, name, self._signature, device, loops, purity, fastmath, self._drop)
        )
        self._forms: dict[Hashable, NativeWay] = {}
        self._said: set[Hashable] = set()
        """Forms of which a call to a GPU was not native, although the next one may be."""
        self._quick: QuickEntry | None = None
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

    def __reduce__(self) -> Any:
        """By its name where that leads to it, as functions are pickled; else made again."""
        name = getattr(self, "__qualname__", "")
        module = sys.modules.get(getattr(self, "__module__", ""))
        with suppress(AttributeError):
            if operator.attrgetter(name or "")(module) is self:
                return name
        return Jitted, self._made

    def __copy__(self) -> Jitted:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        """Itself, as functions are; of a method of an object that is copied, that of the copy."""
        function = load("copy").deepcopy(self.__wrapped__, memo)
        return self if function is self.__wrapped__ else Jitted(function, *self._made[1:])

    @location.trimmed
    def trace(self, /, *args: Any, **kwargs: Any) -> Traced:
        """The function as a Graph, as written, for the signature of these arguments: arrays and
        numbers, or a `pyc.ShapeDtype` in place of an array."""
        return self._programs.traced(self._described(args, kwargs))

    @location.trimmed
    def lower(self, /, *args: Any, **kwargs: Any) -> Lowered:
        """The optimised program and its plan for the signature of these arguments."""
        call = self._described(args, kwargs)
        made: Lowered = load("pyc.stages").Lowered(self._programs, call)
        return made

    @location.trimmed
    def compile(self, /, *args: Any, **kwargs: Any) -> Compiled:
        """The compiled program for the signature of these arguments, without running it."""
        call = self._described(args, kwargs)
        made: Compiled = load("pyc.stages").Compiled(self._programs, call)
        return made

    @location.trimmed
    def explain(self, /, *args: Any, measure: bool = False, **kwargs: Any) -> Report:
        """What a call with these arguments would do, and why, without running it; see
        `pyc.explain`."""
        made: Report = load("pyc.explanation").explain(self, *args, measure=measure, **kwargs)
        return made

    def signatures(self) -> tuple[str, ...]:
        """The signatures that are compiled, oldest first."""
        return tuple(entry.text for entries in self._programs.entries.values() for entry in entries)

    def clear_cache(self) -> None:
        """Forgets all compiled programs of this function."""
        with self._programs.lock:
            dispatch.clear(self)
            self._programs.entries.clear()
            self._forms.clear()
            self._said.clear()
            self._quick = None

    def cache_info(self) -> CacheInfo:
        """How many signatures were compiled, and how many are kept."""
        made = self._programs
        with made.lock:
            found: CacheInfo = _cache_info(made.misses, sum(map(len, made.entries.values())))
            return found

    # --- how it is done ---------------------------------------------------------------------------

    def _described(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """A call that is not made, taken apart: `ShapeDtype`s may stand for arrays."""
        return self._signature.call(*load("pyc.trace.abstract").stand_ins(args, kwargs))

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        """A call in Python: the result of the function for these arguments.

        raises DTypeError: an argument that is not an array, a number or static, or a result that
        is not an array; TraceError: the function cannot be traced; each with the user's line
        """
        try:
            if is_tracing():
                if not _from_outside(args, kwargs):
                    return self._inlined(args, kwargs)
                with apart():
                    return self._call(*args, **kwargs)
            if not kwargs and (copied := with_copies(self._signature, args)) is not None:
                return self(*copied)
            if self._quick is not None and not kwargs:
                hidden = self._quick.hidden(args)
                if hidden is not None:
                    return self._quick.run(args, hidden)
            call = self._signature.call(args, kwargs)
            entry, hidden = self._programs.entry(call)
            result = entry.run(call.leaves, hidden)
            self._make_native(call, args, kwargs, entry)
            return result
        except Exception as error:
            if isinstance(error, DonationError):
                error.at(location.here())
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
        space = current_namespace()
        if self._programs.fastmath and not space.fastmath:
            caller = location.here()
            where = {} if caller is None else {"file": caller.file, "line": caller.line}
            record(Reason.NUMERIC_STRICT_OUTSIDE, function=self.__name__, **where)
        return space.function(self.__wrapped__, self.__name__)(*args, **kwargs)

    def _make_native(
        self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry
    ) -> None:
        """From now on calls of this form are native, or a reason is recorded why they are not."""
        form = (call.key, len(args), *kwargs, id(entry))
        known = self._forms.get(form)
        if known is not None and (not known.is_stale() or known.tries == TRIES):
            return
        if known is not None and known.tries == TRIES - 1:
            record(
                Reason.DISPATCH_SLOW_FORM,
                function=self.__name__,
                detail="other objects in place of equal ones, again and again",
            )
        made = NativeWay(entry, 0 if known is None else known.tries + 1)
        try:
            traced = entry.traced
            if traced.alike is not None:
                raise NotNativeError(
                    Reason.DISPATCH_SLOW_CAPTURE, "which of the arguments are one array"
                )
            found = specialise(
                self._signature,
                call,
                args,
                kwargs,
                entry.program,
                traced.out_tree,
                traced.guards,
                traced.kept,
                traced.donated,
                entry.on_gpu,
            )
        except NotNativeError as unfit:
            on_gpu = not isinstance(entry.program, compiler.Compiled)
            quick = on_gpu and args and not kwargs and entry.traced.alike is None
            if quick and all(type(a) is DeviceArray for a in args):
                self._quick = QuickEntry(tuple(a.type for a in args), args[0].device, entry)
            if unfit.again and (not on_gpu or form in self._said):
                return
            self._said.add(form)
            record(unfit.reason, function=self.__name__, detail=unfit.detail)
            if unfit.again:
                return
        else:
            if known is not None and known.specialisation is not None:
                dispatch.discard(self, known.specialisation)
            if len(self._forms) >= MAXIMUM:
                detail = f"more than {MAXIMUM} forms of calls"
                record(Reason.DISPATCH_SLOW_FORM, function=self.__name__, detail=detail)
            elif dispatch.add(self, found):
                made.specialisation = found
        self._forms[form] = made

    def _drop(self, entry: Entry) -> None:
        """Forgets the native ways of a program that is not kept."""
        for form, native in list(self._forms.items()):
            if native.entry is entry:
                if native.specialisation is not None:
                    dispatch.discard(self, native.specialisation)
                del self._forms[form]


TRIES = 8
"""How often the native way of a form is made again."""


def _from_outside(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether code that is not traced calls, with arrays of its own: a signal handler or a
    finaliser that comes in the middle of a trace, or a library. Such a call is no part of it."""
    frame = location.user_frame()
    if frame is None or isinstance(frame.f_globals, name_views().View):
        return False
    leaves = tree.leaves((args, kwargs))
    traced = any(isinstance(x, Tracer) for x in leaves)
    return not traced and any(isinstance(x, np.ndarray) for x in leaves)


STATIC += [Jitted, Bound]


# --- the decorator --------------------------------------------------------------------------------


@overload
def jit(
    fun: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    purity: str | None = None,
    fastmath: bool = False,
    name: str | None = None,
) -> Jitted: ...


@overload
def jit(
    fun: None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    purity: str | None = None,
    fastmath: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Jitted]: ...


def jit(
    fun: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    device: str | None = None,
    loops: str = "roll",
    purity: str | None = None,
    fastmath: bool = False,
    name: str | None = None,
    **unknown: Any,
) -> Any:
    """`fun`, compiled for each signature of arguments at its first call; a decorator without `fun`.

    fun: takes and returns arrays, numbers, and tuples, lists, dicts and registered classes of them.
    It runs once per signature, on traced values; later calls run the compiled program only. Python
    numbers are traced and weak: new values do not compile again.
    static_argnums, static_argnames: arguments whose values shape the program; each new value
    compiles again. They are hashable, and compared by type and value.
    donate_argnums, donate_argnames: arguments that the caller gives up: a result of the same type
    may be made in their memory, which saves copies and allocations (`docs/donation.md`). What a
    donated NumPy array holds after the call is not said, and a result may be the very array; a
    donated `pyc.Array` is gone. A donation that is of no use has the reason PYC2514.
    device: "cpu", or "cuda" to run on a GPU: NumPy arguments are copied there and results back;
    None follows the arguments (a `pyc.Array` among them runs where it is, and results stay there).
    loops: "roll" turns `for`, `while` and `if` on traced values, and long loops, into loops and
    branches of the program (see `docs/loops.md`); "unroll" traces the function as Python runs it.
    purity: what is done about effects that compiled code would lose, such as printing or changing a
    list from outside (the rules are in `docs/purity.md`): "strict" refuses them, "warn" warns,
    "off" does not look; None is the setting `purity` (`PYC_PURITY`), strict by default.
    fastmath: whether the compiler may change roundings, and need not care for NaN, infinities and
    the sign of zero: products and sums as one `fma`, reciprocals in place of quotients, powers as
    products (see `docs/numerics.md`). Results are the same at each call, with any number of
    threads. Of functions that call each other the outermost decides.
    name: its name in statistics, `fun.__name__` by default.

    Results are NumPy arrays that share memory with nothing but donated arguments, NumPy scalars for
    rank 0. What the function reads from outside (globals, closures, attributes, items) is looked at
    before each call: arrays are read as they are then, anything else that changed compiles again
    (see `docs/captures.md`).

    raises TypeError: `fun` is not callable, no such option (`unknown`), or `fastmath` is no bool;
    ValueError: a static or donated argument that `fun` does not have, or no such `purity` or
    `loops`; DeviceError: no such name of a device; PurityError: `fun` assigns a global name or one
    of a surrounding function, or is a generator

    JAX: `jax.jit`.

    >>> pyc.jit(lambda x: 2 * x + 1)(np.arange(3))
    array([1, 3, 5])
    """
    for option in unknown:
        known = [*(jit.__kwdefaults__ or ())]
        raise TypeError(f"jit: there is no option {option!r}{config.closest(option, known)}")
    if device is not None:
        parse(device)
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            device=device,
            loops=loops,
            purity=purity,
            fastmath=fastmath,
            name=name,
        )
    if purity is not None:
        config.check("purity", purity)
    if not callable(fun):
        raise TypeError(f"jit: expected a function, got {type(fun).__name__}")
    if loops not in ("roll", "unroll"):
        raise ValueError(f'jit: loops={loops!r} is neither "roll" nor "unroll"')
    if type(fastmath) is not bool:
        raise TypeError(f"jit: fastmath={fastmath!r} is neither True nor False")
    static = _numbers("static", static_argnums), _names("static", static_argnames)
    donated = _numbers("donate", donate_argnums), _names("donate", donate_argnames)
    found = name or getattr(fun, "__name__", None) or type(fun).__name__
    check_code(fun, found, purity or config.current().purity)
    return Jitted(fun, *static, found, device, loops, purity, fastmath, *donated)


def _numbers(option: str, given: Any) -> tuple[int, ...]:
    """Positions of arguments, one or several, as a tuple; TypeError for others."""
    found = (given,) if hasattr(given, "__index__") else _several(given)
    if not all(hasattr(k, "__index__") for k in found):
        raise TypeError(
            f"jit: {option}_argnums takes positions, one or several, got {given!r}; names of "
            f"arguments are {option}_argnames"
        )
    return tuple(int(k) for k in found)


def _names(option: str, given: Any) -> tuple[str, ...]:
    """Names of arguments, one or several, as a tuple; TypeError for others."""
    found = (given,) if isinstance(given, str) else _several(given)
    if not all(isinstance(name, str) for name in found):
        raise TypeError(
            f"jit: {option}_argnames takes names, one or several, got {given!r}; positions of "
            f"arguments are {option}_argnums"
        )
    return found


def _several(given: Any) -> tuple[Any, ...]:
    """What is given, if it can be gone through, else None."""
    return tuple(given) if isinstance(given, Iterable) else (None,)


__all__ = ["Bound", "Jitted", "Traced", "jit"]
