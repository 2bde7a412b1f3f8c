// Barriers and warp collectives that threads reach or not depending on data.

// Rows without elements are left alone.
extern "C" __global__ void sum_rows(const float* x, const int* length, float* y, int n) {
  __shared__ float part[64];
  const int row = blockIdx.x, t = threadIdx.x;
  if (length[row] == 0) return;
  part[t] = t < n ? x[row * n + t] : 0.0f;
  __syncthreads();
  for (int step = 32; step; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) y[row] = part[0];
}

extern "C" __global__ void sum_rows_serial(const float* x, const int* length, float* y, int n) {
  const int row = threadIdx.x;
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += x[row * n + i];
  if (length[row] != 0) y[row] = s;
}

extern "C" __global__ void sum_all_rows_serial(const float* x, const int* length, float* y, int n) {
  const int row = threadIdx.x;
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += x[row * n + i];
  y[row] = s;
}

// Both arms have barriers, one inside another, and all threads go on together behind them.
extern "C" __global__ void by_mode(const float* x, const int* mode, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (mode[0] > 0) {
    __syncthreads();
    float v = s[63 - t];
    if (mode[1] > 0) {
      __syncthreads();
      s[t] = v;
    } else {
      v += __shfl_xor_sync(~0u, v, 1);
      __syncthreads();
      s[t] = v;
    }
  }
  __syncthreads();
  y[t] = s[t ^ 2];
  if (mode[0] > 0) atomicAdd(&y[64], 1.0f);
}

extern "C" __global__ void by_mode_serial(const float* x, const int* mode, float* y) {
  const int t = threadIdx.x, u = 63 - (t ^ 2);
  y[t] = mode[0] <= 0 ? x[t ^ 2] : mode[1] > 0 ? x[u] : x[u] + x[u ^ 1];
  if (t == 0 && mode[0] > 0) y[64] += 64.0f;
}

// The modes the other way round.
extern "C" __global__ void by_other_mode_serial(const float* x, const int* mode, float* y) {
  const int t = threadIdx.x, u = 63 - (t ^ 2);
  y[t] = mode[0] <= 0 ? x[t ^ 2] : mode[1] <= 0 ? x[u] : x[u] + x[u ^ 1];
  if (t == 0 && mode[0] > 0) y[64] += 64.0f;
}

// Without the barrier there is a race.
extern "C" __global__ void skips_barrier(const float* x, const int* mode, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  // expect: shared-race @ next line
  s[t] = x[t];
  if (mode[0] > 0) __syncthreads();
  y[t] = s[63 - t];
}

extern "C" __global__ void reversed(const float* x, const int* mode, float* y) {
  y[threadIdx.x] = x[63 - threadIdx.x];
}

// Warps go different ways.
extern "C" __global__ void each_warp(const float* x, const int* mode, float* y) {
  const int t = threadIdx.x;
  // expect: barrier-divergence @ next line
  if (mode[t / 32] > 0) __syncthreads();
  y[t] = x[63 - t];
  asm volatile("bar.sync 1, 64;");
}
