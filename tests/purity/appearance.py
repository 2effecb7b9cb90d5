"""What can be seen of an object, as plain values: to tell whether it is as it was before."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import decimal
import hashlib
import io
import itertools
import logging
import threading
import types
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

DEEPEST = 6


def appearance(x: Any, depth: int = 0) -> Any:
    """A plain value, equal for objects that look the same."""
    if depth > DEEPEST:
        return type(x).__name__
    own = type(x).__name__
    for kinds, parts in PARTS:
        if isinstance(x, kinds):
            return (own, *(appearance(part, depth + 1) for part in parts(x)))
    if x is None or isinstance(x, (bool, int, float, str, bytes)):
        return repr(x)
    return (own, id(x), *_attributes(x, depth))


def _attributes(x: Any, depth: int) -> list[Any]:
    try:
        named = dict(object.__getattribute__(x, "__dict__"))
    except (AttributeError, TypeError):
        named = {}
    for cls in type(x).__mro__:
        names = vars(cls).get("__slots__", ())
        for name in [names] if isinstance(names, str) else names:
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                named[name] = getattr(x, name)
    return [(name, appearance(value, depth + 1)) for name, value in named.items()]


def _pairs(x: Any) -> Any:
    return [part for pair in x.items() for part in pair]


def _array(x: Any) -> Any:
    return [*map(repr, x.ravel().tolist()), x.shape, x.flags.writeable]


def _class(x: Any) -> Any:
    if not x.__module__.startswith("tests"):
        return []
    left = ("__dict__", "__weakref__", "__abstractmethods__", "_abc_impl")
    return [part for k, v in vars(x).items() if k not in left for part in (k, v)]


def _function(x: Any) -> Any:
    facts = [x.__name__, x.__doc__, x.__defaults__, x.__kwdefaults__, x.__annotations__, vars(x)]
    return [*facts, *(c.cell_contents for c in x.__closure__ or ())]


def _error(x: Any) -> Any:
    return [x.args, vars(x)]


PARTS: tuple[tuple[Any, Any], ...] = (
    ((type,), _class),
    ((io.StringIO, io.BytesIO), lambda x: [x.getvalue(), x.tell()]),
    ((types.ModuleType, io.IOBase, logging.Logger), lambda x: []),
    ((bytearray, memoryview, array.array, ctypes.Array), lambda x: [bytes(x)]),
    ((itertools.count, decimal.Context), lambda x: [repr(x)]),
    ((types.GeneratorType,), lambda x: [x.gi_frame and x.gi_frame.f_lasti]),
    ((ET.Element,), lambda x: [ET.tostring(x)]),
    ((type(hashlib.sha256()),), lambda x: [x.hexdigest()]),
    ((np.random.Generator,), lambda x: [x.bit_generator.state]),
    ((contextvars.ContextVar,), lambda x: [x.get(None)]),
    ((types.FunctionType,), _function),
    ((np.ndarray,), _array),
    ((collections.OrderedDict,), _pairs),
    ((dict, types.MappingProxyType), _pairs),
    ((list, tuple, collections.deque), list),
    ((set,), lambda x: sorted(map(repr, x))),
    ((BaseException,), _error),
    ((threading.local,), lambda x: [vars(x)]),
)
