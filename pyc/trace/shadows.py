"""Classes of the user as a traced function sees them.

A class becomes a subclass of itself whose functions are translated, so that its methods see the
view of their module; an object of the class becomes one of the subclass that shares its attributes.
`isinstance` holds in both directions. For `class C(B)` the made classes are

    C'  ->  B'  ->  guard  ->  C  ->  B  ->  object

so `super()` in a method of C leads to the translated method of B. Objects that existed before the
trace are *captured*: their attributes are translated when they are read, and cannot be set. Objects
that the function makes are ordinary ones.

Left alone are exceptions, enums, classes that are not the user's, and objects whose state is not
held in attributes (subclasses of numbers, texts and arrays).
"""

from __future__ import annotations

import io
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from enum import Enum
from functools import cached_property, lru_cache, partial, partialmethod
from typing import TYPE_CHECKING, Any

from pyc import tree
from pyc.errors import UnsupportedOpError
from pyc.reasons import Reason, record
from pyc.trace import location
from pyc.trace.callee import is_called
from pyc.trace.facts import NEED_A_METACLASS
from pyc.trace.modules import (
    CONVERTERS,
    STANDS_FOR,
    changed_outside,
    is_converter,
    refuse_write,
)
from pyc.trace.paths import MISSING, Path, member_of
from pyc.trace.users_code import SET_BY_PYTHON, is_users, is_users_class

if TYPE_CHECKING:
    from pyc.trace.namespace import Namespace

_KEPT = frozenset(
    ["__init_subclass__", "__class_getitem__", "__dict__", "__weakref__", "__slots__", "__doc__"]
)
"""Names of a class that are not translated."""
_CONTAINERS = (list, tuple, dict)
_WITHOUT_ATTRIBUTES = (
    *(int, float, complex, str, bytes, set, frozenset, bytearray),
    io.IOBase,
)


