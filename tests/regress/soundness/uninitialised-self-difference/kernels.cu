// A cell that nobody wrote minus itself, and compared with itself.

extern "C" __global__ void difference(const float* x, const float* scratch, float* y) {
  const int t = threadIdx.x;
  // expect: uninitialized-read @ next line
  const float old = scratch[t];
  y[t] = x[t] + (old - old);
}

extern "C" __global__ void branch_on_garbage(const int* x, const int* scratch, int* y) {
  const int t = threadIdx.x;
  // expect: uninitialized-read @ next line
  const int old = scratch[t];
  if (old > 0)
    y[t] = x[t] + 1;
  else
    y[t] = 1 + x[t];
}

extern "C" __global__ void copy(const float* x, const float* scratch, float* y) {
  const int t = threadIdx.x;
  y[t] = x[t];
}

extern "C" __global__ void plus_one(const int* x, const int* scratch, int* y) {
  const int t = threadIdx.x;
  y[t] = x[t] + 1;
}
