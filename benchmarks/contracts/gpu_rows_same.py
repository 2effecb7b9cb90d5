"""Kernels in CUDA C with pyc's algorithm, in any order: two reductions, the second of which needs
the first. What `gpu_rows` compiles beside `gpu_rows_free`, to tell what the order of reduction
costs from what the algorithm does. Nothing else reads this text.
"""

from benchmarks.contracts.gpu_rows_free import COMMON

SAME = (
    COMMON
    + r"""
// (a, b): maximum and sum of exponentials, or mean and root of the variance. PHASE 0
// finds a, PHASE 1 finds b from it.
template <int PHASE> __device__ __forceinline__ State begin(State done) {
  if (PHASE) return {done.a, 0.0f};
  return {OP == 0 ? -1e30f : 0.0f, 0.0f};
}
template <int PHASE> __device__ __forceinline__ void take(State& s, float v) {
  if (PHASE == 0) s.a = OP == 0 ? fmaxf(s.a, v) : s.a + v;
  else if (OP == 0) s.b += exponential(v - s.a);
  else { float away = v - s.a; s.b += away * away; }
}
template <int PHASE> __device__ __forceinline__ State met(State x, State y) {
  if (PHASE) return {x.a, x.b + y.b};
  return {OP == 0 ? fmaxf(x.a, y.a) : x.a + y.a, 0.0f};
}
template <int PHASE> __device__ __forceinline__ State ready(State s, float n) {
  if (OP == 0) return s;
  if (PHASE) return {s.a, __fsqrt_rn(s.b / n + 1e-5f)};
  return {s.a / n, 0.0f};
}
template <int PHASE> __device__ __forceinline__ void take4(State* s, const float4& v) {
  take<PHASE>(s[0], v.x); take<PHASE>(s[1], v.y); take<PHASE>(s[2], v.z); take<PHASE>(s[3], v.w);
}
constexpr int ACROSS4 = ACROSS ? THREADS : WIDTH / 4;
constexpr int STEP = THREADS / ACROSS4, WARPS = THREADS / 32;
constexpr int LOCAL = ACROSS ? 1 : WIDTH;
constexpr int MEET = WARPS * (ACROSS ? 1 : (WIDTH < 128 ? WIDTH : 128));
// What all blocks of a group found, for each column of the slab, in `all`. number: of the meeting.
template <int PHASE> __device__ __forceinline__ void together(
    State* s, State* meet, State* mine, State* all, float2* scratch, unsigned* counters,
    int number, float total) {
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int rank = blockIdx.x % GROUP, group = blockIdx.x / GROUP;
#if CLUSTER
  if (number) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
  if (ACROSS) {
    s[0] = met<PHASE>(met<PHASE>(s[0], s[1]), met<PHASE>(s[2], s[3]));
#pragma unroll
    for (int by = 16; by; by /= 2) s[0] = met<PHASE>(s[0], moved(s[0], by));
    if (lane == 0) meet[warp] = s[0];
    __syncthreads();
    if (t == 0) {
      State x = meet[0];
      for (int w = 1; w < WARPS; ++w) x = met<PHASE>(x, meet[w]);
      mine[0] = x;
    }
  } else {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
#pragma unroll
      for (int by = 16; by >= ACROSS4; by /= 2) s[j] = met<PHASE>(s[j], moved(s[j], by));
      if (lane < ACROSS4) meet[warp * WIDTH + 4 * lane + j] = s[j];
    }
    __syncthreads();
    if (t < WIDTH) {
      State x = meet[t];
      for (int w = 1; w < WARPS; ++w) x = met<PHASE>(x, meet[w * WIDTH + t]);
      mine[t] = x;
    }
  }
#if CLUSTER
  cluster_barrier();
  if (t < LOCAL) {
    State x = of_peer(mine + t, 0);
    for (int k = 1; k < GROUP; ++k) x = met<PHASE>(x, of_peer(mine + t, k));
    all[t] = ready<PHASE>(x, total);
  }
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  __syncthreads();
#else
  __syncthreads();
  float2* board = scratch + ((number & 1) * (long long)gridDim.x + group * GROUP) * LOCAL;
  if (t < LOCAL) board[rank * LOCAL + t] = {mine[t].a, mine[t].b};
  group_barrier(counters + group, (number + 1) * GROUP);
  if (t < LOCAL) {
    float2 p = __ldcg(board + t);
    State x = {p.x, p.y};
#pragma unroll 8
    for (int k = 1; k < GROUP; ++k) {
      p = __ldcg(board + k * LOCAL + t);
      x = met<PHASE>(x, {p.x, p.y});
    }
    all[t] = ready<PHASE>(x, total);
  }
  __syncthreads();
#endif
}
__device__ __forceinline__ void leave(unsigned* counters) {
#if CLUSTER
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  int group = blockIdx.x / GROUP;
  if (threadIdx.x == 0) {
    unsigned left = atomicAdd(counters + 4096 + group, 1u);
    if (left == GROUP - 1) counters[group] = counters[4096 + group] = 0;
  }
#endif
}

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
  __shared__ State meet[MEET], mine[LOCAL], all[LOCAL];
  int t = threadIdx.x, c = t % ACROSS4, r0 = t / ACROSS4;
  int rank = blockIdx.x % GROUP, group = blockIdx.x / GROUP, groups = gridDim.x / GROUP;
  float total = ACROSS ? (float)GROUP * (NR + NS) * THREADS * 4 : (float)rows;
  int number = 0;
  for (int slab = group; slab < slabs; slab += groups) {
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
    State s[4], done[4];
#define OVER(PHASE)                                                                   \
  _Pragma("unroll") for (int j = 0; j < 4; ++j) s[j] = begin<PHASE>(done[j]);         \
  _Pragma("unroll") for (int k = 0; k < NR; ++k) take4<PHASE>(s, held[k]);            \
  _Pragma("unroll 8") for (int k = 0; k < NS; ++k) take4<PHASE>(s, kept[k * THREADS + t]); \
  together<PHASE>(s, meet, mine, all, scratch, counters, number++, total);           \
  _Pragma("unroll") for (int j = 0; j < 4; ++j) done[j] = all[ACROSS ? 0 : 4 * c + j];
    OVER(0)
    OVER(1)
#pragma unroll
    for (int k = 0; k < NR; ++k)
      __stcs((float4*)(to + first + k * step), applied4(done, held[k]));
#pragma unroll 8
    for (int k = 0; k < NS; ++k)
      __stcs((float4*)(to + first + (NR + k) * step), applied4(done, kept[k * THREADS + t]));
  }
  leave(counters);
}
#endif

// --- three reads, the second one backwards
#ifdef TWICE
extern "C" __global__ void __launch_bounds__(THREADS) twice(
    const float* __restrict__ in, float* __restrict__ out, float2* scratch, unsigned* counters,
    int rows, int columns, long long slab_step, int slabs) {
  __shared__ State meet[MEET], mine[LOCAL], all[LOCAL];
  int t = threadIdx.x, c = t % ACROSS4, r0 = t / ACROSS4;
  int rank = blockIdx.x % GROUP, group = blockIdx.x / GROUP, groups = gridDim.x / GROUP;
  float total = ACROSS ? (float)columns : (float)rows;
  int number = 0;
  for (int slab = group; slab < slabs; slab += groups) {
    const float* from = in + slab * slab_step;
    float* to = out + slab * slab_step;
    long long count = ACROSS ? columns / (4 * THREADS) : rows / STEP;
    long long low = count * rank / GROUP, high = count * (rank + 1) / GROUP;
    long long step = ACROSS ? 4LL * THREADS : (long long)STEP * columns;
    long long first = ACROSS ? 4 * t : (long long)r0 * columns + 4 * c;
    State s[4], done[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) s[j] = begin<0>(s[j]);
    long long k = low;
    for (; k + DEEP <= high; k += DEEP) {
      float4 v[DEEP];
#pragma unroll
      for (int j = 0; j < DEEP; ++j) v[j] = *(const float4*)(from + first + (k + j) * step);
#pragma unroll
      for (int j = 0; j < DEEP; ++j) take4<0>(s, v[j]);
    }
    for (; k < high; ++k) take4<0>(s, *(const float4*)(from + first + k * step));
    together<0>(s, meet, mine, all, scratch, counters, number++, total);
#pragma unroll
    for (int j = 0; j < 4; ++j) s[j] = begin<1>(all[ACROSS ? 0 : 4 * c + j]);
    for (k = high; k - DEEP >= low; k -= DEEP) {
      float4 v[DEEP];
#pragma unroll
      for (int j = 0; j < DEEP; ++j) v[j] = *(const float4*)(from + first + (k - 1 - j) * step);
#pragma unroll
      for (int j = 0; j < DEEP; ++j) take4<1>(s, v[j]);
    }
    for (; k > low; --k) take4<1>(s, *(const float4*)(from + first + (k - 1) * step));
    together<1>(s, meet, mine, all, scratch, counters, number++, total);
#pragma unroll
    for (int j = 0; j < 4; ++j) done[j] = all[ACROSS ? 0 : 4 * c + j];
    for (k = low; k + DEEP <= high; k += DEEP) {
      float4 v[DEEP];
#pragma unroll
      for (int j = 0; j < DEEP; ++j) v[j] = __ldcs((const float4*)(from + first + (k + j) * step));
#pragma unroll
      for (int j = 0; j < DEEP; ++j)
        __stcs((float4*)(to + first + (k + j) * step), applied4(done, v[j]));
    }
    for (; k < high; ++k)
      __stcs((float4*)(to + first + k * step),
             applied4(done, *(const float4*)(from + first + k * step)));
    __syncthreads();
  }
  leave(counters);
}
#endif
"""
)
