// Two lanes store one and the same value, each computed in its own way.

extern "C" __global__ void larger(const float* x, float* y) {
  __shared__ float s;
  const int t = threadIdx.x;
  const float v = x[t], o = __shfl_xor_sync(3u, v, 1);
  s = v > o ? v : o;
  __syncthreads();
  y[t] = s;
}

extern "C" __global__ void own_or_larger(const float* x, float* y) {
  __shared__ float s;
  const int t = threadIdx.x;
  const float v = x[t], o = __shfl_xor_sync(3u, v, 1);
  // expect: shared-race @ next line
  s = v > 2.0f * o ? v : o;
  __syncthreads();
  y[t] = s;
}

extern "C" __global__ void midpoint(const float* x, float* y) {
  __shared__ float s;
  const int t = threadIdx.x;
  const float v = x[t], o = __shfl_xor_sync(3u, v, 1);
  // expect: shared-race @ next line
  s = v + (o - v) * 0.5f;
  __syncthreads();
  y[t] = s;
}

extern "C" __global__ void sum_of_integers(const int* x, int* y) {
  __shared__ int s;
  const int t = threadIdx.x;
  const int v = x[t], o = __shfl_xor_sync(3u, v, 1);
  // expect: shared-race @ next line
  s = v + (o - v) * 2 + (v - o);
  __syncthreads();
  y[t] = s;
}

extern "C" __global__ void larger_once(const float* x, float* y) {
  y[threadIdx.x] = fmaxf(x[0], x[1]);
}

extern "C" __global__ void exchanged(const int* x, int* y) { y[threadIdx.x] = x[1 - threadIdx.x]; }
