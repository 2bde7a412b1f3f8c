// Blocks that take their index from a counter instead of the launch.

extern "C" __global__ void numbered(const float* x, float* y, unsigned* next) {
  __shared__ unsigned block;
  if (threadIdx.x == 0) block = atomicAdd(next, 1u);
  __syncthreads();
  const unsigned i = block * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
}

// Each thread takes a place: which one depends on the schedule.
extern "C" __global__ void places(const float* x, float* y, unsigned* next) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[atomicAdd(next, 1u)] = 2.0f * x[i];
}

// The index from the launch and the number from the counter go together as they happen to.
extern "C" __global__ void numbered_and_indexed(const float* x, float* y, unsigned* next) {
  __shared__ unsigned block;
  if (threadIdx.x == 0) block = atomicAdd(next, 1u);
  __syncthreads();
  y[block * blockDim.x + threadIdx.x] = 2.0f * x[blockIdx.x * blockDim.x + threadIdx.x];
}

// Blocks of one number: both store its cells.
extern "C" __global__ void numbered_by_halves(const float* x, float* y, unsigned* next) {
  __shared__ unsigned block;
  if (threadIdx.x == 0) block = atomicAdd(next, 1u) / 2;
  __syncthreads();
  const unsigned i = block * blockDim.x + threadIdx.x;
  // expect: global-race @ next line
  y[i] = y[i] + x[i];
}

// A scan in which each block waits for the one whose number comes before its own.
extern "C" __global__ void numbered_chain(const float* x, float* y, unsigned* next, unsigned* flags) {
  __shared__ unsigned block;
  __shared__ float before;
  if (threadIdx.x == 0) {
    const unsigned b = atomicAdd(next, 1u);
    float sum = 0.0f;
    if (b > 0) {
      while (*(volatile unsigned*)(flags + b - 1) == 0) {
      }
      __threadfence();
      sum = y[32 * b - 1];
    }
    block = b, before = sum;
  }
  __syncthreads();
  const unsigned i = 32 * block + threadIdx.x;
  float sum = before;
  for (int k = 0; k <= threadIdx.x; ++k) sum += x[32 * block + k];
  y[i] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    *(volatile unsigned*)(flags + block) = 1;
  }
}

extern "C" __global__ void indexed(const float* x, float* y, unsigned* next) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  if (i == 0) next[0] = gridDim.x;
}

extern "C" __global__ void prefix(const float* x, float* y, unsigned* next, unsigned* flags) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k <= i; ++k) sum += x[k];
  y[i] = sum;
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
  if (i == 0) next[0] = gridDim.x;
}
