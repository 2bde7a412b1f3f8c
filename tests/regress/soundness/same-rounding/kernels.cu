// Several threads or blocks store one value at one place: equal over the reals, the same bits only if it was computed
// in the same way.
#include <cuda_fp16.h>

extern "C" __global__ void narrowed_by_half(const float* x, float* y) {
  __shared__ float s;
  float v = x[0];
  if (threadIdx.x < 32) v = __half2float(__float2half(v));
  // expect: shared-race @ next line
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void narrowed(const float* x, float* y) {
  __shared__ float s;
  const float v = __half2float(__float2half(x[0]));
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void plain(const float* x, float* y) { y[threadIdx.x] = x[0]; }

extern "C" __global__ void product_in_two_ways(const float* x, float* y) {
  __shared__ float s;
  const float v = threadIdx.x < 32 ? x[0] * 3.0f * 5.0f : x[0] * 15.0f;
  // expect: shared-race @ next line
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void product_in_one_way(const float* x, float* y) {
  __shared__ float s;
  float v = x[0] * 3.0f * 5.0f;
  if (threadIdx.x >= 32) v = x[0] * 3.0f * 5.0f;
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void product(const float* x, float* y) { y[threadIdx.x] = x[0] * 15.0f; }

// To the nearest integer, which rounding on the way may move.
extern "C" __global__ void integer_in_two_ways(const float* x, int* y) {
  __shared__ int s;
  const float v = threadIdx.x < 32 ? x[0] * 3.0f * 5.0f : x[0] * 15.0f;
  // expect: shared-race @ next line
  s = __float2int_rn(v);
  __syncthreads();
  y[threadIdx.x] = s;
}

// Each lane adds what its partner adds in the other order, which is the same sum.
extern "C" __global__ void sum_of_all_lanes(const float* x, float* y) {
  __shared__ float s;
  float v = x[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void sum_of_one_lane(const float* x, float* y) {
  __shared__ float s;
  float v = x[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x == 0) s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

// Each lane weighs what it has and what its partner has: m + (o - m) / 2 or o + (m - o) / 2.
extern "C" __global__ void mean_of_all_lanes(const float* x, float* y) {
  __shared__ float s;
  float v = x[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) {
    const float other = __shfl_xor_sync(~0u, v, o);
    v = v + (other - v) * 0.5f;
  }
  // expect: shared-race @ next line
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

// Data decides which of two arms a thread takes, and all take the same.
extern "C" __global__ void chosen_by_data(const float* x, float* y) {
  __shared__ float s;
  float v = x[0] * 3.0f;
  if (x[0] > 1.0f) v = v * 5.0f + 0.1f;
  s = v;
  __syncthreads();
  y[threadIdx.x] = s;
}

extern "C" __global__ void chosen_by_data_once(const float* x, float* y) {
  float v = x[0] * 3.0f;
  if (x[0] > 1.0f) v = v * 5.0f + 0.1f;
  y[threadIdx.x] = v;
}

extern "C" __global__ void narrowed_by_blocks(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (blockIdx.x == 0) v = __half2float(__float2half(v));
  // expect: global-race @ next line
  y[threadIdx.x] = v;
}

extern "C" __global__ void narrowed_by_all_blocks(const float* x, float* y) {
  y[threadIdx.x] = __half2float(__float2half(x[threadIdx.x]));
}

extern "C" __global__ void copied(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

// All blocks of a row store the same to it.
extern "C" __global__ void row_by_columns(const float* x, float* y) {
  const float* r = x + 2 * blockIdx.y;
  if (threadIdx.x == 0) y[blockIdx.y] = r[0] * 0.3f + r[1] * 0.7f;
}

// The second column rounds once, the first one twice.
extern "C" __global__ void row_in_two_ways(const float* x, float* y) {
  const float r = x[2 * blockIdx.y];
  const float v = blockIdx.x & 1 ? r * 15.0f : r * 3.0f * 5.0f;
  // expect: global-race @ next line
  if (threadIdx.x == 0) y[blockIdx.y] = v;
}

// Each block begins elsewhere.
extern "C" __global__ void largest_rotated(const float* x, float* y) {
  const int b = blockIdx.x;
  float m = x[b];
  for (int k = 1; k < 3; ++k) m = fmaxf(m, x[(b + k) % 3]);
  if (threadIdx.x == 0) y[0] = m;
}

extern "C" __global__ void largest_of_others(const float* x, float* y) {
  const int b = blockIdx.x;
  float m = x[(b + 1) % 3];
  m = fmaxf(m, x[(b + 2) % 3]);
  // expect: global-race @ next line
  if (threadIdx.x == 0) y[0] = m;
}

extern "C" __global__ void largest(const float* x, float* y) { y[0] = fmaxf(fmaxf(x[0], x[1]), x[2]); }

// Blocks that store a value and the same rounded, both under one condition on data.
extern "C" __global__ void rounded_by_block(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (blockIdx.x == 1) v = __half2float(__float2half(v));
  // expect: global-race @ next line
  if (x[40] > 0) y[threadIdx.x] = v;
}
extern "C" __global__ void unrounded(const float* x, float* y) {
  if (x[40] > 0) y[threadIdx.x] = x[threadIdx.x];
}
