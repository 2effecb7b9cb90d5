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

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

import pyc.numpy as pnp
from pyc.array import Array as DeviceArray
from pyc.errors import (
    ConcretizationError,
    TraceError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from pyc.interpreter import bind, current, weak_type
from pyc.ir import dtype as dt
from pyc.ir.graph import Location, Value
from pyc.numpy import indexing
from pyc.numpy.core import plain_number
from pyc.numpy.elementwise import exponent
from pyc.trace import absent_methods, checking, dispatch, location, selecting, strangers, updating
from pyc.trace.memory import ArrayMemory, Owner
from pyc.trace.methods import ArrayMethods
from pyc.trace.parts import At, Flat, Selected
from pyc.trace.telling import tell

PYTHON_TYPE: dict[dt.DType, type] = {dt.b1: bool, dt.i64: int, dt.f64: float, dt.c128: complex}
"""The Python number type that has an element type, for results of weak operands."""


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    return pnp.broadcast_to(x, shape) if shape else x


_OPERANDS = (int, float, complex, np.ndarray, np.generic, list, tuple, DeviceArray)


def _binary(name: str, symbol: str, reflected: bool = False) -> Any:
    """The method of a binary operator; `name` is its function in pyc.numpy."""

    def operator(self: Tracer, other: Any) -> Any:
        if type(other) is not Tracer:
            if isinstance(other, Selected) or not isinstance(other, _OPERANDS):
                return strangers().stranger(self, name, symbol, other)
            if isinstance(other, (list, tuple)) and not self.type.shape:
                found = strangers().beside_sequence(self, name, symbol, other)
                if found is not None:
                    return found
        if self.weak is not None:  # a Python number, and so is what a class of numbers gives
            other = plain_number(other)
        if name == "pow" and not reflected:
            other = exponent(self, other)
        function = getattr(pnp, name)
        out = function(other, self) if reflected else function(self, other)
        if self.weak is not None and weak_type(other) is not None:
            return out.weakened()
        return out

    operator.__doc__ = f"Elements of the array under `{symbol}`."
    return operator


def _times(reflected: bool = False) -> Any:
    """The method of `*`: an integer repeats a text, as in Python and NumPy."""
    multiplied = _binary("multiply", "*", reflected)

    def operator(self: Tracer, other: Any) -> Any:
        if isinstance(other, (str, bytes)) and not self.ndim and self.type.dtype.is_integer:
            return strangers().repeated(self, other)
        return multiplied(self, other)

    operator.__doc__ = multiplied.__doc__
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
    place either; for arrays the elements change, for every alias too."""

    def operator(self: Tracer, other: Any) -> Any:
        if self.weak is not None or not self.is_array:
            value = getattr(self, method)(other)
            if self.weak is None and self.may_be_array:
                current().lift(self).replaced()
            return value
        rewrite = f"`a = a {symbol} b`"
        here: Tracer = current().lift(self)
        here.check_writable(f"`{symbol}=`", rewrite)
        reflected = isinstance(other, Selected)  # which has the operators of both sides
        operation = getattr(other, f"__r{method[2:]}") if reflected else getattr(self, method)
        found = operation(self if reflected else other)
        if isinstance(found, Selected):
            found.refuse(f"`{symbol}=` of an array")
        self.change(updating.fitted(f"`{symbol}=`", self, found), f"`{symbol}=`", rewrite)
        return self

    operator.__doc__ = f"`{symbol}=`: of an array, in place."
    return operator


def _may_select(key: Any) -> bool:
    """Whether there is a mask in an index, or what one has selected, or a traced bound."""
    if type(key) is tuple:
        return any(map(_may_select, key))
    if type(key) is Tracer:
        return key.type.dtype is dt.b1 and bool(key.type.shape)
    if type(key) is slice:
        return Tracer in (type(key.start), type(key.stop), type(key.step))
    return isinstance(key, Selected)


def _has_ellipsis(key: Any) -> bool:
    return any(k is Ellipsis for k in key) if isinstance(key, tuple) else key is Ellipsis


class Tracer(ArrayMemory, ArrayMethods):
    """A value of a trace. owner: the trace; value: its name in the Graph; weak: the Python number
    type it stands for, None for arrays and NumPy scalars."""

    __slots__ = ("alone", "bound", "required", "weak")

    def __init__(
        self,
        owner: Owner,
        value: Value,
        weak: type | None = None,
        *,
        outer: Tracer | None = None,
    ) -> None:
        """outer: the tracer of a surrounding trace that this one stands for."""
        super().__init__(owner, value, outer)
        self.weak = weak
        self.bound: tuple[Any, str, Location | None] | None = None
        """Whether the variable has a value, traced, its name, and where it may get one; None if it
        has one."""
        self.alone: Tracer | None = None
        """See `bare`."""
        self.required = False
        """Whether it had `bound` when it was used: it may have had no value until then."""

    def bare(self) -> Tracer:
        """The same value in the same memory, whether the variable has one or not."""
        if self.bound is None:
            return self
        if self.alone is None:
            self.alone = Tracer(self.owner, self._value, self.weak, outer=self.outer)
            self.alone.named = self
        found = self.alone
        found.argument, found.boxed, found.dense = self.argument, self.boxed, self.dense
        found.either = self.either
        found.viewed, found.step, found._seen = self.viewed, self.step, self._seen
        return found

    def require(self) -> None:
        """From now on it has a value, or the program fails."""
        assert self.bound is not None
        (bound, name, _), self.bound, self.required = self.bound, None, True
        if self.owner.is_function:
            checking().check_bound(bound, name, self.owner.place())
            return
        found = bind(
            "require", Tracer(self.owner, self.value), _spread(bound, self.shape), name=name
        )
        self._value = self.made = found[0].value

    def strengthened(self) -> Tracer:
        """The same value as an array's: a Python number with a type of its own from now on."""
        return self if self.weak is None else Tracer(self.owner, self.value)

    def weakened(self) -> Tracer:
        """The same value, standing for a Python number."""
        return Tracer(self.owner, self.value, PYTHON_TYPE.get(self.type.dtype))

    def __repr__(self) -> str:
        found = self._told(repr)
        if found is None and self.weak is not None and self.owner.open:
            # The user's code may compare it; that of messages and debuggers wants to see a tracer.
            asks_itself = location.is_own_frame(sys._getframe(1))
            found = None if asks_itself else self._written(repr)
        return found or f"<traced {self._type_name()}>"

    def _type_name(self) -> str:
        return self.weak.__name__ if self.weak is not None else str(self.type)

    def _told(self, show: Callable[[Any], str]) -> str | None:
        """What stands for a number in the text of an exception."""
        return None if self.ndim else tell(self, self._type_name(), show)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` sees: NumPy's array, or its scalar type, also for arguments of rank 0;
        for what stands for a Python number, the type of that. `type(x)` is Tracer."""
        if self.weak is not None:
            return self.weak
        return np.ndarray if self.is_known_array else self.type.dtype.numpy.type

    def known(self) -> np.ndarray[Any, Any] | None:
        """The elements, if they do not depend on an argument of the traced function."""
        return self.owner.known(self.value)

    def needed(self) -> np.ndarray[Any, Any] | None:
        """The elements as `known`, also of number arguments and captured arrays: asked where the
        trace cannot go on without them, since the program is then for these values only."""
        return self.owner.needed(self.value)

    @property
    def is_at_hand(self) -> bool:
        """Whether `needed` would give the elements."""
        return self.owner.is_at_hand(self.value)

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
        pnp.real(self)[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return pnp.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if not self.type.dtype.is_complex:
            raise TypeError("cannot set the imaginary part of a real array")
        pnp.imag(self)[...] = value

    @property
    def flat(self) -> Flat:
        """The elements in row-major order, to be read and changed in place."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    @property
    def at(self) -> At:
        """`x.at[index].set(v)` and its kin: the array with some elements changed."""
        return At(self)

    def __getattr__(self, name: str) -> Any:
        if self.weak is not None and hasattr(self.weak, name):
            found = self.needed()  # `n.bit_length()`, `t.is_integer()`: of Python's numbers
            if found is not None:
                return getattr(found.item(), name)
        known = hasattr(self.__class__, name)
        if known and not name.startswith("_") and callable(getattr(np.ndarray, name, None)):
            return absent_methods().absent(self, name)
        reason = "cannot be traced" if known else "is not an attribute of arrays"
        raise AttributeError(f"`.{name}` of {self!r} {reason}", name=name, obj=self)

    # --- operators --------------------------------------------------------------------------------

    __add__, __radd__ = _binary("add", "+"), _binary("add", "+", True)
    __sub__, __rsub__ = _binary("subtract", "-"), _binary("subtract", "-", True)
    __mul__, __rmul__ = _times(), _times(True)
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
        """The elements at `key`, as NumPy indexes; a `Selection` for a traced mask, a `Box` for
        slices with traced bounds."""
        array = self
        if _may_select(key):
            array, key = selecting().narrowed(self, key)
            if selecting().slices(key):
                return selecting().part(array, key)
            if selecting().selects(key):
                return selecting().taken(array, key)
        found = indexing.getitem(array, key)
        if found.shape:
            return found
        if _has_ellipsis(key):
            return current().boxed(found)
        return current().separate(found, (found,))  # all axes taken by integers give a scalar

    def __len__(self) -> int:
        """Length of the first axis; TypeError for rank 0."""
        if not self.ndim:
            raise TypeError("len() of a traced scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """The slices along the first axis, NumPy's scalars where they are known; TypeError for
        rank 0."""
        if not self.ndim:
            raise TypeError("iteration over a traced scalar")
        found = self.known() if self.ndim == 1 else None
        if found is not None:
            return iter(found)
        return (self[k] for k in range(self.shape[0]))

    def __contains__(self, item: Any) -> NoReturn:
        raise self.refusal(
            TracerBoolConversionError,
            lambda: f"`in` asks for the truth of a comparison with {self._described()}",
            "Write `(x == item).any()`, and decide with `where` or `pyc.lax.cond`.",
        )

    # --- NumPy's protocols ------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufunc on traced arrays, by the function of pyc.numpy of the same name."""
        return dispatch.call_ufunc(ufunc, method, dispatch.with_scalars(inputs), options)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """NumPy's function on traced arrays, by the function of pyc.numpy of the same name."""
        return dispatch.call_function(function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """pyc.numpy, which follows the array API standard."""
        return pnp

    # --- what needs the value ---------------------------------------------------------------------

    def _number_refusal(self, asked: str, fix: str) -> TraceError:
        return self.refusal(
            ConcretizationError,
            lambda: (
                f"{asked} needs the value of {self._described()}, which is not known while the "
                "function is traced"
            ),
            fix,
        )

    def _assignment_refusal(self, name: str, rewrite: str) -> TraceError:
        return self.refusal(
            TraceError,
            lambda: f"assigning to `.{name}` would change {self._described()} in place",
            f"Write `{rewrite}`, which makes a new array.",
        )

    def __bool__(self) -> bool:
        if self.size != 1:
            raise self.refusal(
                TracerBoolConversionError,
                lambda: (
                    f"the truth of {self._described()} is ambiguous: it has {self.size} elements"
                ),
                "Write `(a < x) & (x < b)` for `a < x < b`; `&`, `|`, `~` for `and`, `or`, `not`; "
                "`pyc.numpy.where(c, a, b)` to choose by element;\n"
                "`.any()` or `.all()` for one answer.",
            )
        found = self.needed()
        if found is not None:
            return bool(found)
        raise self.refusal(
            TracerBoolConversionError,
            lambda: f"the truth of {self._described()} is needed while the function is traced",
            "Write `pyc.numpy.where(c, a, b)` for `a if c else b`, "
            "`pyc.lax.cond(c, true_fun, false_fun, *operands)` for `if`, "
            "`pyc.lax.while_loop` for `while`,\n"
            "`&`, `|`, `~` for `and`, `or`, `not`, `pyc.numpy.maximum` for `max`; "
            "or make the argument it comes from static: `pyc.jit(static_argnames=...)`.",
        )

    def __int__(self) -> int:
        found = self.needed()
        if found is not None:
            return int(found)
        raise self.refusal(
            TracerIntegerConversionError,
            lambda: (
                f"int() needs the value of {self._described()}, which is not known while the "
                "function is traced"
            ),
            "Call `int(x)` by this name in the function (`[int(v) for v in x]` for `map(int, x)`), "
            'or write `x.astype("int64")`;\nor make the argument it comes from static: '
            "`pyc.jit(static_argnames=...)`.",
        )

    def __index__(self) -> int:
        found = self.needed()
        if found is not None:
            return operator.index(found[()])
        raise self.refusal(
            TracerIntegerConversionError,
            lambda: (
                f"{self._described()} is used as a Python integer (a shape, an axis, a range, "
                "or an index of a list), which needs its value"
            ),
            "Pass the argument it comes from as a number, such as `int(n)`, or make it static: "
            "`pyc.jit(static_argnames=...)`;\nloop with `pyc.lax.fori_loop`; to pick from a list "
            "or a NumPy array, pass that as an array argument and index it.",
        )

    def __float__(self) -> float:
        found = self.needed()
        if found is not None:
            return float(found)
        raise self._number_refusal(
            "float()",
            "Call `float(x)` by this name in the function (`[float(v) for v in x]` for "
            '`map(float, x)`), or write `x.astype("float64")`.',
        )

    def __complex__(self) -> complex:
        found = self.needed()
        if found is not None:
            return complex(found)
        raise self._number_refusal(
            "complex()",
            'Call `complex(x)` by this name in the function, or write `x.astype("complex128")`.',
        )

    def __round__(self, digits: int | None = None) -> Any:
        """The elements rounded to `digits` decimals; an integer for a scalar without `digits`, as
        Python and NumPy give it."""
        out = pnp.round(self, digits or 0)
        if digits is None and not self.ndim:
            return pnp.astype(out, np.int64).weakened()
        return out.weakened() if self.weak is not None else out

    def __hash__(self) -> int:
        if not self.ndim:
            found = self.needed()
            if found is not None:
                return hash(found.item())
        raise self.refusal(
            TraceError,
            lambda: f"{self._described()} is used as a key or in a set, which needs its value",
            "Use its position or its name as the key.",
        )

    def __str__(self) -> str:
        found = self.known()
        if found is not None:
            return str(found)
        return self._told(str) or self._written(str) or repr(self)

    def _written(self, show: Callable[[Any], str]) -> str | None:
        """The text of a Python number that is at hand, for whose value the program is then: a text
        may be a key, or have a length."""
        found = self.needed() if self.weak is not None else None
        return None if found is None else show(found.item())

    def __format__(self, spec: str) -> str:
        found = self.known()
        if found is not None:
            return format(found if self.ndim else found.item(), spec)
        told = self._told(lambda x: format(x, spec)) or self._written(lambda x: format(x, spec))
        if told is not None:
            return told
        if spec:
            raise self._number_refusal(
                f"the format {spec!r}", "Format the result outside the function."
            )
        return repr(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = self.needed()
        if found is not None:
            return np.array(found, dtype)
        raise self.refusal(
            TracerArrayConversionError,
            lambda: (
                f"NumPy asked for the elements of {self._described()}, which are not known "
                "while the function is traced"
            ),
            "Code that pyc does not trace, or a type in a variable, needs them. Write "
            "`x.astype(dtype)` for `dtype(x)`, `np.take(a, i)` for `a[i]` of a NumPy array `a`,\n"
            "functions of `numpy` for those of other libraries; or do this step outside the jitted "
            "function.",
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        """The elements at `key` become `value`, as NumPy assigns: in place, cast to the array's
        dtype, and through every view."""
        what = "`x[index] = value`"
        rewrite = "`x = x.at[index].set(value)`"
        here: Tracer = current().lift(self)
        here.check_writable(what, rewrite)
        if type(key) is not Tracer and _may_select(key):
            array, key = selecting().narrowed(self, key)
            if array is not self:
                array[key] = value
                return
            if selecting().slices(key):
                selecting().part(self, key).assign(value)
                return
        if isinstance(value, Selected) or (
            type(key) is not Tracer and _may_select(key) and selecting().selects(key)
        ):
            new = selecting().stored(self, key, value)
        elif type(value) is Tracer and value.viewed is not None and here._holds(value, key):
            return  # `a[key] += v` has changed the view `a[key]`, and now assigns it to itself
        else:
            new = updating.assigned(self, key, value)
        self.change(new, what, rewrite)

    def _holds(self, view: Tracer, key: Any) -> bool:
        """Whether a view is that of the elements at `key`."""
        if updating.is_mask(key):
            return False
        part: Tracer = indexing.getitem(self, key)
        return part.is_same_part(current().lift(view))

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise self._number_refusal(
            "pickling", "Return the value from the jitted function, then pickle."
        )
