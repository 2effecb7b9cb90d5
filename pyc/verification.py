"""`verify`: whether the ways to run a function agree, on arguments of the caller's choice.

The traced Graph is run by the Graph interpreter, which is the definition. Against it stand the Plan
interpreter (the scheduled kernels, with dead memory poisoned) and the compiled program. All have
the same bits, any NaN being equal to any other; programs with float contractions have bounds in
place of bits: a result may differ by as much as it does when each product is changed within the
bound of `ir/ops/contract.py`, which is found by running the program so changed.

Of functions with `fastmath` the definition is the Graph after the pass that changes roundings; what
a GPU approximates in it has a bound too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyc import tree
from pyc.backends import interpreters
from pyc.errors import (
    ArgumentError,
    PycError,
    VerificationError,
    is_of_the_program,
    raises_for_the_program,
)
from pyc.frozen import frozen
from pyc.ir import dtype as dt
from pyc.ir.element import widened
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value, equations_of
from pyc.ir.op import LINEAR_ALGEBRA, Kind
from pyc.ir.ops.host import ROUTINE
from pyc.ir.plan import Library, walk_steps
from pyc.ir.text_graph import print_graph
from pyc.jit import Jitted, jit
from pyc.lowered import Lowered, failure_of
from pyc.trace.bound import Bound

Array = np.ndarray[Any, Any]
SHAKES = 4
"""Runs with changed products from which the allowed difference is estimated."""
MARGIN = 8.0
"""How many times the largest difference of these runs is allowed."""
APPROXIMATED = {"fast_div": 2.0, "fast_sqrt": 1.0, "fast_abs": 1.0}
"""Ops of `fastmath` that a GPU rounds nearly: by how many units in the last place."""


@frozen()
class Check:
    """One result of one way to run. difference: the largest one, in units in the last place for
    floats; bounded: whether the bound of contractions was asked for in place of equal bits."""

    executor: str
    result: str
    type: str
    difference: float
    bounded: bool

    def __str__(self) -> str:
        kind = "within the bound" if self.bounded else "equal"
        return f"{self.executor}: {self.result} ({self.type}) {kind}, {self.difference:g} ULP"


@frozen()
class Report:
    """What agreed. error: the text of the error that every way raised, empty if none did; skipped:
    ways that could not be run, and why."""

    function: str
    checks: tuple[Check, ...]
    error: str = ""
    skipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [f"{self.function}: verified", *(f"  {c}" for c in self.checks)]
        rows += [f"  not run: {s}" for s in self.skipped]
        if self.error:
            rows.append(f"  every way raises: {self.error.splitlines()[0]}")
        return "\n".join(rows)


def verify(function: Callable[..., Any], /, *args: Any, ulp: float = 0, **kwargs: Any) -> Report:
    """Runs `function` for these arguments compiled, by the Plan interpreter and by the Graph
    interpreter, and compares the results; what agreed.

    function: a jitted function, or one to be jitted; args, kwargs: of the call; ulp: difference in
    units in the last place that float results may have (0: equal bits). The interpreters are slow:
    small arrays do.

    raises VerificationError: two ways disagree; it names the way, the result and its first element
    that differs, or why a kernel is refused, and shows the Graph; TypeError: `function` is not
    callable; ArgumentError: an `ulp` that is negative or no number; DTypeError: an argument that is
    no array

    >>> print(pyc.verify(np.sin, np.ones(3)))
    sin: verified
    ...
    """
    if not isinstance(ulp, (int, float, np.number)) or not ulp >= 0:
        raise ArgumentError(f"verify: `ulp` must be a number, 0 or more, got {ulp!r}")
    jitted = function if isinstance(function, (Jitted, Bound)) else jit(function)
    compiled = jitted.compile(*args, **kwargs)
    traced = compiled.traced
    arrays = compiled.arrays(*args, **kwargs)
    names = [tree.path_text(p, "result") for p in tree.paths(traced.out_tree)]
    lowered = compiled.program.lowered
    relaxed = traced.fastmath
    graph = lowered.graph if relaxed else traced.graph
    shapes = [(v.shape, v.dtype.numpy) for v in graph.results]

    oracle = interpreters()
    expected = _outcome(lambda: oracle.evaluate(graph, arrays))
    # Native code comes last: what the interpreters refuse is not run.
    ways: dict[str, Callable[[], Sequence[Array]]] = {}
    skipped: tuple[str, ...] = ()
    if relaxed:
        skipped = ("passes: they change roundings because of fastmath",)
    else:
        ways["passes"] = lambda: oracle.evaluate(lowered.graph, arrays)
    if any(isinstance(s, Library) and s.routine == ROUTINE for s in walk_steps(lowered.plan.steps)):
        skipped += ("plan: it calls functions back, which only native code can",)
    else:
        ways["plan"] = lambda: _planned(lowered, arrays, shapes)
    # Programs may write to donated arguments.
    ways["compiled"] = lambda: compiled.program(*(a.copy() for a in arrays))

    bounds = None
    failures: dict[str, str] = {}
    if not isinstance(expected, Exception) and (_contracts(graph) or _approximates(lowered)):
        bounds = _bounds(graph, arrays, expected)
    checks: list[Check] = []
    for way, run in ways.items():
        try:
            found = _outcome(run)
        except oracle.SimulationError as refusal:
            raise _disagreement(f"{traced.name}: {way}: {refusal}", graph) from refusal
        if isinstance(expected, Exception) or isinstance(found, Exception):
            _same_error(traced.name, way, expected, found, graph)
            failures[way] = _text(found)
            continue
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            bound = None if bounds is None else bounds[k]
            difference = _difference(traced.name, way, names[k], a, b, bound, ulp, graph)
            type_text = str(graph.results[k].type)
            checks.append(Check(way, names[k], type_text, difference, bound is not None))
    if "plan" in failures and failures["plan"] != failures["compiled"]:
        told = (failures[way].splitlines()[0] for way in ("compiled", "plan"))
        raise _disagreement(f"{traced.name}: compiled gives {next(told)}, plan {next(told)}", graph)
    error = _text(expected) if isinstance(expected, Exception) else ""
    return Report(traced.name, tuple(checks), error, skipped)


def _outcome(run: Callable[[], Sequence[Array]]) -> Sequence[Array] | Exception:
    """The results, or what was raised of the errors that programs raise."""
    try:
        return run()
    except Exception as error:
        if isinstance(error, PycError) or is_of_the_program(error):
            return error
        raise


@raises_for_the_program
def _planned(lowered: Lowered, arrays: Sequence[Array], shapes: Sequence[Any]) -> Sequence[Array]:
    """Results of the Plan interpreter; raises the error of a failed check."""
    oracle = interpreters()
    try:
        results: Sequence[Array] = oracle.run_plan(lowered.plan, arrays, shapes)
    except oracle.PlanFailure as failed:
        raise failure_of(lowered.graph, lowered.plan.sites[failed.site], failed.value) from None
    return results


def _same_error(
    name: str,
    way: str,
    expected: Sequence[Array] | Exception,
    found: Sequence[Array] | Exception,
    graph: Graph,
) -> None:
    """VerificationError unless both are errors of one kind: which of several checks of pyc's that
    fail is named depends on the order of work, which the passes may change. What the user raises is
    the same."""
    if isinstance(expected, PycError) and isinstance(found, type(expected)):
        return
    if isinstance(expected, Exception) and isinstance(found, Exception):
        same = type(found) is type(expected) and found.args == expected.args
        if same and not isinstance(expected, PycError):
            return
    told = [_text(x).splitlines()[0] for x in (expected, found)]
    raise _disagreement(f"{name}: {way} gives {told[1]}, the interpreter {told[0]}", graph)


def _text(outcome: Sequence[Array] | Exception) -> str:
    """What an outcome is, in words."""
    if not isinstance(outcome, Exception):
        return "results"
    return str(outcome) or type(outcome).__name__


def _disagreement(message: str, graph: Graph) -> VerificationError:
    error = VerificationError(message)
    error.add_note(print_graph(graph))
    return error


# --- differences ----------------------------------------------------------------------------------


def _difference(
    name: str,
    way: str,
    result: str,
    expected: Array,
    found: Array,
    bound: Array | None,
    ulp: float,
    graph: Graph,
) -> float:
    """The largest difference; VerificationError where it is not allowed."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        types = f"{found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
        raise _disagreement(f"{name}: {way}: `{result}` is {types}", graph)
    steps = _ulps(expected, found)
    allowed = steps <= ulp
    if bound is not None:
        gap = _gap(expected, found)
        allowed |= gap <= bound
    wrong = np.flatnonzero(~allowed)
    if wrong.size:
        k = int(wrong[0])
        at = np.unravel_index(k, expected.shape) if expected.ndim else ()
        a, b = expected.reshape(-1)[k], found.reshape(-1)[k]
        raise _disagreement(
            f"{name}: {way}: `{result}`{[int(i) for i in at]} is {b!r}, the interpreter gives "
            f"{a!r}; {wrong.size} of {expected.size} elements differ, by up to "
            f"{steps.max():g} units in the last place",
            graph,
        )
    return float(steps.max(initial=0))


def _gap(a: Array, b: Array) -> Array:
    """|a - b|, 0 for equal infinities and for two NaN, infinite for one."""
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = (v.reshape(-1).astype(wide) for v in (a, b))
    with np.errstate(all="ignore"):
        gap = np.abs(x - y)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))


