"""The text of Kernels prints and parses, and is linear in the size of the DAG."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyc.ir import dtype as dt
from pyc.ir.expr import Const, Expr, Var, fma
from pyc.ir.loops import Buffer, For, Kernel, Kind, Let, Store
from pyc.ir.parse_kernel import parse_kernel
from pyc.ir.text_kernel import print_kernel, print_literal, print_statements

from . import kernels

BITS = {t: dt.unsigned_of(t.bits) for t in dt.ALL if t.is_float}


@pytest.mark.parametrize("name", kernels.ALL)
def test_a_kernel_that_was_printed_parses_to_the_same_text(name):
    text = kernels.ALL[name]
    assert print_kernel(parse_kernel(text)) == text


def test_every_construct_survives_the_round_trip():
    """The one kernel that is never run: all options of all statements at once."""
    text = """\
kernel "a \\"quoted\\" name"(s0, s1) {
  %0 = s0 * s1
  b0: in f32[%0, quotient(%0, 2), 3] align 64 strides (s1, 3, 1) alias
  b1: inout u8[s0 - 1]
  b2: out u8[s0] align 64 streamed
  for i0 in 0..s0 grid {
    alloc b3: i64[2] shared phased 3 {
      for i1 in 0..64 thread {
        if role "a b" warps 0..1 registers 40 {
          signal b3[0] bytes s0 * 4
          prefetch b0[7, s0 - 1, 2]
          prefetch first b0[7, s0 - 1, 2]
          barrier "a b"
        } else {
          if (i1 < 3) & (not(true) | false) {
            fail 7 if nan:f32 != 0x7fc00001:f32 value -3:i8
          } else {
            v0, v1 = reduce argmax (i2 in 0..s0, i3 in 0..2) {
              yield -inf:f64, i2 + i3
            }
          }
        }
      }
    }
  }
}
"""
    assert print_kernel(parse_kernel(text)) == text


def one_store(value: Expr) -> Kernel:
    out = Buffer("out", value.dtype, (1,), role="out")
    return Kernel("k", (out,), (Store(out, (Const(0, dt.i64),), value),))


def stored(kernel: Kernel) -> Expr:
    (s,) = kernel.body
    assert isinstance(s, Store)
    return s.value


@given(st.sampled_from(list(BITS)), st.integers(0, 2**64 - 1))
def test_every_float_keeps_its_bits(dtype, bits):
    """NaN payloads, infinities, -0 and subnormals included, in the storage types too."""
    raw = np.array([bits & ((1 << dtype.bits) - 1)], BITS[dtype].numpy)
    value = Const(raw.view(dtype.numpy)[0], dtype)
    text = print_kernel(one_store(value))
    back = stored(parse_kernel(text))
    assert isinstance(back, Const) and back.value.tobytes() == value.value.tobytes()
    assert print_kernel(parse_kernel(text)) == text


@given(st.sampled_from([t for t in dt.ALL if t.is_integer]), st.integers(-(2**63), 2**63))
def test_every_integer_keeps_its_value(dtype, number):
    value = Const(number, dtype)
    back = stored(parse_kernel(print_kernel(one_store(value))))
    assert isinstance(back, Const) and back.dtype is dtype and back.value == value.value


@given(
    st.sampled_from(dt.ALL), st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1), st.booleans())
)
def test_a_literal_is_what_numpy_makes_of_the_number(dtype, number):
    """Whichever way is taken, and without a warning; integers wrap."""
    if dtype.is_integer:
        if isinstance(number, float) and not np.isfinite(number):
            return
        bits = np.array([int(number) % (1 << dtype.bits)], dt.unsigned_of(dtype.bits).numpy)
        expected = bits.view(dtype.numpy)[0]
    else:
        with np.errstate(all="ignore"):
            expected = np.asarray(number).astype(dtype.numpy)[()]
    with np.errstate(all="raise"):
        value = Const(number, dtype).value
    assert type(value) is type(expected) and value.tobytes() == expected.tobytes()


def test_literals_read_well():
    shown = [print_literal(np.float32(x), dt.f32) for x in (0.1, -0.0, np.inf, np.nan, 1e30)]
    assert shown == ["0.1:f32", "-0.0:f32", "inf:f32", "nan:f32", "1e+30:f32"]


def test_a_chain_of_shared_nodes_prints_in_linear_size():
    """x = x * x, a hundred times: the tree has 2^100 leaves."""
    x: Expr = Const(1.5, dt.f32)
    for _ in range(100):
        x = x * x
    text = print_kernel(one_store(x))
    assert len(text.splitlines()) < 110
    assert print_kernel(parse_kernel(text)) == text


def test_a_deep_chain_prints_and_parses_without_recursion():
    x: Expr = Const(1.5, dt.f32)
    for _ in range(5000):
        x = fma(x, 2.0, 1.0)
    text = print_kernel(one_store(x))
    assert max(map(len, text.splitlines())) < 300
    assert print_kernel(parse_kernel(text)) == text


def test_names_do_not_enter_the_text():
    """Names are positional: the text is the input of the fingerprint."""

    def kernel(name: str) -> Kernel:
        i, t = Var(name + "i"), Var(name + "t", dt.f32)
        out = Buffer(name, dt.f32, (4,), role="out")
        body = (Let(t, Const(1, dt.f32)), Store(out, (i,), t))
        return Kernel("k", (out,), (For(i, 4, Kind.SERIAL, body),))

    assert print_kernel(kernel("a")) == print_kernel(kernel("zz"))


def test_an_invalid_kernel_still_prints():
    """It is printed into the very message that says it is invalid."""
    stray = Buffer("stray", dt.f32, (4,))
    kernel = Kernel("k", (), (Store(stray, (Var("nowhere"),), Const(1, dt.f32)),))
    assert "?stray[?nowhere] = 1.0:f32" in print_kernel(kernel)
    assert print_statements(kernel)[kernel.body[0]] == "?stray[?nowhere] = 1.0:f32"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("b2[v0] = ", "b9[v0] = ", "line 10: unknown name 'b9'"),
        ("fma(b0[v0], 2.0:f32", "fma(b0[v0], 2", "fma: needs equal float types"),
        ("for i1", "for i0", "i0 is bound twice"),
        ("parallel", "sideways", "'sideways' is not a valid Kind"),
        ("b2[v0] = ", "b2[v0] = = ", "expects an expression, found '='"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_line(old, new, message):
    with pytest.raises(ValueError) as refused:
        parse_kernel(kernels.replaced(kernels.ELEMENTWISE, old, new))
    assert message in str(refused.value)
