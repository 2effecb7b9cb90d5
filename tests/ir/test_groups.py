"""Blocks of a group: where they meet in global memory, who comes last, and what the interpreter and
the verifier find wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import simulate
from pyc.ir.loops import For, Last, walk
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.text_kernel import print_kernel
from pyc.ir.verify_kernel import verify
from pyc.ir.visit import renamed
from tests.ir.kernels import findings, floats, replaced, run, without

SUM = """\
kernel "sum of the rows of two blocks"() {
  b0: in f32[3, 4, 64]
  b1: out f32[3, 4, 64]
  b2: inout f32[3, 4, 64]
  for i0 in 0..3 grid {
    for i1 in 0..4 group {
      alloc b3: f32[64] shared {
        for i2 in 0..2 warp {
          for i3 in 0..32 thread {
            v0 = (i2 * 32) + i3
            b2[i0, i1, v0] = b0[i0, i1, v0]
            barrier "group"
            b3[63 - v0] = b2[i0, i1 ^ 1, v0] + b2[i0, i1, v0]
            barrier "block"
            b1[i0, i1, v0] = b3[v0]
          }
        }
      }
    }
  }
}
"""

JOIN = """\
kernel "sum of four blocks by the last of them"() {
  b0: in f32[3, 4, 64]
  b1: out f32[3, 64]
  b2: inout f32[3, 4, 64]
  for i0 in 0..3 grid {
    for i1 in 0..4 group {
      for i2 in 0..2 warp {
        for i3 in 0..32 thread {
          v0 = (i2 * 32) + i3
          b2[i0, i1, v0] = b0[i0, i1, v0]
          v1 = last
          if v1 {
            v2 = b2[i0, 0, 63 - v0] + b2[i0, 1, 63 - v0]
            b1[i0, v0] = v2 + (b2[i0, 2, 63 - v0] + b2[i0, 3, 63 - v0])
          }
        }
      }
    }
  }
}
"""


def met(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return (x + x[:, [1, 0, 3, 2]])[:, :, ::-1]


def joined(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return ((x[:, 0] + x[:, 1]) + (x[:, 2] + x[:, 3]))[:, ::-1]


@pytest.mark.parametrize("text", [SUM, JOIN])
def test_the_text_is_read_back(text):
    assert print_kernel(parse_kernel(text)) == text
    verify(parse_kernel(text), scheduled=True)


@pytest.mark.parametrize("seed", range(4))
def test_blocks_read_what_others_stored(seed):
    x, out, memory = floats(3, 4, 64), floats(3, 4, 64), floats(3, 4, 64)
    run(SUM, x, out, memory, schedule_seed=seed)
    assert np.array_equal(out, met(x))


@pytest.mark.parametrize("seed", range(4))
def test_the_last_block_reads_what_all_stored(seed):
    x, out, memory = floats(3, 4, 64), floats(3, 64), floats(3, 4, 64)
    run(JOIN, x, out, memory, schedule_seed=seed)
    assert np.array_equal(out, joined(x))


def test_any_block_may_be_the_last():
    """Which one comes last is drawn anew for each group, so nothing may rely on it."""
    text = replaced(JOIN, "v2 + (b2[i0, 2, 63 - v0] + b2[i0, 3, 63 - v0])", "cast.f32(i1)")
    found: set[float] = set()
    for seed in range(8):
        x, out = floats(3, 4, 64), floats(3, 64)
        run(text, x, out, x.copy(), schedule_seed=seed)
        found |= set(out[:, 0].tolist())
    assert found == {0.0, 1.0, 2.0, 3.0}


def test_each_barrier_that_is_left_out_is_a_race():
    x = floats(3, 4, 64)
    assert findings(without(SUM, 'barrier "group"'), x, x, x)[0] == "race"
    assert findings(without(SUM, 'barrier "block"'), x, x, x)[0] == "race"
    assert findings(replaced(SUM, 'barrier "group"', 'barrier "block"'), x, x, x)[0] == "race"


def test_only_the_last_block_knows_what_the_others_did():
    x, out = floats(3, 4, 64), floats(3, 64)
    text = replaced(JOIN, "if v1 {", "if i1 == 0 {")
    assert findings(text, x, out, x)[0] == "race"


def test_a_block_that_does_not_wait_may_not_store_what_the_last_reads():
    x, out = floats(3, 4, 64), floats(3, 64)
    after = "v1 = last\n if i1 == 1 {\n b2[i0, i1, v0] = 1.0:f32\n }"
    assert "race" in findings(replaced(JOIN, "v1 = last", after), x, out, x)


def test_a_block_that_waits_may():
    x, out, memory = floats(3, 4, 64), floats(3, 64), floats(3, 4, 64)
    end = '[i0, 3, 63 - v0])\n }\n barrier "group"\n if i1 < 4 {\n b2[i0, i1, v0] = 1.0:f32\n'
    run(replaced(JOIN, "[i0, 3, 63 - v0])\n", end), x, out, memory)
    assert np.array_equal(out, joined(x)) and (memory == 1).all()


def test_reads_before_a_store_of_another_block_need_a_barrier_too():
    """The memory in which blocks met may be used again after they have met once more."""
    again = "b1[i0, i1, v0] = b3[v0]\n b2[i0, i1, v0] = 0.0:f32"
    x, out, memory = floats(3, 4, 64), floats(3, 4, 64), floats(3, 4, 64)
    text = replaced(SUM, "b1[i0, i1, v0] = b3[v0]", again)
    assert "race" in findings(text, x, out, memory)
    met_again = replaced(
        text, "b1[i0, i1, v0] = b3[v0]", 'barrier "group"\n b1[i0, i1, v0] = b3[v0]'
    )
    run(met_again, x, out, memory)
    assert np.array_equal(out, met(x))


def test_blocks_of_other_groups_are_not_ordered():
    x = floats(3, 4, 64)
    text = replaced(SUM, "b2[i0, i1, v0] = b0", "b2[0, i1, v0] = b0")
    assert findings(text, x, x, x)[0] == "race"


def test_shared_memory_is_each_blocks_own():
    x, out = floats(3, 4, 64), floats(3, 4, 64)
    run(replaced(SUM, "b3[63 - v0]", "b3[v0]"), x, out, x.copy())
    assert np.array_equal(out, met(x)[:, :, ::-1])


@pytest.mark.parametrize(
    ("condition", "what", "valid"),
    [
        ("i1 == 0", 'barrier "block"', True),
        ("i1 == 0", 'barrier "group"', False),
        ("i0 == 0", 'barrier "group"', True),
        ("i2 == 0", 'barrier "group"', False),
        ("i0 == 0", "v9 = last", True),
        ("i1 == 0", "v9 = last", False),
        ("i3 < 7", "v9 = last", False),
        # What a block's own memory holds may differ between blocks.
        ("b3[0] > 0.0:f32", 'barrier "group"', False),
        ("b3[0] > 0.0:f32", 'barrier "block"', True),
    ],
)
def test_meetings_under_conditions_that_vary(condition, what, valid):
    inside = f"if {condition} {{\n {what}\n}}"
    text = replaced(SUM, "b1[i0, i1, v0] = b3[v0]", f"b1[i0, i1, v0] = b3[v0]\n{inside}")
    if valid:
        verify(parse_kernel(text), scheduled=True)
        return
    with pytest.raises(VerificationError, match="not all threads arrive"):
        verify(parse_kernel(text), scheduled=True)


def test_what_the_last_block_does_is_under_a_condition_of_the_block():
    """Threads of a block agree who is last: they may meet, but the group may not."""
    for scope, valid in (("block", True), ("group", False)):
        text = replaced(JOIN, "if v1 {", f'if v1 {{\n barrier "{scope}"')
        if valid:
            verify(parse_kernel(text), scheduled=True)
            continue
        with pytest.raises(VerificationError, match="not all threads arrive"):
            verify(parse_kernel(text), scheduled=True)


@pytest.mark.parametrize("what", ['barrier "group"', "v9 = last"])
def test_a_meeting_that_not_all_blocks_reach_is_divergence(what):
    x = floats(3, 4, 64)
    inside = f"if i1 < 3 {{\n {what}\n}}"
    text = replaced(SUM, "b1[i0, i1, v0] = b3[v0]", f"b1[i0, i1, v0] = b3[v0]\n{inside}")
    assert "divergence" in findings(text, x, x, x)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0..3 grid", "0..3 serial", "right inside of one grid loop"),
        ("0..3 grid", "0..quotient(6, 2) grid", "the number of groups must be a constant"),
        ("i3 in 0..32 thread", "i3 in 0..16 thread", "a warp has 32 threads"),
        ('barrier "group"', 'barrier "cluster"', "no scope cluster"),
        ("f32[64] shared", "f32[4, 64] cluster", "has no part for each block"),
        ('barrier "group"', 'if role "a" warps 0..1 {\n}', "not in the blocks of a group"),
        (
            'barrier "group"',
            "for i9 in 0..2 serial {\n v9 = last\n}",
            "blocks come here last once, not again in a loop",
        ),
    ],
)
def test_planted_faults_are_refused(old, new, message):
    with pytest.raises(VerificationError) as error:
        verify(parse_kernel(replaced(SUM, old, new)), scheduled=True)
    assert message in str(error.value)


def test_a_group_is_needed_to_come_last():
    text = replaced(JOIN, "0..4 group", "0..4 cluster")
    with pytest.raises(VerificationError, match="where there is none"):
        verify(parse_kernel(text), scheduled=True)


def test_a_kernel_has_one_group_loop():
    (loop,) = parse_kernel(SUM).body
    assert isinstance(loop, For)
    twice = replace(parse_kernel(SUM), body=(replace(loop, body=loop.body * 2),))
    with pytest.raises(VerificationError):
        verify(twice, scheduled=True)


def test_a_copy_of_a_body_binds_who_is_last_anew():
    kernel = parse_kernel(JOIN)
    copy = replace(kernel, body=renamed(kernel.body))
    (old,) = (s for s in walk(kernel.body) if isinstance(s, Last))
    (new,) = (s for s in walk(copy.body) if isinstance(s, Last))
    assert old.var is not new.var
    assert print_kernel(copy) == print_kernel(kernel)
    verify(copy, scheduled=True)


def test_a_group_of_one_block_is_last_at_once():
    text = replaced(JOIN, "0..4 group", "0..1 group")
    text = replaced(text, "b2[i0, 0, 63 - v0] + b2[i0, 1, 63 - v0]", "b2[i0, 0, 63 - v0]")
    text = replaced(text, "v2 + (b2[i0, 2, 63 - v0] + b2[i0, 3, 63 - v0])", "v2 * v2")
    x, out = floats(3, 4, 64), floats(3, 64)
    simulate.run(parse_kernel(text), [x, out, x.copy()])
    assert np.array_equal(out, (x[:, 0] * x[:, 0])[:, ::-1])
