// A thread that has ended is not waited for at a barrier, and does not take part in it: what it did since its last barrier
// is ordered before nothing there, unless a thread that takes part knew of it.

extern "C" __global__ void writer_ends(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  // expect: shared-race @ next line
  s[t] = x[t];
  if (t >= 32) return;
  __syncthreads();
  // expect: shared-race @ next line
  y[t] = s[t + 32];
}

extern "C" __global__ void writer_ends_behind_a_barrier(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t >= 32) return;
  __syncthreads();
  y[t] = s[t + 32];
}

extern "C" __global__ void upper_half(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x + 32]; }

// Lanes that end have met those of their warp, which take part in the barrier.
extern "C" __global__ void writer_ends_known(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  if (t % 32 >= 16) return;
  __syncthreads();
  y[t] = s[(t ^ 32) + 16];
}

extern "C" __global__ void other_half(const float* x, float* y) {
  const int t = threadIdx.x;
  if (t % 32 < 16) y[t] = x[(t ^ 32) + 16];
}

// What it read may be overwritten before it reads.
extern "C" __global__ void reader_ends(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (t < 32) s[t] = x[t];
  __syncthreads();
  if (t >= 32) {
    // expect: shared-race @ next line
    y[t] = s[t - 32];
    return;
  }
  y[t] = 0.0f;
  __syncthreads();
  // expect: shared-race @ next line
  s[t] = 1.0f;
}

// A count that the warps meet although lanes of one have ended.
extern "C" __global__ void counted(const float* x, float* y) {
  __shared__ float s[48];
  const int t = threadIdx.x;
  if (t >= 48) return;
  s[t] = x[t];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  y[t] = s[47 - t];
}

extern "C" __global__ void reversed(const float* x, float* y) { y[threadIdx.x] = x[47 - threadIdx.x]; }
