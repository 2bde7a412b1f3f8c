// Producers and consumers meet at named barriers: bar.arrive does not wait, bar.sync does.

extern "C" __global__ void pipeline(const float* x, float* y, int rounds) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    if (t < 32) {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      s[t] = x[r * 32 + t];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
      y[r * 32 + t - 32] = 2.0f * s[63 - t];
    }
  }
}

// The producer does not wait for the buffer to be free.
extern "C" __global__ void pipeline_never_free(const float* x, float* y, int rounds) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    if (t < 32) {
      // expect: shared-race @ next line
      s[t] = x[r * 32 + t];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 2, 64;" ::: "memory");
      // expect: shared-race @ next line
      y[r * 32 + t - 32] = 2.0f * s[63 - t];
    }
  }
}

extern "C" __global__ void rows_reversed(const float* x, float* y, int rounds) {
  for (int r = 0; r < rounds; ++r) y[r * 32 + threadIdx.x] = x[r * 32 + 31 - threadIdx.x] * 2.0f;
}
