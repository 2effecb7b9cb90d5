"""NumPy as a traced function sees it.

Functions and ufuncs go through `dispatch`, also where no argument is traced: what they give are
values of the trace, which can be changed in place and are compiled with the rest. NumPy itself runs
only on values that are known (`trace/known.py`). Scalar types convert traced values where they are
called. What draws random numbers, reads or writes files or changes NumPy's settings is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, update_wrapper
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

import pyc.numpy as pnp
from pyc.array import Array as DeviceArray
from pyc.errors import DTypeError, OptionError, PurityError, UnsupportedOpError
from pyc.interpreter import current, weak_type
from pyc.ir import dtype as dt
from pyc.numpy import choices
from pyc.numpy.core import separated, shape_of
from pyc.numpy.keywords import options_of_method
from pyc.reasons import Reason
from pyc.trace import calling_functions, dispatch, location
from pyc.trace.concrete import Taken, by_numpy, concrete, is_traced, local
from pyc.trace.modules import CONVERTERS
from pyc.trace.parts import Selected
from pyc.trace.tracer import Tracer

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum))
_GENERATORS = ("Generator", "RandomState", "BitGenerator")
"""Classes of `numpy.random`, which is loaded on first use by the user only: it takes long."""

# --- functions ------------------------------------------------------------------------------------


def _of_numpy(function: Any) -> bool:
    """Whether a function is one of NumPy's public ones, or traced like one."""
    module = getattr(function, "__module__", None) or ""
    return module.partition(".")[0] == "numpy" or dispatch.counterpart(function) is not None


@cache
def view(function: Any) -> Any:
    """What stands for a function or ufunc of NumPy."""
    if isinstance(function, np.ufunc):
        return UfuncView(function)

    def traced(*args: Any, **options: Any) -> Any:
        try:
            found = dispatch.call_function(function, args, options)
        except DTypeError:
            if is_traced(args) or is_traced(options):
                raise
            # Texts, objects, dates: nothing for compiled code, but Python may use them.
            found = local(dispatch.name_of(function), function(*args, **options))
        if function in _OVER_MEMORY and isinstance(found, Tracer) and _is_memory(args):
            found.argument = True  # a copy stands for it, so writing would be lost
        if function not in _MAKERS:
            return found
        boxed = current().boxed
        return tuple(map(boxed, found)) if type(found) is tuple else boxed(found)

    return update_wrapper(traced, function)


_MAKERS = (
    *(np.array, np.asarray, np.asanyarray, np.copy, np.empty, np.empty_like, np.full),
    *(np.full_like, np.ones, np.ones_like, np.zeros, np.zeros_like, np.broadcast_arrays),
    *(np.broadcast_to, np.cov, np.i0, np.piecewise, np.require, np.resize, np.roll, np.select),
    *(np.tensordot, np.tile, np.where),
)
"""Functions that make arrays of rank 0, too, and not scalars."""

_OVER_MEMORY = (np.asarray, np.asanyarray, np.ascontiguousarray, np.frombuffer)
"""Functions whose result is over the memory of what they get."""


def _is_memory(args: Sequence[Any]) -> bool:
    """Whether the first argument is memory that may be written to, such as a `bytearray`."""
    if not args or isinstance(args[0], (Tracer, np.ndarray, DeviceArray)):
        return False
    try:
        return not memoryview(args[0]).readonly
    except TypeError:
        return False


