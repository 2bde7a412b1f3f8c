// Four floats at a time: the address must be a multiple of 16.

extern "C" __global__ void copy_by_four(const float* x, float* y) {
  const int t = threadIdx.x;
  // expect: misaligned-access @ next line
  const float4 v = reinterpret_cast<const float4*>(x)[t];
  y[4 * t] = v.x;
  y[4 * t + 1] = v.y;
  y[4 * t + 2] = v.z;
  y[4 * t + 3] = v.w;
}

extern "C" __global__ void copy_by_one(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];
}

// Row starts are multiples of 6 floats: only every second row is aligned.
extern "C" __global__ void store_rows_by_four(const float* x, float* y) {
  const int r = threadIdx.x;
  // expect: misaligned-access @ next line
  *reinterpret_cast<float4*>(y + 6 * r) = make_float4(x[r], x[r], x[r], x[r]);
}

extern "C" __global__ void store_rows_by_two(const float* x, float* y) {
  const int r = threadIdx.x;
  *reinterpret_cast<float2*>(y + 6 * r) = make_float2(x[r], x[r]);
  *reinterpret_cast<float2*>(y + 6 * r + 2) = make_float2(x[r], x[r]);
}

extern "C" __global__ void store_rows(const float* x, float* y) {
  for (int j = 0; j < 4; ++j) y[6 * threadIdx.x + j] = x[threadIdx.x];
}
