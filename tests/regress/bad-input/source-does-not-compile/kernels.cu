// A name that is not declared.

extern "C" __global__ void copy(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[undeclared] = x[threadIdx.x];
}
