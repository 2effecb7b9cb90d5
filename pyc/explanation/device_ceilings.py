"""What a GPU can do at most, measured: bytes a second, flops, and the time of a launch.

As `ceilings` for the CPU: loops in the text of kernels that only read, copy or fill, over arrays
from 256 kB, which stay in the device's cache, to what lies in its memory; chains of `fma` in
registers, in one block and in many; and a kernel of one thread. Each is launched several times in a
row, as kernels of a program are, and one launch is what more of them add. Once for a device and a
driver, and kept as the processor's are.
"""

from __future__ import annotations

from typing import Any

from pyc.backends.cuda import Device
from pyc.explanation.ceilings import FLOP_TYPES, MIXES, Ceilings, known, plan_of
from pyc.explanation.on_device import Blocks
from pyc.frozen import replace
from pyc.ir.plan import Plan

SIZES = (1 << 18, 1 << 21, 1 << 24, 1 << 26, 1 << 28, 1 << 30)
"""Bytes that a loop touches in all."""
ROUNDS, FEW, MORE = 5, 2, 10
"""How often each program is timed, and the launches of two, whose difference counts."""
THREADS, VECTOR, READS = 256, 4, 32
"""Threads of a block, float32 that one touches at once, and how often where it only reads."""
MANY_BLOCKS = 2048
CHAINS, LENGTH = 8, 4096
"""Chains of `fma` that a thread runs side by side, and their length."""


def ceilings(device: Device, *, again: bool = False) -> Ceilings:
    """Those of a GPU, measured now if they never were. again: see `ceilings.ceilings`."""
    name = f"{device.name} {device.target.id} {device.driver_version}"
    return known(name, lambda: measure(device), again=again)


def measure(device: Device) -> Ceilings:
    """What a GPU reaches now."""
    bench = Blocks(device)
    try:
        memory = [bench.block(max(SIZES)) for _ in range(2)]
        for block in memory:
            device.fill(block.address, 0, block.nbytes)
        rates = {}
        for mix in MIXES:
            found = []
            for size in SIZES:
                text, work = _moves(mix, size)
                found.append((size, work / _launch(bench, plan_of(text), memory)))
            rates[mix] = tuple(found)
        flops = {}
        for name in FLOP_TYPES:
            one, every = (_flops(name, blocks) for blocks in (1, MANY_BLOCKS))
            flops[name] = tuple(w / _launch(bench, plan_of(t), memory) for t, w in (one, every))
        launch = _launch(bench, plan_of(_NOTHING), memory)
    finally:
        bench.close()
    name = f"{device.name} ({device.target.id})"
    return Ceilings(name, 0, rates, {t: (a, b) for t, (a, b) in flops.items()}, launch)


def _launch(bench: Blocks, plan: Plan, memory: Any) -> float:
    """The seconds of one launch of a Plan of one, over the memory."""
    inputs = len(plan.arguments)
    given, made = memory[:inputs], memory[inputs : inputs + len(plan.results)]
    few, more = (bench.program(replace(plan, steps=plan.steps * count)) for count in (FEW, MORE))
    seconds = [min(program.run(given, made) for _ in range(ROUNDS)) for program in (few, more)]
    return max((seconds[1] - seconds[0]) / (MORE - FEW), 1e-9)


_NOTHING = """kernel "nothing"() {
  b0: out f32[1]
  for i0 in 0..1 grid {
    for i1 in 0..1 thread {
      b0[0] = 1.0:f32
    }
  }
}
"""


def _moves(mix: str, size: int) -> tuple[str, int]:
    """The loop that touches so many bytes, and how many it does."""
    elements = size // (8 if mix == "copy" else 4)
    place = f"(((i0 * {THREADS}) + i1) * {VECTOR}) + i2"
    if mix == "read":
        apart = THREADS * VECTOR
        blocks = elements // (apart * READS)
        at = f"((i0 * {apart * READS}) + (i3 * {apart})) + ((i1 * {VECTOR}) + i2)"
        body = f"""for i3 in 0..{READS} serial carry (v0 = 0.0:f32) -> (v1) {{
          next v0 + b0[{at}]
        }}
        b1[{place}] = v1"""
        buffers = f"b0: in f32[{elements}]\n  b1: out f32[{blocks * apart}]"
    else:
        blocks = elements // (THREADS * VECTOR)
        out = "b1" if mix == "copy" else "b0"
        body = f"{out}[{place}] = {f'b0[{place}]' if mix == 'copy' else '1.0:f32'}"
        buffers = (
            f"{f'b0: in f32[{elements}]' if mix == 'copy' else ''}\n  {out}: out f32[{elements}]"
        )
    text = f"""kernel "{mix}"() {{
  {buffers}
  for i0 in 0..{blocks} grid {{
    for i1 in 0..{THREADS} thread {{
      for i2 in 0..{VECTOR} vector {{
        {body}
      }}
    }}
  }}
}}
"""
    return text, size


def _flops(name: str, blocks: int) -> tuple[str, int]:
    """Chains of `fma` in so many blocks, and their flops."""
    names = ", ".join(f"v{k} = b0[i1]" for k in range(CHAINS))
    after = ", ".join(f"v{k}" for k in range(CHAINS, 2 * CHAINS))
    steps = ", ".join(f"fma(v{k}, 0.5:{name}, 1.0:{name})" for k in range(CHAINS))
    total = f"v{CHAINS}"
    for k in range(CHAINS + 1, 2 * CHAINS):
        total = f"({total}) + v{k}"
    text = f"""kernel "fma"() {{
  b0: in {name}[{THREADS}]
  b1: out {name}[{blocks * THREADS}]
  for i0 in 0..{blocks} grid {{
    for i1 in 0..{THREADS} thread {{
      for i2 in 0..{LENGTH} serial carry ({names}) -> ({after}) {{
        next {steps}
      }}
      b1[(i0 * {THREADS}) + i1] = {total}
    }}
  }}
}}
"""
    return text, 2 * CHAINS * LENGTH * THREADS * blocks


__all__ = ["ceilings", "measure"]
