// The same by a choice before the store.

extern "C" __global__ void choose(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * (blockIdx.x == 3 ? 2.0f : 1.0f);
}

extern "C" __global__ void choose_wrong_block(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * (blockIdx.x == 2 ? 2.0f : 1.0f);
}

extern "C" __global__ void copy(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
