// One element a thread, of more than 2^31.
extern "C" __global__ void wide(const float* x, float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
// The index wraps at 2^31.
extern "C" __global__ void narrow(const float* x, float* y, long long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  // expect: out-of-bounds-read @ next line
  if (i < n) y[i] = x[i] + x[i];
}
