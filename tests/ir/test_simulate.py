"""The kernel interpreter computes what the grammar says, and finds what it leaves undefined."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from pyc.ir import order
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Var, apply
from pyc.ir.instructions import INSTRUCTIONS
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.simulate import SimulationError
from pyc.ir.verify_kernel import verify

from . import kernels
from .kernels import findings, floats, replaced, run, threads, without

SEEDS = range(6)


def documented_sum(x):
    """The sum over the last axis in the documented order, by `order.reduce`."""

    def combine(a, b):
        return (a[0] + b[0],)

    return order.reduce(combine, (x,), (np.float32(-0.0),))[0]


def same_bits(a, b):
    return a.tobytes() == b.tobytes()


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 16, 63, 64, 65, 1000])
def test_elementwise_kernel_with_a_masked_tail(size):
    a, b, out = floats(size), floats(size, seed=1), floats(size)
    outcome = run(kernels.ELEMENTWISE, a, b, out, sizes=(size,))
    expected = (a.astype(np.float64) * 2 + b).astype(np.float32)  # 2 a is exact: one rounding
    assert same_bits(out, expected) and not outcome.findings and outcome.failed is None


@pytest.mark.parametrize("size", [0, 1, 100, 1024, 1025, 5000])
def test_a_logical_reduction_takes_the_documented_order(size):
    x, out = floats(5, size), floats(5)
    run(kernels.LOGICAL_SUM, x, out, sizes=(size,))
    assert same_bits(out, documented_sum(x))


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        (kernels.SUM_OF_128_LANES, 1),
        (kernels.sum_of_pieces(1), 1),
        (kernels.sum_of_pieces(3), 3),
        (kernels.BLOCK_SUM, 1),
    ],
    ids=["128 lanes", "8 pieces of 16", "3 chunks", "block"],
)
def test_reductions_scheduled_by_hand_have_the_bits_of_the_logical_one(text, chunks):
    x, out, logical = floats(5, 1024 * chunks), floats(5), floats(5)
    run(text, x, out)
    run(kernels.LOGICAL_SUM, x, logical, sizes=(1024 * chunks,))
    assert same_bits(out, logical)
    assert not same_bits(out, x.sum(axis=1)), "the inputs do not show the order"


def test_a_reduction_in_another_order_shows():
    x, out = floats(5, 1024), floats(5)
    run(replaced(kernels.SUM_OF_128_LANES, "((i2 + 1) * 128)", "((7 - i2) * 128)"), x, out)
    assert not same_bits(out, documented_sum(x))


def test_an_argmax_gives_the_first_of_equal_values_and_prefers_nan():
    text = """
kernel "argmax"() {
  b0: in f32[3, 2000]
  b1: out i64[3]
  for i0 in 0..3 serial {
    v0, v1 = reduce argmax (i1 in 0..40, i2 in 0..50) {
      yield b0[i0, (i1 * 50) + i2], (i1 * 50) + i2
    }
    b1[i0] = v1
  }
}
"""
    x, out = np.floor(floats(3, 2000) / 100), np.zeros(3, np.int64)
    x[1, 700] = x[1, 1500] = np.nan
    run(text, x, out)
    assert out.tolist() == np.argmax(x, axis=1).tolist()


def test_every_lane_of_a_while_stops_on_its_own():
    re_, im, out = floats(40) / 1000, floats(40, seed=3) / 1000, np.zeros(40, np.int64)
    run(kernels.MANDELBROT, re_, im, out)
    expected = []
    for a, b in zip(re_, im, strict=True):
        x, y, n = np.float32(0), np.float32(0), 0
        while x * x + y * y <= 4 and n < 50:
            x, y, n = (x * x - y * y) + a, (x * y) * np.float32(2) + b, n + 1
        expected.append(n)
    assert out.tolist() == expected and len(set(expected)) > 3


def test_equal_indices_accumulate_in_lane_order():
    index = np.random.default_rng(0).integers(0, 8, 64)
    x, out = floats(64), floats(8, seed=9)
    expected = out.copy()
    for i, v in zip(index, x, strict=True):
        expected[i] += v
    run(kernels.SCATTER, index, x, out)
    assert same_bits(out, expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_producer_and_consumer_meet_in_any_order_of_roles(seed):
    x, out = floats(2, 320), floats(2, 320)
    outcome = run(kernels.PIPELINE, x, out, schedule_seed=seed)
    assert same_bits(out, x * np.float32(2)) and not outcome.findings


def test_tiles_multiply_into_one_logical_accumulator():
    a, b = (floats(*s).astype(ml_dtypes.bfloat16) for s in ((64, 96), (96, 64)))
    out = floats(64, 64)
    run(kernels.TILES, a, b, out)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(out, exact, rtol=1e-3, atol=np.abs(exact).max() * 1e-5)


def test_shared_lanes_of_a_vector_store_in_lane_order():
    """The highest lane wins, as in a masked scatter."""
    text = """
