"""Methods of NumPy's arrays that traced ones do not have: each refuses to be called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from pyc.errors import PurityError, UnsupportedOpError
from pyc.reasons import Reason
from pyc.trace import location

_FILES = ("dump", "tofile")


def absent(array: Any, name: str) -> Callable[..., NoReturn]:
    """What stands for the method `name` of a traced array."""
    return partial(_refuse, array, name)


def _refuse(array: Any, name: str, *args: Any, **options: Any) -> NoReturn:
    if name in _FILES:
        raise PurityError(
            f"`.{name}()` of {array._described()} writes a file while the function is traced: "
            "compiled code would not do so",
            rule=Reason.PURITY_FILE,
            fix="Return the array and write it outside of the jitted function; or write it by a "
            "function\nthat is called each time the program runs: `pyc.debug.callback(save, x)`.",
            place=location.here(),
        )
    raise UnsupportedOpError(
        f"`.{name}()` of {array._described()} cannot be traced",
        fix="Call it outside of the jitted function, on the array itself.",
        place=location.here(),
    )


__all__ = ["absent"]
