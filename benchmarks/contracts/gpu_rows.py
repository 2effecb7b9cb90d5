"""Programs over columns and over few long rows, beside the fastest kernels in any order.

    python -m benchmarks.contracts.gpu_rows [--json OUT] [--seconds N]

Sums, softmax and layer norm along the first axis, and of few rows of a million elements, in pyc's
one order of reduction, in the same run as kernels in CUDA C that may add in any order (the text
below: compiled by NVRTC for this comparison only), as torch, and as a copy of the same bytes. A
free kernel is tried in several shapes, each checked against NumPy; the best counts. Times are of
launches in a CUDA graph, in turn, medians.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pyc
from pyc import config
from pyc.backends.cuda import check
from pyc.compile_cuda import load
from pyc.device import gpu
from pyc.passes import optimise
from pyc.passes.memory import plan

Array = np.ndarray[Any, Any]
ROUNDS = 7
SCRATCH = 64 << 20
Form = tuple[int, int, int, int, int]
"""Columns of a slab, blocks of a group, threads of a block, float4 of a thread in registers (or
read at once), and in shared memory."""
MULTIPROCESSORS = 132
MILLION = 1 << 20

FREE = r"""
// OP: 0 softmax, 1 layer norm, 2 sum. A state of a column or row is (a, b): the maximum and the sum
// of exponentials, the sum and the sum of squares, or the sum.
struct State { float a, b; };
// pyc's own exponential and exact quotients, so that only the schedule differs.
__device__ __forceinline__ float exponential(float v) {
  v = fmaxf(fminf(v, 89.0f), -104.5f);
  float n = fmaf(v, 1.442695f, 12582912.0f + 254.0f), r = n - (12582912.0f + 254.0f);
  float t = fmaf(r, 1.9046542e-09f, fmaf(r, -0.6931472f, v));
  float e = fmaf(fmaf(fmaf(fmaf(fmaf(0.0013921825f, t, 0.008369314f), t, 0.041666582f), t,
                 0.16666515f), t, 0.5f), t, 1.0f);
  unsigned bits = __float_as_uint(n), half = bits >> 1;
  float low = __uint_as_float(half << 23), high = __uint_as_float((bits - half) << 23);
  return fmaf(e, t, 1.0f) * low * high;
}
__device__ __forceinline__ State neutral() {
#if OP == 0
  return {-1e30f, 0.0f};
#else
  return {0.0f, 0.0f};
#endif
}
__device__ __forceinline__ State met(State x, State y) {
#if OP == 0
  float m = fmaxf(x.a, y.a);
  return {m, x.b * exponential(x.a - m) + y.b * exponential(y.a - m)};
#else
  return {x.a + y.a, x.b + y.b};
#endif
}
__device__ __forceinline__ void take(State& s, float v) {
#if OP == 0
  float m = fmaxf(s.a, v);
  s.b = s.b * exponential(s.a - m) + exponential(v - m);
  s.a = m;
#elif OP == 1
  s.a += v;
  s.b += v * v;
#else
  s.a += v;
#endif
}
__device__ __forceinline__ State ready(State s, float n) {
#if OP == 0
  return {s.a, s.b};
#elif OP == 1
  float mean = s.a / n;
  return {mean, __fsqrt_rn(s.b / n - mean * mean + 1e-5f)};
#else
  return s;
#endif
}
__device__ __forceinline__ float applied(State s, float v) {
#if OP == 0
  return __fdiv_rn(exponential(v - s.a), s.b);
#else
  return __fdiv_rn(v - s.a, s.b);
#endif
}
__device__ __forceinline__ float part(const float4& v, int k) {
  return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
}
__device__ __forceinline__ float4 applied4(const State* s, const float4& v) {
  return {applied(s[0], v.x), applied(s[1], v.y), applied(s[2], v.z), applied(s[3], v.w)};
}
__device__ __forceinline__ void take4(State* s, const float4& v) {
  take(s[0], v.x); take(s[1], v.y); take(s[2], v.z); take(s[3], v.w);
}
__device__ __forceinline__ State moved(State s, int by) {
  return {__shfl_xor_sync(~0u, s.a, by), __shfl_xor_sync(~0u, s.b, by)};
}
__device__ __forceinline__ State of_peer(const State* mine, int rank) {
  unsigned here = (unsigned)__cvta_generic_to_shared(mine), there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  State s;
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];" : "=f"(s.a), "=f"(s.b) : "r"(there));
  return s;
}
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Blocks of a group meet at a counter that only grows.
__device__ __forceinline__ void group_barrier(unsigned* counter, unsigned until) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1u);
    unsigned seen, asked = 0;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    } while ((int)(seen - until) < 0 && ++asked < 1u << 22);
  }
  __syncthreads();
}

