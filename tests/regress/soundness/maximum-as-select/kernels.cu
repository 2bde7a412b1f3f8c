// Maximum, minimum, median and clamp by selects.

extern "C" __global__ void by_select(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = v > w ? v : w;
}

extern "C" __global__ void by_select_closed(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = w <= v ? v : w;
}

extern "C" __global__ void maximum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = fmaxf(v, w);
}

extern "C" __global__ void swapped(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = v > w ? w : v;
}

extern "C" __global__ void minimum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = fminf(w, v);
}

extern "C" __global__ void by_magnitude(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = 0.5f * (v + w + fabsf(v - w));
}

extern "C" __global__ void sum_of_both(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = fmaxf(v, w) + fminf(v, w);
}

extern "C" __global__ void sum(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = v + w;
}

extern "C" __global__ void negated(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = -fminf(-v, -w);
}

extern "C" __global__ void product_of_both(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = fmaxf(v, w) * fminf(v, w);
}

extern "C" __global__ void product(const float* x, const float* z, float* y, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i], w = z[i];
  y[i] = w * v;
}
