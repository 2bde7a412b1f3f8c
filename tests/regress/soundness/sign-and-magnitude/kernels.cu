// Absolute value, negation and copied signs.

extern "C" __global__ void magnitude(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fabsf(v);
}

extern "C" __global__ void selected(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = v < 0.0f ? -v : v;
}

extern "C" __global__ void maximum(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = fmaxf(v, -v);
}

extern "C" __global__ void root(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = sqrtf(v * v);
}

extern "C" __global__ void bits(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __uint_as_float(__float_as_uint(v) & 0x7fffffffu);
}

extern "C" __global__ void negated(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = -v;
}

extern "C" __global__ void negated_bits(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __uint_as_float(__float_as_uint(v) ^ 0x80000000u);
}

extern "C" __global__ void minus_magnitude(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = -fabsf(v);
}

extern "C" __global__ void set_bit(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = __uint_as_float(__float_as_uint(v) | 0x80000000u);
}

extern "C" __global__ void copied(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = copysignf(v, w);
}

extern "C" __global__ void copied_selected(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = w < 0.0f ? -fabsf(v) : fabsf(v);
}

extern "C" __global__ void copied_closed(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = w <= 0.0f ? -fabsf(v) : fabsf(v);
}

extern "C" __global__ void copied_other(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = copysignf(w, v);
}