// --- a group of blocks holds a slab: ROWS x (4 ACROSS4) elements a block, NR float4 of a thread in
// registers and NS in shared memory. ACROSS: the slab is one row, so that all its columns meet.
// CLUSTER: the group is a cluster, else blocks that meet through memory.
#ifdef HOLD
extern __shared__ float4 kept[];
#if CLUSTER
#define TOGETHER __cluster_dims__(GROUP, 1, 1)
#else
#define TOGETHER
#endif
extern "C" __global__ void TOGETHER __launch_bounds__(THREADS) hold(
    const float* __restrict__ in, float* __restrict__ out, float2* scratch, unsigned* counters,
    int rows, int columns, long long slab_step, int slabs) {
  constexpr int ACROSS4 = ACROSS ? THREADS : WIDTH / 4;
  constexpr int STEP = THREADS / ACROSS4, WARPS = THREADS / 32;
  constexpr int LOCAL = ACROSS ? 1 : WIDTH;
  __shared__ State meet[WARPS * (ACROSS ? 1 : (WIDTH < 128 ? WIDTH : 128))];
  __shared__ State mine[LOCAL], all[LOCAL];
  int t = threadIdx.x, rank = blockIdx.x % GROUP, group = blockIdx.x / GROUP;
  int groups = gridDim.x / GROUP;
  int c = t % ACROSS4, r0 = t / ACROSS4, lane = t % 32, warp = t / 32;
  float total = ACROSS ? (float)GROUP * (NR + NS) * THREADS * 4 : (float)rows;
  for (int slab = group, turn = 0; slab < slabs; slab += groups, ++turn) {
    const float* from = in + slab * slab_step;
    float* to = out + slab * slab_step;
    long long first = ACROSS ? (long long)rank * (NR + NS) * THREADS * 4 + 4 * t
                             : ((long long)rank * (NR + NS) * STEP + r0) * columns + 4 * c;
    long long step = ACROSS ? 4LL * THREADS : (long long)STEP * columns;
    float4 held[NR];
#pragma unroll
    for (int k = 0; k < NR; ++k) held[k] = __ldcs((const float4*)(from + first + k * step));
#pragma unroll 8
    for (int k = 0; k < NS; ++k)
      kept[k * THREADS + t] = __ldcs((const float4*)(from + first + (NR + k) * step));
    State s[4] = {neutral(), neutral(), neutral(), neutral()};
#if OP == 0
#pragma unroll
    for (int k = 0; k < NR; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j) s[j].a = fmaxf(s[j].a, part(held[k], j));
#pragma unroll 8
    for (int k = 0; k < NS; ++k) {
      float4 v = kept[k * THREADS + t];
#pragma unroll
      for (int j = 0; j < 4; ++j) s[j].a = fmaxf(s[j].a, part(v, j));
    }
#pragma unroll
    for (int k = 0; k < NR; ++k)
#pragma unroll
      for (int j = 0; j < 4; ++j) s[j].b += exponential(part(held[k], j) - s[j].a);
#pragma unroll 8
    for (int k = 0; k < NS; ++k) {
      float4 v = kept[k * THREADS + t];
#pragma unroll
      for (int j = 0; j < 4; ++j) s[j].b += exponential(part(v, j) - s[j].a);
    }
#else
#pragma unroll
    for (int k = 0; k < NR; ++k) take4(s, held[k]);
#pragma unroll 8
    for (int k = 0; k < NS; ++k) take4(s, kept[k * THREADS + t]);
#endif
    if (ACROSS) {
      s[0] = met(met(s[0], s[1]), met(s[2], s[3]));
#pragma unroll
      for (int by = 16; by; by /= 2) s[0] = met(s[0], moved(s[0], by));
      if (lane == 0) meet[warp] = s[0];
      __syncthreads();
      if (t == 0) {
        State x = meet[0];
        for (int w = 1; w < WARPS; ++w) x = met(x, meet[w]);
        mine[0] = x;
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int by = 16; by >= ACROSS4; by /= 2) s[j] = met(s[j], moved(s[j], by));
        if (lane < ACROSS4) meet[warp * WIDTH + 4 * lane + j] = s[j];
      }
      __syncthreads();
      if (t < WIDTH) {
        State x = meet[t];
        for (int w = 1; w < WARPS; ++w) x = met(x, meet[w * WIDTH + t]);
        mine[t] = x;
      }
    }
#if CLUSTER
    cluster_barrier();
    if (t < LOCAL) {
      State x = of_peer(mine + t, 0);
      for (int k = 1; k < GROUP; ++k) x = met(x, of_peer(mine + t, k));
      all[t] = ready(x, total);
    }
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    __syncthreads();
#else
    __syncthreads();
    float2* board = scratch + ((turn & 1) * (long long)gridDim.x + group * GROUP) * LOCAL;
    if (t < LOCAL) board[rank * LOCAL + t] = {mine[t].a, mine[t].b};
    group_barrier(counters + group, (turn + 1) * GROUP);
    if (t < LOCAL) {
      State x = neutral();
#pragma unroll 8
      for (int k = 0; k < GROUP; ++k) {
        float2 p = __ldcg(board + k * LOCAL + t);
        x = met(x, {p.x, p.y});
      }
      all[t] = ready(x, total);
    }
    __syncthreads();
#endif
    State done[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) done[j] = all[ACROSS ? 0 : 4 * c + j];
#pragma unroll
    for (int k = 0; k < NR; ++k)
      __stcs((float4*)(to + first + k * step), applied4(done, held[k]));
#pragma unroll 8
    for (int k = 0; k < NS; ++k)
      __stcs((float4*)(to + first + (NR + k) * step), applied4(done, kept[k * THREADS + t]));
#if CLUSTER
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  }
#if !CLUSTER
  if (t == 0) {
    unsigned left = atomicAdd(counters + 4096 + group, 1u);
    if (left == GROUP - 1) counters[group] = counters[4096 + group] = 0;
  }
