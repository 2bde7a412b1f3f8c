// Quotients and remainders of the block index, and blocks in other orders.

extern "C" __global__ void heads(const float* x, float* y, int tokens, int heads) {
  const int token = blockIdx.x / heads, head = blockIdx.x % heads;
  y[(head * tokens + token) * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}

extern "C" __global__ void heads_two_dimensions(const float* x, float* y, int tokens, int heads) {
  y[(blockIdx.y * tokens + blockIdx.x) * blockDim.x + threadIdx.x] =
      x[(blockIdx.x * heads + blockIdx.y) * blockDim.x + threadIdx.x];
}

extern "C" __global__ void heads_swapped(const float* x, float* y, int tokens, int heads) {
  const int token = blockIdx.x % tokens, head = blockIdx.x / tokens;
  y[(token * heads + head) * blockDim.x + threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
}

// Blocks in groups of three rows, column by column inside a group; the last group is smaller.
extern "C" __global__ void swizzled(const float* x, float* y, int tile_rows, int tile_columns) {
  const int group = 3, b = blockIdx.x, per_group = group * tile_columns;
  const int first = b / per_group * group, size = min(tile_rows - first, group);
  const int r = first + b % per_group % size, c = b % per_group / size;
  const int i = (r * tile_columns + c) * blockDim.x + threadIdx.x;
  y[i] = x[i] * x[i];
}

extern "C" __global__ void straight(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * x[i];
}

// The smaller last group is forgotten.
extern "C" __global__ void swizzled_full_groups(const float* x, float* y, int tile_rows,
                                                int tile_columns) {
  const int group = 3, b = blockIdx.x, per_group = group * tile_columns;
  const int r = b / per_group * group + b % per_group % group, c = b % per_group / group;
  const int i = (r * tile_columns + c) * blockDim.x + threadIdx.x;
  if (i < tile_rows * tile_columns * blockDim.x) y[i] = x[i] * x[i];
}

// The grid is transposed.
extern "C" __global__ void transposed_grid(const float* x, float* y, int tile_columns) {
  const int i = (blockIdx.x * tile_columns + blockIdx.y) * blockDim.x + threadIdx.x;
  y[i] = x[i] * x[i];
}
