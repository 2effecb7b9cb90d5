"""Whose code a module is: the user's is traced through views, other people's is left alone.

Left alone are
* the standard library, NumPy, pyc itself and what it is built on;
* installed packages (below `site-packages` or `dist-packages`) that have loaded compiled extension
  modules, such as SciPy or pandas: their Python parts hand arrays to C.

Everything else is the user's: scripts, notebooks, `exec`uted text, local packages, and installed
packages that are written in Python only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

from pyc.trace import location

_LIBRARY = os.path.join(os.path.dirname(os.path.realpath(os.__file__)), "")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LEFT_ALONE = ("numpy", "ml_dtypes", "llvmlite", "msgpack")
SET_BY_PYTHON = frozenset(
    [
        *("__dict__", "__weakref__", "__annotations__", "__annotations_cache__", "__annotate__"),
        *("__abstractmethods__", "_abc_impl", "__slotnames__", "__static_attributes__"),
        *("__annotate_func__", "__firstlineno__"),
    ]
)
"""Names of a class that Python itself sets when it likes to."""


def is_users(names: Mapping[str, Any]) -> bool:
    """Whether the module with these global names is the user's."""
    name, file = names.get("__name__"), names.get("__file__")
    return _is_users(name if isinstance(name, str) else "", file if isinstance(file, str) else "")


@cache
def _is_users(name: str, file: str) -> bool:
    top = name.partition(".")[0]
    if top in _LEFT_ALONE or name.startswith("namedtuple_"):
        return False
    if file:
        path = os.path.realpath(file)
        if location.is_own(file):
            return False
        if any(part in path for part in _INSTALLED):
            return not _is_compiled(top)
        return not path.startswith(_LIBRARY)
    return top not in sys.stdlib_module_names


def _is_compiled(package: str) -> bool:
    """Whether a module of the package, of those loaded now, is compiled."""
    inside = f"{package}."
    files = (
        getattr(module, "__file__", None)
        for name, module in list(sys.modules.items())
        if name == package or name.startswith(inside)
    )
    return any(file is not None and file.endswith(tuple(EXTENSION_SUFFIXES)) for file in files)


def is_users_class(cls: type) -> bool:
    """Whether a class was made by the user's code, or holds nothing but the user's attributes."""
    if cls.__module__ == "argparse" and cls.__name__ == "Namespace":
        return True
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "builtins":
        return cls.__module__ != "builtins" and bool(cls.__flags__ & _MADE_BY_CLASS_STATEMENT)
    return is_users(vars(module))


_MADE_BY_CLASS_STATEMENT = 1 << 9  # Py_TPFLAGS_HEAPTYPE
