// Variables of module scope: scratch memory between launches, a counter, tables, constants that the host sets.
#define BLOCK 32

__device__ float scratch[128];
__device__ double wide[128];
__device__ float parts[4];
__device__ unsigned int arrived;
__device__ float scale[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__constant__ float taps[5];
namespace filter {
__constant__ int shift;
}

__device__ int index() { return blockIdx.x * BLOCK + threadIdx.x; }

extern "C" __global__ void fill(const float* x) { scratch[index()] = 2.0f * x[index()]; }
extern "C" __global__ void take(float* y) { y[index()] = scratch[index()]; }
extern "C" __global__ void take_next(float* y) { y[index()] = scratch[(index() + 1) % 128]; }
extern "C" __global__ void fill_wide(const float* x) { wide[index()] = x[index()]; }
extern "C" __global__ void take_wide(float* y) { y[index()] = (float)(wide[index()] * 2.0); }
extern "C" __global__ void twice(const float* x, float* y) { y[index()] = x[index()] + x[index()]; }
// Reads what no launch has written: zero.
extern "C" __global__ void add_scratch(const float* x, float* y) { y[index()] = 2.0f * x[index()] + scratch[index()]; }
// expect: out-of-bounds-write @ next line
extern "C" __global__ void fill_beyond(const float* x) { scratch[index() + 1] = 2.0f * x[index()]; }
// expect: global-race @ next line
extern "C" __global__ void fill_one(const float* x) { scratch[threadIdx.x] = 2.0f * x[index()]; }

// The last block to arrive adds what all have left.
template <bool kFence>
__device__ void sum_blocks(const float* x, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float part = 0.0f;
    for (int i = 0; i < BLOCK; ++i) part += x[blockIdx.x * BLOCK + i];
    parts[blockIdx.x] = part;
    if (kFence) __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  if (kFence) __threadfence();
  float sum = 0.0f;
  for (int b = 0; b < gridDim.x; ++b) sum += parts[b];
  y[0] = sum;
}
extern "C" __global__ void sum_fenced(const float* x, float* y) { sum_blocks<true>(x, y); }
extern "C" __global__ void sum_unfenced(const float* x, float* y) { sum_blocks<false>(x, y); }
extern "C" __global__ void sum_plain(const float* x, float* y) {
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int i = 0; i < 128; ++i) sum += x[i];
  y[0] = sum;
}

extern "C" __global__ void double_scale() {
  if (threadIdx.x < 4) scale[threadIdx.x] *= 2.0f;
}
extern "C" __global__ void apply_scale(const float* x, float* y) { y[index()] = x[index()] * scale[threadIdx.x % 4]; }
extern "C" __global__ void apply_powers(const float* x, float* y) {
  y[index()] = x[index()] * (float)(2 << (threadIdx.x % 4));
}

extern "C" __global__ void filter_constant(const float* x, float* y) {
  float sum = 0.0f;
  for (int k = 0; k < 5; ++k) {
    int at = index() + k - 2;
    if (at >= 0 && at < 128) sum += taps[k] * x[at];
  }
  y[index()] = sum + (float)filter::shift;
}
extern "C" __global__ void filter_argument(const float* x, const float* taps, const int* shift, float* y) {
  float sum = (float)shift[0];
  for (int k = 4; k >= 0; --k) {
    int at = index() + k - 2;
    if (at >= 0 && at < 128) sum += x[at] * taps[k];
  }
  y[index()] = sum;
}
extern "C" __global__ void filter_reversed(const float* x, const float* taps, const int* shift, float* y) {
  float sum = (float)shift[0];
  for (int k = 4; k >= 0; --k) {
    int at = index() + k - 2;
    if (at >= 0 && at < 128) sum += x[at] * taps[4 - k];
  }
  y[index()] = sum;
}
