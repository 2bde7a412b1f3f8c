// A product by a warpgroup that fetches boxes and one that multiplies them, alone and in a cluster
// whose blocks share the boxes of B.
#include <cuda_fp16.h>

struct __align__(64) Map {
  char bytes[128];
};

enum Defect { kNone, kParity, kEarlyRelease, kNoSignal };
enum Scope { kNamed, kUnnamed };

constexpr int kStages = 2, kTile = 64 * 64;

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

template <Scope kScope>
__device__ void arrive(unsigned barrier, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(rank));
  if (kScope == kNamed)
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there)
                 : "memory");
  else
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
}

template <Scope kScope>
__device__ void wait(unsigned barrier, int parity) {
  unsigned done = 0;
  while (!done)
    if (kScope == kNamed)
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; "
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    else
      asm volatile(
          "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
          "selp.u32 %0, 1, 0, p; }"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
}

__device__ void load(unsigned to, const Map* map, int column, int row, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

__device__ void load_for_all(unsigned to, const Map* map, int column, int row, unsigned barrier,
                             int blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(column), "r"(row), "r"(barrier), "h"(static_cast<short>((1 << blocks) - 1))
      : "memory");
}

__device__ void multiply(float (&sum)[32], unsigned a, unsigned b) {
  for (int part = 0; part < 4; ++part) {
    // 8 rows of 128 bytes, swizzled.
    const unsigned long long form = 1ull << 62 | 64ull << 32 | 1ull << 16;
    const unsigned long long da = form | (a + 32 * part) >> 4 & 0x3fff,
                             db = form | (b + 32 * part) >> 4 & 0x3fff;
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, "
        "%9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, "
        "%27, %28, %29, %30, %31}, %32, %33, 1, 1, 1, 0, 0;"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]),
          "+f"(sum[6]), "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]),
          "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]),
          "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
          "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]),
          "+f"(sum[30]), "+f"(sum[31])
        : "l"(da), "l"(db));
  }
}

// C = A * B by tiles of 64 x 64, A by rows and B by columns. The blocks of a cluster have rows of
// tiles below each other, and the first one fetches B for all.
template <int kDefect, Scope kScope, int kBlocks>
__device__ void product(const Map* a, const Map* b, float* c, int m, int n, int k) {
  __shared__ alignas(1024) __half sa[kStages][kTile];
  __shared__ alignas(1024) __half sb[kStages][kTile];
  __shared__ alignas(8) unsigned long long full[kStages], empty[kStages];
  const unsigned rank = kBlocks > 1 ? __clusterRelativeBlockRank() : 0;
  const int t = threadIdx.x, group = t / 128, row = 64 * blockIdx.y, column = 64 * blockIdx.x;
  const int turns = (k + 63) / 64;
  if (t == 0) {
    for (int s = 0; s < kStages; ++s) {
      init(shared_address(&full[s]), 1);
      init(shared_address(&empty[s]), kDefect != kNoSignal && rank == 0 ? 4 * kBlocks : 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (kBlocks > 1) {
    // Enough for the barriers, which the fence releases.
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }
  __syncthreads();
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (t == 0)
      for (int turn = 0; turn < turns; ++turn) {
        const int s = turn % kStages;
        const unsigned barrier = shared_address(&full[s]);
        wait<kScope>(shared_address(&empty[s]), turn / kStages & 1 ^ (kDefect != kParity));
        expect(barrier, 2 * kTile * 2);
        load(shared_address(sa[s]), a, 64 * turn, row, barrier);
        if (kBlocks == 1)
          load(shared_address(sb[s]), b, 64 * turn, column, barrier);
        else if (rank == 0)
          load_for_all(shared_address(sb[s]), b, 64 * turn, column, barrier, kBlocks);
      }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum[32] = {};
    for (int turn = 0; turn < turns; ++turn) {
      const int s = turn % kStages;
      wait<kScope>(shared_address(&full[s]), turn / kStages & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      multiply(sum, shared_address(sa[s]), shared_address(sb[s]));
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (kDefect != kEarlyRelease) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (t % 32 == 0) {
        arrive<kScope>(shared_address(&empty[s]), rank);
        if (kDefect != kNoSignal && rank > 0) arrive<kScope>(shared_address(&empty[s]), 0);
      }
      if (kDefect == kEarlyRelease) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    for (int i = 0; i < 32; ++i) {
      const int lane = t % 32, r = row + 16 * (t % 128 / 32) + lane / 4 + 8 * (i / 2 % 2);
      const int q = column + 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      if (r < m && q < n) c[r * n + q] = sum[i];
    }
  }
  if (kBlocks > 1) {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
}

#define PRODUCT(name, defect, scope, blocks)                                                     \
  extern "C" __global__ void __launch_bounds__(256)                                              \
      name(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c, int m, int n, \
           int k) {                                                                              \
    product<defect, scope, blocks>(&a, &b, c, m, n, k);                                          \
  }
PRODUCT(product_alone, kNone, kUnnamed, 1)
PRODUCT(product_parity, kParity, kUnnamed, 1)
PRODUCT(product_early_release, kEarlyRelease, kUnnamed, 1)
PRODUCT(product_cluster, kNone, kNamed, 2)
PRODUCT(product_cluster_unnamed, kNone, kUnnamed, 2)
PRODUCT(product_no_signal, kNoSignal, kNamed, 2)

extern "C" __global__ void product_plain(const __half* a, const __half* b, float* c, int m, int n,
                                         int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += __half2float(a[i / n * k + j]) * __half2float(b[i % n * k + j]);
  c[i] = sum;
}
