// Reductions that start from minus infinity, from the most negative float, and from zero.
#include <cfloat>

template <int kind>
__device__ float start() {
  return kind == 0 ? -INFINITY : kind == 1 ? -FLT_MAX : 0.0f;
}

template <int kind>
__device__ void pool(const float* x, float* y, int n) {
  float top = start<kind>();
  for (int j = 0; j < n; ++j) top = fmaxf(top, x[threadIdx.x * n + j]);
  y[threadIdx.x] = top;
}

extern "C" __global__ void from_infinity(const float* x, float* y, int n) { pool<0>(x, y, n); }

extern "C" __global__ void from_lowest(const float* x, float* y, int n) { pool<1>(x, y, n); }

extern "C" __global__ void from_zero(const float* x, float* y, int n) { pool<2>(x, y, n); }

// exp(-inf) = 0, so masked entries add nothing.
extern "C" __global__ void masked_sum(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += __expf(j <= threadIdx.x ? x[threadIdx.x * n + j] : -INFINITY);
  y[threadIdx.x] = s;
}

extern "C" __global__ void short_sum(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j <= threadIdx.x; ++j) s += __expf(x[threadIdx.x * n + j]);
  y[threadIdx.x] = s;
}

// Zero times exp(inf): the mask multiplies instead of selecting.
extern "C" __global__ void multiplied_mask(const float* x, float* y, int n) {
  const float weight = threadIdx.x == 0 ? 0.0f : 1.0f, score = threadIdx.x == 0 ? INFINITY : 1.0f;
  // expect: uninitialized-read @ next line
  y[threadIdx.x] = x[threadIdx.x * n] + weight * score;
}

extern "C" __global__ void selected_mask(const float* x, float* y, int n) {
  y[threadIdx.x] = x[threadIdx.x * n] + (threadIdx.x == 0 ? 0.0f : 1.0f);
}
