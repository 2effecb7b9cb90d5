"""Random arithmetic of elements at the ends of their types, from a seed.

What an assembler assumes of integers shows at the ends only (`backends/ptx_kept.py`), and where
results of one width are read as another: here each value is near an end of some type, and many are
converted, compared and selected.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.graph import Graph
from pyc.ir.op import OPS, Kind
from pyc.ir.types import ArrayType
from tests.programs.random_graphs import Program, arity

Array = np.ndarray[Any, Any]
STEPS, RESULTS, SIZE = 24, 10, 300
OF_THEIR_OWN = ("cast", "bitcast", "select", "floor_divide", "remainder", "fmod")
WIDTHS = (dt.i8, dt.u8, dt.i16, dt.u16, dt.i32, dt.u32, dt.i64, dt.u64)


@dataclass(frozen=True)
class Kinds:
    """Types of parameters, what they are converted to, and the operations; `seldom` are those of
    which there are fewer, as they take most of the time to compile."""

    types: tuple[DType, ...]
    converted: tuple[DType, ...]
    operations: tuple[str, ...]
    seldom: tuple[str, ...]


KINDS = {
    "integers": Kinds(
        WIDTHS,
        (*WIDTHS, *WIDTHS, dt.b1, dt.f32, dt.f64),
        tuple(
            name
            for name, op in sorted(OPS.items())
            if op.kind is Kind.POINTWISE and op.fails is None and "int" in op.kinds.split()
            if name not in OF_THEIR_OWN
        ),
        ("floor_divide", "remainder", "fmod"),
    ),
    "floats": Kinds(
        (dt.f16, dt.bf16, dt.f16, dt.bf16, dt.f32, dt.f64),
        (dt.f16, dt.bf16, dt.f32, dt.f64, *WIDTHS, dt.b1),
        (
            *("abs", "neg", "add", "sub", "mul", "square", "maximum", "minimum", "fmax", "fmin"),
            *("eq", "ne", "lt", "le", "gt", "ge"),
        ),
        ("div", "sqrt", "floor", "ceil", "trunc", "rint", "sign"),
    ),
}


class Elements(Program):
    """A Graph of operations on elements under construction."""

    kinds = KINDS["integers"]

    def step(self) -> None:
        """Adds an operation, or a conversion."""
        rng, x = self.rng, self.pick(self._known)
        assert x is not None
        kind = rng.random()
        if kind < 0.25:
            self.bind("cast", x, dtype=rng.choice(self.kinds.converted))
        elif kind < 0.35:
            condition = self.of_type(ArrayType(x.shape, dt.b1))
            self.bind("select", condition, x, self.operand(x.type))
        else:
            name = rng.choice(self.kinds.seldom if kind < 0.4 else self.kinds.operations)
            others = [self.operand(x.type) for _ in range(arity(OPS[name]) - 1)]
            self.bind(name, x, *others)

    def _known(self, value: Any) -> bool:
        return bool(value.dtype.is_integer or value.dtype in self.kinds.types)


def random_elements(seed: int, kind: str) -> Graph:
    """Of three arrays of one or two types, `STEPS` operations; the last are results."""
    program = Elements(random.Random(f"{kind} {seed}"))
    program.kinds = KINDS[kind]
    first = program.rng.choice(program.kinds.types)
    for dtype in (first, first, program.rng.choice(program.kinds.types)):
        program.param(ArrayType((SIZE,), dtype))
    for _ in range(STEPS):
        program.step()
    return program.builder.build(program.values[-RESULTS:])


def end_arguments(graph: Graph, seed: int) -> list[Array]:
    """Numbers near the ends of the parameters' types, of narrower types, and near 0."""
    rng = np.random.default_rng(seed)
    powers = [1 << bits for bits in (7, 8, 15, 16, 31, 32, 63, 64)]
    ends = [e + d for power in powers for e in (-power, power) for d in (-1, 0, 1)]
    small = [-1, -2, -3, 5, 7, 100]
    arrays = []
    for p in graph.params:
        if p.dtype.is_integer:
            info = np.iinfo(p.dtype.numpy)
            own = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3]
            near = [e for e in (*ends, *small) if info.min <= e <= info.max]
            numbers = np.array(own * max(1, len(near) // len(own)) + near, p.dtype.numpy)
        else:
            with np.errstate(over="ignore", under="ignore"):
                whole = np.array([*ends, *small, 0, 1, 1.5, 2, 3, 2.5], np.float64)
                tiny = np.array([-0.0, np.nan, np.inf, -np.inf, 2.0**-24, 2.0**-133, 2.0**-149])
                wide = np.concatenate([whole, -whole, 1 / (whole + 0.25), tiny, tiny, 1.75 * tiny])
                numbers = wide.astype(p.dtype.numpy)
        arrays.append(rng.choice(numbers, p.type.size))
    return arrays
