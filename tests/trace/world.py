"""A small world of captured things of every kind, and ways to change each: for a property test.

`FUNCTIONS` read the names of a world. `ACTIONS` change one thing each, by a number that says how:
values change their types, containers their lengths and orders, arrays their layouts, things vanish
and come again.
"""

from __future__ import annotations

import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import pyc

HEADER = """
import collections, enum, functools
from dataclasses import dataclass, field
from typing import NamedTuple
import numpy as np
"""

WORLD = """
k, n, flag, mode, nothing = 2.0, 1, True, "a", None
W, V, Z = np.ones(3), np.arange(6.0)[::2], np.array(2.0)
rows, table, nested = [1.0, 2.0, W], {"a": 1.0, "b": W}, {"u": [1.0, {"v": (2.0, [3.0])}]}
default, ordered = collections.defaultdict(float, a=1.0), collections.OrderedDict(a=1.0, b=2.0)
queue, bag, frozen = collections.deque([1.0, 2.0]), {1.0, 2.0}, frozenset([1, 2])
many, pair = [1.0] * 70, (1.0, [2.0])
module = types.ModuleType("other"); module.k = 1.0; module.w = np.ones(3)
space = types.SimpleNamespace(k=1.0, w=np.ones(3))

class Side(enum.Enum):
    LEFT = 1.0
    RIGHT = 2.0
side = Side.LEFT

class Point(NamedTuple):
    x: float
    w: object
point = Point(1.0, np.ones(3))

@dataclass
class Config:
    rate: float = 0.5
    order: int = 2
    rows: list = field(default_factory=lambda: [1.0, 2.0])
    limit = 4.0
    def half(self, x): return x * self.rate + self.limit
config = Config()

@dataclass(frozen=True)
class Fixed:
    k: float = 1.0
fixed = Fixed()

class Slots:
    __slots__ = ("k", "w")
    def __init__(self): self.k, self.w = 1.0, np.ones(3)
slots = Slots()

class Computed:
    def __init__(self): self.a = 1.0
    @property
    def twice(self): return self.a * 2
    @functools.cached_property
    def once(self): return 3.0
computed = Computed()

class Scaled:
    def __init__(self, by): self.by = by
    def __get__(self, owner, kind=None): return self if owner is None else owner.raw * self.by
class Described:
    scaled = Scaled(2.0)
    def __init__(self): self.raw = 1.0
described = Described()

class Base:
    k = 1.0
    def method(self, x): return x + self.k
    @classmethod
    def made(cls, x): return x * cls.k
    @staticmethod
    def plain(x): return x
class Derived(Base):
    pass
derived = Derived()

def helper(x, scale=1.5, *, shift=0.0): return x * scale + shift + k
helper.factor = 2.0
def closure():
    cell = 1.0
    def inner(x): return x * cell
    def change(new):
        nonlocal cell
        cell = new
    return inner, change
inner, change = closure()
def first(k, x): return x * k
partial = functools.partial(first, 2.0)
choices = {"f": lambda x: x + 1}

@dataclass
class Inner:
    k: float = 1.0
    rows: list = field(default_factory=lambda: [1.0, {"w": np.ones(3)}])
@dataclass
class Outer:
    inner: Inner = field(default_factory=Inner)
    table: dict = field(default_factory=lambda: {"a": Inner(2.0)})
outer = Outer()

class Stepper:
    def __init__(self, rate): self.rate, self.w = rate, np.ones(3)
    def plain(self, x): return x * self.rate + self.w
    def other(self, x): return x - self.rate
    step = pyc.jit(plain)
stepper, second = Stepper(2.0), Stepper(3.0)
handlers, run = [stepper.plain, second.plain], stepper.step
bound = functools.partial(first, 2.0)
bound.note = 1.0

class Bag(set):
    k = 1.0
    def twice(self): return self.k * len(self) * 2
class Weight(float):
    unit = 1.0
own, weight = Bag([1.0]), Weight(2.0)
Side.LEFT.shift = Side.RIGHT.shift = 1.0
factor = 2.0
@functools.lru_cache
def table_of(n): return np.arange(n) * factor
def find(name, default): return globals().get(name, default)
"""

