// Loads and stores at positions that the data give.

extern "C" __global__ void gather(const float* x, const int* at, float* y) {
  y[threadIdx.x] = x[at[threadIdx.x]];
}

extern "C" __global__ void gather_by_sum(const float* x, const int* at, float* y, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += at[threadIdx.x] == j ? x[j] : 0.0f;
  y[threadIdx.x] = s;
}

extern "C" __global__ void scatter(const float* x, const int* at, float* y) {
  // expect: global-race @ next line
  y[at[threadIdx.x]] = x[threadIdx.x];
}

extern "C" __global__ void scatter_add(const float* x, const int* at, float* y) {
  atomicAdd(y + at[threadIdx.x], x[threadIdx.x]);
}

extern "C" __global__ void collect(const float* x, const int* at, float* y, int n) {
  float s = y[threadIdx.x];
  for (int i = 0; i < n; ++i) s += at[i] == threadIdx.x ? x[i] : 0.0f;
  y[threadIdx.x] = s;
}

extern "C" __global__ void collect_last(const float* x, const int* at, float* y, int n) {
  for (int i = 0; i < n; ++i)
    if (at[i] == threadIdx.x) y[threadIdx.x] = x[i];
}

extern "C" __global__ void gather_guarded(const float* x, const int* at, float* y, int n) {
  const int i = at[threadIdx.x];
  y[threadIdx.x] = i >= 0 && i < n ? x[i] : 0.0f;
}