class Shadows:
    """The classes made in one trace. space: its `Namespace`."""

    def __init__(self, space: Namespace) -> None:
        self._space = space
        self._translate: Callable[[Any, Path], Any] = space.translate
        self._inside: Path = space.root("inside", "", None)
        self._made: dict[type, type] = {}
        self._origins: dict[type, type] = {}
        self._captured: dict[int, tuple[Any, Any, Path]] = {}
        """By id of a shadow: it, its original, and where that was read from."""
        self._computed: dict[tuple[int, str], Any] = {}
        self._metaclasses: dict[type, type] = {}
        self._is_making = False
        self._hooks: dict[type, Iterator[Callable[..., None]]] = {}
        """By class that the function makes: the hooks of its bases that are not called yet."""
        self._complete: list[tuple[type, dict[str, Any]]] = []
        """Made classes, and what was in them when they were made."""
        self._guard = _guard(self)

    # --- classes ----------------------------------------------------------------------------------

    def class_of(self, cls: type) -> type:
        """The class that stands for `cls`: itself if it is left alone."""
        known = self._made.get(cls)
        if known is not None:
            return known
        if cls in self._origins or not _is_wanted(cls):
            return cls
        self._space.note_names(cls)
        self._space.facts.cls(cls)
        for value in vars(cls).copy().values():
            function = getattr(value, "fget", getattr(value, "__func__", value))
            if isinstance(function, types.FunctionType):
                self._space.facts.has_method(function)
        bases = tuple(b for b in map(self.class_of, cls.__bases__) if self._is_made(b))
        names: dict[str, Any] = {"__slots__": (), "__doc__": cls.__doc__}
        names |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__}
        later = {}
        for name, value in vars(cls).copy().items():
            if name in _KEPT:
                continue
            if isinstance(value, (property, cached_property)):
                names[name] = self._computed_member(cls, name, value)
            elif name == "__get__":  # Python does not bind it
                later[name] = value, self._space.root("member", name, cls)
            elif isinstance(value, _DESCRIPTORS) or (
                not name.startswith("__") and not hasattr(type(value), "__get__")
            ):
                names[name] = _Member(self, cls, name)
            elif not name.startswith("__"):
                later[name] = value, self._space.root("member", name, cls)
        if "__eq__" in names and "__hash__" in vars(cls):
            names["__hash__"] = names.get("__hash__", vars(cls)["__hash__"])
        annotations = vars(cls).get("__annotations__")
        if annotations is not None and "__annotations__" in self._space.facts.asked:
            path = self._space.root("member", "__annotations__", cls)
            names["__annotations__"] = self._translate(annotations, path)
        self._is_making = True
        try:
            made = _new_class(cls, (*(bases or (self._guard,)), cls), names, self._metaclass(cls))
        finally:
            self._is_making = False
        if made is None:
            record(Reason.CLASS_NOT_TRANSLATED, name=cls.__qualname__)
            made = cls
        else:
            self._origins[made] = cls
            tree.register_like(made, cls, lambda value: _empty(made, value))
        self._made[cls] = made

        def finish() -> None:
            for name, (value, path) in later.items():
                found = self._translate(value, path)
                if found is not value:
                    type.__setattr__(made, name, found)
            self._complete.append((made, _own_names(made)))

        if made is not cls:
            self._space.later(finish)
        return made

    def _metaclass(self, cls: type) -> Any:
        """The class of what is made of a class: its own one; where code asks what a class is made
        of, one that answers."""
        own = type(cls)
        if not NEED_A_METACLASS & self._space.facts.asked:
            return own
        made = self._metaclasses.get(own)
        if made is None:
            made = self._metaclasses[own] = _asked(self, own)
        return made

    def bases(self, cls: type) -> tuple[type, ...]:
        """What `__bases__` gives of a class that was made."""
        own = self._origins.get(cls)
        if own is None:  # while it is made
            found: tuple[type, ...] = _BASES_OF(cls)
            return found
        return tuple(map(self.class_of, own.__bases__))

    def announce(self, cls: type, options: dict[str, Any]) -> None:
        """Calls the next `__init_subclass__` of the bases of a class that the function makes; the
        user's hooks have seen the user's own classes."""
        if not self._is_making:
            if cls not in self._hooks:
                self._hooks[cls] = self._hooks_of(cls)
            next(self._hooks[cls])(**options)

    def _hooks_of(self, cls: type) -> Iterator[Callable[..., None]]:
        for base in cls.__mro__[1:]:
            own = self._origins.get(base, base)
            if (own in self._made and own is base) or own is self._guard:
                continue  # what was made of it comes before it
            hook = vars(own).get("__init_subclass__")
            if hook is None:
                continue
            if own is base:
                yield hook.__get__(None, cls)
            else:
                path = self._space.root("member", "__init_subclass__", own).attribute("__func__")
                yield partial(self._translate(hook.__func__, path), cls)

    def _is_made(self, cls: type) -> bool:
        return cls in self._origins

    def _computed_member(self, cls: type, name: str, value: Any) -> Any:
        """A property of a class: its functions are translated when they are first called."""
        path = self._space.root("member", name, cls)

        def part(of: str) -> Any:
            function = getattr(value, of)
            if function is None:
                return None

            def call(*args: Any) -> Any:
                self._space.reads.note(path, "same", value)
                return self._translate(function, path.attribute(of))(*args)

            return call

        if isinstance(value, cached_property):
            return _ComputedOnce(self, name, part("func"))
        return property(part("fget"), part("fset"), part("fdel"), value.__doc__)

    def missed(self, owner: Any, name: str) -> None:
        """Notes that an object has no such attribute."""
        captured = self._captured.get(id(owner))
        if captured is None:
            return
        path, cls = captured[2].attribute(name), type(captured[1])
        if hasattr(cls, "__getattr__"):
            self._space.reads.saw(path, MISSING)
            self._space.reads.note(path, "lacks", cls)
        else:
            self._space.reads.missing(path)

    def member(self, cls: type, name: str) -> Any:
        """What a class itself holds by a name, as the traced function sees it."""
        path = self._space.root("member", name, cls)
        value = vars(cls).get(name, MISSING)
        if value is MISSING:  # another thread has deleted it meanwhile
            self._space.reads.missing(path)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        wrapped = isinstance(value, (staticmethod, classmethod))
        if not wrapped and not isinstance(value, partialmethod):
            return self._translate(value, path)
        self._space.reads.note(path, "same", value)
        if wrapped:
            found = self._translate(value.__func__, path.attribute("__func__"))
            return value if found is value.__func__ else type(value)(found)
        function = self._translate(value.func, path.attribute("func"))
        args = self._translate(value.args, path.attribute("args"))
        keywords = self._translate(value.keywords, path.attribute("keywords"))
        return partialmethod(function, *args, **keywords)

    def own(self, value: Any) -> Any:
        """What a class or an object stands for, where `dir` asks for its names."""
        if isinstance(value, type):
            return self._origins.get(value, value)
        captured = self._captured.get(id(value))
        if captured is None:
            return value
        getattr(value, "__dict__", None)
        return captured[1]

    def members(self, cls: type) -> Any:
        """What `vars` gives of a class."""
        own = self._origins.get(cls)
        if own is None:  # while it is made, too
            return _NAMES_OF(cls)
        names = vars(own).copy()
        return types.MappingProxyType(
            {k: v if k in _KEPT else self.member(own, k) for k, v in names.items()}
        )

    def read_all(self, owner: Any) -> None:
        """Notes all attributes of an object that is about to be copied, and which there are."""
        captured = self._captured.get(id(owner))
        if captured is None or not hasattr(owner, "__dict__"):
            return
        path = captured[2]
        own = object.__getattribute__(captured[1], "__dict__")
        self._space.note_items(path.attribute("__dict__"), own)
        for name in [*own]:
            getattr(owner, name, None)

    def as_read(self, owner: Any, reduced: Any) -> Any:
        """How an object is made again, with the attributes that the function sees."""
        if id(owner) not in self._captured or len(reduced) < 3 or reduced[2] is None:
            return reduced
        state = reduced[2]
        parts = state if isinstance(state, tuple) else (state,)
        if not all(part is None or type(part) is dict for part in parts):
            return reduced  # the user's own form
        seen = [part and {name: getattr(owner, name) for name in part} for part in parts]
        again = tuple(seen) if isinstance(state, tuple) else seen[0]
        return (*reduced[:2], again, *reduced[3:])

    def original(self, kinds: Any) -> Any:
        """The user's own classes in the second argument of `isinstance`."""
        if isinstance(kinds, type):
            return self._origins.get(kinds, kinds)
        if isinstance(kinds, tuple):
            return tuple(map(self.original, kinds))
        if isinstance(kinds, types.UnionType):
            return tuple(map(self.original, kinds.__args__))
        return kinds

    # --- objects ----------------------------------------------------------------------------------

    def instance(self, value: Any, path: Path) -> Any:
        """The object that stands for `value`: itself if its class is left alone."""
        cls = type(value)
        if cls in self._origins or issubclass(cls, _WITHOUT_ATTRIBUTES):
            return value
        made = self.class_of(cls)
        if made is cls:
            return value
        shadow = _empty(made, value)
        if shadow is None:
            record(Reason.CLASS_NOT_TRANSLATED, name=cls.__qualname__)
            return value
        if isinstance(value, (dict, list)):
            self._space.note_items(path, value)
        self._space.reads.note(path, "type", cls, value)
        if isinstance(shadow, dict):
            own = _own_of(shadow)
            pairs = list(own.items(value))
            own.clear(shadow)
            for k, v in pairs:
                own.__setitem__(shadow, k, self._translate(v, path.item(k)))
            self._space.watch(shadow, dict(own.items(shadow)), path)
        elif isinstance(shadow, list):
            rows = list.copy(value)
            found = [self._translate(v, path.item(k)) for k, v in enumerate(rows)]
            list.__setitem__(shadow, slice(None), found)
            self._space.watch(shadow, list(shadow), path)
        self._captured[id(shadow)] = (shadow, value, path)
        return shadow

    def read(self, owner: Any, name: str, value: Any) -> Any:
        """An attribute of an object of a made class, as the function sees it."""
        captured = self._captured.get(id(owner))
        if name.startswith("__"):
            own = name == "__dict__" or _is_stored(owner, name, MISSING)
            if own and captured is not None:
                return self._translate(value, captured[2].attribute(name))
            return value
        cls = self._origins.get(type(owner), type(owner))
        member = member_of(cls, name)
        if _is_stored(owner, name, member):
            if captured is not None:
                return self._translate(value, captured[2].attribute(name))
            return value if type(value) in _CONTAINERS else self._translate(value, self._inside)
        if captured is not None and not hasattr(type(member), "__set__"):
            self._space.reads.saw(captured[2].attribute(name), MISSING)
            self._space.reads.note(captured[2].attribute(name), "lacks", cls)
        if type(value) in tree.METHODS and value.__self__ is owner:
            if captured is not None and not is_called(2):
                self._space.reads.tell_apart(captured[2])
            return value
        if captured is None and type(value) in _CONTAINERS:
            return value
        return self._translate(value, self._inside)

    def compares(self) -> None:
        """Objects are told apart by their identity."""
        self._space.reads.ask_which_are_one()

    def check_write(self, owner: Any, name: str) -> None:
        """PurityError if `owner` existed before the trace."""
        captured = self._captured.get(id(owner))
        if captured is not None:
            refuse_write(f"`{captured[2].attribute(name).text()}`")

    def compute_once(self, owner: Any, name: str, function: Callable[[Any], Any]) -> Any:
        """A cached property: kept in the object if the function made it, else for this trace."""
        if id(owner) not in self._captured:
            vars(owner)[name] = function(owner)
            return vars(owner)[name]
        key = (id(owner), name)
        if key not in self._computed:
            self._computed[key] = function(owner)
        return self._computed[key]

    # --- results ----------------------------------------------------------------------------------

    def restored(self, value: Any) -> Any:
        """`value`, which leaves the trace, with objects of the user's own classes."""
        if not self._origins:
            return value
        cls = self._origins.get(type(value))
        if cls is None:
            if type(value) is list:
                return [self.restored(v) for v in value]
            if type(value) is dict:
                return {k: self.restored(v) for k, v in value.items()}
            if isinstance(value, tuple):
                return tuple.__new__(type(value), (self.restored(v) for v in value))
            return self._origins.get(value, value) if isinstance(value, type) else value
        if id(value) in self._captured:
            return self._captured[id(value)][1]
        if issubclass(cls, tuple):
            return tuple.__new__(cls, (self.restored(v) for v in value))
        own = _empty(cls, value)
        if own is None:
            return value
        if hasattr(own, "__dict__"):
            attributes = {k: self.restored(v) for k, v in vars(value).items()}
            object.__setattr__(own, "__dict__", attributes)
        for member in _slots(cls):
            if _holds(member, own):
                member.__set__(own, self.restored(member.__get__(own)))
        return own

    def check(self) -> None:
        """PurityError: a class has changed."""
        for made, before in self._complete:
            now = _own_names(made)
            for name in now | before:
                if now.get(name, MISSING) is not before.get(name, MISSING):
                    raise changed_outside(f"`{made.__name__}.{name}`")

    def close(self) -> None:
        """Ends the registrations of the made classes."""
        for made in self._origins:
            tree.unregister(made)


