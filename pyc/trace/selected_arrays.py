"""What arrays of a length that depends on data have in common: `selection.Selection` and
`boxes.Box`.

The elements are held in an array of whole axes, `values`, with those that are not selected among
them. What is a slice of an array is a view: its values are those that the array has now, and what
is stored in it is stored there.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from pyc.errors import ConcretizationError, format_place
from pyc.interpreter import current
from pyc.ir.graph import Location
from pyc.trace import dispatch, location
from pyc.trace.masks import FIX
from pyc.trace.parts import Selected
from pyc.trace.tracer import Tracer

_REWRITE = "`y = x.copy()` before, and change that"


def _elementwise(ufunc: np.ufunc, reflected: bool = False) -> Any:
    """The method of an operator."""

    def operator(self: SelectedArray, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        return self.__array_ufunc__(ufunc, "__call__", *pair)

    return operator


def _in_place(ufunc: np.ufunc) -> Any:
    """The method of an augmented assignment."""

    def operator(self: SelectedArray, other: Any) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self, other, out=(self,))

    return operator


def _refused(use: str) -> Any:
    """A method that is refused."""

    def method(self: SelectedArray, *args: Any, **options: Any) -> NoReturn:
        self.refuse(use)

    return method


def _reduction(name: str) -> Any:
    """The method of a reduction."""

    def method(self: SelectedArray, axis: Any = None, **options: Any) -> Any:
        return self.reduced(name, axis, **options)

    method.__doc__ = f"`np.{name}` of the selected elements."
    return method


class SelectedArray(Selected):
    """values: whole axes, in memory of its own or of the array that it is a slice of; made: where
    in the user's code."""

    __slots__ = ("made", "values")

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Tracer, made: Location | None) -> None:
        self.values = values
        self.made = made or location.here()

    # --- what it is -------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.values.dtype

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` sees."""
        return np.ndarray

    @property
    def type(self) -> NoReturn:
        """ConcretizationError: whoever asks needs an array of a known shape."""
        raise ConcretizationError(
            "what a mask, or a slice with a traced bound, selects is a number of elements that "
            "depends on data",
            fix=FIX,
            place=self.made,
        )

    def __repr__(self) -> str:
        return f"<elements of {self.values!r} under a mask>"

    def refuse(self, use: str) -> NoReturn:
        """ConcretizationError for a use that needs to know how many are selected."""
        made = f" (selected at {format_place(self.made)})" if self.made else ""
        raise ConcretizationError(
            f"{use} needs to know how many elements a mask, or a slice with a traced bound, "
            f"selects, which depends on data"
            f"{made}",
            fix=FIX,
            place=location.here(),
        )

    def replace(self, values: Any) -> None:
        """Other values in place of these, in their memory: those that are not selected are the same
        ones."""
        self.values.change(values, "an assignment to a slice", _REWRITE)

    def own_values(self) -> Tracer:
        """A copy of the values, in the trace that is current."""
        copied: Tracer = current().copy(current().lift(self.values))
        return copied

    def copy(self) -> Any:
        """The elements in memory of their own."""
        raise NotImplementedError

    def reduced(self, name: str, axis: Any = None, **options: Any) -> Any:
        """A reduction over all axes, or some."""
        raise NotImplementedError

    # --- operators --------------------------------------------------------------------------------

    __add__, __radd__ = _elementwise(np.add), _elementwise(np.add, True)
    __sub__, __rsub__ = _elementwise(np.subtract), _elementwise(np.subtract, True)
    __mul__, __rmul__ = _elementwise(np.multiply), _elementwise(np.multiply, True)
    __truediv__, __rtruediv__ = _elementwise(np.divide), _elementwise(np.divide, True)
    __floordiv__ = _elementwise(np.floor_divide)
    __rfloordiv__ = _elementwise(np.floor_divide, True)
    __mod__, __rmod__ = _elementwise(np.remainder), _elementwise(np.remainder, True)
    __pow__, __rpow__ = _elementwise(np.power), _elementwise(np.power, True)
    __matmul__, __rmatmul__ = _elementwise(np.matmul), _elementwise(np.matmul, True)
    __and__, __rand__ = _elementwise(np.bitwise_and), _elementwise(np.bitwise_and, True)
    __or__, __ror__ = _elementwise(np.bitwise_or), _elementwise(np.bitwise_or, True)
    __xor__, __rxor__ = _elementwise(np.bitwise_xor), _elementwise(np.bitwise_xor, True)
    __lshift__, __rshift__ = _elementwise(np.left_shift), _elementwise(np.right_shift)
    __eq__, __ne__ = _elementwise(np.equal), _elementwise(np.not_equal)
    __lt__, __le__ = _elementwise(np.less), _elementwise(np.less_equal)
    __gt__, __ge__ = _elementwise(np.greater), _elementwise(np.greater_equal)
    __iadd__, __isub__ = _in_place(np.add), _in_place(np.subtract)
    __imul__, __itruediv__ = _in_place(np.multiply), _in_place(np.divide)
    __ifloordiv__, __imod__ = _in_place(np.floor_divide), _in_place(np.remainder)
    __ipow__, __iand__ = _in_place(np.power), _in_place(np.bitwise_and)
    __ior__, __ixor__ = _in_place(np.bitwise_or), _in_place(np.bitwise_xor)

    def __pos__(self) -> Any:
        return self.copy()

    def __neg__(self) -> Any:
        return self.__array_ufunc__(np.negative, "__call__", self)

    def __abs__(self) -> Any:
        return self.__array_ufunc__(np.absolute, "__call__", self)

    def __invert__(self) -> Any:
        return self.__array_ufunc__(np.invert, "__call__", self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's ufunc on such arrays."""
        return dispatch.call_ufunc(ufunc, method, dispatch.with_scalars(inputs), options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's function on such arrays."""
        return dispatch.call_function(function, args, kwargs)

    # --- reductions -------------------------------------------------------------------------------

    sum, prod, mean = _reduction("sum"), _reduction("prod"), _reduction("mean")
    min, max = _reduction("min"), _reduction("max")
    any, all = _reduction("any"), _reduction("all")
    var, std = _reduction("var"), _reduction("std")

    # --- refused ----------------------------------------------------------------------------------

    __len__ = _refused("`len` by another name")
    __bool__ = _refused("a truth value")
    __iter__ = _refused("a loop in Python")
    __array__ = _refused("code that pyc does not trace")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        self.refuse(f"`.{name}`")


__all__ = ["SelectedArray"]
