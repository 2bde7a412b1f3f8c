// The library of 16-bit floats against the functions that it rounds.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_exp(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hexp(x[i]);
}

extern "C" __global__ void half_exp_single(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(__expf(__half2float(x[i])));
}

extern "C" __global__ void half_exp_off(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(exp2f(1.4427f * __half2float(x[i])));
}

extern "C" __global__ void half_exp_two(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hexp2(x[i]);
}

extern "C" __global__ void half_exp_two_single(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(exp2f(__half2float(x[i])));
}

extern "C" __global__ void half_log(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hlog(__habs(x[i]) + __float2half(1.0f));
}

extern "C" __global__ void half_log_single(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(logf(fabsf(__half2float(x[i])) + 1.0f));
}

extern "C" __global__ void half_sin(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hsin(x[i]);
}

extern "C" __global__ void half_sin_single(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(sinf(__half2float(x[i])));
}

extern "C" __global__ void half_cos_single(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2half(cosf(__half2float(x[i])));
}

extern "C" __global__ void half_pair_exp(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __high2half(h2exp(__halves2half2(__float2half(0.5f), x[i])));
}

extern "C" __global__ void bf16_exp(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hexp(x[i]);
}

extern "C" __global__ void bf16_exp_single(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(expf(__bfloat162float(x[i])));
}

extern "C" __global__ void bf16_exp_off(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(exp2f(1.4428f * __bfloat162float(x[i])));
}

extern "C" __global__ void bf16_sin(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hsin(x[i]);
}

extern "C" __global__ void bf16_sin_single(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(sinf(__bfloat162float(x[i])));
}
