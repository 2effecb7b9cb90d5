"""Plain NumPy code, one construct a row: functions and classes, as in `plain_numpy.py`."""

from __future__ import annotations

from tests.trace.plain_rows import Rows

ROWS = Rows()
section, works, refused = ROWS.section, ROWS.works, ROWS.refused

# --------------------------------------------------------------------------------------------------
section("Functions")

works(
    "helpers, recursion, helpers of other modules",
    """
    def helper(v, depth=2): return np.ones(3) + (helper(v, depth - 1) if depth else v)
    def f(x): return helper(x)
    """,
)
works(
    "closures, nested functions, lambdas, defaults, `*args`, `**kwargs`",
    """
    def make(scale, op=np.multiply):
        table = [0.5, scale]
        def g(v, *rest, shift=np.float64(1), **more):
            return op(np.full(3, table[1]), v) + shift + sum(rest) + more.get("extra", 0)
        return g
    g = make(3.0)
    def f(x): return g(x, 1, 2, extra=x) + (lambda v: np.zeros(3) + v)(x)
    """,
)
works(
    "decorated helpers: `functools.wraps`, context managers, classes as decorators",
    """
    import contextlib, functools
    def twice(g):
        @functools.wraps(g)
        def run(*args): return g(*args) + np.ones(3)
        return run
    class Scaled:
        def __init__(self, g): self.g = g
        def __call__(self, v): return np.full(3, 2.0) * self.g(v)
    @twice
    def helper(x): return np.zeros(3) + x
    @Scaled
    def other(x): return np.zeros(3) + x
    @contextlib.contextmanager
    def block(n): yield np.zeros(n)
    def f(x):
        with block(3) as z:
            return helper(x) + other(x) + z
    """,
)
works(
    "`functools.partial`, `lru_cache`, `cache`",
    """
    import functools
    grid = functools.partial(np.linspace, 0.0, num=3)
    @functools.lru_cache(maxsize=None)
    def weights(n): return np.arange(n) / n
    @functools.cache
    def fibonacci(n): return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
    def f(x): return grid(2.0) * weights(3) * x + fibonacci(40)
    """,
)
works(
    "generators and context managers",
    """
    def steps(n):
        for k in range(n):
            yield np.zeros(3) + k
    def f(x): return sum(steps(3)) + x
    """,
)
works(
    "jitted functions, called or handed over",
    """
    import pyc
    @pyc.jit
    def inner(v): return np.zeros(3) + v
    def f(x): return inner(x) + pyc.jit(lambda v: np.ones(3) * v)(x)
    """,
)
works(
    "functions for `pyc.lax`",
    """
    import pyc
    def f(x): return pyc.lax.scan(lambda c, v: (c + np.ones(2) * v, np.zeros(1)), np.zeros(2), x)
    """,
)
works(
    "`pyc.vmap`; `np.vectorize`, with a signature too, `np.apply_along_axis`: traced once, no loop",
    """
    import pyc
    clipped = np.vectorize(lambda v, top: v if v < top else top)
    dots = np.vectorize(np.dot, signature="(n),(n)->()")
    def f(x):
        rows = np.outer(x, x)
        return clipped(rows, 1.0), dots(rows, x), np.apply_along_axis(np.sort, 1, rows), (
            pyc.vmap(lambda r: r / (1 + r.sum()))(rows))
    """,
)
works(
    "functions, methods of objects and partials as arguments: `integrate(model.rhs, y)`",
    """
    import functools
    import pyc
    class Model:
        def __init__(self): self.rate, self.weights = 0.5, np.ones(3)
        def rhs(self, v): return v * self.rate + self.weights
    def decay(rates, v): return v * rates[0]
    @pyc.jit
    def integrate(function, v): return v + 0.1 * function(v)
    model = Model()
    def f(x):
        y = integrate(model.rhs, x) + integrate(functools.partial(decay, [2.0]), x)
        return y + integrate(np.sin, x)
    """,
)
works(
    "ranges, slices and `...` as arguments",
    """
    import pyc
    @pyc.jit
    def part(v, places, order): return v[places] + sum(v[k] for k in order)
    def f(x): return part(x, slice(None, None, -1), range(2)) + part(x, ..., range(1))
    """,
)
works(
    "`isinstance`-dispatch, `try`, `with`, `match`",
    """
    def size(v):
        match v:
            case float(): return np.ones(1)
            case np.ndarray(): return np.zeros(3) + v
            case _: return None
    def f(x):
        try:
            y = x.reshape(2, 2)
        except ValueError:
            y = x
        return size(y), size(x[0]), size(2.0)
    """,
)
refused(
    "a nonlocal name that is assigned",
    "PYC1200",
    """
    def make():
        calls = 0
        def g(v):
            nonlocal calls
            calls += 1  # refused
            return v
        return g
    g = make()
    def f(x):
        return g(x)
    """,
)

# --------------------------------------------------------------------------------------------------
section("Classes")

