"""Parts and orders of arrays on a GPU: one program for all shapes of so many axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyc
from pyc import cache, compile_cuda, movement, reasons
from pyc.backends import nvptx
from pyc.errors import OutOfMemoryError
from pyc.ir import dtype as dt
from pyc.ir.op import OPS, Kind
from pyc.ir.strides import merged, walked
from pyc.ir.target import SM_90
from pyc.ir.target import nvptx as gpu_target
from pyc.ir.types import row_major
from pyc.passes.any_size_strided import plan_strided
from pyc.reasons import Reason
from tests.backends.assembler import assemble, assembles
from tests.backends.interpreted_device import InterpretedDevice, install
from tests.ops.cases import cases

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.T,
    "two axes": lambda x: np.swapaxes(x, 0, 1),
    "every other": lambda x: x[::2],
    "a middle, backwards": lambda x: x[:, 1:3, ::-1],
    "backwards": np.flip,
    "backwards along one": lambda x: np.flip(x, 1),
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "a column, broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "another shape": lambda x: x.reshape(-1, x.shape[-1]),
    "a new axis": lambda x: x[:, None],
    "one line": lambda x: x.ravel(),
    "one element": lambda x: x[1:2, 1:2, 1:2],
    "turned": lambda x: np.rot90(x),
    "the diagonal order": lambda x: np.transpose(x, (2, 0, 1)),
    "over axes that are apart": lambda x: np.sum(x, axis=(0, 2)),
    "the mean": lambda x: np.mean(x, axis=1),
    "behind each other": lambda x: np.concatenate([x, x[:1], x[:0], x]),
    "beside each other": lambda x: np.concatenate([x, x[:, ::-1], x[:, :1]], axis=1),
    "one by one": lambda x: np.concatenate([x, x[..., :1]], axis=-1),
    "stacked": lambda x: np.stack([x, x], axis=1),
    "rolled": lambda x: np.roll(x, 1, axis=1),
    "rolled as one line": lambda x: np.roll(x, 3),
    "in a frame": lambda x: np.pad(x, 1),
    "in half a frame": lambda x: np.pad(x, ((0, 2), (1, 0), (0, 0)), constant_values=1),
    "with a box replaced": lambda x: x.at[1:, ::2].set(x[1:, ::2, ::-1]),
    "rows": lambda x: x[np.array([1, 0, -1])],
    "columns": lambda x: x[:, [[1, 0], [0, 1]]],
    "elements of rows": lambda x: x[..., [1]],
    "places on two axes": lambda x: x[[0, 1], [1, 0]],
    "places on axes that are apart": lambda x: x[[0, 1], :, [1, 0]],
    "places on all axes": lambda x: x[[0, 1], [1, 0], [0, 0]],
    "taken": lambda x: np.take(x, np.array([0, 1]), axis=2),
}
SHAPES = ((3, 4, 5), (2, 3, 2), (7, 2, 9))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[InterpretedDevice]:
    device = InterpretedDevice()
    install(device, monkeypatch)
    movement.clear()
    yield device
    movement.clear()


def elements(shape: tuple[int, ...], kind: Any) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape)).reshape(shape).astype(kind)


def agree(function: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> None:
    """A GPU gives what NumPy does for arrays on the CPU, and no program for one shape is made."""
    with reasons.collecting() as events:
        found = function(pyc.device_put(x, "cuda"))
    expected = function(pyc.device_put(x, "cpu"))
    assert found.device == "cuda:0" and (found.shape, found.dtype) == (
        expected.shape,
        expected.dtype,
    )
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    assert not [e for e in events if e.reason is Reason.FALLBACK_ONE_SIZE]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gpu_moves_arrays_of_any_shape(name: str, gpu: InterpretedDevice) -> None:
    for shape in SHAPES:
        agree(FUNCTIONS[name], elements(shape, np.float32))


@pytest.mark.parametrize("kind", ["bool", "int8", "float16", "int64", "complex64", "complex128"])
def test_elements_of_every_size(kind: str, gpu: InterpretedDevice) -> None:
    names = ("transposed", "a middle, backwards", "broadcast", "beside each other", "in a frame")
    for name in (*names, "places on two axes"):
        agree(FUNCTIONS[name], elements((3, 4, 5), kind))
    agree(FUNCTIONS["transposed"], elements((3, 4, 5), ml_dtypes.bfloat16))


def test_other_shapes_make_no_other_program(
    gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(FUNCTIONS["transposed"], elements((3, 4, 5), np.float32))
    monkeypatch.setattr(compile_cuda, "obtained_plan", None)
    for shape in SHAPES[1:]:
        agree(FUNCTIONS["transposed"], elements(shape, np.float32))
        agree(FUNCTIONS["transposed"], elements(shape, np.int32))
    agree(FUNCTIONS["two axes"], elements((6, 2, 3), np.float32))


def test_places_out_of_range_are_an_error(gpu: InterpretedDevice) -> None:
    x = pyc.device_put(elements((3, 4), np.float32), "cuda")
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        _ = x[np.array([0, 3])]


def test_no_elements_and_no_memory(gpu: InterpretedDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = pyc.device_put(np.zeros((3, 0, 2)), "cuda")
    assert empty.T.shape == (2, 0, 3) and empty[::-1].shape == (3, 0, 2)
    x = pyc.device_put(np.zeros((300, 200), np.float32), "cuda")
    allocate = gpu.allocate

    def refuse(nbytes: int) -> int:
        if nbytes > 1 << 16:
            raise OutOfMemoryError("CUDA driver: out of memory (CUDA_ERROR_OUT_OF_MEMORY)")
        return allocate(nbytes)

    monkeypatch.setattr(gpu, "allocate", refuse)
    with pytest.raises(OutOfMemoryError, match="which cuda:0 could not allocate"):
        _ = x.T


def test_programs_are_in_the_cache(
    cache_dir: Path, monkeypatch: pytest.MonkeyPatch, gpu: InterpretedDevice
) -> None:
    """Found by another process, made again by `pyc.cache.verify`, forgotten by `clear_caches`."""
    monkeypatch.undo()
    install(gpu, monkeypatch, cached=True)
    x = elements((3, 4), np.float32)
    assert pyc.device_put(x, "cuda").T.tolist() == x.T.tolist()
    pyc.clear_caches()
    cache.reset_stats()
    monkeypatch.setattr(compile_cuda, "emitted", None)
    assert pyc.device_put(x[:2], "cuda").T.tolist() == x[:2].T.tolist()
    assert cache.stats().per_function["eager view"].hits_disk == 1
    monkeypatch.undo()
    install(gpu, monkeypatch, cached=True)
    monkeypatch.setattr("pyc.remake.gpu", lambda name: gpu)
    monkeypatch.setattr("pyc.remake.emitted", compile_cuda.emitted)
    with pyc.config.using(cache="rw", cache_dir=str(cache_dir)):
        found = cache.verify("eager view")
    assert (found.equal, found.bad, found.unchecked) == (1, (), ())


# --- strides --------------------------------------------------------------------------------------

EXTENTS = st.lists(st.integers(1, 4), min_size=0, max_size=4)


@given(EXTENTS, st.data())
@settings(max_examples=200, deadline=None)
def test_a_walk_is_what_numpy_sees(shape: list[int], data: Any) -> None:
    x = elements(tuple(shape), np.int64)
    key = []
    for n in shape:
        start, stop = data.draw(st.integers(-n, n - 1)), data.draw(st.integers(-n - 1, n))
        key.append(slice(start, stop, data.draw(st.sampled_from([-2, -1, 1, 2]))))
    view = np.transpose(x[tuple(key)], data.draw(st.permutations(range(len(shape)))))
    view = np.broadcast_to(view[:, None] if shape else view, (*view.shape[:1], 3, *view.shape[1:]))
    if not view.size:
        return
    offset = int(view.ravel()[0])
    walk = walked(view.shape, [s // 8 for s in view.strides], offset)
    places = np.full(walk.sizes, walk.first)
    for axis, (n, step, back) in enumerate(zip(walk.sizes, walk.steps, walk.flipped, strict=True)):
        line = np.arange(n)[::-1] if back else np.arange(n)
        along = [1] * len(walk.sizes)
        along[axis] = n
        places = places + (line * step).reshape(along)
    assert x.ravel()[places.ravel()].tolist() == view.ravel().tolist()
    assert min(walk.steps, default=0) >= 0 and walk.first >= 0


def test_neighbours_are_one_axis() -> None:
    assert walked((2, 3, 4), row_major((2, 3, 4)), 5) == walked((24,), (1,), 5)
    assert walked((2, 3, 4), (-12, -4, -1), 23).sizes == (24,)
    assert walked((1, 3, 1), (7, 2, 9), 0).sizes == (3,)
    assert row_major(()) == () and row_major((2, 0, 3)) == (0, 3, 1)


@given(st.lists(st.integers(1, 3), min_size=0, max_size=4), st.data())
@settings(max_examples=100, deadline=None)
def test_walks_through_two_arrays_at_once(shape: list[int], data: Any) -> None:
    drawn = [
        tuple(data.draw(st.sampled_from([0, 1, 2, 3, 6, 9])) for _ in shape)
        if k
        else row_major(shape)
        for k in range(2)
    ]
    sizes, walks = merged(shape, *drawn)

    def visited(extents: Any, steps: Any) -> list[int]:
        return [int(np.dot(i, steps)) if extents else 0 for i in np.ndindex(*extents)]

    for whole, fewer in zip(drawn, walks, strict=True):
        assert visited(tuple(shape), whole) == visited(sizes, fewer)


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if op.view is not None))
def test_views_are_what_their_ops_say(name: str) -> None:
    op = OPS[name]
    assert op.kind is Kind.INDEX and op.reference is not None and op.view is not None
    for case in cases(op, dt.i32):
        (x,) = case.arrays
        first, strides = op.view(case.types, **case.params)
        (type,) = op.types(case.types, **case.params)
        if not type.size:
            continue
        numbers = np.arange(x.size, dtype=np.int32).reshape(x.shape)
        start = numbers.ravel()[first:]
        seen = np.lib.stride_tricks.as_strided(start, type.shape, [4 * s for s in strides])
        assert seen.tolist() == np.asarray(op.reference(numbers, **case.params)).tolist()


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if op.parts is not None))
def test_parts_are_what_their_ops_say(name: str) -> None:
    op, seen = OPS[name], 0
    assert op.kind is Kind.INDEX and op.reference is not None and op.parts is not None
    for case in cases(op, dt.i32):
        (type,) = op.types(case.types, **case.params)
        parts = op.parts(case.types, **case.params)
        if parts is None or not type.size:
            continue
        found = np.full(type.size, -1, np.int32)
        for part in parts:
            for i in np.ndindex(*part.shape):
                place = sum(a * s for a, s in zip(i, part.steps, strict=True))
                into = part.first + sum(a * s for a, s in zip(i, part.into, strict=True))
                found[into] = case.arrays[part.argument].ravel()[place]
        assert found.reshape(type.shape).tolist() == (
            np.asarray(op.reference(*case.arrays, **case.params)).tolist()
        )
        seen += 1
    assert seen


@pytest.mark.parametrize("name", sorted(n for n, op in OPS.items() if op.lookup is not None))
def test_lookups_are_what_their_ops_say(name: str) -> None:
    op, seen = OPS[name], 0
    assert op.kind is Kind.INDEX and op.reference is not None and op.lookup is not None
    for case in cases(op, dt.i32):
        (type,) = op.types(case.types, **case.params)
        if not type.size:
            continue
        x, *tables = case.arrays
        found = op.lookup(case.types, **case.params)
        result = np.empty(type.shape, np.int32)
        for i in np.ndindex(*type.shape):
            place = int(np.dot(i, found.steps)) if i else 0
            entry = int(np.dot(i, found.table)) if i else 0
            for table, (n, step) in zip(tables, found.axes, strict=True):
                place += min(max(int(table.ravel()[entry]), 0), n - 1) * step
            result[i] = x.ravel()[place]
        expected = np.asarray(op.reference(*case.arrays, **case.params))
        assert result.tolist() == expected.tolist()
        seen += 1
    assert seen


# --- PTX, a GPU -----------------------------------------------------------------------------------


@assembles
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_they_assemble(arch: str, tmp_path: Path) -> None:
    target = SM_90 if arch == "sm_90a" else gpu_target(int(arch[3:].rstrip("a")))
    for bits in (8, 16, 32, 64):
        for flipped, placed, tables in (
            ((False, False), False, 0),
            ((False, True, False), False, 0),
            ((True,) * 8, False, 0),
            ((False,) * 8, True, 0),
            ((False,) * 3, False, 1),
            ((False,) * 4, False, 3),
        ):
            unsigned = dt.unsigned_of(bits)
            made = plan_strided(unsigned, flipped, target, placed=placed, tables=tables, check=True)
            text = nvptx.module_text(made.kernels, target)[0]
            for usage in assemble(nvptx.ptx(text, target), target.cpu, tmp_path).usages:
                assert not usage.spilled and not usage.stack, str(usage)


@pytest.mark.cuda
def test_on_a_gpu() -> None:
    rng = np.random.default_rng(0)
    for function in FUNCTIONS.values():
        for shape in (*SHAPES, (65, 33, 129), (3, 1000, 700)):
            for kind in ("float32", "uint8", "complex128"):
                agree(function, (rng.random(shape) * 100).astype(kind))
