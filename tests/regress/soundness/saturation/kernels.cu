// Clamps to [0, 1] by minimum, maximum and select.

extern "C" __global__ void clamp(const float* x, const float* z, float* y) {
  y[threadIdx.x] = fminf(fmaxf(x[threadIdx.x], 0.0f), 1.0f);
}

extern "C" __global__ void clamp_sum(const float* x, const float* z, float* y) {
  const float s = z[threadIdx.x] + x[threadIdx.x];
  y[threadIdx.x] = s < 0.0f ? 0.0f : s < 1.0f ? s : 1.0f;
}

extern "C" __global__ void clamp_product(const float* x, const float* z, float* y) {
  y[threadIdx.x] = fmaxf(fminf(z[threadIdx.x] * x[threadIdx.x], 1.0f), 0.0f);
}

extern "C" __global__ void clamp_fma(const float* x, const float* z, float* y) {
  y[threadIdx.x] = fmaxf(fminf((x[threadIdx.x] + 1.0f) * z[threadIdx.x], 1.0f), 0.0f);
}
