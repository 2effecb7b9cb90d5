"""Reductions of any size on GPUs: the bytes of the CPU, by one program for all shapes of a kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
from pyc import compile_cuda, reasons
from pyc.backends import nvptx
from pyc.ir import dtype as dt
from pyc.ir import shares as shared
from pyc.ir.graph import Builder, Graph
from pyc.ir.order import CHUNK
from pyc.ir.plan import Place
from pyc.ir.shares import Shares, shares
from pyc.ir.sizes import EXTENTS
from pyc.ir.target import SM_90
from pyc.ir.target import nvptx as gpu_target
from pyc.ir.types import ArrayType
from pyc.passes.any_size import plan_any_size
from pyc.reasons import Reason
from tests.backends.assembler import assemble, assembles
from tests.backends.interpreted_device import InterpretedDevice, install
from tests.test_any_size import array, as_bytes, on_cpu

FUNCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "argmin": np.argmin,
    "any": np.any,
    "mean": np.mean,
}
CASES: dict[str, list[tuple[tuple[int, ...], Any]]] = {
    "rows": [((5,), 0), ((3, 129), 1), ((2, 1024), 1), ((9, 1025), 1), ((1, 1), 1), ((2, 3, 4), 2)],
    "longer rows": [((2100,), 0), ((3, 4097), 1), ((8192,), None)],
    "parts of rows": [((8193,), 0), ((3, 9000), 1), ((1, 20000), 1)],
    "parts of columns": [((5, 300, 7), 1), ((1025, 3), 0), ((2, 1), 0), ((40, 5), 0)],
}
FEW = {
    "columns": [((5, 300, 7), 1), ((2, 9), 0), ((1100, 8), 0)],
    "many parts of columns": [((5000, 2), 0), ((7, 3), 0)],
}
"""With bounds that make them what they are for so few elements."""


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    device = InterpretedDevice()
    install(device, monkeypatch)
    return device


def agree(function: Any, cases: list[tuple[tuple[int, ...], Any]], kind: str) -> None:
    """A GPU gives the bytes of the CPU, and no program for one shape is made."""
    for seed, (shape, axis) in enumerate(cases):
        if function is np.argmin and isinstance(axis, tuple):
            continue
        x = array(shape, kind, seed)
        with reasons.collecting() as events:
            found = function(pyc.device_put(x, "cuda"), axis=axis)
        assert found.device == "cuda:0"
        assert as_bytes(found) == as_bytes(function(on_cpu(x), axis=axis)), (shape, axis, kind)
        assert not [e for e in events if e.reason is Reason.FALLBACK_ONE_SIZE]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_gpu_reduces_any_size(function: str, name: str, gpu: InterpretedDevice) -> None:
    agree(FUNCTIONS[function], CASES[name], "float32")


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64"])
def test_of_every_type(kind: str, gpu: InterpretedDevice) -> None:
    agree(np.sum, [((3, 129), 1), ((9, 2), 0), ((9000,), 0)], kind)


def test_few_bounds(gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes many elements otherwise: a thread for each column, many parts, long walks."""
    monkeypatch.setattr(shared, "COLUMN_PARTS", 8)
    for function in (np.sum, np.argmin):
        agree(function, FEW["columns"], "float32")
    monkeypatch.setattr(shared, "MOST_PARTS", 2)
    agree(np.sum, FEW["many parts of columns"], "float32")
    monkeypatch.setattr(shared, "SHORT_ROW", CHUNK)
    agree(np.sum, [((40000,), 0), ((2, 17000), 1)], "float64")


