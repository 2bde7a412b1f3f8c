// What completes at an mbarrier is complete for those who wait there: a barrier does not stand for the wait.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned remote(const void* p, unsigned rank) {
  unsigned at;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(address(p)), "r"(rank));
  return at;
}
__device__ void make(const void* bar, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}
__device__ void expect(const void* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(address(bar)), "r"(bytes) : "memory");
}
__device__ void wait(const void* bar) {
  asm volatile("{.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(
                   address(bar))
               : "memory");
}
__device__ void announce() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

template <bool kWaits>
__device__ void copied(const float* x, float* y) {
  __shared__ float m[32];
  __shared__ unsigned long long bar;
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (t == 0) make(&bar, 32);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(&m[t])), "l"(x + i) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&bar)) : "memory");
  if (kWaits) wait(&bar);
  __syncthreads();
  y[i] = m[t ^ 1];
}
extern "C" __global__ void copied_waited(const float* x, float* y) { copied<true>(x, y); }
extern "C" __global__ void copied_unwaited(const float* x, float* y) { copied<false>(x, y); }
extern "C" __global__ void neighbours(const float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = x[i ^ 1];
}

template <bool kWaits>
__device__ void sent(const float* x, float* y) {
  __shared__ float m[32];
  __shared__ unsigned long long bar;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned t = threadIdx.x, i = blockIdx.x * 32 + t, other = cluster.block_rank() ^ 1;
  if (t == 0) {
    make(&bar, 1);
    announce();
    expect(&bar, 128);
  }
  cluster.sync();
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(remote(&m[t], other)),
               "r"(__float_as_uint(x[i])), "r"(remote(&bar, other))
               : "memory");
  if (kWaits) wait(&bar);
  cluster.sync();
  y[i] = m[t];
}
extern "C" __global__ void sent_waited(const float* x, float* y) { sent<true>(x, y); }
extern "C" __global__ void sent_unwaited(const float* x, float* y) { sent<false>(x, y); }

template <bool kFence>
__device__ void moved(const float* x, float* y) {
  __shared__ alignas(16) float from[32];
  __shared__ alignas(16) float to[32];
  __shared__ unsigned long long bar;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned t = threadIdx.x, i = blockIdx.x * 32 + t, other = cluster.block_rank() ^ 1;
  if (t == 0) {
    make(&bar, 1);
    announce();
    expect(&bar, 128);
  }
  from[t] = x[i];
  if (kFence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster.sync();
  if (t == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];" ::"r"(
                     remote(to, other)),
                 "r"(address(from)), "r"(remote(&bar, other))
                 : "memory");
  wait(&bar);
  y[i] = to[t];
  cluster.sync();
}
extern "C" __global__ void moved_fenced(const float* x, float* y) { moved<true>(x, y); }
extern "C" __global__ void moved_unfenced(const float* x, float* y) { moved<false>(x, y); }
extern "C" __global__ void other_block(const float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = x[i ^ 32];
}
