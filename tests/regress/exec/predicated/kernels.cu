// The same by branches.

extern "C" __global__ void branched(const float* x, float* y) {
  const int t = threadIdx.x;
  float o = t < 5 ? 2.0f * x[t] : x[t] * x[t];
  if (t % 2 == 0) {
    y[t] = o + x[t + 1];
  } else {
    y[t] = -(o + x[t - 1]);
  }
}

extern "C" __global__ void branched_one_later(const float* x, float* y) {
  const int t = threadIdx.x;
  float o = t < 6 ? 2.0f * x[t] : x[t] * x[t];
  y[t] = t % 2 == 0 ? o + x[t + 1] : -(o + x[t - 1]);
}
