// The block index, converted to float, scales what its block does.

extern "C" __global__ void scaled_by_block(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * (float)blockIdx.x;
}

extern "C" __global__ void scaled_by_row(const float* x, float* y, int rows, int columns) {
  for (int r = 0; r < rows; ++r)
    for (int j = threadIdx.x; j < columns; j += blockDim.x)
      y[r * columns + j] = (float)r * x[r * columns + j];
}

// Agrees in block 0 alone.
extern "C" __global__ void scaled_by_twice_the_block(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * (float)(2 * blockIdx.x);
}

// Agrees in blocks 0 and 1.
extern "C" __global__ void scaled_by_square(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float b = (float)blockIdx.x;
  y[i] = x[i] * b * b;
}

// The position from the end.
extern "C" __global__ void scaled_from_the_end(const float* x, float* y) {
  const int b = gridDim.x - 1 - blockIdx.x, i = b * blockDim.x + threadIdx.x;
  y[i] = x[i] * (float)b;
}

// The rotary angle of a position: the block index enters a product before it enters the sine.
extern "C" __global__ void angle_by_block(const float* f, float* y) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = __sinf((float)blockIdx.x * f[threadIdx.x]);
}

extern "C" __global__ void angle_by_row(const float* f, float* y, int rows) {
  for (int r = 0; r < rows; ++r)
    y[r * blockDim.x + threadIdx.x] = __sinf(f[threadIdx.x] * (float)r);
}

extern "C" __global__ void angle_from_one(const float* f, float* y, int rows) {
  for (int r = 0; r < rows; ++r)
    y[r * blockDim.x + threadIdx.x] = __sinf(f[threadIdx.x] * (float)(r + 1));
}
