// Kernels that do what the instance's argument does not allow.

extern "C" __global__ void scratch_in_input(float* x, float* y) {
  const int t = threadIdx.x;
  // expect: access-violation @ next line
  x[t] = x[t] * 2.0f;
  y[t] = x[t];
}

extern "C" __global__ void accumulates(const float* x, float* y) {
  const int t = threadIdx.x;
  // expect: access-violation @ next line
  y[t] = y[t] + 2.0f * x[t];
}

extern "C" __global__ void writes_then_reads(const float* x, float* y) {
  const int t = threadIdx.x;
  volatile float* v = y;
  v[t] = x[t];
  v[t] = v[t] + x[t];
}

extern "C" __global__ void twice(const float* x, float* y) {
  y[threadIdx.x] = 2.0f * x[threadIdx.x];
}

extern "C" __global__ void twice_added(const float* x, float* y) {
  y[threadIdx.x] += 2.0f * x[threadIdx.x];
}
