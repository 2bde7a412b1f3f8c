// Fused and separate products and sums.

extern "C" __global__ void fused(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __fmaf_rn(v, w, v);
}

extern "C" __global__ void separate(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __fadd_rn(__fmul_rn(v, w), v);
}

extern "C" __global__ void factored(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = v * (w + 1.0f);
}

extern "C" __global__ void towards_zero(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __fmaf_rz(v, w, v);
}

extern "C" __global__ void minus(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __fmaf_rn(v, -w, v);
}

extern "C" __global__ void negated_twice(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = -__fmaf_rn(-v, w, -v);
}

extern "C" __global__ void in_double(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = (float)((double)v * (double)w + (double)v);
}
