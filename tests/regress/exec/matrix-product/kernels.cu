// Matrix products: naive, tiled with a ragged edge, and by warps.

extern "C" __global__ void naive(const float* a, const float* b, float* c, int m, int n,
                                 int depth) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float s = 0.0f;
  for (int k = 0; k < depth; ++k) s += a[i * depth + k] * b[k * n + j];
  c[i * n + j] = s;
}

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int m, int n,
                                 int depth) {
  __shared__ float ta[4][4], tb[4][4];
  const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 4 + y, j = blockIdx.x * 4 + x;
  float s = 0.0f;
  for (int k = 0; k < depth; k += 4) {
    ta[y][x] = i < m && k + x < depth ? a[i * depth + k + x] : 0.0f;
    tb[y][x] = k + y < depth && j < n ? b[(k + y) * n + j] : 0.0f;
    __syncthreads();
    for (int q = 0; q < 4; ++q) s += ta[y][q] * tb[q][x];
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] = s;
}

// One warp a cell, the inner sum by shuffles.
extern "C" __global__ void by_warp(const float* a, const float* b, float* c, int m, int n,
                                   int depth) {
  const int cell = blockIdx.x, i = cell / n, j = cell % n;
  float s = 0.0f;
  for (int k = threadIdx.x; k < depth; k += 32) s += a[i * depth + k] * b[k * n + j];
  for (int step = 16; step > 0; step /= 2) s += __shfl_down_sync(0xffffffffu, s, step);
  if (threadIdx.x == 0) c[cell] = s;
}

// b is read as if it were transposed.
extern "C" __global__ void transposed(const float* a, const float* b, float* c, int m, int n,
                                      int depth) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float s = 0.0f;
  for (int k = 0; k < depth; ++k) s += a[i * depth + k] * b[j * depth + k];
  c[i * n + j] = s;
}
