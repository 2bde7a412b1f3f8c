// A 3 x 3 convolution with zero padding over images of 64 x 64 and 16 channels in and out.

extern "C" __global__ void convolution_direct(const float* x, const float* w, float* y) {
  const int pixel = blockIdx.x * 256 + threadIdx.x, r = pixel / 64, q = pixel % 64;
  const int out = blockIdx.y, image = blockIdx.z;
  float sum = 0.0f;
  for (int in = 0; in < 16; ++in)
    for (int i = -1; i <= 1; ++i)
      for (int j = -1; j <= 1; ++j)
        if (r + i >= 0 && r + i < 64 && q + j >= 0 && q + j < 64)
          sum += x[((image * 16 + in) * 64 + r + i) * 64 + q + j] *
                 w[((out * 16 + in) * 3 + i + 1) * 3 + j + 1];
  y[((image * 16 + out) * 64 + r) * 64 + q] = sum;
}

// A tile of 16 x 16 pixels with its halo in shared memory, channel by channel.
extern "C" __global__ void convolution_tiled(const float* x, const float* w, float* y) {
  __shared__ float tile[18][18];
  const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
  const int left = blockIdx.x % 4 * 16, top = blockIdx.x / 4 * 16, out = blockIdx.y,
            image = blockIdx.z;
  float sum = 0.0f;
  for (int in = 0; in < 16; ++in) {
    for (int p = t; p < 18 * 18; p += 256) {
      const int r = top + p / 18 - 1, q = left + p % 18 - 1;
      tile[p / 18][p % 18] =
          r >= 0 && r < 64 && q >= 0 && q < 64 ? x[((image * 16 + in) * 64 + r) * 64 + q] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 3; ++i)
#pragma unroll
      for (int j = 0; j < 3; ++j)
        sum += tile[ty + i][tx + j] * w[((out * 16 + in) * 3 + i) * 3 + j];
    __syncthreads();
  }
  y[((image * 16 + out) * 64 + top + ty) * 64 + left + tx] = sum;
}
