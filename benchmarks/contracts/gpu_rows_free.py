"""Kernels in CUDA C that may reduce in any order, with pyc's elementwise arithmetic: what
`gpu_rows` compiles, in many shapes, to compare pyc's schedules with. Nothing else reads this text.

Theirs are other algorithms, too: one pass for maximum and sum (online softmax), or for sum and sum
of squares, which loses digits where the mean is large. `gpu_rows_same` has pyc's two reductions.
"""

COMMON = r"""
// OP: 0 softmax, 1 layer norm, 2 sum. A state of a column or row is (a, b).
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
"""

FREE = (
    COMMON
    + r"""
// (a, b): the maximum and the sum of exponentials, the sum and the sum of squares, or the sum.
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
__device__ __forceinline__ void take4(State* s, const float4& v) {
  take(s[0], v.x); take(s[1], v.y); take(s[2], v.z); take(s[3], v.w);
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
)
