// A convolution whose pixels come by im2col maps, one place of the filter at a time.
struct __align__(64) Map {
  char bytes[128];
};

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

constexpr int kPixels = 16, kChannels = 4;

template <bool kSwapped>
__device__ void convolve(const Map* x, const float* w, float* y, int count, int height, int width,
                         int step) {
  __shared__ alignas(128) float pixels[kPixels * kChannels];
  __shared__ alignas(8) unsigned long long full;
  const int t = threadIdx.x, first = blockIdx.x * kPixels;
  const int q = first % width, p = first / width % height, n = first / width / height;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  float sum = 0.0f;
  int turn = 0;
#pragma unroll 1
  for (int r = 0; r < 3; ++r)
#pragma unroll 1
    for (int s = 0; s < 3; ++s, ++turn) {
      __syncthreads();
      if (t == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                         shared_address(&full)),
                     "r"(static_cast<unsigned>(sizeof pixels))
                     : "memory");
        asm volatile(
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
            "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(shared_address(pixels)),
            "l"(x), "r"(0), "r"(step * q - 1), "r"(step * p - 1), "r"(n),
            "r"(shared_address(&full)), "h"(static_cast<short>(kSwapped ? r : s)),
            "h"(static_cast<short>(kSwapped ? s : r))
            : "memory");
      }
      unsigned ok = 0;
      while (!ok)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(ok)
            : "r"(shared_address(&full)), "r"(turn & 1)
            : "memory");
      for (int c = 0; c < kChannels; ++c)
        sum += pixels[t * kChannels + c] * w[(r * 3 + s) * kChannels + c];
    }
  if (first + t < count) y[first + t] = sum;
}

extern "C" __global__ void convolution(const __grid_constant__ Map x, const float* w, float* y,
                                       int count, int height, int width, int step) {
  convolve<false>(&x, w, y, count, height, width, step);
}
// Rows and columns of the filter are exchanged.
extern "C" __global__ void convolution_swapped(const __grid_constant__ Map x, const float* w,
                                               float* y, int count, int height, int width,
                                               int step) {
  convolve<true>(&x, w, y, count, height, width, step);
}

extern "C" __global__ void convolution_plain(const float* x, const float* w, float* y, int count,
                                             int height, int width, int step, int x_height,
                                             int x_width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int q = i % width, p = i / width % height, n = i / width / height;
  float sum = 0.0f;
  for (int r = 0; r < 3; ++r)
    for (int s = 0; s < 3; ++s) {
      const int h = step * p - 1 + r, v = step * q - 1 + s;
      if (h < 0 || h >= x_height || v < 0 || v >= x_width) continue;
      for (int c = 0; c < kChannels; ++c)
        sum += x[((n * x_height + h) * x_width + v) * kChannels + c] * w[(r * 3 + s) * kChannels + c];
    }
  y[i] = sum;
}
