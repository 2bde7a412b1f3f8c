// Small differences beside many literals.

extern "C" __global__ void mixed(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = 0.1f * x + 0.2f * z + 0.3f * w + 0.7f * (x * z) + 0.9f * (z * w);
}

extern "C" __global__ void mixed_more(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = 0.1f * x + 0.2f * z + 0.3f * w + 0.7f * (x * z) + 0.9f * (z * w) + 1e-7f * w;
}

extern "C" __global__ void mixed_regrouped(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = 0.9f * (z * w) + 0.7f * (z * x) + (0.3f * w + (0.2f * z + 0.1f * x));
}

extern "C" __global__ void polynomial(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = ((((1.061405429f * x - 1.453152027f) * x + 1.421413741f) * x - 0.284496736f) * x + 0.254829592f) * x;
}

extern "C" __global__ void polynomial_more(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = ((((1.061405429f * x - 1.453152027f) * x + 1.421413741f) * x - 0.284496736f) * x + 0.254829592f) * x + 1e-6f * z;
}

extern "C" __global__ void polynomial_powers(const float* px, const float* pz, const float* pw, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = px[i];
  const float z = pz[i];
  const float w = pw[i];
  y[i] = 1.061405429f * x * x * x * x * x - 1.453152027f * x * x * x * x + 1.421413741f * x * x * x - 0.284496736f * x * x + 0.254829592f * x;
}
