"""Random programs: compiled equals interpreted, bit for bit, at every stage of the pipeline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc.backends import cuda, nvptx
from pyc.compile import compile_graph
from pyc.errors import DeviceError
from pyc.ir import dtype as dt
from pyc.ir.evaluate import evaluate
from pyc.ir.graph import Builder, Eqn, Graph, Rewriter, Value, equations_of
from pyc.ir.op import LINEAR_ALGEBRA, OPS
from pyc.ir.plan import launches_of
from pyc.ir.target import SM_90, X86_64_V3
from pyc.ir.types import ArrayType
from pyc.passes import memory, optimise
from pyc.passes.memory import plan
from tests.programs import differential, run
from tests.programs.coverage import coverage, coverage_of_passes
from tests.programs.differential import EVERYWHERE, same_bits
from tests.programs.random_elements import KINDS
from tests.programs.random_graphs import random_graph
from tests.programs.random_linear_algebra import PROBLEMS, Draw, LinearAlgebra, Problem
from tests.programs.random_products import random_product
from tests.programs.relaxed import EXACT, near, relaxed


@pytest.mark.parametrize("executor", EVERYWHERE)
def test_random_programs_give_the_interpreters_bits(executor: str) -> None:
    """A hundred programs through each executor, and enough of the op table with them."""
    record = run.run(0, 100, executor, 1)
    assert not record["findings"], record["findings"]
    assert record["programs"] == record["agreed"] == 100
    assert record["floor"] > 0 and not run.too_little(record), run.table(record["coverage"])


@pytest.mark.cuda
@pytest.mark.timeout(600)
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize(("executor", "first"), [("cuda", 0), ("cuda-as-if-large", 320)])
def test_random_programs_on_a_gpu_give_the_interpreters_bits(executor: str, first: int) -> None:
    """`--seeds 0:10000 --device cuda` is the whole of it."""
    record = run.run(first, first + 320, executor, 8)
    assert not record["findings"], record["findings"]
    assert record["programs"] == record["agreed"] == 320 and not run.too_little(record)


FOUND_ON_A_GPU = (115, 1322, 1865, 4111, 5205, 7132, 9117, 12160, 13880)
"""Seeds of which the assembler made something else (`backends/ptx_kept.py`)."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("executor", EVERYWHERE)
def test_arithmetic_at_the_ends_of_types_has_the_interpreters_bits(
    executor: str, kind: str
) -> None:
    for seed in range(12):
        assert not differential.compare_elements(seed, kind, executor, Counter()), seed


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_arithmetic_at_the_ends_of_types_has_the_interpreters_bits_on_a_gpu(kind: str) -> None:
    for seed in (*FOUND_ON_A_GPU, *range(40)):
        assert not differential.compare_elements(seed, kind, "cuda", Counter()), seed


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_random_programs_have_ptx(first: int) -> None:
    """Without a GPU: what the emitter refuses, and what LLVM does."""
    for seed in range(first, first + 25):
        planned = plan(optimise(random_graph(seed)), SM_90).plan
        on_device = {s.kernel for s in launches_of(planned.steps) if not s.host}
        text = nvptx.module_text([planned.kernels[k] for k in sorted(on_device)], SM_90)[0]
        assert nvptx.ptx(text, SM_90).count(".entry") <= len(on_device), seed


def test_repeated_squares_of_indices_have_ptx() -> None:
    """`(2 * i) ** y`: what is known of 2 * i as an index is squared 62 times."""
    builder = Builder()
    exponents = builder.param(ArrayType((5,), dt.i64))
    index = builder.bind1("iota", shape=(5,), axis=0, dtype=dt.i64)
    powers = builder.bind1("integer_power", builder.bind1("add", index, index), exponents)
    planned = plan(optimise(builder.build([powers])), SM_90).plan
    assert ".entry" in nvptx.ptx(nvptx.module_text(planned.kernels, SM_90)[0], SM_90)
    compiled = compile_graph(builder.build([powers]))
    assert compiled(np.array([3, 0, 2, 1, 0]))[0].tolist() == [0, 1, 16, 6, 1]


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_ten_thousand_random_programs() -> None:
    """The slow suite; `python -m tests.programs.run --json FILE` records it."""
    assert run.main(["--seeds", "0:10000"]) == 0