def _ulps(a: Array, b: Array) -> Array:
    """Units in the last place between elements, as float64: 0 for equal bits and two NaN, infinite
    for one NaN; more than 0 for integers and bools that differ."""
    a, b = (np.ascontiguousarray(x).reshape(-1) for x in (a, b))
    if a.dtype.kind == "c":
        real, imaginary = _ulps(a.real, b.real), _ulps(a.imag, b.imag)
        return np.where(real > imaginary, real, imaginary)
    dtype = dt.of(a.dtype)
    assert dtype is not None
    if not dtype.is_float:
        return np.where(a == b, 0.0, np.abs(a.astype(np.float64) - b.astype(np.float64)) + 1.0)
    # Bits in the order of the values, -0.0 one step below 0.0; float64 is exact near 0 steps.
    places = []
    for x in (a, b):
        bits = x.view(dt.signed_of(dtype.bits).numpy).astype(np.int64)
        low = np.int64(-(1 << (dtype.bits - 1)))
        places.append(np.where(bits < 0, low - bits - 1, bits))
    equal = places[0] == places[1]
    steps = np.abs(places[0].astype(np.float64) - places[1].astype(np.float64))
    nans = [np.isnan(x) for x in (a, b)]
    steps = np.where(equal, 0.0, np.maximum(steps, 1.0))
    return np.where(nans[0] & nans[1], 0.0, np.where(nans[0] ^ nans[1], np.inf, steps))


