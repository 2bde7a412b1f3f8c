// A matrix product whose inner sum is split over blocks and gathered by a second launch.

extern "C" __global__ void whole(const float* a, const float* b, float* c, int n, int depth) {
  const int row = blockIdx.x, column = threadIdx.x;
  float s = 0.0f;
  for (int k = 0; k < depth; ++k) s += a[row * depth + k] * b[k * n + column];
  c[row * n + column] = s;
}

extern "C" __global__ void part(const float* a, const float* b, float* w, int n, int depth,
                                int width) {
  const int row = blockIdx.x, split = blockIdx.y, column = threadIdx.x;
  float s = 0.0f;
  for (int k = split * width; k < (split + 1) * width; ++k)
    s += a[row * depth + k] * b[k * n + column];
  w[(split * gridDim.x + row) * n + column] = s;
}

extern "C" __global__ void gather(const float* w, float* c, int cells, int splits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= cells) return;
  float s = 0.0f;
  for (int p = 0; p < splits; ++p) s += w[p * cells + i];
  c[i] = s;
}

// Parts are added to the result as they come.
extern "C" __global__ void part_atomic(const float* a, const float* b, float* c, int n, int depth,
                                       int width) {
  const int row = blockIdx.x, split = blockIdx.y, column = threadIdx.x;
  float s = 0.0f;
  for (int k = split * width; k < (split + 1) * width; ++k)
    s += a[row * depth + k] * b[k * n + column];
  atomicAdd(c + row * n + column, s);
}