def test_a_planted_mistake_is_found() -> None:
    """The comparison can fail: -0.0 is not 0.0, and one wrong bit in a NaN-filled array shows."""
    assert same_bits(np.array([np.nan, 1.0]), np.array([np.float64("nan"), 1.0]))
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert not same_bits(np.array([np.nan, 1.0]), np.array([np.nan, np.nextafter(1.0, 2.0)]))
    assert not same_bits(np.float32(1.0), np.float64(1.0))


@pytest.mark.parametrize("executor", ["optimise", "compile"])
def test_random_products_are_within_their_bound(executor: str) -> None:
    seen: Counter[str] = Counter()
    wrong = {n: differential.compare_product(n, executor, seen) for n in range(100)}
    assert not any(wrong.values()), {n: words for n, words in wrong.items() if words}
    assert {key.split(":")[1] for key in seen} == {"f32", "f64", "bf16", "f16"}


@pytest.mark.parametrize("seed", range(20))
def test_a_planted_mistake_in_a_product_is_found(seed: int) -> None:
    """One element that is off by one, or NaN, or elements that are not there."""
    product = random_product(seed)
    exact = product.exact
    assert not product.wrong(exact)
    assert product.wrong(np.where(exact == exact.max(), exact + 1, exact))
    assert product.wrong(np.where(exact == exact.max(), np.nan, exact))
    assert product.wrong(exact[..., :0])


@pytest.mark.parametrize("executor", ["optimise", "compile"])
def test_random_linear_algebra_is_within_its_bound(executor: str) -> None:
    seen: Counter[str] = Counter()
    wrong = {n: differential.compare_linear_algebra(n, executor, seen) for n in range(100)}
    assert not any(wrong.values()), {n: words for n, words in wrong.items() if words}
    assert {key.split(":")[0] for key in seen} >= {*LINEAR_ALGEBRA, "factored"}
    assert {key.split(":")[1] for key in seen} >= {"f32", "f64", "c64", "c128"}
    assert {key.split(":")[-1] for key in seen} >= {"straight", "cond", "while", "scan"}
    assert seen["raised:LinearAlgebraError"] > 1


@pytest.mark.parametrize("make", PROBLEMS, ids=lambda make: make.__name__[1:])
def test_a_planted_mistake_in_linear_algebra_is_found(make: Callable[[Draw], Problem]) -> None:
    """In each result an element that is off by a hundredth, or NaN, or another integer."""
    found = 0
    for seed in range(12):
        draw = Draw(seed)
        problem = make(draw)
        if problem.fails or 0 in draw.batch:
            continue
        builder = Builder()
        types = [ArrayType(x.shape, dt.of(x.dtype)) for x in problem.arguments]
        graph = builder.build(problem.bind(builder, [builder.param(t) for t in types]))
        program = LinearAlgebra(
            graph, problem.arguments, problem, draw.batch, [False] * len(graph.results), False
        )
        exact = evaluate(graph, problem.arguments)
        assert not program.wrong(exact)
        assert program.wrong([x[None] for x in exact])
        for k, x in enumerate(exact):
            largest = np.unravel_index(np.abs(x).argmax(), x.shape)
            a_little = 0.01 * max(abs(x[largest]), 1)
            for off in (a_little, np.nan) if x.dtype.kind in "fc" else (1,):
                changed = [np.array(y) for y in exact]
                changed[k][largest] += off
                found += 1
                assert program.wrong(changed), (seed, k, largest, off)
    assert found > 12


# --- what programs hold ---------------------------------------------------------------------------


