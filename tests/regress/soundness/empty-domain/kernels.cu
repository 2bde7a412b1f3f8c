// A logarithm whose argument is negative for every real input: no input defines the cell.

__device__ float log2_approx(float v) {
  float r;
  asm("lg2.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

extern "C" __global__ void nowhere_defined(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = log2_approx(-1.0f - x[i] * x[i]);
}

extern "C" __global__ void copy(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void everywhere_defined(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = log2_approx(1.0f + x[i] * x[i]);
}

extern "C" __global__ void everywhere_defined_fma(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = log2_approx(__fmaf_rn(x[i], x[i], 1.0f));
}
