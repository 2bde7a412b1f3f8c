// A quotient with its zero divisor guarded: the guarded value is part of the function.

extern "C" __global__ void zero_where_no_quotient(const float* x, const float* d, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = d[i] == 0.0f ? 0.0f : x[i] / d[i];
}

extern "C" __global__ void seven_where_no_quotient(const float* x, const float* d, float* y,
                                                   int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = d[i] == 0.0f ? 7.0f : x[i] / d[i];
}

// The same function: reciprocal first, arms the other way round.
extern "C" __global__ void reciprocal_first(const float* x, const float* d, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = d[i] != 0.0f ? (1.0f / d[i]) * x[i] : 0.0f;
}

// Divides before it looks: the select drops the undefined quotient.
extern "C" __global__ void quotient_then_select(const float* x, const float* d, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float q = __fdiv_rn(x[i], d[i]);
  y[i] = d[i] < 0.0f || d[i] > 0.0f ? q : 0.0f;
}

extern "C" __global__ void unguarded(const float* x, const float* d, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[i] / d[i];
}