def test_programs_hold_what_only_passes_make(monkeypatch: pytest.MonkeyPatch) -> None:
    """Overlays, and loops that update arrays in place within one kernel."""
    made: Counter[str] = Counter()
    right = memory.lower_updates

    def counting(*given: Any, **named: Any) -> Any:
        found = right(*given, **named)
        made["loops that update arrays"] += found is not None
        return found

    monkeypatch.setattr(memory, "lower_updates", counting)
    for seed in range(160):
        graph = random_graph(seed, checks=True)
        optimised = optimise(graph)
        plan(optimised, X86_64_V3)
        drawn = coverage(graph)
        assert not any(key.startswith("overlay:") for key in drawn)
        made["overlay"] += bool(coverage_of_passes(optimised))
        made["top_k"] += any(key.startswith("top_k:") for key in drawn)
        made["sums of several blocks of 128"] += any(
            max(e.args[0].shape[k] for k in e.params["axes"]) > 256
            for e in equations_of(graph)
            if e.op.name == "reduce_sum" and e.params["axes"]
        )
    assert min(made.values()) > 3 and len(made) == 4, made


def test_programs_for_fastmath_hold_all_that_it_makes() -> None:
    programs = [differential.program_of(seed, "compile").graph for seed in range(6, 800, 8)]
    made = Counter(e.op.name for graph in programs for e in equations_of(graph))
    assert {name for name in OPS if name.startswith("fast_")} <= {*made}
    assert made["fma"] > 9


