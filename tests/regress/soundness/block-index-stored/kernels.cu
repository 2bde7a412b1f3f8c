// Integers made of the block index are stored.

extern "C" __global__ void ramp(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i;
}

extern "C" __global__ void ramp_serial(int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = i;
}

// Right in block 0 alone.
extern "C" __global__ void ramp_wrong_stride(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = blockIdx.x * (blockDim.x + 1) + threadIdx.x;
}

// Each block stores the quotient and the remainder of its index.
extern "C" __global__ void digits(int* out, int base) {
  out[2 * blockIdx.x] = blockIdx.x / base;
  out[2 * blockIdx.x + 1] = blockIdx.x % base;
}

extern "C" __global__ void digits_counted(int* out, int base, int n) {
  int high = 0, low = 0;
  for (int i = 0; i < n; ++i) {
    out[2 * i] = high;
    out[2 * i + 1] = low;
    if (++low == base) {
      low = 0;
      ++high;
    }
  }
}

extern "C" __global__ void digits_late_carry(int* out, int base, int n) {
  int high = 0, low = 0;
  for (int i = 0; i < n; ++i) {
    out[2 * i] = high;
    out[2 * i + 1] = low;
    if (++low > base) {
      low = 0;
      ++high;
    }
  }
}

// A table of positions with the data mixed in.
extern "C" __global__ void tagged(const int* x, int* out) {
  out[blockIdx.x] = x[blockIdx.x] ^ blockIdx.x;
}

extern "C" __global__ void tagged_serial(const int* x, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = (x[i] | i) & ~(x[i] & i);
}

extern "C" __global__ void tagged_serial_or(const int* x, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = x[i] | i;
}
