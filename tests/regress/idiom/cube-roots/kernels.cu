// Cube roots of sizes.

extern "C" __global__ void cube_root_size(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = fabsf(cbrtf(x));
}

extern "C" __global__ void size_cube_root(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = cbrtf(fabsf(x));
}

extern "C" __global__ void power_third(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = powf(fabsf(x), 0.33333333f);
}

extern "C" __global__ void power_near_third(const float* px, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  y[i] = powf(fabsf(x), 0.333333f);
}
