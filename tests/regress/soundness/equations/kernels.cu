// Swish with its slope as written, and with the slope's hard form; both scaled by a weight.
extern "C" __global__ void swish(const float* x, const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = w[i] * x[i] / (1.0f + exp2f(-x[i]));
}

extern "C" __global__ void hard_swish(const float* x, const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * fminf(fmaxf(x[i] * 0.25f + 0.5f, 0.0f), 1.0f) * w[i];
}

// Something of its own beside it.
extern "C" __global__ void hard_swish_shifted(const float* x, const float* w, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * fminf(fmaxf(x[i] * 0.25f + 0.5f, 0.0f), 1.0f) * w[i] + 0.01f * w[i];
}
