// Matrix products of sizes that the tiles divide.

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* c, int n,
                                        int depth) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0.0f;
  for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
  c[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int n,
                                        int depth) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y,
            column = blockIdx.x * 16 + x;
  float sum = 0.0f;
  for (int k = 0; k < depth; k += 16) {
    tile_a[y][x] = a[row * depth + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += tile_a[y][j] * tile_b[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A tile of 64 by 64 cells a block of 256 threads, 4 by 4 of them a thread, loads and stores of
// four floats.
extern "C" __global__ void matmul_registers(const float* a, const float* b, float* c, int n,
                                            int depth) {
  __shared__ float tile_a[16][64], tile_b[16][64];
  const int t = threadIdx.x, ty = t / 16, tx = t % 16;
  const int row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = 0; k < depth; k += 16) {
    const float4 va = *reinterpret_cast<const float4*>(a + (row + t / 4) * depth + k + t % 4 * 4);
    tile_a[t % 4 * 4][t / 4] = va.x;
    tile_a[t % 4 * 4 + 1][t / 4] = va.y;
    tile_a[t % 4 * 4 + 2][t / 4] = va.z;
    tile_a[t % 4 * 4 + 3][t / 4] = va.w;
    *reinterpret_cast<float4*>(&tile_b[ty][tx * 4]) =
        *reinterpret_cast<const float4*>(b + (k + ty) * n + column + tx * 4);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      const float4 p = *reinterpret_cast<const float4*>(&tile_a[j][ty * 4]);
      const float4 q = *reinterpret_cast<const float4*>(&tile_b[j][tx * 4]);
      const float left[4] = {p.x, p.y, p.z, p.w}, right[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) sum[r][s] += left[r] * right[s];
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
    *reinterpret_cast<float4*>(c + (row + ty * 4 + r) * n + column + tx * 4) =
        make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

// One quarter of the inner sum for each z of the grid, into a workspace of four products.
extern "C" __global__ void matmul_part(const float* a, const float* b, float* w, int n, int depth) {
  __shared__ float tile_a[16][16], tile_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y,
            column = blockIdx.x * 16 + x;
  const int part = depth / gridDim.z, first = blockIdx.z * part;
  float sum = 0.0f;
  for (int k = first; k < first + part; k += 16) {
    tile_a[y][x] = a[row * depth + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += tile_a[y][j] * tile_b[j][x];
    __syncthreads();
  }
  w[(blockIdx.z * gridDim.y * 16 + row) * n + column] = sum;
}

extern "C" __global__ void matmul_gather(const float* w, float* c, int cells, int parts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int p = 0; p < parts; ++p) sum += w[p * cells + i];
  c[i] = sum;
}
