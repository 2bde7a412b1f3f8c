// Static and dynamic shared memory in one kernel.

extern __shared__ float rows[];

extern "C" __global__ void both(const float* x, float* y, int n) {
  __shared__ float sums[4];
  const int t = threadIdx.x, row = t / n, column = t % n;
  rows[t] = x[t];
  __syncthreads();
  if (column == 0) {
    float s = 0.0f;
    for (int j = 0; j < n; ++j) s += rows[row * n + j];
    sums[row] = s;
  }
  __syncthreads();
  y[t] = rows[t] - sums[row];
}

extern "C" __global__ void direct(const float* x, float* y, int n) {
  const int row = threadIdx.x / n;
  float s = 0.0f;
  for (int j = n - 1; j >= 0; --j) s += x[row * n + j];
  y[threadIdx.x] = x[threadIdx.x] - s;
}

// Two arrays carved out of the dynamic part; the second starts where the first ends.
extern "C" __global__ void carved(const float* x, float* y, int n) {
  float* sums = rows + blockDim.x;
  const int t = threadIdx.x, row = t / n, column = t % n;
  rows[t] = x[t];
  __syncthreads();
  if (column == 0) {
    float s = 0.0f;
    for (int j = 0; j < n; ++j) s += rows[row * n + j];
    // expect: shared-out-of-bounds @ next line
    sums[row] = s;
  }
  __syncthreads();
  y[t] = rows[t] - sums[row];
}
