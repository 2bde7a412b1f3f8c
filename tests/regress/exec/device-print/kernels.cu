// Kernels that print.
#include <cstdio>

extern "C" __global__ void scaled(const float* x, float* y, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i] * by;
  if (v > 100.0f) printf("%d is large: %f\n", i, v);
  if (i == 0) printf("scaled\n");
  y[i] = v;
}

// What printf returns is no function of the inputs.
extern "C" __global__ void counted(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + static_cast<float>(printf("%d\n", threadIdx.x));
}