FUNCTIONS = {
    "numbers": """
        y = x * k if flag else x - k
        y = y if nothing is None else y + nothing
        for _ in range(int(n)): y = y + 1
        return y if mode == "a" else -y""",
    "arrays": "return x * W + V",
    "array that decides": "return x * Z if V[0] >= 0 else x - W.ndim",
    "list": "return x * rows[0] + len(rows) + sum(v for v in rows if type(v) is float) + rows[-1]",
    "dicts": """
        y = x * table["a"] * len(table) + list(table)[0].count("a")
        return y + default.get("z", 7.0) + len(default) + next(iter(ordered.values()))""",
    "nested": 'return x * nested["u"][1]["v"][0] + nested["u"][1]["v"][1][0] + len(nested["u"])',
    "collections": """
        y = x * queue[0] * len(queue) + len(bag) + (3 in frozen) + sum(bag)
        return y + sum(many) + pair[0] * pair[1][0]""",
    "modules": """
        y = x * module.k + module.w + space.k * space.w + getattr(module, "extra", 0.0)
        return y + (hasattr(space, "extra") and space.extra)""",
    "kinds": "return x * side.value * point.x + point.w + fixed.k + (side is Side.LEFT)",
    "dataclass": """
        y = config.half(x) * config.order + sum(config.rows)
        return y + len(config.rows) + config.limit""",
    "classes": """
        y = x * slots.k + slots.w + computed.twice + computed.once + described.scaled
        y = derived.method(y) + Derived.made(x) + Base.plain(x) + derived.k
        return y + getattr(derived, "extra", 0.0)""",
    "functions": """
        y = helper(x) * helper.factor + inner(x) + partial(x)
        return choices["f"](y) + len(choices) + len(helper.__name__) + abs(-1.0)""",
    "nested dataclasses": """
        y = x * outer.inner.k + outer.inner.rows[0] + outer.inner.rows[1]["w"]
        return y * outer.table["a"].k + len(outer.table) + (outer.inner == outer.table["a"])""",
    "methods": """
        y = run(x) + sum(handler(x) for handler in handlers)
        return y + (handlers[0] == stepper.plain) + 2 * (stepper.other in handlers)""",
    "partials": "return bound(x) * bound.note + 3 * (bound == partial) + len(bound.args)",
    "derived": """
        y = x * own.k * len(own) + own.twice() + weight * weight.unit
        return y + side.shift + getattr(own, "extra", 0.0)""",
    "caches": "return x + table_of(3)",
    "global names": 'return x * (extra if "extra" in globals() else 2.0) + find("more", 1.0)',
}
"""Bodies of functions of `x`."""

NUMBERS: tuple[Any, ...] = (
    *(0.5, 2.0, -0.0, 0.0, 3, 2, 1, 0, True, False, np.float64(2.0), np.float32(1.5)),
    *(np.int64(3), np.int32(2), np.bool_(True), 1e300, -7),
)
REALS = (0.5, 2.0, -1.0, 3.0, 0.0, -0.0, 2.5)


def _arrays() -> list[Callable[[], Any]]:
    base = np.arange(12.0).reshape(3, 4)
    fixed = np.full(3, 2.0)
    fixed.flags.writeable = False
    return [
        lambda: np.full(3, 2.0),
        lambda: np.arange(3.0),
        lambda: np.arange(3, dtype=np.float32),
        lambda: np.arange(3),
        lambda: np.array([True, False, True]),
        lambda: np.arange(3) * 1j,
        lambda: base[:, 1],
        lambda: base[::-1, 0],
        lambda: np.asfortranarray(base[:, :3]),
        lambda: base.T[1:3, :],
        lambda: np.broadcast_to(np.array(3.0), (3,)),
        lambda: fixed,
        lambda: np.ones(1),
        lambda: np.array(2.0),
        lambda: np.ones((2, 3)),
        lambda: np.arange(3, dtype=">f8"),
        lambda: np.frombuffer(bytearray(24)),
        lambda: 2.5,
    ]


ARRAYS = _arrays()
Action = Callable[[dict[str, Any], int], None]


def number(by: int) -> Any:
    """A number of some type."""
    return NUMBERS[by % len(NUMBERS)]


