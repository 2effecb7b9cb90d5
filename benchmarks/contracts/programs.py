"""The five programs that fix the contracts, on the CPU: the same bits everywhere, at what price.

    python -m benchmarks.contracts.programs [--quick] [--json FILE]

Each program goes through the Graph interpreter, the Plan interpreter (which runs the scheduled
kernels of both widths in the kernel interpreter; small sizes), and x86 at 256 and 512 bits with 1
and 2 threads. Pointwise work and reductions must be byte-equal everywhere. Contractions are
compared with float64: |error| <= 2 k eps sum |a b|, and must be byte-equal for 1 and 2 threads. The
times of sums and row programs are also given over the best unconstrained schedule
(`reduction_order.py`), taken in turns. A difference ends the run with exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import pyc
from benchmarks.contracts.reduction import row_programs as free
from benchmarks.contracts.reduction.kernels import (
    first_axis_kernels,
    last_axis_kernels,
    row_kernels,
)
from benchmarks.contracts.reduction.timing import Compiler
from benchmarks.runner import in_turn, options, publish
from pyc.backends.host import host_flags, targets_of
from pyc.backends.oracle import run_plan
from pyc.compile import Compiled, compile_lowered
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.target import Target
from pyc.lowered import lower_graph
from pyc.runtime.threads import threads

Array = np.ndarray[Any, Any]
EPSILON = float(np.finfo(np.float32).eps)
INTERPRETED = 1 << 21
"""Elements up to which the Graph interpreter is run."""
SIMULATED = 1 << 13
"""Elements up to which the kernel interpreter is run."""


# --- the programs ---------------------------------------------------------------------------------


def total(axis: int | None) -> Callable[[Any], Any]:
    return lambda x: x.sum(axis=axis)


def softmax(axis: int | None) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)

    return function


def layer_norm(axis: int | None) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        mean = x.mean(axis=axis, keepdims=True)
        spread = ((x - mean) ** 2).mean(axis=axis, keepdims=True)
        return (x - mean) / np.sqrt(spread + 1e-5)

    return function


def factorised(a: Any) -> Any:
    """LU without pivoting, in place: L below the diagonal, U on and above it."""
    place = pyc.numpy.arange(a.shape[0])

    def step(k: Any, a: Any) -> Any:
        below = place > k
        factors = np.where(below, a[:, k] / a[k, k], np.float32(0))
        row = np.where(below, a[k], np.float32(0))
        a = a - factors[:, None] * row[None, :]
        return a.at[:, k].set(np.where(below, factors, a[:, k]))

    return pyc.fori_loop(0, a.shape[0], step, a)


def mandelbrot(re: Any, im: Any) -> Any:
    """Steps that each point stays inside, at most 50: a loop per element."""

    def step(_: Any, state: Any) -> Any:
        x, y, steps = state
        inside = x * x + y * y <= 4
        moved_x, moved_y = x * x - y * y + re, 2 * x * y + im
        return np.where(inside, moved_x, x), np.where(inside, moved_y, y), steps + inside

    start = (re, im, pyc.numpy.zeros(re.shape, np.int32))
    return pyc.fori_loop(0, 50, step, start)[2]


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def dense(x: Any, w: Any, bias: Any) -> Any:
    return gelu(x @ w + bias)


def encoder(heads: int) -> Callable[..., Any]:
    """One transformer encoder layer over (tokens, width)."""

    def function(x: Any, qkv: Any, out: Any, up: Any, bias: Any, down: Any) -> Any:
        count, width = x.shape
        y = layer_norm(-1)(x)
        parts = (y @ qkv).reshape(count, 3, heads, width // heads)
        q, k, v = (parts[:, n].transpose(1, 0, 2) for n in range(3))
        score = softmax(-1)(q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(width // heads)))
        x = x + (score @ v).transpose(1, 0, 2).reshape(count, width) @ out
        return x + gelu(layer_norm(-1)(x) @ up + bias) @ down

    return function


# --- cases ----------------------------------------------------------------------------------------

random = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0) -> Array:
    return (random.standard_normal(shape) * scale).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """bound: float64 result and the greatest error allowed; None: byte-equal everywhere. peer: the
    texts of unconstrained kernels and their `count` argument."""

    program: str
    shape: str
    function: Callable[..., Any]
    arguments: tuple[Array, ...]
    bound: Callable[..., tuple[Array, Array]] | None = None
    peer: tuple[dict[str, str], int] | None = None


def reductions(quick: bool) -> list[Case]:
    """Sum, softmax and layer norm: last axis, first axis and all, rows of 1 to 1 M."""
    cases = []
    lengths = (1, 3, 16, 100, 1000, 4096) if quick else (1, 3, 16, 100, 1000, 4096, 65536, 1 << 20)
    for n in lengths:
        small = normal(4, n)
        for name, make in (("sum", total), ("softmax", softmax), ("layer norm", layer_norm)):
            cases.append(Case(f"{name} last", f"4x{n}", make(-1), (small,)))
            cases.append(Case(f"{name} first", f"{n}x4", make(0), (normal(n, 4),)))
            cases.append(Case(f"{name} all", f"4x{n}", make(None), (small,)))
    timed = ((1024, 1000),) if quick else ((1024, 1000), (4096, 4096), (16, 1 << 20))
    for rows, n in timed:
        x = normal(rows, n)
        shape = f"{rows}x{n}"
        last = last_axis_kernels("float32", n, None)
        cases.append(Case("sum last", shape, total(-1), (x,), peer=(last, rows)))
        first = first_axis_kernels("float32", rows, n, n, None)
        cases.append(Case("sum first", shape, total(0), (x,), peer=(first, 0)))
        whole = last_axis_kernels("float32", rows * n, None)
        cases.append(Case("sum all", shape, total(None), (x,), peer=(whole, 1)))
        for name, make, text in (
            ("softmax", softmax, free.softmax),
            ("layer norm", layer_norm, free.layer_norm),
        ):
            peer = (row_kernels(text, n, None), rows)
            cases.append(Case(f"{name} last", shape, make(-1), (x,), peer=peer))
            cases.append(Case(f"{name} first", shape, make(0), (x,)))
    return cases


def others(quick: bool) -> list[Case]:
    """LU, Mandelbrot, the dense layer and the encoder layer."""
    cases = []
    for n in (24, 128) if quick else (24, 128, 512):
        a = normal(n, n) + n * np.eye(n, dtype=np.float32)
        cases.append(Case("LU", f"{n}x{n}", factorised, (a,)))
    for n in (40, 256) if quick else (40, 512):
        re = np.broadcast_to(np.linspace(-2.2, 0.8, n, dtype=np.float32), (n, n)).copy()
        im = np.broadcast_to(np.linspace(-1.2, 1.2, n, dtype=np.float32)[:, None], (n, n)).copy()
        cases.append(Case("Mandelbrot", f"{n}x{n}", mandelbrot, (re, im)))
    for m, k, n in ((16, 24, 40), (128, 256, 512)) + (() if quick else ((1024, 1024, 1024),)):
        given = (normal(m, k), normal(k, n, scale=k**-0.5), normal(n))
        cases.append(Case("matmul+bias+GELU", f"{m}x{k}x{n}", dense, given, bound=dense_bound))
    for count, width in ((8, 32), (64, 128)) + (() if quick else ((256, 512),)):
        sizes = ((width, 3 * width), (width, width), (width, 4 * width))
        given = tuple(normal(a, b, scale=a**-0.5) for a, b in sizes)
        bias, down = normal(4 * width), normal(4 * width, width, scale=(4 * width) ** -0.5)
        function = encoder(8 if width > 32 else 4)
        arguments = (normal(count, width), *given, bias, down)

        def bound(*arrays: Array, function: Callable[..., Any] = function) -> tuple[Array, Array]:
            exact = function(*(a.astype(np.float64) for a in arrays))
            # Six contractions in a row, each within 2 k eps of its operands' norms.
            terms = 2 * 4 * arrays[0].shape[1] * EPSILON
            return exact, np.full_like(exact, 6 * terms * np.abs(exact).max())

        cases.append(Case("encoder layer", f"{count}x{width}", function, arguments, bound=bound))
    return cases


def dense_bound(x: Array, w: Array, bias: Array) -> tuple[Array, Array]:
    """The GELU is 1.13-Lipschitz and adds a few roundings of its own."""
    x, w, bias = (a.astype(np.float64) for a in (x, w, bias))
    exact = dense(x, w, bias)
    scale = np.abs(x) @ np.abs(w) + np.abs(bias)
    return exact, 1.13 * 2 * x.shape[1] * EPSILON * scale + 8 * EPSILON * (np.abs(exact) + 1)


# --- running --------------------------------------------------------------------------------------


def bits(arrays: Any) -> tuple[bytes, ...]:
    """The bytes of some arrays, any NaN equal to any NaN."""
    cleaned = (np.where(a != a, np.nan, a).astype(a.dtype) for a in map(np.asarray, arrays))
    return tuple(a.tobytes() for a in cleaned)


def compiled(graph: Graph, target: Target) -> Compiled:
    return compile_lowered(lower_graph(graph, target=target, name="contract"))


def native(function: Callable[..., Any], target: Target, arguments: list[Array]) -> Any:
    """The jitted function with code for `target`, whatever this machine's best is."""
    jitted = pyc.jit(function)
    with pyc.config.using(target=target.id):
        jitted(*arguments)
    return jitted


