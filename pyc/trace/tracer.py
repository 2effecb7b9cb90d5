"""`Tracer`: what stands for an array while a function is traced.

It knows its type, belongs to one trace, and turns whatever is done to it into calls of `pyc.numpy`,
which bind equations on the current interpreter: Python operators, methods and attributes of NumPy
arrays, indexing, `x.at[...]`, and NumPy functions by NumPy's two protocols. What needs the value
itself (a branch, a Python number, a NumPy array) is refused with the user's line and the rewrite.

A tracer may be *weak*: it stands for a Python number, which does not decide the dtype of what it
meets (NEP 50). Only Python's operators between weak operands give weak results, as in Python;
functions give what NumPy gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

import numpy as np

import pyc.numpy as pnp
from pyc.errors import (
    ConcretizationError,
    DTypeError,
    Text,
    TraceError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from pyc.interpreter import weak_type
from pyc.ir import dtype as dt
from pyc.ir.graph import Value
from pyc.ir.types import ArrayType
from pyc.numpy import indexing
from pyc.trace import dispatch, location
from pyc.trace.methods import ArrayMethods

PYTHON_TYPE: dict[dt.DType, type] = {dt.b1: bool, dt.i64: int, dt.f64: float, dt.c128: complex}
"""The Python number type that has an element type, for results of weak operands."""

_OPERANDS = (int, float, complex, np.ndarray, np.generic, list, tuple)


class Owner(Protocol):
    """The trace of a tracer."""

    def describe(self, value: Value) -> str:
        """What `value` is, for messages: where it was made, or which argument it is."""

    def is_argument(self, value: Value) -> bool:
        """Whether `value` is an argument of the traced function."""


def _binary(name: str, symbol: str, reflected: bool = False) -> Any:
    """The method of a binary operator; `name` is its function in pyc.numpy."""

    def operator(self: Tracer, other: Any) -> Any:
        if type(other) is not Tracer and not isinstance(other, _OPERANDS):
            return self._with_stranger(name, symbol, other)
        function = getattr(pnp, name)
        out = function(other, self) if reflected else function(self, other)
        if self.weak is not None and weak_type(other) is not None:
            return out.weakened()
        return out

    operator.__doc__ = f"Elements of the array under `{symbol}`."
    return operator


def _unary(name: str, symbol: str) -> Any:
    """The method of a unary operator."""

    def operator(self: Tracer) -> Any:
        out = getattr(pnp, name)(self)
        return out.weakened() if self.weak is not None else out

    operator.__doc__ = f"Elements of the array under `{symbol}`."
    return operator


def _in_place(method: str, symbol: str) -> Any:
    """The method of an augmented assignment: a new value for scalars, which NumPy cannot change in
    place either; refused for arrays, where NumPy would change every alias too."""

    def operator(self: Tracer, other: Any) -> Any:
        if self.ndim or (self.weak is None and self.owner.is_argument(self.value)):
            raise self._refusal(
                TraceError,
                f"`{symbol}=` would change {self._described()} in place",
                f"Write `a = a {symbol} b`, which makes a new array; for a part of an array "
                f"`a = a.at[index].set(...)`.",
            )
        return getattr(self, method)(other)

    operator.__doc__ = f"`{symbol}=` on scalars; TraceError for arrays."
    return operator


class Tracer(ArrayMethods):
    """A value of a trace. owner: the trace; value: its name in the Graph; weak: the Python number
    type it stands for, None for arrays and NumPy scalars."""

    __slots__ = ("owner", "type", "value", "weak")

    def __init__(self, owner: Owner, value: Value, weak: type | None = None) -> None:
        self.owner = owner
        self.value = value
        self.type: ArrayType = value.type
        self.weak = weak

    def weakened(self) -> Tracer:
        """The same value, standing for a Python number."""
        return Tracer(self.owner, self.value, PYTHON_TYPE.get(self.type.dtype))

    def __repr__(self) -> str:
        name = self.weak.__name__ if self.weak is not None else str(self.type)
        return f"<traced {name}>"

    # --- attributes -------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.type.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        raise self._assignment_refusal("shape", "x = x.reshape(shape)")

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's element type."""
        return self.type.dtype.numpy

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise self._assignment_refusal("dtype", "x = x.astype(dtype)")

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.type.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.type.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.type.nbytes

    @property
    def T(self) -> Any:  # noqa: N802
        """The array with its axes in reverse order."""
        return pnp.permute_dims(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Any:  # noqa: N802
        """The array with its last two axes swapped."""
        return pnp.matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return pnp.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        raise self._assignment_refusal("real", "x = value + 1j * x.imag")

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return pnp.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        raise self._assignment_refusal("imag", "x = x.real + 1j * value")

    @property
    def at(self) -> At:
        """`x.at[index].set(v)` and its kin: the array with some elements changed."""
        return At(self)

    def __getattr__(self, name: str) -> NoReturn:
        known = hasattr(np.ndarray, name)
        reason = "cannot be traced" if known else "is not an attribute of arrays"
        raise AttributeError(f"`.{name}` of {self!r} {reason}", name=name, obj=self)

    # --- operators --------------------------------------------------------------------------------

    __add__, __radd__ = _binary("add", "+"), _binary("add", "+", True)
    __sub__, __rsub__ = _binary("subtract", "-"), _binary("subtract", "-", True)
    __mul__, __rmul__ = _binary("multiply", "*"), _binary("multiply", "*", True)
    __truediv__, __rtruediv__ = _binary("divide", "/"), _binary("divide", "/", True)
    __floordiv__ = _binary("floor_divide", "//")
    __rfloordiv__ = _binary("floor_divide", "//", True)
    __mod__, __rmod__ = _binary("remainder", "%"), _binary("remainder", "%", True)
    __pow__, __rpow__ = _binary("pow", "**"), _binary("pow", "**", True)
    __matmul__, __rmatmul__ = _binary("matmul", "@"), _binary("matmul", "@", True)
    __and__, __rand__ = _binary("bitwise_and", "&"), _binary("bitwise_and", "&", True)
    __or__, __ror__ = _binary("bitwise_or", "|"), _binary("bitwise_or", "|", True)
    __xor__, __rxor__ = _binary("bitwise_xor", "^"), _binary("bitwise_xor", "^", True)
    __lshift__ = _binary("bitwise_left_shift", "<<")
    __rlshift__ = _binary("bitwise_left_shift", "<<", True)
    __rshift__ = _binary("bitwise_right_shift", ">>")
    __rrshift__ = _binary("bitwise_right_shift", ">>", True)

    __eq__ = _binary("equal", "==")
    __ne__ = _binary("not_equal", "!=")
    __lt__, __le__ = _binary("less", "<"), _binary("less_equal", "<=")
    __gt__, __ge__ = _binary("greater", ">"), _binary("greater_equal", ">=")

    __neg__, __pos__ = _unary("negative", "-"), _unary("positive", "+")
    __abs__, __invert__ = _unary("abs", "abs"), _unary("bitwise_invert", "~")

    __iadd__, __isub__ = _in_place("__add__", "+"), _in_place("__sub__", "-")
    __imul__, __itruediv__ = _in_place("__mul__", "*"), _in_place("__truediv__", "/")
    __ifloordiv__, __imod__ = _in_place("__floordiv__", "//"), _in_place("__mod__", "%")
    __ipow__, __imatmul__ = _in_place("__pow__", "**"), _in_place("__matmul__", "@")
    __iand__, __ior__ = _in_place("__and__", "&"), _in_place("__or__", "|")
    __ixor__ = _in_place("__xor__", "^")
    __ilshift__, __irshift__ = _in_place("__lshift__", "<<"), _in_place("__rshift__", ">>")

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        """(self // other, self % other)."""
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        """(other // self, other % self)."""
        return other // self, other % self

    # --- containers -------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        """The elements at `key`, as NumPy indexes."""
        return indexing.getitem(self, key)

    def __len__(self) -> int:
        """Length of the first axis; TypeError for rank 0."""
        if not self.ndim:
            raise TypeError("len() of a traced scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The slices along the first axis; TypeError for rank 0."""
        if not self.ndim:
            raise TypeError("iteration over a traced scalar")
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, item: Any) -> NoReturn:
        raise self._refusal(
            TracerBoolConversionError,
            lambda: f"`in` asks for the truth of a comparison with {self._described()}",
            "Write `(x == item).any()`, and decide with `where` or `pyc.lax.cond`.",
        )

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufunc on traced arrays, by the function of pyc.numpy of the same name."""
        return dispatch.call_ufunc(ufunc, method, inputs, options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """NumPy's function on traced arrays, by the function of pyc.numpy of the same name."""
        return dispatch.call_function(function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """pyc.numpy, which follows the array API standard."""
        return pnp

    # --- what needs the value ---------------------------------------------------------------------

    def _described(self) -> str:
        return str(self.owner.describe(self.value))

    def _refusal(self, error: type[TraceError], message: Text, fix: str) -> TraceError:
        return error(message, fix=fix, place=location.here())

    def _number_refusal(self, asked: str, fix: str) -> TraceError:
        return self._refusal(
            ConcretizationError,
            lambda: (
                f"{asked} needs the value of {self._described()}, which is not known while the "
                "function is traced"
            ),
            fix,
        )

    def _assignment_refusal(self, name: str, rewrite: str) -> TraceError:
        return self._refusal(
            TraceError,
            lambda: f"assigning to `.{name}` would change {self._described()} in place",
            f"Write `{rewrite}`, which makes a new array.",
        )

    def _with_stranger(self, name: str, symbol: str, other: Any) -> Any:
        """The result of an operator on what is neither an array nor a number: NumPy's, where it has
        one, else NotImplemented, so that `other` may know more; DTypeError for texts and None."""
        if name in ("equal", "not_equal"):
            ask: Any = type(other).__eq__ if name == "equal" else type(other).__ne__
            answer = ask(other, self)
            if answer is NotImplemented and self.ndim:
                return pnp.full(self.shape, name == "not_equal")
            return answer
        if other is not None and not isinstance(other, (str, bytes)):
            return NotImplemented
        if other is None:
            what = "None"
            fix = (
                "A function that ends without `return` gives None; ask `x is None` where it may be."
            )
        else:
            what = f"the {type(other).__name__} {other[:40]!r}"
            fix = (
                "Convert it first: `float(text)`. What chooses by name can be a static argument: "
                "`pyc.jit(static_argnames=...)`."
            )
        raise DTypeError(
            lambda: f"unsupported operand: `{symbol}` of {self._described()} and {what}",
            fix=fix,
            place=location.here(),
        )

    def __bool__(self) -> bool:
        if self.size != 1:
            raise self._refusal(
                TracerBoolConversionError,
                lambda: (
                    f"the truth of {self._described()} is ambiguous: it has {self.size} elements"
                ),
                "Write `(a < x) & (x < b)` for `a < x < b`; `&`, `|`, `~` for `and`, `or`, `not`; "
                "`pyc.numpy.where(c, a, b)` to choose by element;\n"
                "`.any()` or `.all()` for one answer.",
            )
        raise self._refusal(
            TracerBoolConversionError,
            lambda: f"the truth of {self._described()} is needed while the function is traced",
            "Write `pyc.numpy.where(c, a, b)` for `a if c else b`, "
            "`pyc.lax.cond(c, true_fun, false_fun, *operands)` for `if`, "
            "`pyc.lax.while_loop` for `while`,\n"
            "`&`, `|`, `~` for `and`, `or`, `not`, `pyc.numpy.maximum` for `max`; "
            "or make the argument it comes from static: `pyc.jit(static_argnames=...)`.",
        )

    def __int__(self) -> int:
        raise self._refusal(
            TracerIntegerConversionError,
            lambda: (
                f"int() needs the value of {self._described()}, which is not known while the "
                "function is traced"
            ),
            'Write `x.astype("int64")`, or make the argument it comes from static: '
            "`pyc.jit(static_argnames=...)`.",
        )

    def __index__(self) -> int:
        raise self._refusal(
            TracerIntegerConversionError,
            lambda: (
                f"{self._described()} is used as a Python integer (a shape, an axis, a range, "
                "or an index of a list), which needs its value"
            ),
            "Make the argument it comes from static: `pyc.jit(static_argnames=...)`; loop with "
            "`pyc.lax.fori_loop`;\nto pick from a list or a NumPy array, pass that as an array "
            "argument and index it.",
        )

    def __float__(self) -> float:
        raise self._number_refusal(
            "float()",
            'Write `x.astype("float64")`; call functions of `numpy` in place of `math`.',
        )

    def __complex__(self) -> complex:
        raise self._number_refusal("complex()", 'Write `x.astype("complex128")`.')

    def __round__(self, digits: int | None = None) -> Any:
        """The elements rounded to `digits` decimals; an integer for a scalar without `digits`, as
        Python and NumPy give it."""
        out = pnp.round(self, digits or 0)
        if digits is None and not self.ndim:
            return pnp.astype(out, np.int64).weakened()
        return out.weakened() if self.weak is not None else out

    def __hash__(self) -> int:
        raise self._refusal(
            TraceError,
            lambda: f"{self._described()} is used as a key or in a set, which needs its value",
            "Use its position or its name as the key.",
        )

    def __format__(self, spec: str) -> str:
        if spec:
            raise self._number_refusal(
                f"the format {spec!r}", "Format the result outside the function."
            )
        return repr(self)

    def __array__(self, *args: Any, **options: Any) -> NoReturn:
        raise self._refusal(
            TracerArrayConversionError,
            lambda: (
                f"NumPy asked for the elements of {self._described()}, which are not known "
                "while the function is traced"
            ),
            "Call the function of `pyc.numpy` in place of NumPy's: `pyc.numpy.asarray(x)`, "
            "`pyc.numpy.stack([x, y])` for `np.array([x, y])`,\n"
            "`x.astype(np.float32)` for `np.float32(x)`, `pyc.numpy.take(a, i)` for `a[i]` of a "
            "NumPy array `a`;\n"
            "or do this step outside the jitted function.",
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._refusal(
            TraceError,
            lambda: f"`x[index] = value` would change {self._described()} in place",
            "Write `x = x.at[index].set(value)`, or `x = x.at[index].add(value)` for "
            "`x[index] += value`.",
        )

    def __delitem__(self, key: Any) -> None:
        raise TypeError("elements of an array cannot be deleted")

    def __copy__(self) -> Tracer:
        return self

    def __deepcopy__(self, memo: Any) -> Tracer:
        return self

    def __reduce__(self) -> NoReturn:
        raise self._number_refusal(
            "pickling", "Return the value from the jitted function, then pickle."
        )


class At:
    """`x.at`: takes an index."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> AtIndex:
        return AtIndex(self._array, key)


class AtIndex:
    """`x.at[key]`: the array with the elements at `key` changed; the array itself stays as it is.

    Where `key` names an element several times, `set` takes the last value, and the other methods
    apply all of them, in row-major order of the values. Indices out of range: `mode` is "raise"
    (IndexOutOfRangeError), "clip" (the nearest element), "wrap" (modulo the length), "drop" (left
    out of an update) or "fill" (`get` gives `fill_value`). unique_indices: the caller promises that
    no element is named twice.
    """

    __slots__ = ("_array", "_key")

    def __init__(self, array: Any, key: Any) -> None:
        self._array = array
        self._key = key

    def get(
        self, *, mode: str = "raise", fill_value: Any = None, unique_indices: bool = False
    ) -> Any:
        """The elements at the index."""
        return indexing.gather(
            self._array,
            self._key,
            mode=mode,
            fill_value=fill_value,
            unique_indices=unique_indices,
        )

    def _update(self, how: str, values: Any, mode: str, unique_indices: bool) -> Any:
        return indexing.update(
            self._array, self._key, values, how=how, mode=mode, unique_indices=unique_indices
        )

    def set(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements replaced by `values`."""
        return self._update("set", values, mode, unique_indices)

    def add(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """`values` added to the elements."""
        return self._update("add", values, mode, unique_indices)

    def subtract(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """`values` subtracted from the elements."""
        return self._update("subtract", values, mode, unique_indices)

    def multiply(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements multiplied by `values`."""
        return self._update("multiply", values, mode, unique_indices)

    def divide(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The elements divided by `values`."""
        return self._update("divide", values, mode, unique_indices)

    def min(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The smaller of the elements and `values`."""
        return self._update("min", values, mode, unique_indices)

    def max(self, values: Any, *, mode: str = "raise", unique_indices: bool = False) -> Any:
        """The greater of the elements and `values`."""
        return self._update("max", values, mode, unique_indices)

    def apply(
        self,
        function: Callable[[Any], Any],
        *,
        mode: str = "raise",
        unique_indices: bool = False,
    ) -> Any:
        """The elements replaced by `function` of them; an element named twice is changed once."""
        return self._update("apply", function, mode, unique_indices)
