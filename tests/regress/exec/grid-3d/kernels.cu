// Grids and blocks of three dimensions.

extern "C" __global__ void three_dimensions(const float* x, float* y, int nx, int ny, int nz) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  const int k = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < nx && j < ny && k < nz)
    y[(k * ny + j) * nx + i] = 2.0f * x[(k * ny + j) * nx + i] + (float)gridDim.z;
}

extern "C" __global__ void one_dimension(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i] + 2.0f;
}

extern "C" __global__ void axes_turned(const float* x, float* y, int nx, int ny, int nz) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  const int j = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < nx && j < ny && k < nz) y[(k * ny + j) * nx + i] = 2.0f * x[(k * ny + j) * nx + i] + 2.0f;
}

// Transposes the last two axes on the way.
extern "C" __global__ void axes_mixed(const float* x, float* y, int nx, int ny, int nz) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  const int j = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < nx && j < ny && k < nz) y[(k * ny + j) * nx + i] = 2.0f * x[(k * nx + i) * ny + j] + 2.0f;
}
