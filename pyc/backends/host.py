"""The processor this process runs on, as a `Target`, without LLVM.

Reads the feature flags of the first processor in /proc/cpuinfo (Linux) and maps them to one of the
x86-64 psABI levels that pyc generates code for, the last also with products of pairs of bfloat16
and permutations of bytes (AVX512-BF16 and VBMI: Zen 4), with quick gathers (AVX512-FP16: Sapphire
Rapids and newer), or with products of tiles of bfloat16 (AMX: the same), which Linux lets a process
use that asks for it. Levels, and not single features, keep the number of different codes small:
machines of one level share cache entries.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from pyc.errors import DeviceError
from pyc.ir.target import (
    X86_64_V3,
    X86_64_V4,
    X86_64_V4_AMX,
    X86_64_V4_BF16,
    X86_64_V4_FP16,
    Target,
)
from pyc.reasons import Reason, record

_V3_FLAGS = frozenset(["avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "popcnt", "cx16"])
_V4_FLAGS = frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])
_V4_BF16_FLAGS = frozenset(["avx512_bf16", "avx512vbmi"])
_V4_FP16_FLAGS = frozenset(["avx512_fp16"])

_TILE_FLAGS = frozenset(["amx_tile", "amx_bf16"])
_ARCH_PRCTL, _ASK, _TILE_DATA = 158, 0x1023, 18
"""The system call, ARCH_REQ_XCOMP_PERM, and the component of a thread's state that tiles are."""


def targets_of(flags: frozenset[str]) -> tuple[Target, ...]:
    """The targets that a processor with these cpuinfo flags can run, the best first."""
    if not flags >= _V3_FLAGS:
        return ()
    if not flags >= _V4_FLAGS:
        return (X86_64_V3,)
    if not flags >= _V4_BF16_FLAGS:
        return (X86_64_V4, X86_64_V3)
    others = (X86_64_V4_BF16, X86_64_V4, X86_64_V3)
    if not flags >= _V4_FP16_FLAGS:
        return others
    if not flags >= _TILE_FLAGS:
        return (X86_64_V4_FP16, *others)
    return (X86_64_V4_AMX, X86_64_V4_FP16, *others)


@cache
def host_flags() -> frozenset[str]:
    """The feature flags of this machine's first processor; empty where there is no cpuinfo."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _, flags = line.partition(":")
                if name.strip() == "flags":
                    return frozenset(flags.split())
    except OSError:
        pass
    return frozenset()


def usable_flags() -> frozenset[str]:
    """The flags of this machine whose instructions the system lets this process use."""
    flags = host_flags()
    return flags - _TILE_FLAGS if flags >= _TILE_FLAGS and not tiles_allowed() else flags


@cache
def tiles_allowed() -> bool:
    """Asks the system, once, for the tiles of AMX: for all threads of this process; children of a
    fork inherit them."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.syscall(_ARCH_PRCTL, _ASK, _TILE_DATA) == 0:
        return True
    record(Reason.DEVICE_TILES_REFUSED, detail=os.strerror(ctypes.get_errno()))
    return False


def host_target(wanted: str = "native") -> Target:
    """The Target named `wanted`: "native" is the best this processor runs.

    raises DeviceError: the processor lacks x86-64-v3, or the level that was asked for
    """
    possible = targets_of(usable_flags())
    if not possible:
        raise DeviceError(
            "pyc needs an x86-64-v3 processor (AVX2, FMA, BMI2; 2013 and newer); "
            "this one does not report these features",
            fix="There is no program for it: use a newer machine.",
        )
    if wanted == "native":
        return possible[0]
    for target in possible:
        if target.id == wanted:
            return target
    names = ", ".join(t.id for t in possible)
    raise DeviceError(
        f"target {wanted!r} cannot run here; this processor runs {names}",
        fix="Unset PYC_TARGET, or set it to one of these.",
    )
