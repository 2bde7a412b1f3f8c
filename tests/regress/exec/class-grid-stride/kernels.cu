// A loop that strides over the grid.

extern "C" __global__ void grid_stride(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = 3.0f * x[i];
}

extern "C" __global__ void one_each(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 2.0f * x[i];
}

// Each block does a contiguous piece.
extern "C" __global__ void pieces(const float* x, float* y, int n) {
  const int length = (n + gridDim.x - 1) / gridDim.x, end = min(n, (int)(blockIdx.x + 1) * length);
  for (int i = blockIdx.x * length + threadIdx.x; i < end; i += blockDim.x) y[i] = 3.0f * x[i];
}

// The piece is rounded down, so the last cells are left out.
extern "C" __global__ void pieces_short(const float* x, float* y, int n) {
  const int length = n / gridDim.x, end = min(n, (int)(blockIdx.x + 1) * length);
  for (int i = blockIdx.x * length + threadIdx.x; i < end; i += blockDim.x) y[i] = 3.0f * x[i];
}
