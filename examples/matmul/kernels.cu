// Matrix products of any size: one thread a cell, plainly and with tiles in shared memory.

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int m, int n,
                                        int depth) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y,
            column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
  c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n,
                                        int depth) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int k = 0; k < depth; k += 16) {
    tile_a[y][x] = row < m && k + x < depth ? a[row * depth + k + x] : 0.0f;
    tile_b[y][x] = k + y < depth && column < n ? b[(k + y) * n + column] : 0.0f;
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += tile_a[y][j] * tile_b[j][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
