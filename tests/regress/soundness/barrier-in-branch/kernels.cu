// A barrier that only some of the threads reach.

extern "C" __global__ void half_a_warp(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 16) {
    // expect: barrier-divergence @ next line
    __syncthreads();
    y[t] = s[t + 16];
  } else {
    y[t] = x[t];
  }
  __syncthreads();
  if (t == 0) y[0] += s[1];
}

extern "C" __global__ void one_warp_of_two(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) {
    // expect: barrier-divergence @ next line
    __syncthreads();
    y[t] = s[t + 32];
  } else {
    asm volatile("bar.sync 1, 64;");
    y[t] = s[t - 32];
  }
}

extern "C" __global__ void hoisted(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = t < 16 ? s[t + 16] : x[t];
  __syncthreads();
  if (t == 0) y[0] += s[1];
}

extern "C" __global__ void upper_half_twice(const float* x, float* y) {
  const int t = threadIdx.x;
  y[t] = t == 0 ? x[16] + x[1] : x[t | 16];
}

extern "C" __global__ void exits_early(const float* x, float* y, int n) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[n - 1 - t];
}

extern "C" __global__ void reversed(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[n - 1 - threadIdx.x] = x[threadIdx.x];
}

// Two warps meet at one barrier from two places of the text.
extern "C" __global__ void meets_in_two_places(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[t] = s[t + 32];
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    y[t] = s[t - 32] + 0.0f * s[t];
  }
}

extern "C" __global__ void other_half(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x ^ 32];
}

// Trip counts differ between the threads, and the barrier is inside the loop.
extern "C" __global__ void in_ragged_loop(const float* x, float* y) {
  __shared__ float s[4];
  const int t = threadIdx.x;
  float sum = 0.0f;
  s[t] = x[t];
#pragma unroll 1
  for (int k = 0; k <= t; ++k) {
    __syncthreads();
    sum += s[k];
  }
  __syncthreads();
  y[t] = sum + s[3 - t];
}

// The same without the barrier behind the loop: whoever is done exits.
extern "C" __global__ void in_ragged_loop_to_the_end(const float* x, float* y) {
  __shared__ float s[4];
  const int t = threadIdx.x;
  float sum = 0.0f;
  s[t] = x[t];
#pragma unroll 1
  for (int k = 0; k <= t; ++k) {
    __syncthreads();
    sum += s[k];
  }
  y[t] = sum;
}

extern "C" __global__ void prefix(const float* x, float* y) {
  float sum = 0.0f;
  for (int k = 0; k < 4; ++k) {
    sum += x[k];
    y[k] = sum;
  }
}
