"""Whole Plans as x86 code, and what holds for all of it: modes, cancelling, equal bytes."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from pyc.backends import llvm_library, x86
from pyc.backends.base import SiteFailed
from pyc.backends.cpu import Cpu, aligned_bytes, check_alignment
from pyc.backends.host import host_flags, targets_of
from pyc.backends.image import Image
from pyc.backends.llvm_places import FAR
from pyc.backends.x86 import X86, compile_plan, modules, native_target
from pyc.frozen import replace
from pyc.ir import dtype as dt
from pyc.ir import plan as plans
from pyc.ir.dtype import DType
from pyc.ir.expr import (
    Load,
    Var,
    apply,
    const,
    maximum,
    minimum,
    select,
)
from pyc.ir.loops import (
    Alloc,
    Buffer,
    Carry,
    If,
    Kernel,
    Let,
    Space,
    Store,
)
from pyc.ir.target import X86_64_V3, X86_64_V4, X86_64_V4_BF16, Target
from tests.backends.native_kernels import TARGETS, check, each_target, one_kernel_plan
from tests.backends.small_kernels import checked_gather, normal, serial, sum_rows, vector

# --- whole plans ----------------------------------------------------------------------------------


def scale_kernel(n: int, factor: float) -> Kernel:
    x, out = Buffer("x", dt.f32, (n,), role="in"), Buffer("out", dt.f32, (n,), role="out")
    c, v = Var("c"), Var("v")
    i = c * 16 + v
    store = If(i < n, (Store(out, (i,), Load(x, (i,)) * factor),))
    return Kernel("scale", (x, out), (serial(c, -(-n // 16), vector(v, 16, store)),))


def test_an_entry_that_another_program_had_is_compiled_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One kernel between an argument and a result is what most small functions are."""
    x, out = np.ones(40, np.float32), np.empty(40, np.float32)
    texts: list[str] = []
    compile = llvm_library._LibraryMachine._emitted

    def emitted(self: Any, text: str, *rest: Any) -> bytes:
        texts.append(text)
        return compile(self, text, *rest)

    def program(factor: float) -> plans.Plan:
        return one_kernel_plan(scale_kernel(40, factor), (x, out))

    first = compile_plan(program(3.0), X86_64_V3)
    monkeypatch.setattr(llvm_library._LibraryMachine, "_emitted", emitted)
    second = compile_plan(program(5.0), X86_64_V3)
    assert first.entry == second.entry and first.object != second.object
    assert len(texts) == 1 and "@k0" in texts[0] and "@entry" not in texts[0]


def countdown_kernel() -> Kernel:
    """counter -= 1; flag = counter >= 0."""
    counter = Buffer("counter", dt.i64, (), role="inout")
    flag = Buffer("flag", dt.b1, (), role="out")
    value = Var("value")
    return Kernel(
        "countdown",
        (counter, flag),
        (Let(value, Load(counter, ()) - 1), Store(counter, (), value), Store(flag, (), value > -1)),
    )


LIBRARY = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
)


