// Assertions and traps that depend on data, beside the same without them.
#undef NDEBUG
#include <cassert>

extern "C" __global__ void gather_asserted(const float* x, const int* at, float* y, int n) {
  const int i = at[threadIdx.x];
  // expect: uninitialized-read @ next line
  assert(i >= 0 && i < n);
  y[threadIdx.x] = x[i];
}

extern "C" __global__ void gather_clamped(const float* x, const int* at, float* y, int n) {
  const int i = at[threadIdx.x];
  y[threadIdx.x] = x[i < 0 ? 0 : i < n ? i : n - 1];
}

extern "C" __global__ void root_trapped(const float* x, float* y) {
  const float v = x[threadIdx.x];
  // expect: uninitialized-read @ next line
  if (v < 0.0f) __trap();
  y[threadIdx.x] = sqrtf(v) + 1.0f;
}

extern "C" __global__ void root(const float* x, float* y) {
  const float v = x[threadIdx.x];
  y[threadIdx.x] = sqrtf(v < 0.0f ? 0.0f : v) + 1.0f;
}

// The assertion stands in a branch on data, before a barrier, and only one arm goes on.
extern "C" __global__ void sum_asserted(const float* x, float* y, int n) {
  __shared__ float part[32];
  float v = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  if (v > 2.0f) {
    // expect: uninitialized-read @ next line
    if (v > 8.0f) __trap();
    v = 2.0f;
  }
  part[threadIdx.x] = v;
  __syncthreads();
  for (int step = 16; step; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) *y = part[0];
}

extern "C" __global__ void sum(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += x[i] > 2.0f ? 2.0f : x[i];
  *y = s;
}

// As before, but the arm that goes on is another one.
extern "C" __global__ void sum_of_others(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += x[i] > 2.0f ? x[i] : 2.0f;
  *y = s;
}
