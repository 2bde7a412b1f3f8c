// 32-bit index arithmetic that wraps.

extern "C" __global__ void there_and_back(const float* x, float* y, unsigned k, unsigned inverse) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned there = i * k;
  y[i] = x[there * inverse];
}

// The product is widened before it wraps, so the way back does not arrive.
extern "C" __global__ void widened(const float* x, float* y, unsigned k, unsigned inverse) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long there = (unsigned long long)i * k;
  // expect: out-of-bounds-read @ next line
  y[i] = x[there * inverse];
}

extern "C" __global__ void copy(const float* x, float* y, unsigned k, unsigned inverse) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}

// Multiplicative hashing to sixteen slots.
extern "C" __global__ void slot(const float* table, float* y, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = table[(i * k) >> 28];
}

extern "C" __global__ void slot_wide(const float* table, float* y, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long wide = (unsigned long long)i * k;
  y[i] = table[(wide % 4294967296ull) / 268435456ull];
}

extern "C" __global__ void slot_bits(const float* table, float* y, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = table[((i * k) >> 27) & 15u];
}

// A difference of unsigned numbers that goes below zero and comes back.
extern "C" __global__ void below_zero(const float* x, float* y, unsigned down, unsigned up) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[(i - down) + up];
}
