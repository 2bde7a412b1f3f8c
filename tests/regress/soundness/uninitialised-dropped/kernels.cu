// What the assembly computes when nothing uninitialised is used.

extern "C" __global__ void copy(const float* x, const float* s, float* y, int n) {
  y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void twice_when_positive(const float* x, const float* s, float* y, int n) {
  const float v = x[threadIdx.x];
  y[threadIdx.x] = v > 0.0f ? 2.0f * v : 0.0f;
}

extern "C" __global__ void low_half_direct(const unsigned* x, unsigned* y) {
  y[threadIdx.x] = x[threadIdx.x] % 65536u;
}

extern "C" __global__ void low_17_bits(const unsigned* x, unsigned* y) {
  y[threadIdx.x] = x[threadIdx.x] & 0x1ffffu;
}
