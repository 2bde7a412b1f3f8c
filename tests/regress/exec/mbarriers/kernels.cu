// mbarrier objects of shared memory, alone and with asynchronous copies.

__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned long long* b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(b)), "r"(n) : "memory");
}
__device__ unsigned long long arrive(unsigned long long* b) {
  unsigned long long state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(b)) : "memory");
  return state;
}
__device__ void wait(unsigned long long* b, unsigned long long state) {
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address(b)), "l"(state)
                 : "memory");
}
__device__ void copy(float* to, const float* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(to)), "l"(from) : "memory");
}

extern "C" __global__ void exchange(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  s[t] = x[t];
  wait(&b, arrive(&b));
  y[t] = s[95 - t];
}

extern "C" __global__ void exchange_not_waited(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  // expect: shared-race @ next line
  s[t] = x[t];
  arrive(&b);
  // expect: shared-race @ next line
  y[t] = s[95 - t];
}

extern "C" __global__ void not_initialised_for_all(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  s[t] = x[t];
  wait(&b, arrive(&b));
  y[t] = s[95 - t];
}

extern "C" __global__ void one_missing(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 97);
  __syncthreads();
  s[t] = x[t];
  const unsigned long long state = arrive(&b);
  wait(&b, state);
  y[t] = s[95 - t];
}

extern "C" __global__ void reversed(const float* x, float* y) { y[threadIdx.x] = x[95 - threadIdx.x]; }

extern "C" __global__ void reversed_twice(const float* x, float* y) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }

// Two phases of one object.
extern "C" __global__ void two_phases(const float* x, float* y) {
  __shared__ float s[96], r[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  s[t] = x[t];
  wait(&b, arrive(&b));
  r[t] = 2.0f * s[95 - t];
  wait(&b, arrive(&b));
  y[t] = r[95 - t];
}

extern "C" __global__ void two_phases_not_waited(const float* x, float* y) {
  __shared__ float s[96], r[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  s[t] = x[t];
  wait(&b, arrive(&b));
  // expect: shared-race @ next line
  r[t] = 2.0f * s[95 - t];
  arrive(&b);
  // expect: shared-race @ next line
  y[t] = r[95 - t];
}

extern "C" __global__ void copies(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  copy(s + t, x + t);
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(address(&b)) : "memory");
  wait(&b, arrive(&b));
  y[t] = s[95 - t];
}

extern "C" __global__ void copies_not_stood_for(const float* x, float* y) {
  __shared__ float s[96];
  __shared__ unsigned long long b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 96);
  __syncthreads();
  copy(s + t, x + t);
  wait(&b, arrive(&b));
  // expect: unwaited-copy @ next line
  y[t] = s[95 - t];
}
