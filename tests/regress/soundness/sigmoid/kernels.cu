// The logistic function in several forms.

extern "C" __global__ void direct(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 1.0f / (1.0f + __expf(-v));
}

extern "C" __global__ void by_exp(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __expf(v) / (__expf(v) + 1.0f);
}

extern "C" __global__ void one_minus(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 1.0f - 1.0f / (1.0f + __expf(v));
}

extern "C" __global__ void stable(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v >= 0.0f ? 1.0f / (1.0f + __expf(-v)) : __expf(v) / (1.0f + __expf(v));
}

extern "C" __global__ void sign_lost(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 1.0f / (1.0f + __expf(v));
}

extern "C" __global__ void swish(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v / (1.0f + __expf(-v));
}

extern "C" __global__ void swish_by_factor(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v * (1.0f / (1.0f + __expf(-v)));
}

extern "C" __global__ void swish_by_exp(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v * __expf(v) * __frcp_rn(1.0f + __expf(v));
}