kernel "last"() {
  b0: out i64[1]
  for i0 in 0..8 vector {
    if i0 < 6 {
      b0[0] = i0 * 10
    }
  }
}
"""
    out = np.zeros(1, np.int64)
    run(text, out)
    assert out.tolist() == [50]


def test_loops_whose_extent_differs_between_lanes():
    text = """
kernel "triangle"() {
  b0: out i64[9]
  for i0 in 0..9 parallel {
    for i1 in 0..i0 serial carry (v0 = 100) -> (v1) {
      next v0 + i1
    }
    b0[i0] = v1
  }
}
"""
    out = np.zeros(9, np.int64)
    run(text, out)
    assert out.tolist() == [100 + i * (i - 1) // 2 for i in range(9)]


def test_a_serial_loop_that_feeds_itself_is_not_run_as_lanes():
    text = """
kernel "prefix"() {
  b0: inout i64[10]
  for i0 in 0..9 serial {
    b0[i0 + 1] = b0[i0 + 1] + b0[i0]
  }
}
"""
    x = np.arange(10)
    run(text, x)
    assert x.tolist() == np.cumsum(np.arange(10)).tolist()


def test_arrays_that_are_not_contiguous_are_written_in_place():
    x, out = floats(130)[::2], floats(3, 65)[1]
    spread = np.zeros(130, np.float32)
    run(kernels.ELEMENTWISE, x, out, spread[::2], sizes=(65,))
    assert spread[::2].any() and not spread[1::2].any()


def test_a_million_lanes_are_computed_at_once():
    """Iterations are NumPy lanes: 1e5 elements take well under a second."""
    x, out = floats(100_000), floats(100_000)
    run(kernels.ELEMENTWISE, x, x, out, sizes=(100_000,))
    logical = """