#endif
}
#endif

// --- two reads: phases over slabs. A slab of columns or a row is read by all blocks of a group,
// which meet, and read again backwards, from the second cache where it was small enough. For sums
// the last block to come joins what all left.
#ifdef TWICE
extern "C" __global__ void __launch_bounds__(THREADS) twice(
    const float* __restrict__ in, float* __restrict__ out, float2* scratch, unsigned* counters,
    int rows, int columns, long long slab_step, int slabs) {
  constexpr int ACROSS4 = ACROSS ? THREADS : WIDTH / 4;
  constexpr int STEP = THREADS / ACROSS4, WARPS = THREADS / 32;
  constexpr int LOCAL = ACROSS ? 1 : WIDTH;
  __shared__ State meet[WARPS * (ACROSS ? 1 : (WIDTH < 128 ? WIDTH : 128))];
  __shared__ State all[LOCAL];
  __shared__ unsigned came;
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int c = t % ACROSS4, r0 = t / ACROSS4;
  int group = blockIdx.x / GROUP, rank = blockIdx.x % GROUP, groups = gridDim.x / GROUP;
  for (int slab = group, turn = 0; slab < slabs; slab += groups, ++turn) {
    const float* from = in + slab * slab_step;
    float* to = out + slab * slab_step;
    long long count = ACROSS ? columns / (4 * THREADS) : rows / STEP;
    long long low = count * rank / GROUP, high = count * (rank + 1) / GROUP;
    long long step = ACROSS ? 4LL * THREADS : (long long)STEP * columns;
    long long first = ACROSS ? 4 * t : (long long)r0 * columns + 4 * c;
    State s[4] = {neutral(), neutral(), neutral(), neutral()};
    long long k = low;
    for (; k + DEEP <= high; k += DEEP) {
      float4 v[DEEP];
#pragma unroll
      for (int j = 0; j < DEEP; ++j) v[j] = *(const float4*)(from + first + (k + j) * step);
#if OP == 0
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float m = s[i].a;
#pragma unroll
        for (int j = 0; j < DEEP; ++j) m = fmaxf(m, part(v[j], i));
        s[i].b *= exponential(s[i].a - m);
        s[i].a = m;
#pragma unroll
        for (int j = 0; j < DEEP; ++j) s[i].b += exponential(part(v[j], i) - m);
      }
#else
#pragma unroll
      for (int j = 0; j < DEEP; ++j) take4(s, v[j]);
#endif
    }
    for (; k < high; ++k) take4(s, *(const float4*)(from + first + k * step));
    float2* board = scratch + ((turn & 1) * (long long)gridDim.x + group * GROUP) * LOCAL;
    if (ACROSS) {
      s[0] = met(met(s[0], s[1]), met(s[2], s[3]));
#pragma unroll
      for (int by = 16; by; by /= 2) s[0] = met(s[0], moved(s[0], by));
      if (lane == 0) meet[warp] = s[0];
      __syncthreads();
      if (t == 0) {
        State x = meet[0];
        for (int w = 1; w < WARPS; ++w) x = met(x, meet[w]);
        board[rank] = {x.a, x.b};
      }
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int by = 16; by >= ACROSS4; by /= 2) s[j] = met(s[j], moved(s[j], by));
        if (lane < ACROSS4) meet[warp * WIDTH + 4 * lane + j] = s[j];
      }
      __syncthreads();
      if (t < WIDTH) {
        State x = meet[t];
        for (int w = 1; w < WARPS; ++w) x = met(x, meet[w * WIDTH + t]);
        board[rank * LOCAL + t] = {x.a, x.b};
      }
    }
