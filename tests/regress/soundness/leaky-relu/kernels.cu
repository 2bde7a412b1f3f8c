// A leaky relu in four forms, and two slips.

extern "C" __global__ void selected(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.0f ? v : 0.01f * v;
}

extern "C" __global__ void maximum(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fmaxf(v, 0.01f * v);
}

extern "C" __global__ void parts(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fmaxf(v, 0.0f) + 0.01f * fminf(v, 0.0f);
}

extern "C" __global__ void scaled(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v * (v < 0.0f ? 0.01f : 1.0f);
}

extern "C" __global__ void steep_selected(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.0f ? v : 1.5f * v;
}

extern "C" __global__ void steep_maximum(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fmaxf(v, 1.5f * v);
}

extern "C" __global__ void other_slope(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v > 0.0f ? v : 0.02f * v;
}

extern "C" __global__ void magnitude(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.505f * v + 0.495f * fabsf(v);
}
