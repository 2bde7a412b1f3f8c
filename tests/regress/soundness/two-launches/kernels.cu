// Two launches of one program: the second reads what the first left in a workspace.

extern "C" __global__ void square_reversed(const float* x, float* w, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  w[n - 1 - i] = x[i] * x[i];
}

extern "C" __global__ void plus_one_reversed(const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = w[n - 1 - i] + 1.0f;
}

extern "C" __global__ void plus_one(const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = w[i] + 1.0f;
}

extern "C" __global__ void fused(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i] * x[i] + 1.0f;
}

// A 6 by 4 matrix is written transposed, and read back along its other side.
extern "C" __global__ void transposed(const float* x, float* w) {
  w[threadIdx.x * gridDim.x + blockIdx.x] = 3.0f * x[blockIdx.x * blockDim.x + threadIdx.x];
}

extern "C" __global__ void transposed_back(const float* w, float* y, int rows) {
  y[threadIdx.x * gridDim.x + blockIdx.x] = w[blockIdx.x * rows + threadIdx.x] - 1.0f;
}

extern "C" __global__ void affine(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 3.0f * x[i] - 1.0f;
}
