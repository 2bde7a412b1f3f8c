// Gathers by a table of source lanes.

extern "C" __global__ void gather(const float* x, const int* lane, const int* valid, float* y,
                                  int* q) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[lane[i]];
  q[i] = valid[i];
}