def test_other_shapes_make_no_other_program(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in (100, 3000, 9000):
        np.sum(pyc.device_put(np.ones(n), "cuda"))
    monkeypatch.setattr(compile_cuda, "obtained", None)
    for n in (101, 30000, 1, 1024, 1025, 8192, 8193):
        assert np.sum(pyc.device_put(np.ones(n), "cuda")).tolist() == n


def test_what_comes_often_gets_a_program_of_its_own(gpu: InterpretedDevice) -> None:
    x = array((3, 129), "float32")
    there = pyc.device_put(x, "cuda")
    expected = as_bytes(np.sum(on_cpu(x), axis=1))
    made: list[int] = []
    for _ in range(10):
        with reasons.collecting() as events:
            assert as_bytes(np.sum(there, axis=1)) == expected
        made.append(sum(e.reason is Reason.FALLBACK_ONE_SIZE for e in events))
    assert made == [0] * 8 + [1, 0]


def test_no_elements(gpu: InterpretedDevice) -> None:
    for shape, axis in (((0, 3), 0), ((3, 0), 1), ((0, 3), 1), ((0,), 0)):
        x = np.zeros(shape, np.float32)
        found = np.sum(pyc.device_put(x, "cuda"), axis=axis)
        assert as_bytes(found) == as_bytes(np.sum(x, axis=axis))


# --- how they are shared --------------------------------------------------------------------------

LENGTHS = (1, 2, 1023, 1024, 1025, 8192, 8193, 100_000, 1 << 24, (1 << 31) + 5)


def test_walks_reach_every_chunk_and_parts_have_room() -> None:
    for outer in (1, 2, 7, 100, 1023, 1024, 1 << 20):
        for n in LENGTHS:
            for sizes in ((outer, n), (outer, n, 1), (1, n, outer), (3, n, outer)):
                found, chunks = shares(sizes), -(-n // CHUNK)
                assert found.each & (found.each - 1) == 0
                results = outer if len(sizes) == 2 else sizes[0] * sizes[2]
                if not found.parts:
                    assert found.each >= chunks
                    continue
                walks = found.each * (shared.WALKS if len(sizes) == 2 else 1)
                assert (found.parts - 1) * walks < chunks <= found.parts * walks
                assert found.parts <= shared.MOST_PARTS
                room = shared.PARTS if len(sizes) == 2 else shared.COLUMN_PARTS
                assert results * found.parts <= room


# --- PTX ------------------------------------------------------------------------------------------


def graph(op: str, rank: int, kind: dt.DType) -> Graph:
    builder = Builder()
    x = builder.param(ArrayType(EXTENTS[:rank], kind))
    return builder.build(builder.bind(op, x, axes=(1,)))


FORMS = [Shares(1, 0), Shares(64, 0), Shares(1, 1), Shares(4, 1)]


@assembles
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_they_assemble(arch: str, tmp_path: Path) -> None:
    target = SM_90 if arch == "sm_90a" else gpu_target(int(arch[3:].rstrip("a")))
    for op, kind in (("reduce_sum", dt.f32), ("argmax", dt.f64)):
        for rank in (2, 3):
            for form in FORMS:
                made = plan_any_size(graph(op, rank, kind), target, shared=form, check=True).plan
                text = nvptx.module_text(made.kernels, target)[0]
                for usage in assemble(nvptx.ptx(text, target), target.cpu, tmp_path).usages:
                    assert not usage.spilled and not usage.stack, str(usage)
                assert len(made.kernels) == (2 if form.parts else 1)
                scratch = [b for b in made.buffers if b.place is Place.ARENA]
                assert bool(scratch) is bool(form.parts) and made.peak >= sum(
                    b.nbytes for b in scratch
                )


@pytest.mark.cuda
@pytest.mark.parametrize("kind", ["float32", "float64", "int16", "float16", "bool", "complex64"])
def test_on_a_gpu(kind: str) -> None:
    more = [((5_000_001,), 0), ((300_000, 8), 0), ((100, 20_000), 0), ((17, 33, 1000), 1)]
    for function in (np.sum, np.any) if kind == "complex64" else FUNCTIONS.values():
        agree(function, [case for cases in CASES.values() for case in cases], kind)
        if function is np.sum:
            agree(function, more, kind)