kernel "logical"() {
  b0: in f32[100000]
  b1: out f32[100000]
  for i0 in 0..100000 serial {
    b1[i0] = b0[i0] * 3.0:f32
  }
}
"""
    run(logical, x, out)
    assert same_bits(out, x * np.float32(3))


def test_the_lowest_failing_site_is_reported_with_its_value():
    x, out = floats(10), floats(16)
    good = np.arange(16) % 10
    assert run(kernels.FAILING, good, x, out).failed is None
    index = good.copy()
    index[4], index[9] = 12, 15
    assert run(kernels.FAILING, index, x, out).failed == (3, 12)
    assert same_bits(out, x[np.minimum(index, 9)]), "it goes on with defined values"
    index[2], index[13] = 14, 11
    assert run(kernels.FAILING, index, x, out).failed == (3, 11), "the least value, not the first"
    index[11], index[12] = -7, -3
    assert run(kernels.FAILING, index, x, out).failed == (2, -7)


def test_expressions_have_the_meaning_of_the_instruction_table():
    """The interpreter has an evaluator of its own; both must agree on every instruction."""
    x, y, z = (Var(n) for n in "xyz")
    rng = np.random.default_rng(1)
    env = {v: rng.integers(-(2**63), 2**63 - 1, 12) for v in (x, y, z)}
    for name, instruction in INSTRUCTIONS.items():
        try:
            call = parse_kernel(
                'kernel "k"() {\n  b0: in i64[12]\n  b1: in i64[12]\n  b2: in i64[12]\n'
                "  b3: out i64[12]\n  for i0 in 0..12 vector {\n"
                f"    v0 = {name}({', '.join(f'b{n}[i0]' for n in range(instruction.arity))})\n"
                "    b3[i0] = cast.i64(v0)\n  }\n}\n"
            )
        except ValueError:
            continue  # not of this type
        out = np.zeros(12, np.int64)
        run(call, *env.values(), out)
        arguments = (x, y, z)[: instruction.arity]
        (expected,) = evaluate([apply(name, *arguments)], env)
        assert np.array_equal(out, expected.astype(np.int64)), name


# --- races ----------------------------------------------------------------------------------------

ROW = np.zeros(64, np.int64)


def test_each_missing_barrier_of_a_block_reduction_is_a_race():
    for missing in (1, 2):
        parts = kernels.BLOCK_SUM.split('          barrier "block"\n')
        text = '          barrier "block"\n'.join(parts[:2]) + parts[2]
        if missing == 1:
            text = parts[0] + parts[1] + '          barrier "block"\n' + parts[2]
        assert findings(text, floats(5, 1024), floats(5))[0] == "race"


def test_a_race_is_an_error_that_prints_statement_and_kernel():
    text = without(kernels.BLOCK_SUM, 'barrier "block"')
    with pytest.raises(SimulationError) as error:
        run(text, floats(5, 1024), floats(5))
    message = str(error.value)
    assert re.search(r"race: b2\[\d+\]: thread \d+ of block \d+ wrote, thread \d+", message)
    assert "b2[v0] = b2[v0] + b2[v0 + 64]" in message
    assert 'kernel "sum of a chunk in a block"' in error.value.__notes__[0]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("b1[0] = 1.0:f32", ["race"]),
        ("b1[(i0 * 32) + i1] = 1.0:f32", []),
        ("b0[i1] = i0", ["race"]),
        ("b0[(i0 * 32) + i1] = i0", []),
        # A barrier of a warp orders its threads and no others.
        ('b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "warp"\nv0 = b1[(i1 ^ 1) + (i0 * 32)]', []),
        ("b1[i1 + (i0 * 32)] = 1.0:f32\nv0 = b1[(i1 ^ 1) + (i0 * 32)]", ["race"]),
        ('b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "warp"\nv0 = b1[i1 + ((i0 ^ 1) * 32)]', ["race"]),
        ('b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "block"\nv0 = b1[i1 + ((i0 ^ 1) * 32)]', []),
        # Written after it was read by others, who have not met since.
        (
            'b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "block"\nv0 = b1[i1 + ((i0 ^ 1) * 32)]\n'
            "b1[i1 + (i0 * 32)] = v0",
            ["race"],
        ),
        # Read by all, written by one of them.
        (
            'b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "block"\nv0 = b1[5]\nbarrier "warp"\n'
            "if ((i0 * 32) + i1) == 5 {\nb1[5] = v0\n}",
            ["race"],
        ),
        # Exact accumulation is atomic, inexact accumulation is ordered within one warp only.
        ("accumulate add b0[0], i1", []),
        ("accumulate add b0[0], i1\nv0 = b0[0]", ["race"]),
        (
            'b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "block"\naccumulate add b1[0], 2.0:f32',
            ["race"],
        ),
        (
            'b1[i1 + (i0 * 32)] = 1.0:f32\nbarrier "block"\naccumulate add b1[i0], 2.0:f32',
            [],
        ),
        # A copy between global buffers is done by every thread; one with shared memory together.
        ("copy b0[0] <- b0[32] box (32)", ["race"]),
    ],
)
def test_races_between_threads(body, found):
    assert findings(threads(body), ROW) == found


def test_a_cooperative_copy_needs_a_barrier_before_it_is_read():
    extra = "  b9: in f32[64]\n"
    body = 'copy b1[0] <- b9[0] box (64)\nbarrier "block"\nv0 = b1[(i0 * 32) + i1]'
    text = threads(body, extra=extra).replace("b1", "b2").replace("b9", "b1")
    assert findings(text, ROW, floats(64)) == []
    assert findings(without(text, 'barrier "block"'), ROW, floats(64)) == ["race"]


@pytest.mark.parametrize(
    ("kind", "index", "found"),
    [
        ("parallel", "i0", []),
        ("parallel", "i0 & 6", ["race"]),
        ("grid", "i0", []),
        ("grid", "i0 & 6", ["race"]),
        ("serial", "i0 & 6", []),
    ],
)
def test_races_between_iterations(kind, index, found):
    text = f"""
