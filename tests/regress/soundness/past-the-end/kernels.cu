// Accesses past the end of a tensor whose length is no multiple of the block.

extern "C" __global__ void fill_all(float* y, float v) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // expect: out-of-bounds-write @ next line
  y[i] = v;
}

extern "C" __global__ void fill(float* y, float v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = v;
}

extern "C" __global__ void fill_serial(float* y, float v, int n) {
  for (int i = 0; i < n; ++i) y[i] = v;
}

extern "C" __global__ void before_the_start(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  // expect: out-of-bounds-read @ next line
  y[i] = x[i] - x[i - 1];
}

extern "C" __global__ void differences(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = i ? x[i] - x[i - 1] : x[i];
}

extern "C" __global__ void differences_serial(const float* x, float* y, int n) {
  float last = 0.0f;
  for (int i = 0; i < n; ++i) {
    y[i] = x[i] - last;
    last = x[i];
  }
}

// One more than fits.
extern "C" __global__ void off_by_one(float* y, float v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // expect: out-of-bounds-write @ next line
  if (i <= n) y[i] = v;
}

extern "C" __global__ void shared_off_by_one(const float* x, float* y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  // expect: shared-out-of-bounds @ next line
  y[t] = s[t + 1];
}