def test_a_plan_with_loop_rotation_branch_library_arena_and_constants() -> None:
    n = 21
    size = 4 * n
    place = plans.Place
    buffers = (
        plans.PlanBuffer(size, place.ARGUMENT, 0),  # 0: x
        plans.PlanBuffer(8, place.ARGUMENT, 1, scalar=True),  # 1: repetitions
        plans.PlanBuffer(8, place.ARGUMENT, 2, scalar=True),  # 2: case
        plans.PlanBuffer(size, place.RESULT, 0),  # 3
        plans.PlanBuffer(size, place.ARENA, 0),  # 4: ping
        plans.PlanBuffer(size, place.ARENA, 128),  # 5: pong
        plans.PlanBuffer(8, place.ARENA, 256),  # 6: counter
        plans.PlanBuffer(1, place.ARENA, 320),  # 7: flag
        plans.PlanBuffer(size, place.CONSTANT, 64),  # 8: ones
        plans.PlanBuffer(size, place.RESULT, 1),  # 9
    )
    add = (
        Buffer("a", dt.f32, (n,), role="in"),
        Buffer("b", dt.f32, (n,), role="in"),
        Buffer("o", dt.f32, (n,), role="out"),
    )
    v = Var("v")
    add_kernel = Kernel(
        "add", add, (serial(v, n, Store(add[2], (v,), Load(add[0], (v,)) + Load(add[1], (v,)))),)
    )
    steps: tuple[plans.Step, ...] = (
        plans.Launch(2, (0, 8, 4)),
        plans.Copy(6, 1),
        plans.Loop((plans.Launch(1, (6, 7)),), 7, (plans.Launch(0, (4, 5)),), ((4, 5),)),
        plans.Copy(3, 4),
        plans.Branch(
            2, ((plans.Copy(9, 0),), (plans.Copy(9, 8),), (plans.Library("fill", (9, 0), (n, 5)),))
        ),
    )
    constants = bytes(64) + np.arange(n, dtype=np.float32).tobytes()
    plan = plans.Plan(
        (scale_kernel(n, 3.0), countdown_kernel(), add_kernel),
        buffers,
        steps,
        (0, 1, 2),
        (3, 9),
        321,
        321,
        constants,
    )
    seen = []

    def fill(context: int, slots: Any, integers: Any) -> int:
        count, number = integers[0], integers[1]
        ctypes.memset(slots[0], 0, 4 * count)
        seen.append((count, number))
        return 0

    keep = LIBRARY(fill)
    address = ctypes.cast(keep, ctypes.c_void_p).value
    assert address is not None
    for target in TARGETS:
        cpu = Cpu({"fill": address})
        executable = cpu.load(compile_plan(plan, target), plan)
        x = normal(n)
        ones = np.arange(n, dtype=np.float32)
        for repeat, case in ((0, 0), (1, 1), (2, 2), (5, 99), (3, -4)):
            out, second = np.zeros(n, np.float32), np.ones(n, np.float32)
            cpu.run(executable, [x, np.int64(repeat), np.int64(case)], [out, second])
            expected = x + ones
            for _ in range(repeat):
                expected = expected * np.float32(3)
            assert (out == expected).all()
            choice = {0: x, 1: ones}.get(max(case, 0), np.zeros(n, np.float32))
            assert (second == choice).all()
    assert seen == [(n, 5)] * (2 * len(TARGETS))


def test_a_failing_launch_ends_the_call_and_later_calls_are_clean() -> None:
    kernel = checked_gather(8, 0)
    arrays = [normal(10), np.full(8, 5), np.zeros(8, np.float32)]
    plan = one_kernel_plan(kernel, arrays)
    cpu = Cpu()
    executable = cpu.load(compile_plan(plan, X86_64_V4), plan)
    arrays[1][2] = -1
    with pytest.raises(SiteFailed):
        cpu.run(executable, arrays, [])
    arrays[1][2] = 1
    cpu.run(executable, arrays, [])
    assert arrays[2][2] == arrays[0][1]


_SET_MODE = """
target triple = "x86_64-unknown-linux-gnu"
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
define i32 @exchange(i32 %mode) nounwind {
  %slot = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %slot)
  %old = load i32, ptr %slot
  store i32 %mode, ptr %slot
  call void @llvm.x86.sse.ldmxcsr(ptr %slot)
  ret i32 %old
}
"""


def test_the_entry_runs_in_the_default_floating_point_mode() -> None:
    """A caller that flushes subnormals gets exact results, and its own mode back."""
    image = Image(llvm_library.machine(X86_64_V4.triple, reloc="pic").object_of(_SET_MODE))
    exchange = image.function("exchange", ctypes.c_int32, ctypes.c_int32)
    arrays = [np.full(4, 1e-40, np.float32), np.zeros(4, np.float32)]
    expected = arrays[0] * np.float32(0.5)
    plan = one_kernel_plan(scale_kernel(4, 0.5), arrays)
    cpu = Cpu()
    executable = cpu.load(compile_plan(plan, X86_64_V4), plan)
    flushing = 0x1F80 | 0x8040
    usual = exchange(flushing)
    try:
        cpu.run(executable, arrays, [])
    finally:
        after = exchange(usual)
    assert after & ~0x3F == flushing
    assert (arrays[1].view(np.uint32) == expected.view(np.uint32)).all()
    assert expected.view(np.uint32).all()


# --- artefacts ------------------------------------------------------------------------------------

