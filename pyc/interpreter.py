"""The interpreter stack: `bind(op, ...)` acts on whoever interprets at the moment.

While a function is traced the current interpreter records equations; outside it, the base
interpreter runs one op at a time (`eager.py`). `pyc.numpy` talks to this module only, so every
public function works under both. A *value* here is whatever an interpreter hands out: a tracer, or
a concrete array.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock, get_ident
from typing import Any

import numpy as np

from pyc import config
from pyc.errors import DTypeError
from pyc.forks import hold, in_child
from pyc.ir import dtype as dt
from pyc.ir.graph import Graph
from pyc.ir.op import OPS, Op
from pyc.ir.types import ArrayType

WEAK: dict[type, dt.DType] = {bool: dt.b1, int: dt.i64, float: dt.f64, complex: dt.c128}
"""Exact Python scalar types, weak in promotion (NEP 50), and the type they have alone."""


class Interpreter(ABC):
    """Gives meaning to equations."""

    @abstractmethod
    def bind(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
        """Results of `op`; every argument was lifted by this interpreter."""

    @abstractmethod
    def lift(self, x: Any) -> Any:
        """`x` as a value of this interpreter: itself if it is one, else a concrete array or scalar
        taken in. TypeError (a PycError) names what cannot be one."""

    @abstractmethod
    def inline(self, graph: Graph, args: Sequence[Any]) -> tuple[Any, ...]:
        """Results of a closed `graph`; every argument was lifted by this interpreter."""

    @abstractmethod
    def copy(self, x: Any) -> Any:
        """A lifted `x` as an array of its own: what changes one does not change the other."""

    @abstractmethod
    def separate(self, x: Any, arguments: Sequence[Any]) -> Any:
        """A result of a function as an array of its own: a copy if it is one of the arguments or a
        view."""

    @abstractmethod
    def alias(self, x: Any, source: Any) -> Any:
        """`x`, a result that NumPy gives as a view of `source` but that was computed otherwise."""

    def boxed(self, x: Any) -> Any:
        """`x`, of rank 0 as an array and not as a scalar."""
        return x

    def transposed(self, x: Any) -> tuple[Any, tuple[int, ...]] | None:
        """What `x` is a view of by another order of its axes, and that order; None if it is no
        such view."""
        return None

    def rows(self, items: Sequence[Any]) -> list[Any] | None:
        """Elements of a list or a tuple as arrays whose rows they are, and lists of those between
        that are none; None where no arrays are known."""
        return None


_current: ContextVar[Interpreter | None] = ContextVar("pyc_interpreter", default=None)
_base: list[Interpreter] = []


def set_base(interpreter: Interpreter) -> None:
    """Install the interpreter that acts when nothing is traced (called once, by `pyc.eager`)."""
    _base[:] = [interpreter]


def current() -> Interpreter:
    """The interpreter that `bind` acts on now."""
    return _current.get() or _base[0]


def is_tracing() -> bool:
    """Whether a function is being traced in this context."""
    return _current.get() is not None


native_calls = ctypes.c_int32(1)
"""0 while any thread traces: jitted functions called then must be inlined into the trace, so calls
may not bypass Python. (Calls of other threads take the slower way meanwhile.)"""
undirected_calls = ctypes.c_int32(1)
"""The same for calls of which neither `jit` nor an argument says where they run: 0 also while
anybody's default device is another than the CPU."""

# Re-entrant, as a signal handler may call a jitted function wherever Python runs.
_lock = RLock()
_traces: Counter[int] = Counter()
"""Traces under way, by thread."""


def _forget_threads() -> None:
    """In a forked child: the traces of other threads did not come along."""
    mine = get_ident()
    for thread in [thread for thread in _traces if thread != mine]:
        del _traces[thread]
    _settle()


def _settle() -> None:
    with _lock:
        native_calls.value = int(not _traces)
        at_home = all(name in _HOSTS for name in config.anywhere("default_device"))
        undirected_calls.value = int(not _traces and at_home)


_HOSTS = ("", "cpu", "cpu:0")
"""Default devices for which functions run on the CPU."""

hold(_lock)
in_child(_forget_threads)
config.listen(_settle)
_settle()


def elsewhere() -> str | None:
    """The default device here, "cuda:N", if it is not the CPU."""
    name = config.value("default_device")
    return None if name in _HOSTS else "cuda:" + (name.partition(":")[2] or "0")


def _count(change: int) -> None:
    thread = get_ident()
    with _lock:
        _traces[thread] += change
        if not _traces[thread]:
            del _traces[thread]
        _settle()


@contextmanager
def using(interpreter: Interpreter) -> Iterator[None]:
    """Makes `interpreter` current within the block."""
    token = _current.set(interpreter)
    _count(1)
    try:
        yield
    finally:
        _count(-1)
        _current.reset(token)


@contextmanager
def apart() -> Iterator[None]:
    """Inside the block nothing is traced, whatever is outside of it."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def bind(op: str | Op, *args: Any, **params: Any) -> tuple[Any, ...]:
    """Results of `op` over values or concrete arrays, on the current interpreter."""
    interpreter = _current.get() or _base[0]
    if isinstance(op, str):
        op = OPS[op]
    return interpreter.bind(op, tuple([interpreter.lift(a) for a in args]), params)


def bind1(op: str | Op, *args: Any, **params: Any) -> Any:
    """The only result of `op`."""
    (out,) = bind(op, *args, **params)
    return out


_NUMBERS = {kind: ArrayType((), dtype) for kind, dtype in WEAK.items()}


def type_of(x: Any) -> ArrayType:
    """Shape and dtype of a value, NumPy array or scalar, or Python scalar; DTypeError for others
    (lists included: pyc.numpy converts them first)."""
    number = _NUMBERS.get(type(x))
    if number is not None:
        return number
    found = getattr(x, "type", None)
    if isinstance(found, ArrayType):
        return found
    if isinstance(x, (np.ndarray, np.generic)):
        dtype = dt.of(x.dtype)
        if dtype is not None:
            return ArrayType(tuple(x.shape), dtype)
        raise DTypeError(f"arrays of dtype {x.dtype} are not supported")
    raise DTypeError(f"expected an array or a number, got {type(x).__name__}")


def is_concrete(x: Any) -> bool:
    """Whether `x` is an array or scalar of NumPy itself. `isinstance` would say so of traced values
    too, since that is what user code asks."""
    return issubclass(type(x), (np.ndarray, np.generic))


def is_number(x: Any) -> bool:
    """Whether `x` is a Python number or a NumPy scalar with a value, not a traced one."""
    return type(x) in WEAK or issubclass(type(x), np.generic)


def weak_type(x: Any) -> type | None:
    """bool, int, float or complex if `x` is weak in promotion (a Python scalar, or a traced one),
    else None."""
    if type(x) in WEAK:
        return type(x)
    weak = getattr(x, "weak", None)
    return weak if weak in WEAK else None
