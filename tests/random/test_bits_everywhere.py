"""The same bits from every way to run a program that draws: eager, jitted, both interpreters, every
vector width and thread count, other processes, and a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.backends import cuda
from pyc.backends.nvptx import module_text, ptx
from pyc.backends.oracle import run_plan
from pyc.compile import compile_graph
from pyc.ir.evaluate import evaluate
from pyc.ir.plan import launches_of
from pyc.ir.target import SM_90, X86_64_V3
from pyc.passes import optimise
from pyc.passes.memory import plan
from tests.backends.assembler import assemble, assembles
from tests.backends.interpreted_device import on_device
from tests.programs.differential import same_bits
from tests.random.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
KEY = np.array([0x243F6A88, 0x299F31D0], np.uint32)
needs_gpu = pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")


def flat(found: Any) -> list[Any]:
    return [np.asarray(x) for x in pyc.tree.leaves(found)]


def assert_same(found: Any, expected: Any) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert same_bits(a, b)


@pytest.fixture(params=PROGRAMS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def graph_and_arguments(name: str) -> tuple[Any, list[Any]]:
    """A program as a Graph: its parameters are the key and the tables that it reads."""
    traced = pyc.jit(PROGRAMS[name]).trace(KEY)
    return traced.graph, [KEY, *(hidden.value for hidden in traced.guards.hidden)]


def test_outside_of_jit_as_inside(name: str) -> None:
    assert_same(flat(PROGRAMS[name](KEY)), flat(pyc.jit(PROGRAMS[name])(KEY)))


def test_the_interpreters_give_the_bits_of_compiled_code(name: str) -> None:
    graph, arguments = graph_and_arguments(name)
    expected = evaluate(graph, arguments)
    types = [(v.shape, v.dtype.numpy) for v in graph.results]
    assert_same(flat(pyc.jit(PROGRAMS[name])(KEY)), expected)
    planned = plan(optimise(graph), X86_64_V3, check=True).plan
    assert_same(run_plan(planned, arguments, types), expected)
    assert_same(compile_graph(graph, target=X86_64_V3)(*arguments), expected)


def test_kernels_of_a_gpu_give_the_bits_of_the_interpreter(name: str) -> None:
    graph, arguments = graph_and_arguments(name)
    assert_same(on_device(graph, arguments), evaluate(graph, arguments))


def test_all_is_done_on_the_device(name: str) -> None:
    """No step of a program for a GPU is left to the host."""
    graph, _ = graph_and_arguments(name)
    steps = plan(optimise(graph), SM_90).plan.steps
    assert not [launch for launch in launches_of(steps) if launch.host]
    assert "library" not in str(plan(optimise(graph), SM_90).plan)


SPILLED = {"gamma": 64, "t": 64, "poisson": 320, "poisson of large rates": 320}
"""Bytes at most, of loops in float64 whose trials take more registers than there are."""


@assembles
@pytest.mark.parametrize("name", [n for n in PROGRAMS if n != "no number"])
def test_ptx_assembles_with_the_spills_that_are_known(name: str, tmp_path: Path) -> None:
    graph, _ = graph_and_arguments(name)
    kernels = plan(optimise(graph), SM_90).plan.kernels
    found = assemble(ptx(module_text(kernels, SM_90)[0], SM_90), "sm_90a", tmp_path)
    assert found.usages and max(u.spilled for u in found.usages) <= SPILLED.get(name, 0)


@pytest.mark.cuda
@needs_gpu
def test_a_gpu_gives_the_bits_of_the_cpu(name: str) -> None:
    expected = flat(PROGRAMS[name](KEY))
    assert_same(flat(pyc.jit(PROGRAMS[name], device="cuda")(KEY)), expected)
    there = PROGRAMS[name](pyc.device_put(KEY, "cuda"))
    assert {x.device for x in pyc.tree.leaves(there)} == {"cuda:0"}
    assert_same(flat(pyc.device_get(there)), expected)


def test_large_arrays_do_not_depend_on_the_threads() -> None:
    found = []
    for threads in (1, 2, 3):
        with pyc.threads(threads):
            found.append(flat([pyc.random.normal(KEY, (300_001,), d) for d in ("f4", "f8")]))
    assert_same(found[0], found[1])
    assert_same(found[0], found[2])


DRAWN = """
import hashlib, numpy as np, pyc
key, digest = pyc.random.key(-5), hashlib.sha256()
for dtype in (np.float32, np.float64):
    digest.update(pyc.random.normal(key, (1001,), dtype).tobytes())
digest.update(pyc.random.permutation(key, 1000).tobytes())
print(digest.hexdigest())
"""
ONCE = "bca3eea1e4f0fa7a07528a7f76cb805023dfe4694c5e14841a63750f547ffab3"


def test_processes_agree(tmp_path: Path) -> None:
    """With other hash seeds, numbers of threads and caches; and with the day this was written."""
    for k in range(2):
        (tmp_path / str(k)).mkdir(mode=0o700)
        more = {"PYTHONHASHSEED": str(k), "PYC_NUM_THREADS": str(1 + k)}
        environment = {**os.environ, **more, "PYC_CACHE_DIR": str(tmp_path / str(k))}
        done = subprocess.run(
            [sys.executable, "-c", DRAWN],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == ONCE
