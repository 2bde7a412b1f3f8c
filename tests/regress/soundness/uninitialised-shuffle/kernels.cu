// A lane whose value comes from an unwritten cell passes it on in a shuffle.

extern "C" __global__ void passed_on(const float* x, const float* s, float* y) {
  const int t = threadIdx.x;
  // expect: uninitialized-read @ next line
  const float v = t == 9 ? s[0] : x[t];
  const float w = __shfl_sync(0xffffffffu, v, 9);
  y[t] = x[t] + w;
}

// Every lane gets the value of its left neighbour; lane 10, whose neighbour has none, does not use
// it.
extern "C" __global__ void passed_and_dropped(const float* x, const float* s, float* y) {
  const int t = threadIdx.x;
  const float v = t == 9 ? s[0] : x[t];
  const float w = __shfl_up_sync(0xffffffffu, v, 1);
  y[t] = t == 10 || t == 0 ? x[t] : w;
}

extern "C" __global__ void neighbour(const float* x, const float* s, float* y) {
  const int t = threadIdx.x;
  y[t] = t == 10 || t == 0 ? x[t] : x[t - 1];
}

extern "C" __global__ void plus_first(const float* x, const float* s, float* y) {
  const int t = threadIdx.x;
  y[t] = s[0] + x[t];
}
