// Divisions and roots in their precise, fast and double forms.

extern "C" __global__ void precise(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 1.0f / (v * v + 1.0f);
}

extern "C" __global__ void fast(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __fdividef(1.0f, v * v + 1.0f);
}

extern "C" __global__ void reciprocal(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __frcp_rn(1.0f + v * v);
}

extern "C" __global__ void in_double(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = (float)(1.0 / ((double)v * v + 1.0));
}

extern "C" __global__ void root(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = rsqrtf(v * v + 1.0f);
}

extern "C" __global__ void precise_root(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 1.0f / sqrtf(v * v + 1.0f);
}

extern "C" __global__ void root_in_double(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = (float)rsqrt((double)v * v + 1.0);
}
