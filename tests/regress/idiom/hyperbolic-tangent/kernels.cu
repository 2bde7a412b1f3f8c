// The hyperbolic tangent by the library, by exponentials and by the logistic function.

extern "C" __global__ void library(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = tanhf(v);
}

extern "C" __global__ void by_exp(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = (__expf(v) - __expf(-v)) / (__expf(v) + __expf(-v));
}

extern "C" __global__ void by_logistic(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 2.0f / (1.0f + __expf(-2.0f * v)) - 1.0f;
}

extern "C" __global__ void by_logistic_wrong(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 2.0f / (1.0f + __expf(-v)) - 1.0f;
}
