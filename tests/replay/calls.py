"""`Call`: a function by name with plain arguments, as it is kept in a file.

Plain are arrays of bools, integers, floats up to 64 bits and complex numbers up to 128, in the byte
order of the machine; scalars of these types; Python numbers, None, Ellipsis, slices, dtypes; tuples
and lists of all these; and short texts, which are data in a list. A call with anything else is not
kept, nor one with two arrays that overlap in memory.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

MOST_ELEMENTS = 2048
"""Of an array of a call."""
MOST_ITEMS = 64
"""Of a tuple or list of a call, and characters of a text."""
MOST_TEXT = 400
"""Characters of a call as it is shown."""
_SINGLE = (type(None), bool, int, float, complex, type(Ellipsis))
_NAMED = (bool, int, float, complex)


class NotPlain(Exception):
    """An argument that is not kept."""


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a dtype are plain numeric arrays."""
    return dtype.isnative and (
        dtype.kind in "biu"
        or (dtype.kind == "f" and dtype.itemsize <= 8)
        or (dtype.kind == "c" and dtype.itemsize <= 16)
    )


@dataclass(frozen=True)
class Kept:
    """An array of a call: the same `number` is the same array; strides are in elements."""

    number: int
    values: Any
    strides: tuple[int, ...]

    def made(self) -> Any:
        """The array anew, in memory of its own, with the strides it had."""
        if self.values.size == 0 or 0 in self.strides:
            return self.values.copy()
        reach = [(n - 1) * s for n, s in zip(self.values.shape, self.strides, strict=True)]
        start = -sum(r for r in reach if r < 0)
        memory = np.zeros(start + sum(r for r in reach if r > 0) + 1, self.values.dtype)
        steps = tuple(s * memory.itemsize for s in self.strides)
        found = np.lib.stride_tricks.as_strided(memory[start:], self.values.shape, steps)
        found[...] = self.values
        return found


def _names_no_number(text: str) -> bool:
    """Whether a text is a dtype, but not of plain arrays."""
    try:
        return not is_plain(np.dtype(text))
    except (TypeError, ValueError, SyntaxError):
        return False


def _packed(x: Any, arrays: list[Any], depth: int = 0) -> Any:
    if type(x) is np.ndarray:
        if not is_plain(x.dtype) or x.size > MOST_ELEMENTS or (x.size and not x.flags.aligned):
            raise NotPlain
        number = next((k for k, a in enumerate(arrays) if a is x), len(arrays))
        if number == len(arrays):
            if any(np.may_share_memory(a, x) for a in arrays):
                raise NotPlain
            arrays.append(x)
        strides = tuple(s // x.itemsize for s in x.strides)
        if any(s % x.itemsize for s in x.strides):
            raise NotPlain
        return Kept(number, x.copy(order="C"), strides)
    if isinstance(x, np.generic):
        if not is_plain(x.dtype):
            raise NotPlain
        return x
    if type(x) in _SINGLE or x in _NAMED:
        return x
    if type(x) is str and len(x) <= MOST_ITEMS and not depth and not _names_no_number(x):
        return x
    if isinstance(x, np.dtype) and is_plain(x):
        return x
    if isinstance(x, type) and issubclass(x, np.generic):
        if x.__name__ not in np.sctypeDict or not is_plain(np.dtype(x)):
            raise NotPlain
        return np.dtype(x).type
    if type(x) is slice:
        return slice(*(_packed(v, arrays, depth + 1) for v in (x.start, x.stop, x.step)))
    if type(x) in (list, tuple) and len(x) <= MOST_ITEMS and depth < 5:
        return type(x)([_packed(v, arrays, depth + 1) for v in x])
    raise NotPlain


def packed(args: Any, kwargs: Any) -> Any:
    """The arguments of a call as they are kept.

    raises NotPlain: one is not plain
    """
    arrays: list[Any] = []
    try:
        named = {k: _packed(v, arrays) for k, v in sorted(kwargs.items())}
        return tuple(_packed(v, arrays) for v in args), named
    except (TypeError, ValueError, OverflowError):  # of comparing unknown objects
        raise NotPlain from None


def filled(x: Any, give: Callable[[Kept], Any]) -> Any:
    """`x` with what `give` gives in place of each array."""
    if isinstance(x, Kept):
        return give(x)
    if type(x) in (list, tuple):
        return type(x)([filled(v, give) for v in x])
    if type(x) is dict:
        return {k: filled(v, give) for k, v in x.items()}
    return x


def arrays_of(x: Any) -> Iterator[Kept]:
    """The arrays among arguments, each as often as it occurs."""
    if isinstance(x, Kept):
        yield x
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from arrays_of(v)
    elif isinstance(x, dict):
        yield from arrays_of(tuple(x.values()))


def _form(x: Any) -> Any:
    """What calls of one kind have in common."""
    if isinstance(x, Kept):
        return (x.values.dtype.str, x.values.ndim, x.values.size == 0, x.strides[-1:] == (1,))
    if type(x) in (list, tuple):
        return (type(x).__name__, *sorted({repr(_form(v)) for v in x}))
    if type(x) in (int, float, complex) or isinstance(x, np.generic):
        return type(x).__name__
    return repr(x)


@dataclass(frozen=True)
class Call:
    """A call of a function, by its path: "numpy.linalg.norm", "numpy.add.reduce"."""

    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @cached_property
    def key(self) -> str:
        """A digest of the function, the dtypes, shapes, strides and values, and the keywords."""
        content: list[Any] = []

        def note(x: Any) -> Any:
            """`x` in a form in which equal calls have equal bytes."""
            if isinstance(x, Kept):
                shape = x.values.shape, x.strides
                return (x.number, x.values.dtype.str, shape, x.values.tobytes())
            if isinstance(x, np.generic):
                return (x.dtype.str, x.tobytes())
            if type(x) in (list, tuple):
                return (type(x).__name__, [note(v) for v in x])
            return (type(x).__name__, repr(x))

        content += [self.path, note(self.args), [(k, note(v)) for k, v in self.kwargs.items()]]
        return hashlib.sha256(repr(content).encode()).hexdigest()[:16]

    @cached_property
    def form(self) -> str:
        """What it has in common with the calls of its kind: the types, ranks and names."""
        return repr((self.path, _form(self.args), [(k, _form(v)) for k, v in self.kwargs.items()]))

    def __str__(self) -> str:
        def text(x: Any) -> str:
            if isinstance(x, Kept):
                values = np.array2string(x.values, threshold=8, edgeitems=1, separator=",")
                return f"<{x.values.dtype}{list(x.values.shape)} {' '.join(values.split())}>"
            if type(x) in (list, tuple):
                inner = ", ".join(map(text, x[:8])) + (", ..." if len(x) > 8 else "")
                return f"[{inner}]" if type(x) is list else f"({inner})"
            return repr(x)

        items = [*map(text, self.args), *(f"{k}={text(v)}" for k, v in self.kwargs.items())]
        return f"{self.path}({', '.join(items)})"[:MOST_TEXT]


def read(file: Any) -> Iterator[Call]:
    """The calls of an open file, to its end or to where its writer was stopped."""
    while True:
        try:
            yield Call(*pickle.load(file))
        except (EOFError, pickle.UnpicklingError):
            return


def write(file: Any, call: Call) -> None:
    """Adds a call to an open file."""
    pickle.dump((call.path, call.args, call.kwargs), file)
