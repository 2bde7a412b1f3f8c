// Touches the first and the last cells of a tensor far larger than any memory.

extern "C" __global__ void ends(const float* x, float* y, long long n) {
  y[threadIdx.x] = x[threadIdx.x] + x[n - 1 - threadIdx.x];
}

extern "C" __global__ void ends_exchanged(const float* x, float* y, long long n) {
  y[threadIdx.x] = x[n - 1 - threadIdx.x] + x[threadIdx.x];
}

extern "C" __global__ void past_the_end(const float* x, float* y, long long n) {
  // expect: out-of-bounds-read @ next line
  y[threadIdx.x] = x[threadIdx.x] + x[n - threadIdx.x];
}