_DIGEST = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from tests.backends.test_x86_plans import *
kernels = [sum_rows(3, 3), checked_gather(100, 64), scale_kernel(100, 2.0)]
for kernel in kernels:
    arrays = [np.zeros(1, np.float32)] * len(kernel.buffers)
    code = compile_plan(one_kernel_plan(kernel, arrays), X86_64_V4)
    print(hashlib.sha256(code.object).hexdigest())
"""


def test_equal_kernels_give_equal_bytes_in_every_process() -> None:
    here = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    outputs = set()
    for seed in ("0", "1", "12345"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", _DIGEST, here],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_the_native_target_is_stable_and_runs_here() -> None:
    target = native_target()
    assert target is native_target()
    assert target.id.startswith("native:")
    assert target.cpu in ("x86-64-v3", "x86-64-v4")
    check(sum_rows(2, 1), [normal(2, 1024), normal(2)], target)


def test_wide_vectors_are_used_where_asked() -> None:
    plan = one_kernel_plan(scale_kernel(256, 2.0), [normal(256), normal(256)])
    assert "zmm" in X86().assembly(compile_plan(plan, X86_64_V4), X86_64_V4)
    narrow = TARGETS[2]
    listing = X86().assembly(compile_plan(plan, narrow), narrow)
    assert "ymm" in listing
    assert "zmm" not in listing


@pytest.mark.parametrize("space", [Space.STACK, Space.REGISTER])
def test_a_listing_is_of_the_code_that_runs(space: Space, monkeypatch: Any) -> None:
    """Passes that make values of register buffers run for both or for neither."""
    asked: list[Any] = []
    emitted = llvm_library.Machine.object_of
    listed = llvm_library.Machine.assembly_of

    def object_of(machine: Any, text: str, passes: Any = ()) -> bytes:
        asked.append(passes)
        return emitted(machine, text, passes)

    def assembly_of(machine: Any, text: str, passes: Any = ()) -> str:
        asked.append(passes)
        return listed(machine, text, passes)

    monkeypatch.setattr(llvm_library.Machine, "object_of", object_of)
    monkeypatch.setattr(llvm_library.Machine, "assembly_of", assembly_of)
    x, held = Buffer("x", dt.f32, (64,), role="in"), Buffer("held", dt.f32, (64,), space)
    out, v = Buffer("out", dt.f32, (64,), role="out"), Var("v")
    body = (
        vector(v, 64, Store(held, (v,), Load(x, (v,)) + 1.0)),
        vector(v, 64, Store(out, (v,), Load(held, (v,)))),
    )
    plan = one_kernel_plan(Kernel("k", (x, out), (Alloc(held, body),)), [normal(64), normal(64)])
    x86._entry_object.cache_clear()
    code = compile_plan(plan, X86_64_V4)
    made = asked.copy()
    asked.clear()
    X86().assembly(code, X86_64_V4)
    assert asked == made
    assert any(made) is (space is Space.REGISTER)


@pytest.mark.parametrize(("extent", "widest"), [(24, "ymm"), (40, "ymm"), (32, "zmm")])
def test_a_loop_that_half_vectors_fill_has_them(extent: int, widest: str) -> None:
    x, out = (
        Buffer(name, dt.f32, (extent,), role=role) for name, role in (("x", "in"), ("y", "out"))
    )
    v = Var("v")
    kernel = Kernel("scale", (x, out), (vector(v, extent, Store(out, (v,), Load(x, (v,)) * 2.0)),))
    arrays = [normal(extent), normal(extent)]
    check(kernel, arrays, X86_64_V4)
    listing = X86().assembly(compile_plan(one_kernel_plan(kernel, arrays), X86_64_V4), X86_64_V4)
    assert widest in listing
    assert ("zmm" in listing) is (widest == "zmm")


@each_target
def test_constant_places_of_a_buffer_of_its_own_are_shuffles(target: Target) -> None:
    """Of one vector, of two, and of more than two; places that only the last piece has."""
    x, held = Buffer("x", dt.f32, (80,), role="in"), Buffer("held", dt.f32, (80,), Space.STACK)
    out, v = Buffer("out", dt.f32, (5, 16), role="out"), Var("v")
    half, rest = apply("quotient", v, const(2)), apply("remainder", v, const(2))
    places = (half * 2 + 1 - rest, half + rest * 16, v * 5, half + rest * 72, minimum(v, half + 3))
    stores = [Store(out, (const(k), v), Load(held, (p,))) for k, p in enumerate(places)]
    copy = vector(v, 80, Store(held, (v,), Load(x, (v,)) * 2.0))
    kernel = Kernel("k", (x, out), (Alloc(held, (copy, *(vector(v, 16, s) for s in stores))),))
    check(kernel, [normal(80), normal(5, 16)], target)


@each_target
def test_what_lanes_have_in_common_does_not_narrow_their_vectors(target: Target) -> None:
    """A scalar argument of float64, a table read by a counter, what is bound of these: vectors of
    float32 beside them have all lanes of a register."""
    n = 64
    x, out = Buffer("x", dt.f32, (n,), role="in"), Buffer("out", dt.f32, (n,), role="out")
    rate, table = Buffer("r", dt.f64, (1,), role="in"), Buffer("t", dt.f64, (3,), role="in")
    v, j = Var("v"), Var("j")
    acc, total, factor = Var("acc", dt.f32), Var("total", dt.f32), Var("factor", dt.f64)
    step = Carry(
        acc, Load(x, (v,)), acc * Load(table, (j,)).cast(dt.f32) + factor.cast(dt.f32), total
    )
    body = vector(
        v,
        n,
        Let(factor, Load(rate, (const(0),)) * 2.0),
        serial(j, 3, carried=(step,)),
        Store(out, (v,), total),
    )
    arrays = [normal(n), normal(1, dtype=np.float64), normal(3, dtype=np.float64), normal(n)]
    kernel = Kernel("k", (x, rate, table, out), (body,))
    check(kernel, arrays, target)
    plan = one_kernel_plan(kernel, arrays)
    listing = X86().assembly(compile_plan(plan, target), target)
    lines = [line for line in listing.splitlines() if "mulps" in line or "fmadd" in line]
    widest = "zmm" if target.vector_bytes == 64 else "ymm"
    assert lines and all(widest in line for line in lines)


@each_target
def test_several_vectors_are_loaded_before_the_first_is_stored(target: Target) -> None:
    """A processor may hold a load back behind a store to another place."""
    x, y = Buffer("x", dt.f32, (64,), role="in"), Buffer("y", dt.f32, (64,), role="in")
    out, v = Buffer("out", dt.f32, (64,), role="out"), Var("v")
    value = Load(x, (v,)) / Load(y, (v,)) + Load(y, (v,))
    kernel = Kernel("k", (x, y, out), (vector(v, 64, Store(out, (v,), value)),))
    arrays = [normal(64), normal(64), normal(64)]
    check(kernel, arrays, target)
    text = modules(one_kernel_plan(kernel, arrays), target).text
    order = re.findall(r"(load|store) <", text)
    width = target.vector_bytes // 4
    several = min(target.registers // 4, 64 // width)
    assert order == (["load"] * 2 * several + ["store"] * several) * (64 // width // several)


@each_target
def test_what_a_vector_stores_is_not_loaded_before(target: Target) -> None:
    """Loads of memory that the statements write stay where they are."""
    x, v = Buffer("x", dt.f32, (64,), role="inout"), Var("v")
    store = Store(x, (v,), Load(x, (v,)) * 2.0)
    kernel = Kernel("k", (x,), (vector(v, 64, store),))
    check(kernel, [normal(64)], target)
    text = modules(one_kernel_plan(kernel, [normal(64)]), target).text
    width = target.vector_bytes // 4
    assert re.findall(r"(load|store) <", text) == ["load", "store"] * (64 // width)


@each_target
@pytest.mark.parametrize("t", [dt.i64, dt.i32, dt.u8], ids=lambda t: t.name)
@pytest.mark.parametrize("first", [0, 5, -5, -60, 60], ids=lambda n: f"from {n}")
def test_places_in_memory_are_read_one_by_one_where_all_are_plain(
    target: Target, t: DType, first: int
) -> None:
    """Places below zero count from the end, and beyond the ends the ends are taken."""
    n = 40
    x, at = Buffer("x", dt.f64, (n,), role="in"), Buffer("at", t, (32,), role="in")
    out, v = Buffer("out", dt.f64, (32,), role="out"), Var("v")
    place = Load(at, (v,)) if t is dt.i64 else Load(at, (v,)).cast(dt.i64)
    wrapped = select(place < 0, place + n, place)
    value = Load(x, (minimum(maximum(wrapped, 0), n - 1),))
    kernel = Kernel("k", (x, at, out), (vector(v, 32, Store(out, (v,), value)),))
    places = (np.arange(32) * 7 % 31 + first).astype(t.numpy)
    check(kernel, [normal(n, dtype=np.float64), places, np.zeros(32)], target)
    places[:] = 3
    places[17] = np.array(first).astype(t.numpy)
    arrays = [normal(n, dtype=np.float64), places, np.zeros(32)]
    check(kernel, arrays, target)
    text = modules(one_kernel_plan(kernel, arrays), target).text
    scalar = {dt.i64: "i64", dt.i32: "i32", dt.u8: "i8"}[t]
    assert text.count(f" = load {scalar}, ") == (0 if target.quick_gathers else 32)
    assert "llvm.masked.gather" in text


@each_target
@pytest.mark.parametrize("t", [dt.i64, dt.i32], ids=lambda t: t.name)
@pytest.mark.parametrize("of", [dt.f64, dt.f32], ids=lambda t: t.name)
@pytest.mark.parametrize("first", [0, -5, 10], ids=lambda n: f"from {n}")
def test_places_in_a_large_array_are_read_by_one_instruction(
    target: Target, t: DType, of: DType, first: int
) -> None:
    n = FAR // of.itemsize
    x, at = Buffer("x", of, (n,), role="in"), Buffer("at", t, (32,), role="in")
    out, v = Buffer("out", of, (32,), role="out"), Var("v")
    place = Load(at, (v,)) if t is dt.i64 else Load(at, (v,)).cast(dt.i64)
    wrapped = select(place < 0, place + n, place)
    value = Load(x, (minimum(maximum(wrapped, 0), n - 1),))
    kernel = Kernel("k", (x, at, out), (vector(v, 32, Store(out, (v,), value)),))
    places = (n - 12 + np.arange(32) * 7 % 12 + first).astype(t.numpy)
    arrays = [normal(n, dtype=of.numpy), places, np.zeros(32, of.numpy)]
    check(kernel, arrays, target)
    places[:] = 3
    places[17] = first - 1
    check(kernel, arrays, target)
    text = modules(one_kernel_plan(kernel, arrays), target).text
    scalar = {dt.i64: "i64", dt.i32: "i32"}[t]
    assert f" = load {scalar}, " not in text
    assert "llvm.masked.gather" in text


def extremum_kernel(n: int, bound: float | None) -> Kernel:
    """out = maximum(x, y), or maximum(x, bound)."""
    x, y = Buffer("x", dt.f32, (n,), role="in"), Buffer("y", dt.f32, (n,), role="in")
    out, v = Buffer("out", dt.f32, (n,), role="out"), Var("v")
    value = maximum(Load(x, (v,)), Load(y, (v,)) if bound is None else bound)
    return Kernel("extremum", (x, y, out), (vector(v, n, Store(out, (v,), value)),))


@each_target
@pytest.mark.parametrize("n", [4, 8, 16])
@pytest.mark.parametrize("bound", [None, 0.0])
def test_extrema_are_one_instruction_and_a_fix(target: Target, n: int, bound: float | None) -> None:
    """AVX-512 orders zeros by itself; against a constant fewer instructions do without."""
    kernel = extremum_kernel(n, bound)
    x = np.resize(np.array([0.0, -0.0, np.nan, 1.0, -np.inf, np.nan], np.float32), n)
    y = np.resize(np.array([-0.0, 0.0, 1.0, np.nan, 2.0, -np.inf, np.nan], np.float32), n)
    arrays = [x, y, np.zeros(n, np.float32)]
    check(kernel, arrays, target)
    listing = X86().assembly(compile_plan(one_kernel_plan(kernel, arrays), target), target)
    own = bound is None and target is not TARGETS[0]
    assert ("vrangeps" in listing) == own


@each_target
def test_a_truth_is_added_under_its_mask(target: Target) -> None:
    """With AVX-512 one more under a mask, in place of a mask that is widened and subtracted."""
    n, times = 16, 8
    x = Buffer("x", dt.f32, (times, n), role="in")
    out, v, j = Buffer("out", dt.i32, (n,), role="out"), Var("v"), Var("j")
    kept, total = Var("kept", dt.i32), Var("total", dt.i32)
    step = Carry(kept, const(0, dt.i32), kept + (Load(x, (j, v)) > 0.0).cast(dt.i32), total)
    body = vector(v, n, serial(j, times, carried=(step,)), Store(out, (v,), total))
    kernel = Kernel("count", (x, out), (body,))
    arrays = [normal(times, n), np.zeros(n, np.int32)]
    check(kernel, arrays, target)
    listing = X86().assembly(compile_plan(one_kernel_plan(kernel, arrays), target), target)
    own = target is not TARGETS[0]
    assert any("mm" in line and "{%k" in line for line in listing.splitlines()) == own
    assert "vpmovm2d" not in listing


@pytest.mark.parametrize("target", [X86_64_V3, X86_64_V4, X86_64_V4_BF16], ids=lambda t: t.id)
@pytest.mark.parametrize(
    ("wide", "narrow"), [(dt.u16, dt.u8), (dt.i16, dt.i8), (dt.u32, dt.u16), (dt.i16, dt.u8)]
)
def test_upper_halves_are_one_permutation(target: Target, wide: DType, narrow: DType) -> None:
    """Every other element of two registers: of bytes where there is VBMI."""
    n = 2 * 64 // narrow.itemsize
    x, out = Buffer("x", narrow, (n,), role="in"), Buffer("out", narrow, (n,), role="out")
    v = Var("v")
    square = Load(x, (v,)).cast(wide) * Load(x, (v,)).cast(wide)
    value = apply("shr", square, const(wide.bits // 2, wide)).cast(narrow)
    kernel = Kernel("halves", (x, out), (vector(v, n, Store(out, (v,), value)),))
    rng = np.random.default_rng(7)
    drawn = rng.integers(np.iinfo(narrow.numpy).min, np.iinfo(narrow.numpy).max, n, narrow.numpy)
    arrays = [drawn, np.zeros(n, narrow.numpy)]
    if target in targets_of(host_flags()):
        check(kernel, arrays, target)
    listing = X86().assembly(compile_plan(one_kernel_plan(kernel, arrays), target), target)
    own = target is X86_64_V4_BF16 or (target is X86_64_V4 and narrow.itemsize == 2)
    assert ("vpermt2" in listing or "vpermi2" in listing) == own


@each_target
@pytest.mark.parametrize("n", [16, 1024])
def test_streamed_stores_are_plain_stores_to_whoever_waits(target: Target, n: int) -> None:
    """Whole aligned vectors pass by the caches, and the task ends with a fence."""
    source = Buffer("x", dt.f32, (n,), role="in")

    def doubling(out: Buffer) -> Kernel:
        c, v = Var("c"), Var("v")
        store = Store(out, (c * 16 + v,), Load(source, (c * 16 + v,)) * 2.0)
        return Kernel("double", (source, out), (serial(c, n // 16, vector(v, 16, store)),))

    out = Buffer("out", dt.f32, (n,), role="out")
    plain = doubling(out)
    kernel = doubling(replace(out, alignment=plans.ALIGNMENT, streamed=True))
    x = normal(n)
    plan = replace(
        one_kernel_plan(kernel, [x, x]),
        buffers=(
            plans.PlanBuffer(x.nbytes, plans.Place.ARGUMENT, 0),
            plans.PlanBuffer(x.nbytes, plans.Place.RESULT, 0),
        ),
        arguments=(0,),
        results=(1,),
    )
    code = compile_plan(plan, target)
    listing = X86().assembly(code, target)
    assert "vmovntps" in listing and "sfence" in listing
    found = aligned_bytes(x.nbytes).view(np.float32)
    Cpu().run(Cpu().load(code, plan), [x], [found])
    assert found.tobytes() == (x * np.float32(2)).tobytes()
    assert "vmovnt" not in X86().assembly(
        compile_plan(one_kernel_plan(plain, [x, x]), target), target
    )


def test_large_results_must_be_aligned() -> None:
    """What streamed stores rely on is checked before the code runs."""
    large = np.empty(plans.STREAMED_BYTES + 64, np.uint8)
    start = -large.ctypes.data % plans.ALIGNMENT
    check_alignment([large[start : start + plans.STREAMED_BYTES], large[start + 1 :][:100]])
    with pytest.raises(ValueError, match="result 0 of 33554432 bytes is not aligned to 64 bytes"):
        check_alignment([large[start + 1 :][: plans.STREAMED_BYTES]])
