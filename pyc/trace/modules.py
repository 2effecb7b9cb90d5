"""Modules as a traced function sees them: attributes are answered, not read.

`ModuleView` asks a function for each attribute and remembers the answer. Types that are also called
as functions (`np.float32(x)`, `float(x)`) are answered by what is done with them, each time.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from pyc.errors import PurityError
from pyc.reasons import Reason
from pyc.trace import location
from pyc.trace.callee import is_called

STANDS_FOR = "__pyc_stands_for__"
"""The attribute of a metaclass that says which one it stands for."""
MATHEMATICAL = ("math", "cmath", "statistics", "scipy.special")
"""Modules of functions of numbers that pyc has too."""
OF_LINALG = frozenset(
    ("cho_factor", "cho_solve", "expm", "lu", "lu_factor", "lu_solve", "solve_triangular")
)
"""Functions of `scipy.linalg` that pyc has too."""


class _Converters(dict[type, Callable[..., Any]]):
    """Types and functions; what stands for a type of another library is made when it is asked for,
    so that the library need not be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.others: dict[str, Callable[[type], Callable[..., Any]]] = {}
        """By module: makes what stands for a type of it."""

    def __missing__(self, kind: type) -> Callable[..., Any]:
        found = self[kind] = self.others[kind.__module__](kind)
        return found


CONVERTERS = _Converters()
"""Types, and the functions that stand for them where they are called; filled by the modules that
define these."""


_OWN: Any = vars(ModuleType)["__dict__"]
"""Where a module itself keeps its attributes."""


def _fact(name: str) -> Any:
    """An attribute that every module has: answered, as any other one."""
    return property(lambda self: self.__getattr__(name))


class ModuleView(ModuleType):
    """`module` with the attributes that `answer(name, value)` gives for the module's own. missed:
    told the name of an attribute that the module does not have; names: gives its `__dict__`."""

    __slots__ = ("__answer__", "__missed__", "__names__", "__viewed__")
    __answer__: Callable[[str, Any], Any]
    __missed__: Callable[[str], Any]
    __names__: Callable[[], Any]
    __viewed__: ModuleType

    def __init__(
        self,
        module: ModuleType,
        answer: Callable[[str, Any], Any],
        missed: Callable[[str], Any],
        names: Callable[[], Any],
    ) -> None:
        super().__init__(module.__name__)
        given = {"viewed": module, "answer": answer, "missed": missed, "names": names}
        for name, value in given.items():
            object.__setattr__(self, f"__{name}__", value)

    def __getattr__(self, name: str) -> Any:
        try:
            value = getattr(self.__viewed__, name)
        except AttributeError:
            self.__missed__(name)
            raise
        found = self.__answer__(name, value)
        if is_converter(found):
            return CONVERTERS[found] if is_called() else found
        _OWN.__get__(self)[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_write(f"`{self.__viewed__.__name__}.{name}`")

    def __delattr__(self, name: str) -> None:
        refuse_write(f"`{self.__viewed__.__name__}.{name}`")

    def __dir__(self) -> list[str]:
        return dir(self.__viewed__)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return self.__names__()

    __name__ = _fact("__name__")
    __doc__ = _fact("__doc__")
    __spec__ = _fact("__spec__")
    __package__ = _fact("__package__")
    __loader__ = _fact("__loader__")


def is_converter(value: Any) -> bool:
    """Whether a value is a type that is answered by what is done with it."""
    return isinstance(value, type) and (
        value in CONVERTERS or value.__module__ in CONVERTERS.others
    )


def changed_outside(what: str, rule: Reason = Reason.PURITY_OBJECT) -> PurityError:
    """The error of a function that changes something that existed before it was called."""
    return PurityError(
        f"the function changes {what}, which exists outside of it: compiled code would not do so",
        rule=rule,
        fix="Return the new value, and assign it outside the jitted function.",
    )


def refuse_write(what: str, rule: Reason = Reason.PURITY_OBJECT) -> NoReturn:
    """Raises PurityError for a change that is about to happen."""
    raise changed_outside(what, rule).at(location.here())
