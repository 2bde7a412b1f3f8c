// Zero padding behind the n-th value.

extern "C" __global__ void pad(const float* x, float* y, int n) {
  if (threadIdx.x < n)
    y[threadIdx.x] = x[threadIdx.x];
  else
    y[threadIdx.x] = 0.0f;
}
