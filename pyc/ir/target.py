"""`Target`: the facts about a machine that may shape code.

It holds only what follows from ids (processor features, compute capability): core counts, affinity
and measured bandwidth are run-time values, never here, so that equal targets give equal code (but
that a part of a GPU is another target than a whole one: `of_multiprocessors`). Two Targets with
equal fields are the same cache key. Passes read facts; none asks for the name.
"""

from __future__ import annotations

from pyc.frozen import frozen, replace


@frozen()
class Target:
    """One compilation target.

    id: "x86-64-v3", "x86-64-v4", "native:...", "sm_90", ...; triple, cpu, features: what LLVM is
    given; vector_bytes: the widest vector worth using on a CPU, the widest memory access of a
    thread on a GPU; has_blocks: runs grids of thread blocks (warp_size threads a warp) instead of
    tasks; task_bytes: work of one parallel task worth a hand-over; cache_bytes: per-core cache that
    a tile should fit in (0: none); bfloat16_pairs: whether it multiplies pairs of bfloat16 and adds
    both products to a float32 (`fma_pairs`); bfloat16_tiles: and tiles of them, if the system lets
    a process (`PairsMultiply`); parts_vectors: whether it packs the elements of a vector that a
    mask chooses, 32 and 64 bits (`Split`); quick_gathers: whether one instruction loads elements
    from anywhere in less time than one load each; whole_vectors: whether one of the widest vectors
    is as quick as one, not two, of half the bytes; cache_ways: lines that a set of the second cache
    holds, hence rows of one place within a page that can be read at once; shared_bytes: shared
    memory of one block; parameter_bytes: of one launch; thread_bytes: private memory of one thread;
    grid: blocks of one launch along each axis; cluster_blocks: of one cluster (1: there are none);
    group_blocks: blocks of one launch that surely run at the same time (1: unknown), one on a
    multiprocessor; tile_multiply: whether it has the tensor-core step on tiles in shared memory
    (wgmma: capability 9.0 alone); early_launch: whether a kernel may begin before the one that it
    depends on has ended, and wait for its results itself; solver: the routines of linear algebra
    that a library of the device has (`ir/solvers.py`), for programs that have such steps.
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
    bfloat16_pairs: bool = False
    bfloat16_tiles: bool = False
    parts_vectors: bool = False
    quick_gathers: bool = False
    whole_vectors: bool = False
    cache_ways: int = 8
    task_bytes: int = 1 << 18
    cache_bytes: int = 1 << 18
    shared_bytes: int = 0
    parameter_bytes: int = 0
    thread_bytes: int = 0
    grid: tuple[int, ...] = ()
    cluster_blocks: int = 1
    group_blocks: int = 1
    tile_multiply: bool = False
    early_launch: bool = False
    solver: tuple[str, ...] = ()

    def lanes(self, itemsize: int) -> int:
        """Elements of `itemsize` bytes in one vector."""
        return max(self.vector_bytes // itemsize, 1)


_LINUX = "x86_64-unknown-linux-gnu"
_V3 = "+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+cx16"
_V4 = _V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"

X86_64_V3 = Target("x86-64-v3", _LINUX, "x86-64-v3", _V3, vector_bytes=32, registers=16)
X86_64_V4 = Target("x86-64-v4", _LINUX, "x86-64-v4", _V4, vector_bytes=64, parts_vectors=True)
X86_64_V4_BF16 = Target(
    "x86-64-v4-bf16",
    _LINUX,
    "x86-64-v4",
    _V4 + ",+avx512bf16,+avx512vbmi",
    vector_bytes=64,
    bfloat16_pairs=True,
    parts_vectors=True,
)
X86_64_V4_FP16 = replace(
    X86_64_V4_BF16, id="x86-64-v4-fp16", quick_gathers=True, whole_vectors=True, cache_ways=16
)
"""Processors that compute in float16, which says that they are recent ones of Intel, no more."""
X86_64_V4_AMX = replace(
    X86_64_V4_FP16,
    id="x86-64-v4-amx",
    features=X86_64_V4_BF16.features + ",+amx-tile,+amx-bf16",
    bfloat16_tiles=True,
)
CPUS = {
    target.id: target
    for target in (X86_64_V3, X86_64_V4, X86_64_V4_BF16, X86_64_V4_FP16, X86_64_V4_AMX)
}
"""The targets of processors, by name: levels of features, the oldest first."""


def nvptx(capability: int) -> Target:
    """The target of an NVIDIA GPU of compute capability `capability` (90 for 9.0)."""
    arch = f"sm_{capability}a" if capability >= 90 else f"sm_{capability}"
    ptx = "+ptx81" if capability < 100 else "+ptx86"  # 8.1 has parameters beyond 4 KiB
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
        parameter_bytes=32_764,
        thread_bytes=1 << 19,
        grid=((1 << 31) - 1, (1 << 16) - 1, (1 << 16) - 1),
        cluster_blocks=1 if capability < 90 else 16 if capability < 120 else 8,
        group_blocks=64 if capability in (90, 100) else 1,
        tile_multiply=capability == 90,
        early_launch=capability >= 90,
    )


def of_multiprocessors(target: Target, count: int) -> Target:
    """The target of a GPU with so many multiprocessors: one that is too small for groups of blocks
    (a part of a GPU) is another target than the whole."""
    if count >= target.group_blocks:
        return target
    return replace(target, id=f"{target.id}-ungrouped", group_blocks=1)


SM_90 = nvptx(90)
OLDEST = 80
"""The oldest compute capability of GPUs that kernels are made for, times ten."""
