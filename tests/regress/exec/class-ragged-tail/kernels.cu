// The last block is ragged: in rows, in columns and in both.

extern "C" __global__ void tiles(const float* x, float* y, int rows, int columns) {
  const int r = blockIdx.y * 4 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
  if (r < rows && j < columns) y[r * columns + j] = fmaxf(x[r * columns + j], 0.0f);
}

extern "C" __global__ void rows(const float* x, float* y, int rows, int columns) {
  const int r = blockIdx.x;
  for (int j = threadIdx.x; j < columns; j += blockDim.x)
    y[r * columns + j] = x[r * columns + j] > 0.0f ? x[r * columns + j] : 0.0f;
}

// The tail of each row is not clipped.
extern "C" __global__ void tiles_unclipped(const float* x, float* y, int rows, int columns) {
  const int r = blockIdx.y * 4 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
  if (r < rows && r * columns + j < rows * columns)
    // expect: global-race @ next line
    y[r * columns + j] = fmaxf(x[r * columns + j], 0.0f) * (float)(j + 1);
}

// Vectors of two inside, single elements at the end of an odd row count.
extern "C" __global__ void pairs(const float* x, float* y, int rows, int columns) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x), n = rows * columns;
  if (i + 1 < n) {
    const float2 v = *reinterpret_cast<const float2*>(x + i);
    *reinterpret_cast<float2*>(y + i) = make_float2(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f));
  } else if (i < n) {
    y[i] = fmaxf(x[i], 0.0f);
  }
}
