// Boxes of a tensor brought to shared memory and back, and a product of such boxes by wgmma.
// kernels.ptx is made of this: nvcc -ptx -arch=sm_90a
#include <cuda.h>
#include <cuda_fp16.h>

enum Defect { kNone, kUnwaited, kMoreBytes, kNoProxyFence, kReused, kUnfinished, kEarlyLoad };

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void init(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void expect(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ void wait(unsigned barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra AGAIN;\n}"
      ::"r"(barrier), "r"(parity) : "memory");
}

__device__ void load(unsigned to, const CUtensorMap* map, int column, int row, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      ::"r"(to), "l"(map), "r"(column), "r"(row), "r"(barrier) : "memory");
}

__device__ void store(const CUtensorMap* map, int column, int row, unsigned from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
               ::"l"(map), "r"(column), "r"(row), "r"(from) : "memory");
}

// y = x + 1 by boxes of 8 rows of 16 floats, of which two stand side by side in the block's part.
template <int kDefect>
__device__ void shift(const CUtensorMap* x, const CUtensorMap* y) {
  __shared__ alignas(1024) float box[8 * 16];
  __shared__ alignas(8) unsigned long long full;
  const unsigned at = shared_address(box), barrier = shared_address(&full);
  const int t = threadIdx.x;
  if (t == 0) init(barrier, 1);
  __syncthreads();
  for (int half = 0; half < 2; ++half) {
    const int column = 32 * blockIdx.x + 16 * half, row = 8 * blockIdx.y;
    if (t == 0) {
      expect(barrier, kDefect == kMoreBytes ? 528 : 512);
      load(at, x, column, row, barrier);
    }
    if (kDefect != kUnwaited) wait(barrier, half);
    box[t] += 1;
    if (kDefect != kNoProxyFence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      store(y, column, row, at);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (kDefect != kReused) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#define SHIFT(name, defect)                                                                                         \
  extern "C" __global__ void name(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap y) {  \
    shift<defect>(&x, &y);                                                                                          \
  }
SHIFT(shift_boxes, kNone)
SHIFT(shift_unwaited, kUnwaited)
SHIFT(shift_more_bytes, kMoreBytes)
SHIFT(shift_no_fence, kNoProxyFence)
SHIFT(shift_reused, kReused)

extern "C" __global__ void shift_plain(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}

// Every second element of every third row.
extern "C" __global__ void stepped(const __grid_constant__ CUtensorMap x, float* y) {
  __shared__ alignas(1024) float box[4 * 8];
  __shared__ alignas(8) unsigned long long full;
  const unsigned barrier = shared_address(&full);
  if (threadIdx.x == 0) {
    init(barrier, 1);
    expect(barrier, sizeof box);
    load(shared_address(box), &x, 1, -3, barrier);
  }
  __syncthreads();
  wait(barrier, 0);
  y[threadIdx.x] = box[threadIdx.x];
}

extern "C" __global__ void stepped_plain(const float* x, float* y) {
  const int row = 3 * (threadIdx.x / 8) - 3, column = 1 + threadIdx.x % 8;
  y[threadIdx.x] = row >= 0 && row < 7 && column < 12 ? x[12 * row + column] : 0;
}

// C = A * B by tiles of 64 x 64; A by rows and B by columns, 64 halves of k at a time, two stages.
template <int kDefect>
__device__ void product(const CUtensorMap* a, const CUtensorMap* b, float* c, int m, int n, int k) {
  __shared__ alignas(1024) __half sa[2][64 * 64];
  __shared__ alignas(1024) __half sb[2][64 * 64];
  __shared__ alignas(8) unsigned long long full[2];
  const int t = threadIdx.x, row = 64 * blockIdx.y, column = 64 * blockIdx.x, turns = (k + 63) / 64;
  const auto fetch = [&](int turn) {
    const unsigned barrier = shared_address(&full[turn & 1]);
    expect(barrier, 16384);
    load(shared_address(sa[turn & 1]), a, 64 * turn, row, barrier);
    load(shared_address(sb[turn & 1]), b, 64 * turn, column, barrier);
  };
  if (t == 0) {
    init(shared_address(&full[0]), 1);
    init(shared_address(&full[1]), 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    fetch(0);
    if (turns > 1) fetch(1);
  }
  __syncthreads();
  float sum[32] = {};
  for (int turn = 0; turn < turns; ++turn) {
    wait(shared_address(&full[turn & 1]), turn >> 1 & 1);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int part = 0; part < 4; ++part) {
      // 8 rows of 128 bytes, swizzled.
      const unsigned long long form = 1ull << 62 | 64ull << 32 | 1ull << 16;
      const unsigned long long da = form | (shared_address(sa[turn & 1]) + 32 * part) >> 4 & 0x3fff,
                               db = form | (shared_address(sb[turn & 1]) + 32 * part) >> 4 & 0x3fff;
      asm volatile(
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
          "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, "
          "1, 1, 1, 0, 0;"
          : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
            "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
            "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),
            "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),
            "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
          : "l"(da), "l"(db));
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (kDefect == kEarlyLoad && t == 0 && turn + 2 < turns) fetch(turn + 2);
    if (kDefect != kUnfinished) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
    if (kDefect != kEarlyLoad && t == 0 && turn + 2 < turns) fetch(turn + 2);
  }
  for (int i = 0; i < 32; ++i) {
    const int r = row + 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), q = column + 8 * (i / 4) + 2 * (t % 4) + i % 2;
    if (r < m && q < n) c[r * n + q] = sum[i];
  }
}

#define PRODUCT(name, defect)                                                                                         \
  extern "C" __global__ void name(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,      \
                                  float* c, int m, int n, int k) {                                                    \
    product<defect>(&a, &b, c, m, n, k);                                                                              \
  }
PRODUCT(product_boxes, kNone)
PRODUCT(product_unfinished, kUnfinished)
PRODUCT(product_early_load, kEarlyLoad)

extern "C" __global__ void product_plain(const __half* a, const __half* b, float* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += __half2float(a[i / n * k + j]) * __half2float(b[i % n * k + j]);
  c[i] = sum;
}
