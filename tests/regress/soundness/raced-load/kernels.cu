// Threads beyond the cells load what the owners of the cells store, in no order with it.

__device__ float load(const float* x) {
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x));
  return v;
}

extern "C" __global__ void doubled_surplus(float* x) {
  const int t = threadIdx.x;
  const float v = load(x + (t & 31));
  if (t < 32) x[t & 31] = 2.0f * v;
}

extern "C" __global__ void doubled(float* x) { x[threadIdx.x] = 2.0f * x[threadIdx.x]; }

// The same cells in shared memory; the last warp's sum is not stored.
extern "C" __global__ void shifted_surplus(float* x) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  const float v = ((volatile float*)s)[t ^ 32];
  if (t < 32) s[t] = v;
  __syncthreads();
  x[t] = s[t];
}

extern "C" __global__ void shifted(float* x) {
  const int t = threadIdx.x;
  const float v = x[t | 32];
  __syncthreads();
  x[t] = v;
}

extern "C" __global__ void surplus_stored(float* x, float* y) {
  const int t = threadIdx.x;
  // expect: global-race @ next line
  const float v = x[t & 31];
  // expect: global-race @ next line
  if (t < 32) x[t] = 2.0f * v;
  y[t] = v;
}

extern "C" __global__ void surplus_branches(float* x, float* y) {
  const int t = threadIdx.x;
  // expect: global-race @ next line
  const float v = x[t & 31];
  // expect: global-race @ next line
  if (t < 32) x[t] = 2.0f * v;
  if (v > 0.0f) y[t] = 1.0f;
}

// Half of a cell: what such a load gets is not even a value that was stored.
extern "C" __global__ void surplus_half(float* x) {
  const int t = threadIdx.x;
  if (t < 32) {
    x[t] = 2.0f * x[t];
  } else {
    unsigned short v;
    asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(x + (t & 31)));
  }
}

// The logarithm has branches, which only choose what registers hold.
__device__ float logarithm(float v) {
  float r = logf(v + 1.0f);
  if (v > 8.0f) r = r * r + v;
  return r;
}

extern "C" __global__ void surplus_logarithm(float* x) {
  const int t = threadIdx.x;
  const float r = logarithm(load(x + (t & 31)));
  if (t < 32) x[t] = r;
}

extern "C" __global__ void logarithms(float* x) { x[threadIdx.x] = logarithm(x[threadIdx.x]); }

extern "C" __global__ void surplus_logarithm_stored(float* x, float* y) {
  const int t = threadIdx.x;
  // expect: global-race @ next line
  const float v = x[t & 31];
  const float r = logarithm(v);
  // expect: global-race @ next line
  if (t < 32) x[t] = r;
  y[t] = r;
}

// One load, in the first turn beside the stores and in the second behind a warp barrier; the first value is dropped.
extern "C" __global__ void loaded_twice(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = 0.0f;
  __syncwarp();
  float v = 0.0f;
#pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    v = ((volatile float*)s)[31 - t];
    if (k == 0) {
      s[t] = x[t];
      __syncwarp();
    }
  }
  y[t] = v;
}

extern "C" __global__ void both_kept(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = 0.0f;
  __syncwarp();
  float v = 0.0f;
#pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    // expect: shared-race @ next line
    v += ((volatile float*)s)[31 - t];
    if (k == 0) {
      // expect: shared-race @ next line
      s[t] = x[t];
      __syncwarp();
    }
  }
  y[t] = v;
}

extern "C" __global__ void mirrored(const float* x, float* y) { y[threadIdx.x] = x[31 - threadIdx.x]; }
