// Single-precision literals in double-precision arithmetic are what their bits are.
extern "C" __global__ void tenth_single(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 0.1f;
}

extern "C" __global__ void tenth_double(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 0.1;
}

extern "C" __global__ void over_ten(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] / 10.0;
}
