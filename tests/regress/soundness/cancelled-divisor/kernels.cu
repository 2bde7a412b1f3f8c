// x * x / x is x except at zero, where it is 0/0; in the guarded form there is no exception.

extern "C" __global__ void quotient(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] / x[i];
}

extern "C" __global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}

extern "C" __global__ void guarded(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] == 0.0f ? 0.0f : x[i] * x[i] / x[i];
}

extern "C" __global__ void guarded_with_one(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] == 0.0f ? 1.0f : x[i] * x[i] / x[i];
}
