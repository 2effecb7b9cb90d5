"""Call overhead: a 16-element axpy natively dispatched, against Python, NumPy, and peers.

    python -m benchmarks.call_overhead [--quick] [--json FILE]

All rows run in turn in one process, several times; the least and the median time of a call are
shown in nanoseconds, and what it is above a Python function that does nothing. The rows `pyc.jit`
are what users call: (a) a 16-element axpy, (b) the same with NumPy, two helpers, three scalars and
an array read from outside, (c) keyword and dict of 20 arrays, (d) a registered dataclass of two
arrays and a number, (e) a method of an object that has these, (f) (a) with `pyc.Array`s on the CPU.
`pyc.Array` + and sin are single operations on them outside of `jit`. Numba and JAX are rows where
they can be imported; JAX's single operations are on its own arrays.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import timeit
from dataclasses import dataclass
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import options, peers, publish
from pyc.backends.assemble import assemble
from pyc.backends.image import Image
from pyc.ir import dtype as dtypes
from pyc.runtime import call, dispatch
from pyc.runtime.dispatch import Dispatcher
from pyc.runtime.specialisation import (
    ArrayArgument,
    DictArgument,
    Look,
    NameSource,
    Result,
    SameArgument,
    ScalarArgument,
    Specialisation,
)

CALLS = 20_000

AXPY = """
define i32 @axpy(ptr %context, ptr %arguments, ptr %results) {
  %scale = load float, ptr %arguments
  %x.at = getelementptr i8, ptr %arguments, i64 16
  %y.at = getelementptr i8, ptr %arguments, i64 32
  %x = load ptr, ptr %x.at
  %y = load ptr, ptr %y.at
  %out = load ptr, ptr %results
  %xs = load <16 x float>, ptr %x, align 4
  %ys = load <16 x float>, ptr %y, align 4
  %one = insertelement <16 x float> poison, float %scale, i32 0
  %scales = shufflevector <16 x float> %one, <16 x float> poison, <16 x i32> zeroinitializer
  %product = fmul <16 x float> %scales, %xs
  %sum = fadd <16 x float> %product, %ys
  store <16 x float> %sum, ptr %out, align 4
  ret i32 0
}
define i32 @nothing(ptr %context, ptr %arguments, ptr %results) {
  ret i32 0
}
"""


def failed(*details: Any) -> Any:
    raise RuntimeError(details)


def slow(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("a call was not native")


def empty(*args: Any) -> None:
    return None


class Function(Dispatcher):
    """Like what `pyc.jit` makes: a subclass with attributes."""


def dispatcher(specialisations: list[Specialisation]) -> Function:
    made = Function(slow)
    for specialisation in specialisations:
        if not dispatch.add(made, specialisation):
            sys.exit("native calls are not available here")
    return made


def rows(image: Image) -> dict[str, tuple[str, dict[str, Any]]]:
    x, y = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    scale = ScalarArgument(float, dtypes.f32)
    axpy, nothing = image.address("axpy"), image.address("nothing")

    def axpy_for(size: int, **options: Any) -> Specialisation:
        array, result = ArrayArgument(dtypes.f32, (size,)), Result(dtypes.f32, (size,))
        return Specialisation((scale, array, array), (result,), axpy, failed, keep=image, **options)

    vector = ArrayArgument(dtypes.f32, (16,))
    keys = tuple(f"weight_{k}" for k in range(20))
    weights = dict.fromkeys(keys, x)
    nested = Specialisation(
        *((vector, DictArgument(keys, (vector,) * 20)), (Result(dtypes.f32, (16,)),)),
        *(nothing, failed, ("weights",)),
        keep=image,
    )
    guards = tuple(
        Look(NameSource(globals(), n), SameArgument(globals()[n])) for n in ("np", "slow", "failed")
    )
    out = np.empty(16, np.float32)
    scalar = np.float32(2)
    names: dict[str, Any] = {"x": x, "y": y, "np": np, "empty": empty, "weights": weights}
    names["f"] = dispatcher([axpy_for(16)])
    names["f8"] = dispatcher([axpy_for(16), *(axpy_for(n) for n in range(1, 8))])
    names["guarded"] = dispatcher([axpy_for(16, looks=guards)])
    names["unlocked"] = dispatcher([axpy_for(16, release=True)])
    names["tree"] = dispatcher([nested])
    names["none"] = dispatcher([Specialisation((), (), nothing, failed, keep=image)])
    names["slow_call"] = lambda: call.run(axpy, [scalar, x, y], [out])
    assert (names["f"](2.0, x, y) == 2 * x + y).all()
    found: dict[str, Any] = {
        "Python function that does nothing": "empty(2.0, x, y)",
        "native, no arguments": "none()",
        "native axpy": "f(2.0, x, y)",
        "native axpy, 8th specialisation": "f8(2.0, x, y)",
        "native axpy, 3 guarded names": "guarded(2.0, x, y)",
        "native axpy, GIL released, Ctrl-C": "unlocked(2.0, x, y)",
        "native, keyword, dict of 20 arrays": "tree(x, weights=weights)",
        "entry called from Python": "slow_call()",
        "NumPy a * x + y": "2.0 * x + y",
        "np.empty": "np.empty(16, np.float32)",
    }
    jit_rows(names, found)
    there = peers("numba", "jax")
    if there["numba"]:
        compiled = importlib.import_module("numba").njit(lambda a, x, y: a * x + y)
        compiled(2.0, x, y)
        names["numba_axpy"] = compiled
        found["Numba"] = "numba_axpy(2.0, x, y)"
    if there["jax"]:
        jax = importlib.import_module("jax")
        jitted = jax.jit(lambda a, x, y: a * x + y)
        names["jax_axpy"] = lambda a, x, y: np.asarray(jitted(a, x, y))
        names["jax_axpy"](2.0, x, y)
        found["JAX, NumPy in and out"] = "jax_axpy(2.0, x, y)"
        names["jax_x"], names["jax_sin"] = jax.numpy.asarray(x), jax.numpy.sin
        found["JAX array + 1.0"] = "jax_x + 1.0"
        found["JAX sin of an array"] = "jax_sin(jax_x)"
    return {label: (statement, names) for label, statement in found.items()}


OFFSET, FACTOR, LIMIT = 1.0, 3.0, 0.5
TABLE = np.ones(16, np.float32)


def helper(x: Any) -> Any:
    return np.maximum(x, 0.0) + OFFSET


def other(x: Any) -> Any:
    return np.minimum(x, LIMIT) * TABLE


@pyc.tree.register_dataclass
@dataclass
class Line:
    """y = slope * x + start, times a number."""

    slope: Any
    start: Any
    factor: float


class Model:
    """The same as an object."""

    def __init__(self, slope: Any, start: Any, factor: float) -> None:
        self.slope, self.start, self.factor = slope, start, factor

    @pyc.jit
    def at(self, x: Any) -> Any:
        """The line at x."""
        return (self.slope * x + self.start) * self.factor


def jit_rows(names: dict[str, Any], found: dict[str, Any]) -> None:
    """Adds the rows of jitted functions."""

    @pyc.jit
    def jitted(a: Any, x: Any, y: Any) -> Any:
        return a * x + y

    @pyc.jit
    def helped(a: Any, x: Any, y: Any) -> Any:
        return helper(a * x) * FACTOR + other(y)

    @pyc.jit
    def line(of: Any, x: Any) -> Any:
        return (of.slope * x + of.start) * of.factor

    @pyc.jit
    def keyed(x: Any, weights: Any) -> Any:
        total = x
        for weight in weights.values():
            total = total + weight
        return total

    x, y = names["x"], names["y"]
    names |= {"jitted": jitted, "helped": helped, "keyed": keyed, "line": line}
    names |= {"of": Line(x, y, 2.0), "at": Model.at, "model": Model(x, y, 2.0)}
    on_arrays = pyc.jit(lambda a, x, y: a * x + y)
    names |= {"on_arrays": on_arrays, "pyc_x": pyc.device_put(x, "cpu")}
    names["pyc_y"] = pyc.device_put(y, "cpu")
    for _ in range(3):  # the names of NumPy may change once: parts of it are loaded when needed
        assert (jitted(2.0, x, y) == 2 * x + y).all()
        assert (helped(2.0, x, y) == (2 * x + 1) * 3 + 0.5).all()
        assert (line(names["of"], x) == (x * x + y) * 2).all()
        assert (Model.at(names["model"], x) == (x * x + y) * 2).all()
        assert (keyed(x, weights=names["weights"]) == 21 * x).all()
        assert (np.asarray(on_arrays(2.0, names["pyc_x"], names["pyc_y"])) == 2 * x + y).all()
    for function in (jitted, helped, keyed, line, Model.at, on_arrays):
        (made,) = dispatch.specialisations(function)
        assert dispatch.native_calls(function, made), "the third call was not native"
    found["pyc.jit (a) axpy"] = "jitted(2.0, x, y)"
    found["pyc.jit (b) 2 helpers, 3 scalars, an array"] = "helped(2.0, x, y)"
    found["pyc.jit (c) keyword, dict of 20"] = "keyed(x, weights=weights)"
    found["pyc.jit (d) dataclass"] = "line(of, x)"
    found["pyc.jit (e) method"] = "at(model, x)"
    found["pyc.jit (f) pyc.Arrays on the CPU"] = "on_arrays(2.0, pyc_x, pyc_y)"
    found["pyc.Array + 1.0"] = "pyc_x + 1.0"
    found["pyc.Array, np.sin"] = "np.sin(pyc_x)"


def measure(repeats: int) -> dict[str, dict[str, float]]:
    """Least and median nanoseconds of a call, by row."""
    timers = {k: timeit.Timer(s, globals=g) for k, (s, g) in rows(Image(assemble(AXPY))).items()}
    times: dict[str, list[float]] = {label: [] for label in timers}
    for _ in range(repeats):
        for label, timer in timers.items():
            times[label].append(timer.timeit(CALLS) / CALLS * 1e9)
    return {k: {"least": min(t), "median": statistics.median(t)} for k, t in times.items()}


def main() -> None:
    given = options(__doc__)
    found = measure(given.rounds or (3 if given.quick else 9))
    base = next(iter(found.values()))["least"]
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}; ns a call")
    for label, times in found.items():
        over = times["least"] - base
        print(f"{label:<36} {times['least']:8.0f} {times['median']:8.0f}  empty {over:+8.0f}")
    publish(given, {"nanoseconds": found})


if __name__ == "__main__":
    main()
