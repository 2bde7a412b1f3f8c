// Products of exponentials against the exponential of a sum.

__device__ float exp2_approx(float v) {
  float r;
  asm("ex2.approx.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

extern "C" __global__ void product(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v) * exp2_approx(w);
}

extern "C" __global__ void of_sum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v + w);
}

extern "C" __global__ void quotient(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v) / exp2_approx(w);
}

extern "C" __global__ void of_difference(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v - w);
}

extern "C" __global__ void square(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v) * exp2_approx(v);
}

extern "C" __global__ void of_twice(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(2.0f * v);
}

extern "C" __global__ void of_product(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = exp2_approx(v * w);
}

extern "C" __global__ void natural(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __expf(v) * __expf(w);
}

extern "C" __global__ void natural_of_sum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __expf(w + v);
}

extern "C" __global__ void of_maximum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = __expf(fmaxf(v, w));
}

extern "C" __global__ void maximum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = fmaxf(__expf(v), __expf(w));
}
