// Softmax of rows with masked entries: a row in which everything is masked is 0/0 unless it is
// guarded.

extern "C" __global__ void unguarded(const float* x, const int* keep, float* y, int n) {
  const int r = threadIdx.x;
  float top = -INFINITY;
  for (int j = 0; j < n; ++j) top = fmaxf(top, keep[r * n + j] ? x[r * n + j] : -INFINITY);
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) sum += __expf((keep[r * n + j] ? x[r * n + j] : -INFINITY) - top);
  for (int j = 0; j < n; ++j)
    // expect: uninitialized-read @ next line
    y[r * n + j] = __expf((keep[r * n + j] ? x[r * n + j] : -INFINITY) - top) / sum;
}

extern "C" __global__ void guarded(const float* x, const int* keep, float* y, int n) {
  const int r = threadIdx.x;
  float top = -INFINITY;
  for (int j = 0; j < n; ++j) top = fmaxf(top, keep[r * n + j] ? x[r * n + j] : -INFINITY);
  const bool none = top == -INFINITY;
  float sum = 0.0f;
  for (int j = 0; j < n; ++j)
    sum += none ? 0.0f : __expf((keep[r * n + j] ? x[r * n + j] : -INFINITY) - top);
  for (int j = 0; j < n; ++j) {
    const float e = none ? 0.0f : __expf((keep[r * n + j] ? x[r * n + j] : -INFINITY) - top);
    y[r * n + j] = none ? 0.0f : e / sum;
  }
}

// No maximum is subtracted, and masked entries are left out of the sum.
extern "C" __global__ void counted(const float* x, const int* keep, float* y, int n) {
  const int r = threadIdx.x;
  float sum = 0.0f;
  int kept = 0;
  for (int j = 0; j < n; ++j)
    if (keep[r * n + j]) {
      sum += __expf(x[r * n + j]);
      kept += 1;
    }
  for (int j = 0; j < n; ++j) {
    const float e = keep[r * n + j] ? __expf(x[r * n + j]) : 0.0f;
    y[r * n + j] = kept > 0 ? e / sum : 0.0f;
  }
}