def _own_names(cls: type) -> dict[str, Any]:
    """What a class holds, but for what Python itself sets there when it likes to."""
    return {k: v for k, v in _NAMES_OF(cls).items() if k not in SET_BY_PYTHON}


_BASES_OF: Callable[[type], Any] = type.__dict__["__bases__"].__get__
_NAMES_OF: Callable[[type], Any] = type.__dict__["__dict__"].__get__
"""What a class holds, whatever its metaclass answers."""


def _guard(shadows: Shadows) -> type:
    """The base of the classes that `shadows` makes."""

    class Guard:
        """Translates attributes that are read, refuses to set those of captured objects."""

        __slots__ = ()

        def __init_subclass__(cls, **options: Any) -> None:
            shadows.announce(cls, options)

        def __getattribute__(self, name: str) -> Any:
            try:
                value = super().__getattribute__(name)
            except AttributeError:
                shadows.missed(self, name)
                raise
            found = shadows.read(self, name, value)
            return CONVERTERS[found] if is_converter(found) and is_called() else found

        def __eq__(self, other: object) -> Any:
            shadows.compares()
            return super().__eq__(other)

        def __hash__(self) -> int:
            shadows.compares()
            return super().__hash__()

        def __reduce_ex__(self, protocol: Any) -> Any:
            shadows.read_all(self)
            return shadows.as_read(self, super().__reduce_ex__(protocol))

        def __setattr__(self, name: str, value: Any) -> None:
            shadows.check_write(self, name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            shadows.check_write(self, name)
            super().__delattr__(name)

    return Guard


class _Member:
    """What a class holds, for the class that was made of it: translated when it is first read."""

    def __init__(self, shadows: Shadows, cls: type, name: str) -> None:
        self._shadows = shadows
        self._cls = cls
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self._shadows.member(self._cls, self._name)
        if hasattr(type(found), "__get__") and self._name != "__new__":
            return found.__get__(instance, owner)
        return CONVERTERS[found] if is_converter(found) and is_called() else found

    def __call__(self, *args: Any) -> Any:
        """What the member gives, not bound: so Python calls `__get__` of a class."""
        return self._shadows.member(self._cls, self._name)(*args)


class _ComputedOnce:
    """A `functools.cached_property` of a made class."""

    def __init__(self, shadows: Shadows, name: str, function: Callable[[Any], Any]) -> None:
        self._shadows = shadows
        self._name = name
        self._function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return self._shadows.compute_once(instance, self._name, self._function)


def _is_wanted(cls: type) -> bool:
    """Whether objects of a class need translated methods."""
    if issubclass(cls, (BaseException, Enum, type)) or not is_users_class(cls):
        return False
    if type(cls).__module__ == "_ctypes":
        return False
    if issubclass(cls, tuple):  # a named tuple without methods of the user
        functions = (v for v in vars(cls).values() if isinstance(v, types.FunctionType))
        return any(is_users(f.__globals__) for f in functions)
    return True


def _is_stored(owner: Any, name: str, member: Any) -> bool:
    """Whether an object itself holds an attribute, not its class. member: what that holds."""
    if hasattr(type(member), "__set__"):
        return isinstance(member, types.MemberDescriptorType)
    try:
        return name in object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return False


def _asked(shadows: Shadows, own: type) -> type:
    """A metaclass like `own`, that answers what classes are made of."""

    def subclasses(cls: type) -> Any:
        raise UnsupportedOpError(
            f"`{cls.__name__}.__subclasses__()` asks for classes that may come and go, which "
            "nothing looks after before the next call",
            fix="Ask outside of the jitted function, and pass what it gives as an argument.",
            place=location.here(),
        )

    names: dict[str, Any] = {
        "__dict__": property(shadows.members),
        "__bases__": property(shadows.bases),
        "__base__": property(lambda cls: shadows.bases(cls)[0]),
        "__subclasses__": subclasses,
        STANDS_FOR: own,
    }
    return type(own.__name__, (own,), names)


def _new_class(
    cls: type, bases: tuple[type, ...], names: dict[str, Any], metaclass: Any
) -> type | None:
    """A class made by the nearest metaclass of `cls` that is not the user's, whose own `__init__`
    could keep a register; None if it cannot be made."""
    maker: Any = next(m for m in type.mro(type(cls)) if not is_users_class(m))
    try:
        made: type = maker.__new__(metaclass, cls.__name__, bases, names)
        return made
    except TypeError:  # a final class, or one whose parts do not fit together
        return None


def _empty(cls: type, like: Any) -> Any:
    """An object of `cls` with the attributes of `like`, made without `__init__`; None if Python
    cannot."""
    base = _own_of(like)
    try:
        made = base.__new__(cls, like) if base is tuple else base.__new__(cls)
    except TypeError:
        return None
    if base is list:
        list.__init__(made, like)
    elif issubclass(base, dict):
        for key, value in base.items(like):
            base.__setitem__(made, key, value)
    if base is defaultdict:
        made.default_factory = like.default_factory
    if hasattr(like, "__dict__"):
        object.__setattr__(made, "__dict__", vars(like))
    for member in _slots(type(like)):
        if _holds(member, like):
            member.__set__(made, member.__get__(like))
    return made


def _own_of(value: Any) -> Any:
    """The type of Python's that holds what a container of the user's class holds, whose methods are
    none of the user's; `object` for what is no container."""
    kinds = (OrderedDict, defaultdict, dict, list, tuple)
    return next((kind for kind in kinds if isinstance(value, kind)), object)


def _slots(cls: type) -> list[Any]:
    """The descriptors of the slots of a class."""
    return [
        v
        for k in cls.__mro__
        if "__slots__" in vars(k)
        for v in vars(k).values()
        if isinstance(v, types.MemberDescriptorType)
    ]


def _holds(member: Any, instance: Any) -> bool:
    try:
        member.__get__(instance)
    except AttributeError:
        return False
    return True


_DESCRIPTORS = (
    *(types.FunctionType, staticmethod, classmethod, property, cached_property, partialmethod),
    type(lru_cache(len)),
)
