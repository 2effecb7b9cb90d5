"""Programs with classes, closures and functions as values, as NumPy users write them."""

# ruff: noqa: PLC0415, RET504, UP033, B023, RUF010  (as users write)
import contextlib
import enum
import functools
import math
import operator
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.linalg as la

from tests.errors.case import LINE, MATRIX, SQUARE, given
from tests.users import helpers
from tests.users.helpers import Filter, scaled
from tests.users.helpers import looked_up as table

X = LINE + 0.5


@dataclass
class Physics:
    gravity: float = 9.81
    drag: float = 0.1
    wind: np.ndarray = field(default_factory=lambda: np.array([0.5, -0.5]))

    @property
    def damping(self):
        return 1.0 - self.drag

    def force(self, v):
        return -self.drag * v + np.resize(self.wind, v.shape) - self.gravity


@dataclass(frozen=True)
class Grid:
    n: int = 4
    length: float = 2.0

    @functools.cached_property
    def spacing(self):
        return self.length / self.n

    def points(self):
        return np.arange(self.n) * self.spacing


PHYSICS = Physics()
GRID = Grid()
Pair = namedtuple("Pair", "left right")


class Bounds(NamedTuple):
    low: float
    high: float = 2.0

    def clip(self, x):
        return np.clip(x, self.low, self.high)


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


class Flags(enum.IntFlag):
    SQUARE = 1
    SHIFT = 2


@given(X)
def method_of_a_dataclass(x):
    return PHYSICS.force(x) * PHYSICS.damping


@given(X)
def replaced_dataclass(x):
    return replace(PHYSICS, drag=0.5).force(x)


@given(X)
def frozen_dataclass_with_a_cached_property(x):
    return x * GRID.spacing + GRID.points()


@given(X)
def dataclass_made_inside(x):
    p = Physics(drag=0.3)
    p.gravity = x.mean()
    return p.force(x)


@given(X)
def named_tuple_made_and_unpacked(x):
    pair = Pair(x, x[::-1])
    left, right = pair
    return pair._replace(left=x * 2).left - right + left * pair.right


@given(X)
def typed_named_tuple(x):
    b = Bounds(1.0)
    return b.clip(x) + b.high + sum(b)


@given(X)
def enum_by_match(x):
    mode = Mode.EXACT
    match mode:
        case Mode.FAST:
            return x
        case Mode.EXACT:
            return np.expm1(x)


@given(X)
def flags(x):
    todo = Flags.SQUARE | Flags.SHIFT
    if todo & Flags.SQUARE:
        x = x**2
    if Flags.SHIFT in todo:
        x = x + 1
    return x


@given(X)
def callable_object(x):
    return Filter([1, 2, 1])(x)


FILTER = Filter.box(3)


@given(X)
def captured_callable_object(x):
    return FILTER(x) + FILTER.total + FILTER.clip(x) * Filter.order


@given(X)
def helpers_of_another_module(x):
    return scaled(x) + helpers.scaled(x, by=2) + table(x) + helpers.TABLE[1]


@given(X)
def imports_inside(x):
    import numpy.linalg as inner
    from numpy import cos, pi

    return cos(x * pi) / inner.norm(x)


@given(SQUARE + np.eye(3) * 9)
def module_alias_of_linalg(m):
    return la.norm(m, axis=1) + la.norm(m)


class Base:
    rate = 2.0

    def scale(self, x):
        return x * self.rate

    def __add__(self, other):
        return self.scale(other)

    def __getitem__(self, k):
        return self.rate * k

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([1.0, 2.0])

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return False

    def __contains__(self, x):
        return x == 2

    def __bool__(self):
        return True


class Derived(Base):
    rate = 3.0

    def __init__(self, offset=1.0, **more):
        self.offset = offset
        self.__dict__.update(more)

    def scale(self, x):
        return super().scale(x) + self.offset

    def __eq__(self, other):
        return isinstance(other, Derived) and other.offset == self.offset

    __hash__ = None


@given(X)
def inherited_methods(x):
    return Derived().scale(x) + (Base() + x)


@given(X)
def operators_of_objects(x):
    d = Derived(2.0, extra=4.0)
    total = x * len(d) + d[3] + d.extra
    for v in d:
        total = total + v
    if 2 in d and d and d == Derived(2.0):
        total = -total
    with d as same:
        total = total * same.rate
    return total