kernel "iterations"() {{
  b0: inout i64[64]
  for i0 in 0..64 {kind} {{
    b0[{index}] = i0
  }}
}}
"""
    assert findings(text, ROW) == found


def test_a_parallel_iteration_that_reads_what_another_writes_is_a_race():
    text = """
kernel "neighbour"() {
  b0: inout i64[64]
  for i0 in 0..63 parallel {
    b0[i0] = b0[i0 + 1]
  }
}
"""
    assert findings(text, ROW) == ["race"]
    assert findings(replaced(text, "b0[i0 + 1]", "b0[i0] + 1"), ROW) == []
    assert findings(replaced(text, "parallel", "grid"), ROW) == ["race"]


def test_loops_after_each_other_are_ordered():
    """A parallel loop has ended when the next begins; nested ones have within their iteration."""
    text = """
kernel "stages"() {
  b0: inout i64[8, 8]
  for i0 in 0..8 parallel {
    for i1 in 0..8 parallel {
      b0[i0, i1] = i1
    }
    for i2 in 0..8 parallel {
      b0[i0, i2] = b0[i0, 7 - i2]
    }
  }
  for i3 in 0..8 parallel {
    b0[i3, 0] = b0[i3, 1]
  }
}
"""
    x = np.zeros((8, 8), np.int64)
    assert findings(text, x) == ["race"], "the second inner loop reads what it writes"
    assert findings(replaced(text, "b0[i0, 7 - i2]", "b0[i0, i2]"), x) == []
    other = replaced(text, "b0[i0, i2] = b0[i0, 7 - i2]", "b0[7 - i0, i2] = 1")
    assert findings(other, x) == ["race"]


def test_an_exact_accumulation_may_come_from_any_iteration():
    text = """
kernel "histogram"() {
  b0: inout i64[64]
  for i0 in 0..200 parallel {
    accumulate add b0[i0 & 7], 1
  }
}
"""
    x = ROW.copy()
    assert not run(text, x).findings and x.tolist() == [25] * 8 + [0] * 56
    inexact = text.replace("i64[64]", "f32[64]").replace(", 1", ", 1.0:f32")
    assert findings(inexact, np.zeros(64, np.float32)) == ["race"]


# --- meeting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_wait_of_the_consumer_is_found(seed):
    text = without(kernels.PIPELINE, "wait b3[v3] parity v4")
    kinds = findings(text, floats(2, 320), floats(2, 320), schedule_seed=seed)
    assert {"race", "unwritten"} & set(kinds)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_wait_of_the_producer_is_found(seed):
    """It may overwrite a stage that is still read: found in every order of the roles."""
    text = without(kernels.PIPELINE, "wait b4[v0] parity v1 ^ 1")
    kinds = findings(text, floats(2, 320), floats(2, 320), schedule_seed=seed)
    assert "race" in kinds


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("signal b4[v3]\n", "\n", "deadlock"),
        ("signal b3[v0] bytes 256\n", "\n", "deadlock"),
        ("bytes 256", "bytes 128", "deadlock"),
        ("phased 64", "phased 65", "deadlock"),
        ("phased 64", "phased 32", "phase"),
        ("for i3 in 0..5", "for i3 in 0..4", "deadlock"),
        ("for i3 in 0..5", "for i3 in 0..6", "unwaited"),
        ("parity v1 ^ 1", "parity v1", "deadlock"),
        ("parity v4", "parity v4 + 2", "phase"),
        ("signal b3[v0]\n", "signal b3[v0 ^ 1]\n", "deadlock"),
    ],
)
def test_wrong_phases_are_found(old, new, found):
    text = replaced(kernels.PIPELINE, old, new)
    if old == "signal b3[v0]\n":
        text = kernels.PIPELINE.replace("async signal b3[v0]", "async signal b3[v0 ^ 1]")
    assert found in findings(text, floats(2, 320), floats(2, 320), check_outputs=False)


def test_a_deadlock_says_what_is_missing():
    text = replaced(kernels.PIPELINE, "bytes 256", "bytes 128")
    with pytest.raises(SimulationError, match=r"its copies bring 256 of 128 bytes"):
        run(text, floats(2, 320), floats(2, 320))


def test_a_copy_lands_only_when_it_is_waited_for():
    """Its destination keeps the old content until then."""
    body = """
