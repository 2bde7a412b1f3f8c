// Conversions between floats and integers.

extern "C" __global__ void known(const int* v, int* out, int n) {
  const int t = threadIdx.x;
  const float f = (float)v[t] * 0.25f;
  out[t] = __float2int_rz(f);
  out[n + t] = __float2int_rd(f);
  out[2 * n + t] = __float2int_ru(f);
  out[3 * n + t] = __float2int_rn(f);
  out[4 * n + t] = (int)__float2uint_rz(f);
  out[5 * n + t] = (int)floorf(f) * 2 + (int)ceilf(f);
}

extern "C" __global__ void copy(const int* want, int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = want[i];
}

extern "C" __global__ void there_and_back(const short* v, float* y) {
  y[threadIdx.x] = (float)(int)((float)v[threadIdx.x] * 2.0f);
}

extern "C" __global__ void doubled(const short* v, float* y) {
  y[threadIdx.x] = (float)(2 * v[threadIdx.x]);
}

extern "C" __global__ void fraction(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] - floorf(x[threadIdx.x]);
}

extern "C" __global__ void fraction_by_ceiling(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + ceilf(-x[threadIdx.x]);
}

extern "C" __global__ void fraction_by_truncation(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x] - truncf(x[threadIdx.x]);
}
