// Tensors with gaps between rows, and tensors whose rows share storage.

extern "C" __global__ void scale_rows(const float* x, float* y, int pitch_x, int pitch_y) {
  const int r = blockIdx.x, j = threadIdx.x;
  y[r * pitch_y + j] = 2.0f * x[r * pitch_x + j];
}

extern "C" __global__ void scale_rows_serial(const float* x, float* y, int rows, int columns,
                                             int pitch_x, int pitch_y) {
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) y[r * pitch_y + j] = x[r * pitch_x + j] + x[r * pitch_x + j];
}

// Fills whole rows, gap included.
extern "C" __global__ void fill_with_gap(float* y, int pitch_y) {
  const int r = blockIdx.x;
  // expect: out-of-bounds-write @ next line
  for (int j = threadIdx.x; j < pitch_y; j += blockDim.x) y[r * pitch_y + j] = 1.0f;
}
