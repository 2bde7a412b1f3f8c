// Half precision, plain and packed in pairs.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void pairs(const __half2* x, const __half2* z, __half2* y) {
  const int t = threadIdx.x;
  y[t] = __hfma2(x[t], z[t], __hadd2(x[t], x[t]));
}

extern "C" __global__ void singly(const __half* x, const __half* z, __half* y) {
  const int t = threadIdx.x;
  y[t] = __float2half(__half2float(x[t]) * (__half2float(z[t]) + 2.0f));
}

extern "C" __global__ void pairs_swapped(const __half2* x, const __half2* z, __half2* y) {
  const int t = threadIdx.x;
  y[t] = __hfma2(x[t], __lowhigh2highlow(z[t]), __hadd2(x[t], x[t]));
}

extern "C" __global__ void brain(const __nv_bfloat16* x, float* y) {
  const int t = threadIdx.x;
  y[t] = __bfloat162float(x[t]) * 0.5f;
}

// A bfloat16 is the upper half of a float.
extern "C" __global__ void brain_bits(const unsigned short* x, float* y) {
  const int t = threadIdx.x;
  y[t] = __uint_as_float((unsigned)x[t] << 16) / 2.0f;
}
