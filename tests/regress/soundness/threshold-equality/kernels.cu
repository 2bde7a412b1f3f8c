// At or above a threshold, against above it: only equality tells them apart.

extern "C" __global__ void at_least(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v >= 0.5f ? v : 0.0f;
}

extern "C" __global__ void above(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.5f ? v : 0.0f;
}

extern "C" __global__ void not_below(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = !(v < 0.5f) ? v : 0.0f;
}

extern "C" __global__ void relu_at_least(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v >= 0.0f ? v : 0.0f;
}

extern "C" __global__ void relu_above(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.0f ? v : 0.0f;
}

extern "C" __global__ void relu_max(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fmaxf(v, 0.0f);
}

extern "C" __global__ void shrink_open(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.5f ? v - 0.5f : (v < -0.5f ? v + 0.5f : 0.0f);
}

extern "C" __global__ void shrink_closed(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v >= 0.5f ? v - 0.5f : (v <= -0.5f ? v + 0.5f : 0.0f);
}

extern "C" __global__ void step_open(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.25f ? 1.0f : 0.0f;
}

extern "C" __global__ void step_closed(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v < 0.25f ? 0.0f : 1.0f;
}