class Meter:
    """Counts within itself: what it holds is its own."""

    def __init__(self):
        self.values = []
        self.total = 0.0

    def add(self, x):
        self.values.append(x)
        self.total += x.sum()
        return self

    @property
    def mean(self):
        return self.total / len(self.values)


@given(X)
def object_that_collects(x):
    m = Meter()
    for k in range(3):
        m.add(x * k)
    return m.add(x).mean, m.values[-1], len(m.values)


class Descriptor:
    def __get__(self, obj, owner=None):
        return 7.0 if obj is None else obj.base * 2

    def __set_name__(self, owner, name):
        self.name = name


class Described:
    value = Descriptor()
    __slots__ = ("base",)

    def __init__(self, base):
        self.base = base


@given(X)
def descriptors_and_slots(x):
    return Described(x).value + Described.value


class Lazy:
    def __getattr__(self, name):
        if name.startswith("w"):
            return float(name[1:])
        raise AttributeError(name)


@given(X)
def computed_attributes(x):
    lazy = Lazy()
    return x * lazy.w3 + getattr(lazy, "missing", 2.0) + hasattr(lazy, "w1")


def counted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1

    wrapper.name = function.__name__
    return wrapper


def power(n=2):
    def decorate(function):
        return lambda *a, **k: function(*a, **k) ** n

    return decorate


@counted
@power(n=3)
def cube_and_one(x, shift=0.0):
    return x + shift


@given(X)
def stacked_decorators(x):
    return cube_and_one(x) + cube_and_one(x, shift=1.0) + len(cube_and_one.name)


@functools.lru_cache(maxsize=None)
def coefficients(n):
    return tuple(1.0 / math.factorial(k) for k in range(n))


@given(X)
def cached_helper(x):
    return sum(c * x**k for k, c in enumerate(coefficients(6)))


@functools.singledispatch
def described(x):
    return -1.0


@described.register
def _(x: int):
    return 1.0


@described.register
def _(x: str):
    return 2.0


@given(X)
def single_dispatch_on_python_values(x):
    return x * described(3) + described("a")


@given(X)
def partials(x):
    f = functools.partial(scaled, by=4.0)
    g = functools.partial(np.clip, a_min=1.0, a_max=2.0)
    return g(f(x)) + functools.reduce(operator.add, [x, f(x), x])


@given(X)
def functions_in_a_dict(x):
    ops = {"sin": np.sin, "neg": lambda v: -v, "scale": scaled, "norm": Filter.clip}
    out = {name: f(x) for name, f in ops.items()}
    return sum(out[k] for k in sorted(out))


@given(X)
def composed(x):
    def compose(*fs):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), fs)

    return compose(np.sin, lambda v: v + 1, scaled, abs)(x)


@given(X)
def closures_in_a_loop(x):
    fs = [lambda v, k=k: v * k for k in range(4)]
    late = [lambda v: v + k for k in range(4)]
    return sum(f(x) for f in fs) + sum(f(x) for f in late)


@given(X)
def nonlocal_of_its_own(x):
    total = np.zeros_like(x)

    def add(v):
        nonlocal total
        total = total + v

    for k in range(3):
        add(x * k)
    return total