def real(by: int) -> float:
    """A Python float."""
    return REALS[by % len(REALS)]


def array(by: int) -> Any:
    """An array of some type, shape and layout, or a number in its place."""
    return ARRAYS[by % len(ARRAYS)]()


def _name(name: str, value: Callable[[int], Any]) -> Action:
    return lambda w, by: w.__setitem__(name, value(by))


def _item(name: str, key: Any, value: Callable[[int], Any]) -> Action:
    return lambda w, by: w[name].__setitem__(key, value(by))


def _attribute(name: str, attribute: str, value: Callable[[int], Any]) -> Action:
    return lambda w, by: setattr(w[name], attribute, value(by))


def _come_and_go(find: Callable[[dict[str, Any]], dict[str, Any]], key: str) -> Action:
    """Puts something in a dict, or takes it out."""

    def do(w: dict[str, Any], by: int) -> None:
        found = find(w)
        if key in found:
            del found[key]
        else:
            found[key] = real(by)

    return do


def _length(w: dict[str, Any], rows: Any, by: int) -> None:
    if by % 3 and len(rows) > 2:
        rows.pop()
    else:
        rows.append(real(by))


def _in_place(name: str) -> Action:
    def do(w: dict[str, Any], by: int) -> None:
        found = w[name]
        if isinstance(found, np.ndarray) and found.flags.writeable:
            found[...] = by % 5

    return do


def _relayout(name: str) -> Action:
    """Changes an array object itself."""

    def do(w: dict[str, Any], by: int) -> None:
        made = np.arange(3.0) + 1
        w[name] = made
        if by % 3 == 0:
            made.dtype = np.int64
        elif by % 3 == 1:
            made.shape = (1, 3)
        else:
            made.resize(3, refcheck=False)

    return do


def _reorder(name: str) -> Action:
    def do(w: dict[str, Any], by: int) -> None:
        key = next(iter(w[name]))
        w[name][key] = w[name].pop(key)

    return do


def _class_attribute(owner: str, attribute: str) -> Action:
    """A member of a class comes, changes or goes."""

    def do(w: dict[str, Any], by: int) -> None:
        cls = w[owner]
        if by % 4 == 0 and attribute in vars(cls) and owner == "Derived":
            delattr(cls, attribute)
        else:
            setattr(cls, attribute, real(by))

    return do


def _method(owner: str, name: str) -> Action:
    kinds: tuple[Callable[[float], Any], ...] = (
        lambda v: lambda self, x: x * v,
        lambda v: staticmethod(lambda x: x - v),
        lambda v: classmethod(lambda cls, x: x + v),
    )
    return lambda w, by: setattr(w[owner], name, kinds[by % 3](real(by)))


def _defaults(w: dict[str, Any], by: int) -> None:
    w["helper"].__defaults__ = (number(by),)


def _code(w: dict[str, Any], by: int) -> None:
    bodies = (
        lambda x, scale=1.0, *, shift=0.0: x - scale,
        lambda x, scale=1.0, *, shift=0.0: x + shift,
    )
    w["helper"].__code__ = bodies[by % 2].__code__


def _replaced(w: dict[str, Any], by: int) -> None:
    def helper(x: Any, scale: float = real(by), *, shift: float = 0.0) -> Any:
        return x * scale - shift

    helper.factor = real(by + 1)  # type: ignore[attr-defined]
    w["helper"] = helper


def _same(w: dict[str, Any], by: int) -> None:
    """Two names of one object."""
    a, b = (("W", "V"), ("rows", "many"), ("slots", "space"))[by % 3]
    w[b] = w[a]


