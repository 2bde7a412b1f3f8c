// A 3 x 3 convolution with zero padding: the borders are paths of their own.

extern "C" __global__ void padded(const float* x, const float* w, float* y, int h, int width) {
  const int r = blockIdx.x, j = threadIdx.x;
  float s = 0.0f;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      if (r + a >= 0 && r + a < h && j + b >= 0 && j + b < width)
        s += w[(a + 1) * 3 + b + 1] * x[(r + a) * width + j + b];
  y[r * width + j] = s;
}

// A tile with a halo in shared memory, filled with zeros outside.
extern "C" __global__ void tiled(const float* x, const float* w, float* y, int h, int width) {
  __shared__ float tile[6][6];
  const int tx = threadIdx.x, ty = threadIdx.y;
  for (int i = ty * 4 + tx; i < 36; i += 16) {
    const int r = (int)blockIdx.y * 4 + i / 6 - 1, j = (int)blockIdx.x * 4 + i % 6 - 1;
    tile[i / 6][i % 6] = r >= 0 && r < h && j >= 0 && j < width ? x[r * width + j] : 0.0f;
  }
  __syncthreads();
  const int r = blockIdx.y * 4 + ty, j = blockIdx.x * 4 + tx;
  if (r >= h || j >= width) return;
  float s = 0.0f;
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) s += tile[ty + a][tx + b] * w[a * 3 + b];
  y[r * width + j] = s;
}

// The edge is repeated instead of padded.
extern "C" __global__ void clamped(const float* x, const float* w, float* y, int h, int width) {
  const int r = blockIdx.x, j = threadIdx.x;
  float s = 0.0f;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      s += w[(a + 1) * 3 + b + 1] *
           x[min(max(r + a, 0), h - 1) * width + min(max(j + b, 0), width - 1)];
  y[r * width + j] = s;
}

// Mirrored kernel: a correlation against a convolution.
extern "C" __global__ void mirrored(const float* x, const float* w, float* y, int h, int width) {
  const int r = blockIdx.x, j = threadIdx.x;
  float s = 0.0f;
  for (int a = -1; a <= 1; ++a)
    for (int b = -1; b <= 1; ++b)
      if (r + a >= 0 && r + a < h && j + b >= 0 && j + b < width)
        s += w[(1 - a) * 3 + 1 - b] * x[(r + a) * width + j + b];
  y[r * width + j] = s;
}