@given(X)
def recursion(x):
    def horner(cs):
        return cs[0] if len(cs) == 1 else cs[0] + x * horner(cs[1:])

    def tree_sum(v):
        return v[0] if len(v) == 1 else tree_sum(v[: len(v) // 2]) + tree_sum(v[len(v) // 2 :])

    return horner([1.0, 2.0, 3.0]) + tree_sum(x)


@given(X)
def generator_pipeline(x):
    def windows(v, n):
        for i in range(len(v) - n + 1):
            yield v[i : i + n]

    def means(parts):
        for p in parts:
            yield p.mean()

    first, *rest = means(windows(x, 2))
    return first + sum(rest) + max(means(windows(x, 3)))


@given(X)
def generator_that_is_sent_to(x):
    def averager():
        total, n = 0.0, 0
        mean = None
        while True:
            v = yield mean
            total, n = total + v, n + 1
            mean = total / n

    g = averager()
    next(g)
    return [g.send(v) for v in x][-1]


@contextlib.contextmanager
def scaled_inside(v):
    yield v * 2


@given(X)
def context_managers(x):
    with scaled_inside(x) as y, contextlib.suppress(ValueError), np.errstate(all="ignore"):
        y = y / (x - x[0])
        raise ValueError
    return y


@given(X)
def exceptions(x):
    try:
        try:
            {}["a"]
        except KeyError as error:
            raise ValueError(str(error)) from error
        finally:
            x = x + 1
    except (ValueError, TypeError) as error:
        x = x * len(error.args)
    else:
        x = x * 100
    return x


@given(X)
def returns_from_finally(x):
    def f(v):
        try:
            return v
        finally:
            v = v + 1

    return f(x)


@given(X)
def keyword_only_and_positional_only(x):
    def f(a, /, b, *args, c=2.0, d, **rest):
        return a * b + c * d + sum(args) + sum(rest.values()) + len(rest)

    return f(x, 2, 3, 4, d=5, e=6, g=7) + f(*[x, 1], **{"d": 1.0})


@given(X)
def containers(x):
    d = defaultdict(list)
    for i, v in enumerate(x):
        d[i % 2].append(v)
    o = OrderedDict(a=x, b=x * 2)
    o.move_to_end("a")
    o["c"] = o.pop("b") + 1
    return [sum(v) for v in d.values()], list(o) == list("ac"), o["c"] - o["a"]


@given(X)
def sets_and_sorting(x):
    names = {"b", "a", "c"}
    weights = dict(zip(sorted(names), [3.0, 1.0, 2.0], strict=True))
    order = sorted(weights, key=weights.get, reverse=True)
    return x * weights[order[0]] + weights[min(names)] + (weights.keys() & {"a"} == {"a"})


@given(X)
def texts(x):
    label = f"{x.shape[0]:03d}|{x.ndim!r}|{str(x.dtype):>8}"
    parts = label.split("|")
    return x * int(parts[0]) + len(label)


@given(X)
def walrus(x):
    if (n := len(x)) > 2 and (m := n // 2):
        x = x[:m] + n
    return x, [y for k in range(5) if (y := k * k) > 3]


@given(X)
def star_unpacking(x):
    a, *b, c = x
    (d, e), f = (a, c), b
    head, *_ = f
    return np.array([*b, a, c]) + d + e + head + np.add(*(x, x))


@given(X)
def match_on_structure(x):
    def area(shape):
        match shape:
            case {"kind": "circle", "r": r}:
                return math.pi * r**2
            case ("box", int(w), int(h)) if w == h:
                return w * w
            case ("box", w, h):
                return w * h
            case [only]:
                return only
            case Pair(left=a, right=b):
                return a + b
            case _:
                return 0.0

    shapes = [{"kind": "circle", "r": 2.0}, ("box", 2, 2), ("box", 2, x[0]), [x[1]], Pair(1, x[2])]
    return sum(area(s) for s in shapes) + area(None)


@given(MATRIX)
def type_questions(m):
    ok = isinstance(m, np.ndarray) and not isinstance(m, (list, float))
    ok = ok and issubclass(m.dtype.type, np.floating) and np.issubdtype(m.dtype, np.number)
    ok = ok and m.dtype == float and m.dtype.kind == "f" and m.dtype.itemsize == 8
    ok = ok and np.isscalar(3.0) and not np.isscalar(m) and callable(np.sin) and np.ndim(m) == 2
    return m.dtype.type(2) * m if ok else None


@given(MATRIX)
def attributes_of_arrays(m):
    rows, cols = m.shape
    n = m.size // cols + m.nbytes + m.itemsize + m.ndim + len(m) + len(m.T) + m.flat[3]
    return np.zeros((rows, m.shape[-1] // 2)) + n, m.T.shape


@given(X)
def abstract_and_generic(x):
    import abc
    from typing import Generic, TypeVar

    T = TypeVar("T")

    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self): ...

    class Box(Shape, Generic[T]):
        sides: int = 4

        def __init__(self, w: T) -> None:
            self.w = w

        def area(self):
            return self.w**2 * self.sides

    return Box[float](x).area()


WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0])


def with_defaults(x, w=WEIGHTS, *, n=2, f=np.cos, opts=(1, 2)):
    return f(x) * w * n + sum(opts)


@given(X)
def defaults(x):
    return with_defaults(x) + with_defaults(x, 2.0, n=3, f=np.tan, opts=[])


@given(X)
def global_names(x):
    return x * globals()["PHYSICS"].drag + len(__name__.split(".")) * 0