#if OP == 2
    __threadfence();
    __syncthreads();
    if (t == 0) came = atomicAdd(counters + slab, 1u);
    __syncthreads();
    if (came == GROUP - 1) {
      if (ACROSS) {
        if (warp == 0) {
          float x = 0;
          for (int b = lane; b < GROUP; b += 32) x += __ldcg(&board[b].x);
          for (int by = 16; by; by /= 2) x += __shfl_xor_sync(~0u, x, by);
          if (lane == 0) out[slab] = x;
        }
      } else if (t < WIDTH) {
        float x = 0;
        for (int b = 0; b < GROUP; ++b) x += __ldcg(&board[b * LOCAL + t].x);
        out[slab * WIDTH + t] = x;
      }
      if (t == 0) counters[slab] = 0;
    }
#else
    group_barrier(counters + group, (turn + 1) * GROUP);
    if (t < LOCAL) {
      State x = neutral();
#pragma unroll 8
      for (int b = 0; b < GROUP; ++b) {
        float2 p = __ldcg(board + b * LOCAL + t);
        x = met(x, {p.x, p.y});
      }
      all[t] = ready(x, ACROSS ? (float)columns : (float)rows);
    }
    __syncthreads();
    State done[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) done[j] = all[ACROSS ? 0 : 4 * c + j];
    for (k = high; k - DEEP >= low; k -= DEEP) {
      float4 v[DEEP];
#pragma unroll
      for (int j = 0; j < DEEP; ++j)
        v[j] = __ldcs((const float4*)(from + first + (k - 1 - j) * step));
#pragma unroll
      for (int j = 0; j < DEEP; ++j)
        __stcs((float4*)(to + first + (k - 1 - j) * step), applied4(done, v[j]));
    }
    for (; k > low; --k)
      __stcs((float4*)(to + first + (k - 1) * step),
             applied4(done, *(const float4*)(from + first + (k - 1) * step)));
    __syncthreads();
#endif
  }
#if OP != 2
  if (t == 0) {
    unsigned left = atomicAdd(counters + 4096 + group, 1u);
    if (left == GROUP - 1) counters[group] = counters[4096 + group] = 0;
  }
