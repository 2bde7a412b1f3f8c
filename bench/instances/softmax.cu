// Softmax of rows: in two passes, and in one pass with a running maximum.

// One warp a row; the maximum first, then the sum.
extern "C" __global__ void softmax_two_pass(const float* x, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float top = -INFINITY;
  for (int j = threadIdx.x; j < columns; j += 32) top = fmaxf(top, row[j]);
  for (int step = 16; step > 0; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, step));
  float sum = 0.0f;
  for (int j = threadIdx.x; j < columns; j += 32) sum += __expf(row[j] - top);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  for (int j = threadIdx.x; j < columns; j += 32)
    y[blockIdx.x * columns + j] = __expf(row[j] - top) / sum;
}

// One warp a row; every lane keeps a running maximum and a sum that is rescaled when it grows, then
// the lanes merge.
extern "C" __global__ void softmax_online(const float* x, float* y, int columns) {
  const float* row = x + blockIdx.x * columns;
  float top = row[threadIdx.x], sum = 1.0f;
  for (int j = threadIdx.x + 32; j < columns; j += 32) {
    const float next = fmaxf(top, row[j]);
    sum = sum * __expf(top - next) + __expf(row[j] - next);
    top = next;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other_top = __shfl_xor_sync(0xffffffffu, top, step);
    const float other_sum = __shfl_xor_sync(0xffffffffu, sum, step);
    const float next = fmaxf(top, other_top);
    sum = sum * __expf(top - next) + other_sum * __expf(other_top - next);
    top = next;
  }
  for (int j = threadIdx.x; j < columns; j += 32)
    y[blockIdx.x * columns + j] = __expf(row[j] - top) / sum;
}

// One block of 256 threads a row, with reductions in shared memory.
extern "C" __global__ void softmax_block(const float* x, float* y, int columns) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  const float* row = x + blockIdx.x * columns;
  float top = -INFINITY;
  for (int j = t; j < columns; j += 256) top = fmaxf(top, row[j]);
  part[t] = top;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int j = t; j < columns; j += 256) sum += __expf(row[j] - top);
  part[t] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  sum = part[0];
  for (int j = t; j < columns; j += 256) y[blockIdx.x * columns + j] = __expf(row[j] - top) / sum;
}