works(
    "methods, properties, static and class methods, `super()`, `cached_property`, class attributes",
    """
    import functools
    class Layer:
        scale = 2.0
        def __init__(self, n): self.w, self.act = [0.5] * n, np.tanh
        @property
        def bias(self): return np.sum(np.array(self.w))
        @staticmethod
        def pad(v): return np.zeros(3) + v
        @classmethod
        def make(cls, n): return cls(n)
        @functools.cached_property
        def grid(self): return np.arange(3.0)
        def __call__(self, v): return self.act(np.array(self.w) * v) * self.scale + self.bias
    class Deep(Layer):
        def __init__(self, n):
            super().__init__(n)
            self.layers = [Layer(n), Layer.make(n)]
        def __call__(self, v):
            for layer in self.layers: v = layer(v) + layer.pad(v) + layer.grid
            return super().__call__(v)
    model = Deep(3)
    def f(x):
        assert isinstance(model, Layer) and type(model) is Deep and isinstance(Deep(3), Deep)
        return model(x) + Deep(3)(x) + Layer.pad(x)
    """,
)
works(
    "dataclasses: frozen, `__post_init__`, default factories, `replace`, slots",
    """
    from dataclasses import asdict, dataclass, field, replace
    @dataclass(frozen=True)
    class Options:
        dt: float = 0.1
        n: int = 3
        act: object = field(default_factory=lambda: np.tanh)
        def __post_init__(self): object.__setattr__(self, "h", self.dt / self.n)
        def grid(self): return np.linspace(0, 1, self.n)
    @dataclass(slots=True)
    class Slotted:
        k: float
        def scaled(self, v): return np.full(3, self.k) * v
    options, slotted = Options(), Slotted(2.0)
    def f(x):
        other = replace(options, dt=0.5)
        return (options.act(options.grid() * other.dt + x) + options.h + slotted.scaled(x)
                + asdict(other)["n"] + (other == Options(dt=0.5)))
    """,
)
works(
    "classes made in the function: dataclasses, named tuples, annotations",
    """
    from dataclasses import dataclass
    from typing import NamedTuple
    def f(x):
        @dataclass
        class Point:
            at: object
            weight: float = 2.0
        class Pair(NamedTuple):
            first: object
            second: float = 1.0
        class Plain:
            rate: float
        point, pair = Point(x), Pair(x * 2)
        return point.at * point.weight + pair.first - pair.second + len(Plain.__annotations__)
    """,
)
works(
    "numbers of classes: `IntEnum`, `IntFlag`, `class Rate(float)`",
    """
    import enum
    class Label(enum.IntEnum):
        CAT = 1
        DOG = 2
    class Rate(float): pass
    def f(x): return np.where(x == Label.CAT, Label.DOG, x) * Rate(0.5) + x[Label.DOG]
    """,
)
works(
    "named tuples, enums, `SimpleNamespace`, generic and abstract classes",
    """
    import abc, enum, types, typing
    class Point(typing.NamedTuple):
        a: float
        b: float
        def norm(self): return np.sqrt(self.a**2 + self.b**2) + np.zeros(2)
    class Mode(enum.Enum):
        FAST = 1
    class Base(abc.ABC, typing.Generic[typing.TypeVar("T")]):
        @abc.abstractmethod
        def step(self, v): ...
    class Model(Base):
        def step(self, v): return np.ones(3) * v
    P, mode, model = Point(3.0, 4.0), Mode.FAST, Model()
    params = types.SimpleNamespace(k=2.0, g=lambda v: np.zeros(3) + v)
    def f(x):
        assert mode is Mode.FAST
        return P.norm(), Point(x[0], x[1]).norm(), model.step(x) + params.k * params.g(x)
    """,
)
works(
    "operators of the user's classes",
    """
    class Vec:
        def __init__(self, v): self.v = v
        def __add__(self, o): return Vec(self.v + np.asarray(o.v))
        def __mul__(self, k): return Vec(np.full(3, 1.0) * self.v * k)
        __rmul__ = __mul__
        def __getitem__(self, k): return self.v[k]
        def __len__(self): return len(self.v)
    one = Vec((1.0, 2.0, 3.0))
    def f(x): return (2 * (Vec(x) + one) * 3).v + len(one) + one[0]
    """,
)
works(
    "objects made in the function, changed freely",
    """
    class State:
        def __init__(self, u): self.u, self.log = u, []
        def step(self):
            self.u = self.u + np.ones(3)
            self.log.append(self.u)
    def f(x):
        s = State(x)
        for _ in range(3): s.step()
        return s.u, s.log
    """,
)
works(
    "classes made in the function",
    """
    def f(x):
        class Box:
            zero = np.zeros(3)
            unit = float(2)
            def get(self): return self.zero + np.ones(3) * self.unit
        return Box().get() + x
    """,
)
works(
    "results and arguments of registered classes",
    """
    import dataclasses, pyc
    @pyc.tree.register_dataclass
    @dataclasses.dataclass
    class State:
        u: object
        v: object
        def energy(self): return np.sum(np.square(self.u)) + np.zeros(2)
    def f(x):
        s = State(x, 2 * x)
        s = pyc.tree.map(lambda a: a + np.ones(3), s)
        return s.energy(), s.u, dataclasses.astuple(s)
    """,
)
refused(
    "setting an attribute of an object from outside",
    "PYC1200",
    """
    class Counter: calls = 0
    counter = Counter()
    def f(x):
        counter.calls += 1  # refused
        return x
    """,
)
refused(
    "changing a list or dict that is an argument, or in one",
    "PYC1200",
    """
    def f(x, state):
        state["sums"].append(x.sum())  # refused
        return x
    """,
    "x, {'sums': []}",
)
refused(
    "changing a container of functions from outside",
    "PYC1200",
    """
    STEPS = [np.sin]
    def f(x):
        STEPS.append(np.cos)  # refused
        return x
    """,
)
