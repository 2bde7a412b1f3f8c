// Blocks and threads that wait for each other: flags, counters, and the whole grid.

#include <cooperative_groups.h>

__device__ void set_release(unsigned* flag, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ void set_release_cta(unsigned* flag, unsigned value) {
  asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ void set_relaxed(unsigned* flag, unsigned value) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ unsigned get_acquire(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__device__ unsigned get_relaxed(const unsigned* flag) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// What a second block adds to the first one's result.
extern "C" __global__ void hand_over(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
  } else {
    while (get_acquire(flag) == 0) {
    }
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void hand_over_volatile(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    __threadfence();
    *(volatile unsigned*)flag = 1;
  } else {
    while (*(volatile unsigned*)flag == 0) {
    }
    __threadfence();
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void hand_over_exchange(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    __threadfence();
    atomicExch(flag, 1u);
  } else {
    while (atomicAdd(flag, 0u) == 0) {
    }
    __threadfence();
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void not_released(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    // expect: global-race @ next line
    y[0] = x[0];
    set_relaxed(flag, 1);
  } else {
    while (get_acquire(flag) == 0) {
    }
    // expect: global-race @ next line
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void not_acquired(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    // expect: global-race @ next line
    y[0] = x[0];
    set_release(flag, 1);
  } else {
    while (get_relaxed(flag) == 0) {
    }
    // expect: global-race @ next line
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void stored_after_flag(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    set_release(flag, 1);
    // expect: global-race @ next line
    y[0] = x[0];
  } else {
    while (get_acquire(flag) == 0) {
    }
    // expect: global-race @ next line
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void narrow_scope(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release_cta(flag, 1);
  } else {
    while (get_acquire(flag) == 0) {
    }
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void weak_flag(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    __threadfence();
    // expect: global-race @ next line
    *flag = 1;
  } else {
    while (get_acquire(flag) == 0) {
    }
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void never_set(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
  } else {
    // expect: barrier-divergence @ next line
    while (*(volatile unsigned*)flag != 2) {
    }
    __threadfence();
    z[0] = y[0] + 1.0f;
  }
}

// Two blocks set one flag: which of them a third one waited for is not known.
extern "C" __global__ void two_set(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x < 2) {
    y[blockIdx.x] = x[blockIdx.x];
    set_release(flag, 1);
  } else {
    while (get_acquire(flag) == 0) {
    }
    z[0] = y[0] + 1.0f;
  }
}

// A flag that goes on: the value that ended the wait is nobody's.
extern "C" __global__ void goes_on(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
    set_release(flag, 2);
  } else {
    unsigned value;
    while ((value = get_acquire(flag)) == 0) {
    }
    z[0] = y[0] + (float)value;
  }
}

extern "C" __global__ void goes_on_unused(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
    set_release(flag, 2);
  } else {
    while (get_acquire(flag) == 0) {
    }
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void missed(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
    set_release(flag, 2);
  } else {
    while (get_acquire(flag) != 1) {
    }
    z[0] = y[0] + 1.0f;
  }
}

extern "C" __global__ void handed(const float* x, float* y, float* z, unsigned* flag) {
  y[0] = x[0];
  z[0] = x[0] + 1.0f;
  flag[0] = 1;
}

extern "C" __global__ void handed_twice(const float* x, float* y, float* z, unsigned* flag) {
  y[0] = x[0];
  z[0] = x[0] + 1.0f;
  flag[0] = 2;
}

// Each block adds its part to the sum of those before it.
extern "C" __global__ void chain(const float* x, float* y, unsigned* flags) {
  __shared__ float before;
  const int b = blockIdx.x, t = threadIdx.x;
  if (t == 0) {
    float sum = 0.0f;
    if (b > 0) {
      while (get_acquire(flags + b - 1) == 0) {
      }
      sum = y[32 * b - 1];
    }
    before = sum;
  }
  __syncthreads();
  float sum = before;
  for (int i = 0; i <= t; ++i) sum += x[32 * b + i];
  y[32 * b + t] = sum;
  __threadfence();
  __syncthreads();
  if (t == 0) set_release(flags + b, 1);
}

// As chain, but the flag may be set before other warps have stored.
extern "C" __global__ void chain_early(const float* x, float* y, unsigned* flags) {
  const int b = blockIdx.x, t = threadIdx.x;
  if (b > 0)
    while (get_acquire(flags + b - 1) == 0) {
    }
  // expect: global-race @ next line
  float sum = b > 0 ? y[64 * b - 1] : 0.0f;
  for (int i = 0; i <= t; ++i) sum += x[64 * b + i];
  // expect: global-race @ next line
  y[64 * b + t] = sum;
  if (t == 0) set_release(flags + b, 1);
}

extern "C" __global__ void prefix(const float* x, float* y, unsigned* flags) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k <= i; ++k) sum += x[k];
  y[i] = sum;
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

// A sum in turns: block b adds its part when the semaphore is b.
extern "C" __global__ void in_turns(const float* x, float* y, unsigned* turn) {
  const int b = blockIdx.x, t = threadIdx.x;
  if (t == 0)
    while (get_acquire(turn) != b) {
    }
  __syncthreads();
  y[t] = (b ? y[t] : 0.0f) + x[32 * b + t];
  __syncthreads();
  if (t == 0) set_release(turn, b + 1);
}

extern "C" __global__ void column_sums(const float* x, float* y, unsigned* turn, int n) {
  float sum = 0.0f;
  for (int b = 0; b < n; ++b) sum += x[32 * b + threadIdx.x];
  y[threadIdx.x] = sum;
  if (threadIdx.x == 0) turn[0] = n;
}

// All blocks meet at a counter.
__device__ void meet(unsigned* count, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1u);
    while (*(volatile unsigned*)count < target) {
    }
    __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void reverse_twice(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  meet(count, gridDim.x);
  z[i] = y[n - 1 - i];
  meet(count, 2 * gridDim.x);
  y[i] = z[n - 1 - i] + 1.0f;
}

extern "C" __global__ void met_by_all_but_one(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  meet(count, gridDim.x - 1);
  z[i] = y[n - 1 - i];
  meet(count, 2 * gridDim.x);
  y[i] = z[n - 1 - i] + 1.0f;
}

extern "C" __global__ void met_by_one_more(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  meet(count, gridDim.x + 1);
  z[i] = y[n - 1 - i];
  y[i] = z[n - 1 - i] + 1.0f;
}

// Without the second meeting a block stores what another one still reads.
extern "C" __global__ void met_once(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  meet(count, gridDim.x);
  // expect: global-race @ next line
  z[i] = y[n - 1 - i];
  // expect: global-race @ next line
  y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" __global__ void met_without_fence(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  // expect: global-race @ next line
  y[i] = 2.0f * x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(count, 1u);
    while (get_acquire(count) < gridDim.x) {
    }
  }
  __syncthreads();
  // expect: global-race @ next line
  z[i] = y[n - 1 - i];
}

// The target comes from the number that the block took.
extern "C" __global__ void reverse_twice_by_number(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  for (int turn = 0; turn < 2; ++turn) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      const unsigned target = (atomicAdd(count, 1u) / gridDim.x + 1) * gridDim.x;
      while (*(volatile unsigned*)count < target) {
      }
      __threadfence();
    }
    __syncthreads();
    if (turn == 0) z[i] = y[n - 1 - i];
  }
  y[i] = z[n - 1 - i] + 1.0f;
}

extern "C" __global__ void reverse_twice_by_grid(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  cooperative_groups::this_grid().sync();
  z[i] = y[n - 1 - i];
  cooperative_groups::this_grid().sync();
  y[i] = z[n - 1 - i] + 1.0f;
  if (i == 0) count[0] = 2 * gridDim.x;
}

extern "C" __global__ void grid_once(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2.0f * x[i];
  cooperative_groups::this_grid().sync();
  // expect: global-race @ next line
  z[i] = y[n - 1 - i];
  // expect: global-race @ next line
  y[i] = 2.0f * x[i] + 1.0f;
  if (i == 0) count[0] = 2 * gridDim.x;
}

extern "C" __global__ void reversed_twice(const float* x, float* y, float* z, unsigned* count) {
  const int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = 2.0f * x[n - 1 - i];
  y[i] = 2.0f * x[i] + 1.0f;
  if (i == 0) count[0] = 2 * gridDim.x;
}

// One warp waits for another one in shared memory.
extern "C" __global__ void warps(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ unsigned flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    __threadfence_block();
    __syncwarp();
    if (t == 0) *(volatile unsigned*)&flag = 1;
  } else {
    while (*(volatile unsigned*)&flag == 0) {
    }
    __threadfence_block();
    y[t - 32] = s[63 - t];
  }
}

extern "C" __global__ void warps_without_fence(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ unsigned flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    // expect: shared-race @ next line
    s[t] = x[t];
    if (t == 0) *(volatile unsigned*)&flag = 1;
  } else {
    while (*(volatile unsigned*)&flag == 0) {
    }
    __threadfence_block();
    // expect: shared-race @ next line
    y[t - 32] = s[63 - t];
  }
}

extern "C" __global__ void warps_weak(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ unsigned flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    __threadfence_block();
    __syncwarp();
    // expect: shared-race @ next line
    if (t == 0) flag = 1;
  } else {
    // expect: shared-race @ next line
    while (*(volatile unsigned*)&flag == 0) {
    }
    __threadfence_block();
    y[t - 32] = s[63 - t];
  }
}

// Block 0 takes the flag back although block 2 may still wait for it.
extern "C" __global__ void taken_back(const float* x, float* y, float* z, unsigned* flag) {
  if (blockIdx.x == 0) {
    y[0] = x[0];
    set_release(flag, 1);
    while (get_acquire((unsigned*)z) == 0) {
    }
    *flag = 0;
  } else {
    while (get_acquire(flag) == 0) {
    }
    if (blockIdx.x == 1) set_release((unsigned*)z, 1);
  }
}

extern "C" __global__ void warps_never(const float* x, float* y) {
  __shared__ float s[32];
  __shared__ unsigned flag;
  const int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
  } else {
    // expect: barrier-divergence @ next line
    while (*(volatile unsigned*)&flag == 0) {
    }
    y[t - 32] = s[63 - t];
  }
}

extern "C" __global__ void reversed(const float* x, float* y) {
  y[threadIdx.x] = x[31 - threadIdx.x];
}

// A lock: in which order blocks get it is a matter of the schedule.
extern "C" __global__ void locked(float* y, unsigned* lock) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0u, 1u) != 0) {
    }
    __threadfence();
    y[0] = y[0] + 1.0f;
    __threadfence();
    atomicExch(lock, 0u);
  }
}
