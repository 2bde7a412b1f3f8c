// Shuffles whose masks and lanes do not fit.

extern "C" __global__ void caller_not_in_mask(const float* x, float* y) {
  const int t = threadIdx.x;
  // expect: inactive-lane @ next line
  y[t] = __shfl_sync(0x0000ffffu, x[t], 3);
}

extern "C" __global__ void whole_mask(const float* x, float* y) {
  const int t = threadIdx.x;
  y[t] = __shfl_sync(0xffffffffu, x[t], 3);
}

extern "C" __global__ void fourth(const float* x, float* y) { y[threadIdx.x] = x[3]; }

// Lanes 24 to 31 are gone, and lane 23 asks lane 24.
extern "C" __global__ void exited_lane_used(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t >= 24) return;
  // expect: inactive-lane @ next line
  const float next = __shfl_down_sync(0xffffffffu, x[t], 1);
  y[t] = next - x[t];
}

extern "C" __global__ void exited_lane_dropped(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t >= 24) return;
  const float next = __shfl_down_sync(0xffffffffu, x[t], 1);
  y[t] = t == 23 ? 0.0f : next - x[t];
}

extern "C" __global__ void steps(const float* x, float* y, int n) {
  const int t = threadIdx.x;
  if (t < n) y[t] = t + 1 < n ? x[t + 1] - x[t] : 0.0f;
}

// Launched with fewer than 32 threads.
extern "C" __global__ void butterfly(const float* x, float* y) {
  const int t = threadIdx.x;
  // expect: inactive-lane @ next line
  y[t] = x[t] + __shfl_xor_sync(0xffffffffu, x[t], 16);
}

extern "C" __global__ void butterfly_guarded(const float* x, float* y, int n) {
  const int t = threadIdx.x;
  const float other = __shfl_xor_sync(0xffffffffu, x[t], 16);
  y[t] = (t ^ 16) < n ? x[t] + other : x[t];
}

extern "C" __global__ void pairs(const float* x, float* y, int n) {
  const int t = threadIdx.x, u = t ^ 16;
  y[t] = u < n ? x[u] + x[t] : x[t];
}

// Lanes 16 to 31 are alive and named, but do something else.
extern "C" __global__ void named_but_elsewhere(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t < 16) {
    // expect: inactive-lane @ next line
    y[t] = __shfl_xor_sync(0xffffffffu, x[t], 1);
  } else {
    y[t] = x[t];
  }
  __syncthreads();
  if (t == 31) y[0] = x[1];
}

extern "C" __global__ void right_mask(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t < 16) {
    y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 1);
  } else {
    y[t] = x[t];
  }
  __syncthreads();
  if (t == 31) y[0] = x[1];
}

// The mask is right; the lane that is asked is not in it.
extern "C" __global__ void asks_outside_the_mask(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t < 16) {
    // expect: inactive-lane @ next line
    y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 16);
  } else {
    y[t] = x[t];
  }
}

extern "C" __global__ void swapped_below_16(const float* x, float* y) {
  const int t = threadIdx.x;
  y[t] = t < 16 ? x[t ^ 1] : x[t];
}
