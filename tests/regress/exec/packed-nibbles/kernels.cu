// Four-bit weights, eight to a word.

extern "C" __global__ void by_words(const unsigned* q, const float* scale, float* y) {
  const int t = threadIdx.x;
  const unsigned w = q[t];
  for (int j = 0; j < 8; ++j) y[8 * t + j] = (float)((int)((w >> (4 * j)) & 15u) - 8) * scale[t];
}

extern "C" __global__ void by_bytes(const unsigned char* q, const float* scale, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = q[i / 2], v = i % 2 ? b / 16 : b % 16;
  y[i] = scale[i / 8] * (float)v - 8.0f * scale[i / 8];
}

// High half first.
extern "C" __global__ void by_bytes_swapped(const unsigned char* q, const float* scale, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = q[i / 2], v = i % 2 ? b % 16 : b / 16;
  y[i] = scale[i / 8] * (float)v - 8.0f * scale[i / 8];
}