@dataclass
class Record:
    """One line of the table. ways: how many executors agreed; microseconds by target and threads;
    ratio: time over the unconstrained schedule's, one thread, widest vectors; error: the greatest,
    as a share of the bound."""

    program: str
    shape: str
    steps: int
    ways: int
    verdict: str
    microseconds: dict[str, float]
    ratio: float | None = None
    error: float | None = None

    def line(self) -> str:
        times = " ".join(f"{t:9.1f}" for t in self.microseconds.values())
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        error = "" if self.error is None else f"{self.error:.3f}"
        return (
            f"{self.program:17}{self.shape:>14}{self.steps:4}{self.ways:4} {self.verdict:10}"
            f"{times} {ratio:>6} {error:>7}"
        )


def record(case: Case, targets: tuple[Target, ...], rounds: int, compiler: Any) -> Record:
    """Runs a case everywhere and compares."""
    arguments = [np.ascontiguousarray(a) for a in case.arguments]
    graph = pyc.jit(case.function).trace(*arguments).graph
    elements = max(a.size for a in arguments)
    results: dict[str, Any] = {}
    if elements <= INTERPRETED:
        results["interpreter"] = evaluate(graph, arguments)
    shapes = [(t.shape, t.dtype.numpy) for t in graph.types]
    rows: dict[str, Callable[[], Any]] = {}
    counts: dict[str, int] = {}
    steps = 0
    for target in targets:
        lowered = lower_graph(graph, target=target)
        steps = len(lowered.plan.steps)
        if elements <= SIMULATED:
            results[f"{target.id} kernel interpreter"] = run_plan(lowered.plan, arguments, shapes)
        program = compiled(graph, target)
        jitted = native(case.function, target, arguments)
        for count in (1, 2):
            with threads(count):
                results[f"{target.id} {count}"] = program(*arguments)

            name = f"{8 * target.vector_bytes} bits, {count} threads"
            rows[name], counts[name] = partial(jitted, *arguments), count
    error = None
    if case.bound is None:
        verdict = "equal" if len({bits(r) for r in results.values()}) == 1 else "DIFFERENT"
    else:
        exact, allowed = case.bound(*arguments)
        error = max(
            float((np.abs(r[0].astype(np.float64) - exact) / allowed).max())
            for r in results.values()
        )
        same = all(bits(results[f"{t.id} 1"]) == bits(results[f"{t.id} 2"]) for t in targets)
        verdict = "in bound" if error <= 1 and same else "DIFFERENT"
    ratio = None
    best = next(iter(rows))
    if case.peer:
        texts, number = case.peer
        x, out = arguments[0], np.empty_like(arguments[0])
        for name, text in texts.items():
            kernel = compiler(text)
            address = x.ctypes.data, out.ctypes.data
            rows[f"free {name}"] = lambda k=kernel, a=address: k(*a, number)
    found = in_turn(rows, rounds, threads=counts)
    if case.peer:
        ratio = found[best]["least"] / min(t["least"] for n, t in found.items() if "free" in n)
    times = {n: t["median"] * 1e6 for n, t in found.items() if "free" not in n}
    return Record(case.program, case.shape, steps, len(results), verdict, times, ratio, error)


def main() -> int:
    given = options(__doc__)
    targets = targets_of(host_flags())
    compiler = Compiler()
    columns = " ".join(f"{8 * t.vector_bytes:>5}b x{n}" for t in targets for n in (1, 2))
    print(
        f"{'program':17}{'shape':>14}{'st':>4}{'ways':>5} {'bits':10}{columns} us   /free  /bound"
    )
    records = []
    for case in [*reductions(given.quick), *others(given.quick)]:
        found = record(case, targets, given.rounds or (3 if given.quick else 7), compiler)
        print(found.line(), flush=True)
        records.append(found)
    bad = [r for r in records if r.verdict == "DIFFERENT"]
    print(f"{len(records)} cases, {len(bad)} different")
    publish(given, [asdict(r) for r in records])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
