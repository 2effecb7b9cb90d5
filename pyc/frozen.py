"""`frozen`: data classes that cost little to define.

A class with annotated fields becomes a frozen record with slots, as `dataclass(frozen=True,
slots=True)` makes it; type checkers see just that. A data class costs 0.5 ms at each start, since
five methods are compiled for it, and the module that makes it 2 ms; here all classes of one size
share the code of `__init__`, and `import pyc` defines a hundred of these. `field` and `replace` are
those of `dataclasses`; `replace` takes records of both kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, NoReturn, TypeVar, dataclass_transform

from pyc.initialisers import CODES

Class = TypeVar("Class", bound=type)
Record = TypeVar("Record")

_MISSING: Any = object()


class Field:
    """What is said of a field beside its type."""

    __slots__ = ("default", "default_factory", "metadata")

    def __init__(
        self,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.metadata = metadata or {}


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] = _MISSING,
    metadata: dict[str, Any] | None = None,
) -> Any:
    """The default of a field that needs more than a value, such as a list of its own."""
    return Field(default, default_factory, metadata)


def replace(record: Record, /, **changes: Any) -> Record:
    """A copy of `record` with some fields changed; TypeError for a field that it does not have."""
    kind: Any = type(record)
    made: Record = kind(**({n: getattr(record, n) for n in kind.__match_args__} | changes))
    return made


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(*, eq: bool = True, weak: bool = False) -> Callable[[Class], Class]:
    """A decorator that gives a class `__init__`, `__repr__` and immutability.

    eq: compare and hash by fields, else by identity; weak: there may be weak references to it.
    Fields come after those of the base class; a default may be `field(default_factory=...)`.
    """

    def make(cls: Class) -> Class:
        more: dict[str, Any] = {"__setattr__": _refuse, "__delattr__": _refuse}
        if eq:
            more |= _comparison((*getattr(cls, "__match_args__", ()), *cls.__annotations__))
        return _made_of(cls, more, weak)

    return make


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def slotted(cls: Class) -> Class:
    """As `frozen`, for a class whose fields may be assigned; it compares by identity."""
    return _made_of(cls, {}, weak=False)


def _made_of(cls: Class, more: dict[str, Any], weak: bool) -> Class:
    """The class with slots for its fields, an `__init__`, and what is in `more`."""
    namespace = dict(cls.__dict__)
    own = tuple(cls.__annotations__)
    described: dict[str, Field] = dict(getattr(cls, "__fields__", {}))
    for name in own:
        default = namespace.pop(name, _MISSING)
        described[name] = default if type(default) is Field else Field(default)
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    slots = (*own, "__weakref__") if weak else own
    namespace |= {"__slots__": slots, "__match_args__": tuple(described)}
    namespace["__fields__"] = described
    namespace.setdefault("__repr__", _repr)
    namespace.setdefault("__reduce__", _reduce)
    scope: dict[str, Any] = {}
    namespace["__init__"] = _initialiser(cls, described, scope)
    made = type(cls)(cls.__name__, cls.__bases__, more | namespace)
    for k, (name, known) in enumerate(described.items()):
        store = getattr(made, name).__set__
        scope[f"store_{k}"] = store if known.default_factory is _MISSING else _making(store, known)
    return made


def _initialiser(cls: type, described: dict[str, Field], scope: dict[str, Any]) -> Any:
    """`__init__(self, *fields)`, which stores through the slots' own descriptors: `store_0` and so
    on in `scope`, to be put there once there is a class."""
    names = tuple(described)
    optional = [n for n in names if described[n].default_factory is not _MISSING]
    optional += [n for n in names if described[n].default is not _MISSING]
    if set(optional) != set(names[len(names) - len(optional) :]):
        raise TypeError(f"{cls.__name__}: a field without a default follows one with a default")
    defaults = tuple(described[n].default for n in names[len(names) - len(optional) :])
    code = _template(len(names)).replace(co_varnames=("self", *names))
    return FunctionType(code, scope, "__init__", defaults)


def _making(store: Callable[[Any, Any], None], known: Field) -> Callable[[Any, Any], None]:
    """`store` that makes the value where none was given."""
    make: Any = known.default_factory

    def stored(self: Any, value: Any) -> None:
        store(self, make() if value is _MISSING else value)

    return stored


@cache
def _template(count: int) -> CodeType:
    """The code of an `__init__` of `count` fields: classes of one size differ in names only."""
    if count in CODES:
        return CODES[count]
    parameters = "".join(f", value_{k}" for k in range(count))
    stores = "; ".join(f"store_{k}(self, value_{k})" for k in range(count)) or "pass"
    scope: dict[str, Any] = {}
    exec(f"def __init__(self{parameters}): {stores}", scope)
    code: CodeType = scope["__init__"].__code__
    return code


def _comparison(names: tuple[str, ...]) -> dict[str, Any]:
    values: Callable[[Any], Any] = attrgetter(*names)

    def eq(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": eq, "__hash__": hashed}


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    raise AttributeError(f"cannot change `{name}` of a {type(self).__name__}: make another one")


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({shown})"


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), tuple([getattr(self, name) for name in self.__match_args__])