# --- contractions ---------------------------------------------------------------------------------


def _contracts(graph: Graph) -> bool:
    """Whether a contraction of floats, or a routine of linear algebra, is anywhere in the
    program."""
    return any(_bounded(e) or e.op.name in LINEAR_ALGEBRA for e in equations_of(graph))


def _approximates(lowered: Lowered) -> bool:
    """Whether a GPU rounds some of the program nearly."""
    named = any(e.op.name in APPROXIMATED for e in equations_of(lowered.graph))
    return lowered.target.has_blocks and named


def _bounded(eqn: Eqn) -> bool:
    return eqn.op.kind is Kind.CONTRACT and eqn.args[0].dtype.is_float


def _bounds(graph: Graph, arrays: Sequence[Array], expected: Sequence[Array]) -> list[Array]:
    """For each result the difference that contractions and routines within their bounds can
    make."""
    largest = [np.zeros(e.size) for e in expected]
    for seed in range(SHAKES):
        changed = interpreters().evaluate(_shaken(graph, seed), arrays)
        for most, a, b in zip(largest, expected, changed, strict=True):
            np.maximum(most, _gap(a, b), out=most)
    # One element's signs may cancel in every run: no element is allowed less than a share of the
    # typical one.
    return [MARGIN * np.maximum(m, np.median(m) if m.size else 0.0) for m in largest]