if ((i0 * 32) + i1) == 0 {
  b1[0] = 5
  signal b2[0] bytes 256
  copy b1[0] <- b9[0] box (32) async signal b2[0]
  v0 = b1[0]
  wait b2[0] parity 0
  b0[0] = v0
  b0[1] = b1[0]
}
"""
    text = threads(body, shared="i64[32]", extra="  b9: in i64[32]\n")
    text = text.replace("b2", "b3").replace("b1", "b2").replace("b9", "b1")
    inner = "    alloc b3: i64[1] shared phased 1 {\n"
    head, tail = text.split("    for i0", 1)
    text = f"{head}{inner}    for i0{tail}".removesuffix("}\n") + "}\n}\n"
    x = np.full(64, -1)
    outcome = run(text, x, np.full(32, 7), check=False)
    assert x[:2].tolist() == [5, 7]
    assert [f.kind for f in outcome.findings] == ["race"]


@pytest.mark.parametrize(
    "body",
    [
        'if i1 < 7 {\n  barrier "block"\n}',
        'if i0 == 0 {\n  barrier "block"\n}',
        'if i1 < 7 {\n  barrier "warp"\n}',
        'if role "a" warps 0..1 {\n  barrier "block"\n}',
        'if role "a" warps 0..2 {\n  if i0 == 1 {\n    barrier "a"\n  }\n}',
        'if role "a" warps 0..1 {\n  barrier "a"\n} else {\n  barrier "a"\n}',
    ],
)
def test_a_barrier_that_not_all_threads_reach_is_divergence(body):
    assert findings(threads(body), ROW) == ["divergence"]


def test_barriers_of_roles_wait_for_that_role_only():
    body = """
if role "a" warps 0..1 {
  barrier "a"
  barrier "block"
}
if role "b" warps 1..2 {
  barrier "block"
}
if i0 == 1 {
  barrier "warp"
}
"""
    for seed in SEEDS:
        assert findings(threads(body), ROW, schedule_seed=seed) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if i1 == 0 {\n        b1", "if i1 == 0 {\n        v9 = shuffle(v8, i1 ^ 1)\n        b1"),
        ("shuffle(v2, i1 ^ 32)", "shuffle(v2, i2 ^ 32)"),
        ("shuffle(v2, i1 ^ 32)", "shuffle(v2, i1 ^ 128)"),
        ("shuffle(v2, i1 ^ 32)", "shuffle(v2, i0 ^ 1)"),
    ],
)
def test_shuffles_need_all_lanes_of_a_lane_loop(old, new):
    text = replaced(kernels.SUM_OF_128_LANES, old, new)
    assert findings(text, floats(5, 1024), floats(5))[0] == "shuffle"


# --- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("if v0 < s0", "if v0 <= s0", "bounds"),
        ("b0[v0], 2.0", "b0[v0 - 1], 2.0", "bounds"),
        ("b2[v0] =", "b2[v0 - 1] =", "bounds"),
        ("for i1 in 0..4", "for i1 in 0..3", "unstored"),
        ("if v0 < s0", "if (v0 + 1) < s0", "unstored"),
        ("b2[v0] = fma", "b1[v0] = fma", "store-in"),
        ("b1[v0])", "b2[v0])", "unwritten"),
        ("b2[v0] = ", "b2[cast.i32(v0)] = ", "type"),
        ("b2[v0] = fma(b0[v0], 2.0:f32, b1[v0])", "b2[v0] = 1", "type"),
    ],
)
def test_wrong_accesses_are_found(old, new, found):
    text = replaced(kernels.ELEMENTWISE, old, new)
    assert found in findings(text, *(floats(100) for _ in range(3)), sizes=(100,))


def test_the_outputs_need_not_be_stored_when_asked():
    text = replaced(kernels.ELEMENTWISE, "for i1 in 0..4", "for i1 in 0..3")
    arrays = [floats(100) for _ in range(3)]
    assert findings(text, *arrays, sizes=(100,), check_outputs=False) == []


def test_outputs_are_poisoned_and_local_memory_too():
    text = """
