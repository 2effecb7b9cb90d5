"""`Target`: the facts about a machine that may shape code.

It holds only what follows from ids (processor features, compute capability): core counts, affinity
and measured bandwidth are run-time values, never here, so that equal targets give equal code. Two
Targets with equal fields are the same cache key. Passes read facts; none asks for the name.
"""

from __future__ import annotations

from pyc.frozen import frozen


@frozen()
class Target:
    """One compilation target.

    id: "x86-64-v3", "x86-64-v4", "native:...", "sm_90", ...; triple, cpu, features: what LLVM is
    given; vector_bytes: the widest vector worth using on a CPU, the widest memory access of a
    thread on a GPU; has_blocks: runs grids of thread blocks (warp_size threads a warp) instead of
    tasks; task_bytes: work of one parallel task worth a hand-over; cache_bytes: per-core cache that
    a tile should fit in (0: none); shared_bytes: shared memory of one block; parameter_bytes: of
    one launch; thread_bytes: private memory of one thread; grid: blocks of one launch along each
    axis; tile_multiply: whether it has the tensor-core step on tiles in shared memory (wgmma:
    capability 9.0 alone).
    """

    id: str
    triple: str
    cpu: str
    features: str
    vector_bytes: int
    has_blocks: bool = False
    warp_size: int = 1
    max_block_threads: int = 1
    registers: int = 32
    task_bytes: int = 1 << 18
    cache_bytes: int = 1 << 18
    shared_bytes: int = 0
    parameter_bytes: int = 0
    thread_bytes: int = 0
    grid: tuple[int, ...] = ()
    tile_multiply: bool = False

    def lanes(self, itemsize: int) -> int:
        """Elements of `itemsize` bytes in one vector."""
        return max(self.vector_bytes // itemsize, 1)


_LINUX = "x86_64-unknown-linux-gnu"
_V3 = "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+cx16"
_V4 = _V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

X86_64_V3 = Target("x86-64-v3", _LINUX, "x86-64-v3", _V3, vector_bytes=32, registers=16)
X86_64_V4 = Target("x86-64-v4", _LINUX, "x86-64-v4", _V4, vector_bytes=64)


def nvptx(capability: int) -> Target:
    """The target of an NVIDIA GPU of compute capability `capability` (90 for 9.0)."""
    arch = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    ptx = "+ptx80" if capability < 100 else "+ptx86"
    return Target(
        id=f"sm_{capability}",
        triple="nvptx64-nvidia-cuda",
        cpu=arch,
        features=ptx,
        vector_bytes=16,
        has_blocks=True,
        warp_size=32,
        max_block_threads=1024,
        registers=65536,
        cache_bytes=0,
        shared_bytes=232448 if capability >= 90 else 166912,
        parameter_bytes=4096,
        thread_bytes=1 << 19,
        grid=((1 << 31) - 1, (1 << 16) - 1, (1 << 16) - 1),
        tile_multiply=capability == 90,
    )


SM_90 = nvptx(90)
