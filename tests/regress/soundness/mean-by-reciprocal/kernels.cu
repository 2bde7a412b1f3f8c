// Means of ten and of eight values, by division and by a product with the reciprocal.

extern "C" __global__ void divide(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += x[threadIdx.x * n + j];
  y[threadIdx.x] = s / (float)n;
}

extern "C" __global__ void times_tenth(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += x[threadIdx.x * n + j];
  y[threadIdx.x] = s * (1.0f / 10.0f);
}

extern "C" __global__ void times_eighth(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += x[threadIdx.x * n + j] * 0.125f;
  y[threadIdx.x] = s;
}

extern "C" __global__ void divide_by_one_less(const float* x, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += x[threadIdx.x * n + j];
  y[threadIdx.x] = s / (float)(n - 1);
}

extern "C" __global__ void running(const float* x, float* y, int n) {
  float m = 0.0f;
  for (int j = 0; j < n; ++j) m += (x[threadIdx.x * n + j] - m) / (float)(j + 1);
  y[threadIdx.x] = m;
}
