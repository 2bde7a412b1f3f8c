// Indices computed in floating point: the rounded value decides.

extern "C" __global__ void row_by_product(const float* x, float* y, float inverse) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[(int)((float)i * inverse)];
}

extern "C" __global__ void row_by_division(const float* x, float* y, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i / width];
}

// A mask by a comparison of floats made of indices.
extern "C" __global__ void near_diagonal(const float* x, float* y, float inverse) {
  const int i = blockIdx.x, j = threadIdx.x;
  y[i * blockDim.x + j] = (float)i * inverse >= 1.0f && j == 0 ? x[i] : 0.0f;
}

extern "C" __global__ void from_row(const float* x, float* y, int first) {
  const int i = blockIdx.x, j = threadIdx.x;
  y[i * blockDim.x + j] = i >= first && j == 0 ? x[i] : 0.0f;
}
