"""The verifier of Kernels accepts what is valid and names the statement where something is not."""

from __future__ import annotations

import pytest

from pyc.errors import VerificationError
from pyc.ir import dtype as dt
from pyc.ir.expr import Apply, Const, Var
from pyc.ir.loops import Buffer, For, Kernel, Kind, Let, Store
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.verify_kernel import verify

from . import kernels
from .kernels import replaced, threads


def refusal(kernel: Kernel | str, **options: bool) -> str:
    """The message with which a kernel is refused; it carries the printed kernel as a note."""
    kernel = parse_kernel(kernel) if isinstance(kernel, str) else kernel
    with pytest.raises(VerificationError) as error:
        verify(kernel, **options)
    assert f'kernel "{kernel.name}"' in error.value.__notes__[0]
    return str(error.value)


@pytest.mark.parametrize("name", kernels.ALL)
def test_valid_kernels_pass(name):
    kernel = parse_kernel(kernels.ALL[name])
    verify(kernel)
    if name != "logical sum":
        verify(kernel, scheduled=True)


def test_a_reduce_is_refused_in_scheduled_kernels():
    assert "a Reduce is left" in refusal(kernels.LOGICAL_SUM, scheduled=True)
    vector = replaced(kernels.LOGICAL_SUM, "0..5 serial", "0..5 vector")
    assert "no longer logical" in refusal(vector)


def test_the_message_names_the_statement():
    message = refusal(replaced(kernels.ELEMENTWISE, "b2[v0] = ", "b0[v0] = "))
    assert "kernel elementwise: stores to the input b0" in message
    assert "at: b0[v0] = fma(b0[v0], 2.0:f32, b1[v0])" in message


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("elementwise", "b2[v0] = ", "b2[cast.i32(v0)] = ", "index 0 of b2 is i32, not i64"),
        ("elementwise", "b2[v0] = ", "b2[v0, 0] = ", "b2 has 1 axes, the index 2"),
        ("elementwise", "fma(b0[v0], 2.0:f32, b1[v0])", "1", "stores i64 into f32 b2"),
        ("elementwise", "v0 < s0", "v0", "the condition is i64, not b1"),
        ("elementwise", "0..16 vector", "0..s0 vector", "extent of a vector loop must be a const"),
        ("mandelbrot", "0..8 vector", "0..8 grid", "a parallel loop in a kernel of blocks"),
        ("scatter", "0..16 vector", "0..16 grid", "grid loops stand outermost"),
        ("block sum", "alloc", "b1[i0] = 1.0:f32\nalloc", "every thread of the block would store"),
        ("elementwise", "in f32", "local f32", "parameter b0 is local in global memory"),
        ("elementwise", "b2: out", "b3: in c64[s0]\n  b2: out", "is complex"),
        ("elementwise", "in f32[s0]", "in f32[s0] align 12", "is aligned to 12 bytes"),
        ("elementwise", "b2[v0] = ", "prefetch b0[v0]\nb2[v0] = ", "b0 varies with the lane"),
        ("elementwise", "b2[v0] = ", "prefetch b0[v0, 1]\nb2[v0] = ", "has 1 axes, the index 2"),
        ("elementwise", "in f32[s0]", "in f32[s0] strides (1, 2)", "has 2 strides"),
        ("elementwise", "in f32[s0]", "in f32[s0] streamed", "is streamed, but may be read"),
        ("sum of 128 lanes", "0..7 serial carry", "0..7 vector carry", "carries no values"),
        ("sum of 128 lanes", "i1 ^ 64", "i1 ^ 128", "shuffles at distance 128"),
        ("sum of 128 lanes", "i1 ^ 64", "i0 ^ 1", "no vector or thread loop around"),
        ("sum of 128 lanes", "0..128 vector", "0..120 vector", "in a loop of 120"),
        ("scatter", "accumulate add", "accumulate argmax", "no monoid argmax of 1 components"),
        ("scatter", "accumulate add", "accumulate plus", "no monoid plus"),
        ("failing", "b0[i0] >= 10 value", "b0[i0] value", "the condition is i64"),
        ("block sum", "i2 in 0..32 thread", "i2 in 0..64 thread", "a warp has 32 threads"),
        ("block sum", "alloc b2: f32[128] shared", "alloc b2: f32[128] stack", "outside of the"),
        ("block sum", 'barrier "block"', 'barrier "grid"', "no scope grid"),
        ("block sum", "0..4 warp", "0..4 parallel", "a parallel loop in a kernel of blocks"),
        ("pipeline", "phased 64", "", "b4 holds no phased barriers"),
        ("pipeline", "warps 1..3", "warps 1..1", "has no warps"),
        ("pipeline", "async signal", "signal", "an asynchronous copy signals"),
        ("pipeline", "copy b2[v0, 0]", "copy b2[v0, 0, 0]", "the index 3"),
        ("pipeline", "i64[2] shared phased 1", "i32[2] shared phased 1", "shared i64 buffer"),
        ("tiles", "f32[32, 64] register", "f32[32, 32] register", "no register tile of 32 by 64"),
        ("tiles", "f32[32, 64] register", "bf16[32, 64] register", "tile product of bf16 @ bf16"),
        ("tiles", "b3[0, 0] @", "b3[8, 0] @", "tile (32, 32) of b3 reaches out of it"),
        ("tiles", "first i3 == 0", "first i3", "the condition is i64"),
    ],
)
def test_planted_faults_are_refused(name, old, new, message):
    text = replaced(kernels.ALL[name], old, new)
    assert message in refusal(text)


