// The same by substitution.

extern "C" __global__ void substituted(const float* x, float* y, int k) {
  const float v = x[threadIdx.x], c = (float)k;
  const float p = v * v * v + c * v;
  y[threadIdx.x] = k == 0 ? 5.0f : p * p * p + c * p;
}

extern "C" __global__ void applied_once(const float* x, float* y, int k) {
  const float v = x[threadIdx.x];
  y[threadIdx.x] = (v * v + (float)k) * v;
}
