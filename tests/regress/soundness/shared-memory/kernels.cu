// Races in shared memory and their repair.

extern "C" __global__ void neighbour_without_barrier(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  // expect: shared-race @ next line
  s[t] = x[t];
  // expect: shared-race @ next line
  y[t] = s[63 - t];
}

extern "C" __global__ void neighbour_with_barrier(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[63 - t];
}

// Only the lanes of one warp exchange values, and the warp is synchronised.
extern "C" __global__ void within_a_warp(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  y[t] = s[t ^ 31];
}

// The lanes of one warp are not in lockstep by themselves.
extern "C" __global__ void within_a_warp_unordered(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  // expect: shared-race @ next line
  s[t] = x[t];
  // expect: shared-race @ next line
  y[t] = s[t ^ 31];
}

// A warp synchronisation does not order two warps.
extern "C" __global__ void across_warps(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  // expect: shared-race @ next line
  s[t] = x[t];
  __syncwarp();
  // expect: shared-race @ next line
  y[t] = s[63 - t];
}

extern "C" __global__ void reversed(const float* x, float* y) {
  y[threadIdx.x] = x[63 - threadIdx.x];
}

extern "C" __global__ void reversed_by_warp(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x ^ 31];
}

// The buffer is used twice: the second fill comes before everyone has read.
extern "C" __global__ void refilled(const float* x, float* y, int rows) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) {
    // expect: shared-race @ next line
    s[t] = x[r * 64 + t];
    __syncthreads();
    // expect: shared-race @ next line
    sum += s[63 - t];
  }
  y[t] = sum;
}

extern "C" __global__ void refilled_in_turn(const float* x, float* y, int rows) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) {
    s[t] = x[r * 64 + t];
    __syncthreads();
    sum += s[63 - t];
    __syncthreads();
  }
  y[t] = sum;
}

// Two buffers in turn need one barrier a round.
extern "C" __global__ void two_buffers(const float* x, float* y, int rows) {
  __shared__ float s[2][64];
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) {
    s[r % 2][t] = x[r * 64 + t];
    __syncthreads();
    sum += s[r % 2][63 - t];
  }
  y[t] = sum;
}

extern "C" __global__ void column_sums(const float* x, float* y, int rows) {
  float sum = 0.0f;
  for (int r = rows - 1; r >= 0; --r) sum += x[r * 64 + 63 - threadIdx.x];
  y[threadIdx.x] = sum;
}