# --- scopes ---------------------------------------------------------------------------------------


def one_loop(*body: object, extent: int = 4, out: Buffer | None = None) -> Kernel:
    buffers = () if out is None else (out,)
    return Kernel("k", buffers, (For(Var("i"), extent, Kind.SERIAL, body),))  # type: ignore[arg-type]


def test_variables_are_bound_once_and_above_their_uses():
    v, w = Var("v", dt.f32), Var("w", dt.f32)
    one = Const(1, dt.f32)
    assert "v is bound twice" in refusal(one_loop(Let(v, one), Let(v, one)))
    assert "w is not bound here" in refusal(one_loop(Let(v, w), Let(w, one)))
    inner = For(Var("j"), 2, Kind.SERIAL, (Let(v, one),))
    assert "v is not bound here" in refusal(one_loop(inner, Let(w, v)))
    verify(one_loop(inner))


def test_variables_and_nodes_have_the_types_they_say():
    v = Var("v", dt.f32)
    assert "variable v is f32, its value i64" in refusal(one_loop(Let(v, Const(1, dt.i64))))
    wrong = Apply("add", (Const(1, dt.i64), Const(1, dt.i64)), dt.f32)
    assert "add gives i64, it says f32" in refusal(one_loop(Let(v, wrong)))
    mixed = Apply("add", (Const(1, dt.i64), Const(1, dt.i32)), dt.i64)
    assert "needs equal" in refusal(one_loop(Let(Var("w"), mixed)))
    assert "no instruction frob" in refusal(one_loop(Let(Var("w"), Apply("frob", (), dt.i64))))


def test_a_buffer_is_known_in_its_alloc_only():
    text = """\
kernel "k"() {
  b0: out f32[1]
  alloc b1: f32[1] stack {
    b1[0] = 1.0:f32
  }
  b0[0] = b1[0]
}
"""
    assert "b1 is not a parameter and not allocated here" in refusal(text)


# --- lanes that diverge ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "scope", "valid"),
    [
        ("if b0[3] < 7 {\nBARRIER\n}", "block", True),
        ("if i1 < 7 {\nBARRIER\n}", "block", False),
        ("if i0 < 1 {\nBARRIER\n}", "block", False),
        ("if i0 < 1 {\nBARRIER\n}", "warp", True),
        ("if i1 < 7 {\nBARRIER\n}", "warp", False),
        ("v0 = i1 + 1\nv1 = v0 * 2\nif v1 < 7 {\nBARRIER\n}", "block", False),
        ("if b0[i1] < 7 {\nBARRIER\n}", "block", False),
        ("for i2 in 0..i1 serial {\nBARRIER\n}", "block", False),
        ("for i2 in 0..b0[1] serial {\nBARRIER\n}", "block", True),
        # A value carried through a loop varies with what it becomes, found in a second round.
        (
            "for i2 in 0..4 serial carry (v0 = 0, v1 = 0) -> (v2, v3) {\n"
            "if v0 < 2 {\nBARRIER\n}\nnext v1, i1\n}",
            "block",
            False,
        ),
        (
            "while carry (v0 = 0) -> (v1) {\nwhen v0 < i1\nnext v0 + 1\n}\nif v1 < 3 {\nBARRIER\n}",
            "block",
            False,
        ),
        (
            "alloc b2: i64[1] register {\nb2[0] = i1\nif b2[0] < 3 {\nBARRIER\n}\n}",
            "block",
            False,
        ),
        ("for i2 in 0..4 vector {\nBARRIER\n}", "block", False),
    ],
)
def test_barriers_under_conditions_that_vary(body, scope, valid):
    kernel = parse_kernel(threads(body.replace("BARRIER", f'barrier "{scope}"')))
    if valid:
        verify(kernel)
    else:
        message = refusal(kernel)
        assert "not all threads arrive" in message or "inside of a vector loop" in message


