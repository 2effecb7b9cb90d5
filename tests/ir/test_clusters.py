"""Blocks of a cluster: what they share, where they meet, and what the interpreter and the verifier
find wrong with them."""

from __future__ import annotations

import numpy as np
import pytest

from pyc.errors import VerificationError
from pyc.frozen import replace
from pyc.ir import simulate
from pyc.ir.loops import For
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.text_kernel import print_kernel
from pyc.ir.verify_kernel import verify
from tests.ir.kernels import findings, floats, replaced, run, without

SUM = """\
kernel "sum of the rows of two blocks"() {
  b0: in f32[3, 4, 64]
  b1: out f32[3, 4, 64]
  for i0 in 0..3 grid {
    alloc b2: f32[4, 64] cluster {
      for i1 in 0..4 cluster {
        alloc b3: f32[64] shared {
          for i2 in 0..2 warp {
            for i3 in 0..32 thread {
              v0 = (i2 * 32) + i3
              b2[i1, v0] = b0[i0, i1, v0]
              barrier "cluster"
              b3[63 - v0] = b2[i1 ^ 1, v0] + b2[i1, v0]
              barrier "block"
              b1[i0, i1, v0] = b3[v0]
              barrier "cluster"
            }
          }
        }
      }
    }
  }
}
"""


def expected(x: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return (x + x[:, [1, 0, 3, 2]])[:, :, ::-1]


def test_the_text_is_read_back():
    assert print_kernel(parse_kernel(SUM)) == SUM
    verify(parse_kernel(SUM), scheduled=True)


@pytest.mark.parametrize("seed", [0, 1])
def test_blocks_read_each_others_parts(seed):
    x, out = floats(3, 4, 64), floats(3, 4, 64)
    run(SUM, x, out, schedule_seed=seed)
    assert np.array_equal(out, expected(x))


def test_each_barrier_that_is_left_out_is_a_race():
    """The last one too: a part ends with its block."""
    x = floats(3, 4, 64)
    for text in (
        without(SUM, 'barrier "cluster"'),
        without(SUM, 'barrier "block"'),
        "".join(SUM.rsplit('              barrier "cluster"\n', 1)),
    ):
        assert findings(text, x, x)[0] == "race"
    with pytest.raises(simulate.SimulationError, match="the block of thread 64 may end before"):
        run("".join(SUM.rsplit('              barrier "cluster"\n', 1)), x, x.copy())


def test_a_barrier_of_blocks_orders_each_block_alone():
    weak = replaced(SUM, 'barrier "cluster"', 'barrier "block"')
    x = floats(3, 4, 64)
    assert findings(weak, x, x)[0] == "race"
    own = replaced(weak, "b2[i1 ^ 1, v0]", "b2[i1, 63 - v0]")
    assert findings(own, x, x) == []


def test_blocks_of_other_clusters_are_not_ordered():
    text = replaced(SUM, "b1: out f32[3, 4, 64]", "b1: inout f32[3, 4, 64]")
    text = replaced(text, "b1[i0, i1, v0] = b3[v0]", "b1[0, i1, v0] = b3[v0]")
    x = floats(3, 4, 64)
    assert findings(text, x, x) == ["race"]


def test_shared_memory_is_each_blocks_own():
    """Stores of all blocks to the same index of a shared buffer are not one element."""
    x, out = floats(3, 4, 64), floats(3, 4, 64)
    text = replaced(SUM, "b3[63 - v0]", "b3[v0]")
    run(text, x, out)
    assert np.array_equal(out, expected(x)[:, :, ::-1])


@pytest.mark.parametrize(
    ("condition", "scope", "valid"),
    [
        ("i1 == 0", "block", True),
        ("i1 == 0", "cluster", False),
        ("i0 == 0", "cluster", True),
        ("i2 == 0", "cluster", False),
        ("i3 < 7", "block", False),
        # What a block's own memory holds may differ between blocks.
        ("b3[0] > 0.0:f32", "cluster", False),
        ("b3[0] > 0.0:f32", "block", True),
    ],
)
def test_barriers_under_conditions_that_vary(condition, scope, valid):
    inside = f'if {condition} {{\n barrier "{scope}"\n}}'
    text = replaced(SUM, "b1[i0, i1, v0] = b3[v0]", f"b1[i0, i1, v0] = b3[v0]\n{inside}")
    if valid:
        verify(parse_kernel(text), scheduled=True)
        return
    with pytest.raises(VerificationError, match="not all threads arrive"):
        verify(parse_kernel(text), scheduled=True)


def test_a_barrier_that_not_all_blocks_reach_is_divergence():
    x = floats(3, 4, 64)
    inside = 'if i1 < 3 {\n barrier "cluster"\n}'
    text = replaced(SUM, "b1[i0, i1, v0] = b3[v0]", f"b1[i0, i1, v0] = b3[v0]\n{inside}")
    assert "divergence" in findings(text, x, x)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b2[i1, v0] = b0", "b2[i1 ^ 1, v0] = b0", "a block stores to its own part of b2 alone"),
        ("b2[i1, v0] = b0[i0, i1, v0]", "accumulate add b2[i1, v0], 1.0:f32", "own part of b2"),
        ("f32[4, 64] cluster", "f32[5, 64] cluster", "has no part for each block"),
        ("f32[4, 64] cluster", "f32[4, 64] shared", "allocated outside of the cluster loop"),
        ("f32[64] shared", "f32[4, 16] cluster", "allocated between grid and cluster"),
        ("0..3 grid", "0..3 serial", "allocated between grid and cluster"),
        ("0..32 thread", "0..16 thread", "a warp has 32 threads"),
        ('"cluster"', '"grid"', "no scope grid"),
        (
            "b1[i0, i1, v0] = b3[v0]",
            'if role "a" warps 0..1 {\n}',
            "not in the blocks of a cluster",
        ),
        (
            "b1[i0, i1, v0] = b3[v0]",
            "for i4 in 0..4 vector {\nb1[i0, i1, v0] = b2[i4, v0]\n}",
            "used inside of a vector loop",
        ),
    ],
)
def test_planted_faults_are_refused(old, new, message):
    with pytest.raises(VerificationError) as error:
        verify(parse_kernel(replaced(SUM, old, new)), scheduled=True)
    assert message in str(error.value)


PLAIN = """\
kernel "k"() {
  b0: out f32[3, 4, 64]
  for i0 in 0..3 grid {
    for i1 in 0..4 cluster {
      for i2 in 0..64 thread {
        b0[i0, i1, i2] = 1.0:f32
      }
    }
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0..3 grid", "0..3 serial", "right inside of one grid loop"),
        ("i2 in 0..64 thread", "i2 in 0..64 cluster", "right inside of one grid loop"),
        ("i2 in 0..64 thread", "i2 in 0..48 thread", "blocks of a cluster have 48 threads"),
        ("0..4 cluster", "0..cast.i64(i0) cluster", "must be a constant"),
    ],
)
def test_cluster_loops_stand_right_inside_of_the_grid(old, new, message):
    verify(parse_kernel(PLAIN), scheduled=True)
    with pytest.raises(VerificationError, match=message):
        verify(parse_kernel(replaced(PLAIN, old, new)), scheduled=True)


def test_a_kernel_has_one_cluster_loop():
    (loop,) = parse_kernel(PLAIN).body
    assert isinstance(loop, For)
    twice = replace(parse_kernel(PLAIN), body=(replace(loop, body=loop.body * 2),))
    with pytest.raises(VerificationError):
        verify(twice, scheduled=True)
