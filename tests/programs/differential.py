"""Runs random Graphs through one executor and compares each result with the Graph interpreter, and
arithmetic at the ends of types; and products of floats and linear algebra, whose bits are a
target's own, with their bounds.

    python -m tests.programs.differential FIRST LAST {optimise,plan,compile,compile-v3,cuda,...}

A process of its own, so that an abort of LLVM costs one program: each seed has a line of JSON when
it is done. `run` does this for many seeds. A GPU that has failed takes no more work from a process,
so the process ends, and says so in the line of the program that did it.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pyc import config
from pyc.backends.oracle import PlanFailure, run_plan
from pyc.compile import compile_graph
from pyc.compile_cuda import compile_cuda
from pyc.device import gpu
from pyc.errors import DeviceError, LinearAlgebraError, PycError
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Graph
from pyc.ir.target import SM_90, X86_64_V3, Target
from pyc.lowered import failure_of
from pyc.passes import element_blocks, optimise, row_blocks
from pyc.passes.memory import plan
from tests.programs.coverage import coverage, coverage_of_passes
from tests.programs.random_elements import end_arguments, random_elements
from tests.programs.random_graphs import random_arguments, random_graph
from tests.programs.random_linear_algebra import random_linear_algebra
from tests.programs.random_products import random_product
from tests.programs.relaxed import Relaxed, near, relaxed

Array = np.ndarray[Any, Any]


def same_bits(a: Any, b: Any) -> bool:
    """Equal types, shapes and bits, any NaN equal to any NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return same_bits(a.real.copy(), b.real.copy()) and same_bits(a.imag.copy(), b.imag.copy())
    if a.dtype.kind in "fV":
        a_nan, b_nan = np.isnan(a), np.isnan(b)
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        bits = [np.where(n, 0, np.array(x).view(unsigned)) for x, n in ((a, a_nan), (b, b_nan))]
        return bool(np.array_equal(a_nan, b_nan) and np.array_equal(bits[0], bits[1]))
    return bool(np.array_equal(a, b))


