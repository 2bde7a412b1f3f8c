// A sum gathered by atomics over several blocks, plainly and with a partial sum per block.

extern "C" __global__ void add_each(const float* x, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
}

extern "C" __global__ void add_per_block(const float* x, float* total, int n) {
  __shared__ float part;
  if (threadIdx.x == 0) part = 0.0f;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&part, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, part);
}

// No barrier between clearing the partial sum and adding to it.
extern "C" __global__ void add_before_cleared(const float* x, float* total, int n) {
  __shared__ float part;
  // expect: shared-race @ next line
  if (threadIdx.x == 0) part = 0.0f;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&part, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, part);
}

// Forgets the last value.
extern "C" __global__ void add_all_but_one(const float* x, float* total, int n) {
  for (int i = 0; i < n - 1; ++i) *total += x[i];
}
