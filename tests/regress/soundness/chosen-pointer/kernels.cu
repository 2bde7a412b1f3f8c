// A choice between two values.

extern "C" __global__ void chosen_value(const float* a, const float* b, const float* c, float* y) {
  const int t = threadIdx.x;
  y[t] = c[t] > 0.0f ? a[t] : b[t];
}

extern "C" __global__ void other_value(const float* a, const float* b, const float* c, float* y) {
  const int t = threadIdx.x;
  y[t] = c[t] >= 0.0f ? a[t] : b[t];
}
