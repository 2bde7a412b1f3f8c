// Copies from global to shared memory that complete later.

__device__ void start_copy(float* to, const float* from) {
  const unsigned address = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address), "l"(from) : "memory");
}

extern "C" __global__ void waited(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  start_copy(&s[t], &x[t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  y[t] = s[31 - t];
}

extern "C" __global__ void not_waited(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  start_copy(&s[t], &x[t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  __syncthreads();
  // expect: unwaited-copy @ next line
  y[t] = s[31 - t];
}

// Two groups are under way and one may stay so: the second is read.
extern "C" __global__ void second_not_waited(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  start_copy(&s[t], &x[31 - t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  start_copy(&s[32 + t], &x[31 - t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  // expect: unwaited-copy @ next line
  y[t] = s[32 + t];
}

extern "C" __global__ void first_waited(const float* x, float* y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  start_copy(&s[t], &x[31 - t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  start_copy(&s[32 + t], &x[t]);
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  y[t] = s[t];
}

extern "C" __global__ void reversed(const float* x, float* y) {
  y[threadIdx.x] = x[31 - threadIdx.x];
}
