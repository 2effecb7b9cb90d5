"""Random Graphs for differential tests: every construct, from a seed.

`random_graph(seed)` makes a closed Graph of about `size` equations over several shapes and types,
with nested control flow and several results; `random_arguments` makes awkward inputs for it. The
same seed gives the same program everywhere (only `random.Random` decides).
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np

import pyc.ir.ops  # noqa: F401 - fills the op table
from pyc.errors import PycError
from pyc.ir import dtype as dt
from pyc.ir.expr import Var
from pyc.ir.graph import Builder, Graph, Value
from pyc.ir.op import OPS, Complex, Kind, Op
from pyc.ir.types import ArrayType
from pyc.passes.relax import RULES
from tests.programs.coverage import equations, live

SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (5,), (17,), (3, 5), (5, 3), (4, 17), (2, 3, 5), (1, 5), (300,), (2, 140)),
    *((0,), (3, 0), (9, 300), (260, 3)),
)
DTYPES = (
    *(dt.f32, dt.f64, dt.i32, dt.i64, dt.b1, dt.u8, dt.f16, dt.bf16, dt.c64),
    *(dt.i8, dt.i16, dt.u16, dt.u32, dt.u64, dt.c128, dt.f8e4m3, dt.f8e5m2),
)
WEIGHTS = (10, 4, 3, 3, 3, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
ORDERING = (
    *("sort", "argsort", "top_k", "cumsum", "cumprod", "cummax", "cummin", "searchsorted", "fft"),
    *("iota", "order_statistics"),
)
DIVISORS = ("gcd", "lcm")
"""Kernels whose elements are computed from two of one place."""
SIGN_READERS = ("copysign", "signbit")
"""They ask for the sign of a NaN, which is the processor's where it is computed."""
RELAXED = "fast_"
"""What the names of ops begin with that only `fastmath` makes."""
RELAXABLE = (dt.f32, dt.f64, dt.f16, dt.bf16, dt.c64, dt.c64, dt.c128)
"""Types of which each program for `fastmath` has one argument at least."""
UNCAST = ("bool", "complex")
"""Kinds that no bits are read as."""
FEWEST = 20
"""Equations that a program's results need, those in bodies included."""
UNIFORM = 0.05
"""Of the arguments of floats: those that are one number everywhere."""
EXTREME = 0.15
"""Of the integers that a pointwise op takes besides its first: numbers far from zero."""
WORDS = 16
"""Of so many seeds the one whose program has a word of random bits."""
LARGE = 4096
"""Most elements of a value: programs stay quick to interpret."""


@cache
def arity(op: Op) -> int:
    """How many elements a pointwise op takes; 0 if it needs params too."""
    assert op.scalar is not None
    samples = {"bool": dt.b1, "int": dt.i64, "uint": dt.u8, "float": dt.f32}
    for kind in op.kinds.split():
        element = Complex(Var("x", dt.f32), Var("y", dt.f32))
        x = element if kind == "complex" else Var("x", samples[kind])
        for count in (1, 2, 3):
            try:
                op.scalar(*[x] * count)
            except TypeError:
                continue
            return count
    return 0


