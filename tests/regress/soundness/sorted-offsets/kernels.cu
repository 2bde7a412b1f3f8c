// Rows of free lengths: offsets that do not decrease.

extern "C" __global__ void row_sums(const float* x, const int* start, float* y) {
  float s = 0.0f;
  for (int i = start[threadIdx.x]; i < start[threadIdx.x + 1]; ++i) s += x[i];
  y[threadIdx.x] = s;
}

extern "C" __global__ void row_sums_by_mask(const float* x, const int* start, float* y, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i)
    s += i >= start[threadIdx.x] && i < start[threadIdx.x + 1] ? x[i] : 0.0f;
  y[threadIdx.x] = s;
}

extern "C" __global__ void row_sums_inclusive(const float* x, const int* start, float* y, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i)
    s += i >= start[threadIdx.x] && i <= start[threadIdx.x + 1] ? x[i] : 0.0f;
  y[threadIdx.x] = s;
}
