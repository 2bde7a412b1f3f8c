// Sums and histograms over a cluster, in the shared memory of all its blocks.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Each block of the cluster adds up a part of the row; the first one adds the parts.
template <int kFrom, bool kStays>
__device__ void cluster_row_sum(const float* x, float* y, int n) {
  __shared__ float part[32], total;
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  const int row = blockIdx.x / blocks, t = threadIdx.x;
  float sum = 0.0f;
  for (int k = rank * blockDim.x + t; k < n; k += blocks * blockDim.x) sum += x[row * n + k];
  part[t] = sum;
  __syncthreads();
  for (int half = 16; half; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) total = part[0];
  cluster.sync();
  if (rank == 0 && t == 0) {
    float all = 0.0f;
    for (unsigned other = kFrom; other < blocks; ++other)
      all += *cluster.map_shared_rank(&total, other);
    y[row] = all;
  }
  if (kStays) cluster.sync();
}

extern "C" __global__ void row_sum(const float* x, float* y, int n) {
  cluster_row_sum<0, true>(x, y, n);
}
// The first block's part is left out.
extern "C" __global__ void row_sum_part(const float* x, float* y, int n) {
  cluster_row_sum<1, true>(x, y, n);
}
extern "C" __global__ void row_sum_exits(const float* x, float* y, int n) {
  cluster_row_sum<0, false>(x, y, n);
}
extern "C" __global__ void __cluster_dims__(2, 1, 1)
    row_sum_of_two(const float* x, float* y, int n) {
  cluster_row_sum<0, true>(x, y, n);
}

extern "C" __global__ void row_sum_plain(const float* x, float* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += x[row * n + k];
  y[row] = sum;
}

// The bins lie in the shared memory of all blocks of the cluster, so many in each.
template <bool kMeets, bool kOwn>
__device__ void cluster_histogram(const int* x, int* bins, int count, int per_block) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  for (int k = threadIdx.x; k < per_block; k += blockDim.x) mine[k] = 0;
  if (kMeets)
    cluster.sync();
  else
    __syncthreads();
  const int first = blockIdx.x / cluster.num_blocks() * count;
  for (int k = rank * blockDim.x + threadIdx.x; k < count; k += cluster.num_threads()) {
    const int bin = x[first + k];
    const int of = kOwn ? rank : bin / per_block;
    atomicAdd(cluster.map_shared_rank(mine, of) + bin % per_block, 1);
  }
  cluster.sync();
  for (int k = threadIdx.x; k < per_block; k += blockDim.x)
    bins[blockIdx.x * per_block + k] = mine[k];
}

extern "C" __global__ void histogram(const int* x, int* bins, int count, int per_block) {
  cluster_histogram<true, false>(x, bins, count, per_block);
}
extern "C" __global__ void histogram_unmet(const int* x, int* bins, int count, int per_block) {
  cluster_histogram<false, false>(x, bins, count, per_block);
}
extern "C" __global__ void histogram_own(const int* x, int* bins, int count, int per_block) {
  cluster_histogram<true, true>(x, bins, count, per_block);
}

extern "C" __global__ void histogram_plain(const int* x, int* bins, int count, int all) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, part = i / all, bin = i % all;
  int found = 0;
  for (int k = 0; k < count; ++k) found += x[part * count + k] == bin;
  bins[i] = found;
}

// Two dimensions of blocks, registers of the cluster, and a barrier in two halves.
extern "C" __global__ void __cluster_dims__(2, 2, 1) transpose(const float* x, float* y, int n) {
  __shared__ float tile[8][8];
  cg::cluster_group cluster = cg::this_cluster();
  const dim3 at = cluster.block_index(), size = cluster.dim_blocks();
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[row * n + column];
  cluster.barrier_arrive();
  const unsigned other = at.x * size.x + at.y;  // (y, x) of the cluster
  cluster.barrier_wait();
  const float* from = cluster.map_shared_rank(&tile[0][0], other);
  // The whole grid is the transpose of clusters too.
  const int to_row = (blockIdx.x - at.x + at.y) * 8 + threadIdx.y;
  const int to_column = (blockIdx.y - at.y + at.x) * 8 + threadIdx.x;
  y[to_row * n + to_column] = from[threadIdx.x * 8 + threadIdx.y];
  cluster.sync();
}

extern "C" __global__ void transpose_plain(const float* x, float* y, int n) {
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  y[row * n + column] = x[column * n + row];
}

// Every thread of the cluster arrives at an mbarrier of the first block, which waits for `count`.
__device__ void gather(const float* x, float* y, int count) {
  __shared__ float all[64];
  __shared__ unsigned long long bar;
  const unsigned barrier = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (rank == 0 && t == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
  cluster.sync();
  cluster.map_shared_rank(all, 0)[rank * 32 + t] = x[i];
  asm volatile(
      "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, 0; "
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(barrier)
      : "memory");
  if (rank == 0) {
    unsigned done = 0;
    while (!done)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; "
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(barrier)
          : "memory");
    y[blockIdx.x / 2 * 32 + t] = all[t] + all[t + 32];
  }
  cluster.sync();
}

extern "C" __global__ void gathered(const float* x, float* y) { gather(x, y, 64); }
// One more than there are threads.
extern "C" __global__ void gathered_one_missing(const float* x, float* y) { gather(x, y, 65); }

extern "C" __global__ void gathered_plain(const float* x, float* y) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  y[blockIdx.x * 32 + threadIdx.x] = x[i] + x[i + 32];
}