def nudged(units: float) -> Callable[[Graph, Sequence[Any]], Sequence[Any]]:
    """The interpreter, on a device that rounds quotients and square roots of float32 nearly."""

    def rule(builder: Builder, eqn: Eqn, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if eqn.op.name not in EXACT or eqn.args[0].dtype not in (dt.f32, dt.c64):
            return None
        (out,) = builder.bind(eqn.op, *args)
        factor = builder.constant(np.asarray(1 + units * 2.0**-23), dt.f64)
        factor = builder.bind1("cast", factor, dtype=out.dtype)
        factor = builder.bind1("broadcast", factor, shape=out.shape)
        return builder.bind("mul", out, factor)

    return lambda graph, arguments: evaluate(Rewriter(rule)(graph), list(arguments))


def test_what_a_gpu_rounds_nearly_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units that it may be off by agree in every program; more are found in some."""
    drawn = range(6, 600, 8)
    seeds, found = [s for s in drawn if differential.program_of(s, "cuda").near], {}
    for units in (2, 40):
        monkeypatch.setitem(differential.EXECUTORS, "cuda", nudged(units))
        found[units] = [s for s in seeds if differential.compare(s, "cuda")]
    assert not found[2]
    assert len(found[40]) > 5


def test_nothing_is_computed_of_what_a_gpu_rounds_nearly() -> None:
    kept = 0
    for seed in range(6, 400, 8):
        drawn = random_graph(seed, checks=True, relaxed=True)
        program = relaxed(drawn, nearly=True)
        near_ones = {program.graph.results[k] for k in program.near}
        kept += len(near_ones)
        for eqn in equations_of(program.graph):
            if eqn.op.name in EXACT and eqn.args[0].dtype.real.bits <= 32:
                assert near_ones.issuperset(eqn.outs)
            assert near_ones.isdisjoint(eqn.args)
    assert kept > 5


def test_a_bound_is_of_finite_numbers() -> None:
    largest = np.finfo(np.float32).max
    a = np.array([1.0, np.inf, np.nan, 0.0, largest], np.float32)
    assert near(a, np.array([1 + 2.0**-22, np.nan, 3.0, 1e-45, np.inf], np.float32))
    assert not near(a, np.array([1 + 2.0**-20, np.inf, np.nan, 0.0, largest], np.float32))
    assert not near(a, np.array([np.nan, np.inf, np.nan, 0.0, largest], np.float32))
    assert not near(a, a.astype(np.float64)) and not near(a, a[:4])
    z = a[:1] * np.complex64(1 + 2j)
    assert near(z, z) and not near(z, z.conj())


# --- how they are run -----------------------------------------------------------------------------

DIES = """
import json, os, sys, time
first, last = int(sys.argv[1]), int(sys.argv[2])
for seed in range(first, last):
    if seed == 3:
        print("LLVM ERROR", file=sys.stderr, flush=True)
        os.abort()
    if seed == 5:
        time.sleep(60)
    wrong = "wrong" * (seed in (6, 7))
    line = {"seed": seed, "finding": wrong, "coverage": {"add:f32:cond": 1}, "ends": seed == 6}
    print(json.dumps(line), flush=True)
    if seed == 6:
        sys.exit(1)
"""


def test_an_abort_and_a_hang_and_a_lost_device_cost_one_program_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "tests" / "programs"
    package.mkdir(parents=True)
    (tmp_path / "tests" / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "differential.py").write_text(DIES)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.setattr(run, "PATIENCE", 2.0)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    findings, coverage = run.run_shard(0, 9, "compile")
    assert sorted(findings) == ["3", "5", "6", "7"]
    assert "ended with -6: LLVM ERROR" in findings["3"]
    assert "did not end" in findings["5"]
    assert findings["6"] == findings["7"] == "wrong"
    assert coverage == {"add:f32:cond": 7}


class Lost:
    """A GPU that one of the programs has made useless."""

    def finish(self) -> None:
        raise DeviceError("CUDA driver: an illegal memory access was encountered")


def test_a_process_ends_with_the_program_that_costs_it_the_device(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All after it would fail for nothing of their own; one that is only wrong ends nothing."""
    monkeypatch.setattr(differential, "gpu", Lost)
    monkeypatch.setattr(differential, "compare", lambda seed, executor, seen: "wrong" * (seed == 2))
    for beside in ("compare_product", "compare_linear_algebra"):
        monkeypatch.setattr(differential, beside, lambda seed, executor, seen: "")
    for executor, seeds in (("cuda", [0, 1, 2]), ("compile", [0, 1, 2, 3, 4])):
        assert differential.main(0, 5, executor) == 1
        reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [r["seed"] for r in reports] == seeds
        assert [r["seed"] for r in reports if r["ends"]] == [2] * (executor == "cuda")


def test_records_of_different_seeds_add_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def shard(first: int, last: int, executor: str) -> Any:
        found = {"70": "wrong"} if first <= 70 < last else {}
        return found, {f"add:f32:{executor}": last - first, "raised:NumericsError": 1}

    monkeypatch.setattr(run, "run_shard", shard)
    files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "all.json"]
    two = ["--processes", "2", "--json"]
    assert run.main(["--seeds", "0:60", *two, str(files[0])]) == 0
    assert run.main(["--seeds", "60:130", *two, str(files[1])]) == 1
    assert run.main(["--merge", *map(str, files[:2]), "--json", str(files[2])]) == 1
    merged = run.read(files[2])
    assert merged["seeds"] == [[0, 130]]
    assert (merged["programs"], merged["agreed"]) == (130, 129)
    assert merged["coverage"] == {"add:f32:compile": 130, "raised:NumericsError": 4}
    assert merged["raised"] == {"raised:NumericsError": 4}
    assert merged["covered"] == 1 < merged["floor"]
    assert run.too_little(merged) == ["1 of op x type x construct"]
    assert "129 of 130 programs agree" in capsys.readouterr().out
    with pytest.raises(ValueError, match="seed 60 ran twice"):
        run.main(["--merge", str(files[1]), str(files[2])])


def test_a_thousand_programs_need_every_op_and_narrow_types() -> None:
    coverage = {f"{op}:{type}:cond": 1 for op in OPS for type in run.NARROW}
    record = {"seeds": [[0, 1000]], "findings": {}, "coverage": coverage}
    assert run.too_little(run.summed(dict(record))) == [f"{len(coverage)} of op x type x construct"]
    for key in sorted(k for k in coverage if ":bf16:" in k)[9:]:
        del coverage[key]
    for key in [k for k in coverage if k.startswith("narrow:")]:
        del coverage[key]
    _, *others = run.too_little(run.summed(dict(record)))
    assert others == ["9 ops of bf16, not 40", "no program has narrow"]
