// A plain read of a cell to which other threads add.

extern "C" __global__ void read_too_early(const float* x, float* total, float* y) {
  atomicAdd(total, x[threadIdx.x]);
  // expect: global-race @ next line
  if (threadIdx.x == 0) y[0] = *(volatile float*)total;
}

extern "C" __global__ void read_after_barrier(const float* x, float* total, float* y) {
  atomicAdd(total, x[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) y[0] = *(volatile float*)total;
}

extern "C" __global__ void add(const float* x, float* total) {
  atomicAdd(total, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void fetch(const float* total, float* y) { y[0] = total[0]; }

extern "C" __global__ void serial(const float* x, float* total, float* y, int n) {
  float s = *total;
  for (int i = 0; i < n; ++i) s += x[i];
  *total = s;
  y[0] = s;
}
