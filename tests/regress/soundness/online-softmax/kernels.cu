// Softmax of a row: two passes against one pass with a running maximum that rescales the sum.

extern "C" __global__ void two_pass(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float top = row[0];
  for (int j = 1; j < n; ++j) top = fmaxf(top, row[j]);
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) sum += __expf(row[j] - top);
  for (int j = threadIdx.x; j < n; j += blockDim.x)
    y[blockIdx.x * n + j] = __expf(row[j] - top) / sum;
}

extern "C" __global__ void online(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float top = -INFINITY, sum = 0.0f;
  for (int j = 0; j < n; ++j) {
    const float next = fmaxf(top, row[j]);
    sum = sum * __expf(top - next) + __expf(row[j] - next);
    top = next;
  }
  for (int j = threadIdx.x; j < n; j += blockDim.x)
    y[blockIdx.x * n + j] = __expf(row[j] - top) / sum;
}

// The sum is not rescaled when the maximum grows.
extern "C" __global__ void online_not_rescaled(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float top = -INFINITY, sum = 0.0f;
  for (int j = 0; j < n; ++j) {
    top = fmaxf(top, row[j]);
    sum += __expf(row[j] - top);
  }
  for (int j = threadIdx.x; j < n; j += blockDim.x)
    y[blockIdx.x * n + j] = __expf(row[j] - top) / sum;
}

extern "C" __global__ void plain(const float* x, float* y, int n) {
  const float* row = x + blockIdx.x * n;
  float sum = 0.0f;
  for (int j = 0; j < n; ++j) sum += __expf(row[j]);
  for (int j = threadIdx.x; j < n; j += blockDim.x) y[blockIdx.x * n + j] = __expf(row[j]) / sum;
}
