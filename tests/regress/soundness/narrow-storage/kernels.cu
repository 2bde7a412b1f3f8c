// Values pass through half precision in shared memory and in a workspace.
#include <cuda_fp16.h>

extern "C" __global__ void through_half(const float* x, float* y) {
  __shared__ __half s[32];
  s[threadIdx.x] = __float2half(x[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = 3.0f * __half2float(s[31 - threadIdx.x]);
}

extern "C" __global__ void to_half(const float* x, __half* w) {
  w[threadIdx.x] = __float2half(x[31 - threadIdx.x]);
}

extern "C" __global__ void from_half(const __half* w, float* y) {
  y[threadIdx.x] = __half2float(w[threadIdx.x]) * 3.0f;
}

extern "C" __global__ void direct(const float* x, float* y) {
  y[threadIdx.x] = 3.0f * x[31 - threadIdx.x];
}

extern "C" __global__ void bits_as_integer(const __half* w, float* y) {
  y[threadIdx.x] = (float)*reinterpret_cast<const unsigned short*>(w + threadIdx.x);
}
