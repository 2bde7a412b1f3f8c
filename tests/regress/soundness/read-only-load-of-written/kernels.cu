// Read-only loads (ld.global.nc) of bytes that the same launch writes.

extern "C" __global__ void neighbour_block(float* x, float* y) {
  const int t = threadIdx.x;
  if (blockIdx.x == 0)
    x[t] = 1.0f;
  else
    // expect: global-race @ next line
    y[t] = __ldg(x + t);
}

extern "C" __global__ void own_write(float* x, float* y) {
  const int t = threadIdx.x;
  const float old = x[t];
  x[t] = old + 1.0f;
  // expect: global-race @ next line
  y[t] = __ldg(x + t);
}

extern "C" __global__ void own_write_plain(float* x, float* y) {
  const int t = threadIdx.x;
  const float old = x[t];
  x[t] = old + 1.0f;
  y[t] = *(volatile float*)(x + t);
}

extern "C" __global__ void other_cells(float* x, float* y) {
  const int t = threadIdx.x;
  y[t] = __ldg(x + 32 + t) + 1.0f;
  x[t] = y[t];
}

extern "C" __global__ void after_barrier(float* x, float* y) {
  const int t = threadIdx.x;
  x[t] = x[t] + 1.0f;
  __syncthreads();
  // expect: global-race @ next line
  y[t] = __ldg(x + (t ^ 1));
}

extern "C" __global__ void direct(float* x, float* y) {
  const int t = threadIdx.x;
  x[t] += 1.0f;
  y[t] = x[t];
}

extern "C" __global__ void from_upper(float* x, float* y) {
  const int t = threadIdx.x;
  x[t] = x[t + 32] + 1.0f;
  y[t] = x[t];
}
