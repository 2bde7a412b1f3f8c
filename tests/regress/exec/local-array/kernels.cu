// An array in local memory, indexed by values that the compiler does not know.

extern "C" __global__ void rotate_local(const float* x, const int* order, float* y) {
  float buffer[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) buffer[j] = x[threadIdx.x * 8 + j];
  for (int j = 0; j < 8; ++j) y[threadIdx.x * 8 + j] = buffer[order[j]];
}

extern "C" __global__ void rotate_direct(const float* x, const int* order, float* y) {
  for (int j = 0; j < 8; ++j) y[threadIdx.x * 8 + j] = x[threadIdx.x * 8 + order[j]];
}

// The inverse permutation, built in local memory.
extern "C" __global__ void inverse_by_scatter(const float* x, const int* order, float* y) {
  int where[8];
  for (int j = 0; j < 8; ++j) where[order[j]] = j;
  for (int j = 0; j < 8; ++j) y[threadIdx.x * 8 + j] = x[threadIdx.x * 8 + where[j]];
}

extern "C" __global__ void inverse_by_store(const float* x, const int* order, float* y) {
  for (int j = 0; j < 8; ++j) y[threadIdx.x * 8 + order[j]] = x[threadIdx.x * 8 + j];
}