def _shaken(graph: Graph, seed: int) -> Graph:
    """The program with each product of floats changed by its bound, up or down at random; what a
    routine of linear algebra gives is exact for a matrix within such a bound of the given one."""
    rng = np.random.default_rng(seed)

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if eqn.op.name in LINEAR_ALGEBRA:
            near = [_moved(builder, a, rng) for a in args]
            return builder.bind(eqn.op, *near, loc=eqn.loc, **eqn.params)
        if eqn.op.name in APPROXIMATED:
            (out,) = builder.bind(eqn.op, *args, **eqn.params)
            return (_nearly(builder, out, APPROXIMATED[eqn.op.name], rng),)
        if not _bounded(eqn):
            params = {k: _shaken_param(v, seed) for k, v in eqn.params.items()}
            return builder.bind(eqn.op, *args, loc=eqn.loc, **params)
        (out,) = builder.bind(eqn.op, *args, **eqn.params)
        wide = widened(args[0].dtype)
        sizes = [builder.bind1("abs", builder.bind1("cast", a, dtype=wide)) for a in args]
        scale = builder.bind1(eqn.op, *sizes, dimensions=eqn.params["dimensions"])
        (contracted, _), _ = eqn.params["dimensions"]
        terms = int(np.prod([args[0].shape[k] for k in contracted], dtype=int))
        eps = float(np.finfo(wide.numpy).eps)
        if out.dtype.is_half:
            eps += (2.0**-10 if out.dtype is dt.f16 else 2.0**-7) / max(terms, 1)
        signs = builder.constant(rng.choice([-1.0, 1.0], out.shape) * terms * eps, wide)
        moved = builder.bind1(
            "add", builder.bind1("cast", out, dtype=wide), builder.bind1("mul", scale, signs)
        )
        return (builder.bind1("cast", moved, dtype=out.dtype),)

    return Rewriter(rule)(graph)


def _nearly(builder: Builder, x: Value, ulps: float, rng: np.random.Generator) -> Value:
    """Floats or complex numbers moved by so many units in the last place, up or down at random."""
    real = x.dtype.real if x.dtype.is_complex else x.dtype
    step = ulps * float(np.finfo(real.numpy).eps)
    factor = builder.constant(1 + rng.choice([-step, step], x.shape), x.dtype)
    return builder.bind1("mul", x, factor)


def _moved(builder: Builder, x: Value, rng: np.random.Generator) -> Value:
    """Floats moved by roundings of the greatest of them, as many as an element takes part in."""
    if not x.type.size or x.type.rank < 2 or x.dtype.kind not in ("float", "complex"):
        return x
    real = x.dtype.real if x.dtype.is_complex else x.dtype
    step = float(np.finfo(real.numpy).eps) * sum(x.shape[-2:])
    signs = builder.constant(rng.choice([-step, step], x.shape), real)
    greatest = builder.bind1("reduce_max", builder.bind1("abs", x), axes=tuple(range(x.type.rank)))
    move = builder.bind1("mul", signs, builder.bind1("broadcast", greatest, shape=x.shape))
    return builder.bind1("add", x, builder.bind1("cast", move, dtype=x.dtype))


def _shaken_param(value: Any, seed: int) -> Any:
    if isinstance(value, Graph):
        return _shaken(value, seed)
    if isinstance(value, tuple):
        return tuple(_shaken_param(v, seed) for v in value)
    return value


__all__ = ["Check", "Report", "verify"]
