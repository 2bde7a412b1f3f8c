// Which phase of an mbarrier is meant, or whether it is over, depends on the schedule.
#include <cstdint>

__device__ uint32_t at(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory"); }
__device__ void arrive(uint64_t* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory"); }
__device__ void expect(uint64_t* b, int n) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive_expect(uint64_t* b, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ void wait(uint64_t* b, int parity) {
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra DONE; bra WAIT; DONE: }" ::"r"(at(b)),
               "r"(parity)
               : "memory");
}
__device__ void copy(void* to, const void* from, int n, uint64_t* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
               "l"(__cvta_generic_to_global(from)), "r"(n), "r"(at(b))
               : "memory");
}

extern "C" __global__ void plain(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }

// The one arrival may come before the bytes are expected.
extern "C" __global__ void expects_unordered(const float* x, float* y) {
  __shared__ alignas(128) float s[64];
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t == 0) expect(&b, 256), copy(s, x, 256, &b);
  if (t == 32) arrive(&b);
  wait(&b, 0);
  y[t] = s[t];
}

// The thread that arrives knows that they are.
extern "C" __global__ void expects_ordered(const float* x, float* y) {
  __shared__ alignas(128) float s[64];
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t == 0) expect(&b, 256), copy(s, x, 256, &b);
  __syncthreads();
  if (t == 32) arrive(&b);
  wait(&b, 0);
  y[t] = s[t];
}

// The first warp waits for ever if the phase is over before it asks.
extern "C" __global__ void wait_before_first(const float* x, float* y) {
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t < 32) wait(&b, 1);
  if (t == 32) arrive(&b);
  y[t] = x[t];
}

// The second warp waits for ever if two phases are over before it asks.
extern "C" __global__ void wait_late(const float* x, float* y) {
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t == 0) arrive(&b), wait(&b, 0), arrive(&b);
  if (t >= 32) wait(&b, 0);
  y[t] = x[t];
}

// The bytes of the second copy may count for the phase of the first.
extern "C" __global__ void copies_of_two_phases(const float* x, float* y) {
  __shared__ alignas(128) float s[64], q[64];
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 1);
  __syncthreads();
  if (t == 0) arrive_expect(&b, 256), copy(s, x, 256, &b), wait(&b, 0), arrive_expect(&b, 256);
  if (t == 32) copy(q, x, 256, &b);
  wait(&b, 0);
  y[t] = s[t];
}

// Other threads may still wait when the object is made invalid.
__device__ void invalidate(uint64_t* b) { asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(at(b)) : "memory"); }
template <bool ordered>
__device__ void use_and_invalidate(const float* x, float* y) {
  __shared__ uint64_t b;
  const int t = threadIdx.x;
  if (t == 0) init(&b, 64);
  __syncthreads();
  arrive(&b);
  wait(&b, 0);
  if (ordered) __syncthreads();
  if (t == 0) invalidate(&b);
  y[t] = x[t];
}
extern "C" __global__ void invalidates(const float* x, float* y) { use_and_invalidate<true>(x, y); }
extern "C" __global__ void invalidates_early(const float* x, float* y) { use_and_invalidate<false>(x, y); }