kernel "stale"() {
  b0: out f32[2]
  alloc b1: f32[1] stack {
    b0[0] = b1[0]
  }
}
"""
    out = np.zeros(2, np.float32)
    outcome = run(text, out, check=False)
    assert [f.kind for f in outcome.findings] == ["unwritten", "unstored"]
    assert np.isnan(out).all()


def test_an_output_that_overlaps_an_input_keeps_its_content():
    x = floats(100)
    expected = (x.astype(np.float64) * 3).astype(np.float32)
    run(kernels.ELEMENTWISE, x, x.copy(), x[:], sizes=(100,))
    assert np.allclose(x, expected)


def test_private_memory_is_one_per_lane():
    body = """
alloc b2: f32[1] register {
  b2[0] = b1[0] + 1.0:f32
}
"""
    text = threads(body)
    assert findings(text, ROW) == ["unwritten"]


def test_a_while_that_never_ends_is_found():
    text = replaced(kernels.MANDELBROT, "v3 < 50", "true | (v3 < 50)")
    text = replaced(text, "<= 4.0:f32", "<= inf:f32")
    x = np.zeros(40, np.float32)
    assert findings(text, x, x, np.zeros(40, np.int64), max_iterations=60) == ["endless"]


def test_boxes_read_zero_outside_of_the_source_and_drop_what_is_outside_of_the_destination():
    text = """
kernel "halo"() {
  b0: in i64[4, 4]
  b1: inout i64[5, 6]
  alloc b2: i64[4, 6] stack {
    copy b2[0, 0] <- b0[-1, -1] box (4, 6)
    copy b1[2, 0] <- b2[0, 0] box (4, 6)
  }
}
"""
    x, out = np.arange(16).reshape(4, 4) + 1, np.full((5, 6), -1)
    run(text, x, out)
    assert (out[:2] == -1).all()
    assert out[2:].tolist() == np.pad(x, 1)[:3].tolist()


def test_findings_are_reported_once_per_statement():
    text = replaced(kernels.ELEMENTWISE, "b0[v0], 2.0", "b0[v0 - 1], 2.0")
    arrays = [floats(1000) for _ in range(3)]
    outcome = run(text, *arrays, sizes=(1000,), check=False)
    assert [f.kind for f in outcome.findings] == ["bounds"]
    assert "index 0 of b0 is -1, its extent 1000" in str(outcome.findings[0])


def test_wrong_arguments_are_refused():
    with pytest.raises(SimulationError, match=r"argument b1 must be f32\[7\], is float32\[8\]"):
        run(kernels.ELEMENTWISE, floats(7), floats(8), floats(7), sizes=(7,))
    with pytest.raises(SimulationError, match="takes 3 arrays and 1 sizes, got 1 and 0"):
        run(kernels.ELEMENTWISE, floats(7))


def test_the_kernels_here_are_valid():
    for text in kernels.ALL.values():
        verify(parse_kernel(text))
