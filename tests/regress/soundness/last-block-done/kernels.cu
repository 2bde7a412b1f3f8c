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

// Every block adds a row; the counter wraps by itself, and all threads of the last block work.
extern "C" __global__ void columns_by_last_block(const float* x, float* part, unsigned* counter, float* y) {
  __shared__ bool last;
  const int t = threadIdx.x;
  part[blockIdx.x * 32 + t] = 2.0f * x[blockIdx.x * 32 + t];
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  float sum = 0.0f;
  for (int b = 0; b < gridDim.x; ++b) sum += part[b * 32 + t];
  y[t] = sum;
}

extern "C" __global__ void columns_serial(const float* x, float* part, unsigned* counter, float* y) {
  float sum = 0.0f;
  for (int b = 0; b < 4; ++b) {
    part[b * 32 + threadIdx.x] = 2.0f * x[b * 32 + threadIdx.x];
    sum += 2.0f * x[b * 32 + threadIdx.x];
  }
  y[threadIdx.x] = sum;
}

// A counter for each of the two columns of blocks.
extern "C" __global__ void split_by_column(const float* x, float* part, unsigned* counter, float* y) {
  const int column = blockIdx.x, row = blockIdx.y, rows = gridDim.y;
  float v = x[(row * 2 + column) * 32 + threadIdx.x];
  part[(column * rows + row) * 32 + threadIdx.x] = v;
  __threadfence();
  __syncthreads();
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicAdd(counter + column, 1u);
  __syncthreads();
  if (number != rows - 1) return;
  __threadfence();
  v = 0.0f;
  for (int r = 0; r < rows; ++r) v += part[(column * rows + r) * 32 + threadIdx.x];
  y[column * 32 + threadIdx.x] = v;
  if (threadIdx.x == 0) counter[column] = 0;
}

extern "C" __global__ void split_serial(const float* x, float* part, unsigned* counter, float* y) {
  for (int column = 0; column < 2; ++column) {
    float v = 0.0f;
    for (int r = 0; r < 3; ++r) v += x[(r * 2 + column) * 32 + threadIdx.x];
    y[column * 32 + threadIdx.x] = v;
  }
}

extern "C" __global__ void without_fence(const float* x, float* part, unsigned* counter, float* y) {
  __shared__ bool last;
  // expect: global-race @ next line
  if (threadIdx.x == 0) part[blockIdx.x] = x[blockIdx.x * 32];
  if (threadIdx.x == 0) last = atomicAdd(counter, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  float sum = 0.0f;
  // expect: global-race @ next line
  for (int b = 0; b < gridDim.x; ++b) sum += part[b];
  y[0] = sum;
}

// The last block adds its own number.
extern "C" __global__ void depends_on_last(const float* x, float* part, unsigned* counter, float* y) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = x[blockIdx.x * 32];
  __threadfence();
  if (atomicAdd(counter, 1u) != gridDim.x - 1) return;
  __threadfence();
  y[0] = part[0] + x[blockIdx.x];
}

// The first block, not the last, sums up: what it sees depends on the schedule.
extern "C" __global__ void by_first_block(const float* x, float* part, unsigned* counter, float* y) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = x[blockIdx.x * 32];
  __threadfence();
  if (atomicAdd(counter, 1u) != 0) return;
  __threadfence();
  y[0] = part[0] + part[1];
}

// All blocks but the last mark their cell.
extern "C" __global__ void others_store(const float* x, float* part, unsigned* counter, float* y) {
  if (threadIdx.x != 0) return;
  if (atomicAdd(counter, 1u) == gridDim.x - 1)
    y[0] = 1.0f;
  else
    part[blockIdx.x] = 1.0f;
}

// Two numbers a block: the one that is asked for may be anything.
extern "C" __global__ void two_numbers(const float* x, float* part, unsigned* counter, float* y) {
  if (threadIdx.x != 0) return;
  part[blockIdx.x] = x[blockIdx.x * 32];
  __threadfence();
  const bool last = atomicAdd(counter, 1u) == gridDim.x - 1;
  atomicAdd(counter, 1u);
  if (!last) return;
  __threadfence();
  y[0] = part[0] + part[1];
}

// The last block's first thread fences, and nothing orders another thread behind it.
extern "C" __global__ void fence_of_another(const float* x, float* part, unsigned* counter, float* y) {
  __shared__ bool last;
  const int t = threadIdx.x;
  if (t == 0) {
    part[blockIdx.x] = x[blockIdx.x * 32];
    __threadfence();
    last = atomicAdd(counter, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  if (t == 0) __threadfence();
  if (t == 32) y[0] = part[0] + part[1];
}

// The last block replaces what all blocks added. Without a fence before the counter, or behind it, some may still add.
template <bool releases, bool acquires>
__device__ void replace(const float* x, float* part, unsigned* counter) {
  if (threadIdx.x == 32) atomicAdd(part, x[blockIdx.x]);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (releases) __threadfence();
  if (atomicAdd(counter, 1u) != gridDim.x - 1) return;
  if (acquires) __threadfence();
  part[0] = 5.0f;
}
extern "C" __global__ void replaces(const float* x, float* part, unsigned* counter) { replace<true, true>(x, part, counter); }
extern "C" __global__ void replaces_unreleased(const float* x, float* part, unsigned* counter) {
  replace<false, true>(x, part, counter);
}
extern "C" __global__ void replaces_unacquired(const float* x, float* part, unsigned* counter) {
  replace<true, false>(x, part, counter);
}
extern "C" __global__ void replaces_serial(const float* x, float* part, unsigned* counter) {
  part[0] = 5.0f;
  counter[0] = 4;
}