def _handlers(w: dict[str, Any], by: int) -> None:
    owner = w[("stepper", "second")[by % 2]]
    w["handlers"][by // 2 % 2] = (owner.plain, owner.other, owner.step)[by % 3]


def _factor(w: dict[str, Any], by: int) -> None:
    w["factor"] = real(by)
    w["table_of"].cache_clear()


def _bound(w: dict[str, Any], by: int) -> None:
    w["bound"] = (w["partial"], type(w["partial"])(w["first"], real(by)))[by % 2]
    w["bound"].note = real(by + 1)


def _frozen(w: dict[str, Any], by: int) -> None:
    if by % 2:
        object.__setattr__(w["fixed"], "k", real(by))
    else:
        w["fixed"] = w["Fixed"](real(by))


ACTIONS: dict[str, Action] = {
    "k": _name("k", number),
    "n": _name("n", lambda by: (0, 1, 2, 3, True, np.int64(2))[by % 6]),
    "flag": _name("flag", lambda by: (True, False, 1, 0.0, None, "")[by % 6]),
    "mode": _name("mode", lambda by: ("a", "b", "".join(["", "a"]), None)[by % 4]),
    "nothing": _name("nothing", lambda by: (None, 1.0, 2, np.ones(3))[by % 4]),
    "W": _name("W", array),
    "V": _name("V", lambda by: np.ones(3) if by % 18 in (5, 17) else array(by)),
    "Z": _name("Z", array),
    "W[...]": _in_place("W"),
    "V[...]": _in_place("V"),
    "Z[...]": _in_place("Z"),
    "W itself": _relayout("W"),
    "rows[0]": _item("rows", 0, number),
    "rows[-1]": _item("rows", -1, array),
    "rows' length": lambda w, by: _length(w, w["rows"], by),
    "rows as a tuple": lambda w, by: w.__setitem__("rows", (tuple, list)[by % 2](w["rows"])),
    "rows anew": lambda w, by: w.__setitem__("rows", list(w["rows"])),
    "table['a']": _item("table", "a", number),
    "table's keys": _come_and_go(lambda w: w["table"], "c"),
    "table's order": _reorder("table"),
    "default['z']": _come_and_go(lambda w: w["default"], "z"),
    "ordered": lambda w, by: w["ordered"].move_to_end("ab"[by % 2]),
    "ordered's order": _reorder("ordered"),
    "nested list": lambda w, by: w["nested"]["u"][1]["v"][1].__setitem__(0, number(by)),
    "nested tuple": lambda w, by: w["nested"]["u"][1].__setitem__("v", (number(by), [real(by)])),
    "nested length": lambda w, by: _length(w, w["nested"]["u"], by),
    "queue[0]": _item("queue", 0, number),
    "queue's length": lambda w, by: _length(w, w["queue"], by),
    "bag": lambda w, by: (w["bag"].discard, w["bag"].add)[by % 2](real(by)),
    "frozen": _name("frozen", lambda by: frozenset([by % 4, 2])),
    "many": lambda w, by: w["many"].__setitem__(by % 60, number(by)),
    "pair": lambda w, by: w.__setitem__("pair", (number(by), w["pair"][1])),
    "pair[1][0]": lambda w, by: w["pair"][1].__setitem__(0, number(by)),
    "module.k": _attribute("module", "k", number),
    "module.w": _attribute("module", "w", array),
    "module.extra": _come_and_go(lambda w: vars(w["module"]), "extra"),
    "space.k": _attribute("space", "k", number),
    "space.extra": _come_and_go(lambda w: vars(w["space"]), "extra"),
    "side": lambda w, by: w.__setitem__("side", list(w["Side"])[by % 2]),
    "point": lambda w, by: w.__setitem__("point", w["Point"](number(by), array(by // 3))),
    "fixed": _frozen,
    "config": lambda w, by: w.__setitem__("config", w["Config"](real(by), by % 3)),
    "config.rate": _attribute("config", "rate", number),
    "config.order": _attribute("config", "order", number),
    "config.limit": _come_and_go(lambda w: vars(w["config"]), "limit"),
    "Config.limit": _class_attribute("Config", "limit"),
    "config.rows": lambda w, by: _length(w, w["config"].rows, by),
    "Config.half": lambda w, by: setattr(
        w["Config"], "half", (lambda s, x: x - s.rate, lambda s, x: x * s.limit)[by % 2]
    ),
    "slots.k": _attribute("slots", "k", number),
    "slots.w": _attribute("slots", "w", array),
    "computed.a": _attribute("computed", "a", real),
    "computed.once": _come_and_go(lambda w: vars(w["computed"]), "once"),
    "Computed.twice": lambda w, by: setattr(
        w["Computed"], "twice", property((lambda s: s.a * 3, lambda s: -s.a)[by % 2])
    ),
    "described.raw": _attribute("described", "raw", real),
    "Described.scaled.by": lambda w, by: setattr(vars(w["Described"])["scaled"], "by", real(by)),
    "Base.k": _class_attribute("Base", "k"),
    "Derived.k": _class_attribute("Derived", "k"),
    "derived.k": _come_and_go(lambda w: vars(w["derived"]), "k"),
    "derived.extra": _come_and_go(lambda w: vars(w["derived"]), "extra"),
    "Derived.extra": _class_attribute("Derived", "extra"),
    "Base.method": lambda w, by: setattr(
        w["Base"], "method", (lambda s, x: x - s.k, lambda s, x: x * 2)[by % 2]
    ),
    "Derived.plain": _method("Derived", "method"),
    "derived's class": lambda w, by: setattr(
        w["derived"], "__class__", w[("Base", "Derived")[by % 2]]
    ),
    "default": _defaults,
    "keyword default": lambda w, by: w["helper"].__kwdefaults__.__setitem__("shift", number(by)),
    "helper.factor": _attribute("helper", "factor", number),
    "helper.__name__": lambda w, by: setattr(w["helper"], "__name__", "abc"[: by % 4] or "d"),
    "helper's code": _code,
    "helper": _replaced,
    "cell": lambda w, by: w["change"](number(by)),
    "partial": lambda w, by: w["partial"].__setstate__((w["first"], (number(by),), {}, {})),
    "choices['f']": lambda w, by: w["choices"].__setitem__(
        "f", (lambda x: x * 2, np.negative, np.abs, lambda x: x)[by % 4]
    ),
    "choices": _come_and_go(lambda w: w["choices"], "g"),
    "abs": _come_and_go(lambda w: w, "unused"),
    "outer.inner.k": lambda w, by: setattr(w["outer"].inner, "k", number(by)),
    "outer.inner": lambda w, by: setattr(w["outer"], "inner", w["Inner"](real(by))),
    "outer.inner.rows": lambda w, by: w["outer"].inner.rows[1].__setitem__("w", array(by)),
    "outer.table": lambda w, by: w["outer"].table.__setitem__("ab"[by % 2], w["Inner"](real(by))),
    "outer": lambda w, by: w.__setitem__("outer", w["Outer"]()),
    "stepper.rate": _attribute("stepper", "rate", number),
    "stepper.w": _attribute("stepper", "w", array),
    "second": lambda w, by: w.__setitem__("second", (w["stepper"], w["Stepper"](real(by)))[by % 2]),
    "handlers": _handlers,
    "run": lambda w, by: w.__setitem__("run", w[("stepper", "second")[by % 2]].step),
    "Stepper.other": lambda w, by: setattr(w["Stepper"], "other", lambda self, x: x * real(by)),
    "bound": _bound,
    "bound.note": _attribute("bound", "note", number),
    "Bag.k": _class_attribute("Bag", "k"),
    "Bag.twice": lambda w, by: setattr(w["Bag"], "twice", lambda self: real(by)),
    "own": lambda w, by: (w["own"].discard, w["own"].add)[by % 2](real(by)),
    "own.extra": _come_and_go(lambda w: vars(w["own"]), "extra"),
    "Weight.unit": _class_attribute("Weight", "unit"),
    "weight": lambda w, by: w.__setitem__("weight", w["Weight"](real(by))),
    "Side.shift": lambda w, by: setattr(list(w["Side"])[by % 2], "shift", real(by)),
    "factor": _factor,
    "extra": _come_and_go(lambda w: w, "extra"),
    "more": _come_and_go(lambda w: w, "more"),
    "two names of one object": _same,
}


def world() -> dict[str, Any]:
    """The names of a new world."""
    names: dict[str, Any] = {"__name__": "__main__", "np": np, "pyc": pyc, "types": types}
    exec(HEADER + WORLD, names)
    for number, body in enumerate(FUNCTIONS.values()):
        lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        exec(f"def f{number}(x):\n{lines}\n", names)
    return names


__all__ = ["ACTIONS", "FUNCTIONS", "world"]