def test_a_barrier_of_a_role_stands_in_it():
    inside = 'if role "a" warps 0..1 {\n  barrier "a"\n}'
    verify(parse_kernel(threads(inside)))
    outside = inside + '\nbarrier "a"'
    assert "threads outside of role a arrive" in refusal(threads(outside))
    other = inside + '\nif role "a" warps 1..2 {\n}'
    assert "role a has other warps elsewhere" in refusal(threads(other))


def test_shuffles_under_a_condition_that_varies_are_refused():
    text = replaced(kernels.BLOCK_SUM, "if i1 == 0", "if v0 < 32")
    assert "some lanes of i2 may not be active" in refusal(text)


# --- ranges ---------------------------------------------------------------------------------------


def storing(index: str, *, extent: str = "64", guard: str = "") -> str:
    """16 iterations of 4 lanes that store at `index`, a function of i0 and i1."""
    store = f"b0[{index}] = 1.0:f32"
    store = f"if {guard} {{\n{store}\n}}" if guard else store
    return (
        f'kernel "k"(s0) {{\nb0: out f32[{extent}]\nfor i0 in 0..16 serial {{\n'
        f"for i1 in 0..4 vector {{\n{store}\n}}\n}}\n}}\n"
    )


@pytest.mark.parametrize(
    ("index", "extent", "guard", "valid"),
    [
        ("(i0 * 4) + i1", "64", "", True),
        ("(i0 * 4) + i1", "63", "", False),
        ("((i0 * 4) + i1) - 1", "64", "", False),
        ("((i0 * 4) + i1) + 1", "64", "", False),
        ("(i0 << 2) + (3 - i1)", "64", "", True),
        ("(i0 << 2) + (4 - i1)", "64", "", False),
        # Under a condition only what is out of range for all iterations is sure.
        ("(i0 * 4) + i1", "63", "i0 < 15", True),
        ("((i0 * 4) + i1) + 63", "63", "i0 < 15", False),
        ("((i0 * 4) + i1) + 63", "63", "i0 < 0", True),
        ("((i0 * 4) + i1) + 63", "63", "(i0 < 0) & (i1 < 2)", True),
        ("((i0 * 4) + i1) + 63", "63", "(i0 < 9) & (i1 < 2)", False),
        # The two occurrences of i0 are one variable: the corners are not reached.
        ("(i0 * 5) - i0", "64", "", True),
        ("minimum((i0 * 4) + i1, 60)", "61", "", True),
        ("minimum((i0 * 4) + i1, 60)", "60", "", False),
        ("quotient((i0 * 4) + i1, 2)", "32", "", True),
        ("quotient((i0 * 4) + i1, 2)", "31", "", False),
        ("remainder((i0 * 4) + i1, 64)", "63", "", False),
        ("((i0 * 4) + i1) & 31", "32", "", True),
        ("(i0 * 4) + i1", "s0", "", True),
        ("((i0 * 4) + i1) - 9223372036854775807", "64", "", False),
    ],
)
def test_indices_that_are_surely_out_of_range(index, extent, guard, valid):
    kernel = parse_kernel(storing(index, extent=extent, guard=guard))
    if valid:
        verify(kernel)
    else:
        assert "index 0 of b0 is" in refusal(kernel)


def test_ranges_do_not_trust_arithmetic_that_may_wrap():
    """An index that overflows may land anywhere, also inside."""
    index = "(((i0 * 4) + i1) + 9223372036854775807) - 9223372036854775807"
    verify(parse_kernel(storing(index)))


def test_an_extent_of_zero_makes_the_loop_unreachable():
    out = Buffer("b", dt.f32, (4,), role="out")
    body = (Store(out, (Const(9, dt.i64),), Const(1, dt.f32)),)
    verify(one_loop(*body, extent=0, out=out))
    assert "index 0 of b is 9, its extent 4" in refusal(one_loop(*body, extent=1, out=out))