class UfuncView:
    """A ufunc of NumPy on values of the trace."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.__wrapped__ = ufunc
        self.__name__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__
        self._ours = dispatch.counterpart(ufunc)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __deepcopy__(self, memo: Any) -> UfuncView:
        return self

    def __reduce__(self) -> Any:
        return view, (self.__wrapped__,)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The ufunc of the inputs."""
        count = self.__wrapped__.nin
        selected = any(isinstance(x, Selected) for x in inputs)
        if self._ours is not None and not options and len(inputs) == count and not selected:
            return self._ours(*inputs)
        if len(inputs) > count:
            options["out"] = inputs[count:]
        return self._call("__call__", inputs[:count], options)

    def reduce(self, array: Any, *given: Any, **named: Any) -> Any:
        """The ufunc between the elements along an axis, the first by default."""
        return self._call("reduce", (array,), options_of_method("reduce", given, named))

    def accumulate(self, array: Any, *given: Any, **named: Any) -> Any:
        """As `reduce`, with every intermediate result."""
        return self._call("accumulate", (array,), options_of_method("accumulate", given, named))

    def outer(self, first: Any, second: Any, **options: Any) -> Any:
        """The ufunc of all pairs."""
        return self._call("outer", (first, second), options)

    def reduceat(self, array: Any, indices: Any, *given: Any, **named: Any) -> Any:
        """The ufunc between the elements of parts."""
        options = options_of_method("reduceat", given, named)
        return self._call("reduceat", (array, indices), options)

    def at(self, array: Any, indices: Any, *values: Any) -> Any:
        """The ufunc in place, element by element."""
        return self._call("at", (array, indices, *values), {})

    def _call(self, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        out = options.get("out")
        if out is not None and not isinstance(out, tuple):
            options["out"] = (out,)
        elif out is None:
            options.pop("out", None)
        return dispatch.call_ufunc(self.__wrapped__, method, inputs, options)


# --- scalar types ---------------------------------------------------------------------------------


def _convert(kind: type[np.generic], *args: Any, **options: Any) -> Any:
    """`np.float32(x)` for traced values too. Lists give arrays, as NumPy's types do, an array of
    the type is itself, and one of rank 0 a scalar."""
    if len(args) == 1 and not options:
        (x,) = args
        if type(x) is np.ndarray or is_traced(x):
            if weak_type(x) is int:  # which must fit
                return pnp.asarray(x, kind)
            found = pnp.astype(pnp.asarray(x), kind, copy=False)
            return found if shape_of(found) else separated(found, (found,))
    return local(f"np.{kind.__name__}", kind(*args, **options))


CONVERTERS.update(
    {d.numpy.type: partial(_convert, d.numpy.type) for d in dt.ALL if not d.is_extension}
)


def _datetime64(*args: Any, **options: Any) -> Any:
    """`np.datetime64(text)`; PurityError for a text that means the time now."""
    if args and args[0] in ("now", "today"):
        raise PurityError(
            f"np.datetime64({args[0]!r}) reads a clock while the function is traced: compiled code "
            "would use the same time in every call",
            rule=Reason.PURITY_CLOCK,
            fix="Read the clock outside of the jitted function, and pass the time as an argument; "
            "or in a function\nof yours that is called each time the program runs: "
            "`pyc.io_callback`.",
            place=location.here(),
        )
    return np.datetime64(*args, **options)


CONVERTERS[np.datetime64] = _datetime64
CONVERTERS.others["ml_dtypes"] = lambda kind: partial(_convert, kind)

# --- refused --------------------------------------------------------------------------------------

_FILES = (
    *("fromfile", "fromregex", "genfromtxt", "load", "loadtxt", "memmap", "save", "savetxt"),
    *("savez", "savez_compressed"),
)
_SETTINGS = ("set_printoptions", "setbufsize", "seterr", "seterrcall")
_STATE = ("geterr", "geterrcall", "getbufsize", "get_printoptions")
_PRINTING = ("info", "show_config", "show_runtime", "test")

_WHY: dict[tuple[str, ...], tuple[Reason, str, str]] = {
    _FILES: (
        Reason.PURITY_FILE,
        "reads or writes a file, which compiled code would not do again",
        "Do it outside the jitted function, and pass the array as an argument; or in a function of "
        "yours that\nis called each time the program runs: `pyc.debug.callback` to write, "
        "`pyc.io_callback` to read.",
    ),
    _SETTINGS: (
        Reason.PURITY_ENVIRONMENT,
        "changes settings of NumPy, which compiled code would not do again",
        "Call it outside the jitted function.",
    ),
    _STATE: (
        Reason.PURITY_ENVIRONMENT,
        "reads settings of NumPy, and compiled code would use the same in every call",
        "Call it outside the jitted function, and pass what it gives as an argument.",
    ),
    _PRINTING: (
        Reason.PURITY_OUTPUT,
        "prints, which compiled code would not do again",
        "Call it outside the jitted function; values are printed by `pyc.debug.print`.",
    ),
}
_RANDOM = (
    Reason.PURITY_RANDOM,
    "draws random numbers when the function is traced, and compiled code would use the same ones "
    "in every call",
    "Draw them by a key that is an argument, such as with `pyc.random.normal(key, shape)`; or "
    "outside,\nand pass the array; or from a generator made in the function with a seed, "
    "`np.random.default_rng(0)`,\nif they are the same in every call.",
)


def _refusal(name: str, rule: Reason, why: str, fix: str) -> Callable[..., Any]:
    """A function that raises PurityError when it is called."""

    def refuse(*args: Any, **options: Any) -> Any:
        raise PurityError(f"{name} {why}", rule=rule, fix=fix, place=location.here())

    return refuse


class LocalGenerator:
    """A random generator that was made in the function with a seed: it gives the same numbers in
    every call, so they are constants of the program."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self.generator, name)
        if not callable(value):
            return value

        def draw(*args: Any, **options: Any) -> Any:
            found, known = by_numpy(f"Generator.{name}", value, args, options)
            if not known:
                raise UnsupportedOpError(
                    f"Generator.{name} draws its numbers while the function is traced, and an "
                    "argument of it is a traced value",
                    fix="Draw from a standard distribution and transform the numbers: "
                    "`mean + scale * rng.standard_normal(n)`;\nor draw outside the function.",
                    place=location.here(),
                )
            return found

        vars(draw)["__self__"] = self
        return draw


class CapturedGenerator:
    """A random generator from outside of the function: drawing from it is refused."""

    def __init__(self, generator: Any) -> None:
        self.__wrapped__ = generator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        kind = type(self.__wrapped__).__name__
        if callable(getattr(self.__wrapped__, name)):
            return _refusal(f"{kind}.{name}", *_RANDOM)
        return _refusal(f"a {kind}", *_RANDOM)()  # it is asked what to draw from


def _default_rng(seed: Any = None) -> LocalGenerator:
    """`np.random.default_rng(seed)`; PurityError without a seed."""
    found, known = concrete(seed)
    if found is None or not known or isinstance(seed, CapturedGenerator):
        raise PurityError(
            f"np.random.default_rng without a seed that is known {_RANDOM[1]}",
            rule=_RANDOM[0],
            fix=_RANDOM[2],
            place=location.here(),
        )
    return LocalGenerator(np.random.default_rng(found))


def _random(name: str, value: Any) -> Any:
    """An attribute of `np.random`: types and seeds as they are, all that draws is refused."""
    if name == "default_rng":
        return _default_rng
    if isinstance(value, type) or not callable(value):
        return value
    return _refusal(f"np.random.{name}", *_RANDOM)


# --- objects with an index, and iterators ---------------------------------------------------------


class _Indexed:
    """`np.r_[...]`, `np.mgrid[...]` and their kin, which are those of pyc.numpy."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        return getattr(pnp, self._name)[key]


class _IndexedElements:
    """`np.ndenumerate(x)`: pairs of index and element."""

    def __init__(self, x: Any) -> None:
        self._x = pnp.asarray(x)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        x = self._x
        known = x.known() if isinstance(x, Tracer) else None
        for index in np.ndindex(x.shape):
            yield index, (x if known is None else known)[index]


def vectorize(function: Any = None, **options: Any) -> Any:
    """`np.vectorize`: of traced values by tracing the function once, for one element."""
    if function is None:
        return lambda f: vectorize(f, **options)
    choices.truth(options.get("cache", False))
    try:
        judged = {k: v for k, v in options.items() if k != "signature" or not isinstance(v, str)}
        np.vectorize(function, **judged)
    except (TypeError, ValueError) as error:
        raise OptionError(f"np.vectorize: {error}", place=location.here()) from None

    def elementwise(*args: Any, **named: Any) -> Any:
        (given, keywords), known = concrete((args, named))
        if known:
            return local("np.vectorize", np.vectorize(function, **options)(*given, **keywords))
        return calling_functions().vectorized(function, options, args, named)

    return elementwise


def _refuse_iterator(name: str) -> Callable[..., Any]:
    """A NumPy iterator class that needs the elements, and must not write them."""

    def make(*args: Any, **options: Any) -> Any:
        taken: Taken = []
        (given, named), known = concrete((args, options), taken=taken)
        for _, _, copy in taken:
            copy.flags.writeable = False
        if known:
            try:
                return getattr(np, name)(*given, **named)
            except ValueError as error:
                if not taken or "read-only" not in str(error):
                    raise
        raise UnsupportedOpError(
            f"np.{name} walks through the memory of a traced array",
            fix="Write operations on whole arrays, or loop over indices: `np.ndindex(x.shape)`.",
            place=location.here(),
        )

    return make


_SPECIAL: dict[int, Any] = {
    id(getattr(np, name)): special
    for name, special in {
        **{name: _Indexed(name) for name in ("c_", "mgrid", "ogrid", "r_")},
        "ndenumerate": _IndexedElements,
        "vectorize": vectorize,
        **{name: _refuse_iterator(name) for name in ("nditer", "nested_iters", "broadcast")},
        **{name: _refusal(f"np.{name}", *why) for names, why in _WHY.items() for name in names},
    }.items()
}
"""What stands for some objects of NumPy, by their id."""

# --- modules --------------------------------------------------------------------------------------


def members(module: ModuleType) -> Callable[[str, Any], Any]:
    """What stands for the attributes of NumPy or a module of it: (name, value) -> any."""
    return _random if module.__name__ == "numpy.random" else lambda _, value: answer(value)


def _is_generator(value: Any) -> bool:
    return any(
        cls.__name__ in _GENERATORS and cls.__module__.startswith("numpy.random")
        for cls in type(value).__mro__
    )


def answer(value: Any) -> Any:
    """What stands for something of NumPy's; `value` itself where nothing needs to, and where it is
    not NumPy's."""
    if id(value) in _SPECIAL:
        return _SPECIAL[id(value)]
    if isinstance(value, np.ufunc):
        return view(value)
    if _is_generator(value):
        return CapturedGenerator(value)
    if _is_generator(getattr(value, "__self__", None)):
        return _refusal(f"np.random.{value.__name__}", *_RANDOM)
    if not isinstance(value, _FUNCTIONS):
        return value
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.ufunc):  # one of its methods
        return getattr(view(owner), value.__name__)
    # Another thread may be in the middle of importing it.
    if value is getattr(sys.modules.get("numpy.random"), "default_rng", None):
        return _default_rng
    return view(value) if _of_numpy(value) else value