class Program:
    """A Graph under construction, and what may be used next. checks: with ops that may fail;
    relaxed: with more of what `fastmath` rewrites."""

    def __init__(
        self, rng: random.Random, depth: int = 0, *, checks: bool = False, relaxed: bool = False
    ) -> None:
        self.rng = rng
        self.builder = Builder()
        self.values: list[Value] = []
        self.depth = depth
        self.checks = checks
        self.relaxed = relaxed

    def inner(self) -> Program:
        """An empty body of a control-flow op."""
        return Program(self.rng, self.depth + 1, checks=self.checks, relaxed=self.relaxed)

    def param(self, type: ArrayType) -> Value:
        """A new parameter, ready to use."""
        value = self.builder.param(type)
        self.values.append(value)
        return value

    def bind(self, name: str, /, *args: Value, **params: Any) -> Value | None:
        """The result of an op, or None if its type rule refuses."""
        try:
            outs = self.builder.bind(name, *args, **params)
        except PycError:
            return None
        self.values.extend(o for o in outs if o.type.size <= LARGE)
        return outs[0]

    def pick(self, test: Any = lambda v: True) -> Value | None:
        """A random known value that passes `test`, newer ones more often."""
        found = [v for v in self.values if test(v)]
        if not found:
            return None
        return found[int(len(found) * self.rng.random() ** 0.6)]

    def of_type(self, type: ArrayType) -> Value:
        """A value of exactly this type, converted if need be."""
        rng = self.rng
        exact = [v for v in self.values if v.type == type]
        if exact and rng.random() < 0.8:
            return rng.choice(exact)
        x = self.pick(lambda v: v.shape == type.shape and not v.dtype.is_complex)
        if x is None:
            number = rng.choice([0, 1, 2, -1, 3]) if type.dtype is not dt.b1 else rng.random() < 0.5
            array = np.asarray(number).astype(type.dtype.numpy)
            scalar = self.builder.constant(array)
            return self.builder.bind1("broadcast", scalar, shape=type.shape)
        if x.dtype is type.dtype:
            return x
        return self.builder.bind1("cast", x, dtype=type.dtype)

    def operand(self, type: ArrayType) -> Value:
        """A value of exactly this type; now and then an integer with which arithmetic overflows."""
        if not type.dtype.is_integer or self.rng.random() > EXTREME:
            return self.of_type(type)
        info = np.iinfo(type.dtype.numpy)
        half, odd = 1 << type.dtype.bits // 2, 6364136223846793005 & info.max
        number = self.rng.choice([info.max, info.min, info.max // 2 + 1, half, odd])
        scalar = self.builder.constant(np.asarray(number, type.dtype.numpy))
        return self.builder.bind1("broadcast", scalar, shape=type.shape)

    # --- one step of each construct ---------------------------------------------------------------

    def step(self) -> None:
        """Adds one construct."""
        steps = [
            (12, self.pointwise),
            (3, self.shape_op),
            (2, self.stencil),
            (3, self.reduction),
            (1, self.row_program),
            (1, self.contraction),
            (2, self.ordering),
            (2, self.indexing),
            (2, self.update),
            (1, self.replacement),
        ]
        if self.checks:
            steps.append((1, self.check))
        if self.relaxed:
            steps.append((6, self.rewritten))
        if self.depth < 2:
            steps += [(2, self.control), (1, self.chain)]
        weights = [w for w, _ in steps]
        self.rng.choices([s for _, s in steps], weights)[0]()

    def pointwise(self) -> None:
        """A pointwise op over values of one shape and type."""
        rng = self.rng
        names = sorted(
            n
            for n, o in OPS.items()
            if o.kind is Kind.POINTWISE and o.fails is None and not n.startswith(RELAXED)
            if n != "philox"
        )
        names += DIVISORS
        x = self.pick()
        if x is None:
            return
        for _ in range(8):
            name = rng.choice(names)
            op = OPS[name]
            if name == "cast":
                self.bind("cast", x, dtype=rng.choices(DTYPES, WEIGHTS)[0])
                return
            if name == "bitcast":
                same = [t for t in DTYPES if t.bits == x.dtype.bits and t.kind not in UNCAST]
                if same and x.dtype.kind not in UNCAST:
                    x = self.number(x) if x.dtype.is_float else x
                    self.bind("bitcast", x, dtype=rng.choice(same))
                    return
                continue
            if name == "select":
                condition = self.of_type(ArrayType(x.shape, dt.b1))
                self.bind("select", condition, x, self.of_type(x.type))
                return
            count = 2 if name in DIVISORS else arity(op)
            others = [self.operand(x.type) for _ in range(count - 1)]
            if name in SIGN_READERS and x.dtype.is_float:
                x, *others = (self.number(v) for v in (x, *others))
            if count and self.bind(name, x, *others) is not None:
                return

    def random_word(self) -> Value:
        """A word of random bits, of counters and a key of one shape."""
        x = self.pick()
        assert x is not None
        words = [self.of_type(ArrayType(x.shape, dt.u32)) for _ in range(6)]
        return self.builder.bind1("philox", *words, word=self.rng.randrange(4))

    def rewritten(self) -> None:
        """An op, or two, that `fastmath` rewrites."""
        rng = self.rng
        pairs = rng.random() < 0.3
        x = self.pick(lambda v: v.dtype.is_complex if pairs else v.dtype.is_float)
        if x is None:
            return
        y = self.of_type(x.type)
        name = rng.choice([*RULES, "fma", "fma", "fma"])
        if name == "fma":
            product = self.builder.bind1("mul", x, y)
            self.bind(rng.choice(["add", "sub"]), *rng.sample([product, self.of_type(x.type)], 2))
        elif name == "power":
            number = np.asarray(rng.choice([0.5, 1, 2, 3, -1.5, 0.3])).astype(x.dtype.numpy)
            exponent = self.builder.constant(number)
            self.bind("power", x, self.builder.bind1("broadcast", exponent, shape=x.shape))
        else:
            self.bind(name, *(x, y)[: arity(OPS[name])])

    def number(self, x: Value) -> Value:
        """`x`, 0 where it is NaN."""
        nan = self.builder.bind1("isnan", x)
        return self.builder.bind1("select", nan, self.filled(x, 0), x)

    def shape_op(self) -> None:
        """Moves data by a fixed index map."""
        rng = self.rng
        x = self.pick()
        if x is None:
            return
        kinds = ["transpose", "reshape", "broadcast", "slice", "concatenate", "pad"]
        kind = rng.choice([*kinds, "view_as_real"] if x.dtype.is_complex else kinds)
        rank = len(x.shape)
        if kind == "transpose":
            self.bind("transpose", x, axes=tuple(rng.sample(range(rank), rank)))
        elif kind == "reshape":
            options = [s for s in SHAPES if int(np.prod(s)) == x.type.size] + [(x.type.size,)]
            self.bind("reshape", x, shape=rng.choice(options))
        elif kind == "broadcast":
            self.bind("broadcast", x, shape=(rng.choice([1, 2, 3, 7]), *x.shape))
        elif kind == "slice":
            ranges = []
            for n in x.shape:
                a, b = sorted((rng.randint(0, n), rng.randint(0, n)))
                whole = range(a, b, rng.choice([1, 1, 1, 2, 3]))
                ranges.append(whole[::-1] if rng.random() < 0.2 else whole)
            self.bind(
                "slice",
                x,
                start=tuple(r.start if len(r) else 0 for r in ranges),
                size=tuple(len(r) for r in ranges),
                step=tuple(r.step for r in ranges),
            )
        elif kind == "view_as_real":
            self.bind("view_as_real", x)
        elif kind == "concatenate" and rank:
            axis = rng.randrange(rank)
            self.bind("concatenate", x, self.of_type(x.type), x, axis=axis)
        elif kind == "pad" and rank:
            low = tuple(rng.choice([0, 0, 1, 2]) for _ in x.shape)
            high = tuple(rng.choice([0, 0, 1, 3]) for _ in x.shape)
            zero = self.builder.constant(np.zeros((), x.dtype.numpy))
            self.bind("pad", x, zero, low=low, high=high)

    def stencil(self) -> None:
        """The sum of shifted slices of one value."""
        x = self.pick(lambda v: v.shape and v.shape[-1] >= 3 and v.dtype.is_float)
        if x is None:
            return
        n, rest = x.shape[-1], x.shape[:-1]
        parts = []
        for shift in range(3):
            part = self.bind(
                "slice",
                x,
                start=(*[0] * len(rest), shift),
                size=(*rest, n - 2),
                step=(1,) * len(x.shape),
            )
            parts.append(part)
        if all(p is not None for p in parts):
            total = self.bind("add", parts[0], parts[1])
            if total is not None:
                self.bind("sub", total, parts[2])

    def reduction(self) -> None:
        """A reduction over some axes."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and 0 not in v.shape)
        if x is None:
            return
        axes = tuple(k for k in range(len(x.shape)) if rng.random() < 0.6)
        names = sorted(n for n, o in OPS.items() if o.kind is Kind.REDUCE)
        for _ in range(6):
            if self.bind(rng.choice(names), x, axes=axes) is not None:
                return

    def row_program(self) -> None:
        """x minus its maximum along an axis, over its sum: a softmax without the exponential."""
        x = self.pick(lambda v: v.shape and 0 not in v.shape and v.dtype in (dt.f32, dt.f64))
        if x is None:
            return
        axis = self.rng.randrange(len(x.shape))
        keep = tuple(1 if k == axis else n for k, n in enumerate(x.shape))

        def spread(v: Value) -> Value:
            kept = self.builder.bind1("reshape", v, shape=keep)
            return self.builder.bind1("broadcast", kept, shape=x.shape)

        top = self.builder.bind1("reduce_max", x, axes=(axis,))
        moved = self.builder.bind1("sub", x, spread(top))
        power = self.builder.bind1("mul", moved, moved)
        total = self.builder.bind1("reduce_sum", power, axes=(axis,))
        self.values.append(total)
        self.bind("div", power, spread(total))

    def check(self) -> None:
        """Integers that must be in bounds, not negative, or of a narrower type, variables that must
        have a value, or what else must hold: seldom such that some do not."""
        rng = self.rng
        x = self.pick(lambda v: v.dtype in (dt.i32, dt.i64, dt.f32, dt.f64))
        if x is None:
            return
        kind = rng.choice(
            ["index_check", "number_check", "integer_power", "require", "narrow", "check"]
        )
        if kind in ("require", "check"):
            there = self.builder.bind1("ne", x, self.filled(x, rng.choice([3, 8, 77, 77])))
            if kind == "require":
                self.bind("require", x, there, name="variable")
            else:
                number = self.builder.bind1("cast", x, dtype=dt.i64)
                self.bind("check", there, number, error="RuntimeError: x")
            return
        bound = rng.choice([3, 17, 300])
        if x.dtype is not dt.i64:
            x = self.builder.bind1("cast", x, dtype=dt.i64)
        if rng.random() < 0.8:
            x = self.builder.bind1("remainder", x, self.filled(x, bound))
        if kind == "integer_power":
            self.bind("integer_power", self.of_type(x.type), x)
        elif kind == "narrow":
            self.bind("narrow", x, dtype=rng.choice([t for t in DTYPES if t.is_integer]))
        elif kind == "number_check":
            self.bind("number_check", x, asked="choose", bound=bound)
        else:
            self.bind("index_check", x, axis=0, bound=bound)

    def filled(self, like: Value, number: int) -> Value:
        """One number everywhere, of the type and shape of another value."""
        constant = self.builder.constant(np.asarray(number).astype(like.dtype.numpy))
        return self.builder.bind1("broadcast", constant, shape=like.shape)

    def contraction(self) -> None:
        """An integer product (floats have a bound, not bits: tested by themselves)."""
        a = self.pick(lambda v: len(v.shape) in (1, 2) and v.dtype.kind == "int")
        if a is None:
            return
        b = self.pick(
            lambda v: len(v.shape) == 2 and v.dtype is a.dtype and v.shape[0] == a.shape[-1]
        )
        if b is None or self.depth:
            return
        self.bind("dot_general", a, b, dimensions=(((len(a.shape) - 1,), (0,)), ((), ())))

    def ordering(self) -> None:
        """Sorts, searches, numbers, or runs along the last axis."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and 0 not in v.shape)
        if x is None:
            return
        for _ in range(4):
            name = rng.choice(ORDERING)
            if name in ("sort", "argsort"):
                found = self.bind(name, x, descending=rng.random() < 0.5)
            elif name == "top_k":
                k, descending = rng.randint(0, x.shape[-1]), rng.random() < 0.5
                found = self.bind(name, x, k=k, descending=descending)
            elif name == "order_statistics":
                places = tuple(rng.randrange(x.shape[-1]) for _ in range(rng.randint(1, 3)))
                found = self.bind(name, x, places=places, descending=rng.random() < 0.5)
            elif name == "iota":
                axis = rng.randrange(len(x.shape))
                dtype = rng.choice([dt.i64, dt.i32, dt.f32])
                found = self.bind(name, shape=x.shape, axis=axis, dtype=dtype)
            elif name == "fft":
                params = {"inverse": rng.random() < 0.5, "scale": rng.choice([1.0, 0.3])}
                real = "in" if x.dtype.is_float else rng.choice(["", "out"])
                axis = rng.randrange(len(x.shape))
                found = self.bind(name, x, axis=axis, real=real, **params)
            elif name == "searchsorted":
                line = self.pick(lambda v: len(v.shape) == 1 and v.dtype is x.dtype)
                found = None if line is None else self.bind("sort", line, descending=False)
                if found is not None:
                    found = self.bind(name, found, x, right=rng.random() < 0.5)
            else:
                found = self.bind(name, x)
            if found is not None:
                return

    def indexing(self) -> None:
        """Reads at computed places."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and 0 not in v.shape)
        if x is None:
            return
        places = self.of_type(ArrayType(rng.choice([(), (4,), (2, 3)]), dt.i64))
        if rng.random() < 0.5:
            axis = rng.randrange(len(x.shape))
            self.bind("gather", x, places, axes=(axis,), position=0)
            return
        start = self.of_type(ArrayType((), dt.i64))
        sizes = tuple(rng.randint(1, n) for n in x.shape)
        starts = (None, *(rng.randint(0, n - s) for n, s in zip(x.shape[1:], sizes[1:])))
        self.bind("dynamic_slice", x, start, starts=starts, sizes=sizes)

    def update(self) -> None:
        """Writes a box, or scattered elements, of a value."""
        x = self.pick(lambda v: v.shape and 0 not in v.shape)
        if x is not None:
            self.updated(x)

    def updated(self, x: Value) -> Value | None:
        """`x` after an update, perhaps by its own elements, at a place that it may hold itself."""
        rng = self.rng
        if rng.random() < 0.6:
            sizes = tuple(rng.choice([n, rng.randint(1, n)]) for n in x.shape)
            start = self.of_type(ArrayType((), dt.i64))
            update = self.of_type(ArrayType(sizes, x.dtype))
            if rng.random() < 0.2 and sizes == x.shape:
                update = self.builder.bind1(
                    "slice",
                    x,
                    start=tuple(n - 1 for n in sizes),
                    size=sizes,
                    step=(-1,) * len(sizes),
                )
            starts = (None, *(rng.randint(0, n - s) for n, s in zip(x.shape[1:], sizes[1:])))
            strides = tuple(
                rng.choice([1, 1, 1, 2]) if s > 1 and 2 * s - 1 + (a or 0) <= n else 1
                for n, s, a in zip(x.shape, sizes, starts)
            )
            return self.bind("update_slice", x, update, start, starts=starts, strides=strides)
        places = self.of_type(ArrayType((4,), dt.i64))
        update = self.of_type(ArrayType((4, *x.shape[1:]), x.dtype))
        mode = rng.choice(["set", "add", "max"])
        return self.bind("scatter", x, update, places, axes=(0,), position=0, mode=mode)

    def replacement(self) -> None:
        """A value of which all but a border is replaced, at a place that is known, by what is
        computed of neighbours there; or a border around a value."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and max(v.shape) > 4 and 0 not in v.shape)
        if x is None:
            return
        starts = tuple(rng.randint(0, 1) if n > 4 else 0 for n in x.shape)
        sizes = tuple(n - a - rng.randint(0, 1) if n > 4 else n for n, a in zip(x.shape, starts))
        if rng.random() < 0.3:
            into, update = (
                self.filled(x, rng.choice([0, 1])),
                self.of_type(ArrayType(sizes, x.dtype)),
            )
        else:
            into, steps = x, (1,) * len(sizes)
            near = [
                tuple(rng.randint(0, n - s) for n, s in zip(x.shape, sizes))
                for _ in range(rng.choice([2, 2, 3]))
            ]
            parts = [self.builder.bind1("slice", x, start=a, size=sizes, step=steps) for a in near]
            update = parts[0]
            for part in parts[1:]:
                names = ["add", "sub", "maximum", "bitwise_xor"]
                update = self.bind(rng.choice(names), update, part) or update
        strides = (1,) * len(sizes)
        self.bind("update_slice", into, update, starts=starts, strides=strides)

    def chain(self) -> None:
        """Updates of one value in a row, those in loops and branches among them, and now and then
        a use of the value in between."""
        x = self.pick(lambda v: v.shape and 0 < v.type.size < 400)
        if x is not None:
            self.chained(x)

    def chained(self, x: Value) -> Value:
        """The end of such a chain, of the type of `x`."""
        rng, start = self.rng, x.type
        for _ in range(rng.randint(1, 3)):
            link = rng.choice(
                ["update", "update", "while", "cond"] if self.depth < 3 else ["update"]
            )
            if link == "update":
                x = self.updated(x) or x
            elif link == "while":
                x = self._while([x], (start,), chained=True)[-1]
            else:
                index = self.of_type(ArrayType((), dt.i64))
                cases = []
                for k in range(rng.choice([2, 2, 3])):
                    inner = self.inner()
                    (param,) = [inner.param(start)]
                    out = param if k == 0 and rng.random() < 0.5 else inner.chained(param)
                    cases.append(inner.builder.build([out]))
                x = self.bind("cond", index, x, branches=tuple(cases)) or x
            if rng.random() < 0.15:
                self.pointwise()
        return x

    def control(self) -> None:
        """A cond, a counted while, or a scan over what is here."""
        rng = self.rng
        if not self.values:
            return
        kind = rng.choice(["cond", "while", "scan"])
        some = [self.pick(lambda v: v.type.size < 400) for _ in range(rng.randint(1, 3))]
        operands = [v for v in some if v is not None]
        if not operands:
            return
        if rng.random() < 0.4:
            operands.append(self.of_type(operands[0].type))
        types = tuple(v.type for v in operands)
        if kind == "cond":
            branches = tuple(self._body(types, types) for _ in range(rng.choice([1, 2, 3])))
            index = self.of_type(ArrayType((), dt.i64))
            self.bind("cond", index, *operands, branches=branches)
        elif kind == "while":
            self._while(operands, types)
        else:
            self._scan(operands, types)

    def _while(
        self, operands: list[Value], types: tuple[ArrayType, ...], *, chained: bool = False
    ) -> tuple[Value, ...]:
        """A loop of a few steps over `operands`, which may read other values too. Its carries are
        computed, kept, exchanged, doubled, or updated in place."""
        rng = self.rng
        count = ArrayType((), dt.i64)
        test = Builder()
        counter, *_ = [test.param(t) for t in (count, *types)]
        limit = test.constant(rng.randint(0, 4), dt.i64)
        condition = test.build([test.bind1("lt", counter, limit)])
        inner = self.inner()
        captures = [v for v in [self.pick(lambda v: v.type.size < 400)] if v and rng.random() < 0.4]
        for v in captures:
            inner.param(v.type)
        number = inner.builder.param(count)
        if rng.random() < 0.5:
            inner.values.append(number)
        state = [inner.param(t) for t in types]
        outs = [] if chained else inner.finish(types)
        for k in range(len(types)):
            if chained or (rng.random() < 0.3 and 0 not in types[k].shape and types[k].shape):
                outs[k : k + 1] = [inner.chained(state[k])]
            elif rng.random() < 0.15:
                outs[k] = state[k]
        if rng.random() < 0.2 and len(state) > 1 and types[0] == types[1]:
            both = inner.bind(rng.choice(["mul", "maximum", "bitwise_or"]), state[1], state[0])
            line = None if both is None else inner.bind("sort", both, descending=False)
            if line is not None:
                outs[:2] = rng.choice(state[:2]), line  # the first is only read
        elif rng.random() < 0.3 and len(state) > 1 and types[0] == types[1]:
            outs[0], outs[1] = rng.choice([(state[1], outs[0]), outs[1::-1], (state[1], state[1])])
        one = inner.builder.constant(1, dt.i64)
        following = inner.builder.bind1("add", number, one)
        body = inner.builder.build([following, *outs])
        start = self.builder.constant(0, dt.i64)
        outs = self.builder.bind(
            "while",
            *(*captures, start, *operands),
            condition=condition,
            body=body,
            condition_captures=0,
            body_captures=len(captures),
        )
        self.values.extend(outs)
        return outs

    def _scan(self, operands: list[Value], types: tuple[ArrayType, ...]) -> None:
        rng = self.rng
        xs = self.pick(lambda v: v.shape and 0 < v.shape[0] <= 6)
        if xs is None:
            return
        row = ArrayType(xs.shape[1:], xs.dtype)
        body = self._body((*types, row), (*types, row))
        self.bind(
            "scan",
            *operands,
            xs,
            body=body,
            length=xs.shape[0],
            captures=0,
            carries=len(types),
            reverse=rng.random() < 0.3,
        )

    def _body(self, takes: tuple[ArrayType, ...], gives: tuple[ArrayType, ...]) -> Graph:
        inner = self.inner()
        for t in takes:
            inner.param(t)
        return inner.builder.build(inner.finish(gives))

    def finish(self, types: tuple[ArrayType, ...]) -> list[Value]:
        """Some steps, then values of the types wanted, made by them rather than given."""
        rng, given = self.rng, {*self.values}
        for _ in range(rng.randint(2, 7)):
            self.step()
        outs = []
        for t in types:
            made = [v for v in self.values if v.type == t and v not in given]
            outs.append(made[-1] if made and rng.random() < 0.8 else self.of_type(t))
        return outs


def random_graph(
    seed: int, fewest: int = FEWEST, *, checks: bool = False, relaxed: bool = False
) -> Graph:
    """The program of a seed, whose results need at least so many equations. checks: with ops that
    fail now and then; relaxed: with many that `fastmath` rewrites."""
    rng = random.Random(seed)
    program = Program(rng, checks=checks, relaxed=relaxed)
    eqns = program.builder.eqns
    for _ in range(rng.randint(1, 4)):
        program.param(ArrayType(rng.choice(SHAPES), rng.choices(DTYPES, WEIGHTS)[0]))
    if relaxed:
        program.param(ArrayType(rng.choice(SHAPES), rng.choice(RELAXABLE)))
    size = fewest
    while True:
        size += 5
        while len(eqns) < size:
            program.step()
            size -= 0.2  # ends even where few steps apply
        found = rng.sample(program.values, min(len(program.values), rng.randint(1, 6)))
        if equations(live(eqns, found)) >= fewest:
            words = [program.random_word()] if seed % WORDS == WORDS - 1 else []
            return program.builder.build(found + words)
        if not rng.randrange(20):  # where nothing much applies to what there is
            program.param(ArrayType((5,), dt.f32))


def random_arguments(graph: Graph, seed: int) -> list[np.ndarray[Any, Any]]:
    """Inputs with the awkward values of each type among plain ones, and now and then nothing but
    one of them."""
    rng = np.random.default_rng(seed)
    arrays = []
    for k, p in enumerate(graph.params):
        size, numpy_type = p.type.size, p.dtype.numpy
        if p.dtype is dt.b1:
            flat = rng.random(size) < 0.5
        elif p.dtype.is_integer:
            info = np.iinfo(numpy_type)
            flat = rng.integers(max(info.min, -9), min(info.max, 9), size).astype(numpy_type)
            flat[rng.random(size) < 0.05] = info.min
            flat[rng.random(size) < 0.05] = info.max
        else:
            wide = rng.standard_normal(size) * rng.choice([1.0, 10.0, 1e-3], size)
            special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-42, 1.0])
            where = rng.random(size) < 0.08
            wide[where] = rng.choice(special, int(where.sum()))
            one = np.random.default_rng((seed, k))
            if one.random() < UNIFORM:
                wide[:] = one.choice(special)
            with np.errstate(all="ignore"):
                flat = wide.astype(p.dtype.real.numpy)
                if p.dtype.is_complex:
                    flat = (flat + 1j * rng.permutation(flat)).astype(numpy_type)
        arrays.append(np.array(flat.reshape(p.shape), order="C"))
    return arrays