#endif
}
#endif
"""


def compiler() -> ctypes.CDLL:
    """NVRTC, wherever a package has brought it."""
    names = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    found = importlib.util.find_spec("nvidia")
    for place in (found.submodule_search_locations or []) if found else []:
        names += sorted(str(p) for p in Path(place).glob("**/libnvrtc.so*"))
    for name in reversed(names):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")


def image_of(defines: dict[str, int], architecture: str = "sm_90a") -> bytes:
    """The machine code of the text with some definitions."""
    nvrtc = compiler()
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), FREE.encode(), b"free.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}".encode()]
    options += [f"-D{k}={v}".encode() for k, v in defines.items()]
    given = (ctypes.c_char_p * len(options))(*options)
    status = nvrtc.nvrtcCompileProgram(program, len(options), given)
    size = ctypes.c_size_t()
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise ValueError(f"{defines}: {log.value.decode()[:600]}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    image = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, image)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return image.raw


class Free:
    """A free kernel in one shape."""

    def __init__(self, kind: str, op: int, shape: tuple[int, int], axis: int, form: Form) -> None:
        width, group, threads, registers, shared = form[:5]
        cluster = kind == "cluster"
        across = axis == 1
        defines = {"OP": op, "THREADS": threads, "WIDTH": width, "GROUP": group}
        defines |= {"ACROSS": int(across), "CLUSTER": int(cluster), "DEEP": registers}
        defines |= {"NR": registers, "NS": shared}
        defines["TWICE" if kind in ("twice", "sum") else "HOLD"] = 1
        on = gpu()
        driver = on.driver
        self.name = f"{kind} {form}"
        module = check(driver.cuModuleLoadData(image_of(defines)))
        entry = b"twice" if kind in ("twice", "sum") else b"hold"
        self.function = check(driver.cuModuleGetFunction(module, entry))
        self.bytes = 0 if kind in ("twice", "sum") else shared * threads * 16
        attribute = driver.CUfunction_attribute
        if self.bytes:
            most = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(self.function, most, self.bytes))
        if cluster and group > 8:
            wide = attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
            check(driver.cuFuncSetAttribute(self.function, wide, 1))
        rows, columns = shape
        self.slabs = rows if across else columns // width
        blocks = check(
            driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(self.function, threads, self.bytes)
        )
        at_once = self.slabs if cluster or kind == "sum" else MULTIPROCESSORS * blocks // group
        self.name += f" {blocks} a multiprocessor"
        if at_once == 0:
            raise ValueError(f"{self.name}: a group does not fit")
        self.grid = group * min(self.slabs, at_once)
        self.threads = threads
        step = columns if across else width
        self.integers = (ctypes.c_int * 2)(rows, columns)
        self.step = ctypes.c_longlong(step)
        self.count = ctypes.c_int(self.slabs)

    def run(self, addresses: list[int]) -> None:
        on = gpu()
        held = (ctypes.c_uint64 * 4)(*addresses)
        start, pair = ctypes.addressof(held), ctypes.addressof(self.integers)
        places = [start, start + 8, start + 16, start + 24, pair, pair + 4]
        places += [ctypes.addressof(self.step), ctypes.addressof(self.count)]
        pointers = (ctypes.c_void_p * 8)(*places)
        size = (self.grid, 1, 1, self.threads, 1, 1, self.bytes)
        status = on.launch(int(self.function), *size, int(on.stream), ctypes.addressof(pointers), 0)
        if status:
            raise ValueError(f"{self.name}: the launch gives status {status}")


def forms(shape: tuple[int, int], axis: int, summed: bool) -> list[tuple[str, Form]]:
    rows, columns = shape
    found: list[tuple[str, Form]] = []
    if axis == 1 and summed:
        parts = (128, 256) if rows == 1 else (16, 32)
        return [("sum", (4, g, 256, 4, 0)) for g in parts]
    if axis == 1 and columns < MILLION:
        found += [("cluster", (4, 16, 256, 8, 0)), ("cluster", (4, 8, 512, 8, 0))]
        found += [("group", (4, 16, 256, 8, 0)), ("twice", (4, 16, 256, 4, 0))]
        return [*found, ("twice", (4, 8, 512, 4, 0))]
    if axis == 1:
        found += [("cluster", (4, 16, 512, 16, 16)), ("twice", (4, 16, 1024, 4, 0))]
        if rows == 1:
            found += [("group", (4, 64, 1024, 4, 0)), ("group", (4, 128, 512, 4, 0))]
        else:
            found += [("group", (4, 16, 1024, 8, 8)), ("twice", (4, 32, 512, 4, 0))]
            found += [("twice", (4, 64, 512, 4, 0))]
        return found
    if summed:
        groups = {4096: [8, 16], 65536: [32, 64], MILLION: [264, 528]}[rows]
        return [("sum", (64, g, t, 8, 0)) for g in groups for t in (256, 512)]
    if rows == 4096:
        found += [("cluster", (32, 8, 512, 8, 0)), ("cluster", (32, 8, 512, 4, 4))]
        found += [("cluster", (32, 16, 256, 8, 0)), ("cluster", (16, 8, 256, 8, 0))]
        found += [("group", (32, 8, 512, 8, 0)), ("twice", (32, 16, 256, 4, 0))]
    elif rows == 65536:
        found += [("cluster", (8, 16, 512, 16, 0)), ("cluster", (16, 16, 1024, 8, 8))]
        found += [("group", (32, 64, 512, 8, 8)), ("group", (16, 32, 512, 8, 8))]
        found += [("twice", (64, 132, 512, 4, 0)), ("twice", (128, 264, 512, 4, 0))]
    else:
        found += [("twice", (64, 264, 512, d, 0)) for d in (4, 8)]
        found += [("twice", (16, 264, 512, 4, 0)), ("twice", (64, 132, 512, 8, 0))]
    return found


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x: Any, axis: int) -> Any:
    mean = x.mean(axis=axis, keepdims=True)
    spread = ((x - mean) ** 2).mean(axis=axis, keepdims=True)
    return (x - mean) / np.sqrt(spread + 1e-5)


def summed(x: Any, axis: int) -> Any:
    return x.sum(axis=axis)


OPS: list[Callable[..., Any]] = [softmax, layer_norm, summed]


def captured(run: Callable[[], None], launches: int) -> Callable[[], None]:
    on = gpu()
    driver = on.driver
    mode = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    check(driver.cuStreamBeginCapture(on.stream, mode))
    try:
        for _ in range(launches):
            run()
    finally:
        graph = check(driver.cuStreamEndCapture(on.stream))
    ready = check(driver.cuGraphInstantiate(graph, 0))
    return lambda: check(driver.cuGraphLaunch(ready, on.stream))


def seconds_of(run: Callable[[], None], launches: int, rounds: int = ROUNDS) -> float:
    """Median seconds of one of the launches of a graph."""
    on = gpu()
    driver = on.driver
    first, last = (check(driver.cuEventCreate(0)) for _ in range(2))
    times = []
    for _ in range(rounds):
        check(driver.cuEventRecord(first, on.stream))
        run()
        check(driver.cuEventRecord(last, on.stream))
        check(driver.cuEventSynchronize(last))
        times.append(float(check(driver.cuEventElapsedTime(first, last))) * 1e-3 / launches)
    return statistics.median(times)


class Case:
    """One program on one shape: pyc's, the free kernels', torch's and the copy's seconds."""

    def __init__(self, torch: Any, op: int, shape: tuple[int, int], axis: int) -> None:
        self.torch, self.op, self.shape, self.axis = torch, op, shape, axis
        self.on = gpu()
        size = shape[0] * shape[1]
        self.x = torch.randn(shape, device="cuda")
        results = size if op != 2 else size // shape[axis]
        self.out = torch.empty(results, device="cuda")
        self.expected = self._torch(self.x).reshape(-1)
        self.scratch = torch.zeros(SCRATCH // 4, device="cuda")
        self.counters = torch.zeros(1 << 14, device="cuda", dtype=torch.int32)
        torch.cuda.synchronize()
        self.moved = 4 * (size + results)
        self.launches = 20 if self.moved < 1 << 27 else 4

    def _torch(self, x: Any) -> Any:
        torch, axis = self.torch, self.axis
        if self.op == 0:
            return torch.softmax(x, axis)
        if self.op == 2:
            return x.sum(axis)
        if axis == 1:
            return torch.nn.functional.layer_norm(x, (x.shape[1],), eps=1e-5)
        return layer_norm_of(torch, x, axis)

    def _right(self) -> bool:
        self.on.synchronize()
        bound = 2e-2 if self.op == 2 else 1e-3
        ok = bool(self.torch.allclose(self.out, self.expected, rtol=bound, atol=bound))
        self.out.fill_(float("nan"))
        self.torch.cuda.synchronize()
        return ok

    def _timed(self, run: Callable[[], None], graph: bool = True) -> float:
        """Median seconds; without a graph where the host is much faster than the device."""

        def repeated() -> None:
            for _ in range(self.launches):
                run()

        again = captured(run, self.launches) if graph else repeated
        again()
        return seconds_of(again, self.launches)

    def copy(self) -> float:
        """Seconds of a copy that moves the same bytes."""
        half = self.moved // 2
        target, source = self.expected, self.x
        if self.op == 2:
            target = self.torch.empty(half // 4, device="cuda")
        if target.numel() * 4 < half:
            target = self.torch.empty(half // 4 + 4, device="cuda")
        to, at = target.data_ptr(), source.data_ptr()
        if self.op != 2:
            to = self.out.data_ptr()
        return self._timed(lambda: self.on.copy(to, at, half), self.launches > 4)

    def pyc(self) -> tuple[float, int]:
        function, axis = OPS[self.op], self.axis
        made = pyc.jit(lambda x: function(x, axis)).trace(np.empty(self.shape, np.float32))
        _, program = load(plan(optimise(made.graph), self.on.target).plan, self.on)
        given = [self.x.data_ptr()], [self.out.data_ptr()]
        program(*given)
        if not self._right():
            raise ValueError("pyc's result is wrong")
        run = self._timed(lambda: program(*given), self.launches > 4)
        return run, len(program.launches)

    def free(self) -> dict[str, float | str]:
        times: dict[str, float | str] = {}
        held = (self.x, self.out, self.scratch, self.counters)
        addresses = [t.data_ptr() for t in held]
        for kind, form in forms(self.shape, self.axis, self.op == 2):
            name = f"{kind} {form}"
            try:
                kernel = Free(kind, self.op, self.shape, self.axis, form)
                name = kernel.name
                kernel.run(addresses)
                if not self._right():
                    times[name] = "wrong"
                    continue
                times[name] = self._timed(lambda kernel=kernel: kernel.run(addresses))
            except Exception as error:
                times[name] = f"{type(error).__name__}: {error}"[:300]
        return times

    def peer(self, function: Callable[[Any], Any]) -> float:
        torch = self.torch
        function(self.x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(self.launches):
                function(self.x)
        stream = torch.cuda.ExternalStream(int(self.on.stream))

        def replay() -> None:
            with torch.cuda.stream(stream):
                graph.replay()

        replay()
        return seconds_of(replay, self.launches, 5)


def layer_norm_of(torch: Any, x: Any, axis: int) -> Any:
    spread, mean = torch.var_mean(x, axis, correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(spread + 1e-5)


CASES: list[tuple[int, tuple[int, int], int]] = [
    *((0, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
    *((op, s, 1) for op in (0, 1) for s in ((256, 1 << 17), *((r, MILLION) for r in (1, 8, 64)))),
    *((1, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
    *((2, (r, MILLION), 1) for r in (1, 8, 64)),
    *((2, s, 0) for s in ((4096, 4096), (65536, 4096), (MILLION, 64))),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results there")
    parser.add_argument("--seconds", type=float, default=600, help="start no case after these")
    parser.add_argument("--compile", action="store_true", help="torch.compile too")
    options = parser.parse_args()
    config.update("cache", "off")
    torch = importlib.import_module("torch")
    begun = time.monotonic()
    report: dict[str, Any] = {
        "device": gpu().name,
        "target": gpu().target.id,
        "host": platform.processor() or platform.machine(),
        "torch": torch.__version__,
        "cases": [],
    }
    for op, shape, axis in CASES:
        if time.monotonic() - begun > options.seconds:
            break
        row: dict[str, Any] = {"program": OPS[op].__name__, "shape": shape, "axis": axis}
        try:
            case = Case(torch, op, shape, axis)
            row["copy us"] = 1e6 * case.copy()
            seconds, row["kernels"] = case.pyc()
            row["pyc us"] = 1e6 * seconds
            row["torch us"] = 1e6 * case.peer(case._torch)
            if options.compile:
                row["torch.compile us"] = 1e6 * case.peer(torch.compile(case._torch))
            row["free us"] = {
                k: 1e6 * v if isinstance(v, float) else v for k, v in case.free().items()
            }
            best = min(v for v in row["free us"].values() if isinstance(v, float))
            row["best free us"] = best
            row["pyc over the best free"] = row["pyc us"] / best
            row["share of the copy"] = row["copy us"] / row["pyc us"]
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:400]
        print(json.dumps(row), f"{time.monotonic() - begun:.1f} s", flush=True)
        report["cases"].append(row)
        case = None  # type: ignore[assignment]
        torch.cuda.empty_cache()
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