def _optimised(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    return evaluate(optimise(graph, check=True), list(arguments))


def _planned(
    graph: Graph, arguments: Sequence[Array], target: Target = X86_64_V3
) -> Sequence[Array]:
    graph = optimise(graph, check=True)
    planned = plan(graph, target, check=True).plan
    try:
        return run_plan(planned, arguments, [(v.shape, v.dtype.numpy) for v in graph.results])
    except PlanFailure as error:
        raise failure_of(graph, planned.sites[error.site], error.value) from None


def _compiled(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    return compile_graph(graph)(*arguments)


def _compiled_for_avx2(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    """With vectors of 256 bits, on processors with wider ones too."""
    return compile_graph(graph, target=X86_64_V3)(*arguments)


def _compiled_for_the_gpu(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    return compile_cuda(graph)(*arguments)


@contextmanager
def _as_if_large() -> Iterator[None]:
    """Each thread of a GPU computes as many elements as in programs of millions, and short rows
    share warps."""
    usual = element_blocks.BUSY, row_blocks.BUSY_WARPS
    element_blocks.BUSY = row_blocks.BUSY_WARPS = 1
    try:
        yield
    finally:
        element_blocks.BUSY, row_blocks.BUSY_WARPS = usual


def _planned_for_blocks(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    """The schedules of a GPU, by the interpreter."""
    with _as_if_large():
        return _planned(graph, arguments, SM_90)


def _compiled_as_if_large(graph: Graph, arguments: Sequence[Array]) -> Sequence[Array]:
    with _as_if_large():
        return compile_cuda(graph)(*arguments)


EXECUTORS: dict[str, Callable[[Graph, Sequence[Array]], Sequence[Array]]] = {
    "optimise": _optimised,
    "plan": _planned,
    "blocks": _planned_for_blocks,
    "compile": _compiled,
    "compile-v3": _compiled_for_avx2,
    "cuda": _compiled_for_the_gpu,
    "cuda-as-if-large": _compiled_as_if_large,
}
ON_A_GPU = ("cuda", "cuda-as-if-large")
EVERYWHERE = tuple(sorted({*EXECUTORS} - {*ON_A_GPU}))
"""The executors that need no GPU."""


BESIDE = 8
"""Every so many seeds there is a product of floats too, and half way between a program of linear
algebra."""
ELEMENTS = {2: "integers", 6: "floats"}
"""So far after the product there is arithmetic of elements."""
RELAXED = 6
"""Of so many seeds the one whose program is as `fastmath` changes it."""
SLOW = {"plan": 1 << 15, "blocks": 1 << 15}
"""Multiplications of such a program at most, by executor."""


def compare_elements(seed: int, kind: str, executor: str, seen: Counter[str]) -> str:
    """What is wrong with the arithmetic of elements of a seed; empty if nothing is."""
    graph = random_elements(seed, kind)
    arguments = end_arguments(graph, seed)
    seen.update(coverage(graph))
    try:
        found = EXECUTORS[executor](graph, arguments)
    except Exception:
        return f"{kind}: {traceback.format_exc()}"
    for k, (a, b) in enumerate(zip(evaluate(graph, arguments), found, strict=True)):
        if same_bits(a, b):
            continue
        pairs = zip(a, np.asarray(b), strict=True)
        where = [n for n, (x, y) in enumerate(pairs) if not same_bits(x, y)]
        given = [x[where[:3]].tolist() for x in arguments]
        return (
            f"{kind}: result {k} ({a.dtype}) differs at {len(where)} elements: of {given}"
            f" expected {a[where[:3]]}, found {np.asarray(b)[where[:3]]}"
        )
    return ""


def compare_product(seed: int, executor: str, seen: Counter[str]) -> str:
    """What is wrong with the product of a seed; empty if nothing is."""
    product = random_product(seed)
    if product.work > SLOW.get(executor, product.work):
        return ""
    seen.update(coverage(product.graph))
    try:
        (found,) = EXECUTORS[executor](product.graph, product.arguments)
    except Exception:
        return f"product: {traceback.format_exc()}"
    wrong = product.wrong(found)
    return f"product: {wrong}" if wrong else ""


def compare_linear_algebra(seed: int, executor: str, seen: Counter[str]) -> str:
    """What is wrong with the linear algebra of a seed; empty if nothing is."""
    program = random_linear_algebra(seed)
    if program.work > SLOW.get(executor, program.work):
        return ""
    seen.update(coverage(program.graph))
    try:
        found = EXECUTORS[executor](program.graph, program.arguments)
    except LinearAlgebraError:
        seen["raised:LinearAlgebraError"] += 1
        return "" if program.fails else f"linear algebra: {traceback.format_exc()}"
    except Exception:
        return f"linear algebra: {traceback.format_exc()}"
    wrong = "LinearAlgebraError is not raised" if program.fails else program.wrong(found)
    return f"linear algebra: {wrong}" if wrong else ""


def program_of(seed: int, executor: str) -> Relaxed:
    """The program of a seed; of every eighth seed one that `fastmath` has changed."""
    if seed % BESIDE != RELAXED:
        return Relaxed(random_graph(seed, checks=True))
    drawn = random_graph(seed, checks=True, relaxed=True)
    return relaxed(drawn, nearly=executor in ON_A_GPU)


def compare(seed: int, executor: str, seen: Counter[str] | None = None) -> str:
    """What is wrong with the program of a seed; empty if nothing is. What the program is made of,
    what the passes make of it, and the error that it raises, are counted in `seen`."""
    program = program_of(seed, executor)
    graph, optimised = program.graph, optimise(program.graph)
    seen = Counter() if seen is None else seen
    seen.update(coverage(graph))
    seen.update(coverage_of_passes(optimised))
    arguments = random_arguments(graph, seed)
    failed: type[Exception] | None = None
    expected: Sequence[Array] = ()
    # A check whose result nobody needs is not made: what raises must still raise without it.
    for stage in (graph, optimised):
        failed = None
        try:
            expected = evaluate(stage, arguments)
            break
        except (PycError, RuntimeError) as error:  # a `check` raises what the user does
            failed = type(error)
    if failed is not None:
        seen[f"raised:{failed.__name__}"] += 1
    try:
        found = EXECUTORS[executor](graph, arguments)
    except Exception as error:
        return "" if failed is not None and isinstance(error, failed) else traceback.format_exc()
    if failed is not None:
        return f"{failed.__name__} is not raised"
    for k, (a, b) in enumerate(zip(expected, found, strict=True)):
        if not (near(a, np.asarray(b)) if k in program.near else same_bits(a, b)):
            return f"result {k} ({a.dtype}{list(a.shape)}): expected {a}, found {b}"
    return ""


def usable(executor: str) -> bool:
    """Whether the device still works: a kernel that reads where nothing is, say, ends its use by
    the process."""
    if executor not in ON_A_GPU:
        return True
    try:
        gpu().finish()
    except DeviceError:
        return False
    return True


def main(first: int, last: int, executor: str) -> int:
    """Runs the seeds [first, last); prints a line {"seed", "finding", "coverage", "ends"} for each.
    ends: whether the process can run no more of them."""
    config.update("cache", "off")
    wrong = False
    for seed in range(first, last):
        seen: Counter[str] = Counter()
        finding = compare(seed, executor, seen)
        if not finding and seed % BESIDE == 0:
            finding = compare_product(seed, executor, seen)
        if not finding and seed % BESIDE == BESIDE // 2:
            finding = compare_linear_algebra(seed, executor, seen)
        if not finding and seed % BESIDE in ELEMENTS:
            finding = compare_elements(seed, ELEMENTS[seed % BESIDE], executor, seen)
        ends = bool(finding) and not usable(executor)
        report = {"seed": seed, "finding": finding, "coverage": seen, "ends": ends}
        print(json.dumps(report), flush=True)
        wrong |= bool(finding)
        if ends:
            break
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
