// Updates of a tensor in place.

extern "C" __global__ void each_its_own(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = x[i] * x[i] - 1.0f;
}

extern "C" __global__ void into_another(const float* x, float* w) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  w[i] = (x[i] - 1.0f) * (x[i] + 1.0f);
}

extern "C" __global__ void reverse_without_barrier(float* x, int n) {
  const int i = threadIdx.x;
  // expect: global-race @ next line
  x[i] = x[n - 1 - i];
}

extern "C" __global__ void reverse_with_barrier(float* x, int n) {
  const int i = threadIdx.x;
  const float v = x[n - 1 - i];
  __syncthreads();
  x[i] = v;
}

extern "C" __global__ void reverse_swaps(float* x, int n) {
  const int i = threadIdx.x, j = n - 1 - i;
  if (i >= j) return;
  const float v = x[i];
  x[i] = x[j];
  x[j] = v;
}

// A second update sees the first.
extern "C" __global__ void twice_in_place(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile float* v = x;
  v[i] = v[i] + 1.0f;
  v[i] = v[i] * 2.0f;
}

extern "C" __global__ void once(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 2.0f * x[i] + 2.0f;
}

extern "C" __global__ void other_order(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 2.0f * x[i] + 1.0f;
}
