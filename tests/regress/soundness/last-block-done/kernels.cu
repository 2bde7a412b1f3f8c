// A sum over blocks that the last block to finish completes; a counter tells which one that is.

extern "C" __global__ void sum_by_last_block(const float* x, float* part, unsigned* counter,
                                             float* y) {
  __shared__ float s[32];
  __shared__ bool last;
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * 32 + t];
  __syncthreads();
  if (t == 0) {
    float sum = 0.0f;
    for (int j = 0; j < 32; ++j) sum += s[j];
    part[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    __threadfence();
    float sum = 0.0f;
    for (int b = 0; b < gridDim.x; ++b) sum += *(volatile float*)(part + b);
    y[0] = sum;
  }
}

extern "C" __global__ void sum_serial(const float* x, float* y, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += x[i];
  y[0] = sum;
}
