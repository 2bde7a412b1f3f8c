// What keeping the order of accesses costs: the same loop over shared memory, whose accesses are
// tracked, and over local memory, whose accesses are not; and many barriers.

#define LOOP(buffer, at)                                  \
  for (int k = 0; k < turns; ++k) {                       \
    float v = buffer[at];                                 \
    v = v * 0.5f + 1.0f;                                  \
    buffer[at] = v;                                       \
    asm volatile("" ::: "memory");                        \
  }

extern "C" __global__ void in_shared(const float* x, float* y, int turns) {
  __shared__ float s[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = x[i];
  LOOP(((volatile float*)s), threadIdx.x)
  y[i] = s[threadIdx.x];
}

extern "C" __global__ void in_local(const float* x, float* y, int turns) {
  float s[2];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[i & 1] = x[i];
  LOOP(((volatile float*)s), i & 1)
  y[i] = s[i & 1];
}

extern "C" __global__ void barriers(const float* x, float* y, int turns) {
  __shared__ float s[1024];
  s[threadIdx.x] = x[threadIdx.x];
  for (int k = 0; k < turns; ++k) __syncthreads();
  y[threadIdx.x] = s[1023 - threadIdx.x];
}

extern "C" __global__ void one_barrier(const float* x, float* y, int turns) {
  y[threadIdx.x] = x[1023 - threadIdx.x];
}
