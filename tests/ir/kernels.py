"""Small kernels by hand, as text, and the arrays they run on; `replaced` plants a bug in one.

Texts are written with the names that `print_kernel` gives, so they are their own printed form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.ir import simulate
from pyc.ir.loops import Kernel
from pyc.ir.parse_kernel import parse_kernel

Array = np.ndarray[Any, Any]


def replaced(text: str, old: str, new: str = "", count: int = 1) -> str:
    """`text` with the first `count` occurrences of `old` replaced; it must be there."""
    assert old in text, old
    return text.replace(old, new, count)


def without(text: str, *lines: str) -> str:
    """`text` without the first line that reads as each of `lines` (indentation aside)."""
    kept = text.splitlines(keepends=True)
    for line in lines:
        at = [k.strip() for k in kept].index(line)
        del kept[at]
    return "".join(kept)


def run(text: str | Kernel, *arrays: Array, **options: Any) -> simulate.Outcome:
    """Runs a kernel on `arrays` in place."""
    kernel = parse_kernel(text) if isinstance(text, str) else text
    return simulate.run(kernel, arrays, **options)


def findings(text: str | Kernel, *arrays: Array, **options: Any) -> list[str]:
    """The kinds of what a run that goes on reports, in order."""
    outcome = run(text, *(a.copy() for a in arrays), check=False, **options)
    return [f.kind for f in outcome.findings]


def floats(*shape: int, seed: int = 0) -> Array:
    """Random float32 values of mixed sizes and signs, so that the order of a sum shows."""
    random = np.random.default_rng(seed)
    scale = 10.0 ** random.integers(-3, 4, shape)
    return (random.standard_normal(shape) * scale).astype(np.float32)


ELEMENTWISE = """\
kernel "elementwise"(s0) {
  b0: in f32[s0]
  b1: in f32[s0]
  b2: out f32[s0]
  for i0 in 0..quotient(s0 + 63, 64) parallel {
    for i1 in 0..4 serial {
      for i2 in 0..16 vector {
        v0 = ((i0 * 64) + (i1 * 16)) + i2
        if v0 < s0 {
          b2[v0] = fma(b0[v0], 2.0:f32, b1[v0])
        }
      }
    }
  }
}
"""

LOGICAL_SUM = """\
kernel "sum"(s0) {
  b0: in f32[5, s0]
  b1: out f32[5]
  for i0 in 0..5 serial {
    v0 = reduce add (i1 in 0..s0) {
      yield b0[i0, i1]
    }
    b1[i0] = v0
  }
}
"""

LOGICAL_RUNNING_PRODUCT = """\
kernel "running product"(s0) {
  b0: in f32[5, s0, 2]
  b1: out f32[5, s0, 2]
  for i0 in 0..5 parallel {
    v0, v1 = cumulate complex_mul (i1 in 0..s0) {
      %0 = i1 + 0
      yield b0[i0, %0, 0], b0[i0, %0, 1]
      v2 = v0 * 2.0:f32
      b1[i0, i1, 0] = v2
      b1[i0, i1, 1] = v1
    }
  }
}
"""

SUM_OF_128_LANES = """\
kernel "sum of a chunk in 128 lanes"() {
  b0: in f32[5, 1024]
  b1: out f32[5]
  for i0 in 0..5 parallel {
    for i1 in 0..128 vector {
      for i2 in 0..7 serial carry (v0 = b0[i0, i1]) -> (v1) {
        next v0 + b0[i0, ((i2 + 1) * 128) + i1]
      }
      v2 = v1 + shuffle(v1, i1 ^ 64)
      v3 = v2 + shuffle(v2, i1 ^ 32)
      v4 = v3 + shuffle(v3, i1 ^ 16)
      v5 = v4 + shuffle(v4, i1 ^ 8)
      v6 = v5 + shuffle(v5, i1 ^ 4)
      v7 = v6 + shuffle(v6, i1 ^ 2)
      v8 = v7 + shuffle(v7, i1 ^ 1)
      if i1 == 0 {
        b1[i0] = v8
      }
    }
  }
}
"""


def sum_of_pieces(chunks: int) -> str:
    """The sum of `chunks` chunks per row in vectors of 16 lanes, 8 pieces to 128 lanes."""
    lines = [
        'kernel "sum in pieces"() {',
        f"  b0: in f32[5, {1024 * chunks}]",
        "  b1: out f32[5]",
        "  for i0 in 0..5 parallel {",
        "    for i1 in 0..16 vector {",
    ]
    count = 0

    def let(value: str) -> str:
        nonlocal count
        lines.append(f"      v{count} = {value}")
        count += 1
        return f"v{count - 1}"

    totals = []
    for c in range(chunks):
        pieces = [let(f"b0[i0, i1 + {1024 * c + 16 * p}]") for p in range(8)]
        for j in range(1, 8):
            for p in range(8):
                pieces[p] = let(f"{pieces[p]} + b0[i0, i1 + {1024 * c + 128 * j + 16 * p}]")
        while len(pieces) > 1:
            half = len(pieces) // 2
            pieces = [let(f"{pieces[p]} + {pieces[p + half]}") for p in range(half)]
        totals += pieces
    while len(totals) > 1:
        pairs = [let(f"{a} + {b}") for a, b in zip(totals[::2], totals[1::2], strict=False)]
        totals = pairs + totals[len(totals) - len(totals) % 2 :]
    for distance in (8, 4, 2, 1):
        totals = [let(f"{totals[0]} + shuffle({totals[0]}, i1 ^ {distance})")]
    lines += ["      if i1 == 0 {", f"        b1[i0] = {totals[0]}", "      }", "    }", "  }", "}"]
    return "\n".join(lines) + "\n"


BLOCK_SUM = """\
kernel "sum of a chunk in a block"() {
  b0: in f32[5, 1024]
  b1: out f32[5]
  for i0 in 0..5 grid {
    alloc b2: f32[128] shared {
      for i1 in 0..4 warp {
        for i2 in 0..32 thread {
          v0 = (i1 * 32) + i2
          for i3 in 0..7 serial carry (v1 = b0[i0, v0]) -> (v2) {
            next v1 + b0[i0, ((i3 + 1) * 128) + v0]
          }
          b2[v0] = v2
          barrier "block"
          if v0 < 64 {
            b2[v0] = b2[v0] + b2[v0 + 64]
          }
          barrier "block"
          if i1 == 0 {
            v3 = b2[i2] + b2[i2 + 32]
            v4 = v3 + shuffle(v3, i2 ^ 16)
            v5 = v4 + shuffle(v4, i2 ^ 8)
            v6 = v5 + shuffle(v5, i2 ^ 4)
            v7 = v6 + shuffle(v6, i2 ^ 2)
            v8 = v7 + shuffle(v7, i2 ^ 1)
            if i2 == 0 {
              b1[i0] = v8
            }
          }
        }
      }
    }
  }
}
"""

PIPELINE = """\
kernel "pipeline"() {
  b0: in f32[2, 320]
  b1: out f32[2, 320]
  for i0 in 0..2 grid {
    alloc b2: f32[2, 64] shared align 128 {
      alloc b3: i64[2] shared phased 1 {
        alloc b4: i64[2] shared phased 64 {
          for i1 in 0..3 warp {
            for i2 in 0..32 thread {
              if role "producer" warps 0..1 registers 40 {
                if i2 == 0 {
                  for i3 in 0..5 serial {
                    v0 = i3 & 1
                    v1 = (i3 >> 1) & 1
                    wait b4[v0] parity v1 ^ 1
                    signal b3[v0] bytes 256
                    copy b2[v0, 0] <- b0[i0, i3 * 64] box (64) async signal b3[v0]
                  }
                }
              }
              if role "consumer" warps 1..3 {
                v2 = ((i1 - 1) * 32) + i2
                for i4 in 0..5 serial {
                  v3 = i4 & 1
                  v4 = (i4 >> 1) & 1
                  wait b3[v3] parity v4
                  b1[i0, (i4 * 64) + v2] = b2[v3, v2] * 2.0:f32
                  signal b4[v3]
                }
              }
            }
          }
        }
      }
    }
  }
}
"""

TILES = """\
kernel "matrix product of tiles"() {
  b0: in bf16[64, 96]
  b1: in bf16[96, 64]
  b2: out f32[64, 64]
  for i0 in 0..2 grid {
    alloc b3: bf16[32, 32] shared align 128 {
      alloc b4: bf16[32, 64] shared align 128 {
        for i1 in 0..4 warp {
          for i2 in 0..32 thread {
            alloc b5: f32[32, 64] register {
              for i3 in 0..3 serial {
                copy b3[0, 0] <- b0[i0 * 32, i3 * 32] box (32, 32)
                copy b4[0, 0] <- b1[i3 * 32, 0] box (32, 64)
                barrier "block"
                multiply b5 += b3[0, 0] @ b4[0, 0] shape (32, 64, 32) first i3 == 0
                barrier "block"
              }
              v0 = (i1 * 32) + i2
              for i4 in 0..16 serial {
                %0 = (i4 * 128) + v0
                %1 = %0 >> 6
                %2 = %0 & 63
                b2[(i0 * 32) + %1, %2] = b5[%1, %2]
              }
            }
          }
        }
      }
    }
  }
}
"""

MANDELBROT = """\
kernel "mandelbrot"() {
  b0: in f32[40]
  b1: in f32[40]
  b2: out i64[40]
  for i0 in 0..5 parallel {
    for i1 in 0..8 vector {
      v0 = (i0 * 8) + i1
      while carry (v1 = 0.0:f32, v2 = 0.0:f32, v3 = 0) -> (v4, v5, v6) {
        when (((v1 * v1) + (v2 * v2)) <= 4.0:f32) & (v3 < 50)
        v7 = ((v1 * v1) - (v2 * v2)) + b0[v0]
        v8 = ((v1 * v2) * 2.0:f32) + b1[v0]
        next v7, v8, v3 + 1
      }
      b2[v0] = v6
    }
  }
}
"""

SCATTER = """\
kernel "scatter"() {
  b0: in i64[64]
  b1: in f32[64]
  b2: inout f32[8]
  for i0 in 0..4 serial {
    for i1 in 0..16 vector {
      v0 = (i0 * 16) + i1
      accumulate add b2[b0[v0]], b1[v0]
    }
  }
}
"""

FAILING = """\
kernel "take"() {
  b0: in i64[16]
  b1: in f32[10]
  b2: out f32[16]
  for i0 in 0..16 vector {
    fail 3 if b0[i0] >= 10 value b0[i0]
    fail 2 if b0[i0] < 0 value b0[i0]
    b2[i0] = b1[minimum(maximum(b0[i0], 0), 9)]
  }
}
"""

ALL = {
    "elementwise": ELEMENTWISE,
    "logical sum": LOGICAL_SUM,
    "logical running product": LOGICAL_RUNNING_PRODUCT,
    "sum of 128 lanes": SUM_OF_128_LANES,
    "sum of pieces": sum_of_pieces(3),
    "block sum": BLOCK_SUM,
    "pipeline": PIPELINE,
    "tiles": TILES,
    "mandelbrot": MANDELBROT,
    "scatter": SCATTER,
    "failing": FAILING,
}


def threads(body: str, *, warps: int = 2, shared: str = "f32[64]", extra: str = "") -> str:
    """A block of `warps` warps that runs `body`, with a shared buffer b1; b0 is i64[64] inout.

    i0 is the warp, i1 the thread in it.
    """
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return (
        'kernel "block"() {\n'
        f"  b0: inout i64[64]\n{extra}"
        f"  alloc b1: {shared} shared {{\n"
        f"    for i0 in 0..{warps} warp {{\n      for i1 in 0..32 thread {{\n"
        f"{lines}\n      }}\n    }}\n  }}\n}}\n"
    )
